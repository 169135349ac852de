"""`poker-rl compare`: tables and curves of runs, averaged over runs that differ only in seed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.text import Text

from poker_rl.config.input_checks import ConfigError
from poker_rl.evaluation.plots.plotting import (
    CurveLine,
    Panel,
    add_footnote,
    draw_panels,
    save_figure,
    set_figure_title,
)
from poker_rl.evaluation.plots.run_curves import COUNTER_TAGS
from poker_rl.evaluation.result import AGAINST, EXACT
from poker_rl.reports.comparison import IMAGE_SUFFIXES, CompareConfig, Comparison
from poker_rl.reports.run_data import RunData, find_run_folders, read_run
from poker_rl.reports.seed_statistics import compute_performance_profile
from poker_rl.storage.disk import prepare_output_file, to_csv, write_text_atomically
from poker_rl.storage.terminal_printing import print_line

# If the name of a measure ends in one of these, smaller values are better.
LOWER_IS_BETTER = ("exploitability", "nash_conv")


def compare_runs(run_specs: Sequence[str], config: CompareConfig) -> None:
    """Print a comparison of runs, and write the files that `out`, `curves` and `caption` name."""
    runs = [read_run(folder) for folder in find_run_folders(run_specs)]
    comparisons = build_game_comparisons(runs, config)
    caption = None if config.caption in ("figure", "none") else config.caption
    outputs = {"out": config.out, "curves": config.curves, "caption": caption}
    output_paths = {key: Path(path) for key, path in outputs.items() if path is not None}
    if len({path.absolute() for path in output_paths.values()}) < len(output_paths):
        raise ConfigError("out, curves, caption: give each a file of its own")
    for key, path in output_paths.items():
        prepare_output_file(key, path, config.overwrite)
    has_figure = "out" in output_paths and output_paths["out"].suffix in IMAGE_SUFFIXES
    figure = draw_comparison(comparisons) if has_figure else None
    text = "\n\n\n".join(comparison.format_for_terminal() for comparison in comparisons)
    print_line(f"{text}\n" if output_paths else text)
    for key, path in output_paths.items():
        if key == "out" and figure is not None:
            save_figure(figure, path)
        else:
            write_text_atomically(path, format_output_file(comparisons, key, path.suffix))
        print_line(f"written: {path}")


def build_game_comparisons(runs: Sequence[RunData], config: CompareConfig) -> list[Comparison]:
    """Return a comparison of each game's runs; raise ConfigError for an unknown x axis or tag."""
    for run in runs:
        units = [unit for unit in COUNTER_TAGS if run.get_last_x(unit) > 0]
        if units and config.x_axis not in (*units, "seconds"):
            counted = f"it counts {', '.join([*units, 'seconds'])}"
            raise ConfigError(f"x_axis: {run.folder} counts no {config.x_axis}; {counted}")
    for name in config.tags or ():
        if not any(run.has_recorded(name) for run in runs):
            tags = dict.fromkeys(tag for run in runs for tag in run.curves)
            known = [tag for tag in tags if tag not in (*COUNTER_TAGS, "seconds")]
            raise ConfigError(f"tags: no run has recorded {name}; there are {', '.join(known)}")
    games = dict.fromkeys(run.game_name for run in runs)
    return [Comparison([run for run in runs if run.game_name == game], config) for game in games]


def format_output_file(comparisons: Sequence[Comparison], key: str, suffix: str) -> str:
    """Return the content for the file that `key` names: "out", "curves" or "caption"."""
    if key == "caption":
        caption = f"{format_caption(comparisons)}\n"
        return caption.replace("%", r"\%") if suffix == ".tex" else caption
    if suffix == ".md":
        return "\n".join(one.format_markdown() for one in comparisons)
    if suffix == ".json":
        return json.dumps([one.to_dict() for one in comparisons], indent=2) + "\n"
    lists = [one.records if key == "out" else one.list_curve_records() for one in comparisons]
    return to_csv([record for records in lists for record in records])


