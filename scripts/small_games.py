"""Train every learner on every small game, and write docs/benchmark.md with the results.

    python scripts/small_games.py                         # all of it, hours of a core
    python scripts/small_games.py kuhn leduc workers=2    # two games, two runs side by side
    python scripts/small_games.py leduc/ppo seeds=1       # one row, one seed of it
    python scripts/small_games.py page=true               # train nothing, write docs/benchmark.md

A row of the page is a learner on a game. The learner is trained by a sweep over seeds, and the page
contains the command. The script can be stopped at any time: it does not repeat finished runs, and
it resumes interrupted ones. The page shows each row that has at least one finished seed, from the
files in docs/benchmark/: rows.csv has the resources that each row took, and <game>.csv all
measurements. Rows that this machine has trained replace those in the files. All other rows stay,
because another machine has trained them.
"""

from __future__ import annotations

import csv
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from textwrap import fill

import numpy as np

from poker_rl.evaluation.plots.plotting import (
    CurveLine,
    Panel,
    add_footnote,
    create_figure_and_axes,
    draw_panel,
    format_short_number,
)
from poker_rl.evaluation.result import format_number
from poker_rl.reports.comparison import CompareConfig, Comparison
from poker_rl.reports.run_data import RunGroup, group_runs, list_run_folders_at, read_run
from poker_rl.reports.seed_statistics import average_curves, estimate_with_interval
from poker_rl.storage.disk import atomic_replacement, write_text_atomically

