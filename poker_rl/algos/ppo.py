"""Proximal policy optimisation in self-play, and with it magnetic mirror descent.

PPO (arXiv:1707.06347, Algorithm 1 with the clipped objective of equation 7) with generalised
advantage estimation over each agent's own decisions. Deep magnetic mirror descent
(arXiv:2206.05825, section 5) is the same learner with other settings: a KL term towards a magnet
and one towards the last policy. The entropy bonus is the KL to the uniform magnet up to a constant;
a magnet that is a copy of the policy, renewed now and then, is NashPG's. What matters in a game of
hidden information is an entropy bonus that starts high and decays (Rudolph et al., "Reevaluating
policy gradient methods for imperfect-information games"). An iteration:

    play `steps` actions at every table
    d = r + gamma V(next) - V,  A = d + gamma lambda A(next),  target = A + V
    for each minibatch of each epoch:
        minimise  - min(ratio A, clip(ratio, 1 - c, 1 + c) A)  + value (V - target)^2 / 2
                  - entropy H(pi) + magnet KL(pi, magnet) + last KL(pi, pi before the iteration)

Deviations from the papers: actor and critic are networks of their own with one optimiser; values
are estimated once a batch, not while playing; a decision whose agent has not decided again when
the batch ends only serves as a value to bootstrap from, and is learnt from in the next batch; the
critic may see the hidden cards beside the information state (arXiv:2105.11674); weights, and
policies in a network, are averaged beside the current policy.
"""

from __future__ import annotations

from dataclasses import InitVar, dataclass
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from poker_rl.advantages import gae
from poker_rl.algos.algorithm import Progress
from poker_rl.average import AveragePolicy, AverageSettings
from poker_rl.clock import Clock
from poker_rl.games.game import Game
from poker_rl.minibatches import Inputs, minibatches
from poker_rl.nets import Net, WeightAverage, clip_gradients, masked_log_softmax, routed
from poker_rl.players.features import Features
from poker_rl.players.network import Members, NetworkPlayer, member_count, member_of
from poker_rl.players.player import Player
from poker_rl.rollout import OPEN, Batch, Rollout, Rows, Seating, sample
from poker_rl.schedules import Schedule
from poker_rl.settings import Count, NonNegative, Positive, Probability

METRICS = (
    "loss/policy",
    "loss/value",
    "policy/entropy",
    "policy/approx_kl",
    "policy/clip_fraction",
)


