"""Gradient steps; with batches from a replay buffer, a GPU runs them as CUDA graphs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn.utils import get_total_norm

from poker_rl.config.schedules import Schedule
from poker_rl.learning import collectives
from poker_rl.learning.buffers.replay_buffer import ReplayBuffer
from poker_rl.learning.cuda_graphs import CapturedStep, ParallelBranch
from poker_rl.learning.learner_timer import LearnerTimer
from poker_rl.nets.replicas import clip_gradients, count_replicas

OptimizerName = Literal["adam", "sgd"]

STEPS_PER_GRAPH = 8  # gradient steps in the longer CUDA graph; one call samples their batches
MIN_CHUNK = 2048  # of `ChunkedAdam`: weights that a CUDA block of 512 threads updates at once
MAX_CHUNKS = 128  # of `ChunkedAdam`: about as many as a large GPU has multiprocessors


def build_adam(*networks: nn.Module, eps: float = 1e-8) -> torch.optim.Adam:
    """Build an Adam optimizer with a parameter group for each network."""
    groups = [{"params": list(network.parameters())} for network in networks]
    return torch.optim.Adam(groups, eps=eps, fused=True)


def set_learning_rates(optimizer: torch.optim.Optimizer, *learning_rates: float) -> None:
    """Set the learning rates of an optimizer's parameter groups, in their order."""
    for group, learning_rate in zip(optimizer.param_groups, learning_rates, strict=True):
        group["lr"] = learning_rate


def load_optimizer_moments(optimizer: torch.optim.Optimizer, state: dict[str, Any]) -> None:
    """Load the moments of an optimizer's `state_dict`; keep settings such as the learning rate."""
    own = [dict(group) for group in optimizer.param_groups]
    optimizer.load_state_dict({**optimizer.state_dict(), "state": state["state"]})
    for group, settings in zip(optimizer.param_groups, own, strict=True):
        group.update(settings)  # CUDA graphs need a learning rate tensor to stay the same object


def take_gradient_step(
    loss: Tensor,
    optimizer: torch.optim.Optimizer,
    clipped_module: nn.Module | None = None,
    max_grad_norm: float | None = None,
) -> Tensor:
    """Take one optimizer step on a loss, with gradients averaged over the processes of the run.

    `loss` [] is the sum of the replicas' mean losses. With `clipped_module` and `max_grad_norm`,
    clip the gradients of each replica of that module to that norm, and return the mean of the
    replicas' norms before clipping, []. Else return the norm of all gradients together, [].
    """
    weights = [weight for group in optimizer.param_groups for weight in group["params"]]
    for weight in weights:
        weight.grad = None  # `zero_grad` does the same, but takes 3 % of a step of a small network
    loss.backward()  # type: ignore[no-untyped-call]
    collectives.average_gradients(optimizer)
    if clipped_module is not None and max_grad_norm is not None:
        norm = clip_gradients(clipped_module, max_grad_norm).mean()
    else:
        norm = get_total_norm([weight.grad for weight in weights if weight.grad is not None])
    optimizer.step()
    return norm


