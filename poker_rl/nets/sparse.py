"""The first layer of a network whose inputs are mostly zeros, as sums of rows of its weights.

An observation of hold'em has about 20 ones among 288 numbers, what a table of six shows has some 40
numbers that are not 0 among 489. Adding up the rows of weights that stand there, each times its
number, is the same function as the product with all of them, but for rounding, and its gradient
goes to these rows alone: a quarter of the time on a CPU, on one thread.
"""

# numba gives the compiled functions their types.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from poker_rl.nets.loops import compiled_loops

WIDE = 128  # inputs from which on sums of rows are faster than products
SPARSE = 0.2  # the largest share of numbers that are not 0 of which they are

PLACES = "int32[::1], float32[::1], int64[:, ::1]"  # see `Places`
NUMBERS = "float32[:, :, ::1]"


class Places(NamedTuple):
    """Where the numbers of K x B rows stand that are not 0, row after row."""

    columns: np.ndarray  # of each of them, int32; there is room for more
    numbers: np.ndarray  # themselves, float32
    ends: np.ndarray  # how many there are up to the end of each row, [K, B] int64


def places(x: Tensor, weight: Tensor) -> Places | None:
    """The places of inputs [K, B, in], if a layer of weights [K, in, out] better sums up rows.

    None if a product is faster: on other devices, in other precisions, of few inputs, or of inputs
    that are not mostly zeros.
    """
    if x.device.type != "cpu" or weight.dtype != torch.float32 or weight.shape[1] < WIDE:
        return None
    whole = x.dtype in (torch.uint8, torch.bool)
    if not whole and (x.dtype != torch.float32 or x.requires_grad):
        return None
    rows = x.view(torch.uint8 if whole else torch.float32).numpy()
    found = Places(
        np.empty(rows.size + 1, np.int32),
        np.empty(rows.size + 1, np.float32),
        np.empty(rows.shape[:2], np.int64),
    )
    number = _loops()[0](rows, *found)
    return found if number <= SPARSE * rows.size else None


class SumOfRows(torch.autograd.Function):
    """x @ weight + bias -> [K, B, out], for x [K, B, in] of which the `Places` are known.

    Called as `SumOfRows.apply(places, weight, bias)` with weight [K, in, out] and bias [K, 1, out].
    """

    @staticmethod
    def forward(ctx: Any, places: Places, weight: Tensor, bias: Tensor) -> Tensor:
        """The sums."""
        out = weight.new_empty(*places.ends.shape, weight.shape[2])
        _, add, _ = _loops()
        add(*places, weight.contiguous().numpy(), bias.contiguous().numpy(), out.numpy())
        ctx.places, ctx.inputs = places, weight.shape[1]
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[None, Tensor, Tensor]:
        """Gradients of the weights and the bias."""
        weight = grad.new_zeros(len(grad), ctx.inputs, grad.shape[2])
        _, _, scatter = _loops()
        scatter(*ctx.places, grad.contiguous().numpy(), weight.numpy())
        return None, weight, grad.sum(1, keepdim=True)


def _find(x, columns, numbers, ends):
    """Write the places of the numbers that are not 0; return how many there are.

    There has to be room for one more than there are numbers.
    """
    at = 0
    for k in range(x.shape[0]):
        for b in range(x.shape[1]):
            row = x[k, b]
            for i in range(len(row)):
                columns[np.uint64(at)] = i
                numbers[np.uint64(at)] = row[i]
                at += row[i] != 0  # without branches, which would be mispredicted
            ends[k, b] = at
    return at


def _add(columns, numbers, ends, weight, bias, out):
    """Write the bias and, added to it, each row's numbers times the rows of weights there."""
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
                p, q, r, s = numbers[at], numbers[at + 1], numbers[at + 2], numbers[at + 3]
                for j in range(len(row)):
                    row[j] += (p * one[j] + q * two[j]) + (r * three[j] + s * four[j])
                at += 4
            while at < end:
                one = rows[np.uint64(columns[at])]
                p = numbers[at]
                for j in range(len(row)):
                    row[j] += p * one[j]
                at += 1


def _scatter(columns, numbers, ends, grad, weight):
    """Add each row's gradient, times its numbers, to those of the weights there."""
    at = 0
    for k in range(len(ends)):
        rows = weight[k]
        for b in range(ends.shape[1]):
            row, end = grad[k, b], ends[k, b]
            while at < end:
                one = rows[np.uint64(columns[at])]
                p = numbers[at]
                for j in range(len(row)):
                    one[j] += p * row[j]
                at += 1


@cache
def _loops() -> tuple[Any, ...]:
    """`_find`, `_add` and `_scatter`, compiled."""
    found = f"({{}}[:, :, :], {PLACES})"  # of slices too
    return compiled_loops(
        {
            _find: [found.format("uint8"), found.format("float32")],
            _add: f"({PLACES}, {NUMBERS}, {NUMBERS}, {NUMBERS})",
            _scatter: f"({PLACES}, {NUMBERS}, {NUMBERS})",
        }
    )