@dataclass(kw_only=True)
class PPO:
    """The learner; schedules count the decisions of one instance.

    Args:
        game: the game played.
        net: shape of the actor, and of the critic but for its input and output.
        opponent: a fixed player in every seat but agent 0's, or None for self-play.
    """

    tables: Count
    steps: Count
    epochs: Count
    minibatches: Count
    gamma: Probability
    gae_lambda: Probability
    clip: Schedule
    lr: Schedule
    adam_epsilon: Positive
    gradient_norm: Positive
    entropy: Schedule
    magnet: Schedule | None
    magnet_every: Count
    last: Schedule | None
    value: NonNegative
    clip_value: bool
    normalise: bool
    reward_scale: Positive
    critic: Literal["own", "perfect_information"]
    last_scale: NonNegative
    weight_average: Probability
    average: AverageSettings | None
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
        self._count = self.instances * self._members  # copies of the networks, K
        hidden = game.hidden_size if self.critic == "perfect_information" else 0

        def module(inputs: int, outputs: int, scale: float) -> nn.Module:
            return net.module(inputs, outputs, self._count, weights, scale).to(device)

        self._actor = module(features.size, game.actions, self.last_scale)
        self._critic = module(features.size + hidden, 1, 1.0)
        self._both = nn.ModuleList([self._actor, self._critic])
        self._optimiser = torch.optim.Adam(
            self._both.parameters(), eps=self.adam_epsilon, fused=True
        )
        self._weight_average = WeightAverage(self._actor, self.weight_average)
        self._magnet = WeightAverage(self._actor, 0.0)  # keeps nothing: a copy, when updated
        self._renewed = 0
        self._average = None
        if self.average is not None:
            network = module(features.size, game.actions, self.last_scale)
            self._average = AveragePolicy(self.average, network, self._generator)
        self._rollout = Rollout(
            game,
            self.instances * self.tables,
            int(streams[2]),
            opponent=opponent,
            seating=self.seating,
            hidden=hidden > 0,
            observe=None if net.features == "observation" else features,
            copies=self._copies if self._count > 1 else None,
        )
        # with nobody else at the tables, every copy decides at as many rows
        self._even = opponent is None and self.members == "shared"
        self._clock = Clock()

    def learn(self) -> dict[str, float]:
        """Play `steps` actions at every table and make some epochs over them."""
        self._clock.start()
        step = self.progress.decisions // self.instances
        now = {
            name: schedule.value(step)
            for name in ("lr", "clip", "entropy", "magnet", "last")
            if (schedule := getattr(self, name)) is not None
        }
        if self.progress.updates >= self._renewed + self.magnet_every:
            self._magnet.update(self._actor)
            self._renewed = self.progress.updates

        batch = self._rollout.stream(self._act, self.steps)
        seen = Inputs(batch.observation, self._device)
        known = (
            seen
            if not batch.hidden.shape[1]
            else Inputs(np.concatenate([batch.observation, batch.hidden], 1), self._device)
        )
        data = self._data(batch, seen, known)
        rows = np.flatnonzero(batch.next != OPEN)
        self._optimiser.param_groups[0]["lr"] = now["lr"]
        sums, updates = torch.zeros(len(METRICS), device=self._device), 0
        for _ in range(self.epochs):
            for index, weight in minibatches(
                rows, batch.copy[rows], self._count, self.minibatches, self._generator, self._device
            ):
                part = {name: values[index] for name, values in data.items()}
                with self._clock.networks():
                    logits = seen.some(self._actor, index)
                    value = known.some(self._critic, index)[..., 0]
                    sums += self._update(logits, value, part, weight, now)
                updates += 1
        # at first iteration t weighs as t^2, so that the average soon forgets where it began
        t = self.progress.iterations
        self._weight_average.decay = min(self.weight_average, t / (t + 3))
        self._weight_average.update(self._actor)
        metrics: dict[str, float] = {}
        if self._average is not None:
            self._average.add(
                batch.observation[rows],
                batch.mask[rows],
                data["last"].exp().cpu().numpy()[rows],
                batch.copy[rows],
                self.progress.iterations + 1,
            )
            with self._clock.networks():
                metrics = self._average.learn()

        self.progress.updates += updates
        self.progress.hands = self._rollout.hands
        self.progress.decisions += len(rows)
        self.progress.iterations += 1
        target, error = data["target"][rows], (data["target"] - data["value"])[rows]
        return metrics | {
            **dict(zip(METRICS, (sums / updates).tolist(), strict=True)),
            "value/explained_variance": 1 - float(error.var() / target.var().clamp(min=1e-8)),
            **{f"schedule/{name}": value for name, value in now.items()},
            "time/outside_networks": self._clock.outside_networks(),
        }

    def players(self) -> dict[str, Player]:
        """The policy in training, the average of its weights, and its average network if any."""
        modules = {"current": self._actor, "weight_average": self._weight_average.module}
        if self._average is not None:
            modules["average"] = self._average.module
        return {
            name: NetworkPlayer(self._game, self._net, module, self.members, self.instances)
            for name, module in modules.items()
        }

    def _act(self, rows: Rows) -> tuple[np.ndarray, np.ndarray]:
        with self._clock.networks(), torch.no_grad():
            copy = None if self._even else self._tensor(rows.copy)
            logits = routed(self._actor, self._tensor(rows.observation).float(), copy)
        return sample(logits, rows.mask, self._generator)

    @torch.no_grad()
    def _data(self, batch: Batch, seen: Inputs, known: Inputs) -> dict[str, Tensor]:
        """What the loss needs of each of N decisions, [N] or [N, A]."""
        copy, mask = self._tensor(batch.copy), self._tensor(batch.mask)
        references = {}
        with self._clock.networks():
            value = known.all(self._critic, copy)[:, 0]
            if self.magnet is not None:
                references["magnet"] = masked_log_softmax(seen.all(self._magnet.module, copy), mask)
            if self.last is not None or self._average is not None:
                references["last"] = masked_log_softmax(seen.all(self._actor, copy), mask)
        reward = batch.reward / np.float32(self.reward_scale)
        advantage = self._tensor(
            gae(reward, value.cpu().numpy(), batch.next, self.gamma, self.gae_lambda)
        )
        return references | {
            "mask": mask,
            "action": self._tensor(batch.action),
            "log_prob": self._tensor(batch.log_prob),
            "value": value,
            "advantage": advantage,
            "target": advantage + value,
        }

    def _update(
        self,
        logits: Tensor,
        value: Tensor,
        rows: dict[str, Tensor],
        weight: Tensor,
        now: dict[str, float],
    ) -> Tensor:
        """One step of the optimiser; its METRICS.

        Args:
            logits: [K, B, A], of copy k in block k.
            value: [K, B].
            rows: the same rows of `_data`.
            weight: of each row in its copy's mean, [K, B].
            now: values of the schedules.
        """
        clip = now["clip"]
        log_policy = masked_log_softmax(logits, rows["mask"])  # [K, B, A]
        policy = log_policy.exp()
        log_prob = log_policy.gather(2, rows["action"][..., None])[..., 0]  # [K, B]
        log_ratio = log_prob - rows["log_prob"]
        ratio = log_ratio.exp()
        advantage = rows["advantage"]
        if self.normalise:
            advantage = advantage - (weight * advantage).sum(1, keepdim=True)
            spread = (weight * advantage.square()).sum(1, keepdim=True).sqrt()
            advantage = advantage / (spread + 1e-8)
        gain = torch.min(ratio * advantage, ratio.clamp(1 - clip, 1 + clip) * advantage)
        entropy = -(policy * log_policy).sum(2)
        actor_loss = -gain - now["entropy"] * entropy
        for name in ("magnet", "last"):
            if name in now:
                divergence = (policy * (log_policy - rows[name])).sum(2)  # KL(pi, .)
                actor_loss = actor_loss + now[name] * divergence

        error = (value - rows["target"]).square()
        if self.clip_value:
            near = rows["value"] + (value - rows["value"]).clamp(-clip, clip)
            error = torch.max(error, (near - rows["target"]).square())

        loss = (weight * (actor_loss + self.value / 2 * error)).sum()  # a mean a copy, their sum
        self._optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        clip_gradients(self._both, self.gradient_norm)
        self._optimiser.step()
        with torch.no_grad():
            kl = ratio - 1 - log_ratio  # of the behaviour to pi, estimated from the action taken
            clipped = ((ratio - 1).abs() > clip).float()
            told = torch.stack([-gain, error / 2, entropy, kl, clipped])  # [METRICS, K, B]
            return (told * weight).sum((1, 2)) / len(weight)

    def _copies(self, rows: Rows) -> np.ndarray:
        instance: np.ndarray = rows.table // self.tables
        if self.members == "shared":
            return instance
        copy: np.ndarray = instance * self._members
        copy += member_of(self._game, self.members, rows.records, rows.agent)
        return copy

    def _tensor(self, array: np.ndarray) -> Tensor:
        return torch.from_numpy(array).to(self._device)

    def state_dict(self) -> dict[str, Any]:
        """Networks, optimiser, averages, magnet, tables, generator and counters."""
        return {
            "networks": self._both.state_dict(),
            "optimiser": self._optimiser.state_dict(),
            "weight_average": self._weight_average.state_dict(),
            "magnet": self._magnet.state_dict(),
            "renewed": self._renewed,
            "average": None if self._average is None else self._average.state_dict(),
            "rollout": self._rollout.state_dict(),
            "generator": self._generator.bit_generator.state,
            "progress": vars(self.progress).copy(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on where `state_dict` was taken."""
        self._both.load_state_dict(state["networks"])
        self._optimiser.load_state_dict(state["optimiser"])
        self._weight_average.load_state_dict(state["weight_average"])
        self._magnet.load_state_dict(state["magnet"])
        self._renewed = state["renewed"]
        if self._average is not None:
            self._average.load_state_dict(state["average"])
        self._rollout.load_state_dict(state["rollout"])
        self._generator.bit_generator.state = state["generator"]
        self.progress = Progress(**state["progress"])
