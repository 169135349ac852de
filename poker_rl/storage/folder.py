"""The run folder: what a run was asked to do and where it ran.

outputs/<game>/<algo>/<name, or what was set and the time>/
    config.yaml         the resolved settings
    manifest.json       command, versions, commit, device, start, end, status
    metrics.jsonl       a row an evaluation: counters and `tag: value`, see `record`
    events.out.*        the same for TensorBoard
    state.pt, players/  see `checkpoint`
    evaluations/        what `poker-rl evaluate` kept; report.html is from `poker-rl report`
    workers/            what processes beside the first have of their own, see `together`
    opponents/          copies of the players of other runs that this one meets
    figures/*.png       drawn at the end, unless figures=false
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import yaml  # type: ignore[import-untyped]

from poker_rl.config.files import MIB, open_file, read_json, read_text
from poker_rl.config.settings import Refused, about
from poker_rl.config.yaml_text import demand_readable
from poker_rl.storage.disk import demand_folder, demand_own, names_in, replaced

CONFIG = "config.yaml"
MANIFEST = "manifest.json"
METRICS = "metrics.jsonl"
FIGURES = "figures"
LABEL_CHARACTERS = 80  # of a folder's name, before the time
# Root settings that tell where a run is, not what it is.
PLACE = {"outputs", "name", "resume"}
# Bytes of metrics.jsonl: 100,000 rows of 2.5 KB. Python's objects take many times as much.
LARGEST_ROWS = 256 * MIB
LONGEST_ROW = 1 << 18  # bytes of a row of metrics.jsonl, with room to spare
# All that lies in a run folder before its manifest does, beside files that are not yet whole.
FIRST = {METRICS, CONFIG, "opponents"}


def label_of(overrides: Sequence[str], unsaid: Collection[str]) -> str:
    """What a user set, as the beginning of a folder's name: `entropy.start-0.5_seed-1`.

    The name stands in TensorBoard's list of runs. It is one word for shells and for Hydra, which
    takes no `=` or comma in a value such as `resume=FOLDER`. Game and algorithm are folders above.

    Args:
        unsaid: settings and groups that are left out too.
    """
    words = []
    for override in overrides:
        key, _, value = override.lstrip("+~").partition("=")
        if key not in ("game", "algo") and key.partition(".")[0] not in unsaid:
            last = value.strip("[]{}'\"").rpartition("/")[2]  # of a path
            words.append(f"{key.removeprefix('algo.')}-{last}")
    plain = (re.sub(r"[^A-Za-z0-9._-]+", "-", word).strip("-") for word in words)
    return "_".join(plain)[:LABEL_CHARACTERS]


class Taken(Refused):
    """A run of this name is in the folder already."""

    def __init__(self, folder: Path) -> None:
        again = f"give another name, or go on with resume={folder}"
        super().__init__(f"name: {folder} is there already; {again}")
        self.folder = folder


def new_folder(
    outputs: Path, game: str, algo: str, name: str | None = None, label: str = ""
) -> Path:
    """A run folder of its own, outputs/game/algo/name, or named by the label and the time.

    A folder of that name in which a run was killed before it wrote its manifest is used again.

    Raises:
        Taken: if there is one of this name already.
        Refused: if something else is in the way.
    """
    parent = outputs / game / algo
    with about("outputs"):
        demand_folder(parent)
    parent.mkdir(parents=True, exist_ok=True)
    while True:
        folder = parent / (name or f"{label}_{datetime.now():%Y-%m-%d_%H-%M-%S.%f}".lstrip("_"))
        try:
            folder.mkdir()
        except FileExistsError:
            if name is None:
                continue  # another run began in this microsecond
            if not folder.is_dir() or names_in(folder) - FIRST:
                raise Taken(folder) from None
            demand_own(folder)
        return folder


def write_text(path: Path, text: str) -> None:
    """Replace a file: at any moment it is the old one or the new one.

    Of the name of a file that is no UTF-8, which may stand in the text, a code stands there then.
    """
    with replaced(path) as beside:
        beside.write_text(text, encoding="utf-8", errors="backslashreplace")


def copy_files(folder: Path, files: Mapping[str, Path]) -> None:
    """Copy files into a run folder: by their places in it, where they lie now."""
    for place, source in files.items():
        path = folder / place
        path.parent.mkdir(exist_ok=True)
        with replaced(path) as beside:
            shutil.copyfile(source, beside)


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
        text = read_text(folder / CONFIG)
        with about(str(folder / CONFIG)):
            demand_readable(text)
        cfg = yaml.safe_load(text)
        manifest = read_json(folder / MANIFEST)
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise Refused(f"{folder} is no run folder: {CONFIG} or {MANIFEST} can't be read") from error
    if not (
        isinstance(cfg, dict)
        and isinstance(manifest, dict)
        and isinstance(manifest.get("checkpoint", 0), dict | None)
        and isinstance(manifest.get("status"), str)
        and isinstance(manifest.get("resumed"), list)
        and all(isinstance(one, dict) for one in manifest["resumed"])
    ):
        raise Refused(f"{folder} is no run folder: {CONFIG} or {MANIFEST} holds something else")

    return cfg, manifest


def read_manifest(folder: Path) -> dict[str, Any]:
    """What the manifest of a run folder holds, nothing if it is missing or damaged."""
    try:
        manifest = read_json(folder / MANIFEST)
    except (OSError, ValueError, Refused):
        return {}
    return manifest if isinstance(manifest, dict) else {}


def read_last_row(folder: Path) -> dict[str, float]:
    """The last row of a run folder that was written as a whole, nothing if there is none.

    Only the end of the file is read, which may be long and still be growing.
    """
    try:
        with open_file(folder / METRICS, LARGEST_ROWS) as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - LONGEST_ROW))
            *rows, _ = file.read().split(b"\n")
        row = json.loads(rows[-1])
    except (OSError, ValueError, IndexError, RecursionError, Refused):
        return {}
    return row if isinstance(row, dict) and all(map(is_number, row.values())) else {}


def read_rows(path: Path, size: int | None = None) -> list[dict[str, float]]:
    """The rows of a metrics.jsonl, of which the last may still be being written.

    Args:
        size: of the file in bytes when a checkpoint was made: only these are read.

    Raises:
        Refused: if it is missing or damaged, or shorter than that.
    """
    try:
        with open_file(path, LARGEST_ROWS) as file:
            text = file.read()[:size]
    except FileNotFoundError:
        raise Refused(f"{path}: no such file") from None
    if size is not None and not (0 < size == len(text) and text.endswith(b"\n")):
        raise Refused(f"{path} is not as the checkpoint left it: rows are gone")
    rows = []
    for number, line in enumerate(text[: text.rfind(b"\n") + 1].splitlines(), 1):
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            row = None
        if not (isinstance(row, dict) and all(map(is_number, row.values()))):
            raise Refused(f"{path} is damaged: line {number} is not a row of numbers")
        rows.append(row)
    return rows


def is_number(value: object) -> bool:
    """Whether it is one, as JSON and checkpoints hold them."""
    return isinstance(value, int | float)


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
        told = not isinstance(value, dict) and key not in {*PLACE, "figures"}
        if key in ("algo", "net") or told:
            add(key, value)
    return flat