OUTPUTS, PAGE, IMAGES = Path("outputs/small_games"), Path("docs/benchmark.md"), Path("docs/images")
RESULTS_FOLDER = Path("docs/benchmark")
SOLVERS = ("cfr", "cfr_plus", "cfr_linear", "dcfr", "pcfr_plus", "pdcfr_plus", "mccfr")
LEARNERS = (
    *("reinforce", "vpg", "ppo", "mmd", "actor_critic", "vine"),
    *("dqn", "nfsp", "nfsp_ppo", "deep_cfr"),
)
GAMES = {
    "kuhn": "Kuhn poker",
    "leduc": "Leduc hold'em",
    "nolimit_leduc": "No-limit Leduc hold'em",
    "kuhn_3p": "Kuhn poker for three",
}
# Overrides of each row that needs other settings than `game=… algo=…`
OVERRIDES_BY_ROW = {
    ("kuhn", "ppo"): "experiment=ppo_kuhn",
    ("kuhn", "mmd"): "game=kuhn algo=mmd budget=16e6",
    ("kuhn", "actor_critic"): "game=kuhn algo=actor_critic budget=10e6",
    ("kuhn", "deep_cfr"): "experiment=deep_cfr_kuhn",
    ("leduc", "deep_cfr"): "experiment=deep_cfr_leduc",
    ("leduc", "vpg"): "game=leduc algo=vpg net=mlp_relu algo.entropy_coef.end=0.1 budget=5e6",
    ("leduc", "ppo"): "experiment=ppo_leduc",
    ("leduc", "mmd"): "game=leduc algo=mmd net=mlp_relu algo.entropy_coef.end=0.1 budget=10e6",
    ("leduc", "actor_critic"): "experiment=ac_leduc",
    ("leduc", "vine"): "game=leduc algo=vine net=mlp_relu algo.entropy_coef.start=0.6"
    " algo.entropy_coef.end=0.4",
    ("leduc", "nfsp"): "experiment=nfsp_leduc_tuned budget=8e6 algo.lr.horizon=1.25e5"
    " algo.average_policy.lr.horizon=1.25e5",
    ("leduc", "nfsp_ppo"): "experiment=nfsp_nolimit_leduc game=leduc net=mlp_relu",
    ("nolimit_leduc", "vpg"): "game=nolimit_leduc algo=vpg net=amounts algo.entropy_coef.end=0.1"
    " budget=5e6",
    ("nolimit_leduc", "ppo"): "experiment=ppo_nolimit_leduc",
    ("nolimit_leduc", "mmd"): "game=nolimit_leduc algo=mmd net=amounts algo.entropy_coef.end=0.1"
    " budget=10e6",
    ("nolimit_leduc", "actor_critic"): "experiment=ac_leduc game=nolimit_leduc budget=20e6"
    " algo.kl_uniform_coef.horizon=16e6 algo.actor_lr.horizon=20e6 algo.critic_lr.horizon=20e6"
    " algo.ema_decay=0.999",
    (
        "nolimit_leduc",
        "vine",
    ): "game=nolimit_leduc algo=vine net=mlp_relu algo.entropy_coef.start=0.6"
    " algo.entropy_coef.end=0.4",
    ("nolimit_leduc", "nfsp"): "experiment=nfsp_leduc_tuned game=nolimit_leduc budget=5e6"
    " algo.lr.horizon=8e4 algo.average_policy.lr.horizon=8e4",
    ("nolimit_leduc", "nfsp_ppo"): "experiment=nfsp_nolimit_leduc",
    (
        "nolimit_leduc",
        "deep_cfr",
    ): "game=nolimit_leduc algo=deep_cfr net.features=sorted_suits opponents=[]",
    ("kuhn_3p", "ppo"): "experiment=ppo_kuhn game=kuhn_3p",
    ("kuhn_3p", "mmd"): "game=kuhn_3p algo=mmd budget=16e6",
    ("kuhn_3p", "actor_critic"): "game=kuhn_3p algo=actor_critic budget=10e6",
    ("kuhn_3p", "deep_cfr"): "experiment=deep_cfr_kuhn game=kuhn_3p",
}
ARXIV = "https://arxiv.org/abs"
KNIGHT = "https://github.com/lawrencewlcknight/leduc-poker-escher-architecture-experiments"
KNIGHT_FIGURES = "experiments/leduc_poker/cached_grouped_ucv_36h/frozen_reference.json"
SOURCES = {
    "NashPG": f"[arXiv]({ARXIV}/2510.18183)",
    "NFSP": f"[arXiv]({ARXIV}/1603.01121)",
    "ARMAC": f"[arXiv]({ARXIV}/2008.12234)",
    "UCV-ESCHER": f"[Knight]({KNIGHT})",
    "Single Deep CFR": f"[Knight]({KNIGHT})",
}
PUBLISHED = (
    ("Kuhn", "NashPG", "five seeds", "0.041 ± 0.009"),
    ("Leduc", "UCV-ESCHER", "five seeds, 36 h of 8 cores", "0.0299 (0.0259 to 0.0342)"),
    ("Leduc", "UCV-ESCHER", "the same, 6.5 to 8.6 h", "0.0611 (0.0509 to 0.0762)"),
    ("Leduc", "Single Deep CFR", "five seeds, 36 h of 8 cores", "0.0475 (0.0450 to 0.0511)"),
    ("Leduc", "Single Deep CFR", "the same, 2.4 to 3.4 h", "0.0729 (0.0690 to 0.0797)"),
    ("Leduc", "NFSP", "one run", "about 0.06, read from a figure"),
    ("Leduc", "ARMAC", "22 million hands", "0.089, half of its NashConv"),
    ("Leduc", "NashPG", "five seeds", "0.478 ± 0.066"),
)
PAGE_HEAD = """\
# Every learner on every small game

This page shows how close each learner is to an equilibrium on four small games. The measure is
the exact exploitability of the **final checkpoint**, in antes a hand; in the game with three
players it is NashConv, which is three times the exploitability.

- A value with an interval (95 %, Student's t) is the mean of five seeds. To repeat it, add `-m` and
  `seed=0,1,2,3,4` to the command. All other values have seed 0.
- **Budgets and tuning differ**, so the tables show how far each command came, not which learner is
  best. No run takes more than ten minutes.
- The measured [player](algorithms.md) was chosen before the runs: `greedy` of `dqn`, `current` of
  `reinforce`, `weight_average` of `vpg`, `ppo`, `mmd`, `actor_critic` and `vine`, `average` of all
  others.
- A decision is a move of a policy that learns; for solvers, it is a visit to a decision node of the
  game tree.
- Seconds are elapsed time on one of two busy cores, including evaluations; for `cfr` on Leduc and
  on three-player Kuhn, they also include the compilation of the rules.
- The interval of `actor_critic` on Leduc (`ac_leduc`) is too narrow: with two more seeds the result
  is 0.080 ± 0.009.
- `python scripts/small_games.py` repeats all rows; [rows.csv](benchmark/rows.csv) has the commit
  and the peak memory of each row.

These learners were tuned on the game itself:

| game | tuned | only the penalties for the distance from uniform play were tuned |
|---|---|---|
| Kuhn | `ppo`, `deep_cfr` | `actor_critic` |
| Leduc | `ppo`, `actor_critic`, `nfsp`, `deep_cfr` | `vpg`, `mmd`, `vine` |
| no-limit Leduc | `nfsp_ppo` (the same settings are used on Leduc) | `ppo` |

All other learners have settings that were tuned on another of these games, or the defaults. The
defaults of `deep_cfr` were chosen on variants of Leduc hold'em, all others on Kuhn.
"""


