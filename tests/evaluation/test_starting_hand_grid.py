"""Grids of starting hands tell what the player does with them."""

from __future__ import annotations

import io

import numpy as np
import pytest
from random_games import game

from poker_rl.config.build import build
from poker_rl.config.option_files import load_option
from poker_rl.evaluation.plots.hand_grid_figures import build_hand_grid_figures
from poker_rl.evaluation.starting_hand_grid import (
    EXAMPLE_FLOPS,
    compute_hand_grid,
    format_grid,
    list_flop_situations,
    list_preflop_situations,
)
from poker_rl.games.cards import MAX_RANKS, parse_cards
from poker_rl.games.poker.notation import parse_position
from poker_rl.players.player_loader import load_player

DECK = "23456789TJQKA"


class Tells:
    """Raises with the hands of a set of names, else folds; or by the first card alone."""

    instances = 1

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
    (record,) = parse_position(
        definition, None, "2c3d" if "2c" not in board else "4c5d", board, actions
    )
    player = Tells(definition, raising)
    return compute_hand_grid(definition, player, record, parse_cards(board, DECK, "cdhs"), "here")


def test_every_hand_is_in_its_cell():
    """Two suits alike is suited, and above the diagonal; the ace is first."""
    told = grid(lambda a, b: a % 4 == b % 4).probs[..., 2]
    assert (told == np.triu(np.ones((MAX_RANKS, MAX_RANKS)), 1)).all()
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


def test_in_a_terminal_letters_tell_it_without_colors():
    one = grid(lambda a, b: a % 4 == b % 4 == 0 or min(a, b) // 4 == 12, "AsAhAc", "r c / b")
    lines = format_grid(one, DECK, use_color=False).splitlines()
    assert lines[0].split() == list("AKQJT98765432")
    assert lines[1].split()[:3] == ["A", ".", "f"]
    assert lines[2].split()[1:4] == ["f", "f", "f75"]  # KQs: one of four, that of clubs
    painted = format_grid(one, DECK, use_color=True)
    assert "\x1b[" in painted
    assert "\x1b[" not in format_grid(one, DECK, use_color=False)


@pytest.mark.parametrize("name", ["limit_holdem", "limit_holdem_6p", "nolimit_holdem_6p"])
def test_situations_before_the_flop(name):
    definition = game(name)
    found = list_preflop_situations(definition, 0)
    first, facing = found[: len(found) // 2], found[len(found) // 2 :]
    assert len(first) == len(facing) == definition.seats - 1
    for _, _, record in first:
        assert set(definition.betting_line_name(record)) <= {"f"}
    for _, _, record in facing:
        assert definition.betting_line_name(record).count("r") == 1
    if name == "nolimit_holdem_6p":  # a pot over the blinds: 2 and the 5 that are then there
        assert definition.betting_line_name(facing[0][2]) == "r7"


@pytest.mark.parametrize(
    ("name", "line"),
    [("limit_holdem", "cc"), ("limit_holdem_6p", "ffffcc"), ("nolimit_holdem_6p", "ffffcc")],
)
def test_situations_on_the_flop(name, line):
    """In no-limit half of the pot, two big blinds, is as much as the least bet: one."""
    definition = game(name)
    found = list_flop_situations(definition, 0)
    first, facing = found[:3], found[3:]
    assert len(first) == len(facing) == len(EXAMPLE_FLOPS)
    for _, board, record in first:
        assert (definition.betting_line_name(record), len(board), record["live"]) == (line, 3, 2)
    for _, _, record in facing:
        assert definition.betting_line_name(record).startswith(f"{line}r")
        price = record["price"] - first[0][2]["price"]
        assert price == definition.unit_chips
        assert record["to_act"] != first[0][2]["to_act"]


def test_nobody_bets_on_the_flop_where_the_blinds_are_all_in():
    assert (
        list_flop_situations(
            build(load_option("game", "nolimit_holdem") | {"stacks": 2}, "game"), 0
        )
        == []
    )


def test_a_run_of_holdem_has_a_figure_of_each_player_and_no_other_game_has():
    definition = game("limit_holdem_2to9")
    drawn = build_hand_grid_figures(definition, {"current": load_player("sklansky", definition)})
    assert list(drawn) == ["starting_hands_current", "flop_current"]
    shown = [len([ax for ax in figure.axes if ax.get_visible()]) for figure in drawn.values()]
    assert shown == [16, 6]
    one_card = build(load_option("game", "limit_holdem") | {"board_cards": [0, 1, 1, 1]}, "game")
    drawn_of_it = build_hand_grid_figures(one_card, {"current": load_player("call", one_card)})
    assert list(drawn_of_it) == ["starting_hands_current"]  # its second street is no flop
    drawn["flop_current"].savefig(file := io.BytesIO(), format="png")
    assert file.getvalue().startswith(b"\x89PNG")
    kuhn = game("kuhn")
    assert build_hand_grid_figures(kuhn, {"current": load_player("uniform", kuhn)}) == {}


def test_the_legend_stands_beside_the_title_and_takes_no_width_from_the_grids():
    from poker_rl.evaluation.plots.hand_grid_figures import draw_hand_grids

    one = grid(lambda a, b: 51 in (a, b))
    figure = draw_hand_grids([one, one], "Starting hands: weight average, 9 seats", DECK)
    figure.draw_without_rendering()
    (legend,) = figure.legends
    box, title = legend.get_window_extent(), figure._suptitle.get_window_extent()
    right = figure.axes[-1].get_window_extent()
    assert not box.overlaps(title)
    assert box.y0 > right.y1
    assert right.x1 > 0.95 * figure.bbox.width


def test_a_cell_is_painted_by_its_chances():
    """Raises are on the left, folds on the right."""
    from poker_rl.evaluation.plots.hand_grid_figures import draw_hand_grids
    from poker_rl.evaluation.plots.policy_figures import SHADES_PER_CELL

    one = grid(lambda a, b: 51 in (a, b))  # half of the pairs of aces
    (ax,) = draw_hand_grids([one], "title", DECK).axes
    image = ax.images[0].get_array()
    row = image[0, :SHADES_PER_CELL]
    assert len({tuple(color) for color in row[: SHADES_PER_CELL // 2]}) == 1
    assert tuple(row[0]) != tuple(row[-1])
    assert tuple(row[-1]) == tuple(image[12, -1 - 12 * SHADES_PER_CELL])
