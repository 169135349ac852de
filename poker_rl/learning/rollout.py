"""Who sits where, and what the learning agents lived through.

An agent is not a seat: `agent[table, seat]` is drawn anew for each hand by a seating. A transition
runs from an agent's own decision to its own next one in the same hand; between batches those still
open are carried over, so none is lost or cut short.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, Literal

import numpy as np
import torch

from poker_rl.games.game import Game
from poker_rl.games.table_checks import check_tables
from poker_rl.games.tables import Tables
from poker_rl.learning.state_checks import check_range
from poker_rl.players.player import Player, policy_at
from poker_rl.players.sampling import draw

Seating = Literal["fixed", "shuffled"]

ENDED, OPEN = -1, -2  # in `Batch.next`: the hand ended first, or is not over yet
NONE = -1


@dataclass
class Rows:
    """Decisions to be made now, one a row, B of them."""

    tables: Tables
    table: np.ndarray  # [B] int64
    seat: np.ndarray  # [B] int64
    agent: np.ndarray  # [B] int64
    observation: np.ndarray  # [B, W]
    mask: np.ndarray  # legal actions [B, A] bool
    copy: np.ndarray  # of the networks, which decides [B] int64

    @property
    def records(self) -> np.ndarray:
        """A copy of the tables, each at its seat to act, [B]."""
        return self.tables.records.take(self.table)  # whole records: indexing goes field by field

    def pick(self, rows: np.ndarray) -> Rows:
        """Some of them alone, by index or mask."""
        parts = {f.name: getattr(self, f.name)[rows] for f in fields(self) if f.name != "tables"}
        return Rows(self.tables, **parts)


Act = Callable[[Rows], tuple[np.ndarray, np.ndarray]]
"""What a learner does: rows to actions [B] int64 and their log-probabilities [B]."""


@dataclass
class Batch:
    """N decisions of the learning agents in order of time."""

    observation: np.ndarray  # [N, W]
    hidden: np.ndarray  # the others' cards [N, H] uint8; H = 0 unless asked for
    mask: np.ndarray  # [N, A] bool
    action: np.ndarray  # [N] int64
    log_prob: np.ndarray  # of the action when it was taken [N] float32
    table: np.ndarray  # [N] int64
    seat: np.ndarray  # [N] int64
    agent: np.ndarray  # [N] int64
    copy: np.ndarray  # of the networks, which decided [N] int64
    next: np.ndarray  # the agent's next decision in this hand, ENDED or OPEN [N] int64
    reward: np.ndarray  # chips won until then [N] float32

    def __len__(self) -> int:
        return len(self.action)

    def pick(self, rows: np.ndarray) -> Batch:
        """Some rows alone, in their order, by index; their `next` is left as it is."""
        return Batch(**{f.name: getattr(self, f.name)[rows] for f in fields(self)})

    def alone(self, rows: np.ndarray) -> Batch:
        """All decisions of some agents in some hands that are over, as a batch of their own."""
        place = np.full(len(self) + 1, ENDED)
        place[rows] = np.arange(len(rows))
        own = self.pick(rows)
        own.next = place[own.next]  # ENDED, which is -1, finds the last place
        return own


def joined(batches: list[Batch]) -> Batch:
    """Several batches as one; what `next` is of each batch stays within it."""
    whole = {f.name: [getattr(one, f.name) for one in batches] for f in fields(Batch)}
    first = np.cumsum([0, *map(len, batches[:-1])])
    whole["next"] = [
        np.where(one.next >= 0, one.next + before, one.next)
        for one, before in zip(batches, first, strict=True)
    ]
    return Batch(**{name: np.concatenate(parts) for name, parts in whole.items()})


class Rollout:
    """Tables of one game with the learner and its opponents in their seats.

    Args:
        game: the game played.
        count: number of tables, B.
        seed: for cards, seating and the opponents' actions.
        opponent: a fixed player in every seat but agent 0's, or None for self-play.
        seating: `fixed`: agent i in seat i; `shuffled`: drawn for each hand. Where a hand has fewer
            seats than there are agents, those in the last ones sit out, though not agent 0 when it
            alone learns.
        hidden: what a perfect-information critic is shown besides, [B] to [B, H]; None: nothing.
        observe: what the networks see of some tables, [B] to [B, W]; None: the game's observation.
        copies: which copy of the networks decides at some rows, [B] int64; None: there is only one.
        ask_forced: whether a move that is the only legal one is a decision; if not it is played
            unasked, and is in no row.

    Attributes:
        dealt: called with the tables [B] where a hand begins, if set.
    """

    def __init__(
        self,
        game: Game,
        count: int,
        seed: int,
        *,
        opponent: Player | None = None,
        seating: Seating = "fixed",
        hidden: Callable[[np.ndarray], np.ndarray] | None = None,
        observe: Callable[[np.ndarray], np.ndarray] | None = None,
        copies: Callable[[Rows], np.ndarray] | None = None,
        ask_forced: bool = True,
    ) -> None:
        self.game, self.opponent, self.seating = game, opponent, seating
        self.hidden, self.observe, self.copies = hidden, observe, copies
        self.ask_forced = ask_forced
        streams = np.random.SeedSequence(seed).generate_state(2)
        self.tables = Tables(game, count, int(streams[0]))
        self.generator = np.random.Generator(np.random.PCG64(int(streams[1])))
        self.agent = np.tile(np.arange(game.seats), (count, 1))
        self.open = np.full((count, game.seats), NONE)  # row of each seat's last decision
        self.carried: Batch | None = None
        self.hands = 0
        self.dealt: Callable[[np.ndarray], None] | None = None

    def play_out(self, act: Act, decks: np.ndarray | None = None) -> Batch:
        """Deal every table and play its hand to the end: no transition is left open.

        Args:
            act: plays the learning agents' rows.
            decks: the cards of each table [B, dealt]; drawn if None.
        """
        self._deal(np.arange(len(self.agent)), decks)
        return self._collect(act, None)

    def stream(self, act: Act, steps: int) -> Batch:
        """Take some steps at every table, dealing anew where a hand ends.

        Rows whose agent has not decided again are OPEN, and are the first rows of the next batch.
        """
        if self.carried is None:
            self._deal(np.arange(len(self.agent)), None)
        batch = self._collect(act, steps)
        still = np.flatnonzero(batch.next == OPEN)
        self.carried = batch.pick(still)
        place = np.full(len(batch) + 1, NONE)
        place[still] = np.arange(len(still))
        self.open = place[self.open]
        return batch

    def _collect(self, act: Act, steps: int | None) -> Batch:
        tables, rows = self.tables, np.arange(len(self.agent))
        batches = [] if self.carried is None else [self.carried]
        first = sum(map(len, batches))
        links, results = [np.full(first, NONE)], []
        turns = 0
        while len(rows) and turns != steps:
            batches.append(self._turn(act, rows))
            last = self.open[batches[-1].table, batches[-1].seat]
            links.append(last)
            self.open[batches[-1].table, batches[-1].seat] = np.arange(first, first + len(last))
            first += len(last)
            over = tables.records["over"][rows] != 0
            ended = rows[over]
            if len(ended):
                results.append((self.open[ended], tables.payoffs(ended)))
                self.open[ended] = NONE
                self.hands += len(ended)
                if steps is None:
                    rows = rows[~over]
                else:
                    self._deal(ended, None)
            turns += 1

        batch = joined(batches)
        link = np.concatenate(links)
        later = np.flatnonzero(link != NONE)
        batch.next[link[later]] = later
        for last, won in results:
            decided = last != NONE
            batch.next[last[decided]] = ENDED
            batch.reward[last[decided]] = won[decided]
        return batch

    def _deal(self, rows: np.ndarray, decks: np.ndarray | None) -> None:
        self.tables.deal(rows, decks)
        if self.seating == "shuffled":
            agent = self.generator.permuted(self.agent[rows], axis=1)
            seats = self.tables.definitions(rows)["seats"]
            out = np.flatnonzero(agent.argmin(1) >= seats)  # where agent 0 would have no cards
            if self.opponent is not None and len(out):
                seat = self.generator.integers(seats[out])
                agent[out, agent[out].argmin(1)] = agent[out, seat]
                agent[out, seat] = 0
            self.agent[rows] = agent
        if self.dealt is not None:
            self.dealt(rows)

    def _turn(self, act: Act, rows: np.ndarray) -> Batch:
        """Play one action at some tables; what the learning agents decided, every row OPEN."""
        tables = self.tables
        seat = tables.records["to_act"][rows].astype(np.int64)
        agent = self.agent[rows, seat]
        mask = tables.legal(rows)
        learns = np.full(len(rows), True) if self.opponent is None else agent == 0
        others = ~learns
        action = mask.argmax(1)
        if not self.ask_forced:
            chosen = mask.sum(1) > 1
            learns &= chosen
            others &= chosen
        mine = rows[learns]
        seen = (
            tables.observe(mine)
            if self.observe is None
            else self.observe(tables.records.take(mine))
        )
        asked = Rows(
            tables, mine, seat[learns], agent[learns], seen, mask[learns], np.zeros_like(mine)
        )
        if self.copies is not None:
            asked.copy = self.copies(asked)
        log_prob = np.zeros(0, np.float32)
        if len(mine):
            action[learns], log_prob = act(asked)
        if self.opponent is not None and others.any():
            chances = policy_at(
                tables.game, self.opponent, tables.records.take(rows[others]), mask[others]
            )
            action[others] = draw(chances, self.generator.random(len(chances)))
        hidden = np.empty((len(mine), 0), np.uint8)
        if self.hidden is not None:
            hidden = self.hidden(tables.records.take(mine))
        tables.step(action, rows)
        return Batch(
            observation=asked.observation,
            hidden=hidden,
            mask=asked.mask,
            action=action[learns],
            log_prob=log_prob.astype(np.float32),
            table=mine,
            seat=asked.seat,
            agent=asked.agent,
            copy=asked.copy,
            next=np.full(len(mine), OPEN),
            reward=np.zeros(len(mine), np.float32),
        )

    def state_dict(self) -> dict[str, Any]:
        """Tables, seating, open transitions and generator, as tensors and plain values."""
        carried = {} if self.carried is None else vars(self.carried)
        return {
            "tables": torch.from_numpy(self.tables.records.view(np.uint8).copy()),
            "agent": torch.from_numpy(self.agent.copy()),
            "open": torch.from_numpy(self.open.copy()),
            "carried": {name: torch.from_numpy(part.copy()) for name, part in carried.items()},
            "generator": self.generator.bit_generator.state,
            "hands": self.hands,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on where `state_dict` was taken.

        Raises:
            ValueError: if it holds what no play of these settings leads to.
        """
        records = state["tables"].numpy().copy().view(self.game.table)
        if len(records) != len(self.agent):
            raise ValueError(f"tables: {len(records)}, not {len(self.agent)}")
        check_tables(self.game, records)
        self.tables.use(records)
        self.agent[:] = state["agent"].numpy()
        if (np.sort(self.agent, axis=1) != np.arange(self.game.seats)).any():
            raise ValueError("agent: not every agent has one seat")
        self.carried = self._carried_from(state["carried"]) if state["carried"] else None
        self.open[:] = state["open"].numpy()
        check_range("open", self.open, NONE, 0 if self.carried is None else len(self.carried))
        self.generator.bit_generator.state = state["generator"]
        self.hands = state["hands"]

    def _carried_from(self, parts: dict[str, torch.Tensor]) -> Batch:
        """Return carried decisions as a batch, the tables being loaded already."""
        if self.tables.records["over"].any():
            raise ValueError("tables: a hand is over, and there are carried decisions")
        like = vars(self._turn(lambda rows: (rows.table, rows.table), np.zeros(0, np.int64)))
        carried = Batch(**{name: parts[name].numpy().copy() for name in like})
        for name, part in vars(carried).items():
            expected = (len(carried), *like[name].shape[1:])
            if (part.dtype, part.shape) != (like[name].dtype, expected):
                raise ValueError(f"carried.{name}: {part.dtype} of another shape or kind")
        count, seats = self.agent.shape
        check_range("carried.table", carried.table, 0, count)
        check_range("carried.seat", carried.seat, 0, seats)
        check_range("carried.agent", carried.agent, 0, seats)
        check_range("carried.action", carried.action, 0, self.game.actions)
        check_range("carried.next", carried.next, OPEN, OPEN + 1)
        return carried
