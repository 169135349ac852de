"""Results of a tournament as text: ranking, cross table and remarks."""

from __future__ import annotations

from collections.abc import Sequence

from poker_rl.evaluation.matches.tournament import TournamentResults
from poker_rl.reports.result_tables import TextRows
from poker_rl.reports.text_tables import (
    format_columns,
    format_name_legend,
    number_long_names,
    replace_long_names,
    wrap_line,
)


def format_tournament(results: TournamentResults) -> str:
    """Format all results for the screen."""
    numbers = number_long_names(results.player_names)

    def format_table(rows: Sequence[Sequence[str]], key_columns: int) -> str:
        return format_columns(replace_long_names(rows, numbers), key_columns)

    (remarks,) = replace_long_names([results.remarks], numbers)
    parts = [
        wrap_line(results.protocol),
        format_table(_build_ranking_rows(results), 2),
        f"{results.cell_meaning}\n{format_table(_build_cross_table_rows(results), 1)}",
        "\n".join(map(wrap_line, remarks)),
        format_name_legend(numbers),
    ]
    return "\n\n".join(part for part in parts if part)


def _build_ranking_rows(results: TournamentResults) -> TextRows:
    rows = [["rank", "player", "won", "behind the one above", *["Elo"] * bool(results.ratings)]]
    for rank, standing in enumerate(results.ranking, start=1):
        gap, rating = (column.get(standing.player) for column in (results.gaps, results.ratings))
        rating_cells = [] if rating is None else [rating.number]
        gap_cell = "" if gap is None else gap.number
        rows.append([str(rank), standing.player, standing.number, gap_cell, *rating_cells])
    return rows


def _build_cross_table_rows(results: TournamentResults) -> TextRows:
    names = results.player_names
    rows = [["", *names]]
    for name in names:
        cells = [results.pairs.get((name, other)) for other in names]
        rows.append([name, *("-" if cell is None else cell.number for cell in cells)])
    return rows
