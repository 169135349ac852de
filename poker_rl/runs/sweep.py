"""What becomes of the jobs of a sweep: read from folders, at any time and from any machine.

outputs/sweeps/<what was set>/
    jobs.json           the overrides of each job
    000000.json …       what each job has told of itself: how it ended, and where its run is
outputs/sweeps/<what was set>.csv   the summary, which the sweep keeps up to date while it runs

How far a run is, stands in its own folder.
"""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import threading
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Self

from poker_rl.config.files import read_json
from poker_rl.config.messages import printable
from poker_rl.config.settings import Refused
from poker_rl.storage.disk import demand_own, lacking, make_folder, remove_made, replaced, say, tell
from poker_rl.storage.folder import read_last_row, read_manifest

JOBS = "jobs.json"
SECONDS = 1.0  # between two looks at what has become of the jobs
ENDED = ("finished", "interrupted", "diverged", "refused", "failed", "in use")


@dataclass(kw_only=True)
class Outcome:
    """What has become of a job so far."""

    status: str  # of those ENDED, not run, or running; of a run as it is seen: running or killed
    exit_code: int = 0
    message: str = ""
    folder: str = ""  # of the run, once it has begun
    metrics: dict[str, float] = field(default_factory=dict)  # the last row
    units: dict[str, str] = field(default_factory=dict)  # of those that are measurements
    decisions: int | None = None  # that are saved, perhaps more than at the last row

    def leave(self, sweep: Path, number: int) -> None:
        """Leave word of it to the summary, which may be reading, on another machine too."""
        # Where a file system is mounted may differ, and so may the folder that one stands in.
        folder = os.path.relpath(self.folder, sweep) if self.folder else ""
        with replaced(file_of(sweep, number)) as beside:
            beside.write_text(json.dumps(asdict(replace(self, folder=folder))))


def file_of(sweep: Path, number: int) -> Path:
    """Where a job leaves its outcome."""
    return sweep / f"{number:06}.json"


def outcome_of(sweep: Path, number: int) -> Outcome:
    """What a job has told of itself last."""
    try:
        outcome = Outcome(**read_json(file_of(sweep, number)))
    except FileNotFoundError:
        return Outcome(status="not run")
    except (TypeError, ValueError):
        raise Refused(f"{file_of(sweep, number)} is damaged: it tells of no job") from None
    folder = os.path.normpath(sweep / outcome.folder) if outcome.folder else ""
    return replace(outcome, folder=folder)


def seen(outcome: Outcome) -> Outcome:
    """The same job with what its run's folder says, which may be of later than its own words."""
    if not outcome.folder:
        return outcome
    folder = Path(outcome.folder)
    manifest, row = read_manifest(folder), read_last_row(folder)
    status = str(manifest.get("status", outcome.status))
    if status == "finished":
        outcome = replace(outcome, status=status, exit_code=0, message="")
    elif outcome.status in ("running", "not run", "in use"):
        named = "running or killed" if status == "running" else status
        outcome = replace(outcome, status=named)
    made = (row.get("decisions"), (manifest.get("checkpoint") or {}).get("decisions"))
    if known := [int(number) for number in made if number is not None]:
        outcome = replace(outcome, decisions=max(known))
    if not row:
        return outcome
    measurements = manifest.get("measurements") or {}
    units = {tag: str(one["unit"]) for tag, one in measurements.items()}
    return replace(outcome, metrics=row, units=units)


def jobs_in_words(count: int) -> str:
    """How many jobs a sweep has."""
    return "1 job" if count == 1 else f"{count:,} jobs"


def jobs_of(sweep: Path) -> list[list[str]]:
    """The overrides of each job of a sweep.

    Raises:
        Refused: if the folder is none of a sweep.
    """
    try:
        jobs = read_json(sweep / JOBS)
    except (FileNotFoundError, NotADirectoryError):
        jobs = None
    except ValueError:
        raise Refused(f"{sweep / JOBS} is damaged: it lists no jobs") from None
    if not isinstance(jobs, list):
        raise Refused(f"{sweep} is not the folder of a sweep; such a folder is outputs/sweeps/NAME")
    return jobs


def begin(sweep: Path, jobs: Sequence[list[str]]) -> Path | None:
    """Make the folder of a sweep; what is there of an earlier start is to be told anew.

    Returns:
        the highest folder that was made, None if the sweep was begun before.
    """
    made = lacking(sweep)
    make_folder(sweep)
    demand_own(sweep)
    if not (sweep / JOBS).exists():
        with replaced(sweep / JOBS) as beside:
            beside.write_text(json.dumps(list(jobs)))
    for number in range(len(jobs)):
        before = outcome_of(sweep, number)
        finished = read_manifest(Path(before.folder)).get("status") == "finished"
        if before.status != "not run" and not (before.folder and finished):
            Outcome(status="not run", folder=before.folder).leave(sweep, number)
    return made


