"""How good a player is: exactly where the game can be enumerated, else in duplicate matches.

Imports config, games, players and storage.
"""

from poker_rl.evaluation.exploitability import (
    best_response_values,
    exploitability,
    gains,
    nash_conv,
    values,
)
from poker_rl.evaluation.matches import against, play
from poker_rl.evaluation.measurement import Measurement

__all__ = [
    "Measurement",
    "against",
    "best_response_values",
    "exploitability",
    "gains",
    "nash_conv",
    "play",
    "values",
]
