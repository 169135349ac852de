"""Figures and grids of starting hands show what the players do."""

import io
import json

import numpy as np
import pytest
from evaluations import KUHN_3P, LEDUC, Policies, evaluation, random_policies
from matplotlib.colors import to_rgb
from random_games import game

from poker_rl.evaluation.plots import plotting, policy_and_cross_table_figures, run_figures
from poker_rl.evaluation.plots.policy_and_cross_table_figures import build_hand_grid_figures
from poker_rl.evaluation.result import results_to_metrics
from poker_rl.evaluation.starting_hand_grid import compute_hand_grid
from poker_rl.games import get_tree
from poker_rl.games.cards import MAX_RANKS, parse_cards
from poker_rl.games.poker.position_notation import parse_position
from poker_rl.players import load_player


def run(path, one, player, **extra):
    """A metrics.jsonl of ten equal rows, the first without what comes from learning."""
    row = results_to_metrics(one.evaluate({"current": player}))
    counters = [dict.fromkeys(run_figures.COUNTER_TAGS, 100 * i) for i in range(10)]
    rows = [c | row | (extra if i else {}) for i, c in enumerate(counters)]
    path.write_text("".join(json.dumps(one) + "\n" for one in rows))
    return path


def titles(figure):
    return [ax.get_title(loc="left") for ax in figure.axes if ax.get_visible()]


def foot(figure):
    return " ".join(figure.get_supxlabel().split())


@pytest.mark.parametrize("game", [KUHN_3P, LEDUC], ids=lambda game: game.name)
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
        plotting.save_figure(figure, path, "run outputs/$x^$, seed 1")  # "$" is no mathematics
        assert foot(figure).endswith("run outputs/$x^$, seed 1")
        assert path.read_bytes().startswith(b"\x89PNG")


def test_cells_are_divided_by_the_probabilities():
    tree = get_tree(LEDUC)
    probs = random_policies(LEDUC)[0]
    figure = policy_and_cross_table_figures.draw_policy(tree, probs, "random")
    assert titles(figure) == [f"seat {s}, round {r}" for r in (1, 2) for s in (0, 1)]
    seat_1 = figure.axes[1]
    assert [tick.get_text() for tick in seat_1.get_xticklabels()] == ["c", "r", "crr"]
    # Suits have no meaning in Leduc hold'em, so a row is the mean of two cards.
    assert [tick.get_text() for tick in seat_1.get_yticklabels()] == ["J", "Q", "K"]
    image = seat_1.images[0].get_array()  # [3, 3 * RESOLUTION, 3]
    cell = image[
        1,
        policy_and_cross_table_figures.PIXELS_PER_CELL : 2
        * policy_and_cross_table_figures.PIXELS_PER_CELL,
    ]
    rows = [tree.infoset_names.index(f"1 Q{suit} r") for suit in "sh"]
    prob = probs[rows].mean(0)
    for color, expected in zip(policy_and_cross_table_figures.ACTION_COLORS, prob, strict=False):
        share = np.isclose(cell, to_rgb(color)).all(1).mean()
        assert share == pytest.approx(
            expected, abs=1 / policy_and_cross_table_figures.PIXELS_PER_CELL
        )


DECK = "23456789TJQKA"


class Tells:
    """Raises with the hands of a set of names, else folds; or by the first card alone."""

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


def grid(raising, board="", actions="", name="limit_holdem"):
    definition = game(name)
    hand = "2c3d" if "2c" not in board else "4c5d"
    (record,) = parse_position(definition, None, hand, board, actions)
    player = Tells(definition, raising)
    return compute_hand_grid(definition, player, record, parse_cards(board, DECK, "cdhs"), "here")


def test_every_hand_is_in_its_cell():
    """Two suits alike is suited, and above the diagonal; the ace is first."""
    raise_probs = grid(lambda a, b: a % 4 == b % 4).probs[..., 2]
    assert (raise_probs == np.triu(np.ones((MAX_RANKS, MAX_RANKS)), 1)).all()
    aces = grid(lambda a, b: min(a, b) // 4 == 12).probs[..., 2]
    assert aces[0, 0] == 1 == aces.sum()
    ten_nine = grid(lambda a, b: sorted((a // 4, b // 4)) == [7, 8] and a % 4 != b % 4)
    assert np.argwhere(ten_nine.probs[..., 2]).tolist() == [[5, 4]]


def test_a_cell_is_the_mean_over_the_hands_that_the_board_leaves():
    """Of aces 6 pairs, of which 3 have the ace of spades; with that on the board no pair has it."""
    spade = 51
    assert grid(lambda a, b: spade in (a, b)).probs[0, 0, 2] == 0.5
    with_ace = grid(lambda a, b: spade in (a, b), "As7h2c", "r c / b")
    assert with_ace.probs[0, 0, 2] == 0
    gone = grid(lambda a, b: True, "AsAhAc", "r c / b").probs
    assert np.isnan(gone[0, 0]).all()
    assert gone[0, 1].tolist() == [0, 0, 1]


def test_a_run_of_holdem_has_a_figure_of_each_player_and_no_other_game_has():
    definition = game("limit_holdem_2to9")
    drawn = build_hand_grid_figures(definition, {"current": load_player("sklansky", definition)})
    assert list(drawn) == ["starting_hands_current"]
    (figure,) = drawn.values()
    assert len([ax for ax in figure.axes if ax.get_visible()]) == 16
    figure.savefig(file := io.BytesIO(), format="png")
    assert file.getvalue().startswith(b"\x89PNG")
    kuhn = game("kuhn")
    assert build_hand_grid_figures(kuhn, {"current": load_player("uniform", kuhn)}) == {}
