"""Duplicate matches: every deal is played in each rotation of the players over the seats.

The hands of one deal depend on each other, deals do not: a block is the mean over a deal's
rotations, and intervals are over blocks. The deals and each player's actions have generators of
their own, so the cards do not depend on the players.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import sqrt
from statistics import NormalDist
from typing import Annotated

import numpy as np

from poker_rl.config.settings import Range, Refused
from poker_rl.evaluation.exploitability import values
from poker_rl.evaluation.measurement import Measurement
from poker_rl.evaluation.reduction import Make
from poker_rl.games.game import Game
from poker_rl.games.tables import Tables
from poker_rl.games.tree import Tree
from poker_rl.players.player import Player, first_places, policy_at
from poker_rl.players.sampling import draw

FEWEST_DEALS = 30  # the means of fewer blocks are too far from normal for an interval
MOST_DEALS = (
    10_000_000  # with nine seats each keeps 216 bytes, and an interval is narrow long before
)
Deals = Annotated[int, Range(FEWEST_DEALS, MOST_DEALS)]
MOST_TABLES = 16_384  # played at once; a table takes 0.8 kB
MOST_CHANCES = 2**22  # probabilities of all their actions; a few arrays of 8 bytes each

Watch = Callable[[Tables, np.ndarray], None]
"""Is given finished tables and, of each, the rotation: the seat of the first player, [B]."""


def play(
    game: Game,
    players: Sequence[Player],
    deals: int,
    seed: int,
    watch: Sequence[Watch] = (),
    duplicate: bool = True,
) -> np.ndarray:
    """Play random deals, each in every rotation: chips won a hand by each player.

    In rotation r player i sits in seat (i + r) mod seats; a player may stand in the list twice.
    Where the number of seats is drawn, a deal of n seats is played by the first n players.

    Args:
        players: one for each seat.
        deals: how many deals; each is played once for each rotation.
        seed: fixes the cards and the players' draws.
        watch: are shown the hands when they are over.
        duplicate: whether the hands of a deal have the same cards; else each has its own, and they
            have nothing but the players in common. Then the number of seats must not be drawn.

    Returns:
        Means over the rotations in chips a hand, [deals, players] float64; each row sums to zero.

    Raises:
        Refused: if what a player does at a table is no policy (`policy_at`).
    """
    cards, *streams = np.random.SeedSequence(seed).spawn(1 + game.seats)
    generators = [np.random.Generator(np.random.PCG64(stream)) for stream in streams]
    size = max(1, min(MOST_TABLES, MOST_CHANCES // game.actions) // game.seats)
    hands = 1 if duplicate else game.seats  # dealt for each deal
    dealer = Tables(game, min(size, deals) * hands, int(cards.generate_state(1, np.uint64)[0]))
    blocks = []
    for first in range(0, deals, size):
        dealer.deal()
        part = min(size, deals - first)
        blocks.append(_rotations(dealer, part, players, generators, watch, duplicate))
    return np.concatenate(blocks)


def _rotations(
    dealer: Tables,
    deals: int,
    players: Sequence[Player],
    generators: list[np.random.Generator],
    watch: Sequence[Watch],
    duplicate: bool,
) -> np.ndarray:
    game, seats = dealer.game, dealer.definitions()["seats"][:deals].astype(np.int64)
    deal = np.repeat(np.arange(deals), seats)  # of each table [B]
    rotation = np.arange(len(deal)) - (np.cumsum(seats) - seats)[deal]  # [B]
    dealt = dealer.records[deal] if duplicate else dealer.records[: len(deal)]
    tables = Tables(game, len(deal), 0)
    tables._deal_unchecked(dealt["deck"], dealt["variant"])
    asked = first_places(players)  # one call for equal players
    rows = np.arange(len(deal))
    while len(rows):
        who = asked[(tables.records["to_act"][rows] - rotation[rows]) % seats[deal[rows]]]
        actions = np.empty(len(rows), np.int64)
        for i in np.unique(who):
            mine = who == i
            chances = policy_at(game, players[i], tables.records.take(rows[mine]))
            actions[mine] = draw(chances, generators[i].random(len(chances)))
        tables.step(actions, rows)
        rows = rows[tables.records["over"][rows] == 0]
    for each in watch:
        each(tables, rotation)
    place = np.arange(game.seats)  # of a player; those beyond the seats of a deal win nothing there
    at = seats[deal][:, None]
    seat = np.where(place < at, (place + rotation[:, None]) % at, place)
    won = np.take_along_axis(tables.payoffs(), seat, axis=1)  # by player, not by seat
    return np.add.reduceat(won, np.flatnonzero(rotation == 0)) / seats[:, None]


def against(
    game: Game,
    player: Player,
    other: Player,
    name: str,
    deals: int,
    seed: int,
    watch: Sequence[Watch] = (),
    reduce: Make | None = None,
) -> Measurement:
    """What `player` wins a hand from `other`, called `name`, in every other seat.

    Args:
        deals: how many deals; each is played with `player` in every seat.
        seed: fixes the cards and the players' draws.
        watch: are shown the hands, as `play` does.
        reduce: makes what takes luck out of the results; None: they are told as they are.

    Returns:
        The mean over deals in the game's unit, with half the width of its 95 % interval.

    Raises:
        Refused: if there are too few deals for an interval.
    """
    if deals < FEWEST_DEALS:
        raise Refused(f"deals: {deals} are too few for an interval, at least {FEWEST_DEALS}")
    scale, unit = unit_of(game)
    players = [player] + [other] * (game.seats - 1)
    if reduce is None:
        won = play(game, players, deals, seed, watch)[:, 0]
    else:
        reduction = reduce(players, seed)
        won = play(game, players, deals, seed, [*watch, reduction.add], reduction.duplicate)[:, 0]
        won = reduction.reduced(won)
    blocks = won * scale
    return Measurement(float(blocks.mean()), half_width(blocks), unit, f"against {name}")


def exact(tree: Tree, policies: Sequence[np.ndarray]) -> np.ndarray:
    """What `play` estimates for players of these policies [I, A]: chips a hand, [seats]."""
    seats = len(policies)
    won = np.zeros(seats)
    for rotation in range(seats):
        seat = (np.arange(seats) + rotation) % seats  # of each player
        policy = np.stack(policies)[np.argsort(seat)[tree.owner], np.arange(tree.size)]
        won += values(tree, policy)[seat] / seats
    return won


def half_width(blocks: np.ndarray) -> float:
    """Half the 95 % interval for the mean of independent blocks [N], N >= 30, by Student's t."""
    z = NormalDist().inv_cdf(0.975)
    t = z + (z**3 + z) / (4 * (len(blocks) - 1))  # Cornish-Fisher: 2.042 for 30, exactly 2.045
    return float(t * blocks.std(ddof=1) / sqrt(len(blocks)))


def unit_of(game: Game) -> tuple[float, str]:
    """Result units a chip, and their name: thousandths of a big blind, else the game's own unit."""
    if game.unit == "big blind":
        return 1000 / game.unit_chips, "mbb/hand"
    return 1 / game.unit_chips, f"{game.unit}/{game.hand}"
