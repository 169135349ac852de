"""`poker-rl compare`: groups of runs, statistics over seeds, excluded runs, files and figures."""

import csv
import json
import re
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from commands import run_command
from run_folders import make_row, write_run_folder

from poker_rl.reports.compare_runs import draw_comparison
from poker_rl.reports.comparison import CompareConfig, Comparison
from poker_rl.reports.run_data import find_run_folders, read_run
from poker_rl.reports.seed_statistics import (
    average_curves,
    bootstrap_interval,
    compute_iqm,
    compute_performance_profile,
    estimate_with_interval,
)

pytestmark = pytest.mark.usefixtures("working_folder")


def compare(capsys, *arguments):
    """Run the command; return its output, whose lines have at most 120 characters."""
    capsys.readouterr()
    assert run_command("compare", *arguments) == 0
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 120
    return out


def read_cells(out, first):
    """Return the cells of the row whose first cell begins with `first`."""
    (line,) = [line for line in out.splitlines() if line.startswith(f"{first} ")]
    return re.split(" {2,}", line)


def test_mean_intervals_and_performance_profile():
    half_width = 4.3027 / 3**0.5
    interval = pytest.approx((2, 2 - half_width, 2 + half_width), abs=1e-4)
    assert estimate_with_interval((1.0, 2.0, 3.0)) == interval
    for statistic in ((), ("iqm",)):
        assert estimate_with_interval((1.0,), *statistic) == (1, None, None)
    thresholds = np.array([0.0, 1.0, 2.5, 4.0])
    scores = [np.array([1.0, 2.0]), np.array([3.0, 3.0])]
    share, low, high = compute_performance_profile(scores, thresholds)
    assert share.tolist() == [1, 0.75, 0.5, 0]  # shares of scores above the thresholds
    assert ((low <= share) & (share <= high)).all()


def test_interquartile_mean_and_stratified_bootstrap():
    """As in rliable: a mean trimmed by a quarter at each end, and percentile intervals."""
    assert compute_iqm(np.array([9.0, 1, 2, 3, 4, -50, 5, 6])) == np.mean([2, 3, 4, 5])
    stats = pytest.importorskip("scipy.stats")
    values = np.random.default_rng(0).normal(size=(10, 3))
    np.testing.assert_allclose(compute_iqm(values), stats.trim_mean(values, 0.25))
    # Runs are resampled within their game, so games with equal runs add no spread.
    low, high = bootstrap_interval([np.zeros((5, 1)), np.ones((5, 1))], lambda rows: rows.mean(0))
    assert (low, high) == (0.5, 0.5)
    low, high = bootstrap_interval([values], compute_iqm)
    trim = partial(stats.trim_mean, proportiontocut=0.25)
    reference = stats.bootstrap((values,), trim, axis=0, method="percentile", rng=1)
    np.testing.assert_allclose(low, reference.confidence_interval.low, atol=0.1)
    np.testing.assert_allclose(high, reference.confidence_interval.high, atol=0.1)


def test_mean_curve_covers_the_range_common_to_all():
    first = np.array([0.0, 10.0, 20.0]), np.array([0.0, 1.0, 4.0])
    second = np.array([5.0, 15.0, 30.0]), np.array([2.0, 2.0, 5.0])
    mean_curve = average_curves("", [first, second], band="range")
    np.testing.assert_allclose(mean_curve.x, [5, 10, 15, 20])
    np.testing.assert_allclose(mean_curve.y, [1.25, 1.5, 2.25, 3.5])
    ((_, low, high),) = mean_curve.bands
    np.testing.assert_allclose([low, high], [[0.5, 1, 2, 3], [2, 2, 2.5, 4]])
    ((_, low, high),) = average_curves("", [first, second]).bands  # same interval as in the table
    assert (low[1], high[1]) == pytest.approx(estimate_with_interval((1.0, 2.0))[1:])


