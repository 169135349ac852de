"""Networks that choose how many chips to raise to by a density over amounts.

No-limit hold'em has an action for each number of chips. Two heads choose among them, as in Nielsen
and Bøgebjerg's attempt at no-limit (docs/results/nolimit_holdem.md): one says what to do (fold,
call or raise), the other how much. The second is a mixture of logistic densities over the logarithm
of the amount, and each number of chips gets the mass that the density puts on its interval
(Salimans et al., arXiv:1701.05517, do so for the brightness of a pixel). A policy's softmax over
legal actions cuts the mass to the legal amounts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import log

import torch
from torch import Tensor, nn
from torch.nn.functional import logsigmoid

from poker_rl.config.settings import Count, Refused
from poker_rl.nets.dense import FeatureKind, Net, Size

FIRST = 2  # the first raise: action k >= 2 raises to k chips
LEAST_WIDTH = 1e-3  # of a density, on a scale where all amounts lie in [0, 1]


@dataclass(kw_only=True, frozen=True)
class AmountNet:
    """The shape of a policy that chooses an action and an amount: a network `body` with two heads.

    Args:
        components: densities in the mixture over amounts.
        body: the shape of the network that the heads belong to, and of networks of values.
    """

    components: Count
    body: Net

    @property
    def features(self) -> FeatureKind:
        """Those of the body."""
        return self.body.features

    @property
    def values(self) -> Net:
        """The body alone: a value is no density."""
        return self.body.values

    def module(self, size: Size, generator: torch.Generator) -> nn.Module:
        """See `Net.module`.

        Raises:
            Refused: if the game has no raise.
        """
        if size.outputs <= FIRST:
            raise Refused(f"net: an amount needs raises, not a game of {size.outputs} actions")
        heads = FIRST + 1 + 3 * self.components
        body = self.body.module(replace(size, outputs=heads), generator)
        return Amounts(body, size.outputs, self.components)


class Amounts(nn.Module):
    """K networks, [K, B, in] -> logits of fold, call and a raise to 2, 3, ... chips, [K, B, A]."""

    centre: Tensor
    edges: Tensor

    def __init__(self, body: nn.Module, actions: int, components: int) -> None:
        super().__init__()
        self.body, self.components = body, components
        edges = torch.arange(FIRST, actions + 1) - 0.5  # of the intervals, [amounts + 1]
        scale = log(actions - 0.5) - log(FIRST - 0.5)
        self.register_buffer("edges", (edges.log() - log(FIRST - 0.5)) / scale, persistent=False)
        spread = (torch.arange(components) + 0.5) / components
        self.register_buffer("centre", spread, persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        """[K, B, in] -> [K, B, A]."""
        out: Tensor = self.body(x)
        sizes = [FIRST + 1, *[self.components] * 3]
        head, share, place, width = torch.split(out, sizes, -1)
        mean = (self.centre + place)[..., None]  # [K, B, C, 1]
        scale = (width - 2).exp()[..., None] + LEAST_WIDTH
        z = (self.edges - mean) / scale  # [K, B, C, amounts + 1]
        low, high = z[..., :-1], z[..., 1:]
        # log(s(high) - s(low)), which would be log 0 far from the mean if taken literally
        mass = logsigmoid(high) + logsigmoid(-low) + torch.log(-torch.expm1(low - high))
        amount = (share.log_softmax(-1)[..., None] + mass).logsumexp(-2)  # [K, B, amounts]
        return torch.cat([head[..., :FIRST], head[..., FIRST:] + amount], -1)
