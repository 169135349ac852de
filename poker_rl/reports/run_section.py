"""The section of an HTML report about one run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from poker_rl.config.build import build_instance_of
from poker_rl.config.schedule_horizons import convert_horizons_to_steps
from poker_rl.config.validation import ConfigError, error_prefix
from poker_rl.evaluation.player_evaluator import PlayerEvaluator
from poker_rl.evaluation.result import Result
from poker_rl.games.game import Game
from poker_rl.games.tables import Tables
from poker_rl.players.action_sampling import sample_from_probs
from poker_rl.players.opponent_files import OpponentFiles
from poker_rl.players.player import Player, compute_checked_probs
from poker_rl.players.player_loader import CPU, load_player, load_players
from poker_rl.reports.comparison import format_minutes
from poker_rl.reports.evaluation_report import EVALUATIONS_FOLDER, read_reports
from poker_rl.reports.html_elements import Markup, create_element, create_table, embed_figure
from poker_rl.reports.run_data import SECONDS_TAG, RunData
from poker_rl.reports.run_groups import TARGET_SUFFIX, format_setting, iterate_flat_config
from poker_rl.reports.text_tables import build_long_rows, mark_headline
from poker_rl.storage.checkpoint import find_newest_snapshot, list_snapshots
from poker_rl.storage.run_folder import LOCATION_SETTINGS, METRICS_FILE


def create_run_section(
    run_number: int, run: RunData, hand_count: int, seed: int, option_dirs: Sequence[Path]
) -> Markup:
    """Return the section of a run: results, figures, sample hands, settings and provenance."""
    with error_prefix(str(run.folder)):
        game: Game = build_instance_of(Game, run.config.get("game"), "game")
        snapshot = find_newest_snapshot(run.folder) if list_snapshots(run.folder) else None
        players = {} if snapshot is None else load_players(snapshot, game, CPU)
        subsections = {
            "Measurements": create_result_table(run.list_last_results(), run.headline_player),
            "Curves and policies": create_training_figures(run, game, players),
            "Evaluations": create_evaluation_tables(run),
            f"Hands of {next(iter(players), '')} with itself": create_hand_tables(
                game, players, hand_count, seed
            ),
            "Settings": create_settings_table(run, option_dirs),
            "Provenance": create_manifest_table(run),
        }
        elements = [
            create_element("h2", str(run.folder), id=f"run-{run_number}"),
            create_element("p", summarize_run(run, snapshot)),
        ]
        for heading, iterator in subsections.items():
            if content := list(iterator):
                elements += [create_element("h3", heading), *content]
    return create_element("section", *elements)


def summarize_run(run: RunData, snapshot: Path | None) -> str:
    """Return a line with the options, seed, status, length, duration and machine of a run."""
    facts = [f"{key} {name}" for key, name in run.config["names"].items() if name is not None]
    facts += [f"seed {run.seed}", run.status, f"{run.get_last_x('decisions'):,.0f} decisions"]
    minutes = (run.get_value(SECONDS_TAG, "decisions") or 0) / 60
    facts.append(f"{format_minutes(minutes)} minutes")
    if snapshot is not None:
        facts.append(f"players of the snapshot at {int(snapshot.stem):,} decisions")
    return ", ".join([*facts, run.machine])


def create_training_figures(
    run: RunData, game: Game, players: Mapping[str, Player]
) -> Iterator[Markup]:
    """Yield the figures that training draws at its end: curves and, in small games, policies."""
    opponents = OpponentFiles(run.folder)
    evaluator: PlayerEvaluator = build_instance_of(
        PlayerEvaluator,
        run.config.get("evaluation"),
        "evaluation",
        game=game,
        load=lambda spec: load_player(opponents.resolve_spec(spec), game),
        seed=run.config.get("seed"),
    )
    if run.curves:
        for name, figure in evaluator.build_figures(players, run.folder / METRICS_FILE).items():
            yield embed_figure(figure, name.replace("_", " "))


def create_evaluation_tables(run: RunData) -> Iterator[Markup]:
    """Yield a heading and tables for each report of `poker-rl evaluate` in the run folder."""
    for heading, results, headline_player, _ in read_reports(run.folder / EVALUATIONS_FOLDER):
        yield create_element("p", heading, class_="note")
        yield from create_result_table(results, headline_player)


def create_result_table(results: Sequence[Result], headline_player: str | None) -> Iterator[Markup]:
    """Yield an element with a table of results for each player, side by side."""
    tables = []
    for player in dict.fromkeys(result.player for result in results):
        rows = build_long_rows([result for result in results if result.player == player])
        columns = [column for column in zip(*rows, strict=True) if any(column[1:])][1:]
        name = mark_headline(player, headline_player)
        tables.append(create_table(list(zip(*columns, strict=True)), caption=name))
    if tables:
        yield create_element("div", *tables, class_="row")


def create_hand_tables(
    game: Game, players: Mapping[str, Player], hand_count: int, seed: int
) -> Iterator[Markup]:
    """Yield an HTML element with sample hands, in which the headline player has all seats."""
    for player in list(players.values())[:1]:
        instance = player.select_instance(0) if player.instance_count > 1 else player
        hands = [
            create_element("div", create_table(rows), create_element("p", payoff_text))
            for rows, payoff_text in play_sample_hands(game, instance, hand_count, seed)
        ]
        if hands:
            yield create_element("div", *hands, class_="row")


def create_settings_table(run: RunData, option_dirs: Sequence[Path]) -> Iterator[Markup]:
    """Yield a table of all settings and their defaults; settings that differ are highlighted."""
    omitted_keys = {*LOCATION_SETTINGS, "names"}
    config = dict(
        iterate_flat_config({k: v for k, v in run.config.items() if k not in omitted_keys})
    )
    defaults = compose_default_config(run, option_dirs)
    if defaults is None:
        yield create_element("p", "The defaults of its game and algorithm are not known here.")
        defaults = {}
    rows = [
        [
            key.removesuffix(TARGET_SUFFIX),
            format_setting(config, key),
            format_setting(defaults, key),
        ]
        for key in config
    ]
    differing_rows = [i for i, key in enumerate(config) if config[key] != defaults.get(key, "")]
    if defaults:
        yield create_element(
            "p",
            f"{len(differing_rows)} of {len(rows)} settings differ from the default of"
            f" game={run.game_name} algo={run.config['names']['algo']}.",
        )
    yield create_table([["setting", "value", "default"], *rows], differing_rows if defaults else [])


def compose_default_config(run: RunData, option_dirs: Sequence[Path]) -> dict[str, Any] | None:
    """Return the default settings of the run's game and algorithm; None if they are unknown."""
    from poker_rl.config.compose import compose_plain_config

    names = run.config["names"]
    budget = {key: run.config.get(key) for key in ("budget", "budget_unit")}
    try:
        default_config = compose_plain_config(
            [f"game={names['game']}", f"algo={names['algo']}"], option_dirs
        )
        algo_config = convert_horizons_to_steps({**default_config, **budget})["algo"]
    except ConfigError:
        return None
    return dict(iterate_flat_config({**default_config, "algo": algo_config}))


