"""Policies that the one in training is held near to, each by a term of the learner's loss.

The magnet is a copy of the policy that is renewed now and then (NashPG, magnetic mirror descent);
the last policy is the one that played the batch; a policy that is even over kinds of actions takes
the place of the uniform one in an entropy bonus where actions differ in size alone, as raises do.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from poker_rl.learning.agents import Agents
from poker_rl.learning.minibatches import Inputs
from poker_rl.nets.chances import masked_log_softmax
from poker_rl.nets.weight_average import WeightAverage


class References:
    """The reference policies of a learner.

    Args:
        agents: whose policy is in training.
        actor: its network, K copies.
        by_kind: whether the even policy is asked for, where any two actions are of one kind.
        every: gradient steps after which the magnet is renewed.

    Attributes:
        magnet: the copy of the policy.
        renewed: gradient steps there had been when it was copied last.
    """

    def __init__(self, agents: Agents, actor: nn.Module, *, by_kind: bool, every: int) -> None:
        self._agents, self._actor, self._every = agents, actor, every
        self._alike = alike(agents.game.kinds) if by_kind else None
        self.magnet = WeightAverage(actor, 0.0)  # keeps nothing: a copy, when updated
        self.renewed = 0

    def renew(self, updates: int) -> None:
        """Copy the policy into the magnet if that is due after so many gradient steps."""
        if updates >= self.renewed + self._every:
            self.magnet.update(self._actor)
            self.renewed = updates

    @torch.no_grad()
    def log_policies(
        self, seen: Inputs, copy: Tensor, mask: Tensor, *, magnet: bool, last: bool
    ) -> dict[str, Tensor]:
        """Log-probabilities of the reference policies in N decisions, [N, A] each, by name.

        Args:
            copy: the networks that decide, [N].
            mask: legal actions, [N, A].
            magnet: whether the magnet is asked for.
            last: whether the policy as it is now is.

        Returns:
            `even` comes without its normalising constant, which no gradient depends on.
        """
        policies = {}
        if self._alike is not None:
            number = mask.float() @ self._alike.to(mask.device)
            policies["even"] = -number.clamp(min=1).log()
        asked = {"magnet": self.magnet.module} if magnet else {}
        if last:
            asked["last"] = self._actor
        with self._agents.clock.networks():
            for name, module in asked.items():
                policies[name] = masked_log_softmax(seen.all(module, copy), mask)
        return policies


def alike(kinds: np.ndarray) -> Tensor | None:
    """Which actions are of one kind, [A, A] of 0 and 1; None if no two are."""
    same = kinds[:, None] == kinds
    return torch.from_numpy(same.astype(np.float32)) if same.sum() > len(kinds) else None
