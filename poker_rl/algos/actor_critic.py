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

from dataclasses import InitVar, dataclass
from typing import ClassVar, Literal

import numpy as np
import torch

from poker_rl.algos.algorithm import NetworkLearner, Progress, Stateful
from poker_rl.config.schedules import OverDecisions
from poker_rl.config.settings import Count, NonNegative, Positive, Probability, Refused
from poker_rl.games.game import Game
from poker_rl.games.game import rule as compiled
from poker_rl.learning.agents import Agents
from poker_rl.learning.average import AveragePolicy, AverageSettings
from poker_rl.learning.clock import Clock
from poker_rl.learning.minibatches import Inputs, minibatches
from poker_rl.learning.rollout import ENDED, Batch, Rows, Seating
from poker_rl.nets.dense import (
    Net,
    clip_gradients,
    masked_log_softmax,
    masked_softmax,
)
from poker_rl.nets.weight_average import WeightAverage
from poker_rl.players.network import Members
from poker_rl.players.player import Player
from poker_rl.players.sampling import draw


@dataclass(kw_only=True)
class ActorCritic(NetworkLearner):
    """The learner; schedules count decisions, `alpha` is in the game's unit.

    Args:
        game: the game played.
        net: shape of the actor, and of the critic but for its input and output.
        opponent: a fixed player in every seat but agent 0's, or None for self-play.
    """

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
    members: Members
    instances: Count
    seating: Seating
    game: InitVar[Game]
    net: InitVar[Net]
    device: InitVar[torch.device]
    seed: InitVar[int]
    opponent: InitVar[Player | None] = None

    learnt: ClassVar = ("actor", "critic", "weight_average", "average")

    def __post_init__(
        self, game: Game, net: Net, device: torch.device, seed: int, opponent: Player | None
    ) -> None:
        if self.minibatches > self.hands:
            raise Refused(f"minibatches: {self.minibatches:,} parts of {self.hands:,} hands")
        self.progress = Progress()
        self._agents = Agents(
            game,
            net,
            device,
            seed,
            opponent,
            tables=self.hands,
            members=self.members,
            instances=self.instances,
            seating=self.seating,
            hidden=self.critic == "perfect_information",
            key="hands",
        )
        self._actor = self._agents.network(game.actions, self.last_scale)
        self._critic = self._agents.critic(game.actions)
        self._optimiser = torch.optim.Adam(
            [{"params": list(part.parameters())} for part in (self._actor, self._critic)],
            fused=True,
        )
        self._weight_average = WeightAverage(self._actor, self.weight_average)
        self._clock = Clock()
        self._average = None
        if self.average is not None:
            network = self._agents.network(game.actions, self.last_scale)
            self._average = AveragePolicy(
                self.average,
                network,
                self._agents.column,
                game.actions,
                self._agents.seed(),
                self._clock,
            )
        turn, traverser = np.divmod(
            np.arange(self.instances * self.hands), game.seats if opponent is None else 1
        )
        self._traverser = traverser  # [tables]
        self._decks = None  # or [tables, dealt]
        if self.every_deal:
            deals = game.deals()
            self._decks = deals[turn % len(deals)]
        self._unit = game.unit_chips
        self._policies: list[np.ndarray] = []

    def learn(self) -> dict[str, float]:
        """Play the hands of one iteration and take one pass over them with both networks."""
        self._clock.start()
        self._policies.clear()
        batch = self._agents.rollout.play_out(self._act, self._decks)
        policy = np.concatenate(self._policies)  # [N, A]
        traverses = batch.agent == self._traverser[batch.table]
        metrics = self._fit(_alone(batch, traverses), policy[traverses])
        self._weight_average.update(self._actor)
        if self._average is not None:
            others = traverses if traverses.all() else ~traverses
            self._average.add(
                batch.observation[others],
                batch.mask[others],
                policy[others],
                batch.copy[others],
                self.progress.iterations + 1,
            )
            self._average.learn()
            metrics |= self._average.metrics()

        self.progress.hands = self._agents.rollout.hands
        self.progress.decisions += len(batch)
        self.progress.updates += self.minibatches
        self.progress.iterations += 1
        return metrics | {"time/outside_networks": self._clock.outside_networks()}

    def players(self) -> dict[str, Player]:
        """The weight average first: it is the one that comes closest to equilibrium."""
        modules = {"weight_average": self._weight_average.module, "current": self._actor}
        if self._average is not None:
            modules["average"] = self._average.module
        return {name: self._agents.player(module) for name, module in modules.items()}

    def _act(self, rows: Rows) -> tuple[np.ndarray, np.ndarray]:
        with self._clock.networks(), torch.no_grad():
            logits = self._agents.logits(self._actor, rows)
            policy = masked_softmax(logits, self._agents.tensor(rows.mask)).cpu().numpy()
        self._policies.append(policy)
        traverses = rows.agent == self._traverser[rows.table]
        mixed = traverses[:, None] * self.exploration
        behaviour = (1 - mixed) * policy + mixed * rows.mask / rows.mask.sum(1, keepdims=True)
        action = draw(behaviour, self._agents.generator.random(len(behaviour)))
        return action, np.log(behaviour[np.arange(len(action)), action])

    def _fit(self, batch: Batch, policy: np.ndarray) -> dict[str, float]:
        """One pass over the traversers' decisions [N] and their policies [N, A]."""
        seen = Inputs(batch.observation, self._agents.device)
        known = Inputs(np.concatenate([batch.observation, batch.hidden], 1), self._agents.device)
        copy = self._agents.tensor(batch.copy)
        with self._clock.networks(), torch.no_grad():
            values = known.all(self._critic, copy).cpu().numpy()  # [N, A] in reward scales
        target, advantage = estimate(
            batch, policy, values, self.trace, self.least_probability, self.reward_scale
        )
        goals, gains = self._agents.tensor(target), self._agents.tensor(advantage)
        actions, mask = self._agents.tensor(batch.action), self._agents.tensor(batch.mask)
        spread = mask.sum(1).log()  # entropy of uniform play [N]

        step = self.progress.decisions
        alpha = self.alpha.value(step)
        for group, lr in zip(
            self._optimiser.param_groups, (self.actor_lr, self.critic_lr), strict=True
        ):
            group["lr"] = lr.value(step)
        weight = alpha * self._unit / self.reward_scale
        sums = torch.zeros(3, device=self._agents.device)
        for rows, share in minibatches(
            np.arange(len(batch)),
            batch.copy,
            self._agents.copies,
            self.minibatches,
            self._agents.generator,
            self._agents.device,
        ):
            with self._clock.networks():
                q = known.some(self._critic, rows).gather(2, actions[rows][..., None])[..., 0]
                error = (q - goals[rows]).square()  # [K, B]
                log_pi = masked_log_softmax(seen.some(self._actor, rows), mask[rows])  # [K, B, A]
                pi = log_pi.exp()
                entropy = -(pi * log_pi).sum(2)
                divergence = spread[rows] - entropy  # KL(pi, uniform) [K, B]
                loss = weight * divergence - (pi * gains[rows]).sum(2)
                told = (share * torch.stack([error, loss, entropy])).sum((1, 2))  # sums of means
                self._optimiser.zero_grad()
                (told[0] + told[1]).backward()  # type: ignore[no-untyped-call]
                clip_gradients(self._actor, self.gradient_norm)
                self._optimiser.step()
                sums += told.detach()
        told_means = (sums / (self.minibatches * self._agents.copies)).tolist()
        return {
            **dict(zip(("loss/critic", "loss/actor", "policy/entropy"), told_means, strict=True)),
            "schedule/alpha": alpha,
        }

    def _parts(self) -> dict[str, Stateful]:
        parts: dict[str, Stateful] = {
            "progress": self.progress,
            "agents": self._agents,
            "actor": self._actor,
            "critic": self._critic,
            "optimiser": self._optimiser,
            "weight_average": self._weight_average,
        }
        return parts if self._average is None else parts | {"average": self._average}


