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
from poker_rl.games.game import Game, rule
from poker_rl.games.tables import tables_of

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

    def __init__(self, who: str = "a player") -> None:
        told = "probabilities that are not numbers: the weights of a network may be far too large"
        super().__init__(f"{who} gives {told}")


def policy_at(
    game: Game, player: Player, records: np.ndarray, legal: np.ndarray | None = None
) -> np.ndarray:
    """What a player does at tables [B], each at its seat to act, if it is a policy.

    Whoever is not sure of a player's class asks it through here: a bot with a mistake in it would
    be measured all the same, and look better or worse than it is.

    Args:
        player: is asked once, for all the tables.
        legal: which actions are legal at them, [B, A] bool, for who knows it already.

    Returns:
        float [B, A]: of each action; rows come to 1, with 0 where illegal.

    Raises:
        NotNumbers: if they are no numbers.
        Refused: if they are anything else; says the player's class.
    """
    chances = player.probabilities(records)
    if legal is None:
        legal = tables_of(game, records).legal()
    kind = type(player)
    who = f"the player {kind.__module__}.{kind.__qualname__}"
    if chances.shape != legal.shape:
        shapes = f"an array of shape {chances.shape} where {legal.shape} was asked for"
        raise Refused(f"{who} gives {shapes}: tables by actions")
    row = _no_policy(chances, legal)
    if row < 0:
        return chances
    told = chances[row]
    if not np.isfinite(told).all():
        raise NotNumbers(who)
    if told.min() < -ROUNDING:
        raise Refused(f"{who} gives an action the probability {told.min():.4g}; at least 0")
    where = game.infoset_name(records[row])
    illegal = np.flatnonzero((told != 0) & ~legal[row])
    if len(illegal):
        share = f"{game.action_name(int(illegal[0]))} the probability {told[illegal[0]]:.4g}"
        raise Refused(f"{who} gives {share} where it is illegal: {where}")
    raise Refused(f"{who} gives probabilities that come to {told.sum():.4g}, not to 1: {where}")


@rule
def _no_policy(chances, legal):  # type: ignore[no-untyped-def]
    """The first row that is no policy, -1 if all are."""
    for row in range(len(chances)):
        left = 1.0
        for action in range(chances.shape[1]):
            chance = chances[row, action]
            if chance != 0.0:
                left -= chance
                if chance < -ROUNDING or not legal[row, action]:
                    return row
        if not abs(left) <= ROUNDING:
            return row
    return -1


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
