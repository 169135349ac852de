"""Reports of `poker-rl evaluate`: printed, saved as JSON and CSV, and listed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from poker_rl.config.untrusted_files import read_json
from poker_rl.config.validation import ConfigError
from poker_rl.evaluation.best_response.exploitability_bounds import (
    BOUND_PREFIX,
    LOWER_BOUND,
    VACUOUS_LOWER_BOUND,
    compute_lower_end,
)
from poker_rl.evaluation.result import AGAINST, EXACT, Result
from poker_rl.reports.rendering import (
    TextRows,
    TextTable,
    format_text,
    mark_headline,
    results_to_csv,
    wrap_line,
)
from poker_rl.storage.run_folder import write_text_atomically

EVALUATIONS_FOLDER = "evaluations"  # in a run folder
LIST_HEADINGS = ["evaluation", "decisions", "player", "measure", "value", "unit", "deals", "seed"]
LISTED_SAMPLES = ("against/", BOUND_PREFIX, "table")  # sampled measures that lists of reports show


@dataclass(frozen=True)
class ResultTable:
    """Results of one kind, and the rows of the table that is printed of them."""

    results: Sequence[Result]
    rows: TextRows
    heading: str = ""


@dataclass(frozen=True, kw_only=True)
class EvaluationReport:
    """All measurements of one call of `poker-rl evaluate`.

    Attributes:
        evaluation_config: the settings of the evaluator.
        snapshot: the file that holds the players; None for players that are not from a run.
        deals: number of deals in each match.
        note: a line that is printed before the tables.
    """

    start_time: datetime
    command: str
    game_name: str
    evaluation_config: Mapping[str, Any]
    snapshot: Path | None
    headline_player: str | None
    seed: int
    deals: int
    tables: Sequence[ResultTable]
    note: str = ""

    @property
    def results(self) -> list[Result]:
        """All results, for the files."""
        return [result for table in self.tables for result in table.results]

    @property
    def file_stem(self) -> str:
        """The name of the report's files, without suffix."""
        return f"{self.start_time:%Y-%m-%d_%H-%M-%S.%f}"

    def format_text(self) -> str:
        """Format the report for the screen."""
        heading = self.game_name
        if self.snapshot is not None:
            heading += f", {int(self.snapshot.stem):,} decisions: {self.snapshot}"
        lines = [line for line in (*self._list_exploitability_lines(), self.note) if line]
        tables = [TextTable(table.rows, table.heading, 2) for table in self.tables]
        results = self.results
        names = [
            *(result.player for result in results),
            *(result.kind.partition(AGAINST)[2] for result in results),
            *(bound.measure.removeprefix(BOUND_PREFIX) for bound in select_bounds(results)),
        ]
        return format_text([heading, "\n".join(lines), *tables], names)

    def _list_exploitability_lines(self) -> list[str]:
        """Return a line for each player with bounds: its exploitability or else its best bound."""
        lines = []
        bounds = select_bounds(self.results)
        for name in dict.fromkeys(bound.player for bound in bounds):
            best = max((bound for bound in bounds if bound.player == name), key=compute_lower_end)
            responder = best.measure.removeprefix(BOUND_PREFIX)
            exact = [
                result
                for result in self.results
                if result.tag == f"{name}/exploitability" and result.kind == EXACT
            ]
            if exact:
                statement = f"{exact[0].number} {exact[0].unit}, {EXACT}"
            elif best.kind == LOWER_BOUND:
                statement = f"at least {best.number} {best.unit}, {LOWER_BOUND} by {responder}"
            else:
                statement = (
                    f"not known: what {responder} wins, {best.number} {best.unit}, says nothing"
                    f" ({best.kind})"
                )
            lines.append(
                f"exploitability of {mark_headline(name, self.headline_player)}: {statement}"
            )
        return lines

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain data for JSON."""
        return {
            "time": self.start_time.isoformat(sep=" ", timespec="seconds"),
            "command": self.command,
            "game": self.game_name,
            "evaluation": dict(self.evaluation_config),
            "snapshot": None if self.snapshot is None else str(self.snapshot),
            "decisions": None if self.snapshot is None else int(self.snapshot.stem),
            "headline": self.headline_player,
            "seed": self.seed,
            "deals": self.deals,
            "results": [asdict(result) for result in self.results],
        }

    def save(self, folder: Path) -> None:
        """Save the report as JSON and its results as CSV."""
        path = folder / self.file_stem  # with_suffix would cut the stem at its dot
        write_text_atomically(Path(f"{path}.json"), json.dumps(self.to_dict(), indent=2) + "\n")
        write_text_atomically(Path(f"{path}.csv"), results_to_csv(self.results))


def select_bounds(results: Sequence[Result]) -> list[Result]:
    """Return the lower bounds on exploitability."""
    return [result for result in results if result.measure.startswith(BOUND_PREFIX)]


@dataclass(frozen=True)
class SavedReport:
    """Report that was read from its JSON file."""

    time: str
    command: str
    results: list[Result]
    list_rows: TextRows


def read_reports(folder: Path) -> list[SavedReport]:
    """Read all reports in a folder, oldest first; raise `ConfigError` if a file is not one."""
    reports: list[SavedReport] = []
    for path in sorted(folder.glob("*.json")):
        try:
            report = read_json(path)
            results = [Result(**row) for row in report["results"]]
            rows = _build_list_rows(report, results, str(len(reports) + 1))
            reports.append(SavedReport(report["time"], report["command"], results, rows))
        except (OSError, ValueError, LookupError, TypeError, AttributeError):
            raise ConfigError(f"{path} is no evaluation that can be read") from None
    return reports


def format_report_list(folder: Path) -> str:
    """Format a table of exploitability and matches of all reports in a folder, oldest first."""
    reports = read_reports(folder)
    if not reports:
        raise ConfigError(f"there are no evaluations in {folder}")
    rows = [row for report in reports for row in report.list_rows]
    players = [row[LIST_HEADINGS.index("player")] for row in rows]
    measures = [row[LIST_HEADINGS.index("measure")] for row in rows]
    opponents = [
        measure.removeprefix("against/").removeprefix(BOUND_PREFIX) for measure in measures
    ]
    table = format_text([TextTable([LIST_HEADINGS, *rows])], [*players, *opponents])
    lines = [
        wrap_line(f"{number}  {report.time}  {report.command}")
        for number, report in enumerate(reports, start=1)
    ]
    return "\n\n".join([table, "\n".join(lines)])


def _build_list_rows(report: Mapping[str, Any], results: Sequence[Result], number: str) -> TextRows:
    """Return a row for each result that a list of evaluations shows."""
    decisions = "-" if report["decisions"] is None else f"{report['decisions']:,}"
    rows = []
    for result in results:
        is_sampled = result.half_width is not None
        is_listed = (
            is_sampled and result.measure.startswith(LISTED_SAMPLES)
        ) or result.measure.startswith("exploitability")
        if is_listed and not result.is_percentile:
            vacuous = ", vacuous" if result.kind == VACUOUS_LOWER_BOUND else ""
            rows.append(
                [
                    number,
                    decisions,
                    mark_headline(result.player, report["headline"]),
                    result.measure + vacuous,
                    result.number,
                    result.unit,
                    f"{result.n:,}" if is_sampled else result.kind,
                    str(report["seed"]) if is_sampled else "",
                ]
            )
    return rows
