"""Agreement of a player's policy with the actions of humans or programs in recorded hands.

A bet or raise of any amount counts as the action "raise", because recorded amounts are rarely among
the bet sizes that a player uses. A check counts as the action "call".
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from poker_rl.evaluation.matches.duplicate_match import MIN_DEALS, compute_half_width
from poker_rl.evaluation.result import Result
from poker_rl.games.game import Game
from poker_rl.games.poker.no_limit_poker import NoLimitPoker
from poker_rl.games.poker.phh_reader import RecordedDecisions
from poker_rl.games.poker.variable_seats import VariableSeatsNoLimit
from poker_rl.players.bet_abstraction_player import BetAbstractionPlayer
from poker_rl.players.player import Player, compute_checked_probs

MIN_PROB = 1e-4  # lower bound of probabilities, so that no logarithm is infinite
MAX_TABLES_PER_QUERY = 1024  # a player may return thousands of probabilities for each table


def allow_all_amounts(game: Game) -> Game:
    """Return a no-limit game with every legal amount allowed; return other games unchanged."""
    if isinstance(game, NoLimitPoker | VariableSeatsNoLimit) and game.bet_sizes:
        return replace(game, bet_sizes=[])
    return game


def to_full_game_player(game: Game, player: Player) -> Player:
    """Convert a player of `game` to one of `allow_all_amounts(game)` that makes the same bets."""
    full_game = allow_all_amounts(game)
    return player if full_game is game else BetAbstractionPlayer(full_game, game, player)


def compute_action_type_probs(game: Game, player: Player, records: np.ndarray) -> np.ndarray:
    """Return the probabilities of fold, check or call, and bet or raise at B tables, [B, 3]."""
    is_of_type = np.eye(game.action_types.max() + 1)[game.action_types]  # [A, types]
    blocks = np.split(records, range(MAX_TABLES_PER_QUERY, len(records), MAX_TABLES_PER_QUERY))
    probs = [compute_checked_probs(game, player, block) @ is_of_type for block in blocks]
    return np.concatenate(probs)


def measure_recorded_decisions(
    game: Game, player: Player, player_name: str, decisions: RecordedDecisions, kind: str
) -> list[Result]:
    """Measure how well a player's policy predicts the actions of recorded decisions.

    The results are the mean log-likelihood of the recorded actions under the player's policy, and
    the share of decisions in which the recorded action is the policy's most likely one. In their
    intervals a hand is one sample, because decisions of a hand depend on each other; with fewer
    than `MIN_DEALS` hands there are no intervals. `game` must permit every amount;
    `to_full_game_player` converts players to it. `kind` is `Result.kind`.
    """
    probs = compute_action_type_probs(game, player, decisions.records)
    types = game.action_types[decisions.actions]
    taken = np.take_along_axis(probs, types[:, None], 1)[:, 0]
    values_by_measure = {
        ("log_likelihood", "nats a decision"): np.log(np.maximum(taken, MIN_PROB)),
        ("agreement", "of decisions"): (probs.argmax(1) == types).astype(float),
    }
    _, hand = np.unique(decisions.hand, return_inverse=True)
    results = []
    for (measure, unit), values in values_by_measure.items():
        # A hand is one sample, so sum the deviations from the mean within each hand (delta method).
        residuals = np.bincount(hand, values - values.mean())
        half_width = None
        if len(residuals) >= MIN_DEALS:
            half_width = compute_half_width(residuals) * len(residuals) / len(values)
        value = float(values.mean())
        results.append(Result(player_name, measure, value, half_width, unit, kind, len(values)))
    return results
