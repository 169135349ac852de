"""The interface of a game: a shuffled deck followed by moves.

All chance (the order of the deck) is resolved before the first move, so there are no chance nodes.
A game consists of a module of rules, which are functions that numba compiles, and a `Game` object
that describes the game to the rest of the program. The rules read and write NumPy records: `game`
below is the record of the game's definition, `table` the record of a hand in play. A is the number
of actions and W the number of features.

    start(game, table)              start a hand with the shuffled deck: post the forced bets and
                                    set the seat to act
    legal(game, table, mask)        write the action mask of the seat to act, [A] bool
    step(game, table, action)       play an action; an illegal one only sets table.error
    payoffs(game, table, out)       write the chips won by each seat, which sum to zero
    observe(game, table, seat, out) write what a seat sees as input features of a network, [W]

These five are enough to train and to evaluate by matches. Four more are optional:

    infoset(game, table, seat, out) write the key of the information set as bytes; for exact
                                    evaluation, solvers and bots that search
    observe_history(game, table, seat, out)
                                    write the newest actions that fit into `out`, one per row;
                                    return the number of all actions so far; for recurrent networks
    observe_hidden_cards(game, table, seat, out)
                                    write the cards hidden from a seat; for a perfect-information
                                    critic
    resample_hidden_cards(game, table)
                                    deal again the cards that the seat to act cannot see; all deals
                                    consistent with its information set are equally likely; for
                                    bots that look ahead

A game may have several definitions, such as one for each number of seats. The index of the
definition in play, `table.variant`, is sampled for each hand.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import permutations
from math import perm
from types import ModuleType
from typing import Any, ClassVar

import numba
import numpy as np

from poker_rl.config.input_checks import PositiveInt


def jit(function: Any) -> Any:
    """Decorate a function of records and arrays so that numba compiles it at its first call.

    The compiled code is cached on disk. Division by 0 and indices out of range raise no error.
    """
    return numba.njit(function, cache=True, nogil=True, error_model="numpy", forceinline=True)


def simd_jit(*, reorder_sums: bool) -> Any:
    """Return a decorator like `jit` that compiles loops over arrays to vector instructions.

    With `reorder_sums` the compiled code may add the terms of a sum in another order than the
    source, so the result may differ by rounding errors; it does not change from call to call.
    """
    config: Any = numba.config
    fastmath = {"reassoc", "contract"} if reorder_sums else False
    njit: Any = numba.njit(cache=True, nogil=True, error_model="numpy", fastmath=fastmath)

    def decorate(function: Any) -> Any:
        compiled = njit(function)
        compile_without_vectors = compiled.compile

        def compile_with_vectors(signature: Any) -> Any:
            previous, config.LOOP_VECTORIZE = config.LOOP_VECTORIZE, 1
            try:
                return compile_without_vectors(signature)
            finally:
                config.LOOP_VECTORIZE = previous

        compiled.compile = compile_with_vectors
        return compiled

    return decorate


@dataclass(kw_only=True, frozen=True)
class Game(ABC):
    """Base class of games. The dataclass fields are the settings of the game in YAML.

    The abstract properties are all that a new game has to define. `poker_rl.games.DisplayedGame`
    adds the methods that show a table to a person.
    """

    name: str
    unit: str  # name of the unit of results, such as ante, big blind or point
    unit_chips: PositiveInt  # number of chips in one unit
    hand_noun: ClassVar[str] = "hand"  # the word for a hand in this game; in Big 2 it is "game"

    @property
    @abstractmethod
    def rules(self) -> ModuleType:
        """The module of compiled rules."""

    @property
    @abstractmethod
    def definitions(self) -> np.ndarray:
        """The definitions of the game for the compiled rules, an array of usually one record.

        The fields include `seats`, `cards` (the size of the deck) and `dealt` (the number of cards
        that a hand uses).
        """

    @property
    @abstractmethod
    def table_dtype(self) -> np.dtype[np.void]:
        """The dtype of a table, a record with at least the fields `key` and `draws` (random state),
        `deck`, `variant` (index of the definition), `to_act` (seat), `over` and `error` (flags)."""

    @property
    @abstractmethod
    def action_count(self) -> int:
        """Number of actions, A."""

    @property
    @abstractmethod
    def observation_size(self) -> int:
        """Number of features of an observation, W."""

    @property
    def feature_dtype(self) -> np.dtype[Any]:
        """The dtype of an observation: uint8 if all features are 0 or 1, else float32."""
        return np.dtype(np.float32)

    @property
    def infoset_key_size(self) -> int:
        """Number of bytes in the key of an information set; 0 if there is no rule `infoset`."""
        return 0

    @property
    def history_step_size(self) -> int:
        """Number of features of one action, F; 0 if the game has no rule `observe_history`."""
        return 0

    @property
    def hidden_card_size(self) -> int:
        """Number of features of hidden cards; 0 if the game has no rule `observe_hidden_cards`."""
        return 0

    @cached_property
    def seats(self) -> int:
        """The largest number of players at a table."""
        return int(self.definitions["seats"].max())

    @property
    def action_types(self) -> np.ndarray:
        """The type of each action, [A] int64; actions of one type differ only in their bet size."""
        return np.arange(self.action_count)

    def count_deals(self) -> int:
        """Return the number of different, equally likely deals."""
        return perm(int(self.definitions["cards"][0]), int(self.definitions["dealt"][0]))

    def list_deals(self) -> np.ndarray:
        """Return all deals, each as the first `dealt` cards of the deck, [deals, dealt] integers.

        A subclass may raise ConfigError if its deals are too many or not equally likely.
        """
        cards, dealt = (int(self.definitions[key][0]) for key in ("cards", "dealt"))
        return np.array(list(permutations(range(cards), dealt)), np.int8)

    def action_name(self, action: int) -> str:
        """Return the name of an action, such as `raise_0.5`; it is the same at every table."""
        return str(action)

    def move_name(self, record: np.void, action: int) -> str:
        """Return the name of a legal action at a table; in Big 2 the cards, such as `5d5h`."""
        return self.action_name(action)

    def infoset_name(self, record: np.void) -> str:
        """Return the information set of the seat to act as text.

        The usual text has three words, as in `1 Ks|Qh rc`: the seat, the cards that it sees and the
        actions so far. In plots of a policy the cards label the rows and the actions label the
        columns; there is no plot if a text has more words. By default the second word is the key in
        hexadecimal and the third is missing.
        """
        seat, key = int(record["to_act"]), np.zeros(self.infoset_key_size, np.uint8)
        if len(key):
            self.rules.infoset(self.definitions[int(record["variant"])], record, seat, key)
        return f"{seat} {key.tobytes().hex()}".strip()

    def to_dict(self) -> dict[str, Any]:
        """Return the settings of the game without None values; equal games have equal settings."""
        return {key: value for key, value in asdict(self).items() if value is not None}


def load_game(name: str, *overrides: str) -> Game:
    """Return the game that `poker-rl train game=NAME` plays; a plug-in may define it.

    Args:
        overrides: settings in the syntax of the command line, such as `game.ante=2`.

    Raises:
        ConfigError: if there is no such game, or a setting is invalid.
    """
    # Local imports, so that the rules can be imported with only numpy and numba.
    from poker_rl.config.build import build
    from poker_rl.config.compose import compose_plain_config

    config = compose_plain_config([f"game={name}", *overrides], allowed_groups=["game"])
    game: Game = build(config["game"], "game", Game)
    return game


@jit
def fill_zeros(out):
    """Fill an array with zeros by a plain loop, which compiles faster than `out[:] = 0`."""
    for i in range(len(out)):
        out[i] = 0


@jit
def insert_sorted(cards, count, card):
    """Insert a card into the first `count` cards of an array, which are in ascending order."""
    while count > 0 and cards[count - 1] > card:
        cards[count] = cards[count - 1]
        count -= 1
    cards[count] = card


@jit
def hash_bytes(data, seed):
    """Return a 64-bit hash of bytes and a seed (FNV-1a, Fowler, Noll and Vo)."""
    digest = np.uint64(0xCBF29CE484222325) ^ seed
    for byte in data:
        digest = (digest ^ np.uint64(byte)) * np.uint64(0x100000001B3)
    return digest


@jit
def random_bits(table):
    """Return 64 random bits and advance the table's counter (SplitMix64, Steele et al. 2014)."""
    table.draws += np.uint64(1)
    bits = table.key + table.draws * np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


