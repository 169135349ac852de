"""From YAML and the command line to checked settings and the objects that they name.

Imports no other room; every room may import it. Only `compose`, `overrides` and `sweeps` know of
hydra.
"""

from poker_rl.config.settings import (
    Count,
    Natural,
    NonNegative,
    Passes,
    Positive,
    Probability,
    Range,
    Refused,
    Seed,
    Sweeps,
)
from poker_rl.config.threads import set_threads

__all__ = [
    "Count",
    "Natural",
    "NonNegative",
    "Passes",
    "Positive",
    "Probability",
    "Range",
    "Refused",
    "Seed",
    "Sweeps",
    "set_threads",
]
