"""What `poker-rl compare` does once settings are read: tables and curves of groups of runs."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from poker_rl.config.build import convert_fields
from poker_rl.config.settings import NonNegative, Refused, about
from poker_rl.reports.groups import grouped
from poker_rl.reports.picture import draw, save
from poker_rl.reports.table import Figures
from poker_rl.reports.trained import AXES, Trained, found, read_run
from poker_rl.storage.disk import make_room, say
from poker_rl.storage.folder import write_text

TEXTS, PICTURES = (".md", ".csv", ".json"), (".png", ".svg")


@dataclass(kw_only=True, frozen=True)
class Compare:
    """The settings of `poker-rl compare`."""

    tags: list[str] | None
    at: NonNegative | None
    x: Literal["decisions", "hands", "updates", "iterations", "seconds"]
    unfinished: bool
    out: str | None
    overwrite: bool

    def __post_init__(self) -> None:
        if self.tags == []:
            raise Refused("tags: names none; tags=null stands for the headline figures")
        ends = (*TEXTS, *PICTURES)
        if self.out is not None and Path(self.out).suffix not in ends:
            raise Refused(
                f"out: {self.out} is no file of a kind that is written: {', '.join(ends)}"
            )


def compare(words: Sequence[str], settings: Mapping[str, Any]) -> None:
    """Print the figures of the runs that the words name, and write them or their curves.

    Raises:
        Refused: if a run can't be read, lacks the axis, no run has a tag, or the file is there.
    """
    asked = Compare(**convert_fields(Compare, settings, "", {}))
    runs = [read_run(folder) for folder in found(words)]
    tables = list(compared(runs, asked))
    if asked.out is not None:
        with about("out"):
            make_room(Path(asked.out), asked.overwrite)
    say("\n\n\n".join(table.text() for table in tables))
    if asked.out is not None:
        write(tables, Path(asked.out))
        say(f"\nwritten: {asked.out}")


def compared(runs: Sequence[Trained], asked: Compare) -> Iterator[Figures]:
    """The figures of each game: results of different games have nothing in common.

    Raises:
        Refused: as `compare`.
    """
    demand_axis(runs, asked.x)
    games = dict.fromkeys(run.game for run in runs)
    furthest = max(run.end(asked.x) for run in runs)
    if asked.at is not None and asked.at > furthest:
        raise Refused(f"at: no run has come to {asked.at:,.0f} {asked.x}, at most {furthest:,.0f}")
    known = dict.fromkeys(tag for run in runs for tag in run.curves if tag not in AXES)
    for name in asked.tags or ():
        if not any(run.tag_of(name) in run.curves for run in runs):
            raise Refused(f"tags: no run has recorded {name}; there are {', '.join(known)}")
    how = asked.x, asked.at, asked.unfinished

    def counts(run: Trained) -> bool:
        return run.counts(*how)

    for game in games:
        own = [run for run in runs if run.game == game]
        names = list(dict.fromkeys(name for run in own for name in run.measures))
        if asked.tags is not None:
            names = [
                name
                for name in dict.fromkeys(asked.tags)
                if any(run.tag_of(name) in run.curves for run in own)
            ]
        if not names:
            what = "the tags asked for" if asked.tags else "any measurement"
            raise Refused(f"{own[0].folder}: no run of {game} has recorded {what}")
        yield Figures(game, grouped(own, counts), names, *how)


def demand_axis(runs: Sequence[Trained], x: str) -> None:
    """Refuse a run that does not count what the axis shows, though it counts something else.

    One that was stopped after its first evaluation stands at 0 on all its counters and has taken
    some seconds all the same.

    Raises:
        Refused: naming the run and what it counts.
    """
    for run in runs:
        counted = [axis for axis in AXES if run.end(axis) > 0]
        if set(counted) - {"seconds"} and x not in counted:
            raise Refused(f"x: {run.folder} counts no {x}; it counts {', '.join(counted)}")


def write(tables: Sequence[Figures], out: Path) -> None:
    """Write the figures or, as a picture, the curves; the end of the name says which."""
    if out.suffix == ".md":
        write_text(out, "\n".join(table.markdown() for table in tables))
    elif out.suffix == ".json":
        write_text(out, json.dumps([table.plain() for table in tables], indent=2) + "\n")
    elif out.suffix == ".csv":
        records = [record for table in tables for record in table.records()]
        file = io.StringIO()
        heads = list(dict.fromkeys(key for record in records for key in record))
        writer = csv.DictWriter(file, heads, lineterminator="\n")
        writer.writeheader()
        writer.writerows(records)
        write_text(out, file.getvalue())
    else:
        save(draw(tables), out)
