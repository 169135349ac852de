"""Kuhn and Leduc poker for any number of seats, as OpenSpiel generalises them."""

from __future__ import annotations

from poker_rl.config.build import build
from poker_rl.config.options import option
from poker_rl.games.poker.limit import Poker

RANKS = "6789TJQK"


def kuhn(seats: int = 2) -> Poker:
    return build({**option("game", "kuhn"), "seats": seats, "ranks": RANKS[-seats - 1 :]}, "game")


def leduc(seats: int = 2) -> Poker:
    return build({**option("game", "leduc"), "seats": seats, "ranks": RANKS[-seats - 1 :]}, "game")


def leduc_8() -> Poker:
    """Leduc with eight ranks: 152,160 leaves, some milliseconds of work for a solver."""
    return build({**option("game", "leduc"), "ranks": RANKS}, "game")


def label(parameter: object) -> str | None:
    """A short name of a game among a test's parameters."""
    return f"{parameter.name}_{parameter.seats}" if isinstance(parameter, Poker) else None
