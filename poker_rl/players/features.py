"""What a network is shown of a table."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from poker_rl.games.game import Game
from poker_rl.games.poker_game import PokerGame
from poker_rl.games.tables import Tables
from poker_rl.games.tree import tree_of
from poker_rl.nets import NO_STEPS, FeatureKind
from poker_rl.settings import Refused

Rows = Callable[[np.ndarray], np.ndarray]


class Features:
    """Rows of numbers that show tables as the seats to act see them.

    `observation`  the game's own features, uint8; float32 where they hold chips
    `rank`         rank of the own card, evenly spaced from -1 (lowest) to 1 (highest), float32
    `infoset`      one-hot over the information sets of an enumerated game, uint8

    Attributes:
        size: width of a row, W.
        bits: whether all of it is 0 or 1.

    Raises:
        Refused: if the game has no such features.
    """

    def __init__(self, game: Game, kind: FeatureKind) -> None:
        self.size, self._rows = FEATURES[kind](game)
        self.bits = kind == "infoset" or (
            kind == "observation" and game.observation_dtype == np.uint8
        )
        self.steps = NO_STEPS

    def __call__(self, records: np.ndarray) -> np.ndarray:
        """Tables [B] -> [B, W]."""
        return self._rows(records)


def _observation(game: Game) -> tuple[int, Rows]:
    tables = Tables(game, 0, 0)

    def rows(records: np.ndarray) -> np.ndarray:
        tables.use(records)
        return tables.observe()

    return game.observation_size, rows


def _rank(game: Game) -> tuple[int, Rows]:
    if not isinstance(game, PokerGame) or game.hole_cards != 1:
        raise Refused(f"net.features: rank needs a game with one hole card, not {game.name}")
    suits, middle = len(game.suits), (len(game.ranks) - 1) / 2

    def rows(records: np.ndarray) -> np.ndarray:
        card = records["deck"][np.arange(len(records)), records["to_act"]]  # seat i holds card i
        rank = (card // suits - middle) / max(middle, 1)
        return np.asarray(rank, np.float32)[:, None]

    return 1, rows


def _infoset(game: Game) -> tuple[int, Rows]:
    tree = tree_of(game)

    def rows(records: np.ndarray) -> np.ndarray:
        out = np.zeros((len(records), tree.size), np.uint8)
        out[np.arange(len(records)), tree.infoset_of(records)] = 1
        return out

    return tree.size, rows


FEATURES: dict[FeatureKind, Callable[[Game], tuple[int, Rows]]] = {
    "observation": _observation,
    "rank": _rank,
    "infoset": _infoset,
}
