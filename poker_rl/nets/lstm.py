"""LSTMs that read each distinct beginning of a batch of sequences once, K copies of them.

The hands of many tables begin alike: of 512 hands of six players with seven actions each, 1,400
beginnings differ instead of 3,700. On a CPU a compiled loop goes from each of them to those that
are a step longer; elsewhere PyTorch goes from all of one length to all of the next.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import torch
from torch import Tensor, nn

from poker_rl.nets.cells import Cells, beginnings


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
        if not x.shape[1]:  # nothing to read, and still a function of the weights: of gradient 0
            gates = torch.baddbmm(self.bias[:, None], x[..., : self.steps[1]], self.input)
            return torch.bmm(gates[..., : self.units], self.state)[..., : self.units]
        compiled = x.device.type == "cpu" and x.dtype == self.state.dtype == torch.float32
        read = self._compiled if compiled else self._by_length
        return torch.stack([read(x[k].view(-1, *self.steps), k) for k in range(len(x))])

    def _compiled(self, x: Tensor, k: int) -> Tensor:
        """[B, L, F] -> [B, units] through copy k, beginning by beginning."""
        step, before, ends, whole = beginnings(x)
        weights = self.input[k], self.state[k], self.bias[k]
        states: Tensor = Cells.apply(step, before, ends, *weights)  # type: ignore[no-untyped-call]
        return states.index_select(0, whole)

    def _by_length(self, x: Tensor, k: int) -> Tensor:
        """[B, L, F] -> [B, units] through copy k, all beginnings of a length at a time."""
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
