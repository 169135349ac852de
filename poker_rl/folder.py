"""The run folder: what a run was asked to do and where it ran.

outputs/<game>/<algo>/<time>/
    config.yaml         the resolved settings
    manifest.json       command, versions, commit, device, start, end, status
    metrics.jsonl       a row an evaluation: counters and `tag: value`, see `record`
    events.out.*        the same for TensorBoard
    state.pt, players/  see `checkpoint`
    opponents/          copies of the players of other runs that this one meets
    figures/*.png       drawn at the end
"""

from __future__ import annotations

import json
import os
import platform
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from datetime import datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml  # type: ignore[import-untyped]

from poker_rl.settings import Refused

if TYPE_CHECKING:
    import torch

OUTPUTS = Path("outputs")
CONFIG = "config.yaml"
MANIFEST = "manifest.json"
METRICS = "metrics.jsonl"
FIGURES = "figures"
PACKAGES = ("poker-rl", "torch", "numpy", "numba", "hydra-core", "tensorboard")


def new_folder(game: str, algo: str) -> Path:
    """A run folder of its own, named by the time.

    Raises:
        Refused: if it can't be made.
    """
    while True:
        folder = OUTPUTS / game / algo / f"{datetime.now():%Y-%m-%d_%H-%M-%S.%f}"
        try:
            folder.parent.mkdir(parents=True, exist_ok=True)
            folder.mkdir()
        except FileExistsError:
            continue  # another run began in this microsecond
        except OSError as error:
            raise Refused(f"{folder} can't be made: {error.strerror}") from error
        return folder


def write_text(path: Path, text: str) -> None:
    """Replace a file: at any moment it is the old one or the new one."""
    beside = path.with_name(path.name + ".part")
    beside.write_text(text)
    os.replace(beside, path)


def copy_files(folder: Path, files: Mapping[str, Path]) -> None:
    """Copy files into a run folder: by their places in it, where they lie now.

    Raises:
        Refused: if one can't be read or written.
    """
    for place, source in files.items():
        path = folder / place
        beside = path.with_name(path.name + ".part")
        try:
            path.parent.mkdir(exist_ok=True)
            shutil.copyfile(source, beside)
            os.replace(beside, path)
        except OSError as error:
            raise Refused(f"{path} can't be copied from {source}: {error.strerror}") from error


def write_config(folder: Path, cfg: Mapping[str, Any]) -> None:
    write_text(folder / CONFIG, yaml.safe_dump(dict(cfg), sort_keys=False, allow_unicode=True))


def write_manifest(folder: Path, manifest: Mapping[str, Any]) -> None:
    write_text(folder / MANIFEST, json.dumps(manifest, indent=2) + "\n")


def read_folder(folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Config and manifest of a run folder.

    Raises:
        Refused: if it is none.
    """
    try:
        cfg = yaml.safe_load((folder / CONFIG).read_text())
        manifest = json.loads((folder / MANIFEST).read_text())
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise Refused(f"{folder} is no run folder: {CONFIG} or {MANIFEST} can't be read") from error
    if not (
        isinstance(cfg, dict)
        and isinstance(manifest, dict)
        and isinstance(manifest.get("checkpoint", 0), dict | None)
        and isinstance(manifest.get("status"), str)
        and isinstance(manifest.get("resumed"), list)
    ):
        raise Refused(f"{folder} is no run folder: {CONFIG} or {MANIFEST} holds something else")
    return cfg, manifest


def describe(seed: int, device: torch.device) -> dict[str, Any]:
    """The beginning of a manifest: what is run, on what."""
    gpu = None
    if device.type == "cuda":
        import torch

        gpu = torch.cuda.get_device_name(device)
    return {
        "command": shlex.join(sys.argv),
        "versions": {"python": platform.python_version()} | _versions(),
        "commit": _commit(),
        "seed": seed,
        "device": str(device),
        "gpu": gpu,
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "start": now(),
        "end": None,
        "status": "running",  # then finished, interrupted or failed; kill -9 leaves it
        "checkpoint": None,  # the counters at the last one
        "measurements": {},  # what kind of number each tag is
        "resumed": [],
    }


def now() -> str:
    return datetime.now().astimezone().isoformat(timespec="seconds")


def _versions() -> dict[str, str]:
    found = {}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:  # a checkout that was not installed
            continue
    return found


def _commit() -> str | None:
    """The commit of the source that runs, "-dirty" if edited; None outside a checkout."""
    checkout = Path(__file__).resolve().parents[1]
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


def hparams(cfg: Mapping[str, Any]) -> dict[str, str | float]:
    """What runs are compared by in TensorBoard: root settings, algorithm and network, flat."""
    flat: dict[str, str | float] = {"net": "none", "experiment": "none"} | cfg["names"]

    def add(key: str, value: Any) -> None:
        if isinstance(value, dict):
            for name, inner in value.items():
                if name != "_target_":
                    add(f"{key}.{name}", inner)
        else:
            flat[key] = value if isinstance(value, int | float | str) else json.dumps(value)

    for key, value in cfg.items():
        if key in ("algo", "net") or not (isinstance(value, dict) or key == "resume"):
            add(key, value)
    return flat