def create_manifest_table(run: RunData) -> Iterator[Markup]:
    """Yield a table of the manifest: command, versions and machine of the start and each resume."""
    omitted_keys = {"measurements", "resumed"}
    sessions = {"": {k: v for k, v in run.manifest.items() if k not in omitted_keys}}
    for number, session in enumerate(run.manifest["resumed"], start=1):
        sessions[f"resumed {number}: "] = session
    rows = [["manifest", ""]]
    for prefix, session in sessions.items():
        for key, value in iterate_flat_config(session):
            rows.append([f"{prefix}{key}", format_setting({key: value}, key)])
    yield create_table(rows)


def play_sample_hands(
    game: Game, player: Player, hand_count: int, seed: int
) -> Iterator[tuple[list[list[str]], str]]:
    """Play hands; yield for each a table with a row for each move, and a line with the payoffs."""
    generator, tables = np.random.default_rng(seed), Tables(game, 1, seed)
    for _ in range(hand_count):
        tables.deal()
        rows = [["seat", "information set", "action", "probability"]]
        while not tables.records["over"][0]:
            record, probs = tables.records[0], compute_checked_probs(game, player, tables.records)
            action = sample_from_probs(probs, generator.random(1))
            seat, _, known_text = game.infoset_name(record).partition(" ")
            move_name = game.move_name(record, int(action[0]))
            rows.append([seat, known_text, move_name, f"{100 * probs[0, action[0]]:.0f} %"])
            tables.step(action)
        seat_count = int(tables.count_seats()[0])
        payoffs = tables.payoffs()[0, :seat_count] / game.unit_chips
        payoff_texts = ", ".join(f"seat {seat} {chips:+g}" for seat, chips in enumerate(payoffs))
        yield rows, f"Won, in {game.unit}s: {payoff_texts}."
