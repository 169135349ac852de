"""Allowed ranges of numbers in settings, and `ConfigError`, the error for a wrong setting.

A field's annotation contains its range, as in `gamma: Probability`; `build` checks the value.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from math import inf, isfinite
from typing import Annotated, NamedTuple

# Messages by which NumPy and torch report a lack of memory when they raise no MemoryError.
OUT_OF_MEMORY_PATTERN = re.compile(
    "array is too big|Maximum allowed dimension|can't allocate memory|Storage size calculation"
    "|CUDA out of memory"
)


class ConfigError(Exception):
    """Error in a setting, file or argument; its message has one line and says what is allowed."""


def format_value(value: object) -> str:
    """Return a value as YAML text for an error message, cut after 60 characters."""
    return shorten_text(json.dumps(value, ensure_ascii=False, default=str))


def shorten_text(text: str) -> str:
    """Return text for an error message, cut after 60 characters."""
    return text if len(text) <= 60 else f"{text[:60]}…"


@contextmanager
def error_prefix(prefix: str) -> Iterator[None]:
    """Put `prefix`, a setting or file, before the message of a ConfigError in this context."""
    try:
        yield
    except ConfigError as error:
        raise ConfigError(f"{prefix}: {error}") from None


def is_out_of_memory(error: Exception) -> bool:
    """Return whether Python, NumPy or torch reports a lack of memory by this error."""
    return isinstance(error, MemoryError) or OUT_OF_MEMORY_PATTERN.search(str(error)) is not None


@contextmanager
def memory_errors_as_config_errors(prefix: str) -> Iterator[None]:
    """Convert errors that report a lack of memory to a ConfigError that begins with `prefix`."""
    try:
        yield
    except (MemoryError, RuntimeError, ValueError) as error:
        if is_out_of_memory(error):
            raise ConfigError(f"{prefix}: too large for the memory of this machine") from None
        raise


class Range(NamedTuple):
    """Range of finite numbers from `low` to `high`; `low` is excluded if `exclude_low` is set.

    A field's annotation contains it, as in `share: Annotated[float, Range(0, 1)]`.
    """

    low: float = -inf
    high: float = inf
    exclude_low: bool = False

    def __contains__(self, value: object) -> bool:
        if not isinstance(value, int | float):
            return False
        is_above_low = self.low < value if self.exclude_low else self.low <= value
        return is_above_low and value <= self.high and isfinite(value)

    def __str__(self) -> str:
        opening_bracket = "(" if self.exclude_low or self.low == -inf else "["
        return f"{opening_bracket}{self.low:g}, {self.high:g}{')' if self.high == inf else ']'}"


MAX_INTEGER = 10**18  # the largest integer that settings may contain; it fits into an int64

Probability = Annotated[float, Range(0, 1)]
PositiveShare = Annotated[float, Range(0, 1, exclude_low=True)]
PositiveFloat = Annotated[float, Range(0, exclude_low=True)]
NonNegativeFloat = Annotated[float, Range(0)]
PositiveInt = Annotated[int, Range(1)]
NonNegativeInt = Annotated[int, Range(0)]
Seed = Annotated[int, Range(0, 1e18)]  # every random generator accepts seeds in this range
# These counts are limited because Ctrl-C takes effect only after the present call of `learn()`,
# which may make so many passes over a batch or iterations of a solver.
PassCount = Annotated[int, Range(1, 1000)]
SolverIterationCount = Annotated[int, Range(1, 1e6)]
