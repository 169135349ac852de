"""Deep Q-learning in self-play: every agent learns to respond to the others as they play now.

As in arXiv:1312.5602, Algorithm 1, with the target network of doi:10.1038/nature14236. An agent's
transition runs from its own decision to its own next one in the hand; the others' moves and the
cards between are its environment. An iteration:

    at every table play `steps` actions: with chance epsilon any legal one, else argmax_a Q(s, a)
    put (s, a, r, s', legal') into the memory of the agent that acted
    for each update due:
        y = r / reward_scale + gamma max_a' Q_target(s', a') over legal a', r alone at the end
        minimise  (Q(s, a) - y)^2  on a batch of each agent's memory
        every `target_every` updates copy Q into Q_target

Deviations: many tables are played at once, so the updates that are due come together after the
actions; that their number is `updates` for every `every` decisions of an agent holds exactly.
Nothing is learnt before each agent has `learn_from` transitions, and what would have been is not
made up for. All agents' networks take a step in one call.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import mse_loss

from poker_rl.algos.algorithm import NetworkLearner, Stateful
from poker_rl.config.schedules import Over, OverUpdates, Schedule
from poker_rl.config.settings import Count, Passes, Positive, Probability, Refused
from poker_rl.learning.agents import Agents, Given, Seats
from poker_rl.learning.descent import Descent, Optimiser
from poker_rl.learning.memory import Circular, Column, Memory
from poker_rl.learning.rollout import ENDED, OPEN, Batch, Rows, Seating
from poker_rl.players.network import Critic, GreedyPlayer, NetworkPlayer
from poker_rl.players.player import Player
from poker_rl.players.sampling import mixed


@dataclass(kw_only=True)
class DQN(NetworkLearner):
    """The learner; `progress.decisions` counts all agents', `updates` are those of each agent."""

    tables: Count
    steps: Count
    updates: Passes
    every: Count
    batch: Count
    learn_from: Count
    replay: Count
    gamma: Probability
    epsilon: Annotated[Schedule, Over("one agent's decisions")]
    target_every: Count
    optimiser: Optimiser
    lr: OverUpdates
    gradient_norm: Positive | None
    reward_scale: Positive
    members: Literal["shared", "seat", "agent"]
    seating: Seating

    learnt: ClassVar = ("q", "target", "average")
    own: ClassVar = ("agents", "memory", "responds")

    def __post_init__(self, given: Given) -> None:
        if given.net.values is not given.net:
            raise Refused("net: a shape for policies, and these networks are values; try mlp_relu")
        seats = Seats(members=self.members, instances=1, seating=self.seating)
        self._begin(Agents(given, seats, tables=self.tables, steps=self.steps))
        game = given.game
        self._q, self._target = (self._agents.network(game.actions) for _ in range(2))
        self._renew()
        self._memory = Memory(
            "replay",
            self.replay,
            Circular(),
            {
                "observation": self._agents.column,
                "action": Column(
                    torch.uint8 if game.actions <= 256 else torch.int16, below=game.actions
                ),
                "reward": Column(torch.float32),
                "next": self._agents.column,
                "legal": Column(torch.bool, game.actions),  # next; none if the hand ended
            },
            given.device,
            self._agents.seed(),
            copies=self._agents.copies,
        )
        self._memory.demand_batch("batch", self.batch)
        self._memory.demand_full("learn_from", self.learn_from)
        self._descent = Descent(
            self._q,
            self.optimiser,
            self.lr,
            self.gradient_norm,
            self._loss,
            self._memory.drawing,
            self._agents.clock,
        )

    def _iterate(self) -> dict[str, float]:
        """Play `steps` actions at every table and make the updates that are due."""
        self._epsilon = self.epsilon.value(self._own_decisions())
        due = -self._updates_by(self.progress.decisions)
        self._count(self._remember(self._agents.rollout.stream(self._act, self.steps)))
        due += self._updates_by(self.progress.decisions)
        if self._memory.fewest >= self.learn_from:
            for _ in range(due):
                self._update()
        return self._metrics()

    def players(self) -> dict[str, Player]:
        """The policy that takes the best action."""
        critic = self._agents.kept(None, self.reward_scale, self.gamma, of_actions=True)
        return {"greedy": self._player(self._q, GreedyPlayer, critic)}

    def _player(
        self, module: nn.Module, kind: type[NetworkPlayer], critic: Critic | None = None
    ) -> Player:
        # agents that are dealt to the seats all learn the same: the first one is measured in each
        alone = self.members == "agent" and self.seating == "shuffled"
        return (self._agents.first if alone else self._agents.player)(module, kind, critic)

    def _own_decisions(self) -> int:
        """Decisions of one agent, the mean over all."""
        return self.progress.decisions // self._agents.copies

    def _updates_by(self, decisions: int) -> int:
        """Updates of each agent that belong to that many decisions of all, in all processes.

        Each process makes them, so it is its own decisions that they follow, on the average.
        """
        return decisions * self.updates // (self.every * self._agents.copies * self._agents.workers)

    def _act(self, rows: Rows) -> tuple[np.ndarray, np.ndarray]:
        return self._agents.drawn(self._epsilon_greedy(rows))

    def _epsilon_greedy(self, rows: Rows) -> np.ndarray:
        """Chance of each action, [B, A]."""
        with torch.no_grad():
            values = self._agents.logits(self._q, rows).cpu().numpy()
        best = np.where(rows.mask, values, -np.inf).argmax(1)
        greedy = best[:, None] == np.arange(rows.mask.shape[1])
        return mixed(greedy, rows.mask, self._epsilon)

    def _remember(self, batch: Batch) -> int:
        """Keep the transitions that are complete; their number."""
        rows = np.flatnonzero(batch.next != OPEN)
        then = batch.next[rows]
        goes_on = (then != ENDED)[:, None]
        self._memory.add(
            batch.copy[rows],
            observation=batch.observation[rows],
            action=batch.action[rows],
            reward=batch.reward[rows] / np.float32(self.reward_scale),
            next=batch.observation[then] * goes_on,
            legal=batch.mask[then] & goes_on,
        )
        return len(rows)

    def _update(self) -> None:
        self._descent.step()
        self.progress.updates += 1
        if self.progress.updates % self.target_every == 0:
            self._renew()

    @torch.no_grad()
    def _renew(self) -> None:
        torch._foreach_copy_(list(self._target.parameters()), list(self._q.parameters()))

    def _loss(self) -> Tensor:
        batch = self._memory.sample(self.batch)
        with self._agents.clock.networks():
            with torch.no_grad():
                values = self._target(batch["next"])  # [K, B, A]
                best = torch.where(batch["legal"], values, -torch.inf).amax(2)
                goes_on = batch["legal"].any(2)  # else the hand ended, and no action is legal
                goal = batch["reward"] + self.gamma * torch.where(goes_on, best, 0.0)
            q = self._q(batch["observation"]).gather(2, batch["action"].long()[..., None])
            return mse_loss(q[..., 0], goal, reduction="sum") / self.batch

    def _metrics(self) -> dict[str, float]:
        losses = {"loss/q": self._descent.mean_loss()} if self._descent.counted else {}
        return losses | {
            "schedule/epsilon": self._epsilon,
            "schedule/lr": self.lr.value(self._descent.updates),
            "memory/replay": self._memory.fill,
        }

    def _parts(self) -> dict[str, Stateful | None]:
        return {
            "q": self._q,
            "target": self._target,
            "descent": self._descent,
            "memory": self._memory,
        }
