"""`poker-rl review`: grade decisions in recorded hands by a player's policy and action values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from poker_rl.config.input_checks import ConfigError, error_prefix
from poker_rl.evaluation.agreement_with_recorded_hands import (
    MAX_TABLES_PER_QUERY,
    allow_all_amounts,
    compute_action_type_probs,
    measure_recorded_decisions,
    to_full_game_player,
)
from poker_rl.games.poker.display.view import DisplayedPoker
from poker_rl.games.poker.phh_reader import RecordedDecisions, read_recorded_decisions
from poker_rl.games.poker.phh_writer import check_phh_support
from poker_rl.play.move_grades import choose_grade_word, explain_grades
from poker_rl.players.player import Player
from poker_rl.players.player_loader import load_player, resolve_spec
from poker_rl.reports.table_formats import (
    TextRows,
    TextTable,
    create_html_document,
    create_html_element,
    create_html_table,
    format_for_terminal,
)
from poker_rl.storage.disk import prepare_output_file, to_csv, write_text_atomically
from poker_rl.storage.terminal_printing import print_line
from poker_rl.training.rank_and_device import prepare_process
from poker_rl.training.run_config import PlayerSourceConfig, resolve_game_and_player_spec

OUTPUT_SUFFIXES = (".csv", ".html")
PRINTED_DECISIONS, MAX_PAGE_DECISIONS = 10, 500  # how many of the worst decisions are shown
NAMED_HANDS = 5  # number of hands that are named for each reason to leave hands out


@dataclass(kw_only=True, frozen=True)
class ReviewConfig(PlayerSourceConfig):
    """Settings of `poker-rl review`."""

    hands: str | None
    seat: str | None
    round_amounts: bool
    out: str | None
    overwrite: bool


def print_and_save_review(
    config: ReviewConfig, group_config: Mapping[str, Any] | None, option_dirs: Sequence[Path]
) -> None:
    """Grade the decisions in recorded hands; print the worst, and write a CSV or HTML file."""
    if config.hands is None:
        raise ConfigError("hands: missing; give hands=FILE.phhs, FILE.phh or a folder of them")
    if config.out is not None and not config.out.endswith(OUTPUT_SUFFIXES):
        raise ConfigError(f"out: {config.out} does not end in {' or '.join(OUTPUT_SUFFIXES)}")
    game, spec = resolve_game_and_player_spec(config, group_config)
    device = prepare_process(config.device, config.threads, seed=0)
    with error_prefix("game"):
        full_game = check_phh_support(allow_all_amounts(game))
    with error_prefix("player" if config.run is None else "run"):
        player = to_full_game_player(game, load_player(spec, game, device, option_dirs))
        player_name = resolve_spec(spec)
    with error_prefix("hands"):
        decisions = read_recorded_decisions(
            Path(config.hands), full_game, config.seat, config.round_amounts
        )
    if config.out is not None:
        prepare_output_file("out", Path(config.out), config.overwrite)
    rows = build_grade_rows(full_game, player, decisions)
    heading = f"{config.hands}, {full_game.name}: {len(rows):,} decisions graded by {player_name}"
    tables = [build_recorded_player_table(full_game, player, player_name, decisions, rows)]
    left_out = build_left_out_table(decisions)
    tables += [left_out] * (len(left_out.rows) > 1)
    worst = sorted(rows, key=lambda row: (-(row["cost"] or 0), row["probability"]))
    note = explain_grades(full_game.unit)
    printed = build_decision_table(worst[:PRINTED_DECISIONS])
    print_line(format_for_terminal([heading, *tables, printed, note], [player_name]))
    if config.out is None:
        return
    if config.out.endswith(".csv"):
        text = to_csv(rows)
    else:
        elements: list[str] = [create_html_element("p", heading), create_html_element("p", note)]
        for table in (*tables, build_decision_table(worst[:MAX_PAGE_DECISIONS])):
            elements += [create_html_element("h2", table.heading), create_html_table(table.rows)]
        text = create_html_document(f"Review of {Path(config.hands).name}", *elements)
    write_text_atomically(Path(config.out), text)
    print_line(f"\nwritten: {config.out}")


def build_grade_rows(
    game: DisplayedPoker, player: Player, decisions: RecordedDecisions
) -> list[dict[str, Any]]:
    """Return a row of the CSV file for each decision: its cards, action, grade and cost."""
    probs, rows = compute_action_type_probs(game, player, decisions.records), []
    costs = np.full(len(probs), np.nan)  # cost of each decision in the game's unit
    for start in range(0, len(probs), MAX_TABLES_PER_QUERY):
        block = slice(start, start + MAX_TABLES_PER_QUERY)
        values = player.action_values(decisions.records[block])
        if values is not None:
            taken = np.take_along_axis(values, decisions.actions[block, None], 1)[:, 0]
            costs[block] = (np.nanmax(values, 1) - taken) / game.unit_chips
    for number, record, action, action_probs, cost in zip(
        decisions.hand, decisions.records, decisions.actions.tolist(), probs, costs, strict=True
    ):
        hand, seat = decisions.hands[number], int(record["to_act"])
        view, move = game.build_view(record, seat), game.list_moves(record, [action])[0]
        prob = float(action_probs[game.action_types[action]])
        known_cost = None if np.isnan(cost) else max(0.0, float(cost))
        best_type = int(action_probs.argmax())
        moves = game.list_moves(record)
        name_of_type = {game.action_types[one.action]: one.action_type for one in moves}
        rows.append(
            {
                "hand": hand.name,
                "player": hand.players[seat],
                "street": view.street,
                "cards": "".join(view.seats[seat].cards),
                "board": "".join(view.board),
                "action": move.label,
                "probability": round(prob, 4),
                "likeliest": name_of_type[best_type],
                "its_probability": round(float(action_probs[best_type]), 4),
                "cost": None if known_cost is None else round(known_cost, 4),
                "grade": choose_grade_word(prob, known_cost),
            }
        )
    return rows


def build_recorded_player_table(
    game: DisplayedPoker,
    player: Player,
    player_name: str,
    decisions: RecordedDecisions,
    rows: Sequence[Mapping[str, Any]],
) -> TextTable:
    """Return a table of recorded players: agreement with `player`, grades, and total cost."""
    headings = ["recorded player", "hands", "decisions", "agreement", "log-likelihood"]
    table: TextRows = [[*headings, "inaccuracies", "mistakes", f"cost ({game.unit}s)"]]
    names = np.array([row["player"] for row in rows])
    for name in sorted(set(names.tolist())):
        own = decisions.select(names == name)
        likelihood, agreement = measure_recorded_decisions(game, player, player_name, own, "")
        own_rows = [row for row in rows if row["player"] == name]
        grades = Counter(row["grade"] for row in own_rows)
        costs = [row["cost"] for row in own_rows if row["cost"] is not None]
        table.append(
            [
                name,
                f"{len(set(own.hand.tolist())):,}",
                f"{len(own_rows):,}",
                agreement.value_and_interval_text,
                likelihood.value_and_interval_text,
                f"{grades['inaccuracy']:,}",
                f"{grades['mistake']:,}",
                f"{sum(costs):.2f}" if costs else "-",
            ]
        )
    return TextTable(table, "Recorded players")


def build_left_out_table(decisions: RecordedDecisions) -> TextTable:
    """Return a table of hands left out, by reason, and of those replayed with rounded bets."""
    rounded = [hand.name for hand in decisions.hands if hand.rounded_amounts]
    reasons = decisions.left_out | ({"replayed, with rounded amounts": rounded} if rounded else {})
    rows = [["reason", "hands", "names"]]
    for reason, names in reasons.items():
        more = ", …" * (len(names) > NAMED_HANDS)
        rows.append([reason, f"{len(names):,}", ", ".join(names[:NAMED_HANDS]) + more])
    return TextTable(rows, "Hands left out or changed")


def build_decision_table(rows: Sequence[Mapping[str, Any]]) -> TextTable:
    """Return rows from `build_grade_rows` as a table of text, with the columns of the CSV file."""
    cells = [["" if value is None else str(value) for value in row.values()] for row in rows]
    headings = [column.replace("_", " ") for column in rows[0]]
    return TextTable([headings, *cells], "Decisions, the worst first")
