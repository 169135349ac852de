"""The two averages of a policy in training: EMA of its weights, and average-policy network."""

from __future__ import annotations

from torch import nn

from poker_rl.learning.averaging.average_policy import AveragePolicy, AveragePolicySettings
from poker_rl.learning.learner_core import LearnerCore
from poker_rl.nets.weight_ema import WeightEMA
from poker_rl.players.network_player import Critic
from poker_rl.players.player import Player


class PolicyAverages:
    """EMA of the actor's weights, and an average-policy network if there are settings for one.

    Args:
        core: see `LearnerCore`.
        actor: the policy network in training, K replicas.
        ema_decay: decay of the EMA per iteration, in [0, 1].
        settings: settings of the average-policy network; None: there is none.
        output_init_scale: see `AveragePolicy`.
        learn_from_actions: see `AveragePolicy`.

    Attributes:
        weight_ema: the EMA of the actor's weights.
        average_policy: the average-policy network, or None.
    """

    def __init__(
        self,
        core: LearnerCore,
        actor: nn.Module,
        ema_decay: float,
        settings: AveragePolicySettings | None,
        *,
        output_init_scale: float,
        learn_from_actions: bool = False,
    ) -> None:
        self._core, self._actor = core, actor
        self.weight_ema = WeightEMA(actor, ema_decay)
        self.average_policy = None
        if settings is not None:
            self.average_policy = AveragePolicy(
                settings,
                core,
                output_init_scale=output_init_scale,
                learn_from_actions=learn_from_actions,
            )

    def build_players(self, critic: Critic | None) -> dict[str, Player]:
        """Return the players "average" (if any), "weight_average" and "current", in this order.

        Args:
            critic: the critic of the current policy; the player "average" gets none.
        """
        players = self._core.build_players(
            critic, weight_average=self.weight_ema.module, current=self._actor
        )
        if self.average_policy is None:
            return players
        return {"average": self._core.build_player(self.average_policy.module), **players}

    def stateful_parts(self) -> dict[str, WeightEMA | AveragePolicy | None]:
        """Return the parts with a state, by their names in the learner's state."""
        return {"weight_average": self.weight_ema, "average": self.average_policy}
