"""Actor-critic for six players: the actor sees its own cards, the critic all of them.

APU and Dual-APU are the method of Shi and others for six-player limit hold'em
(doi:10.3390/e24060774; docs/results/apu.md). Each of its agents is an actor and a critic;
there are four ways of who learns:

    apu            an actor-critic an agent, one of which learns at a time
    dual_apu       one learner; a copy of its actor, renewed every so often, plays for the others
    apu_ctrl       an actor-critic an agent, and all learn at once
    dual_apu_ctrl  one actor-critic plays and learns for all

An iteration:

    play `episodes` of them, in a share of the iterations one agent alone against `earlier` selves
        of all the others: who learns now takes with chance epsilon any legal action, else samples
        pi(s); the others sample theirs
    put (w, a, r, w') of each decision of those who `remember` into their own memory; w is the table
        with all its cards, s what its player sees of it, w' the table at his next decision in the
        hand
    for each update due:
        y = r + gamma sum_a' pi'(a' | s') Q'(w', a'), r alone where the hand ended
        minimise  (Q(w, a) - y)^2 - sum_a pi(a | s) Q(w, a)  on a batch, the second in pi alone
            less `entropy` times the entropy of pi(s); its published weight is 0
        move the target networks pi', Q' by `soft_target` towards pi, Q
    where there is a `weight_average`, let that of the actors keep so much of itself

The published reward of a decision is minus the chips put in with it, and at the end of a hand the
square of the pot's share won, in units of `reward_unit`: squared, a share of more than one unit is
worth more than its chips, a smaller one less. `reward_power` stands in the place of the 2: with 1
a hand's rewards add up to the chips won, and to the blinds put in, which no decision pays.
`payoff` is the chips won, at the end of the hand.

An episode is as many hands as the game has seats. Deviations: the seats are drawn for each hand,
where the published button goes round; episodes are played side by side; odd chips of a split pot
belong to the shares. Nothing is learnt before a learner has a batch of transitions, and what would
have been is not made up for.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import torch
from torch import Tensor, nn

from poker_rl.algos.algorithm import NetworkLearner, Stateful
from poker_rl.config.schedules import Over, OverOwnSteps, Schedule
from poker_rl.config.settings import (
    Count,
    NonNegative,
    Passes,
    Positive,
    Probability,
    Refused,
    Share,
)
from poker_rl.games.poker.game import PokerGame
from poker_rl.games.poker.hands import Hands
from poker_rl.learning.agents import Agents, Given, Seats
from poker_rl.learning.earlier import EarlierSelves, EarlierSettings
from poker_rl.learning.hand_memory import HandMemory
from poker_rl.learning.rollout import ENDED, Batch, Rows
from poker_rl.learning.soft_targets import Learner
from poker_rl.nets.chances import masked_log_softmax, masked_softmax, mean_over
from poker_rl.nets.copies import part, repeated
from poker_rl.nets.weight_average import WeightAverage
from poker_rl.players.player import Player
from poker_rl.players.sampling import mixed


@dataclass(kw_only=True)
class APU(NetworkLearner):
    """The learner; `progress.updates` are gradient steps, whoever takes them.

    Raises:
        Refused: if the game keeps no actions or has antes by seat where the reward is of chips put
            in, a period is no whole number of iterations, or there
            is an opponent where several agents are to learn.
    """

    update: Literal["apu", "dual_apu", "apu_ctrl", "dual_apu_ctrl"]
    episodes: Count
    updates: Passes
    training_period: Count
    agent_period: Count
    update_period: Count
    batch: Count
    replay: Count
    gamma: Probability
    epsilon: Annotated[Schedule, Over("episodes")]
    actor_lr: OverOwnSteps
    critic_lr: OverOwnSteps
    entropy: OverOwnSteps
    soft_target: Share
    last_scale: NonNegative
    remember: Literal["all", "learner"]
    weight_average: Probability
    earlier: EarlierSettings
    reward: Literal["published", "payoff"]
    reward_power: Positive
    reward_unit: Positive
    reward_scale: Positive

    learnt: ClassVar = ("actor", "critic", "target_actor", "target_critic", "weight_average")
    own: ClassVar = ("agents", "memory", "selves")

    def __post_init__(self, given: Given) -> None:
        self._refuse(given)
        game = given.game
        self._hands = Hands(game)
        if self.reward == "published" and isinstance(game, PokerGame) and any(game.dead_antes):
            raise Refused("reward: published needs antes that are equal; allowed here: payoff")
        self._episode = game.seats  # hands
        self._unit = game.unit_chips * self.reward_unit
        many = self.update in ("apu", "apu_ctrl")
        seats = Seats(members="agent" if many else "shared", instances=1, seating="shuffled")
        tables = self.episodes * game.seats
        self._begin(Agents(given, seats, tables=tables, hidden=True, key="episodes"))
        networks = [
            self._agents.network(game.actions, self.last_scale),
            self._agents.critic(game.actions, self.last_scale),
        ]
        networks += deepcopy(networks)
        names = ("actor", "critic", "target_actor", "target_critic")
        self._networks = dict(zip(names, networks, strict=True))
        self._actor = networks[0]
        self._learners = self._each_with_memory()
        self._others: nn.Module | None = None  # the copy of the actor
        if self.update == "dual_apu":
            self._others = deepcopy(self._actor).requires_grad_(False)
        self._weight_average: WeightAverage | None = None
        if self.weight_average:
            self._weight_average = WeightAverage(self._actor, self.weight_average)
        self._selves: EarlierSelves | None = None
        if self.earlier.share:
            self._selves = EarlierSelves(self.earlier, self._agents, self._actor)
        self._playing = self._others  # in this iteration, the actor of those who do not learn
        self._learning = np.full(game.seats, True)  # which agents learn in it
        self._seen: list[np.ndarray] = []  # of this iteration's rows: moves and chips paid, [B, 2]

    def _refuse(self, given: Given) -> None:
        """Refuse an opponent for several agents, and a period of no whole number of iterations."""
        if given.opponent is not None and self.update != "dual_apu_ctrl":
            raise Refused(f"update: {self.update} plays itself; with an opponent: dual_apu_ctrl")
        if given.opponent is not None and self.earlier.share:
            raise Refused("earlier.share: needs self-play; with an opponent: 0")
        period = {"apu": "agent_period", "dual_apu": "update_period"}.get(self.update)
        at_once = self.episodes * given.workers
        if period is not None and getattr(self, period) % at_once:
            whole = f"{period}, {getattr(self, period)}"
            raise Refused(f"episodes: {at_once} at once do not divide {whole}")

    def _each_with_memory(self) -> list[Learner]:
        """Those who learn at the same time as one learner: in `apu` each agent, else all."""
        learners: list[Learner] = []
        copies = self._agents.copies
        together = 1 if self.update == "apu" else copies
        for first in range(0, copies, together):
            memory = HandMemory(
                self._hands,
                self._agents,
                "replay",
                self.replay,
                copies=together,
                beside=[learner.memory for learner in learners],
            )
            memory.demand_batch("batch", self.batch)
            memory.demand_full("batch", self.batch)
            own = slice(first, first + together)
            networks = [part(network, own) for network in self._networks.values()]
            learners.append(Learner(own, networks, memory))
        return learners

    def _iterate(self) -> dict[str, float]:
        """Play some episodes and make the updates that are due."""
        self._seen.clear()
        self._epsilon = self.epsilon.value(self.progress.hands // self._episode)
        self._playing = self._others
        if self._selves is not None:
            self._selves.renew(self.progress.iterations)
            if self._selves.play():
                self._playing = self._selves.module
        learner = self._learner
        together = self.update in ("apu_ctrl", "dual_apu_ctrl")
        self._learning[:] = together and self._playing is None
        self._learning[self._turn % self._agents.copies] = True
        due = -self._updates_by(self.progress.hands)
        batch = self._agents.rollout.play_out(self._act)
        self._remember(batch, self._learners if self.remember == "all" else [learner])
        self._count(len(batch))
        due += self._updates_by(self.progress.hands)
        told = []
        if learner.memory.fewest >= self.batch:
            told = [self._update(learner) for _ in range(due)]
        if self._others is not None and not self._before(self.update_period):
            self._renew_others(self._others)
        if self._weight_average is not None:
            self._weight_average.update(self._actor)
        self.progress.updates += len(told)
        return self._metrics(told, learner)

    def players(self) -> dict[str, Player]:
        """The actors, each alone in any seat: six copies where there is one an agent.

        The average of their weights comes first, where there is one.
        """
        players: dict[str, Player] = {"current": self._agents.each(self._actor)}
        if self._weight_average is None:
            return players
        return {"weight_average": self._agents.each(self._weight_average.module), **players}

    def own_steps(self) -> dict[str, int]:
        """Those of the learner that has taken the fewest."""
        fewest = min(learner.updates for learner in self._learners)
        return {"actor_lr": fewest, "critic_lr": fewest}

    def take_over(self, state: dict[str, Any]) -> None:
        """Begin with what another learner has learnt, whichever of the four ways it learnt by.

        If that is one actor-critic, each agent's begins as a copy of it.

        Raises:
            Refused, RuntimeError: if a part does not fit.
        """
        learnt = {name: state[name] for name in self.learnt if name in state}
        copies = self._agents.copies
        super().take_over(state | {name: repeated(one, copies) for name, one in learnt.items()})
        if self._others is not None:
            self._renew_others(self._others)

    @property
    def _turn(self) -> int:
        """Periods of an agent that are over: whose turn it is where one alone learns."""
        return self.progress.hands // (self.agent_period * self._episode)

    @property
    def _learner(self) -> Learner:
        """Who learns in the hands that come next."""
        return self._learners[self._turn % len(self._learners)]

    def _before(self, period: int) -> int:
        """Hands since a period of so many episodes was over."""
        return self.progress.hands % (period * self._episode)

    def _updates_by(self, hands: int) -> int:
        period = self.training_period * self._episode * self._agents.workers
        return hands * self.updates // period  # of each process, on the average

    def _act(self, rows: Rows) -> tuple[np.ndarray, np.ndarray]:
        learns = self._learning[rows.agent]
        if self._playing is None:
            policy = self._agents.policy(self._actor, rows)
        else:
            policy = np.empty(rows.mask.shape, np.float32)
            for actor, own in ((self._actor, learns), (self._playing, ~learns)):
                if own.any():
                    policy[own] = self._agents.policy(actor, rows.pick(own))
        explores = self._epsilon * learns[:, None]
        tables = rows.tables.records
        paid = tables["paid"][rows.table, rows.seat]
        self._seen.append(np.stack([tables["moves"][rows.table], paid], 1, dtype=np.int64))
        return self._agents.drawn(mixed(policy, rows.mask, explores))

    def _remember(self, batch: Batch, learners: Sequence[Learner]) -> None:
        """Keep decisions in hands that are over: each learner's own."""
        records = self._agents.rollout.tables.records
        moves, paid = np.concatenate([np.zeros((0, 2), np.int64), *self._seen]).T  # [N]
        ended = batch.next == ENDED
        end = records["moves"][batch.table]
        if self.reward == "published":
            reward = published(batch, paid, records["paid"], self._unit, self.reward_power)
        else:
            reward = batch.reward / self._unit
        hands = self._hands.pack(records)
        for learner in learners:
            owned = learner.owns(batch.copy)
            if self.remember == "learner":
                owned &= self._learning[batch.agent]
            own = np.flatnonzero(owned)
            learner.memory.add(
                batch.copy[own] - learner.copies.start,
                hand=hands[batch.table[own]],
                moves=moves[own],
                next=np.where(ended, end, moves[batch.next])[own],
                reward=(reward / self.reward_scale)[own],
            )

    def _update(self, learner: Learner) -> Tensor:
        """One gradient step; the sums over copies of critic's and actor's loss and entropy."""
        told = self._losses(learner)
        with self._agents.clock.networks():
            step = learner.updates
            loss = told[0] + told[1] - self.entropy.value(step) * told[2]
            learner.step(loss, self.actor_lr.value(step), self.critic_lr.value(step))
            learner.follow(self.soft_target)
        return told.detach()

    def _losses(self, learner: Learner) -> Tensor:
        """The critic's loss, the actor's and its entropy on a batch, sums over the copies, [3]."""
        now = learner.memory.transitions(self.batch)
        actor, critic, target_actor, target_critic = learner.networks
        with self._agents.clock.networks():
            with torch.no_grad():
                pi = masked_softmax(target_actor(now.seen_next), now.legal_next)
                after = (pi * target_critic(now.known_next)).sum(2)
                goal = now.reward + self.gamma * now.goes_on * after
            q = critic(now.known)  # [K, B, A]
            error = (q.gather(2, now.action[..., None])[..., 0] - goal).square()
            log_pi = masked_log_softmax(actor(now.seen), now.legal)
            pi = log_pi.exp()
            entropy = -mean_over(pi, log_pi, now.legal)
            parts = torch.stack([error, -(pi * q.detach()).sum(2), entropy])
            return parts.mean(2).sum(1)

    @torch.no_grad()
    def _renew_others(self, others: nn.Module) -> None:
        torch._foreach_copy_(list(others.parameters()), list(self._actor.parameters()))

    def _metrics(self, told: list[Tensor], learner: Learner) -> dict[str, float]:
        metrics = {"schedule/epsilon": self._epsilon, "memory/replay": learner.memory.fill}
        if told:
            names = ("loss/critic", "loss/actor", "policy/entropy")
            means = torch.stack(told).mean(0) / learner.memory.copies
            metrics |= dict(zip(names, means.tolist(), strict=True))
        return metrics

    def _parts(self) -> dict[str, Stateful | None]:
        learners = {f"learner_{i}": learner for i, learner in enumerate(self._learners)}
        return {
            **self._networks,
            **learners,
            "others": self._others,
            "weight_average": self._weight_average,
            "selves": self._selves,
        }


def published(
    batch: Batch, paid: np.ndarray, end: np.ndarray, unit: float, power: float
) -> np.ndarray:
    """Reward of each decision: minus the chips put in, and a power of the share of the pot won.

    Args:
        batch: hands that are over.
        paid: chips the player had put in before each decision, [N].
        end: chips every seat had put in at the end, [tables, seats].
        unit: chips to one.
        power: 2 as published.

    Returns:
        [N] float64.
    """
    ended = batch.next == ENDED
    last = end[batch.table, batch.seat]
    put_in = np.where(ended, last, paid[batch.next]) - paid
    share = np.where(ended, batch.reward + last, 0.0)  # what came back
    reward: np.ndarray = (share / unit) ** power - put_in / unit
    return reward