def test_runs_that_differ_only_in_their_seed_share_a_row(capsys):
    for seed, value in enumerate([0.1, 0.2, 0.3]):
        rows = [make_row(0, 1), make_row(100, value)]
        write_run_folder(f"r/a{seed}", rows, seed=seed, outputs=f"r{seed}")
    algo = {"_target_": "x.PPO", "gamma": 0.9}
    write_run_folder("r/b", [make_row(0, 1), make_row(100, 0.5)], algo=algo)
    out = compare(capsys, "r")
    # 0.2 ± 4.303 * 0.1 / sqrt(3), after 100 decisions and 10 minutes
    assert read_cells(out, "gamma=1") == ["gamma=1", "3", "average", "0.20 ± 0.25", "100", "10"]
    assert read_cells(out, "gamma=0.9")[1:4] == ["1", "average", "0.5 (1 seed)"]
    assert "exploitability (ante/hand)" in out
    assert "machine: a processor, 1 thread" in out
    assert "differ" not in out


def test_runs_are_grouped_by_their_settings(capsys):
    def settings(horizon, lr, target="poker_rl.config.schedules.Linear"):
        schedule = {"_target_": target, "start": lr, "horizon": horizon}
        return {"_target_": "poker_rl.algos.ppo.PPO", "lr": schedule}

    rows = [make_row(0, 1)]
    write_run_folder("r/a", rows, algo=settings(100.0, 0.1))
    write_run_folder("r/b", rows, algo=settings(200.0, 0.1), budget=200)
    # A class that moved to another module is the same class; another schedule is not.
    write_run_folder("r/c", rows, algo=settings(100.0, 0.1, "old.Linear"), seed=1)
    write_run_folder("r/d", rows, algo=settings(100.0, 0.1, "poker_rl.config.schedules.LogLinear"))
    write_run_folder("r/e", rows, names={"experiment": "mine"})
    groups = Comparison([read_run(Path(f"r/{name}")) for name in "abcd"], CompareConfig()).groups
    names = ["".join(run.folder.name for run in group.runs) for group in groups]
    assert names == ["ac", "b", "d"]
    # Labels omit a horizon that equals the budget.
    labels = [group.label for group in groups]
    assert labels[:2] == ["budget=100 lr=Linear", "budget=200 lr=Linear"]
    assert labels[2] == "budget=100 lr=LogLinear"
    assert read_run(Path("r/e")).experiment_or_algo == "mine"
    assert "budget=100 lr=Log" in compare(capsys, "r/d", "r/b")


def test_unfinished_runs_are_excluded_from_means(capsys):
    write_run_folder("r/a", [make_row(0, 1), make_row(100, 0.2)], seed=0)
    interrupted = {"status": "interrupted"}
    write_run_folder("r/b", [make_row(0, 1), make_row(50, 0.4)], seed=1, manifest=interrupted)
    failed = {"status": "failed", "error": "DivergedError: loss is nan"}
    write_run_folder("r/c", [make_row(0, 1)], seed=2, manifest=failed)
    write_run_folder("r/d", [], seed=3, manifest={"status": "running"})
    write_run_folder("r/e", [make_row(0, 1), make_row(100, 9)], seed=0, manifest={"start": "2025"})
    rerun = {"status": "interrupted", "start": "2031"}  # the finished run still counts
    write_run_folder("r/f", [make_row(0, 1)], seed=0, manifest=rerun)
    out = compare(capsys, "r")
    assert read_cells(out, "ppo")[1:4] == ["1 of 4", "average", "0.2 (1 seed)"]
    for exclusion in (
        "r/b, interrupted at 50 decisions",
        "r/c, diverged at 0 decisions",
        "r/d, running or killed at 0 decisions",
        "r/e, another run of seed 0 counts",
        "r/f, another run of seed 0 counts",
    ):
        assert f"not in the means: {exclusion}\n" in out
    # The values 0.2, 0.4 and 1 give 0.53 ± 4.303 * 0.416 / sqrt(3).
    out = compare(capsys, "r", "unfinished=true")
    assert read_cells(out, "ppo")[1:4] == ["3 of 4", "average", "0.5 ± 1.0"]
    out = compare(capsys, "r", "x_value=40")
    assert read_cells(out, "ppo")[1] == "2 of 4"
    assert "not in the means: r/c, diverged at 0 decisions" in out