@jit
def random_uniform(table):
    """Return a random float in [0, 1); the table's random state advances."""
    return (random_bits(table) >> np.uint64(11)) * 2.0**-53


@jit
def random_below(table, count):
    """Return a random integer from 0 to count - 1, where count has to be less than 2^32."""
    return np.int64((random_bits(table) >> np.uint64(32)) * np.uint64(count) >> np.uint64(32))


@jit
def sample_variant(definitions, table):
    """Sample `table.variant`, the index of the next hand's definition, if the game has several."""
    if len(definitions) > 1:
        table.variant = random_below(table, len(definitions))


@jit
def shuffle_deck(table, deck_size, draw_count):
    """Fill the first `draw_count` positions of a table's deck with distinct cards (Fisher-Yates).

    They are drawn from the cards 0 to `deck_size` - 1, where `deck_size` is at most the length of
    `table.deck`. The random state advances.
    """
    for i in range(deck_size):
        table.deck[i] = i
    bits = np.uint64(0)
    for i in range(draw_count):
        # One call of `random_bits` is enough for two cards, with 32 bits for each.
        bits = bits << np.uint64(32) if i & 1 else random_bits(table)
        j = np.uint64(i) + ((bits >> np.uint64(32)) * np.uint64(deck_size - i) >> np.uint64(32))
        card = table.deck[j]
        table.deck[j] = table.deck[i]
        table.deck[i] = card
