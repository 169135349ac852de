"""`poker-rl evaluate`: the players of a run, or any two, measured once."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch

from poker_rl.config.settings import Refused, about
from poker_rl.evaluation.bounds import Bound, by_local_best_response, by_trained
from poker_rl.evaluation.equilibrium import bets
from poker_rl.evaluation.evaluation import Evaluation
from poker_rl.evaluation.kept import EVALUATIONS, keep
from poker_rl.evaluation.matches import against, unit_of
from poker_rl.evaluation.matches import exact as exact_values
from poker_rl.evaluation.measurement import Measurement
from poker_rl.evaluation.outcomes import OutcomeCount
from poker_rl.evaluation.report import Match, Report
from poker_rl.evaluation.style import StyleCount, is_holdem
from poker_rl.games.game import Game
from poker_rl.games.public.tree import heads_up
from poker_rl.players.equilibrium import is_kuhn
from poker_rl.players.load import ONE, full_specs, headline, itself, load_players, parse
from poker_rl.players.load import earlier as snapshots_before
from poker_rl.players.player import Player, policy_at
from poker_rl.storage.disk import make_folder, say
from poker_rl.storage.folder import METRICS, read_folder, read_rows

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LONGEST_STEM = 100  # characters of a figure's file
FEW_SNAPSHOTS = 5


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What is to be measured of some players, how, and where it is kept.

    Attributes:
        game: that they play, and `evaluation` measures.
        load: builds the player of a name in `conf/player` or of a run folder.
        deals: of each match.
        against: opponents in duplicate matches, as `load` takes them.
        exact: walk the public tree of a game that is too large to enumerate.
        lbr: bound the exploitability of each player by the local best response.
        best_responses: players that were trained to beat it, as `load` takes them: a bound too.
        figures: draw them too, into a folder beside the files.
        out: the folder, made if it is not there; None: nothing is written.
    """

    game: Game
    evaluation: Evaluation
    load: Callable[[str], Player]
    deals: int
    seed: int
    against: Sequence[str] = ()
    exact: bool = False
    lbr: bool = False
    best_responses: Sequence[str] = ()
    figures: bool = False
    out: Path | None = None


def evaluate_run(
    run: Path,
    wanted: Wanted,
    *,
    device: torch.device,
    checkpoint: int | None = None,
    player: str | None = None,
    earlier: int | None = None,
) -> Report:
    """Measure the players of a run folder, as `evaluate_players` does.

    Args:
        wanted: of the run's own game; without `out` it is kept in the run's `evaluations`.
        checkpoint: the snapshot at so many decisions; the newest if None.
        player: one of the snapshot's players, `average`, or a copy of it, `average.7`; None: all.
        earlier: earlier snapshots, evenly spaced, at which each player meets itself too; None: a
            few for figures of a game too large to enumerate, else none.

    Raises:
        Refused: if the run has no such snapshot, a player can't be loaded or plays another game.
    """
    if player is not None and not ONE.fullmatch(player):
        raise Refused(f"player: {player} is not a name, as in current, current.2 or current:greedy")
    place = str(run) if checkpoint is None else f"{run}@{checkpoint}"
    with about("checkpoint"):
        snapshot, name, copy, greedy = parse(place if player is None else f"{place}:{player}")
    with about("run" if player is None else "player"):
        if player is None or (copy is None and not greedy):
            players = load_players(snapshot, wanted.game, device, name)
        else:
            players = {player: wanted.load(f"{snapshot}:{player}")}
    if earlier is None:
        drawn = wanted.figures and wanted.evaluation.tree is None
        single = all(one.instances == 1 for one in players.values())  # several meet nobody
        earlier = FEW_SNAPSHOTS if drawn and single else 0
    before = snapshots_before(run, int(snapshot.stem))
    places = np.linspace(0, len(before) - 1, min(earlier, len(before)))
    return evaluate_players(
        players,
        wanted if wanted.out is not None else replace(wanted, out=run / EVALUATIONS),
        past=[before[round(place)] for place in places],
        snapshot=snapshot,
        metrics=run / METRICS,
    )


def evaluate_players(
    players: Mapping[str, Player],
    wanted: Wanted,
    *,
    past: Sequence[Path] = (),
    snapshot: Path | None = None,
    metrics: Path | None = None,
) -> Report:
    """Measure players: print it, and keep it in a folder under the time.

    Args:
        past: snapshots at which each player meets itself too.
        snapshot: where the players are from.
        metrics: the curves of the run that the players are from.

    Raises:
        Refused: before anything is computed: if an opponent can't be loaded, a player is many, or
            nothing can be written.
    """
    evaluation, out = wanted.evaluation, wanted.out
    others = _others(players, wanted, past)
    costs = _demand(players, wanted, others, metrics)
    if out is not None:
        with about("out"):
            make_folder(out)

    began = datetime.now()
    for cost in costs:
        say(cost)
    report = Report(
        time=began,
        command=shlex.join(["poker-rl", *sys.argv[1:]]),
        game=wanted.game,
        evaluation=asdict(evaluation),
        snapshot=snapshot,
        headline=None if snapshot is None else headline(snapshot),
        seed=wanted.seed,
        deals=wanted.deals,
        measures={name: evaluation.measures(one, wanted.exact) for name, one in players.items()},
        bounds=_bounds(players, wanted, others.trained),
        matches=_matches(players, wanted, others),
        kuhn=kuhn_bets(evaluation, players),
    )
    say(report.text())
    if out is not None:
        keep(report, out)
        say(f"\nkept: {out / report.stem}.json, .csv")
        if wanted.figures:
            draw(report, evaluation, players, metrics, out / report.stem)
    return report


