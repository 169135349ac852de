"""Gradient steps; those on batches of a replay buffer are captured, see `CapturedStep`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import torch
from torch import Tensor, nn

from poker_rl.config.schedules import Schedule
from poker_rl.learning.captured_step import CapturedStep
from poker_rl.learning.distributed import collectives
from poker_rl.learning.state_checks import load_optimizer
from poker_rl.learning.timing import LearnerTimer
from poker_rl.nets.dense import clip_gradients
from poker_rl.nets.replicas import count_replicas

OptimizerName = Literal["adam", "sgd"]


def set_learning_rates(optimizer: torch.optim.Optimizer, *learning_rates: float) -> None:
    """Set the learning rates of an optimizer's parameter groups, in their order."""
    for group, learning_rate in zip(optimizer.param_groups, learning_rates, strict=True):
        group["lr"] = learning_rate


def take_gradient_step(
    loss: Tensor,
    optimizer: torch.optim.Optimizer,
    clipped_module: nn.Module | None = None,
    max_grad_norm: float | None = None,
) -> None:
    """Take one optimizer step on a loss, with gradients averaged over the processes of the run.

    Args:
        loss: sum over the replicas of each replica's mean loss.
        clipped_module: networks whose gradients are clipped.
        max_grad_norm: largest gradient norm of each replica; None: no clipping.
    """
    optimizer.zero_grad()
    loss.backward()  # type: ignore[no-untyped-call]
    collectives.average_gradients(optimizer)
    if clipped_module is not None and max_grad_norm is not None:
        clip_gradients(clipped_module, max_grad_norm)
    optimizer.step()


class GradientStepper:
    """Optimizer of a network with K replicas that takes its steps by CUDA graph where possible.

    Args:
        module: the network.
        optimizer_name: Adam, or SGD without momentum.
        lr_schedule: learning rate as a function of `updates`.
        max_grad_norm: largest gradient norm of each replica; None: no clipping.
        compute_loss: samples a batch and returns the sum of the replicas' mean losses.
        sample_generator: generator that `compute_loss` samples with.
        timer: measures the time of the steps, in which it counts sampling as network time.

    Attributes:
        updates: number of steps.
        losses_summed: number of steps since the last `pop_mean_loss`.
    """

    def __init__(
        self,
        module: nn.Module,
        optimizer_name: OptimizerName,
        lr_schedule: Schedule,
        max_grad_norm: float | None,
        compute_loss: Callable[[], Tensor],
        sample_generator: torch.Generator,
        timer: LearnerTimer,
    ) -> None:
        self.updates = 0
        self._module, self._compute_loss = module, compute_loss
        self._timer = timer
        self._lr_schedule, self._max_grad_norm = lr_schedule, max_grad_norm
        device = next(module.parameters()).device
        self._lr_tensor = torch.zeros((), device=device)  # a tensor that a graph reads at replay
        self._optimizer: torch.optim.Optimizer
        if optimizer_name == "adam":
            self._optimizer = torch.optim.Adam(
                module.parameters(),
                lr=self._lr_tensor,
                fused=True,
                capturable=device.type == "cuda",
            )
        else:
            self._optimizer = torch.optim.SGD(module.parameters(), lr=self._lr_tensor, fused=True)
        self._loss_sum, self.losses_summed = torch.zeros((), device=device), 0
        self._captured_step = CapturedStep(self._take_step, device, [sample_generator])

    def step(self) -> None:
        """Take one gradient step, by CUDA graph where possible."""
        self._lr_tensor.fill_(self._lr_schedule.value(self.updates))
        with self._timer.time_networks():
            self._captured_step()
        self.updates += 1
        self.losses_summed += 1

    def pop_mean_loss(self) -> float:
        """Return the mean loss per replica since the last call; raises if there was no step."""
        mean = float(self._loss_sum) / (self.losses_summed * count_replicas(self._module))
        self._loss_sum.zero_()
        self.losses_summed = 0
        return mean

    def _take_step(self) -> None:
        loss = self._compute_loss()
        take_gradient_step(loss, self._optimizer, self._module, self._max_grad_norm)
        self._loss_sum += loss.detach()

    def state_dict(self) -> dict[str, Any]:
        """Return the optimizer state and the number of steps."""
        return {"updates": self.updates, "optimizer": self._optimizer.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore a `state_dict`."""
        self.updates = state["updates"]
        load_optimizer(self._optimizer, state["optimizer"])
        self._captured_step.reset()  # loading has replaced the moments
