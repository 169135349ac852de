"""A hand as the person at the table sees it, in plain values for a page or a terminal.

All of it comes from scenes that were built for the person's seat. Only of a hand that is over are
all cards shown, as its `result`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from poker_rl.games.scene import Move, Scene
from poker_rl.play.table import YOU, Dealt

KEYS = {"fold": "f", "check": "c", "call": "c", "pass": "p", "bet": "r", "raise": "r"}
SIZES = ["minimum", "half pot", "two thirds of the pot", "pot", "all-in"]  # keys 1 to 5


def hand_seen(hand: Dealt, since: int, names: Sequence[str]) -> dict[str, Any]:
    """A hand, with the moves that the person has not seen yet, which are those from `since` on.

    Args:
        names: round the table, the person's first.
    """
    game, record = hand.table.game, hand.record[0]
    amounts = None if hand.over else game.amounts(record)
    return {
        "hand": hand.number,
        "phase": "over" if hand.over else "act",
        "ring": ring_seen(hand, names),
        "scene": plain_scene(game.scene(record, hand.yours)),
        "moves": [] if hand.over else moves_seen(game.moves(record), amounts is not None),
        "amounts": amounts
        and {"low": amounts.low, "high": amounts.high, "unit_chips": game.unit_chips},
        "past": [{"seat": step.seat, "label": step.move.label} for step in hand.steps[:since]],
        "events": _events(hand, since),
        "result": _result(hand) if hand.over else None,
    }


def _events(hand: Dealt, since: int) -> list[dict[str, Any]]:
    """Moves, each with the table after it."""
    records = [*(step.record for step in hand.steps), hand.record]
    return [
        {
            "seat": step.seat,
            "move": step.move.name,
            "label": step.move.label,
            "scene": plain_scene(hand.table.game.scene(after[0], hand.yours)),
        }
        for step, after in zip(hand.steps[since:], records[since + 1 :], strict=True)
    ]


def _result(hand: Dealt) -> dict[str, Any]:
    return {"won": hand.won(), "shown": plain_scene(hand.table.game.scene(hand.record[0], None))}


def ring_seen(hand: Dealt, names: Sequence[str]) -> list[dict[str, Any]]:
    """Who sits round the table, the person first, and in which seat; None for who sits out."""
    seats = {place: seat for seat, place in enumerate(hand.ring)}
    return [
        {"name": name, "you": place == YOU, "seat": seats.get(place)}
        for place, name in enumerate(names)
    ]


def plain_scene(scene: Scene) -> dict[str, Any]:
    """A scene as plain values. `dataclasses.asdict` would take a quarter of a whole request."""
    return {**vars(scene), "places": [vars(place) for place in scene.places]}


def moves_seen(moves: Sequence[Move], any_amount: bool) -> list[dict[str, Any]]:
    """Moves as plain values, each with what its button says and the key that stands for it.

    Bets and raises of listed sizes are numbered; where any amount may be bet, each of the usual
    sizes has its own number.
    """
    sizes = SIZES if any_amount else [move.size for move in moves if move.size]
    return [
        {
            **vars(move),
            "key": str(sizes.index(move.size) + 1)
            if move.size in sizes
            else KEYS.get(move.kind, ""),
            "label": move.label,
        }
        for move in moves
    ]
