"""Rows of a batch for networks with a copies axis: shuffled by copy, equal rows computed once."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor, nn

from poker_rl.games.game import rule as compiled
from poker_rl.games.hashing import hashed
from poker_rl.learning import processes
from poker_rl.nets.copies import copies_of, routed
from poker_rl.nets.dense import logits
from poker_rl.nets.legal import Legal

SAMPLE = 256  # rows looked at to see whether equal ones are common


class Inputs:
    """What networks are shown in N decisions, [N, W].

    A small game shows the same few rows again and again. Where that saves work the networks run
    once over the distinct rows, U of them, and the results are handed out: the same function and
    the same gradient, but for rounding.
    """

    def __init__(self, rows: np.ndarray, device: torch.device) -> None:
        self.rows = torch.from_numpy(rows).to(device)  # [N, W]
        self.place: Tensor | None = None  # among the distinct rows [N]; None: hardly any are equal
        self.distinct = self.rows[:0].float()  # [U, W]
        if len(distinct(rows[:SAMPLE])[0]) < min(len(rows), SAMPLE) / 2:
            first, place = distinct(rows)
            self.distinct = torch.from_numpy(rows[first]).to(device).float()
            self.place = torch.from_numpy(place).to(device)

    def all(self, module: nn.Module, copy: Tensor | None, legal: Legal | None = None) -> Tensor:
        """Every row through its copy, -> [N, out], or [N, L] at its legal actions alone.

        Args:
            module: K networks.
            copy: of each row, [N]; None if the rows are K equal blocks, one a copy.
            legal: the legal actions of every row, or None for all actions.
        """
        copies = copies_of(module)
        if legal is not None or self.place is None or copies * len(self.distinct) >= len(self.rows):
            return routed(module, self.rows, copy, legal)
        if copy is None:
            copy = torch.arange(copies, device=self.rows.device)
            copy = copy.repeat_interleave(len(self.rows) // copies)
        out: Tensor = module(self.distinct.expand(copies, -1, -1))  # [K, U, out]
        return out.flatten(0, 1).index_select(0, copy * len(self.distinct) + self.place)

    def some(self, module: nn.Module, index: Tensor, legal: Legal | None = None) -> Tensor:
        """Rows `index` [K, B] through copy k in block k, -> [K, B, out].

        With the legal actions of these rows the outputs of these alone, as `logits` has them.
        """
        if legal is not None:
            return logits(module, self.rows[index], legal)
        if self.place is not None and len(index) == 1:
            row, place = self.place[index[0]].unique(return_inverse=True)  # type: ignore[no-untyped-call]
            out: Tensor = module(self.distinct[row][None])  # the distinct ones of B
            return out[:, place]
        if self.place is not None and len(self.distinct) < index.shape[1]:
            out = module(self.distinct.expand(len(index), -1, -1))  # [K, U, out]
            return out.gather(1, self.place[index][..., None].expand(-1, -1, out.shape[2]))
        out = module(self.rows[index])
        return out


def distinct(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """First index of each distinct row [U], ascending, and which of them each row is [N]."""
    first, place = np.empty(len(rows), np.int64), np.empty(len(rows), np.int64)
    found = _find(np.ascontiguousarray(rows).view(np.uint8), first, place)
    return first[:found], place


@compiled
def _find(rows, first, place):  # type: ignore[no-untyped-def]
    """Fill `first` and `place` for rows of bytes by a hash table; the number of distinct rows."""
    size = 1
    while size < 2 * len(rows):
        size *= 2
    taken = np.full(size, -1)  # by the distinct row of this number
    found = 0
    for i in range(len(rows)):
        bits = hashed(rows[i], np.uint64(0))
        slot = np.int64(bits >> np.uint64(32)) & (size - 1)
        while taken[slot] >= 0:
            other, same = first[taken[slot]], True
            for j in range(rows.shape[1]):
                same &= rows[i, j] == rows[other, j]
            if same:
                break
            slot = (slot + 1) & (size - 1)
        if taken[slot] < 0:
            taken[slot] = found
            first[found] = i
            found += 1
        place[i] = taken[slot]
    return found


def minibatches(
    rows: np.ndarray,
    copy: np.ndarray,
    copies: int,
    count: int,
    generator: np.random.Generator,
    device: torch.device,
) -> Iterator[tuple[Tensor, Tensor]]:
    """One pass over some rows, each copy's own in random order, in at most `count` equal parts.

    The other processes of the run make as many parts, which are taken together with these: the mean
    of their weighted sums is each copy's mean over all of its rows.

    Args:
        rows: indices, [N].
        copy: whose each of them is, [N].

    Yields:
        indices [K, B], and the weight of each in the mean over its copy's rows [K, B]. Copies
        with fewer rows than others, here or in another process, are filled up with rows of weight
        0, evenly over the pass; where there is no row at all B is 0.
    """
    sizes = np.bincount(copy, minlength=copies)[:, None]  # [K, 1]
    most = processes.most(int(sizes.max()))
    slot = generator.permuted(np.tile(np.arange(most), (copies, 1)), axis=1)  # [K, most]
    first = np.cumsum(sizes)[:, None] - sizes
    place = np.minimum(first + slot % np.maximum(sizes, 1), len(rows) - 1)
    counts = torch.from_numpy((slot < sizes).astype(np.float32)).to(device)
    parts = list(counts.chunk(count, 1))
    rows_of = processes.mean(torch.stack([part.sum(1, keepdim=True) for part in parts]))
    if not len(rows):  # another process may have some: as many parts as there, with nothing in them
        place, parts = place[:, :0], [part[:, :0] for part in parts]
    order = torch.from_numpy(rows[np.argsort(copy, kind="stable")][place]).to(device)
    indices = torch.split(order, [part.shape[1] for part in parts], 1)
    for index, part, number in zip(indices, parts, rows_of, strict=True):
        yield index, part / number.clamp(min=1 / processes.count())
