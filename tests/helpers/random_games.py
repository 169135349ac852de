"""Games by name, random definitions, and random play, recorded move by move."""

from dataclasses import dataclass

import numpy as np

from poker_rl.config.build import build
from poker_rl.config.option_files import SHIPPED_OPTION_DIR, load_option
from poker_rl.games import Tables
from poker_rl.games.cards import MAX_RANKS
from poker_rl.games.poker import betting
from poker_rl.games.poker.fixed_limit_poker import FixedLimitPoker
from poker_rl.games.poker.table_dtypes import NO_LIMIT_TABLE_DTYPE

# Without the option `openspiel`, which has tests of its own.
FILES = (SHIPPED_OPTION_DIR / "game").glob("*.yaml")
NAMES = sorted(path.stem for path in FILES if path.stem != "openspiel")
# Games that together have all kinds of rules, seat counts, cards and bets.
KINDS = ["big2", "kuhn_3p", "leduc", "limit_holdem_2to9", "nolimit_holdem_6p"]
KINDS += ["nolimit_leduc_sizes", "nolimit_short_deck_6p", "rhode_island"]
DECK = "23456789TJQKA"


def game(name):
    """Return the game of `conf/game/<name>.yaml`."""
    return build(load_option("game", name), "game")


POKER = [name for name in NAMES if game(name).rules is betting]
NO_LIMIT = [name for name in POKER if game(name).table_dtype is NO_LIMIT_TABLE_DTYPE]
LIMIT = [name for name in POKER if name not in NO_LIMIT]


def sample_definition(randint, small=False):
    """Return a random limit game of 2-4 seats and 1-4 streets; `randint` includes both bounds.

    A small game has 2-3 seats, 1-2 streets and a short deck.
    """
    seats, streets = randint(2, 3 if small else 4), randint(1, 2 if small else 4)
    hole = randint(1, 1 if small else 2)
    board = []
    for _ in range(streets):
        board.append(randint(0, min(1 if small else 3, 5 - sum(board))))
    dealt = seats * hole + sum(board)
    suits = randint(1, 4)
    min_ranks = max(2, -(-dealt // suits))
    ranks = min_ranks if small else randint(min_ranks, MAX_RANKS)
    if randint(0, 1):
        ante, blinds = randint(1, 3), []
    else:
        ante, blinds = randint(0, 1), [randint(0, 4) for _ in range(seats)]
        blinds[randint(0, seats - 1)] += 1
    cards = {"ranks": DECK[:ranks], "suits": "cdhs"[:suits], "hole_cards": hole}
    bets = {"ante": ante, "blinds": blinds}
    bets["openers"] = [randint(0, seats - 1) for _ in range(streets)]
    bets["raise_sizes"] = [randint(1, 6) for _ in range(streets)]
    bets["max_raises"] = [randint(0, 2 if small else 4) for _ in range(streets)]
    shape = {"seats": seats, "board_cards": board, **cards, **bets}
    return FixedLimitPoker(name="drawn", unit="chip", unit_chips=1, **shape)


def sample_definitions(count, seed, small=False):
    """Return `count` random limit games."""
    generator = np.random.default_rng(seed)

    def randint(low, high):
        return int(generator.integers(low, high + 1))

    return [sample_definition(randint, small) for _ in range(count)]


def deal_tables(game, count=1, seed=0, actions=(), **deal):
    """Return newly dealt tables after `actions` at each; `deal` is passed to `Tables.deal`."""
    tables = Tables(game, count, seed)
    tables.deal(**deal)
    for action in actions:
        tables.step(np.full(count, action))
    return tables


@dataclass
class Move:
    """One decision at each table whose hand is not over."""

    rows: np.ndarray  # [n] indices of the tables
    records: np.ndarray  # [n] tables before the move
    legal: np.ndarray  # [n, A]
    actions: np.ndarray  # [n]


def play(game, hands, seed, tables=None):
    """Play hands to the end with uniformly random legal actions; return tables and moves."""
    generator = np.random.default_rng(seed)
    if tables is None:
        tables = Tables(game, hands, seed)
    tables.deal()
    moves = []
    while len(rows := np.flatnonzero(tables.records["over"] == 0)):
        legal = tables.legal_mask(rows)
        actions = (generator.random(legal.shape) * legal).argmax(1)
        moves.append(Move(rows, tables.records[rows].copy(), legal, actions))
        tables.step(actions, rows)
    return tables, moves


def play_records(game, hands, seed):
    """Return the records [N] of the tables at all decisions in random hands."""
    return np.concatenate([move.records for move in play(game, hands, seed)[1]])


def sample_decisions(game, count, seed=0):
    """Return the records [count] of the tables at random decisions in random hands."""
    records = play_records(game, count, seed)
    return records[np.random.default_rng(seed).choice(len(records), count, replace=False)]
