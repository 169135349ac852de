"""Measurements of a match: winnings, share of hands won, distribution of returns, playing style."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from poker_rl.evaluation.matches.duplicate_match import (
    compute_exact_match_values,
    get_result_unit,
    play_match,
    summarize_blocks,
)
from poker_rl.evaluation.matches.playing_style import StyleCounter, is_holdem
from poker_rl.evaluation.result import AGAINST, EXACT, Result
from poker_rl.evaluation.variance_reduction.variance_reducers import ReducerFactory, average_by_deal
from poker_rl.games.game import Game
from poker_rl.games.game_tree import GameTree
from poker_rl.games.tables import Tables
from poker_rl.players.player import Player, compute_checked_probs

PERCENTILES = (5, 25, 50, 75, 95)


@dataclass(frozen=True)
class ReturnDistribution:
    """Histogram of what a player won in the hands of a match.

    Attributes:
        unit: the unit of returns, such as "big blind".
        returns: every amount that was won in a hand, ascending.
        hand_counts: number of hands with each of these returns.
    """

    player: str
    opponent: str
    unit: str
    returns: list[float]
    hand_counts: list[int]

    def compute_percentiles(self) -> list[float]:
        """Return the smallest returns that 5, 25, 50, 75 and 95 % of the hands do not exceed."""
        cumulative_share = np.cumsum(self.hand_counts) / sum(self.hand_counts)
        indices = np.searchsorted(cumulative_share, np.array(PERCENTILES) / 100 - 1e-12)
        return [self.returns[index] for index in indices]

    def list_quantile_results(self) -> list[Result]:
        """Return results such as `won_p5/call` for minimum, percentiles and maximum."""
        names = ["min", *(f"p{percent}" for percent in PERCENTILES), "max"]
        values = [self.returns[0], *self.compute_percentiles(), self.returns[-1]]
        opponent, kind = self.opponent, f"{AGAINST}{self.opponent}"
        return [
            Result(self.player, f"won_{name}/{opponent}", value, None, self.unit, kind)
            for name, value in zip(names, values, strict=True)
        ]


@dataclass(frozen=True)
class MatchResults:
    """Measurements of one match.

    Attributes:
        results: winnings of the first player and the share of hands that it won.
        styles: statistics of the playing style of both players; empty except in hold'em.
        distribution: how often the first player won each amount.
    """

    results: list[Result]
    styles: list[Result]
    distribution: ReturnDistribution


def measure_match(
    game: Game,
    tree: GameTree | None,
    player_name: str,
    player: Player,
    opponent_name: str,
    opponent: Player,
    deals: int,
    seed: int,
    reducer_factory: ReducerFactory | None,
) -> MatchResults:
    """Play a match, and measure winnings, hands won, playing styles and the return distribution.

    If `tree` is not None, the expected winnings are also computed. For the other arguments see
    `play_match`.
    """
    payoffs: list[np.ndarray] = []  # chips that the first player wins in each hand
    rotations: list[np.ndarray] = []

    def add_hands(tables: Tables, rotation: np.ndarray) -> None:
        payoffs.append(tables.payoffs()[np.arange(len(rotation)), rotation])
        rotations.append(rotation)

    observers, style_counter = [add_hands], StyleCounter() if is_holdem(game) else None
    if style_counter is not None:
        observers.append(style_counter.add_hands)
    winnings = play_match(
        game, player, opponent, opponent_name, deals, seed, observers, reducer_factory, player_name
    )
    results = [winnings]
    if tree is not None:
        policies = [
            compute_checked_probs(game, policy_player, tree.infoset_records)
            for policy_player in (player, opponent)
        ]
        values = compute_exact_match_values(tree, [policies[0]] + [policies[1]] * (game.seats - 1))
        exact = float(values[0]) * get_result_unit(game)[0]
        results.append(Result(player_name, winnings.measure, exact, None, winnings.unit, EXACT))
    all_payoffs = np.concatenate(payoffs)
    hands_won = average_by_deal((all_payoffs > 0).astype(float), np.concatenate(rotations))
    measure = f"hands_won/{opponent_name}"
    results.append(summarize_blocks(player_name, measure, hands_won, "of hands", winnings.kind))
    chips, hand_counts = np.unique(all_payoffs, return_counts=True)
    returns = (chips / game.unit_chips).tolist()
    return MatchResults(
        results,
        [] if style_counter is None else style_counter.list_results(player_name, opponent_name),
        ReturnDistribution(player_name, opponent_name, game.unit, returns, hand_counts.tolist()),
    )