CsvRow = dict[str, str]  # a row of a CSV file in docs/benchmark/, by column name


@dataclass(frozen=True)
class Row:
    """Row of the page: a learner on a game."""

    game: str
    algo: str

    @property
    def name(self) -> str:
        """Return the name of the row on the command line."""
        return f"{self.game}/{self.algo}"

    @property
    def overrides(self) -> str:
        """Return the overrides for `poker-rl train`, without the seed."""
        return OVERRIDES_BY_ROW.get((self.game, self.algo), f"game={self.game} algo={self.algo}")

    def list_seeds_to_train(self, max_seeds: int) -> range:
        """Return the seeds of the row: 0 for deterministic solvers, else `max_seeds` seeds."""
        return range(1 if self.algo in SOLVERS and self.algo != "mccfr" else max_seeds)

    @property
    def folder(self) -> Path:
        """Return the folder of the learner's runs on the game."""
        return OUTPUTS / self.game / self.algo

    def train(self, seeds: int, workers: int) -> None:
        """Train the seeds that have not finished, by a sweep in `workers` processes."""
        command = [sys.executable, "-c", "from poker_rl.cli import main; main()", "train", "-m"]
        command += [*shlex.split(self.overrides), f"outputs={self.folder}", "figures=false"]
        command += [f"seed={','.join(map(str, self.list_seeds_to_train(seeds)))}", "device=cpu"]
        if workers > 1:
            command += ["hydra/launcher=joblib", f"hydra.launcher.n_jobs={workers}"]
        print(f"\n{self.name}: {self.overrides}", flush=True)
        with subprocess.Popen(command) as sweep:
            try:
                code = sweep.wait()
            except KeyboardInterrupt:  # the sweep got Ctrl-C too, and saves its checkpoints now
                sweep.wait()
                sys.exit(128 + signal.SIGINT)
        if code:
            print(f"{self.name}: not all of its runs have finished")

    def select_finished_runs(self) -> RunGroup | None:
        """Return the finished runs with the settings of the newest one; None if there are none."""
        runs = (
            [read_run(folder) for folder in list_run_folders_at(self.folder)]
            if self.folder.exists()
            else []
        )
        finished = [run for run in runs if run.status == "finished"]
        if not finished:
            return None
        latest = max(finished, key=lambda run: str(run.manifest["start"]))
        groups = group_runs(finished, lambda run: run.status == "finished")
        (group,) = [one for one in groups if latest in one.runs]
        return RunGroup(self.algo, {}, group.counted_runs, group.counted_runs)


def build_summary_row(row: Row, group: RunGroup) -> CsvRow:
    """Return a learner's row of rows.csv: means over its runs on a game, and the command."""
    table = build_seed_comparison(group, row.game)
    (group,) = table.groups
    seeds = ",".join(str(run.config["seed"]) for run in group.runs)
    many = "-m " if len(group.runs) > 1 else ""
    return {
        "game": row.game,
        "learner": row.algo,
        "player": group.headline_player,
        "decisions": f"{table.compute_mean(group, 'decisions') or 0:.0f}",
        "seconds": f"{table.compute_mean(group, 'seconds') or 0:.2f}",
        "MiB": str(max(int(run.manifest.get("peak_memory_mib") or 0) for run in group.runs)),
        "command": f"poker-rl train {many}{row.overrides} seed={seeds}",
        "machines": "; ".join(sorted({run.machine for run in group.runs})),
        "commits": "; ".join(sorted({str(run.manifest["commit"])[:7] for run in group.runs})),
    }


