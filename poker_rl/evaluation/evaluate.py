"""`poker-rl evaluate`: the players of a run, or any two, measured once."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch

from poker_rl.disk import demand_file, demand_folder, say
from poker_rl.evaluation.equilibrium import bets
from poker_rl.evaluation.evaluation import Evaluation
from poker_rl.evaluation.matches import against, exact, unit_of
from poker_rl.evaluation.measurement import Measurement
from poker_rl.evaluation.outcomes import OutcomeCount
from poker_rl.evaluation.report import Match, Report
from poker_rl.evaluation.style import StyleCount, is_holdem
from poker_rl.folder import FIGURES, METRICS, read_folder, read_rows, write_text
from poker_rl.games.game import Game
from poker_rl.games.tree import Tree
from poker_rl.players.equilibrium import is_kuhn
from poker_rl.players.load import earlier as snapshots_before
from poker_rl.players.load import itself, load_players, parse
from poker_rl.players.player import Player
from poker_rl.settings import Refused, about

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FEW_SNAPSHOTS = 5
JSON, CSV = "evaluation.json", "evaluation.csv"


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
    if figures:
        read_rows(run / METRICS)  # refused now and not after the matches
        demand_folder(out / FIGURES)
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
        from poker_rl.evaluation.drawing import save  # matplotlib takes a while to import

        trained = read_folder(run)[1]["seed"]
        origin = f"{snapshot}, {game.name}, seed {trained}; evaluated with seed {seed}"
        folder = out / FIGURES
        folder.mkdir(exist_ok=True)
        drawn = evaluation.figures(players, run / METRICS)
        drawn |= evaluation.networks(run / METRICS, selves(report.matches))
        drawn |= distributions(report.matches)
        for name, figure in drawn.items():
            save(figure, folder / f"{name}.png", origin)
        say(f"\nfigures: {folder}")
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
        with about("out"):
            demand_folder(out)
            for name in (JSON, CSV):
                demand_file(out / name)
        out.mkdir(parents=True, exist_ok=True)
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
    say(report.text())
    if out is not None:
        write_text(out / JSON, json.dumps(report.plain(), indent=2) + "\n")
        write_text(out / CSV, report.csv())
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
            ended, count = OutcomeCount(game), StyleCount(game) if is_holdem(game) else None
            watch = [ended.add] if count is None else [ended.add, count.add]
            won = against(game, player, opponent, other, deals, seed, watch)
            styles = [] if count is None else count.styles(name, other)
            found.append(Match(name, other, deals, won, truth, ended.outcomes(other), styles))
    return found


def selves(matches: Sequence[Match]) -> dict[str, list[tuple[int, Measurement]]]:
    """By player, what it won from itself at so many decisions."""
    met: dict[str, list[tuple[int, Measurement]]] = {}
    for match in matches:
        if match.itself_at is not None:
            met.setdefault(match.player, []).append((match.itself_at, match.won))
    return met


def distributions(matches: Sequence[Match]) -> dict[str, Figure]:
    """A figure of how hands ended in every match, if there is one, by name."""
    from poker_rl.evaluation import figures  # matplotlib takes a while to import

    drawn = figures.outcomes([(match.player, match.against, match.outcomes) for match in matches])
    return {} if drawn is None else {"outcomes": drawn}


def kuhn_bets(evaluation: Evaluation, players: Mapping[str, Player]) -> dict[str, np.ndarray]:
    """In Kuhn poker, each player's policy as `bets`: the median one, if it has several copies."""
    tree = evaluation.tree
    if tree is None or not is_kuhn(tree):
        return {}
    return {
        name: bets(tree, evaluation.median(tree, evaluation.policies(tree, player)))
        for name, player in players.items()
    }
