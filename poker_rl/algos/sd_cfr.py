"""Counterfactual regret minimisation by networks, with external sampling that branches.

Between Deep CFR (arXiv:1811.00164) and Single Deep CFR (arXiv:1901.07621), for any number of seats,
though only with two does the average converge. In iteration t each seat in turn is the traverser of
some hands:

    traverser's decisions    every action a is played on:  r(a) = v(a) - sum_b policy(b) v(b)
    others' decisions        one action is drawn from their policy
    regret network           fitted to the mean of all r so far, those of iteration t weighing t
    policy                   ~ positive part of the regret network, the largest if there is none
    average network          fitted to the mean of the others' policies so far, weighing t

Deviations: both published algorithms keep a reservoir of single samples and begin each fit with new
weights. Here a memory merges the samples of equal observations (`poker_rl/learning/means.py`), and
the networks go on from the weights they have, as the means change little from one iteration to the
next. Single Deep CFR keeps every regret network and draws one for each hand; the average network is
that of Deep CFR.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import torch
from torch import Tensor, nn

from poker_rl.algos.algorithm import NetworkLearner, Stateful
from poker_rl.config.schedules import OverDecisions
from poker_rl.config.settings import Count, NonNegative, Passes, Positive, Refused
from poker_rl.learning.agents import Agents, Given, Seats
from poker_rl.learning.branching import traverse
from poker_rl.learning.descent import descend, set_rates
from poker_rl.learning.exact_average import ExactAverage
from poker_rl.learning.means import Means, Targets
from poker_rl.learning.minibatches import Inputs
from poker_rl.nets.chances import masked_log_softmax, regret_matching
from poker_rl.players.network import RegretPlayer
from poker_rl.players.player import Player


@dataclass(kw_only=True)
class SDCFR(NetworkLearner):
    """The learner; its schedules count decisions, those of all copies of a hand.

    Raises:
        Refused: if there is a fixed opponent, or see `ExactAverage`, where that is asked for.
    """

    hands: Count
    power: NonNegative
    capacity: Count
    updates: Passes
    average_updates: Passes
    batch: Count
    lr: OverDecisions
    average_lr: OverDecisions
    gradient_norm: Positive
    reward_scale: Positive
    last_scale: NonNegative
    average_exact: Count | None
    members: Literal["shared", "seat"]
    instances: Count

    learnt: ClassVar = ("regrets", "average", "regret_memory", "average_memory")

    def __post_init__(self, given: Given) -> None:
        if given.opponent is not None:
            raise Refused("opponent: sd_cfr plays itself, and takes none")
        if given.net.values is not given.net:
            raise Refused("net: a shape for policies, and regrets are values; try mlp_relu")
        seats = Seats(members=self.members, instances=self.instances, seating="fixed")
        self._begin(Agents(given, seats, tables=self.hands, key="hands"))
        agents, game = self._agents, given.game
        self._regrets, self._average = (
            agents.network(game.actions, self.last_scale) for _ in range(2)
        )
        self._regret_adam, self._average_adam = (
            torch.optim.Adam(module.parameters(), fused=True)
            for module in (self._regrets, self._average)
        )
        self._regret_memory = Means(agents, self.capacity, self.power)
        self._average_memory = Means(
            agents, self.capacity, self.power, beside=[self._regret_memory]
        )
        self._exact = None
        if self.average_exact is not None:
            self._exact = ExactAverage(game, self.average_exact, self.power, self.instances)

    def _iterate(self) -> dict[str, float]:
        """Each seat in turn traverses its hands, and both networks are fitted."""
        step, losses = self.progress.decisions, []
        set_rates(self._regret_adam, self.lr.value(step))
        set_rates(self._average_adam, self.average_lr.value(step))
        self._regret_memory.begin()
        self._average_memory.begin()
        seats, decisions = range(self._agents.game.seats), 0
        for traverser in seats:
            if self._exact is not None:
                player = self._agents.player(self._regrets, RegretPlayer)
                others = [seat for seat in seats if seat != traverser]
                self._exact.add(player, others, self.progress.iterations + 1)
            own, theirs = traverse(self._agents, traverser, self._policy)
            self._regret_memory.add(own)
            self._average_memory.add(theirs)
            decisions += len(own) + len(theirs)
            losses.append([self._fit_regrets(), self._fit_average()])
        self._count(decisions)
        self.progress.updates += len(seats) * self.updates
        regrets, average = np.mean(losses, 0).tolist()
        return {"loss/regrets": regrets, "loss/average": average}

    def players(self) -> dict[str, Player]:
        """The average network first, which comes closest to an equilibrium."""
        agents = self._agents
        players: dict[str, Player] = {
            "average": agents.player(self._average),
            "current": agents.player(self._regrets, RegretPlayer),
        }
        return (
            players if self._exact is None else {**players, "average_exact": self._exact.player()}
        )

    def _policy(self, observation: np.ndarray, mask: np.ndarray, copy: np.ndarray) -> np.ndarray:
        agents = self._agents
        with agents.clock.networks(), torch.no_grad():
            regrets = Inputs(observation, agents.device).all(self._regrets, agents.tensor(copy))
            return regret_matching(regrets, agents.tensor(mask)).cpu().numpy()

    def _fit_regrets(self) -> float:
        def error(out: Tensor, to: Targets) -> Tensor:
            return ((out - to.mean / self.reward_scale).square() * to.mask).sum(2)

        optimiser, memory = self._regret_adam, self._regret_memory
        return self._fit(self._regrets, optimiser, memory, self.updates, error)

    def _fit_average(self) -> float:
        def error(out: Tensor, to: Targets) -> Tensor:
            return -(to.mean * masked_log_softmax(out, to.mask)).sum(2)

        optimiser, memory = self._average_adam, self._average_memory
        return self._fit(self._average, optimiser, memory, self.average_updates, error)

    def _fit(
        self,
        module: nn.Module,
        optimiser: torch.optim.Optimizer,
        memory: Means,
        updates: int,
        error: Callable[[Tensor, Targets], Tensor],
    ) -> float:
        """Some steps on the rows of a memory; the mean over them and the copies of the error."""
        total = torch.zeros((), device=self._agents.device)
        for _ in range(updates):
            targets = memory.targets(self.batch)
            with self._agents.clock.networks():
                loss = (targets.share * error(module(targets.observation), targets)).sum()
                descend(loss, optimiser, module, self.gradient_norm)
                total += loss.detach()
        return float(total) / (updates * self._agents.copies)

    def _parts(self) -> dict[str, Stateful | None]:
        return {
            "regrets": self._regrets,
            "average": self._average,
            "regret_adam": self._regret_adam,
            "average_adam": self._average_adam,
            "regret_memory": self._regret_memory,
            "average_memory": self._average_memory,
            "average_exact": self._exact,
        }
