"""Reports of `poker-rl evaluate`: print and save a report as JSON and CSV; list saved reports."""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from poker_rl.config.input_checks import ConfigError, NonNegativeInt, Seed, error_prefix, read_json
from poker_rl.evaluation.best_response.exploitability_lower_bounds import BOUND_PREFIX
from poker_rl.evaluation.matches.duplicate_match import DealCount, VarianceReductionMethod
from poker_rl.evaluation.player_evaluator import PlayerEvaluator
from poker_rl.evaluation.result import AGAINST, Result
from poker_rl.games.game import Game
from poker_rl.players.player import Player
from poker_rl.players.player_loader import (
    parse_trained_player_spec,
    read_headline_player_name,
    resolve_and_check_distinct_specs,
)
from poker_rl.reports.table_formats import (
    TextRows,
    TextTable,
    build_long_rows,
    build_wide_rows,
    format_for_terminal,
    wrap_line,
)
from poker_rl.storage.disk import create_writable_folder, to_csv, write_text_atomically
from poker_rl.storage.run_files import read_config_and_manifest
from poker_rl.storage.terminal_printing import print_line
from poker_rl.training.run_config import PlayerSourceConfig, read_run_config

if TYPE_CHECKING:
    from matplotlib.figure import Figure

EVALUATIONS_FOLDER = "evaluations"
LISTED_PREFIXES = (
    "against/",
    BOUND_PREFIX,
    "table",
)  # sampled measures that `iterate_reports` keeps
MAX_FIGURE_NAME_LENGTH = 100  # characters of a file name
RowBuilder = Callable[[Sequence[Result], str | None], TextRows]


@dataclass(kw_only=True, frozen=True)
class EvaluateConfig(PlayerSourceConfig):
    """Settings of `poker-rl evaluate`; conf/evaluate.yaml explains them."""

    against: list[str] | None
    seats: list[str]
    earlier_snapshots: NonNegativeInt
    deals: DealCount | None
    variance_reduction: VarianceReductionMethod | None
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

    @property
    def results_folder(self) -> Path | None:
        """Folder of the results; None if they are not saved."""
        if self.out is not None:
            return Path(self.out)
        return None if self.run is None else Path(self.run) / EVALUATIONS_FOLDER


@dataclass
class Evaluation:
    """One call of `poker-rl evaluate`: settings, game, evaluator, results and output files."""

    config: EvaluateConfig
    game: Game
    evaluator: PlayerEvaluator
    load_player: Callable[[str], Player]  # loads the player that a spec names
    start_time: datetime = field(default_factory=datetime.now)
    results: list[Result] = field(default_factory=list)
    tables: list[TextTable] = field(default_factory=list)

    def __post_init__(self) -> None:
        folder = self.config.results_folder
        # The path of the report's files without suffix; None if the report is not saved
        self.report_path: Path | None = None
        if folder is not None:
            self.report_path = folder / f"{self.start_time:%Y-%m-%d_%H-%M-%S.%f}"
        # The snapshot of the measured players, and its headline player; None without a run or with
        # `seats`
        self.snapshot: Path | None = None
        self.headline_player: str | None = None
        if self.config.run is not None and not self.config.seats:
            with error_prefix("checkpoint"):
                self.snapshot = parse_trained_player_spec(self.snapshot_spec)[0]
            with error_prefix("run"):
                self.headline_player = read_headline_player_name(self.snapshot)

    @property
    def snapshot_spec(self) -> str:
        """Name of the chosen snapshot: FOLDER (the run's newest snapshot) or FOLDER@DECISIONS."""
        checkpoint = self.config.checkpoint
        return f"{self.config.run}" + ("" if checkpoint is None else f"@{checkpoint}")

    def load_players_of_config_key(self, key: str) -> dict[str, Player]:
        """Return {name: player} of the players in the setting `key`, such as "against"."""
        with error_prefix(key):
            specs = resolve_and_check_distinct_specs(getattr(self.config, key) or [])
            return {spec: self.load_player(spec) for spec in specs}

    def create_output_folder(self) -> None:
        """Create the folder of the report, unless the report is not saved."""
        if self.report_path is not None:
            with error_prefix("out"):
                create_writable_folder(self.report_path.parent)

    def add_table(
        self, results: Sequence[Result], heading: str = "", build_rows: RowBuilder = build_wide_rows
    ) -> None:
        """Add results to the report and, unless they are empty, a table of them to `tables`."""
        self.results += results
        if results:
            rows = build_rows(results, self.headline_player)
            self.tables.append(TextTable(rows, heading, key_columns=2))

    def print_and_save_results(self) -> None:
        """Print the tables; save the report as JSON and its results as CSV, if it has a folder."""
        snapshot, heading = self.snapshot, self.game.name
        decisions = None if snapshot is None else int(snapshot.stem)
        if snapshot is not None:
            heading += f", {decisions:,} decisions: {snapshot}"
        print_line(
            format_for_terminal([heading, *self.tables], list_names_in_results(self.results))
        )
        if self.report_path is None:
            print_line("\nnothing was written; out=FOLDER saves it as JSON and CSV")
            return
        report = {
            "game": self.game.name,
            "evaluation": asdict(self.evaluator),
            "snapshot": None if snapshot is None else str(snapshot),
            "decisions": decisions,
            "headline": self.headline_player,
            "seed": self.config.seed,
            "deals": self.evaluator.deals,
        }
        save_results(self.report_path, report, self.results, self.start_time)
        print_line(f"\nsaved: {self.report_path}.json, .csv")

    def save_figures(self, figures: Mapping[str, Figure]) -> None:
        """Save figures by name as PNG files, with a footnote on game, snapshot and seeds."""
        from poker_rl.evaluation.plots.plotting import save_figure

        if not figures or self.report_path is None:
            print_line("no figures: the game is too large for a policy to be drawn")
            return
        origin = f"{self.game.name}; evaluated with seed {self.config.seed}"
        if self.snapshot is not None:
            training_seed = read_config_and_manifest(self.snapshot.parents[1])[1]["seed"]
            origin = f"{self.snapshot}, trained with seed {training_seed}, {origin}"
        self.report_path.mkdir(exist_ok=True)
        for name, figure in figures.items():
            file_name = re.sub(r"[^\w.+-]+", "_", name)[:MAX_FIGURE_NAME_LENGTH]
            save_figure(figure, self.report_path / f"{file_name}.png", origin)
        print_line(f"figures: {self.report_path}")


