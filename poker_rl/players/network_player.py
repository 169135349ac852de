"""Players that compute the probabilities of actions with networks.

A player may have several instances, which are independent copies that were trained side by side.
An instance has a single network, or one for each seat, agent (an agent may change seats between
hands) or betting node (a sequence of actions after which a seat acts).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import numpy as np
import torch
from torch import nn

from poker_rl.config.build import build
from poker_rl.config.target_classes import get_class_path, settings_to_dict
from poker_rl.games.game import Game
from poker_rl.games.game_tree import get_tree
from poker_rl.games.tables import tables_from_records
from poker_rl.nets.action_probs import masked_softmax, regret_matching
from poker_rl.nets.legal_output_layer import LegalActions, list_legal_actions_if_few
from poker_rl.nets.net_interfaces import NetConfig, NetDimensions, get_value_net_config
from poker_rl.nets.observation_encoders import ObservationEncoder
from poker_rl.nets.precision import use_full_precision
from poker_rl.nets.replicas import clone_replica_slice, forward_by_replica
from poker_rl.storage.checkpoint import copy_to_cpu

NetworkSharing = Literal["shared", "per_seat", "per_agent", "per_betting_node"]


def count_networks_per_instance(game: Game, network_sharing: NetworkSharing) -> int:
    """Return the number of networks of an instance: 1, or one per seat, agent or betting node."""
    if network_sharing == "per_betting_node":
        return get_tree(game).betting_node_count
    return 1 if network_sharing == "shared" else game.seats


def get_network_index(
    game: Game,
    network_sharing: NetworkSharing,
    records: np.ndarray,
    agent_of_seat_to_act: np.ndarray | None = None,
) -> np.ndarray:
    """Return the index, within an instance, of the network that decides at each table, [B] int64.

    `agent_of_seat_to_act` [B] is used only if `network_sharing` is `per_agent`. If it is None,
    agent i is assumed to sit in seat i.
    """
    if network_sharing == "shared":
        return np.zeros(len(records), np.int64)
    if network_sharing == "per_betting_node":
        tree = get_tree(game)
        return np.asarray(tree.betting_node[tree.lookup_infosets(records)])
    if network_sharing == "per_agent" and agent_of_seat_to_act is not None:
        return agent_of_seat_to_act.astype(np.int64)
    return np.asarray(records["to_act"].astype(np.int64))


@dataclass(frozen=True)
class Critic:
    """Networks that estimate values from the same features as the policy's networks.

    If `module` is None, the outputs of the policy's own networks are the values of actions. If not,
    there is one value network for each network of the policy.
    """

    module: nn.Module | None
    per_action: bool  # whether a network has one output for each action instead of a single output
    chips_per_unit: float  # factor that converts the networks' outputs to chips


class NetworkPlayer:
    """Player whose action probabilities are computed by one network or several networks.

    The networks are not copied: if they are trained further, the player changes too.

    Args:
        module: the networks of all instances, which map features to a logit for each action. If an
            instance has M networks, network m of instance i has the index i * M + m.
        network_sharing: which networks an instance has, see the module's docstring.
    """

    def __init__(
        self,
        game: Game,
        net_config: NetConfig,
        module: nn.Module,
        network_sharing: NetworkSharing,
        instance_count: int = 1,
        critic: Critic | None = None,
    ) -> None:
        self.game, self.net_config, self.module = game, net_config, module
        self.network_sharing, self.critic = network_sharing, critic
        self.instance_count = instance_count
        self.encoder = ObservationEncoder(game, net_config.features)
        self.is_suit_invariant = self.encoder.is_suit_invariant

    def select_instance(self, k: int) -> NetworkPlayer:
        """Return instance `k` as a player of its own, with copies of its networks."""
        network_count = count_networks_per_instance(self.game, self.network_sharing)
        replica_slice, critic = slice(k * network_count, (k + 1) * network_count), self.critic
        if critic is not None and critic.module is not None:
            critic = replace(critic, module=clone_replica_slice(critic.module, replica_slice))
        module = clone_replica_slice(self.module, replica_slice)
        return type(self)(self.game, self.net_config, module, self.network_sharing, critic=critic)

    @torch.no_grad()
    def action_probs(self, records: np.ndarray) -> np.ndarray:
        """Return the probabilities [B, A]; each of K instances plays B / K consecutive tables."""
        device = next(self.module.parameters()).device
        legal_mask = tables_from_records(self.game, records).legal_mask()
        legal_actions = list_legal_actions_if_few(legal_mask, device)
        logits = self._compute_outputs(self.module, records, legal_actions).double()
        if legal_actions is None:
            probs = self.compute_probs(logits, torch.from_numpy(legal_mask).to(device))
            return probs.cpu().numpy()
        policy = self.compute_probs(logits, legal_actions.non_padding_mask)  # [B, L]
        return legal_actions.scatter(policy, legal_mask.shape[1]).cpu().numpy()

    def state_values(self, records: np.ndarray) -> np.ndarray | None:
        if self.critic is None:
            return None
        critic_values = self._compute_critic_values(self.critic, records)
        if not self.critic.per_action:
            return critic_values[:, 0]
        return np.asarray((self.action_probs(records) * critic_values).sum(1))

    def action_values(self, records: np.ndarray) -> np.ndarray | None:
        if self.critic is None or not self.critic.per_action:
            return None
        legal_mask = tables_from_records(self.game, records).legal_mask()
        return np.where(legal_mask, self._compute_critic_values(self.critic, records), np.nan)

    @torch.no_grad()
    def _compute_critic_values(self, critic: Critic, records: np.ndarray) -> np.ndarray:
        """Return the critic's values in chips, [B, 1], or [B, A] if `critic.per_action`."""
        module = self.module if critic.module is None else critic.module
        outputs = self._compute_outputs(module, records).double().cpu().numpy()
        return np.asarray(outputs * critic.chips_per_unit)

    def _compute_outputs(
        self, module: nn.Module, records: np.ndarray, legal_actions: LegalActions | None = None
    ) -> torch.Tensor:
        """Return all outputs, [B, outputs], or only those of `legal_actions` if given, [B, L].

        L is the length of the padded lists in `legal_actions`.
        """
        device, replica = next(module.parameters()).device, None
        observations = torch.from_numpy(self.encoder(records)).to(device)
        if self.network_sharing != "shared":
            network_count = count_networks_per_instance(self.game, self.network_sharing)
            instances, block_size = self.instance_count, len(records) // self.instance_count
            first_replica = np.repeat(np.arange(instances) * network_count, block_size)
            network_index = get_network_index(self.game, self.network_sharing, records)
            replica = torch.from_numpy(first_replica + network_index).to(device)
        with use_full_precision():
            return forward_by_replica(module, observations, replica, legal_actions)

    def compute_probs(self, outputs: torch.Tensor, legal_mask: torch.Tensor) -> torch.Tensor:
        """Convert outputs, one column per action, to probabilities of the same shape.

        Columns that `legal_mask` does not mark get the probability 0.
        """
        return masked_softmax(outputs, legal_mask)

    def to_dict(self) -> dict[str, Any]:
        """Return the class, the settings, the weights and the critic; tensors are on the CPU."""
        critic = None
        if self.critic is not None:
            module = self.critic.module
            weights = None if module is None else copy_to_cpu(module.state_dict())
            critic = {
                "per_action": self.critic.per_action,
                "chips_per_unit": self.critic.chips_per_unit,
                "weights": weights,
            }
        return {
            "_target_": get_class_path(self),
            "net": settings_to_dict(self.net_config),
            "network_sharing": self.network_sharing,
            "instances": self.instance_count,
            "weights": copy_to_cpu(self.module.state_dict()),
            "critic": critic,
        }

    @classmethod
    def from_dict(cls, state: dict[str, Any], game: Game, device: Any) -> Self:
        net_config: NetConfig = build(state["net"], "net", NetConfig)
        replicas = state["instances"] * count_networks_per_instance(game, state["network_sharing"])
        encoder = ObservationEncoder(game, net_config.features)

        def load_network(config: NetConfig, outputs: int, weights: dict[str, Any]) -> nn.Module:
            dimensions = NetDimensions(
                inputs=encoder.size,
                outputs=outputs,
                replicas=replicas,
                history_shape=encoder.history_shape,
            )
            module = config.build_module(dimensions, torch.Generator())
            module.load_state_dict(weights)
            return module.to(device)

        module, critic = load_network(net_config, game.action_count, state["weights"]), None
        if (critic_state := state.get("critic")) is not None:
            per_action, weights = critic_state["per_action"], critic_state["weights"]
            value_network = None
            if weights is not None:
                outputs = game.action_count if per_action else 1
                value_network = load_network(get_value_net_config(net_config), outputs, weights)
            critic = Critic(value_network, per_action, critic_state["chips_per_unit"])
        return cls(game, net_config, module, state["network_sharing"], state["instances"], critic)


class GreedyNetworkPlayer(NetworkPlayer):
    """Player that takes the legal action whose output, such as an action value, is largest."""

    def compute_probs(self, outputs: torch.Tensor, legal_mask: torch.Tensor) -> torch.Tensor:
        best = outputs.masked_fill(~legal_mask, -torch.inf).argmax(1, keepdim=True)
        return torch.zeros_like(outputs).scatter_(1, best, 1.0)


class RegretMatchingPlayer(NetworkPlayer):
    """Player that applies `regret_matching` to the outputs, which are estimated regrets."""

    def compute_probs(self, outputs: torch.Tensor, legal_mask: torch.Tensor) -> torch.Tensor:
        return regret_matching(outputs, legal_mask)
