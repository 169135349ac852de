"""Rollouts: many tables advanced together, and batches of the learning agents' decisions.

An agent is not a seat: the seating assigns an agent to each seat for each hand. A decision is
pending if a batch ends before the same agent's next decision and before the end of the hand; it is
carried over to the next batch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, Literal

import numpy as np
import torch

from poker_rl.games.game import Game
from poker_rl.games.tables import Tables
from poker_rl.learning.opponents import Opponents, OpponentSettings

Seating = Literal["fixed", "shuffled"]

# Values of `RolloutBatch.next_row` if the agent's next decision is not in the batch.
HAND_ENDED, NEXT_PENDING = -1, -2
NO_ROW = -1  # in `Rollout.last_row_of_seat`: the seat has not decided in this hand


@dataclass
class DecisionsToMake:
    """B decisions of learning agents to make now, at most one per table."""

    tables: Tables
    table: np.ndarray  # index of the table [B] int64
    seat: np.ndarray  # seat to act [B] int64
    agent: np.ndarray  # agent in that seat [B] int64
    observation: np.ndarray  # [B, W]
    mask: np.ndarray  # legal actions [B, A] bool
    replica: np.ndarray  # network replica that decides [B] int64

    @property
    def records(self) -> np.ndarray:
        """Copies of the states of the tables, [B]."""
        return self.tables.records.take(self.table)  # faster than indexing, which copies each field

    def select_rows(self, rows: np.ndarray) -> DecisionsToMake:
        """Return the decisions at some rows, given by indices or a mask."""
        columns = (getattr(self, field.name)[rows] for field in fields(self)[1:])
        return DecisionsToMake(self.tables, *columns)


ActFunction = Callable[[DecisionsToMake], tuple[np.ndarray, np.ndarray]]
"""Act function of a learner: decisions -> actions [B] int64 and log-probabilities [B]."""


@dataclass
class RolloutBatch:
    """N decisions of the learning agents in the order of play."""

    observation: np.ndarray  # [N, W]
    hidden_cards: np.ndarray  # the other players' cards [N, H] uint8; H = 0 if not shown
    mask: np.ndarray  # legal actions [N, A] bool
    action: np.ndarray  # [N] int64
    log_prob: np.ndarray  # log-probability of the action in the policy that took it [N] float32
    table: np.ndarray  # index of the table [N] int64
    seat: np.ndarray  # seat that acted [N] int64
    agent: np.ndarray  # agent in that seat [N] int64
    replica: np.ndarray  # network replica that decided [N] int64
    next_row: np.ndarray  # row of the agent's next decision, HAND_ENDED or NEXT_PENDING [N] int64
    reward: np.ndarray  # chips won if the hand ended, else 0 [N] float32

    def __len__(self) -> int:
        return len(self.action)

    def select_rows(self, rows: np.ndarray) -> RolloutBatch:
        """Return some rows; `next_row` still refers to rows of this batch."""
        return RolloutBatch(*(getattr(self, field.name)[rows] for field in fields(self)))

    def select_trajectories(self, rows: np.ndarray) -> RolloutBatch:
        """Return rows that form whole trajectories, with `next_row` renumbered for the result."""
        # The last element maps HAND_ENDED, which is -1, to itself.
        new_row = np.full(len(self) + 1, HAND_ENDED)
        new_row[rows] = np.arange(len(rows))
        selected = self.select_rows(rows)
        selected.next_row = new_row[selected.next_row]
        return selected


def concatenate_batches(batches: list[RolloutBatch]) -> RolloutBatch:
    """Concatenate batches; `next_row` is shifted to the rows of the result."""
    columns = {
        field.name: [getattr(batch, field.name) for batch in batches]
        for field in fields(RolloutBatch)
    }
    starts = np.cumsum([0, *map(len, batches[:-1])])
    columns["next_row"] = [
        np.where(batch.next_row >= 0, batch.next_row + start, batch.next_row)
        for batch, start in zip(batches, starts, strict=True)
    ]
    return RolloutBatch(**{name: np.concatenate(parts) for name, parts in columns.items()})


class Rollout:
    """Tables of one game, with learning agents, and perhaps opponents, in the seats.

    Args:
        seed: seed of cards, seating, and the opponents and their actions.
        opponents: players in every seat but agent 0's, or None for self-play.
        seating: `fixed`: agent i in seat i; `shuffled`: sampled for each hand. If a hand has fewer
            seats than there are agents, those assigned to the missing seats sit out; with
            opponents, agent 0 always gets a seat.
        encode_hidden_cards: encodes tables for critics that see them, [B] -> [B, H]; None: H = 0.
        encode_observations: encodes tables, [B] -> [B, W]; None: the game's observation.
        assign_replicas: gives the replica that makes each of B decisions; None: only one replica.
        include_forced_moves: whether a move that is the only legal one counts as a decision.

    Attributes:
        on_deal: if set, called with the indices [B] of tables at which a hand begins.
        unfinished_batch: decisions carried over to the next batch.
        hands_played: number of finished hands.
    """

    def __init__(
        self,
        game: Game,
        table_count: int,
        seed: int,
        *,
        opponents: OpponentSettings | None = None,
        seating: Seating = "fixed",
        encode_hidden_cards: Callable[[np.ndarray], np.ndarray] | None = None,
        encode_observations: Callable[[np.ndarray], np.ndarray] | None = None,
        assign_replicas: Callable[[DecisionsToMake], np.ndarray] | None = None,
        include_forced_moves: bool = True,
    ) -> None:
        self.game, self.seating = game, seating
        self.encode_hidden_cards = encode_hidden_cards
        self.encode_observations = encode_observations
        self.assign_replicas, self.include_forced_moves = assign_replicas, include_forced_moves
        streams = np.random.SeedSequence(seed).generate_state(2)
        self.tables = Tables(game, table_count, int(streams[0]))
        self.generator = np.random.Generator(np.random.PCG64(int(streams[1])))
        self.agent_of_seat = np.tile(np.arange(game.seats), (table_count, 1))
        self.opponents: Opponents | None = None
        if opponents is not None:
            self.opponents = Opponents(opponents, self.tables, self.generator)
        self.last_row_of_seat = np.full((table_count, game.seats), NO_ROW)
        self.unfinished_batch: RolloutBatch | None = None
        self.hands_played = 0
        self.on_deal: Callable[[np.ndarray], None] | None = None

    def play_full_hands(
        self, choose_actions: ActFunction, decks: np.ndarray | None = None
    ) -> RolloutBatch:
        """Play a hand at every table to its end, with decks [tables, cards] or random ones."""
        self.deal_hands(np.arange(len(self.agent_of_seat)), decks)
        return self._collect_batch(choose_actions, None)

    def play_steps(self, choose_actions: ActFunction, steps: int) -> RolloutBatch:
        """Play `steps` actions at every table, with a new deal where a hand ends.

        Pending decisions have `next_row` NEXT_PENDING and are the first rows of the next batch.
        """
        if self.unfinished_batch is None:
            self.deal_hands(np.arange(len(self.agent_of_seat)))
        batch = self._collect_batch(choose_actions, steps)
        pending_rows = np.flatnonzero(batch.next_row == NEXT_PENDING)
        self.unfinished_batch = batch.select_rows(pending_rows)
        new_row = np.full(len(batch) + 1, NO_ROW)
        new_row[pending_rows] = np.arange(len(pending_rows))
        self.last_row_of_seat = new_row[self.last_row_of_seat]
        return batch

    def _collect_batch(self, choose_actions: ActFunction, steps: int | None) -> RolloutBatch:
        """Play `steps` actions at every table, or whole hands if None; return the decisions."""
        tables, rows = self.tables, np.arange(len(self.agent_of_seat))
        batches = [] if self.unfinished_batch is None else [self.unfinished_batch]
        row_count = sum(map(len, batches))
        previous_rows, ended_hands = [np.full(row_count, NO_ROW)], []
        steps_taken = 0
        while len(rows) and steps_taken != steps:
            batches.append(self._step_tables(choose_actions, rows))
            cells, decisions = (batches[-1].table, batches[-1].seat), len(batches[-1])
            previous_rows.append(self.last_row_of_seat[cells])
            self.last_row_of_seat[cells] = np.arange(row_count, row_count + decisions)
            row_count += decisions
            is_over = tables.records["over"][rows] != 0
            ended = rows[is_over]
            if len(ended):
                payoffs = tables.payoffs(ended)
                ended_hands.append((self.last_row_of_seat[ended], payoffs))
                self.last_row_of_seat[ended] = NO_ROW
                self.record_finished_hands(ended, payoffs)
                if steps is None:
                    rows = rows[~is_over]
                else:
                    self.deal_hands(ended)
            steps_taken += 1

        batch = concatenate_batches(batches)
        previous_row = np.concatenate(previous_rows)
        later_rows = np.flatnonzero(previous_row != NO_ROW)
        batch.next_row[previous_row[later_rows]] = later_rows
        for last_rows, payoffs in ended_hands:
            has_row = last_rows != NO_ROW
            batch.next_row[last_rows[has_row]] = HAND_ENDED
            batch.reward[last_rows[has_row]] = payoffs[has_row]
        return batch

    def record_finished_hands(self, rows: np.ndarray, payoffs: np.ndarray) -> None:
        """Add B finished hands, with payoffs [B, seats], to the counts and opponents' results."""
        self.hands_played += len(rows)
        if self.opponents is not None:
            self.opponents.add_results(rows, self.agent_of_seat[rows], payoffs)

    def deal_hands(self, rows: np.ndarray, decks: np.ndarray | None = None) -> None:
        """Begin new hands at the tables `rows` [B], with these decks or random ones."""
        self.tables.deal(rows, decks)
        self.seat_agents(rows)

    def seat_agents(self, rows: np.ndarray) -> None:
        """Assign agents to the seats of new hands at some tables, and call `on_deal`."""
        if self.seating == "shuffled":
            agent = self.generator.permuted(self.agent_of_seat[rows], axis=1)
            seats = self.tables.count_seats(rows)
            benched = np.flatnonzero(agent.argmin(1) >= seats)  # tables where agent 0 has no seat
            if self.opponents is not None and len(benched):
                seat = self.generator.integers(seats[benched])
                agent[benched, agent[benched].argmin(1)] = agent[benched, seat]
                agent[benched, seat] = 0
            self.agent_of_seat[rows] = agent
        if self.opponents is not None:
            self.opponents.assign_seats(rows, self.agent_of_seat[rows])
        if self.on_deal is not None:
            self.on_deal(rows)

    def _step_tables(self, choose_actions: ActFunction, rows: np.ndarray) -> RolloutBatch:
        """Play one action at some tables; return the learning agents' decisions."""
        tables = self.tables
        seat = tables.records["to_act"][rows].astype(np.int64)
        agent = self.agent_of_seat[rows, seat]
        mask = tables.legal_mask(rows)
        is_learner = np.full(len(rows), True) if self.opponents is None else agent == 0
        is_opponent = ~is_learner
        action = mask.argmax(1)
        if not self.include_forced_moves:
            has_choice = mask.sum(1) > 1
            is_learner &= has_choice
            is_opponent &= has_choice
        learner_tables = rows[is_learner]
        if self.encode_observations is None:
            observations = tables.observe(learner_tables)
        else:
            observations = self.encode_observations(tables.records.take(learner_tables))
        decisions = DecisionsToMake(
            tables,
            learner_tables,
            seat[is_learner],
            agent[is_learner],
            observations,
            mask[is_learner],
            np.zeros_like(learner_tables),
        )
        if self.assign_replicas is not None:
            decisions.replica = self.assign_replicas(decisions)
        log_prob = np.zeros(0, np.float32)
        if len(learner_tables):
            action[is_learner], log_prob = choose_actions(decisions)
        if self.opponents is not None and is_opponent.any():
            action[is_opponent] = self.opponents.sample_actions(
                rows[is_opponent], mask[is_opponent]
            )
        hidden_cards = np.empty((len(learner_tables), 0), np.uint8)
        if self.encode_hidden_cards is not None:
            hidden_cards = self.encode_hidden_cards(tables.records.take(learner_tables))
        tables.step(action, rows)
        return RolloutBatch(
            observation=decisions.observation,
            hidden_cards=hidden_cards,
            mask=decisions.mask,
            action=action[is_learner],
            log_prob=log_prob.astype(np.float32),
            table=learner_tables,
            seat=decisions.seat,
            agent=decisions.agent,
            replica=decisions.replica,
            next_row=np.full(len(learner_tables), NEXT_PENDING),
            reward=np.zeros(len(learner_tables), np.float32),
        )

    def state_dict(self) -> dict[str, Any]:
        unfinished = {} if self.unfinished_batch is None else vars(self.unfinished_batch)
        return {
            "tables": torch.from_numpy(self.tables.records.view(np.uint8).copy()),
            "agent_of_seat": torch.from_numpy(self.agent_of_seat.copy()),
            "last_row_of_seat": torch.from_numpy(self.last_row_of_seat.copy()),
            "unfinished_batch": {
                name: torch.from_numpy(part.copy()) for name, part in unfinished.items()
            },
            "generator": self.generator.bit_generator.state,
            "hands_played": self.hands_played,
            "opponents": None if self.opponents is None else self.opponents.state_dict(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.tables.load_records(state["tables"].numpy().copy().view(self.game.table_dtype))
        self.agent_of_seat[:] = state["agent_of_seat"].numpy()
        columns = {name: part.numpy().copy() for name, part in state["unfinished_batch"].items()}
        self.unfinished_batch = RolloutBatch(**columns) if columns else None
        self.last_row_of_seat[:] = state["last_row_of_seat"].numpy()
        self.generator.bit_generator.state = state["generator"]
        self.hands_played = state["hands_played"]
        if self.opponents is not None:
            self.opponents.load_state_dict(state["opponents"])
