"""A player's policy in hold'em with every starting hand, as a grid of 13 x 13 cells, aces first.

Pairs are on the diagonal, suited hands above and offsuit hands below it. A cell such as AKs holds
the mean policy over its combinations of two cards, without those that contain a board card.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from poker_rl.evaluation.matches.winnings_and_playing_style import is_holdem
from poker_rl.games.cards import MAX_RANKS, MAX_SUITS
from poker_rl.games.game import Game
from poker_rl.games.poker.display.view import (
    DisplayedPoker,
    compute_pot_raise_to,
    get_visible_board,
    list_seat_roles,
)
from poker_rl.games.poker.poker_game import PokerGame
from poker_rl.games.poker.position_notation import copy_table_for_each_hand, format_actions
from poker_rl.games.poker.table_dtypes import FOLD, FULL_POT
from poker_rl.games.tables import Tables
from poker_rl.players.player import Player, compute_checked_probs

# Terminal colors of fold, call and raise.
ANSI_COLORS = ("\x1b[30;48;5;252m", "\x1b[30;48;5;117m", "\x1b[97;48;5;166m")
ANSI_RESET = "\x1b[0m"
ACTION_TYPE_COUNT = 3  # fold, call, and raises of any size


@dataclass(frozen=True)
class StartingHandGrid:
    """Policy of a player in one situation with every starting hand.

    Attributes:
        probs: probabilities of fold, check or call, and bet or raise, [13, 13, 3]; NaN in a cell
            if every hand of the cell contains a board card.
    """

    title: str
    probs: np.ndarray
    mean_probs: np.ndarray  # the mean over all hands, [3]


def supports_hand_grid(game: Game) -> bool:
    """Return whether the game is hold'em with a full deck."""
    return is_holdem(game) and len(game.ranks) == MAX_RANKS and len(game.suits) == MAX_SUITS  # type: ignore[attr-defined]


def compute_hand_grid(
    game: DisplayedPoker, player: Player, record: np.void, board_cards: list[int], title: str
) -> StartingHandGrid:
    """Compute the policy of the seat to act at the table `record` with every starting hand.

    The cards in `record` are ignored: the board is `board_cards`.
    """
    cards = [card for card in range(MAX_RANKS * MAX_SUITS) if card not in board_cards]
    hands = np.array(list(combinations(cards, 2)))  # the higher card is the second one
    records = copy_table_for_each_hand(game, record, hands, board_cards)
    action_probs = compute_checked_probs(game, player, records)  # [H, A]
    probs = action_probs @ np.eye(ACTION_TYPE_COUNT)[game.action_types]
    low_rows, high_rows = MAX_RANKS - 1 - hands.T // MAX_SUITS  # row 0 is the ace
    is_suited = hands[:, 0] % MAX_SUITS == hands[:, 1] % MAX_SUITS
    cells = tuple(np.where(is_suited, (high_rows, low_rows), (low_rows, high_rows)))
    sums = np.zeros((MAX_RANKS, MAX_RANKS, ACTION_TYPE_COUNT))
    counts = np.zeros((MAX_RANKS, MAX_RANKS, 1))
    np.add.at(sums, cells, probs)
    np.add.at(counts, cells, 1)
    cell_probs = np.full(sums.shape, np.nan)
    np.divide(sums, counts, out=cell_probs, where=counts > 0)
    return StartingHandGrid(title, cell_probs, probs.mean(0))


def compute_hand_grid_of_table(
    game: DisplayedPoker, player: Player, record: np.void
) -> StartingHandGrid:
    """Compute the grid for the seat to act at a table; the title names seat, board and actions."""
    variant_game = game.get_variant_at_table(record)
    board_text = variant_game.infoset_name(record).split(" ")[1].partition("|")[2]
    board_cards = get_visible_board(variant_game, record)
    title = describe_seat(variant_game, int(record["to_act"]))
    title += f", board {board_text}" * bool(board_text)
    if actions_text := format_actions(game, record):
        title += f", after {actions_text}"
    return compute_hand_grid(game, player, record, board_cards, title)


def grid_to_dict(grid: StartingHandGrid, ranks: str) -> dict[str, Any]:
    """Return a grid as plain data for JSON, with None in place of NaN."""
    probs = [[None if np.isnan(hand[0]) else hand for hand in row] for row in grid.probs.tolist()]
    return {
        "ranks": ranks[::-1],
        "action_types": ["fold", "call", "raise"],
        "probs": probs,
        "mean": grid.mean_probs.tolist(),
    }


def describe_seat(game: PokerGame, seat: int) -> str:
    """Return the name of a seat with its position, such as `seat 1 (big blind)`."""
    notes = list_seat_roles(game, seat) if game.blinds else []
    return f"seat {seat}" + f" ({', '.join(notes)})" * bool(notes)


def format_grid(grid: StartingHandGrid, ranks: str, use_color: bool) -> str:
    """Format a grid for a terminal; each cell shows its most likely action and the percentage."""

    def format_cell(probs: np.ndarray) -> str:
        if np.isnan(probs[0]):
            return ".  "
        action_type, prob = int(probs.argmax()), probs.max()
        text = f"{'fcr'[action_type]}{'' if prob > 0.995 else f'{100 * prob:.0f}':<2}"
        return f"{ANSI_COLORS[action_type]}{text}{ANSI_RESET}" if use_color else text

    lines = ["   " + "".join(f"{rank:<4}" for rank in ranks[::-1]).rstrip()]
    for rank, row_probs in zip(ranks[::-1], grid.probs, strict=True):
        lines.append(f"{rank}  {' '.join(map(format_cell, row_probs))}".rstrip())
    return "\n".join(lines)


def list_preflop_situations(game: DisplayedPoker, variant: int) -> list[tuple[str, np.void]]:
    """Return (title, table record) of each preflop situation of `variant_games[variant]`.

    First come the situations in which all seats before the seat to act have folded. Then come those
    in which the first seat has raised by about the pot, and all seats after it have folded so far.
    """
    variant_game = game.variant_games[variant]
    tables = Tables(game, 1, 0)
    deck = np.arange(variant_game.cards_dealt, dtype=np.int8)[None]

    def list_situations_while_folding(situation: str) -> list[tuple[str, np.void]]:
        situations = []
        while not tables.records["over"][0] and tables.legal_mask()[0, FOLD]:
            seat = describe_seat(variant_game, int(tables.records["to_act"][0]))
            situations.append((f"{seat}, {situation}", tables.records[0].copy()))
            tables.step(np.array([FOLD]))
        return situations

    tables.deal(decks=deck, variants=variant)
    situations = list_situations_while_folding("first in")
    tables.deal(decks=deck, variants=variant)
    record = tables.records[0]
    target = compute_pot_raise_to(variant_game, record, FULL_POT)
    if raise_targets := game.compute_raise_targets(record):
        action = min(raise_targets, key=lambda action: abs(raise_targets[action] - target))
        tables.step(np.array([action]))
        raise_text = f"{tables.records['price'][0] / game.unit_chips:g} {game.unit}s"
        situations += list_situations_while_folding(f"facing a raise to {raise_text}")
    return situations
