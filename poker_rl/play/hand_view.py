"""Convert a hand to plain values for the page and the terminal, or to text; find requested moves.

All views are built for the human player's seat, so hidden cards never leave the server; only the
`result` of a finished hand, and its text, show all cards.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from poker_rl.games.table_view import DisplayedGame, LegalMove, TableView
from poker_rl.play.live_hand import PERSON_INDEX, LiveHand, MoveStep

KEY_OF_ACTION_TYPE = {"fold": "f", "check": "c", "call": "c", "pass": "p", "bet": "r", "raise": "r"}
# Bet sizes that the keys 1 to 5 select if any amount may be bet.
NUMBERED_BET_SIZES = ["minimum", "half pot", "two thirds of the pot", "pot", "all-in"]


class MoveNotAllowedError(Exception):
    """Error raised if a request is not allowed now; its message is a sentence for the person."""


def hand_to_dict(
    hand: LiveHand, first_unseen_step: int, player_names: Sequence[str]
) -> dict[str, Any]:
    """Return the hand as plain values, as its human player sees it.

    `first_unseen_step` is the index of the first move that the player has not seen yet.
    """
    game, record = hand.setup.game, hand.record[0]
    moves = [] if hand.is_over else game.list_moves(record)
    bet_range = None if hand.is_over else game.get_bet_range(record)
    records_after = [*(step.record for step in hand.steps[1:]), hand.record]

    def step_to_event(step: MoveStep, record_after: np.ndarray) -> dict[str, Any]:
        table = view_to_dict(game.build_view(record_after[0], hand.person_seat))
        return {"seat": step.seat, "label": step.move.label, "table": table}

    result = None
    if hand.is_over:
        shown = view_to_dict(game.build_view(record, None))
        result = {"won": hand.compute_payoffs(), "shown": shown}
    return {
        "hand": hand.hand_number,
        "phase": "over" if hand.is_over else "act",
        "players": players_to_dicts(hand, player_names),
        "table": view_to_dict(game.build_view(record, hand.person_seat)),
        "moves": moves_to_dicts(moves, bet_range is not None),
        "amounts": bet_range
        and {"low": bet_range.min_bet, "high": bet_range.max_bet, "unit_chips": game.unit_chips},
        "past": [
            {"seat": step.seat, "label": step.move.label} for step in hand.steps[:first_unseen_step]
        ],
        "events": [
            step_to_event(step, record_after)
            for step, record_after in list(zip(hand.steps, records_after, strict=False))[
                first_unseen_step:
            ]
        ],
        "result": result,
    }


def players_to_dicts(hand: LiveHand, player_names: Sequence[str]) -> list[dict[str, Any]]:
    """Return the players' names and seats as plain values, clockwise from the human player.

    The seat is None if the player is not dealt in.
    """
    full_names = ["you", *(one.name for one in hand.setup.opponents)]
    seat_of_player = {player_index: seat for seat, player_index in enumerate(hand.player_of_seat)}
    return [
        {
            "name": name,
            "full_name": full_names[player_index],
            "you": player_index == PERSON_INDEX,
            "seat": seat_of_player.get(player_index),
        }
        for player_index, name in enumerate(player_names)
    ]


def view_to_dict(view: TableView) -> dict[str, Any]:
    """Return a table view as plain values; `dataclasses.asdict` would be much slower."""
    return {**vars(view), "seats": [vars(seat_view) for seat_view in view.seats]}


def moves_to_dicts(moves: Sequence[LegalMove], any_amount: bool) -> list[dict[str, Any]]:
    """Return moves as plain values, each with its label and its key on the keyboard.

    Bets have the keys 1, 2, ... from the smallest size to the largest. If any amount may be bet,
    the keys select the sizes in `NUMBERED_BET_SIZES`.
    """
    sizes = (
        NUMBERED_BET_SIZES if any_amount else [move.size_name for move in moves if move.size_name]
    )

    def get_key(move: LegalMove) -> str:
        if move.size_name in sizes:
            return str(sizes.index(move.size_name) + 1)
        return KEY_OF_ACTION_TYPE.get(move.action_type, "")

    return [{**vars(move), "key": get_key(move), "label": move.label} for move in moves]


def find_requested_move(
    game: DisplayedGame, record: np.void, action: int | dict[str, int]
) -> LegalMove:
    """Return the legal move that is named by an action number, or by the bet `{"to": chips}`."""
    bet_range = game.get_bet_range(record)
    if isinstance(action, dict) and bet_range is not None:
        low, high, raise_to = bet_range.min_bet, bet_range.max_bet, action.get("to")
        if type(raise_to) is int and low <= raise_to <= high:
            return game.list_moves(record, [bet_range.min_bet_action + raise_to - low])[0]
        raise MoveNotAllowedError(
            f"You may bet or raise to a whole number of chips from {low} to {high}."
        )
    for move in game.list_moves(record):
        if type(action) is int and move.action == action:
            return move
    raise MoveNotAllowedError("That is not one of your moves.")


def format_hand(hand: LiveHand, player_names: Sequence[str]) -> str:
    """Return the cards of each player, the moves by street, and the payoffs of a finished hand."""
    game = hand.setup.game
    records = [*(step.record for step in hand.steps), hand.record]
    views = [game.build_view(record[0], None) for record in records]
    lines = [f"{game.name}, {game.hand_noun} {hand.hand_number}"]
    for player_index, seat_view in zip(hand.player_of_seat, views[0].seats, strict=True):
        notes = f" ({', '.join(seat_view.notes)})" if seat_view.notes else ""
        lines.append(f"{player_names[player_index]}{notes}: {' '.join(seat_view.cards)}")
    heading = ""
    for step, view in zip(hand.steps, views, strict=False):
        if view.street and " ".join([view.street, *view.board]) != heading:
            heading = " ".join([view.street, *view.board])
            lines.append(heading)
        lines.append(f"  {player_names[hand.player_of_seat[step.seat]]}: {step.move.label}")
    if views[-1].street and views[-1].board != views[-2:][0].board:  # cards dealt after an all-in
        lines.append(f"board {' '.join(views[-1].board)}")
    for player_index, chips in enumerate(hand.compute_payoffs()):
        if player_index in hand.player_of_seat and chips:
            verb = "win" if player_index == PERSON_INDEX else "wins"
            verb = verb if chips > 0 else verb.replace("win", "lose")
            lines.append(f"{player_names[player_index]} {verb} {abs(chips)}")
    return "\n".join(lines)
