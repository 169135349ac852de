"""The first layer of a network that sees bits, as sums of rows of its weights.

An observation of hold'em has about 20 ones among 288 numbers. Adding up the 20 rows of weights that
stand at its ones is the same function as the product with all of them, but for rounding, and its
gradient goes to these rows alone: a quarter of the time on a CPU, on one thread.
"""

# numba gives the compiled functions their types.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from poker_rl.nets.loops import compiled_loops

WIDE = 128  # inputs from which on sums of rows are faster than products

PLACES = "int32[::1], int64[:, ::1]"  # columns and ends, see `_find`
NUMBERS = "float32[:, :, ::1]"


def summable(x: Tensor, weight: Tensor) -> bool:
    """Whether a layer of these weights, [K, in, out], is shown bits and better sums up rows.

    On other devices, in other precisions and of few inputs a product is faster.
    """
    bits = x.dtype in (torch.uint8, torch.bool) and x.device.type == "cpu"
    return bits and weight.dtype == torch.float32 and weight.shape[1] >= WIDE


class SumOfRows(torch.autograd.Function):
    """x @ weight + bias for x [K, B, in] of zeros and ones, uint8 or bool -> [K, B, out].

    Called as `SumOfRows.apply(x, weight, bias)` with weight [K, in, out] and bias [K, 1, out].
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        """The sums; the places of the ones are kept for `backward`."""
        bits = x.contiguous().view(torch.uint8).numpy()
        columns = np.empty(bits.size + 1, np.int32)
        ends = np.empty(bits.shape[:2], np.int64)
        find, add, _ = _loops()
        find(bits, columns, ends)
        out = weight.new_empty(*bits.shape[:2], weight.shape[2])
        add(columns, ends, weight.contiguous().numpy(), bias.contiguous().numpy(), out.numpy())
        ctx.places, ctx.inputs = (columns, ends), weight.shape[1]
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[None, Tensor, Tensor]:
        """Gradients of the weights and the bias."""
        weight = grad.new_zeros(len(grad), ctx.inputs, grad.shape[2])
        _, _, scatter = _loops()
        scatter(*ctx.places, grad.contiguous().numpy(), weight.numpy())
        return None, weight, grad.sum(1, keepdim=True)


def _find(bits, columns, ends):
    """Write in which columns the ones of each row stand, row after row, and where each row ends.

    There has to be room for one column more than there are numbers.
    """
    at = 0
    for k in range(bits.shape[0]):
        for b in range(bits.shape[1]):
            row = bits[k, b]
            for i in range(len(row)):
                columns[np.uint64(at)] = i
                at += row[i]  # without branches, which would be mispredicted
            ends[k, b] = at


def _add(columns, ends, weight, bias, out):
    """Write the bias and, added to it, the rows of weights at the ones of each row."""
    at = 0
    for k in range(len(ends)):
        rows, first = weight[k], bias[k, 0]
        for b in range(ends.shape[1]):
            row, end = out[k, b], ends[k, b]
            for j in range(len(row)):
                row[j] = first[j]
            while at + 4 <= end:  # four at a time: `row` is read and written less often
                one = rows[np.uint64(columns[at])]
                two = rows[np.uint64(columns[at + 1])]
                three = rows[np.uint64(columns[at + 2])]
                four = rows[np.uint64(columns[at + 3])]
                for j in range(len(row)):
                    row[j] += (one[j] + two[j]) + (three[j] + four[j])
                at += 4
            while at < end:
                one = rows[np.uint64(columns[at])]
                for j in range(len(row)):
                    row[j] += one[j]
                at += 1


def _scatter(columns, ends, grad, weight):
    """Add each row's gradient to those of the weights at its ones."""
    at = 0
    for k in range(len(ends)):
        rows = weight[k]
        for b in range(ends.shape[1]):
            row, end = grad[k, b], ends[k, b]
            while at < end:
                one = rows[np.uint64(columns[at])]
                for j in range(len(row)):
                    one[j] += row[j]
                at += 1


@cache
def _loops() -> tuple[Any, ...]:
    """`_find`, `_add` and `_scatter`, compiled."""
    return compiled_loops(
        {
            _find: f"(uint8[:, :, ::1], {PLACES})",
            _add: f"({PLACES}, {NUMBERS}, {NUMBERS}, {NUMBERS})",
            _scatter: f"({PLACES}, {NUMBERS}, {NUMBERS})",
        }
    )
