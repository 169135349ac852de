"""A few hands of a player with itself, told move by move."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from poker_rl.games.game import Game
from poker_rl.games.tables import Tables
from poker_rl.players.player import Player, policy_at
from poker_rl.players.sampling import draw

HEADS = ["seat", "what it knows", "does", "chance of it"]


def played(
    game: Game, player: Player, hands: int, seed: int
) -> Iterator[tuple[list[list[str]], str]]:
    """Each hand: a row a move below the heads, and what every seat won.

    Args:
        player: a single one, which sits in every seat.
    """
    generator, tables = np.random.default_rng(seed), Tables(game, 1, seed)
    for _ in range(hands):
        tables.deal()
        rows = [HEADS]
        while not tables.records["over"][0]:
            record, chances = tables.records[0], policy_at(game, player, tables.records)
            action = draw(chances, generator.random(1))
            seat, _, known = game.infoset_name(record).partition(" ")
            does = game.move_name(record, int(action[0]))
            rows.append([seat, known, does, f"{100 * chances[0, action[0]]:.0f} %"])
            tables.step(action)
        seats = int(tables.definitions()["seats"][0])
        won = tables.payoffs()[0, :seats] / game.unit_chips
        told = ", ".join(f"seat {seat} {chips:+g}" for seat, chips in enumerate(won))
        yield rows, f"Won, in {game.unit}s: {told}."