def iterate_measurement_rows(row: Row, group: RunGroup) -> Iterator[CsvRow]:
    """Yield a row of <game>.csv for each measurement in each run of a learner."""
    (name,) = build_seed_comparison(group, row.game).measures
    for run in group.runs:
        decisions, antes = run.get_curve(name, "decisions")
        if not len(decisions):
            raise ValueError(f"{run.folder} has measured nothing")
        seconds = np.interp(decisions, *run.get_curve("seconds", "decisions"))
        for decision_count, second, ante in zip(decisions, seconds, antes, strict=True):
            yield {
                "learner": row.algo,
                "player": run.headline_player,
                "seed": str(run.config["seed"]),
                "decisions": f"{decision_count:.0f}",
                "seconds": f"{second:.1f}",
                "antes": f"{ante:.5g}",
            }


def build_seed_comparison(group: RunGroup, game: str) -> Comparison:
    """Return a comparison of a learner's runs on a game, to compute means over the seeds."""
    return Comparison(group.runs, CompareConfig(tags=[get_measure_of_game(game)]))


def get_measure_of_game(game: str) -> str:
    """Return the measure that docs/benchmark.md shows for a game."""
    return "nash_conv" if game == "kuhn_3p" else "exploitability"


@dataclass(frozen=True)
class SavedRow:
    """Saved results of a learner on a game, from docs/benchmark/ and perhaps another machine."""

    about: CsvRow  # the learner's row in rows.csv
    points: list[CsvRow]  # all measurements, ordered by seed

    @property
    def learner(self) -> str:
        """Return the name of the algorithm."""
        return self.about["learner"]

    @cached_property
    def curves(self) -> list[np.ndarray]:
        """Return, for each seed, an array [3, measurements] of decisions, seconds and antes."""
        columns: dict[str, list[list[float]]] = {}
        for point in self.points:
            values = [float(point[column]) for column in ("decisions", "seconds", "antes")]
            columns.setdefault(point["seed"], []).append(values)
        return [np.array(values).T for values in columns.values()]

    @property
    def mean(self) -> tuple[float, float | None]:
        """Return the mean final result over seeds, and half its 95 % interval (one seed: None)."""
        mean, _, high = estimate_with_interval([float(antes[-1]) for _, _, antes in self.curves])
        return mean, None if high is None else high - mean

    @property
    def formatted_mean(self) -> str:
        """Return the mean of the final results over seeds with its interval, as text."""
        mean, width = self.mean
        return f"{mean:.2g}" if width is None else format_number(mean, width)

    @property
    def formatted_seconds(self) -> str:
        """Return the mean training time of a run in seconds, as text."""
        seconds = float(self.about["seconds"])
        return f"{seconds:,.0f}" if seconds >= 10 else f"{seconds:.1f}"

    def list_cells(self) -> list[str]:
        """Return the cells of a learner's line in the table."""
        command = self.about["command"].removeprefix("poker-rl train ").removeprefix("-m ")
        return [
            self.learner,
            self.formatted_mean,
            format_short_number(float(self.about["decisions"])),
            self.formatted_seconds,
            f"`{command.removesuffix(' seed=0,1,2,3,4')}`",
        ]

    def build_mean_curve(self, x: str) -> CurveLine:
        """Return the mean curve over seeds; `x` is the x axis, "decisions" or "seconds".

        A mean is over the values at the same number of decisions. Its time in seconds is the mean
        of the times at which the runs reached this number.
        """
        line = average_curves(
            self.learner, [(decisions, antes) for decisions, _, antes in self.curves], band="range"
        )
        if x == "decisions":
            return line
        own = [np.interp(line.x, decisions, seconds) for decisions, seconds, _ in self.curves]
        return replace(line, x=np.mean(own, axis=0))


