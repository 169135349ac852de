"""A person's session at a table: hand after hand, kept on the disk, seen as that person may see it.

Nobody who only holds a view can learn from it what is hidden: it is made of scenes, each built for
the person's seat. The session is not safe for several threads at once; who serves it holds a lock.

Each request either changes the session and its file, or neither; but a hand in which a player
fails before the person's turn is in the file, as abandoned. To come back to a session changes
nothing yet: what is dealt then is written down with the first move. A hand that was not finished
when the program ended is not gone on with: it is counted as abandoned and for nothing else, since
its cards would be known, and the next one has cards of its own.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from poker_rl.config.settings import Refused
from poker_rl.evaluation.grid import has_grid
from poker_rl.evaluation.matches import unit_of
from poker_rl.games.game import Game
from poker_rl.games.hand import Hand
from poker_rl.games.poker.phh import demand_phh, phh
from poker_rl.play import advice
from poker_rl.play.journal import Journal
from poker_rl.play.moves import NotAllowed, move_asked
from poker_rl.play.review import reviewed
from poker_rl.play.statistics import Statistics
from poker_rl.play.table import YOU, Dealt, Seated, Table, deal, final, played_again
from poker_rl.play.text import text_of
from poker_rl.play.view import hand_seen, plain_scene, ring_seen

MOST_DECISIONS = 1000  # more than a person has in a hand: what a turn's number grows by with a hand


class Stale(Exception):
    """A request made of an earlier view: what it asks for has happened, or can't any more."""


@dataclass(frozen=True)
class Finished:
    """A hand that was played to its end."""

    hand: Hand
    ring: tuple[int, ...]  # who had each seat
    won: list[int]  # chips by place
    lucky: float | None  # chips that the person won, less what luck gave; None if it isn't known


