"""Narrower intervals from the same hands: what is known to be 0 on average is taken out of results.

A reduction watches a match and gives a few numbers for each deal whose mean is 0 whatever the
players do. A weighted sum of them is added to the results. The weights that suit one half of the
deals best are used on the other half: so they do not depend on what they are used on, and the mean
stays unbiased.

    control   what a control player wins in the same seat of the same deal, when it has every seat
              (Davidson, Archibald and Bowling 2013). In a duplicate match that is 0 for every deal,
              and tells nothing; so here each hand has cards of its own.
    aivat     the terms of `luck.py`, over duplicate deals, with equity for the value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, Protocol

import numpy as np

from poker_rl.config.settings import Refused
from poker_rl.evaluation.equity import Equity
from poker_rl.evaluation.luck import demand_poker, terms
from poker_rl.games.game import Game
from poker_rl.games.tables import Tables
from poker_rl.players.player import Player, first_places, policy_at
from poker_rl.players.sampling import draw

Reduce = Literal["none", "control", "aivat"]
LEAST = 0.1  # of a unit of the game, or of equity: a spread that is next to nothing
PRIOR_DEALS = 30  # that weights known beforehand count for: few deals alone would fit noise


class Reduction(Protocol):
    """Watches one match."""

    duplicate: bool  # whether a deal is played in every rotation, or each hand has its own cards

    def add(self, tables: Tables, rotation: np.ndarray) -> None:
        """Look at finished tables and, of each, the seat of the first player, [B]."""

    def reduced(self, blocks: np.ndarray) -> np.ndarray:
        """What the first player won in each deal, in chips [deals], with less luck in it."""


Make = Callable[[Sequence[Player], int], Reduction]
"""The reduction of a match of these players, in the order of the first rotation, and its seed."""


def reduction(reduce: Reduce, game: Game, control: Player | None) -> Make | None:
    """How a match of this game is reduced; None: not at all.

    Args:
        control: the control player; None: the first player of the match.

    Raises:
        Refused: if the game has no such reduction.
    """
    if reduce == "none":
        return None
    if reduce == "aivat":
        demand_poker(game)
        return lambda players, seed: Aivat(game, players)
    if len(game.record) > 1:
        raise Refused(f"reduce: control is of a table of so many seats, and {game.name} draws them")
    return lambda players, seed: Control(game, players[0] if control is None else control, seed)


class Control:
    """What a control player wins where it has every seat."""

    duplicate = False

    def __init__(self, game: Game, player: Player, seed: int) -> None:
        self._game, self._player = game, player
        own = np.random.SeedSequence([seed, 1])  # not what the match itself is drawn with
        self._generator = np.random.Generator(np.random.PCG64(own))
        self._won: list[np.ndarray] = []

    def add(self, tables: Tables, rotation: np.ndarray) -> None:
        """Play the same deals."""
        again = Tables(self._game, len(rotation), 0)
        again._deal_unchecked(tables.records["deck"], tables.records["variant"])
        rows = np.arange(len(rotation))
        while len(rows):
            chances = policy_at(self._game, self._player, again.records.take(rows))
            again.step(draw(chances, self._generator.random(len(rows))), rows)
            rows = rows[again.records["over"][rows] == 0]
        won = again.payoffs()[np.arange(len(rotation)), rotation].astype(float)
        self._won.append(means(won[:, None], rotation))

    def reduced(self, blocks: np.ndarray) -> np.ndarray:
        """Less so many times what the control player won in the first player's seats."""
        least = np.array([LEAST * self._game.unit_chips])
        return fitted(blocks, np.concatenate(self._won), np.zeros(1), least)


class Aivat:
    """The terms of luck of every hand; all players are known."""

    duplicate = True

    def __init__(self, game: Game, players: Sequence[Player]) -> None:
        self._game, self._value = game, Equity(game)
        self._players, self._asked = players, first_places(players)
        self._terms: list[np.ndarray] = []

    def add(self, tables: Tables, rotation: np.ndarray) -> None:
        """Ask the players again, and weigh what else could have come."""
        seats = tables.definitions()["seats"].astype(np.int64)[:, None]
        who = self._asked[(np.arange(self._game.seats) - rotation[:, None]) % seats]
        found = terms(self._game, tables.records, rotation, self._players, who, self._value)
        self._terms.append(means(found, rotation))

    def reduced(self, blocks: np.ndarray) -> np.ndarray:
        """With the terms, each kind weighed: equity times pot tells too little of later bets."""
        found = np.concatenate(self._terms)  # [deals, columns, V]
        prior, least = np.zeros(found.shape[1:]), np.full(found.shape[1:], LEAST)
        prior[:, 0] = 1
        least[:, 0] *= self._game.unit_chips  # equity times pot; the other value is equity alone
        return fitted(blocks, found.reshape(len(found), -1), prior.ravel(), least.ravel())


def means(hands: np.ndarray, rotation: np.ndarray) -> np.ndarray:
    """The mean over the hands [B, ...] of each deal, which begin with rotation 0."""
    start = np.flatnonzero(rotation == 0)
    count = np.diff(start, append=len(rotation)).reshape(-1, *[1] * (hands.ndim - 1))
    mean: np.ndarray = np.add.reduceat(hands, start) / count
    return mean


def fitted(
    blocks: np.ndarray, columns: np.ndarray, prior: np.ndarray, least: np.ndarray
) -> np.ndarray:
    """Blocks [N] and a weighed sum of columns [N, C]; each half has the other half's weights.

    Args:
        prior: weights that are right if the other half tells nothing, [C].
        least: a spread below which the other half tells little of a column, [C]. It must not come
            from these deals. Without it a column that hardly moves in one half, by a rare hand or
            by rounding, would get a huge weight there and swamp the other half.
    """
    half = len(blocks) // 2
    out = np.empty(len(blocks))
    for own, other in (slice(half), slice(half, None)), (slice(half, None), slice(half)):
        out[own] = blocks[own] + columns[own] @ weights(blocks[other], columns[other], prior, least)
    return out


def weights(
    blocks: np.ndarray, columns: np.ndarray, prior: np.ndarray, least: np.ndarray
) -> np.ndarray:
    """The weights [C] by which columns [N, C] leave the least variance of blocks [N]."""
    spread = np.maximum(columns.std(0), least)
    scaled = (columns - columns.mean(0)) / spread
    left = blocks - blocks.mean() + scaled @ (prior * spread)
    square = scaled.T @ scaled + PRIOR_DEALS * np.eye(len(prior))
    found: np.ndarray = prior - np.linalg.solve(square, scaled.T @ left) / spread
    return found
