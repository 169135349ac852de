"""REINFORCE with the running average of the reward for its baseline.

Williams, "Simple statistical gradient-following algorithms for connectionist reinforcement
learning" (1992), with reinforcement comparison (section 3): the reward less an exponential average
of past rewards. With one weight an information set this is the learner of "Kuhn poker via
reinforcement learning" (BSM 2025). An update:

    play `hands` hands
    loss = 1/hands  sum over the decisions of all learning seats of  -log pi(a) (r - baseline[seat])
    take one step of the optimiser, then
    baseline[seat] = decay baseline[seat] + (1 - decay) mean r[seat]

where r is what the seat won in the whole hand. Every copy has baselines of its own; they are moved
once an update, by the mean of its hands, and only after they were used.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from poker_rl.algos.algorithm import NetworkLearner, Stateful
from poker_rl.config.settings import Count, Positive, Probability
from poker_rl.learning.advantages import gae
from poker_rl.learning.agents import Agents, Given, Seats
from poker_rl.learning.descent import Optimiser, descend
from poker_rl.learning.rollout import ENDED, Rows
from poker_rl.nets.chances import masked_log_softmax
from poker_rl.players.player import Player
from poker_rl.players.sampling import sample

OPTIMISERS = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam}


@dataclass(kw_only=True, frozen=True)
class RunningAverage:
    """An exponential moving average of each seat's reward."""

    decay: Probability  # kept of it each update
    start: float  # chips


@dataclass(kw_only=True)
class Reinforce(NetworkLearner, Seats):
    """The learner."""

    hands: Count
    baseline: RunningAverage | None
    optimiser: Optimiser
    lr: Positive

    learnt: ClassVar = ("policy",)

    def __post_init__(self, given: Given) -> None:
        self._begin(Agents(given, self, tables=self.hands, key="hands"))
        game = given.game
        self._policy = self._agents.network(game.actions)
        self._optimiser = OPTIMISERS[self.optimiser](self._policy.parameters(), lr=self.lr)
        start = 0.0 if self.baseline is None else self.baseline.start
        self._baseline = np.full((self.instances, game.seats), start, np.float32)  # chips
        self._logits: list[Tensor] = []  # of the rows played, kept with their graph

    def _iterate(self) -> dict[str, float]:
        """Play some hands and make one update."""
        self._logits.clear()
        batch = self._agents.rollout.play_out(self._act)
        if not len(batch):  # a fixed opponent ended every hand first
            self._count(0)
            return {}
        won = gae(batch.reward, np.zeros_like(batch.reward), batch.next, 1, 1)  # r [N]
        instance = self._agents.instance(batch.table)
        advantage = won - self._baseline[instance, batch.seat]
        with self._agents.clock.networks():
            logits = torch.cat(self._logits)  # [N, A]
            log_policy = masked_log_softmax(logits, self._agents.tensor(batch.mask))
            log_prob = log_policy.gather(1, self._agents.tensor(batch.action)[:, None])[:, 0]
            loss = -(log_prob * self._agents.tensor(advantage)).sum() / self.hands
            descend(loss, self._optimiser)
            entropy = -(log_policy.exp() * log_policy).sum(1).mean()
        if self.baseline is not None:
            self._move(self.baseline.decay, instance, batch.seat, won, batch.next == ENDED)

        self._count(len(batch))
        self.progress.updates += 1
        averages = self._baseline.mean(0) if self.baseline else []
        return {
            "loss/policy": loss.item() / self.instances,
            "policy/entropy": entropy.item(),
            **{f"value/baseline/seat_{seat}": float(chips) for seat, chips in enumerate(averages)},
        }

    def players(self) -> dict[str, Player]:
        """The policy in training."""
        return self._agents.players(current=self._policy)

    def _act(self, rows: Rows) -> tuple[np.ndarray, np.ndarray]:
        logits = self._agents.logits(self._policy, rows)
        self._logits.append(logits)
        return sample(logits, rows.mask, self._agents.generator)

    def _move(
        self,
        decay: float,
        instance: np.ndarray,
        seat: np.ndarray,
        won: np.ndarray,
        last: np.ndarray,
    ) -> None:
        """Move the baselines; a seat's `last` decisions, [N] bool, stand for its hands."""
        place = (instance * self._baseline.shape[1] + seat)[last]
        count = np.bincount(place, minlength=self._baseline.size)
        total = np.bincount(place, won[last], self._baseline.size)
        decay_of = np.where(count > 0, decay, 1.0)  # no learner sat there: nothing new is known
        mean = total / np.maximum(count, 1)
        moved = decay_of * self._baseline.ravel() + (1 - decay_of) * mean
        self._baseline = moved.reshape(self._baseline.shape).astype(np.float32)

    def state_dict(self) -> dict[str, Any]:
        """Network, optimiser, baselines, tables, generator and counters."""
        return super().state_dict() | {"baseline": torch.from_numpy(self._baseline.copy())}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on where `state_dict` was taken."""
        super().load_state_dict(state)
        self._baseline[:] = state["baseline"].numpy()

    def _parts(self) -> dict[str, Stateful | None]:
        return {
            "policy": self._policy,
            "optimiser": self._optimiser,
        }