def save_results(
    path_without_suffix: Path, report: Mapping[str, Any], results: Sequence[Result], time: datetime
) -> None:
    """Save results as CSV, and as JSON with the contents of `report`, the time and the command."""
    rows = [asdict(result) for result in results]
    command = shlex.join(["poker-rl", *sys.argv[1:]])
    heading = {"time": time.isoformat(sep=" ", timespec="seconds"), "command": command}
    content = json.dumps({**heading, **report, "results": rows}, indent=2)
    write_text_atomically(Path(f"{path_without_suffix}.json"), content + "\n")
    write_text_atomically(Path(f"{path_without_suffix}.csv"), to_csv(rows))


def iterate_reports(folder: Path) -> Iterator[tuple[str, list[Result], str | None, int | None]]:
    """Yield (heading, results, headline player, decisions) of each report, oldest first.

    The results are exploitability, its lower bounds, and winnings in matches and at mixed tables.
    The decisions are the number of training decisions up to the snapshot. They and the headline
    player are None if the measured players are not from a run. Raise ConfigError if a report can't
    be read.
    """
    for number, path in enumerate(sorted(folder.glob("*.json")), start=1):
        try:
            report = read_json(path)
            decisions = report["decisions"]
            heading = f"seed {report['seed']}, {report['time']}, {report['command']}"
            if decisions is not None:
                heading = f"{decisions:,} decisions, {heading}"
            results = [
                result
                for result in (Result(**row) for row in report["results"])
                if result.measure.startswith("exploitability")
                or (result.half_width is not None and result.measure.startswith(LISTED_PREFIXES))
            ]
            for result in results:
                str(result)  # raises TypeError if a value is no number
            yield f"{number}: {heading}", results, report["headline"], decisions
        except (OSError, ValueError, LookupError, TypeError, AttributeError):
            raise ConfigError(f"{path} is no evaluation that can be read") from None


def print_reports(config: EvaluateConfig) -> None:
    """Print the reports in the folder `out` or, without `out`, those of the run; oldest first."""
    if config.results_folder is None:
        raise ConfigError("show: give run=FOLDER or out=FOLDER")
    if config.out is None:
        read_run_config(config.results_folder.parent, "run")
    with error_prefix("show"):
        print_line(read_and_format_reports(config.results_folder))


def read_and_format_reports(folder: Path) -> str:
    """Return a table of exploitability and matches for each report in a folder, oldest first."""
    texts = []
    for heading, results, headline_player, _ in iterate_reports(folder):
        table = TextTable(build_long_rows(results, headline_player))
        text = format_for_terminal([table], list_names_in_results(results))
        texts.append(f"{wrap_line(heading)}\n\n{text}")
    if not texts:
        raise ConfigError(f"there are no evaluations in {folder}")
    return "\n\n\n".join(texts)


def list_names_in_results(results: Sequence[Result]) -> list[str]:
    """Return all names in results: measured players, opponents and best responses."""
    return [
        *(result.player for result in results),
        *(result.kind.partition(AGAINST)[2] for result in results),
        *(result.measure.partition(BOUND_PREFIX)[2] for result in results),
    ]
