"""The figures of the groups of one game, as a table for the screen, Markdown, CSV and JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from poker_rl.evaluation.columns import aligned, listed, number, numbered, shortened, wrapped
from poker_rl.evaluation.drawing import short
from poker_rl.reports.groups import Group, differing, shown, shown_key
from poker_rl.reports.means import Mean, value_at
from poker_rl.reports.trained import SECONDS, Trained

Rows = list[list[str]]
CLASSES = ("algo._target_", "net._target_")  # whose names tell as much


@dataclass(frozen=True)
class Figures:
    """What is compared of the groups of one game."""

    game: str
    groups: Sequence[Group]
    names: Sequence[str]  # tags, or measures of each run's headline player
    x: str
    at: float | None
    unfinished: bool

    def counts(self, run: Trained) -> bool:
        """Whether a run is in the means."""
        return run.counts(self.x, self.at, self.unfinished)

    def counted(self, group: Group) -> list[Trained]:
        """The runs of a group that are in the means."""
        return [run for run in group.runs if self.counts(run)]

    def mean(self, group: Group, name: str) -> Mean | None:
        """A figure of a group, None if no run that counts has recorded it."""
        runs = self.counted(group)
        values = [value_at(run, run.tag_of(name), self.x, self.at) for run in runs]
        found = tuple(value for value in values if value is not None)
        return Mean(found) if found else None

    def about(self, group: Group, name: str, what: str) -> str:
        """The `unit` or `kind` of a figure."""
        told = (run.about(run.tag_of(name), what) for run in group.runs)
        return next((one for one in told if one), "")

    def player(self, group: Group) -> str:
        """The headline player of a group."""
        return next((run.headline for run in group.runs if run.headline), "-")

    def progress(self, group: Group) -> float | None:
        """How far the runs that count have come on the axis, or as far as they are looked at."""
        rows = [self._row_at(run) for run in self.counted(group)]
        return self._mean_of([row for row in rows if row is not None])

    def minutes(self, group: Group) -> float | None:
        """How long the runs that count took until then."""
        seconds = [value_at(run, SECONDS, self.x, self.at) for run in self.counted(group)]
        mean = self._mean_of([one for one in seconds if one is not None])
        return None if mean is None else mean / 60

    def _row_at(self, run: Trained) -> float | None:
        """Where on the axis the last row is that a run's figures are of; None: it has none."""
        places = self._places(run)
        places = places if self.at is None else places[places <= self.at]
        return float(places[-1]) if len(places) else None

    def _places(self, run: Trained) -> np.ndarray:
        """Where on the axis a run has rows of what is compared, rising."""
        own = [run.points(run.tag_of(name), self.x)[0] for name in self.names]
        return np.unique(np.concatenate(own))

    @staticmethod
    def _mean_of(values: Sequence[float]) -> float | None:
        return sum(values) / len(values) if values else None

    def title(self) -> str:
        """What the table has."""
        when = "final figures" if self.at is None else f"figures at {self.at:,.0f} {self.x}"
        return f"{self.game}: {when}, mean ± half the 95 % interval over seeds (Student)"

    def rows(self) -> Rows:
        """A row a group, below the heads."""
        measured = any(self._is_measure(name) for name in self.names)
        machines = {machine(run) for group in self.groups for run in group.runs}
        heads = ["group", "seeds", *["player"] * measured, *map(self._head, self.names)]
        rows = [[*heads, self.x, "minutes", *["machine"] * (len(machines) > 1)]]
        for group in self.groups:
            counted, runs = len(self.counted(group)), len(group.runs)
            row = [group.label, str(runs) if counted == runs else f"{counted} of {runs}"]
            row += [self.player(group)] * measured
            row += [self._cell(group, name) for name in self.names]
            progress, minutes = self.progress(group), self.minutes(group)
            row.append("-" if progress is None else short(progress))
            row.append("-" if minutes is None else f"{minutes:.1f}")
            if len(machines) > 1:
                row.append(" / ".join(dict.fromkeys(machine(run) for run in group.runs)))
            rows.append(row)
        return rows

    def _is_measure(self, name: str) -> bool:
        return any(name not in run.curves for group in self.groups for run in group.runs)

    def _head(self, name: str) -> str:
        units = dict.fromkeys(self.about(group, name, "unit") for group in self.groups)
        told = " or ".join(unit for unit in units if unit)
        return name.removeprefix("eval/") + (f" ({told})" if told else "")

    def _cell(self, group: Group, name: str) -> str:
        mean = self.mean(group, name)
        if mean is None:
            return "-"
        seeds, counted = len(mean.values), len(self.counted(group))
        told = number(mean.mean, mean.half_width)
        if seeds == 1:
            told += " (1 seed)"
        return told if seeds in (1, counted) else f"{told} ({seeds} seeds)"

    def settings(self) -> Rows:
        """Settings that all groups have, that differ and that their labels do not tell: a row a
        key."""
        settings = [group.settings for group in self.groups]
        keys = [
            key
            for key in differing(settings)
            if all(key in own for own in settings)
            and key not in CLASSES
            and not all(
                f"{shown_key(key)}={shown(g.settings, key)}" in g.label for g in self.groups
            )
        ]
        rows = [["setting", *(group.label for group in self.groups)]]
        rows += [[shown_key(key), *(shown(own, key) for own in settings)] for key in keys]
        return rows

    def notes(self) -> Iterator[str]:
        """What is not in the means and why, and on what the runs ran."""
        for group in self.groups:
            for run in group.runs:
                if not self.counts(run):
                    yield f"not in the means: {run.folder}, {self._why(run)}"
                elif not run.finished:
                    yield f"not finished: {run.folder}, {self._stands(run)}"
            for run in group.repeated:
                seed = run.cfg.get("seed")
                yield f"not in the means: {run.folder}, another run of seed {seed} counts"
        runs = [run for group in self.groups for run in group.runs]
        machines = dict.fromkeys(machine(run) for run in runs)
        if len(machines) == 1:
            yield f"machine: {next(iter(machines))}"
        for package, versions in different_versions(runs).items():
            yield f"versions of {package} differ: {', '.join(versions)}"
        counted = [run for group in self.groups for run in self.counted(group)]
        rows = [row for run in counted if (row := self._row_at(run)) is not None]
        if self.at is not None and rows:
            following = [place for run in counted for place in self._places(run) if place > self.at]
            yield (
                f"each figure is that of a run's last row at or before {self.at:,.0f} {self.x};"
                f" these rows are at {min(rows):,.0f} to {max(rows):,.0f}"
                + (f", the next one after them is at {min(following):,.0f}" if following else "")
            )

    def _why(self, run: Trained) -> str:
        if not run.curves:
            return f"{run.status}, nothing recorded yet"
        if self.at is not None:
            return f"ends at {run.end(self.x):,.0f} {self.x}"
        return self._stands(run)

    def _stands(self, run: Trained) -> str:
        return f"{run.status} at {run.end(self.x):,.0f} {self.x}"

    def text(self) -> str:
        """For the screen, at most 120 columns wide."""
        rows, settings, notes = self.rows(), self.settings(), list(self.notes())
        tables = [rows, settings] if len(settings) > 1 else [rows]
        labels = [group.label for group in self.groups]
        cells = [cell for table in tables for row in table for cell in row]
        numbers = numbered([*labels, *cells])
        parts = [self.title(), *(aligned(shortened(table, numbers)) for table in tables)]
        if numbers:
            parts.append("\n".join(wrapped(line) for line in listed(numbers).splitlines()))
        parts.append("\n".join(map(wrapped, notes)))
        return "\n\n".join(part for part in parts if part)

    def markdown(self) -> str:
        """A heading, the tables and the notes as a list."""
        tables = [self.rows()]
        if len(self.settings()) > 1:
            tables.append(self.settings())
        parts = [f"## {escaped(self.title())}", *map(piped, tables)]
        parts.append("\n".join(f"- {escaped(note)}" for note in self.notes()))
        return "\n\n".join(parts) + "\n"

    def records(self) -> Iterator[dict[str, Any]]:
        """A row a figure of a group, for CSV."""
        keys = differing([group.settings for group in self.groups])
        for group in self.groups:
            for name in self.names:
                mean = self.mean(group, name)
                yield {
                    "game": self.game,
                    "group": group.label,
                    "player": self.player(group),
                    "figure": name,
                    "unit": self.about(group, name, "unit"),
                    "kind": self.about(group, name, "kind"),
                    "mean": None if mean is None else mean.mean,
                    "half_width": None if mean is None else mean.half_width,
                    "seeds": 0 if mean is None else len(mean.values),
                    "runs": len(group.runs),
                    self.x: self.progress(group),
                    "minutes": self.minutes(group),
                } | {f"settings/{shown_key(key)}": shown(group.settings, key) for key in keys}

    def plain(self) -> dict[str, Any]:
        """The same with each run, for JSON."""
        return {
            "game": self.game,
            "x": self.x,
            "at": self.at,
            "figures": list(self.records()),
            "runs": [self._run(group, run) for group in self.groups for run in group.runs],
            "notes": list(self.notes()),
        }

    def _run(self, group: Group, run: Trained) -> dict[str, Any]:
        values = {name: value_at(run, run.tag_of(name), self.x, self.at) for name in self.names}
        return {
            "group": group.label,
            "folder": str(run.folder),
            "seed": run.cfg.get("seed"),
            "status": run.status,
            "counted": self.counts(run),
            "end": run.end(self.x),
            "machine": machine(run),
            "versions": run.manifest.get("versions"),
            "values": values,
        }


def machine(run: Trained) -> str:
    """What a run was computed on."""
    threads = run.cfg.get("threads", 1)
    told = f"{run.manifest.get('gpu') or run.manifest.get('cpu') or 'unknown'}"
    return f"{told}, {threads} thread{'s' * (threads != 1)}"


def different_versions(runs: Sequence[Trained]) -> dict[str, list[str]]:
    """The versions of each package of which not all runs had the same."""
    found: dict[str, dict[str, None]] = {}
    for run in runs:
        versions = run.manifest.get("versions")
        for package, version in (versions if isinstance(versions, Mapping) else {}).items():
            found.setdefault(str(package), {})[str(version)] = None
    return {package: list(each) for package, each in found.items() if len(each) > 1}


def piped(rows: Rows) -> str:
    """A table of Markdown, the first row its heads."""
    lines = [[escaped(cell) for cell in row] for row in rows]
    lines.insert(1, ["---"] * len(rows[0]))
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def escaped(words: str) -> str:
    """Words that mean nothing else in Markdown: names of runs and players are the user's own."""
    for sign in "\\`*_[]<>|":
        words = words.replace(sign, f"\\{sign}")
    return words
