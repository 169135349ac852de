"""Output layer that only computes the legal actions, for games with many actions but few legal.

Big 2 has 1,695 actions, of which about ten are legal at a time. Their logits need only ten columns
of the output layer's weights, and only these columns get a gradient. The logits equal those of the
full matrix product up to rounding.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from poker_rl.nets.kernel_compilation import compile_kernels

MIN_ACTIONS = 64  # in games with fewer actions, the full output layer is always used
MIN_ACTIONS_PER_LEGAL = 8  # if more than 1/8 of the actions is legal, the full layer is faster

FLOATS_3D_TYPE = "float32[:, :, ::1]"
LEGAL_ACTIONS_TYPES = "int64[:, :, ::1], int64[:, ::1]"  # `actions` and `counts` of `LegalActions`


@dataclass(frozen=True)
class LegalActions:
    """Lists of the legal actions of decisions, padded to the length L of the longest list.

    Attributes:
        actions: legal actions of each decision, [..., L] int64, then 0 as padding.
        counts: number of legal actions of each decision, [...] int64.
    """

    actions: Tensor
    counts: Tensor

    @property
    def position_mask(self) -> Tensor:
        """True at positions with a legal action, False in the padding, [..., L]."""
        positions = torch.arange(self.actions.shape[-1], device=self.actions.device)
        return positions < self.counts[..., None]

    def gather(self, values: Tensor) -> Tensor:
        """Return the values of legal actions only, [..., A] -> [..., L]; arbitrary in padding."""
        return values.gather(-1, self.actions)

    def scatter(self, values: Tensor, action_count: int) -> Tensor:
        """Return values of all actions, [..., L] -> [..., A]; illegal actions get 0."""
        scattered = values.new_zeros(*values.shape[:-1], action_count)
        return scattered.scatter_add(-1, self.actions, values * self.position_mask)

    def to_position(self, action: Tensor) -> Tensor:
        """Return the position in its list of one legal action of each decision, [...] -> [...]."""
        return (self.position_mask & (self.actions == action[..., None])).byte().argmax(-1)

    def to_action(self, position: np.ndarray) -> np.ndarray:
        """Return the action at a position of each decision's list, [B] -> [B]."""
        action: np.ndarray = self.actions.cpu().numpy()[np.arange(len(position)), position]
        return action


def list_legal_actions_if_few(mask: np.ndarray, device: torch.device) -> LegalActions | None:
    """Return the legal actions of N decisions with action masks [N, A].

    Return None if the full layer is faster, because the game has few actions or many are legal.
    """
    if mask.shape[1] < MIN_ACTIONS or MIN_ACTIONS_PER_LEGAL * mask.sum() > mask.size:
        return None
    return list_legal_actions(mask, device)


def list_legal_actions(mask: np.ndarray, device: torch.device) -> LegalActions:
    """Return the legal actions, in ascending order, of N decisions with action masks [N, A]."""
    counts = mask.sum(1)
    actions = np.zeros((len(mask), counts.max(initial=1)), np.int64)
    row, action = np.nonzero(mask)
    first = np.repeat(counts.cumsum() - counts, counts)
    actions[row, np.arange(len(row)) - first] = action
    return LegalActions(torch.from_numpy(actions).to(device), torch.from_numpy(counts).to(device))


def compute_legal_logits(x: Tensor, weight: Tensor, bias: Tensor, legal: LegalActions) -> Tensor:
    """Return x @ weight + bias at the legal actions of each row, [K, B, in] -> [K, B, L]."""
    if x.device.type != "cpu" or x.dtype != torch.float32:
        return legal.gather(torch.baddbmm(bias, x, weight))
    logits: Tensor = LegalLogitsFunction.apply(x, weight, bias, legal.actions, legal.counts)  # type: ignore[no-untyped-call]
    return logits


class LegalLogitsFunction(torch.autograd.Function):
    """x @ weight + bias at the legal actions, [K, B, in] -> [K, B, L], 0 in the padding.

    Called as `apply(x, weight, bias, actions, counts)`: weight [K, in, A], bias [K, 1, A], and the
    attributes of `LegalActions`. All tensors are on the CPU, and floats are float32.
    """

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, weight: Tensor, bias: Tensor, actions: Tensor, counts: Tensor
    ) -> Tensor:
        """Return the logits."""
        x, columns = x.contiguous(), weight.transpose(1, 2).contiguous()  # [K, A, in]
        legal_arrays = actions.contiguous().numpy(), counts.contiguous().numpy()
        out = x.new_zeros(actions.shape)
        run_forward, _ = _compile_kernels()
        run_forward(
            *legal_arrays, x.numpy(), columns.numpy(), bias.contiguous().numpy(), out.numpy()
        )
        ctx.save_for_backward(x, columns)
        ctx.legal_arrays = legal_arrays
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, Tensor, None, None]:
        """Return the gradients of x, the weights and the bias."""
        x, columns = ctx.saved_tensors
        grad_x, grad_columns = torch.zeros_like(x), torch.zeros_like(columns)
        grad_bias = columns.new_zeros(len(columns), 1, columns.shape[1])
        inputs = (tensor.numpy() for tensor in (x, columns, grad.contiguous()))
        _, run_backward = _compile_kernels()
        run_backward(
            *ctx.legal_arrays, *inputs, grad_x.numpy(), grad_columns.numpy(), grad_bias.numpy()
        )
        return grad_x, grad_columns.transpose(1, 2), grad_bias, None, None


def _run_forward(actions, counts, x, columns, bias, out):
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


def _run_backward(actions, counts, x, columns, grad, grad_x, grad_columns, grad_bias):
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


@cache
def _compile_kernels() -> tuple[Any, ...]:
    three_arrays = f"{FLOATS_3D_TYPE}, {FLOATS_3D_TYPE}, {FLOATS_3D_TYPE}"
    return compile_kernels(
        {
            _run_forward: f"({LEGAL_ACTIONS_TYPES}, {three_arrays}, {FLOATS_3D_TYPE})",
            _run_backward: f"({LEGAL_ACTIONS_TYPES}, {three_arrays}, {three_arrays})",
        },
        allow_reordered_sums=True,
    )
