"""`poker-rl compare`: groups of runs, means over seeds, what is left out, files and pictures."""

from __future__ import annotations

import csv
import json
import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from commands import TRAIN, code, files_of
from written import EXACT, row, run_folder

from poker_rl.reports.comparison import (
    CompareConfig,
    Comparison,
    compute_student_quantile,
    summarize_seeds,
)
from poker_rl.reports.comparison_figure import build_line_over_runs, draw_comparison
from poker_rl.reports.html_report import create_comparison
from poker_rl.reports.run_data import find_run_folders, read_run

pytestmark = pytest.mark.usefixtures("here")


def said(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """What the command prints, which no line makes wider than a terminal."""
    capsys.readouterr()
    assert code("compare", *words) == 0
    out: str = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 120
    return out


def cells(out: str, first: str) -> list[str]:
    """The cells of the row that begins so."""
    (line,) = [line for line in out.splitlines() if line.startswith(f"{first} ")]
    return re.split(" {2,}", line)


@pytest.mark.parametrize(
    ("freedom", "quantile"), [(1, 12.706), (2, 4.303), (4, 2.776), (30, 2.042)]
)
def test_students_quantile(freedom, quantile):
    """As any table of Student's distribution has them, in percent 97.5."""
    assert compute_student_quantile(freedom) == pytest.approx(quantile, abs=5e-4)


def test_mean_and_interval():
    # The mean is 2, the standard deviation 1, and t of two degrees of freedom 4.3027.
    assert summarize_seeds((1.0, 2.0, 3.0)) == (2, pytest.approx(4.3027 / 3**0.5, abs=1e-4))
    assert summarize_seeds((1.0,)) == (1, None)


def test_curves_meet_only_where_all_of_them_are():
    one = np.array([0.0, 10.0, 20.0]), np.array([0.0, 1.0, 4.0])
    other = np.array([5.0, 15.0, 30.0]), np.array([2.0, 2.0, 5.0])
    line = build_line_over_runs("", [one, other])
    np.testing.assert_allclose(line.x, [5, 10, 15, 20])
    np.testing.assert_allclose(line.y, [1.25, 1.5, 2.25, 3.5])
    ((_, low, high),) = line.bands
    np.testing.assert_allclose([low, high], [[0.5, 1, 2, 3], [2, 2, 2.5, 4]])


def test_runs_that_differ_in_their_seed_alone_are_a_row(capsys):
    for seed, value in enumerate([0.1, 0.2, 0.3]):
        run_folder(f"r/a{seed}", [row(0, 1), row(100, value)], seed=seed, outputs=f"r{seed}")
    run_folder("r/b", [row(0, 1), row(100, 0.5)], algo={"_target_": "x.PPO", "gamma": 0.9})
    out = said(capsys, "r")
    # 0.2 ± 4.303 * 0.1 / sqrt(3), after 100 decisions and 600 seconds
    assert cells(out, "gamma=1") == ["gamma=1", "3", "average", "0.20 ± 0.25", "100", "10.0"]
    assert cells(out, "gamma=0.9")[1:4] == ["1", "average", "0.5 (1 seed)"]
    assert "exploitability (ante/hand)" in out
    assert "machine: a processor, 1 thread" in out
    assert "differ" not in out


def test_what_sets_groups_apart(capsys):
    def settings(horizon, lr, target="poker_rl.config.schedules.Linear"):
        schedule = {"_target_": target, "start": lr, "horizon": horizon}
        return {"_target_": "poker_rl.algos.ppo.PPO", "lr": schedule}

    rows = [row(0, 1)]
    run_folder("r/a", rows, algo=settings(100.0, 0.1))
    run_folder("r/b", rows, algo=settings(200.0, 0.1), budget=200)
    # A class that has moved is the same class; that of another schedule is not.
    run_folder("r/c", rows, algo=settings(100.0, 0.1, "old.Linear"), seed=1)
    run_folder("r/d", rows, algo=settings(100.0, 0.1, "poker_rl.config.schedules.LogLinear"))
    run_folder("r/e", rows, algo=settings(100.0, 0.1), names={"experiment": "mine"}, threads=2)
    groups = Comparison([read_run(Path(f"r/{name}")) for name in "abcd"], CompareConfig()).groups
    assert [[run.folder.name for run in group.runs] for group in groups] == [
        ["a", "c"],
        ["b"],
        ["d"],
    ]
    # A horizon that follows the budget is no difference of its own.
    assert [group.label for group in groups] == [
        "budget=100 lr=Linear",
        "budget=200 lr=Linear",
        "budget=100 lr=LogLinear",
    ]
    assert read_run(Path("r/e")).base_label == "mine"
    out = said(capsys, "r/d", "r/b")
    assert "budget=100 lr=Log" in out


def test_a_table_for_each_game(capsys):
    run_folder("r/a", [row(0, 1)])
    run_folder("r/b", [row(0, 1)], names={"game": "leduc"})
    out = said(capsys, "r")
    assert "kuhn: final figures" in out
    assert "leduc: final figures" in out


def test_what_is_not_finished_is_left_out_of_the_means(capsys):
    run_folder("r/a", [row(0, 1), row(100, 0.2)], seed=0)
    stopped = {"status": "interrupted"}
    run_folder("r/b", [row(0, 1), row(50, 0.4)], seed=1, manifest=stopped)
    error = {"status": "failed", "error": "DivergedError: loss is nan"}
    run_folder("r/c", [row(0, 1)], seed=2, manifest=error)
    run_folder("r/d", [], seed=3, manifest={"status": "running"})
    run_folder("r/e", [row(0, 1), row(100, 9)], seed=0, manifest={"start": "2025"})
    again = {"status": "interrupted", "start": "2031"}  # does not hide what had finished
    run_folder("r/f", [row(0, 1)], seed=0, manifest=again)
    out = said(capsys, "r")
    assert cells(out, "ppo")[1:4] == ["1 of 4", "average", "0.2 (1 seed)"]
    for told in (
        "r/b, interrupted at 50 decisions",
        "r/c, diverged at 0 decisions",
        "r/d, running or killed, nothing recorded yet",
        "r/e, another run of seed 0 counts",
        "r/f, another run of seed 0 counts",
    ):
        assert f"not in the means: {told}\n" in out
    # 0.2, 0.4 and 1: 0.53 ± 4.303 * 0.416 / sqrt(3)
    assert cells(said(capsys, "r", "unfinished=true"), "ppo")[1:4] == [
        "3 of 4",
        "average",
        "0.5 ± 1.0",
    ]
    # What has come so far counts, finished or not.
    out = said(capsys, "r", "x_value=40")
    assert cells(out, "ppo")[1] == "2 of 4"
    assert "not in the means: r/c, ends at 0 decisions" in out


def test_a_run_that_has_come_nowhere_is_told_below_the_table(capsys):
    """Its first evaluation took seconds, which are no counter that another axis could lack."""
    run_folder("r/a", [row(0, 1), row(100, 0.2)], seed=0)
    begun = row(0, 1, **{"time/elapsed_s": 2})
    run_folder("r/b", [begun], seed=1, manifest={"status": "interrupted"})
    out = said(capsys, "r")
    assert cells(out, "ppo")[1:4] == ["1 of 2", "average", "0.2 (1 seed)"]
    assert "not in the means: r/b, interrupted at 0 decisions\n" in out
    assert "1 of 2" in said(capsys, "r", "x_axis=seconds", "x_value=3")
    assert "interrupted at 0 decisions" in create_comparison(
        [read_run(Path(f"r/{name}")) for name in "ab"]
    )


def test_figures_at_a_place_are_those_of_the_row_before(capsys):
    rows = [row(0, 1), row(40, 0.5), row(80, 0.25, **{"loss/value": 3})]
    run_folder("r/a", rows)
    out = said(
        capsys, "r", "x_value=30", "x_axis=hands", f"tags=[exploitability,{EXACT},loss/value]"
    )
    assert "figures at 30 hands" in out
    # 30 hands are 60 decisions; the last row until then is at 40 decisions, 20 hands, 240 seconds.
    assert cells(out, "ppo")[3:] == ["0.5 (1 seed)", "0.5 (1 seed)", "-", "20", "4.0"]


def test_at_a_place_the_newest_run_of_a_seed_that_came_so_far_counts(capsys):
    stopped = {"status": "interrupted", "start": "2026-01-01"}
    run_folder("r/older", [row(0, 1), row(90, 0.25)], manifest=stopped)
    run_folder("r/newer", [row(0, 1), row(20, 0.5)], manifest=stopped | {"start": "2026-01-02"})
    out = said(capsys, "r", "x_value=80")
    assert "0.25" not in out  # which is of a later row
    assert "not in the means: r/newer, another run of seed 0 counts" in out
    assert cells(out, "ppo")[-2] == "0"


def test_the_place_is_that_of_the_figures_that_a_run_has(capsys):
    """One run has measured a match with one bot and one with another, at other places."""
    for name, places in (("call", (0, 30, 60)), ("raise", (0, 20, 50))):
        rows = [
            {"decisions": at, "time/elapsed_s": at, f"eval/average/against/{name}": at}
            for at in places
        ]
        run_folder(f"r/{name}", rows, evaluation={"opponents": [name]})
    out = said(capsys, "r", "x_value=40")
    assert "  20  " in out
    assert "  30  " in out


def test_the_same_value_in_other_words_is_the_same_setting(capsys):
    for seed, budget, sizes in ((0, 100, [1, 2]), (1, 100.0, [1.0, 2])):
        run_folder(f"r/{seed}", [row(0, 1)], seed=seed, budget=budget, game={"sizes": sizes})
    (group,) = Comparison([read_run(Path(f"r/{seed}")) for seed in (0, 1)], CompareConfig()).groups
    assert len(group.runs) == 2


def test_a_place_that_the_runs_of_one_game_have_not_come_to(capsys):
    run_folder("r/a", [row(0, 1), row(100, 1)])
    run_folder("r/b", [row(0, 1)], names={"game": "leduc"})
    out = said(capsys, "r", "x_value=50")
    assert cells(out.partition("leduc")[2], "ppo") == ["ppo", "0 of 1", "average", "-", "-", "-"]


def test_no_line_is_too_wide(capsys):
    opponent = f"eval/average/against/{'o' * 80}"
    longest = f"loss/{'x' * 60}"
    run_folder("r/a", [{"decisions": 1, opponent: 1, longest: 1}], note="y" * 70)
    run_folder("r/b", [{"decisions": 1, opponent: 1, longest: 1}], note="z" * 70)
    tags = ",".join([longest, opponent, "exploitability", *["decisions"] * 30])
    run_folder("r/c", [row(1, 1)])
    out = said(capsys, "r", f"tags=[{tags}]")
    assert "[1]" in out


def test_figures_of_matches(capsys):
    tags = {"eval/current/against/call": -5.0, "eval/current/against/call/half_width": 1.0}
    rows = [{"decisions": 9, **tags}]
    run_folder("r/a", rows)
    out = said(capsys, "r")
    assert "against/call" in out
    assert "half_width" not in out
    assert "-5 (1 seed)" in out


def test_machines_and_versions_are_told_where_they_differ(capsys):
    run_folder("r/a", [row(0, 1)], seed=0)
    other = {"gpu": "a GPU", "versions": {"torch": "2.6"}}
    run_folder("r/b", [row(0, 1)], seed=1, threads=2, manifest=other)
    out = said(capsys, "r")
    assert "machines: a processor, 1 thread / a GPU, 2 threads" in out
    assert "versions of torch differ: 2.13.0, 2.6" in out


def test_folders_patterns_and_sweeps_that_have_moved():
    a, b = (run_folder(f"all/kuhn/ppo/{name}", [row(0, 1)]) for name in "ab")
    summary = Path("all/sweeps/x.csv")
    summary.parent.mkdir()
    summary.write_text("seed,folder\n0,outputs/kuhn/ppo/b\n1,\n")
    assert find_run_folders(["all/kuhn"]) == find_run_folders(["all/kuhn/*/*"]) == [a, b]
    assert find_run_folders([str(summary)]) == [b]
    assert find_run_folders([str(b), "all/*", str(a)]) == [b, a], "each once"


def test_files_have_what_the_screen_has(capsys):
    for seed, value in enumerate([0.1, 0.3]):
        run_folder(f"r/a{seed}", [row(0, 1), row(100, value)], seed=seed, name="a|b")
    run_folder("r/b", [row(0, 1), row(100, 0.5)], names={"algo": "x|y"})
    half = summarize_seeds((0.1, 0.3))[1]
    said(capsys, "r", "out=new/a.csv")
    with Path("new/a.csv").open() as file:
        first, second = csv.DictReader(file)
    assert (float(first["mean"]), float(first["half_width"])) == pytest.approx((0.2, half))
    assert (second["mean"], second["half_width"], second["seeds"]) == ("0.5", "", "1")
    assert (second["settings/algo"], second["unit"]) == ("x|y", "ante/hand")
    said(capsys, "r", "out=new/a.json")
    (game,) = json.loads(Path("new/a.json").read_text())
    assert [run["values"] for run in game["runs"]] == [
        {"exploitability": v} for v in (0.1, 0.3, 0.5)
    ]
    said(capsys, "r", "out=new/a.md")
    text = Path("new/a.md").read_text()
    assert "| x\\|y | 1 | average | 0.5 (1 seed) | 100 | 10.0 |" in text


def test_a_file_is_not_replaced_unasked(capsys, refused):
    run_folder("r/a", [row(0, 1)])
    Path("a.md").write_text("mine")
    assert refused("compare", "r", "out=a.md") == (
        "out: a.md is there already; give another name, or overwrite=true"
    )
    assert Path("a.md").read_text() == "mine"
    said(capsys, "r", "out=a.md", "overwrite=true")
    assert Path("a.md").read_text().startswith("## kuhn")


@pytest.mark.parametrize("x", ["hands", "seconds"])
def test_curves_are_drawn_over_the_axis_asked_for(x, capsys, monkeypatch):
    from poker_rl.evaluation.plots import plotting
    from poker_rl.reports import comparison_figure

    drawn, notes = [], []
    monkeypatch.setattr(plotting, "draw_lines", lambda ax, lines, log_scale: drawn.extend(lines))
    monkeypatch.setattr(
        comparison_figure, "add_footnote", lambda figure, words: notes.append(words)
    )
    for seed, value in enumerate([0.1, 0.3]):
        run_folder(f"r/a{seed}", [row(2, 1), row(100 + seed, value)], seed=seed)
    said(capsys, "r", f"x_axis={x}", "out=c.png")
    (line,) = drawn
    per_decision = {"hands": 0.5, "seconds": 6}[x]
    np.testing.assert_allclose(line.x, np.array([2, 100]) * per_decision)
    at_100 = 1 - 0.7 * 98 / 99  # of the second run, between its points
    ((name, low, high),) = line.bands
    np.testing.assert_allclose(
        [low, line.y, high], [[1, 0.1], [1, (0.1 + at_100) / 2], [1, at_100]]
    )
    assert name == "lowest to highest run"
    assert "no curve beyond the end of a run" in notes[0]


def test_pictures_of_real_runs(capsys):
    for seed in (0, 1):
        assert code(*TRAIN, f"seed={seed}", "evaluate_every=2") == 0
    said(capsys, "outputs", "x_axis=iterations", "out=a.png")
    assert Path("a.png").stat().st_size > 10_000
    said(capsys, "outputs/kuhn/*/*", "out=a.svg", "tags=[exploitability,value]")
    text = Path("a.svg").read_text()
    assert "exploitability (ante/hand)" in text, "letters stay letters"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "RUN: missing"),
        (["nowhere/*"], "nowhere/*: no run folder is called or matches this"),
        (["empty"], "empty is no run folder, and there is none below it"),
        (["empty/x.csv"], "empty/x.csv is neither a run folder nor the summary of a sweep"),
        (["damaged"], "metrics.jsonl is damaged: line 1"),
        (["halved"], "halved is no run folder"),
        (["r", "tags=[y]"], "tags: no run has recorded y; there are eval/average/exploitability"),
        (["r", "tags=[]"], "tags: is empty"),
        (["r", "tag=y"], "tag: no such setting; did you mean tags?"),
        (
            ["r", "x_axis=iterations"],
            "x_axis: r/a counts no iterations; it counts hands, decisions, seconds",
        ),
        (["r", "x_axis=miles"], "x_axis: "),
        (["r", "out=a.txt"], "out: a.txt ends in none of .md, .csv, .json, .png, .svg"),
        (["r", "out=empty/x.csv/a.md"], "out: empty/x.csv is not a folder"),
    ],
)
def test_bad_input_is_a_line(words, told, refused):
    run_folder("r/a", [row(0, 1), row(100, 1)])
    (run_folder("damaged/a", []) / "metrics.jsonl").write_text("{]\n")
    (run_folder("halved", []) / "config.yaml").unlink()
    Path("empty").mkdir()
    Path("empty/x.csv").write_text("a,b\n")
    before = sorted(Path().rglob("*"))
    message = refused("compare", *words)
    assert told in message
    assert len(message.splitlines()) == 1
    assert sorted(Path().rglob("*")) == before


