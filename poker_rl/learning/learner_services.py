"""Services for all network learners: their rollouts, networks, replicas and players."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from poker_rl.config.input_checks import ConfigError, PositiveInt, memory_errors_as_config_errors
from poker_rl.games.game import Game
from poker_rl.learning.buffers.replay_buffer import Column
from poker_rl.learning.deduplicated_inputs import DeduplicatedInputs
from poker_rl.learning.learner_timer import LearnerTimer
from poker_rl.learning.opponents import OpponentSettings
from poker_rl.learning.rollout import DecisionsToMake, Rollout, Seating
from poker_rl.nets.action_probs import masked_softmax
from poker_rl.nets.legal_output_layer import LegalActions, list_legal_actions_if_few
from poker_rl.nets.net_interfaces import NetConfig, NetDimensions, get_value_net_config
from poker_rl.nets.observation_encoders import HiddenCardEncoder, ObservationEncoder
from poker_rl.players.network_player import (
    Critic,
    NetworkPlayer,
    NetworkSharing,
    count_networks_per_instance,
    get_network_index,
)
from poker_rl.players.player import Player, sample_actions_and_log_probs, sample_from_probs

CriticView = Literal["own", "perfect_information", "hand_comparison"]
"""View of a critic. `own`: what the player sees; `perfect_information`: also the other players'
cards; `hand_comparison`, only in hold'em: also these cards, and which hands are ahead."""


@dataclass(kw_only=True, frozen=True)
class LearnerContext:
    """Arguments that every network learner gets in addition to the settings of its algorithm."""

    game: Game
    net: NetConfig
    device: torch.device  # of networks, batches and replay buffers
    seed: int
    opponents: OpponentSettings | None = None  # in all seats but the learner's; None: self-play
    workers: int = 1  # number of processes that train together with these settings
    rank: int = 0  # number of this process; each rank has different random numbers


@dataclass(kw_only=True)
class SharingAndSeatingSettings:
    """Settings that all network learners share: the seats of agents, and which network decides."""

    network_sharing: NetworkSharing  # one network, or one per seat, agent or betting node
    instances: PositiveInt  # independent copies of the whole learner, trained in parallel
    seating: Seating  # `fixed`: agent i in seat i; `shuffled`: seats are sampled for each hand


