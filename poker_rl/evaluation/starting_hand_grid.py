"""A player's policy in hold'em: before the flop by starting hand, on the flop by made hand.

In a grid of 13 x 13 starting hands, pairs are on the diagonal, suited hands above and offsuit hands
below it, aces first. A cell holds the mean policy over its combinations of two cards: up to 6 for a
pair, 4 for a suited and 12 for an offsuit hand. Combinations that share a card with the board are
left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from poker_rl.evaluation.matches.playing_style import is_holdem
from poker_rl.games.cards import (
    CATEGORY_SHIFT,
    MAX_RANKS,
    MAX_SUITS,
    TRIPS,
    TWO_PAIR,
    evaluate_hand,
    parse_cards,
)
from poker_rl.games.game import Game
from poker_rl.games.poker.display.view import DisplayedPoker, list_seat_notes
from poker_rl.games.poker.poker_game import PokerGame
from poker_rl.games.poker.position_notation import (
    copy_with_cards,
    format_actions,
    map_raises_to_chips,
)
from poker_rl.games.poker.record_dtypes import CALL, FOLD
from poker_rl.games.tables import Tables
from poker_rl.players.player import Player, compute_checked_probs

# Terminal colors of fold, call and raise.
ANSI_COLORS = ("\x1b[30;48;5;252m", "\x1b[30;48;5;117m", "\x1b[97;48;5;166m")
ANSI_RESET = "\x1b[0m"
FLOPS_OF_TEXTURE = {
    "dry": ("Kd7s2c", "Qh8s3d", "Jc6d2h"),
    "paired": ("KhKd6c", "9s9d4h", "6h6s2d"),
    "connected": ("JhTh8c", "9s8s6d", "7c6c4d"),
    "one suit": ("AsQs5s", "Jd8d4d", "9c6c3c"),
}
MADE_HANDS = ("two pair or better", "top pair or overpair", "lower pair", "draw", "high card")
ACTION_TYPE_COUNT = 3  # fold, call, and raises of any size

Situation = tuple[str, list[int], np.void]
"""A title, the board cards, and the record of a table."""


@dataclass(frozen=True)
class StartingHandGrid:
    """Policy of a player in one situation with every starting hand.

    Attributes:
        title: describes the situation.
        probs: probabilities of fold, check or call, and bet or raise, [13, 13, 3]; row and column 0
            are aces. NaN where every hand of a cell shares a card with the board.
        mean_probs: the mean over all hands, [3].
    """

    title: str
    probs: np.ndarray
    mean_probs: np.ndarray


def supports_hand_grid(game: Game) -> bool:
    """Return whether the game is hold'em with a full deck."""
    return is_holdem(game) and len(game.ranks) == MAX_RANKS and len(game.suits) == MAX_SUITS  # type: ignore[attr-defined]


def compute_hand_probs(
    game: DisplayedPoker, player: Player, record: np.void, board_cards: list[int]
) -> tuple[np.ndarray, np.ndarray]:
    """Return all hands without board cards [H, 2], and the policy of the seat to act with each.

    The policy [H, 3] holds the probabilities of fold, call and raise.
    """
    cards = [card for card in range(MAX_RANKS * MAX_SUITS) if card not in board_cards]
    hands = np.array(list(combinations(cards, 2)))  # the higher card is the second one
    records = copy_with_cards(game, record, hands, board_cards)
    probs = compute_checked_probs(game, player, records)  # [H, A]
    return hands, probs @ np.eye(ACTION_TYPE_COUNT)[game.action_types]


