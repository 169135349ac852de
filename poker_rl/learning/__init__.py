"""What learners are made of: tables being played, memories, minibatches, averages.

Imports config, games, nets and players.
"""

from poker_rl.learning.memory import Column, Memory
from poker_rl.learning.rollout import Batch, Rollout, Rows

__all__ = ["Batch", "Column", "Memory", "Rollout", "Rows"]
