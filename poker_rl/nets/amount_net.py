"""Policy networks for no-limit games, with a mixture density over raise amounts.

No-limit hold'em has a raise action for each number of chips to raise to. One head gives the logits
of fold, call and raise; another gives a mixture of logistic densities over the log of the amount,
as in Nielsen and Bøgebjerg's work on no-limit (docs/results/nolimit_holdem.md). The probability
that a raise is to n chips is proportional to the mixture's probability of amounts from n - 1/2 to n
+ 1/2, as in PixelCNN++ for values of pixels (arXiv:1701.05517).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import log

import torch
from torch import Tensor, nn
from torch.nn.functional import logsigmoid

from poker_rl.config.input_checks import ConfigError, PositiveInt
from poker_rl.nets.net_interfaces import Features, NetConfig, NetDimensions, get_value_net_config

FIRST_RAISE_ACTION = 2  # action k >= 2 raises to k chips
MIN_DENSITY_WIDTH = 1e-3  # smallest width of a density, as a share of the range of log-amounts


@dataclass(kw_only=True, frozen=True)
class AmountNetConfig:
    """Settings of a policy network with heads for the move (fold, call, raise) and the amount."""

    mixture_components: PositiveInt  # densities in the mixture over amounts
    body: NetConfig  # settings of the network below the heads

    @property
    def features(self) -> Features:
        return self.body.features

    @property
    def value_net_config(self) -> NetConfig:
        """Settings of value networks, which need no amount head."""
        return get_value_net_config(self.body)

    def build_module(self, dimensions: NetDimensions, generator: torch.Generator) -> nn.Module:
        if dimensions.outputs <= FIRST_RAISE_ACTION:
            raise ConfigError(
                f"net: an amount needs raises, not a game of {dimensions.outputs} actions"
            )
        output_count = FIRST_RAISE_ACTION + 1 + 3 * self.mixture_components
        body = self.body.build_module(replace(dimensions, outputs=output_count), generator)
        return AmountHeads(body, dimensions.outputs, self.mixture_components)


class AmountHeads(nn.Module):
    """Heads on a network `body`: logits of fold, call, raise to 2, 3, ... chips, [K, B, A]."""

    component_centers: Tensor
    bin_edges: Tensor

    def __init__(self, body: nn.Module, actions: int, components: int) -> None:
        super().__init__()
        self.body, self.components = body, components
        # Amounts from n - 1/2 to n + 1/2 are rounded to n chips.
        edges = torch.arange(FIRST_RAISE_ACTION, actions + 1) - 0.5
        scale = log(actions - 0.5) - log(FIRST_RAISE_ACTION - 0.5)
        bin_edges = (edges.log() - log(FIRST_RAISE_ACTION - 0.5)) / scale
        self.register_buffer("bin_edges", bin_edges, persistent=False)
        centers = (torch.arange(components) + 0.5) / components
        self.register_buffer("component_centers", centers, persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.body(x)
        sizes = [FIRST_RAISE_ACTION + 1, *[self.components] * 3]
        move_logits, mixture_logits, center_shifts, log_widths = torch.split(out, sizes, -1)
        mean = (self.component_centers + center_shifts)[..., None]
        scale = (log_widths - 2).exp()[..., None] + MIN_DENSITY_WIDTH
        z = (self.bin_edges - mean) / scale  # [K, B, components, amounts + 1]
        low, high = z[..., :-1], z[..., 1:]
        # This is log(sigmoid(high) - sigmoid(low)), in a form that is finite far from the mean.
        log_mass = logsigmoid(high) + logsigmoid(-low) + torch.log(-torch.expm1(low - high))
        log_weights = mixture_logits.log_softmax(-1)[..., None]
        amount_logits = (log_weights + log_mass).logsumexp(-2)
        fold_and_call, raise_logit = torch.split(move_logits, [FIRST_RAISE_ACTION, 1], -1)
        return torch.cat([fold_and_call, raise_logit + amount_logits], -1)
