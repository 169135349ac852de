"""The cells of an LSTM, gone through by a compiled loop on a CPU.

A batch of sequences is a tree: each distinct beginning goes on one that is a step shorter. The loop
reads beginning after beginning, four of a length at a time.
"""

# numba gives the compiled functions their types.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
import torch
from numba.extending import register_jitable
from torch import Tensor
from torch.autograd.function import once_differentiable

from poker_rl.nets.loops import compiled_loops

VECTORS: Any = register_jitable(fastmath={"reassoc", "contract"})  # makes it part of a loop


class Beginnings(NamedTuple):
    """The N distinct beginnings of a batch of sequences, those of one step first, then of two."""

    step: Tensor  # the last step of each, [N, F]
    before: np.ndarray  # which one it goes on, [N]; -1: it has one step
    ends: np.ndarray  # how many there are of so many steps or fewer, [longest]
    whole: Tensor  # of each sequence: which one is all of it, [B]


def beginnings(x: Tensor) -> Beginnings:
    """Every distinct beginning of sequences [B, L, F] float32 on the CPU, one step at least.

    A sequence ends after its last step that is not all zeros.
    """
    rows, size, width = x.shape
    bits = x.detach().view(torch.int32).numpy()
    step = np.empty((rows * size, width), np.int32)
    before = np.empty(rows * size, np.int64)
    ends, whole = np.empty(size, np.int64), np.empty(rows, np.int64)
    table = np.full(1 << (2 * rows * size).bit_length(), -1, np.int32)
    find, _, _ = _loops()
    longest = find(bits, table, step, before, ends, whole)
    ends = ends[:longest]
    steps = torch.from_numpy(step[: ends[-1]].view(np.float32))
    return Beginnings(steps, before, ends, torch.from_numpy(whole))


class Cells(torch.autograd.Function):
    """The states after each beginning, [N, units].

    Called as `Cells.apply(step, before, ends, input, state, bias)`: three of the parts of
    `Beginnings`, and the weights of a step, [F, 4 * units], and of the state, [units, 4 * units],
    in the gates, whose bias is [4 * units]; float32 on the CPU.
    """

    @staticmethod
    def forward(
        ctx: Any,
        step: Tensor,
        before: np.ndarray,
        ends: np.ndarray,
        input: Tensor,
        state: Tensor,
        bias: Tensor,
    ) -> Tensor:
        """See above."""
        gates, state = torch.addmm(bias, step, input), state.contiguous()
        out, cell, shown = (gates.new_empty(len(gates), len(state)) for _ in range(3))
        _, read, _ = _loops()
        read(before, ends, *(one.numpy() for one in (state, gates, cell, shown, out)))
        ctx.save_for_backward(step, state, gates, cell, shown, out)
        ctx.places = before, ends
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[None, None, None, Tensor, Tensor, Tensor]:
        """Gradients of the weights and the bias."""
        step, state, gates, cell, shown, out = ctx.saved_tensors
        of_gates, of_out, of_cell = torch.empty_like(gates), grad.clone(), torch.zeros_like(cell)
        before, ends = ctx.places
        _, _, unread = _loops()
        kept = (state, gates, cell, shown, of_out, of_cell, of_gates)
        unread(before, ends, *(one.numpy() for one in kept))
        known = out.index_select(0, torch.from_numpy(before[ends[0] : ends[-1]]))
        of_state = known.t() @ of_gates[ends[0] :]
        return None, None, None, step.t() @ of_gates, of_state, of_gates.sum(0)


def _find(bits, table, step, before, ends, whole):
    """Write the distinct beginnings, see `Beginnings`; return how many steps the longest has.

    `table` finds them by a hash of their last step and of what they go on; its size is a power of
    two, and -1 stands where there is none.
    """
    rows, size, width = bits.shape
    lengths = np.ones(rows, np.int64)
    for b in range(rows):
        for place in range(size):
            if np.any(bits[b, place]):
                lengths[b] = place + 1
        whole[b] = -1
    longest, count, last = lengths.max(), 0, np.uint64(len(table) - 1)
    for place in range(longest):
        for b in range(rows):
            if place >= lengths[b]:
                continue
            node, found = whole[b], -1
            told = np.uint64(node + 2)
            for f in range(width):
                told = (told ^ np.uint64(bits[b, place, f])) * np.uint64(0x9E3779B97F4A7C15)
                told ^= told >> np.uint64(29)
            at = told & last
            while found < 0 and table[at] >= 0:
                other = table[at]
                same = before[other] == node
                for f in range(width):
                    same &= step[other, f] == bits[b, place, f]
                if same:
                    found = other
                at = (at + np.uint64(1)) & last
            if found < 0:
                found = count
                table[at] = found
                before[found] = node
                for f in range(width):
                    step[found, f] = bits[b, place, f]
                count += 1
            whole[b] = found
        ends[place] = count
    return longest


@VECTORS
def _tanh(x):
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


@VECTORS
def _add_rows(weights, rows, first, out):
    """Add to `out` the rows from `first` on, each times its weight."""
    for j in range(first, len(rows)):
        row, weight = rows[j], weights[j]
        for i in range(len(out)):
            out[i] += weight * row[i]


