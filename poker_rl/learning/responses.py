"""Which seats play the policy that learns: drawn for each hand, where another policy plays too.

In fictitious self-play (arXiv:1603.01121, Algorithm 1) an agent plays its best response with chance
eta in the whole hand, else its average policy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from poker_rl.learning.agents import Agents
from poker_rl.learning.rollout import Rows


class Responses:
    """The draws of the hands being played, and what they were at the rows asked about since.

    Args:
        agents: who plays.
        draw: which seats play it in the new hands at some tables [B], [B, seats] bool.

    Attributes:
        hands: whether each seat plays it in the table's hand, [tables, seats] bool.
    """

    def __init__(self, agents: Agents, draw: Callable[[np.ndarray], np.ndarray]) -> None:
        self.hands: np.ndarray = np.zeros(agents.rollout.agent.shape, bool)
        self._draw = draw
        self._rows = [np.zeros(0, bool)]  # of rows that were asked about, [B] bool each
        self._rollout = agents.rollout
        self._rollout.dealt = self._dealt

    def _dealt(self, tables: np.ndarray) -> None:
        self.hands[tables] = self._draw(tables)

    def at(self, rows: Rows) -> np.ndarray:
        """Whether the policy that learns plays, [B] bool; the answer is kept for `taken_out`."""
        responds: np.ndarray = self.hands[rows.table, rows.seat]
        self._rows.append(responds)
        return responds

    def taken_out(self) -> np.ndarray:
        """The answers kept, in order of time, [N] bool; none is kept any longer."""
        responds = np.concatenate(self._rows)
        self.put_back(responds[:0])
        return responds

    def put_back(self, responds: np.ndarray) -> None:
        """Keep these answers [N], of rows that begin the next batch, ahead of those to come."""
        self._rows = [responds]

    def state_dict(self) -> dict[str, Any]:
        """The draws of open hands and the answers kept."""
        parts = {"hands": self.hands, "rows": np.concatenate(self._rows)}
        return {name: torch.from_numpy(part.copy()) for name, part in parts.items()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on where `state_dict` was taken, which the agents have done already.

        Raises:
            ValueError: if it does not fit them.
        """
        self.hands[:] = state["hands"].numpy()
        carried = self._rollout.carried
        if state["rows"].shape != (0 if carried is None else len(carried),):
            raise ValueError("rows: not one for each decision that is carried over")
        self.put_back(state["rows"].numpy().astype(bool))


def by_chance(agents: Agents, eta: float) -> Callable[[np.ndarray], np.ndarray]:
    """Each seat by itself with chance eta in [0, 1], by the agents' generator."""

    def draw(tables: np.ndarray) -> np.ndarray:
        shape = (len(tables), agents.rollout.agent.shape[1])
        drawn: np.ndarray = agents.generator.random(shape) < eta
        return drawn

    return draw
