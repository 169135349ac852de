"""A hand of a session: its state, its views as plain values for page and terminal, and its text.

All randomness (the cards, which players are dealt in, the opponents' actions) derives from the
session's seed and the number of the hand. So no state of a random generator has to be saved: a hand
that is dealt again has the same cards, and the opponents respond in the same way to the same moves.

Views are built for the human player's seat, so hidden cards never leave the server. Only for a
finished hand, its `result`, text and review show all cards.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from poker_rl.config.input_checks import ConfigError
from poker_rl.evaluation.variance_reduction.aivat import compute_luck_adjusted_payoff
from poker_rl.games.displayed_table import DisplayedGame, LegalMove, TableView
from poker_rl.games.hand_history import HandHistory, hand_history_from_record, replay_hand
from poker_rl.games.tables import Tables, tables_from_records
from poker_rl.play.table_setup import TableSetup
from poker_rl.players.player import compute_checked_probs, sample_from_probs

PERSON_INDEX = 0  # player index of the human player; the opponents' indices follow clockwise
# Numbers of the independent random streams for the deck, for the players dealt in, and for actions.
CARD_STREAM, PARTICIPANT_STREAM, ACTION_STREAM = range(3)
KEY_OF_ACTION_TYPE = {"fold": "f", "check": "c", "call": "c", "pass": "p", "bet": "r", "raise": "r"}
# Bet sizes that the keys 1 to 5 select if any amount may be bet.
NUMBERED_BET_SIZES = ["minimum", "half pot", "two thirds of the pot", "pot", "all-in"]


class RequestNotAllowedError(Exception):
    """Error raised if a request is not allowed now; its message is shown to the human player."""


@dataclass(frozen=True)
class MoveStep:
    """Move in a hand, with the state of the table before the move."""

    record: np.ndarray  # state of the table, shape [1]
    seat: int
    move: LegalMove


@dataclass(frozen=True)
class LiveHand:
    """Immutable state of a hand; each move returns a new object."""

    setup: TableSetup
    seed: int  # seed of the session
    hand_number: int  # number of the hand in the session, from 1
    player_of_seat: tuple[int, ...]  # player index of each seat in this hand
    record: np.ndarray  # present state of the table, shape [1]
    steps: tuple[MoveStep, ...] = ()  # the moves so far

    @property
    def is_over(self) -> bool:
        return bool(self.record["over"][0])

    @property
    def to_act(self) -> int:
        return int(self.record["to_act"][0])

    @property
    def person_seat(self) -> int:
        return self.player_of_seat.index(PERSON_INDEX)

    @property
    def history(self) -> HandHistory:
        """The deck and the actions so far, from which the hand can be replayed."""
        actions = tuple(step.move.action for step in self.steps)
        return hand_history_from_record(self.setup.game, self.record[0], actions)

    def to_dict(self) -> dict[str, Any]:
        """Return a finished hand as plain values; they form its line in the session's file."""
        history = self.history
        return {
            "hand": self.hand_number,
            "variant": history.variant,
            "deck": history.deck,
            "player_of_seat": self.player_of_seat,
            "actions": history.actions,
            "won": self.compute_payoffs_by_player(),
            "ev_adjusted": self.compute_luck_adjusted_payoff(),
        }

    def compute_payoffs_by_player(self) -> list[int]:
        """Return the chips won in a finished hand, by player index; 0 for players not dealt in."""
        tables = tables_from_records(self.setup.game, self.record.copy())
        payoffs = dict(zip(self.player_of_seat, tables.payoffs()[0].tolist(), strict=False))
        return [payoffs.get(player_index, 0) for player_index in range(self.setup.game.seats)]

    def compute_luck_adjusted_payoff(self) -> float | None:
        """Return the human player's luck-adjusted payoff in chips; None if AIVAT does not apply."""
        players = [None, *(opponent.player for opponent in self.setup.opponents)]
        players = [players[player_index] for player_index in self.player_of_seat]
        game, seat = self.setup.game, self.person_seat
        try:
            return compute_luck_adjusted_payoff(game, self.history, seat, players)
        except ConfigError:
            return None

    def apply_move(self, move: LegalMove) -> LiveHand:
        """Return the hand after a legal move of the seat to act."""
        tables = tables_from_records(self.setup.game, self.record.copy())
        tables.step(np.array([move.action]))
        step = MoveStep(self.record, self.to_act, move)
        return replace(self, record=tables.records, steps=(*self.steps, step))

    def play_opponents(self) -> LiveHand:
        """Sample the opponents' moves up to the human player's next decision or the hand's end."""
        hand, game = self, self.setup.game
        while not hand.is_over and hand.player_of_seat[hand.to_act] != PERSON_INDEX:
            player = hand.setup.opponents[hand.player_of_seat[hand.to_act] - 1].player
            probs = compute_checked_probs(game, player, hand.record.copy())
            stream = hand.seed, hand.hand_number, ACTION_STREAM, len(hand.steps)
            action = int(sample_from_probs(probs, _create_generator(*stream).random(1))[0])
            hand = hand.apply_move(game.list_moves(hand.record[0], [action])[0])
        return hand


