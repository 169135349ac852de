"""Output layer on a CPU that computes only the logits of legal actions.

Big 2 has 1,695 actions, of which about ten are legal at a time: their logits need only ten columns
of the weights. Outputs and gradients equal those of the full product up to rounding.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from poker_rl.games.game import simd_jit

MIN_ACTIONS = 64  # in games with fewer actions, the full output layer is always used
MIN_ACTIONS_PER_LEGAL = 8  # if more than 1/8 of the actions is legal, the full layer is faster


@dataclass(frozen=True)
class LegalActions:
    """A list of the legal actions for each decision, padded to the length L of the longest list."""

    actions: Tensor  # legal actions of each decision, [..., L] int64, then 0 as padding
    counts: Tensor  # number of legal actions of each decision, [...] int64

    @property
    def non_padding_mask(self) -> Tensor:
        """Mask that is True at positions with a legal action, False in the padding, [..., L]."""
        positions = torch.arange(self.actions.shape[-1], device=self.actions.device)
        return positions < self.counts[..., None]

    def gather(self, values: Tensor) -> Tensor:
        """Return the values of legal actions only, [..., A] -> [..., L]; arbitrary in padding."""
        return values.gather(-1, self.actions)

    def scatter(self, values: Tensor, action_count: int) -> Tensor:
        """Return values of all actions, [..., L] -> [..., A]; illegal actions get 0."""
        zeros = values.new_zeros(*values.shape[:-1], action_count)
        return zeros.scatter_add(-1, self.actions, values * self.non_padding_mask)

    def to_position(self, action: Tensor) -> Tensor:
        """Return the position of each decision's legal `action` in its list of actions, [...]."""
        return (self.non_padding_mask & (self.actions == action[..., None])).byte().argmax(-1)

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


@simd_jit(reorder_sums=True)
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


@simd_jit(reorder_sums=True)
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