class LearnerServices:
    """Services for a network learner: its tables, and methods to build networks and players.

    A learner builds networks with `build_network` and `build_critic`, plays with
    `rollout.play_steps` or `rollout.play_full_hands` and an act function such as `sample_actions`,
    and builds its players with `build_players`. Each network is a module with K replicas, whose
    weights are [K, ...]; K is the number of instances times the networks per player. Decision i of
    a batch belongs to the replica `batch.replica[i]`. Other shapes have N or B rows, A actions, L
    legal actions, W = `input_size` and H = `hidden_card_size`.

    Args:
        assignment: settings that assign networks to decisions; often the learner itself.
        critic_view: view of the critics, see `CriticView`.
        include_forced_moves: whether a move that is the only legal one counts as a decision.

    Attributes:
        generator: NumPy generator for actions and minibatches.
        rollout: the tables of this process; the tables of an instance are adjacent.
        replicas: number of replicas K of each network.
        has_equal_blocks: whether the tables are K equal blocks, and replica k decides in block k.
        input_size, input_dtype: width and type of a player's observation.
        hidden_card_size: width of what critics see of the other players' cards.
        observation_column: type and width of a replay buffer column that holds observations.
    """

    def __init__(
        self,
        context: LearnerContext,
        assignment: SharingAndSeatingSettings,
        *,
        tables_per_instance: int,
        critic_view: CriticView = "own",
        include_forced_moves: bool = True,
    ) -> None:
        game, net, opponents = context.game, context.net, context.opponents
        self.instances, self._network_sharing = assignment.instances, assignment.network_sharing
        sharing, is_fixed = assignment.network_sharing, assignment.seating == "fixed"
        if opponents and (sharing == "per_agent" or (sharing == "per_seat" and is_fixed)):
            problem = f"{sharing} needs self-play; with opponents: shared, or per_seat"
            raise ConfigError(f"network_sharing: {problem} with seating: shuffled")
        self.workers = context.workers
        # Rank 0 has the same random numbers as a run with a single process.
        spawn_key = (context.rank,) if context.rank else ()
        streams = np.random.SeedSequence(context.seed, spawn_key=spawn_key).generate_state(3)
        self.generator = np.random.Generator(np.random.PCG64(int(streams[0])))
        self._init_generator = torch.Generator().manual_seed(int(streams[1]))
        self.encoder = ObservationEncoder(game, net.features)
        self._encode_hidden_cards: HiddenCardEncoder | None = None
        if critic_view != "own":
            self._encode_hidden_cards = HiddenCardEncoder(
                game, net.features, compare_hands=critic_view == "hand_comparison"
            )
        self.hidden_card_size = self._encode_hidden_cards.size if self._encode_hidden_cards else 0
        # float16 is precise enough: it resolves amounts up to a stack to 1/2,048 of a stack.
        column_dtype = torch.bool if self.encoder.is_binary else torch.float16
        self.observation_column = Column(column_dtype, self.encoder.size)
        self.input_size = self.encoder.size
        self.input_dtype = torch.uint8 if self.encoder.is_binary else torch.float32
        self.has_equal_blocks = self._network_sharing == "shared"
        self.replicas = self.instances * count_networks_per_instance(game, self._network_sharing)
        self._tables_per_instance = tables_per_instance
        self.rollout = Rollout(
            game,
            self.instances * tables_per_instance,
            int(streams[2]),
            opponents=opponents,
            seating=assignment.seating,
            encode_hidden_cards=self._encode_hidden_cards,
            encode_observations=None if net.features == "observation" else self.encoder,
            assign_replicas=self._assign_decision_replicas if self.replicas > 1 else None,
            include_forced_moves=include_forced_moves,
        )
        self.device, self.timer = context.device, LearnerTimer(context.device)
        self.game, self._net_config = game, net

    def build_network(
        self, outputs: int, output_init_scale: float = 1.0, *, is_critic: bool = False
    ) -> nn.Module:
        """Build K replicas of a network that maps observations [K, B, W] to [K, B, outputs].

        The inputs of a critic, [K, B, W + H], also contain the hidden cards.
        """
        dimensions = NetDimensions(
            inputs=self.input_size + is_critic * self.hidden_card_size,
            outputs=outputs,
            replicas=self.replicas,
            output_init_scale=output_init_scale,
            history_shape=self.encoder.history_shape,
        )
        net_config = get_value_net_config(self._net_config) if is_critic else self._net_config
        with memory_errors_as_config_errors("net"):
            return net_config.build_module(dimensions, self._init_generator).to(self.device)

    def build_critic(self, outputs: int, output_init_scale: float = 1.0) -> nn.Module:
        """Build K replicas of a critic, [K, B, W + H] -> [K, B, outputs]; see `build_network`."""
        return self.build_network(outputs, output_init_scale, is_critic=True)

    def build_critic_for_player(
        self,
        value_network: nn.Module | None,
        chips_per_unit: float,
        gamma: float = 1.0,
        *,
        per_action: bool,
    ) -> Critic | None:
        """Return the critic that a player needs to display values in chips, or None.

        The result is None if critics see hidden cards, or if `gamma` < 1 discounts the chips.
        Without a `value_network`, the critic's values are the outputs of the player's network. The
        other arguments are those of `Critic`.
        """
        if self.hidden_card_size or gamma < 1:
            return None
        return Critic(value_network, per_action, chips_per_unit)

    def build_player(
        self,
        module: nn.Module,
        player_class: type[NetworkPlayer] = NetworkPlayer,
        critic: Critic | None = None,
        *,
        instance_per_replica: bool = False,
    ) -> NetworkPlayer:
        """Build a player from the K replicas of the policy network `module`.

        With `instance_per_replica` it has K instances, each of which plays with one replica alone.
        """
        sharing, instances = self._network_sharing, self.instances
        if instance_per_replica:
            sharing, instances = "shared", self.replicas
        return player_class(self.game, self._net_config, module, sharing, instances, critic)

    def build_players(
        self, critic: Critic | None = None, **modules: nn.Module
    ) -> dict[str, Player]:
        """Return a player, by name, for each policy network in `modules`."""
        return {name: self.build_player(module, critic=critic) for name, module in modules.items()}

    def build_actor_and_critic_inputs(
        self, observation: Any, hidden_cards: Any
    ) -> tuple[DeduplicatedInputs, ...]:
        """Return inputs of actors and inputs of critics for N decisions, from arrays or tensors."""
        actor_inputs = DeduplicatedInputs(observation, self.device)
        if not self.hidden_card_size:
            return actor_inputs, actor_inputs
        concatenate = torch.cat if isinstance(observation, Tensor) else np.concatenate
        rows: Any = concatenate([observation, hidden_cards], 1)
        return actor_inputs, DeduplicatedInputs(rows, self.device)

    def compute_logits(
        self, module: nn.Module, decisions: DecisionsToMake, legal: LegalActions | None = None
    ) -> Tensor:
        """Return the network's outputs at B decisions, [B, A], or only those for `legal`, [B, L].

        Replica `decisions.replica[i]` computes row i. L is the length of the lists in `legal`.
        """
        # With a decision at every table, row i is table i, so blocks of tables are blocks of rows.
        has_all_tables = len(decisions.table) == self.instances * self._tables_per_instance
        is_blocked = self.has_equal_blocks and has_all_tables
        replica = None if is_blocked else self.to_tensor(decisions.replica)
        with self.timer.time_networks():
            inputs = DeduplicatedInputs(decisions.observation, self.device)
            return inputs.forward_all(module, replica, legal)

    def compute_probs(self, module: nn.Module, decisions: DecisionsToMake) -> np.ndarray:
        """Return the action probabilities of the policy network `module`, [B, A]."""
        with torch.no_grad():
            logits = self.compute_logits(module, decisions)
            with self.timer.time_networks():
                return masked_softmax(logits, self.to_tensor(decisions.mask)).cpu().numpy()

    def sample_actions(
        self, module: nn.Module, decisions: DecisionsToMake, uniform: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Sample actions [B] from the policy network; return them and their log-probs [B].

        `uniform` has a random number in [0, 1) for each decision, [B] float32; None: sampled here.
        """
        if uniform is None:
            uniform = self.generator.random(len(decisions.mask), np.float32)
        legal = list_legal_actions_if_few(decisions.mask, self.device)
        with torch.no_grad():
            logits = self.compute_logits(module, decisions, legal)
        if legal is None:
            return sample_actions_and_log_probs(logits, decisions.mask, uniform)
        position, log_prob = sample_actions_and_log_probs(
            logits, legal.non_padding_mask.cpu().numpy(), uniform
        )
        return legal.to_action(position), log_prob

    def sample_from_probs(self, probs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Sample actions [B] from probabilities [B, A]; return them and their log-probs [B]."""
        action = sample_from_probs(probs, self.generator.random(len(probs)))
        return action, np.log(probs[np.arange(len(action)), action])

    def encode_seen_and_hidden_cards(self, records: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the observations of seats to act [B, W], and the cards hidden from them [B, H]."""
        if self._encode_hidden_cards is None:
            return self.encoder(records), np.empty((len(records), 0), np.uint8)
        return self.encoder(records), self._encode_hidden_cards(records)

    def assign_replicas(
        self, records: np.ndarray, table: np.ndarray, agent: np.ndarray | None = None
    ) -> np.ndarray:
        """Return the replica that decides at each of B tables, [B] int64.

        `records` are the states of the tables, `table` [B] their indices in `rollout`, and `agent`
        [B] the agents in the seats to act; if `agent` is None, agent i sits in seat i.
        """
        network_index = get_network_index(self.game, self._network_sharing, records, agent)
        first_replica = self.get_instance_of_table(table) * (self.replicas // self.instances)
        return np.asarray(first_replica + network_index)

    def set_learning_seat_prob(self, prob: float) -> None:
        """Let each seat of a hand learn with probability `prob`; another policy plays the rest."""
        self.rollout.sample_learning_seats = lambda tables: (
            self.generator.random((len(tables), self.game.seats)) < prob
        )

    def sample_seed(self) -> int:
        """Sample a seed for a part with its own random generator, such as a replay buffer."""
        return int(self.generator.integers(2**63))

    def to_tensor(self, array: np.ndarray) -> Tensor:
        """Return an array as a tensor on the networks' device."""
        return torch.from_numpy(array).to(self.device)

    def get_instance_of_table(self, table: np.ndarray) -> np.ndarray:
        """Return the learner instance that plays at each table, [N] int64."""
        return table // self._tables_per_instance

    def _assign_decision_replicas(self, decisions: DecisionsToMake) -> np.ndarray:
        if self._network_sharing == "shared":
            return self.get_instance_of_table(decisions.table)
        return self.assign_replicas(decisions.records, decisions.table, decisions.agent)

    def state_dict(self) -> dict[str, Any]:
        return {
            "rollout": self.rollout.state_dict(),
            "generator": self.generator.bit_generator.state,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.rollout.load_state_dict(state["rollout"])
        self.generator.bit_generator.state = state["generator"]
