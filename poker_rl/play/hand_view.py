"""Convert a hand to plain values for the page and the terminal.

A table view is the table as one seat sees it. All views are built for the human player's seat, so
hidden cards never leave the server; only the `result` of a finished hand shows all cards.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from poker_rl.games.table_view import LegalMove, TableView
from poker_rl.play.live_hand import PERSON_INDEX, LiveHand

KEY_OF_ACTION_TYPE = {"fold": "f", "check": "c", "call": "c", "pass": "p", "bet": "r", "raise": "r"}
# Bet sizes that the keys 1 to 5 select if any amount may be bet.
NUMBERED_BET_SIZES = ["minimum", "half pot", "two thirds of the pot", "pot", "all-in"]


def hand_to_dict(
    hand: LiveHand, first_unseen_step: int, player_names: Sequence[str]
) -> dict[str, Any]:
    """Return the hand as plain values, as its human player sees it.

    Args:
        first_unseen_step: index of the first move that the human player has not seen yet.
        player_names: display names by player index.
    """
    game, record = hand.setup.game, hand.record[0]
    bet_range = None if hand.is_over else game.get_bet_range(record)
    return {
        "hand": hand.hand_number,
        "phase": "over" if hand.is_over else "act",
        "players": players_to_dicts(hand, player_names),
        "table": view_to_dict(game.build_view(record, hand.person_seat)),
        "moves": []
        if hand.is_over
        else moves_to_dicts(game.list_moves(record), bet_range is not None),
        "amounts": bet_range
        and {"low": bet_range.min_bet, "high": bet_range.max_bet, "unit_chips": game.unit_chips},
        "past": [
            {"seat": step.seat, "label": step.move.label} for step in hand.steps[:first_unseen_step]
        ],
        "events": _list_events(hand, first_unseen_step),
        "result": _result_to_dict(hand) if hand.is_over else None,
    }


def _list_events(hand: LiveHand, first_unseen_step: int) -> list[dict[str, Any]]:
    """Return the unseen moves, each with the table after it."""
    records = [*(step.record for step in hand.steps), hand.record]
    return [
        {
            "seat": step.seat,
            "move": step.move.name,
            "label": step.move.label,
            "table": view_to_dict(hand.setup.game.build_view(record_after[0], hand.person_seat)),
        }
        for step, record_after in zip(
            hand.steps[first_unseen_step:], records[first_unseen_step + 1 :], strict=True
        )
    ]


def _result_to_dict(hand: LiveHand) -> dict[str, Any]:
    return {
        "won": hand.compute_payoffs(),
        "shown": view_to_dict(hand.setup.game.build_view(hand.record[0], None)),
    }


def players_to_dicts(hand: LiveHand, player_names: Sequence[str]) -> list[dict[str, Any]]:
    """Return the players' names and seats as plain values, clockwise from the human player.

    The seat is None if the player is not dealt in.
    """
    seat_of_player = {player_index: seat for seat, player_index in enumerate(hand.player_of_seat)}
    return [
        {
            "name": name,
            "full_name": "you"
            if player_index == PERSON_INDEX
            else hand.setup.opponents[player_index - 1].name,
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
    return [
        {
            **vars(move),
            "key": str(sizes.index(move.size_name) + 1)
            if move.size_name in sizes
            else KEY_OF_ACTION_TYPE.get(move.action_type, ""),
            "label": move.label,
        }
        for move in moves
    ]
