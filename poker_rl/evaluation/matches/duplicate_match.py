"""Duplicate matches: every deal is played once in each rotation of the players over the seats.

The hands of one deal depend on each other. So one sample for the confidence intervals is a block,
the mean over all rotations of a deal. The deals and each player have their own random generators,
so the cards do not depend on the players.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import sqrt
from statistics import NormalDist
from typing import Annotated, Literal

import numpy as np

from poker_rl.config.input_checks import ConfigError, Range
from poker_rl.evaluation.exact.exploitability import compute_seat_values
from poker_rl.evaluation.result import AGAINST, EXACT, Result, get_result_scale_and_unit
from poker_rl.games.game import Game
from poker_rl.games.game_tree import GameTree
from poker_rl.games.tables import Tables
from poker_rl.players.player import (
    Player,
    compute_checked_probs,
    find_first_player_indices,
    sample_player_actions,
)

MIN_DEALS = 30  # the mean of fewer deals is too far from normally distributed
MAX_DEALS = 10_000_000  # a deal with nine seats takes 216 bytes, 2 GB in all
DealCount = Annotated[int, Range(MIN_DEALS, MAX_DEALS)]
VarianceReductionMethod = Literal["none", "aivat"]
MAX_TABLES = 16_384  # largest number of tables in a batch, of 0.8 kB each
MAX_PROBS = 2**22  # largest number of action probabilities in a batch

HandObserver = Callable[[Tables, np.ndarray], None]
"""Function called with finished tables [B] and the seat of the first player at each, [B]."""


def play_deals(
    game: Game,
    players: Sequence[Player],
    deals: int,
    seed: int,
    observers: Sequence[HandObserver] = (),
    table: int = 0,
) -> np.ndarray:
    """Play random deals, each in every rotation, and return each player's winnings.

    In rotation r, player i has seat (i + r) mod seats; a player may be listed more than once.
    In a game with a variable number of seats, the first n players play a deal of n seats.

    Args:
        players: one for each seat.
        seed: fixes the cards and the players' random numbers.
        table: tables with equal seeds have equal cards but independent random numbers of players.

    Returns:
        Means over the rotations in chips a hand, [deals, players] float64; each row sums to zero.
    """
    (deal_seed,) = np.random.SeedSequence(seed).spawn(1)
    _, *player_seeds = np.random.SeedSequence([seed, table]).spawn(1 + game.seats)
    generators = [np.random.Generator(np.random.PCG64(stream)) for stream in player_seeds]
    deals_per_batch = max(1, min(MAX_TABLES, MAX_PROBS // game.action_count) // game.seats)
    table_seed = int(deal_seed.generate_state(1, np.uint64)[0])
    dealer = Tables(game, min(deals_per_batch, deals), table_seed)
    blocks = []
    for first_deal in range(0, deals, deals_per_batch):
        dealer.deal()
        seats_of_deal = dealer.count_seats()[: min(deals_per_batch, deals - first_deal)]
        deal_of_table = np.repeat(np.arange(len(seats_of_deal)), seats_of_deal)  # [B]
        first_table = np.cumsum(seats_of_deal) - seats_of_deal  # index of each deal's first table
        rotation = np.arange(len(deal_of_table)) - first_table[deal_of_table]  # [B]
        dealt = dealer.records[deal_of_table]
        tables = Tables(game, len(deal_of_table), 0)
        tables.deal(decks=dealt["deck"], variants=dealt["variant"])
        play_tables_to_end(tables, rotation, players, generators)
        for observer in observers:
            observer(tables, rotation)
        # A player without a seat in a deal wins nothing.
        seats, player_index = tables.count_seats()[:, None], np.arange(game.seats)
        seat_of_player = (player_index + rotation[:, None]) % seats
        seat_of_player = np.where(player_index < seats, seat_of_player, player_index)
        player_payoffs = np.take_along_axis(tables.payoffs(), seat_of_player, axis=1)
        blocks.append(average_by_deal(player_payoffs, rotation))
    return np.concatenate(blocks)


def play_tables_to_end(
    tables: Tables,
    rotation: np.ndarray,
    players: Sequence[Player],
    generators: Sequence[np.random.Generator],
) -> None:
    """Play tables [B] to the end, in place; player i has seat (i + `rotation` [B]) mod seats."""
    seats, rows = tables.count_seats(), np.arange(len(rotation))
    while len(rows):
        player_index = (tables.records["to_act"][rows] - rotation[rows]) % seats[rows]
        tables.step(sample_player_actions(tables, rows, players, player_index, generators), rows)
        rows = rows[tables.records["over"][rows] == 0]


def average_by_deal(hand_values: np.ndarray, rotation: np.ndarray) -> np.ndarray:
    """Return the mean of `hand_values` [B, ...] over each deal; a deal begins at rotation 0."""
    first_hand = np.flatnonzero(rotation == 0)
    hand_count = np.diff(first_hand, append=len(rotation))
    hand_count = hand_count.reshape(-1, *[1] * (hand_values.ndim - 1))
    return np.asarray(np.add.reduceat(hand_values, first_hand) / hand_count)


def play_match(
    game: Game,
    player: Player,
    opponent: Player,
    opponent_name: str,
    deals: int,
    seed: int,
    observers: Sequence[HandObserver] = (),
    use_aivat: bool = False,
    player_name: str = "player",
) -> Result:
    """Measure a player's winnings per hand against an opponent that has every other seat.

    The player plays each deal once in every seat. There must be at least `MIN_DEALS` deals for the
    interval. `seed` fixes the cards and the players' random numbers.
    """
    players = [player] + [opponent] * (game.seats - 1)
    all_terms: list[np.ndarray] = []

    def add_aivat_terms(tables: Tables, rotation: np.ndarray) -> None:
        is_opponent = np.arange(game.seats) != rotation[:, None]
        player_by_seat = is_opponent.astype(np.int64) * (opponent is not player)
        hands = tables.records, rotation, [player, opponent], player_by_seat
        all_terms.append(average_by_deal(aivat.compute_aivat_terms(game, *hands), rotation))

    if use_aivat:
        from poker_rl.evaluation.variance_reduction import aivat

        observers = [*observers, add_aivat_terms]
    blocks = play_deals(game, players, deals, seed, observers)[:, 0]
    if use_aivat:
        blocks = aivat.add_fitted_aivat_terms(game, blocks, np.concatenate(all_terms))
    scale, unit = get_result_scale_and_unit(game)
    measure, kind = f"against/{opponent_name}", f"{AGAINST}{opponent_name}"
    return summarize_blocks(player_name, measure, blocks * scale, unit, kind)


def compute_exact_match_values(tree: GameTree, players: Sequence[Player]) -> np.ndarray:
    """Return each player's expected winnings in chips a hand, [players].

    They are means over all rotations of the players over the seats. There is one player for each
    seat; a player may be listed more than once.
    """
    seats, first_occurrences = np.arange(len(players)), find_first_player_indices(players)
    policies = np.zeros((len(players), *tree.legal_mask.shape))
    for i in np.unique(first_occurrences):
        probs = compute_checked_probs(tree.game, players[i], tree.infoset_records)
        policies[first_occurrences == i] = probs
    mean_values = np.zeros(len(players))
    for rotation in seats:
        player_of_seat = (seats - rotation) % len(players)
        policy = policies[player_of_seat[tree.infoset_seat], np.arange(tree.infoset_count)]
        seat_values = compute_seat_values(tree, policy)
        mean_values += seat_values[(seats + rotation) % len(players)] / len(players)
    return mean_values


def check_seat_count(game: Game, player_count: int) -> None:
    """Raise `ConfigError` unless the game always has `player_count` seats."""
    if len(seat_counts := np.unique(game.definitions["seats"])) > 1:
        raise ConfigError(
            f"{game.name} has {seat_counts[0]} to {seat_counts[-1]} seats; choose a game with a"
            " fixed number of seats"
        )
    if player_count != game.seats:
        raise ConfigError(
            f"{player_count} given, but {game.name} has {game.seats} seats, a player for each"
        )


def play_mixed_table(
    game: Game,
    tree: GameTree | None,
    seat_order: Sequence[str],
    players: Mapping[str, Player],
    deals: int,
    seed: int,
) -> list[Result]:
    """Measure what each player wins at a table; `seat_order` names the player of each seat.

    The results of each player are its number of seats, its winnings per hand as the mean over its
    seats and, if `tree` is not None, the exact expectation of these winnings.
    """
    scale, unit = get_result_scale_and_unit(game)
    player_of_seat = [players[name] for name in seat_order]
    blocks, exact_by_seat = play_deals(game, player_of_seat, deals, seed) * scale, None
    if tree is not None:
        exact_by_seat = compute_exact_match_values(tree, player_of_seat) * scale
    results = []
    for name in dict.fromkeys(seat_order):
        seats = [seat for seat, other in enumerate(seat_order) if other == name]
        results.append(Result(name, "seats", len(seats), None, "", "at the table"))
        mean_blocks = blocks[:, seats].mean(1)
        results.append(summarize_blocks(name, "table", mean_blocks, unit, "at the table"))
        if exact_by_seat is not None:
            exact_mean = float(exact_by_seat[seats].mean())
            results.append(Result(name, "table", exact_mean, None, unit, EXACT))
    return results


def summarize_blocks(player: str, measure: str, blocks: np.ndarray, unit: str, kind: str) -> Result:
    """Return the mean of independent blocks [N] with its 95 % interval."""
    half_width = compute_half_width(blocks)
    return Result(player, measure, float(blocks.mean()), half_width, unit, kind, len(blocks))


def compute_half_width(blocks: np.ndarray) -> float:
    """Return the half-width of the 95 % t-interval of the mean of at least 30 blocks [N]."""
    normal = NormalDist().inv_cdf(0.975)
    # Cornish-Fisher expansion of the t quantile; for 30 blocks it gives 2.042 (exact: 2.045).
    quantile = normal + (normal**3 + normal) / (4 * (len(blocks) - 1))
    return float(quantile * blocks.std(ddof=1) / sqrt(len(blocks)))
