"""Networks that read the actions of a hand in their order, K copies of them as in `nets`.

What lies on the table goes through dense layers, the actions so far go through an LSTM (Hochreiter
& Schmidhuber 1997), and one more layer sees both. So do the actor and the critic of APU, a
published method for six-player hold'em (docs/experiments/apu.md). Two variants show what the LSTM
is good for: they have a dense layer or nothing in its place.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod, sqrt
from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn

from poker_rl.config.settings import Count, Refused
from poker_rl.nets.dense import (
    ACTIVATIONS,
    Activation,
    FeatureKind,
    Init,
    Layers,
    SameForValues,
    Size,
    dense,
)


@dataclass(kw_only=True, frozen=True)
class HistoryNet(SameForValues):
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
        """The steps and what lies on the table; the table alone if nothing reads the steps."""
        return "table" if self.history == "none" else "history"

    def module(self, size: Size, generator: torch.Generator) -> nn.Module:
        """See `Net.module`.

        Raises:
            Refused: without a dense layer.
        """
        if not self.hidden:
            raise Refused("net.hidden: at least one width")

        steps = prod(size.steps)

        def layers(*widths: int) -> Layers:
            return dense(widths, size.copies, self.activation, self.init, generator)

        reader: nn.Module | None = None
        if self.history == "lstm":
            reader = LSTM(size.steps, self.units, size.copies, generator)
        elif self.history == "fc":
            reader = layers(steps, self.units)
        table = layers(size.inputs - steps, *self.hidden)
        units = 0 if reader is None else self.units
        widths = [self.hidden[-1] + units, self.merged, size.outputs]
        head = dense(
            widths,
            size.copies,
            self.activation,
            self.init,
            generator,
            gain=1.0,
            scale=size.last_scale,
        )
        return Reading(steps, table, reader, head)


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

    Where there is none, a step of zeros is read. Each distinct prefix of a batch is read once: the
    hands of many tables begin alike. Weights and biases start uniform on
    [-1/sqrt(units), 1/sqrt(units)], as PyTorch's do.
    """

    graphable = False  # its work depends on the batch

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
        x = x[:, : int(lengths.max())]
        read = prefixes(x, lengths)
        counts = [len(before) for before in read.before]
        gates = torch.addmm(self.bias[k], x.flatten(0, 1)[read.step], self.input[k])
        state = cell = x.new_zeros(1, self.units)
        states = []
        for gate, before in zip(torch.split(gates, counts), read.before, strict=True):
            every = torch.addmm(gate, state.index_select(0, before), self.state[k])
            opens, new = torch.split(every, [3 * self.units, self.units], 1)
            write, keep, show = opens.sigmoid().chunk(3, 1)
            cell = keep * cell.index_select(0, before) + write * new.tanh()
            state = show * cell.tanh()
            states.append(state)
        return torch.cat(states).index_select(0, read.whole)


class Prefixes(NamedTuple):
    """The N distinct prefixes of a batch of sequences, those of one step first, then of two, ..."""

    step: Tensor  # the last step of each, a row of [B * L], [N]
    before: list[Tensor]  # of each length: which prefix of one step less each of them goes on
    whole: Tensor  # of each sequence: the prefix that is all of it, [B]


def prefixes(x: Tensor, lengths: Tensor) -> Prefixes:
    """Every distinct prefix of sequences [B, L, F] of `lengths` [B].

    Found by a hash of 50 bits or more: should two prefixes collide, a row reads the other one.
    """
    rows, size, width = x.shape
    generator = torch.Generator().manual_seed(0)
    weights = torch.rand(width, generator=generator, dtype=torch.float64)
    factors = torch.randint(2**62, (size,), generator=generator) | 1
    # The bits of a random sum of a step's features, times an odd number for its place; of the sum
    # over a prefix the top bits are the hash (multiply-shift, Dietzfelbinger et al. 1997). The
    # length stands above them: sorted, shorter prefixes come first.
    told = (x.double() @ weights.to(x.device)).view(torch.int64) * factors.to(x.device)
    place = torch.arange(size, device=x.device)
    room = 63 - size.bit_length()
    top = (told.cumsum(1) >> (64 - room)) & (2**room - 1)
    hashes = (place << room) + top  # [B, L]

    steps = (place < lengths[:, None]).flatten().nonzero()[:, 0]  # of the B * L those that are any
    ordered, order = hashes.flatten()[steps].sort()
    new = torch.ones_like(order, dtype=torch.bool)
    new[1:] = ordered[1:] != ordered[:-1]
    prefix = order.new_zeros(rows * size)  # that each step ends
    prefix[steps[order]] = new.cumsum(0) - 1

    step = steps[order[new]]
    length = step % size  # less one
    counts = length.bincount()
    first = counts.cumsum(0) - counts
    before = torch.where(length > 0, prefix[step - 1] - first[length - 1], 0)
    whole = prefix.view(rows, size).gather(1, lengths[:, None] - 1)[:, 0]
    return Prefixes(step, list(torch.split(before, counts.tolist())), whole)
