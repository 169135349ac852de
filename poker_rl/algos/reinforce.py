"""REINFORCE with the running average of the reward for its baseline.

Williams, "Simple statistical gradient-following algorithms for connectionist reinforcement
learning" (1992), with reinforcement comparison (section 3): the reward less an exponential average
of past rewards. With one weight an information set this is the learner of "Kuhn poker via
reinforcement learning" (BSM 2025). An update:

    play `hands` hands
    loss = 1/hands  sum over the decisions of all learning seats of  -log pi(a) (r - baseline[seat])
    take one step of the optimiser, then
    baseline[seat] = decay baseline[seat] + (1 - decay) mean r[seat]

where r is what the seat won in the whole hand. Every copy has baselines of its own; they are moved
once an update, by the mean of its hands, and only after they were used.
"""

from __future__ import annotations

from dataclasses import InitVar, dataclass
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from poker_rl.advantages import gae
from poker_rl.algos.algorithm import Progress
from poker_rl.clock import Clock
from poker_rl.games.game import Game
from poker_rl.nets import Net, masked_log_softmax, routed
from poker_rl.players.features import Features
from poker_rl.players.network import Members, NetworkPlayer, member_count, member_of
from poker_rl.players.player import Player
from poker_rl.rollout import ENDED, Rollout, Rows, Seating, sample
from poker_rl.settings import Count, Positive, Probability

OPTIMISERS = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam}


@dataclass(kw_only=True, frozen=True)
class RunningAverage:
    """An exponential moving average of each seat's reward."""

    decay: Probability  # kept of it each update
    start: float  # chips


@dataclass(kw_only=True)
class Reinforce:
    """The learner.

    Args:
        game: the game played.
        net: shape of the policy network.
        opponent: a fixed player in every seat but agent 0's, or None for self-play.
    """

    hands: Count
    baseline: RunningAverage | None
    optimiser: Literal["sgd", "adam"]
    lr: Positive
    members: Members
    instances: Count
    seating: Seating
    game: InitVar[Game]
    net: InitVar[Net]
    device: InitVar[torch.device]
    seed: InitVar[int]
    opponent: InitVar[Player | None] = None

    def __post_init__(
        self, game: Game, net: Net, device: torch.device, seed: int, opponent: Player | None
    ) -> None:
        self.progress = Progress()
        self._game, self._net, self._device = game, net, device
        streams = np.random.SeedSequence(seed).generate_state(3)
        self._generator = np.random.Generator(np.random.PCG64(int(streams[0])))
        weights = torch.Generator().manual_seed(int(streams[1]))
        features = Features(game, net.features)
        self._members = member_count(game, self.members)
        copies = self.instances * self._members
        self._policy = net.module(features.size, game.actions, copies, weights).to(device)
        self._optimiser = OPTIMISERS[self.optimiser](self._policy.parameters(), lr=self.lr)
        start = 0.0 if self.baseline is None else self.baseline.start
        self._baseline = np.full((self.instances, game.seats), start, np.float32)  # chips
        self._rollout = Rollout(
            game,
            self.instances * self.hands,
            int(streams[2]),
            opponent=opponent,
            seating=self.seating,
            observe=None if net.features == "observation" else features,
            copies=self._copies if copies > 1 else None,
        )
        self._logits: list[Tensor] = []  # of the rows played, kept with their graph
        self._clock = Clock()

    def learn(self) -> dict[str, float]:
        """Play some hands and make one update."""
        self._clock.start()
        self._logits.clear()
        batch = self._rollout.play_out(self._act)
        won = gae(batch.reward, np.zeros_like(batch.reward), batch.next, 1, 1)  # r [N]
        instance = batch.table // self.hands
        advantage = won - self._baseline[instance, batch.seat]
        with self._clock.networks():
            logits = torch.cat(self._logits)  # [N, A]
            log_policy = masked_log_softmax(logits, self._tensor(batch.mask))
            log_prob = log_policy.gather(1, self._tensor(batch.action)[:, None])[:, 0]
            loss = -(log_prob * self._tensor(advantage)).sum() / self.hands
            self._optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            self._optimiser.step()
            entropy = -(log_policy.exp() * log_policy).sum(1).mean()
        if self.baseline is not None:
            self._move(self.baseline.decay, instance, batch.seat, won, batch.next == ENDED)

        self.progress.hands = self._rollout.hands
        self.progress.decisions += len(batch)
        self.progress.updates += 1
        self.progress.iterations += 1
        averages = self._baseline.mean(0) if self.baseline else []
        return {
            "loss/policy": loss.item() / self.instances,
            "policy/entropy": entropy.item(),
            **{f"baseline/seat_{seat}": float(chips) for seat, chips in enumerate(averages)},
            "time/outside_networks": self._clock.outside_networks(),
        }

    def players(self) -> dict[str, Player]:
        """The policy in training."""
        return {
            "current": NetworkPlayer(
                self._game, self._net, self._policy, self.members, self.instances
            )
        }

    def _act(self, rows: Rows) -> tuple[np.ndarray, np.ndarray]:
        # the first turns' rows lie in equal blocks, a copy's each, so need no sorting
        blocks = self.members == "shared" and len(rows.table) == self.instances * self.hands
        with self._clock.networks():
            seen = self._tensor(rows.observation).float()
            copy = None if blocks else self._tensor(rows.copy)
            logits = routed(self._policy, seen, copy)
        self._logits.append(logits)
        return sample(logits, rows.mask, self._generator)

    def _move(
        self,
        decay: float,
        instance: np.ndarray,
        seat: np.ndarray,
        won: np.ndarray,
        last: np.ndarray,
    ) -> None:
        """Move the baselines; a seat's `last` decisions, [N] bool, stand for its hands."""
        place = (instance * self._game.seats + seat)[last]
        count = np.bincount(place, minlength=self._baseline.size)
        total = np.bincount(place, won[last], self._baseline.size)
        decay_of = np.where(count > 0, decay, 1.0)  # no learner sat there: nothing new is known
        mean = total / np.maximum(count, 1)
        moved = decay_of * self._baseline.ravel() + (1 - decay_of) * mean
        self._baseline = moved.reshape(self._baseline.shape).astype(np.float32)

    def _copies(self, rows: Rows) -> np.ndarray:
        instance = rows.table // self.hands
        if self.members == "shared":
            return instance
        member = member_of(self._game, self.members, rows.records, rows.agent)
        copy: np.ndarray = instance * self._members + member
        return copy

    def _tensor(self, array: np.ndarray) -> Tensor:
        return torch.from_numpy(array).to(self._device)

    def state_dict(self) -> dict[str, Any]:
        """Network, optimiser, baselines, tables, generator and counters."""
        return {
            "policy": self._policy.state_dict(),
            "optimiser": self._optimiser.state_dict(),
            "baseline": torch.from_numpy(self._baseline.copy()),
            "rollout": self._rollout.state_dict(),
            "generator": self._generator.bit_generator.state,
            "progress": vars(self.progress).copy(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on where `state_dict` was taken."""
        self._policy.load_state_dict(state["policy"])
        self._optimiser.load_state_dict(state["optimiser"])
        self._baseline = state["baseline"].numpy().copy()
        self._rollout.load_state_dict(state["rollout"])
        self._generator.bit_generator.state = state["generator"]
        self.progress = Progress(**state["progress"])
