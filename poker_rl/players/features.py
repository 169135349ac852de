"""What a network is shown of a table."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from poker_rl.config.settings import Refused
from poker_rl.games.big2 import climbing
from poker_rl.games.big2.combinations import CARDS
from poker_rl.games.game import Game
from poker_rl.games.poker import betting
from poker_rl.games.poker.game import PokerGame
from poker_rl.games.poker.suits import sort_suits
from poker_rl.games.tables import copied, tables_of
from poker_rl.games.tree import tree_of
from poker_rl.nets.dense import NO_STEPS, FeatureKind

Rows = Callable[[np.ndarray], np.ndarray]

STEPS = 48  # of a history


class Features:
    """Rows of numbers that show tables as the seats to act see them.

    `observation`  the game's own features, uint8; float32 where they hold chips
    `sorted_suits` the same of poker, suits renamed so that hands that differ in them alone are one
    `rank`         rank of the own card, evenly spaced from -1 (lowest) to 1 (highest), float32
    `infoset`      one-hot over the information sets of an enumerated game, uint8
    `table`        of poker the cards, their suits renamed too, and the chips on the table, without
                   how they came there, float32
    `history`      the newest STEPS actions of poker, oldest first, then what `table` shows
    `every_card`   of Big 2 the game's own features, then of each card whether it is in the own hand
                   and which seat has played it, from the observer on, uint8

    Attributes:
        size: width of a row, W.
        bits: whether all of it is 0 or 1.
        steps: number and width of the steps that a row begins with, L x F.
        blind_to_suits: whether tables that differ in the names of suits alone have the same rows.

    Raises:
        Refused: if the game has no such features.
    """

    def __init__(self, game: Game, kind: FeatureKind) -> None:
        self._game = game
        self._renames = kind in ("sorted_suits", "table", "history")
        if self._renames and game.rules is not betting:
            raise Refused(f"net: {kind} features need a game of betting, not {game.name}")
        if kind == "every_card" and game.rules is not climbing:
            raise Refused(f"net.features: every_card needs game=big2, not {game.name}")
        self.size, self._rows = FEATURES[kind](game)
        plain = kind in ("observation", "sorted_suits", "every_card")
        self.bits = kind == "infoset" or (plain and game.observation_dtype == np.uint8)
        self.steps = (STEPS, game.history_size) if kind == "history" else NO_STEPS
        # A board on the first street is not told from the own cards when suits are put in order.
        first = game.rules is betting and (game.record["shown"][:, 0] > 0).any()
        self.blind_to_suits = kind == "rank" or (self._renames and not first)

    def __call__(self, records: np.ndarray) -> np.ndarray:
        """Tables [B] -> [B, W]."""
        return self._rows(self._renamed(records))

    def hidden(self, records: np.ndarray) -> np.ndarray:
        """What the rules `reveal` of tables [B], with the same names of suits -> [B, H] uint8."""
        return tables_of(self._game, self._renamed(records)).reveal()

    def _renamed(self, records: np.ndarray) -> np.ndarray:
        if not self._renames:
            return records
        renamed = copied(records)
        sort_suits(tables_of(self._game, renamed).definitions(), renamed)
        return renamed


def _observation(game: Game) -> tuple[int, Rows]:

    def rows(records: np.ndarray) -> np.ndarray:
        return tables_of(game, records).observe()

    return game.observation_size, rows


def _rank(game: Game) -> tuple[int, Rows]:
    if not isinstance(game, PokerGame) or game.hole_cards != 1:
        raise Refused(f"net.features: rank needs a game with one hole card, not {game.name}")
    suits, middle = len(game.suits), (len(game.ranks) - 1) / 2

    def rows(records: np.ndarray) -> np.ndarray:
        card = records["deck"][np.arange(len(records)), records["to_act"]]  # seat i holds card i
        rank = (card // suits - middle) / max(middle, 1)
        return np.asarray(rank, np.float32)[:, None]

    return 1, rows


def _infoset(game: Game) -> tuple[int, Rows]:
    tree = tree_of(game)

    def rows(records: np.ndarray) -> np.ndarray:
        out = np.zeros((len(records), tree.size), np.uint8)
        out[np.arange(len(records)), tree.infoset_of(records)] = 1
        return out

    return tree.size, rows


def _table(game: Game) -> tuple[int, Rows]:
    """Own cards and board, and of each seat from the observer on: chips put in, chips left, whether
    it can win; the pot, the price of staying in and what the seat has to add. Chips are shares of
    the most that a seat can put in.
    """
    first = int(game.record[0]["own_plane"])  # the cards, and after them what chips it shows
    shows_chips = game.observation_dtype != np.uint8
    room = int(game.record[0]["room"])
    cards_size = game.observation_size - first

    def rows(records: np.ndarray) -> np.ndarray:
        tables = tables_of(game, records)
        out = np.empty((len(records), size), np.float32)
        out[:, :cards_size] = tables.observe()[:, first:]
        if not shows_chips:
            out[:, cards_size:] = chips_of(records, tables.definitions(), room)
        return out

    size = cards_size + (0 if shows_chips else 3 * room + 3)
    return size, rows


def _history(game: Game) -> tuple[int, Rows]:
    """Steps [STEPS, F], then what lies on the table."""
    beside_size, beside = _table(game)
    width = STEPS * game.history_size

    def rows(records: np.ndarray) -> np.ndarray:
        steps, lengths = tables_of(game, records).history()
        out = np.empty((len(records), width + beside_size), np.float32)
        out[:, :width] = newest(steps, lengths).reshape(len(records), width)
        out[:, width:] = beside(records)
        return out

    return width + beside_size, rows


def _every_card(game: Game) -> tuple[int, Rows]:
    """The observation, then of each card whether it is held [52], and who has played it [4, 52]."""
    first = game.observation_size
    held = first + CARDS

    def rows(records: np.ndarray) -> np.ndarray:
        row, out = np.arange(len(records)), np.zeros((len(records), size), np.uint8)
        out[:, :first] = tables_of(game, records).observe()
        hand = records["hand"][row, records["to_act"]].astype(np.int64)
        at, place = np.nonzero(hand >= 0)
        out[at, first + hand[at, place]] = 1
        seat = (records["to_act"][:, None] + np.arange(game.seats)) % game.seats
        played = np.take_along_axis(records["played"], seat.astype(np.int64), 1)  # a bit a card
        cells = np.unpackbits(played[..., None].view(np.uint8), axis=-1, bitorder="little")
        out[:, held:] = cells[..., :CARDS].reshape(len(records), -1)
        return out

    size = held + game.seats * CARDS
    return size, rows


def newest(steps: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """The last STEPS of sequences [B, L, F] of these lengths [B], -> [B, STEPS, F]."""
    last = np.zeros((len(steps), STEPS, steps.shape[2]), steps.dtype)
    last[:, : steps.shape[1]] = steps[:, :STEPS]
    longer = np.flatnonzero(lengths > STEPS)
    place = lengths[longer, None] - STEPS + np.arange(STEPS)
    last[longer] = steps[longer[:, None], place]
    return last


def chips_of(records: np.ndarray, definitions: np.ndarray, room: int) -> np.ndarray:
    """Chips of the seats, room for so many, and of the pot: a limit game shows actions alone."""
    seats = definitions["seats"][:, None].astype(np.int64)
    chip = definitions["chip"][:, None]
    offset = np.arange(room)
    there = offset < seats  # [B, room]
    seat = (records["to_act"][:, None] + offset) % seats
    paid = np.take_along_axis(records["paid"], seat, 1) * chip * there
    in_hand = (np.take_along_axis(records["folded"], seat, 1) == 0) & there
    price = records["price"][:, None] * chip
    of_seats = np.stack([paid, (1 - paid) * there, in_hand], -1).reshape(len(records), 3 * room)
    pot = paid.sum(1, keepdims=True)
    return np.concatenate([of_seats, pot, price, price - paid[:, :1]], 1)


FEATURES: dict[FeatureKind, Callable[[Game], tuple[int, Rows]]] = {
    "observation": _observation,
    "sorted_suits": _observation,
    "rank": _rank,
    "infoset": _infoset,
    "table": _table,
    "history": _history,
    "every_card": _every_card,
}