class Summary:
    """The outcomes of all jobs, in a CSV that is kept up to date in this context.

    Args:
        sweep: its folder.

    Raises:
        Refused: if it is none.
    """

    def __init__(self, sweep: Path) -> None:
        self.sweep, self.jobs = sweep, jobs_of(sweep)
        name = os.path.basename(os.path.abspath(sweep))  # of `.` too
        self.path = Path(os.path.normpath(sweep / ".." / f"{name}.csv"))
        self.outcomes = [Outcome(status="not run") for _ in self.jobs]
        # Numbers of the jobs that may have more to tell: a queue begins one again that was stopped.
        self.open = set(range(len(self.jobs)))
        self.silent = set(self.open)  # of those that have not told of an end
        self.done = threading.Event()
        self.thread = threading.Thread(target=self._watch, daemon=True)
        self.look()

    def __enter__(self) -> Self:
        self.thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.done.set()
        self.thread.join()
        self.look()

    def _watch(self) -> None:
        while not self.done.wait(SECONDS):
            with suppress(OSError):  # the last one tells of it
                if self.look() and self.begun:
                    self.write()

    def look(self) -> bool:
        """Read what the jobs have left; whether anything is new."""
        before = list(self.outcomes)
        there = {path.name for path in self.sweep.iterdir()}
        for number in sorted(self.open):
            if file_of(self.sweep, number).name in there:
                outcome = outcome_of(self.sweep, number)
                self.outcomes[number] = seen(outcome)
                (self.silent.discard if outcome.status in ENDED else self.silent.add)(number)
                if outcome.status == "finished":
                    self.open.remove(number)
        return self.outcomes != before

    @property
    def begun(self) -> bool:
        """Whether any job did anything; otherwise there is nothing to tell."""
        return any(outcome.status not in ("refused", "not run") for outcome in self.outcomes)

    def write(self) -> None:
        """A row a job: what was set, how it ended, where it is, its last metrics."""
        rows = [
            dict(override.partition("=")[::2] for override in job)
            | {"status": outcome.status, "message": outcome.message, "folder": outcome.folder}
            | with_units(outcome)
            for job, outcome in zip(self.jobs, self.outcomes, strict=True)
        ]
        text = io.StringIO(newline="")
        writer = csv.DictWriter(text, list(dict.fromkeys(key for row in rows for key in row)))
        writer.writeheader()
        writer.writerows(rows)
        with replaced(self.path) as beside:
            beside.write_text(text.getvalue())

    def report(self, signal: int | None, made: Path | None) -> int:
        """Print how the jobs went, and write it down a last time; the exit code.

        Nothing is left behind of a sweep that is new and in which nothing could begin.

        Args:
            signal: the number of the one that halted the sweep.
            made: the highest folder that was made for the sweep, None if it was begun before.
        """
        if self.begun:
            say(f"\n{self.table()}\n")
        for number in self.silent:
            code = 1 if signal is None else 128 + signal
            self.outcomes[number] = replace(self.outcomes[number], exit_code=code)
        for job, outcome in zip(self.jobs, self.outcomes, strict=True):
            if outcome.exit_code:
                what = f"{outcome.status}: {outcome.message}" if outcome.message else outcome.status
                tell(f"{' '.join(job)}: {what}")
        refused = all(outcome.status == "refused" for outcome in self.outcomes)
        if self.begun or (refused and made is None):
            self.write()
            say(f"summary: {self.path}")
        elif refused and made is not None:
            shutil.rmtree(self.sweep, ignore_errors=True)  # another process may be at it too
            remove_made(self.sweep.parent, made)
        codes = {outcome.exit_code for outcome in self.outcomes}
        return max(codes, key=lambda code: (code > 2, code == 1, code))  # then a bug, a refusal

    def counts(self) -> str:
        """How many jobs are how far: `3 jobs: 2 finished, 1 not run`."""
        counts = Counter(outcome.status for outcome in self.outcomes)
        parts = ", ".join(f"{count:,} {status}" for status, count in counts.items())
        return f"{jobs_in_words(len(self.jobs))}: {parts}"

    def table(self) -> str:
        """A line a job: what sets it apart, how far it is, the first measurement of each player.

        An algorithm's headline player is the one whose measurements come first.
        """
        shared = set.intersection(*map(set, self.jobs))
        first: dict[str, str] = {}
        for outcome in self.outcomes:
            for tag in outcome.metrics:
                if tag.startswith("eval/"):
                    first.setdefault(tag.split("/")[1], tag)
        tags = sorted(first.values())
        head = [tag.removeprefix("eval/") for tag in tags]
        rows = [["job", "decisions", "status", "headline", *head, "folder"]]
        for job, outcome in zip(self.jobs, self.outcomes, strict=True):
            numbers = [(outcome.metrics.get(tag), outcome.units.get(tag, "")) for tag in tags]
            decisions = outcome.decisions
            rows.append(
                [
                    " ".join(override for override in job if override not in shared),
                    "" if decisions is None else f"{decisions:,}",
                    outcome.status,
                    next((tag.split("/")[1] for tag in outcome.metrics if tag in tags), ""),
                    *("" if number is None else f"{number:.4g} {unit}" for number, unit in numbers),
                    outcome.folder,
                ]
            )
        rows = [list(map(printable, row)) for row in rows]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)


def with_units(outcome: Outcome) -> dict[str, Any]:
    """The metrics of a job, behind each measurement its unit: the jobs of a sweep may differ."""
    cells: dict[str, Any] = {}
    for tag, value in outcome.metrics.items():
        cells[tag] = value
        if tag in outcome.units:
            cells[f"{tag}/unit"] = outcome.units[tag]
    return cells
