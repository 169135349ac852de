"""Mixed tables: matches with a player chosen for each seat, and what each player wins.

Every deal is played in all rotations of the given order, so that each player has every seat with
the same cards. Other orders are not played: who acts after whom is part of the question, and a full
table has far too many orders.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from poker_rl.config.validation import ConfigError
from poker_rl.evaluation.matches.duplicate_match import (
    compute_exact_values,
    get_result_unit,
    play_deals,
    summarize_blocks,
)
from poker_rl.evaluation.result import EXACT, Result
from poker_rl.games.game import Game
from poker_rl.games.game_tree import GameTree
from poker_rl.players.player import Player, compute_checked_probs


def check_seat_count(game: Game, player_count: int) -> None:
    """Raise `ConfigError` if the number of seats varies or is not the number of players."""
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
    """Measure what each player wins at a table; weighted by its seats, the values sum to zero.

    Args:
        tree: the game's tree, for exact values; None if it can't be enumerated.
        seat_order: the name of the player in each seat.
        players: the players by name.

    Returns:
        For each player the number of its seats, the mean over them of what it wins a hand and, with
        a tree, the exact value of that mean.
    """
    scale, unit = get_result_unit(game)
    blocks = play_deals(game, [players[name] for name in seat_order], deals, seed) * scale
    exact_by_seat = None
    if tree is not None:
        policies = {
            name: compute_checked_probs(game, player, tree.infoset_records)
            for name, player in players.items()
        }
        exact_by_seat = compute_exact_values(tree, [policies[name] for name in seat_order]) * scale
    results = []
    for name in dict.fromkeys(seat_order):
        seats = [seat for seat, other in enumerate(seat_order) if other == name]
        results.append(Result(name, "seats", len(seats), None, "", "at the table"))
        mean_blocks = blocks[:, seats].mean(1)
        results.append(summarize_blocks(name, "table", mean_blocks, unit, "at the table"))
        if exact_by_seat is not None:
            exact = float(exact_by_seat[seats].mean())
            results.append(Result(name, "table", exact, None, unit, EXACT))
    return results
