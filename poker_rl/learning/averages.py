"""The averages that a policy in training carries: of its weights, and of how it has played."""

from __future__ import annotations

from torch import nn

from poker_rl.learning.agents import Agents
from poker_rl.learning.average import AveragePolicy, AverageSettings
from poker_rl.nets.weight_average import WeightAverage
from poker_rl.players.network import Critic
from poker_rl.players.player import Player


class Averages:
    """Both averages of one policy, and the players that come of them.

    Args:
        agents: whose policy it is.
        actor: its network, K copies.
        decay: what the average of the weights keeps of itself at each step, in [0, 1].
        settings: of the network that learns how the policy has played; None: there is none.
        last_scale: of that network, see `AveragePolicy`.
        taken: of that network, see `AveragePolicy`.

    Attributes:
        weights: the average of the weights.
        play: the network that learns how the policy has played, or None.
    """

    def __init__(
        self,
        agents: Agents,
        actor: nn.Module,
        decay: float,
        settings: AverageSettings | None,
        *,
        last_scale: float,
        taken: bool = False,
    ) -> None:
        self._agents, self._actor = agents, actor
        self.weights = WeightAverage(actor, decay)
        self.play = None
        if settings is not None:
            self.play = AveragePolicy(settings, agents, last_scale=last_scale, taken=taken)

    def players(self, critic: Critic | None) -> dict[str, Player]:
        """The one that comes closest to an equilibrium first: how it has played, else its weights.

        Args:
            critic: what the policy in training expects of a hand; it says nothing of the play of
                the past, whose network keeps none.
        """
        players = self._agents.players(
            critic, weight_average=self.weights.module, current=self._actor
        )
        if self.play is None:
            return players
        return {"average": self._agents.player(self.play.module), **players}

    def parts(self) -> dict[str, WeightAverage | AveragePolicy | None]:
        """What has a state, by the names that a learner's state has for it."""
        return {"weight_average": self.weights, "average": self.play}
