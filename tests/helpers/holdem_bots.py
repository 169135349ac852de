"""Bots of hold'em by name, and hands to ask them about."""

from __future__ import annotations

from typing import Any

import numpy as np
from random_games import game

from poker_rl.config.build import build
from poker_rl.config.options import option
from poker_rl.games.cards import parse_cards
from poker_rl.games.tables import Tables

HEADS_UP = game("limit_holdem")


def cards(text: str) -> list[int]:
    """The cards of `AsKd …`."""
    return parse_cards(text, "23456789TJQKA", "cdhs")


def bot(name: str, game: Any = HEADS_UP, **settings: Any) -> Any:
    """The bot of `conf/player/<name>.yaml`, with other settings."""
    return build({**option("player", name), **settings}, "player", game=game)


def hand(deck: str | np.ndarray, *actions: int, game: Any = HEADS_UP) -> np.ndarray:
    """The table [1] after these cards, own ones first in every seat, and actions."""
    tables = Tables(game, 1, 0)
    deal = np.array(cards(deck) if isinstance(deck, str) else deck)
    tables.deal(decks=deal[None, : game.dealt])
    for action in actions:
        tables.step(np.array([action]))
    return tables.records


def does(name: str, deck: str, *actions: int, **settings: Any) -> list[float]:
    """The chances of fold, call and raise that a bot gives heads-up."""
    return bot(name, **settings).probabilities(hand(deck, *actions))[0].tolist()
