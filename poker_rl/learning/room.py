"""Whether something fits into memory, asked before it is made."""

from __future__ import annotations

import os

import torch

from poker_rl.config.settings import Refused

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


def _room(device: torch.device) -> int:
    """Bytes free on a GPU, or a process's share of the main memory."""
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // _sharing
