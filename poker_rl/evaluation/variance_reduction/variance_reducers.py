"""Variance reduction: narrower intervals from the same hands, without bias.

A reducer observes a match and computes control variates for each deal: columns of numbers whose
expected value is 0 whatever the players do. A weighted sum of the columns is added to the results.
Weights are fitted on one half of the deals and used on the other half (cross-fitting). So they do
not depend on the results that they adjust, and the mean stays unbiased.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from poker_rl.config.validation import ConfigError
from poker_rl.evaluation.matches.duplicate_match import average_by_deal, play_tables
from poker_rl.evaluation.variance_reduction.aivat import check_is_poker, compute_aivat_terms
from poker_rl.evaluation.variance_reduction.pot_equity_value import EquityValueFunction
from poker_rl.games.game import Game
from poker_rl.games.tables import Tables
from poker_rl.players.player import Player, find_first_occurrences

MIN_SPREAD = 0.1  # lower bound of a column's standard deviation, in the game's unit or in equity
PRIOR_WEIGHT_DEALS = 30  # the prior counts like 30 deals, because fits to few deals are noisy


class ControlPlayerReducer:
    """Reducer that subtracts a multiple of the winnings of a control player in the same deals.

    The control player plays the same cards in all seats (Davidson, Archibald and Bowling 2013).
    """

    duplicate = False  # in a duplicate match the control player's winnings would sum to 0

    def __init__(self, game: Game, control_player: Player, seed: int) -> None:
        self._game, self._control_player = game, control_player
        seed_sequence = np.random.SeedSequence([seed, 1])  # other random numbers than in the match
        self._generator = np.random.Generator(np.random.PCG64(seed_sequence))
        self._control_results: list[np.ndarray] = []

    def add_hands(self, tables: Tables, rotation: np.ndarray) -> None:
        """Play the deals of finished tables [B] again, with the control player in every seat."""
        control_tables = Tables(self._game, len(rotation), 0)
        control_tables.deal(decks=tables.records["deck"], variants=tables.records["variant"])
        players = [self._control_player] * self._game.seats
        play_tables(control_tables, rotation, players, [self._generator])
        control_payoffs = control_tables.payoffs()[np.arange(len(rotation)), rotation].astype(float)
        self._control_results.append(average_by_deal(control_payoffs[:, None], rotation))

    def reduce_variance(self, blocks: np.ndarray) -> np.ndarray:
        """Return results [deals], each minus a fitted multiple of the control player's result."""
        columns, spread = np.concatenate(self._control_results), MIN_SPREAD * self._game.unit_chips
        return add_control_variates(blocks, columns, np.zeros(1), np.array([spread]))


class AivatReducer:
    """Reducer that adds the AIVAT terms of every hand; it needs the policies of all players."""

    duplicate = True  # all hands of a deal have the same cards

    def __init__(self, game: Game, players: Sequence[Player]) -> None:
        self._game, self._value_function = game, EquityValueFunction(game)
        self._players, self._first_occurrences = players, find_first_occurrences(players)
        self._terms: list[np.ndarray] = []

    def add_hands(self, tables: Tables, rotation: np.ndarray) -> None:
        """Compute the AIVAT terms of finished hands."""
        seats = np.arange(self._game.seats)
        player_index = (seats - rotation[:, None]) % tables.count_seats()[:, None]
        hands = tables.records, rotation, self._players, self._first_occurrences[player_index]
        hand_terms = compute_aivat_terms(self._game, *hands, self._value_function)
        self._terms.append(average_by_deal(hand_terms, rotation))

    def reduce_variance(self, blocks: np.ndarray) -> np.ndarray:
        """Return results [deals] plus their AIVAT terms with fitted weights."""
        deal_terms = np.concatenate(self._terms)  # AIVAT terms [deals, columns, V]
        prior = np.zeros(deal_terms.shape[1:])
        min_spread = np.full(deal_terms.shape[1:], MIN_SPREAD)
        # The weights are fitted because the value function ignores bets on later streets. Few deals
        # leave them near those of AIVAT: 1 for terms in chips, 0 for equities.
        prior[:, 0] = 1
        min_spread[:, 0] *= self._game.unit_chips
        return add_control_variates(
            blocks, deal_terms.reshape(len(deal_terms), -1), prior.ravel(), min_spread.ravel()
        )


VarianceReducer = ControlPlayerReducer | AivatReducer
ReducerFactory = Callable[[Sequence[Player], int], VarianceReducer]
"""Function that creates a reducer, given the player of each seat in rotation 0 and a seed."""


def build_reducer_factory(method: str, game: Game, control_player: Player | None) -> ReducerFactory:
    """Return a factory of reducers for matches of a game by a `VarianceReductionMethod`.

    Without `control_player`, the first player of the match is its own control player.
    """
    if method == "aivat":
        check_is_poker(game)
        return lambda players, seed: AivatReducer(game, players)
    if len(game.definitions) > 1:
        raise ConfigError(
            "variance_reduction: control_variate needs a fixed number of seats, and that of"
            f" {game.name} varies"
        )
    return lambda players, seed: ControlPlayerReducer(
        game, players[0] if control_player is None else control_player, seed
    )


def add_control_variates(
    blocks: np.ndarray, columns: np.ndarray, prior: np.ndarray, min_spread: np.ndarray
) -> np.ndarray:
    """Return blocks [N] plus a weighted sum of control variates, `columns` [N, C].

    The weights for each half of the blocks are fitted on the other half. `min_spread` [C] is a
    lower bound of each column's standard deviation. Without it, a column that hardly varies in one
    half could get a huge weight, which would add noise to the other half.
    """
    half = len(blocks) // 2
    adjusted = np.empty(len(blocks))
    for this, other in (slice(half), slice(half, None)), (slice(half, None), slice(half)):
        weights = fit_weights(blocks[other], columns[other], prior, min_spread)
        adjusted[this] = blocks[this] + columns[this] @ weights
    return adjusted


def fit_weights(
    blocks: np.ndarray, columns: np.ndarray, prior: np.ndarray, min_spread: np.ndarray
) -> np.ndarray:
    """Return weights [C] that minimize the variance of blocks [N] plus weighted columns [N, C].

    Ridge regression shrinks them towards `prior` [C], the more the fewer blocks there are.
    """
    column_spread = np.maximum(columns.std(0), min_spread)
    scaled_columns = (columns - columns.mean(0)) / column_spread
    residual = blocks - blocks.mean() + scaled_columns @ (prior * column_spread)
    normal_matrix = scaled_columns.T @ scaled_columns + PRIOR_WEIGHT_DEALS * np.eye(len(prior))
    fitted_weights: np.ndarray = (
        prior - np.linalg.solve(normal_matrix, scaled_columns.T @ residual) / column_spread
    )
    return fitted_weights
