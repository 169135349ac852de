"""`poker-rl watch`: the progress of a run, read from the files of its folder while it trains."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from datetime import timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from poker_rl.config.error_hints import escape_control_characters
from poker_rl.config.validation import ConfigError
from poker_rl.storage.disk import print_line
from poker_rl.storage.run_folder import (
    METRICS_FILE,
    read_manifest,
    read_metrics_rows,
    read_run_folder,
)

REFRESH_S = 1.0
SPARKS = "▁▂▃▄▅▆▇█"
MAX_SPARKS = 40  # newest values in a sparkline
RATE_ROWS = 10  # newest rows that the rate of progress is measured over

Row = Mapping[str, float]


def watch_run(folder: Path) -> int:
    """Show a table that follows the run, or in a pipe a line for each row; return the exit code.

    The command ends with the run. A run that was killed looks as if it were still running.
    """
    config, _ = read_run_folder(folder)
    if not sys.stdout.isatty():
        printed = 0
        while True:
            is_running, rows = read_progress(folder)
            for i in range(printed, len(rows)):
                cells = describe_run(folder, config, rows[: i + 1])
                print_line(", ".join(f"{label}: {text}" for label, text in cells.items()))
            printed = len(rows)
            if not is_running:
                return 0
            time.sleep(REFRESH_S)
    if find_spec("rich") is None:
        raise ConfigError("watch needs more packages: pip install 'poker-rl[watch]'")
    from rich.live import Live
    from rich.table import Table
    from rich.text import Text

    with Live(auto_refresh=False) as live:
        while True:
            is_running, rows = read_progress(folder)
            cells = {"run": f"{folder}, {read_manifest(folder).get('status')}"}
            cells |= describe_run(folder, config, rows)
            for name, tag in find_first_measures(rows[-1] if rows else {}).items():
                cells[name] += f"  {draw_sparkline([row[tag] for row in rows if tag in row])}"
            table = Table.grid(padding=(0, 2))
            for label, text in cells.items():
                table.add_row(*(Text(escape_control_characters(one)) for one in (label, text)))
            live.update(table, refresh=True)
            if not is_running:
                return 0
            time.sleep(REFRESH_S)


def read_progress(folder: Path) -> tuple[bool, list[dict[str, float]]]:
    """Return whether the run has not recorded its end, and all rows of its metrics."""
    is_running = read_manifest(folder).get("status") == "running"  # first: no row follows the end
    path = folder / METRICS_FILE
    return is_running, read_metrics_rows(path) if path.exists() else []


def find_first_measures(row: Row) -> dict[str, str]:
    """Return the tag of each player's first measure, by its name "<player>/<measure>"."""
    first: dict[str, str] = {}  # by player
    for tag in row:
        if tag.startswith("eval/"):
            first.setdefault(tag.split("/")[1], tag)
    return {tag.removeprefix("eval/"): tag for tag in first.values()}


def describe_run(folder: Path, config: Mapping[str, Any], rows: Sequence[Row]) -> dict[str, str]:
    """Return the state of a run after these rows as text by label."""
    if not rows:
        return {"progress": "no row yet"}
    row, unit, budget = rows[-1], str(config["budget_unit"]), float(config["budget"])
    manifest = read_manifest(folder)
    cells = {"progress": f"{row[unit]:,.0f} of {budget:,.0f} {unit} ({row[unit] / budget:.0%})"}
    for name, tag in find_first_measures(row).items():
        measure_unit = manifest.get("measurements", {}).get(tag, {}).get("unit", "")
        half_width = row.get(f"{tag}/half_width")
        interval = "" if half_width is None else f" ± {half_width:.2g}"
        cells[name] = f"{row[tag]:.4g}{interval} {measure_unit}"
    names = ("decisions", "updates")
    rates = [f"{row[tag]:,.0f} {n}/s" for n in names if (tag := f"time/{n}_per_second") in row]
    if rates:
        cells["rates"] = ", ".join(rates)
    if (tag := "time/outside_networks") in row:
        device = "GPU" if manifest.get("gpu") else "CPU"
        cells["networks"] = f"{1 - row[tag]:.0%} of the learning time in networks on the {device}"
    elapsed = row["time/elapsed_s"]
    cells["time"] = f"{format_seconds(elapsed)} spent"
    start = rows[-RATE_ROWS:][0]
    if start[unit] < row[unit] < budget:
        seconds_per_unit = (elapsed - start["time/elapsed_s"]) / (row[unit] - start[unit])
        cells["time"] += f", {format_seconds((budget - row[unit]) * seconds_per_unit)} left"
    return cells


def format_seconds(seconds: float) -> str:
    """Format a duration as hours:minutes:seconds."""
    return str(timedelta(seconds=round(seconds)))


def draw_sparkline(values: Sequence[float]) -> str:
    """Draw the newest values as a line of bars between their minimum and maximum."""
    values = values[-MAX_SPARKS:]
    low, high = min(values), max(values)
    scale = (len(SPARKS) - 1) / (high - low) if high > low else 0.0
    return "".join(SPARKS[round((value - low) * scale)] for value in values)
