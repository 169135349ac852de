"""Results of a tournament as text: ranking, cross table and remarks."""

from __future__ import annotations

from poker_rl.evaluation.matches.tournament import TournamentResults
from poker_rl.reports.rendering import TextTable, format_text


def format_tournament(results: TournamentResults) -> str:
    """Format all results for the screen."""
    names = results.player_names
    ranking = [["rank", "player", "won", "behind the one above", *["Elo"] * bool(results.ratings)]]
    for rank, standing in enumerate(results.ranking, start=1):
        gap, rating = (column.get(standing.player) for column in (results.gaps, results.ratings))
        gap_cell, rating_cells = (
            "" if gap is None else gap.number,
            [rating.number] if rating else [],
        )
        ranking.append([str(rank), standing.player, standing.number, gap_cell, *rating_cells])
    cross_table = [["", *names]]
    for name in names:
        cells = [results.pairs.get((name, other)) for other in names]
        cross_table.append([name, *("-" if cell is None else cell.number for cell in cells)])
    parts: list[str | TextTable] = [
        results.protocol,
        TextTable(ranking, key_columns=2),
        TextTable(cross_table, results.cell_meaning),
        "\n".join(results.remarks),
    ]
    return format_text(parts, names)
