"""Tournaments: the assignment of players to tables, and the ranking of the players.

All tables play the same deals. For the confidence intervals, one sample is a deal with its results
at all tables. So luck that two players share cancels in the interval of their difference.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, permutations, product
from math import gcd, log
from typing import Literal

import numpy as np

from poker_rl.config.input_checks import ConfigError, error_prefix
from poker_rl.evaluation.matches.duplicate_match import (
    check_seat_count,
    compute_half_width,
    summarize_blocks,
)
from poker_rl.evaluation.result import AGAINST, Result, get_result_scale_and_unit
from poker_rl.games.game import Game

TableKind = Literal["one_against_rest", "mixed"]
ELO_PER_LOG_ODDS = 400 / log(10)  # a player rated higher by 400 wins ten of eleven deals
MAX_NEWTON_STEPS = 1000
CONVERGENCE_TOLERANCE = 1e-10


def assign_players_to_tables(
    game: Game, player_count: int, table_kind: TableKind, rounds: int, seed: int
) -> list[tuple[int, ...]]:
    """Return the seat order of each table of a tournament: the index of the player in each seat.

    If the game has two seats, every pair of players has one table. With `one_against_rest`, every
    ordered pair (a, b) has a table with a in the first seat and b in all others. With `mixed`, each
    table has random players. Within a round, every player sits at equally many tables.
    """
    if game.seats == 2:
        return list(combinations(range(player_count), 2))
    if table_kind == "one_against_rest":
        pairs = permutations(range(player_count), 2)
        return [(a, *[b] * (game.seats - 1)) for a, b in pairs]
    with error_prefix("table_kind"):
        check_seat_count(game, game.seats)
        if player_count < game.seats:
            raise ConfigError(
                f"mixed tables of {game.name} take {game.seats} players; give as many"
            )
    generator = np.random.default_rng(seed)
    tables_per_round = player_count // gcd(player_count, game.seats)
    seat_orders: list[tuple[int, ...]] = []
    for _ in range(rounds):
        # Put the players in a circle at random; each table takes the next players of the circle.
        circle = generator.permutation(player_count)
        seat_orders += map(tuple, np.resize(circle, (tables_per_round, game.seats)).tolist())
    return seat_orders


def list_counted_players_at_table(seat_order: Sequence[int]) -> list[int]:
    """Return the players of a table whose winnings count in the ranking.

    If each player has one seat, all count. Else only the player in the first seat counts.
    """
    return list(seat_order) if len(set(seat_order)) == len(seat_order) else [seat_order[0]]


@dataclass(frozen=True)
class TournamentResults:
    """Results of a finished tournament.

    Attributes:
        player_names: the players, the best first.
        results: for each player its mean winnings per hand (`won`), how much more the player one
            rank above it won (`behind`) and, with two seats, its Elo rating (`elo`); for each pair
            of players who met, what one won at tables with the other (`won/<other player>`). Only
            the winnings of `list_counted_players_at_table` count.
    """

    game: Game
    table_kind: TableKind
    rounds: int
    player_names: list[str]
    results: list[Result]

    def find_result(self, player: str, measure: str) -> Result | None:
        """Return a player's result of this measure; None if it was not computed."""
        return next((r for r in self.results if (r.player, r.measure) == (player, measure)), None)

    @property
    def description(self) -> str:
        """Text that says which tables and deals were played."""
        seat_count = self.game.seats
        tables_text = f"one player against another in all {seat_count - 1} other seats"
        if seat_count == 2:
            tables_text = "every pair"
        elif self.table_kind == "mixed":
            tables_text = f"tables of {seat_count} different players, in {self.rounds} rounds"
        return (
            f"{self.game.name}: {len(self.player_names)} players, {tables_text}; the same"
            f" {self.results[0].n:,} deals at every table, each played in every rotation of the"
            f" seats; {self.results[0].unit}, 95 % intervals over deals"
        )

    @property
    def cell_meaning(self) -> str:
        """Phrase that explains the numbers in the cells of the cross table."""
        if self.game.seats == 2:
            return "what the row's player won from the column's"
        if self.table_kind == "mixed":
            return "what the row's player won at the tables where the column's sat too"
        return f"what the row's player won alone against {self.game.seats - 1} of the column's"


