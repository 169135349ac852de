"""Provenance of a run: command, software and machine, for its manifest.

A session is one process that trains a run: the first one or one that resumed the run.
"""

from __future__ import annotations

import os
import platform
import resource
import shlex
import subprocess
import sys
from contextlib import suppress
from datetime import datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any

from poker_rl.config.plugins import list_plugins

if TYPE_CHECKING:
    import torch

RECORDED_PACKAGES = ("poker-rl", "torch", "numpy", "numba", "hydra-core", "tensorboard")


def describe_process(device: torch.device) -> dict[str, Any]:
    """Return the command, the software and the machine of this process."""
    gpu = None
    if device.type == "cuda":
        import torch

        gpu = torch.cuda.get_device_name(device)
    return {
        "command": shlex.join(sys.argv),
        "versions": {"python": platform.python_version()} | _collect_versions(),
        "commit": _get_commit(),
        "device": str(device),
        "gpu": gpu,
        "cpu": _get_cpu_name(),
        "cores": os.cpu_count(),
        "start": format_current_time(),
    }


def create_manifest(seed: int, device: torch.device) -> dict[str, Any]:
    """Return the manifest of a new run."""
    return {
        **describe_process(device),
        "seed": seed,
        "end": None,
        "tracker_id": token_hex(8),  # id of this run in experiment trackers such as MLflow
        "status": "running",  # at the end: finished, interrupted or failed
        "checkpoint": None,  # counters at the last checkpoint
        "measurements": {},  # for the tag of each measurement its unit and kind, such as "exact"
        "resumed": [],  # `describe_process` of each process that resumed the run
    }


def format_current_time() -> str:
    """Return the present time in ISO 8601, to the second, with its offset from UTC."""
    return datetime.now().astimezone().isoformat(timespec="seconds")


def get_peak_memory_mib() -> int:
    """Return the largest amount of main memory that this process has used, in MiB."""
    bytes_per_unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * bytes_per_unit >> 20


def _collect_versions() -> dict[str, str]:
    versions = {}
    for package in RECORDED_PACKAGES:
        with suppress(PackageNotFoundError):  # poker-rl may not be installed
            versions[package] = version(package)
    return versions | {plugin.distribution: plugin.version for plugin in list_plugins()}


def _get_commit() -> str | None:
    """Return the Git commit of the sources, with "-dirty" if edited; None if it is unknown."""
    checkout = Path(__file__).resolve().parents[2]
    if not (checkout / ".git").exists():
        return None
    command = ["git", "describe", "--always", "--exclude=*", "--abbrev=40", "--dirty"]
    with suppress(OSError, subprocess.CalledProcessError):
        return subprocess.check_output(
            command, cwd=checkout, stderr=subprocess.DEVNULL, text=True
        ).strip()
    return None


def _get_cpu_name() -> str:
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
