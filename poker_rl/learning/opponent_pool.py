"""Opponent pool: self-play in which past snapshots of the policy play some of the seats.

In a share of the hands only one seat learns, and a snapshot from any time of the run, the pool
opponent, plays all other seats. So the policy does not forget how to beat earlier policies. OpenAI
Five (arXiv:1912.06680) played a fifth of its games against past versions.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np
from torch import nn

from poker_rl.config.input_checks import ConfigError, PositiveInt, Probability
from poker_rl.learning.learner_services import LearnerServices
from poker_rl.learning.opponents import SnapshotPool
from poker_rl.nets.replicas import count_replicas, expand_replicas


@dataclass(kw_only=True, frozen=True)
class OpponentPoolSettings:
    """Settings of an opponent pool."""

    play_prob: Probability  # share of hands (apu: of iterations) with a pool opponent; 0: no pool
    snapshot_interval: PositiveInt  # iterations between snapshots and changes of the opponent
    capacity: PositiveInt  # largest number of snapshots in the pool


class OpponentPool(SnapshotPool):
    """Pool of snapshots of `actor` for self-play; `opponent_network` is the one that plays now."""

    def __init__(
        self, settings: OpponentPoolSettings, services: LearnerServices, actor: nn.Module
    ) -> None:
        if services.rollout.opponents is not None:
            raise ConfigError("opponent_pool.play_prob: needs self-play; with opponents: 0")
        super().__init__(settings.capacity, services.generator)
        self.settings, self._services, self._actor = settings, services, actor
        self.opponent_network = deepcopy(actor).requires_grad_(False)

    def sample_learning_seats(self, tables: np.ndarray) -> np.ndarray:
        """Sample who learns in new hands at `tables` [B]: all seats or a single one, [B, seats]."""
        rollout = self._services.rollout
        seats = rollout.tables.count_seats(tables)
        is_sole_learner = self._generator.integers(seats)[:, None] == np.arange(rollout.game.seats)
        is_learner: np.ndarray = ~self.sample_whether_opponent_plays(len(tables)) | is_sole_learner
        return is_learner

    def sample_whether_opponent_plays(self, hands: int = 1) -> np.ndarray:
        """Sample for each hand whether the pool opponent plays in it, [hands, 1] bool."""
        return self._generator.random((hands, 1)) < self.settings.play_prob

    def update(self, iterations: int) -> None:
        """Add a snapshot and sample a new pool opponent every `snapshot_interval` iterations."""
        if iterations % self.settings.snapshot_interval:
            return
        snapshot = {name: weight.clone() for name, weight in self._actor.state_dict().items()}
        self.opponent_network.load_state_dict(self.add_and_sample(snapshot))

    def warm_start(self, state: dict[str, Any]) -> None:
        """Copy the snapshots in another run's `state_dict`, as many as the capacity allows."""
        pool = state["snapshots"][: self.settings.capacity]
        self._snapshots = [
            expand_replicas(snapshot, count_replicas(self._actor)) for snapshot in pool
        ]
        self._snapshots_offered = state["snapshots_offered"]

    def state_dict(self) -> dict[str, Any]:
        return super().state_dict() | {"opponent_network": self.opponent_network.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super().load_state_dict(state)
        self.opponent_network.load_state_dict(state["opponent_network"])
