"""Format a finished hand as text, for a person to read or to save."""

from __future__ import annotations

from collections.abc import Sequence

from poker_rl.games.table_view import TableView
from poker_rl.play.live_hand import PERSON_INDEX, LiveHand


def format_hand(hand: LiveHand, player_names: Sequence[str]) -> str:
    """Return the cards of each player, the moves by street, and the payoffs, as lines of text.

    Args:
        player_names: display names by player index.
    """
    game = hand.setup.game
    start_record = hand.steps[0].record if hand.steps else hand.record
    start_view, end_view = (
        game.build_view(record[0], None) for record in (start_record, hand.record)
    )
    lines = [f"{game.name}, {game.hand_noun} {hand.hand_number}"]
    for seat, player_index in enumerate(hand.player_of_seat):
        seat_view = start_view.seats[seat]
        notes = f" ({', '.join(seat_view.notes)})" if seat_view.notes else ""
        lines.append(f"{player_names[player_index]}{notes}: {' '.join(seat_view.cards)}")
    heading, board_cards = "", start_view.board
    for step in hand.steps:
        view = game.build_view(step.record[0], None)
        board_cards = view.board
        if view.street and _format_street_heading(view) != heading:
            heading = _format_street_heading(view)
            lines.append(heading)
        lines.append(f"  {player_names[hand.player_of_seat[step.seat]]}: {step.move.label}")
    if end_view.street and end_view.board != board_cards:  # cards dealt after an all-in
        lines.append(f"board {' '.join(end_view.board)}")
    for player_index, chips in enumerate(hand.compute_payoffs()):
        if player_index in hand.player_of_seat and chips:
            verb = "win" if player_index == PERSON_INDEX else "wins"
            verb = verb if chips > 0 else verb.replace("win", "lose")
            lines.append(f"{player_names[player_index]} {verb} {abs(chips)}")
    return "\n".join(lines)


def _format_street_heading(view: TableView) -> str:
    return " ".join([view.street, *view.board])
