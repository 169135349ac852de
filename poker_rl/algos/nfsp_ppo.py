"""Neural fictitious self-play with best responses by PPO, for games with many actions.

As in Heinrich and Silver, arXiv:1603.01121, Algorithm 1, each agent samples for each hand whether
it plays its best response (probability eta) or its average policy, and the average-policy network
learns the actions of the best response. An iteration does the same as in `ppo`, but actor and
critic learn only from decisions of the best response.

Differences: the best response is PPO's actor, not a Q-network, so it can have a density over the
hundreds of raise amounts of no-limit hold'em (`nets.amount_net`). The actor explores by sampling
actions from its policy, not by epsilon-greedy play. The average policy learns these actions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from poker_rl.algos.ppo import PPO
from poker_rl.config.input_checks import ConfigError, Probability
from poker_rl.learning.learner_services import LearnerContext


@dataclass(kw_only=True)
class NFSPWithPPO(PPO):
    """NFSP learner whose best responses learn as in `PPO`; `average_policy` must not be null."""

    eta: Probability

    average_learns_actions: ClassVar[bool] = True

    def __post_init__(self, context: LearnerContext) -> None:
        if self.average_policy is None:
            raise ConfigError("average_policy: null, but fictitious self-play needs one")
        if self.opponent_pool.play_prob:
            raise ConfigError("opponent_pool.play_prob: allowed with an average policy: 0")
        super().__post_init__(context)
        assert self._averages.average_policy is not None
        self._rollout.non_learning_network = self._averages.average_policy.module
        self.services.set_learning_seat_prob(self.eta)
