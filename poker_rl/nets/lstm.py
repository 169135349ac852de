"""LSTMs that read each distinct beginning of a batch of sequences once, K copies of them.

The hands of many tables begin alike: of 512 hands of six players with seven actions each, 1,400
beginnings differ instead of 3,700. On a CPU a compiled loop goes from each of them to those that
are a step longer; elsewhere PyTorch goes from all of one length to all of the next.
"""

# numba gives the compiled functions their types.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from functools import cache
from math import sqrt
from typing import Any, NamedTuple

import numpy as np
import torch
from numba.extending import register_jitable
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from poker_rl.nets.loops import compiled_loops


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
        compiled = x.device.type == "cpu" and x.dtype == self.state.dtype == torch.float32
        read = self._compiled if compiled else self._by_length
        return torch.stack([read(x[k].view(-1, *self.steps), k) for k in range(len(x))])

    def _compiled(self, x: Tensor, k: int) -> Tensor:
        """[B, L, F] -> [B, units] through copy k, beginning by beginning."""
        steps, before, whole = beginnings(x)
        gates = torch.addmm(self.bias[k], steps, self.input[k])
        states: Tensor = Cells.apply(gates, self.state[k], before)  # type: ignore[no-untyped-call]
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


class Beginnings(NamedTuple):
    """The N distinct beginnings of a batch of sequences, each after the one it goes on."""

    step: Tensor  # the last step of each, [N, F]
    before: np.ndarray  # which one it goes on, [N]; -1: it has one step
    whole: Tensor  # of each sequence: which one is all of it, [B]


def beginnings(x: Tensor) -> Beginnings:
    """Every distinct beginning of sequences [B, L, F] float32 on the CPU, one step at least.

    A sequence ends after its last step that is not all zeros.
    """
    rows, size, width = x.shape
    bits = x.detach().view(torch.int32).numpy()
    step = np.empty((rows * size, width), np.int32)
    before = np.empty(rows * size, np.int64)
    whole = np.empty(rows, np.int64)
    table = np.full(1 << (2 * rows * size).bit_length(), -1, np.int32)
    find, _, _ = _loops()
    count = find(bits, table, step, before, whole)
    steps = torch.from_numpy(step[:count].view(np.float32))
    return Beginnings(steps, before[:count], torch.from_numpy(whole))


class Cells(torch.autograd.Function):
    """The states after each beginning, [N, units].

    Called as `Cells.apply(gates, state, before)`: what the last steps give to the gates, bias
    included, [N, 4 * units], the weights of the state, [units, 4 * units], and `before` [N] as
    `Beginnings` has it; float32 on the CPU.
    """

    @staticmethod
    def forward(ctx: Any, gates: Tensor, state: Tensor, before: np.ndarray) -> Tensor:
        """See above."""
        gates, state = gates.clone(), state.contiguous()
        out, cell, shown = (gates.new_empty(len(gates), len(state)) for _ in range(3))
        _, read, _ = _loops()
        read(before, state.numpy(), *(one.numpy() for one in (gates, cell, shown, out)))
        ctx.save_for_backward(state, gates, cell, shown, out)
        ctx.before = before
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, None]:
        """Gradients of the gates and of the state's weights."""
        state, gates, cell, shown, out = ctx.saved_tensors
        of_gates, of_out, of_cell = torch.empty_like(gates), grad.clone(), torch.zeros_like(cell)
        kept = (state, gates, cell, shown, of_out, of_cell, of_gates)
        _, _, unread = _loops()
        unread(ctx.before, *(one.numpy() for one in kept))
        before = torch.from_numpy(ctx.before)
        first = before.clamp(min=0)
        known = out.index_select(0, first).masked_fill_((before < 0)[:, None], 0.0)
        return of_gates, known.t() @ of_gates, None


def _find(bits, table, step, before, whole):
    """Write the distinct beginnings and which is all of each row; return how many there are.

    `table` finds them by a hash of their last step and of what they go on; its size is a power of
    two, and -1 stands where there is none.
    """
    count, last = 0, np.uint64(len(table) - 1)
    for b in range(bits.shape[0]):
        length = bits.shape[1]
        while length > 1 and not np.any(bits[b, length - 1]):
            length -= 1
        node = -1
        for place in range(length):
            told = np.uint64(node + 2)
            for f in range(bits.shape[2]):
                told = (told ^ np.uint64(bits[b, place, f])) * np.uint64(0x9E3779B97F4A7C15)
                told ^= told >> np.uint64(29)
            at = told & last
            found = -1
            while found < 0 and table[at] >= 0:
                other = table[at]
                same = before[other] == node
                for f in range(bits.shape[2]):
                    same &= step[other, f] == bits[b, place, f]
                if same:
                    found = other
                at = (at + np.uint64(1)) & last
            if found < 0:
                found = count
                table[at] = found
                before[found] = node
                for f in range(bits.shape[2]):
                    step[found, f] = bits[b, place, f]
                count += 1
            node = found
        whole[b] = node
    return count


