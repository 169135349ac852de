"""Walks of the public tree, told of before they begin and with a bar while they last."""

from __future__ import annotations

from math import ceil
from time import perf_counter

from poker_rl.evaluation.public_tree import AskedTree, Result
from poker_rl.games.game import Game
from poker_rl.players.player import Player
from poker_rl.storage.progress import progress_bar

SAMPLE_S = 1.0  # seconds for which a board is walked to see how long all of them will take


def cost(game: Game, player: Player) -> str:
    """How long the exact value of a player will take and how much memory, for people.

    One board is walked again and again for a second.

    Args:
        player: of one instance.

    Raises:
        Refused: if the game's public tree cannot be walked.
    """
    tree = AskedTree(game, player.blind_to_suits)
    rows, board, asked = tree.rows(), tree.some_board(), 0

    def count(done: int) -> None:
        nonlocal asked
        asked += done

    tree.sample(board, player, count)  # compiles
    asked, began = 0, perf_counter()
    while (seconds := perf_counter() - began) < SAMPLE_S:
        tree.sample(board, player, count)
    minutes = seconds / max(asked, 1) * rows / 60  # none is asked where nobody acts at the end
    time = f"{ceil(minutes)} min" if minutes > 1 else f"{ceil(60 * minutes)} s"
    suits = "merged" if player.blind_to_suits else "told apart"
    return (
        f"exact: {rows:,} hands at public states, suits {suits}; about {time}"
        f" and {tree.byte_count() / 1e6:,.0f} MB of memory besides the player's own"
    )


def walk(game: Game, player: Player) -> Result:
    """The exact value of a player of one instance, with a progress bar.

    Raises:
        Refused: if the game's public tree cannot be walked.
    """
    tree = AskedTree(game, player.blind_to_suits)
    settings = {"desc": "exact", "unit_scale": True, "leave": False}
    with progress_bar(tree.rows(), "hands", **settings) as bar:
        return tree.measure(player, bar.update)


def demand_walk(game: Game) -> None:
    """Refuse a game whose public tree cannot be walked for any player.

    Raises:
        Refused: telling how large it is.
    """
    AskedTree(game, merge=True)
