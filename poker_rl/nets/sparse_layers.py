"""Linear layers on a CPU that skip inputs of 0, or the outputs of illegal actions.

An observation of heads-up hold'em has about 20 ones among 288 numbers: adding up their 20 rows of
the first layer's weights takes a quarter of the time of the full matrix product. Big 2 has 1,695
actions, of which about ten are legal at a time: their logits need only ten columns of the weights.
Outputs and gradients equal those of the full product up to rounding.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from poker_rl.games.game import vectorized_jit

MIN_INPUTS = 128  # with fewer inputs the dense product is faster
MAX_DENSITY = 0.2  # with a larger share of nonzeros the dense product is faster
MIN_ACTIONS = 64  # in games with fewer actions, the full output layer is always used
MIN_ACTIONS_PER_LEGAL = 8  # if more than 1/8 of the actions is legal, the full layer is faster


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


@vectorized_jit(reorder_sums=False)
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


@vectorized_jit(reorder_sums=False)
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


@vectorized_jit(reorder_sums=False)
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


@dataclass(frozen=True)
class LegalActions:
    """A list of the legal actions for each decision, padded to the length L of the longest list."""

    actions: Tensor  # legal actions of each decision, [..., L] int64, then 0 as padding
    counts: Tensor  # number of legal actions of each decision, [...] int64

    @property
    def position_mask(self) -> Tensor:
        """Mask that is True at positions with a legal action, False in the padding, [..., L]."""
        positions = torch.arange(self.actions.shape[-1], device=self.actions.device)
        return positions < self.counts[..., None]

    def gather(self, values: Tensor) -> Tensor:
        """Return the values of legal actions only, [..., A] -> [..., L]; arbitrary in padding."""
        return values.gather(-1, self.actions)

    def scatter(self, values: Tensor, action_count: int) -> Tensor:
        """Return values of all actions, [..., L] -> [..., A]; illegal actions get 0."""
        zeros = values.new_zeros(*values.shape[:-1], action_count)
        return zeros.scatter_add(-1, self.actions, values * self.position_mask)

    def to_position(self, action: Tensor) -> Tensor:
        """Return the position of each decision's legal `action` in its list of actions, [...]."""
        return (self.position_mask & (self.actions == action[..., None])).byte().argmax(-1)

    def to_action(self, position: np.ndarray) -> np.ndarray:
        """Return the action at `position` in each decision's list, [B] -> [B]."""
        action: np.ndarray = self.actions.cpu().numpy()[np.arange(len(position)), position]
        return action


def list_legal_actions_if_few(mask: np.ndarray, device: torch.device) -> LegalActions | None:
    """Return N lists of legal actions from masks [N, A]; None if computing all logits is faster."""
    if mask.shape[1] < MIN_ACTIONS or MIN_ACTIONS_PER_LEGAL * mask.sum() > mask.size:
        return None
    return list_legal_actions(mask, device)


def list_legal_actions(mask: np.ndarray, device: torch.device) -> LegalActions:
    """Return the legal actions, in ascending order, of N decisions with masks [N, A]."""
    counts = mask.sum(1)
    actions = np.zeros((len(mask), counts.max(initial=1)), np.int64)
    row, action = np.nonzero(mask)
    first = np.repeat(counts.cumsum() - counts, counts)
    actions[row, np.arange(len(row)) - first] = action
    return LegalActions(torch.from_numpy(actions).to(device), torch.from_numpy(counts).to(device))


def compute_legal_logits(x: Tensor, weight: Tensor, bias: Tensor, legal: LegalActions) -> Tensor:
    """Return x @ weight + bias at legal actions, [K, B, in] -> [K, B, L]; arbitrary in padding."""
    if x.device.type != "cpu" or x.dtype != torch.float32:
        return legal.gather(torch.baddbmm(bias, x, weight))
    return LegalLogitsFunction.apply(x, weight, bias, legal.actions, legal.counts)  # type: ignore[no-any-return,no-untyped-call]


class LegalLogitsFunction(torch.autograd.Function):
    """CPU version of `compute_legal_logits`; weight is [K, in, A], the output 0 in the padding."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, weight: Tensor, bias: Tensor, actions: Tensor, counts: Tensor
    ) -> Tensor:
        x, columns = x.contiguous(), weight.transpose(1, 2).contiguous()  # [K, A, in]
        ctx.legal_arrays = actions.contiguous().numpy(), counts.contiguous().numpy()
        out = x.new_zeros(actions.shape)
        arrays = (tensor.numpy() for tensor in (x, columns, bias.contiguous(), out))
        _multiply_legal_columns(*ctx.legal_arrays, *arrays)
        ctx.save_for_backward(x, columns)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, Tensor, None, None]:
        x, columns = ctx.saved_tensors
        grad_x, grad_columns = torch.zeros_like(x), torch.zeros_like(columns)
        grad_bias = columns.new_zeros(len(columns), 1, columns.shape[1])
        tensors = (x, columns, grad.contiguous(), grad_x, grad_columns, grad_bias)
        _add_legal_gradients(*ctx.legal_arrays, *(tensor.numpy() for tensor in tensors))
        return grad_x, grad_columns.transpose(1, 2), grad_bias, None, None


@vectorized_jit(reorder_sums=True)
def _multiply_legal_columns(actions, counts, x, columns, bias, out):
    """Write into `out` each row of x times the weight columns of its legal actions, plus bias."""
    for k in range(len(x)):
        for b in range(x.shape[1]):
            row = x[k, b]
            for i in range(counts[k, b]):
                a = actions[k, b, i]
                column, total = columns[k, a], bias[k, 0, a]
                for j in range(len(row)):
                    total += row[j] * column[j]
                out[k, b, i] = total


@vectorized_jit(reorder_sums=True)
def _add_legal_gradients(actions, counts, x, columns, grad, grad_x, grad_columns, grad_bias):
    """Add each logit's contribution to the gradients of its row of x, weight column and bias."""
    for k in range(len(x)):
        for b in range(x.shape[1]):
            row, grad_row = x[k, b], grad_x[k, b]
            for i in range(counts[k, b]):
                a, logit_gradient = actions[k, b, i], grad[k, b, i]
                column, grad_column = columns[k, a], grad_columns[k, a]
                for j in range(len(row)):
                    grad_row[j] += logit_gradient * column[j]
                    grad_column[j] += logit_gradient * row[j]
                grad_bias[k, 0, a] += logit_gradient
