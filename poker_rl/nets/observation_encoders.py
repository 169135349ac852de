"""Encoders that turn tables into network inputs, selected by the setting `net.features`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from poker_rl.config.input_checks import ConfigError
from poker_rl.games.big2 import big2_rules
from poker_rl.games.big2.combinations import DECK_SIZE
from poker_rl.games.game import Game, jit
from poker_rl.games.game_tree import get_tree
from poker_rl.games.poker import betting
from poker_rl.games.poker.hand_features import HAND_COMPARISON_COUNT, HAND_FEATURE_COUNT
from poker_rl.games.poker.poker_game import PokerGame, check_holdem_cards
from poker_rl.games.table_loops import (
    observe_history_loop,
    observe_sorted_log_chips_loop,
    output_rule_loop,
)
from poker_rl.games.tables import Tables, tables_from_records
from poker_rl.nets.net_interfaces import NO_HISTORY, FeatureEncoder, FeatureKind, Features

HISTORY_STEPS = 48  # largest number of actions in a history; older actions are left out

SUIT_SORTING_FEATURES = "sorted_suits", "log_chips", "hand_strength", "table", "history"

EncodeFunction = Callable[[Tables, np.ndarray], None]
"""Function that writes the inputs for all tables [B] into an array [B, W]."""


class ObservationEncoder:
    """Encoder of B tables into network inputs [B, W], as seen by the seat to act (the player).

    `observation`  observation that the game defines: float32 if it contains chips, else uint8
    `sorted_suits` poker: the observation with suits in canonical order, so that hands that differ
                   only by a permutation of suits are equal
    `rank`         rank of the player's one card, evenly spaced from -1 to 1 (highest), float32
    `infoset`      one-hot information set of an enumerable game, uint8
    `table`        poker: cards with sorted suits, and chips, without the action history, float32
    `log_chips`    poker with stacks: `sorted_suits` with chips on a logarithmic scale, so that
                   small pots differ as much as large ones, float32
    `hand_strength` hold'em: `log_chips` if the game has stacks, else `sorted_suits`; then the
                   strength of the hand on the board, see `write_hand_features`, float32
    `history`      poker: the newest HISTORY_STEPS actions, oldest first, then the features `table`
    `every_card`   Big 2: the observation, then for each card whether it is in the player's hand,
                   and which seat has played it, counted from the player's seat, uint8

    Any other value of `features` is the `FeatureEncoder` of a plug-in.

    Attributes:
        size: number W of inputs.
        is_binary: whether all inputs are 0 or 1.
        history_shape: (L, F) if a row begins with L steps of history with F features each.
        is_suit_invariant: whether tables that differ only in the names of suits have equal inputs.
        encode_into: writes the inputs of tables into an array; see `EncodeFunction`.
    """

    def __init__(self, game: Game, features: Features) -> None:
        self._game = game
        self._sorts_suits = features in SUIT_SORTING_FEATURES
        if self._sorts_suits and game.rules is not betting:
            raise ConfigError(f"net: {features} features need a game of betting, not {game.name}")
        if features == "every_card" and game.rules is not big2_rules:
            raise ConfigError(f"net.features: every_card needs game=big2, not {game.name}")
        if isinstance(features, str):
            self.size, self.encode_into = ENCODER_FACTORIES[features](game)
            shows_observation = features in ("observation", "sorted_suits", "every_card")
            is_uint8 = shows_observation and game.feature_dtype == np.uint8
            self.is_binary = features == "infoset" or is_uint8
        else:
            self.size, self.is_binary, self.encode_into = _make_plugin_encoder(game, features)
        self.history_shape = NO_HISTORY
        if features == "history":
            self.history_shape = HISTORY_STEPS, game.history_step_size
        # Sorting treats board cards dealt before the first bet like hole cards. In games that deal
        # such cards, tables that differ only by a permutation of suits can keep different inputs.
        self.is_suit_invariant = features == "rank" or (
            self._sorts_suits and not (game.definitions["shown"][:, 0] > 0).any()
        )

    def __call__(self, records: np.ndarray) -> np.ndarray:
        out = np.empty((len(records), self.size), np.uint8 if self.is_binary else np.float32)
        self.encode_into(tables_from_records(self._game, records), out)
        return out


class HiddenCardEncoder:
    """Encoder of the other seats' cards as inputs of critics: B tables -> [B, H] uint8, 0 or 1.

    These cards are hidden from the seat to act. Their suits are in canonical order if `features`
    sorts suits. With `compare_hands`, there are also inputs that say which hands are ahead, see
    `write_hidden_hand_comparisons`.

    Attributes:
        size: number H of inputs.
    """

    def __init__(self, game: Game, features: Features, *, compare_hands: bool = False) -> None:
        if compare_hands:
            check_holdem_cards(game, "critic_view: hand_comparison")
        self._game, self._sorts_suits = game, features in SUIT_SORTING_FEATURES
        self._comparisons = compare_hands * (game.seats - 1) * HAND_COMPARISON_COUNT
        self.size = game.hidden_card_size + self._comparisons

    def __call__(self, records: np.ndarray) -> np.ndarray:
        tables = tables_from_records(self._game, records)
        cards = tables.observe_hidden_cards(sorted_suits=self._sorts_suits)
        if not self._comparisons:
            return cards
        comparisons = np.empty((len(records), self._comparisons), np.uint8)
        rule = "write_hidden_hand_comparisons"
        tables.run_table_loop(output_rule_loop, None, comparisons, rule=rule)
        return np.concatenate([cards, comparisons], 1)


def _make_plugin_encoder(game: Game, features: FeatureEncoder) -> tuple[int, bool, EncodeFunction]:
    """Return the number of inputs, whether they are binary, and the function that writes them."""
    example_tables = Tables(game, 1, seed=0)
    example_tables.deal()
    example = features.encode(game, example_tables.records)
    if example.ndim != 2 or example.dtype not in (np.uint8, np.float32):
        raise ConfigError(
            f"net.features: {type(features).__name__}.encode returned {example.dtype} of shape"
            f" {example.shape} for one table; allowed: uint8 or float32 [1, W]"
        )

    def encode(tables: Tables, out: np.ndarray) -> None:
        out[:] = features.encode(game, tables.records)

    return example.shape[1], example.dtype == np.uint8, encode


def _make_log_chips_encoder(game: Game) -> tuple[int, EncodeFunction]:
    if game.feature_dtype == np.uint8:
        raise ConfigError(f"net.features: log_chips needs a game with stacks, not {game.name}")

    largest_stack = round(1 / float(game.definitions["chip"].min()))
    # The largest pot holds the chips of all seats and the dead antes.
    largest_pot = game.seats * largest_stack + int(game.definitions["dead_pot"].max())
    logarithms = np.log1p(np.arange(largest_pot + 1, dtype=np.float32)) / np.log1p(largest_stack)

    def encode(tables: Tables, out: np.ndarray) -> None:
        tables.run_table_loop(observe_sorted_log_chips_loop, None, logarithms, out)

    return game.observation_size, encode


def _make_hand_strength_encoder(game: Game) -> tuple[int, EncodeFunction]:
    check_holdem_cards(game, "net.features: hand_strength")
    has_chips = game.feature_dtype != np.uint8
    size, encode_observation = ENCODER_FACTORIES["log_chips" if has_chips else "sorted_suits"](game)

    def encode(tables: Tables, out: np.ndarray) -> None:
        encode_observation(tables, out[:, :size])
        tables.run_table_loop(output_rule_loop, None, out[:, size:], rule="write_hand_features")

    return size + HAND_FEATURE_COUNT, encode


def _make_rank_encoder(game: Game) -> tuple[int, EncodeFunction]:
    if not isinstance(game, PokerGame) or game.hole_cards != 1:
        raise ConfigError(f"net.features: rank needs a game with one hole card, not {game.name}")
    suit_count, middle_rank = len(game.suits), (len(game.ranks) - 1) / 2

    def encode(tables: Tables, out: np.ndarray) -> None:
        row, seat = np.arange(len(out)), tables.records["to_act"]
        card = tables.records["deck"][row, seat]  # seat i holds deck[i]
        out[:, 0] = (card // suit_count - middle_rank) / max(middle_rank, 1)

    return 1, encode


def _make_infoset_encoder(game: Game) -> tuple[int, EncodeFunction]:
    tree = get_tree(game)

    def encode(tables: Tables, out: np.ndarray) -> None:
        out[:] = 0
        out[np.arange(len(out)), tree.lookup_infosets(tables.records)] = 1

    return tree.infoset_count, encode


def _make_table_encoder(game: Game) -> tuple[int, EncodeFunction]:
    # An observation ends with the cards and, in games with stacks, the chips.
    cards_offset = int(game.definitions[0]["hole_offset"])
    shows_chips = game.feature_dtype != np.uint8
    seat_slots = int(game.definitions[0]["seat_slots"])
    cards_size = game.observation_size - cards_offset

    def encode(tables: Tables, out: np.ndarray) -> None:
        observation = np.empty((len(out), game.observation_size), game.feature_dtype)
        tables.write_observations(observation, sorted_suits=True)
        out[:, :cards_size] = observation[:, cards_offset:]
        if not shows_chips:
            _fill_chips(game.definitions, tables.records, seat_slots, out[:, cards_size:])

    size = cards_size + (0 if shows_chips else 3 * seat_slots + 3)
    return size, encode


def _make_history_encoder(game: Game) -> tuple[int, EncodeFunction]:
    table_size, encode_table = _make_table_encoder(game)
    history_size = HISTORY_STEPS * game.history_step_size

    def encode(tables: Tables, out: np.ndarray) -> None:
        steps = out[:, :history_size].reshape(len(out), HISTORY_STEPS, game.history_step_size)
        steps[:] = 0  # writes into `out`, of which `steps` is a view
        scratch = tables.records["rank"].copy()  # the rule `observe_history` overwrites this field
        tables.run_table_loop(observe_history_loop, None, steps, np.empty(len(out), np.int64))
        tables.records["rank"] = scratch
        encode_table(tables, out[:, history_size:])

    return history_size + table_size, encode


def _make_every_card_encoder(game: Game) -> tuple[int, EncodeFunction]:
    held_offset = game.observation_size
    played_offset = held_offset + DECK_SIZE

    def encode(tables: Tables, out: np.ndarray) -> None:
        records, row = tables.records, np.arange(len(out))
        out[:] = 0
        out[:, :held_offset] = tables.observe()
        hand = records["hand"][row, records["to_act"]].astype(np.int64)
        table_row, hand_position = np.nonzero(hand >= 0)
        out[table_row, held_offset + hand[table_row, hand_position]] = 1
        seat = (records["to_act"][:, None] + np.arange(game.seats)) % game.seats
        played_masks = np.take_along_axis(records["played"], seat.astype(np.int64), 1)
        mask_bytes = played_masks[..., None].view(np.uint8)  # one bit per card
        played_bits = np.unpackbits(mask_bytes, axis=-1, bitorder="little")
        out[:, played_offset:] = played_bits[..., :DECK_SIZE].reshape(len(records), -1)

    size = played_offset + game.seats * DECK_SIZE
    return size, encode


@jit
def _fill_chips(definitions, tables, seat_slots, out):  # type: ignore[no-untyped-def]
    """Write the chips of B tables, as fractions of the most that a seat can put in, into `out`.

    A row of `out` [B, 3 * seat_slots + 3] gets chips put in, chips left and whether the seat has
    not folded, for each seat from the one to act; then pot, bet to match and chips to call.
    """
    for i in range(len(tables)):
        table, row = tables[i], out[i]
        game = definitions[table.variant]
        row[:] = 0
        chip, pot = np.float64(game.chip), 0.0
        for j in range(game.seats):
            seat = (table.to_act + j) % game.seats
            paid = table.paid[seat] * chip
            row[3 * j] = paid
            row[3 * j + 1] = 1 - paid
            row[3 * j + 2] = table.folded[seat] == 0
            pot += paid
        price = table.price * chip
        row[3 * seat_slots] = pot
        row[3 * seat_slots + 1] = price
        row[3 * seat_slots + 2] = price - table.paid[table.to_act] * chip


# For each kind of features, a function that returns the number W of inputs and their encoder.
ENCODER_FACTORIES: dict[FeatureKind, Callable[[Game], tuple[int, EncodeFunction]]] = {
    "observation": lambda game: (game.observation_size, Tables.write_observations),
    "sorted_suits": lambda game: (
        game.observation_size,
        partial(Tables.write_observations, sorted_suits=True),
    ),
    "log_chips": _make_log_chips_encoder,
    "hand_strength": _make_hand_strength_encoder,
    "rank": _make_rank_encoder,
    "infoset": _make_infoset_encoder,
    "table": _make_table_encoder,
    "history": _make_history_encoder,
    "every_card": _make_every_card_encoder,
}
