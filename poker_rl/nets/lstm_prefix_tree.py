"""LSTM on a CPU that computes each distinct prefix of a batch of sequences only once.

The N distinct prefixes form a tree: the parent of a prefix is the prefix without its last step.
Compiled loops process the prefixes in the order of their lengths. A tree has the arrays `last_step`
[N, F], the F features of each prefix's last step; `parent` [N], the index of each prefix's parent,
-1 for prefixes of one step; and `level_ends`, the number of prefixes of up to 1, 2, ... steps.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numba.extending import register_jitable
from torch import Tensor
from torch.autograd.function import once_differentiable

from poker_rl.games.game import simd_jit

HASH_FACTOR = np.uint64(0x9E3779B97F4A7C15)

# Decorator of helpers that `simd_jit` functions call; the compiler may reorder sums.
vectorized_helper: Any = register_jitable(fastmath={"reassoc", "contract"})


def run_prefix_lstm(x: Tensor, weight_ih: Tensor, weight_hh: Tensor, bias: Tensor) -> Tensor:
    """Return the LSTM state after each of B sequences, [B, L, F] -> [B, units] float32.

    A sequence of x ends after its last step that is not all zeros; if all steps are zeros, it has
    one step. The columns of the weights are the three gates and the cell candidate. Their values in
    a step, before activation, are the step's features @ `weight_ih` [F, 4 * units] + the previous
    state @ `weight_hh` [units, 4 * units] + `bias` [4 * units].
    """
    rows, size, width = x.shape
    bits = x.detach().view(torch.int32).numpy()
    last_step = np.empty((rows * size, width), np.int32)
    parent = np.empty(rows * size, np.int64)
    level_ends, prefix_of_sequence = np.empty(size, np.int64), np.empty(rows, np.int64)
    hash_table = np.full(1 << (2 * rows * size).bit_length(), -1, np.int32)
    longest = _fill_prefix_tree(bits, hash_table, last_step, parent, level_ends, prefix_of_sequence)
    level_ends = level_ends[:longest]
    last_steps = torch.from_numpy(last_step[: level_ends[-1]].view(np.float32))
    tree, weights = (parent, level_ends), (weight_ih, weight_hh, bias)
    states: Tensor = PrefixLSTMFunction.apply(last_steps, tree, *weights)  # type: ignore[no-untyped-call]
    return states.index_select(0, torch.from_numpy(prefix_of_sequence))


class PrefixLSTMFunction(torch.autograd.Function):
    """LSTM state after each of the N prefixes of a tree, [N, units], with its gradient."""

    @staticmethod
    def forward(
        ctx: Any, last_step: Tensor, tree: Any, weight_ih: Tensor, weight_hh: Tensor, bias: Tensor
    ) -> Tensor:
        gates, weight_hh = torch.addmm(bias, last_step, weight_ih), weight_hh.contiguous()
        out, cell, tanh_cell = (gates.new_empty(len(gates), len(weight_hh)) for _ in range(3))
        buffers = (weight_hh, gates, cell, tanh_cell, out)
        _run_forward(*tree, *(tensor.numpy() for tensor in buffers))
        ctx.save_for_backward(last_step, weight_hh, gates, cell, tanh_cell, out)
        ctx.tree = tree
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[None, None, Tensor, Tensor, Tensor]:
        last_step, weight_hh, gates, cell, tanh_cell, out = ctx.saved_tensors
        grad_gates, grad_cell = torch.empty_like(gates), torch.zeros_like(cell)
        grad_out = grad.clone()
        parent, level_ends = ctx.tree
        buffers = (weight_hh, gates, cell, tanh_cell, grad_out, grad_cell, grad_gates)
        _run_backward(parent, level_ends, *(tensor.numpy() for tensor in buffers))
        parent_out = out.index_select(0, torch.from_numpy(parent[level_ends[0] : level_ends[-1]]))
        grad_weight_hh = parent_out.t() @ grad_gates[level_ends[0] :]
        return None, None, last_step.t() @ grad_gates, grad_weight_hh, grad_gates.sum(0)


@simd_jit(reorder_sums=True)
def _fill_prefix_tree(bits, hash_table, last_step, parent, level_ends, prefix_of_sequence):
    """Write the prefix tree and each sequence's index in it, [B]; return the greatest length.

    `bits` [B, L, F] are the float32 features of the sequences, viewed as integers. `hash_table` is
    scratch memory that maps a last step and a parent to the index of a prefix. The number of its
    entries must be a power of two, and all of them must be -1.
    """
    rows, size, width = bits.shape
    lengths = np.ones(rows, np.int64)
    for b in range(rows):
        for position in range(size):
            if np.any(bits[b, position]):
                lengths[b] = position + 1
        prefix_of_sequence[b] = -1
    longest, count, slot_mask = lengths.max(), 0, np.uint64(len(hash_table) - 1)
    for position in range(longest):
        for b in range(rows):
            if position >= lengths[b]:
                continue
            node, found = prefix_of_sequence[b], -1
            hash_bits = np.uint64(node + 2)
            for f in range(width):
                hash_bits = (hash_bits ^ np.uint64(bits[b, position, f])) * HASH_FACTOR
                hash_bits ^= hash_bits >> np.uint64(29)
            slot = hash_bits & slot_mask
            while found < 0 and hash_table[slot] >= 0:
                other = hash_table[slot]
                is_equal = parent[other] == node
                for f in range(width):
                    is_equal &= last_step[other, f] == bits[b, position, f]
                if is_equal:
                    found = other
                slot = (slot + np.uint64(1)) & slot_mask
            if found < 0:
                found = count
                hash_table[slot] = found
                parent[found] = node
                for f in range(width):
                    last_step[found, f] = bits[b, position, f]
                count += 1
            prefix_of_sequence[b] = found
        level_ends[position] = count
    return longest


@vectorized_helper
def _fast_tanh(x):
    """Return tanh of a float32, with an error up to 3e-7, by a quotient of polynomials.

    Unlike a library's tanh it can be vectorized. The coefficients are those of the library Eigen.
    """
    x = min(max(x, np.float32(-7.9053111)), np.float32(7.9053111))
    y = x * x
    numerator = np.float32(-2.76076847742355e-16) * y + np.float32(2.00018790482477e-13)
    numerator = numerator * y + np.float32(-8.60467152213735e-11)
    numerator = numerator * y + np.float32(5.12229709037114e-08)
    numerator = numerator * y + np.float32(1.48572235717979e-05)
    numerator = numerator * y + np.float32(6.37261928875436e-04)
    numerator = numerator * y + np.float32(4.89352455891786e-03)
    denominator = np.float32(1.19825839466702e-06) * y + np.float32(1.18534705686654e-04)
    denominator = denominator * y + np.float32(2.26843463243900e-03)
    denominator = denominator * y + np.float32(4.89352518554385e-03)
    return x * numerator / denominator


@vectorized_helper
def _add_weighted_sum_of_rows(weights, rows, first, out):
    """Add `weights[j]` times `rows[j]` to `out` for every j from `first` on."""
    for j in range(first, len(rows)):
        row, weight = rows[j], weights[j]
        for i in range(len(out)):
            out[i] += weight * row[i]


@vectorized_helper
def _add_state_products(parent, start, end, weight_hh, out, gates):
    """Add parents' states @ `weight_hh` to the `gates` of prefixes `start` to `end` - 1."""
    unrolled_end = len(weight_hh) - len(weight_hh) % 4
    for n in range(start, end - 3, 4):
        a, b = out[parent[n]], out[parent[n + 1]]
        c, d = out[parent[n + 2]], out[parent[n + 3]]
        to_a, to_b, to_c, to_d = gates[n], gates[n + 1], gates[n + 2], gates[n + 3]
        for j in range(0, unrolled_end, 4):
            one, two = weight_hh[j], weight_hh[j + 1]
            three, four = weight_hh[j + 2], weight_hh[j + 3]
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
        for m in range(n, n + 4):
            _add_weighted_sum_of_rows(out[parent[m]], weight_hh, unrolled_end, gates[m])
    for n in range(end - (end - start) % 4, end):
        _add_weighted_sum_of_rows(out[parent[n]], weight_hh, 0, gates[n])


