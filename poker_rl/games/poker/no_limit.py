"""The definition of a poker variant with no-limit betting."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from poker_rl.config.settings import Count, Positive
from poker_rl.games.poker.game import PokerGame, Rule, by_seat
from poker_rl.games.poker.table import (
    ALL_IN,
    MOVES,
    NO_LIMIT_TABLE,
    POT,
    RAISE,
    SIZES,
    STACK,
)

LEVELS = 8  # raise counts of a street that an observation tells apart


@dataclass(kw_only=True, frozen=True)
class NoLimit(PokerGame):
    """A poker variant with no-limit betting.

    Without `bet_sizes` action k >= 2 is a raise to k chips, all that the seat will have put in.
    With them action 2 + i raises by the i-th share of the pot after calling, rounded to whole
    chips, at least the smallest raise and at most all there is; of equal raises the first is legal.
    `short_bets_reopen` says whether the first bet of a street and the first raise over the blinds
    reopen the betting even as an all-in of less than `min_bet`; see `betting`.

    Raises:
        Refused: if the settings do not describe a game that can be dealt and bet on.
    """

    stacks: Count | list[Count]
    min_bet: Count
    short_bets_reopen: bool
    bet_sizes: list[Positive | Literal["all_in"]]

    def _rules(self) -> Iterator[Rule]:
        yield from super()._rules()
        yield from self._stack_rules(self.stack_of)
        blind = max(self.blinds, default=0)
        yield self.min_bet >= blind, f"min_bet: {self.min_bet} is less than the blind of {blind}"
        yield self.min_bet <= STACK, f"min_bet: {self.min_bet:,} chips; at most {STACK:,}"
        yield (
            len(self.bet_sizes) <= SIZES,
            f"bet_sizes: {len(self.bet_sizes)} entries, at most {SIZES}",
        )
        for size in self.bet_sizes:
            yield (
                size == "all_in" or (size <= STACK and round(size * POT) / POT == size),
                f"bet_sizes: {size} is not a whole number of hundredths of the pot, such as 0.33,"
                f" at most {STACK:,}, or all_in",
            )
        yield (
            all(a < b for a, b in zip(self._sizes, self._sizes[1:], strict=False)),
            f"bet_sizes: {self._shown} is not in rising order, all_in last",
        )
        pot = sum(self.stack_of)
        for size in self._sizes:
            yield (
                size * pot >= self.min_bet * POT,
                f"bet_sizes: {size / POT:g} of the largest pot, {pot:,} chips, is less than the"
                f" smallest bet, min_bet: {self.min_bet}",
            )

    @property
    def stack_of(self) -> list[int]:
        """Chips of each seat before the hand."""
        return by_seat(self.stacks, self.seats)

    @property
    def listed_sizes(self) -> list[float | Literal["all_in"]]:
        """`bet_sizes`."""
        return self.bet_sizes

    @property
    def _sizes(self) -> list[int]:
        """Hundredths of the pot."""
        return [ALL_IN if size == "all_in" else round(size * POT) for size in self.bet_sizes]

    @property
    def _shown(self) -> str:
        return f"[{', '.join(map(str, self.bet_sizes))}]"

    @property
    def most_chips(self) -> int:
        """The most chips that a seat can put in: the largest stack."""
        return max(self.stack_of)

    @property
    def most_raises(self) -> int:
        """More raises than a hand can have."""
        return self._most_raises(self.seats)

    def _most_raises(self, seats: int) -> int:
        """The same with so many seats, each of which has one all-in that falls short."""
        return (self.most_chips - max(self.post)) // self.min_bet + seats

    @property
    def most_moves(self) -> int:
        """More actions than a hand can have."""
        return min(MOVES, (self.most_raises + len(self.board_cards)) * self.seats)

    @property
    def table(self) -> np.dtype[np.void]:
        """The dtype of a table."""
        return NO_LIMIT_TABLE

    def record_in(self, room: int) -> np.ndarray:
        """The definition, observed with room for so many seats."""
        # by the room and not by the seats, so that an observation has the same layout with fewer
        levels = min(self._most_raises(room) + self.forced_raises + 1, LEVELS)
        record = self._record(room, levels)
        record["min_bet"] = self.min_bet
        record["short_bets_reopen"] = self.short_bets_reopen
        record["sizes"] = len(self.bet_sizes)
        record["size"][0, : len(self.bet_sizes)] = self._sizes
        record["last_raise"] = MOVES - self.seats * (len(self.board_cards) + 1)
        return record

    @property
    def actions(self) -> int:
        """Fold, call, and a raise to each number of chips or of each size."""
        return RAISE + len(self.bet_sizes) if self.bet_sizes else self.most_chips + 1

    @property
    def kinds(self) -> np.ndarray:
        """Fold, call and raise, [A] int64."""
        return np.minimum(np.arange(self.actions), RAISE)

    @property
    def infoset_size(self) -> int:
        """Bytes in an information set's key."""
        return 2 + self.hole_cards + sum(self.board_cards) + 2 * self.most_moves

    def action_name(self, action: int) -> str:
        """What a person calls this action: `raise_12` is to 12 chips, or by that share of a pot."""
        if action < RAISE:
            return ("fold", "call")[action]
        size = self.bet_sizes[action - RAISE] if self.bet_sizes else action
        return f"raise_{size:g}" if isinstance(size, float | int) else f"raise_{size}"

    def line_name(self, record: np.void) -> str:
        """The actions so far, with the chips raised to, as in `r6c`."""
        line = record["line"][: record["moves"]].tolist()
        blinds = sum(blind > 0 for blind in self.blinds) if self.forced_raises else 0
        chips = record["chips"][blinds:].tolist()  # after each move; blinds have the first places
        return "".join(
            f"r{to}" if action >= RAISE else "fc"[action]
            for action, to in zip(line, chips, strict=False)
        )
