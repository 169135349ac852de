"""Logger for TensorBoard.

TensorBoard treats each folder with an event file as a run, and gives each run one color. So each
player has its own event file, in `players/<player>`; all other values are in the event file of the
run folder.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from poker_rl.evaluation.result import Result, select_first_result_of_each_player
from poker_rl.storage.checkpoint import PLAYERS_FOLDER
from poker_rl.storage.disk import name_path_in_errors
from poker_rl.storage.run_files import flatten_hparams
from poker_rl.training.loggers import Logger, Row

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter


@dataclass
class TensorBoard(Logger):
    """Logger that writes scalars, figures, hyperparameters and the layout of charts."""

    _writers: dict[Path, SummaryWriter] = field(default_factory=dict, init=False, repr=False)

    def start(self, config: Mapping[str, Any], folder: Path, resumed_decisions: int | None) -> None:
        """Store the arguments; files are opened at the first row."""
        self._config, self._folder, self._resumed_decisions = config, folder, resumed_decisions
        self._game = str(config["names"]["game"])

    def log(self, row: Row, step: int) -> None:
        """Write a row as scalars, without half-widths of confidence intervals."""
        values = {f"eval/{tag}": result.value for tag, result in row.headlines.items()}
        values |= {tag: value for tag, value in row.values.items() if not tag.startswith("eval/")}
        results = row.measurements.values()
        with name_path_in_errors(self._folder):
            for tag, value in values.items():
                self._get_or_open_writer(self._folder, results).add_scalar(tag, value, step)
            for result in results:
                writer = self._get_or_open_writer(self._folder / PLAYERS_FOLDER / result.player)
                writer.add_scalar(result_to_tensorboard_tag(self._game, result), result.value, step)
            for writer in self._writers.values():
                writer.flush()

    def log_figure(self, name: str, path: Path, step: int) -> None:
        from matplotlib.image import imread

        image = imread(path)
        self._get_or_open_writer(self._folder).add_image(
            f"figures/{name}", image, step, dataformats="HWC"
        )

    def close(self, status: str) -> None:
        for folder, writer in self._writers.items():
            with name_path_in_errors(folder):
                writer.close()

    def _get_or_open_writer(self, folder: Path, results: Iterable[Result] = ()) -> SummaryWriter:
        """Return the writer of a folder, and open it at the first call.

        A writer for the run folder of a new run first gets the settings, and a layout of charts for
        `results`.
        """
        if folder in self._writers:
            return self._writers[folder]
        from torch.utils.tensorboard import SummaryWriter, summary  # its import is slow

        # A resumed run logs some steps again, so TensorBoard must drop old values from `purge_step`
        # on. It ignores the first `purge_step` in a folder, so a new run already writes one, 0.
        purge_step = 0 if self._resumed_decisions is None else self._resumed_decisions + 1
        writer = self._writers[folder] = SummaryWriter(folder, purge_step=purge_step)
        if self._resumed_decisions is None and folder == self._folder:
            # `hparams` returns three summaries; write only the second: the settings of this run.
            # The first lists names of settings. With such lists, TensorBoard would show only the
            # settings in the list of the first run that it reads. `add_hparams` would write all
            # three summaries as a separate run.
            hparams = summary.hparams(flatten_hparams(self._config), {})[1]  # type: ignore[no-untyped-call]
            writer._get_file_writer().add_summary(hparams, 0)  # type: ignore[no-untyped-call]
            writer.add_custom_scalars(build_layout(self._game, results))
        return writer


def result_to_tensorboard_tag(game: str, result: Result) -> str:
    """Return a result's tag in TensorBoard; its first part, the game, groups the charts."""
    return f"eval_{game}{'_percentiles' if result.is_percentile else ''}/{result.measure}"


def build_layout(game: str, results: Iterable[Result]) -> dict[str, dict[str, list[Any]]]:
    """Return TensorBoard's layout: a chart for each measure, with a line for each player.

    The layout is {section: {chart: ["Multiline", [regex for the chart's tags]]}}. The first result
    of each player is its main measure; all other measures are in a second section.
    """
    results = [result for result in results if not result.is_percentile]
    first = {result.measure for result in select_first_result_of_each_player(results)}
    sections: dict[str, dict[str, list[Any]]] = {}
    for result in results:
        section = game if result.measure in first else f"{game}: other measures"
        pattern = f"{re.escape(result_to_tensorboard_tag(game, result))}$"
        chart = f"{result.measure} ({result.unit})"
        sections.setdefault(section, {})[chart] = ["Multiline", [pattern]]
    return sections
