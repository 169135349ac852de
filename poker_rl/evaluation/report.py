"""What was measured of some players, for people, JSON and CSV."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from poker_rl.evaluation import outcomes
from poker_rl.evaluation.equilibrium import CARDS, SITUATIONS, member
from poker_rl.evaluation.evaluation import Measures
from poker_rl.evaluation.measurement import Measurement
from poker_rl.evaluation.outcomes import Outcomes
from poker_rl.evaluation.style import Style, rows_of, table_of

LEVEL = re.compile(r"/p\d+$")  # of a percentile's tag
COLUMNS = ("player", "measure", "value", "half_width", "unit", "kind", "deals", "exact")


@dataclass(frozen=True)
class Match:
    """A duplicate match; `exact` is what `won` estimates, where the game can be enumerated."""

    player: str
    against: str
    deals: int
    won: Measurement
    exact: float | None
    outcomes: Outcomes  # of the player's hands
    style: list[Style]  # of both, in hold'em
    itself_at: int | None = None  # decisions of the opponent, if that is the player's earlier self


@dataclass(frozen=True)
class Report:
    """Everything measured of some players; `kuhn` holds their policies as `bets`, [4, 3]."""

    game: str
    snapshot: Path | None  # of the run that was measured
    seed: int
    measures: dict[str, Measures]
    matches: list[Match]
    kuhn: dict[str, np.ndarray]

    def text(self) -> str:
        """For the screen."""
        at = self.snapshot
        parts = [self.game if at is None else f"{self.game}, {int(at.stem):,} decisions: {at}"]
        if not any("exploitability" in tags for tags in self.measures.values()):
            parts.append("distance to Nash: not computed, the game is too large to enumerate")
        columns = [(name, "") for name in self.measures]
        for name, tags in self.measures.items():
            levels = dict.fromkeys(found[0] for tag in tags if (found := LEVEL.search(tag)))
            columns += [(name, level) for level in levels]
        rows = [["measure", *(name + level for name, level in columns), "unit", "kind"]]
        for tag, first in next(iter(self.measures.values())).items():
            if not LEVEL.search(tag):
                told = [self.measures[name][tag + level] for name, level in columns]
                cells = [number(one.value, one.half_width) for one in told]
                rows.append([tag, *cells, first.unit, first.kind])
        parts.append(aligned(rows))
        if self.matches:
            deals, unit = self.matches[0].deals, self.matches[0].won.unit
            head = f"{deals:,} deals, each played in every seat; {unit}, 95 % interval"
            exactly = self.matches[0].exact is not None
            rows = [["player", "against", "won", *["exact"] * exactly, "hands won"]]
            for match in self.matches:
                row = [match.player, match.against, number(match.won.value, match.won.half_width)]
                row += [] if match.exact is None else [number(match.exact)]
                rows.append([*row, percent(match.outcomes.hands_won)])
            parts.append(f"{head}\n{aligned(rows)}")
            ended = [(match.player, match.against, match.outcomes) for match in self.matches]
            head = f"what a hand won, {ended[0][2].unit}: least, percentiles, most"
            parts.append(f"{head}\n{aligned(outcomes.table_of(ended))}")
        if styles := [style for match in self.matches for style in match.style]:
            parts.append(f"how they played\n{aligned(table_of(styles))}")
        for name, own in self.kuhn.items():
            head = f"{name}: probability of a bet or a call / of the equilibrium with alpha "
            head += f"{min(own[0, 0], 1 / 3):.3f}"
            rows = [["", *CARDS]]
            for situation, mine, theirs in zip(SITUATIONS, own, member(own), strict=True):
                pairs = [f"{a:.3f} / {b:.3f}" for a, b in zip(mine, theirs, strict=True)]
                rows.append([situation, *pairs])
            parts.append(f"{head}\n{aligned(rows)}")
        return "\n\n".join(parts)

    def plain(self) -> dict[str, Any]:
        """For JSON."""
        report: dict[str, Any] = {
            "game": self.game,
            "snapshot": None if self.snapshot is None else str(self.snapshot),
            "decisions": None if self.snapshot is None else int(self.snapshot.stem),
            "seed": self.seed,
            "players": {
                name: {tag: asdict(one) for tag, one in tags.items()}
                for name, tags in self.measures.items()
            },
            "matches": [asdict(match) for match in self.matches],
        }
        if self.kuhn:
            report["kuhn"] = {
                name: {
                    "alpha": float(min(own[0, 0], 1 / 3)),
                    "bet_or_call": by_situation(own),
                    "equilibrium": by_situation(member(own)),
                }
                for name, own in self.kuhn.items()
            }
        return report

    def csv(self) -> str:
        """A row a number; with those of matches their deals and, where known, the exact value."""
        file = io.StringIO()
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        for name, tags in self.measures.items():
            for tag, one in tags.items():
                writer.writerow({"player": name, "measure": tag} | asdict(one))
        for match in self.matches:
            measure = {"player": match.player, "measure": f"against/{match.against}"}
            known = {"deals": match.deals, "exact": match.exact}
            writer.writerow(measure | asdict(match.won) | known)
            measure["measure"] = f"hands_won/{match.against}"
            writer.writerow(measure | asdict(match.outcomes.hands_won) | {"deals": match.deals})
            writer.writerows(rows_of(match.style))
        return file.getvalue()


def by_situation(bets: np.ndarray) -> dict[str, dict[str, float]]:
    """`bets` by situation and card."""
    return {
        situation: dict(zip(CARDS, row, strict=True))
        for situation, row in zip(SITUATIONS, bets.tolist(), strict=True)
    }


def number(value: float, half_width: float | None = None) -> str:
    """Four digits, or as many decimals as the interval has."""
    if half_width is None or half_width == 0:
        return f"{value if abs(value) > 1e-12 else 0:.4g}"
    decimals = max(0, 1 - int(np.floor(np.log10(half_width))))
    return f"{value:.{decimals}f} ± {half_width:.{decimals}f}"


def percent(share: Measurement) -> str:
    """A share and its interval in percent."""
    wide = None if share.half_width is None else 100 * share.half_width
    return f"{number(100 * share.value, wide)} %"


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """Columns side by side, the first row above a line."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = ["  ".join(f"{cell:<{w}}" for cell, w in zip(row, widths, strict=True)) for row in rows]
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(line.rstrip() for line in lines)
