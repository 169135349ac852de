"""Figures show the numbers they are given."""

from __future__ import annotations

import io
import json

import numpy as np
import pytest
from evaluations import (
    HOLDEM,
    KUHN,
    KUHN_3P,
    LEDUC,
    Policies,
    evaluation,
    loader,
    random_policies,
)
from matplotlib.colors import to_rgb

from poker_rl.evaluation.plots import plotting, policy_figures, run_figures
from poker_rl.evaluation.result import Result, flatten
from poker_rl.games.game_tree import get_tree


def metrics(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def run(path, one, player, **extra):
    """A metrics.jsonl of ten equal rows, the first without what comes from learning."""
    row = flatten(one.evaluate({"current": player}))
    counters = [dict.fromkeys(run_figures.COUNTER_TAGS, 100 * i) for i in range(10)]
    return metrics(path, [c | row | (extra if i else {}) for i, c in enumerate(counters)])


def texts(figure):
    """The words in a figure, its axes row by row."""
    return [text.get_text() for ax in figure.axes for text in ax.texts]


def titles(figure):
    return [ax.get_title(loc="left") for ax in figure.axes if ax.get_visible()]


def foot(figure):
    return " ".join(figure.get_supxlabel().split())


def drawable(figure):
    figure.savefig(file := io.BytesIO(), format="png")
    return file.getvalue().startswith(b"\x89PNG")


def test_a_dollar_is_no_mathematics():
    figure, (ax,) = plotting.create_figure(3, 2)
    run_figures.label_axes(ax, "Against $x^{$", "hands", "won ($_{$ a hand)")
    assert drawable(figure)
    assert titles(figure) == ["Against $x^{$"]


def test_read_fills_gaps(tmp_path):
    curves = run_figures.read_curves(
        metrics(tmp_path / "m", [{"hands": 0}, {"hands": 1, "loss/value": 2.5}])
    )
    np.testing.assert_array_equal(curves["loss/value"], [np.nan, 2.5])
    np.testing.assert_array_equal(curves["hands"], [0, 1])


@pytest.mark.parametrize(
    ("steps", "written"),
    [(0, "0"), (500, "500"), (20_000, "20k"), (1.5e6, "1.5M"), (3e9, "3B"), (-2e3, "-2k")],
)
def test_short_numbers(steps, written):
    assert plotting.format_step_count(steps) == written


def test_exploitability_of_every_player(tmp_path):
    rows = [
        {
            "decisions": 10**i,
            "eval/current/exploitability": 2.0**-i,
            "eval/average/exploitability": 1,
        }
        for i in range(5)
    ]
    curves = run_figures.read_curves(metrics(tmp_path / "m", rows))
    figure = run_figures.draw_exploitability(curves, "decisions", "ante/hand", None)
    (ax,) = figure.axes
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        "current (headline)",
        "average",
    ]
    np.testing.assert_allclose(ax.lines[0].get_xydata(), [(10**i, 2.0**-i) for i in range(5)])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("decisions", "exploitability (ante/hand)")
    assert drawable(figure)


def test_nothing_to_draw():
    curves = {"decisions": np.arange(3.0)}
    assert run_figures.draw_exploitability(curves, "decisions", "ante/hand", None) is None
    assert run_figures.draw_losses(curves, "decisions") is None
    assert run_figures.draw_matches(curves, "decisions", "ante/hand") is None


def test_a_curve_of_nothing_but_zeros_is_drawn():
    curves = {"decisions": np.zeros(1), "eval/current/exploitability": np.zeros(1)}
    assert drawable(run_figures.draw_exploitability(curves, "decisions", "ante/hand", None))


