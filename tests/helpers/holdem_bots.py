"""Bots of hold'em by name, and tables for them."""

from __future__ import annotations

from typing import Any

import numpy as np
from random_games import game

from poker_rl.config.build import build
from poker_rl.config.option_files import load_option
from poker_rl.games.cards import parse_cards
from poker_rl.games.tables import Tables

HEADS_UP = game("limit_holdem")


def cards(text: str) -> list[int]:
    """Return the cards of `AsKd …`."""
    return parse_cards(text, "23456789TJQKA", "cdhs")


def bot(name: str, game: Any = HEADS_UP, **settings: Any) -> Any:
    """Return the bot of `conf/player/<name>.yaml` with other settings."""
    return build({**load_option("player", name), **settings}, "player", game=game)


def hand(deck: str | np.ndarray, *actions: int, game: Any = HEADS_UP) -> np.ndarray:
    """Return the table [1] with this deck after these actions."""
    tables = Tables(game, 1, 0)
    deal = np.array(cards(deck) if isinstance(deck, str) else deck)
    tables.deal(decks=deal[None, : game.cards_dealt])
    for action in actions:
        tables.step(np.array([action]))
    return tables.records


def get_probs(name: str, deck: str, *actions: int, **settings: Any) -> list[float]:
    """Return a bot's probabilities of fold, call and raise heads-up."""
    return bot(name, **settings).action_probs(hand(deck, *actions))[0].tolist()
