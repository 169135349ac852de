"""Text tables: columns side by side that are never wider than a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from textwrap import fill

from poker_rl.config.error_hints import escape_control_characters

MAX_LINE_WIDTH = 120  # characters of a line
MAX_NAME_WIDTH = 32  # characters of a name; a longer one is replaced by a number
COLUMN_GAP = 2  # characters between columns


def format_columns(rows: Sequence[Sequence[str]], key_columns: int = 1) -> str:
    """Format rows of cells as aligned columns, with a line below the first row.

    Columns that do not fit into `MAX_LINE_WIDTH` follow in further blocks, each of which repeats
    the first `key_columns` columns.
    """
    rows = [[escape_control_characters(cell).replace("\n", "\\n") for cell in row] for row in rows]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    blocks: list[list[int]] = [[]]
    for column in range(key_columns, len(widths)):
        block = [*range(key_columns), *blocks[-1], column]
        width = sum(widths[i] + COLUMN_GAP for i in block) - COLUMN_GAP
        if blocks[-1] and width > MAX_LINE_WIDTH:
            blocks.append([])
        blocks[-1].append(column)
    return "\n\n".join(
        _format_block(rows, widths, [*range(key_columns), *columns]) for columns in blocks
    )


def _format_block(
    rows: Sequence[Sequence[str]], widths: Sequence[int], columns: Sequence[int]
) -> str:
    lines = [[f"{row[i]:<{widths[i]}}" for i in columns] for row in rows]
    lines.insert(1, ["-" * widths[i] for i in columns])
    return "\n".join((" " * COLUMN_GAP).join(line).rstrip() for line in lines)


def number_long_names(names: Iterable[str]) -> dict[str, str]:
    """Return the number, such as `[1]`, of each name that is too long for a table."""
    long_names = [name for name in dict.fromkeys(names) if len(name) > MAX_NAME_WIDTH]
    return {name: f"[{number}]" for number, name in enumerate(long_names, start=1)}


def replace_long_names(
    rows: Sequence[Sequence[str]], name_numbers: Mapping[str, str]
) -> list[list[str]]:
    """Replace long names in all cells by their numbers."""
    longest_first = sorted(name_numbers, key=len, reverse=True)  # a name may be part of another

    def replace_names(cell: str) -> str:
        for name in longest_first:
            cell = cell.replace(name, name_numbers[name])
        return cell

    return [[replace_names(cell) for cell in row] for row in rows]


def format_name_legend(name_numbers: Mapping[str, str]) -> str:
    """Format a legend with a line for each number and the long name that it replaces."""
    return "\n".join(f"{name_number} {name}" for name, name_number in name_numbers.items())


def wrap_line(line: str) -> str:
    """Wrap a line at spaces; a longer word, such as a path, stays in one piece."""
    return fill(
        line,
        MAX_LINE_WIDTH,
        subsequent_indent="    ",
        break_long_words=False,
        break_on_hyphens=False,
    )
