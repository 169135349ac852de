"""Grids of 13 x 13 starting hands with a player's policy in hold'em.

Pairs are on the diagonal, suited hands above and offsuit ones below it, aces first. A cell is the
mean over its combinations of two cards, without those that share a card with the board: up to 6 for
a pair, 4 for a suited and 12 for an offsuit hand. The player is called once for all hands.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from poker_rl.evaluation.matches.playing_style import is_holdem
from poker_rl.games.cards import MAX_RANKS, MAX_SUITS, parse_cards
from poker_rl.games.game import Game
from poker_rl.games.poker.display.view import DisplayedPoker, list_seat_notes
from poker_rl.games.poker.notation import copy_with_cards, list_raise_targets
from poker_rl.games.poker.poker_game import PokerGame
from poker_rl.games.poker.record_dtypes import CALL, FOLD
from poker_rl.games.tables import Tables
from poker_rl.players.player import Player, compute_checked_probs

ANSI_COLORS = ("\x1b[30;48;5;252m", "\x1b[30;48;5;117m", "\x1b[97;48;5;166m")  # fold, call, raise
ANSI_RESET = "\x1b[0m"
EXAMPLE_FLOPS = ("Kd7s2c", "9h8h4c", "AsQs5s")  # dry, with draws, and of one suit
ACTION_TYPE_COUNT = 3  # fold, call and raise, whatever its size

Situation = tuple[str, list[int], np.void]
"""A title, the board cards, and a table."""


@dataclass(frozen=True)
class StartingHandGrid:
    """Policy of a player at one table with every starting hand.

    Attributes:
        title: describes the situation.
        probs: probabilities of fold, check or call, and bet or raise, [13, 13, 3], the ace first;
            NaN where the board leaves none of the hands of a cell.
        mean_probs: the mean over all hands, [3].
    """

    title: str
    probs: np.ndarray
    mean_probs: np.ndarray


def supports_hand_grid(game: Game) -> bool:
    """Return whether the game is hold'em with a full deck."""
    return is_holdem(game) and len(game.ranks) == MAX_RANKS and len(game.suits) == MAX_SUITS  # type: ignore[attr-defined]


def compute_hand_grid(
    game: DisplayedPoker, player: Player, record: np.void, board_cards: list[int], title: str
) -> StartingHandGrid:
    """Compute a player's policy in the seat to act with each hand that shares no board card."""
    cards = [card for card in range(MAX_RANKS * MAX_SUITS) if card not in board_cards]
    hands = np.array(list(combinations(cards, 2)))  # the second card is the higher one
    records = copy_with_cards(game, record, hands, board_cards)
    hand_probs = compute_checked_probs(game, player, records)  # [hands, A]
    action_type_probs = hand_probs @ np.eye(ACTION_TYPE_COUNT)[game.action_types]
    low_rows, high_rows = MAX_RANKS - 1 - hands.T // MAX_SUITS  # the ace is row 0
    is_suited = hands[:, 0] % MAX_SUITS == hands[:, 1] % MAX_SUITS
    cells = tuple(np.where(is_suited, (high_rows, low_rows), (low_rows, high_rows)))
    sums = np.zeros((MAX_RANKS, MAX_RANKS, ACTION_TYPE_COUNT))
    counts = np.zeros((MAX_RANKS, MAX_RANKS, 1))
    np.add.at(sums, cells, action_type_probs)
    np.add.at(counts, cells, 1)
    cell_probs = np.divide(sums, counts, out=np.full(sums.shape, np.nan), where=counts > 0)
    return StartingHandGrid(title, cell_probs, action_type_probs.mean(0))


