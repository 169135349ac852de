"""The table that a person sits at, and one hand at it as far as it has gone.

All that chance decides follows from the session's seed and the number of the hand: the cards, who
takes part, and the number that each action of a player is drawn by. So a hand needs no generators
that would have to be kept, and one that could not be written down is played the same again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from poker_rl.config.settings import Refused
from poker_rl.evaluation.luck import adjusted
from poker_rl.games.game import Game
from poker_rl.games.hand import Hand, hand_of, replay
from poker_rl.games.scene import Move
from poker_rl.games.tables import Tables
from poker_rl.players.player import Player, policy_at
from poker_rl.players.sampling import draw

YOU = 0  # the person's place in the ring
CARDS, WHO, ACTIONS = range(3)  # what chance decides, each by a stream of its own


@dataclass(frozen=True)
class Seated:
    """A player and what it is called."""

    name: str
    player: Player


@dataclass(frozen=True)
class Table:
    """Who plays what.

    Args:
        opponents: round the table from the person's left, one for each other seat of the game.
        adviser: who is asked for hints and grades the person's moves; None: nobody.

    Raises:
        Refused: if there are not as many opponents as other seats, or nobody can see the game.
    """

    game: Game
    opponents: Sequence[Seated]
    adviser: Seated | None = None

    def __post_init__(self) -> None:
        if not hasattr(self.game, "scene"):  # one of a plug-in for learners alone
            raise Refused(f"game: {self.game.name} has no `scene` to show a person")
        if len(self.opponents) != self.game.seats - 1:
            raise Refused(
                f"against: {len(self.opponents)} players for the {self.game.seats - 1} other seats"
                f" of {self.game.name}"
            )

    def names(self) -> list[str]:
        """Of the ring, the person's first; players of the same name are numbered."""
        names = [seated.name for seated in self.opponents]
        return [
            "you",
            *(
                name if names.count(name) == 1 else f"{name} {names[: i + 1].count(name)}"
                for i, name in enumerate(names)
            ),
        ]

    def state(self) -> dict[str, Any]:
        """What a resumed session has to have the same: plain values."""
        return {
            "game": self.game.state(),
            "against": [seated.name for seated in self.opponents],
            "adviser": self.adviser and self.adviser.name,
        }


@dataclass(frozen=True)
class Step:
    """A move that was made, and the table before it."""

    record: np.ndarray  # [1]
    seat: int
    move: Move


@dataclass(frozen=True)
class Dealt:
    """A hand from its deal on; each move makes a new one of these.

    Args:
        number: of the hand, from 1.
        ring: who sits in each seat, as a place in the ring.
        record: the table as it is now, [1].
    """

    table: Table
    seed: int
    number: int
    ring: tuple[int, ...]
    record: np.ndarray
    steps: tuple[Step, ...] = field(default=())

    @property
    def over(self) -> bool:
        """Whether the hand has ended."""
        return bool(self.record["over"][0])

    @property
    def to_act(self) -> int:
        """The seat whose turn it is."""
        return int(self.record["to_act"][0])

    @property
    def yours(self) -> int:
        """The person's seat."""
        return self.ring.index(YOU)

    @property
    def hand(self) -> Hand:
        """Its cards and actions."""
        actions = tuple(step.move.action for step in self.steps)
        return hand_of(self.table.game, self.record[0], actions)

    def won(self) -> list[int]:
        """Chips won by each place of the ring in a finished hand; 0 by one that sat out."""
        tables = Tables(self.table.game, 0, 0)
        tables.use(self.record.copy())
        won = [0] * self.table.game.seats
        for place, chips in zip(self.ring, tables.payoffs()[0].tolist(), strict=False):
            won[place] = chips
        return won

    def won_without_luck(self) -> float | None:
        """Chips that the person won in a finished hand, less what luck gave; None but in poker."""
        players = [
            None if place == YOU else self.table.opponents[place - 1].player for place in self.ring
        ]
        try:
            return adjusted(self.table.game, self.hand, self.yours, players)
        except Refused:
            return None

    def after(self, move: Move) -> Dealt:
        """The hand after a legal move of the seat to act."""
        tables = Tables(self.table.game, 0, 0)
        tables.use(self.record.copy())
        tables.step(np.array([move.action]))
        step = Step(self.record, self.to_act, move)
        return replace(self, record=tables.records, steps=(*self.steps, step))

    def player_moves(self) -> Dealt:
        """The hand after the move of the player whose turn it is."""
        player = self.table.opponents[self.ring[self.to_act] - 1].player
        chances = policy_at(self.table.game, player, self.record.copy())
        uniform = _generator(self.seed, self.number, ACTIONS, len(self.steps)).random(1)
        action = int(draw(chances, uniform)[0])
        (move,) = self.table.game.moves(self.record[0], [action])
        return self.after(move)

    def to_person(self) -> Dealt:
        """The hand played on to the person's next decision or to its end."""
        hand = self
        while not hand.over and hand.ring[hand.to_act] != YOU:
            hand = hand.player_moves()
        return hand


def deal(table: Table, seed: int, number: int) -> Dealt:
    """Deal a hand. The button moves on from hand to hand.

    Where the number of seats is drawn, the person always takes part, and which of the others do is
    drawn too.
    """
    tables = Tables(table.game, 1, int(_generator(seed, number, CARDS).integers(2**63)))
    tables.deal()
    seats = int(tables.definitions()["seats"][0])
    others = _generator(seed, number, WHO).permutation(table.game.seats - 1)[: seats - 1]
    present = [YOU, *sorted(1 + int(other) for other in others)]
    # The place after the button's gets it next, so that everybody's seat goes down by one.
    ring = tuple(present[(seat + number - 1) % seats] for seat in range(seats))
    return Dealt(table, seed, number, ring, tables.records.copy())


def played_again(table: Table, seed: int, number: int, ring: Sequence[int], hand: Hand) -> Dealt:
    """A hand that was written down.

    Raises:
        ValueError: if it is none of this game.
    """
    before = list(replay(table.game, hand))
    steps = []
    for record, action in zip(before, hand.actions, strict=False):
        (move,) = table.game.moves(record[0], [action])
        steps.append(Step(record, int(record["to_act"][0]), move))
    return Dealt(table, seed, number, tuple(ring), before[-1], tuple(steps))


def final(table: Table, hand: Hand) -> np.ndarray:
    """The table [1] that a hand ends with.

    Raises:
        ValueError: if it is none of the game.
    """
    game = table.game
    fresh = Tables(game, 1, 0)
    fresh.deal(decks=np.array([hand.deck]), variants=hand.variant)
    fresh.replay(np.array([hand.actions], np.int64), np.array([len(hand.actions)]))
    return fresh.records


def _generator(seed: int, number: int, what: int, place: int = 0) -> np.random.Generator:
    """Of one thing that chance decides in one hand."""
    stream = np.random.SeedSequence(seed, spawn_key=(number, what, place))
    return np.random.Generator(np.random.PCG64(stream))
