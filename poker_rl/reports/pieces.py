"""The parts of a report that tell of one run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from poker_rl.config.build import build_as
from poker_rl.config.files import read_json
from poker_rl.config.horizons import resolved
from poker_rl.config.settings import Refused, about
from poker_rl.evaluation.columns import number
from poker_rl.evaluation.evaluation import Evaluation
from poker_rl.evaluation.kept import COLUMNS, EVALUATIONS, rows_of
from poker_rl.evaluation.measurement import PERCENTILE
from poker_rl.evaluation.style import Style, table_of
from poker_rl.games.game import Game
from poker_rl.players.load import CPU, load_player, load_players
from poker_rl.players.opponents import Opponents
from poker_rl.players.player import Player
from poker_rl.reports.groups import CLASS, flattened, shown
from poker_rl.reports.hands import played
from poker_rl.reports.html import Markup, drawing, element, table
from poker_rl.reports.means import value_at
from poker_rl.reports.table import machine
from poker_rl.reports.trained import SECONDS, Trained
from poker_rl.storage.checkpoint import newest, snapshots
from poker_rl.storage.folder import METRICS, PLACE


def section(place: int, run: Trained, hands: int, seed: int, conf: Sequence[Path]) -> Markup:
    """All that is told of a run.

    Args:
        place: of the run among those of the page, from 1 on.
        hands: that its headline player plays with itself.
        conf: the folders of the options.
    """
    with about(str(run.folder)):
        game: Game = build_as(Game, run.cfg.get("game"), "game")
        snapshot = newest(run.folder) if snapshots(run.folder) else None
        players = {} if snapshot is None else load_players(snapshot, game, CPU)
        parts = [
            element("h2", str(run.folder), id=f"run-{place}"),
            table([["run", ""], *summary(run, snapshot)]),
            *part("Figures", measurements(run)),
            *part("Curves and policies", pictures(place, run, game, players)),
            *part("Evaluations", evaluations(run)),
            *part(
                f"Hands of {next(iter(players), '')} with itself",
                few_hands(game, players, hands, seed),
            ),
            *part("Settings", settings(run, conf)),
            *part("How it was run", [manifest(run)]),
        ]
    return element("section", *parts)


def part(heading: str, found: Iterator[Markup] | Sequence[Markup]) -> Sequence[Markup]:
    """A part with its heading, nothing if it is empty."""
    inner = list(found)
    return [element("h3", heading), *inner] if inner else []


def summary(run: Trained, snapshot: Path | None) -> list[list[str]]:
    """What the run is, in a few rows; `snapshot` holds the players that are shown."""
    names = {key: str(name) for key, name in run.cfg["names"].items() if name is not None}
    seconds = value_at(run, SECONDS, "decisions", None)
    rows = [[key, name] for key, name in names.items()]
    rows += [["seed", str(run.cfg.get("seed"))], ["status", run.status]]
    if run.headline is not None:
        rows.append(["headline player", run.headline])
    rows.append(["decisions", f"{run.end('decisions'):,.0f}"])
    if seconds is not None:
        rows.append(["minutes", f"{seconds / 60:.1f}"])
    if snapshot is not None:
        rows.append(["its players shown", f"as of {int(snapshot.stem):,} decisions"])
    return [*rows, ["machine", machine(run)]]


def measurements(run: Trained) -> Iterator[Markup]:
    """Every measurement of the last row, percentiles left out; the headline player's stand out."""
    rows = [["player", "measure", "value", "unit", "kind"]]
    for tag in run.curves:
        if not tag.startswith("eval/") or PERCENTILE.search(tag) or tag.endswith("/half_width"):
            continue
        value = value_at(run, tag, "decisions", None)
        if value is not None:
            _, player, measure = tag.split("/", 2)
            wide = value_at(run, f"{tag}/half_width", "decisions", None)
            about = [run.about(tag, what) for what in ("unit", "kind")]
            rows.append([player, measure, number(value, wide), *about])
    if rows[1:]:
        yield table(rows, [i for i, row in enumerate(rows[1:]) if row[0] == run.headline])


