"""Table of a session with its players, and the state of one hand from the deal to the last move.

All randomness (the cards, which players are dealt in, the opponents' actions) derives from the
session's seed and the number of the hand. So no state of a random generator has to be saved, and a
hand that is dealt again has the same cards and the same opponents' actions.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from poker_rl.config.validation import ConfigError
from poker_rl.evaluation.variance_reduction.aivat import compute_luck_adjusted_payoff
from poker_rl.games.hand_history import HandHistory, hand_history_from_record, replay_hand
from poker_rl.games.table_view import DisplayedGame, LegalMove
from poker_rl.games.tables import Tables
from poker_rl.players.action_sampling import sample_from_probs
from poker_rl.players.player import Player, compute_checked_probs

TIMED_RUN_PATTERN = re.compile(r"\d{4}-\d\d-\d\d_\d\d-")  # start time in a run's default name
PERSON_INDEX = 0  # player index of the human player; opponents follow clockwise
# Numbers of the independent random streams for the deck, for the players dealt in, and for actions.
CARD_STREAM, PARTICIPANT_STREAM, ACTION_STREAM = range(3)


@dataclass(frozen=True)
class NamedPlayer:
    """Player and its display name."""

    name: str
    player: Player


@dataclass(frozen=True)
class TableSetup:
    """Game, opponents and adviser of a session.

    Args:
        opponents: one for each seat but the human player's, clockwise from that player's left.
        adviser: the player that gives hints and whose policy grades moves, or None.

    Raises:
        ConfigError: if there are too many or too few opponents, or the game can't be displayed.
    """

    game: DisplayedGame
    opponents: Sequence[NamedPlayer]
    adviser: NamedPlayer | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.game, DisplayedGame):  # a game of a plug-in may have no display
            raise ConfigError(f"game: {self.game.name} has no view to play it by")
        if len(self.opponents) != self.game.seats - 1:
            raise ConfigError(
                f"against: {len(self.opponents)} players for the {self.game.seats - 1} other seats"
                f" of {self.game.name}"
            )

    @cached_property
    def short_names(self) -> dict[str, str]:
        """Return a short display name for each full name of an opponent or the adviser."""
        full_names = [one.name for one in (*self.opponents, self.adviser) if one is not None]
        return shorten_names(full_names)

    def list_player_names(self) -> list[str]:
        """Return the short display names of the players, the human player first.

        Equal names get numbers.
        """
        names = [self.short_names[seated.name] for seated in self.opponents]
        return [
            "you",
            *(
                name if names.count(name) == 1 else f"{name} {names[: i + 1].count(name)}"
                for i, name in enumerate(names)
            ),
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return game, opponents and adviser as plain values.

        They are saved in the session's file, and must be equal when the session is resumed.
        """
        return {
            "game": self.game.to_dict(),
            "against": [seated.name for seated in self.opponents],
            "adviser": self.adviser and self.adviser.name,
        }


def shorten_names(full_names: Sequence[str]) -> dict[str, str]:
    """Return a unique short display name for each full name.

    A trained player is named by its run, or by its algorithm if the run is named by its start time.
    If short names would be equal, the last parts of the full names are used, such as
    `x@300000:average`, or else the full names.
    """

    def name_run(full_name: str) -> str:
        path, separator, player = full_name.rpartition(":")
        if not separator or player == "greedy":  # a bot
            return Path(full_name).stem
        run = Path(path.partition("@")[0])
        return (
            run.parent.name if TIMED_RUN_PATTERN.search(run.name) else run.name.removesuffix(".pt")
        )

    for shorten in (name_run, lambda full_name: Path(full_name).name):
        short_names = {full_name: shorten(full_name) for full_name in full_names}
        if len(set(short_names.values())) == len(short_names):
            return short_names
    return {full_name: full_name for full_name in full_names}


@dataclass(frozen=True)
class MoveStep:
    """Move in a hand, with a record of the table before the move."""

    record: np.ndarray  # shape [1]
    seat: int
    move: LegalMove