def compute_hand_grid_at(game: DisplayedPoker, player: Player, record: np.void) -> StartingHandGrid:
    """Compute the grid at a table with the board seen there; the title names the seat to act."""
    variant_game = game.get_variant_game(record)
    _, cards_text, actions_text = (*variant_game.infoset_name(record).split(" "), "")[:3]
    board_text = cards_text.partition("|")[2]
    board_start = variant_game.seats * variant_game.hole_cards
    board_cards = record["deck"][board_start : board_start + len(board_text) // 2].tolist()
    title = describe_seat(variant_game, int(record["to_act"]))
    title += f", board {board_text}" * bool(board_text)
    title += f", after {actions_text}" * bool(actions_text)
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
    """Return a seat with its position, such as `seat 1 (big blind)`."""
    if not game.blinds:
        return f"seat {seat}"
    notes = list_seat_notes(game, seat)
    return f"seat {seat}" + f" ({', '.join(notes)})" * bool(notes)


def format_grid(grid: StartingHandGrid, ranks: str, use_color: bool) -> str:
    """Format a grid for a terminal: the most likely action of each cell and its percentage."""
    lines = ["   " + "".join(f"{rank:<4}" for rank in ranks[::-1]).rstrip()]
    for row_index, row_probs in enumerate(grid.probs):
        cells = [_format_cell(probs, use_color) for probs in row_probs]
        lines.append(f"{ranks[MAX_RANKS - 1 - row_index]}  " + " ".join(cells).rstrip())
    return "\n".join(lines)


def _format_cell(probs: np.ndarray, use_color: bool) -> str:
    if np.isnan(probs[0]):
        return ".  "
    action_type = int(probs.argmax())
    prob = probs[action_type]
    text = f"{'fcr'[action_type]}{'' if prob > 0.995 else f'{100 * prob:.0f}':<2}"
    return f"{ANSI_COLORS[action_type]}{text}{ANSI_RESET}" if use_color else text


def list_preflop_situations(game: DisplayedPoker, variant: int) -> list[Situation]:
    """Return situations before the flop in a variant of the game.

    First, each seat acts after all seats before it have folded. Then the first seat has raised by
    about the pot, and all seats between it and the seat to act have folded.
    """
    tables = _deal_variant(game, variant)
    situations = list(_iterate_folded_situations(game, tables, "first in"))
    tables = _deal_variant(game, variant)
    record = tables.records[0]
    to_call = int(record["price"]) - int(record["paid"][record["to_act"]])
    pot = int(record["paid"].sum()) + sum(game.variant_games[variant].dead_antes) + to_call
    if _raise_to_about(game, tables, int(record["price"]) + pot):
        raise_text = f"{tables.records['price'][0] / game.unit_chips:g} {game.unit}s"
        situations += _iterate_folded_situations(game, tables, f"facing a raise to {raise_text}")
    return situations


def _deal_variant(game: DisplayedPoker, variant: int) -> Tables:
    """Return a table of a variant of the game before the first move."""
    tables = Tables(game, 1, 0)
    card_count = game.variant_games[variant].cards_dealt
    tables.deal(decks=np.arange(card_count, dtype=np.int8)[None], variants=variant)
    return tables


def _raise_to_about(game: DisplayedPoker, tables: Tables, target: int) -> bool:
    """Raise to about `target` chips at a table [1]; return False if no raise is legal."""
    raise_targets = list_raise_targets(game, tables)
    if raise_targets:
        action = min(raise_targets, key=lambda action: abs(raise_targets[action] - target))
        tables.step(np.array([action]))
    return bool(raise_targets)


def _iterate_folded_situations(
    game: DisplayedPoker, tables: Tables, situation: str
) -> Iterator[Situation]:
    """Yield the situation of each seat that may fold, after all seats before it have folded."""
    variant_game = game.get_variant_game(tables.records[0])
    while not tables.records["over"][0] and tables.legal_mask()[0, FOLD]:
        seat = describe_seat(variant_game, int(tables.records["to_act"][0]))
        yield f"{seat}, {situation}", [], tables.records[0].copy()
        tables.step(np.array([FOLD]))


def list_flop_situations(game: DisplayedPoker, variant: int) -> list[Situation]:
    """Return situations on each of `EXAMPLE_FLOPS`.

    Before the flop all seats fold but the last two, who only call. First, the first seat acts; then
    it has bet half the pot or the nearest legal amount. The list is empty if the second street does
    not deal three cards, or if the blinds are all-in.
    """
    variant_game = game.variant_games[variant]
    if list(variant_game.board_cards[1:2]) != [3]:
        return []
    tables = _deal_variant(game, variant)
    while tables.records["street"][0] == 0:
        should_fold = tables.records["live"][0] > 2 and tables.legal_mask()[0, FOLD]
        tables.step(np.array([FOLD if should_fold else CALL]))
        if tables.records["over"][0]:  # all-in by the blinds
            return []
    first_record = tables.records[0].copy()
    pot = int(first_record["paid"].sum()) + sum(variant_game.dead_antes)
    states = [(first_record, "first to speak")]
    if _raise_to_about(game, tables, int(first_record["price"]) + pot // 2):
        bet = int(tables.records["price"][0] - first_record["price"]) / game.unit_chips
        states.append((tables.records[0].copy(), f"facing a bet of {bet:g} {game.unit}"))
    return [
        (
            f"{flop}: {describe_seat(variant_game, int(record['to_act']))}, {text}",
            parse_cards(flop, game.ranks, game.suits),
            record,
        )
        for record, text in states
        for flop in EXAMPLE_FLOPS
    ]
