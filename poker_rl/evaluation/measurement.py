"""A number that says what it is."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from poker_rl.evaluation.columns import number
from poker_rl.players.player import Player

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PERCENTILE = re.compile(r"/p\d+$")  # how the tag of a percentile over instances ends


@dataclass(frozen=True)
class Measurement:
    """A value with its unit, its 95 % interval if it was sampled, and what kind of number it is.

    Kinds: "exact", "exact, beside <player>", "fitted", "lower_bound", perhaps "vacuous"; of matches
    whom they were against, "at the table" with several players, and of a tournament "mean of all
    tables" and "behind", which is behind the one above.
    """

    value: float
    half_width: float | None  # of the 95 % interval; None if exact
    unit: str  # such as "ante/hand", "mbb/hand" or "chips a hand"
    kind: str

    def __str__(self) -> str:
        return f"{self._number} ({self.kind})"

    def under(self, tag: str) -> str:
        """The same beside its tag, which need not be told again whom matches were against."""
        said = tag.endswith("/" + self.kind.replace(" ", "/", 1))
        return self._number if said else str(self)

    @property
    def _number(self) -> str:
        return f"{number(self.value, self.half_width)} {self.unit}"


def flatten(measurements: Mapping[str, Measurement]) -> dict[str, float]:
    """Return measurements as tags and values, with half widths except for percentiles."""
    values = {}
    for tag, measurement in measurements.items():
        values[f"eval/{tag}"] = float(measurement.value)
        if measurement.half_width is not None and not PERCENTILE.search(tag):
            values[f"eval/{tag}/half_width"] = float(measurement.half_width)
    return values


def first_of_each(measurements: Mapping[str, Measurement]) -> dict[str, Measurement]:
    """Return the first measurement of each player, that of the headline player first."""
    tags: dict[str, str] = {}
    for tag in measurements:
        tags.setdefault(tag.partition("/")[0], tag)
    return {tag: measurements[tag] for tag in tags.values()}


class Evaluator(Protocol):
    """How players are measured.

    Its results depend on the players and its own settings alone, not on what it measured before:
    a resumed run has to repeat them.
    """

    @property
    def exact_every(self) -> int | None:
        """In units of the budget: when `evaluate` is asked to be exact; None: never."""

    def exact_costs(self, players: Mapping[str, Player]) -> list[str]:
        """What measuring each player exactly will cost, in words; empty if nearly nothing.

        Raises:
            Refused: if one of them can't be measured so.
        """

    def evaluate(
        self,
        players: dict[str, Player],
        half: Path | None = None,
        exact: bool = False,
    ) -> Mapping[str, Measurement]:
        """Measurements by tag, the player's name first: "current/exploitability".

        Args:
            half: the run's snapshot at half as many decisions, if there is one.
            exact: measure exactly what takes minutes too.
        """

    def figures(self, players: dict[str, Player], metrics: Path) -> Mapping[str, Figure]:
        """Figures of the players and of the curves in a metrics.jsonl, by name."""