@simd_jit(reorder_sums=True)
def _run_forward(parent, level_ends, weight_hh, gates, cell, tanh_cell, out):
    """Write cell, tanh(cell) and state (`out`) of each of the N prefixes, [N, units] each.

    `gates` [N, 4 * units] are input, forget and output gate and cell candidate. At first they hold
    the last step's features @ weights + bias; they are overwritten by the activations.
    """
    units, half, start = len(weight_hh), np.float32(0.5), 0
    for end in level_ends:
        if start > 0:
            _add_state_products(parent, start, end, weight_hh, out, gates)
        for n in range(start, end):
            gate = gates[n]
            for i in range(3 * units):
                gate[i] = half + half * _fast_tanh(half * gate[i])
            for i in range(3 * units, 4 * units):
                gate[i] = _fast_tanh(gate[i])
            for i in range(units):
                cell[n, i] = gate[i] * gate[3 * units + i]
            if start > 0:
                parent_cell = cell[parent[n]]
                for i in range(units):
                    cell[n, i] += gate[units + i] * parent_cell[i]
            for i in range(units):
                tanh_cell[n, i] = _fast_tanh(cell[n, i])
                out[n, i] = gate[2 * units + i] * tanh_cell[n, i]
        start = end


@vectorized_helper
def _add_state_gradients(parent, start, end, weight_hh, grad_gates, grad_out):
    """Add grad_gates @ weight_hh.T of prefixes `start` to `end` - 1 to parents' `grad_out`."""
    for n in range(start, end - 3, 4):
        a, b, c, d = grad_gates[n], grad_gates[n + 1], grad_gates[n + 2], grad_gates[n + 3]
        for j in range(len(weight_hh)):
            row = weight_hh[j]
            in_a = in_b = in_c = in_d = np.float32(0)
            for i in range(len(row)):
                in_a += row[i] * a[i]
                in_b += row[i] * b[i]
                in_c += row[i] * c[i]
                in_d += row[i] * d[i]
            grad_out[parent[n], j] += in_a
            grad_out[parent[n + 1], j] += in_b
            grad_out[parent[n + 2], j] += in_c
            grad_out[parent[n + 3], j] += in_d
    for n in range(end - (end - start) % 4, end):
        for j in range(len(weight_hh)):
            row, total = weight_hh[j], np.float32(0)
            for i in range(len(row)):
                total += row[i] * grad_gates[n, i]
            grad_out[parent[n], j] += total


