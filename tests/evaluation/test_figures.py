"""Figures and grids of starting hands show what the players do."""

import io
import json
from unittest.mock import Mock

import numpy as np
import pytest
from evaluations import KUHN_3P, LEDUC, Policies, evaluation, random_policies
from matplotlib.colors import to_rgb
from random_games import game

from poker_rl.evaluation.plots import plotting, run_curves
from poker_rl.evaluation.plots.policy_and_cross_table_figures import (
    ACTION_COLORS,
    PIXELS_PER_CELL,
    build_hand_grid_figures,
    draw_policy,
)
from poker_rl.evaluation.result import results_to_metrics
from poker_rl.evaluation.starting_hand_grid import compute_hand_grid
from poker_rl.games import get_tree
from poker_rl.games.cards import MAX_RANKS, parse_cards
from poker_rl.games.poker.position_notation import parse_position
from poker_rl.players import load_player


def write_rows(path, evaluator, player, **learning_metrics):
    """Write ten rows of metrics with equal results; the first has no `learning_metrics`."""
    row = results_to_metrics(evaluator.evaluate({"current": player}))
    counters = [dict.fromkeys(run_curves.COUNTER_TAGS, 100 * i) for i in range(10)]
    rows = [counter | row | (learning_metrics if i else {}) for i, counter in enumerate(counters)]
    path.write_text("".join(json.dumps(line) + "\n" for line in rows))
    return path


def get_titles(figure):
    return [ax.get_title(loc="left") for ax in figure.axes if ax.get_visible()]


def get_footer(figure):
    return " ".join(figure.get_supxlabel().split())


@pytest.mark.parametrize("game", [KUHN_3P, LEDUC], ids=lambda game: game.name)
def test_run_figures_of_small_games_include_policies(game, tmp_path):
    evaluator = evaluation(game)
    player = Policies(game, random_policies(game))
    file = write_rows(tmp_path / "m", evaluator, player, **{"loss/policy": 1.0, "loss/value": 2.0})
    figures = evaluator.build_figures({"current": player}, file)
    assert list(figures) == ["exploitability", "losses", "policy_current"]
    assert get_titles(figures["losses"]) == ["Policy loss", "Value loss"]
    for name, figure in figures.items():
        number_kind = "mean of the updates" if name == "losses" else "exact"
        assert number_kind in get_footer(figure)
        path = tmp_path / f"{name}.png"
        plotting.save_figure(figure, path, "run outputs/$x^$, seed 1")  # "$" is plain text
        assert get_footer(figure).endswith("run outputs/$x^$, seed 1")
        assert path.read_bytes().startswith(b"\x89PNG")


def test_policy_cells_are_divided_by_action_probabilities():
    tree = get_tree(LEDUC)
    probs = random_policies(LEDUC)[0]
    figure = draw_policy(tree, probs, "random")
    assert get_titles(figure) == [f"seat {s}, round {r}" for r in (1, 2) for s in (0, 1)]
    seat_1 = figure.axes[1]
    assert [tick.get_text() for tick in seat_1.get_xticklabels()] == ["c", "r", "crr"]
    # A row of the figure is the mean of two cards, because suits have no meaning in Leduc.
    assert [tick.get_text() for tick in seat_1.get_yticklabels()] == ["J", "Q", "K"]
    image = seat_1.images[0].get_array()  # [rows, columns * PIXELS_PER_CELL, RGB]
    cell = image[1, PIXELS_PER_CELL : 2 * PIXELS_PER_CELL]
    rows = [tree.infoset_names.index(f"1 Q{suit} r") for suit in "sh"]
    prob = probs[rows].mean(0)
    for color, expected in zip(ACTION_COLORS, prob, strict=False):
        share = np.isclose(cell, to_rgb(color)).all(1).mean()
        assert share == pytest.approx(expected, abs=1 / PIXELS_PER_CELL)


def test_policy_with_an_unnamed_information_set_has_no_figure():
    tree = Mock(infoset_count=2, infoset_names=["0", "1 1,_1"], infoset_seat=np.array([0, 1]))
    tree.game = Mock(seats=2, action_count=2)
    assert draw_policy(tree, np.full((2, 2), 0.5), "uniform") is None  # as in OpenSpiel's nim


RANKS = "23456789TJQKA"


class RaisesWithHands:
    """Player that raises hands for which `raising(card, card)` is true, and folds the others."""

    instance_count = 1

    def __init__(self, definition, raising):
        self.game, self.raising = definition, raising

    def select_instance(self, k):
        return self

    def action_probs(self, records):
        out = np.zeros((len(records), self.game.action_count))
        for row, record in zip(out, records, strict=True):
            seat = int(record["to_act"])
            row[2 if self.raising(*record["deck"][2 * seat : 2 * seat + 2].tolist()) else 0] = 1
        return out


def compute_grid(raising, board="", actions="", name="limit_holdem"):
    definition = game(name)
    hand = "2c3d" if "2c" not in board else "4c5d"
    (record,) = parse_position(definition, None, hand, board, actions)
    player = RaisesWithHands(definition, raising)
    return compute_hand_grid(definition, player, record, parse_cards(board, RANKS, "cdhs"), "here")


def test_hand_grid_has_suited_hands_above_diagonal_and_aces_first():
    raise_probs = compute_grid(lambda a, b: a % 4 == b % 4).probs[..., 2]
    assert (raise_probs == np.triu(np.ones((MAX_RANKS, MAX_RANKS)), 1)).all()
    aces = compute_grid(lambda a, b: min(a, b) // 4 == 12).probs[..., 2]
    assert aces[0, 0] == 1 == aces.sum()
    ten_nine = compute_grid(lambda a, b: sorted((a // 4, b // 4)) == [7, 8] and a % 4 != b % 4)
    assert np.argwhere(ten_nine.probs[..., 2]).tolist() == [[5, 4]]


def test_hand_grid_cell_is_mean_over_hands_possible_on_the_board():
    """Of 6 pairs of aces, 3 have the ace of spades; with it on the board, none has it."""
    ace_of_spades = 51
    assert compute_grid(lambda a, b: ace_of_spades in (a, b)).probs[0, 0, 2] == 0.5
    with_ace = compute_grid(lambda a, b: ace_of_spades in (a, b), "As7h2c", "r c / b")
    assert with_ace.probs[0, 0, 2] == 0
    three_aces = compute_grid(lambda a, b: True, "AsAhAc", "r c / b").probs
    assert np.isnan(three_aces[0, 0]).all()
    assert three_aces[0, 1].tolist() == [0, 0, 1]


def test_starting_hand_figures_exist_for_holdem_only():
    definition = game("limit_holdem_2to9")
    figures = build_hand_grid_figures(definition, {"current": load_player("sklansky", definition)})
    assert list(figures) == ["starting_hands_current"]
    (figure,) = figures.values()
    assert len([ax for ax in figure.axes if ax.get_visible()]) == 16
    figure.savefig(file := io.BytesIO(), format="png")
    assert file.getvalue().startswith(b"\x89PNG")
    kuhn = game("kuhn")
    assert build_hand_grid_figures(kuhn, {"current": load_player("uniform", kuhn)}) == {}
