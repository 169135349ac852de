"""A network that learns a learner's average policy, a part that any learner may carry.

It keeps a reservoir of what the learner saw and how it would have acted, and fits a network to it
by cross-entropy, as the average policy of neural fictitious self-play (arXiv:1603.01121). Rows of
later iterations may weigh more: t^power, as Deep CFR's (arXiv:1811.00164) with power 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from poker_rl.config.schedules import OverOwnSteps
from poker_rl.config.settings import Count, NonNegative, Passes, Positive
from poker_rl.learning import processes
from poker_rl.learning.agents import Agents
from poker_rl.learning.descent import Descent, Optimiser
from poker_rl.learning.memory import Column, Memory, Rule
from poker_rl.learning.rollout import Batch
from poker_rl.nets.chances import masked_log_softmax


@dataclass(kw_only=True, frozen=True)
class AverageSettings:
    """How the average-policy network is fitted."""

    capacity: Count  # items in each copy's reservoir
    rule: Rule
    updates: Passes  # gradient steps each time the learner asks for some
    batch: Count  # items of each copy in a step
    optimiser: Optimiser
    lr: OverOwnSteps
    gradient_norm: Positive | None
    power: NonNegative  # of the iteration, in an item's weight


class AveragePolicy:
    """The network, its reservoirs and its optimiser.

    Args:
        settings: see `AverageSettings`.
        agents: whose policy is averaged.
        last_scale: of the network's last layer at the start, as in `Size`.
        taken: learn from actions that were taken instead of from probabilities.
        beside: the learner's other memories.

    Attributes:
        module: the network that is fitted, K copies.
    """

    def __init__(
        self,
        settings: AverageSettings,
        agents: Agents,
        *,
        last_scale: float = 1.0,
        taken: bool = False,
        beside: Sequence[Memory] = (),
    ) -> None:
        actions = agents.game.actions
        self.settings = settings
        self.module = agents.network(actions, last_scale)
        self._taken_over = 0  # iterations of the runs that the reservoirs come from
        columns = {
            "observation": agents.column,
            "mask": Column(torch.bool, actions),
            "policy": Column(torch.bool if taken else torch.float32, actions),
        }
        if settings.power:
            columns["iteration"] = Column(torch.int32)
        self.memory = Memory(
            "average.capacity",
            settings.capacity,
            settings.rule,
            columns,
            agents.device,
            agents.seed(),
            copies=agents.copies,
            beside=beside,
        )
        self.memory.demand_batch("average.batch", settings.batch)
        self._clock = agents.clock
        self._descent = Descent(
            self.module,
            settings.optimiser,
            settings.lr,
            settings.gradient_norm,
            self._loss,
            self.memory.drawing,
            agents.clock,
        )

    @property
    def updates(self) -> int:
        """Gradient steps taken."""
        return self._descent.updates

    def add(self, batch: Batch, rows: np.ndarray, policy: np.ndarray, iteration: int) -> None:
        """Remember some decisions of a batch, by index or mask, and the policy in them [B, A]."""
        copy = batch.copy[rows]
        parts = {"observation": batch.observation[rows], "mask": batch.mask[rows], "policy": policy}
        if self.settings.power:
            parts["iteration"] = np.full(len(copy), self._taken_over + iteration)
        self.memory.add(copy, **parts)

    def learn(self) -> None:
        """Some gradient steps on batches of the reservoirs."""
        for _ in range(self.settings.updates):
            self._descent.step()

    def taught(
        self, batch: Batch, rows: np.ndarray, policy: np.ndarray, iteration: int
    ) -> dict[str, float]:
        """Add what `add` takes, learn if there is anything to learn, and tell the metrics."""
        self.add(batch, rows, policy, iteration)
        if self.memory.begun:  # a copy without items gets no gradient
            self.learn()
        return self.metrics()

    def metrics(self) -> dict[str, float]:
        """The mean loss since the last call; nothing if there was no step.

        That is the cross-entropy times each decision's weight, (its iteration / the newest of the
        batch) to the `power`: below the plain cross-entropy unless `power` is 0.
        """
        if not self._descent.counted:
            return {}
        return {"loss/average": self._descent.mean_loss()}

    def _loss(self) -> Tensor:
        batch = self.memory.sample(self.settings.batch)
        with self._clock.networks():
            logits = self.module(batch["observation"])  # [K, B, A]
            error = -(batch["policy"] * masked_log_softmax(logits, batch["mask"])).sum(2)
            if self.settings.power:
                age = batch["iteration"] / processes.largest(batch["iteration"].max())
                error = age**self.settings.power * error
            return error.mean(1).sum()

    def state_dict(self) -> dict[str, Any]:
        """Weights, optimiser and reservoirs."""
        return {
            "earlier": self._taken_over,
            "module": self.module.state_dict(),
            "descent": self._descent.state_dict(),
            "memory": self.memory.state_dict(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on where `state_dict` was taken."""
        self.module.load_state_dict(state["module"])
        self._descent.load_state_dict(state["descent"])
        self.memory.load_state_dict(state["memory"])
        self._taken_over = state.get("earlier", 0)  # a checkpoint without it has none

    def take_over(self, state: dict[str, Any]) -> None:
        """Begin with the weights and reservoirs of another run; its play counts as earlier play.

        Raises:
            Refused: if the reservoirs are of another size or kind.
        """
        self.module.load_state_dict(state["module"])
        self.memory.take_over(state["memory"])
        if self.settings.power:
            items = state["memory"]["items"]["iteration"]
            self._taken_over = max((int(one.max()) for one in items if len(one)), default=0)