def test_matches_of_several_copies_have_bands(tmp_path):
    instances = [
        Result("current", "against/call", won, 0.5, "mbb/hand", "against call", 100)
        for won in (1.0, 2.0, 4.0)
    ]
    told = flatten(evaluation().summarize_instances(instances))
    counters = [dict.fromkeys(run_figures.COUNTER_TAGS, i) for i in range(2)]
    curves = run_figures.read_curves(metrics(tmp_path / "m", [row | told for row in counters]))
    assert run_figures.list_opponents(curves) == ["call"]
    line = run_figures.build_player_line(curves, "hands", "current", "against/call")
    np.testing.assert_array_equal(line.y, [2, 2])
    assert [name for name, _, _ in line.bands] == ["10 to 90 %", "25 to 75 %"]
    assert drawable(run_figures.draw_matches(curves, "hands", "mbb/hand"))


def test_percentiles_are_bands():
    levels = {10: 0.0, 25: 1.0, 50: 2.0, 75: 3.0, 90: 4.0}
    curves = {f"eval/current/nash_conv/p{p}": np.full(3, level) for p, level in levels.items()}
    curves |= {"eval/current/nash_conv": np.full(3, 9.0), "updates": np.arange(3.0)}
    line = run_figures.build_player_line(curves, "updates", "current", "nash_conv")
    assert [(name, low[0], high[0]) for name, low, high in line.bands] == [
        ("10 to 90 %", 0, 4),
        ("25 to 75 %", 1, 3),
    ]
    assert (line.name, line.y[0]) == ("current, median", 2)


def test_a_large_game_is_drawn_by_its_matches(tmp_path):
    one = evaluation(HOLDEM, deals=100, opponents="[uniform]")
    player = loader(HOLDEM)("raise")
    drawn = one.build_figures({"current": player}, run(tmp_path / "m", one, player))
    assert list(drawn) == ["matches", "starting_hands_current", "flop_current"]
    assert titles(drawn["matches"]) == ["Against uniform"]
    ax = drawn["matches"].axes[0]
    assert ax.get_ylabel() == "won (mbb/hand)"
    assert foot(drawn["matches"]) == "matches; shaded: 95 % interval"
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["current", "95 % interval"]
    assert drawable(drawn["matches"])


def test_a_run_folder_may_be_an_opponent():
    tags = ("against/runs/kuhn/1", "against/runs/kuhn/1/half_width", "against/call/p50")
    curves = {f"eval/current/{tag}": np.zeros(2) for tag in (*tags, "against/call")}
    figure = run_figures.draw_matches({"hands": np.arange(2.0), **curves}, "hands", "ante/hand")
    assert titles(figure) == ["Against 1", "Against call"]


@pytest.mark.parametrize("game", [KUHN, KUHN_3P, LEDUC], ids=lambda game: game.name)
def test_a_small_game_is_drawn_with_its_policies(game, tmp_path):
    one = evaluation(game)
    player = Policies(game, random_policies(game))
    file = run(tmp_path / "m", one, player, **{"loss/policy": 1.0, "loss/value": 2.0})
    drawn = one.build_figures({"current": player}, file)
    assert list(drawn) == ["exploitability", "losses", "policy_current"]
    assert titles(drawn["losses"]) == ["Policy loss", "Value loss"]
    for name, figure in drawn.items():
        says = "mean of the updates" if name == "losses" else "exact"
        assert says in foot(figure)  # what kind of number
        path = tmp_path / f"{name}.png"
        plotting.save_png(figure, path, "run outputs/$x^$, seed 1")  # "$" is no mathematics
        assert foot(figure).endswith("run outputs/$x^$, seed 1")
        assert path.read_bytes().startswith(b"\x89PNG")


def test_the_legend_of_a_policy_explains_its_names():
    figure = policy_figures.draw_policy(get_tree(LEDUC), random_policies(LEDUC)[0], "Policy: x")
    assert figure.get_suptitle() == "Policy: x, in per cent"
    figure.draw_without_rendering()
    (legend,) = figure.legends
    words = figure._supxlabel.get_window_extent()
    assert not legend.get_window_extent().overlaps(words)


