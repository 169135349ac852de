"""Interfaces of a network's settings and of encoders of its inputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol, get_args

import numpy as np
import torch
from torch import nn

from poker_rl.games.game import Game

FeatureKind = Literal[
    "observation",
    "sorted_suits",
    "log_chips",
    "hand_strength",
    "rank",
    "infoset",
    "table",
    "history",
    "every_card",
]

# Features in which each input depends on cards alone or on bets alone, and bets are in chips.
SEPARABLE_FEATURES: tuple[FeatureKind, ...] = tuple(
    kind for kind in get_args(FeatureKind) if kind not in ("infoset", "every_card")
)


class FeatureEncoder(Protocol):
    """Interface of a plug-in's input features; `net.features: {_target_: ...}` names the class."""

    def encode(self, game: Game, records: np.ndarray) -> np.ndarray:
        """Return W network inputs for each of B tables, as seen by the seat to act there, [B, W].

        W is the same for all tables of a game. The type is uint8 if all inputs are 0 or 1 at every
        table, else float32.
        """


Features = FeatureKind | FeatureEncoder
NO_HISTORY = 0, 0  # `NetDimensions.history_shape` of inputs without a sequence


@dataclass(kw_only=True, frozen=True)
class NetDimensions:
    """Dimensions of K `replicas` of a network for B rows each, [K, B, inputs] -> [K, B, outputs].

    If `history_shape` is (L, F), the first L x F inputs are a sequence of L steps of F features,
    oldest first; a shorter sequence is padded with zeros at its end.
    """

    inputs: int
    outputs: int
    replicas: int = 1
    output_init_scale: float = 1.0  # factor of the initial weights of the output layer
    history_shape: tuple[int, int] = NO_HISTORY


class NetConfig(Protocol):
    """Interface of a network's settings; the classes named in `conf/net` implement it."""

    @property
    def features(self) -> Features:
        """Input features; see `ObservationEncoder`."""

    def build_module(self, dimensions: NetDimensions, generator: torch.Generator) -> nn.Module:
        """Build a module of K networks, see `NetDimensions`, with random initial weights."""


def get_value_net_config(config: NetConfig) -> NetConfig:
    """Return the settings of value networks: `config`, or its `value_net_config` if it has one."""
    value_net_config: NetConfig = getattr(config, "value_net_config", config)
    return value_net_config
