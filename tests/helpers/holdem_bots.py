"""Bots of hold'em by name, and tables for them."""

import numpy as np
from random_games import deal_tables, game

from poker_rl.config.build import build
from poker_rl.config.option_files import load_option
from poker_rl.games.cards import parse_cards

HEADS_UP = game("limit_holdem")


def cards(text):
    """Return the cards in text such as `AsKd`."""
    return parse_cards(text, "23456789TJQKA", "cdhs")


def bot(name, game=HEADS_UP, **settings):
    """Return the bot of `conf/player/<name>.yaml`, some of whose settings `settings` replace."""
    return build({**load_option("player", name), **settings}, "player", game=game)


def hand(deck, *actions, game=HEADS_UP):
    """Return the record [1] of a table with this deck after these actions."""
    deal = np.array(cards(deck) if isinstance(deck, str) else deck)
    return deal_tables(game, actions=actions, decks=deal[None, : game.cards_dealt]).records


def get_probs(name, deck, *actions, **settings):
    """Return a bot's probabilities of fold, call and raise in heads-up limit hold'em."""
    return bot(name, **settings).action_probs(hand(deck, *actions))[0].tolist()
