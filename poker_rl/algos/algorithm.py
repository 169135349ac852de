"""What an algorithm is to the training loop."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Protocol

from poker_rl.players.player import Player


@dataclass
class Progress:
    """Work done so far. The budget names one of these, and a curve is drawn over it.

    Every algorithm counts all four: a solver that passes through the whole tree counts its deals
    as hands and its decision nodes as decisions.
    """

    hands: int = 0
    decisions: int = 0
    updates: int = 0  # steps of an optimiser, or sweeps over the regrets
    iterations: int = 0  # of the algorithm's own loop, as its docstring draws it

    def state_dict(self) -> dict[str, Any]:
        """The counters."""
        return asdict(self)

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on counting from these."""
        vars(self).update(state)


class Stateful(Protocol):
    """A part of a learner that is saved and resumed."""

    def state_dict(self) -> dict[str, Any]:
        """All of it, as tensors and plain values."""

    def load_state_dict(self, state: dict[str, Any]) -> Any:
        """Go on where `state_dict` was taken."""


def states(parts: Mapping[str, Stateful]) -> dict[str, Any]:
    """The state of each part, by name."""
    return {name: part.state_dict() for name, part in parts.items()}


def restore(parts: Mapping[str, Stateful], state: Mapping[str, Any]) -> None:
    """Let each part go on where `states` was taken."""
    for name, part in parts.items():
        part.load_state_dict(state[name])


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
