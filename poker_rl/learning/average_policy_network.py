"""Average-policy network, trained by supervised learning on the policies of all iterations.

Decisions of the learner are stored in a reservoir with the policy that made them. A network is
fitted to these policies by cross-entropy, as in neural fictitious self-play (arXiv:1603.01121).
Decisions of iteration t can have weight t^power; Deep CFR (arXiv:1811.00164) uses power 1. In
shapes, K counts replicas, B decisions (in [K, B], those of each replica), W features and A actions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from poker_rl.config.input_checks import NonNegativeFloat, PassCount, PositiveFloat, PositiveInt
from poker_rl.config.schedules import ScheduleOverGradientSteps
from poker_rl.learning import collectives
from poker_rl.learning.buffers.insertion_rules import InsertionRule
from poker_rl.learning.buffers.replay_buffer import Column, ReplayBuffer
from poker_rl.learning.gradient_steps import CapturedUpdates, OptimizerName, ReplayOptimizer
from poker_rl.learning.learner_services import LearnerServices
from poker_rl.nets.action_probs import masked_log_softmax
from poker_rl.nets.weight_ema import WeightEMA
from poker_rl.players.network_player import Critic
from poker_rl.players.player import Player


@dataclass(kw_only=True, frozen=True)
class AveragePolicySettings:
    """Settings of an average-policy network."""

    capacity: PositiveInt  # decisions that the reservoir of each replica can hold
    insertion_rule: InsertionRule
    gradient_steps: PassCount  # taken whenever the learner trains its other networks
    batch_size: PositiveInt  # decisions of each replica in a gradient step
    optimizer: OptimizerName
    lr: ScheduleOverGradientSteps
    max_grad_norm: PositiveFloat | None  # largest gradient norm of each replica; None: no limit
    iteration_weight_power: NonNegativeFloat  # decisions of iteration t have weight t^power


class AveragePolicyNetwork:
    """Average-policy network (`module`, K replicas), its optimizer, and one reservoir per replica.

    With `learn_from_actions`, its targets are the actions taken, as one-hot vectors, instead of
    policies. See `ReplayBuffer` for `other_buffers`.
    """

    def __init__(
        self,
        settings: AveragePolicySettings,
        services: LearnerServices,
        *,
        output_init_scale: float = 1.0,
        learn_from_actions: bool = False,
        other_buffers: Sequence[ReplayBuffer] = (),
    ) -> None:
        actions = services.game.action_count
        self.settings = settings
        self.module = services.build_network(actions, output_init_scale)
        self._warm_start_iterations = 0  # newest iteration in reservoirs copied by `warm_start`
        columns = {
            "observation": services.observation_column,
            "mask": Column(torch.bool, actions),
            "policy": Column(torch.bool if learn_from_actions else torch.float32, actions),
        }
        if settings.iteration_weight_power:
            columns["iteration"] = Column(torch.int32)
        self.buffer = ReplayBuffer(
            "average_policy.capacity",
            settings.capacity,
            settings.insertion_rule,
            columns,
            services.device,
            services.sample_seed(),
            replicas=services.replicas,
            other_buffers=other_buffers,
        )
        optimizer = settings.optimizer, settings.lr, settings.max_grad_norm
        batches = self.buffer, settings.batch_size
        self.optimizer = ReplayOptimizer(self.module, *optimizer, *batches, self._compute_loss)
        self.captured_updates = CapturedUpdates([self.optimizer], services.device, services.timer)

    def add(
        self,
        replica: np.ndarray,
        observation: np.ndarray,
        mask: np.ndarray,
        policy: np.ndarray,
        iteration: int,
    ) -> None:
        """Add B decisions: `replica` [B], `observation` [B, W], `mask` and `policy` [B, A]."""
        columns = {"observation": observation, "mask": mask, "policy": policy}
        if self.settings.iteration_weight_power:
            columns["iteration"] = np.full(len(replica), self._warm_start_iterations + iteration)
        self.buffer.add(replica, **columns)

    def learn(self) -> dict[str, float]:
        """Take `settings.gradient_steps` steps if there are items; return `pop_metrics()`."""
        # A replica without items samples zeros, whose loss is 0.
        if collectives.max_over_processes(int(self.buffer.items_added.max())) > 0:
            self.captured_updates.take_steps(self.settings.gradient_steps)
        return self.pop_metrics()

    def pop_metrics(self) -> dict[str, float]:
        """Return mean loss and gradient norm of the steps since the last call; {} without steps."""
        return self.optimizer.pop_metrics("loss/average", "gradient/norm_average")

    def _compute_loss(self, batch: dict[str, Tensor]) -> Tensor:
        logits = self.module(batch["observation"])  # [K, B, A]
        cross_entropy = -(batch["policy"] * masked_log_softmax(logits, batch["mask"])).sum(2)
        if self.settings.iteration_weight_power:
            newest = collectives.all_reduce_max(batch["iteration"].max())
            weight = (batch["iteration"] / newest) ** self.settings.iteration_weight_power
            cross_entropy = weight * cross_entropy
        return cross_entropy.mean(1).sum()

    def state_dict(self) -> dict[str, Any]:
        return {
            "warm_start_iterations": self._warm_start_iterations,
            "module": self.module.state_dict(),
            "stepper": self.optimizer.state_dict(),
            "buffer": self.buffer.state_dict(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.module.load_state_dict(state["module"])
        self.optimizer.load_state_dict(state["stepper"])
        self.buffer.load_state_dict(state["buffer"])
        self._warm_start_iterations = state["warm_start_iterations"]

    def warm_start(self, state: dict[str, Any]) -> None:
        """Copy weights and reservoirs from the `state_dict` of another run.

        If decisions are weighted by iteration, the first iteration of this run follows the newest
        one in the reservoirs.
        """
        self.module.load_state_dict(state["module"])
        self.buffer.warm_start(state["buffer"])
        if self.settings.iteration_weight_power:
            iterations = torch.cat([*state["buffer"]["items"]["iteration"], torch.zeros(1).int()])
            self._warm_start_iterations = int(iterations.max())


class EMAAndAveragePolicy:
    """EMA of the actor's weights, and an `AveragePolicyNetwork` unless its `settings` are None.

    The `options` are further keyword arguments of the `AveragePolicyNetwork`.
    """

    def __init__(
        self,
        services: LearnerServices,
        actor: nn.Module,
        ema_decay: float,
        settings: AveragePolicySettings | None,
        output_init_scale: float,
        **options: Any,
    ) -> None:
        self._services, self._actor = services, actor
        self.weight_ema = WeightEMA(actor, ema_decay)
        self.average_policy: AveragePolicyNetwork | None = None
        if settings is not None:
            options["output_init_scale"] = output_init_scale
            self.average_policy = AveragePolicyNetwork(settings, services, **options)

    def build_players(self, critic: Critic | None) -> dict[str, Player]:
        """Return the players "average" (if any, without critic), "weight_average" and "current"."""
        players = self._services.build_players(
            critic, weight_average=self.weight_ema.module, current=self._actor
        )
        if self.average_policy is None:
            return players
        return {"average": self._services.build_player(self.average_policy.module), **players}

    def stateful_parts(self) -> dict[str, WeightEMA | AveragePolicyNetwork | None]:
        return {"weight_average": self.weight_ema, "average": self.average_policy}
