"""Interface of algorithms to the training loop, base class of network learners, and builders."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import InitVar, asdict, dataclass, field, replace
from inspect import signature
from typing import Any, ClassVar, Protocol

import torch

from poker_rl.config.build import build
from poker_rl.config.input_checks import ConfigError
from poker_rl.config.schedules import convert_horizons_to_steps
from poker_rl.config.target_classes import split_target_and_settings
from poker_rl.config.threads_and_numba_cache import set_one_thread_by_default
from poker_rl.games.game import Game
from poker_rl.learning import collectives
from poker_rl.learning.gradient_steps import load_optimizer_moments
from poker_rl.learning.learner_services import LearnerContext, LearnerServices
from poker_rl.learning.opponents import OpponentSettings
from poker_rl.nets.net_interfaces import NetConfig
from poker_rl.players.network_player import NetworkPlayer
from poker_rl.players.player import Player

CPU = torch.device("cpu")
# The config groups and keys that a caller of `create_algorithm` may override.
OVERRIDABLE_KEYS = ("algo", "net", "budget", "budget_unit", "experiment")


@dataclass
class Progress:
    """Counters of the work done so far; the setting `budget_unit` names the one that limits a run.

    In each sweep over the whole game tree, a solver counts every deal as a hand and every decision
    node as a decision; a solver on the public tree counts information sets as decisions.
    """

    hands: int = 0
    decisions: int = 0
    # Optimizer steps, except those of average policies; for a solver, updates of a seat's regrets.
    updates: int = 0
    iterations: int = 0  # calls of `Algorithm.learn`; a solver may run several iterations in a call

    def state_dict(self) -> dict[str, Any]:
        return asdict(self)

    def load_state_dict(self, state: dict[str, Any]) -> None:
        vars(self).update(state)


class Stateful(Protocol):
    """Part of a learner that is saved in checkpoints, as tensors and plain values."""

    def state_dict(self) -> dict[str, Any]: ...

    def load_state_dict(self, state: dict[str, Any]) -> Any: ...


class Algorithm(Protocol):
    """Interface between a learner or solver and the training loop.

    Calling `players` or `state_dict` leaves the rest of the run bitwise unchanged.
    """

    progress: Progress

    def learn(self) -> Mapping[str, float]:
        """Run one iteration (solvers may run several), and return finite metrics.

        The keys of the result are TensorBoard tags, such as "loss/policy".
        """

    def players(self) -> Mapping[str, Player]:
        """Return the players to evaluate; the keys are names, such as "average" and "current".

        The first is the headline player, which should be closest to an equilibrium. A command that
        expects a player but gets only the name of a run uses the headline player of this run.
        """

    def state_dict(self) -> dict[str, Any]:
        """Return the whole state, random generators included, as finite tensors and values."""

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore a `state_dict`; training then continues exactly as if never interrupted."""