def compute_tournament_results(
    game: Game,
    names: Sequence[str],
    seat_orders: Sequence[tuple[int, ...]],
    blocks: Sequence[np.ndarray],
    table_kind: TableKind,
    rounds: int,
) -> TournamentResults:
    """Rank the players of a tournament by the results of its tables.

    For each table, `blocks` holds the winnings, in each deal, of the players in
    `list_counted_players_at_table`, [players, deals], in chips a hand.
    """
    scale, unit = get_result_scale_and_unit(game)
    blocks_of_player, blocks_of_pair = defaultdict(list), defaultdict(list)
    for seat_order, block in zip(seat_orders, blocks, strict=True):
        for player, winnings in zip(
            list_counted_players_at_table(seat_order), block * scale, strict=True
        ):
            blocks_of_player[player].append(winnings)
            for other in set(seat_order) - {player}:
                blocks_of_pair[player, other].append(winnings)
    mean_blocks = {player: np.mean(each, axis=0) for player, each in blocks_of_player.items()}
    ranked = sorted(mean_blocks, key=lambda player: -mean_blocks[player].mean())

    def summarize(player: int, measure: str, winnings: np.ndarray, kind: str) -> Result:
        return summarize_blocks(names[player], measure, winnings, unit, kind)

    results = []
    if game.seats == 2:
        scores = (np.sign([block[0] for block in blocks]) + 1) / 2
        ratings, influences = fit_elo_and_influences(np.array(seat_orders), scores, len(names))
    for rank, player in enumerate(ranked):
        results.append(summarize(player, "won", mean_blocks[player], "mean of all tables"))
        if rank > 0:
            difference = mean_blocks[ranked[rank - 1]] - mean_blocks[player]
            results.append(summarize(player, "behind", difference, "behind"))
        if game.seats == 2:
            rating, half_width = float(ratings[player]), compute_half_width(influences[player])
            deals = scores.shape[1]
            results.append(Result(names[player], "elo", rating, half_width, "Elo", "fitted", deals))
    for a, b in product(ranked, ranked):
        if (a, b) in blocks_of_pair:
            winnings = np.mean(blocks_of_pair[a, b], axis=0)
            results.append(summarize(a, f"won/{names[b]}", winnings, f"{AGAINST}{names[b]}"))
    player_names = [names[player] for player in ranked]
    return TournamentResults(game, table_kind, rounds, player_names, results)


def fit_elo_and_influences(
    pairs: np.ndarray, scores: np.ndarray, player_count: int
) -> tuple[np.ndarray, np.ndarray]:
    """Fit Elo ratings to the scores of all pairs by maximum likelihood, with Newton's method.

    The model is that of Bradley and Terry (1952): with ratings r, player i wins a deal against
    player j with probability 1 / (1 + 10 ** ((r_j - r_i) / 400)). One drawn deal is added for each
    pair, so that even a player who wins every deal has a finite rating.

    Args:
        pairs: indices of the players of each pair, [P, 2].
        scores: 1 for a win, 1/2 for a draw and 0 for a loss of each pair's first player in each
            deal, [P, deals].

    Returns:
        ratings, [players]: their mean is 0.
        influences, [players, deals + 1]: influence of each deal of all pairs on each rating; the
            last column is for the added draws. A rating's standard error is that of its row's mean.
    """
    first_player, second_player = np.eye(player_count)[pairs.T]
    design = first_player - second_player
    scores = np.column_stack([scores, np.full(len(scores), 0.5)])
    mean_scores = scores.mean(1)
    log_odds = np.zeros(player_count)
    for _ in range(MAX_NEWTON_STEPS):
        win_probs = 1 / (1 + np.exp(-(design @ log_odds)))
        inverse = np.linalg.pinv(design.T @ (design * (win_probs * (1 - win_probs))[:, None]))
        step = inverse @ (design.T @ (mean_scores - win_probs))
        log_odds += step / max(1.0, float(np.ptp(step)))
        if np.abs(step).max() < CONVERGENCE_TOLERANCE:
            break
    influences = inverse @ (design.T @ (scores - scores.mean(1, keepdims=True)))
    return ELO_PER_LOG_ODDS * (log_odds - log_odds.mean()), ELO_PER_LOG_ODDS * influences
