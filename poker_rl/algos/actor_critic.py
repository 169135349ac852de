"""All-action actor-critic with a critic that values every action and may see every card.

The policy gradient over all actions is that of mean actor-critic (arXiv:1709.00503); the critic
is trained by expected SARSA with Retrace (arXiv:1606.02647) on the information state and the
hidden cards (unbiased asymmetric critic, arXiv:2105.11674); the estimate of the advantages is
doubly robust (a control variate, as in arXiv:2008.12234 and arXiv:1809.03057); the policy is
pulled towards uniform play by a decaying KL term (magnetic mirror descent, arXiv:2206.05825).
An iteration:

    deal hands, each with one traverser, who mixes uniform play into its policy pi to get b
    target   = r + E_pi Q(next) + lambda min(1, pi / b) (target(next) - Q(next, action))
    A(a)     = Q(a) - E_pi Q,  with  d = (target - Q(x)) / b(x)  added at the action x taken
               and pi(x) d taken from all
    critic   : minimise  (Q(x) - target)^2
    actor    : maximise  sum_a pi(a) A(a) - alpha KL(pi, uniform)

Both learn from the traverser's decisions only: the others' are met by a traverser who explores, and
their results are not those of the policy.

The combination and its constants are our own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import torch

from poker_rl.algos.algorithm import NetworkLearner, Stateful
from poker_rl.config.schedules import OverDecisions
from poker_rl.config.settings import Count, NonNegative, Positive, Probability, Refused
from poker_rl.learning.advantages import doubly_robust
from poker_rl.learning.agents import Agents, Given, Seats
from poker_rl.learning.average import AverageSettings
from poker_rl.learning.averages import Averages
from poker_rl.learning.descent import descend, set_rates
from poker_rl.learning.exact_average import ExactAverage
from poker_rl.learning.rollout import Batch, Rows
from poker_rl.nets.chances import masked_log_softmax, mean_over
from poker_rl.players.player import Player
from poker_rl.players.sampling import mixed


@dataclass(kw_only=True)
class ActorCritic(NetworkLearner, Seats):
    """The learner; schedules count decisions, `alpha` is in the game's unit."""

    hands: Count
    every_deal: bool
    exploration: Probability
    critic: Literal["own", "perfect_information"]
    trace: Probability
    alpha: OverDecisions
    actor_lr: OverDecisions
    critic_lr: OverDecisions
    minibatches: Count
    gradient_norm: Positive
    reward_scale: Positive
    least_probability: Probability
    last_scale: NonNegative
    weight_average: Probability
    average: AverageSettings | None
    average_exact: Count | None

    learnt: ClassVar = ("actor", "critic", "weight_average", "average")
    own: ClassVar = ("agents", "memory")

    def __post_init__(self, given: Given) -> None:
        if self.minibatches > self.hands:
            raise Refused(f"minibatches: {self.minibatches:,} parts of {self.hands:,} hands")
        hidden = self.critic == "perfect_information"
        self._begin(Agents(given, self, tables=self.hands, hidden=hidden, key="hands"))
        game = given.game
        self._actor = self._agents.network(game.actions, self.last_scale)
        self._critic = self._agents.critic(game.actions)
        self._optimiser = torch.optim.Adam(
            [{"params": list(part.parameters())} for part in (self._actor, self._critic)],
            fused=True,
        )
        self._averages = Averages(
            self._agents,
            self._actor,
            self.weight_average,
            self.average,
            last_scale=self.last_scale,
        )
        self._exact = None
        if self.average_exact is not None:
            power = 0.0 if self.average is None else self.average.power
            self._exact = ExactAverage(game, self.average_exact, power, self.instances)
        turn, traverser = np.divmod(
            np.arange(self.instances * self.hands), game.seats if given.opponent is None else 1
        )
        self._traverser = traverser  # [tables]
        self._decks = None  # or [tables, dealt]
        if self.every_deal:
            turns = game.deal_count() * (game.seats if given.opponent is None else 1)
            if self.hands % turns:
                each = f"every deal of {game.name} to every traverser"
                raise Refused(f"hands: {self.hands:,}; to deal {each}: a multiple of {turns:,}")
            deals = game.deals()
            self._decks = deals[turn % len(deals)]
        self._unit = game.unit_chips
        self._policies: list[np.ndarray] = []

    def _iterate(self) -> dict[str, float]:
        """Play the hands of one iteration and take one pass over them with both networks."""
        iteration = self.progress.iterations + 1
        if self._exact is not None:
            player = self._agents.player(self._actor)
            self._exact.add(player, range(self._agents.game.seats), iteration)
        self._policies.clear()
        batch = self._agents.rollout.play_out(self._act, self._decks)
        nobody = np.zeros((0, self._agents.game.actions), np.float32)
        policy = np.concatenate([nobody, *self._policies])  # [N, A]
        traverses = batch.agent == self._traverser[batch.table]
        metrics = self._fit(batch.alone(np.flatnonzero(traverses)), policy[traverses])
        self._averages.weights.update(self._actor)
        if (average := self._averages.play) is not None:
            others = traverses if traverses.all() else ~traverses
            metrics |= average.taught(batch, others, policy[others], iteration)

        self._count(len(batch))
        return metrics

    def players(self) -> dict[str, Player]:
        """See `Averages.players`; the exact average last, if it is asked for."""
        critic = self._agents.kept(self._critic, self.reward_scale, of_actions=True)
        players = self._averages.players(critic)
        if self._exact is not None:
            players["average_exact"] = self._exact.player()
        return players

    def _act(self, rows: Rows) -> tuple[np.ndarray, np.ndarray]:
        policy = self._agents.policy(self._actor, rows)
        self._policies.append(policy)
        traverses = rows.agent == self._traverser[rows.table]
        explores = self.exploration * traverses[:, None]
        return self._agents.drawn(mixed(policy, rows.mask, explores))

    def _fit(self, batch: Batch, policy: np.ndarray) -> dict[str, float]:
        """One pass over the traversers' decisions [N] and their policies [N, A]."""
        seen, known = self._agents.inputs(batch)
        copy = self._agents.tensor(batch.copy)
        with self._agents.clock.networks(), torch.no_grad():
            values = known.all(self._critic, copy).cpu().numpy()  # [N, A] in reward scales
        target, advantage = doubly_robust(
            batch, policy, values, self.trace, self.least_probability, self.reward_scale
        )
        goals, gains = self._agents.tensor(target), self._agents.tensor(advantage)
        actions, mask = self._agents.tensor(batch.action), self._agents.tensor(batch.mask)
        spread = mask.sum(1).log()  # entropy of uniform play [N]

        step = self.progress.decisions
        alpha = self.alpha.value(step)
        set_rates(self._optimiser, self.actor_lr.value(step), self.critic_lr.value(step))
        weight = alpha * self._unit / self.reward_scale
        sums, updates = torch.zeros(3, device=self._agents.device), 0
        every = np.arange(len(batch))
        for rows, share in self._agents.minibatches(every, batch.copy, self.minibatches):
            with self._agents.clock.networks():
                q = known.some(self._critic, rows).gather(2, actions[rows][..., None])[..., 0]
                error = (q - goals[rows]).square()  # [K, B]
                log_pi = masked_log_softmax(seen.some(self._actor, rows), mask[rows])  # [K, B, A]
                pi = log_pi.exp()
                entropy = -mean_over(pi, log_pi, mask[rows])
                divergence = spread[rows] - entropy  # KL(pi, uniform) [K, B]
                loss = weight * divergence - (pi * gains[rows]).sum(2)
                told = (share * torch.stack([error, loss, entropy])).sum((1, 2))  # sums of means
                descend(told[0] + told[1], self._optimiser, self._actor, self.gradient_norm)
                sums += told.detach()
            updates += 1
        self.progress.updates += updates
        told_means = (sums / (updates * self._agents.copies)).tolist()
        return {
            **dict(zip(("loss/critic", "loss/actor", "policy/entropy"), told_means, strict=True)),
            "schedule/alpha": alpha,
        }

    def _parts(self) -> dict[str, Stateful | None]:
        return {
            "actor": self._actor,
            "critic": self._critic,
            "optimiser": self._optimiser,
            **self._averages.parts(),
            "average_exact": self._exact,
        }