@simd_jit(reorder_sums=True)
def _run_backward(
    parent, level_ends, weight_hh, gates, cell, tanh_cell, grad_out, grad_cell, grad_gates
):
    """Write the gradients `grad_gates` of the gates before activation, [N, 4 * units].

    From the longest to the shortest, each prefix adds to the `grad_out` and `grad_cell` of its
    parent.
    """
    units, one = len(weight_hh), np.float32(1)
    for step in range(len(level_ends) - 1, -1, -1):
        start, end = level_ends[step - 1] if step > 0 else 0, level_ends[step]
        for n in range(start, end):
            gate, grad_gate = gates[n], grad_gates[n]
            for i in range(units):
                input_gate, output_gate = gate[i], gate[2 * units + i]
                new_content = gate[3 * units + i]
                tanh_value, out_gradient = tanh_cell[n, i], grad_out[n, i]
                cell_gradient = grad_cell[n, i] + out_gradient * output_gate * (
                    one - tanh_value * tanh_value
                )
                grad_cell[n, i] = cell_gradient
                grad_gate[i] = cell_gradient * new_content * input_gate * (one - input_gate)
                grad_gate[units + i] = np.float32(0)
                grad_gate[2 * units + i] = (
                    out_gradient * tanh_value * output_gate * (one - output_gate)
                )
                grad_gate[3 * units + i] = (
                    cell_gradient * input_gate * (one - new_content * new_content)
                )
            if step > 0:
                parent_cell, grad_parent_cell = cell[parent[n]], grad_cell[parent[n]]
                for i in range(units):
                    forget_gate, cell_gradient = gate[units + i], grad_cell[n, i]
                    grad_gate[units + i] = (
                        cell_gradient * parent_cell[i] * forget_gate * (one - forget_gate)
                    )
                    grad_parent_cell[i] += cell_gradient * forget_gate
        if step > 0:
            _add_state_gradients(parent, start, end, weight_hh, grad_gates, grad_out)
