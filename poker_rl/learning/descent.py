"""Gradient steps on batches drawn from a memory, each recorded once as a CUDA graph on a GPU.

Small networks are bound by the launching of kernels there: a replayed graph launches all of a step,
from drawing its batch to the optimiser, at once. On a CPU, in a run of several processes, and for a
network whose work depends on the batch (`graphable` is False of one of its modules), the same
function is called.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import torch
from torch import Tensor, nn

from poker_rl.config.schedules import Schedule
from poker_rl.learning import processes
from poker_rl.learning.clock import Clock
from poker_rl.learning.state_checks import load_optimiser
from poker_rl.nets.copies import copies_of
from poker_rl.nets.dense import clip_gradients

Optimiser = Literal["adam", "sgd"]

WARM = 3  # steps before a graph is recorded: libraries allocate on first use


def set_rates(optimiser: torch.optim.Optimizer, *rates: float) -> None:
    """Give each group of an optimiser's weights its step size, in the order of the groups."""
    for group, rate in zip(optimiser.param_groups, rates, strict=True):
        group["lr"] = rate


def descend(
    loss: Tensor,
    optimiser: torch.optim.Optimizer,
    bounded: nn.Module | None = None,
    gradient_norm: float | None = None,
) -> None:
    """One step of an optimiser down the gradient of a loss, the mean over the run's processes.

    Args:
        bounded: the networks whose gradients get a bound, not always all that the optimiser moves.
        gradient_norm: the bound, of each copy's norm; None: there is none.
    """
    optimiser.zero_grad()
    loss.backward()  # type: ignore[no-untyped-call]
    processes.average_gradients(optimiser)
    if bounded is not None and gradient_norm is not None:
        clip_gradients(bounded, gradient_norm)
    optimiser.step()


class Descent:
    """Steps of an optimiser on one network of K copies.

    Args:
        module: the network.
        optimiser: Adam, or stochastic gradient descent without momentum.
        lr: step size over this network's own steps.
        gradient_norm: largest, of each copy; None: no bound.
        loss: draws a batch and gives the sum over copies of each one's mean loss.
        drawing: what `loss` draws with.
        clock: counts the networks' time; `loss` counts its own.

    Attributes:
        updates: steps taken.
        counted: those of them since `mean_loss` was last asked.
    """

    def __init__(
        self,
        module: nn.Module,
        optimiser: Optimiser,
        lr: Schedule,
        gradient_norm: float | None,
        loss: Callable[[], Tensor],
        drawing: torch.Generator,
        clock: Clock,
    ) -> None:
        self.updates = 0
        self._module, self._loss, self._drawing, self._clock = module, loss, drawing, clock
        self._lr, self._gradient_norm = lr, gradient_norm
        device = next(module.parameters()).device
        self._rate = torch.zeros((), device=device)  # a tensor: a graph reads it at each replay
        self._optimiser: torch.optim.Optimizer
        if optimiser == "adam":
            self._optimiser = torch.optim.Adam(
                module.parameters(), lr=self._rate, fused=True, capturable=device.type == "cuda"
            )
        else:
            self._optimiser = torch.optim.SGD(module.parameters(), lr=self._rate, fused=True)
        self._losses, self.counted = torch.zeros((), device=device), 0
        graphable = all(getattr(part, "graphable", True) for part in module.modules())
        self._recorded = device.type == "cuda" and graphable
        self._warm = 0
        self._graph: torch.cuda.CUDAGraph | None = None

    def step(self) -> None:
        """Take one."""
        self._rate.fill_(self._lr.value(self.updates))
        if self._recorded and processes.count() == 1:
            self._replay()
        else:
            self._step()
        self.updates += 1
        self.counted += 1

    def mean_loss(self) -> float:
        """Of a copy, over the steps since the last call, of which there must be one."""
        mean = float(self._losses) / (self.counted * copies_of(self._module))
        self._losses.zero_()
        self.counted = 0
        return mean

    def _step(self) -> None:
        loss = self._loss()
        with self._clock.networks():
            descend(loss, self._optimiser, self._module, self._gradient_norm)
            self._losses += loss.detach()

    def _replay(self) -> None:
        if self._warm < WARM:
            self._warm += 1
            stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
            stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(stream):
                self._step()
            torch.cuda.current_stream().wait_stream(stream)
            return
        if self._graph is None:
            self._graph = torch.cuda.CUDAGraph()
            self._graph.register_generator_state(self._drawing)
            with torch.cuda.graph(self._graph):
                self._step()
        with self._clock.networks():
            self._graph.replay()

    def state_dict(self) -> dict[str, Any]:
        """The optimiser and the number of steps; between two calls of `mean_loss` nothing else."""
        return {"updates": self.updates, "optimiser": self._optimiser.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on where `state_dict` was taken."""
        self.updates = state["updates"]
        load_optimiser(self._optimiser, state["optimiser"])
        self._warm, self._graph = 0, None  # a graph writes to the tensors it was recorded with
