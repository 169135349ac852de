"""Gradient steps; those on batches of replay buffers are captured, see `CapturedStep`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal

import torch
from torch import Tensor, nn

from poker_rl.config.schedules import Schedule
from poker_rl.learning.buffers.replay_buffer import ReplayBuffer
from poker_rl.learning.captured_step import CapturedStep, ParallelBranch
from poker_rl.learning.chunked_adam import ChunkedAdam
from poker_rl.learning.distributed import collectives
from poker_rl.learning.state_checks import load_optimizer
from poker_rl.learning.timing import LearnerTimer
from poker_rl.nets.replicas import clip_gradients, count_replicas

OptimizerName = Literal["adam", "sgd"]

STEPS_PER_GRAPH = 8  # a graph of several steps samples all their batches at once


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
    """Optimizer of a network with K replicas that learns from a replay buffer.

    Args:
        lr_schedule: learning rate as a function of `updates`, the number of steps.
        max_grad_norm: largest gradient norm of each replica; None: no clipping.
        batch_size: number of items of each replica in a step.
        compute_loss: returns the sum of the replicas' mean losses on a batch of the buffer.

    Attributes:
        losses_summed: number of steps since the last `pop_mean_loss`.
        captured_steps: recordings of this optimizer's steps.
    """

    def __init__(
        self,
        module: nn.Module,
        optimizer_name: OptimizerName,
        lr_schedule: Schedule,
        max_grad_norm: float | None,
        buffer: ReplayBuffer,
        batch_size: int,
        compute_loss: Callable[[dict[str, Tensor]], Tensor],
    ) -> None:
        self.updates = 0
        self.module, self.buffer = module, buffer
        self.captured_steps: list[CapturedStep] = []
        self._batch_size, self._compute_loss = batch_size, compute_loss
        self._lr_schedule, self._max_grad_norm = lr_schedule, max_grad_norm
        device = next(module.parameters()).device
        # Learning rates of consecutive steps, in tensors that a graph reads at replay.
        self._lr_tensors = list(torch.zeros(STEPS_PER_GRAPH, device=device))
        self._lrs = [0.0] * STEPS_PER_GRAPH
        lr = self._lr_tensors[0]
        self._optimizer: torch.optim.Optimizer
        if optimizer_name == "sgd":
            self._optimizer = torch.optim.SGD(module.parameters(), lr=lr, fused=True)
        elif device.type == "cpu":
            self._optimizer = torch.optim.Adam(module.parameters(), lr=lr, fused=True)
        else:
            self._optimizer = ChunkedAdam(
                module.parameters(), lr=lr, fused=True, capturable=device.type == "cuda"
            )
        self._loss_sum, self.losses_summed = torch.zeros((), device=device), 0

    def prepare_steps(self, steps: int) -> None:
        """Set the learning rates of the next `steps` steps, at most STEPS_PER_GRAPH; count them."""
        for i in range(steps):
            lr = self._lr_schedule.value(self.updates + i)
            if lr != self._lrs[i]:
                self._lrs[i] = lr
                self._lr_tensors[i].fill_(lr)
        self.updates += steps
        self.losses_summed += steps

    def take_steps(self, steps: int) -> None:
        """Take the steps for which `prepare_steps` was called; this can be captured."""
        batches = self.buffer.sample_batches(self._batch_size, steps)
        for batch, lr in zip(batches, self._lr_tensors, strict=False):
            loss = self._compute_loss(batch)
            self._optimizer.param_groups[0]["lr"] = lr
            take_gradient_step(loss, self._optimizer, self.module, self._max_grad_norm)
            self._loss_sum += loss.detach()

    def pop_mean_loss(self) -> float:
        """Return the mean loss per replica since the last call; raises if there was no step."""
        mean = float(self._loss_sum) / (self.losses_summed * count_replicas(self.module))
        self._loss_sum.zero_()
        self.losses_summed = 0
        return mean

    def state_dict(self) -> dict[str, Any]:
        """Return the optimizer state and the number of steps."""
        return {"updates": self.updates, "optimizer": self._optimizer.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore a `state_dict`."""
        self.updates = state["updates"]
        load_optimizer(self._optimizer, state["optimizer"])
        for step in self.captured_steps:
            step.reset()  # loading has replaced the moments


class CapturedUpdates:
    """Gradient steps of networks that learn independently of each other, captured together.

    On a GPU, consecutive steps are captured in graphs of STEPS_PER_GRAPH steps and of one step, in
    which each network learns on a stream of its own. Sampling counts as network time.
    """

    def __init__(
        self, steppers: Sequence[GradientStepper], device: torch.device, timer: LearnerTimer
    ) -> None:
        self._steppers, self._timer = steppers, timer
        self._branches = [ParallelBranch(device) for _ in steppers[1:]]
        generators = [stepper.buffer.sample_generator for stepper in steppers]
        sizes = (STEPS_PER_GRAPH, 1) if device.type != "cpu" else (1,)
        self._captured_steps = {
            size: CapturedStep(partial(self._take_steps, size), device, generators)
            for size in sizes
        }
        for stepper in steppers:
            stepper.captured_steps += self._captured_steps.values()

    def take_steps(self, steps: int) -> None:
        """Take `steps` gradient steps of each network; the CPU does not wait for them."""
        with self._timer.time_networks():
            for size, captured_step in self._captured_steps.items():
                while steps >= size:
                    for stepper in self._steppers:
                        stepper.prepare_steps(size)
                    captured_step()
                    steps -= size

    def _take_steps(self, steps: int) -> None:
        for branch, stepper in zip(self._branches, self._steppers[1:], strict=True):
            with branch:
                stepper.take_steps(steps)
        self._steppers[0].take_steps(steps)
        for branch in self._branches:
            branch.join()
