"""The definition of a poker variant with fixed-limit betting."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from poker_rl.config.settings import Count, Natural
from poker_rl.games.poker.game import PokerGame, Rule, by_seat
from poker_rl.games.poker.table import CHIPS, MOVES, STACKS_TABLE, TABLE


@dataclass(kw_only=True, frozen=True)
class Poker(PokerGame):
    """A poker variant with fixed-limit betting.

    `raise_sizes` and `max_raises` have an entry a street; blinds do not count against `max_raises`.
    Without `stacks` every seat has as many chips as it needs.

    Raises:
        Refused: if the settings do not describe a game that can be dealt and bet on.
    """

    raise_sizes: list[Count]
    max_raises: list[Natural]
    stacks: Count | list[Count] | None = None

    def _rules(self) -> Iterator[Rule]:
        yield from super()._rules()
        yield self._entry_a_street("raise_sizes")
        yield self._entry_a_street("max_raises")
        yield (
            self.most_moves <= MOVES,
            f"max_raises: {self.max_raises} allows hands of more than {MOVES} actions",
        )
        most = CHIPS // self.seats
        yield (
            max(self.raise_sizes) <= most,
            f"raise_sizes: a raise of {max(self.raise_sizes):,} chips; at most {most:,}",
        )
        parts = {
            "ante": max(self.antes),
            "blinds": max(self.blinds, default=0),
            "raise_sizes": self._raised,
        }
        largest, put_in = max(parts, key=lambda key: parts[key]), sum(parts.values())
        yield (
            put_in <= most,
            f"{largest}: {parts[largest]:,} of the {put_in:,} chips that a seat may put"
            f" in, by ante, blinds and raises; at most {most:,}",
        )
        if self.stack_of is not None:
            yield from self._stack_rules(self.stack_of)

    @property
    def stack_of(self) -> list[int] | None:
        """Chips of each seat before the hand; None: as many as it needs."""
        return None if self.stacks is None else by_seat(self.stacks, self.seats)

    @property
    def most_chips(self) -> int:
        """The most chips a seat can put in, and so lose, in a hand; with stacks the largest."""
        if self.stack_of is not None:
            return max(self.stack_of)
        return max(self.antes) + max(self.blinds, default=0) + self._raised

    @property
    def _raised(self) -> int:
        """The most chips that a seat can put in by raises and calls of them."""
        return sum(n * size for n, size in zip(self.max_raises, self.raise_sizes, strict=False))

    @property
    def most_moves(self) -> int:
        """More actions than a hand can have."""
        return self.seats * sum(most + 1 for most in self.max_raises)

    @property
    def table(self) -> np.dtype[np.void]:
        """The dtype of a table."""
        return TABLE if self.stacks is None else STACKS_TABLE

    def record_in(self, room: int) -> np.ndarray:
        """The definition, observed with room for so many seats."""
        max_raises = [self.max_raises[0] + self.forced_raises, *self.max_raises[1:]]
        record = self._record(room, levels=max(max_raises) + 1)
        record["raise_size"][0, : len(self.raise_sizes)] = self.raise_sizes
        record["max_raises"][0, : len(max_raises)] = max_raises
        return record

    @property
    def actions(self) -> int:
        """Fold, call, raise."""
        return 3

    @property
    def kinds(self) -> np.ndarray:
        """Each its own, [A] int64."""
        return np.arange(self.actions)

    @property
    def infoset_size(self) -> int:
        """Bytes in an information set's key."""
        return 2 + self.hole_cards + sum(self.board_cards) + self.most_moves

    def action_name(self, action: int) -> str:
        """What a person calls this action."""
        return ("fold", "call", "raise")[action]
