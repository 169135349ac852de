"""A memory that merges equal observations: of each it keeps the weighted mean of what was told.

A network that is fitted to such means has the same best fit as one fitted to every single item, for
a squared error and for a cross-entropy alike, and none of the noise of drawing items. A small game
shows few observations, and they all stay. Where there are more than the memory holds, it is a
reservoir: those that stay are a uniform sample of all that it ever met. What had to leave has to
leave again when it comes back, so the means of those that stay are over all that was told of them.

Merging goes through all rows, so where they are many, it waits until an eighth of them are new.

The items of iteration t weigh t^power, as in linear CFR and Deep CFR (arXiv:1811.00164).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from poker_rl.config.settings import Refused
from poker_rl.games.game import rule as compiled
from poker_rl.games.hashing import hashed
from poker_rl.learning.agents import Agents
from poker_rl.learning.branching import Decisions
from poker_rl.learning.minibatches import distinct
from poker_rl.learning.room import demand
from poker_rl.learning.state_checks import check_range

FEW = 100_000  # rows, which are merged at every addition
NEW = 1 / 8  # share of more rows at which they are merged
MERGING = 5  # times the memory's own bytes, at most, while it merges


class Targets(NamedTuple):
    """Rows for K copies of a network, and what they are to be fitted to."""

    observation: Tensor  # [K, B, W] uint8 if all are bits, else float32
    mask: Tensor  # legal actions [K, B, A] bool
    mean: Tensor  # [K, B, A] float32
    share: Tensor  # of each row in its copy's mean error [K, B], adding up to 1; 0: no row


class Means:
    """The memory; each copy has one of its own in it.

    Args:
        agents: whose decisions it keeps.
        capacity: observations of a copy, on average over the copies.
        power: of the iteration, in an item's weight.
        beside: memories that have to fit in as well.

    Raises:
        Refused: if it does not fit into memory.
    """

    def __init__(
        self, agents: Agents, capacity: int, power: float, *, beside: Sequence[Means] = ()
    ) -> None:
        self._agents, self._power = agents, power
        self._capacity = capacity * agents.copies
        self._bits = agents.column.dtype == torch.bool
        self._width, actions = agents.column.width or 1, agents.game.actions
        self.iteration = 0
        self._new = 0  # rows that are not merged yet
        self._generator = np.random.Generator(np.random.PCG64(agents.seed()))
        self._salt = self._generator.integers(2**64, dtype=np.uint64)  # of the order
        stored = -(-self._width // 8) if self._bits else self._width
        kind = np.uint8 if self._bits else np.float32
        self._rows: dict[str, np.ndarray] = {
            "copy": np.zeros(0, np.int64),
            "seen": np.zeros((0, stored), kind),
            "mask": np.zeros((0, actions), np.bool_),
            "sums": np.zeros((0, actions)),  # weighted, of what was told
            "weight": np.zeros(0),
            "order": np.zeros(0),  # uniform on [0, 1), by what is seen: the smallest stay
        }
        self._index: list[tuple[np.ndarray, np.ndarray]] | None = None  # of the present rows
        self._whole: Targets | None = None  # all of them, if there are few
        row = sum(
            part.dtype.itemsize * int(np.prod(part.shape[1:])) for part in self._rows.values()
        )
        self.bytes = int((1 + NEW) * self._capacity) * row
        what = f"capacity: {capacity:,} observations for each of {agents.copies} networks"
        needed = MERGING * self.bytes + sum(other.bytes for other in beside)
        demand(what, needed, torch.device("cpu"))

    def __len__(self) -> int:
        return len(self._rows["copy"])

    def begin(self) -> None:
        """From now on items belong to the next iteration."""
        self.iteration += 1

    def add(self, items: Decisions) -> None:
        """Merge some decisions into the memory."""
        if not len(items):
            return
        weight = float(self.iteration) ** self._power
        seen = items.observation
        new = {
            "copy": items.copy,
            "seen": np.packbits(seen, axis=1) if self._bits else seen.astype(np.float32),
            "mask": items.mask,
            "sums": weight * items.told,
            "weight": np.full(len(items), weight),
        }
        new["order"] = _order(_keys(new), self._salt)
        self._rows = {name: np.concatenate([part, new[name]]) for name, part in self._rows.items()}
        self._index = self._whole = None
        self._new += len(items)
        if len(self) < FEW or self._new > NEW * len(self):
            self._merge()

    def _merge(self) -> None:
        """Make one row of equal ones, and leave as many as there may be."""
        rows, self._new = self._rows, 0
        first, place = distinct(_keys(rows))
        sums, weights = np.zeros((len(first), rows["sums"].shape[1])), np.zeros(len(first))
        np.add.at(sums, place, rows["sums"])
        np.add.at(weights, place, rows["weight"])
        self._rows = {name: part[first] for name, part in rows.items()}
        self._rows |= {"sums": sums, "weight": weights}
        if len(first) > self._capacity:
            kept = np.argpartition(self._rows["order"], self._capacity)[: self._capacity]
            self._rows = {name: part[kept] for name, part in self._rows.items()}

    def targets(self, batch: int) -> Targets:
        """All rows by their weights; if a copy has more than `batch`, so many, drawn by weight."""
        if self._whole is not None and self._whole.share.shape[1] <= batch:
            return self._whole
        if self._index is None:
            self._index = self._by_copy()
        most = max(len(own) for own, _ in self._index)
        rows = np.zeros((len(self._index), min(most, batch)), np.int64)
        share = np.zeros(rows.shape)
        for k, (own, reached) in enumerate(self._index):
            if len(own) > batch:
                drawn = self._generator.random(batch) * reached[-1]
                place = np.searchsorted(reached, drawn, side="right")
                rows[k] = own[np.minimum(place, len(own) - 1)]  # rounding may go past the last
                share[k] = 1 / batch
            elif len(own):
                rows[k, : len(own)] = own
                weight = self._rows["weight"][own]
                share[k, : len(own)] = weight / weight.sum()
        targets = self._told(rows, share)
        if most <= batch:
            self._whole = targets
        return targets

    def _by_copy(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """The rows of each copy [N], and their weights added up to each of them [N]."""
        copy, weight = self._rows["copy"], self._rows["weight"]
        order = np.argsort(copy, kind="stable")
        ends = np.searchsorted(copy[order], np.arange(1, self._agents.copies))
        return [(own, np.cumsum(weight[own])) for own in np.split(order, ends)]

    def _told(self, rows: np.ndarray, share: np.ndarray) -> Targets:
        seen = self._rows["seen"][rows]
        if self._bits:
            seen = np.unpackbits(seen, axis=2, count=self._width)
        mean = self._rows["sums"][rows] / self._rows["weight"][rows][..., None]
        tensor = self._agents.tensor
        return Targets(
            tensor(seen),
            tensor(self._rows["mask"][rows]),
            tensor(mean.astype(np.float32)),
            tensor(share.astype(np.float32)),
        )

    def state_dict(self) -> dict[str, Any]:
        """Rows, iteration and generator."""
        return {
            "iteration": self.iteration,
            "new": self._new,
            "generator": self._generator.bit_generator.state,
            "salt": int(self._salt),
            "rows": {name: torch.from_numpy(part.copy()) for name, part in self._rows.items()},
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on where `state_dict` was taken."""
        self._generator.bit_generator.state = state["generator"]
        self.take_over(state)

    def take_over(self, state: dict[str, Any]) -> None:
        """Hold what another memory holds, whose iterations count as earlier ones of this.

        Raises:
            Refused: if that memory holds more than this one may.
            ValueError: if its rows do not fit otherwise.
        """
        rows = {name: state["rows"][name].numpy().copy() for name in self._rows}
        for name, part in rows.items():
            own = self._rows[name]
            if (part.dtype, part.shape) != (own.dtype, (len(rows["copy"]), *own.shape[1:])):
                raise ValueError(f"rows.{name}: of another shape or kind")
        check_range("rows.copy", rows["copy"], 0, self._agents.copies)
        new = state.get("new", 0)  # a checkpoint without it has none
        if len(rows["copy"]) - new > self._capacity:
            raise Refused(
                f"capacity: room for {self._capacity:,} observations, the other memory has"
                f" {len(rows['copy']):,}"
            )
        self._rows, self.iteration, self._new = rows, state["iteration"], new
        self._index = self._whole = None
        # in the same order as before, so that what had to leave that memory stays out of this one
        self._salt = np.uint64(state.get("salt", self._salt))


def _keys(rows: dict[str, np.ndarray]) -> np.ndarray:
    """What tells observations apart, [N, bytes]."""
    parts = (rows["copy"], rows["seen"], np.packbits(rows["mask"], axis=1))
    own = [np.ascontiguousarray(part).view(np.uint8).reshape(len(part), -1) for part in parts]
    return np.concatenate(own, 1)


@compiled
def _order(keys, salt):  # type: ignore[no-untyped-def]
    """For each row a number on [0, 1), the same whenever it comes, [N]."""
    order = np.empty(len(keys))
    for i in range(len(keys)):
        bits = hashed(keys[i], salt)
        for _ in range(2):  # spread what FNV leaves in the lower half over all bits
            bits = (bits ^ (bits >> np.uint64(32))) * np.uint64(0x9E3779B97F4A7C15)
        order[i] = np.float64(bits >> np.uint64(11)) / 2**53
    return order