def run_of(rows, players, tag, **extra):
    """Curves of so many rows: each player's value of a tag falls, from 3 to below 3e-5 at 60."""
    steps = 20_480.0 * np.arange(rows)
    falls = {f"eval/{player}/{tag}": 3 / (1 + np.arange(rows)) ** 3 for player in players}
    return {"decisions": steps} | falls | extra


def colors_of(figure):
    """The colors of the curves by player."""
    curves = [line for ax in figure.axes for line in ax.lines]
    return {curve.get_label().removesuffix(" (headline)"): curve.get_color() for curve in curves}


def test_a_player_has_the_same_color_everywhere():
    ppo = run_of(3, ["current", "weight_average"], "exploitability")
    actor_critic = run_of(3, ["weight_average", "other", "current"], "exploitability")
    won = run_of(3, ["weight_average"], "against/call")
    first, second = (
        colors_of(run_figures.draw_exploitability(curves, "decisions", "x", None))
        for curves in (ppo, actor_critic)
    )
    assert second.keys() > first.keys()
    assert {name: second[name] for name in first} == first
    assert len(set(second.values())) == 3
    matches = colors_of(run_figures.draw_matches(won, "decisions", "x"))
    assert matches["weight average"] == first["weight average"]
    assert (
        plotting.assign_styles(["average.7"])["average.7"][0] == plotting.PLAYER_COLORS["average"]
    )


def test_lines_of_one_color_differ_in_their_dashes():
    names = [f"line {i}" for i in range(16)]
    styles = set(plotting.assign_styles(names).values())
    assert len(styles) == len(names) > len({color for color, _ in styles})


def test_a_single_point_shows_its_interval():
    wide = {"eval/current/against/call/half_width": np.array([2.0])}
    curves = run_of(1, ["current"], "against/call", **wide)
    (ax,) = run_figures.draw_matches(curves, "decisions", "x").axes
    (bar,) = ax.collections
    np.testing.assert_allclose(bar.get_segments(), [[(0, 1), (0, 5)]])
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["0"]


def test_many_opponents_are_drawn_in_rows():
    curves = {"decisions": np.zeros(1)}
    for i in range(7):
        curves |= run_of(1, ["current", "average"], f"against/p{i}x")
    figure = run_figures.draw_matches(curves, "decisions", "x")
    assert titles(figure) == [f"Against p{i}x" for i in range(7)]
    assert figure.get_figwidth() * plotting.FIGURE_DPI < 2000


def test_cells_are_divided_by_the_probabilities():
    tree = get_tree(LEDUC)
    chances = random_policies(LEDUC)[0]
    figure = policy_figures.draw_policy(tree, chances, "random")
    assert titles(figure) == [f"seat {s}, round {r}" for r in (1, 2) for s in (0, 1)]
    seat_1 = figure.axes[1]
    assert [tick.get_text() for tick in seat_1.get_xticklabels()] == ["c", "r", "crr"]
    assert [tick.get_text() for tick in seat_1.get_yticklabels()] == [
        "Js",
        "Jh",
        "Qs",
        "Qh",
        "Ks",
        "Kh",
    ]
    image = seat_1.images[0].get_array()  # [6, 3 * RESOLUTION, 3]
    cell = image[3, policy_figures.SHADES_PER_CELL : 2 * policy_figures.SHADES_PER_CELL]
    chance = chances[tree.infoset_names.index("1 Qh r")]
    for color, expected in zip(policy_figures.ACTION_COLORS, chance, strict=False):
        share = np.isclose(cell, to_rgb(color)).all(1).mean()
        assert share == pytest.approx(expected, abs=1 / policy_figures.SHADES_PER_CELL)


def test_too_many_cells_are_not_drawn(monkeypatch):
    monkeypatch.setattr(policy_figures, "MAX_INFOSETS", 47)
    assert policy_figures.draw_policy(get_tree(KUHN_3P), random_policies(KUHN_3P)[0], "") is None