def deal_hand(setup: TableSetup, seed: int, hand_number: int) -> LiveHand:
    """Deal hand `hand_number` of a session; the button moves to the next player with each hand.

    In games with a random number of seats, the opponents who are dealt in are sampled, and the
    human player is always dealt in.
    """
    card_seed = int(_create_generator(seed, hand_number, CARD_STREAM).integers(2**63))
    tables = Tables(setup.game, 1, card_seed)
    tables.deal()
    seat_count = int(tables.count_seats()[0])
    generator = _create_generator(seed, hand_number, PARTICIPANT_STREAM)
    opponents_dealt_in = generator.permutation(setup.game.seats - 1)[: seat_count - 1]
    players_dealt_in = [PERSON_INDEX, *sorted((1 + opponents_dealt_in).tolist())]
    # Seats are numbered clockwise from the left of the button; each hand, players move by a seat.
    player_of_seat = tuple(
        players_dealt_in[(seat + hand_number - 1) % seat_count] for seat in range(seat_count)
    )
    return LiveHand(setup, seed, hand_number, player_of_seat, tables.records)


def rebuild_finished_hand(setup: TableSetup, seed: int, saved_hand: Mapping[str, Any]) -> LiveHand:
    """Replay a hand that `LiveHand.to_dict` saved, and return it with all its moves."""
    deck, actions = tuple(saved_hand["deck"]), tuple(saved_hand["actions"])
    history = HandHistory(deck, actions, saved_hand["variant"])
    records = list(replay_hand(setup.game, history))
    steps = tuple(
        MoveStep(record, int(record["to_act"][0]), setup.game.list_moves(record[0], [action])[0])
        for record, action in zip(records, history.actions, strict=False)
    )
    seats = tuple(saved_hand["player_of_seat"])
    return LiveHand(setup, seed, saved_hand["hand"], seats, records[-1], steps)


def _create_generator(
    seed: int, hand_number: int, stream_index: int, draw_index: int = 0
) -> np.random.Generator:
    """Return the generator of a stream; `draw_index` counts the earlier actions in the hand."""
    stream = np.random.SeedSequence(seed, spawn_key=(hand_number, stream_index, draw_index))
    return np.random.Generator(np.random.PCG64(stream))


def build_hand_view(hand: LiveHand, first_unseen_step: int) -> dict[str, Any]:
    """Return the person's view for JSON; its `events` are the moves from `first_unseen_step` on."""
    game, record = hand.setup.game, hand.record[0]
    bet_range = None if hand.is_over else game.get_bet_range(record)
    result, moves = None, []
    if hand.is_over:
        shown = view_to_dict(game.build_view(record, None))
        result = {
            "won": hand.compute_payoffs_by_player(),
            "shown": shown,
            "outcome": format_person_payoff(hand),
        }
    else:
        moves = moves_to_dicts(game.list_moves(record), bet_range is not None)
    steps: list[dict[str, Any]] = [
        {"seat": step.seat, "label": step.move.label} for step in hand.steps
    ]
    past, events = steps[:first_unseen_step], steps[first_unseen_step:]
    records_after = [*(step.record for step in hand.steps[1:]), hand.record][first_unseen_step:]
    for event, after in zip(events, records_after, strict=False):
        event["table"] = view_to_dict(game.build_view(after[0], hand.person_seat))
    return {
        "hand": hand.hand_number,
        "phase": "over" if hand.is_over else "act",
        "players": players_to_dicts(hand),
        "table": view_to_dict(game.build_view(record, hand.person_seat)),
        "moves": moves,
        "amounts": bet_range
        and {"low": bet_range.min_bet, "high": bet_range.max_bet, "unit_chips": game.unit_chips},
        "past": past,
        "events": events,
        "result": result,
    }