def format_table(lines: list[list[str]]) -> str:
    """Return a Markdown table; the first of the lines has the heads of the columns."""
    heads, *rest = lines
    formatted = [f"| {' | '.join(line)} |" for line in (heads, *rest)]
    return "\n".join([formatted[0], "|" + "---|" * len(heads), *formatted[1:]])


def format_solver_section(games: dict[str, list[SavedRow]]) -> Iterator[str]:
    """Yield the paragraphs of the page's section on the solvers."""
    cells = {(game, row.learner): row for game, rows in games.items() for row in rows}
    yield "## Solvers"
    text = (
        "Each value is the exploitability (for three players NashConv) in antes a hand, with the"
        " seconds of training in parentheses. The commands are `poker-rl train game=… algo=…` with"
        " the games"
        f" {', '.join(f'`{game}`' for game in games)};"
        " [rows.csv](benchmark/rows.csv) has all commands."
    )
    yield fill(text, 100)
    lines = [["solver", *(GAMES[game] for game in games)]]
    for algo in SOLVERS:
        found = [cells.get((game, algo)) for game in games]
        lines.append(
            [
                f"`{algo}`",
                *(
                    f"{row.formatted_mean} ({row.formatted_seconds})" if row else ""
                    for row in found
                ),
            ]
        )
    yield format_table(lines)


def format_game_section(game: str, rows: list[SavedRow]) -> Iterator[str]:
    """Yield the paragraphs of the page's section on a game, with the results of the learners."""
    distance = "NashConv" if get_measure_of_game(game) == "nash_conv" else "exploitability"
    heads = ["learner", f"{distance}, antes a hand", "decisions", "seconds"]
    heads.append("arguments of `poker-rl train`")
    learners = sorted((row for row in rows if row.learner in LEARNERS), key=lambda row: row.mean[0])
    yield f"## {GAMES[game]}"
    yield format_table([heads, *(row.list_cells() for row in learners)])
    missing = [algo for algo in SOLVERS + LEARNERS if algo not in {row.learner for row in rows}]
    if missing:
        yield f"Not run yet: {', '.join(missing)}."
    machines = sorted({one for row in rows for one in row.about["machines"].split("; ")})
    measured_on = "; ".join(machines).replace(", 1 thread", " with 1 thread")
    yield f"Measured on {measured_on}; all measurements: [{game}.csv](benchmark/{game}.csv)"
    if select_rows_to_draw(rows):
        yield f"![Distance from equilibrium over decisions and seconds](images/small_{game}.png)"


def format_published_section() -> Iterator[str]:
    """Yield the paragraphs of the page's section on results that others have published."""
    yield "## Published figures"
    yield (
        "The table has the exploitability that others have published for OpenSpiel's versions of"
        " the games,\nin antes a hand. The results of poker-rl above cannot be compared directly:"
        " `ac_leduc` [uses a model\nof the game](results/small_games.md#learners-with-networks),"
        " which NashPG and ARMAC do not, and\n`deep_cfr_leduc` treats hands that differ only in"
        " the names of suits as equal and stores, for each\nobservation, the mean of all its"
        " regret samples, almost as a table would."
    )
    heads = ["game", "method", "runs", "published", "source"]
    yield format_table([heads, *([*line, SOURCES[line[1]]] for line in PUBLISHED)])
    yield (
        f"Knight's values, except the means, are in `{KNIGHT_FIGURES}` of the\nlinked repository."
    )


def select_rows_to_draw(rows: list[SavedRow]) -> list[SavedRow]:
    """Return the rows whose curves are drawn: learners with networks, and MCCFR."""
    return [row for row in rows if row.learner in (*LEARNERS, "mccfr")]


