"""Encoders that turn tables into network inputs, selected by the setting `net.features`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from poker_rl.config.validation import ConfigError
from poker_rl.games.big2 import big2_rules
from poker_rl.games.big2.combinations import DECK_SIZE
from poker_rl.games.game import Game
from poker_rl.games.game_tree import get_tree
from poker_rl.games.poker import betting
from poker_rl.games.poker.poker_game import PokerGame
from poker_rl.games.poker.suit_isomorphism import sort_suits
from poker_rl.games.tables import Tables, copy_records, tables_from_records
from poker_rl.nets.dense import NO_HISTORY, FeatureEncoder, FeatureKind, Features

EncodeFunction = Callable[[np.ndarray], np.ndarray]

HISTORY_STEPS = 48  # largest number of actions in a history; older ones are left out


class ObservationEncoder:
    """Encoder of tables, each as its seat to act (the player) sees it, [B] -> [B, W].

    `observation`  observation that the game defines: float32 if it has chips, else uint8
    `sorted_suits` poker: the observation with suits in canonical order, so that hands that differ
                   only in the names of suits are equal
    `rank`         rank of the player's one card, evenly spaced from -1 to 1 (highest), float32
    `infoset`      one-hot information set of an enumerable game, uint8
    `table`        poker: cards with sorted suits, and chips, without the action history, float32
    `history`      poker: the newest HISTORY_STEPS actions, oldest first, then the features `table`
    `every_card`   Big 2: the observation, then for each card whether it is in the player's hand,
                   and which seat has played it, counted from the player's seat, uint8

    Any other value of `features` is the `FeatureEncoder` of a plug-in.

    Attributes:
        size: number W of inputs.
        is_binary: whether all inputs are 0 or 1.
        history_shape: number L of history steps at the start of a row, and features F of each.
        is_suit_invariant: whether tables that differ only in the names of suits have equal inputs.

    Raises:
        ConfigError: if the features are not defined for this game.
    """

    def __init__(self, game: Game, features: Features) -> None:
        self._game = game
        self._sorts_suits = features in ("sorted_suits", "table", "history")
        self._encodes_sorted_records = features in ("table", "history")
        self._encode_into = Tables.observe_sorted if features == "sorted_suits" else None
        if self._sorts_suits and game.rules is not betting:
            raise ConfigError(f"net: {features} features need a game of betting, not {game.name}")
        if features == "every_card" and game.rules is not big2_rules:
            raise ConfigError(f"net.features: every_card needs game=big2, not {game.name}")
        if isinstance(features, str):
            self.size, self._encode = ENCODER_FACTORIES[features](game)
            is_uint8 = features in ("observation", "sorted_suits", "every_card")
            self.is_binary = features == "infoset" or (
                is_uint8 and game.observation_dtype == np.uint8
            )
        else:
            self.size, self.is_binary, self._encode = _wrap_feature_encoder(game, features)
        self.history_shape = (
            (HISTORY_STEPS, game.history_step_size) if features == "history" else NO_HISTORY
        )
        # Board cards of the first street are sorted like hole cards, so that some tables that
        # differ only in the names of suits still differ after sorting.
        has_first_street_board = (
            game.rules is betting and (game.definitions["shown"][:, 0] > 0).any()
        )
        self.is_suit_invariant = features == "rank" or (
            self._sorts_suits and not has_first_street_board
        )

    def __call__(self, records: np.ndarray) -> np.ndarray:
        """Return the network inputs for tables [B], [B, W]."""
        return self._encode(self._sort_suits(records) if self._encodes_sorted_records else records)

    def encode_into(self, tables: Tables, out: np.ndarray) -> None:
        """Write the network inputs for all tables into `out`, [B, W]."""
        if self._encode_into is not None:
            self._encode_into(tables, out)
        else:
            out[:] = self(tables.records)

    def encode_hidden_cards(self, records: np.ndarray) -> np.ndarray:
        """Return cards hidden from the seats to act, suits sorted as in inputs, [B, H] uint8."""
        return tables_from_records(self._game, self._sort_suits(records)).reveal()

    def _sort_suits(self, records: np.ndarray) -> np.ndarray:
        if not self._sorts_suits:
            return records
        sorted_records = copy_records(records)
        sort_suits(
            tables_from_records(self._game, sorted_records).gather_definitions(), sorted_records
        )
        return sorted_records


def _wrap_feature_encoder(game: Game, features: FeatureEncoder) -> tuple[int, bool, EncodeFunction]:
    """Return `size`, `is_binary` and the encode function of a plug-in's features."""
    tables = Tables(game, 1, seed=0)
    tables.deal()
    example = features.encode(game, tables.records)
    if example.ndim != 2 or example.dtype not in (np.uint8, np.float32):
        raise ConfigError(
            f"net.features: {type(features).__name__}.encode returned {example.dtype} of shape"
            f" {example.shape} for one table; allowed: uint8 or float32 [1, W]"
        )
    return (
        example.shape[1],
        example.dtype == np.uint8,
        lambda records: features.encode(game, records),
    )


