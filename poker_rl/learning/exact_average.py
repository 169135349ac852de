"""The average of a policy over its iterations, tabulated over the whole of a small game.

It is no part of what a learner learns, but a measurement: what a network that is fitted to the same
average falls short of it is the error of the fit, and the rest is the learner's.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import torch

from poker_rl.config.settings import Refused, about
from poker_rl.games.game import Game
from poker_rl.games.sequences import multiply_out
from poker_rl.games.tree import tree_of
from poker_rl.players.player import Player
from poker_rl.players.table import TablePlayer


class ExactAverage:
    """Sums of policies, each weighted by the chance that its own earlier moves lead there.

    Args:
        game: the game played.
        every: iterations from one tabulation to the next.
        power: what iteration t adds weighs t to this power.
        instances: copies of the learner that train side by side.

    Raises:
        Refused: if the game is too large to enumerate, or there are several instances.
    """

    def __init__(self, game: Game, every: int, power: float, instances: int) -> None:
        self._game, self._every, self._power = game, every, power
        with about("average_exact"):
            if instances > 1:
                raise Refused("tabulates one learner alone; with more instances: null")
            self._tree = tree_of(game)
        self._sums = np.zeros(self._tree.legal.shape)  # [I, A]

    def add(self, player: Player, seats: Iterable[int], iteration: int) -> None:
        """Add the present policy of some seats, if this iteration's is to be tabulated."""
        if iteration % self._every:
            return
        tree = self._tree
        policy = player.probabilities(tree.records)
        reach = np.ones(tree.legal.size + self._game.seats)
        for seat in seats:
            begin, end = tree.first[seat], tree.first[seat + 1]
            for part in range(*tree.sequences.seat_parts[seat : seat + 2]):
                multiply_out(tree.sequences, part, policy, reach)
            edges = reach[: tree.legal.size].reshape(tree.legal.shape)
            self._sums[begin:end] += float(iteration) ** self._power * edges[begin:end]

    def player(self) -> TablePlayer:
        """The average so far, uniform play where none of the policies led."""
        return TablePlayer(self._game, self._tree.normalise(self._sums))

    def state_dict(self) -> dict[str, Any]:
        """The sums."""
        return {"sums": torch.from_numpy(self._sums.copy())}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on where `state_dict` was taken."""
        self._sums[:] = state["sums"].numpy()
