"""From YAML and the command line to checked settings and the objects that they name.

The lowest layer, which every package may import. Only `compose`, `overrides` and `sweeps` import
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
