"""A network as a player."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import numpy as np
import torch
from torch import nn

from poker_rl.games.game import Game
from poker_rl.games.tables import tables_of
from poker_rl.games.tree import tree_of
from poker_rl.nets.chances import masked_softmax, regret_matching
from poker_rl.nets.copies import routed, take
from poker_rl.nets.dense import Net, Size, net_of, net_state
from poker_rl.nets.legal import Legal, few
from poker_rl.nets.precision import full_precision
from poker_rl.players.features import Features

Members = Literal["shared", "seat", "agent", "node"]


def member_count(game: Game, members: Members) -> int:
    """Number of networks M a player is made of: one, one a seat or agent, one a betting line."""
    if members == "node":
        return tree_of(game).node_count
    return 1 if members == "shared" else game.seats


def member_of(
    game: Game, members: Members, records: np.ndarray, agents: np.ndarray | None = None
) -> np.ndarray:
    """Which of a player's networks decides at each table, [B] int64.

    Of K = instances x M copies, member m of instance i is copy i * M + m.

    Args:
        records: tables [B], each at its seat to act.
        agents: the agent in that seat [B]; None: agent i sits in seat i.
    """
    if members == "shared":
        return np.zeros(len(records), np.int64)
    if members == "node":
        return tree_of(game).node_of(records)
    own = agents if members == "agent" and agents is not None else records["to_act"]
    return own.astype(np.int64)


@dataclass(frozen=True)
class Critic:
    """Networks that value what a policy's networks decide, and see what those see.

    Attributes:
        module: as many copies as of the policy's networks, from the same features to one value or
            to one of each action; None: the policy's own networks value actions.
        of_actions: whether it is one of each action.
        chips: to one unit of value.
    """

    module: nn.Module | None
    of_actions: bool
    chips: float

    def state(self) -> dict[str, Any]:
        """Kind, unit and weights, on the CPU."""
        weights = None if self.module is None else on_cpu(self.module)
        return {"of_actions": self.of_actions, "chips": self.chips, "weights": weights}


class NetworkPlayer:
    """A policy by networks, one for all decisions or one for each member.

    The networks stay the caller's: a player of a network in training changes with it.

    Args:
        net: the shape of the networks.
        module: instances x members copies of it, from features to a logit an action.
        members: which network decides: one `shared`, one a `seat`, `agent` or betting `node`.
        instances: independent copies of the whole player.
        critic: networks in training too, which value its decisions; None if there are none.
    """

    def __init__(
        self,
        game: Game,
        net: Net,
        module: nn.Module,
        members: Members,
        instances: int = 1,
        critic: Critic | None = None,
    ) -> None:
        self.game, self.net, self.module = game, net, module
        self.members, self.instances, self.critic = members, instances, critic
        self.features = Features(game, net.features)

    @property
    def blind_to_suits(self) -> bool:
        """Whether its networks are shown none of the names of suits."""
        return self.features.blind_to_suits

    def instance(self, k: int) -> NetworkPlayer:
        """One of the copies, alone, with memory of its own."""
        count = member_count(self.game, self.members)
        own, critic = slice(k * count, (k + 1) * count), self.critic
        if critic is not None and critic.module is not None:
            critic = replace(critic, module=take(critic.module, own))
        return type(self)(self.game, self.net, take(self.module, own), self.members, critic=critic)

    @torch.no_grad()
    def probabilities(self, records: np.ndarray) -> np.ndarray:
        """Tables [B] -> [B, A]; with several instances the rows are as many equal blocks."""
        device = next(self.module.parameters()).device
        mask = tables_of(self.game, records).legal()
        legal = few(mask, device)
        logits = self._outputs(self.module, records, legal).double()
        if legal is None:
            return self._policy(logits, torch.from_numpy(mask).to(device)).cpu().numpy()
        policy = self._policy(logits, legal.mask)  # [B, L]
        return legal.spread(policy, mask.shape[1]).cpu().numpy()

    def values(self, records: np.ndarray) -> np.ndarray | None:
        """See `Player.values`; rows as in `probabilities`."""
        if self.critic is None:
            return None
        rows = self._judged(self.critic, records)
        return (self.probabilities(records) * rows).sum(1) if self.critic.of_actions else rows[:, 0]

    def action_values(self, records: np.ndarray) -> np.ndarray | None:
        """See `Player.action_values`; rows as in `probabilities`."""
        if self.critic is None or not self.critic.of_actions:
            return None
        legal = tables_of(self.game, records).legal()
        return np.where(legal, self._judged(self.critic, records), np.nan)

    @torch.no_grad()
    def _judged(self, critic: Critic, records: np.ndarray) -> np.ndarray:
        """The critic's values in chips, [B, 1] or [B, A]."""
        module = self.module if critic.module is None else critic.module
        values: np.ndarray = self._outputs(module, records).double().cpu().numpy() * critic.chips
        return values

    def _outputs(
        self, module: nn.Module, records: np.ndarray, legal: Legal | None = None
    ) -> torch.Tensor:
        """What networks say of tables [B], [B, outputs] or [B, L]."""
        device = next(module.parameters()).device
        seen = torch.from_numpy(self.features(records)).to(device)
        with full_precision():
            return routed(module, seen, self._copies(records, device), legal)

    def _policy(self, logits: torch.Tensor, legal: torch.Tensor) -> torch.Tensor:
        return masked_softmax(logits, legal)

    def _copies(self, records: np.ndarray, device: torch.device) -> torch.Tensor | None:
        if self.members == "shared":
            return None
        member = member_of(self.game, self.members, records)
        instance = np.repeat(np.arange(self.instances), len(records) // self.instances)
        copy = instance * member_count(self.game, self.members) + member
        return torch.from_numpy(copy).to(device)

    def state(self) -> dict[str, Any]:
        """Shape, members, weights and critic, on the CPU."""
        return {
            "_target_": f"{__name__}.{type(self).__name__}",
            "net": net_state(self.net),
            "members": self.members,
            "instances": self.instances,
            "weights": on_cpu(self.module),
            "critic": None if self.critic is None else self.critic.state(),
        }

    @classmethod
    def from_state(cls, state: dict[str, Any], game: Game, device: Any) -> Self:
        """The player whose state this was; those of earlier versions know of no critic."""
        net: Net = net_of(state["net"])
        copies = state["instances"] * member_count(game, state["members"])
        seen = Features(game, net.features)

        def read(net: Net, outputs: int, weights: dict[str, Any]) -> nn.Module:
            size = Size(inputs=seen.size, outputs=outputs, copies=copies, steps=seen.steps)
            module = net.module(size, torch.Generator())
            module.load_state_dict(weights)
            return module.to(device)

        module, critic = read(net, game.actions, state["weights"]), None
        if (kept := state.get("critic")) is not None:
            of_actions, weights = kept["of_actions"], kept["weights"]
            outputs = game.actions if of_actions else 1
            values = None if weights is None else read(net.values, outputs, weights)
            critic = Critic(values, of_actions, kept["chips"])
        return cls(game, net, module, state["members"], state["instances"], critic)


def on_cpu(module: nn.Module) -> dict[str, torch.Tensor]:
    """A copy of a module's weights by name."""
    weights = module.state_dict()
    return {name: weight.detach().cpu().clone() for name, weight in weights.items()}


class GreedyPlayer(NetworkPlayer):
    """The legal action of the largest output: of networks that value actions, the best."""

    def _policy(self, logits: torch.Tensor, legal: torch.Tensor) -> torch.Tensor:
        best = logits.masked_fill(~legal, -torch.inf).argmax(1, keepdim=True)
        return torch.zeros_like(logits).scatter_(1, best, 1.0)


class RegretPlayer(NetworkPlayer):
    """Actions in proportion to their positive outputs: of networks that estimate regrets."""

    def _policy(self, logits: torch.Tensor, legal: torch.Tensor) -> torch.Tensor:
        return regret_matching(logits, legal)
