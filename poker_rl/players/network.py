"""A network as a player."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
import torch
from torch import nn

from poker_rl.games.game import Game
from poker_rl.games.tables import Tables
from poker_rl.games.tree import tree_of
from poker_rl.nets.dense import Net, Size, masked_softmax, net_state, routed, take
from poker_rl.players.features import Features
from poker_rl.players.load import built

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


class NetworkPlayer:
    """A policy by networks, one for all decisions or one for each member.

    The networks stay the caller's: a player of a network in training changes with it.

    Args:
        net: the shape of the networks.
        module: instances x members copies of it, from features to a logit an action.
        members: which network decides: one `shared`, one a `seat`, `agent` or betting `node`.
        instances: independent copies of the whole player.
    """

    def __init__(
        self, game: Game, net: Net, module: nn.Module, members: Members, instances: int = 1
    ) -> None:
        self.game, self.net, self.module = game, net, module
        self.members, self.instances = members, instances
        self.features = Features(game, net.features)
        self._tables = Tables(game, 0, 0)

    def instance(self, k: int) -> NetworkPlayer:
        """One of the copies, alone, with memory of its own."""
        count = member_count(self.game, self.members)
        module = take(self.module, slice(k * count, (k + 1) * count))
        return type(self)(self.game, self.net, module, self.members)

    @torch.no_grad()
    def probabilities(self, records: np.ndarray) -> np.ndarray:
        """Tables [B] -> [B, A]; with several instances the rows are as many equal blocks."""
        device = next(self.module.parameters()).device
        self._tables.use(records)
        legal = torch.from_numpy(self._tables.legal()).to(device)
        seen = torch.from_numpy(self.features(records)).to(device)
        logits = routed(self.module, seen, self._copies(records, device))
        return self._policy(logits.double(), legal).cpu().numpy()  # [B, A]

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
        """Shape, members and weights, on the CPU."""
        weights = self.module.state_dict()
        return {
            "_target_": f"{__name__}.{type(self).__name__}",
            "net": net_state(self.net),
            "members": self.members,
            "instances": self.instances,
            "weights": {name: weight.detach().cpu().clone() for name, weight in weights.items()},
        }

    @classmethod
    def from_state(cls, state: dict[str, Any], game: Game, device: Any) -> Self:
        """The player whose state this was."""
        net: Net = built(state["net"])
        copies = state["instances"] * member_count(game, state["members"])
        seen = Features(game, net.features)
        size = Size(inputs=seen.size, outputs=game.actions, copies=copies, steps=seen.steps)
        module = net.module(size, torch.Generator())
        module.load_state_dict(state["weights"])
        return cls(game, net, module.to(device), state["members"], state["instances"])


class GreedyPlayer(NetworkPlayer):
    """The legal action of the largest output: of networks that value actions, the best."""

    def _policy(self, logits: torch.Tensor, legal: torch.Tensor) -> torch.Tensor:
        best = logits.masked_fill(~legal, -torch.inf).argmax(1, keepdim=True)
        return torch.zeros_like(logits).scatter_(1, best, 1.0)