class Session:
    """One person at one table.

    Args:
        journal: where hands are written down; None: nowhere.
        name: the session's own, which is its file's too.

    Attributes:
        notice: what the person is to be told of the file that the session goes on with, or "".
    """

    def __init__(self, table: Table, seed: int, name: str, journal: Journal | None) -> None:
        self.table, self.name, self.notice = table, name, ""
        self._seed, self._journal = seed, journal
        _, self._unit = unit_of(table.game)
        self._names = table.names()
        self._has_phh = has_phh(table.game)
        self._statistics = Statistics(table.game, self._names)
        self._finished: dict[int, Finished] = {}
        self._dealt = 0  # hands so far, abandoned ones too
        self._unwritten: tuple[dict[str, Any], ...] = ()  # lines that go before the next one

    @classmethod
    def new(cls, table: Table, folder: Path | None = None, seed: int | None = None) -> Session:
        """A session that begins with its first hand.

        Args:
            folder: in which its file is made, named by the session; None: no file.
            seed: of all that chance decides; None: a random one.
        """
        seed = secrets.randbits(60) if seed is None else seed
        name = secrets.token_hex(8)
        journal = None
        if folder is not None:
            head = {"session": name, "seed": seed, "table": table.state()}
            journal = Journal.begun(folder / f"{name}.jsonl", head)
        session = cls(table, seed, name, journal)
        session._deal()
        return session

    @classmethod
    def resumed(cls, file: Path, table: Table) -> Session:
        """The session of a file, at the end of its last finished hand.

        Raises:
            Refused: if the file is no session's, one of another table, or in use.
        """
        journal = Journal(file)
        try:
            session = cls._read_back(journal, table)
        except BaseException:
            journal.close()
            raise
        session._journal = journal
        return session

    @classmethod
    def _read_back(cls, journal: Journal, table: Table) -> Session:
        """The session that a file tells of, which writes nothing down yet."""
        file = journal.path
        lines, torn = journal.read()
        head = lines[0] if lines else {}
        name, seed = head.get("session"), head.get("seed")
        if not isinstance(name, str) or type(seed) is not int or seed < 0:
            raise Refused(f"{file}: the first line is not that of a session")
        ours, theirs = table.state(), head.get("table")
        if theirs != ours:
            theirs = theirs if isinstance(theirs, dict) else {}
            key = next(key for key in ours | theirs if theirs.get(key) != ours.get(key))
            raise Refused(f"{file} is of a table with another {key}; leave {key} out to take it")
        session = cls(table, seed, name, None)
        for number, line in enumerate(lines[1:], 2):
            try:
                session._read(line)
            except (ArithmeticError, LookupError, TypeError, ValueError):
                raise Refused(f"{file}: line {number} is no hand of {table.game.name}") from None
        if torn:
            session.notice = f"The last line of {file} was torn and has been dropped."
        if session._finished:
            last = max(session._finished)
            hand = session._again(last)
            decisions = sum(hand.ring[step.seat] == YOU for step in hand.steps)
            session._show(hand, len(hand.steps), decisions)
        else:
            session._deal()
        return session

    def close(self) -> None:
        """Let others go on with the session; nothing more is done here."""
        if self._journal is not None:
            self._journal.close()

    def _read(self, line: Mapping[str, Any]) -> None:
        """Take a line of the file; raises ValueError and the like if it is none of a session."""
        if "dealt" in line:
            self._dealt = _number(line["dealt"])
            return
        number, ring = _number(line["hand"]), tuple(line["ring"])
        if number in self._finished:
            raise ValueError
        deck, actions = _whole(line["deck"]), _whole(line["actions"])
        hand = Hand(deck, actions, int(line["variant"]))
        record = final(self.table, hand)
        dealt = Dealt(self.table, self._seed, number, ring, record)
        places = set(range(self.table.game.seats))
        at_table = YOU in ring and len(set(ring)) == len(ring) and places.issuperset(ring)
        lucky = None if line["lucky"] is None else float(line["lucky"])
        known = lucky is None or isfinite(lucky)
        if not dealt.over or not at_table or not known or dealt.won() != line["won"]:
            raise ValueError
        self._keep(number, Finished(hand, ring, line["won"], lucky), record)

    def _keep(self, number: int, finished: Finished, record: np.ndarray) -> None:
        self._finished[number] = finished
        self._statistics.add(record, finished.ring, finished.won, finished.lucky)

    def _deal(self) -> None:
        """Deal the next hand and play to the person's first decision."""
        number = self._dealt + 1
        self._write({"dealt": number})
        self._go_on(deal(self.table, self._seed, number).to_person(), 0, 0)
        self._dealt = number

    def _go_on(self, hand: Dealt, seen: int, decisions: int) -> None:
        """Come to this moment of a hand; one that is over is written down before it is shown."""
        if hand.over:
            played = hand.hand
            finished = Finished(played, hand.ring, hand.won(), hand.won_without_luck())
            self._write(
                {
                    "hand": hand.number,
                    "variant": played.variant,
                    "deck": played.deck,
                    "ring": hand.ring,
                    "actions": played.actions,
                    "won": finished.won,
                    "lucky": finished.lucky,
                }
            )
            self._keep(hand.number, finished, hand.record)
        else:
            self._write()
        self._show(hand, seen, decisions)

    def _write(self, *lines: dict[str, Any]) -> None:
        """Add lines to the file, after those that wait for it."""
        lines = (*self._unwritten, *lines)
        if self._journal is not None and lines:
            self._journal.append(*lines)
            lines = ()
        self._unwritten = lines

    def _show(self, hand: Dealt, seen: int, decisions: int) -> None:
        """Take this hand, of whose moves the person has seen the first `seen`."""
        self._hand, self._seen, self._decisions = hand, seen, decisions

    @property
    def turn(self) -> int:
        """A number that no other moment of the session has; it grows."""
        return self._hand.number * MOST_DECISIONS + self._decisions

    def view(self) -> dict[str, Any]:
        """All that the person may know now, as plain values."""
        game, adviser = self.table.game, self.table.adviser
        return {
            "session": {
                "id": self.name,
                "game": game.name,
                "unit": self._unit,
                "seats": game.seats,
                "hand_word": game.hand,
                "adviser": adviser and adviser.name,
                "notice": self.notice,
                "phh": self._has_phh,
                "grid": has_grid(game),
            },
            "turn": self.turn,
            **hand_seen(self._hand, self._seen, self._names),
            "stats": self.stats(),
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
        move = move_asked(self.table.game, self._hand.record[0], action)
        hand = self._hand.after(move).to_person()
        self._go_on(hand, len(self._hand.steps), self._decisions + 1)
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
        self._deal()
        return self.view()

    def hint(self, turn: int) -> dict[str, Any]:
        """What the adviser would do now, as `advice.hint` has it.

        Raises:
            Stale: if the view that it was asked from is not the present one.
            NotAllowed: if the hand is over, or there is no adviser.
        """
        return advice.hint(self.table.game, self._adviser(turn), self._hand.record)

    def grid(self, turn: int) -> dict[str, Any]:
        """What the adviser would do now with every starting hand of hold'em, as `plain` has it.

        Raises:
            Stale: if the view that it was asked from is not the present one.
            NotAllowed: if the hand is over, there is no adviser, or the game is not hold'em.
        """
        return advice.grid(self.table.game, self._adviser(turn), self._hand.record[0])

    def _adviser(self, turn: int) -> Seated:
        """Who is asked for advice on the decision of this view."""
        self._demand(turn)
        if self.table.adviser is None:
            raise NotAllowed("Nobody gives advice at this table.")
        if self._hand.over:
            raise NotAllowed(f"The {self.table.game.hand} is over.")
        return self.table.adviser

    def review(self, number: int) -> dict[str, Any]:
        """A finished hand, decision by decision, with all cards face up and moves graded.

        `before` and `after` are the numbers of the finished hands next to it, or None.

        Raises:
            NotAllowed: if there is no such hand.
        """
        hand = self._again(number)
        return {
            "hand": number,
            "before": max((one for one in self._finished if one < number), default=None),
            "after": min((one for one in self._finished if one > number), default=None),
            "won": hand.won(),
            "ring": ring_seen(hand, self._names),
            "shown": plain_scene(self.table.game.scene(hand.record[0], None)),
            "steps": reviewed(hand),
        }

    def text(self, number: int) -> str:
        """A finished hand as people write one down.

        Raises:
            NotAllowed: if there is no such hand.
        """
        return text_of(self._again(number), self._names)

    def phh(self, number: int) -> str:
        """A finished hand of hold'em as a PHH file, which PokerKit reads.

        Raises:
            NotAllowed: if there is no such hand, or PHH does not have this game.
        """
        hand = self._again(number)
        try:
            return phh(self.table.game, hand.hand, [self._names[place] for place in hand.ring])
        except Refused as error:
            raise NotAllowed(f"{error}.") from None

    def stats(self) -> dict[str, Any]:
        """The session in numbers, as `Statistics.summary` has them."""
        running = not self._hand.over
        return self._statistics.summary(self._dealt - len(self._finished) - running)

    def _again(self, number: int) -> Dealt:
        """A finished hand."""
        if number not in self._finished:
            raise NotAllowed(f"There is no finished {self.table.game.hand} {number}.")
        kept = self._finished[number]
        return played_again(self.table, self._seed, number, kept.ring, kept.hand)

    def _demand(self, turn: int) -> None:
        if turn != self.turn:
            raise Stale("The table has gone on since.")


def _number(value: Any) -> int:
    """Of a hand, or of how many were dealt, as a file has it; ValueError if it is none."""
    if type(value) is not int or value < 1:
        raise ValueError
    return value


def _whole(values: Any) -> tuple[int, ...]:
    """A list of whole numbers, as a file has it; ValueError if it is none."""
    if type(values) is not list or not all(type(value) is int for value in values):
        raise ValueError
    return tuple(values)


def has_phh(game: Game) -> bool:
    """Whether its hands can be written as PHH."""
    try:
        demand_phh(game)
    except Refused:
        return False
    return True
