"""A session in numbers: what the person and the others have won, and how the person plays."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, log10
from typing import Any

import numpy as np

from poker_rl.evaluation.matches import FEWEST_DEALS, half_width, unit_of
from poker_rl.evaluation.style import StyleCount, is_holdem
from poker_rl.games.game import Game
from poker_rl.games.tables import Tables
from poker_rl.play.table import YOU

POINTS = 200  # of the curve


class Statistics:
    """Counts the finished hands of one session."""

    def __init__(self, game: Game, names: Sequence[str]) -> None:
        self._game, self._names = game, names
        self._scale, self._unit = unit_of(game)
        self._won: list[list[int]] = []  # chips by place, of each hand
        self._lucky: list[float | None] = []  # the person's less what luck gave, chips
        self._present: list[list[bool]] = []
        self._style = StyleCount(game) if is_holdem(game) else None

    def add(
        self, record: np.ndarray, ring: Sequence[int], won: Sequence[int], lucky: float | None
    ) -> None:
        """Count a hand: its table [1] at the end, who had each seat, and chips won by place.

        Args:
            lucky: chips that the person won, less what luck gave; None if that is not known.
        """
        self._won.append(list(won))
        self._lucky.append(lucky)
        self._present.append([place in ring for place in range(self._game.seats)])
        if self._style is not None:
            tables = Tables(self._game, 0, 0)
            tables.use(record)
            self._style.add(tables, np.array([ring.index(YOU)]))

    def summary(self, abandoned: int) -> dict[str, Any]:
        """All of it as plain values.

        Means are results of a hand with half of their 95 % intervals, which are None for less than
        `FEWEST_DEALS` hands: the person's, and each opponent's own. `more_hands` would have to be
        played until the interval is `goal` to either side. The curve has what the person has won
        after evenly spread hands, from none to all; `lucky` is the mean less what luck gave.

        Args:
            abandoned: hands that were dealt and never finished; none of them counts.
        """
        won = np.array(self._won, float).reshape(-1, self._game.seats) * self._scale
        present = np.array(self._present, bool).reshape(won.shape)
        mine = won[:, YOU]
        goal, more = _more_hands(mine)
        total = np.concatenate([[0.0], mine.cumsum()])
        at = np.linspace(0, len(mine), min(len(mine), POINTS) + 1).round().astype(int)
        return {
            "hands": len(mine),
            "abandoned": abandoned,
            "won": sum(chips[YOU] for chips in self._won),
            **_mean(mine),
            "unit": self._unit,
            "lucky": self._told_lucky(),
            "goal": goal,
            "more_hands": more,
            "curve": total[at].tolist(),
            "style": self._told_style(),
            "opponents": [
                {
                    "name": name,
                    "hands": int(present[:, place].sum()),
                    **_mean(won[present[:, place], place]),
                }
                for place, name in enumerate(self._names)
                if place != YOU
            ],
            "places": self._places(won),
        }

    def _told_lucky(self) -> dict[str, float | None] | None:
        known = [chips for chips in self._lucky if chips is not None]
        if not known or len(known) < len(self._lucky):
            return None
        return _mean(np.array(known) * self._scale)

    def _told_style(self) -> dict[str, float | None] | None:
        if self._style is None or not self._won:
            return None
        style = self._style.styles("you", "others")[0]
        return {"vpip": style.vpip, "pfr": style.pfr, "aggression": style.aggression}

    def _places(self, won: np.ndarray) -> list[int] | None:
        """How often the person came in first, second and so on, where a whole game is scored."""
        if self._game.hand != "game" or self._game.seats == 2:
            return None
        better = (won > won[:, [YOU]]).sum(1)
        return [int((better == place).sum()) for place in range(self._game.seats)]


def _mean(won: np.ndarray) -> dict[str, float | None]:
    return {
        "mean": float(won.mean()) if len(won) else 0.0,
        "half_width": half_width(won) if len(won) >= FEWEST_DEALS else None,
    }


def _more_hands(won: np.ndarray) -> tuple[float | None, int | None]:
    """A power of ten near a tenth of the spread, and the hands for an interval as narrow."""
    if len(won) < FEWEST_DEALS or not won.std():
        return None, None
    goal = 10.0 ** (round(log10(won.std(ddof=1))) - 1)
    return goal, max(0, ceil(len(won) * ((half_width(won) / goal) ** 2 - 1)))
