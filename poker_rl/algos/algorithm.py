"""What an algorithm is to the training loop."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
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


class Algorithm(Protocol):
    """A learner or solver.

    `players` and `state_dict` only look: calling them, or not, leaves the rest of the run as it
    would have been to the last bit.
    """

    progress: Progress

    def learn(self) -> Mapping[str, float]:
        """One unit of work; its metrics by TensorBoard tag ("loss/policy"), each of them finite."""

    def players(self) -> Mapping[str, Player]:
        """Every policy to be evaluated, by name ("current", "average")."""

    def state_dict(self) -> dict[str, Any]:
        """Everything, counters and generators included, as tensors and plain values.

        Its floating tensors hold only finite numbers, memory not yet used among them.
        """

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on exactly where `state_dict` was taken."""
