"""What became of the jobs of a sweep: a file each as they end, a table of all in the end."""

from __future__ import annotations

import csv
import json
import multiprocessing
import signal
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from types import FrameType
from typing import Any

from poker_rl.disk import at, replaced, say
from poker_rl.stop import caught

HALT = "halted"  # the file that tells of it


@dataclass(kw_only=True)
class Outcome:
    """How a job ended."""

    overrides: list[str]
    status: str  # finished, interrupted, diverged, refused, failed or not run
    exit_code: int = 0
    message: str = ""
    metrics: dict[str, Any] = field(default_factory=dict)  # the last row and the run folder

    def write(self, path: Path) -> None:
        with replaced(path) as beside:
            beside.write_text(json.dumps(asdict(self)))


def halt(folder: Path) -> None:
    """Have no further job begin, in whatever process."""
    (folder / HALT).touch()


def halted(folder: Path) -> bool:
    return (folder / HALT).exists()


@contextmanager
def halting(folder: Path) -> Iterator[None]:
    """In this context a signal to stop ends the sweep: jobs save their work, no other begins.

    A job in this process has handlers of its own while it trains, and halts the sweep itself. A
    terminal sends SIGINT to the processes of jobs side by side as well; of all else they are told
    here. A second signal acts at once.
    """
    before: dict[signal.Signals, Any] = {}

    def note(number: int, frame: FrameType | None) -> None:
        halt(folder)
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


def collect(folder: Path, jobs: Sequence[list[str]], refused: Mapping[int, str]) -> list[Outcome]:
    """The outcomes of all jobs in order.

    Args:
        folder: where those that were run have left theirs.
        refused: the numbers of those that could not be composed, and why.
    """
    ran = [Outcome(**json.loads(path.read_text())) for path in sorted(folder.glob("*.json"))]
    outcomes = []
    for number, job in enumerate(jobs):
        if number in refused:
            lost = Outcome(overrides=job, status="refused", exit_code=2, message=refused[number])
        else:
            lost = Outcome(overrides=job, status="not run", exit_code=130 if halted(folder) else 1)
        outcomes.append(next((o for o in ran if o.overrides == job), lost))
    return outcomes


def report(outcomes: Sequence[Outcome], outputs: Path) -> int:
    """Print how the jobs went, write it down if any of them did anything; the exit code."""
    ran = any(outcome.status not in ("refused", "not run") for outcome in outcomes)
    if ran:
        say(f"\n{table(outcomes)}\n")
    for outcome in outcomes:
        if outcome.exit_code:
            what = f"{outcome.status}: {outcome.message}" if outcome.message else outcome.status
            print(f"poker-rl: {' '.join(outcome.overrides)}: {what}", file=sys.stderr)
    if ran:
        say(f"summary: {write_csv(outcomes, outputs)}")
    codes = {outcome.exit_code for outcome in outcomes}
    return max(codes, key=lambda code: (code > 2, code == 1, code))  # then a bug, then a refusal


def write_csv(outcomes: Sequence[Outcome], outputs: Path) -> Path:
    """A row a job: what was set, how it ended, its last metrics."""
    rows = [
        dict(override.split("=", 1) for override in outcome.overrides)
        | {"status": outcome.status, "message": outcome.message, **outcome.metrics}
        for outcome in outcomes
    ]
    columns = list(dict.fromkeys(key for row in rows for key in row))
    path = outputs / "sweeps" / f"{datetime.now():%Y-%m-%d_%H-%M-%S.%f}.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    with at(path), path.open("w", newline="") as file:
        writer = csv.DictWriter(file, columns)
        writer.writeheader()
        writer.writerows(rows)
    return path


def table(outcomes: Sequence[Outcome]) -> str:
    """A line a job: what sets it apart, how it ended, the first measurement of each player.

    An algorithm's headline player is the one whose measurements come first.
    """
    shared = set.intersection(*(set(outcome.overrides) for outcome in outcomes))
    first: dict[str, str] = {}
    for outcome in outcomes:
        for tag in outcome.metrics:
            if tag.startswith("eval/"):
                first.setdefault(tag.split("/")[1], tag)
    tags = sorted(first.values())
    rows = [["job", "status", "headline", *(tag.removeprefix("eval/") for tag in tags), "folder"]]
    for outcome in outcomes:
        numbers = [outcome.metrics.get(tag) for tag in tags]
        rows.append(
            [
                " ".join(o for o in outcome.overrides if o not in shared),
                outcome.status,
                next((tag.split("/")[1] for tag in outcome.metrics if tag in tags), ""),
                *("" if number is None else f"{number:.4g}" for number in numbers),
                outcome.metrics.get("folder", ""),
            ]
        )
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)
