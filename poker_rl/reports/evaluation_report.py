"""Reports of `poker-rl evaluate`: print one, save it as JSON and CSV, and list saved ones."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
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
    compute_lower_end,
)
from poker_rl.evaluation.matches.duplicate_match import DealCount
from poker_rl.evaluation.player_evaluator import PlayerEvaluator
from poker_rl.evaluation.result import AGAINST, EXACT, Result
from poker_rl.evaluation.variance_reduction.variance_reducers import VarianceReductionMethod
from poker_rl.games.game import Game
from poker_rl.players.player import Player
from poker_rl.players.player_loader import read_headline_player
from poker_rl.reports.text_tables import (
    TextTable,
    build_long_rows,
    build_wide_rows,
    format_text,
    mark_headline,
    results_to_csv,
    wrap_line,
)
from poker_rl.storage.disk import create_writable_folder, print_line
from poker_rl.storage.run_folder import write_text_atomically

EVALUATIONS_FOLDER = "evaluations"
LISTED_SAMPLES = ("against/", BOUND_PREFIX, "table")


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
    hands: str | None
    hands_seat: str | None
    round_amounts: bool
    out: str | None
    show: bool
    seed: Seed
    device: Literal["auto", "cpu", "cuda"]
    threads: PositiveInt


@dataclass(frozen=True)
class Evaluation:
    """Settings, game, evaluator and player loader of one call of `poker-rl evaluate`."""

    config: EvaluateConfig
    game: Game
    evaluator: PlayerEvaluator
    load_player: Callable[[str], Player]

    @property
    def snapshot_spec(self) -> str:
        """Name of the chosen snapshot of the run: FOLDER or FOLDER@DECISIONS."""
        checkpoint = self.config.checkpoint
        return f"{self.config.run}" + ("" if checkpoint is None else f"@{checkpoint}")

    @property
    def output_folder(self) -> Path | None:
        """Folder in which the report is saved; None if it is not saved."""
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
    """Table of results, with a column for each measure if `is_wide`, else a row for each result."""

    results: Sequence[Result]
    heading: str = ""
    is_wide: bool = False


@dataclass(frozen=True)
class EvaluationReport:
    """All measurements of one call of `poker-rl evaluate`.

    Attributes:
        note: a line that is printed before the tables.
        snapshot: file of the players; None if they are not from a run.
        config_changes: values of the evaluator's settings that this measurement has replaced.
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
        return None if self.snapshot is None else read_headline_player(self.snapshot)

    @property
    def results(self) -> list[Result]:
        """The results of all tables."""
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
        tables = []
        for table in self.tables:
            if table.results:
                build_rows = build_wide_rows if table.is_wide else build_long_rows
                rows = build_rows(table.results, self.headline_player)
                tables.append(TextTable(rows, table.heading, key_columns=2))
        return format_text([heading, "\n".join(lines), *tables], list_player_names(self.results))

    def _list_exploitability_lines(self) -> list[str]:
        """Return for each player with lower bounds a line with its exact value or best bound."""
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
            number = f"{best.formatted_value} {best.unit}"
            name = mark_headline(name, self.headline_player)
            statement = f"at least {number}, {LOWER_BOUND} by {responder}"
            if exact:
                statement = f"{exact[0].formatted_value} {exact[0].unit}, {EXACT}"
            elif best.kind != LOWER_BOUND:
                statement = (
                    f"not known: what {responder} wins, {number}, says nothing ({best.kind})"
                )
            lines.append(f"exploitability of {name}: {statement}")
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

    def print_and_save(self) -> None:
        """Print the report and save it as JSON and its results as CSV."""
        print_line(self.format_text())
        if (folder := self.evaluation.output_folder) is not None:
            path = folder / self.file_stem  # the stem has a dot, where with_suffix would cut it
            write_text_atomically(Path(f"{path}.json"), json.dumps(self.to_dict(), indent=2) + "\n")
            write_text_atomically(Path(f"{path}.csv"), results_to_csv(self.results))
            print_line(f"\nsaved: {path}.json, .csv")


def select_bounds(results: Sequence[Result]) -> list[Result]:
    """Return those results that are lower bounds on exploitability."""
    return [result for result in results if result.measure.startswith(BOUND_PREFIX)]


def read_reports(
    folder: Path,
) -> Iterator[tuple[str, list[Result], str | None, int | None]]:
    """Yield each report's heading, main results, headline player and decisions, oldest first."""
    for number, path in enumerate(sorted(folder.glob("*.json")), start=1):
        try:
            report = read_json(path)
            decisions = (
                "" if report["decisions"] is None else f" {report['decisions']:,} decisions,"
            )
            heading = f"{number}:{decisions} seed {report['seed']}, {report['time']}"
            results = [Result(**row) for row in report["results"]]
            listed_results = [result for result in results if _is_listed(result)]
            title = f"{heading}, {report['command']}"
            yield title, listed_results, report["headline"], report["decisions"]
        except (OSError, ValueError, LookupError, TypeError, AttributeError):
            raise ConfigError(f"{path} is no evaluation that can be read") from None


def _is_listed(result: Result) -> bool:
    is_main = result.half_width is not None and result.measure.startswith(LISTED_SAMPLES)
    return is_main or result.measure.startswith("exploitability")


def format_report_tables(folder: Path) -> str:
    """Format tables of exploitability and matches of all reports in a folder, oldest first."""
    reports = list(read_reports(folder))
    if not reports:
        raise ConfigError(f"there are no evaluations in {folder}")
    texts = []
    for heading, results, headline_player, _ in reports:
        rows = build_long_rows(results, headline_player)
        texts.append(
            f"{wrap_line(heading)}\n\n{format_text([TextTable(rows)], list_player_names(results))}"
        )
    return "\n\n\n".join(texts)


def list_player_names(results: Sequence[Result]) -> list[str]:
    """Return all names in results: measured players, opponents and best responses."""
    return [
        *(result.player for result in results),
        *(result.kind.partition(AGAINST)[2] for result in results),
        *(bound.measure.removeprefix(BOUND_PREFIX) for bound in select_bounds(results)),
    ]