def test_runs_are_found_by_folder_pattern_and_sweep_summary():
    a, b = (write_run_folder(f"all/kuhn/ppo/{name}", [make_row(0, 1)]) for name in "ab")
    summary = Path("all/sweeps/x.csv")
    summary.parent.mkdir()
    summary.write_text("seed,folder\n0,outputs/kuhn/ppo/b\n1,\n")
    assert find_run_folders(["all/kuhn"]) == find_run_folders(["all/kuhn/*/*"]) == [a, b]
    assert find_run_folders([str(summary)]) == [b]
    assert find_run_folders([str(b), "all/*", str(a)]) == [b, a], "each once"


def test_written_files_contain_the_printed_values(capsys):
    for seed, value in enumerate([0.1, 0.3]):
        rows = [make_row(0, 1), make_row(100, value)]
        write_run_folder(f"r/a{seed}", rows, seed=seed, name="a|b")
    write_run_folder("r/b", [make_row(0, 1), make_row(100, 0.5)], names={"algo": "x|y"})
    interval = estimate_with_interval((0.1, 0.3))[1:]
    compare(capsys, "r", "out=new/a.csv")
    with Path("new/a.csv").open() as file:
        first, second = csv.DictReader(file)
    values = [float(first[name]) for name in ("mean", "low", "high")]
    assert values == pytest.approx([0.2, *interval])
    assert (second["mean"], second["low"], second["seeds"]) == ("0.5", "", "1")
    assert (second["settings/algo"], second["unit"]) == ("x|y", "ante/hand")
    compare(capsys, "r", "out=new/a.json")
    (game,) = json.loads(Path("new/a.json").read_text())
    values = [run["values"]["exploitability"] for run in game["runs"]]
    assert values == [0.1, 0.3, 0.5]
    compare(capsys, "r", "out=new/a.png")
    assert Path("new/a.png").read_bytes().startswith(b"\x89PNG")
    compare(capsys, "r", "out=new/a.md")
    assert "| x\\|y | 1 | average | 0.5 (1 seed) | 100 | 10 |" in Path("new/a.md").read_text()


