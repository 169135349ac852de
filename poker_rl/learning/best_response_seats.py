"""Sampling, for each hand, of which seats play the best response and which another policy.

In fictitious self-play (arXiv:1603.01121, Algorithm 1) an agent plays a whole hand by its best
response with probability eta, else by its average policy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from poker_rl.learning.learner_services import LearnerServices
from poker_rl.learning.rollout import DecisionsToMake


class BestResponseSeats:
    """Seats that play the best response in the current hands, and a record of its decisions.

    Args:
        sample_seats: samples the best-response seats of new hands, tables [B] -> [B, seats] bool.

    Attributes:
        is_best_response: whether each seat plays the best response, [tables, seats] bool.
    """

    def __init__(
        self, services: LearnerServices, sample_seats: Callable[[np.ndarray], np.ndarray]
    ) -> None:
        self.is_best_response: np.ndarray = np.zeros(services.rollout.agent_of_seat.shape, bool)
        self._sample_seats = sample_seats
        self._recorded = [np.zeros(0, bool)]
        services.rollout.on_deal = self._on_deal

    def _on_deal(self, tables: np.ndarray) -> None:
        self.is_best_response[tables] = self._sample_seats(tables)

    def record_decisions(self, rows: DecisionsToMake) -> np.ndarray:
        """Record and return whether the best response makes each of these decisions, [B] bool."""
        is_best_response: np.ndarray = self.is_best_response[rows.table, rows.seat]
        self._recorded.append(is_best_response)
        return is_best_response

    def pop_record(self) -> np.ndarray:
        """Return and clear the record: whether the best response made each decision, [N] bool."""
        recorded = np.concatenate(self._recorded)
        self._recorded = [recorded[:0]]
        return recorded

    def state_dict(self) -> dict[str, Any]:
        """Return the best-response seats of the current hands; call `pop_record` before."""
        return {"is_best_response": torch.from_numpy(self.is_best_response.copy())}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.is_best_response[:] = state["is_best_response"].numpy()


def make_eta_sampler(services: LearnerServices, eta: float) -> Callable[[np.ndarray], np.ndarray]:
    """Return a function that makes each seat a best-response seat with probability `eta`."""

    def sample_seats(tables: np.ndarray) -> np.ndarray:
        shape = (len(tables), services.rollout.agent_of_seat.shape[1])
        is_best_response: np.ndarray = services.generator.random(shape) < eta
        return is_best_response

    return sample_seats
