"""`poker-rl watch`: the progress of a run, read from the files of its folder while it trains."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

from poker_rl.config.plugins import check_optional_packages
from poker_rl.storage.run_files import (
    METRICS_FILE,
    read_config_and_manifest,
    read_manifest,
    read_metrics_rows,
)
from poker_rl.storage.terminal_printing import escape_control_characters, print_line

REFRESH_S = 1.0
BARS = "▁▂▃▄▅▆▇█"
MAX_BARS = 40  # newest values that a sparkline shows
RATE_ROWS = 10  # newest rows of metrics.jsonl from which the remaining time is estimated


def watch_run(folder: Path) -> None:
    """Show the progress of a run until it ends: as a table, or as lines if stdout is no terminal.

    A run that was killed looks like a running one, because nothing has recorded its end.
    """
    config, _ = read_config_and_manifest(folder)
    if not sys.stdout.isatty():
        printed = 0
        for rows in poll_all_metrics_rows(folder):
            for count in range(printed + 1, len(rows) + 1):
                cells = describe_progress(folder, config, rows[:count])
                print_line(", ".join(f"{label}: {text}" for label, text in cells.items()))
            printed = len(rows)
        return
    check_optional_packages("watch", "watch", "rich")
    from rich.live import Live
    from rich.table import Table
    from rich.text import Text

    with Live(auto_refresh=False) as live:
        for rows in poll_all_metrics_rows(folder):
            cells = {"run": f"{folder}, {read_manifest(folder).get('status')}", "progress": "none"}
            cells |= describe_progress(folder, config, rows)
            for name, tag in find_first_measure_tags(rows).items():
                cells[name] += f"  {draw_sparkline([row[tag] for row in rows if tag in row])}"
            table = Table.grid(padding=(0, 2))
            for cell in cells.items():
                table.add_row(*(Text(escape_control_characters(text)) for text in cell))
            live.update(table, refresh=True)


def poll_all_metrics_rows(folder: Path) -> Iterator[list[dict[str, float]]]:
    """Yield all rows that metrics.jsonl has so far, every second until the run has ended."""
    is_running, path = True, folder / METRICS_FILE
    while is_running:
        # Read the status before the rows: once it is final, the run writes no more rows.
        is_running = read_manifest(folder).get("status") == "running"
        yield read_metrics_rows(path) if path.exists() else []
        if is_running:
            time.sleep(REFRESH_S)


def find_first_measure_tags(rows: Sequence[Mapping[str, float]]) -> dict[str, str]:
    """Return {name: tag} of each player's first measure in the newest row; tag is `eval/<name>`."""
    first: dict[str, str] = {}
    for tag in rows[-1] if rows else ():
        if tag.startswith("eval/"):
            first.setdefault(tag.split("/")[1], tag)
    return {tag.removeprefix("eval/"): tag for tag in first.values()}


def describe_progress(
    folder: Path, config: Mapping[str, Any], rows: Sequence[Mapping[str, float]]
) -> dict[str, str]:
    """Return the progress of a run after these rows of metrics: text by label, such as "time"."""
    if not rows:
        return {}
    measurements = read_manifest(folder).get("measurements", {})
    row, unit, budget = rows[-1], str(config["budget_unit"]), float(config["budget"])
    share = min(row[unit] / budget, 1.0)  # the last call of `learn` may exceed the budget
    cells = {"progress": f"{row[unit]:,.0f} of {budget:,.0f} {unit} ({share:.0%})"}
    for name, tag in find_first_measure_tags(rows).items():
        interval = f" ± {row[key]:.2g}" if (key := f"{tag}/half_width") in row else ""
        cells[name] = f"{row[tag]:.4g}{interval} {measurements.get(tag, {}).get('unit', '')}"
    rates = {name: row.get(f"time/{name}_per_second") for name in ("decisions", "updates")}
    cells["rates"] = ", ".join(f"{n:,.0f} {name}/s" for name, n in rates.items() if n is not None)
    spent, start = row["time/elapsed_s"], rows[-RATE_ROWS:][0]
    cells["time"] = f"{timedelta(seconds=round(spent))} spent"
    if start[unit] < row[unit] < budget:
        seconds_per_unit = (spent - start["time/elapsed_s"]) / (row[unit] - start[unit])
        seconds_left = round((budget - row[unit]) * seconds_per_unit)
        cells["time"] += f", {timedelta(seconds=seconds_left)} left"
    return {label: text for label, text in cells.items() if text}


def draw_sparkline(values: Sequence[float]) -> str:
    """Return a line of bars for the newest values, scaled between their minimum and maximum."""
    values = values[-MAX_BARS:]
    low, high = min(values), max(values)
    scale = (len(BARS) - 1) / (high - low) if high > low else 0.0
    return "".join(BARS[round((value - low) * scale)] for value in values)
