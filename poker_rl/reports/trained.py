"""Runs as they lie on the disk, found by what a user names: folders, patterns, sweeps."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from glob import glob
from io import TextIOWrapper
from pathlib import Path
from typing import Any

import numpy as np

from poker_rl.config.files import MIB, open_file
from poker_rl.config.settings import Refused
from poker_rl.evaluation.figures import AGAINST, COUNTERS, read
from poker_rl.storage.folder import CONFIG, MANIFEST, METRICS, read_folder

LARGEST_SUMMARY = 64 * MIB  # the 5,000 jobs of a sweep, with 13 KB of figures each
SECONDS = "time/elapsed_s"  # of training, what was before a resumption included
AXES = {unit: unit for unit in COUNTERS} | {"seconds": SECONDS}  # the tag of each x axis


@dataclass(frozen=True)
class Trained:
    """A run folder: its settings, its manifest, and its rows as columns by tag, [rows] each."""

    folder: Path
    cfg: Mapping[str, Any]
    manifest: Mapping[str, Any]
    curves: Mapping[str, np.ndarray]

    @property
    def game(self) -> str:
        """The name of its game."""
        return str(self.cfg["names"]["game"])

    @property
    def status(self) -> str:
        """How it ended, in words."""
        status = str(self.manifest["status"])
        if status == "running":
            return "running or killed"
        diverged = str(self.manifest.get("error", "")).startswith("Diverged")
        return "diverged" if status == "failed" and diverged else status

    @property
    def finished(self) -> bool:
        """Whether it has spent its budget."""
        return bool(self.manifest["status"] == "finished")

    def counts(self, x: str, at: float | None, unfinished: bool) -> bool:
        """Whether it is in means: it has finished or, at a place on an axis, come so far.

        Args:
            unfinished: whether it is in means of final figures too when it has not finished.
        """
        if not self.curves:
            return False
        return self.finished or unfinished if at is None else self.end(x) >= at

    @cached_property
    def headline(self) -> str | None:
        """The player that is measured first, None before anything is measured."""
        tags = (tag for tag in self.curves if tag.startswith("eval/"))
        return next((tag.split("/")[1] for tag in tags), None)

    @property
    def measures(self) -> list[str]:
        """The figures of the headline player that say how good it is: `exploitability`, else
        `against/<opponent>` of each match."""
        start = f"eval/{self.headline}/"
        if f"{start}exploitability" in self.curves:
            return ["exploitability"]
        return [
            tag.removeprefix(start)
            for tag in self.curves
            if tag.startswith(start) and (match := AGAINST.fullmatch(tag)) and not match[2]
        ]

    def tag_of(self, name: str) -> str:
        """The tag that a user named: a whole one, or a measure of the headline player."""
        return name if name in self.curves else f"eval/{self.headline}/{name}"

    def about(self, tag: str, what: str) -> str:
        """The `unit` or `kind` of a measurement, nothing if the manifest does not tell."""
        measurements = self.manifest.get("measurements")
        one = measurements.get(tag) if isinstance(measurements, dict) else None
        return str(one.get(what, "")) if isinstance(one, dict) else ""

    def points(self, tag: str, x: str) -> tuple[np.ndarray, np.ndarray]:
        """Where a tag was recorded on an axis, rising, and its values there: [N] each."""
        values = self.curves.get(tag, np.zeros(0))
        places = self.curves.get(AXES[x], np.zeros(0))
        if not len(values) or not len(places):
            return np.zeros(0), np.zeros(0)
        seen = np.isfinite(values) & np.isfinite(places)
        # Of several rows at one place the last counts.
        places, last = np.unique(places[seen][::-1], return_index=True)
        return places, values[seen][::-1][last]

    def end(self, x: str) -> float:
        """How far its rows go on an axis."""
        places = self.curves.get(AXES[x], np.zeros(0))
        return float(places[-1]) if len(places) else 0.0


def read_run(folder: Path) -> Trained:
    """What a run folder holds.

    Raises:
        Refused: if it is no run folder, or its rows are damaged.
    """
    cfg, manifest = read_folder(folder)
    names = cfg.get("names")
    if not isinstance(names, dict) or not {"game", "algo"} <= names.keys():
        raise Refused(f"{folder} is no run folder: {CONFIG} does not name game and algorithm")
    return Trained(folder, cfg, manifest, read(folder / METRICS))


def found(words: Sequence[str]) -> list[Path]:
    """The run folders that a user named, each once.

    Args:
        words: run folders, folders of run folders, summaries of sweeps, or patterns of those.

    Raises:
        Refused: if there are none, or a word leads to none.
    """
    if not words:
        raise Refused(
            "RUN: missing; give run folders, patterns such as 'outputs/leduc/*/*', or"
            " the summary of a sweep"
        )
    folders: dict[Path, Path] = {}
    for word in words:
        paths = [Path(word)] if os.path.exists(word) else [Path(one) for one in sorted(glob(word))]
        if not paths:
            raise Refused(f"{word}: no run folder is called or matches this")
        own = [folder for path in paths for folder in runs_at(path)]
        if not own:
            raise Refused(f"{word} is no run folder, and there is none below it")
        for folder in own:
            folders.setdefault(folder.resolve(), folder)
    return list(folders.values())


def runs_at(path: Path) -> list[Path]:
    """The run folder at a path, those below it, or those that a sweep's summary lists.

    Raises:
        Refused: if it is a file and no summary that lists any.
    """
    if path.is_file():
        return list(of_sweep(path))
    if (path / CONFIG).exists() or (path / MANIFEST).exists():
        return [path]
    return sorted(one.parent for one in path.rglob(CONFIG) if one.with_name(MANIFEST).exists())


def of_sweep(path: Path) -> Iterator[Path]:
    """The run folders that a summary, `outputs/sweeps/<sweep>.csv`, lists; jobs that were refused
    or not run have none.

    Raises:
        Refused: if it is something else or lists none.
    """
    try:
        with TextIOWrapper(open_file(path, LARGEST_SUMMARY), encoding="utf-8", newline="") as file:
            listed = [Path(row["folder"]) for row in csv.DictReader(file) if row["folder"]]
    except (LookupError, ValueError, TypeError, csv.Error):
        listed = []
    if not listed:
        raise Refused(f"{path} is neither a run folder nor the summary of a sweep that lists any")
    for folder in listed:
        # The folder of all runs may have been moved, its summary along with it.
        beside = path.parent.parent.joinpath(*folder.parts[-3:])
        yield beside if beside.is_dir() else folder
