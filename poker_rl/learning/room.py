"""Whether something fits into memory, asked before it is made."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import torch

from poker_rl.config.settings import Refused
from poker_rl.games.tree import Tree

GIB = 2**30

_sharing = 1  # processes of this run on this machine


def share(count: int) -> None:
    """So many processes of the run that is now prepared are on this machine."""
    global _sharing
    _sharing = count


def demand(what: str, needed: int, device: torch.device) -> None:
    """See to it that there is room on a device for so many bytes.

    Args:
        what: the setting that asks for it, and of how much: "batch: 1,000 items".

    Raises:
        Refused: if there is not.
    """
    there = _room(device)
    if needed > there:
        raise Refused(
            f"{what} need about {needed / GIB:,.1f} GiB of memory; there are {there / GIB:,.1f}"
            + (f" for each of {_sharing} processes" if _sharing > 1 else "")
        )


def demand_tables(tree: Tree, count: int) -> None:
    """See to it that there is room for so many tables of all actions at information sets.

    Raises:
        Refused: if there is not.
    """
    what = f"game: {tree.size:,} information sets of {tree.game.actions:,} actions"
    demand(what, count * 8 * tree.legal.size, torch.device("cpu"))


def _room(device: torch.device) -> int:
    """Bytes free on a GPU, or a process's share of the main memory."""
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    installed = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return min([installed, *_limits(Path("/"))]) // _sharing


def _limits(root: Path) -> Iterator[int]:
    """Bytes that a job of a cluster or a container may take: those of Linux's control groups."""
    listed = root / "proc/self/cgroup"
    for line in listed.read_text().splitlines() if listed.exists() else []:
        _, controllers, path = line.split(":", 2)
        if not controllers:
            base, name = root / "sys/fs/cgroup", "memory.max"
        elif "memory" in controllers.split(","):
            base, name = root / "sys/fs/cgroup/memory", "memory.limit_in_bytes"
        else:
            continue
        group = base / path.lstrip("/")
        for folder in (group, *group.parents):  # a group within others has their limits too
            limit = folder / name
            if limit.exists() and (told := limit.read_text().strip()).isdecimal():
                yield int(told)
