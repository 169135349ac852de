"""Files of a run folder: settings, manifest with the provenance, metrics and results of a run.

outputs/<game>/<algo>/<name, or overrides and time>/
    config.yaml         the resolved settings
    manifest.json       command, versions, commit, device, start, end, status
    metrics.jsonl       a JSON row for each evaluation: counters, and metrics by tag
    events.out.*        the metrics for TensorBoard; those of a player are in players/<player>
    state.pt, players/  checkpoint and snapshots, see `checkpoint`
    evaluations/        results of `poker-rl evaluate`
    report.html         page of `poker-rl report`
    workers/            checkpoints of the other processes of a distributed run
    opponents/          copies of opponents' files: snapshots of other runs, bots given by YAML
    figures/*.png       figures drawn at the end, unless figures=false
"""

from __future__ import annotations

import json
import os
import platform
import re
import shlex
import subprocess
import sys
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any

import yaml  # type: ignore[import-untyped]

from poker_rl.config.input_checks import (
    MIB,
    ConfigError,
    error_prefix,
    open_regular_file,
    read_json,
    read_yaml_text,
)
from poker_rl.config.option_files import dump_with_comments, flatten_dict
from poker_rl.config.plugins import list_plugins
from poker_rl.storage.disk import create_writable_folder, list_complete_files, write_text_atomically

if TYPE_CHECKING:
    import torch

CONFIG_FILE = "config.yaml"
MANIFEST_FILE = "manifest.json"
METRICS_FILE = "metrics.jsonl"
FIGURES_FOLDER = "figures"
MAX_LABEL_CHARACTERS = 80  # length of the label in a folder's name, before the time
# Top-level settings that determine only the folder of a run, not its results.
LOCATION_SETTINGS = {"outputs", "name", "resume"}
MANIFEST_TYPES: dict[str, Any] = {  # types of the entries that other code reads
    "command": str,
    "start": str,
    "end": str | None,
    "seed": int,
    "commit": str | None,
    "versions": dict,
    "status": str,
    "checkpoint": dict | None,
    "measurements": dict,
    "resumed": list,
}
# Enough for 100,000 rows of 2.5 KB. There is a limit because parsed rows need far more memory.
MAX_METRICS_BYTES = 256 * MIB
MAX_ROW_BYTES = 1 << 18
# Names of files and folders that a run creates before it writes the manifest.
FILES_BEFORE_MANIFEST = {METRICS_FILE, CONFIG_FILE, "opponents"}
RECORDED_PACKAGES = ("poker-rl", "torch", "numpy", "numba", "hydra-core", "tensorboard")


def format_overrides_label(overrides: Sequence[str], omitted_keys: Collection[str]) -> str:
    """Return a label for a folder's name, built from overrides, such as `lr.start-0.5_seed-1`.

    The label has no character with a special meaning for shells or for Hydra, so that users can
    type the folder in `resume=FOLDER`. Overrides of the top-level settings `omitted_keys` are left
    out, and so are those of game and algorithm, because the parent folders are named by these.
    """
    words = []
    for override in overrides:
        key, _, value = override.lstrip("+~").partition("=")
        if key not in ("game", "algo") and key.partition(".")[0] not in omitted_keys:
            file_name = value.strip("[]{}'\"").rpartition("/")[2]
            word = f"{key.removeprefix('algo.')}-{file_name}"
            words.append(re.sub(r"[^A-Za-z0-9._-]+", "-", word).strip("-"))
    return "_".join(words)[:MAX_LABEL_CHARACTERS]


def create_run_folder(
    outputs: Path, game: str, algo: str, name: str | None = None, label: str = ""
) -> Path:
    """Create and return the folder outputs/game/algo/name; `name` defaults to label and time.

    If the folder exists, raise ConfigError, unless its run was killed before writing a manifest.
    """
    now = f"{datetime.now():%Y-%m-%d_%H-%M-%S.%f}"
    folder = outputs / game / algo / (name or f"{label}_{now}".lstrip("_"))
    with error_prefix("outputs"):
        create_writable_folder(folder.parent)
    try:
        folder.mkdir()
    except FileExistsError:
        if not folder.is_dir() or list_complete_files(folder) - FILES_BEFORE_MANIFEST:
            hint = f"give another name, or resume it with resume={folder}"
            raise ConfigError(f"name: {folder} is there already; {hint}") from None
    return folder


def build_process_manifest(device: torch.device) -> dict[str, Any]:
    """Return the manifest's entries about this process: command, versions, hardware and start."""
    import torch

    return {
        "command": shlex.join(sys.argv),
        "versions": _collect_versions(),
        "commit": _get_commit(),
        "device": str(device),
        "gpu": torch.cuda.get_device_name(device) if device.type == "cuda" else None,
        "cpu": _get_cpu_name(),
        "cores": os.cpu_count(),
        "start": format_current_time(),
    }


def build_manifest(seed: int, device: torch.device) -> dict[str, Any]:
    """Return the manifest of a new run, which `RunRecorder` saves."""
    return {
        **build_process_manifest(device),
        "seed": seed,
        "end": None,
        "tracker_id": token_hex(8),  # id of this run in experiment trackers such as MLflow
        "status": "running",  # at the end: finished, interrupted or failed
        "checkpoint": None,  # counters at the last checkpoint
        "measurements": {},  # by tag of the measurement: its unit and its kind, such as "exact"
        # For each resume: `build_process_manifest()`, `threads`, and in `from` the counters.
        "resumed": [],
    }


def format_current_time() -> str:
    """Return the local time in ISO 8601, to the second, with its offset from UTC."""
    return datetime.now().astimezone().isoformat(timespec="seconds")


