"""Neural fictitious self-play whose best responses are learnt by PPO.

As in arXiv:1603.01121, Algorithm 1, each agent draws for each hand whether it plays its best
response (chance eta) or its average policy, and the average network learns what the best response
did. But the best response is an actor and a critic, not a Q network: of no-limit hold'em's hundreds
of actions it learns a density over amounts (`amounts.AmountNet`), which has no largest value to
look for. A policy gradient needs the chances its own policy gives to the actions it took, and those
change with every step; PPO asks for them anew in each pass over a batch, and so is fit for a game
in which only one hand in 1 / eta is its own. An iteration is that of `ppo` but for the rows of
average play, which only show the best response whom it plays against.

Deviation: what the best response did is kept as PPO drew it, exploration included.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from torch import Tensor

from poker_rl.algos.ppo import PPO
from poker_rl.config.settings import Probability, Refused
from poker_rl.learning.agents import Given
from poker_rl.learning.responses import Responses, by_chance
from poker_rl.learning.rollout import Batch


@dataclass(kw_only=True)
class PolicyNFSP(PPO):
    """The learner; see `PPO`. An average network is needed."""

    eta: Probability

    taken: ClassVar[bool] = True

    def __post_init__(self, given: Given) -> None:
        if self.average is None:
            raise Refused("average: null, but fictitious self-play needs an average network")
        if self.earlier.share:
            raise Refused("earlier.share: the average policy plays the other hands: 0")
        super().__post_init__(given)
        assert self._averages.play is not None
        self._other = self._averages.play.module
        self._responds = Responses(self._agents, by_chance(self._agents, self.eta))

    def _taught(self, batch: Batch, data: dict[str, Tensor]) -> np.ndarray:
        """The action taken, one-hot [N, A]."""
        taken: np.ndarray = batch.action[:, None] == np.arange(batch.mask.shape[1])
        return taken