def draw_comparison(comparisons: Sequence[Comparison]) -> Figure:
    """Draw a panel for each measure of each game, with a curve for each group.

    If `profile` is set, draw the panels of `build_performance_profile_panels` instead.
    """
    config = comparisons[0].config
    panels = [
        Panel(
            one.game, one.build_curves(m), one.format_measure_name(m), m.endswith(LOWER_IS_BETTER)
        )
        for one in comparisons
        for m in one.measures
    ]
    if config.profile:
        panels = build_performance_profile_panels(comparisons)
    title = "" if config.title == "none" else config.title
    if title is not None and len(panels) == 1:
        panels = [replace(panels[0], title=title)]
    x_range, y_range = config.x_range, config.y_range
    panels = [replace(panel, x_range=x_range, y_range=y_range) for panel in panels]
    figure = draw_panels(panels, "threshold" if config.profile else config.x_axis)
    if title and len(panels) > 1:
        set_figure_title(figure, title)
    width = config.width or figure.get_figwidth()
    if config.caption == "figure":
        # `add_footnote` assumes a font scale of 1, so first set the width that fits unscaled text.
        figure.set_figwidth(width / config.font_scale)
        add_footnote(figure, format_caption(comparisons))
    figure.set_size_inches(width, config.height or figure.get_figheight())
    texts: Any = figure.findobj(Text)
    for text in texts:
        text.set_fontsize(config.font_scale * text.get_fontsize())
    for ax in figure.axes:
        ax.tick_params(labelsize=9 * config.font_scale)
    return figure


def build_performance_profile_panels(comparisons: Sequence[Comparison]) -> list[Panel]:
    """Return a panel for each measure: the share of each group's runs better than a threshold."""
    panels = []
    for measure in dict.fromkeys(measure for one in comparisons for measure in one.measures):
        sign, relation = (-1, "below") if measure.endswith(LOWER_IS_BETTER) else (1, "above")
        strata_of_group = collect_group_scores(comparisons, measure, sign)
        scores = [score for strata in strata_of_group.values() for score in np.concatenate(strata)]
        low, high = min(scores, default=0.0), max(scores, default=0.0)
        margin = 0.05 * (high - low) or 0.05 * abs(high)
        thresholds = np.linspace(low - margin, high + margin, 1001)
        lines = []
        for (label, color), strata in strata_of_group.items():
            share, *ends = compute_performance_profile(strata, thresholds)
            band = "interval", ends[0], ends[1]
            lines.append(CurveLine(label, sign * thresholds, share, (band,), color=color))
        title = f"{comparisons[0].game}: {comparisons[0].format_measure_name(measure)}"
        if len(comparisons) > 1:
            title = f"all games: {measure} / value before training"
        panels.append(Panel(title, lines, f"share of runs {relation} the threshold"))
    return panels


def collect_group_scores(
    comparisons: Sequence[Comparison], measure: str, sign: int
) -> dict[tuple[str, str | None], list[np.ndarray]]:
    """Return {(label, color) of a group: scores}, where scores has an array [runs] for each game.

    A run's score is its value of the measure times `sign`. With several games, the score is divided
    by the absolute value that the run had before training, which makes games comparable.
    """
    strata_of_group: dict[tuple[str, str | None], list[np.ndarray]] = {}
    for comparison in comparisons:
        for group in comparison.groups if measure in comparison.measures else ():
            scores = []
            for run in group.counted_runs:
                if (value := comparison.get_last_value(run, measure)) is None:
                    continue
                iterations, values = run.get_curve(measure, "iterations")
                if len(comparisons) > 1 and iterations[0] > 0:
                    problem = f"{run.folder} has no {measure} from before its training"
                    raise ConfigError(f"profile: {problem}; compare runs of one game")
                scores.append(sign * value / (abs(values[0]) if len(comparisons) > 1 else 1))
            if scores:
                strata = strata_of_group.setdefault((group.label, group.color), [])
                strata.append(np.array(scores))
    return strata_of_group


def format_caption(comparisons: Sequence[Comparison]) -> str:
    """Return the caption: how values were measured, number of seeds, meaning of the bands."""
    config = comparisons[0].config
    kinds = tuple(record["kind"] for comparison in comparisons for record in comparison.records)
    parts = ["exact"] * any(kind.startswith(EXACT) for kind in kinds)
    parts += ["won in matches"] * any(kind.startswith(AGAINST) for kind in kinds)
    groups = [group for comparison in comparisons for group in comparison.groups]
    counts = sorted({len(group.counted_runs) for group in groups} - {0})
    if max(counts, default=0) < 2:
        return "; ".join(parts)
    seeds = " to ".join(map(str, dict.fromkeys((counts[0], counts[-1])))) + " seeds"
    if config.profile:
        return "; ".join([*parts, seeds, "shaded: 95 % interval (stratified bootstrap)"])
    names = {"mean": ("mean", "Student"), "iqm": ("interquartile mean", "stratified bootstrap")}
    statistic, method = names[config.statistic]
    bands = {"interval": f"95 % interval ({method})", "range": "lowest to highest run"}
    parts += [f"{statistic} over {seeds}", f"shaded: {bands[config.band]}"]
    parts.append("straight lines between the points of a run, to the end of the shortest run")
    return "; ".join(parts)
