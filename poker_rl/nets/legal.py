"""The last layer of a policy at the legal actions alone, where a game has many and few are legal.

Big 2 has 1,695 actions of which some ten are legal at a time. The logits of those ten need ten
columns of the last layer's weights in place of all of them, and the gradient goes to these columns:
the same function as the product with all, but for rounding.
"""

# numba gives the compiled functions their types.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from poker_rl.nets.loops import compiled_loops

MANY = 64  # actions from which on it is worth looking how many are legal
FEW = 8  # times as many actions as are legal on average, for which the others are left out

NUMBERS = "float32[:, :, ::1]"
PLACES = "int64[:, :, ::1], int64[:, ::1]"  # actions and how many there are of each row


@dataclass(frozen=True)
class Legal:
    """The legal actions of some decisions in ascending order, each in a column of its own.

    Attributes:
        action: [..., L], L being the most that are legal in any of them; 0 in columns left over.
        count: how many there are, [...].
    """

    action: Tensor
    count: Tensor

    @property
    def mask(self) -> Tensor:
        """Which columns stand for an action, [..., L] bool."""
        columns = torch.arange(self.action.shape[-1], device=self.action.device)
        return columns < self.count[..., None]

    def pick(self, values: Tensor) -> Tensor:
        """What stands at the legal actions in something of all of them, [..., A] to [..., L]."""
        return values.gather(-1, self.action)

    def spread(self, values: Tensor, actions: int) -> Tensor:
        """The other way round, [..., L] to [..., A]: 0 for illegal actions."""
        whole = values.new_zeros(*values.shape[:-1], actions)
        return whole.scatter_add(-1, self.action, values * self.mask)

    def column(self, action: Tensor) -> Tensor:
        """The columns of some actions that are legal, [...]."""
        return (self.mask & (self.action == action[..., None])).byte().argmax(-1)

    def taken(self, column: np.ndarray) -> np.ndarray:
        """The action in a column of each decision, [B] to [B]; the other way round of `column`."""
        action: np.ndarray = self.action.cpu().numpy()[np.arange(len(column)), column]
        return action


def few(mask: np.ndarray, device: torch.device) -> Legal | None:
    """The legal actions of decisions [N, A], or None if so many are that all may as well stay."""
    if mask.shape[1] < MANY or FEW * mask.sum() > mask.size:
        return None
    return listed(mask, device)


def listed(mask: np.ndarray, device: torch.device) -> Legal:
    """The legal actions of decisions [N, A]."""
    count = mask.sum(1)
    action = np.zeros((len(mask), count.max(initial=1)), np.int64)
    fill, _, _ = _loops()
    fill(np.ascontiguousarray(mask), action)
    return Legal(torch.from_numpy(action).to(device), torch.from_numpy(count).to(device))


def _list(mask, action):
    """Write the columns of each row of the mask that are set, row by row."""
    for i in range(len(mask)):
        at = 0
        for a in range(mask.shape[1]):
            if mask[i, a]:
                action[i, at] = a
                at += 1


def legal_logits(x: Tensor, weight: Tensor, bias: Tensor, legal: Legal) -> Tensor:
    """x @ weight + bias at the legal actions of each row, [K, B, in] -> [K, B, L]."""
    if x.device.type != "cpu" or x.dtype != torch.float32:
        return legal.pick(torch.baddbmm(bias, x, weight))
    logits: Tensor = LegalColumns.apply(x, weight, bias, legal.action, legal.count)  # type: ignore[no-untyped-call]
    return logits


class LegalColumns(torch.autograd.Function):
    """x @ weight + bias at the legal actions of each row, [K, B, in] -> [K, B, L]; 0 elsewhere.

    Called as `LegalColumns.apply(x, weight, bias, action, count)` with weight [K, in, A], bias
    [K, 1, A] and the parts of a `Legal`, on the CPU in float32.
    """

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, weight: Tensor, bias: Tensor, action: Tensor, count: Tensor
    ) -> Tensor:
        """The logits."""
        x, columns = x.contiguous(), weight.transpose(1, 2).contiguous()  # [K, A, in]
        places = action.contiguous().numpy(), count.contiguous().numpy()
        out = x.new_zeros(action.shape)
        _, look, _ = _loops()
        look(*places, x.numpy(), columns.numpy(), bias.contiguous().numpy(), out.numpy())
        ctx.save_for_backward(x, columns)
        ctx.places = places
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, Tensor, None, None]:
        """Gradients of x, the weights and the bias."""
        x, columns = ctx.saved_tensors
        of_x, of_columns = torch.zeros_like(x), torch.zeros_like(columns)
        of_bias = columns.new_zeros(len(columns), 1, columns.shape[1])
        given = (one.numpy() for one in (x, columns, grad.contiguous()))
        _, _, scatter = _loops()
        scatter(*ctx.places, *given, of_x.numpy(), of_columns.numpy(), of_bias.numpy())
        return of_x, of_columns.transpose(1, 2), of_bias, None, None


def _look(action, count, x, columns, bias, out):
    """Write the product of each row of x with the columns of its legal actions, bias added."""
    for k in range(len(x)):
        for b in range(x.shape[1]):
            row = x[k, b]
            for i in range(count[k, b]):
                a = action[k, b, i]
                column, total = columns[k, a], bias[k, 0, a]
                for j in range(len(row)):
                    total += row[j] * column[j]
                out[k, b, i] = total


def _scatter(action, count, x, columns, grad, of_x, of_columns, of_bias):
    """Add each logit's gradient to those of its row of x, its column and its bias."""
    for k in range(len(x)):
        for b in range(x.shape[1]):
            row, of_row = x[k, b], of_x[k, b]
            for i in range(count[k, b]):
                a, slope = action[k, b, i], grad[k, b, i]
                column, of_column = columns[k, a], of_columns[k, a]
                for j in range(len(row)):
                    of_row[j] += slope * column[j]
                    of_column[j] += slope * row[j]
                of_bias[k, 0, a] += slope


@cache
def _loops() -> tuple[Any, ...]:
    """`_list`, `_look` and `_scatter`, compiled."""
    three = f"{NUMBERS}, {NUMBERS}, {NUMBERS}"
    return compiled_loops(
        {
            _list: "(boolean[:, ::1], int64[:, ::1])",
            _look: f"({PLACES}, {three}, {NUMBERS})",
            _scatter: f"({PLACES}, {three}, {three})",
        },
        any_order=True,
    )
