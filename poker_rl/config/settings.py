"""What a setting may be, and the one error a user sees when it is not.

A range is part of a field's annotation (`gamma: Probability`); `config.build` reads and checks
it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from math import inf, isfinite
from typing import Annotated, NamedTuple

# what NumPy and torch say where memory ends, other than by MemoryError
TOO_LARGE = re.compile(
    "array is too big|Maximum allowed dimension|can't allocate memory|Storage size calculation"
    "|CUDA out of memory"
)


class Refused(Exception):
    """A setting, a file or a request that can't be accepted: one line saying why."""


@contextmanager
def about(key: str) -> Iterator[None]:
    """What is refused in this context is said to be refused of a setting."""
    try:
        yield
    except Refused as error:
        raise Refused(f"{key}: {error}") from None


def ran_out(error: Exception) -> bool:
    """Whether an exception says that memory ended: Python's own, NumPy's or torch's."""
    return isinstance(error, MemoryError) or TOO_LARGE.search(str(error)) is not None


@contextmanager
def in_memory(key: str) -> Iterator[None]:
    """What asks for more memory than there is in this context is refused of a setting."""
    try:
        yield
    except (MemoryError, RuntimeError, ValueError) as error:
        if ran_out(error):
            raise Refused(f"{key}: too large for the memory of this machine") from None
        raise


class Range(NamedTuple):
    """Finite numbers from `low` to `high`, both among them; `open_low` leaves `low` itself out.

    It stands in a field's annotation, as in `share: Annotated[float, Range(0, 1)]`.
    """

    low: float = -inf
    high: float = inf
    open_low: bool = False

    def __contains__(self, value: object) -> bool:
        if not isinstance(value, int | float):
            return False
        above = self.low < value if self.open_low else self.low <= value
        return above and value <= self.high and isfinite(value)

    def __str__(self) -> str:
        opens = "(" if self.open_low or self.low == -inf else "["
        return f"{opens}{self.low:g}, {self.high:g}{')' if self.high == inf else ']'}"


LARGEST = 10**18  # of all that is counted: an int64 holds it

Probability = Annotated[float, Range(0, 1)]
Share = Annotated[float, Range(0, 1, open_low=True)]  # more than nothing
Positive = Annotated[float, Range(0, open_low=True)]
NonNegative = Annotated[float, Range(0)]
Count = Annotated[int, Range(1)]
Natural = Annotated[int, Range(0)]
Seed = Annotated[int, Range(0, 1e18)]  # what every generator takes
# Work of one call of learn(), in which a first Ctrl-C waits: passes over a batch or steps on one,
# none of which takes a thousand, and iterations of solvers, which take microseconds and more.
Passes = Annotated[int, Range(1, 1000)]
Sweeps = Annotated[int, Range(1, 1e6)]
