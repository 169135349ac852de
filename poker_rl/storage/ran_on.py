"""What a run ran on: the command, the software, the machine, and the beginning of its manifest."""

from __future__ import annotations

import os
import platform
import resource
import shlex
import subprocess
import sys
from collections.abc import Mapping
from datetime import datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from poker_rl.config.plugins import plugins

if TYPE_CHECKING:
    import torch

PACKAGES = ("poker-rl", "torch", "numpy", "numba", "hydra-core", "tensorboard")


def session(device: torch.device) -> dict[str, Any]:
    """What a process that trains is: the command, the software and the machine."""
    gpu = None
    if device.type == "cuda":
        import torch

        gpu = torch.cuda.get_device_name(device)
    return {
        "command": shlex.join(sys.argv),
        "versions": {"python": platform.python_version()} | _versions(),
        "commit": _commit(),
        "device": str(device),
        "gpu": gpu,
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "start": now(),
    }


def describe(seed: int, device: torch.device) -> dict[str, Any]:
    """The beginning of a manifest: what is run, on what."""
    return {
        **session(device),
        "seed": seed,
        "end": None,
        "status": "running",  # then finished, interrupted or failed; kill -9 leaves it
        "checkpoint": None,  # the counters at the last one
        "measurements": {},  # what kind of number each tag is
        "resumed": [],
    }


def changes(
    manifest: Mapping[str, Any],
    settings: Mapping[str, Any],
    now: Mapping[str, Any],
    settings_now: Mapping[str, Any],
) -> list[str]:
    """What is not as it was when the run was last trained: `torch 2.12.0, now 2.13.0`.

    Args:
        manifest: the run's.
        settings: those that it had.
        now: this `session`.
        settings_now: those that it has now.
    """

    def facts(of: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
        named = {name: of.get(name) for name in ("commit", "device", "gpu", "cpu")}
        versions = of.get("versions")
        how = {
            "threads": settings.get("threads"),
            "precision": settings.get("precision"),
        }
        return {**named, **(versions if isinstance(versions, dict) else {}), **how}

    last = [manifest, *manifest["resumed"]][-1]
    before, after = facts(last, settings), facts(now, settings_now)
    return [
        f"{name} {before.get(name)}, now {after.get(name)}"
        for name in before | after
        if before.get(name) != after.get(name)
    ]


def now() -> str:
    return datetime.now().astimezone().isoformat(timespec="seconds")


def peak_memory() -> int:
    """MiB of main memory, the most that this process has had at a time."""
    unit = 1 if sys.platform == "darwin" else 1024  # bytes there, KiB on Linux
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit >> 20


def _versions() -> dict[str, str]:
    found = {}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:  # a checkout that was not installed
            continue
    return found | {plugin.distribution: plugin.version for plugin in plugins()}


def _commit() -> str | None:
    """The commit of the source that runs, "-dirty" if edited; None outside a checkout."""
    checkout = Path(__file__).resolve().parents[2]
    if not (checkout / ".git").exists():
        return None
    command = ["git", "describe", "--always", "--exclude=*", "--abbrev=40", "--dirty"]
    try:
        done = subprocess.run(command, cwd=checkout, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