@dataclass(kw_only=True)
class NetworkLearner(ABC):
    """Base class of learners with networks.

    A subclass is a dataclass with `kw_only=True` whose fields are the keys of its YAML. Its
    `__post_init__(self, context)` sets `services` to a `LearnerServices`, then builds networks with
    `services.build_network`, and optimizers.

    Attributes:
        services: plays at the tables, builds networks and players; see `LearnerServices`.
        progress: counters; `run_iteration` calls `add_progress` and adds to `progress.updates`.
        warm_start_parts: names of the parts, such as networks and averages, that a warm start
            copies from another run.
        warm_start_sources: `_target_` of the other learner classes that a warm start can copy from.
        min_gpu_work: `device: auto` uses a GPU if the work of a network call (number of weights x
            rows x instances) is at least this; see docs/gpu.md.
        per_process_parts: keys at any level of `state_dict()` whose values differ between the
            processes of a run, such as tables and buffers; None: only one process is supported.
    """

    context: InitVar[LearnerContext]
    services: LearnerServices = field(init=False, repr=False)
    progress: Progress = field(init=False, default_factory=Progress)
    warm_start_parts: ClassVar[tuple[str, ...]]
    warm_start_sources: ClassVar[tuple[str, ...]] = ()
    min_gpu_work: ClassVar[float] = 1.2e7
    per_process_parts: ClassVar[tuple[str, ...] | None] = None

    @abstractmethod
    def run_iteration(self) -> dict[str, float]:
        """Play one batch, learn, count progress; return the metrics by TensorBoard tag."""

    @abstractmethod
    def players(self) -> dict[str, Player]:
        """Return the players by name, built with `services.build_players`; see `Algorithm`."""

    @abstractmethod
    def stateful_parts(self) -> dict[str, Stateful | None]:
        """Return networks, optimizers and buffers by name; None for a part that is turned off."""

    def learn(self) -> dict[str, float]:
        """Run one iteration; return its metrics and time shares, averaged over the processes."""
        timer, opponents = self.services.timer, self.services.rollout.opponents
        timer.start()
        if opponents is not None:
            opponents.update(self.progress.iterations, self.players, self.services.device)
        self._hands_before = self.services.rollout.hands_played
        metrics = self.run_iteration()
        self.progress.iterations += 1
        if opponents is not None:
            metrics |= opponents.pop_metrics()
        metrics |= {"time/outside_networks": timer.compute_fraction_outside_networks()}
        if self.services.workers > 1:
            metrics |= {"time/communication": timer.compute_communication_fraction()}
        return collectives.average_metrics(metrics)

    def add_progress(self, decisions: int) -> None:
        """Add this iteration's hands and `decisions`, summed over processes, to `progress`."""
        hands = self.services.rollout.hands_played - self._hands_before
        hands, decisions = collectives.sum_over_processes(hands, decisions)
        self.progress.hands += hands
        self.progress.decisions += decisions

    def _collect_stateful_parts(self) -> dict[str, Stateful]:
        parts = {"progress": self.progress, "services": self.services, **self.stateful_parts()}
        return {name: part for name, part in parts.items() if part is not None}

    def state_dict(self) -> dict[str, Any]:
        return {name: part.state_dict() for name, part in self._collect_stateful_parts().items()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        for name, part in self._collect_stateful_parts().items():
            if isinstance(part, torch.optim.Optimizer):
                load_optimizer_moments(part, state[name])
            else:
                part.load_state_dict(state[name])

    def warm_start(self, state: dict[str, Any]) -> None:
        """Copy `warm_start_parts` from another run, and its opponent pool if both runs have one.

        `state` is the `state_dict` of the other run's learner. Raise ConfigError if one of the two
        learners has a part of `warm_start_parts` that the other lacks.
        """
        parts = self._collect_stateful_parts()
        for name in (*self.warm_start_parts, "opponent_pool"):
            if name in self.warm_start_parts and (name in parts) != (name in state):
                has, lacks = ("this", "that") if name in parts else ("that", "this")
                raise ConfigError(f"{name}: {has} learner has one, {lacks} has none")
            if name in parts and name in state:
                load_part = getattr(parts[name], "warm_start", parts[name].load_state_dict)
                load_part(state[name])

    def warm_start_from_player(self, player: NetworkPlayer) -> None:
        """Copy the network of `player` to every player of this learner, averages included.

        The critic of `player`, if any, is copied to critics with the same `chips_per_unit` and
        `per_action`.
        """
        critic = player.critic
        players = [own for own in self.players().values() if isinstance(own, NetworkPlayer)]
        for own in players:  # critics first: policies then overwrite shared layers
            own_module = None if own.critic is None else own.critic.module
            if critic is None or critic.module is None or own_module is None:
                continue
            if replace(critic, module=own_module) == own.critic:
                own_module.load_state_dict(critic.module.state_dict())
        for own in players:
            own.module.load_state_dict(player.module.state_dict())


def create_algorithm(
    name: str, game: Game, *overrides: str, seed: int = 0, device: torch.device = CPU
) -> Algorithm:
    """Build the untrained algorithm of `poker-rl train algo=NAME`, for self-play.

    The process is also limited to one thread, unless `poker_rl.config.set_threads` was called.

    Args:
        name: an option of `conf/algo` or of a plug-in.
        overrides: settings as on the command line, such as `algo.gamma=0.9` or `net=mlp_large`.
            `budget=1e7` sets the length of schedules that span the whole budget.

    Raises:
        ConfigError: if there is no such algorithm, a setting is invalid, or the algorithm does not
            support this game.
    """
    from poker_rl.config.compose import compose_plain_config  # imported here, as hydra is slow

    if isinstance(game, str):
        raise ConfigError(f'game: "{game}" is a name; give a game, such as load_game("{game}")')
    config = convert_horizons_to_steps(
        compose_plain_config([f"algo={name}", *overrides], allowed_groups=OVERRIDABLE_KEYS)
    )
    return build_algorithm(config, game, device, seed)


def build_algorithm(
    config: Mapping[str, Any],
    game: Game,
    device: torch.device,
    seed: int,
    opponents: OpponentSettings | None = None,
    workers: int = 1,
    rank: int = 0,
) -> Algorithm:
    """Build the algorithm that a run's config describes.

    The config has `algo` and, for a learner with networks, `net`. The horizons of its schedules
    must be in steps, see `convert_horizons_to_steps`. For the other arguments see `LearnerContext`.

    Raises:
        ConfigError: if a setting is invalid, `net` is missing, or the algorithm does not support
            `net`, `opponents` or several processes.
    """
    set_one_thread_by_default()
    algorithm_class, _ = split_target_and_settings(config["algo"], "algo")
    if workers > 1 and getattr(algorithm_class, "per_process_parts", None) is None:
        raise ConfigError(f"workers: {algorithm_class.__name__} learns in one process; allowed: 1")
    net = build(config["net"], "net", NetConfig) if "net" in config else None
    # `build` drops those arguments that the class does not take. It puts "algo" in front of error
    # messages, except those that begin with the name of one of these arguments, like "net: ...".
    arguments: dict[str, Any] = {"game": game, "seed": seed, "net": net, "opponents": opponents}
    if "context" in signature(algorithm_class).parameters:  # a network learner, not a solver
        if net is None:
            raise ConfigError(f"net: missing, {algorithm_class.__name__} needs one")
        context = LearnerContext(**arguments, device=device, workers=workers, rank=rank)
        arguments["context"] = context
    else:
        for key in ("net", "opponents"):
            if arguments[key] is not None:
                raise ConfigError(f"{key}: {algorithm_class.__name__} takes none")
    algorithm: Algorithm = build(config["algo"], "algo", Algorithm, **arguments)
    return algorithm
