"""Tables for the screen: columns side by side, never wider than a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from textwrap import fill

import numpy as np

from poker_rl.config.messages import printable

WIDTH = 120  # characters of a line
LONG = 32  # characters of a name that a table has room for
GAP = 2  # characters between columns


def aligned(rows: Sequence[Sequence[str]], keys: int = 1) -> str:
    """Columns side by side, the first row above a line.

    Columns that there is no room for go on below, again beside the first `keys` columns.
    """
    rows = [[printable(cell).replace("\n", "\\n") for cell in row] for row in rows]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    blocks: list[list[int]] = [[]]
    for column in range(keys, len(widths)):
        shown = [*range(keys), *blocks[-1], column]
        if blocks[-1] and sum(widths[i] + GAP for i in shown) - GAP > WIDTH:
            blocks.append([])
        blocks[-1].append(column)
    return "\n\n".join(block(rows, widths, [*range(keys), *columns]) for columns in blocks)


def block(rows: Sequence[Sequence[str]], widths: Sequence[int], columns: Sequence[int]) -> str:
    """Some of the columns of a table."""
    lines = [[f"{row[i]:<{widths[i]}}" for i in columns] for row in rows]
    lines.insert(1, ["-" * widths[i] for i in columns])
    return "\n".join((" " * GAP).join(line).rstrip() for line in lines)


def numbered(names: Iterable[str]) -> dict[str, str]:
    """The names too long for a table, and the number that stands for each: `[1]`."""
    long = [name for name in dict.fromkeys(names) if len(name) > LONG]
    return {name: f"[{number}]" for number, name in enumerate(long, start=1)}


def shortened(rows: Sequence[Sequence[str]], numbers: Mapping[str, str]) -> list[list[str]]:
    """The same cells with numbers in place of long names."""
    longest = sorted(numbers, key=len, reverse=True)  # a name may be part of another

    def short(cell: str) -> str:
        for name in longest:
            cell = cell.replace(name, numbers[name])
        return cell

    return [[short(cell) for cell in row] for row in rows]


def wrapped(line: str) -> str:
    """A line of words on as many lines as it takes; a word itself, such as a path, stays whole."""
    return fill(
        line, WIDTH, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False
    )


def listed(numbers: Mapping[str, str]) -> str:
    """What the numbers stand for, a line each."""
    return "\n".join(f"{number} {name}" for name, number in numbers.items())


def number(value: float, half_width: float | None = None) -> str:
    """Four digits, or as many decimals as the interval has, if it is more than rounding errors."""
    rounding = (
        1e-12 if half_width is None else 1e-9
    )  # of sums over a tree; over the hands of a match
    if half_width is None or half_width < rounding:
        return f"{value if abs(value) > rounding else 0:.4g}"
    decimals = max(0, 1 - int(np.floor(np.log10(half_width))))
    return f"{value:z.{decimals}f} ± {half_width:.{decimals}f}"
