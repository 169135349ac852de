"""State of one hand in a session, from the deal to the last move.

All randomness (the cards, which players are dealt in, the opponents' actions) derives from the
session's seed and the number of the hand. So no state of a random generator has to be saved, and a
hand that is dealt again has the same cards and the same opponents' actions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from poker_rl.config.validation import ConfigError
from poker_rl.evaluation.variance_reduction.aivat import compute_luck_adjusted_payoff
from poker_rl.games.hand_history import HandHistory, hand_history_from_record, replay_hand
from poker_rl.games.table_view import LegalMove
from poker_rl.games.tables import Tables, tables_from_records
from poker_rl.play.table_setup import TableSetup
from poker_rl.players.player import compute_checked_probs, sample_from_probs

PERSON_INDEX = 0  # player index of the human player; opponents follow clockwise
# Numbers of the independent random streams for the deck, for the players dealt in, and for actions.
CARD_STREAM, PARTICIPANT_STREAM, ACTION_STREAM = range(3)


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
    steps: tuple[MoveStep, ...] = ()

    @property
    def is_over(self) -> bool:
        """Return whether the hand has ended."""
        return bool(self.record["over"][0])

    @property
    def to_act(self) -> int:
        """The seat to act."""
        return int(self.record["to_act"][0])

    @property
    def person_seat(self) -> int:
        """The human player's seat."""
        return self.player_of_seat.index(PERSON_INDEX)

    @property
    def deck_and_actions(self) -> HandHistory:
        """The deck and the actions so far, from which the hand can be replayed."""
        actions = tuple(step.move.action for step in self.steps)
        return hand_history_from_record(self.setup.game, self.record[0], actions)

    def compute_payoffs(self) -> list[int]:
        """Return the chips won in a finished hand, by player index; 0 for players not dealt in."""
        tables = tables_from_records(self.setup.game, self.record.copy())
        payoffs = [0] * self.setup.game.seats
        for player_index, chips in zip(self.player_of_seat, tables.payoffs()[0], strict=False):
            payoffs[player_index] = int(chips)
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
        tables = tables_from_records(self.setup.game, self.record.copy())
        tables.step(np.array([move.action]))
        step = MoveStep(self.record, self.to_act, move)
        return replace(self, record=tables.records, steps=(*self.steps, step))

    def play_to_person(self) -> LiveHand:
        """Return the hand after all moves up to the human player's next decision or the end.

        The opponents' moves are sampled from their policies.
        """
        hand, game = self, self.setup.game
        while not hand.is_over and hand.player_of_seat[hand.to_act] != PERSON_INDEX:
            player = hand.setup.opponents[hand.player_of_seat[hand.to_act] - 1].player
            probs = compute_checked_probs(game, player, hand.record.copy())
            generator = _create_generator(
                hand.seed, hand.hand_number, ACTION_STREAM, len(hand.steps)
            )
            action = int(sample_from_probs(probs, generator.random(1))[0])
            hand = hand.play_move(game.list_moves(hand.record[0], [action])[0])
        return hand


def deal_hand(setup: TableSetup, seed: int, hand_number: int) -> LiveHand:
    """Deal a hand; the button moves to the next player with each hand.

    In games with a random number of seats, the opponents who are dealt in are sampled; the human
    player is always dealt in.
    """
    card_seed = int(_create_generator(seed, hand_number, CARD_STREAM).integers(2**63))
    tables = Tables(setup.game, 1, card_seed)
    tables.deal()
    seat_count = int(tables.count_seats()[0])
    generator = _create_generator(seed, hand_number, PARTICIPANT_STREAM)
    opponents_dealt_in = generator.permutation(setup.game.seats - 1)[: seat_count - 1]
    players_dealt_in = [PERSON_INDEX, *sorted((1 + opponents_dealt_in).tolist())]
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
    """Replay a saved hand and return it with all its moves."""
    records = list(replay_hand(setup.game, history))
    steps = [
        MoveStep(record, int(record["to_act"][0]), setup.game.list_moves(record[0], [action])[0])
        for record, action in zip(records, history.actions, strict=False)
    ]
    return LiveHand(setup, seed, hand_number, tuple(player_of_seat), records[-1], tuple(steps))


def _create_generator(
    seed: int, hand_number: int, stream_index: int, draw_index: int = 0
) -> np.random.Generator:
    """Return an independent random generator for each hand, random stream and draw."""
    stream = np.random.SeedSequence(seed, spawn_key=(hand_number, stream_index, draw_index))
    return np.random.Generator(np.random.PCG64(stream))
