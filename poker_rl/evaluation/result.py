"""Results of evaluations, each a row of a tidy table."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

PERCENTILE_TAG_PATTERN = re.compile(r"/p\d+$")  # end of the tag of a percentile over instances
EXACT, AGAINST = "exact", "against "  # how the kinds of exact values and of matches begin


@dataclass(frozen=True)
class Result:
    """A measured number with its unit, its interval and its kind, which says how it was obtained.

    Attributes:
        player: the measured player.
        measure: path such as "exploitability", "against/call" or "exploitability/p50".
        half_width: half the 95 % interval; None if nothing was sampled.
        unit: such as "ante/hand", "mbb/hand" or "chips a hand".
        kind: "exact"; "exact, beside <player>", which has every other seat; "against <player>";
            "at the table" of several players; "lower_bound"; "lower_bound, vacuous"; "fitted";
            "hands of <player>", recorded ones; in a tournament also "mean of all tables", and
            "behind" for behind the player ranked above.
        n: number of sampled deals; None if nothing was sampled.
    """

    player: str
    measure: str
    value: float
    half_width: float | None
    unit: str
    kind: str
    n: int | None = None

    @property
    def tag(self) -> str:
        """The tag `<player>/<measure>`, which follows `eval/` in metrics.jsonl."""
        return f"{self.player}/{self.measure}"

    @property
    def number(self) -> str:
        """The value and its interval as text, without the unit."""
        if isinstance(self.value, int) and self.half_width is None:  # a count
            return f"{self.value:,}"
        return format_number(self.value, self.half_width)

    @property
    def is_percentile(self) -> bool:
        """Return whether the value is a percentile over the instances of the player."""
        return PERCENTILE_TAG_PATTERN.search(self.measure) is not None

    def __str__(self) -> str:
        return f"{self.number} {self.unit} ({self.kind})"

    def format_beside_tag(self) -> str:
        """Return the result as text, without its kind if the tag already names the opponent."""
        tag_names_opponent = self.measure == self.kind.replace(" ", "/", 1)
        return f"{self.number} {self.unit}" if tag_names_opponent else str(self)


def flatten(results: Iterable[Result]) -> dict[str, float]:
    """Return the values by their tags in metrics.jsonl, and half-widths of all but percentiles."""
    values = {}
    for result in results:
        values[f"eval/{result.tag}"] = float(result.value)
        if result.half_width is not None and not result.is_percentile:
            values[f"eval/{result.tag}/half_width"] = float(result.half_width)
    return values


def first_of_each(results: Iterable[Result]) -> list[Result]:
    """Return the first result of each player, in the order of the results."""
    first_results: dict[str, Result] = {}
    for result in results:
        first_results.setdefault(result.player, result)
    return list(first_results.values())


def select_headline_results(results: Sequence[Result]) -> dict[str, Result]:
    """Return results of the headline player by tags that are the same for every learner.

    The headline player is the first player of a learner (see `Algorithm.players`), so its results
    come first. The tags are "exploitability", "nash_conv" and "return/<opponent>".
    """
    headlines = {}
    for result in results:
        if result.player == results[0].player and not result.is_percentile:
            tag = result.measure.replace("against/", "return/")
            if tag in ("exploitability", "nash_conv") or tag.startswith("return/"):
                headlines[tag] = result
    return headlines


def format_number(value: float, half_width: float | None = None) -> str:
    """Format a value with its interval, or with four digits if that is None or rounding error."""
    # Sums over a game tree, or over the hands of a match, have rounding errors of this size.
    rounding_error = 1e-12 if half_width is None else 1e-9
    if half_width is None or half_width < rounding_error:
        return f"{value if abs(value) > rounding_error else 0:.4g}"
    decimals = max(0, 1 - int(np.floor(np.log10(half_width))))
    return f"{value:z.{decimals}f} ± {half_width:.{decimals}f}"