def _make_observation_encoder(game: Game) -> tuple[int, EncodeFunction]:
    def encode(records: np.ndarray) -> np.ndarray:
        return tables_from_records(game, records).observe()

    return game.observation_size, encode


def _make_sorted_suits_encoder(game: Game) -> tuple[int, EncodeFunction]:
    def encode(records: np.ndarray) -> np.ndarray:
        out = np.empty((len(records), game.observation_size), game.observation_dtype)
        tables_from_records(game, records).observe_sorted(out)
        return out

    return game.observation_size, encode


def _make_rank_encoder(game: Game) -> tuple[int, EncodeFunction]:
    if not isinstance(game, PokerGame) or game.hole_cards != 1:
        raise ConfigError(f"net.features: rank needs a game with one hole card, not {game.name}")
    suit_count, middle_rank = len(game.suits), (len(game.ranks) - 1) / 2

    def encode(records: np.ndarray) -> np.ndarray:
        card = records["deck"][np.arange(len(records)), records["to_act"]]  # seat i holds deck[i]
        rank = (card // suit_count - middle_rank) / max(middle_rank, 1)
        return np.asarray(rank, np.float32)[:, None]

    return 1, encode


def _make_infoset_encoder(game: Game) -> tuple[int, EncodeFunction]:
    tree = get_tree(game)

    def encode(records: np.ndarray) -> np.ndarray:
        out = np.zeros((len(records), tree.infoset_count), np.uint8)
        out[np.arange(len(records)), tree.lookup_infosets(records)] = 1
        return out

    return tree.infoset_count, encode


def _make_table_encoder(game: Game) -> tuple[int, EncodeFunction]:
    """Return width and encoder of cards and chips."""
    cards_offset = int(game.definitions[0]["own_plane"])  # here the cards start, then perhaps chips
    shows_chips = game.observation_dtype != np.uint8
    seat_slots = int(game.definitions[0]["room"])
    cards_size = game.observation_size - cards_offset

    def encode(records: np.ndarray) -> np.ndarray:
        tables = tables_from_records(game, records)
        out = np.empty((len(records), size), np.float32)
        out[:, :cards_size] = tables.observe()[:, cards_offset:]
        if not shows_chips:
            out[:, cards_size:] = encode_chips(records, tables.gather_definitions(), seat_slots)
        return out

    size = cards_size + (0 if shows_chips else 3 * seat_slots + 3)
    return size, encode


def _make_history_encoder(game: Game) -> tuple[int, EncodeFunction]:
    """Return width and encoder of the history [HISTORY_STEPS, F], then the features `table`."""
    table_size, encode_table = _make_table_encoder(game)
    history_size = HISTORY_STEPS * game.history_step_size

    def encode(records: np.ndarray) -> np.ndarray:
        steps, lengths = tables_from_records(game, records).history()
        out = np.empty((len(records), history_size + table_size), np.float32)
        newest_steps = take_newest_steps(steps, lengths)
        out[:, :history_size] = newest_steps.reshape(len(records), history_size)
        out[:, history_size:] = encode_table(records)
        return out

    return history_size + table_size, encode


def _make_every_card_encoder(game: Game) -> tuple[int, EncodeFunction]:
    """Return width and encoder of the observation, the cards held, and each seat's played cards."""
    held_offset = game.observation_size
    played_offset = held_offset + DECK_SIZE

    def encode(records: np.ndarray) -> np.ndarray:
        row, out = np.arange(len(records)), np.zeros((len(records), size), np.uint8)
        out[:, :held_offset] = tables_from_records(game, records).observe()
        hand = records["hand"][row, records["to_act"]].astype(np.int64)
        table_row, hand_position = np.nonzero(hand >= 0)
        out[table_row, held_offset + hand[table_row, hand_position]] = 1
        seat = (records["to_act"][:, None] + np.arange(game.seats)) % game.seats
        played_masks = np.take_along_axis(records["played"], seat.astype(np.int64), 1)
        mask_bytes = played_masks[..., None].view(np.uint8)  # one bit per card
        played_bits = np.unpackbits(mask_bytes, axis=-1, bitorder="little")
        out[:, played_offset:] = played_bits[..., :DECK_SIZE].reshape(len(records), -1)
        return out

    size = played_offset + game.seats * DECK_SIZE
    return size, encode


def take_newest_steps(steps: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Return the last HISTORY_STEPS steps of sequences [B, L, F] with lengths [B], [B, 48, F]."""
    newest_steps = np.zeros((len(steps), HISTORY_STEPS, steps.shape[2]), steps.dtype)
    newest_steps[:, : steps.shape[1]] = steps[:, :HISTORY_STEPS]
    too_long = np.flatnonzero(lengths > HISTORY_STEPS)
    step_index = lengths[too_long, None] - HISTORY_STEPS + np.arange(HISTORY_STEPS)
    newest_steps[too_long] = steps[too_long[:, None], step_index]
    return newest_steps


def encode_chips(records: np.ndarray, definitions: np.ndarray, seat_slots: int) -> np.ndarray:
    """Return the chips of tables [B], as fractions of the most that a seat can put in.

    Returns:
        [B, 3 * seat_slots + 3] float32: chips put in, chips left and whether it has not folded, for
        each seat from the one to act; then the pot, the bet to match and the chips to call.
    """
    seats = definitions["seats"][:, None].astype(np.int64)
    chip_scale = definitions["chip"][:, None]
    seat_offset = np.arange(seat_slots)
    has_seat = seat_offset < seats  # [B, seat_slots]
    seat = (records["to_act"][:, None] + seat_offset) % seats
    paid = np.take_along_axis(records["paid"], seat, 1) * chip_scale * has_seat
    in_hand = (np.take_along_axis(records["folded"], seat, 1) == 0) & has_seat
    price = records["price"][:, None] * chip_scale
    seat_features = np.stack([paid, (1 - paid) * has_seat, in_hand], -1).reshape(
        len(records), 3 * seat_slots
    )
    pot = paid.sum(1, keepdims=True)
    return np.concatenate([seat_features, pot, price, price - paid[:, :1]], 1)


ENCODER_FACTORIES: dict[FeatureKind, Callable[[Game], tuple[int, EncodeFunction]]] = {
    "observation": _make_observation_encoder,
    "sorted_suits": _make_sorted_suits_encoder,
    "rank": _make_rank_encoder,
    "infoset": _make_infoset_encoder,
    "table": _make_table_encoder,
    "history": _make_history_encoder,
    "every_card": _make_every_card_encoder,
}
