"""Figures of `poker-rl evaluate`, saved beside the report."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from poker_rl.evaluation.matches.match_results import MatchResults
from poker_rl.evaluation.player_evaluator import PlayerEvaluator
from poker_rl.players.player import Player
from poker_rl.reports.evaluation_report import EvaluationReport
from poker_rl.storage.disk import print_line
from poker_rl.storage.run_folder import read_run_folder

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MAX_STEM_LENGTH = 100  # characters of the name of a figure's file


def build_figures(
    evaluator: PlayerEvaluator,
    players: Mapping[str, Player],
    matches: Sequence[MatchResults],
    metrics_path: Path | None,
) -> dict[str, Figure]:
    """Return the figures of players and of the returns in their matches, by name."""
    # matplotlib takes a while to import.
    from poker_rl.evaluation.plots.run_figures import draw_return_distributions

    figures = evaluator.build_figures(players, metrics_path)
    if matches:
        distributions = [match.distribution for match in matches]
        figures["outcomes"] = draw_return_distributions(distributions)
    return figures


def save_figures(figures: Mapping[str, Figure], report: EvaluationReport, folder: Path) -> None:
    """Save figures as PNG files in a folder, with the origin of their numbers as a footnote."""
    from poker_rl.evaluation.plots import plotting

    if not figures:
        print_line(
            "no figures: the game is too large for a policy to be drawn, and there is no match"
        )
        return
    origin = f"{report.evaluation.game.name}; evaluated with seed {report.evaluation.config.seed}"
    if report.snapshot is not None:
        training_seed = read_run_folder(report.snapshot.parents[1])[1]["seed"]
        origin = f"{report.snapshot}, trained with seed {training_seed}, {origin}"
    folder.mkdir(exist_ok=True)
    used_stems: set[str] = set()
    for name, figure in figures.items():  # names may contain the path of a player
        stem = re.sub(r"[^\w.+-]+", "_", name)[-MAX_STEM_LENGTH:]
        while stem in used_stems:
            stem += "_"
        used_stems.add(stem)
        plotting.save_png(figure, folder / f"{stem}.png", origin)
    print_line(f"figures: {folder}")
