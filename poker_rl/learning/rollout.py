"""Rollouts: many tables advanced together, and batches of the learning agents' decisions.

Agents differ from seats: the seating assigns an agent to each seat for each hand. A decision is
pending if its batch ends before the same agent's next decision and before the end of the hand. A
pending decision is carried over to the next batch. In shapes, A counts actions, W the features of
an observation, and H the numbers that stand for the hidden cards.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import numpy as np
import torch

from poker_rl.games.game import Game, jit
from poker_rl.games.tables import Tables
from poker_rl.learning.opponents import Opponents, OpponentSettings

Seating = Literal["fixed", "shuffled"]

# Values of `next_row` for an agent's last decision in a hand, and for a pending decision.
HAND_ENDED, NEXT_PENDING = -1, -2
NO_ROW = -1  # in place of a row: the seat has not decided in this hand yet


@dataclass
class _DecisionInputs:
    """B decisions of learning agents: where, by whom and with which inputs they are made."""

    table: np.ndarray  # index of the table [B] int64
    seat: np.ndarray  # seat that acts [B] int64
    agent: np.ndarray  # agent in that seat [B] int64
    observation: np.ndarray  # [B, W]
    mask: np.ndarray  # legal actions [B, A] bool
    replica: np.ndarray  # network replica that decides [B] int64

    def select_rows(self, rows: np.ndarray) -> Self:
        """Return the decisions in some rows, given by indices or a boolean mask [B]."""
        columns = {name: part[rows] for name, part in vars(self).items() if name != "tables"}
        return replace(self, **columns)


@dataclass
class DecisionsToMake(_DecisionInputs):
    """B decisions of learning agents to make now, at most one per table."""

    tables: Tables

    @property
    def records(self) -> np.ndarray:
        """Copies of the records of the tables where these decisions are made, [B]."""
        return self.tables.records.take(self.table)  # faster than indexing, which copies each field


ActFunction = Callable[[DecisionsToMake], tuple[np.ndarray, np.ndarray]]
"""Act function of a learner: returns actions [B] int64 and their log-probabilities [B]."""


@dataclass
class RolloutBatch(_DecisionInputs):
    """N decisions of learning agents in the order of play; N is the B of the inherited fields."""

    hidden_cards: np.ndarray  # the other players' cards [N, H] uint8; H = 0 if not shown
    action: np.ndarray  # [N] int64
    log_prob: np.ndarray  # log-probability of the action in the policy that chose it [N] float32
    next_row: np.ndarray  # row of the agent's next decision, HAND_ENDED or NEXT_PENDING [N] int64
    reward: np.ndarray  # chips won if the hand ended, else 0 [N] float32

    def __len__(self) -> int:
        return len(self.action)

    def select_rows_and_renumber(self, rows: np.ndarray) -> RolloutBatch:
        """Return the decisions at M indices `rows` [M], with `next_row` renumbered for the result.

        The rows must form whole trajectories: all decisions of an agent in a finished hand.
        """
        new_row = np.full(len(self) + 1, HAND_ENDED)  # the last element maps HAND_ENDED to itself
        new_row[rows] = np.arange(len(rows))
        selected = self.select_rows(rows)
        return replace(selected, next_row=new_row[selected.next_row])


def concatenate_batches(batches: list[RolloutBatch]) -> RolloutBatch:
    """Return the concatenation of batches, with `next_row` renumbered for the result."""
    names = vars(batches[0])
    columns = {name: [getattr(batch, name) for batch in batches] for name in names}
    result = RolloutBatch(**{name: np.concatenate(parts) for name, parts in columns.items()})
    lengths = [len(batch) for batch in batches]
    first_row = np.repeat(np.cumsum(lengths) - lengths, lengths)
    result.next_row += np.where(result.next_row >= 0, first_row, 0)
    return result


class Rollout:
    """Tables of one game with learning agents, and perhaps opponents, in the seats.

    Args:
        seed: seed of the cards, the seating, the choice of opponents, and their actions.
        opponents: players in every seat except that of the learner, agent 0; None: self-play.
        seating: `fixed`: agent i in seat i; `shuffled`: sampled for each hand. If a hand has fewer
            seats than agents, some agents sit out; with opponents, agent 0 always gets a seat.
        encode_hidden_cards: maps B table states to the cards hidden from the seats to act, [B, H],
            for critics that see them; None: H = 0.
        encode_observations: maps B table states to observations [B, W]; None: the game's own.
        assign_replicas: returns the replica that makes each of B decisions; None: only one replica.
        include_forced_moves: whether a move that is the only legal one counts as a decision.

    Attributes:
        agent_of_seat: agent in each seat [tables, seats].
        sample_learning_seats: samples for new hands at tables [B] whether each seat learns, [B,
            seats] bool; another policy of the learner plays the other seats. None: all seats learn.
        is_learning_seat: whether each seat learns in the current hand [tables, seats] bool.
        unfinished_batch: pending decisions of the previous batch; None before the first batch.
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
        table_seed, own_seed = np.random.SeedSequence(seed).generate_state(2).tolist()
        self.tables = Tables(game, table_count, table_seed)
        self.generator = np.random.Generator(np.random.PCG64(own_seed))
        self.agent_of_seat = np.tile(np.arange(game.seats), (table_count, 1))
        self.opponents = Opponents(opponents, self.tables, self.generator) if opponents else None
        self.unfinished_batch: RolloutBatch | None = None
        self.hands_played = 0
        self.sample_learning_seats: Callable[[np.ndarray], np.ndarray] | None = None
        self.is_learning_seat = np.full((table_count, game.seats), True)

    def play_full_hands(
        self, choose_actions: ActFunction, decks: np.ndarray | None = None
    ) -> RolloutBatch:
        """Play a hand at every table to its end; return all decisions of the learning agents.

        `decks` [tables, cards] are the cards to deal; None: random cards.
        """
        self.deal_hands(np.arange(len(self.agent_of_seat)), decks)
        return self._collect_batch(choose_actions, None)

    def play_steps(self, choose_actions: ActFunction, steps: int) -> RolloutBatch:
        """Play `steps` actions at every table, with a new deal where a hand ends; return decisions.

        Pending decisions have `next_row` NEXT_PENDING and are the first rows of the next batch.
        """
        if self.unfinished_batch is None:
            self.deal_hands(np.arange(len(self.agent_of_seat)))
        batch = self._collect_batch(choose_actions, steps)
        self.unfinished_batch = batch.select_rows(batch.next_row == NEXT_PENDING)
        return batch

    def _collect_batch(self, choose_actions: ActFunction, steps: int | None) -> RolloutBatch:
        """Play `steps` actions at every table (None: until all hands end); return decisions."""
        rows = np.arange(len(self.agent_of_seat))
        last_row = np.full(self.agent_of_seat.shape, NO_ROW)  # batch row of a seat's last decision
        batches = [] if self.unfinished_batch is None else [self.unfinished_batch]
        for batch in batches:
            last_row[batch.table, batch.seat] = np.arange(len(batch))
        row_count = sum(map(len, batches))
        previous_rows, ended_hands = [np.full(row_count, NO_ROW)], []
        steps_taken = 0
        while len(rows) and steps_taken != steps:
            batch = self._step_tables(choose_actions, rows)
            batches.append(batch)
            previous_rows.append(last_row[batch.table, batch.seat])
            last_row[batch.table, batch.seat] = np.arange(row_count, row_count + len(batch))
            row_count += len(batch)
            is_over = self.tables.records["over"][rows] != 0
            ended = rows[is_over]
            if len(ended):
                payoffs = self.tables.payoffs(ended)
                has_row = last_row[ended] != NO_ROW
                ended_hands.append((last_row[ended][has_row], payoffs[has_row]))
                last_row[ended] = NO_ROW
                self.accumulate_hand_results(ended, payoffs)
            if steps is None:
                rows = rows[~is_over]
            elif len(ended):
                self.deal_hands(ended)
            steps_taken += 1

        batch = concatenate_batches(batches)
        previous_row = np.concatenate(previous_rows)
        later_rows = np.flatnonzero(previous_row != NO_ROW)
        batch.next_row[previous_row[later_rows]] = later_rows
        for last_rows, payoffs in ended_hands:
            batch.next_row[last_rows], batch.reward[last_rows] = HAND_ENDED, payoffs
        return batch

    def accumulate_hand_results(self, rows: np.ndarray, payoffs: np.ndarray) -> None:
        """Count the hands that ended at tables `rows` [B] with `payoffs` [B, seats] in chips."""
        self.hands_played += len(rows)
        if self.opponents is not None:
            self.opponents.accumulate_results(rows, self.agent_of_seat[rows], payoffs)

    def deal_hands(self, rows: np.ndarray, decks: np.ndarray | None = None) -> None:
        """Begin new hands at tables `rows` [B], from `decks` [B, cards]; None: random ones."""
        self.tables.deal(rows, decks)
        self.seat_agents(rows)

    def seat_agents(self, rows: np.ndarray) -> None:
        """Seat agents for new hands at tables `rows`; sample opponents and the seats that learn."""
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
            self.opponents.assign_opponents(rows, self.agent_of_seat[rows])
        if self.sample_learning_seats is not None:
            self.is_learning_seat[rows] = self.sample_learning_seats(rows)

    def find_decisions_and_opponents(
        self, agent: np.ndarray, mask: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return masks of B tables, [B]: where a learning agent decides, where an opponent acts."""
        is_learner = np.full(len(agent), True) if self.opponents is None else agent == 0
        is_decision = is_learner if self.include_forced_moves else is_learner & has_choice(mask)
        return is_decision, ~is_learner

    def _step_tables(self, choose_actions: ActFunction, rows: np.ndarray) -> RolloutBatch:
        """Play one action at each table in `rows`; return the learning agents' decisions."""
        tables = self.tables
        seat = tables.records["to_act"][rows].astype(np.int64)
        agent, mask = self.agent_of_seat[rows, seat], tables.legal_mask(rows)
        is_decision, is_opponent = self.find_decisions_and_opponents(agent, mask)
        own = rows[is_decision]
        encode = self.encode_observations
        observation = tables.observe(own) if encode is None else encode(tables.records.take(own))
        columns = {
            "table": own,
            "seat": seat[is_decision],
            "agent": agent[is_decision],
            "observation": observation,
            "mask": mask[is_decision],
            "replica": np.zeros_like(own),
        }
        decisions, log_prob = DecisionsToMake(**columns, tables=tables), np.zeros(0, np.float32)
        if self.assign_replicas is not None:
            columns["replica"][:] = self.assign_replicas(decisions)
        action = mask.argmax(1)  # for forced moves, the only legal action
        if len(own):
            action[is_decision], log_prob = choose_actions(decisions)
        if self.opponents is not None and is_opponent.any():
            others = rows[is_opponent], mask[is_opponent]
            action[is_opponent] = self.opponents.sample_actions(*others)
        hidden_cards = np.empty((len(own), 0), np.uint8)
        if self.encode_hidden_cards is not None:
            hidden_cards = self.encode_hidden_cards(decisions.records)
        tables.step(action, rows)
        return RolloutBatch(
            **columns,
            hidden_cards=hidden_cards,
            action=action[is_decision],
            log_prob=log_prob.astype(np.float32),
            next_row=np.full(len(own), NEXT_PENDING),
            reward=np.zeros(len(own), np.float32),
        )

    def state_dict(self) -> dict[str, Any]:
        unfinished = {} if self.unfinished_batch is None else vars(self.unfinished_batch)
        return {
            "tables": torch.tensor(self.tables.records.view(np.uint8)),
            "agent_of_seat": torch.tensor(self.agent_of_seat),
            "is_learning_seat": torch.tensor(self.is_learning_seat),
            "unfinished_batch": {name: torch.tensor(part) for name, part in unfinished.items()},
            "generator": self.generator.bit_generator.state,
            "hands_played": self.hands_played,
            "opponents": None if self.opponents is None else self.opponents.state_dict(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.tables.load_records(state["tables"].numpy().copy().view(self.game.table_dtype))
        self.agent_of_seat[:] = state["agent_of_seat"].numpy()
        unfinished = {name: part.numpy().copy() for name, part in state["unfinished_batch"].items()}
        self.unfinished_batch = RolloutBatch(**unfinished) if unfinished else None
        self.is_learning_seat[:] = state["is_learning_seat"]
        self.generator.bit_generator.state = state["generator"]
        self.hands_played = state["hands_played"]
        if self.opponents is not None:
            self.opponents.load_state_dict(state["opponents"])


@jit
def has_choice(legal_masks):  # type: ignore[no-untyped-def]
    """Return whether each of B masks [B, A] has at least two legal actions, [B] bool."""
    result = np.empty(len(legal_masks), np.bool_)
    for i in range(len(legal_masks)):
        result[i] = legal_masks[i].sum() > 1
    return result
