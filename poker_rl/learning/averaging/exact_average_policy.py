"""Exact average policy over iterations, as a table, for games that can be enumerated.

It does not influence training. Comparing it with the average-policy network tells errors of the
network's fit from errors of the learner's policies.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import torch

from poker_rl.config.validation import ConfigError, error_prefix
from poker_rl.games.game import Game
from poker_rl.games.game_tree import get_tree
from poker_rl.games.sequence_form import compute_reach
from poker_rl.players.player import Player
from poker_rl.players.tabular_player import TabularPlayer


class ExactAveragePolicy:
    """Sums of policies, weighted by how likely the player's actions reach each information set.

    Args:
        interval: a policy is added in every `interval`-th iteration.
        iteration_weight_power: the policy of iteration t has weight t^power.
        instances: number of instances of the learner; it must be 1.
    """

    def __init__(
        self, game: Game, interval: int, iteration_weight_power: float, instances: int
    ) -> None:
        self._game, self._interval = game, interval
        self._iteration_weight_power = iteration_weight_power
        with error_prefix("exact_average_interval"):
            if instances > 1:
                raise ConfigError("needs algo.instances=1; with more instances: null")
            self._tree = get_tree(game)
        self._policy_sums = np.zeros(self._tree.legal_mask.shape)  # [I, A]

    def add(self, player: Player, seats: Iterable[int], iteration: int) -> None:
        """Add the current policy of some seats, if `iteration` is a multiple of `interval`."""
        if iteration % self._interval:
            return
        tree = self._tree
        policy = player.action_probs(tree.infoset_records)
        reach = np.ones(tree.legal_mask.size + self._game.seats)
        for seat in seats:
            start, end = tree.first_infoset_of_seat[seat], tree.first_infoset_of_seat[seat + 1]
            for part in range(*tree.sequence_form.first_part_of_seat[seat : seat + 2]):
                compute_reach(tree.sequence_form, part, policy, reach)
            action_reach = reach[: tree.legal_mask.size].reshape(tree.legal_mask.shape)
            weight = float(iteration) ** self._iteration_weight_power
            self._policy_sums[start:end] += weight * action_reach[start:end]

    def build_player(self) -> TabularPlayer:
        """Return the average so far; it is uniform at information sets with reach probability 0."""
        return TabularPlayer(self._game, self._tree.normalize(self._policy_sums))

    def state_dict(self) -> dict[str, Any]:
        """Return the sums of policies."""
        return {"sums": torch.from_numpy(self._policy_sums.copy())}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore a `state_dict`."""
        self._policy_sums[:] = state["sums"].numpy()