class ChunkedAdam(torch.optim.Adam):
    """Fused Adam that splits the weights into chunks, so that a GPU updates them in parallel.

    A CUDA block of torch's fused kernel updates up to 65,536 numbers of a tensor, 2,048 at a time.
    So a small network keeps only a few multiprocessors busy, for 50 microseconds on an H200. Here
    the kernel gets each tensor as several short views of it. There may be only one parameter group.
    """

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        """Take one step; the first is a step of torch's Adam, which allocates the moments."""
        if not self.state:
            super().step(closure)
            return
        (group,) = self.param_groups
        weights = [weight for weight in group["params"] if weight.grad is not None]
        states = [self.state[weight] for weight in weights]
        chunk = MIN_CHUNK * -(-sum(map(torch.numel, weights)) // (MAX_CHUNKS * MIN_CHUNK))

        def split(tensors: list[Tensor]) -> list[Tensor]:
            return [part for tensor in tensors for part in torch.split(tensor.view(-1), chunk)]

        steps = [state["step"] for state in states]
        torch._foreach_add_(steps, 1)
        torch._fused_adam_(
            split(weights),
            split([weight.grad for weight in weights]),
            split([state["exp_avg"] for state in states]),
            split([state["exp_avg_sq"] for state in states]),
            [],
            [step for one, step in zip(weights, steps, strict=True) for _ in split([one])],
            beta1=group["betas"][0],
            beta2=group["betas"][1],
            **{name: group[name] for name in ("lr", "weight_decay", "eps", "amsgrad", "maximize")},
        )


class ReplayOptimizer:
    """Optimizer of a network with K replicas, on batches sampled from a replay buffer.

    `compute_loss` returns the sum of the replicas' mean losses on a batch of `batch_size` items of
    each replica. The learning rate depends on `updates`, the number of steps taken.
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
        self.captured_steps: list[CapturedStep] = []  # they are reset when moments are loaded
        self._batch_size, self._compute_loss = batch_size, compute_loss
        self._lr_schedule, self._max_grad_norm = lr_schedule, max_grad_norm
        device = next(module.parameters()).device
        # Each step of a graph reads its learning rate from one of these tensors at every replay.
        self._lr_tensors = list(torch.zeros(STEPS_PER_GRAPH, device=device))
        self._lrs = [0.0] * STEPS_PER_GRAPH
        lr = self._lr_tensors[0]
        self._optimizer: torch.optim.Optimizer
        if optimizer_name == "sgd":
            self._optimizer = torch.optim.SGD(module.parameters(), lr=lr, fused=True)
        else:
            adam, on_gpu = torch.optim.Adam if device.type == "cpu" else ChunkedAdam, lr.is_cuda
            self._optimizer = adam(module.parameters(), lr=lr, fused=True, capturable=on_gpu)
        self._sums = torch.zeros(2, device=device)  # sums of losses and of gradient norms
        self._summed_steps = 0  # number of steps since the last `pop_metrics`

    def advance_lr_schedule(self, steps: int) -> None:
        """Set the learning rates of the next `steps` steps, at most STEPS_PER_GRAPH; count them."""
        for i in range(steps):
            lr = self._lr_schedule.value(self.updates + i)
            if lr != self._lrs[i]:
                self._lrs[i] = lr
                self._lr_tensors[i].fill_(lr)
        self.updates += steps
        self._summed_steps += steps

    def take_steps_with_prepared_lrs(self, steps: int) -> None:
        """Take the steps that `advance_lr_schedule` has prepared; a CUDA graph can record this."""
        size = self._batch_size
        items = self.buffer.sample(steps * size)
        for i in range(steps):
            batch = {name: part[:, i * size : (i + 1) * size] for name, part in items.items()}
            loss = self._compute_loss(batch)
            self._optimizer.param_groups[0]["lr"] = self._lr_tensors[i]
            norm = take_gradient_step(loss, self._optimizer, self.module, self._max_grad_norm)
            self._sums += torch.stack([loss.detach(), norm])

    def pop_metrics(self, loss_tag: str, norm_tag: str) -> dict[str, float]:
        """Return mean loss per replica and gradient norm since the last call; {} without steps."""
        steps = self._summed_steps
        if not steps:
            return {}
        loss_sum, norm_sum = self._sums.tolist()
        self._sums.zero_()
        self._summed_steps = 0
        mean_loss = loss_sum / (steps * count_replicas(self.module))
        return {loss_tag: mean_loss, norm_tag: norm_sum / steps}

    def state_dict(self) -> dict[str, Any]:
        return {"updates": self.updates, "optimizer": self._optimizer.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.updates = state["updates"]
        load_optimizer_moments(self._optimizer, state["optimizer"])
        for step in self.captured_steps:
            step.reset()  # its graph uses the old moments


class CapturedUpdates:
    """Gradient steps of several independent networks, recorded together in CUDA graphs on a GPU.

    One graph takes STEPS_PER_GRAPH steps of each network, a second graph takes one step of each.
    """

    def __init__(
        self, optimizers: Sequence[ReplayOptimizer], device: torch.device, timer: LearnerTimer
    ) -> None:
        self._optimizers, self._timer = optimizers, timer
        self._branches = [ParallelBranch(device) for _ in optimizers[1:]]
        generators = [optimizer.buffer.sample_generator for optimizer in optimizers]
        sizes = (STEPS_PER_GRAPH, 1) if device.type != "cpu" else (1,)
        self._captured_steps = {
            size: CapturedStep(partial(self._take_gradient_steps, size), device, generators)
            for size in sizes
        }
        for optimizer in optimizers:
            optimizer.captured_steps += self._captured_steps.values()

    def take_steps(self, steps: int) -> None:
        """Take `steps` gradient steps of each network, without waiting for a GPU to finish them."""
        with self._timer.time_networks():
            for size, captured_step in self._captured_steps.items():
                while steps >= size:
                    for optimizer in self._optimizers:
                        optimizer.advance_lr_schedule(size)
                    captured_step()
                    steps -= size

    def _take_gradient_steps(self, steps: int) -> None:
        for branch, optimizer in zip(self._branches, self._optimizers[1:], strict=True):
            with branch:
                optimizer.take_steps_with_prepared_lrs(steps)
        self._optimizers[0].take_steps_with_prepared_lrs(steps)
        for branch in self._branches:
            branch.join()