@VECTORS
def _add_states(before, start, end, state, out, gates):
    """Add to the gates what the states before give: four by four, which is twice as fast."""
    even = len(state) - len(state) % 4
    for n in range(start, end - 3, 4):
        a, b = out[before[n]], out[before[n + 1]]
        c, d = out[before[n + 2]], out[before[n + 3]]
        to_a, to_b, to_c, to_d = gates[n], gates[n + 1], gates[n + 2], gates[n + 3]
        for j in range(0, even, 4):
            one, two, three, four = state[j], state[j + 1], state[j + 2], state[j + 3]
            a1, a2, a3, a4 = a[j], a[j + 1], a[j + 2], a[j + 3]
            b1, b2, b3, b4 = b[j], b[j + 1], b[j + 2], b[j + 3]
            c1, c2, c3, c4 = c[j], c[j + 1], c[j + 2], c[j + 3]
            d1, d2, d3, d4 = d[j], d[j + 1], d[j + 2], d[j + 3]
            for i in range(len(one)):
                w1, w2, w3, w4 = one[i], two[i], three[i], four[i]
                to_a[i] += a1 * w1 + a2 * w2 + a3 * w3 + a4 * w4
                to_b[i] += b1 * w1 + b2 * w2 + b3 * w3 + b4 * w4
                to_c[i] += c1 * w1 + c2 * w2 + c3 * w3 + c4 * w4
                to_d[i] += d1 * w1 + d2 * w2 + d3 * w3 + d4 * w4
        _add_rows(a, state, even, to_a)
        _add_rows(b, state, even, to_b)
        _add_rows(c, state, even, to_c)
        _add_rows(d, state, even, to_d)
    for n in range(end - (end - start) % 4, end):
        _add_rows(out[before[n]], state, 0, gates[n])


def _read(before, ends, state, gates, cell, shown, out):
    """Write the cell, what of it may be shown and the state of each beginning.

    `gates` become those that the cell goes through: input, forget, output, new content.
    """
    units, half, start = len(state), np.float32(0.5), 0
    for end in ends:
        if start > 0:
            _add_states(before, start, end, state, out, gates)
        for n in range(start, end):
            gate = gates[n]
            for i in range(3 * units):
                gate[i] = half + half * _tanh(half * gate[i])
            for i in range(3 * units, 4 * units):
                gate[i] = _tanh(gate[i])
            for i in range(units):
                cell[n, i] = gate[i] * gate[3 * units + i]
            if start > 0:
                first = cell[before[n]]
                for i in range(units):
                    cell[n, i] += gate[units + i] * first[i]
            for i in range(units):
                shown[n, i] = _tanh(cell[n, i])
                out[n, i] = gate[2 * units + i] * shown[n, i]
        start = end


@VECTORS
def _add_products(before, start, end, state, of_gates, of_out):
    """Add to the gradients of the states before what those of the gates give, four at a time."""
    for n in range(start, end - 3, 4):
        a, b, c, d = of_gates[n], of_gates[n + 1], of_gates[n + 2], of_gates[n + 3]
        for j in range(len(state)):
            row = state[j]
            in_a = in_b = in_c = in_d = np.float32(0)
            for i in range(len(row)):
                in_a += row[i] * a[i]
                in_b += row[i] * b[i]
                in_c += row[i] * c[i]
                in_d += row[i] * d[i]
            of_out[before[n], j] += in_a
            of_out[before[n + 1], j] += in_b
            of_out[before[n + 2], j] += in_c
            of_out[before[n + 3], j] += in_d
    for n in range(end - (end - start) % 4, end):
        for j in range(len(state)):
            row, total = state[j], np.float32(0)
            for i in range(len(row)):
                total += row[i] * of_gates[n, i]
            of_out[before[n], j] += total


def _unread(before, ends, state, gates, cell, shown, of_out, of_cell, of_gates):
    """Write the gradients of what went into the gates, the longest beginnings first.

    Those of the states and the cells are added to on the way.
    """
    units, one = len(state), np.float32(1)
    for step in range(len(ends) - 1, -1, -1):
        start, end = ends[step - 1] if step > 0 else 0, ends[step]
        for n in range(start, end):
            gate, of_gate = gates[n], of_gates[n]
            for i in range(units):
                write, show, new = gate[i], gate[2 * units + i], gate[3 * units + i]
                seen, slope = shown[n, i], of_out[n, i]
                of = of_cell[n, i] + slope * show * (one - seen * seen)
                of_cell[n, i] = of
                of_gate[i] = of * new * write * (one - write)
                of_gate[units + i] = np.float32(0)
                of_gate[2 * units + i] = slope * seen * show * (one - show)
                of_gate[3 * units + i] = of * write * (one - new * new)
            if step > 0:
                first, of_first = cell[before[n]], of_cell[before[n]]
                for i in range(units):
                    keep, of = gate[units + i], of_cell[n, i]
                    of_gate[units + i] = of * first[i] * keep * (one - keep)
                    of_first[i] += of * keep
        if step > 0:
            _add_products(before, start, end, state, of_gates, of_out)


@cache
def _loops() -> tuple[Any, ...]:
    """`_find`, `_read` and `_unread`, compiled."""
    table, places = "float32[:, ::1]", "int64[::1]"
    return compiled_loops(
        {
            _find: f"int64(int32[:, :, :], int32[::1], int32[:, ::1], {', '.join(3 * [places])})",
            _read: f"({places}, {places}, {', '.join(5 * [table])})",
            _unread: f"({places}, {places}, {', '.join(7 * [table])})",
        },
        any_order=True,
    )
