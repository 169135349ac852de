"""`poker-rl report`: an HTML page on one or more runs, which needs no other file."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from matplotlib import rc_context
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from poker_rl.config.build import build
from poker_rl.config.compose import compose_plain_config
from poker_rl.config.input_checks import ConfigError, Range, Seed, error_prefix
from poker_rl.config.schedules import convert_horizons_to_steps
from poker_rl.evaluation.player_evaluator import PlayerEvaluator
from poker_rl.evaluation.plots.plotting import FILE_STYLE, METADATA
from poker_rl.evaluation.result import Result
from poker_rl.games.game import Game
from poker_rl.games.tables import Tables
from poker_rl.players.opponent_file_copies import OpponentFileCopies
from poker_rl.players.player import Player, compute_checked_probs, sample_from_probs
from poker_rl.players.player_loader import CPU, load_player, load_players_of_snapshot
from poker_rl.reports.compare_runs import build_game_comparisons, draw_comparison
from poker_rl.reports.comparison import CompareConfig, format_minutes
from poker_rl.reports.evaluation_reports import EVALUATIONS_FOLDER, iterate_reports
from poker_rl.reports.run_data import (
    TARGET_SUFFIX,
    RunData,
    find_run_folders,
    flatten_config,
    format_setting_value,
    read_run,
)
from poker_rl.reports.table_formats import (
    HtmlMarkup,
    TextRows,
    build_long_rows,
    create_html_document,
    create_html_element,
    create_html_table,
    mark_headline_player,
)
from poker_rl.storage.checkpoint import find_newest_snapshot, list_snapshots
from poker_rl.storage.disk import prepare_output_file, write_text_atomically
from poker_rl.storage.run_files import LOCATION_SETTINGS, METRICS_FILE
from poker_rl.storage.terminal_printing import print_line

MAX_BASIS_PX = 480  # largest CSS flex-basis of a panel; two such panels fit side by side


@dataclass(kw_only=True, frozen=True)
class ReportConfig:
    """Settings of `poker-rl report`; conf/report.yaml explains them."""

    out: str | None
    overwrite: bool
    hands: Annotated[int, Range(0, 100)]
    seed: Seed


def write_report(
    run_specs: Sequence[str], config: ReportConfig, option_dirs: Sequence[Path]
) -> None:
    """Write an HTML report on runs; a report on several runs begins with their comparison."""
    if config.out is not None and Path(config.out).suffix != ".html":
        raise ConfigError(f"out: {config.out} is no page; give FILE.html")
    runs = [read_run(folder) for folder in find_run_folders(run_specs)]
    if config.out is None and len(runs) > 1:
        raise ConfigError(f"out: missing; of {len(runs)} runs, name the page: out=FILE.html")
    output_path = runs[0].folder / "report.html" if config.out is None else Path(config.out)
    # The default page, in the run folder, may be replaced: `report` can create it again.
    prepare_output_file("out", output_path, config.overwrite or config.out is None)
    title, elements = f"{runs[0].game_name}: {runs[0].experiment_or_algo}", []
    if len(runs) > 1:
        title, elements = f"{len(runs)} runs", list(render_comparison(runs))
    for number, run in enumerate(runs, start=1):
        with error_prefix(str(run.folder)):
            content = render_run(run, config, option_dirs)
            elements.append(create_html_element("section", *content, id=f"run-{number}"))
    write_text_atomically(output_path, create_html_document(title, *elements))
    print_line(f"written: {output_path}")


def render_comparison(runs: Sequence[RunData]) -> Iterator[HtmlMarkup]:
    """Yield HTML with the tables, notes and curves of `poker-rl compare`."""
    yield create_html_element("h2", "Side by side")
    measured_runs = [run for run in runs if run.headline_measures]
    for comparison in build_game_comparisons(measured_runs, CompareConfig()):
        yield create_html_element("p", comparison.title)
        yield create_html_table(comparison.build_rows())
        for note in comparison.iterate_notes():
            yield create_html_element("p", note, class_="note")
        if any(group.counted_runs for group in comparison.groups):
            yield embed_figure(draw_comparison([comparison]), f"curves of {comparison.game}")


def render_run(
    run: RunData, config: ReportConfig, option_dirs: Sequence[Path]
) -> Iterator[HtmlMarkup]:
    """Yield HTML with results, figures, sample hands, settings and provenance of a run."""
    game: Game = build(run.config.get("game"), "game", Game)
    snapshot = find_newest_snapshot(run.folder) if list_snapshots(run.folder) else None
    players = {} if snapshot is None else load_players_of_snapshot(snapshot, game, CPU)
    yield create_html_element("h2", str(run.folder))
    yield create_html_element("p", format_run_facts(run, snapshot))
    if results := run.list_last_results():
        yield create_html_element("h3", "Measurements")
        yield render_result_tables(results, run.headline_player)
    if run.curves:
        yield create_html_element("h3", "Curves and policies")
        yield from render_run_figures(run, game, players)
    if reports := list(iterate_reports(run.folder / EVALUATIONS_FOLDER)):
        yield create_html_element("h3", "Evaluations")
        for heading, results, headline_player, _ in reports:
            yield create_html_element("p", heading, class_="note")
            yield render_result_tables(results, headline_player)
    if players and config.hands:
        name, player = next(iter(players.items()))
        yield create_html_element("h3", f"Hands of {name} with itself")
        yield create_html_element("div", *render_sample_hands(game, player, config), class_="row")
    yield create_html_element("h3", "Settings")
    yield from render_settings(run, option_dirs)
    yield create_html_element("h3", "Provenance")
    yield create_html_table(build_manifest_rows(run))


def render_result_tables(results: Sequence[Result], headline_player: str | None) -> HtmlMarkup:
    """Return an HTML element with a table of results for each player, without empty columns."""
    tables = []
    for player in dict.fromkeys(result.player for result in results):
        rows = build_long_rows([result for result in results if result.player == player])
        columns = [column for column in zip(*rows, strict=True) if any(column[1:])][1:]
        caption = mark_headline_player(player, headline_player)
        tables.append(create_html_table(list(zip(*columns, strict=True)), caption=caption))
    return create_html_element("div", *tables, class_="row")


def format_run_facts(run: RunData, snapshot: Path | None) -> str:
    """Return a line of options, seed, status, decisions, minutes, snapshot and machine of a run."""
    facts = [f"{key} {name}" for key, name in run.config["names"].items() if name is not None]
    facts += [f"seed {run.seed}", run.status, f"{run.get_last_x('decisions'):,.0f} decisions"]
    facts.append(
        f"{format_minutes((run.get_last_value('seconds', 'decisions') or 0) / 60)} minutes"
    )
    if snapshot is not None:
        facts.append(f"players of the snapshot at {int(snapshot.stem):,} decisions")
    return ", ".join([*facts, run.machine])


def render_run_figures(
    run: RunData, game: Game, players: Mapping[str, Player]
) -> Iterator[HtmlMarkup]:
    """Yield HTML with a run's curves and, in small games and hold'em, policies of `players`."""
    opponents = OpponentFileCopies(run.folder)
    evaluator: PlayerEvaluator = build(
        run.config.get("evaluation"),
        "evaluation",
        PlayerEvaluator,
        game=game,
        load=lambda spec: load_player(opponents.resolve_bundled_path(spec), game),
        seed=run.config.get("seed"),
    )
    for name, figure in evaluator.build_figures(players, run.folder / METRICS_FILE).items():
        yield embed_figure(figure, name.replace("_", " "))


def render_sample_hands(game: Game, player: Player, config: ReportConfig) -> Iterator[HtmlMarkup]:
    """Yield HTML of hands that a player plays against itself: tables of the moves, and payoffs."""
    player = player.select_instance(0) if player.instance_count > 1 else player
    generator, tables = np.random.default_rng(config.seed), Tables(game, 1, config.seed)
    for _ in range(config.hands):
        tables.deal()
        rows = [["seat", "information set", "action", "probability"]]
        while not tables.records["over"][0]:
            record, probs = tables.records[0], compute_checked_probs(game, player, tables.records)
            action = sample_from_probs(probs, generator.random(1))
            seat, _, known_text = game.infoset_name(record).partition(" ")
            move_name = game.move_name(record, int(action[0]))
            rows.append([seat, known_text, move_name, f"{100 * probs[0, action[0]]:.0f} %"])
            tables.step(action)
        payoffs = tables.payoffs()[0, : tables.count_seats()[0]] / game.unit_chips
        payoff_texts = ", ".join(f"seat {seat} {chips:+g}" for seat, chips in enumerate(payoffs))
        payoff_line = create_html_element("p", f"Won, in {game.unit}s: {payoff_texts}.")
        yield create_html_element("div", create_html_table(rows), payoff_line)


def render_settings(run: RunData, option_dirs: Sequence[Path]) -> Iterator[HtmlMarkup]:
    """Yield a run's settings and their defaults as an HTML table, with differences highlighted."""
    names = run.config["names"]
    config = {k: v for k, v in run.config.items() if k not in {*LOCATION_SETTINGS, "names"}}
    settings = flatten_config(config)
    options = [f"game={names['game']}", f"algo={names['algo']}"]
    budget = {key: run.config.get(key) for key in ("budget", "budget_unit")}
    defaults: dict[str, Any] = {}
    differing: list[int] = []
    note = "The defaults of its game and algorithm are not known here."
    with suppress(ConfigError):
        default_config = compose_plain_config(options, option_dirs)
        algo_config = convert_horizons_to_steps({**default_config, **budget})["algo"]
        defaults = flatten_config({**default_config, "algo": algo_config})
        differing = [i for i, key in enumerate(settings) if settings[key] != defaults.get(key, "")]
        count_text = f"{len(differing)} of {len(settings)} settings differ from the default of"
        note = f"{count_text} {' '.join(options)}."
    rows = [["setting", "value", "default"]]
    for key, value in settings.items():
        default = format_setting_value(defaults.get(key, "-"))
        rows.append([key.removesuffix(TARGET_SUFFIX), format_setting_value(value), default])
    yield create_html_element("p", note)
    yield create_html_table(rows, differing)