@dataclass(frozen=True)
class LiveHand:
    """Immutable state of a hand; each move returns a new one.

    Args:
        hand_number: number of the hand in the session, from 1.
        player_of_seat: player index of each seat in this hand.
        record: the present state of the table, shape [1].
        steps: the moves so far.
    """

    setup: TableSetup
    seed: int
    hand_number: int
    player_of_seat: tuple[int, ...]
    record: np.ndarray
    steps: tuple[MoveStep, ...] = field(default=())

    @property
    def is_over(self) -> bool:
        """Return whether the hand has ended."""
        return bool(self.record["over"][0])

    @property
    def to_act(self) -> int:
        """Return the seat to act."""
        return int(self.record["to_act"][0])

    @property
    def person_seat(self) -> int:
        """Return the human player's seat."""
        return self.player_of_seat.index(PERSON_INDEX)

    @property
    def deck_and_actions(self) -> HandHistory:
        """Return the deck and the actions so far, from which the hand can be replayed."""
        actions = tuple(step.move.action for step in self.steps)
        return hand_history_from_record(self.setup.game, self.record[0], actions)

    def compute_payoffs(self) -> list[int]:
        """Return the chips won in a finished hand, by player index; 0 for players not dealt in."""
        tables = Tables(self.setup.game, 0, 0)
        tables.load_records(self.record.copy())
        payoffs = [0] * self.setup.game.seats
        for player_index, chips in zip(
            self.player_of_seat, tables.payoffs()[0].tolist(), strict=False
        ):
            payoffs[player_index] = chips
        return payoffs

    def compute_luck_adjusted_payoff(self) -> float | None:
        """Return the human player's payoff in chips, adjusted for luck by AIVAT.

        The result is None if AIVAT does not support the game.
        """
        players = [
            None if player_index == PERSON_INDEX else self.setup.opponents[player_index - 1].player
            for player_index in self.player_of_seat
        ]
        try:
            return compute_luck_adjusted_payoff(
                self.setup.game, self.deck_and_actions, self.person_seat, players
            )
        except ConfigError:
            return None

    def play_move(self, move: LegalMove) -> LiveHand:
        """Return the hand after this legal move of the seat to act."""
        tables = Tables(self.setup.game, 0, 0)
        tables.load_records(self.record.copy())
        tables.step(np.array([move.action]))
        step = MoveStep(self.record, self.to_act, move)
        return replace(self, record=tables.records, steps=(*self.steps, step))

    def play_opponent_move(self) -> LiveHand:
        """Return the hand after a move of the opponent to act, sampled from its policy."""
        player = self.setup.opponents[self.player_of_seat[self.to_act] - 1].player
        probs = compute_checked_probs(self.setup.game, player, self.record.copy())
        uniform = _create_generator(
            self.seed, self.hand_number, ACTION_STREAM, len(self.steps)
        ).random(1)
        action = int(sample_from_probs(probs, uniform)[0])
        (move,) = self.setup.game.list_moves(self.record[0], [action])
        return self.play_move(move)

    def play_to_person(self) -> LiveHand:
        """Return the hand after all moves up to the human player's next decision or the end."""
        hand = self
        while not hand.is_over and hand.player_of_seat[hand.to_act] != PERSON_INDEX:
            hand = hand.play_opponent_move()
        return hand


def deal_hand(setup: TableSetup, seed: int, hand_number: int) -> LiveHand:
    """Deal a hand; the button moves to the next player with each hand.

    In games with a random number of seats, the opponents who are dealt in are sampled; the human
    player is always dealt in.
    """
    tables = Tables(
        setup.game, 1, int(_create_generator(seed, hand_number, CARD_STREAM).integers(2**63))
    )
    tables.deal()
    seat_count = int(tables.count_seats()[0])
    opponents_dealt_in = _create_generator(seed, hand_number, PARTICIPANT_STREAM).permutation(
        setup.game.seats - 1
    )[: seat_count - 1]
    players_dealt_in = [PERSON_INDEX, *sorted(1 + int(other) for other in opponents_dealt_in)]
    # Seats are numbered from the button, which moves to the next player with each hand.
    player_of_seat = tuple(
        players_dealt_in[(seat + hand_number - 1) % seat_count] for seat in range(seat_count)
    )
    return LiveHand(setup, seed, hand_number, player_of_seat, tables.records.copy())


def rebuild_hand(
    setup: TableSetup,
    seed: int,
    hand_number: int,
    player_of_seat: Sequence[int],
    history: HandHistory,
) -> LiveHand:
    """Replay a saved hand and return it with all its moves.

    Raises:
        ValueError: if the history does not fit the game.
    """
    records = list(replay_hand(setup.game, history))
    steps = []
    for record, action in zip(records, history.actions, strict=False):
        (move,) = setup.game.list_moves(record[0], [action])
        steps.append(MoveStep(record, int(record["to_act"][0]), move))
    return LiveHand(setup, seed, hand_number, tuple(player_of_seat), records[-1], tuple(steps))


def replay_to_end(setup: TableSetup, history: HandHistory) -> np.ndarray:
    """Return the record of the table at the end of a hand, shape [1].

    Raises:
        ValueError: if the history does not fit the game.
    """
    game = setup.game
    tables = Tables(game, 1, 0)
    tables.deal(decks=np.array([history.deck]), variants=history.variant)
    tables.replay(np.array([history.actions], np.int64), np.array([len(history.actions)]))
    return tables.records


def _create_generator(
    seed: int, hand_number: int, stream_index: int, draw_index: int = 0
) -> np.random.Generator:
    """Return an independent random generator for each hand, random stream and draw."""
    stream = np.random.SeedSequence(seed, spawn_key=(hand_number, stream_index, draw_index))
    return np.random.Generator(np.random.PCG64(stream))
