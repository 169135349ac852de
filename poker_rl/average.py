"""A network that learns a learner's average policy, a part that any learner may carry.

It keeps a reservoir of what the learner saw and how it would have acted, and fits a network to it
by cross-entropy, as the average policy of neural fictitious self-play (arXiv:1603.01121). Rows of
later iterations may weigh more: t^power, as Deep CFR's (arXiv:1811.00164) with power 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn

from poker_rl.memory import Reservoir
from poker_rl.nets import clip_gradients, masked_log_softmax, routed
from poker_rl.settings import Count, NonNegative, Positive


@dataclass(kw_only=True, frozen=True)
class AverageSettings:
    """How the average-policy network is fitted."""

    capacity: Count  # rows in the reservoir
    updates: Count  # gradient steps each iteration of the learner
    batch: Count
    lr: Positive
    power: NonNegative  # of the iteration, in a row's weight


class AveragePolicy:
    """The network, its reservoir and its optimiser.

    Args:
        settings: see `AverageSettings`.
        module: the network to fit, K copies.
        generator: draws reservoir slots and batches; its owner saves it.
    """

    def __init__(
        self, settings: AverageSettings, module: nn.Module, generator: np.random.Generator
    ) -> None:
        self.settings, self.module = settings, module
        self.memory = Reservoir(settings.capacity, generator)
        self.optimiser = torch.optim.Adam(module.parameters(), lr=settings.lr)

    def add(
        self,
        observation: np.ndarray,
        mask: np.ndarray,
        probabilities: np.ndarray,
        copy: np.ndarray,
        iteration: int,
    ) -> None:
        """Remember decisions: seen [B, W], legal [B, A], the policy [B, A] and its copy [B]."""
        self.memory.add(
            observation=observation,
            mask=mask,
            probabilities=probabilities.astype(np.float32),
            copy=copy,
            iteration=np.full(len(copy), iteration),
        )

    def learn(self) -> dict[str, float]:
        """Some gradient steps on batches of the reservoir; the mean cross-entropy."""
        device = next(self.module.parameters()).device
        total = 0.0
        for _ in range(self.settings.updates):
            rows = self.memory.sample(self.settings.batch)
            batch = {name: torch.from_numpy(part).to(device) for name, part in rows.items()}
            logits = routed(self.module, batch["observation"].float(), batch["copy"])
            log_policy = masked_log_softmax(logits, batch["mask"])  # [B, A]
            age = batch["iteration"].float() / batch["iteration"].max()
            error = -(batch["probabilities"] * log_policy).sum(1)  # [B]
            loss = (age**self.settings.power * error).mean()
            self.optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            clip_gradients(self.module, 1.0)
            self.optimiser.step()
            total += loss.item()
        return {"loss/average": total / self.settings.updates}

    def state_dict(self) -> dict[str, Any]:
        """Weights, optimiser and reservoir."""
        return {
            "module": self.module.state_dict(),
            "optimiser": self.optimiser.state_dict(),
            "memory": self.memory.state_dict(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on where `state_dict` was taken."""
        self.module.load_state_dict(state["module"])
        self.optimiser.load_state_dict(state["optimiser"])
        self.memory.load_state_dict(state["memory"])