def compute_hand_grid(
    game: DisplayedPoker, player: Player, record: np.void, board_cards: list[int], title: str
) -> StartingHandGrid:
    """Compute the policy of the seat to act with every starting hand.

    Of `record`, only the actions so far matter; its cards are ignored.
    """
    hands, action_type_probs = compute_hand_probs(game, player, record, board_cards)
    low_rows, high_rows = MAX_RANKS - 1 - hands.T // MAX_SUITS  # row 0 is the ace
    is_suited = hands[:, 0] % MAX_SUITS == hands[:, 1] % MAX_SUITS
    cells = tuple(np.where(is_suited, (high_rows, low_rows), (low_rows, high_rows)))
    cell_probs = _average_cells(cells, action_type_probs, MAX_RANKS, MAX_RANKS)
    return StartingHandGrid(title, cell_probs, action_type_probs.mean(0))


def _average_cells(
    cells: tuple[np.ndarray, ...], probs: np.ndarray, rows: int, columns: int
) -> np.ndarray:
    """Return the mean probabilities [N, 3] in each cell, [rows, columns, 3]; NaN if empty."""
    sums = np.zeros((rows, columns, ACTION_TYPE_COUNT))
    counts = np.zeros((rows, columns, 1))
    np.add.at(sums, cells, probs)
    np.add.at(counts, cells, 1)
    means = np.full(sums.shape, np.nan)
    np.divide(sums, counts, out=means, where=counts > 0)
    return means


def compute_hand_grid_of_table(
    game: DisplayedPoker, player: Player, record: np.void
) -> StartingHandGrid:
    """Compute the grid for the seat to act at a table with its board cards.

    The title of the grid names this seat, the board and the actions so far.
    """
    variant_game = game.get_variant_game(record)
    board_text = variant_game.infoset_name(record).split(" ")[1].partition("|")[2]
    actions_text = format_actions(game, record)
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
    """Return the name of a seat with its position, such as `seat 1 (big blind)`."""
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
    """Return situations before the flop in a variant of the game, which is a number of seats.

    First all seats before the seat to act have folded. In further situations the first seat has
    raised by about the pot, and all seats between it and the seat to act have folded.
    """
    tables = _deal_variant(game, variant)
    situations = list(_iterate_folded_situations(game, tables, "first in"))
    tables = _deal_variant(game, variant)
    record = tables.records[0]
    to_call = int(record["price"]) - int(record["paid"][record["to_act"]])
    pot = int(record["paid"].sum()) + sum(game.variant_games[variant].dead_antes) + to_call
    if _raise_to_nearest(game, tables, int(record["price"]) + pot):
        raise_text = f"{tables.records['price'][0] / game.unit_chips:g} {game.unit}s"
        situations += _iterate_folded_situations(game, tables, f"facing a raise to {raise_text}")
    return situations


def _deal_variant(game: DisplayedPoker, variant: int) -> Tables:
    tables = Tables(game, 1, 0)
    card_count = game.variant_games[variant].cards_dealt
    tables.deal(decks=np.arange(card_count, dtype=np.int8)[None], variants=variant)
    return tables


def _raise_to_nearest(game: DisplayedPoker, tables: Tables, target: int) -> bool:
    """Raise to the legal amount nearest to `target`; return False if no raise is legal."""
    raise_targets = map_raises_to_chips(game, tables)
    if raise_targets:
        action = min(raise_targets, key=lambda action: abs(raise_targets[action] - target))
        tables.step(np.array([action]))
    return bool(raise_targets)


def _iterate_folded_situations(
    game: DisplayedPoker, tables: Tables, situation: str
) -> Iterator[Situation]:
    """Yield the situation of each seat after all seats before it have folded."""
    variant_game = game.get_variant_game(tables.records[0])
    while not tables.records["over"][0] and tables.legal_mask()[0, FOLD]:
        seat = describe_seat(variant_game, int(tables.records["to_act"][0]))
        yield f"{seat}, {situation}", [], tables.records[0].copy()
        tables.step(np.array([FOLD]))


