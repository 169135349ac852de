"""Tables of results as rows of text, Markdown, CSV and JSON."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any

from poker_rl.evaluation.result import EXACT, Result

TextRows = list[list[str]]  # the first row holds the headings
RESULT_COLUMNS = [field.name for field in fields(Result)]


def build_long_rows(results: Sequence[Result], headline_player: str | None = None) -> TextRows:
    """Return a row for each result, with columns for its percentiles if there are any."""
    percentiles = {(r.player, r.measure): r for r in results if r.is_percentile}
    suffixes = list(dict.fromkeys(measure[measure.rindex("/") :] for _, measure in percentiles))
    rows = [["player", "measure", "value", *(s[1:] for s in suffixes), "unit", "kind", "n"]]
    for result in results:
        if not result.is_percentile:
            key = result.player, result.measure
            cells = [percentiles.get((key[0], key[1] + suffix)) for suffix in suffixes]
            rows.append(
                [
                    mark_headline(result.player, headline_player),
                    result.measure,
                    result.number,
                    *("" if cell is None else cell.number for cell in cells),
                    result.unit,
                    result.kind,
                    "" if result.n is None else f"{result.n:,}",
                ]
            )
    return rows


def build_wide_rows(results: Sequence[Result], headline_player: str | None = None) -> TextRows:
    """Return a table with a column for the first part of each measure, such as `vpip`.

    There is a row for each player, kind and rest of the measure: `vpip/seat_0` stands in the row
    of `seat_0`. The exact value of a sampled measure has a column of its own. Units stand in the
    headings or, if all are the same, in a column.
    """
    sampled_kinds = {(r.player, r.measure): r.kind for r in results if r.half_width is not None}
    units: dict[str, dict[str, None]] = {}
    cells: dict[tuple[str, str, str], dict[str, str]] = {}
    for result in results:
        column, _, rest = result.measure.partition("/")
        kind = result.kind
        if kind == EXACT and (result.player, result.measure) in sampled_kinds:
            kind, column = sampled_kinds[result.player, result.measure], f"{column}, exact"
        rest = "" if kind.endswith(f" {rest}") else rest  # the opponent, which the kind names
        units.setdefault(column, {})[result.unit] = None
        cells.setdefault((result.player, kind, rest), {})[column] = result.number
    all_units = {unit for column_units in units.values() for unit in column_units}
    unit_cells = list(all_units - {""}) if len(all_units) == 1 else []
    headings = [
        column if unit_cells else _add_units(column, column_units)
        for column, column_units in units.items()
    ]
    has_rest = any(rest for _, _, rest in cells)
    rows = [["player", "kind", *["of"] * has_rest, *headings, *["unit"] * len(unit_cells)]]
    for (player, kind, rest), row in cells.items():
        key_cells = [mark_headline(player, headline_player), kind, *[rest] * has_rest]
        rows.append([*key_cells, *(row.get(column, "-") for column in units), *unit_cells])
    return rows


def _add_units(column: str, units: Iterable[str]) -> str:
    return column + "".join(f" ({unit})" for unit in units if unit not in ("", column))


def mark_headline(player: str, headline_player: str | None) -> str:
    """Return a player's name, followed by "(headline)" for the headline player."""
    return f"{player} (headline)" if player == headline_player else player


def to_csv(rows: Iterable[Mapping[str, Any]], columns: Sequence[str]) -> str:
    """Return rows as CSV below a line with the names of the columns."""
    file = io.StringIO()
    writer = csv.DictWriter(file, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return file.getvalue()


def results_to_csv(results: Iterable[Result]) -> str:
    """Return results as CSV, with a row for each."""
    return to_csv(map(asdict, results), RESULT_COLUMNS)


def results_to_json(results: Iterable[Result]) -> list[dict[str, Any]]:
    """Return results as plain data for JSON, with a dictionary for each."""
    return [asdict(result) for result in results]


def results_from_json(rows: Iterable[Mapping[str, Any]]) -> list[Result]:
    """Read results from the plain data that `results_to_json` returns.

    Raises:
        TypeError: if a row has other fields.
    """
    return [Result(**row) for row in rows]


def format_markdown_table(rows: TextRows) -> str:
    """Return a Markdown table with the first row as its heading."""
    lines = [[escape_markdown(cell) for cell in row] for row in rows]
    lines.insert(1, ["---"] * len(rows[0]))
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def escape_markdown(text: str) -> str:
    """Escape Markdown's special characters, which users may have in names."""
    for character in "\\`*_[]<>|":
        text = text.replace(character, f"\\{character}")
    return text