def build_manifest_rows(run: RunData) -> TextRows:
    """Return table rows with command, versions and machine at a run's start and each resume."""
    rows = [["manifest", ""]]
    for number, session in enumerate([run.manifest, *run.manifest["resumed"]]):
        for key, value in flatten_config(session).items():
            if key.partition(".")[0] not in ("measurements", "resumed"):
                prefix = f"resumed {number}: " if number else ""
                rows.append([f"{prefix}{key}", format_setting_value(value)])
    return rows


def embed_figure(figure: Figure, description: str) -> HtmlMarkup:
    """Return a figure as HTML with an image for each panel, so that panels fit on any screen.

    Title and footnote become text of the page. `figure` is changed and can't be drawn afterwards.
    """
    title, note = figure.get_suptitle(), figure.get_supxlabel()
    for text in (figure._suptitle, figure._supxlabel):  # type: ignore[attr-defined]
        if text is not None:
            text.set_visible(False)
    artists: list[Artist] = [*figure.legends, *(ax for ax in figure.axes if ax.get_visible())]
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    rows: tuple[list[HtmlMarkup], list[HtmlMarkup]] = [], []  # legends and panels
    for number, artist in enumerate(artists, start=1):
        for other in artists:
            other.set_visible(other is artist)
        box = artist.get_tightbbox()
        assert box is not None
        inches = box.transformed(figure.dpi_scale_trans.inverted()).padded(0.05)
        file = BytesIO()
        with rc_context(FILE_STYLE):
            figure.savefig(file, format="svg", metadata=METADATA["svg"], bbox_inches=inches)
        source = f"data:image/svg+xml;base64,{b64encode(file.getvalue()).decode()}"
        width, is_panel = round(96 * inches.width), isinstance(artist, Axes)
        style = f"max-width: {width}px"
        if is_panel:
            style = f"flex: 1 1 {min(width, MAX_BASIS_PX)}px; max-width: {round(1.5 * width)}px"
        alt = f"{description}, part {number}" if len(artists) > 1 else description
        rows[is_panel].append(create_html_element("img", src=source, alt=alt, style=style))
    drawing = [create_html_element("div", *row, class_="panels") for row in rows if row]
    caption = [create_html_element("p", title)] * bool(title)
    note_lines = [create_html_element("p", note, class_="note")] * bool(note)
    return create_html_element("figure", *caption, *drawing, *note_lines)
