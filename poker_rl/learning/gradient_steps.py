"""Gradient steps, which a CUDA graph replays if their batches come from a replay buffer.

The time of a small network's step on a GPU is mostly that of kernel launches. A CUDA graph launches
a whole step at once, from sampling the batch to the optimizer. Steps run eagerly, without a graph,
on a CPU, with several processes, and if a module has `is_graphable = False` because its kernels
depend on the data.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import torch
from torch import Tensor, nn

from poker_rl.config.schedules import Schedule
from poker_rl.learning.distributed import collectives
from poker_rl.learning.state_checks import load_optimizer
from poker_rl.learning.timing import LearnerTimer
from poker_rl.nets.dense import clip_gradients
from poker_rl.nets.replicas import count_replicas

OptimizerName = Literal["adam", "sgd"]

GRAPH_WARMUP_STEPS = 3  # eager steps before recording, since libraries allocate on first use


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
        timer: measures the time in networks; `compute_loss` has to count its network time itself.

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
        self._sample_generator, self._timer = sample_generator, timer
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
        graphable = all(getattr(part, "is_graphable", True) for part in module.modules())
        self._uses_graph = device.type == "cuda" and graphable
        self._warmup_steps_done = 0
        self._graph: torch.cuda.CUDAGraph | None = None

    def step(self) -> None:
        """Take one gradient step, by CUDA graph where possible."""
        self._lr_tensor.fill_(self._lr_schedule.value(self.updates))
        if self._uses_graph and collectives.get_world_size() == 1:
            self._step_by_graph()
        else:
            self._step_eagerly()
        self.updates += 1
        self.losses_summed += 1

    def pop_mean_loss(self) -> float:
        """Return the mean loss per replica since the last call; raises if there was no step."""
        mean = float(self._loss_sum) / (self.losses_summed * count_replicas(self._module))
        self._loss_sum.zero_()
        self.losses_summed = 0
        return mean

    def _step_eagerly(self) -> None:
        loss = self._compute_loss()
        with self._timer.time_networks():
            take_gradient_step(loss, self._optimizer, self._module, self._max_grad_norm)
            self._loss_sum += loss.detach()

    def _step_by_graph(self) -> None:
        if self._warmup_steps_done < GRAPH_WARMUP_STEPS:
            self._warmup_steps_done += 1
            stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
            stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(stream):
                self._step_eagerly()
            torch.cuda.current_stream().wait_stream(stream)
            return
        if self._graph is None:
            self._graph = torch.cuda.CUDAGraph()
            self._graph.register_generator_state(self._sample_generator)
            with torch.cuda.graph(self._graph):
                self._step_eagerly()
        with self._timer.time_networks():
            self._graph.replay()

    def state_dict(self) -> dict[str, Any]:
        """Return the optimizer state and the number of steps."""
        return {"updates": self.updates, "optimizer": self._optimizer.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore a `state_dict`."""
        self.updates = state["updates"]
        load_optimizer(self._optimizer, state["optimizer"])
        self._warmup_steps_done, self._graph = 0, None  # the old graph uses replaced tensors
