"""Gradient steps; a GPU runs them as CUDA graphs if the batches come from replay buffers."""

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

STEPS_PER_GRAPH = 8  # gradient steps in a CUDA graph, which samples all their batches at once
MIN_CHUNK = 2048  # in `ChunkedAdam`: weights that a CUDA block of 512 threads handles at once
MAX_CHUNKS = 128  # in `ChunkedAdam`: about the number of multiprocessors of a large GPU


def build_adam(*networks: nn.Module, eps: float = 1e-8) -> torch.optim.Adam:
    """Build an Adam optimizer with a parameter group for each network."""
    groups = [{"params": list(network.parameters())} for network in networks]
    return torch.optim.Adam(groups, eps=eps, fused=True)


def set_learning_rates(optimizer: torch.optim.Optimizer, *learning_rates: float) -> None:
    """Set the learning rates of an optimizer's parameter groups, in their order."""
    for group, learning_rate in zip(optimizer.param_groups, learning_rates, strict=True):
        group["lr"] = learning_rate


def load_optimizer_moments(optimizer: torch.optim.Optimizer, state: dict[str, Any]) -> None:
    """Load the moments of a saved optimizer, but keep settings such as the learning rate."""
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

    The loss is the sum of each replica's mean loss. The gradients of `clipped_module` are clipped
    to `max_grad_norm` for each replica, unless that is None. Return the gradient norm before, []:
    the mean over the replicas of `clipped_module`, or without clipping that of all gradients.
    """
    optimizer.zero_grad()
    loss.backward()  # type: ignore[no-untyped-call]
    collectives.average_gradients(optimizer)
    if clipped_module is not None and max_grad_norm is not None:
        norm = clip_gradients(clipped_module, max_grad_norm).mean()
    else:
        weights = (weight for group in optimizer.param_groups for weight in group["params"])
        norm = get_total_norm([weight.grad for weight in weights if weight.grad is not None])
    optimizer.step()
    return norm


class ChunkedAdam(torch.optim.Adam):
    """Fused Adam that splits the weights into chunks, so that a GPU updates them in parallel.

    A block of torch's fused kernel handles 65,536 numbers of a tensor one after the other. So a
    small network keeps a few multiprocessors busy, for 50 microseconds on an H200. Here the kernel
    gets each tensor as several short ones, which share its memory. There is one parameter group.
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


class GradientStepper:
    """Optimizer of a network with K replicas that learns from a replay buffer.

    The learning rate depends on `updates`, the number of steps. `compute_loss` returns the sum of
    the replicas' mean losses on a batch of `batch_size` items of each replica.
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
        self.captured_steps: list[CapturedStep] = []  # those that use this optimizer
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
        else:
            adam, on_gpu = torch.optim.Adam if device.type == "cpu" else ChunkedAdam, lr.is_cuda
            self._optimizer = adam(module.parameters(), lr=lr, fused=True, capturable=on_gpu)
        self._sums = torch.zeros(2, device=device)  # sums of losses and of gradient norms
        self.losses_summed = 0  # number of steps since the last `pop_means`

    def prepare_steps(self, steps: int) -> None:
        """Count the next steps, up to STEPS_PER_GRAPH, and set their learning rates."""
        for i in range(steps):
            lr = self._lr_schedule.value(self.updates + i)
            if lr != self._lrs[i]:
                self._lrs[i] = lr
                self._lr_tensors[i].fill_(lr)
        self.updates += steps
        self.losses_summed += steps

    def take_steps(self, steps: int) -> None:
        """Take the steps that `prepare_steps` has prepared; a CUDA graph can record this."""
        batches = self.buffer.sample_batches(self._batch_size, steps)
        for batch, lr in zip(batches, self._lr_tensors, strict=False):
            loss = self._compute_loss(batch)
            self._optimizer.param_groups[0]["lr"] = lr
            norm = take_gradient_step(loss, self._optimizer, self.module, self._max_grad_norm)
            self._sums += torch.stack([loss.detach(), norm])

    def pop_means(self) -> tuple[float, float]:
        """Return the mean loss per replica and gradient norm of the steps since the last call."""
        steps, (loss_sum, norm_sum) = self.losses_summed, self._sums.tolist()
        self._sums.zero_()
        self.losses_summed = 0
        return loss_sum / (steps * count_replicas(self.module)), norm_sum / steps

    def state_dict(self) -> dict[str, Any]:
        return {"updates": self.updates, "optimizer": self._optimizer.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.updates = state["updates"]
        load_optimizer_moments(self._optimizer, state["optimizer"])
        for step in self.captured_steps:
            step.reset()  # loading has replaced moments that graphs use


class CapturedUpdates:
    """Gradient steps of several independent networks, recorded together in CUDA graphs on a GPU.

    One graph has STEPS_PER_GRAPH steps of each network, another one step.
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