def write_config(folder: Path, config: Mapping[str, Any]) -> None:
    """Write the settings of a run to its config.yaml."""
    write_text_atomically(folder / CONFIG_FILE, dump_with_comments(dict(config), {}) + "\n")


def read_config_and_manifest(folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return settings and manifest of a run; raise ConfigError if one is missing or damaged."""
    prefix = f"{folder} is no run folder: {CONFIG_FILE} or {MANIFEST_FILE}"
    try:
        text = read_yaml_text(folder / CONFIG_FILE)
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text)):
            raise ValueError("nested aliases of a small file can make huge values")
        config = yaml.safe_load(text)
        manifest = read_json(folder / MANIFEST_FILE)
    except (OSError, ValueError, RecursionError, yaml.YAMLError) as error:
        raise ConfigError(f"{prefix} can't be read") from error
    if not (isinstance(config, dict) and isinstance(manifest, dict)) or any(
        not isinstance(one.get(key, ...), kind)
        for one, types in ((config, {"budget": int}), (manifest, MANIFEST_TYPES))
        for key, kind in types.items()
    ):
        raise ConfigError(f"{prefix} holds something else")
    return config, manifest


def read_snapshot_origin(folder: Path, decisions: int) -> dict[str, Any]:
    """Return a snapshot's origin: command, experiment, seed, status, commit and date of its run."""
    config, manifest = read_config_and_manifest(folder)
    try:
        program, *words = shlex.split(manifest["command"])
    except ValueError as error:
        raise ConfigError(f"{folder / MANIFEST_FILE}: command: {error}") from None
    words = [word for word in words if word.partition("=")[0] not in LOCATION_SETTINGS]
    return {
        "command": shlex.join([Path(program).name, *words]),
        "experiment": config["names"].get("experiment"),
        "seed": manifest["seed"],
        "decisions": decisions,
        "status": manifest["status"],
        "commit": manifest["commit"],
        "date": manifest["end"],
    }


def read_manifest(folder: Path) -> dict[str, Any]:
    """Return the manifest of a run folder; {} if it is missing or damaged."""
    try:
        manifest = read_json(folder / MANIFEST_FILE)
    except (OSError, ValueError, ConfigError):
        return {}
    return manifest if isinstance(manifest, dict) else {}


def read_last_metrics_row(folder: Path) -> dict[str, float]:
    """Return the last complete row of a run's metrics.jsonl; {} if there is none or it is damaged.

    Only the end of the file is read, because the file may be long.
    """
    try:
        with open_regular_file(folder / METRICS_FILE, MAX_METRICS_BYTES) as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - MAX_ROW_BYTES))
            *rows, _ = file.read().split(b"\n")
        return parse_metrics_row(rows[-1])
    except (OSError, ValueError, IndexError, ConfigError):
        return {}


def read_metrics_rows(path: Path, byte_count: int | None = None) -> list[dict[str, float]]:
    """Return the complete rows of a file metrics.jsonl; raise ConfigError if a row is damaged.

    With `byte_count`, read only the first `byte_count` bytes; raise ConfigError if there are fewer.
    """
    try:
        with open_regular_file(path, MAX_METRICS_BYTES) as file:
            text = file.read()[:byte_count]
    except FileNotFoundError:
        raise ConfigError(f"{path}: no such file") from None
    if byte_count is not None and not (0 < byte_count == len(text) and text.endswith(b"\n")):
        raise ConfigError(f"{path} is shorter than at the checkpoint: rows are gone")
    rows = []
    for line_number, line in enumerate(text[: text.rfind(b"\n") + 1].splitlines(), 1):
        try:
            rows.append(parse_metrics_row(line))
        except ValueError:
            raise ConfigError(
                f"{path} is damaged: line {line_number} is not a row of numbers"
            ) from None
    return rows


def parse_metrics_row(line: bytes) -> dict[str, float]:
    """Return the row in a line of metrics.jsonl; raise ValueError unless it has only numbers."""
    try:
        row = json.loads(line)
    except RecursionError:
        row = None
    if isinstance(row, dict) and all(isinstance(value, int | float) for value in row.values()):
        return row
    raise ValueError("not a row of numbers")


def flatten_hparams(config: Mapping[str, Any]) -> dict[str, str | float]:
    """Return a run's top-level, algorithm and network settings by dotted key, for TensorBoard."""
    hparams: dict[str, str | float] = {"net": "none", "experiment": "none"} | config["names"]
    for key, value in flatten_dict(config).items():
        *parents, name = key.split(".")
        is_hparam = not parents or parents[0] in ("algo", "net")
        if is_hparam and name not in {*LOCATION_SETTINGS, "figures", "_target_"}:
            is_plain = isinstance(value, int | float | str)
            hparams[key] = value if is_plain else json.dumps(value)
    return hparams


def _collect_versions() -> dict[str, str]:
    """Return the versions of Python, of the main packages and of the plug-ins, by package."""
    versions = {"python": platform.python_version()}
    for package in RECORDED_PACKAGES:
        with suppress(PackageNotFoundError):  # poker-rl may not be installed
            versions[package] = version(package)
    return versions | {plugin.distribution: plugin.version for plugin in list_plugins()}


def _get_commit() -> str | None:
    """Return the Git commit of the sources, with "-dirty" after edits; None if it is unknown."""
    checkout = Path(__file__).resolve().parents[2]
    if not (checkout / ".git").exists():
        return None
    command = ["git", "describe", "--always", "--exclude=*", "--abbrev=40", "--dirty"]
    with suppress(OSError):
        result = subprocess.run(command, cwd=checkout, capture_output=True, text=True, check=False)
        return result.stdout.strip() or None
    return None


def _get_cpu_name() -> str:
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
