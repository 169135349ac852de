"""Checks, made before allocation, that arrays will fit into the memory of a device."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import torch

from poker_rl.config.input_checks import ConfigError
from poker_rl.games.game_tree import GameTree
from poker_rl.learning import collectives


def check_memory(contents: str, needed_bytes: int, device: torch.device) -> None:
    """Raise ConfigError if a device has less than `needed_bytes` of memory for this process.

    `contents` begins the message: the setting and what it stores, such as "capacity: 9 items".
    """
    available_bytes = _measure_available_bytes(device)
    if needed_bytes > available_bytes:
        needed, available = (n / 2**30 for n in (needed_bytes, available_bytes))
        processes = collectives.local_world_size
        share = f" for each of {processes} processes" if processes > 1 else ""
        raise ConfigError(
            f"{contents} need about {needed:,.1f} GiB of memory; there are {available:,.1f}{share}"
        )


def check_tabular_memory(tree: GameTree, array_count: int) -> None:
    """Raise ConfigError if `array_count` float64 arrays [infosets, actions] exceed the memory."""
    setting = f"game: {tree.infoset_count:,} information sets of {tree.game.action_count:,} actions"
    check_memory(setting, array_count * 8 * tree.legal_mask.size, torch.device("cpu"))


def _measure_available_bytes(device: torch.device) -> int:
    """Return a GPU's free bytes, or this process's share of the total main memory, in bytes."""
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    installed = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    memory_bytes = min([installed, *_read_cgroup_limits(Path("/"))])
    return memory_bytes // collectives.local_world_size


def _read_cgroup_limits(root: Path) -> Iterator[int]:
    """Yield the memory limits of this process's Linux control groups (version 2), in bytes."""
    cgroup_file = root / "proc/self/cgroup"
    for line in cgroup_file.read_text().splitlines() if cgroup_file.exists() else []:
        if line.startswith("0::/"):
            group = root / "sys/fs/cgroup" / line.removeprefix("0::/")
            for folder in (group, *group.parents):  # the limits of all enclosing groups apply
                limit = folder / "memory.max"
                if limit.exists() and (limit_text := limit.read_text().strip()).isdecimal():
                    yield int(limit_text)
