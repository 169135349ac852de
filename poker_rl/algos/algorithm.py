"""What an algorithm is to the training loop."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import InitVar, asdict, dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
import torch

from poker_rl.config.settings import Refused
from poker_rl.learning import processes
from poker_rl.learning.agents import Agents, Given
from poker_rl.learning.average import AveragePolicy
from poker_rl.learning.state_checks import MOST_ITEMS, check_range, load_optimiser
from poker_rl.players.player import Player


@dataclass
class Progress:
    """Work done so far. The budget names one of these, and a curve is drawn over it.

    Every algorithm counts all four: a solver that passes through the whole tree counts its deals
    as hands and its decision nodes as decisions; one that walks the public tree, where all hands
    stand at a node together, its information sets.
    """

    hands: int = 0
    decisions: int = 0
    updates: int = 0  # steps of an optimiser, or sweeps over the regrets
    iterations: int = 0  # of the algorithm's own loop, as its docstring draws it

    def state_dict(self) -> dict[str, Any]:
        """The counters."""
        return asdict(self)

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on counting from these.

        Raises:
            ValueError: if one is no number that can be counted on from.
        """
        counters = {name: state[name] for name in vars(self)}
        check_range("progress", np.array([*counters.values()], np.int64), 0, MOST_ITEMS)
        vars(self).update(counters)


class Stateful(Protocol):
    """A part of a learner that is saved and resumed."""

    def state_dict(self) -> dict[str, Any]:
        """All of it, as tensors and plain values."""

    def load_state_dict(self, state: dict[str, Any]) -> Any:
        """Go on where `state_dict` was taken."""


class Algorithm(Protocol):
    """A learner or solver.

    `players` and `state_dict` only look: calling them, or not, leaves the rest of the run as it
    would have been to the last bit.
    """

    progress: Progress

    def learn(self) -> Mapping[str, float]:
        """One unit of work; its metrics by TensorBoard tag ("loss/policy"), each of them finite."""

    def players(self) -> Mapping[str, Player]:
        """Every policy to be evaluated, by name ("average", "current").

        The first is the headline player: the one of them that is expected closest to an
        equilibrium. It is the one meant where a run is named without a player.
        """

    def state_dict(self) -> dict[str, Any]:
        """Everything, counters and generators included, as tensors and plain values.

        Its floating tensors hold only finite numbers, memory not yet used among them.
        """

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on exactly where `state_dict` was taken."""


@dataclass(kw_only=True)
class NetworkLearner(ABC):
    """What learners with networks have in common: agents, progress, and a state part by part.

    A learner's fields are its YAML. Its `__post_init__` is handed what it is given, and calls
    `_begin` before it makes anything else.
    """

    given: InitVar[Given]

    # The names of the parts that hold what was learnt: networks and averages. A warm start takes
    # these over from another run and begins all others afresh.
    learnt: ClassVar[tuple[str, ...]]

    # Other learners, by `_target_`, whose parts of these names a warm start may take over as well.
    begins_with: ClassVar[tuple[str, ...]] = ()

    # The names of the parts, and of parts of those, that each process of a run has of its own:
    # tables, memories. All else is the same in all of them. None: it learns in one process.
    own: ClassVar[tuple[str, ...] | None] = None

    @abstractmethod
    def _iterate(self) -> dict[str, float]:
        """Play and learn once, `_count` what was played, and the updates; what `learn` tells."""

    @abstractmethod
    def _parts(self) -> dict[str, Stateful | None]:
        """What else has a state, by name; None where these settings make no such part."""

    def own_steps(self) -> dict[str, int]:
        """Gradient steps so far that a step size counts by itself, by the key of its setting."""
        average = self._parts().get("average")
        return {"average.lr": average.updates} if isinstance(average, AveragePolicy) else {}

    def _begin(self, agents: Agents) -> None:
        self.progress, self._agents = Progress(), agents

    def learn(self) -> dict[str, float]:
        """One iteration, as the docstring of the learner's module draws it; its metrics."""
        clock = self._agents.clock
        clock.start()
        self._dealt = self._agents.rollout.hands
        metrics = self._iterate()
        self.progress.iterations += 1
        metrics |= {"time/outside_networks": clock.outside_networks()}
        if self._agents.workers > 1:
            metrics |= {"time/communication": clock.communication()}
        return processes.means(metrics)

    def _count(self, decisions: int) -> None:
        """Count the decisions and hands of this iteration, those of all processes."""
        hands = self._agents.rollout.hands - self._dealt
        hands, decisions = processes.totals(hands, decisions)
        self.progress.hands += hands
        self.progress.decisions += decisions

    def _all_parts(self) -> dict[str, Stateful]:
        parts = {"progress": self.progress, "agents": self._agents, **self._parts()}
        return {name: part for name, part in parts.items() if part is not None}

    def state_dict(self) -> dict[str, Any]:
        """The state of each part, by name."""
        return {name: part.state_dict() for name, part in self._all_parts().items()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on exactly where `state_dict` was taken."""
        for name, part in self._all_parts().items():
            if isinstance(part, torch.optim.Optimizer):
                load_optimiser(part, state[name])
            else:
                part.load_state_dict(state[name])

    def take_over(self, state: dict[str, Any]) -> None:
        """Begin with what the learner that `state_dict` was taken of has learnt.

        Its earlier selves are met again, where both learners have some.

        Raises:
            Refused, RuntimeError: if a part does not fit.
        """
        parts = self._all_parts()
        for name in self.learnt:
            if (name in parts) != (name in state):
                has, lacks = ("this", "that") if name in parts else ("that", "this")
                raise Refused(f"{name}: {has} learner has one, {lacks} has none")
        for name in (*self.learnt, "selves"):
            if name in parts and name in state:
                # Of a network all is learnt; a part with more to it says what of it is.
                take_over = getattr(parts[name], "take_over", parts[name].load_state_dict)
                take_over(state[name])
