"""Networks with a replica axis that read the sequence of actions of a hand.

Cards and chips go through dense layers, the actions so far through an LSTM (Hochreiter and
Schmidhuber 1997), and a merging layer reads the outputs of both, as in APU for six-player hold'em
(docs/results/apu.md). The setting `history_reader` replaces the LSTM by a dense layer or omits it.

Hands at many tables begin with the same actions, so on a CPU the LSTM processes each distinct
prefix of the sequences once. On a GPU PyTorch's LSTM processes all steps of all sequences, padding
included: more arithmetic, but the same work for any data, so a CUDA graph can record it.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod, sqrt
from typing import Literal

import torch
from torch import Tensor, nn

from poker_rl.config.input_checks import ConfigError, PositiveInt
from poker_rl.nets.dense import ACTIVATIONS, ActivationName, InitScheme, ReplicatedMLP, build_mlp
from poker_rl.nets.lstm_prefix_tree import run_prefix_lstm
from poker_rl.nets.net_interfaces import FeatureKind, NetDimensions

MAX_ROWS = 2**15  # sequences in one call of PyTorch's LSTM: about 2 GB for 48 steps and 64 units


@dataclass(kw_only=True, frozen=True)
class HistoryNetConfig:
    """Settings of a network: dense layers for cards and chips, and an LSTM for past actions."""

    history_reader: Literal["lstm", "fc", "none"]  # fc: dense, over all steps; none: no history
    reader_units: PositiveInt
    hidden_sizes: list[PositiveInt]  # widths of the layers for cards and chips
    merged_size: PositiveInt  # width of the layer that reads both outputs
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
            output_scale=dimensions.output_init_scale,
            reads_observations=False,
        )
        return HistoryNetwork(history_inputs, table_layers, reader, head)


class HistoryNetwork(nn.Module):
    """Network whose `head` reads the outputs of `reader` (the history) and `table` (the rest)."""

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


class ReplicatedLSTM(nn.Module):
    """K LSTMs that return their states at the end of sequences, [K, B, L * F] -> [K, B, units].

    Each LSTM reads B sequences of L steps with F features. A sequence ends after its last step that
    is not all zeros; if all steps are zeros, it has one step. Weights and biases are initialized
    uniformly on [-1/sqrt(units), 1/sqrt(units)], as in PyTorch.
    """

    def __init__(
        self, history_shape: tuple[int, int], units: int, replicas: int, generator: torch.Generator
    ) -> None:
        super().__init__()
        self.history_shape, self.units = history_shape, units
        gates = 4 * units  # input, forget and output gate, cell candidate
        self.weight_ih = nn.Parameter(torch.empty(replicas, history_shape[1], gates))
        self.weight_hh = nn.Parameter(torch.empty(replicas, units, gates))
        self.bias = nn.Parameter(torch.empty(replicas, gates))
        for weight in self.parameters():
            nn.init.uniform_(weight, -1 / sqrt(units), 1 / sqrt(units), generator=generator)

    def forward(self, x: Tensor) -> Tensor:
        if not x.shape[1]:  # no rows: return an empty output that gives all weights the gradient 0
            x = x[..., : self.history_shape[1]]
            gates = torch.baddbmm(self.bias[:, None], x, self.weight_ih)
            return torch.bmm(gates[..., : self.units], self.weight_hh)[..., : self.units]
        if x.device.type == "cpu" and x.dtype == self.weight_hh.dtype == torch.float32:
            weights = self.weight_ih, self.weight_hh, self.bias
            shape = len(x), -1, *self.history_shape
            states = [
                run_prefix_lstm(*parts) for parts in zip(x.view(shape), *weights, strict=True)
            ]
        else:
            # cuDNN uses TF32 in LSTMs by default; allow it only if matrix products may use it too.
            torch.backends.cudnn.allow_tf32 = torch.get_float32_matmul_precision() != "highest"
            states = []
            for k, lstm_weights in enumerate(self._build_torch_lstm_weights()):
                chunks = torch.split(x[k].view(-1, *self.history_shape), MAX_ROWS)
                states.append(
                    torch.cat(
                        [_compute_last_states_by_torch(chunk, lstm_weights) for chunk in chunks]
                    )
                )
        return torch.stack(states)

    def _build_torch_lstm_weights(self) -> list[list[Tensor]]:
        """Return the weights of each replica in the layout of `torch.lstm`.

        In that layout the gates are rows of the weights, the cell candidate comes before the output
        gate, and there is a second bias, here 0. The weights of a replica are views of one buffer,
        since PyTorch would copy separate tensors and warn.
        """
        units, features = self.units, self.history_shape[1]
        bias = self.bias[:, None]
        weights = torch.cat([self.weight_ih, self.weight_hh, bias, torch.zeros_like(bias)], 1)
        input_forget, output, candidate = torch.split(weights, [2 * units, units, units], 2)
        rows = torch.cat([input_forget, candidate, output], 2).mT  # [K, 4 * units, F + units + 2]
        flat_parts = [part.flatten(1) for part in torch.split(rows, [features, units, 1, 1], 2)]
        sizes = [part.shape[1] for part in flat_parts]
        shapes = (4 * units, features), (4 * units, units), (4 * units,), (4 * units,)
        buffers = [row.clone() for row in torch.cat(flat_parts, 1)]
        return [list(map(Tensor.view, torch.split(buffer, sizes), shapes)) for buffer in buffers]


def _compute_last_states_by_torch(x: Tensor, weights: list[Tensor]) -> Tensor:
    """Return one LSTM's states at the ends of B sequences, [B, L, F] -> [B, units]."""
    units = weights[1].shape[1]
    step_numbers = torch.arange(x.shape[1], device=x.device)
    last_step = (x.any(2) * step_numbers).amax(1)  # [B]; 0 for empty sequences
    zeros = x.new_zeros(1, len(x), units)  # initial state and cell
    states, _, _ = torch.lstm(
        x.transpose(0, 1),
        (zeros, zeros),
        weights,
        has_biases=True,
        num_layers=1,
        dropout=0.0,
        train=torch.is_grad_enabled(),  # if True, cuDNN stores what backward needs
        bidirectional=False,
        batch_first=False,
    )  # [L, B, units]
    return states.gather(0, last_step[None, :, None].expand(1, -1, units))[0]
