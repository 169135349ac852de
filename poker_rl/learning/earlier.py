"""Hands against earlier selves, so that self-play does not forget how to beat what it has left.

In a share of the hands one seat alone learns. In all others sits one earlier self: a copy of the
policy as it was, drawn from a pool that holds copies spread over the whole run. Fictitious
self-play over snapshots, after Heinrich, Lanctot and Silver (ICML 2015) and the league of OpenAI
Five (arXiv:1912.06680, section 3.1), which played a fifth of its games against past versions.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np
from torch import nn

from poker_rl.config.settings import Count, Probability
from poker_rl.learning.agents import Agents
from poker_rl.learning.state_checks import MOST_ITEMS, check_range
from poker_rl.nets.copies import copies_of, repeated


@dataclass(kw_only=True, frozen=True)
class EarlierSettings:
    """How often earlier selves play, and which."""

    share: Probability  # of the hands, in apu of the iterations; 0: in none
    every: Count  # iterations after which the policy joins the pool, and another of it plays
    keep: Count  # policies in the pool


class EarlierSelves:
    """The pool, the one of it that plays, and the draws of which seats it has.

    Args:
        settings: see `EarlierSettings`.
        agents: who learns; the draws come from their generator.
        actor: the network in training, K copies.

    Attributes:
        module: the network of the earlier self that plays now.
    """

    def __init__(self, settings: EarlierSettings, agents: Agents, actor: nn.Module) -> None:
        self.settings = settings
        self._agents, self._generator, self._actor = agents, agents.generator, actor
        self._pool: list[dict[str, Any]] = []
        self._met = 0  # policies that were offered to the pool
        self.module = deepcopy(actor).requires_grad_(False)

    def learning(self, tables: np.ndarray) -> np.ndarray:
        """Which seats learn in the new hands at some tables [B], [B, seats] bool."""
        rollout = self._agents.rollout
        seats = rollout.tables.definitions(tables)["seats"].astype(np.int64)  # of each hand
        one = self._generator.integers(seats)[:, None] == np.arange(rollout.agent.shape[1])
        against = self._generator.random((len(tables), 1)) < self.settings.share
        learns: np.ndarray = ~against | one
        return learns

    def play(self) -> bool:
        """Whether the earlier self plays in hands that are dealt together, drawn by its share."""
        drawn: bool = self._generator.random() < self.settings.share
        return drawn

    def renew(self, iterations: int) -> None:
        """Where that is due: offer the policy to the pool, and let another one of it play."""
        if iterations % self.settings.every:
            return
        self._met += 1
        now = {name: part.clone() for name, part in self._actor.state_dict().items()}
        if len(self._pool) < self.settings.keep:
            self._pool.append(now)
        elif (place := self._generator.integers(self._met)) < self.settings.keep:
            self._pool[place] = now
        self.module.load_state_dict(self._pool[self._generator.integers(len(self._pool))])

    def take_over(self, state: dict[str, Any]) -> None:
        """Begin with another run's pool, so that what it had left is not forgotten now."""
        pool = state["pool"][: self.settings.keep]
        self._pool = [repeated(one, copies_of(self._actor)) for one in pool]
        self._met = state["met"]

    def state_dict(self) -> dict[str, Any]:
        """The pool, the one that plays, and how many were offered to the pool."""
        return {"pool": self._pool, "plays": self.module.state_dict(), "met": self._met}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on where `state_dict` was taken.

        Raises:
            ValueError, RuntimeError: if it does not fit.
        """
        self._pool, self._met = list(state["pool"]), state["met"]
        check_range("met", np.array(self._met), len(self._pool), MOST_ITEMS)
        check_range("pool", np.array(len(self._pool)), 0, self.settings.keep + 1)
        for weights in (*self._pool, state["plays"]):  # each has to fit; the last one plays
            self.module.load_state_dict(weights)
