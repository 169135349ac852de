"""Outcomes of a sweep's jobs, saved in the sweep's folder.

outputs/sweeps/<overrides and digest>/
    jobs.json           the overrides of each job
    000000.json ...     the run folder and the outcome of each job that has started
outputs/sweeps/<overrides and digest>.csv
                        the summary, written at the end of the sweep and by `poker-rl sweep`
"""

from __future__ import annotations

import csv
import json
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from poker_rl.config.validation import ConfigError, read_json
from poker_rl.storage.console import escape_control_characters, print_line
from poker_rl.storage.disk import atomic_replacement, create_writable_folder, write_text_atomically
from poker_rl.storage.run_folder import read_last_metrics_row, read_manifest
from poker_rl.training.run_outcome import RunOutcome

JOBS_FILE = "jobs.json"
RUNNING = "running or killed"  # status of a job that has started but has not reported its end


@dataclass(frozen=True)
class JobOutcome(RunOutcome):
    """Outcome of a job, with the last metrics of its run."""

    folder: str = ""  # the run folder; empty if it was not created
    metrics: dict[str, float] = field(default_factory=dict)  # last row of metrics.jsonl
    units: dict[str, str] = field(default_factory=dict)  # unit of each measurement, by tag


def create_sweep_folder(sweep: Path, jobs: Sequence[list[str]]) -> None:
    """Create the folder of a sweep with the overrides of its jobs, if it does not exist."""
    create_writable_folder(sweep)
    if not (sweep / JOBS_FILE).exists():
        write_text_atomically(sweep / JOBS_FILE, json.dumps(list(jobs)))


def read_job_overrides(sweep: Path) -> list[list[str]]:
    """Return the overrides of each job of a sweep."""
    try:
        jobs = read_json(sweep / JOBS_FILE)
    except (FileNotFoundError, NotADirectoryError):
        jobs = None
    except ValueError:
        raise ConfigError(f"{sweep / JOBS_FILE} is damaged: it lists no jobs") from None
    if not isinstance(jobs, list):
        raise ConfigError(
            f"{sweep} is not the folder of a sweep; such a folder is outputs/sweeps/NAME"
        )
    return jobs


def save_outcome(sweep: Path, number: int, outcome: RunOutcome, folder: Path | None) -> None:
    """Save the present outcome of a job, and its run folder, in the sweep's folder."""
    # A refused job has no folder, but another run may have the name that the user gave to the job.
    # The path is relative, because other machines may mount the file system elsewhere.
    path = "" if folder is None or outcome.status == "refused" else os.path.relpath(folder, sweep)
    text = json.dumps(asdict(outcome) | {"folder": path})
    write_text_atomically(sweep / f"{number:06}.json", text)


def read_job_outcome(sweep: Path, number: int) -> JobOutcome:
    """Return the outcome of a job, from the sweep's folder and the folder of its run."""
    path = sweep / f"{number:06}.json"
    try:
        job = JobOutcome(**read_json(path))
    except FileNotFoundError:
        return JobOutcome("not run")
    except (TypeError, ValueError):
        raise ConfigError(f"{path} is damaged: it is not the outcome of a job") from None
    folder = Path(os.path.normpath(sweep / job.folder))
    if not job.folder or not folder.exists():
        return replace(job, folder="", status=RUNNING if job.status == "running" else job.status)
    manifest, row = read_manifest(folder), read_last_metrics_row(folder)
    status = str(manifest.get("status", job.status))
    if status == "finished":
        job = JobOutcome(status)
    elif job.status == "running":
        job = replace(job, status=RUNNING if status == "running" else status)
    measurements = manifest.get("measurements") or {}
    units = {tag: str(measurement["unit"]) for tag, measurement in measurements.items()}
    return replace(job, folder=str(folder), metrics=row, units=units)


def format_job_count(count: int) -> str:
    """Return "1 job" or "5,000 jobs"."""
    return "1 job" if count == 1 else f"{count:,} jobs"


class JobOutcomes:
    """Status, run folder and last metrics of each job of a sweep when this object is created."""

    def __init__(self, sweep: Path) -> None:
        self.overrides = read_job_overrides(sweep)
        self.jobs = [read_job_outcome(sweep, number) for number in range(len(self.overrides))]
        name = os.path.basename(os.path.abspath(sweep))
        self.path = Path(os.path.normpath(sweep / ".." / f"{name}.csv"))

    def write_csv(self) -> None:
        """Write a CSV file with a row for each job: overrides, status, run folder, last metrics."""
        rows = []
        for overrides, job in zip(self.overrides, self.jobs, strict=True):
            row: dict[str, Any] = dict(override.partition("=")[::2] for override in overrides)
            row |= {"status": job.status, "message": job.message, "folder": job.folder}
            for tag, value in job.metrics.items():
                row[tag] = value
                if tag in job.units:
                    row[f"{tag}/unit"] = job.units[tag]
            rows.append(row)
        with atomic_replacement(self.path) as part, part.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(dict.fromkeys(key for row in rows for key in row)))
            writer.writeheader()
            writer.writerows(rows)
        print_line(f"summary: {self.path}")

    def format_counts(self) -> str:
        """Return the number of jobs by status, as in `3 jobs: 2 finished, 1 not run`."""
        counts = Counter(job.status for job in self.jobs)
        parts = ", ".join(f"{count:,} {status}" for status, count in counts.items())
        return f"{format_job_count(len(self.jobs))}: {parts}"

    def format_table(self) -> str:
        """Return a table with a line for each job.

        It shows the overrides that not all jobs share, the status, and the first measurement of the
        run's headline player.
        """
        shared = set.intersection(*map(set, self.overrides))
        lines = []
        for overrides, job in zip(self.overrides, self.jobs, strict=True):
            tag = next((tag for tag in job.metrics if tag.startswith("eval/")), "")
            _, player, measure = (*tag.split("/", 2), "", "")[:3]
            own = " ".join(override for override in overrides if override not in shared)
            decisions = f"{int(job.metrics.get('decisions', 0)):,}" if job.metrics else ""
            heading = f"{measure} ({job.units.get(tag, '')})".removesuffix(" ()")
            value = f"{job.metrics[tag]:.4g}" if tag else ""
            lines.append(([own, decisions, job.status, player], {heading: value}, job.folder))
        columns = list(
            dict.fromkeys(column for _, values, _ in lines for column in values if column)
        )
        rows = [["job", "decisions", "status", "player", *columns, "folder"]]
        for start, values, folder in lines:
            rows.append([*start, *(values.get(column, "") for column in columns), folder])
        rows = [list(map(escape_control_characters, row)) for row in rows]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)


def print_progress(folder: Path) -> None:
    """Print the progress of the jobs of a sweep, and write its summary."""
    outcomes = JobOutcomes(folder)
    print_line(f"{outcomes.format_table()}\n\n{outcomes.format_counts()}")
    outcomes.write_csv()
