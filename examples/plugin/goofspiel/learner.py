"""Fictitious play on the enumerated game (Brown 1951), in turns.

    repeat: for each seat, find a best response to the other seats' average policy so far,
            and mix it into the seat's own average policy

The average is over sequences of moves: an action counts with the probability that its owner's own
moves lead to it (Heinrich, Lanctot & Silver 2015, "Fictitious Self-Play in Extensive-Form Games",
section 3). With two seats and payoffs that sum to zero it converges to an equilibrium.
"""

from __future__ import annotations

from dataclasses import InitVar, dataclass
from typing import Any

import numpy as np
import torch

from poker_rl.algos import Progress
from poker_rl.config import Sweeps
from poker_rl.games import Game, collect, multiply_out, rule, tree_of
from poker_rl.players import Player, TablePlayer


@dataclass(kw_only=True)
class FictitiousPlay:
    """The solver; its fields are the keys of its YAML, `game` is given when it is made.

    Raises:
        Refused: if the game is too large to enumerate.
    """

    iterations_per_step: Sweeps
    game: InitVar[Game]

    def __post_init__(self, game: Game) -> None:
        self.progress = Progress()
        self._game, self._tree = game, tree_of(game)
        self._sums = np.zeros(self._tree.legal.shape)  # [I, A] how often each was a best response

    def learn(self) -> dict[str, float]:
        """Run `iterations_per_step` iterations."""
        tree = self._tree
        for _ in range(self.iterations_per_step):
            for seat in range(self._game.seats):
                average = tree.normalise(self._sums)
                _add_best_response(seat, tree.sequences, average, self._sums)
        sweeps = self.iterations_per_step * self._game.seats
        self.progress.iterations += self.iterations_per_step
        self.progress.updates += sweeps
        self.progress.hands += sweeps * tree.deals
        self.progress.decisions += sweeps * int((tree.seat >= 0).sum())
        return {}

    def players(self) -> dict[str, Player]:
        """The average policy, which converges."""
        return {"average": TablePlayer(self._game, self._tree.normalise(self._sums))}

    def state_dict(self) -> dict[str, Any]:
        """The sums and the counters."""
        sums = torch.from_numpy(self._sums.copy())
        return {"sums": sums, "progress": self.progress.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on where `state_dict` was taken."""
        self._sums[:] = state["sums"].numpy()
        self.progress.load_state_dict(state["progress"])


@rule
def _add_best_response(seat, tree, average, sums):
    """Add a seat's best response to the others' average [I, A] to its sums [I, A], in place."""
    actions, seats = average.shape[1], len(tree.leaf_edge)
    reach = np.ones(average.size + seats)
    earned = np.empty(average.size + seats)
    best = np.empty(len(average), np.int64)
    for part in range(len(tree.parts) - 1):
        multiply_out(tree, part, average, reach)
    for part in range(tree.seat_parts[seat], tree.seat_parts[seat + 1]):
        collect(tree, part, reach, earned)
        for run in range(tree.parts[part + 1] - 1, tree.parts[part] - 1, -1):
            for i in range(tree.end[run] - 1, tree.begin[run] - 1, -1):
                best[i] = -1
                for a in range(actions):
                    edge, most = i * actions + a, i * actions + best[i]
                    if tree.legal[i, a] and (best[i] < 0 or earned[edge] > earned[most]):
                        best[i] = a
                if tree.previous[i] < average.size:  # an edge, not the root of the seat's moves
                    earned[tree.previous[i]] += earned[i * actions + best[i]]
        # Parents come first, so how an information set is reached is known when it is met.
        for run in range(tree.parts[part], tree.parts[part + 1]):
            for i in range(tree.begin[run], tree.end[run]):
                for a in range(actions):
                    reach[i * actions + a] = 0.0
                edge = i * actions + best[i]
                reach[edge] = reach[tree.previous[i]]
                sums[i, best[i]] += reach[edge]
