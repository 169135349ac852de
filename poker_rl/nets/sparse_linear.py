"""Linear layer for sparse inputs on a CPU, as a sum of the weight rows of nonzero inputs.

An observation of heads-up hold'em has about 20 ones among 288 numbers, and one of six-player
hold'em about 40 nonzeros among 489. The sums equal the dense product up to rounding, the gradient
is nonzero only in these rows, and the time on one thread is a quarter of the dense layer's.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from poker_rl.nets.kernel_compilation import compile_kernels

MIN_INPUTS = 128  # with fewer inputs the dense product is faster
MAX_DENSITY = 0.2  # with a larger share of nonzeros the dense product is faster

NONZEROS_TYPES = "int32[::1], float32[::1], int64[:, ::1]"  # fields of `Nonzeros`
FLOATS_3D_TYPE = "float32[:, :, ::1]"


class Nonzeros(NamedTuple):
    """Nonzero entries of the inputs of K replicas with B rows each, row after row."""

    columns: np.ndarray  # column of each entry, int32; the rest of the array is unused
    values: np.ndarray  # value of each entry, float32; the rest of the array is unused
    row_ends: np.ndarray  # number of entries up to the end of each row, [K, B] int64


def find_nonzeros_if_sparse(x: Tensor, weight: Tensor) -> Nonzeros | None:
    """Return the nonzeros of inputs [K, B, in] for a layer with weights [K, in, out].

    Return None where the dense product is faster or the only choice: for few or dense inputs, on a
    GPU, if the inputs need a gradient, and for other types than float32 or integer inputs and
    float32 weights.
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
    nonzero_count = _compile_kernels()[0](rows, *nonzeros)
    return nonzeros if nonzero_count <= MAX_DENSITY * rows.size else None


class SparseLinearFunction(torch.autograd.Function):
    """x @ weight + bias, [K, B, out], for x [K, B, in] given by its `Nonzeros`.

    Called as `apply(nonzeros, weight, bias)` with weight [K, in, out] and bias [K, 1, out].
    """

    @staticmethod
    def forward(ctx: Any, nonzeros: Nonzeros, weight: Tensor, bias: Tensor) -> Tensor:
        """Return the outputs, [K, B, out]."""
        out = weight.new_empty(*nonzeros.row_ends.shape, weight.shape[2])
        _, run_forward, _ = _compile_kernels()
        run_forward(*nonzeros, weight.contiguous().numpy(), bias.contiguous().numpy(), out.numpy())
        ctx.nonzeros, ctx.inputs = nonzeros, weight.shape[1]
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[None, Tensor, Tensor]:
        """Return the gradients of the weights and the bias."""
        weight = grad.new_zeros(len(grad), ctx.inputs, grad.shape[2])
        _, _, run_backward = _compile_kernels()
        run_backward(*ctx.nonzeros, grad.contiguous().numpy(), weight.numpy())
        return None, weight, grad.sum(1, keepdim=True)


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


def _run_forward(columns, values, row_ends, weight, bias, out):
    """Write into each row of `out` the bias plus the nonzero inputs times their rows of weights."""
    position = 0
    for k in range(len(row_ends)):
        weight_rows, bias_row = weight[k], bias[k, 0]
        for b in range(row_ends.shape[1]):
            row, end = out[k, b], row_ends[k, b]
            for j in range(len(row)):
                row[j] = bias_row[j]
            while position + 4 <= end:  # four nonzeros at a time, to read and write `row` less
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


def _run_backward(columns, values, row_ends, grad, weight):
    """Add the nonzero inputs times the output gradients `grad` to the weight gradients `weight`."""
    position = 0
    for k in range(len(row_ends)):
        weight_rows = weight[k]
        for b in range(row_ends.shape[1]):
            row, end = grad[k, b], row_ends[k, b]
            while position < end:
                one = weight_rows[np.uint64(columns[position])]
                p = values[position]
                for j in range(len(row)):
                    one[j] += p * row[j]
                position += 1


@cache
def _compile_kernels() -> tuple[Any, ...]:
    find_signature = f"({{}}[:, :, :], {NONZEROS_TYPES})"  # arrays of any memory layout
    return compile_kernels(
        {
            _fill_nonzeros: [find_signature.format("uint8"), find_signature.format("float32")],
            _run_forward: f"({NONZEROS_TYPES}, {FLOATS_3D_TYPE}, {FLOATS_3D_TYPE},"
            f" {FLOATS_3D_TYPE})",
            _run_backward: f"({NONZEROS_TYPES}, {FLOATS_3D_TYPE}, {FLOATS_3D_TYPE})",
        }
    )
