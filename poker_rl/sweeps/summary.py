"""How far the jobs of a sweep are, read from folders at any time and on any machine.

outputs/sweeps/<what was set>/
    jobs.json           the overrides of each job
    000000.json ...     for each job that has started: its run folder and how it ended
outputs/sweeps/<what was set>.csv   the summary, written when the sweep ends or is looked at
"""

from __future__ import annotations

import csv
import io
import json
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from poker_rl.config.files import read_json
from poker_rl.config.messages import printable
from poker_rl.config.settings import Refused
from poker_rl.storage.disk import demand_own, make_folder, replaced, say
from poker_rl.storage.folder import read_last_row, read_manifest
from poker_rl.training.outcome import Outcome

JOBS = "jobs.json"
NOT_RUN = Outcome(status="not run")
RUNNING = "running or killed"


@dataclass(kw_only=True)
class JobState(Outcome):
    """A job as its run folder shows it.

    Attributes:
        decisions: at the last checkpoint or row; None before the first.
    """

    decisions: int | None = None


def create_sweep(sweep: Path, jobs: Sequence[list[str]]) -> None:
    """Create the folder of a sweep, or open it again: jobs that are not finished have no outcome.

    Raises:
        Refused: if something else is in its place.
    """
    make_folder(sweep)
    demand_own(sweep)
    if not (sweep / JOBS).exists():
        with replaced(sweep / JOBS) as part:
            part.write_text(json.dumps(list(jobs)))
    for number in range(len(jobs)):
        outcome = read_outcome(sweep, number)
        if outcome.status != NOT_RUN.status and read_job(sweep, number).status != "finished":
            save_outcome(sweep, number, replace(NOT_RUN, folder=outcome.folder))


def read_jobs(sweep: Path) -> list[list[str]]:
    """Return the overrides of each job of a sweep.

    Raises:
        Refused: if the folder is not one of a sweep.
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


def save_outcome(sweep: Path, number: int, outcome: Outcome) -> None:
    """Save how a job is doing, for summaries on this and on other machines."""
    # Where a file system is mounted may differ, and so may the working folder.
    folder = os.path.relpath(outcome.folder, sweep) if outcome.folder else ""
    with replaced(sweep / f"{number:06}.json") as part:
        part.write_text(json.dumps(asdict(replace(outcome, folder=folder))))


def read_outcome(sweep: Path, number: int) -> Outcome:
    """Return the outcome that a job saved last."""
    path = sweep / f"{number:06}.json"
    try:
        outcome = Outcome(**read_json(path))
    except FileNotFoundError:
        return NOT_RUN
    except (TypeError, ValueError):
        raise Refused(f"{path} is damaged: it is not the outcome of a job") from None
    folder = os.path.normpath(sweep / outcome.folder) if outcome.folder else ""
    return replace(outcome, folder=folder)


def read_job(sweep: Path, number: int) -> JobState:
    """Return the state of a job: its outcome, and what its run folder shows since."""
    job = JobState(**vars(read_outcome(sweep, number)))
    if not job.folder:
        return job
    manifest, row = read_manifest(Path(job.folder)), read_last_row(Path(job.folder))
    status = str(manifest.get("status", job.status))
    if status == "finished":
        job = replace(job, status=status, exit_code=0, message="")
    elif job.status in ("running", "not run", "in use"):
        job = replace(job, status=RUNNING if status == "running" else status)
    counts = (row.get("decisions"), (manifest.get("checkpoint") or {}).get("decisions"))
    if known := [int(count) for count in counts if count is not None]:
        job = replace(job, decisions=max(known))
    measurements = manifest.get("measurements") or {}
    units = {tag: str(one["unit"]) for tag, one in measurements.items()}
    return replace(job, metrics=row, units=units) if row else job


def count_jobs(count: int) -> str:
    """Return "1 job" or "5,000 jobs"."""
    return "1 job" if count == 1 else f"{count:,} jobs"


class Summary:
    """The states of all jobs of a sweep when this object was made.

    Raises:
        Refused: if the folder is not one of a sweep.
    """

    def __init__(self, sweep: Path) -> None:
        self.overrides = read_jobs(sweep)
        self.jobs = [read_job(sweep, number) for number in range(len(self.overrides))]
        name = os.path.basename(os.path.abspath(sweep))  # of `.` too
        self.path = Path(os.path.normpath(sweep / ".." / f"{name}.csv"))

    @property
    def has_runs(self) -> bool:
        """Return whether a job has started a run."""
        return any(job.status not in ("refused", "not run") for job in self.jobs)

    def write_csv(self) -> None:
        """Write a row for each job: its overrides, status, run folder and last metrics."""
        rows = [
            dict(override.partition("=")[::2] for override in overrides)
            | {"status": job.status, "message": job.message, "folder": job.folder}
            | metrics_with_units(job)
            for overrides, job in zip(self.overrides, self.jobs, strict=True)
        ]
        text = io.StringIO(newline="")
        writer = csv.DictWriter(text, list(dict.fromkeys(key for row in rows for key in row)))
        writer.writeheader()
        writer.writerows(rows)
        with replaced(self.path) as part:
            part.write_text(text.getvalue())
        say(f"summary: {self.path}")

    def counts(self) -> str:
        """Return the number of jobs by status: `3 jobs: 2 finished, 1 not run`."""
        counts = Counter(job.status for job in self.jobs)
        parts = ", ".join(f"{count:,} {status}" for status, count in counts.items())
        return f"{count_jobs(len(self.jobs))}: {parts}"

    def table(self) -> str:
        """Return a line for each job: its own overrides, status and headline measurements.

        An algorithm's headline player is the one whose measurements come first.
        """
        shared = set.intersection(*map(set, self.overrides))
        first: dict[str, str] = {}
        for job in self.jobs:
            for tag in job.metrics:
                if tag.startswith("eval/"):
                    first.setdefault(tag.split("/")[1], tag)
        tags = sorted(first.values())
        heads = [tag.removeprefix("eval/") for tag in tags]
        rows = [["job", "decisions", "status", "headline", *heads, "folder"]]
        for overrides, job in zip(self.overrides, self.jobs, strict=True):
            cells = [(job.metrics.get(tag), job.units.get(tag, "")) for tag in tags]
            rows.append(
                [
                    " ".join(override for override in overrides if override not in shared),
                    "" if job.decisions is None else f"{job.decisions:,}",
                    job.status,
                    next((tag.split("/")[1] for tag in job.metrics if tag in tags), ""),
                    *("" if value is None else f"{value:.4g} {unit}" for value, unit in cells),
                    job.folder,
                ]
            )
        rows = [list(map(printable, row)) for row in rows]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)


def metrics_with_units(job: Outcome) -> dict[str, Any]:
    """Return the metrics of a job, each measurement followed by its unit."""
    cells: dict[str, Any] = {}
    for tag, value in job.metrics.items():
        cells[tag] = value
        if tag in job.units:
            cells[f"{tag}/unit"] = job.units[tag]
    return cells
