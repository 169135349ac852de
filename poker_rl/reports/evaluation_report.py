"""Reports of `poker-rl evaluate`: printed, saved as JSON and CSV, and listed."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from poker_rl.config.untrusted_files import read_json
from poker_rl.config.validation import ConfigError, NonNegativeInt, PositiveInt, Seed, error_prefix
from poker_rl.evaluation.best_response.exploitability_bounds import (
    BOUND_PREFIX,
    LOWER_BOUND,
    VACUOUS_LOWER_BOUND,
    compute_lower_end,
)
from poker_rl.evaluation.matches.duplicate_match import DealCount
from poker_rl.evaluation.player_evaluator import PlayerEvaluator
from poker_rl.evaluation.result import AGAINST, EXACT, Result
from poker_rl.evaluation.variance_reduction.variance_reducers import VarianceReductionMethod
from poker_rl.games.game import Game
from poker_rl.players.player import Player
from poker_rl.players.player_loader import get_headline_player
from poker_rl.reports.rendering import (
    TextRows,
    TextTable,
    format_text,
    mark_headline,
    results_to_csv,
    wrap_line,
)
from poker_rl.storage.disk import create_writable_folder, print_line
from poker_rl.storage.run_folder import write_text_atomically

EVALUATIONS_FOLDER = "evaluations"  # in a run folder
LIST_HEADINGS = ["evaluation", "decisions", "player", "measure", "value", "unit", "deals", "seed"]
LISTED_SAMPLES = ("against/", BOUND_PREFIX, "table")  # sampled measures that lists of reports show


@dataclass(kw_only=True, frozen=True)
class EvaluateConfig:
    """Settings of `poker-rl evaluate`."""

    run: str | None
    checkpoint: NonNegativeInt | None
    player: str | None
    against: list[str]
    seats: list[str]
    earlier_snapshots: NonNegativeInt
    deals: DealCount | None
    variance_reduction: VarianceReductionMethod | None
    control_player: str | None
    figures: bool
    exact: bool
    lbr: bool
    best_responses: list[str]
    out: str | None
    show: bool
    seed: Seed
    device: Literal["auto", "cpu", "cuda"]
    threads: PositiveInt


@dataclass(frozen=True)
class Evaluation:
    """Parts of one call of `poker-rl evaluate`."""

    config: EvaluateConfig
    game: Game
    evaluator: PlayerEvaluator
    load_player: Callable[[str], Player]

    @property
    def snapshot_spec(self) -> str:
        """The run folder, with the decisions of the chosen snapshot."""
        checkpoint = self.config.checkpoint
        return f"{self.config.run}" + ("" if checkpoint is None else f"@{checkpoint}")

    @property
    def output_folder(self) -> Path | None:
        """The folder of the report; None to save nothing."""
        if self.config.out is None and self.config.run is not None:
            return Path(self.config.run) / EVALUATIONS_FOLDER
        return None if self.config.out is None else Path(self.config.out)

    def create_output_folder(self) -> None:
        """Create the output folder."""
        if self.output_folder is not None:
            with error_prefix("out"):
                create_writable_folder(self.output_folder)


@dataclass(frozen=True)
class ResultTable:
    """Results of one kind, and the rows of the table that is printed of them."""

    results: Sequence[Result]
    rows: TextRows
    heading: str = ""


@dataclass(frozen=True)
class EvaluationReport:
    """All measurements of one call of `poker-rl evaluate`.

    Attributes:
        note: a line that is printed before the tables.
        snapshot: the file that holds the players; None for players that are not from a run.
        config_changes: settings of the evaluator that were not used as they are.
    """

    evaluation: Evaluation
    start_time: datetime
    tables: Sequence[ResultTable]
    note: str = ""
    snapshot: Path | None = None
    config_changes: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def headline_player(self) -> str | None:
        """The headline player of the run; None for players that are not from a run."""
        return None if self.snapshot is None else get_headline_player(self.snapshot)

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
        heading = self.evaluation.game.name
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
        evaluator = self.evaluation.evaluator
        return {
            "time": self.start_time.isoformat(sep=" ", timespec="seconds"),
            "command": shlex.join(["poker-rl", *sys.argv[1:]]),
            "game": self.evaluation.game.name,
            "evaluation": asdict(evaluator) | dict(self.config_changes),
            "snapshot": None if self.snapshot is None else str(self.snapshot),
            "decisions": None if self.snapshot is None else int(self.snapshot.stem),
            "headline": self.headline_player,
            "seed": self.evaluation.config.seed,
            "deals": evaluator.deals,
            "results": [asdict(result) for result in self.results],
        }

    def publish(self) -> None:
        """Print the report and save it as JSON and its results as CSV."""
        print_line(self.format_text())
        if (folder := self.evaluation.output_folder) is not None:
            path = folder / self.file_stem  # with_suffix would cut the stem at its dot
            write_text_atomically(Path(f"{path}.json"), json.dumps(self.to_dict(), indent=2) + "\n")
            write_text_atomically(Path(f"{path}.csv"), results_to_csv(self.results))
            print_line(f"\nsaved: {path}.json, .csv")


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