def draw_and_save_figure(game: str, rows: list[SavedRow]) -> None:
    """Save the figure with the curves of all learners on a game."""
    figure, axes = create_figure_and_axes(2, size=(12, 5.5))
    distance = "NashConv" if get_measure_of_game(game) == "nash_conv" else "exploitability"
    for ax, x in zip(axes, ("decisions", "seconds"), strict=True):
        lines = [row.build_mean_curve(x) for row in select_rows_to_draw(rows)]
        draw_panel(ax, Panel(GAMES[game], lines, f"{distance} (antes)", log_scale=True), x)
    add_footnote(
        figure, "exact; mean over seeds, shaded: lowest to highest; scripts/small_games.py"
    )
    with atomic_replacement(IMAGES / f"small_{game}.png") as temporary_path:
        figure.savefig(temporary_path, format="png", dpi=110)


def read_csv(name: str) -> list[CsvRow]:
    """Return the rows of a file in docs/benchmark/; none if the file does not exist yet."""
    path = RESULTS_FOLDER / name
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def write_csv(name: str, rows: Sequence[CsvRow]) -> None:
    """Write the rows of a file in docs/benchmark/, replacing an existing file."""
    RESULTS_FOLDER.mkdir(parents=True, exist_ok=True)
    with (
        atomic_replacement(RESULTS_FOLDER / name) as temporary_path,
        temporary_path.open("w", newline="") as file,
    ):
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def update_saved_rows(rows: Sequence[Row]) -> dict[str, list[SavedRow]]:
    """Write the results of runs on this machine into docs/benchmark/; return all rows by game.

    A row without runs on this machine stays as it is in the files.
    """
    summaries = {(row["game"], row["learner"]): row for row in read_csv("rows.csv")}
    saved_rows: dict[str, list[SavedRow]] = {}
    for game in GAMES:
        points: dict[str, list[CsvRow]] = {}
        for point in read_csv(f"{game}.csv"):
            points.setdefault(point["learner"], []).append(point)
        for row in rows:
            group = row.select_finished_runs() if row.game == game else None
            if group:
                summaries[game, row.algo] = build_summary_row(row, group)
                points[row.algo] = list(iterate_measurement_rows(row, group))
        order = [row.algo for row in rows if row.game == game and row.algo in points]
        saved_rows[game] = [SavedRow(summaries[game, algo], points[algo]) for algo in order]
        if order:
            write_csv(f"{game}.csv", [point for algo in order for point in points[algo]])
    if any(saved_rows.values()):
        write_csv("rows.csv", [row.about for rows in saved_rows.values() for row in rows])
    return saved_rows


def write_page(rows: Sequence[Row]) -> None:
    """Write the page and its figures, after an update of the files in docs/benchmark/."""
    games = {game: rows for game, rows in update_saved_rows(rows).items() if rows}
    parts = [PAGE_HEAD, *format_solver_section(games)]
    for game, those in games.items():
        parts += format_game_section(game, those)
        if select_rows_to_draw(those):
            draw_and_save_figure(game, those)
    parts += format_published_section()
    write_text_atomically(PAGE, "\n\n".join(part.strip("\n") for part in parts) + "\n")
    print(f"\nwritten: {PAGE}")


def main() -> None:
    every = [Row(game, algo) for game in GAMES for algo in (*SOLVERS, *LEARNERS)]
    words = [word for word in sys.argv[1:] if "=" not in word]
    options = {"seeds": "5", "workers": "1", "page": "false"}
    for word in sys.argv[1:]:
        key, equals, value = word.partition("=")
        if equals and key not in options:
            sys.exit(f"{key}: there is no such option; allowed: {', '.join(options)}")
        if equals:
            options[key] = value
    unknown = [word for word in words if not any(word in (row.name, row.game) for row in every)]
    if unknown:
        sys.exit(f"{unknown[0]}: no row is called so; allowed: GAME or GAME/ALGO, as in leduc/ppo")
    if options["page"] not in ("true", "false"):
        sys.exit(f"page: {options['page']} is not true or false")
    for key in ("seeds", "workers"):
        if not options[key].isdecimal() or int(options[key]) < 1:
            sys.exit(f"{key}: {options[key]} is no whole number from 1 on")
    if options["page"] == "false":
        for row in every:
            if not words or row.name in words or row.game in words:
                row.train(int(options["seeds"]), int(options["workers"]))
    write_page(every)


if __name__ == "__main__":
    main()
