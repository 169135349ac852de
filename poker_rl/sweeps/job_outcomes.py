"""Outcomes of a sweep's jobs, saved in the sweep's folder.

outputs/sweeps/<overrides and digest>/
    jobs.json           the overrides of each job
    000000.json ...     the run folder and the outcome of each job that has started, by its number
outputs/sweeps/<overrides and digest>.csv
                        the summary, written at the end of the sweep and by `poker-rl sweep`
"""

from __future__ import annotations

import csv
import json
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from poker_rl.config.input_checks import ConfigError, read_json
from poker_rl.storage.disk import atomic_replacement, write_text_atomically
from poker_rl.storage.run_files import read_last_metrics_row, read_manifest
from poker_rl.storage.terminal_messages import escape_control_characters, print_line
from poker_rl.training.run_endings import RunOutcome

JOBS_FILE = "jobs.json"
RUNNING_OR_KILLED = "running or killed"  # status of a job that has not reported its end


@dataclass(frozen=True)
class JobOutcome(RunOutcome):
    """Outcome of a job, with its run folder and the last metrics of its run."""

    folder: str = ""  # the run folder; empty if it was not created
    metrics: dict[str, float] = field(default_factory=dict)  # last row of metrics.jsonl
    units: dict[str, str] = field(default_factory=dict)  # unit of each measurement, by tag


def read_job_overrides(sweep: Path) -> list[list[str]]:
    """Return the overrides of each job of a sweep; raise ConfigError if it is no sweep."""
    try:
        jobs: list[list[str]] = read_json(sweep / JOBS_FILE)
    except (OSError, ValueError):
        jobs = []
    if not (isinstance(jobs, list) and jobs and all(isinstance(job, list) for job in jobs)):
        raise ConfigError(
            f"{sweep} is not the folder of a sweep; such a folder is outputs/sweeps/NAME"
        )
    return jobs


def save_job_outcome(sweep: Path, number: int, outcome: RunOutcome, folder: Path | None) -> None:
    """Save a job's present outcome, and its run folder if it has one, in the sweep's folder."""
    # The path is relative, because other machines may mount the file system elsewhere.
    path = "" if folder is None else os.path.relpath(folder, sweep)
    text = json.dumps(asdict(outcome) | {"folder": path})
    write_text_atomically(sweep / f"{number:06}.json", text)


def read_job_outcome(sweep: Path, number: int) -> JobOutcome:
    """Return the outcome of a job, from the sweep's folder and the folder of its run."""
    path = sweep / f"{number:06}.json"
    try:
        job = JobOutcome(**read_json(path))
    except FileNotFoundError:
        return JobOutcome("not run")  # the job has not started
    except (TypeError, ValueError):
        raise ConfigError(f"{path} is damaged: it is not the outcome of a job") from None
    folder = Path(os.path.normpath(sweep / job.folder))
    manifest = read_manifest(folder) if job.folder else {}
    run_status = manifest.get("status", "running")
    if job.status == "running":
        job = JobOutcome(RUNNING_OR_KILLED if run_status == "running" else run_status)
    if not manifest:
        return replace(job, folder="")
    units = {tag: str(one["unit"]) for tag, one in (manifest.get("measurements") or {}).items()}
    return replace(job, folder=str(folder), metrics=read_last_metrics_row(folder), units=units)


def format_job_count(count: int) -> str:
    """Return "1 job" or "5,000 jobs"."""
    return "1 job" if count == 1 else f"{count:,} jobs"


class JobOutcomes:
    """State of a sweep's jobs when this object is created: overrides, status, folder, metrics."""

    def __init__(self, sweep: Path) -> None:
        self.overrides = read_job_overrides(sweep)
        self.jobs = [read_job_outcome(sweep, number) for number in range(len(self.overrides))]
        name = os.path.basename(os.path.abspath(sweep))
        self.summary_path = Path(os.path.normpath(sweep / ".." / f"{name}.csv"))

    def write_csv(self) -> None:
        """Write the summary: a CSV row with overrides, status, folder and metrics of each job."""
        rows = []
        for overrides, job in zip(self.overrides, self.jobs, strict=True):
            row: dict[str, Any] = dict(override.partition("=")[::2] for override in overrides)
            row |= {"status": job.status, "message": job.message, "folder": job.folder}
            for tag, value in job.metrics.items():
                row[tag] = value
                if tag in job.units:
                    row[f"{tag}/unit"] = job.units[tag]
            rows.append(row)
        with (
            atomic_replacement(self.summary_path) as part,
            part.open("w", newline="", encoding="utf-8") as file,
        ):
            writer = csv.DictWriter(file, list_columns(rows))
            writer.writeheader()
            writer.writerows(rows)
        print_line(f"summary: {self.summary_path}")

    def format_table(self) -> str:
        """Return a table of jobs: overrides that differ, status, folder, main measure."""
        shared = set.intersection(*map(set, self.overrides))
        rows = []
        for overrides, job in zip(self.overrides, self.jobs, strict=True):
            own = " ".join(override for override in overrides if override not in shared)
            decisions = f"{int(job.metrics.get('decisions', 0)):,}" if job.metrics else ""
            row = {"job": own, "decisions": decisions, "status": job.status, "player": ""}
            if tag := next((tag for tag in job.metrics if tag.startswith("eval/")), None):
                _, row["player"], measure = tag.split("/", 2)
                unit = f" ({job.units[tag]})" if tag in job.units else ""
                row[measure + unit] = f"{job.metrics[tag]:.4g}"
            rows.append(row | {"folder": job.folder})
        columns = sorted(list_columns(rows), key=lambda column: column == "folder")  # folder last
        lines = [columns, *([row.get(column, "") for column in columns] for row in rows)]
        lines = [list(map(escape_control_characters, line)) for line in lines]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)


def list_columns(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return each key of the rows once, in the order in which the keys first occur."""
    return list(dict.fromkeys(key for row in rows for key in row))


def print_and_save_progress(folder: Path) -> None:
    """Print the jobs of a sweep, and their number by status; write the summary, a CSV file."""
    outcomes = JobOutcomes(folder)
    counts = Counter(job.status for job in outcomes.jobs)
    states = ", ".join(f"{count:,} {status}" for status, count in counts.items())
    print_line(f"{outcomes.format_table()}\n\n{format_job_count(len(outcomes.jobs))}: {states}")
    outcomes.write_csv()
