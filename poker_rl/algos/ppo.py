"""Proximal policy optimisation in self-play, and with it magnetic mirror descent.

PPO (arXiv:1707.06347, Algorithm 1 with the clipped objective of equation 7) with generalised
advantage estimation over each agent's own decisions. Deep magnetic mirror descent
(arXiv:2206.05825, section 5) is the same learner with other settings: a KL term towards a magnet
and one towards the last policy. The entropy bonus is the KL to the uniform magnet up to a constant;
a magnet that is a copy of the policy, renewed now and then, is NashPG's. What matters in a game of
hidden information is an entropy bonus that starts high and decays (Rudolph et al., "Reevaluating
policy gradient methods for imperfect-information games"). Where actions differ in size alone, as
raises do, it may be less the KL to a policy that is uniform over kinds of actions. An iteration:

    play `steps` actions at every table
    d = r + gamma V(next) - V,  A = d + gamma lambda A(next),  target = A + V
    for each minibatch of each epoch:
        minimise  - min(ratio A, clip(ratio, 1 - c, 1 + c) A)  + value (V - target)^2 / 2
                  - entropy H(pi) + magnet KL(pi, magnet) + last KL(pi, pi before the iteration)

Deviations from the papers: actor and critic are networks of their own with one optimiser, or share
their first layers; values are estimated once a batch, not while playing; a decision whose agent has
not decided again when the batch ends only serves as a value to bootstrap from, and is learnt from
in the next batch; the critic may see the hidden cards beside the information state
(arXiv:2105.11674); weights, and policies in a network, are averaged beside the current policy.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from torch import Tensor, nn

from poker_rl.algos.algorithm import NetworkLearner, Stateful
from poker_rl.config.schedules import OverInstance
from poker_rl.config.settings import (
    Count,
    Natural,
    NonNegative,
    Passes,
    Positive,
    Probability,
    Refused,
)
from poker_rl.learning.advantages import estimated, normalised
from poker_rl.learning.agents import Agents, Given, Seats
from poker_rl.learning.average import AverageSettings
from poker_rl.learning.averages import Averages
from poker_rl.learning.descent import descend, set_rates
from poker_rl.learning.earlier import EarlierSelves, EarlierSettings
from poker_rl.learning.minibatches import Inputs
from poker_rl.learning.references import References
from poker_rl.learning.responses import Responses
from poker_rl.learning.rollout import OPEN, Batch, Rows
from poker_rl.nets.chances import masked_log_softmax, masked_softmax, mean_over
from poker_rl.nets.dense import Together
from poker_rl.nets.legal import Legal, few
from poker_rl.players.player import Player

METRICS = (
    "loss/policy",
    "loss/value",
    "policy/entropy",
    "policy/approx_kl",
    "policy/clip_fraction",
)


@dataclass(kw_only=True)
class PPO(NetworkLearner, Seats):
    """The learner; schedules count the decisions of one instance."""

    tables: Count
    steps: Count
    epochs: Passes
    minibatches: Count
    gamma: Probability
    gae_lambda: Probability
    clip: OverInstance
    lr: OverInstance
    adam_epsilon: Positive
    gradient_norm: Positive
    entropy: OverInstance
    even: Literal["actions", "kinds"]
    magnet: OverInstance | None
    magnet_every: Count
    last: OverInstance | None
    value: NonNegative
    clip_value: bool
    normalise: bool
    reward_scale: Positive
    critic: Literal["own", "perfect_information"]
    shared: Natural
    last_scale: NonNegative
    weight_average: Probability
    average: AverageSettings | None
    earlier: EarlierSettings
    ask_forced: bool

    learnt: ClassVar = ("networks", "weight_average", "magnet", "average")
    own: ClassVar = ("agents", "memory", "responds", "selves")

    taken: ClassVar[bool] = False  # whether the average network learns actions, not probabilities

    def __post_init__(self, given: Given) -> None:
        perfect = self.critic == "perfect_information"
        if perfect and self.shared:
            raise Refused("shared: a critic that sees more than the actor shares no layer: 0")
        if self.minibatches > self.tables * self.steps:
            raise Refused(
                f"minibatches: {self.minibatches:,} parts of the {self.tables * self.steps:,}"
                " decisions of an iteration, tables times steps"
            )
        self._begin(
            Agents(
                given,
                self,
                tables=self.tables,
                hidden=perfect,
                ask_forced=self.ask_forced,
                steps=self.steps,
            )
        )
        self._actor = self._agents.network(given.game.actions, self.last_scale)
        self._critic = self._agents.critic(1)
        self._both = Together(self._actor, self._critic, self.shared)
        self._optimiser = torch.optim.Adam(
            self._both.parameters(), eps=self.adam_epsilon, fused=True
        )
        self._references = References(
            self._agents, self._actor, by_kind=self.even == "kinds", every=self.magnet_every
        )
        self._averages = Averages(
            self._agents,
            self._actor,
            self.weight_average,
            self.average,
            last_scale=self.last_scale,
            taken=self.taken,
        )
        self._responds: Responses | None = None  # None: every seat learns
        self._other: nn.Module = self._actor  # in seats that do not learn, where there are some
        self._selves: EarlierSelves | None = None
        if self.earlier.share:
            if given.opponent is not None:
                raise Refused("earlier.share: needs self-play; with an opponent: 0")
            self._selves = EarlierSelves(self.earlier, self._agents, self._actor)
            self._responds = Responses(self._agents, self._selves.learning)
            self._other = self._selves.module
        self._taken_over = 0  # iterations of the runs that the average of weights comes from

    def _iterate(self) -> dict[str, float]:
        """Play `steps` actions at every table and make some epochs over them."""
        step = self.progress.decisions // self.instances
        now = {
            name: schedule.value(step)
            for name in ("lr", "clip", "entropy", "magnet", "last")
            if (schedule := getattr(self, name)) is not None
        }
        self._references.renew(self.progress.updates)
        if self._selves is not None:
            self._selves.renew(self.progress.iterations)
        batch = self._agents.rollout.stream(self._act, self.steps)
        seen, known = self._agents.inputs(batch)
        data = self._data(batch, seen, known)
        decided = np.flatnonzero(batch.next != OPEN)
        rows = decided[self._learns(batch)[decided]]
        set_rates(self._optimiser, now["lr"])
        sums, updates = torch.zeros(len(METRICS), device=self._agents.device), 0
        for _ in range(self.epochs):
            for index, weight in self._agents.minibatches(rows, batch.copy[rows], self.minibatches):
                part = {name: values[index] for name, values in data.items()}
                legal = _legal_actions(part)
                with self._agents.clock.networks():
                    if known is seen:
                        both = seen.some(self._both, index, legal)  # [K, B, A + 1]
                        logits, value = both[..., :-1], both[..., -1]
                    else:
                        logits = seen.some(self._actor, index, legal)
                        value = known.some(self._critic, index)[..., 0]
                    sums += self._update(logits, value, part, weight, now)
                updates += 1
        # at first iteration t weighs as t^2, so that the average soon forgets where it began
        t = self._taken_over + self.progress.iterations
        self._averages.weights.decay = min(self.weight_average, t / (t + 3))
        self._averages.weights.update(self._actor)
        metrics: dict[str, float] = {}
        if (average := self._averages.play) is not None:
            policy = self._taught(batch, data)[rows]
            metrics = average.taught(batch, rows, policy, self.progress.iterations + 1)

        self.progress.updates += updates
        self._count(len(decided))
        target, error = data["target"][rows], (data["target"] - data["value"])[rows]
        return metrics | {
            **dict(zip(METRICS, (sums / updates).tolist(), strict=True)),
            "value/explained_variance": _explained(error, target),
            **{f"schedule/{name}": value for name, value in now.items()},
        }

    def players(self) -> dict[str, Player]:
        """See `Averages.players`."""
        critic = self._agents.kept(self._critic, self.reward_scale, self.gamma, of_actions=False)
        return self._averages.players(critic)

    def _act(self, rows: Rows) -> tuple[np.ndarray, np.ndarray]:
        if self._responds is None:
            return self._agents.sampled(self._actor, rows)
        responds = self._responds.at(rows)
        action, log_prob = np.empty(len(responds), np.int64), np.empty(len(responds), np.float32)
        for module, part in ((self._actor, responds), (self._other, ~responds)):
            if part.any():
                action[part], log_prob[part] = self._agents.sampled(module, rows.pick(part))
        return action, log_prob

    def _learns(self, batch: Batch) -> np.ndarray:
        """Rows that actor and critic learn from, [N] bool; open ones begin the next batch."""
        if self._responds is None:
            return np.full(len(batch), True)
        responds = self._responds.taken_out()
        self._responds.put_back(responds[batch.next == OPEN])
        return responds

    def _taught(self, batch: Batch, data: dict[str, Tensor]) -> np.ndarray:
        """What the average network is shown of each row, [N, A]."""
        policy = data["last"].exp()
        if (legal := _legal_actions(data)) is not None:
            policy = legal.spread(policy, batch.mask.shape[1])
        return policy.cpu().numpy()

    @torch.no_grad()
    def _data(self, batch: Batch, seen: Inputs, known: Inputs) -> dict[str, Tensor]:
        """What the loss needs of each of N decisions, [N] or [N, A].

        Where few of many actions are legal there is a column for each of those alone, [N, L]:
        `mask` tells which columns stand for one, and `action` is the column of the one taken.
        """
        copy, mask = self._agents.tensor(batch.copy), self._agents.tensor(batch.mask)
        references = self._references.log_policies(
            seen,
            copy,
            mask,
            magnet=self.magnet is not None,
            last=self.last is not None or (self.average is not None and not self.taken),
        )
        with self._agents.clock.networks():
            value = known.all(self._critic, copy)[:, 0]
        advantage = estimated(batch, value, self.gamma, self.gae_lambda, self.reward_scale)
        action, legal = self._agents.tensor(batch.action), few(batch.mask, self._agents.device)
        columns = {"mask": mask, "action": action}
        if legal is not None:
            references = {name: legal.pick(values) for name, values in references.items()}
            columns = {"mask": legal.mask, "action": legal.column(action)}
            columns |= {"legal": legal.action, "count": legal.count}
        return references | {
            **columns,
            "log_prob": self._agents.tensor(batch.log_prob),
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
            logits: [K, B, A] or [K, B, L], of copy k in block k.
            value: [K, B].
            rows: the same rows of `_data`.
            weight: of each row in its copy's mean, [K, B].
            now: values of the schedules.
        """
        clip = now["clip"]
        log_policy = masked_log_softmax(logits, rows["mask"])  # [K, B, A]
        policy = masked_softmax(logits, rows["mask"])  # exp is slow where it underflows
        log_prob = log_policy.gather(2, rows["action"][..., None])[..., 0]  # [K, B]
        log_ratio = log_prob - rows["log_prob"]
        ratio = log_ratio.exp()
        advantage = rows["advantage"]
        if self.normalise:
            advantage = normalised(advantage, weight)
        gain = torch.min(ratio * advantage, ratio.clamp(1 - clip, 1 + clip) * advantage)
        entropy = -mean_over(policy, log_policy, rows["mask"])
        bonus = entropy + (policy * rows["even"]).sum(2) if "even" in rows else entropy
        actor_loss = -gain - now["entropy"] * bonus
        for name in ("magnet", "last"):
            if name in now:
                away = log_policy - rows[name]
                divergence = mean_over(policy, away, rows["mask"])  # KL(pi, .)
                actor_loss = actor_loss + now[name] * divergence

        error = (value - rows["target"]).square()
        if self.clip_value:
            near = rows["value"] + (value - rows["value"]).clamp(-clip, clip)
            error = torch.max(error, (near - rows["target"]).square())

        loss = (weight * (actor_loss + self.value / 2 * error)).sum()  # a mean a copy, their sum
        descend(loss, self._optimiser, self._both, self.gradient_norm)
        with torch.no_grad():
            kl = ratio - 1 - log_ratio  # of the behaviour to pi, estimated from the action taken
            clipped = ((ratio - 1).abs() > clip).float()
            told = torch.stack([-gain, error / 2, entropy, kl, clipped])  # [METRICS, K, B]
            return (told * weight).sum((1, 2)) / len(weight)

    def state_dict(self) -> dict[str, Any]:
        """Networks, optimiser, averages, magnet, tables, generator and counters."""
        state = super().state_dict() | {"renewed": self._references.renewed}
        # left out where it is 0, as by earlier versions, whose runs go on like any other
        return state | ({"earlier": self._taken_over} if self._taken_over else {})

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on where `state_dict` was taken."""
        super().load_state_dict(state)
        self._references.renewed = state["renewed"]
        self._taken_over = state.get("earlier", 0)

    def take_over(self, state: dict[str, Any]) -> None:
        """See `NetworkLearner`; the average of weights goes on slowly if it was slow already."""
        super().take_over(state)
        self._taken_over = state.get("earlier", 0) + state["progress"]["iterations"]

    def _parts(self) -> dict[str, Stateful | None]:
        return {
            "networks": self._both,
            "optimiser": self._optimiser,
            "magnet": self._references.magnet,
            "responds": self._responds,
            "selves": self._selves,
            **self._averages.parts(),
        }


def _legal_actions(rows: dict[str, Tensor]) -> Legal | None:
    """Of rows of `PPO._data`, if these have columns for legal actions alone."""
    return Legal(rows["legal"], rows["count"]) if "legal" in rows else None


def _explained(error: Tensor, target: Tensor) -> float:
    """Share of the targets' variance that the values explain; 0 where there are no two of them."""
    if len(target) < 2:
        return 0.0
    return 1 - float(error.var() / target.var().clamp(min=1e-8))
