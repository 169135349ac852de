"""Networks that read the actions of a hand in their order, K copies of them as in `nets`.

The actor and critic of six-player hold'em in the reference work: what lies on the table goes
through dense layers, the actions so far through an LSTM (Hochreiter & Schmidhuber 1997), and a
layer more sees both. Two ablations put a dense layer or zeros in the place of the LSTM.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod, sqrt
from typing import Literal

import torch
from torch import Tensor, nn

from poker_rl.nets import ACTIVATIONS, NO_STEPS, Activation, FeatureKind, Init, Layers, dense
from poker_rl.settings import Count, Refused


@dataclass(kw_only=True, frozen=True)
class HistoryNet:
    """Dense layers of the widths in `hidden` beside a reader of the history; a layer sees both.

    The reader is an LSTM, or a dense layer over all steps at once (`fc`), of `units` each, or
    `none`.
    """

    history: Literal["lstm", "fc", "none"]
    units: Count
    hidden: list[Count]
    merged: Count
    activation: Activation
    init: Init

    @property
    def features(self) -> FeatureKind:
        """The steps of the history, then what lies on the table."""
        return "history"

    def module(
        self,
        inputs: int,
        outputs: int,
        copies: int,
        generator: torch.Generator,
        last_scale: float = 1.0,
        steps: tuple[int, int] = NO_STEPS,
    ) -> nn.Module:
        """See `Net.module`.

        Raises:
            Refused: without a dense layer.
        """
        if not self.hidden:
            raise Refused("net.hidden: at least one width")

        def layers(*widths: int) -> Layers:
            return dense(widths, copies, self.activation, self.init, generator)

        reader: nn.Module | None = None
        if self.history == "lstm":
            reader = LSTM(steps, self.units, copies, generator)
        elif self.history == "fc":
            reader = layers(prod(steps), self.units)
        table = layers(inputs - prod(steps), *self.hidden)
        units = 0 if reader is None else self.units
        widths = [self.hidden[-1] + units, self.merged, outputs]
        head = dense(
            widths, copies, self.activation, self.init, generator, gain=1.0, scale=last_scale
        )
        return Reading(prod(steps), table, reader, head)


class Reading(nn.Module):
    """A reader of the first `steps` inputs and layers for the others, then layers that see both."""

    def __init__(self, steps: int, table: Layers, reader: nn.Module | None, head: Layers) -> None:
        super().__init__()
        self.steps, self.table, self.reader, self.head = steps, table, reader, head

    def forward(self, x: Tensor) -> Tensor:
        """[K, B, in] -> [K, B, out]."""
        x = x.to(self.table.dtype)
        activation = ACTIVATIONS[self.table.activation]
        parts = [activation(self.table(x[..., self.steps :]))]
        if self.reader is not None:
            read = self.reader(x[..., : self.steps])
            parts.append(read if isinstance(self.reader, LSTM) else activation(read))
        out: Tensor = self.head(torch.cat(parts, -1))
        return out


class LSTM(nn.Module):
    """K LSTMs, [K, B, L * F] -> [K, B, units]: the state after the last step that is not all zeros.

    Where there is none, a step of zeros is read. Weights and biases start uniform on
    [-1/sqrt(units), 1/sqrt(units)], as PyTorch's do; its own is several times slower here, whose
    sequences differ in length and end after a few steps.
    """

    def __init__(
        self, steps: tuple[int, int], units: int, copies: int, generator: torch.Generator
    ) -> None:
        super().__init__()
        self.steps, self.units = steps, units
        gates = 4 * units  # input, forget and output gate, new content
        self.input = nn.Parameter(torch.empty(copies, steps[1], gates))
        self.state = nn.Parameter(torch.empty(copies, units, gates))
        self.bias = nn.Parameter(torch.empty(copies, gates))
        for weight in self.parameters():
            nn.init.uniform_(weight, -1 / sqrt(units), 1 / sqrt(units), generator=generator)

    def forward(self, x: Tensor) -> Tensor:
        """[K, B, L * F] -> [K, B, units]."""
        return torch.stack([self._read(x[k], k) for k in range(len(x))])

    def _read(self, x: Tensor, k: int) -> Tensor:
        """[B, L * F] -> [B, units] through copy k."""
        x = x.view(len(x), *self.steps)
        number = torch.arange(1, self.steps[0] + 1, device=x.device)
        lengths = (x.any(2) * number).amax(1).clamp(min=1)  # [B]
        order = lengths.argsort(descending=True)
        x = x[order]  # longest first: the rows that go on are always the first ones
        counts = [int(n) for n in (lengths[:, None] >= number).sum(0) if n]
        steps = torch.cat([x[:count, t] for t, count in enumerate(counts)])
        gates = torch.split(torch.addmm(self.bias[k], steps, self.input[k]), counts)
        state = cell = x.new_zeros(len(x), self.units)
        ended = []  # shortest first
        for gate, count in zip(gates, counts, strict=True):
            ended.append(state[count:])
            every = torch.addmm(gate, state[:count], self.state[k])
            opens, new = torch.split(every, [3 * self.units, self.units], 1)
            write, keep, show = opens.sigmoid().chunk(3, 1)
            cell = keep * cell[:count] + write * new.tanh()
            state = show * cell.tanh()  # [count, units]
        read = torch.cat([state, *reversed(ended)])
        return torch.empty_like(read).index_copy(0, order, read)