def test_what_can_not_be_written_is_a_failure_of_the_machine(capsys):
    run_folder("r/a", [row(0, 1)])
    with files_of(0):
        assert code("compare", "r", "out=a.md") == 1
    assert capsys.readouterr().err.startswith("poker-rl: a.md: ")


def test_a_number_beside_a_schedule_is_told_once():
    """Each group is named by the form that its own setting has."""
    schedule = {"_target_": "poker_rl.config.schedules.Linear", "start": 0.3, "end": 0.1}
    for name, rate in (("a", 0.25), ("b", schedule)):
        run_folder(f"r/{name}", [row(0, 1)], algo={"_target_": "x.PPO", "lr": rate})
    assert [
        group.label
        for group in Comparison(
            [read_run(Path(f"r/{name}")) for name in "ab"], CompareConfig()
        ).groups
    ] == [
        "lr=0.25",
        "lr=Linear lr.start=0.3 lr.end=0.1",
    ]


def test_a_picture_of_many_groups_of_long_names_keeps_its_axes():
    """The names are numbered, and the words at the foot make it taller."""
    heights = []
    for count in (2, 12):
        for number in range(count):
            words = f"{number}, words that no legend has room for"
            run_folder(f"{count}/{number}", [row(0, 2), row(9, 1)], warm_start=words)
        with warnings.catch_warnings(action="error"):
            assert code("compare", f"{count}", f"out={count}.png") == 0
        runs = [read_run(Path(f"{count}/{number}")) for number in range(count)]
        figure = draw_comparison([Comparison(runs, CompareConfig())])
        (ax,) = figure.axes
        names = [text.get_text() for text in ax.get_legend().get_texts()]
        assert names == [f"[{number + 1}]" for number in range(count)]
        for number, name in enumerate(names):
            assert f"{name} warm_start={number}, words" in figure.get_supxlabel()
        figure.draw_without_rendering()
        heights.append(ax.get_position().height * figure.get_figheight())
        box = ax.get_legend().get_window_extent()
        assert count == 2 or box.x0 > ax.bbox.x1 - 1  # beside the axes
    assert heights[0] == pytest.approx(heights[1], rel=0.1)
