"""Fictitious play on the enumerated game (Brown 1951), with updates of the seats in turn.

    repeat: for each seat, compute a best response to the other seats' average policy so far,
            and add it to the seat's own average policy

The average weights a policy in each information set with the probability that the seat's own moves
reach it (Heinrich, Lanctot & Silver 2015, "Fictitious Self-Play in Extensive-Form Games", section
3). With two seats and payoffs that sum to zero, the average converges to an equilibrium.
"""

from __future__ import annotations

from dataclasses import InitVar, dataclass
from typing import Any

import numpy as np
import torch

from poker_rl.algos import Progress
from poker_rl.config import SolverIterationCount
from poker_rl.games import Game, compute_reach, get_tree, jit, write_leaf_counterfactual_values
from poker_rl.players import Player, TabularPlayer


@dataclass(kw_only=True)
class FictitiousPlay:
    """Fictitious play; its fields are the keys of its YAML file, and poker-rl passes `game`.

    Raises:
        ConfigError: if the game is too large to enumerate.
    """

    iterations_per_step: SolverIterationCount
    game: InitVar[Game]

    def __post_init__(self, game: Game) -> None:
        self.progress = Progress()
        self._game, self._tree = game, get_tree(game)
        # Weighted sum of the best responses so far, [information sets, actions]
        self._sums = np.zeros(self._tree.legal_mask.shape)

    def learn(self) -> dict[str, float]:
        """Run `iterations_per_step` iterations; return no metrics."""
        tree = self._tree
        for _ in range(self.iterations_per_step):
            for seat in range(self._game.seats):
                average = tree.normalize_policy(self._sums)
                _add_best_response(seat, tree.sequence_form, average, self._sums)
        sweeps = self.iterations_per_step * self._game.seats
        self.progress.iterations += self.iterations_per_step
        self.progress.updates += sweeps
        self.progress.hands += sweeps * tree.deal_count
        self.progress.decisions += sweeps * int((tree.seat >= 0).sum())
        return {}

    def players(self) -> dict[str, Player]:
        """Return the average policy, which converges to an equilibrium."""
        return {"average": TabularPlayer(self._game, self._tree.normalize_policy(self._sums))}

    def state_dict(self) -> dict[str, Any]:
        """Return the sums and the progress, all that `load_state_dict` needs."""
        sums = torch.from_numpy(self._sums.copy())
        return {"sums": sums, "progress": self.progress.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore a `state_dict`."""
        self._sums[:] = state["sums"].numpy()
        self.progress.load_state_dict(state["progress"])


@jit
def _add_best_response(seat, tree, average, sums):
    """Add a seat's best response to `average` to `sums`; both are [information sets, actions]."""
    actions, seats = average.shape[1], len(tree.leaf_edge)
    reach = np.ones(average.size + seats)
    values = np.empty(average.size + seats)
    best = np.empty(len(average), np.int64)
    for part in range(len(tree.first_run_of_part) - 1):
        compute_reach(tree, part, average, reach)
    for part in range(tree.first_part_of_seat[seat], tree.first_part_of_seat[seat + 1]):
        write_leaf_counterfactual_values(tree, part, reach, values)
        for run in range(
            tree.first_run_of_part[part + 1] - 1, tree.first_run_of_part[part] - 1, -1
        ):
            for i in range(tree.run_end[run] - 1, tree.run_start[run] - 1, -1):
                best[i] = -1
                for a in range(actions):
                    edge, most = i * actions + a, i * actions + best[i]
                    if tree.legal_mask[i, a] and (best[i] < 0 or values[edge] > values[most]):
                        best[i] = a
                if tree.previous_edge[i] < average.size:  # the seat has moved before
                    values[tree.previous_edge[i]] += values[i * actions + best[i]]
        # Parents come first, so the reach of an information set is known before its own edges.
        for run in range(tree.first_run_of_part[part], tree.first_run_of_part[part + 1]):
            for i in range(tree.run_start[run], tree.run_end[run]):
                for a in range(actions):
                    reach[i * actions + a] = 0.0
                edge = i * actions + best[i]
                reach[edge] = reach[tree.previous_edge[i]]
                sums[i, best[i]] += reach[edge]
