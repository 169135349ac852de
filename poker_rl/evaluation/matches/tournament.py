"""Tournaments: which players meet at each table, and the ranking of the players.

All tables play the same deals, and a deal is one sample for all confidence intervals. Because the
winnings of two players are compared deal by deal, the interval of their difference is narrower than
the intervals of their means suggest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd
from typing import Literal

import numpy as np

from poker_rl.config.validation import ConfigError, error_prefix
from poker_rl.evaluation.matches.duplicate_match import (
    check_seat_count,
    compute_half_width,
    get_result_unit,
    summarize_blocks,
)
from poker_rl.evaluation.matches.ratings import (
    compute_explained_variance,
    find_largest_cycle,
    fit_elo,
)
from poker_rl.evaluation.result import AGAINST, Result
from poker_rl.games.game import Game

TableKind = Literal["one_against_rest", "mixed"]


def assign_players_to_tables(
    game: Game, player_count: int, table_kind: TableKind, rounds: int, seed: int
) -> list[tuple[int, ...]]:
    """Return the seat order of each table of a tournament: the index of the player in each seat.

    With two seats, every pair meets once. With more seats and `one_against_rest`, every pair meets
    twice: each player once has one seat while its opponent has all others. With `mixed`, random
    players meet at each table, and in every round all players are at the same number of tables.
    """
    players = range(player_count)
    if game.seats == 2:
        return [(a, b) for a in players for b in players if a < b]
    if table_kind == "one_against_rest":
        return [(a, *[b] * (game.seats - 1)) for a in players for b in players if a != b]
    with error_prefix("table_kind"):
        check_seat_count(game, game.seats)
        if player_count < game.seats:
            raise ConfigError(
                f"mixed tables of {game.name} take {game.seats} players; give as many"
            )
    generator = np.random.default_rng(seed)
    seat_orders = []
    for _ in range(rounds):
        # Each table gets the next players of a random circle.
        circle = generator.permutation(player_count)
        for table in range(player_count // gcd(player_count, game.seats)):
            positions = np.arange(table * game.seats, (table + 1) * game.seats) % player_count
            seat_orders.append(tuple(circle[positions].tolist()))
    return seat_orders


def list_counted_players(seat_order: Sequence[int]) -> list[int]:
    """Return the players whose results at a table count in the tournament.

    These are all players, or only the first one if another player has several seats.
    """
    return list(seat_order) if len(set(seat_order)) == len(seat_order) else [seat_order[0]]


@dataclass(frozen=True, kw_only=True)
class TournamentResults:
    """Results of a finished tournament.

    Attributes:
        player_names: the players, the best first.
        results: for each player its mean winnings per hand over its tables (`won`), how much more
            the player ranked above it won (`behind`) and, with two seats, its rating (`elo`). Then
            for each pair the winnings of one player at the tables of both (`won/<name>`).
        explained_variance: share of the variance of the results that one rating for each player
            explains; None for two players.
        cycle: three players of whom each beats the next and the last beats the first; empty if
            there are none.
    """

    game: Game
    table_kind: TableKind
    rounds: int
    deals: int
    player_names: list[str]
    results: list[Result]
    explained_variance: float | None
    cycle: list[str]

    def find_result(self, player: str, measure: str) -> Result | None:
        """Return the result of a player for a measure; None if there is none."""
        matching = (r for r in self.results if (r.player, r.measure) == (player, measure))
        return next(matching, None)

    def format_cell(self, player: str, measure: str) -> str:
        """Return the value of a result as text; "-" if the player has no such measure."""
        result = self.find_result(player, measure)
        return "-" if result is None else result.formatted_value

    @property
    def description(self) -> str:
        """A text that says which tables and deals were played."""
        seat_count = self.game.seats
        tables_text = f"one player against another in all {seat_count - 1} other seats"
        if seat_count == 2:
            tables_text = "every pair"
        elif self.table_kind == "mixed":
            tables_text = f"tables of {seat_count} different players, in {self.rounds} rounds"
        return (
            f"{self.game.name}: {len(self.player_names)} players, {tables_text}; the same"
            f" {self.deals:,} deals at every table, each played in every rotation of the seats;"
            f" {self.results[0].unit}, 95 % intervals over deals"
        )

    @property
    def cell_meaning(self) -> str:
        """A phrase that explains the numbers in the cross table."""
        if self.game.seats == 2:
            return "what the row's player won from the column's"
        if self.table_kind == "mixed":
            return "what the row's player won at the tables where the column's sat too"
        return f"what the row's player won alone against {self.game.seats - 1} of the column's"

    @property
    def remarks(self) -> list[str]:
        """Sentences about the ratings and the largest cycle; empty if there are neither."""
        sentences = []
        if self.explained_variance is not None:
            sentences.append(
                f"One rating a player explains {100 * self.explained_variance:.1f} % of the"
                " variance of the results; the rest is cycles and chance."
            )
        if self.cycle:
            pairs = zip(self.cycle, [*self.cycle[1:], self.cycle[0]], strict=True)
            wins = [f"{a} beats {b} by {self.format_cell(a, f'won/{b}')}" for a, b in pairs]
            sentences.append(f"The largest cycle: {', '.join(wins)}.")
        return sentences


def compute_tournament_results(
    game: Game,
    names: Sequence[str],
    seat_orders: Sequence[tuple[int, ...]],
    blocks: Sequence[np.ndarray],
    table_kind: TableKind,
    rounds: int,
) -> TournamentResults:
    """Rank the players of a tournament by the results of its tables.

    `seat_orders` come from `assign_players_to_tables`. For each of these tables, `blocks` holds
    what its `list_counted_players` won in each deal, [counted players, deals] in chips a hand.
    """
    scale, unit = get_result_unit(game)
    results_of_player: dict[int, list[np.ndarray]] = {}
    results_of_pair: dict[tuple[int, int], list[np.ndarray]] = {}
    design_rows, mean_results = [], []
    for seat_order, block in zip(seat_orders, blocks, strict=True):
        for player, deal_results in zip(
            list_counted_players(seat_order), block * scale, strict=True
        ):
            results_of_player.setdefault(player, []).append(deal_results)
            for other in sorted(set(seat_order) - {player}):
                results_of_pair.setdefault((player, other), []).append(deal_results)
            design_row = -np.bincount(seat_order, minlength=len(names)) / (game.seats - 1)
            design_row[player] = 1
            design_rows.append(design_row)
            mean_results.append(deal_results.mean())
    centered_results = np.array(mean_results)
    if game.seats > 2:
        # Remove the advantage that any player may have alone against copies of another player.
        centered_results -= centered_results.mean()
    mean_of_player = {
        player: np.mean(deal_results, axis=0) for player, deal_results in results_of_player.items()
    }
    ranked = sorted(mean_of_player, key=lambda player: -mean_of_player[player].mean())

    def summarize(player: int, measure: str, deal_results: np.ndarray, kind: str) -> Result:
        return summarize_blocks(names[player], measure, deal_results, unit, kind)

    ratings = _compute_ratings(names, seat_orders, blocks) if game.seats == 2 else []
    results = []
    for rank, player in enumerate(ranked):
        results.append(summarize(player, "won", mean_of_player[player], "mean of all tables"))
        if rank > 0:
            difference = mean_of_player[ranked[rank - 1]] - mean_of_player[player]
            results.append(summarize(player, "behind", difference, "behind"))
        results += [ratings[player]] if ratings else []
    winnings_matrix, half_width_matrix = np.zeros((2, len(names), len(names)))
    for a in ranked:
        for b in ranked:
            if (a, b) in results_of_pair:
                deal_results, kind = np.mean(results_of_pair[a, b], axis=0), f"{AGAINST}{names[b]}"
                results.append(summarize(a, f"won/{names[b]}", deal_results, kind))
                winnings_matrix[a, b] = results[-1].value
                half_width_matrix[a, b] = results[-1].half_width
    is_pairwise = all(len(set(seat_order)) == 2 for seat_order in seat_orders)
    cycle = find_largest_cycle(winnings_matrix, half_width_matrix) if is_pairwise else ()
    explained_variance = None
    if len(names) > 2:
        explained_variance = compute_explained_variance(np.array(design_rows), centered_results)
    return TournamentResults(
        game=game,
        table_kind=table_kind,
        rounds=rounds,
        deals=blocks[0].shape[1],
        player_names=[names[player] for player in ranked],
        results=results,
        explained_variance=explained_variance,
        cycle=[names[player] for player in cycle],
    )


def _compute_ratings(
    names: Sequence[str], seat_orders: Sequence[tuple[int, ...]], blocks: Sequence[np.ndarray]
) -> list[Result]:
    """Return the Elo rating of each player of a heads-up tournament."""
    scores = (np.sign([block[0] for block in blocks]) + 1) / 2
    ratings, influences = fit_elo(np.array(seat_orders), scores, len(names))
    deals = scores.shape[1]
    return [
        Result(name, "elo", float(rating), compute_half_width(influence), "Elo", "fitted", deals)
        for name, rating, influence in zip(names, ratings, influences, strict=True)
    ]
