"""Who can sit down at a table: networks, tables of probabilities and bots alike.

A player's `state()` is what a snapshot keeps of it: `_target_`, the dotted path of its class, the
settings and weights, as tensors and plain values. The class reads it back with
`from_state(state, game, device)`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, Self

import numpy as np

from poker_rl.config.settings import Refused
from poker_rl.games.game import Game

ROUNDING = 1e-4  # more than sums of probabilities in 32 bits are wrong by


class Player(Protocol):
    """A policy: given rows of tables, the probability of each action."""

    @property
    def instances(self) -> int:
        """1, or the number of independent copies trained side by side."""

    @property
    def blind_to_suits(self) -> bool:
        """Whether it plays all tables alike that differ in the names of suits alone.

        What is known of one of them then holds for all. False is always right.
        """

    def instance(self, k: int) -> Player:
        """One of the copies, alone."""

    def probabilities(self, records: np.ndarray) -> np.ndarray:
        """Tables [B], each at its seat to act -> float64 [B, A], rows sum to 1, 0 where illegal."""

    def values(self, records: np.ndarray) -> np.ndarray | None:
        """What the seat to act at each table can expect to win in the whole hand, float64 [B].

        In chips, net of those that it puts in before and after: a critic's estimate, from what
        that seat sees, for the policy in training among those that it was trained with. None if
        the player has no such critic.
        """

    def action_values(self, records: np.ndarray) -> np.ndarray | None:
        """The same if the seat takes each action now, float64 [B, A], NaN where illegal.

        None if the player has no critic that values actions.
        """

    def state(self) -> dict[str, Any]:
        """What a snapshot keeps: `_target_`, settings and weights."""

    @classmethod
    def from_state(cls, state: dict[str, Any], game: Game, device: Any) -> Self:
        """The player whose `state()` this was; `device` is where its networks go."""


class NotNumbers(Refused):
    """A network has diverged: nothing that is measured of it means a thing."""

    def __init__(self) -> None:
        super().__init__("a player's probabilities are not numbers: the weights are far too large")


def checked(chances: np.ndarray) -> np.ndarray:
    """The same probabilities [B, A], if each row has chances that come to 1.

    Raises:
        NotNumbers: if they are no numbers.
        Refused: if one is negative, or a row comes to anything else: the player has a defect.
    """
    sums = chances.sum(1)
    if not np.isfinite(sums).all():
        raise NotNumbers
    if (chances < -ROUNDING).any():
        raise Refused(f"a player gives an action the probability {chances.min():.4g}; at least 0")
    if (wrong := np.abs(sums - 1) > ROUNDING).any():
        told = sums[wrong][0]
        raise Refused(f"a player's probabilities of a decision come to {told:.4g}, not to 1")
    return chances


def first_places(players: Sequence[Player]) -> np.ndarray:
    """For each place the first one of the same player, so that each player is asked once, [P]."""
    ids = [id(player) for player in players]
    return np.array([ids.index(one) for one in ids])


class Unvalued:
    """The part of `Player` that a player without a critic has."""

    def values(self, records: np.ndarray) -> np.ndarray | None:
        """None: it has no critic."""
        return None

    def action_values(self, records: np.ndarray) -> np.ndarray | None:
        """None: it has no critic."""
        return None
