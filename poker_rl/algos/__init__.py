"""The learners and solvers, a file each, which reads like the box of its paper.

Imports config, games, learning, nets and players. Learners import each other only where one builds
on another, as fictitious self-play does on Q-learning.
"""

from poker_rl.algos.algorithm import Algorithm, NetworkLearner, Progress
from poker_rl.algos.load import build_algorithm, load_algorithm

__all__ = ["Algorithm", "NetworkLearner", "Progress", "build_algorithm", "load_algorithm"]
