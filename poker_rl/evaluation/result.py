"""Results of evaluations: a result is one measured number of one player."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from poker_rl.games.game import Game

# Matches "exploitability/p50", but not "against/p50", a match against a player named p50.
PERCENTILE_TAG_PATTERN = re.compile(r"(?<!^against)/p\d+$")
EXACT, AGAINST = "exact", "against "  # prefixes of `Result.kind`


@dataclass(frozen=True)
class Result:
    """A measured number with its 95 % interval, its unit and the kind of measurement.

    Attributes:
        player: name of the measured player.
        measure: such as "exploitability", "exploitability/p50" (median) or "against/call".
        half_width: half the width of the 95 % interval; None if no interval was computed.
        unit: such as "ante/hand", "mbb/hand" or "chips a hand".
        kind: such as "exact", "exact, beside <player>" if that player has every other seat,
            "against <player>" for a match, "lower_bound" or "hands of <player>" for recorded hands.
        n: number of sampled deals, hands or decisions; None if exact or not recorded.
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
        """Name of the result, `<player>/<measure>`; metrics.jsonl adds the prefix `eval/`."""
        return f"{self.player}/{self.measure}"

    @property
    def value_and_interval_text(self) -> str:
        """The value and its interval as text, without the unit."""
        if isinstance(self.value, int) and self.half_width is None:  # a count
            return f"{self.value:,}"
        return format_number(self.value, self.half_width)

    @property
    def is_percentile(self) -> bool:
        """True if the value is a percentile over the instances of the player."""
        return PERCENTILE_TAG_PATTERN.search(self.measure) is not None

    def __str__(self) -> str:
        kind = "" if self.measure == self.kind.replace(" ", "/") else f" ({self.kind})"
        return f"{self.value_and_interval_text} {self.unit}{kind}"


def get_result_scale_and_unit(game: Game) -> tuple[float, str]:
    """Return the factor that converts chips to the unit of results, and the unit's name."""
    if game.unit == "big blind":
        return 1000 / game.unit_chips, "mbb/hand"
    return 1 / game.unit_chips, f"{game.unit}/{game.hand_noun}"


def results_to_metrics(results: Iterable[Result]) -> dict[str, float]:
    """Return values and half-widths by tag for metrics.jsonl; percentiles get no half-width."""
    values = {}
    for result in results:
        values[f"eval/{result.tag}"] = float(result.value)
        if result.half_width is not None and not result.is_percentile:
            values[f"eval/{result.tag}/half_width"] = float(result.half_width)
    return values


def select_first_result_of_each_player(results: Iterable[Result]) -> list[Result]:
    """Return the first result of each player, in the order of `results`."""
    first_results: dict[str, Result] = {}
    for result in results:
        first_results.setdefault(result.player, result)
    return list(first_results.values())


def select_headline_results(results: Sequence[Result]) -> dict[str, Result]:
    """Return the main results of the headline player, the player of the first result.

    The keys are "exploitability", "nash_conv" and "return/<opponent>", as far as measured.
    """
    return {
        result.measure.replace("against/", "return/"): result
        for result in results
        if result.player == results[0].player
        and not result.is_percentile
        and result.measure.startswith(("exploitability", "nash_conv", "against/"))
    }


def select_summary_results(results: Sequence[Result]) -> list[Result]:
    """Return the main results of the headline player, and the first result of each other one."""
    main_results = select_headline_results(results)
    main_results.pop("nash_conv", None)  # redundant: exploitability times the number of seats
    return [*main_results.values(), *select_first_result_of_each_player(results)[1:]]


def format_number(value: float, half_width: float | None = None) -> str:
    """Format a value with its interval, or a value alone with four significant digits."""
    # Smaller numbers are rounding errors, of sums over a game tree or of means over a match.
    rounding_error = 1e-12 if half_width is None else 1e-9
    if half_width is None or half_width < rounding_error:
        return f"{value if abs(value) > rounding_error else 0:.4g}"
    decimals = max(0, 1 - int(np.floor(np.log10(half_width))))
    return f"{value:z.{decimals}f} ± {half_width:.{decimals}f}"
