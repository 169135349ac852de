"""Range explorer: players' policies with every starting hand after any sequence of actions.

The explorer opens at the position of the person's present hand. It replays actions on a table with
an unshuffled deck, and uses the board cards in the request, so nothing depends on hidden cards.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from poker_rl.config.input_checks import ConfigError
from poker_rl.evaluation.starting_hand_grid import (
    compute_hand_grid,
    describe_seat,
    grid_to_dict,
    supports_hand_grid,
)
from poker_rl.games.cards import card_name, parse_cards
from poker_rl.games.poker.display.view import DisplayedPoker
from poker_rl.games.tables import Tables
from poker_rl.play.live_hand import LiveHand, RequestNotAllowedError
from poker_rl.players.player import Player

EXAMPLE_BOARD = "Kd7s2c9h4s"  # fills up a board that has too few cards
MAX_PLAYERS = 2  # largest number of players that a request may compare


def explore_ranges(
    hand: LiveHand,
    other_players: Mapping[str, Player],
    actions: Sequence[int] | None,
    board: str,
    player_names: Sequence[str],
) -> dict[str, Any]:
    """Return the position after `actions`, with the players' policies for every starting hand.

    Args:
        hand: the present hand, which determines the game and the number of seats.
        other_players: further players by name. Those at the table of the hand, including the
            adviser, can always be chosen.
        actions: all actions since the deal. If None, the actions of `hand` so far (without the last
            one if the hand is over) and the board of `hand` replace `actions` and `board`.
        board: board cards such as `Kd7s2c`. Cards of streets that the actions do not reach are
            ignored; if there are too few cards, some of `EXAMPLE_BOARD` are added.
        player_names: at most `MAX_PLAYERS` names; [] stands for the first opponent at the table.

    Raises:
        RequestNotAllowedError: if the game is not hold'em, or an argument is not possible in it.
    """
    setup, game = hand.setup, hand.setup.game
    if not (supports_hand_grid(game) and isinstance(game, DisplayedPoker)):
        raise RequestNotAllowedError("Only hold'em has ranges of starting hands.")
    if actions is None:
        actions = [step.move.action for step in hand.steps][: len(hand.steps) - hand.is_over]
        board = "".join(game.build_view(hand.record[0], hand.person_seat).board)
    seated = [one for one in (*setup.opponents, setup.adviser) if one]
    players = {setup.short_names[one.name]: one.player for one in seated}
    players |= {name: player for name, player in other_players.items() if name not in players}
    player_names = player_names or list(players)[:1]
    if len(player_names) > MAX_PLAYERS or not set(player_names) <= set(players):
        raise RequestNotAllowedError("There is no such player of this game.")
    variant_game = game.get_variant_at_table(hand.record[0])
    tables = Tables(game, 1, 0)
    deck = np.arange(variant_game.cards_dealt, dtype=np.int8)[None]
    tables.deal(decks=deck, variants=int(hand.record["variant"][0]))
    path = []
    for action in actions:
        if tables.records["over"][0] or action not in np.flatnonzero(tables.legal_mask()[0]):
            raise RequestNotAllowedError("This line of actions is not legal.")
        seat = describe_seat(variant_game, int(tables.records["to_act"][0]))
        (move,) = game.list_moves(tables.records[0], [action])
        path.append({"seat": seat, "label": move.label})
        tables.step(np.array([action]))
    record = tables.records[0]
    card_count = sum(variant_game.board_cards[: int(record["street"]) + 1])
    try:
        board_cards = parse_cards(board, game.ranks, game.suits)[:card_count]
    except ConfigError as error:
        raise RequestNotAllowedError(f"board: {error}.") from None
    if len(set(board_cards)) < len(board_cards):
        raise RequestNotAllowedError("board: a card is there twice.")
    example_cards = parse_cards(EXAMPLE_BOARD, game.ranks, game.suits)
    unused_cards = [card for card in example_cards if card not in board_cards]
    board_cards = (board_cards + unused_cards)[:card_count]
    view, seat, moves, grids = game.build_view(record, None), "", [], []
    if not record["over"]:
        seat, moves = describe_seat(variant_game, int(record["to_act"])), game.list_moves(record)
        grids = [
            compute_hand_grid(game, players[name], record, board_cards, name)
            for name in player_names
        ]
    return {
        "actions": list(actions),
        "path": path,
        "board": "".join(card_name(card, game.ranks, game.suits) for card in board_cards),
        "board_count": card_count,
        "street": view.street,
        "pot": sum(seat_view.paid for seat_view in view.seats),
        "seat": seat,
        "moves": [vars(move) | {"label": move.label} for move in moves],
        "players": list(players),
        "grids": [grid_to_dict(grid, game.ranks) for grid in grids],
    }
