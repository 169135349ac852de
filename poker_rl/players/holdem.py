"""What the bots of hold'em share: they think of folding, calling and betting, in games of any size.

A bot's bet is the smallest legal raise: the only one in limit poker, the minimum one otherwise. It
calls where it would bet and no raise is left, and checks where it would fold and checking is free.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from poker_rl.config.settings import Refused
from poker_rl.games.cards import RANKS, SUITS
from poker_rl.games.game import Game
from poker_rl.games.poker import betting
from poker_rl.games.poker.betting import CALL, FOLD, HOLE, RAISE
from poker_rl.players.bots import SuitBlind

BET = RAISE
CHOICES = 3  # fold, call, bet


@dataclass(kw_only=True)
class HoldemBot(SuitBlind):
    """A bot that knows its two hole cards; a kind of it adds `wishes`, fold, call and bet [B, 3].

    Raises:
        Refused: if the game is not played with two cards each of a deck of 52.
    """

    def __post_init__(self, game: Game) -> None:
        super().__post_init__(game)
        if not (
            game.rules is betting
            and game.record[0][["cards", "suits", "hole"]].tolist() == (RANKS * SUITS, SUITS, HOLE)
        ):
            raise Refused(
                f"a bot that reads hold'em hands needs two hole cards of thirteen ranks and four"
                f" suits, not {game.name}"
            )

    def wishes(self, records: np.ndarray, legal: np.ndarray) -> np.ndarray:
        """Tables [B] and their legal actions [B, A] -> chances of fold, call and bet [B, 3]."""
        raise NotImplementedError

    def probabilities(self, records: np.ndarray) -> np.ndarray:
        """Tables [B] -> [B, A]."""
        tables = self.tables(records)
        legal = tables.legal()
        return granted(legal, self.wishes(tables.records, legal))


def own_cards(records: np.ndarray) -> np.ndarray:
    """The hole cards of each seat to act, [B, 2]."""
    places = records["to_act"][:, None] * HOLE + np.arange(HOLE)
    cards: np.ndarray = np.take_along_axis(records["deck"], places, axis=1)
    return cards


def choices(legal: np.ndarray) -> np.ndarray:
    """Whether to fold, to call and to bet are legal [B, 3], by legal actions [B, A]."""
    return np.stack([legal[:, FOLD], legal[:, CALL], legal[:, BET:].any(1)], axis=1)


def certain(choice: np.ndarray) -> np.ndarray:
    """Each choice [B] with certainty, [B, 3]."""
    chances: np.ndarray = np.eye(CHOICES)[choice]
    return chances


def granted(legal: np.ndarray, wishes: np.ndarray) -> np.ndarray:
    """Chances of fold, call and bet [B, 3] as those of legal actions [B, A]: what isn't is a call.

    Checking or calling is always legal.
    """
    given = wishes * choices(legal)
    out = np.zeros(legal.shape)
    out[:, FOLD] = given[:, FOLD]
    out[np.arange(len(out)), BET + legal[:, BET:].argmax(1)] = given[:, BET]
    out[:, CALL] = given[:, CALL] + (wishes - given).sum(1)
    return out
