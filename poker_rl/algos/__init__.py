"""Learners and solvers: a module for each algorithm, and a few modules with parts of algorithms.

The files in conf/algo explain the settings. This package imports `config`, `games`, `learning`,
`nets` and `players`. An algorithm imports another one only to build on it, as `nfsp` builds on
`dqn`.
"""

from poker_rl.algos.algorithm import (
    Algorithm,
    NetworkLearner,
    Progress,
    build_algorithm,
    create_algorithm,
)

__all__ = ["Algorithm", "NetworkLearner", "Progress", "build_algorithm", "create_algorithm"]
