"""Figures show the numbers they are given."""

from __future__ import annotations

import io
import json

import numpy as np
import pytest
from evaluations import HOLDEM, KUHN, KUHN_3P, LEDUC, Policies, evaluation, loader, random_policies
from matplotlib.colors import to_rgb

from poker_rl.evaluation.plots import plotting, policy_figures, run_figures
from poker_rl.evaluation.result import flatten_results
from poker_rl.games.game_tree import get_tree


def metrics(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def run(path, one, player, **extra):
    """A metrics.jsonl of ten equal rows, the first without what comes from learning."""
    row = flatten_results(one.evaluate({"current": player}))
    counters = [dict.fromkeys(run_figures.COUNTER_TAGS, 100 * i) for i in range(10)]
    return metrics(path, [c | row | (extra if i else {}) for i, c in enumerate(counters)])


def titles(figure):
    return [ax.get_title(loc="left") for ax in figure.axes if ax.get_visible()]


def foot(figure):
    return " ".join(figure.get_supxlabel().split())


def drawable(figure):
    figure.savefig(file := io.BytesIO(), format="png")
    return file.getvalue().startswith(b"\x89PNG")


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
    assert (ax.get_xscale(), ax.get_yscale()) == ("symlog", "log")
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        "current (headline)",
        "average",
    ]
    np.testing.assert_allclose(ax.lines[0].get_xydata(), [(10**i, 2.0**-i) for i in range(5)])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("decisions", "exploitability (ante/hand)")
    assert drawable(figure)


def test_the_first_point_is_visible_on_logarithmic_axes():
    line = plotting.CurveLine("a", np.array([0.0, 1e4, 1e5]), np.array([1.0, 0.5, 0.1]))
    figure = plotting.draw_panels([plotting.Panel("", [line], "", log_scale=True)], "decisions")
    (ax,) = figure.axes
    assert (ax.lines[0].get_xdata()[0], ax.get_xticks()[0]) == (0, 0)
    assert ax.get_xlim()[0] < 0
    narrow = plotting.CurveLine("a", np.array([0.0, 10, 11]), np.array([2.1, 2.0, 2.2]))
    figure = plotting.draw_panels([plotting.Panel("", [narrow], "", log_scale=True)], "decisions")
    assert (figure.axes[0].get_xscale(), figure.axes[0].get_yscale()) == ("linear", "linear")


def test_logarithmic_ticks_cover_the_band():
    center, low = np.array([0.46, 0.105]), np.array([0.44, 0.06])
    line = plotting.CurveLine("a", np.array([0.0, 1e5]), center, (("interval", low, center),))
    figure = plotting.draw_panels([plotting.Panel("", [line], "", log_scale=True)], "decisions")
    assert {0.1, 0.2, 0.3} <= set(figure.axes[0].get_yticks().round(6))


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


def test_cells_are_divided_by_the_probabilities():
    tree = get_tree(LEDUC)
    probs = random_policies(LEDUC)[0]
    figure = policy_figures.draw_policy(tree, probs, "random")
    assert titles(figure) == [f"seat {s}, round {r}" for r in (1, 2) for s in (0, 1)]
    seat_1 = figure.axes[1]
    assert [tick.get_text() for tick in seat_1.get_xticklabels()] == ["c", "r", "crr"]
    # Suits have no meaning in Leduc hold'em, so a row is the mean of two cards.
    assert [tick.get_text() for tick in seat_1.get_yticklabels()] == ["J", "Q", "K"]
    image = seat_1.images[0].get_array()  # [3, 3 * RESOLUTION, 3]
    cell = image[1, policy_figures.PIXELS_PER_CELL : 2 * policy_figures.PIXELS_PER_CELL]
    rows = [tree.infoset_names.index(f"1 Q{suit} r") for suit in "sh"]
    prob = probs[rows].mean(0)
    for color, expected in zip(policy_figures.ACTION_COLORS, prob, strict=False):
        share = np.isclose(cell, to_rgb(color)).all(1).mean()
        assert share == pytest.approx(expected, abs=1 / policy_figures.PIXELS_PER_CELL)
