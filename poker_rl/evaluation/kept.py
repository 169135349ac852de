"""The evaluations kept in a folder, a file each named by its time, and a table over all of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from poker_rl.config.files import read_json
from poker_rl.config.settings import Refused
from poker_rl.evaluation.bounds import VACUOUS
from poker_rl.evaluation.columns import aligned, listed, number, numbered, shortened, wrapped
from poker_rl.evaluation.measurement import PERCENTILE
from poker_rl.evaluation.report import Report, marked
from poker_rl.storage.folder import write_text

EVALUATIONS = "evaluations"  # in a run's folder
HEADS_UP = 2  # seats of the games that have bounds
COLUMNS = ["evaluation", "decisions", "player", "measure", "value", "unit", "deals", "seed"]


def keep(report: Report, folder: Path) -> None:
    """Write a report down as JSON and as CSV."""
    write_text(folder / f"{report.stem}.json", json.dumps(report.plain(), indent=2) + "\n")
    write_text(folder / f"{report.stem}.csv", report.csv())


def table(folder: Path) -> str:
    """A row for each exploitability and each match of all evaluations in a folder, oldest first.

    Raises:
        Refused: if there are none, or a file is something else.
    """
    paths = sorted(folder.glob("*.json"))
    if not paths:
        raise Refused(f"show: there are no evaluations in {folder}")
    rows = [COLUMNS]
    names, commands = [], []
    for place, path in enumerate(paths, start=1):
        try:
            kept = read_json(path)
            own = rows_of(kept)
            commands.append(wrapped(f"{place}  {kept['time']}  {kept['command']}"))
        except (OSError, ValueError, LookupError, TypeError, AttributeError):
            raise Refused(f"show: {path} is no evaluation that can be read") from None
        for row in own:
            names += [row[1], row[2].removeprefix("against/").removeprefix("bound/")]
        rows += [[str(place), *row] for row in own]
    numbers = numbered(names)
    parts = [aligned(shortened(rows, numbers), keys=1), listed(numbers), "\n".join(commands)]
    return "\n\n".join(part for part in parts if part)


def rows_of(kept: Mapping[str, Any]) -> list[list[str]]:
    """What stands in the `COLUMNS` but the first, for each number that an evaluation told."""
    found = []

    def add(player: str, measure: str, one: Mapping[str, Any], deals: int) -> None:
        sampled = one["half_width"] is not None
        found.append(
            [
                "-" if kept["decisions"] is None else f"{kept['decisions']:,}",
                marked(player, kept["headline"]),
                measure,
                number(one["value"], one["half_width"]),
                one["unit"],
                f"{deals:,}" if sampled else one["kind"],
                str(kept["seed"]) if sampled else "",
            ]
        )

    for player, measures in kept["players"].items():
        for measure, one in measures.items():
            told = measure.startswith(("exploitability", "against/"))
            if told and not PERCENTILE.search(measure):
                add(player, measure, one, kept["evaluation"]["deals"])
    for match in kept["matches"]:
        add(match["player"], f"against/{match['against']}", match["won"], match["deals"])
    for one in kept.get("bounds", []):  # which earlier versions did not have
        vacuous = ", vacuous" if one["won"]["kind"] == VACUOUS else ""
        add(one["player"], f"bound/{one['by']}{vacuous}", one["won"], one["hands"] // HEADS_UP)
    for one in kept.get("table", []):  # which earlier versions did not have
        add(one["player"], "table", one["won"], kept["deals"])
    return found
