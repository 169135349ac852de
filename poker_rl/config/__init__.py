"""Settings from YAML and the command line: read them, check them and build the described objects.

An option is a YAML file conf/<group>/<name>.yaml. An override is an argument of the command line
that selects an option, such as `algo=ppo`, or changes a setting, such as `algo.gamma=0.9`.
Ungrouped settings, such as `seed`, belong to no group. Functions raise `ConfigError` for wrong
settings, arguments and files.
"""

from poker_rl.config.input_checks import (
    ConfigError,
    NonNegativeFloat,
    NonNegativeInt,
    PassCount,
    PositiveFloat,
    PositiveInt,
    Probability,
    Range,
    Seed,
    SolverIterationCount,
)
from poker_rl.config.schedules import ScheduleOverDecisions
from poker_rl.config.threads_and_numba_cache import set_threads

__all__ = [
    "ConfigError",
    "NonNegativeFloat",
    "NonNegativeInt",
    "PassCount",
    "PositiveFloat",
    "PositiveInt",
    "Probability",
    "Range",
    "ScheduleOverDecisions",
    "Seed",
    "SolverIterationCount",
    "set_threads",
]
