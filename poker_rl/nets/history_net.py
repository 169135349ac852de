"""Networks with a replica axis that read the sequence of actions of a hand.

Cards and chips go through dense layers, the actions so far through an LSTM (Hochreiter and
Schmidhuber 1997), and a merging layer reads the outputs of both, as in APU for six-player hold'em
(docs/results/apu.md). In two variants, a dense layer replaces the LSTM, or nothing does.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Literal

import torch
from torch import Tensor, nn

from poker_rl.config.validation import ConfigError, PositiveInt
from poker_rl.nets.dense import ACTIVATIONS, ActivationName, InitScheme, ReplicatedMLP, build_mlp
from poker_rl.nets.lstm import ReplicatedLSTM
from poker_rl.nets.net_config import FeatureKind, NetDimensions


@dataclass(kw_only=True, frozen=True)
class HistoryNetConfig:
    """Settings of a network with dense layers for cards and chips and a reader of the history."""

    history_reader: Literal["lstm", "fc", "none"]  # fc: a dense layer over all steps
    reader_units: PositiveInt
    hidden_sizes: list[PositiveInt]  # widths of the layers for cards and chips
    merged_size: PositiveInt  # width of the layer that reads the outputs of both
    activation: ActivationName
    init: InitScheme

    @property
    def features(self) -> FeatureKind:
        return "table" if self.history_reader == "none" else "history"

    def build_module(self, dimensions: NetDimensions, generator: torch.Generator) -> nn.Module:
        if not self.hidden_sizes:
            raise ConfigError("net.hidden_sizes: at least one width")

        history_inputs = prod(dimensions.history_shape)
        kind = dimensions.replicas, self.activation, self.init, generator
        reader: nn.Module | None = None
        if self.history_reader == "lstm":
            reader = ReplicatedLSTM(
                dimensions.history_shape, self.reader_units, dimensions.replicas, generator
            )
        elif self.history_reader == "fc":
            reader = build_mlp([history_inputs, self.reader_units], *kind, ends_in_outputs=False)
        widths = [dimensions.inputs - history_inputs, *self.hidden_sizes]
        table_layers = build_mlp(widths, *kind, ends_in_outputs=False)
        units = 0 if reader is None else self.reader_units
        head = build_mlp(
            [self.hidden_sizes[-1] + units, self.merged_size, dimensions.outputs],
            *kind,
            output_gain=1.0,
            output_scale=dimensions.output_init_scale,
            reads_observations=False,
        )
        return HistoryNetwork(history_inputs, table_layers, reader, head)


class HistoryNetwork(nn.Module):
    """Network whose `head` reads the outputs of a `reader` of the history and of `table` layers."""

    def __init__(
        self, history_inputs: int, table: ReplicatedMLP, reader: nn.Module | None, head: nn.Module
    ) -> None:
        super().__init__()
        self.history_inputs = history_inputs
        self.table, self.reader, self.head = table, reader, head

    def forward(self, x: Tensor) -> Tensor:
        x = x.to(self.table.dtype)
        activation = ACTIVATIONS[self.table.activation]
        parts = [activation(self.table(x[..., self.history_inputs :]))]
        if self.reader is not None:
            read = self.reader(x[..., : self.history_inputs])
            parts.append(read if isinstance(self.reader, ReplicatedLSTM) else activation(read))
        out: Tensor = self.head(torch.cat(parts, -1))
        return out
