"""Outcomes of a sweep's jobs, saved in the sweep's folder.

outputs/sweeps/<overrides and digest>/
    jobs.json           the overrides of each job
    000000.json ...     the run folder and the outcome of each job that has started, by its number
outputs/sweeps/<overrides and digest>.csv
                        the summary, written at the end of the sweep and by `poker-rl sweep`
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from poker_rl.config.input_checks import ConfigError, read_json
from poker_rl.storage.disk import to_csv, write_text_atomically
from poker_rl.storage.run_files import read_last_metrics_row, read_manifest
from poker_rl.storage.terminal_printing import escape_control_characters, print_line
from poker_rl.training.run_outcome import RunOutcome

JOBS_FILE = "jobs.json"
RUNNING_OR_KILLED = "running or killed"  # status of a job that has not reported its end


@dataclass(frozen=True)
class JobOutcome(RunOutcome):
    """Outcome of a job, with its overrides, its run folder and the last metrics of its run."""

    overrides: Sequence[str] = ()
    folder: str = ""  # the run folder; empty if it was not created
    metrics: dict[str, float] = field(default_factory=dict)  # last row of metrics.jsonl
    units: dict[str, str] = field(default_factory=dict)  # unit of each measurement, by tag


def read_overrides_of_jobs(sweep: Path) -> list[list[str]]:
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


def read_job_outcome(sweep: Path, number: int, overrides: Sequence[str]) -> JobOutcome:
    """Return the outcome of a job, from the sweep's folder and the folder of its run."""
    path = sweep / f"{number:06}.json"
    try:
        job = JobOutcome(**read_json(path), overrides=overrides)
    except FileNotFoundError:
        return JobOutcome("not run", overrides=overrides)  # the job has not started
    except (TypeError, ValueError):
        raise ConfigError(f"{path} is damaged: it is not the outcome of a job") from None
    folder = Path(os.path.normpath(sweep / job.folder))
    manifest = read_manifest(folder) if job.folder else {}
    run_status = manifest.get("status", "running")
    if job.status == "running":
        job = replace(job, status=RUNNING_OR_KILLED if run_status == "running" else run_status)
    if not manifest:
        return replace(job, folder="")
    units = {tag: str(one["unit"]) for tag, one in (manifest.get("measurements") or {}).items()}
    return replace(job, folder=str(folder), metrics=read_last_metrics_row(folder), units=units)


def read_job_outcomes(sweep: Path) -> list[JobOutcome]:
    """Return the present outcome of each job of a sweep; raise ConfigError if it is no sweep."""
    jobs = enumerate(read_overrides_of_jobs(sweep))
    return [read_job_outcome(sweep, number, overrides) for number, overrides in jobs]


def format_job_count(count: int) -> str:
    """Return "1 job" or "5,000 jobs"."""
    return "1 job" if count == 1 else f"{count:,} jobs"


def print_and_save_progress(sweep: Path) -> list[JobOutcome]:
    """Print the jobs of a sweep, and their number by status; write the summary; return the jobs."""
    jobs = read_job_outcomes(sweep)
    counts = Counter(job.status for job in jobs)
    states = ", ".join(f"{count:,} {status}" for status, count in counts.items())
    print_line(f"{format_table(jobs)}\n\n{format_job_count(len(jobs))}: {states}")
    name = os.path.basename(os.path.abspath(sweep))
    summary = Path(os.path.normpath(sweep / ".." / f"{name}.csv"))
    write_text_atomically(summary, outcomes_to_csv(jobs))
    print_line(f"summary: {summary}")
    return jobs


def format_table(jobs: Sequence[JobOutcome]) -> str:
    """Return a table of jobs: overrides that differ, status, folder, main measure."""
    shared = set.intersection(*(set(job.overrides) for job in jobs))
    rows = []
    for job in jobs:
        own = " ".join(override for override in job.overrides if override not in shared)
        decisions = f"{int(job.metrics.get('decisions', 0)):,}" if job.metrics else ""
        row = {"job": own, "decisions": decisions, "status": job.status, "player": ""}
        if tag := next((tag for tag in job.metrics if tag.startswith("eval/")), None):
            _, row["player"], measure = tag.split("/", 2)
            unit = f" ({job.units[tag]})" if tag in job.units else ""
            row[measure + unit] = f"{job.metrics[tag]:.4g}"
        rows.append(row | {"folder": job.folder})
    columns = list(dict.fromkeys(column for row in rows for column in row))
    columns.sort(key=lambda column: column == "folder")  # the folder is last
    lines = [columns, *([row.get(column, "") for column in columns] for row in rows)]
    lines = [list(map(escape_control_characters, line)) for line in lines]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)


def outcomes_to_csv(jobs: Sequence[JobOutcome]) -> str:
    """Return the summary: a CSV row with overrides, status, folder and metrics of each job."""
    rows = []
    for job in jobs:
        row: dict[str, Any] = dict(override.partition("=")[::2] for override in job.overrides)
        row |= {"status": job.status, "message": job.message, "folder": job.folder}
        for tag, value in job.metrics.items():
            row[tag] = value
            if tag in job.units:
                row[f"{tag}/unit"] = job.units[tag]
        rows.append(row)
    return to_csv(rows)
