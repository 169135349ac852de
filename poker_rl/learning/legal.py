"""The legal actions of some decisions alone, where a game has many actions and few are legal."""

from __future__ import annotations

import torch
from torch import Tensor

MANY = 64  # actions from which on it is worth looking how many are legal
FEW = 4  # times as many actions as are legal anywhere, for which the others are left out


def legal_alone(
    logits: Tensor, rows: dict[str, Tensor], names: tuple[str, ...]
) -> tuple[Tensor, dict[str, Tensor]]:
    """Logits and rows in which only the legal actions have columns, or all as they are given.

    Big 2 has 1,695 actions of which some ten are legal: most of a loss over all of them is spent on
    zeros. What is computed from the mask, the logits and `action` stays the same, but for rounding.

    Args:
        logits: of each action, [K, B, A].
        rows: "mask", legal actions [K, B, A] bool; "action", the one taken [K, B]; and others.
        names: those of the others that have a column for each action too, if they are there.

    Returns:
        logits [K, B, L], L being the most actions legal in any row, and rows in which "mask" tells
        which of the columns stand for an action and "action" is the column of the one taken.
    """
    mask = rows["mask"]
    if mask.shape[2] < MANY:
        return logits, rows
    count = mask.sum(2)  # [K, B]
    most = int(count.max())
    if most * FEW > mask.shape[2]:
        return logits, rows
    copy, row, action = mask.nonzero(as_tuple=True)
    before = count.flatten().cumsum(0).view_as(count) - count
    column = torch.arange(len(row), device=mask.device) - before[copy, row]
    legal = torch.zeros(*count.shape, most, dtype=torch.int64, device=mask.device)
    legal[copy, row, column] = action
    there = torch.arange(most, device=mask.device) < count[..., None]
    taken = (there & (legal == rows["action"][..., None])).byte().argmax(2)
    told = {name: rows[name].gather(2, legal) for name in names if name in rows}
    return logits.gather(2, legal), rows | told | {"mask": there, "action": taken}