def estimate(
    batch: Batch,
    policy: np.ndarray,
    values: np.ndarray,
    trace: float,
    least_probability: float,
    reward_scale: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Retrace targets of the actions taken and doubly robust advantages of all of them.

    Args:
        batch: finished hands.
        policy: pi, [N, A].
        values: the critic's Q, [N, A], in units of `reward_scale` chips.
        trace: lambda of Retrace.
        least_probability: floor of b(x) in the correction, against its variance.
        reward_scale: chips to one unit of value.

    Returns:
        targets [N] float32 and advantages [N, A] float32, 0 at illegal actions, in the same units.
    """
    target = np.empty(len(batch), np.float32)
    advantage = np.zeros_like(values)
    _estimate(
        batch.next,
        batch.action,
        np.exp(batch.log_prob),
        batch.reward / np.float32(reward_scale),
        batch.mask,
        policy,
        values,
        trace,
        least_probability,
        target,
        advantage,
    )
    return target, advantage


@compiled
def _estimate(  # type: ignore[no-untyped-def]
    next_, action, behaviour, reward, mask, policy, values, trace, least, target, advantage
):
    mean = np.empty_like(target)  # E_pi Q
    for i in range(len(action) - 1, -1, -1):
        mean[i] = 0
        for a in range(mask.shape[1]):
            mean[i] += policy[i, a] * values[i, a]
        x, after = action[i], next_[i]
        target[i] = reward[i]
        if after >= 0:
            ratio = min(np.float32(1), policy[after, action[after]] / behaviour[after])
            surprise = target[after] - values[after, action[after]]
            target[i] += mean[after] + trace * ratio * surprise
        correction = (target[i] - values[i, x]) / max(behaviour[i], least)
        for a in range(mask.shape[1]):
            if mask[i, a]:
                advantage[i, a] = values[i, a] - mean[i] - policy[i, x] * correction
        advantage[i, x] += correction


def _alone(batch: Batch, kept: np.ndarray) -> Batch:
    """Some agents' decisions, `kept` [N] bool, as a batch of their own."""
    place = np.full(len(batch) + 1, ENDED)
    place[:-1][kept] = np.arange(kept.sum())
    own = batch.pick(np.flatnonzero(kept))
    own.next = place[own.next]
    return own
