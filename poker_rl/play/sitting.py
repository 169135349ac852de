"""What a person at a terminal sees of a session, and what each key does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from poker_rl.play import screen
from poker_rl.play.moves import NotAllowed
from poker_rl.play.session import Session

LABELS = "1234567890abdegijklmnotuwxyz"  # keys of own cards: none of these does anything else
DIGITS = 9  # at most in an amount

HELP = (
    ("F, C, R", "fold; check or call; bet or raise"),
    ("1 to 5", "the smallest bet or raise, half the pot, two thirds, the pot, all-in; then R"),
    ("", "where the game lists its sizes: the first, the second, …"),
    ("R", "where there is a choice of amounts: type one, then Enter; Escape puts it away"),
    ("arrows", "change the amount by a unit, with Shift by a chip; of cards, the next legal play"),
    ("P", "pass"),
    ("1, 2, …", "choose the card above that key, or put it back; Enter plays the chosen cards"),
    ("H", "what the adviser would do here; of cards, each further H chooses its next best play"),
    ("Space", "the next hand"),
    ("V", "after the hand: replay it by the arrows, with everybody's cards and chances"),
    ("S", "the session in numbers"),
    ("Escape", "back to the table"),
    ("Q", "leave; finished hands are kept"),
)


class Sitting:
    """What a person at a terminal sees, and has begun to do.

    Attributes:
        message: a sentence on what was done last, or "".
        refused: whether that could not be done.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._see(session.view())
        self.message, self.refused = session.notice, False

    def _see(self, view: dict[str, Any]) -> None:
        """Go on with a new view."""
        self._view, self.message = view, ""
        self._over = view["phase"] == "over"
        self._steps = self._session.review(view["hand"])["steps"] if self._over else []
        self._at = 0  # the decision of a finished hand that is shown
        self._bets = [move for move in view["moves"] if move["to"] is not None]
        self._plays = [move for move in view["moves"] if move["cards"]]
        self._picked: list[str] = []  # own cards
        self._hint: dict[str, Any] | None = None
        self._amount: int | None = None
        self._typed: str | None = None
        self._leaving = False
        self._screen: Callable[[int, int], list[RenderableType]] = self._table

    @property
    def turn(self) -> int:
        """The moment of the session that is shown."""
        return int(self._view["turn"])

    # What there is to see.

    def drawn(self, width: int, bars: int) -> RenderableType:
        """All of the screen, with so many bars of chances at the most."""
        parts = [screen.heading(self._view, width), Text(), *self._screen(width, bars), Text()]
        if self.message:
            parts.append(Text(self.message, "bold"))
        return Group(*parts, self._foot(width))

    def _table(self, width: int, bars: int) -> list[RenderableType]:
        view = self._view
        scene = view["result"]["shown"] if self._over else view["scene"]
        won = view["result"]["won"] if self._over else None
        parts: list[RenderableType] = [
            screen.middle(scene),
            screen.seats(view, scene, scene["to_act"], won, fanned=not self._over),
            Text(),
        ]
        own = self._own()
        if len(own) > screen.FEW and not self._over:
            parts += [screen.fan(own, LABELS[: len(own)], self._picked, width), Text()]
        elif view["scene"]["words"]:
            parts.append(Text(f"Your hand: {view['scene']['words']}"))
        if view["events"]:
            parts += [screen.log(view, width), Text()]
        if self._over:
            return [*parts, screen.outcome(view), screen.grades(view, self._steps, width)]
        if self._hint is not None:
            whose = f"{self._hint['adviser']} would"
            parts.append(screen.bars(whose, self._hint["chances"], bars))
            if self._hint["value"] is not None:
                parts.append(screen.expected(self._hint, view))
            parts.append(Text())
        return [*parts, screen.packed(self._choices(), width)]

    def _choices(self) -> list[Text]:
        """The moves, each with its key."""
        others = [m for m in self._view["moves"] if not m["cards"] and m["to"] is None]
        items = [screen.key(move["key"].upper(), move["label"]) for move in others]
        if self._plays:
            played = self._chosen()
            label = "No legal play" if self._picked else "Choose cards"
            items.append(screen.key("Enter", screen.pretty(played["label"]) if played else label))
        if self._bets:
            verb = f"{self._bets[0]['kind'].capitalize()} to"
            if self._typed is not None:
                items.append(screen.key("Enter", f"{verb} {self._typed or self._least()}_"))
            elif self._one_bet():
                items.append(screen.key("R", self._bets[0]["label"]))
            else:
                items.append(screen.key("R", f"{verb} {self._amount or '…'}"))
            if not self._one_bet():
                items += [screen.key(m["key"], f"{m['size']} {m['to']}") for m in self._bets]
        return items

    def _foot(self, width: int) -> Text:
        items = [("Space", f"next {self._view['session']['hand_word']}")] * self._over
        items += [("← →", "step")] * (self._screen == self._replay)
        items += [("V", "replay")] if self._over else [("H", "hint")]
        items += [("S", "session"), ("?", "help"), ("Q", "leave")]
        return screen.packed((screen.key(*item) for item in items), width)

    def _replay(self, width: int, bars: int) -> list[RenderableType]:
        return screen.judged(self._view, self._steps, self._at, bars)

    def _statistics(self, width: int, bars: int) -> list[RenderableType]:
        return screen.statistics(self._view, width)

    def _help(self, width: int, bars: int) -> list[RenderableType]:
        return [screen.explained(HELP)]

    # What there is to do.

    def press(self, key: str) -> bool:
        """Take a key; whether the person stays."""
        if key == "resize":
            return True
        leaving, self._leaving, self.message = self._leaving, False, ""
        self.refused = False
        if key == "leave" or (key == "q" and (leaving or self._over)):
            return False
        try:
            self._take(key)
        except NotAllowed as error:
            self.message, self.refused = str(error), True
        return True

    def wants_enter(self, key: str) -> bool:
        """Whether Enter is still to come after this key: an amount or cards have been typed."""
        return self._typed is not None or (bool(self._plays) and key in LABELS)

    def put_away(self) -> None:
        """Forget the amount that was set or typed and the cards that were chosen."""
        self._amount, self._typed, self._picked = None, None, []

    def _take(self, key: str) -> None:
        screens = {"s": self._statistics, "?": self._help, "v": self._replay}
        step = {"left": -1, "down": -1, "right": 1, "up": 1}.get(key.removeprefix("shift "))
        if key == "q":
            self._leaving = True
            self.message = "Q once more leaves; this hand then counts for nothing."
        elif self._typed is not None and (key.isdecimal() or key == "backspace"):
            self._type(key)
        elif key in screens and (key != "v" or self._over):
            self._screen = self._table if self._screen == screens[key] else screens[key]
        elif self._over and key in ("space", "enter"):
            self._see(self._session.next_hand(self.turn))
        elif step is not None and self._screen == self._replay:
            self._at = min(max(self._at + step, 0), len(self._steps) - 1)
        elif self._screen != self._table:
            self._screen = self._table
        elif key == "escape":
            self.put_away()
        elif step is not None:
            self._shift(step, key.startswith("shift"))
        else:
            self._move(key)

    def _move(self, key: str) -> None:
        """Keys at the table: moves, cards and amounts."""
        own = self._own() if self._plays else []
        sized = next((move for move in self._bets if move["key"] == key), None)
        simple = [m for m in self._view["moves"] if not m["cards"] and m["to"] is None]
        plain = next((move for move in simple if move["key"] == key), None)
        if key == "h":
            self._advise()
        elif plain is not None:
            self._act(plain["action"])
        elif key in LABELS[: len(own)]:
            card = own[LABELS.index(key)]
            (self._picked.remove if card in self._picked else self._picked.append)(card)
        elif key == "enter" and self._plays:
            self._play()
        elif self._bets and (key == "r" or (key == "enter" and self._is_set())):
            self._bet()
        elif sized is not None:
            self._amount = sized["to"]
        elif key.isdecimal() and self._bets:
            raise NotAllowed("Press R before an amount.")
        elif key not in ("enter", "space"):
            raise NotAllowed(f"{key.capitalize()} does nothing here; ? tells what keys do.")

    def _act(self, action: int | dict[str, int]) -> None:
        self._see(self._session.act(self.turn, action))

    def _advise(self) -> None:
        """Ask for a hint; of moves made of cards, choose the next best."""
        if self._hint is not None:
            return self._shift(1)
        self._hint = self._session.hint(self.turn)
        chance = {one["move"]: one["chance"] for one in self._hint["chances"]}
        self._plays.sort(key=lambda move: -chance.get(move["name"], 0))
        self._picked = list(self._plays[0]["cards"]) if self._plays else []

    def _own(self) -> list[str]:
        seat = self._view["ring"][0]["seat"]
        return list(self._view["scene"]["places"][seat]["cards"])

    def _chosen(self) -> dict[str, Any] | None:
        """The legal play of the chosen cards."""
        plays = (move for move in self._plays if sorted(move["cards"]) == sorted(self._picked))
        return next(plays, None)

    def _play(self) -> None:
        played = self._chosen()
        if played is None:
            raise NotAllowed("These cards are no legal play; H shows those that are.")
        self._act(played["action"])

    # Amounts.

    def _least(self) -> int:
        return int(min(move["to"] for move in self._bets))

    def _one_bet(self) -> bool:
        amounts = self._view["amounts"]
        return len(self._bets) == 1 and (not amounts or amounts["low"] == amounts["high"])

    def _is_set(self) -> bool:
        return self._amount is not None or self._typed is not None

    def _type(self, key: str) -> None:
        so_far = self._typed or ""
        self._typed = so_far[:-1] if key == "backspace" else (so_far + key)[:DIGITS]

    def _shift(self, step: int, fine: bool = False) -> None:
        """Go on to another amount, or to another play of cards."""
        if self._plays:
            played = self._chosen()
            at = self._plays.index(played) + step if played else 0
            self._picked = list(self._plays[at % len(self._plays)]["cards"])
        elif self._bets and not self._one_bet():
            now = int(self._typed or self._amount or self._least())
            amounts, self._typed = self._view["amounts"], None
            if amounts:
                moved = now + step * (1 if fine else amounts["unit_chips"])
                self._amount = min(max(moved, amounts["low"]), amounts["high"])
            else:
                listed = sorted(move["to"] for move in self._bets)
                beyond = [to for to in listed[::step] if (to - now) * step > 0]
                self._amount = beyond[0] if beyond else listed[::step][-1]

    def _bet(self) -> None:
        """Bet or raise to the amount that is set, or ask for one where there is a choice."""
        if not self._is_set() and not self._one_bet():
            self._typed = ""
            return
        to = int(self._typed or self._amount or self._least())
        listed = {move["to"]: move["action"] for move in self._bets}
        if self._view["amounts"]:
            self._act({"to": to})
        elif to in listed:
            self._act(listed[to])
        else:
            allowed = ", ".join(map(str, sorted(listed)))
            raise NotAllowed(f"You may bet or raise to {allowed}.")
