"""Opponent pool: past snapshots of the policy that play some of the hands in self-play.

It keeps self-play from forgetting how to beat earlier policies. In a share of the hands only one
seat learns, and the pool opponent plays all other seats: a snapshot sampled from a pool that covers
the whole run. Fictitious self-play (Heinrich, Lanctot and Silver, ICML 2015) does so too; OpenAI
Five (arXiv:1912.06680, section 3.1) played a fifth of its games against past versions.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np
from torch import nn

from poker_rl.config.validation import PositiveInt, Probability
from poker_rl.learning.learner_services import LearnerServices
from poker_rl.learning.snapshot_pool import SnapshotPool
from poker_rl.nets.replicas import count_replicas, expand_replicas


@dataclass(kw_only=True, frozen=True)
class OpponentPoolSettings:
    """Settings of an opponent pool.

    Args:
        play_prob: share of the hands (in apu: of the iterations) with a pool opponent; 0: no pool.
        snapshot_interval: iterations between snapshots; each time, a new pool opponent is sampled.
        capacity: largest number of snapshots in the pool.
    """

    play_prob: Probability
    snapshot_interval: PositiveInt
    capacity: PositiveInt


class OpponentPool(SnapshotPool):
    """Pool of snapshots, one of which plays as the pool opponent in sampled hands.

    Args:
        settings: see `OpponentPoolSettings`.
        services: see `LearnerServices`; its random generator is used.
        actor: the policy network in training, K replicas.

    Attributes:
        opponent_network: the network of the current pool opponent.
    """

    def __init__(
        self, settings: OpponentPoolSettings, services: LearnerServices, actor: nn.Module
    ) -> None:
        super().__init__(settings.capacity, services.generator)
        self.settings, self._services, self._actor = settings, services, actor
        self.opponent_network = deepcopy(actor).requires_grad_(False)

    def sample_learning_seats(self, tables: np.ndarray) -> np.ndarray:
        """Sample which seats learn in new hands: table indices [B] -> [B, seats] bool."""
        rollout = self._services.rollout
        seats = rollout.tables.count_seats(tables)
        is_sole_learner = self._generator.integers(seats)[:, None] == np.arange(
            rollout.agent_of_seat.shape[1]
        )
        has_pool_opponent = self._generator.random((len(tables), 1)) < self.settings.play_prob
        is_learner: np.ndarray = ~has_pool_opponent | is_sole_learner
        return is_learner

    def sample_whether_opponent_plays(self) -> bool:
        """Sample whether the pool opponent plays in this iteration."""
        plays: bool = self._generator.random() < self.settings.play_prob
        return plays

    def update(self, iterations: int) -> None:
        """Every `snapshot_interval` iterations, add a snapshot and sample a new pool opponent."""
        if iterations % self.settings.snapshot_interval:
            return
        snapshot = {name: weight.clone() for name, weight in self._actor.state_dict().items()}
        self.opponent_network.load_state_dict(self.add_and_sample(snapshot))

    def warm_start(self, state: dict[str, Any]) -> None:
        """Copy the snapshots of another run, as many as the capacity allows."""
        pool = state["snapshots"][: self.settings.capacity]
        self._snapshots = [
            expand_replicas(snapshot, count_replicas(self._actor)) for snapshot in pool
        ]
        self._snapshots_offered = state["snapshots_offered"]

    def state_dict(self) -> dict[str, Any]:
        """Return the snapshots, the current pool opponent and the number of snapshots offered."""
        return super().state_dict() | {"opponent_network": self.opponent_network.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore a `state_dict`."""
        super().load_state_dict(state)
        self.opponent_network.load_state_dict(state["opponent_network"])
