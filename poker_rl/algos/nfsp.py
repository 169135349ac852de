"""Neural fictitious self-play: a best response by Q-learning, and the average of all so far.

As in arXiv:1603.01121, Algorithm 1: for each hand every agent draws whether it plays its best
response (chance eta, epsilon-greedy in Q) or its average policy. What the best response does goes
into a reservoir, which the average-policy network learns by cross-entropy; every transition goes
into the memory of Q. So the agents respond to average policies, and those approach an equilibrium
in two-player zero-sum games. An iteration is that of `dqn`, and with each update of Q

    minimise  - log average(a | s)  on a batch of each agent's reservoir, illegal actions left out

eta 1 plays best responses alone; the average network still learns them. Deviations are those of
`dqn`; the average network starts to learn when each agent's reservoir has `learn_from` items.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from poker_rl.algos.algorithm import Stateful
from poker_rl.algos.dqn import DQN
from poker_rl.config.settings import Probability
from poker_rl.learning.agents import Given
from poker_rl.learning.average import AveragePolicy, AverageSettings
from poker_rl.learning.responses import Responses, by_chance
from poker_rl.learning.rollout import Batch, Rows
from poker_rl.players.network import NetworkPlayer
from poker_rl.players.player import Player


@dataclass(kw_only=True)
class NFSP(DQN):
    """The learner; see `DQN`."""

    eta: Probability
    average: AverageSettings

    def __post_init__(self, given: Given) -> None:
        super().__post_init__(given)
        self._average = AveragePolicy(self.average, self._agents, taken=True, beside=[self._memory])
        self._average.memory.demand_full("learn_from", self.learn_from)
        self._responds = Responses(self._agents, by_chance(self._agents, self.eta))

    def players(self) -> dict[str, Player]:
        """The average policy, the one that approaches equilibrium, and the best response to it."""
        return {"average": self._player(self._average.module, NetworkPlayer)} | super().players()

    def _act(self, rows: Rows) -> tuple[np.ndarray, np.ndarray]:
        responds = self._responds.at(rows)
        policy = np.empty(rows.mask.shape)
        if responds.any():
            policy[responds] = self._epsilon_greedy(rows.pick(responds))
        if not responds.all():
            policy[~responds] = self._agents.policy(self._average.module, rows.pick(~responds))
        return self._agents.drawn(policy)

    def _remember(self, batch: Batch) -> int:
        """Keep the best responses of this iteration's rows too, which are the last of the batch."""
        number = super()._remember(batch)
        responds = self._responds.taken_out()
        own = len(batch) - len(responds) + np.flatnonzero(responds)
        taken = batch.action[own, None] == np.arange(batch.mask.shape[1])
        self._average.add(batch, own, taken, self.progress.iterations + 1)
        return number

    def _update(self) -> None:
        super()._update()
        if self._average.memory.fewest >= self.learn_from:
            self._average.learn()

    def _metrics(self) -> dict[str, float]:
        memory = self._average.memory
        return super()._metrics() | self._average.metrics() | {"memory/average": memory.fill}

    def state_dict(self) -> dict[str, Any]:
        """That of `DQN`, the average policy, and who plays which policy in the open hands."""
        # Between two iterations no answers are kept: a checkpoint has the draws alone.
        return super().state_dict() | {"responds": self._responds.state_dict()["hands"]}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on where `state_dict` was taken."""
        super().load_state_dict(state)
        self._responds.hands[:] = state["responds"].numpy()

    def _parts(self) -> dict[str, Stateful | None]:
        return super()._parts() | {"average": self._average}