def compute_flop_policies(
    game: DisplayedPoker, player: Player, variant: int
) -> list[tuple[str, np.ndarray]]:
    """Return the policy in two situations on the flop, each with a title.

    Before the flop, all seats but the last two have folded, and these have called. In the first
    situation the first of them acts; in the second one it has bet about half the pot. A policy
    [made hands, textures, 3] holds means over all hands and over the flops of `FLOPS_OF_TEXTURE`.
    The list is empty if the second street does not deal three cards, or if the blinds are all-in.
    """
    policies = []
    for title, record in _list_flop_situations(game, variant):
        rows, columns, probs = [], [], []
        for column, flops in enumerate(FLOPS_OF_TEXTURE.values()):
            for flop in flops:
                board = parse_cards(flop, game.ranks, game.suits)
                hands, hand_probs = compute_hand_probs(game, player, record, board)
                rows.append(classify_made_hands(hands, np.array(board)))
                columns.append(np.full(len(hands), column))
                probs.append(hand_probs)
        cells = np.concatenate(rows), np.concatenate(columns)
        size = len(MADE_HANDS), len(FLOPS_OF_TEXTURE)
        policies.append((title, _average_cells(cells, np.concatenate(probs), *size)))
    return policies


def classify_made_hands(hands: np.ndarray, flop: np.ndarray) -> np.ndarray:
    """Return the index in `MADE_HANDS` of each hand [H, 2] on a flop [3], [H].

    A pair must contain a hole card, and two pair both hole cards. A draw has four cards of one
    suit, or four of five consecutive ranks.
    """
    cards = np.hstack([hands, np.tile(flop, (len(hands), 1))])  # [H, 5]
    category = np.array([evaluate_hand(row, 5, MAX_SUITS) for row in cards]) >> CATEGORY_SHIFT
    ranks, flop_ranks = hands // MAX_SUITS, flop // MAX_SUITS
    is_pocket_pair, matches = ranks[:, 0] == ranks[:, 1], np.isin(ranks, flop_ranks)
    pair_rank = np.where(matches | is_pocket_pair[:, None], ranks, -1).max(1)
    has_two_pair = (category == TWO_PAIR) & matches.all(1) & ~is_pocket_pair
    suit_counts = (cards[..., None] % MAX_SUITS == np.arange(MAX_SUITS)).sum(1)
    held = (cards[..., None] // MAX_SUITS == np.arange(MAX_RANKS)).any(1)  # [H, 13]
    held = np.hstack([held[:, -1:], held])  # in straights, the ace is also the lowest rank
    straight_counts = np.lib.stride_tricks.sliding_window_view(held, 5, axis=1).sum(2)
    is_draw = (suit_counts.max(1) == 4) | (straight_counts.max(1) == 4)
    conditions = [(category >= TRIPS) | has_two_pair, pair_rank >= flop_ranks.max(), pair_rank >= 0]
    return np.select([*conditions, is_draw], range(4), len(MADE_HANDS) - 1)


def _list_flop_situations(game: DisplayedPoker, variant: int) -> list[tuple[str, np.void]]:
    """Return a title and a table on the flop, with arbitrary cards, for each situation."""
    variant_game = game.variant_games[variant]
    if list(variant_game.board_cards[1:2]) != [3]:
        return []
    tables = _deal_variant(game, variant)
    while tables.records["street"][0] == 0:
        should_fold = tables.records["live"][0] > 2 and tables.legal_mask()[0, FOLD]
        tables.step(np.array([FOLD if should_fold else CALL]))
        if tables.records["over"][0]:  # the hand is over because the blinds are all-in
            return []
    first_record = tables.records[0].copy()
    pot = int(first_record["paid"].sum()) + sum(variant_game.dead_antes)
    situations = [("first to act", first_record)]
    if _raise_to_nearest(game, tables, int(first_record["price"]) + pot // 2):
        bet = int(tables.records["price"][0] - first_record["price"]) / game.unit_chips
        situations.append((f"facing a bet of {bet:g} {game.unit}", tables.records[0].copy()))
    return [
        (f"{describe_seat(variant_game, int(record['to_act']))}, {text}", record)
        for text, record in situations
    ]