@dataclass(frozen=True)
class _Others:
    """Whom players meet."""

    opponents: dict[str, Player]  # by the name that they were asked for
    trained: dict[str, Player]  # best responses, alike
    selves: list[tuple[Path, str, Player]]  # a snapshot, a player's name and the player as it was


def _others(players: Mapping[str, Player], wanted: Wanted, past: Sequence[Path]) -> _Others:
    """Load everybody.

    Raises:
        Refused: if one can't be loaded, or a player that is to meet others is many.
    """
    load = wanted.load
    with about("against"):
        opponents = {name: load(name) for name in full_specs(wanted.against)}
    with about("best_responses"):
        trained = {name: load(name) for name in full_specs(wanted.best_responses)}
    if opponents or trained or past or wanted.lbr:
        for name, one in players.items():
            if one.instances > 1:
                last = f"{name}.{one.instances - 1}"
                raise Refused(
                    f"player: matches and bounds are of one copy, choose {name}.0 to {last}"
                )
    with about("earlier"):
        selves = [(path, name, load(f"{path}:{name}")) for path in past for name in players]
    return _Others(opponents, trained, selves)


def _demand(
    players: Mapping[str, Player], wanted: Wanted, others: _Others, metrics: Path | None
) -> list[str]:
    """What exact measures will cost, in words.

    Raises:
        Refused: if anything that is wanted can't be done for these players.
    """
    game = wanted.game
    if wanted.lbr:
        with about("lbr"):
            heads_up(game)
    if others.trained and game.seats != 2:
        raise Refused(f"best_responses: {game.name} is not for two players, which it has to be")
    if wanted.figures and metrics is not None:
        with about("figures"):
            read_rows(metrics)  # refused now and not after the matches
    if not wanted.exact:
        return []
    with about("exact"):
        return wanted.evaluation.exact_costs(players)


def _bounds(
    players: Mapping[str, Player], wanted: Wanted, trained: Mapping[str, Player]
) -> list[Bound]:
    """The bounds on each player's exploitability that are wanted."""
    game, deals, seed = wanted.game, wanted.deals, wanted.seed
    bounds = []
    for name, one in players.items():
        if wanted.lbr:
            bounds.append(by_local_best_response(game, one, name, deals, seed))
        if trained:
            reduce = wanted.evaluation.reduction
            bounds.append(by_trained(game, one, name, trained, deals, seed, reduce))
    return bounds


def _matches(players: Mapping[str, Player], wanted: Wanted, others: _Others) -> list[Match]:
    """Those of each player with its opponents, and with itself at the snapshots before."""
    matches = match_all(players, others.opponents, wanted)
    for path, name, then in others.selves:
        met = match_all({name: players[name]}, {itself(path): then}, wanted)
        matches += [replace(match, itself_at=int(path.stem)) for match in met]
    return matches


def draw(
    report: Report,
    evaluation: Evaluation,
    players: Mapping[str, Player],
    metrics: Path | None,
    folder: Path,
) -> None:
    """Save the figures of a report and, if they are from a run with these metrics, its curves."""
    from poker_rl.evaluation.drawing import save  # matplotlib takes a while to import

    origin = f"{report.game.name}; evaluated with seed {report.seed}"
    if metrics is not None:
        trained = read_folder(metrics.parent)[1]["seed"]
        origin = f"{report.snapshot}, trained with seed {trained}, {origin}"
    drawn = evaluation.figures(players, metrics)
    if metrics is not None:
        drawn |= evaluation.networks(metrics, selves_of(report.matches))
    drawn |= distributions(report.matches)
    if not drawn:
        say("no figures: the game is too large for a policy to be drawn, and there is no match")
        return
    folder.mkdir(exist_ok=True)
    for stem, figure in zip(stems(drawn), drawn.values(), strict=True):
        save(figure, folder / f"{stem}.png", origin)
    say(f"figures: {folder}")


def stems(names: Iterable[str]) -> list[str]:
    """What the files of figures are called: a figure's name may have a player's path in it."""
    found: list[str] = []
    for name in names:
        stem = re.sub(r"[^\w.+-]+", "_", name)[-LONGEST_STEM:]
        while stem in found:
            stem += "_"
        found.append(stem)
    return found


def match_all(
    players: Mapping[str, Player], opponents: Mapping[str, Player], wanted: Wanted
) -> list[Match]:
    """Every player against every opponent, all of them with the same deals."""
    game, tree, reduce = wanted.game, wanted.evaluation.tree, wanted.evaluation.reduction
    deals, seed = wanted.deals, wanted.seed
    scale, _ = unit_of(game)
    found = []
    for name, player in players.items():
        for other, opponent in opponents.items():
            truth = None
            if tree is not None:
                policies = [policy_at(game, one, tree.records) for one in (player, opponent)]
                seats = [policies[0]] + [policies[1]] * (game.seats - 1)
                truth = float(exact_values(tree, seats)[0]) * scale
            ended, count = OutcomeCount(game), StyleCount(game) if is_holdem(game) else None
            watch = [ended.add] if count is None else [ended.add, count.add]
            won = against(game, player, opponent, other, deals, seed, watch, reduce)
            styles = [] if count is None else count.styles(name, other)
            found.append(Match(name, other, deals, won, truth, ended.outcomes(other), styles))
    return found


def selves_of(matches: Sequence[Match]) -> dict[str, list[tuple[int, Measurement]]]:
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
        name: bets(tree, evaluation.median(tree, evaluation.own_policies(tree, player)))
        for name, player in players.items()
    }
