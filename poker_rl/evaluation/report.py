"""What was measured of some players, for people, JSON and CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from poker_rl.evaluation import outcomes, seated
from poker_rl.evaluation.bounds import LOWER_BOUND, Bound, lower_end
from poker_rl.evaluation.columns import aligned, listed, number, numbered, shortened
from poker_rl.evaluation.equilibrium import CARDS, SITUATIONS, member
from poker_rl.evaluation.evaluation import Measures
from poker_rl.evaluation.measurement import PERCENTILE, Measurement
from poker_rl.evaluation.outcomes import Outcomes
from poker_rl.evaluation.seated import Seated
from poker_rl.evaluation.style import Style, rows_of, table_of
from poker_rl.games.game import Game
from poker_rl.games.poker.game import PokerGame

AGAINST = "against "  # the kind of a number from matches begins so
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

    time: datetime  # when it began
    command: str
    game: Game
    evaluation: dict[str, Any]  # the settings of what is measured of every player
    snapshot: Path | None  # of the run that was measured
    headline: str | None  # the headline player of that snapshot
    seed: int
    deals: int  # of a match
    measures: dict[str, Measures]
    matches: list[Match]
    kuhn: dict[str, np.ndarray]
    table: list[Seated] = field(default_factory=list)  # of a mixed table, else none
    bounds: list[Bound] = field(default_factory=list)

    @property
    def stem(self) -> str:
        """What files of this report are called."""
        return f"{self.time:%Y-%m-%d_%H-%M-%S.%f}"

    def text(self) -> str:
        """For the screen."""
        at, numbers = self.snapshot, numbered(self._names())

        def table(rows: Sequence[Sequence[str]], keys: int) -> str:
            return aligned(shortened(rows, numbers), keys)

        parts = [self.game.name]
        if at is not None:
            parts[0] += f", {int(at.stem):,} decisions: {at}"
        if distances := self._distances(numbers):
            parts.append(distances)
        elif self.measures and not any("exploitability" in one for one in self.measures.values()):
            unknown = "distance to Nash: not computed, the game is too large to enumerate"
            if isinstance(self.game, PokerGame) and self.game.seats == 2:
                unknown += "; lbr=true bounds it, exact=true computes it where that can be done"
            parts.append(unknown)
        if self.table:
            rule = f"{self.deals:,} deals, each played in every rotation of the players over the"
            rule += f" seats; {self.table[0].won.unit}, 95 % interval"
            parts.append(f"{rule}\n{table(seated.table_of(self.table), 1)}")
        if any(self.measures.values()):
            parts.append(table(self._measures(), 1))
        if self.bounds:
            head = f"lower bounds on exploitability; {self.bounds[0].won.unit}, 95 % interval"
            parts.append(f"{head}\n{table(self._bounds(), 2)}")
        if self.matches:
            parts.append(f"{self._rule()}\n{table(self._matches(), 2)}")
            ended = [(match.player, match.against, match.outcomes) for match in self.matches]
            head = f"what a {self.game.hand} won, {ended[0][2].unit}: least, percentiles, most"
            parts.append(f"{head}\n{table(outcomes.table_of(ended), 2)}")
        if styles := [style for match in self.matches for style in match.style]:
            parts.append(f"how they played\n{table(table_of(styles), 3)}")
        for name, own in self.kuhn.items():
            ((who,),) = shortened([[name]], numbers)
            head = f"{who}: probability of a bet or a call / of the equilibrium with alpha "
            head += f"{min(own[0, 0], 1 / 3):.3f}"
            rows = [["", *CARDS]]
            for situation, mine, theirs in zip(SITUATIONS, own, member(own), strict=True):
                pairs = [f"{a:z.3f} / {b:z.3f}" for a, b in zip(mine, theirs, strict=True)]
                rows.append([situation, *pairs])
            parts.append(f"{head}\n{aligned(rows)}")
        if numbers:
            parts.append(listed(numbers))
        return "\n\n".join(parts)

    def _names(self) -> list[str]:
        """Of all players and opponents that the tables tell of."""
        usual = [
            one.kind.removeprefix(AGAINST)
            for tags in self.measures.values()
            for one in tags.values()
            if one.kind.startswith(AGAINST)
        ]
        met = [match.against for match in self.matches]
        by = [bound.by for bound in self.bounds]
        return [*self.measures, *usual, *met, *by, *(one.player for one in self.table)]

    def _distances(self, numbers: dict[str, str]) -> str:
        """Of each player with bounds: its exact distance to Nash, else the bound that is surest."""
        lines = []
        for name in dict.fromkeys(bound.player for bound in self.bounds):
            exactly = self.measures.get(name, {}).get("exploitability")
            best = max(
                (bound for bound in self.bounds if bound.player == name),
                key=lambda bound: lower_end(bound.won),
            )
            won = number(best.won.value, best.won.half_width)
            if exactly is not None and exactly.kind == "exact":
                told = f"{number(exactly.value)} {exactly.unit}, {exactly.kind}"
            elif best.won.kind == LOWER_BOUND:
                told = f"at least {won} {best.won.unit}, {best.won.kind} by {best.by}"
            else:
                told = f"not known: what {best.by} wins, {won} {best.won.unit}, says nothing"
                told += f" ({best.won.kind})"
            lines.append([f"exploitability of {marked(name, self.headline)}: {told}"])
        return "\n".join(line for (line,) in shortened(lines, numbers))

    def _bounds(self) -> list[list[str]]:
        rows = [["player", "by", "hands", "won", "kind"]]
        for bound in self.bounds:
            won = number(bound.won.value, bound.won.half_width)
            who = marked(bound.player, self.headline)
            rows.append([who, bound.by, f"{bound.hands:,}", won, bound.won.kind])
        return rows

    def _measures(self) -> list[list[str]]:
        columns = [(name, "") for name in self.measures]
        for name, tags in self.measures.items():
            levels = dict.fromkeys(found[0] for tag in tags if (found := PERCENTILE.search(tag)))
            columns += [(name, level) for level in levels]
        heads = [name + level if level else marked(name, self.headline) for name, level in columns]
        rows = [["measure", *heads, "unit", "kind"]]
        for tag, first in next(iter(self.measures.values())).items():
            if not PERCENTILE.search(tag):
                told = [self.measures[name][tag + level] for name, level in columns]
                cells = [number(one.value, one.half_width) for one in told]
                rows.append([tag, *cells, first.unit, first.kind])
        return rows

    def _rule(self) -> str:
        """What a match is."""
        others = ", all other seats taken by the same opponent" if self.game.seats > 2 else ""
        unit = self.matches[0].won.unit
        dealt = {
            "none": "deals, each played in every seat",
            "aivat": "deals, each played in every seat, with less luck in what is told (aivat)",
            "control": "hands in every seat, each of its own cards, set against a control player's",
        }[self.evaluation["reduce"]]
        return f"{self.deals:,} {dealt}{others}; {unit}, 95 % interval"

    def _matches(self) -> list[list[str]]:
        exactly = self.matches[0].exact is not None
        rows = [["player", "against", "won", *["exact"] * exactly, f"{self.game.hand}s won"]]
        for match in self.matches:
            who = [marked(match.player, self.headline), match.against]
            row = [*who, number(match.won.value, match.won.half_width)]
            row += [] if match.exact is None else [number(match.exact)]
            rows.append([*row, percent(match.outcomes.hands_won)])
        return rows

    def plain(self) -> dict[str, Any]:
        """For JSON."""
        report: dict[str, Any] = {
            "time": self.time.isoformat(sep=" ", timespec="seconds"),
            "command": self.command,
            "game": self.game.name,
            "evaluation": self.evaluation,
            "snapshot": None if self.snapshot is None else str(self.snapshot),
            "decisions": None if self.snapshot is None else int(self.snapshot.stem),
            "headline": self.headline,
            "seed": self.seed,
            "deals": self.deals,
            "players": {
                name: {tag: asdict(one) for tag, one in tags.items()}
                for name, tags in self.measures.items()
            },
            "matches": [asdict(match) for match in self.matches],
            "table": [asdict(one) for one in self.table],
            "bounds": [asdict(one) for one in self.bounds],
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
                played = {"deals": self.evaluation["deals"]} if tag.startswith("against/") else {}
                writer.writerow({"player": name, "measure": tag} | asdict(one) | played)
        for bound in self.bounds:
            measure = {"player": bound.player, "measure": f"bound/{bound.by}"}
            dealt = {"deals": bound.hands // self.game.seats}
            writer.writerow(measure | asdict(bound.won) | dealt)
        for match in self.matches:
            measure = {"player": match.player, "measure": f"against/{match.against}"}
            known = {"deals": match.deals, "exact": match.exact}
            writer.writerow(measure | asdict(match.won) | known)
            measure["measure"] = f"hands_won/{match.against}"
            writer.writerow(measure | asdict(match.outcomes.hands_won) | {"deals": match.deals})
            writer.writerows(rows_of(match.style))
        for seat in self.table:
            known = {"deals": self.deals, "exact": seat.exact}
            writer.writerow({"player": seat.player, "measure": "table"} | asdict(seat.won) | known)
        return file.getvalue()


def by_situation(bets: np.ndarray) -> dict[str, dict[str, float]]:
    """`bets` by situation and card."""
    return {
        situation: dict(zip(CARDS, row, strict=True))
        for situation, row in zip(SITUATIONS, bets.tolist(), strict=True)
    }


def marked(player: str, headline: str | None) -> str:
    """The name of a player, saying whether it is the headline player."""
    return f"{player} (headline)" if player == headline else player


def percent(share: Measurement) -> str:
    """A share and its interval in percent."""
    wide = None if share.half_width is None else 100 * share.half_width
    return f"{number(100 * share.value, wide)} %"
