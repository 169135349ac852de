"""`poker-rl report`: an HTML page on runs, which needs no other file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from poker_rl.config.build import convert_fields
from poker_rl.config.validation import ConfigError, Range, Seed, error_prefix
from poker_rl.reports.compare_runs import build_comparisons
from poker_rl.reports.comparison import CompareConfig
from poker_rl.reports.comparison_figure import draw_comparison
from poker_rl.reports.html_elements import (
    Markup,
    create_document,
    create_element,
    create_table,
    embed_figure,
    join_markup,
)
from poker_rl.reports.run_data import RunData, read_runs
from poker_rl.reports.run_section import create_run_section
from poker_rl.storage.disk import prepare_output_file, print_line
from poker_rl.storage.run_folder import write_text_atomically

MAX_SAMPLE_HANDS = 100
REPORT_FILE_NAME = "report.html"


@dataclass(kw_only=True, frozen=True)
class ReportConfig:
    """Settings of `poker-rl report`."""

    out: str | None
    overwrite: bool
    hands: Annotated[int, Range(0, MAX_SAMPLE_HANDS)]
    seed: Seed

    def __post_init__(self) -> None:
        if self.out is not None and Path(self.out).suffix != ".html":
            raise ConfigError(f"out: {self.out} is no page; give FILE.html")


def write_report(
    run_specs: Sequence[str], settings_dict: Mapping[str, Any], option_dirs: Sequence[Path]
) -> None:
    """Write an HTML report of runs."""
    config = ReportConfig(**convert_fields(ReportConfig, settings_dict, "", {}))
    runs = read_runs(run_specs)
    if config.out is None and len(runs) > 1:
        raise ConfigError(f"out: missing; of {len(runs)} runs, name the page: out=FILE.html")
    output_path = runs[0].folder / REPORT_FILE_NAME if config.out is None else Path(config.out)
    with error_prefix("out"):
        # The default page, in the run folder, may be replaced: `report` can create it again.
        prepare_output_file(output_path, config.overwrite or config.out is None)
    write_text_atomically(output_path, create_page(runs, config.hands, config.seed, option_dirs))
    print_line(f"written: {output_path}")


def create_page(
    runs: Sequence[RunData], sample_hands: int, seed: int, option_dirs: Sequence[Path]
) -> str:
    """Return the HTML report of runs; `seed` determines the sample hands."""
    is_single_run = len(runs) == 1
    title = f"{runs[0].game_name}: {runs[0].base_label}" if is_single_run else f"{len(runs)} runs"
    sections = [
        create_run_section(number, run, sample_hands, seed, option_dirs)
        for number, run in enumerate(runs, start=1)
    ]
    leading_elements = [] if is_single_run else [create_comparison_section(runs)]
    return create_document(title, *leading_elements, *sections)


def create_comparison_section(runs: Sequence[RunData]) -> Markup:
    """Return the same tables, notes and curves as `poker-rl compare`."""
    elements: list[str] = [create_element("h2", "Side by side")]
    measured_runs = [run for run in runs if run.headline_measures]
    comparisons = build_comparisons(measured_runs, CompareConfig()) if measured_runs else []
    for comparison in comparisons:
        elements += [
            create_element("p", comparison.title),
            create_table(comparison.build_rows()),
            *(create_element("p", note, class_="note") for note in comparison.iterate_notes()),
        ]
        if any(group.counted_runs for group in comparison.groups):
            figure = draw_comparison([comparison])
            elements.append(embed_figure(figure, f"curves of {comparison.game}"))
    return join_markup(elements)
