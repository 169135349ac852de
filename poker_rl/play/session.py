"""A person's session at a table: hand after hand, kept on the disk, seen as that person may see it.

Nobody who only holds a view can learn from it what is hidden: it is made of scenes, each built for
the person's seat. The session is not safe for several threads at once; who serves it holds a lock.
"""

from __future__ import annotations

import secrets
from dataclasses import asdict
from pathlib import Path
from typing import Any

from poker_rl.evaluation.matches import unit_of
from poker_rl.games.scene import Amounts, Move, Scene
from poker_rl.play.table import YOU, Dealt, Table, deal

MOST_DECISIONS = 1000  # more than a person has in a hand: what a turn's number grows by with a hand
KEYS = {"fold": "f", "check": "c", "call": "c", "pass": "p", "bet": "r", "raise": "r"}
SIZE_KEYS = ("minimum", "half pot", "two thirds of the pot", "pot", "all-in")  # 1 to 5


class Stale(Exception):
    """A request made of an earlier view: what it asks for has happened, or can't any more."""


class NotAllowed(Exception):
    """A request that the table does not allow now, in a sentence. Nothing has changed."""


class Session:
    """One person at one table."""

    def __init__(self, table: Table, seed: int, name: str) -> None:
        self.table, self.name = table, name
        self._seed = seed
        self._scale, self._unit = unit_of(table.game)
        self._names = table.names()
        self._show(deal(table, seed, 1).to_person(), seen=0, decisions=0)

    @classmethod
    def new(cls, table: Table, folder: Path | None = None, seed: int | None = None) -> Session:
        """A session that begins with its first hand."""
        return cls(table, secrets.randbits(60) if seed is None else seed, secrets.token_hex(8))

    def _show(self, hand: Dealt, seen: int, decisions: int) -> None:
        """Take this hand, of whose moves the person has seen the first `seen`."""
        self._hand, self._seen, self._decisions = hand, seen, decisions

    @property
    def turn(self) -> int:
        """A number that no other moment of the session has; it grows."""
        return self._hand.number * MOST_DECISIONS + self._decisions

    def view(self) -> dict[str, Any]:
        """All that the person may know now, as plain values."""
        hand, game = self._hand, self.table.game
        seats = {place: seat for seat, place in enumerate(hand.ring)}
        amounts = None if hand.over else game.amounts(hand.record[0])
        return {
            "session": {
                "id": self.name,
                "game": game.name,
                "unit": self._unit,
                "seats": game.seats,
                "hand_word": game.hand,
                "adviser": self.table.adviser and self.table.adviser.name,
            },
            "turn": self.turn,
            "hand": hand.number,
            "phase": "over" if hand.over else "act",
            "ring": [
                {"name": name, "you": place == YOU, "seat": seats.get(place)}
                for place, name in enumerate(self._names)
            ],
            "scene": asdict(self._scene(hand)),
            "moves": [] if hand.over else [told(move) for move in game.moves(hand.record[0])],
            "amounts": amounts
            and {"low": amounts.low, "high": amounts.high, "unit_chips": game.unit_chips},
            "events": self._events(),
            "result": self._result() if hand.over else None,
        }

    def act(self, turn: int, action: int | dict[str, int]) -> dict[str, Any]:
        """Make a move, or bet or raise any amount by `{"to": chips}`; the view after it.

        Raises:
            Stale: if the view that it was chosen from is not the present one.
            NotAllowed: if the hand is over or the move is illegal.
        """
        self._demand(turn)
        if self._hand.over:
            raise NotAllowed(f"The {self.table.game.hand} is over.")
        move = self._move(action)
        hand = self._hand.after(move).to_person()
        self._show(hand, len(self._hand.steps), self._decisions + 1)
        return self.view()

    def next_hand(self, turn: int) -> dict[str, Any]:
        """Deal the next hand; the view of it.

        Raises:
            Stale: if the view that it was asked from is not the present one.
            NotAllowed: if the present hand is not over.
        """
        self._demand(turn)
        if not self._hand.over:
            raise NotAllowed(f"The {self.table.game.hand} is not over.")
        self._show(deal(self.table, self._seed, self._hand.number + 1).to_person(), 0, 0)
        return self.view()

    def _demand(self, turn: int) -> None:
        if turn != self.turn:
            raise Stale("The table has gone on since.")

    def _move(self, action: int | dict[str, int]) -> Move:
        """The legal move that was asked for."""
        game, record = self.table.game, self._hand.record[0]
        if isinstance(action, dict):
            number = action_of(game.amounts(record), action.get("to"))
        else:
            number = action
        legal = game.moves(record)
        for move in legal:
            if type(number) is int and move.action == number:
                return move
        if isinstance(action, dict):
            (move,) = game.moves(record, [number])
            return move
        raise NotAllowed(
            f"That is not allowed; you may {', '.join(m.label.lower() for m in legal)}."
        )

    def _scene(self, hand: Dealt) -> Scene:
        return self.table.game.scene(hand.record[0], hand.yours)

    def _events(self) -> list[dict[str, Any]]:
        """The moves since the person's last request, each with the table after it."""
        hand = self._hand
        after = [*(step.record for step in hand.steps), hand.record][1:]
        return [
            {
                "seat": step.seat,
                "move": step.move.name,
                "label": step.move.label,
                "scene": asdict(self.table.game.scene(record[0], hand.yours)),
            }
            for step, record in list(zip(hand.steps, after, strict=True))[self._seen :]
        ]

    def _result(self) -> dict[str, Any]:
        won = self._hand.won()
        shown = self.table.game.scene(self._hand.record[0], None)
        return {"won": won, "units": won[YOU] * self._scale, "shown": asdict(shown)}


def told(move: Move) -> dict[str, Any]:
    """A move as plain values, with what its button says and the key that stands for it."""
    size = SIZE_KEYS.index(move.size) + 1 if move.size in SIZE_KEYS else None
    key = KEYS.get(move.kind, "") if size is None else str(size)
    return {**asdict(move), "key": key, "label": move.label}


def action_of(amounts: Amounts | None, to: object) -> int:
    """The action that bets or raises to so many chips.

    Raises:
        NotAllowed: if that is no amount that may be bet.
    """
    if amounts is None:
        raise NotAllowed("You can't choose an amount here.")
    if type(to) is not int or not amounts.low <= to <= amounts.high:
        raise NotAllowed(
            f"You may bet or raise to a whole number of chips from {amounts.low} to {amounts.high}."
        )
    return amounts.action + to - amounts.low
