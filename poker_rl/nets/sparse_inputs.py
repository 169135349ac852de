"""Linear layer on a CPU that skips inputs of 0.

An observation of heads-up hold'em has about 20 ones among 288 numbers: adding up their 20 rows of
the first layer's weights takes a quarter of the time of the full matrix product. Outputs and
gradients equal those of the full product up to rounding.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from poker_rl.games.game import simd_jit

MIN_INPUTS = 128  # with fewer inputs the dense product is faster
MAX_DENSITY = 0.2  # with a larger share of nonzeros the dense product is faster


class Nonzeros(NamedTuple):
    """Nonzeros of inputs [K, B, in], row by row; the ends of `columns` and `values` are unused."""

    columns: np.ndarray  # column of each entry, int32
    values: np.ndarray  # value of each entry, float32
    row_ends: np.ndarray  # number of entries up to the end of each row, [K, B] int64


def find_nonzeros_if_sparse(x: Tensor, weight: Tensor) -> Nonzeros | None:
    """Return the nonzeros of inputs x [K, B, in] for a layer with weights [K, in, out].

    Return None if the dense product is faster or the sparse one does not support the arguments.
    """
    if x.device.type != "cpu" or weight.dtype != torch.float32 or weight.shape[1] < MIN_INPUTS:
        return None
    is_integer = x.dtype in (torch.uint8, torch.bool)
    if not is_integer and (x.dtype != torch.float32 or x.requires_grad):
        return None
    rows = x.view(torch.uint8 if is_integer else torch.float32).numpy()
    nonzeros = Nonzeros(
        np.empty(rows.size + 1, np.int32),
        np.empty(rows.size + 1, np.float32),
        np.empty(rows.shape[:2], np.int64),
    )
    nonzero_count = _fill_nonzeros(rows, *nonzeros)
    return nonzeros if nonzero_count <= MAX_DENSITY * rows.size else None


class SparseLinearFunction(torch.autograd.Function):
    """Product x @ weight + bias, [K, B, out], from the `Nonzeros` of x and weight [K, in, out]."""

    @staticmethod
    def forward(ctx: Any, nonzeros: Nonzeros, weight: Tensor, bias: Tensor) -> Tensor:
        out = weight.new_empty(*nonzeros.row_ends.shape, weight.shape[2])
        weight, bias = weight.contiguous(), bias.contiguous()
        _sum_weight_rows(*nonzeros, weight.numpy(), bias.numpy(), out.numpy())
        ctx.nonzeros, ctx.inputs = nonzeros, weight.shape[1]
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[None, Tensor, Tensor]:
        grad_weight = grad.new_zeros(len(grad), ctx.inputs, grad.shape[2])
        _add_weight_gradients(*ctx.nonzeros, grad.contiguous().numpy(), grad_weight.numpy())
        return None, grad_weight, grad.sum(1, keepdim=True)


@simd_jit(reorder_sums=False)
def _fill_nonzeros(x, columns, values, row_ends):
    """Write the nonzeros of x [K, B, in] into the other arrays and return their number."""
    position = 0
    for k in range(x.shape[0]):
        for b in range(x.shape[1]):
            row = x[k, b]
            for i in range(len(row)):
                columns[np.uint64(position)] = i
                values[np.uint64(position)] = row[i]
                position += row[i] != 0  # faster than a branch, which is often mispredicted
            row_ends[k, b] = position
    return position


@simd_jit(reorder_sums=False)
def _sum_weight_rows(columns, values, row_ends, weight, bias, out):
    """Write into `out` the bias plus the sum of the weight rows, each times its nonzero input."""
    position = 0
    for k in range(len(row_ends)):
        weight_rows, bias_row = weight[k], bias[k, 0]
        for b in range(row_ends.shape[1]):
            row, end = out[k, b], row_ends[k, b]
            for j in range(len(row)):
                row[j] = bias_row[j]
            while position + 4 <= end:  # four nonzeros at a time, to access `row` less often
                one = weight_rows[np.uint64(columns[position])]
                two = weight_rows[np.uint64(columns[position + 1])]
                three = weight_rows[np.uint64(columns[position + 2])]
                four = weight_rows[np.uint64(columns[position + 3])]
                p, q = values[position], values[position + 1]
                r, s = values[position + 2], values[position + 3]
                for j in range(len(row)):
                    row[j] += (p * one[j] + q * two[j]) + (r * three[j] + s * four[j])
                position += 4
            while position < end:
                one = weight_rows[np.uint64(columns[position])]
                p = values[position]
                for j in range(len(row)):
                    row[j] += p * one[j]
                position += 1


@simd_jit(reorder_sums=False)
def _add_weight_gradients(columns, values, row_ends, grad_out, grad_weight):
    """Add the nonzero inputs times the output gradients `grad_out` to `grad_weight`."""
    position = 0
    for k in range(len(row_ends)):
        weight_rows = grad_weight[k]
        for b in range(row_ends.shape[1]):
            row, end = grad_out[k, b], row_ends[k, b]
            while position < end:
                one = weight_rows[np.uint64(columns[position])]
                p = values[position]
                for j in range(len(row)):
                    one[j] += p * row[j]
                position += 1
