"""What becomes of the jobs of a sweep: a file of each, and of all a summary and a table.

The summary, outputs/sweeps/<time>.csv, is there as soon as a run has begun. Kill -9 leaves it as it
was at most SECONDS before.
"""

from __future__ import annotations

import csv
import io
import json
import multiprocessing
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from pathlib import Path
from types import FrameType
from typing import Any, Self

from poker_rl.runs.stop import caught
from poker_rl.storage.disk import replaced, say

HALT = "halted"  # the file that tells of it
SECONDS = 1.0  # between two looks at what has become of the jobs


@dataclass(kw_only=True)
class Outcome:
    """What has become of a job so far."""

    status: str  # running, finished, interrupted, diverged, refused, failed or not run
    exit_code: int = 0
    message: str = ""
    folder: str = ""  # of the run, once it has begun
    metrics: dict[str, float] = field(default_factory=dict)  # the last row
    units: dict[str, str] = field(default_factory=dict)  # of those that are measurements

    def leave(self, folder: Path, number: int) -> None:
        """Leave word of it to the summary, which may be reading."""
        with replaced(file_of(folder, number)) as beside:
            beside.write_text(json.dumps(asdict(self)))


def file_of(folder: Path, number: int) -> Path:
    """Where a job leaves its outcome."""
    return folder / f"{number:06}.json"


def halt(folder: Path, number: int) -> None:
    """Have no further job begin, in whatever process, because of a signal: the first one counts."""
    with suppress(FileExistsError), (folder / HALT).open("x") as file:
        file.write(str(number))


def halted(folder: Path) -> bool:
    return (folder / HALT).exists()


def jobs_in_words(count: int) -> str:
    """How many jobs a sweep has."""
    return "1 job" if count == 1 else f"{count:,} jobs"


@contextmanager
def halting(folder: Path) -> Iterator[None]:
    """In this context a signal to stop ends the sweep: jobs save their work, no other begins.

    A job in this process has handlers of its own while it trains, and halts the sweep itself. A
    terminal sends SIGINT to the processes of jobs side by side as well; of all else they are told
    here. A second signal acts at once.
    """
    before: dict[signal.Signals, Any] = {}

    def note(number: int, frame: FrameType | None) -> None:
        halt(folder, number)
        for other, handler in before.items():
            signal.signal(other, handler)
        children = multiprocessing.active_children()
        if not children:  # to wait for
            raise KeyboardInterrupt
        for process in children:
            if number != signal.SIGINT:
                process.terminate()

    if threading.current_thread() is threading.main_thread():
        before |= {number: signal.signal(number, note) for number in caught()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class Summary:
    """The outcomes of all jobs, in a CSV that is kept up to date in this context.

    Args:
        folder: where each job leaves its outcome.
        jobs: the overrides of each.
        outputs: the folder of all runs.
    """

    def __init__(self, folder: Path, jobs: Sequence[list[str]], outputs: Path) -> None:
        self.folder, self.jobs = folder, jobs
        self.path = outputs / "sweeps" / f"{datetime.now():%Y-%m-%d_%H-%M-%S.%f}.csv"
        self.outcomes = [Outcome(status="not run") for _ in jobs]
        self.open = set(range(len(jobs)))  # numbers of the jobs that have not ended
        self.done = threading.Event()
        self.thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        self.thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.done.set()
        self.thread.join()
        self.look()
        for number in self.open:
            self.outcomes[number] = self._unfinished(self.outcomes[number])

    def _watch(self) -> None:
        while not self.done.wait(SECONDS):
            if self.look() and self.begun:
                with suppress(OSError):  # the last one tells of it
                    self.write()

    def look(self) -> bool:
        """Read what the jobs have left; whether anything is new."""
        before = list(self.outcomes)
        for number in sorted(self.open):
            path = file_of(self.folder, number)
            if path.exists():
                self.outcomes[number] = Outcome(**json.loads(path.read_text()))
                if self.outcomes[number].status != "running":
                    self.open.remove(number)
        return self.outcomes != before

    def _unfinished(self, outcome: Outcome) -> Outcome:
        """The outcome of a job that has left no word of its end."""
        stopped = halted(self.folder)
        if outcome.status == "running":
            status = "interrupted" if stopped else "failed"
            outcome = replace(outcome, status=status, message="ended without a word")
        return replace(outcome, exit_code=128 + self._signal() if stopped else 1)

    def _signal(self) -> int:
        """The signal that halted the sweep."""
        return int((self.folder / HALT).read_text() or signal.SIGINT)

    @property
    def begun(self) -> bool:
        """Whether any job did anything; otherwise nothing is left behind."""
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
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with replaced(self.path) as beside:
            beside.write_text(text.getvalue())

    def report(self) -> int:
        """Print how the jobs went, and write it down a last time; the exit code."""
        if self.begun:
            say(f"\n{self.table()}\n")
        for job, outcome in zip(self.jobs, self.outcomes, strict=True):
            if outcome.exit_code:
                what = f"{outcome.status}: {outcome.message}" if outcome.message else outcome.status
                print(f"poker-rl: {' '.join(job)}: {what}", file=sys.stderr)
        if self.begun:
            self.write()
            say(f"summary: {self.path}")
        codes = {outcome.exit_code for outcome in self.outcomes}
        return max(codes, key=lambda code: (code > 2, code == 1, code))  # then a bug, a refusal

    def table(self) -> str:
        """A line a job: what sets it apart, how it ended, the first measurement of each player.

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
        rows = [["job", "status", "headline", *head, "folder"]]
        for job, outcome in zip(self.jobs, self.outcomes, strict=True):
            numbers = [(outcome.metrics.get(tag), outcome.units.get(tag, "")) for tag in tags]
            rows.append(
                [
                    " ".join(override for override in job if override not in shared),
                    outcome.status,
                    next((tag.split("/")[1] for tag in outcome.metrics if tag in tags), ""),
                    *("" if number is None else f"{number:.4g} {unit}" for number, unit in numbers),
                    outcome.folder,
                ]
            )
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