def format_person_payoff(hand: LiveHand) -> str:
    """Return a sentence about the human player's payoff in a finished hand."""
    if not (payoff := hand.compute_payoffs_by_player()[PERSON_INDEX]):
        return "You come out even"
    noun = "point" if hand.setup.game.unit == "point" else "chip"
    verb = "win" if payoff > 0 else "lose"
    return f"You {verb} {abs(payoff):,} {noun}{'s' * (abs(payoff) != 1)}"


def players_to_dicts(hand: LiveHand) -> list[dict[str, Any]]:
    """Return each player's names and seat (None if not dealt in) for JSON, by player index."""
    full_names = ["you", *(one.name for one in hand.setup.opponents)]
    seat_of_player = {player_index: seat for seat, player_index in enumerate(hand.player_of_seat)}
    return [
        {
            "name": name,
            "full_name": full_names[player_index],
            "you": player_index == PERSON_INDEX,
            "seat": seat_of_player.get(player_index),
        }
        for player_index, name in enumerate(hand.setup.player_names)
    ]


def view_to_dict(view: TableView) -> dict[str, Any]:
    """Return a table view as plain values; `dataclasses.asdict` would be much slower."""
    return {**vars(view), "seats": [vars(seat_view) for seat_view in view.seats]}


def moves_to_dicts(moves: Sequence[LegalMove], may_bet_any_amount: bool) -> list[dict[str, Any]]:
    """Return moves as plain values, each with its label and its key on the keyboard.

    Bets of listed sizes have the keys 1, 2, ..., from the smallest size to the largest. If any
    amount may be bet, only the sizes in `NUMBERED_BET_SIZES` have keys.
    """
    sizes = NUMBERED_BET_SIZES
    if not may_bet_any_amount:
        sizes = [move.size_name for move in moves if move.size_name]

    key_of_size = {size: str(number) for number, size in enumerate(sizes, start=1)}

    def get_key(move: LegalMove) -> str:
        return key_of_size.get(move.size_name) or KEY_OF_ACTION_TYPE.get(move.action_type, "")

    return [{**vars(move), "key": get_key(move), "label": move.label} for move in moves]


def find_requested_move(
    game: DisplayedGame, record: np.void, action: int | dict[str, int]
) -> LegalMove:
    """Return the legal move for an action's number, or for a bet or raise `{"to": chips}`.

    Raise RequestNotAllowedError if there is none.
    """
    bet_range = game.get_bet_range(record)
    if isinstance(action, dict) and bet_range is not None:
        low, high, raise_to = bet_range.min_bet, bet_range.max_bet, action.get("to")
        if type(raise_to) is int and low <= raise_to <= high:
            return game.list_moves(record, [bet_range.min_bet_action + raise_to - low])[0]
        raise RequestNotAllowedError(
            f"You may bet or raise to a whole number of chips from {low} to {high}."
        )
    for move in game.list_moves(record):
        if type(action) is int and move.action == action:
            return move
    raise RequestNotAllowedError("That is not one of your moves.")


def format_hand(hand: LiveHand) -> str:
    """Return a finished hand as text: the players' cards, the moves by street, and the payoffs."""
    game, names = hand.setup.game, hand.setup.player_names
    records = [*(step.record for step in hand.steps), hand.record]
    views = [game.build_view(record[0], None) for record in records]
    lines = [f"{game.name}, {game.hand_noun} {hand.hand_number}"]
    for player_index, seat_view in zip(hand.player_of_seat, views[0].seats, strict=True):
        notes = f" ({', '.join(seat_view.notes)})" if seat_view.notes else ""
        lines.append(f"{names[player_index]}{notes}: {' '.join(seat_view.cards)}")
    heading = ""
    for step, view in zip(hand.steps, views, strict=False):
        if view.street and " ".join([view.street, *view.board]) != heading:
            heading = " ".join([view.street, *view.board])
            lines.append(heading)
        lines.append(f"  {names[hand.player_of_seat[step.seat]]}: {step.move.label}")
    if views[-1].street and views[-1].board != views[-2:][0].board:  # cards dealt after an all-in
        lines.append(f"board {' '.join(views[-1].board)}")
    for player_index, chips in enumerate(hand.compute_payoffs_by_player()):
        if chips:
            verb = ("win" if chips > 0 else "lose") + "s" * (player_index != PERSON_INDEX)
            lines.append(f"{names[player_index]} {verb} {abs(chips)}")
    return "\n".join(lines)
