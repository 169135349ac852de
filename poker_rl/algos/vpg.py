"""Policy gradient with a critic for its baseline, in the variants that differ by the objective.

Sutton et al., "Policy gradient methods for reinforcement learning with function approximation"
(1999), with generalised advantage estimation (arXiv:1506.02438) over whole hands. A batch:

    play hands;  A = r - V(s) at lambda 1, V the critic the hands were played with
    `steps` times, one step of each network:
    critic : minimise (V(s) - target)^2,  target = A + V(s) at sampling time
    actor  : maximise  mean objective(A, pi(a|s)) + entropy H(pi(.|s))

    objective  log_probability  A log pi, whose gradient is that of the expected reward
               probability      A pi, as in Vegapit, "Kuhn poker with Torch" (2019)
               clipped_ratio    min(A w, A clip(w, 1 - c, 1 + c)), w = pi / pi at sampling time
                                (arXiv:1707.06347, equation 7)

The gradient of A pi is that of A log pi times pi, so actions the policy has given up come back more
slowly still. With one step w is 1 throughout: clipping never binds, and the gradient of
`clipped_ratio` is that of `log_probability`.

A batch is a number of hands or, as in Vegapit's work, lasts until the network that decides least
often has decided so many times. All decisions of a player in a hand share what it wins.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import torch
from torch import Tensor

from poker_rl.algos.algorithm import NetworkLearner, Stateful
from poker_rl.config.schedules import OverInstance
from poker_rl.config.settings import Count, Passes, Positive, Probability, Refused
from poker_rl.games.game import Game
from poker_rl.games.tables import Tables
from poker_rl.learning.advantages import estimated
from poker_rl.learning.agents import Agents, Given, Seats
from poker_rl.learning.descent import descend, set_rates
from poker_rl.learning.minibatches import Inputs
from poker_rl.learning.rollout import Batch, Rows, joined
from poker_rl.nets.chances import masked_log_softmax, mean_over
from poker_rl.nets.copies import routed
from poker_rl.nets.weight_average import WeightAverage
from poker_rl.players.player import Player

MOST_DEALS = 1000  # for value/first_move, a mean over every deal
MOST_ROUNDS = 1000  # of `hands` hands, in search of a member that does not decide

Objective = Literal["log_probability", "probability", "clipped_ratio"]


@dataclass(kw_only=True)
class VPG(NetworkLearner, Seats):
    """The learner; schedules count the decisions of one instance, `entropy` is in reward scales."""

    hands: Count
    member_decisions: Count | None
    steps: Passes
    objective: Objective
    clip: Positive
    gae_lambda: Probability
    entropy: OverInstance
    actor_lr: OverInstance
    critic_lr: OverInstance
    gradient_norm: Positive | None
    reward_scale: Positive
    weight_average: Probability

    learnt: ClassVar = ("actor", "critic", "weight_average")

    def __post_init__(self, given: Given) -> None:
        self._begin(Agents(given, self, tables=self.hands, key="hands"))
        game = given.game
        self._actor = self._agents.network(game.actions)
        self._critic = self._agents.critic(1)
        self._actor_optimiser = torch.optim.Adam(self._actor.parameters())
        self._critic_optimiser = torch.optim.Adam(self._critic.parameters())
        self._weight_average = WeightAverage(self._actor, self.weight_average)
        few = len(game.record) == 1 and game.deal_count() <= MOST_DEALS
        self._first = self._agents.shown(first_moves(game)) if few else None

    def _iterate(self) -> dict[str, float]:
        """Play one batch and take `steps` steps of each network on it."""
        step = self.progress.decisions // self.instances
        entropy_weight = self.entropy.value(step)
        set_rates(self._actor_optimiser, self.actor_lr.value(step))
        set_rates(self._critic_optimiser, self.critic_lr.value(step))
        batch, hands = self._play()
        if not len(batch):  # a fixed opponent ended every hand first
            self.progress.hands += hands
            return {}
        seen = Inputs(batch.observation, self._agents.device)
        copy = self._agents.tensor(batch.copy)
        with self._agents.clock.networks(), torch.no_grad():
            value = seen.all(self._critic, copy)[:, 0]  # [N]
            metrics = {} if self._first is None else {"value/first_move": self._value(*self._first)}
        advantage = estimated(batch, value, 1, self.gae_lambda, self.reward_scale)
        target = advantage + value
        action, mask = self._agents.tensor(batch.action)[:, None], self._agents.tensor(batch.mask)
        before, weight = self._agents.tensor(batch.log_prob), self._weights(batch.copy)
        losses = np.zeros(3)
        for _ in range(self.steps):
            with self._agents.clock.networks():
                log_policy = masked_log_softmax(seen.all(self._actor, copy), mask)  # [N, A]
                log_prob = log_policy.gather(1, action)[:, 0]
                entropy = -mean_over(log_policy.exp(), log_policy, mask)
                objective = self._objective(advantage, log_prob, before)
                actor_loss = -(weight * (objective + entropy_weight * entropy)).sum()
                descend(actor_loss, self._actor_optimiser, self._actor, self.gradient_norm)
                error = seen.all(self._critic, copy)[:, 0] - target
                critic_loss = (weight * error.square()).sum()
                descend(critic_loss, self._critic_optimiser, self._critic, self.gradient_norm)
                told = (weight * objective).sum(), critic_loss, (weight * entropy).sum()
                losses += [part.item() for part in told]
        self._weight_average.update(self._actor)

        self.progress.hands += hands
        self.progress.decisions += len(batch)
        self.progress.updates += self.steps
        # sums over the networks that decided in this batch to means over them
        losses /= self.steps * len(np.unique(batch.copy))
        return metrics | {
            "loss/actor": -losses[0],
            "loss/critic": losses[1],
            "policy/entropy": losses[2],
            "schedule/entropy": entropy_weight,
        }

    def players(self) -> dict[str, Player]:
        """The average of the weights and the policy in training."""
        critic = self._agents.kept(self._critic, self.reward_scale, of_actions=False)
        return self._agents.players(
            critic, weight_average=self._weight_average.module, current=self._actor
        )

    def _objective(self, advantage: Tensor, log_prob: Tensor, before: Tensor) -> Tensor:
        """What the actor maximises the mean of, [N]."""
        if self.objective == "log_probability":
            return advantage * log_prob
        if self.objective == "probability":
            return advantage * log_prob.exp()
        ratio = (log_prob - before).exp()
        clipped = ratio.clamp(1 - self.clip, 1 + self.clip)
        return torch.min(advantage * ratio, advantage * clipped)

    def _play(self) -> tuple[Batch, int]:
        """The hands of one batch and their number."""
        if self.member_decisions is None:
            return self._agents.rollout.play_out(self._act), self.instances * self.hands
        rounds: list[Batch] = []
        decided = np.zeros(self._agents.copies, np.int64)
        while decided.min() < self.member_decisions:
            if len(rounds) == MOST_ROUNDS:
                raise Refused(
                    f"algo.member_decisions: a network decided {decided.min()} times in"
                    f" {MOST_ROUNDS * self.hands:,} hands, not {self.member_decisions}"
                )
            rounds.append(self._agents.rollout.play_out(self._act))
            decided += np.bincount(rounds[-1].copy, minlength=self._agents.copies)
        hand = np.concatenate(
            [i * self.hands + played.table % self.hands for i, played in enumerate(rounds)]
        )
        batch = joined(rounds)
        last = nth_hand(hand, batch.copy, self._agents.copies, self.member_decisions)
        last = last.reshape(self.instances, -1).max(1)  # hand that ends the batch
        kept = np.flatnonzero(hand <= last[batch.table // self.hands])
        return batch.alone(kept), int((last + 1).sum())

    def _weights(self, copy: np.ndarray) -> Tensor:
        """Weight of each row in the mean over its network's rows, [N]."""
        return self._agents.tensor((1 / np.bincount(copy)[copy]).astype(np.float32))

    def _act(self, rows: Rows) -> tuple[np.ndarray, np.ndarray]:
        return self._agents.sampled(self._actor, rows)

    def _value(self, seen: Tensor, copy: Tensor) -> float:
        """Mean of the critic in chips."""
        return routed(self._critic, seen, copy).mean().item() * self.reward_scale

    def _parts(self) -> dict[str, Stateful | None]:
        return {
            "actor": self._actor,
            "critic": self._critic,
            "actor_optimiser": self._actor_optimiser,
            "critic_optimiser": self._critic_optimiser,
            "weight_average": self._weight_average,
        }


def first_moves(game: Game) -> np.ndarray:
    """A table for every deal before the first move."""
    decks = game.deals()
    tables = Tables(game, len(decks), 0)
    tables.deal(decks=decks)
    return tables.records


def nth_hand(hand: np.ndarray, copy: np.ndarray, copies: int, n: int) -> np.ndarray:
    """The hand with the n-th decision of each network, [K].

    Args:
        hand: of each decision, [N], hands being numbered in the order they count.
        copy: the network that decided, [N].
        copies: number of networks K, each with at least n decisions.
    """
    order = np.lexsort((hand, copy))
    counts = np.bincount(copy, minlength=copies)
    nth: np.ndarray = hand[order][np.cumsum(counts) - counts + n - 1]
    return nth
