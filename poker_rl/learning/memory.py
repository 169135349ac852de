"""Memories of decisions, each copy of a learner with its own: circular buffers and reservoirs.

Which items stay is the rule's: the newest (`Circular`), a uniform sample of all ever added
(`Uniform`, Vitter's algorithm R), or one that leans towards the newer ones (`Floored`,
arXiv:1603.01121; `Exponential`, Osborne et al., ACL 2014).

Items and batches are tensors on the networks' device, and batches are drawn there. Columns of bits
are packed, eight to a byte: an observation of heads-up limit hold'em takes 36 bytes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import embedding

from poker_rl.config.settings import Refused, Share
from poker_rl.learning import processes
from poker_rl.learning.room import demand
from poker_rl.learning.state_checks import MOST_ITEMS, check_range

BITS = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1)  # of each byte, [256, 8]


class Rule(Protocol):
    """Which items a memory keeps."""

    def slots(
        self, number: np.ndarray, capacity: int, generator: np.random.Generator
    ) -> np.ndarray:
        """Where to put items, [N] int64: from `capacity` on means nowhere.

        Args:
            number: of each item, counted from 0, [N] int64.
        """


@dataclass(kw_only=True, frozen=True)
class Circular:
    """The newest items."""

    def slots(
        self, number: np.ndarray, capacity: int, generator: np.random.Generator
    ) -> np.ndarray:
        """See `Rule.slots`."""
        return number % capacity


@dataclass(kw_only=True, frozen=True)
class Uniform:
    """Every item ever added is equally likely to be there: item i enters with capacity / i."""

    def slots(
        self, number: np.ndarray, capacity: int, generator: np.random.Generator
    ) -> np.ndarray:
        """See `Rule.slots`."""
        return _replacing(number, capacity / (number + 1), capacity, generator)


@dataclass(kw_only=True, frozen=True)
class Floored:
    """Item i enters with chance max(capacity / i, `chance`)."""

    chance: Share

    def slots(
        self, number: np.ndarray, capacity: int, generator: np.random.Generator
    ) -> np.ndarray:
        """See `Rule.slots`."""
        chance = np.maximum(capacity / (number + 1), self.chance)
        return _replacing(number, chance, capacity, generator)


@dataclass(kw_only=True, frozen=True)
class Exponential:
    """Once full, every item enters with chance p: ages are geometric with mean capacity / p."""

    chance: Share

    def slots(
        self, number: np.ndarray, capacity: int, generator: np.random.Generator
    ) -> np.ndarray:
        """See `Rule.slots`."""
        return _replacing(number, np.full(len(number), self.chance), capacity, generator)


def _replacing(
    number: np.ndarray, chance: np.ndarray, capacity: int, generator: np.random.Generator
) -> np.ndarray:
    """Fill slot by slot; then an item replaces a uniform one with its chance, [N] in (0, 1]."""
    # below its chance a uniform number is uniform again: one serves for both questions
    slot = generator.random(len(number)) * (capacity / chance)
    return np.where(number < capacity, number, slot.astype(np.int64))


class Column(NamedTuple):
    """One part of an item: `width` values, or a single one; bools are packed.

    `below` is a bound of integers that index something: they are in [0, below).
    """

    dtype: torch.dtype
    width: int | None = None
    below: int | None = None

    def shape(self) -> tuple[int, ...]:
        """Of an item's part as it is stored."""
        if self.width is None:
            return ()
        return (-(-self.width // 8),) if self.dtype == torch.bool else (self.width,)

    def stored(self) -> torch.dtype:
        """The dtype it is stored in."""
        return torch.uint8 if self.dtype == torch.bool else self.dtype


class Memory:
    """`capacity` items for each of K copies; adding costs O(1) an item.

    Args:
        key: the setting that says `capacity`, named in errors.
        capacity: items of a copy.
        rule: which items stay.
        columns: what an item consists of.
        device: where the items are.
        seed: for what enters and what is drawn.
        copies: K.
        beside: memories that have to fit in as well.

    Attributes:
        added: items ever offered to each copy, [K] int64.

    Raises:
        Refused: if they do not fit in.
    """

    def __init__(
        self,
        key: str,
        capacity: int,
        rule: Rule,
        columns: Mapping[str, Column],
        device: torch.device,
        seed: int,
        *,
        copies: int = 1,
        beside: Sequence[Memory] = (),
    ) -> None:
        self.capacity, self.copies, self.rule = capacity, copies, rule
        self._key = key
        self.added = np.zeros(copies, np.int64)
        self._columns, self._device = dict(columns), device
        item = sum(prod(c.shape()) * c.stored().itemsize for c in columns.values())
        self.bytes = copies * capacity * item
        what = f"{key}: {capacity:,} items of {item} bytes for {copies} of the networks"
        also = " and all memories beside" if beside else ""
        demand(what + also, self.bytes + sum(other.bytes for other in beside), device)
        streams = np.random.SeedSequence(seed).generate_state(2, np.uint64)
        self._entering = np.random.Generator(np.random.PCG64(int(streams[0])))
        self.drawing = torch.Generator(device)
        self.drawing.manual_seed(int(streams[1]) >> 1)
        self._parts = {
            name: _zeros((copies * capacity, *c.shape()), c.stored(), device)
            for name, c in columns.items()
        }
        self._first = torch.arange(copies, device=device)[:, None] * capacity  # [K, 1]
        self._sizes = torch.zeros(copies, 1, dtype=torch.float64, device=device)
        self._fewest: int | None = None
        self._begun = False
        self._bits = torch.from_numpy(BITS).to(device, torch.bool)

    def demand_batch(self, key: str, count: int) -> None:
        """See to it that a batch of `count` items of each copy fits in, as `key` says.

        Raises:
            Refused: if it does not.
        """
        drawn = 16  # a uniform number and a place
        item = drawn + sum(c.dtype.itemsize * (c.width or 1) for c in self._columns.values())
        what = f"{key}: {count:,} items for each of {self.copies} of the networks"
        demand(what, self.copies * count * item, self._device)

    def demand_full(self, key: str, count: int) -> None:
        """See to it that `count` items, after which learning begins as `key` says, are ever there.

        Raises:
            Refused: if the memory holds fewer.
        """
        if count > self.capacity:
            raise Refused(
                f"{key}: {count:,} items are needed to learn; {self._key} holds {self.capacity:,}"
            )

    @property
    def fewest(self) -> int:
        """Items of the copy that has the fewest, in whichever process of the run."""
        if self._fewest is None:  # the processes ask each other once between two calls of `add`
            self._fewest = processes.least(int(min(self.added.min(), self.capacity)))
        return self._fewest

    @property
    def begun(self) -> bool:
        """Whether any copy has an item, in whichever process of the run."""
        self._begun = self._begun or processes.most(int(self.added.max())) > 0
        return self._begun

    @property
    def fill(self) -> float:
        """Share of all slots in use."""
        return float(np.minimum(self.added, self.capacity).mean() / self.capacity)

    def add(self, copy: np.ndarray, **parts: np.ndarray) -> None:
        """Offer items, in order of time, each to its copy [N]: parts are [N, width] or [N]."""
        self._fewest = None
        if not len(copy):
            return
        counts = np.bincount(copy, minlength=self.copies)
        order = np.argsort(copy, kind="stable")
        place = np.empty(len(copy), np.int64)  # among the new items of the same copy
        place[order] = np.arange(len(copy)) - np.repeat(counts.cumsum() - counts, counts)
        number = self.added[copy] + place
        self.added += counts
        slot = self.rule.slots(number, self.capacity, self._entering)
        kept = np.flatnonzero(slot < self.capacity)[::-1]  # of items in one slot the last stays
        into, item = np.unique((copy * self.capacity + slot)[kept], return_index=True)
        to = torch.from_numpy(into).to(self._device)
        for name, column in self._columns.items():
            part = parts[name][kept[item]]
            if column.dtype == torch.bool:
                part = np.packbits(part, axis=-1)
            store = self._parts[name]
            store.index_copy_(0, to, torch.from_numpy(part).to(self._device, store.dtype))
        self._measure()

    def sample(self, count: int) -> dict[str, Tensor]:
        """Items drawn with replacement, `count` of each copy: [K, count, width] or [K, count].

        A copy without items gives zeros.
        """
        uniform = torch.rand(
            self.copies, count, dtype=torch.float64, generator=self.drawing, device=self._device
        )
        rows = ((uniform * self._sizes).long() + self._first).view(-1)
        batch = {}
        for name, column in self._columns.items():
            part = self._parts[name].index_select(0, rows)
            if column.dtype == torch.bool:
                part = embedding(part.int(), self._bits).flatten(1)[:, : column.width]
            batch[name] = part.view(self.copies, count, *part.shape[1:])
        return batch

    def _measure(self) -> None:
        sizes = np.minimum(self.added, self.capacity).astype(np.float64)
        self._sizes.copy_(torch.from_numpy(sizes)[:, None])

    def state_dict(self) -> dict[str, Any]:
        """Items in use, their numbers and both generators."""
        sizes = np.minimum(self.added, self.capacity)
        return {
            "added": self.added.tolist(),
            "entering": self._entering.bit_generator.state,
            "drawing": self.drawing.get_state(),
            "items": {
                name: [
                    part[first : first + size].cpu().clone()
                    for first, size in zip(self._first[:, 0].tolist(), sizes, strict=True)
                ]
                for name, part in self._parts.items()
            },
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on where `state_dict` was taken.

        A generator of another kind of device has a state of another size. Draws from the memory
        then begin anew, by this device's own numbers for the seed.

        Raises:
            ValueError: if its items do not fit.
        """
        self._fill(state)
        self._entering.bit_generator.state = state["entering"]
        if state["drawing"].shape == self.drawing.get_state().shape:
            self.drawing.set_state(state["drawing"])

    def take_over(self, state: dict[str, Any]) -> None:
        """Hold the items of another memory, as if they had been offered to this one.

        Raises:
            Refused: if that memory has another capacity or other columns.
            ValueError: if its items do not fit otherwise.
        """
        if state["items"].keys() != self._parts.keys():
            theirs, ours = (", ".join(columns) for columns in (state["items"], self._parts))
            raise Refused(f"{self._key}: that memory holds {theirs}, this one {ours}")
        sizes = [len(items) for items in next(iter(state["items"].values()))]
        if sizes != [min(added, self.capacity) for added in state["added"]]:
            raise Refused(
                f"{self._key}: {self.capacity:,} items, the other memory has {max(sizes):,}"
            )
        self._fill(state)

    def _fill(self, state: dict[str, Any]) -> None:
        self._check(state["added"], state["items"])
        self.added = np.array(state["added"], np.int64)
        self._fewest, self._begun = None, False
        for name, part in self._parts.items():
            for first, items in zip(self._first[:, 0].tolist(), state["items"][name], strict=True):
                part[first : first + len(items)] = items.to(self._device)
        self._measure()

    def _check(self, added: Sequence[int], items: Mapping[str, Sequence[Tensor]]) -> None:
        """Check the items of a state, raising ValueError if they are none of this memory's."""
        check_range("added", np.array(added, np.int64), 0, MOST_ITEMS)
        sizes = [min(count, self.capacity) for count in added]
        if len(sizes) != self.copies:
            raise ValueError(f"added: {len(sizes)} copies, not {self.copies}")
        for name, column in self._columns.items():
            expected = [(column.stored(), (size, *column.shape())) for size in sizes]
            if [(one.dtype, tuple(one.shape)) for one in items[name]] != expected:
                raise ValueError(f"items.{name}: of another shape or kind")
            if column.below is not None:
                for one in items[name]:
                    check_range(f"items.{name}", one, 0, column.below)


def _zeros(shape: tuple[int, ...], dtype: torch.dtype, device: torch.device) -> Tensor:
    """Zeros, of which main memory holds no more than what has been written since."""
    if device.type != "cpu":
        return torch.zeros(shape, dtype=dtype, device=device)
    blank = np.zeros(prod(shape) * dtype.itemsize, np.uint8)  # torch.zeros would write them all
    return torch.from_numpy(blank).view(dtype).view(shape)
