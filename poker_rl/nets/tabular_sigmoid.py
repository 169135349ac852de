"""Tabular policies with one weight for each information set, for games such as Kuhn poker."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from poker_rl.config.input_checks import ConfigError, NonNegativeFloat
from poker_rl.nets.net_interfaces import FeatureKind, NetDimensions


@dataclass(kw_only=True, frozen=True)
class SigmoidPolicyConfig:
    """Settings of a tabular policy: one weight w per information set.

    If two actions are legal, the more aggressive one has probability sigmoid(w).
    """

    init_range: NonNegativeFloat  # weights are initialized uniformly on [-init_range, init_range]

    features: ClassVar[FeatureKind] = "infoset"

    def build_module(self, dimensions: NetDimensions, generator: torch.Generator) -> nn.Module:
        if dimensions.outputs != 3:
            problem = f"needs 3 outputs (fold, call, raise), not {dimensions.outputs}"
            raise ConfigError(f"net: SigmoidPolicyConfig {problem}")
        module = SigmoidPolicy(dimensions.inputs, dimensions.replicas)
        init_range = self.init_range * dimensions.output_init_scale
        nn.init.uniform_(module.weight, -init_range, init_range, generator=generator)
        return module


class SigmoidPolicy(nn.Module):
    """K tabular policies with a weight w for each of I information sets, [K, B, I] -> [K, B, 3].

    Each of B inputs is a one-hot information set. The logits of fold, call and raise are -w, 0, w.
    """

    def __init__(self, infosets: int, replicas: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(replicas, infosets, 1))

    def forward(self, x: Tensor) -> Tensor:
        w = torch.bmm(x.to(self.weight.dtype), self.weight)  # [K, B, 1]
        return torch.cat([-w, torch.zeros_like(w), w], -1)
