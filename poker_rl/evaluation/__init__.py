"""Evaluation of players: exact in games whose tree can be enumerated, else by duplicate matches.

This package imports config, games, players and storage.
"""

from poker_rl.evaluation.exact.exploitability import (
    compute_best_response_gains,
    compute_best_response_values,
    compute_seat_values,
    exploitability,
    nash_conv,
)
from poker_rl.evaluation.matches.duplicate_match import play_deals, play_match
from poker_rl.evaluation.result import Result

__all__ = [
    "Result",
    "compute_best_response_gains",
    "compute_best_response_values",
    "compute_seat_values",
    "exploitability",
    "nash_conv",
    "play_deals",
    "play_match",
]
