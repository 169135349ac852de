"""`poker-rl evaluate`: the players of a run measured once, for people, JSON and CSV."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from poker_rl.evaluation.equilibrium import CARDS, SITUATIONS, bets, member
from poker_rl.evaluation.evaluation import Evaluation, Measures
from poker_rl.evaluation.matches import against, exact, unit_of
from poker_rl.evaluation.measurement import Measurement
from poker_rl.evaluation.style import Style, StyleCount, is_holdem, rows_of, table_of
from poker_rl.folder import FIGURES, METRICS, write_text
from poker_rl.games.game import Game
from poker_rl.games.tree import Tree
from poker_rl.players.equilibrium import is_kuhn
from poker_rl.players.load import earlier as snapshots_before
from poker_rl.players.load import itself, load_players, parse
from poker_rl.players.player import Player
from poker_rl.settings import Refused, about

LEVEL = re.compile(r"/p\d+$")  # of a percentile's tag
FEW_SNAPSHOTS = 5
COLUMNS = ("player", "measure", "value", "half_width", "unit", "kind", "deals", "exact")


@dataclass(frozen=True)
class Match:
    """A duplicate match; `exact` is what `won` estimates, where the game can be enumerated."""

    player: str
    against: str
    deals: int
    won: Measurement
    exact: float | None
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
            rows = [["player", "against", "won", *["exact"] * exactly]]
            for match in self.matches:
                row = [match.player, match.against, number(match.won.value, match.won.half_width)]
                rows.append(row if match.exact is None else [*row, number(match.exact)])
            parts.append(f"{head}\n{aligned(rows)}")
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
            writer.writerows(rows_of(match.style))
        return file.getvalue()


def evaluate_run(
    run: Path,
    *,
    game: Game,
    evaluation: Evaluation,
    load: Callable[[str], Player],
    device: torch.device,
    checkpoint: int | None,
    player: str | None,
    against: Sequence[str],
    earlier: int | None,
    deals: int,
    seed: int,
    figures: bool,
    out: Path | None = None,
) -> Report:
    """Measure the players of a run folder, as `evaluate_players` does.

    Args:
        game: as in the run's config, and so is `evaluation`.
        load: builds the player of a name in `conf/player` or of a run folder.
        checkpoint: the snapshot at so many decisions; the newest if None.
        player: one of the snapshot's players, `average`, or a copy of it, `average.7`; None: all.
        against: opponents in duplicate matches, as `load` takes them.
        earlier: earlier snapshots, evenly spaced, at which each player meets itself too; None: a
            few for figures of a game too large to enumerate, else none.
        deals: of each match.
        figures: draw them too.
        out: the folder of what is written, the run's if None.

    Raises:
        Refused: if the run has no such snapshot, a player can't be loaded or plays another game.
    """
    place = str(run) if checkpoint is None else f"{run}@{checkpoint}"
    snapshot, name, copy = parse(place if player is None else f"{place}:{player}")
    players = load_players(snapshot, game, device, name)
    if name is not None and copy is not None:
        if copy >= players[name].instances:
            raise Refused(f"player: {name} has {players[name].instances} copies, counted from 0")
        players = {f"{name}.{copy}": players[name].instance(copy)}
    out = run if out is None else out
    if earlier is None:
        earlier = FEW_SNAPSHOTS if figures and evaluation.tree is None else 0
    before = snapshots_before(run, int(snapshot.stem))
    places = np.linspace(0, len(before) - 1, min(earlier, len(before)))
    report = evaluate_players(
        players,
        game=game,
        evaluation=evaluation,
        load=load,
        against=against,
        past=[before[round(place)] for place in places],
        deals=deals,
        seed=seed,
        snapshot=snapshot,
        out=out,
    )
    if figures:
        folder = out / FIGURES
        folder.mkdir(exist_ok=True)
        drawn = evaluation.figures(players, run / METRICS)
        drawn |= evaluation.networks(run / METRICS, selves(report.matches))
        for name, figure in drawn.items():
            figure.savefig(folder / f"{name}.png", dpi=150)
        print(f"\nfigures: {folder}")
    return report


def evaluate_players(
    players: Mapping[str, Player],
    *,
    game: Game,
    evaluation: Evaluation,
    load: Callable[[str], Player],
    against: Sequence[str],
    deals: int,
    seed: int,
    past: Sequence[Path] = (),
    snapshot: Path | None = None,
    out: Path | None = None,
) -> Report:
    """Measure players: print it, and write evaluation.json and evaluation.csv into a folder.

    Args:
        load: builds the player of a name in `conf/player` or of a run folder.
        against: opponents in duplicate matches, as `load` takes them.
        deals: of each match.
        past: snapshots at which each player meets itself too.
        snapshot: where the players are from.
        out: the folder, made if it is not there; None: nothing is written.

    Raises:
        Refused: if an opponent can't be loaded, or a player is many.
    """
    with about("against"):
        opponents = {spec: load(spec) for spec in against}
    if opponents or past:
        for name, one in players.items():
            if one.instances > 1:
                last = f"{name}.{one.instances - 1}"
                raise Refused(f"player: matches are of one copy, choose {name}.0 to {last}")

    if out is not None:
        try:
            out.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise Refused(f"out: {out} can't be made: {error.strerror}") from None
    measures = {name: evaluation.measures(one) for name, one in players.items()}
    matches = match_all(game, evaluation.tree, players, opponents, deals, seed)
    for path in past:
        for name, one in players.items():
            then = {itself(path): load(f"{path}:{name}")}
            played = match_all(game, evaluation.tree, {name: one}, then, deals, seed)
            matches += [replace(match, itself_at=int(path.stem)) for match in played]
    report = Report(
        game=game.name,
        snapshot=snapshot,
        seed=seed,
        measures=measures,
        matches=matches,
        kuhn=kuhn_bets(evaluation, players),
    )
    print(report.text())
    if out is not None:
        write_text(out / "evaluation.json", json.dumps(report.plain(), indent=2) + "\n")
        write_text(out / "evaluation.csv", report.csv())
    return report


def match_all(
    game: Game,
    tree: Tree | None,
    players: Mapping[str, Player],
    opponents: Mapping[str, Player],
    deals: int,
    seed: int,
) -> list[Match]:
    """Every player against every opponent, all of them with the same deals."""
    scale, _ = unit_of(game)
    found = []
    for name, player in players.items():
        for other, opponent in opponents.items():
            truth = None
            if tree is not None:
                policies = [one.probabilities(tree.records) for one in (player, opponent)]
                seats = [policies[0]] + [policies[1]] * (game.seats - 1)
                truth = float(exact(tree, seats)[0]) * scale
            count = StyleCount(game) if is_holdem(game) else None
            watch = None if count is None else count.add
            won = against(game, player, opponent, other, deals, seed, watch)
            styles = [] if count is None else count.styles(name, other)
            found.append(Match(name, other, deals, won, truth, styles))
    return found


def selves(matches: Sequence[Match]) -> dict[str, list[tuple[int, Measurement]]]:
    """By player, what it won from itself at so many decisions."""
    met: dict[str, list[tuple[int, Measurement]]] = {}
    for match in matches:
        if match.itself_at is not None:
            met.setdefault(match.player, []).append((match.itself_at, match.won))
    return met


def kuhn_bets(evaluation: Evaluation, players: Mapping[str, Player]) -> dict[str, np.ndarray]:
    """In Kuhn poker, each player's policy as `bets`: the median one, if it has several copies."""
    tree = evaluation.tree
    if tree is None or not is_kuhn(tree):
        return {}
    return {
        name: bets(tree, evaluation.median(tree, evaluation.policies(tree, player)))
        for name, player in players.items()
    }


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


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """Columns side by side, the first row above a line."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = ["  ".join(f"{cell:<{w}}" for cell, w in zip(row, widths, strict=True)) for row in rows]
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(line.rstrip() for line in lines)