@register_jitable(fastmath={"contract"})
def _tanh(x: Any) -> Any:
    """tanh of a float32 within 3e-7: a quotient of polynomials, of which loops make vectors.

    The coefficients are those of the library Eigen.
    """
    x = min(max(x, np.float32(-7.9053111)), np.float32(7.9053111))
    y = x * x
    above = np.float32(-2.76076847742355e-16) * y + np.float32(2.00018790482477e-13)
    above = above * y + np.float32(-8.60467152213735e-11)
    above = above * y + np.float32(5.12229709037114e-08)
    above = above * y + np.float32(1.48572235717979e-05)
    above = above * y + np.float32(6.37261928875436e-04)
    above = above * y + np.float32(4.89352455891786e-03)
    below = np.float32(1.19825839466702e-06) * y + np.float32(1.18534705686654e-04)
    below = below * y + np.float32(2.26843463243900e-03)
    below = below * y + np.float32(4.89352518554385e-03)
    return x * above / below


def _read(before, state, gates, cell, shown, out):
    """Write the cell, what of it may be shown and the state of each beginning.

    `gates` become those that the cell goes through: input, forget, output, new content.
    """
    units = len(state)
    half = np.float32(0.5)
    for n in range(len(gates)):
        gate, first = gates[n], before[n]
        if first >= 0:
            known = out[first]
            for j in range(0, units - 1, 2):
                one, two, with_one, with_two = state[j], state[j + 1], known[j], known[j + 1]
                for i in range(len(gate)):
                    gate[i] += with_one * one[i] + with_two * two[i]
            if units % 2:
                one, with_one = state[units - 1], known[units - 1]
                for i in range(len(gate)):
                    gate[i] += with_one * one[i]
        for i in range(3 * units):
            gate[i] = half + half * _tanh(half * gate[i])
        for i in range(3 * units, 4 * units):
            gate[i] = _tanh(gate[i])
        for i in range(units):
            cell[n, i] = gate[i] * gate[3 * units + i]
        if first >= 0:
            for i in range(units):
                cell[n, i] += gate[units + i] * cell[first, i]
        for i in range(units):
            shown[n, i] = _tanh(cell[n, i])
            out[n, i] = gate[2 * units + i] * shown[n, i]


def _unread(before, state, gates, cell, shown, of_out, of_cell, of_gates):
    """Write the gradients of what went into the gates, from the last beginning to the first.

    Those of the states and the cells are added to on the way.
    """
    units, one = len(state), np.float32(1)
    for n in range(len(gates) - 1, -1, -1):
        gate, of_gate, first = gates[n], of_gates[n], before[n]
        for i in range(units):
            write, keep, show = gate[i], gate[units + i], gate[2 * units + i]
            new, seen, slope = gate[3 * units + i], shown[n, i], of_out[n, i]
            of = of_cell[n, i] + slope * show * (one - seen * seen)
            of_cell[n, i] = of
            of_gate[i] = of * new * write * (one - write)
            of_gate[units + i] = np.float32(0)
            of_gate[2 * units + i] = slope * seen * show * (one - show)
            of_gate[3 * units + i] = of * write * (one - new * new)
        if first < 0:
            continue
        for i in range(units):
            keep, of = gate[units + i], of_cell[n, i]
            of_gate[units + i] = of * cell[first, i] * keep * (one - keep)
            of_cell[first, i] += of * keep
        for j in range(units):
            row, total = state[j], np.float32(0)
            for i in range(len(row)):
                total += row[i] * of_gate[i]
            of_out[first, j] += total


@cache
def _loops() -> tuple[Any, ...]:
    """`_find`, `_read` and `_unread`, compiled."""
    table = "float32[:, ::1]"
    return compiled_loops(
        {
            _find: "int64(int32[:, :, :], int32[::1], int32[:, ::1], int64[::1], int64[::1])",
            _read: f"(int64[::1], {', '.join(5 * [table])})",
            _unread: f"(int64[::1], {', '.join(7 * [table])})",
        },
        any_order=True,
    )


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
