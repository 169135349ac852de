"""Figures of `poker-rl evaluate`, saved beside the report."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from poker_rl.evaluation.matches.match_results import MatchResults
from poker_rl.evaluation.player_evaluator import PlayerEvaluator
from poker_rl.evaluation.result import Result
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
    self_matches: Sequence[tuple[int, MatchResults]],
    metrics_path: Path | None,
) -> dict[str, Figure]:
    """Return the figures of players and their matches, by name.

    Args:
        self_matches: pairs of an earlier self's decisions and the match with it.
        metrics_path: the metrics.jsonl of the players' run; None if they are not from a run.
    """
    # matplotlib takes a while to import.
    from poker_rl.evaluation.plots.run_figures import draw_return_distributions

    figures = evaluator.build_figures(players, metrics_path)
    if metrics_path is not None:
        results_by_player: dict[str, list[tuple[int, Result]]] = {}
        for decisions, match in self_matches:
            row = decisions, match.winnings
            results_by_player.setdefault(match.winnings.player, []).append(row)
        figures |= evaluator.build_network_figures(metrics_path, results_by_player)
    returns = draw_return_distributions([match.distribution for match in matches])
    return figures if returns is None else figures | {"outcomes": returns}


def save_figures(
    figures: Mapping[str, Figure], report: EvaluationReport, metrics_path: Path | None, folder: Path
) -> None:
    """Save figures as PNG files in a folder, with the origin of their numbers as a footnote."""
    from poker_rl.evaluation.plots import plotting

    if not figures:
        print_line(
            "no figures: the game is too large for a policy to be drawn, and there is no match"
        )
        return
    origin = f"{report.game_name}; evaluated with seed {report.seed}"
    if metrics_path is not None:
        training_seed = read_run_folder(metrics_path.parent)[1]["seed"]
        origin = f"{report.snapshot}, trained with seed {training_seed}, {origin}"
    folder.mkdir(exist_ok=True)
    for stem, figure in zip(create_file_stems(figures), figures.values(), strict=True):
        plotting.save_png(figure, folder / f"{stem}.png", origin)
    print_line(f"figures: {folder}")


def create_file_stems(names: Iterable[str]) -> list[str]:
    """Return unique file names for figures, whose names may contain the path of a player."""
    unique_stems: list[str] = []
    for name in names:
        stem = re.sub(r"[^\w.+-]+", "_", name)[-MAX_STEM_LENGTH:]
        while stem in unique_stems:
            stem += "_"
        unique_stems.append(stem)
    return unique_stems