def pictures(
    place: int, run: Trained, game: Game, players: Mapping[str, Player]
) -> Iterator[Markup]:
    """The figures that training draws at its end: curves, and policies where the game is small."""
    opponents = Opponents(run.folder)
    evaluation: Evaluation = build_as(
        Evaluation,
        run.cfg.get("evaluation"),
        "evaluation",
        game=game,
        load=lambda spec: load_player(opponents.locate(spec), game),
        seed=run.cfg.get("seed"),
    )
    if not run.curves:
        return
    curves = evaluation.curves(run.curves)
    for i, (name, figure) in enumerate(evaluation.figures(players, run.folder / METRICS).items()):
        yield drawing(figure, name.replace("_", " "), 1000 * place + i, name not in curves)


def evaluations(run: Trained) -> Iterator[Markup]:
    """What `poker-rl evaluate` kept of the run: figures and matches, and styles of play.

    Raises:
        Refused: if a file there is something else.
    """
    rows, styles, commands = [COLUMNS], [], []
    for place, path in enumerate(sorted((run.folder / EVALUATIONS).glob("*.json")), start=1):
        try:
            kept = read_json(path)
            rows += [[str(place), *row] for row in rows_of(kept)]
            styles += [Style(**one) for match in kept["matches"] for one in match["style"]]
            commands.append(f"{place}: {kept['time']}, {kept['command']}")
        except (OSError, ValueError, LookupError, TypeError, AttributeError):
            raise Refused(f"{path} is no evaluation that can be read") from None
    if rows[1:]:
        yield table(rows)
    if styles:
        yield element("p", "How they played:")
        yield table(table_of(styles))
    for command in commands:
        yield element("p", command, class_="note")


def few_hands(game: Game, players: Mapping[str, Player], hands: int, seed: int) -> Iterator[Markup]:
    """A few hands of the headline player with itself."""
    for player in list(players.values())[:1]:
        one = player.instance(0) if player.instances > 1 else player
        for rows, won in played(game, one, hands, seed):
            yield table(rows)
            yield element("p", won)


def settings(run: Trained, conf: Sequence[Path]) -> Iterator[Markup]:
    """Every setting beside its default; those that differ stand out."""
    own = {key: value for key, value in run.cfg.items() if key not in {*PLACE, "names"}}
    mine, usual = dict(flattened(own)), defaults(run, conf)
    if usual is None:
        yield element("p", "The defaults of its game and algorithm are not known here.")
        yield table([["setting", "value"], *([named(key), shown(mine, key)] for key in mine)])
        return
    rows = [[named(key), shown(mine, key), shown(usual, key)] for key in mine]
    differ = [i for i, key in enumerate(mine) if mine[key] != usual.get(key, "")]
    yield element(
        "p",
        f"{len(differ)} of {len(rows)} settings are not the default of"
        f" game={run.game} algo={run.cfg['names']['algo']}.",
    )
    yield table([["setting", "value", "default"], *rows], differ)


def named(key: str) -> str:
    """A setting, or the part whose class the key names."""
    return key.removesuffix(CLASS)


def defaults(run: Trained, conf: Sequence[Path]) -> dict[str, Any] | None:
    """The settings of the same game and algorithm with nothing else given, None if unknown.

    Horizons are those of the run's own budget.
    """
    from poker_rl.config.compose import composed  # with Hydra, which takes a while to import

    names = run.cfg["names"]
    budget = {key: run.cfg.get(key) for key in ("budget", "budget_unit")}
    try:
        usual = composed([f"game={names['game']}", f"algo={names['algo']}"], conf)
        horizons = resolved({**usual, **budget})["algo"]
    except Refused:
        return None
    return dict(flattened({**usual, "algo": horizons}))


def manifest(run: Trained) -> Markup:
    """The command, versions and machine, of the beginning and of each time it was resumed."""
    measured = {"measurements", "resumed"}
    rows = [["manifest", ""]]
    for key, value in flattened({k: v for k, v in run.manifest.items() if k not in measured}):
        rows.append([key, shown({key: value}, key)])
    for times, one in enumerate(run.manifest["resumed"], start=1):
        rows += [[f"resumed {times}: {key}", shown({key: v}, key)] for key, v in flattened(one)]
    return table(rows)
