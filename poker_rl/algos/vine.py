"""Policy gradient over all actions, each valued by a rollout: the vine procedure with a replay.

TRPO's "vine" (arXiv:1502.05477, section 5.2) plays several actions on from the same state and so
compares them in the same world: what differs between two returns is what the actions did, not the
cards. Here a hand is played by the average of the policy's weights, and in an iteration

    at each decision of `steps` actions at every table, of policy pi, for every action a that pi
    finds likely enough, at a copy of the table with all its cards:
        play a, let the others answer by pi until the same player decides again
        Q(a) = V(that decision), or what the hand pays if it ends before
    V = sum_a pi(a) Q(a),  A(a) = Q(a) - V;  put (s, a, pi, A, V) into a memory of the newest
    for each of some batches from the memory:
        minimise  - sum_a p(a) A(a) + last KL(p, pi) - entropy H(p)  in the actor p(s),
                  (v(s) - V)^2  in the critic v(s)
    let the averages of actor and critic keep `weight_average` of themselves

One return of an action is noisy, but as the cards are those of the hand, unseen cards are as
likely as play so far makes them, and the network takes the mean over similar decisions. Most
decisions have one likely action, where there is nothing to compare: only a share of them is valued,
for the critic, and weighs so much more there.

Deviations: TRPO follows each rollout to its end and takes one step under a constraint on KL; the
bootstrap, the replay with a KL penalty in its place, and the constants are our own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from torch import Tensor, nn

from poker_rl.algos.algorithm import NetworkLearner, Stateful
from poker_rl.config.schedules import OverDecisions
from poker_rl.config.settings import (
    Count,
    NonNegative,
    Passes,
    Positive,
    Probability,
    Refused,
    Share,
)
from poker_rl.games.tables import Tables
from poker_rl.learning.agents import Agents, Given, Seats
from poker_rl.learning.descent import descend, set_rates
from poker_rl.learning.memory import Circular, Column, Memory
from poker_rl.learning.minibatches import Inputs
from poker_rl.learning.rollout import OPEN, Rows
from poker_rl.nets.chances import masked_log_softmax, masked_softmax, mean_over
from poker_rl.nets.dense import Together
from poker_rl.nets.legal import Legal, listed
from poker_rl.nets.weight_average import WeightAverage
from poker_rl.players.onward import MOST_TABLES, outcome
from poker_rl.players.player import Player
from poker_rl.players.sampling import draw, sample

METRICS = ("loss/policy", "loss/value", "policy/entropy", "policy/kl")


@dataclass(kw_only=True)
class Vine(NetworkLearner):
    """The learner; schedules count decisions, those in rollouts among them.

    Raises:
        Refused: if there is a fixed opponent.
    """

    tables: Count
    steps: Count
    least: Probability
    most: Count
    lone: Share
    replay: Count
    updates: Passes
    batch: Count
    actor_lr: OverDecisions
    critic_lr: OverDecisions
    adam_epsilon: Positive
    gradient_norm: Positive
    last: OverDecisions
    entropy: OverDecisions
    reward_scale: Positive
    last_scale: NonNegative
    weight_average: Probability
    members: Literal["shared", "seat"]
    instances: Count

    learnt: ClassVar = ("networks", "weight_average")
    own: ClassVar = ("agents", "memory")
    begins_with: ClassVar = ("poker_rl.algos.ppo.PPO",)

    def __post_init__(self, given: Given) -> None:
        if given.opponent is not None:
            raise Refused("opponent: vine plays itself, and takes none")
        seats = Seats(members=self.members, instances=self.instances, seating="fixed")
        self._begin(Agents(given, seats, tables=self.tables, ask_forced=False, steps=self.steps))
        agents = self._agents
        actor = agents.network(given.game.actions, self.last_scale)
        self._actor, self._critic = actor, agents.critic(1)
        self._both = Together(self._actor, self._critic, shared=0)
        self._optimiser = torch.optim.Adam(
            [{"params": list(part.parameters())} for part in (self._actor, self._critic)],
            eps=self.adam_epsilon,
            fused=True,
        )
        self._player = WeightAverage(self._actor, self.weight_average)
        self._judge = WeightAverage(self._critic, self.weight_average)
        width = min(self.most, given.game.actions)
        columns = {
            "observation": agents.column,
            # the likeliest first
            "action": Column(torch.int32, width, below=given.game.actions),
            "count": Column(torch.int32, below=width + 1),  # how many of them were tried
            "policy": Column(torch.float32, width),
            "advantage": Column(torch.float32, width),
            "value": Column(torch.float32),
        }
        self._memory = Memory(
            "replay",
            self.replay,
            Circular(),
            columns,
            agents.device,
            agents.seed(),
            copies=agents.copies,
        )
        self._memory.demand_batch("batch", self.batch)
        self._memory.demand_full("batch", self.batch)
        self._width = width
        self._answers = 0  # decisions of this iteration that others made in rollouts

    def _iterate(self) -> dict[str, float]:
        """Play `steps` actions at every table, try others there, and learn from the memory."""
        self._answers = 0
        batch = self._agents.rollout.stream(self._act, self.steps)
        told = torch.zeros(len(METRICS), device=self._agents.device)
        step = self.progress.decisions
        set_rates(self._optimiser, self.actor_lr.value(step), self.critic_lr.value(step))
        last, entropy = self.last.value(step), self.entropy.value(step)
        updates = self.updates if self._memory.fewest >= self.batch else 0
        for _ in range(updates):
            told += self._update(last, entropy)
        # at first iteration t weighs as t^2, so that the averages soon forget where they began
        t = self.progress.iterations + 1
        for average, module in ((self._player, self._actor), (self._judge, self._critic)):
            average.decay = min(self.weight_average, t / (t + 3))
            average.update(module)
        self.progress.updates += updates
        self._count(int((batch.next != OPEN).sum()) + self._answers)
        metrics = {"memory/fill": self._memory.fill, "schedule/last": last}
        if updates:
            metrics |= dict(zip(METRICS, (told / updates).tolist(), strict=True))
        return metrics

    def players(self) -> dict[str, Player]:
        """The average of the weights, which plays while it learns, before the current ones."""
        critic = self._agents.kept(self._judge.module, self.reward_scale, of_actions=False)
        return self._agents.players(critic, weight_average=self._player.module, current=self._actor)

    def take_over(self, state: dict[str, Any]) -> None:
        """See `NetworkLearner`; a run of PPO has no average of its critic, only the critic."""
        super().take_over(state)
        kept = state.get("value_average")
        self._judge.load_state_dict(kept or self._critic.state_dict())

    def _act(self, rows: Rows) -> tuple[np.ndarray, np.ndarray]:
        agents, module = self._agents, self._player.module
        legal = listed(rows.mask, agents.device)
        with torch.no_grad():
            said = agents.logits(module, rows, legal)
            policy = masked_softmax(said, legal.mask).double().cpu().numpy()  # [B, L]
        self._remember(rows, legal.action.cpu().numpy(), policy)
        column = draw(policy, agents.generator.random(len(policy)))
        return legal.taken(column), np.log(policy[np.arange(len(column)), column])

    def _remember(self, rows: Rows, action: np.ndarray, policy: np.ndarray) -> None:
        """Value the likely actions of some decisions, and put these into the memory.

        Args:
            action: the legal ones, [B, L].
            policy: their chances, [B, L], 0 in columns left over.
        """
        likeliest = np.argsort(-policy, axis=1, kind="stable")[:, : self._width]
        policy = np.take_along_axis(policy, likeliest, 1)
        action = np.take_along_axis(action, likeliest, 1)
        tried = (policy > 0) & (policy >= np.minimum(self.least, policy[:, :1]))  # [B, width]
        count = tried.sum(1)
        kept = (count > 1) | (self._agents.generator.random(len(count)) < self.lone)
        decision, column = np.nonzero(tried & kept[:, None])
        worth = np.zeros(policy.shape)  # in reward scales
        records = rows.records
        for first in range(0, len(decision), MOST_TABLES):
            part = decision[first : first + MOST_TABLES], column[first : first + MOST_TABLES]
            worth[part] = self._worth(records.take(part[0]), rows.table[part[0]], action[part])
        policy = np.where(tried, policy, 0.0)
        policy /= policy.sum(1, keepdims=True)
        value = (policy * worth).sum(1)
        advantage = np.where(tried, worth - value[:, None], 0.0)
        left_over = ((0, 0), (0, self._width - policy.shape[1]))
        self._memory.add(
            rows.copy[kept],
            observation=rows.observation[kept],
            action=np.pad(action, left_over)[kept],
            count=count[kept],
            policy=np.pad(policy, left_over)[kept],
            advantage=np.pad(advantage, left_over)[kept],
            value=value[kept],
        )

    def _worth(self, records: np.ndarray, table: np.ndarray, action: np.ndarray) -> np.ndarray:
        """What actions lead to, one sample each, in reward scales [N].

        Args:
            records: the tables at these decisions [N], which are played on.
            table: the rollout's table that each of them is a copy of [N].
            action: of the seat to act [N].
        """
        agents = self._agents
        tables = Tables(agents.game, 0, 0)
        tables.use(records)

        def asked(module: nn.Module, rows: np.ndarray, legal: Legal | None = None) -> Tensor:
            there = tables.records.take(rows)
            seen, _ = agents.known(there)
            copy = agents.tensor(agents.decides(there, table[rows]))
            with agents.clock.networks(), torch.no_grad():
                return Inputs(seen, agents.device).all(module, copy, legal)

        def answer(rows: np.ndarray, mask: np.ndarray) -> np.ndarray:
            self._answers += len(rows)
            legal = listed(mask, agents.device)
            said = asked(self._player.module, rows, legal)
            column, _ = sample(said, legal.mask.cpu().numpy(), agents.generator)
            return legal.taken(column)

        def value(rows: np.ndarray) -> np.ndarray:
            values = asked(self._judge.module, rows)[:, 0].double().cpu().numpy()
            return values * self.reward_scale

        return outcome(tables, action, answer, value) / self.reward_scale

    def _update(self, last: float, entropy: float) -> Tensor:
        """One step of both networks on a batch of each copy; its METRICS."""
        rows = self._memory.sample(self.batch)
        observation, count = rows["observation"].float(), rows["count"].long()
        legal = Legal(rows["action"].long(), count)
        tried = legal.mask  # [K, B, width]
        weight = torch.where(count > 1, 1.0, 1 / self.lone)
        with self._agents.clock.networks():
            both = self._both(observation, legal)  # [K, B, width + 1]
            said, value = both[..., :-1], both[..., -1]
            p, log_p = masked_softmax(said, tried), masked_log_softmax(said, tried)
            gain = (p * rows["advantage"]).sum(2)
            log_policy = rows["policy"].clamp(min=1e-8).log()
            kl = mean_over(p, log_p - log_policy, tried)
            spread = -mean_over(p, log_p, tried)
            error = (value - rows["value"]).square()
            actor_loss = -gain + last * kl - entropy * spread
            loss = (actor_loss + weight * error).mean(1).sum()  # a mean a copy, their sum
            descend(loss, self._optimiser, self._actor, self.gradient_norm)
            with torch.no_grad():
                means = torch.stack([part.mean() for part in (-gain, error, spread, kl)])
        return means

    def _parts(self) -> dict[str, Stateful | None]:
        return {
            "networks": self._both,
            "optimiser": self._optimiser,
            "weight_average": self._player,
            "value_average": self._judge,
            "memory": self._memory,
        }