def test_figures_and_captions_follow_their_settings(capsys):
    for seed, value in enumerate([0.1, 0.3]):
        rows = [make_row(0, 1), make_row(100, value)]
        write_run_folder(f"r/a{seed}", rows, seed=seed)
        write_run_folder(f"r/b{seed}", rows, seed=seed, warm_start="all/kuhn/ppo/mine@100")
        write_run_folder(f"s/a{seed}", rows, seed=seed, names={"game": "leduc"})
    files = ["out=a.pdf", "curves=a.csv", "caption=a.tex"]
    assert read_cells(compare(capsys, "r", "labels=[ours,theirs]", *files), "theirs")[1] == "2"
    assert Path("a.pdf").read_bytes().startswith(b"%PDF")
    assert r"exact; mean over 2 seeds; shaded: 95 \% interval" in Path("a.tex").read_text()
    rows = list(csv.DictReader(Path("a.csv").read_text().splitlines()))
    assert [row["group"] for row in rows] == ["ours"] * 2 + ["theirs"] * 2
    assert float(rows[1]["low"]) == pytest.approx(estimate_with_interval((0.1, 0.3))[1])
    runs = [read_run(Path(f"r/{name}")) for name in ("a0", "a1", "b0", "b1")]
    layout = {"width": 3.0, "height": 2.0, "font_scale": 2.0, "x_range": [0.0, 50.0]}
    config = CompareConfig(title="A", caption="none", colors=["black", "red"], **layout)
    comparison = Comparison(runs, config)
    assert [group.label for group in comparison.groups] == ["ppo", "from mine"]
    figure = draw_comparison([comparison])
    (ax,) = figure.axes
    assert (ax.get_title(loc="left"), figure.get_supxlabel()) == ("A", "")
    assert (tuple(figure.get_size_inches()), ax.get_xlim()) == ((3, 2), (0, 50))
    assert [line.get_color() for line in ax.lines] == ["black", "red"]
    sizes = {text.get_fontsize() for text in (*ax.get_xticklabels(), *ax.get_legend().texts)}
    assert sizes == {18}
    footnote = draw_comparison([Comparison(runs, CompareConfig(statistic="iqm"))]).get_supxlabel()
    assert "interquartile mean over 2 seeds; shaded: 95 % interval (stratified boot" in footnote
    assert "straight lines between the points" in " ".join(footnote.split())
    out = compare(capsys, "r/a*", "s", "statistic=iqm", "profile=true", "out=p.svg")
    assert out.count("0.2 [0.1, 0.3]") == 2  # for kuhn and for leduc
    assert "share of runs below the threshold" in Path("p.svg").read_text()
    for y_range in ([0.0, 2.0], [0.2, 0.28]):  # without it the axis is logarithmic
        (ax,) = draw_comparison([Comparison(runs, CompareConfig(y_range=y_range))]).axes
        assert list(ax.get_ylim()) == y_range
        assert {*y_range} <= {round(tick, 9) for tick in ax.get_yticks()}


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["nowhere/*"], "nowhere/*: no run folder matches this or is below it"),
        (["empty"], "empty: no run folder matches this or is below it"),
        (["damaged"], "metrics.jsonl is damaged: line 1"),
        (["r", "tags=[y]"], "tags: no run has recorded y; there are eval/average/exploitability"),
        (["r", "x_axis=iterations"], "x_axis: r/a counts no iterations; it counts hands, dec"),
        (["r", "out=a.txt"], "out: a.txt ends in none of .md, .csv, .json, .pdf, .svg, .png, .pgf"),
        (["r", "labels=[a,b]"], "labels: give 1, one for each group of kuhn: ppo"),
        (["r", "s", "labels=[a,a]"], "labels: two groups have the same label"),
        (["r", "s", "t", "profile=true", "out=a.svg"], "has no exploitability from before its tr"),
        (["r", "out=a.png", "width=800"], "width: 800.0 is not in [1, 100]"),
        (["r", "out=a.csv", "curves=a.csv"], "out, curves, caption: give each a file of its own"),
        (["r", "out=a.png", "colors=[bleu]"], "colors: bleu is no color"),
        (["r", "out=a.png", "x_range=[2,1]"], "x_range: [2.0, 1.0] is not [LOW,HIGH]"),
        (["r", "caption=a.pdf"], "caption: a.pdf ends in none of figure, none, .txt, .md, .tex"),
    ],
)
def test_mistakes_are_explained_in_one_line(arguments, expected, get_refusal):
    write_run_folder("r/a", [make_row(0, 1), make_row(100, 1)])
    write_run_folder("s/a", [make_row(0, 1)], warm_start="r/a@100")
    write_run_folder("t/a", [make_row(100, 1, iterations=1)], names={"game": "leduc"})
    (write_run_folder("damaged/a", []) / "metrics.jsonl").write_text("{]\n")
    (write_run_folder("halved", []) / "config.yaml").unlink()
    Path("empty").mkdir()
    Path("empty/x.csv").write_text("a,b\n")
    before = sorted(Path().rglob("*"))
    message = get_refusal("compare", *arguments)
    assert expected in message
    assert len(message.splitlines()) == 1
    assert sorted(Path().rglob("*")) == before
