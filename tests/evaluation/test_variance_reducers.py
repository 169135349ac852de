"""Matches with less luck in them: the exact value still, and narrower."""

from __future__ import annotations

import numpy as np
import pytest
from evaluations import HOLDEM, KUHN, KUHN_3P, LEDUC, Policies, evaluation, loader, random_policies
from test_duplicate_match import exactly

from poker_rl.config.validation import ConfigError
from poker_rl.evaluation.matches.duplicate_match import compute_half_width, play_deals, play_match
from poker_rl.evaluation.result import format_number
from poker_rl.evaluation.variance_reduction.variance_reducers import (
    add_cross_fitted_columns,
    build_reducer_factory,
)
from poker_rl.games import load_game


@pytest.mark.parametrize("reduce", ["control_variate", "aivat"])
@pytest.mark.parametrize("game", [LEDUC, KUHN_3P], ids=lambda game: game.name)
def test_the_interval_holds_the_exact_value_and_is_narrower(game, reduce):
    one, two = (Policies(game, random_policies(game, seed=seed)) for seed in (1, 2))
    others = [two] * (game.seats - 1)
    truth = exactly(game, one, *others)[0]
    make = build_reducer_factory(reduce, game, None)
    found = play_match(game, one, two, "two", 2000, seed=0, reducer_factory=make)
    assert abs(found.value - truth) < 2 * found.half_width  # four standard errors
    raw = play_deals(game, [one, *others], 2000, seed=0, duplicate=reduce == "aivat")[:, 0]
    # Random policies act by chance more than by their cards, which is all that a control knows.
    assert found.half_width < (1 if reduce == "control_variate" else 0.9) * compute_half_width(raw)


def test_95_in_100_reduced_intervals_hold_the_exact_value():
    one, two = (Policies(KUHN, random_policies(KUHN, seed=seed)) for seed in (1, 2))
    truth, make = exactly(KUHN, one, two)[0], build_reducer_factory("aivat", KUHN, None)
    runs, held = 200, 0
    for seed in range(runs):
        found = play_match(KUHN, one, two, "two", 100, seed, reducer_factory=make)
        held += abs(found.value - truth) <= found.half_width
    # Four standard deviations of a binomial count: sqrt(.95 * .05 / 200) = .0154.
    assert held / runs == pytest.approx(0.95, abs=4 * 0.0154)


def test_a_control_player_draws_anew_in_each_match():
    """Else means over matches would keep the luck of one."""
    one, two = (Policies(KUHN, random_policies(KUHN, seed=seed)) for seed in (1, 2))
    make = build_reducer_factory("control_variate", KUHN, None)
    won = []
    for seed in (1, 2, 1):
        control = make([one, two], seed)
        play_deals(KUHN, [one, two], 50, seed=0, observers=[control.add_hands], duplicate=False)
        won.append(np.concatenate(control._control_results))
    assert not np.array_equal(won[0], won[1])
    assert np.array_equal(won[0], won[2])


def test_half_the_width_of_duplicate_deals_in_limit_holdem():
    load = loader(HOLDEM)
    make = build_reducer_factory("aivat", HOLDEM, None)
    raw, less = (
        play_match(HOLDEM, load("uniform"), load("call"), "call", 600, seed=0, reducer_factory=each)
        for each in (None, make)
    )
    assert less.half_width < raw.half_width / 2
    assert abs(less.value - raw.value) < 2 * raw.half_width


def test_results_have_no_part_in_their_own_weights():
    generator = np.random.default_rng(0)
    columns = generator.normal(size=(4000, 3))
    blocks = columns @ [2.0, -1.0, 0.0] + generator.normal(size=4000)
    out = add_cross_fitted_columns(blocks, columns, np.zeros(3), np.full(3, 0.1))
    assert out.std() < 1.1 < blocks.std()
    moved = blocks.copy()
    moved[:2000] *= -3
    again = add_cross_fitted_columns(moved, columns, np.zeros(3), np.full(3, 0.1))
    np.testing.assert_allclose(again[:2000] - moved[:2000], out[:2000] - blocks[:2000])
    assert np.abs(again[2000:] - out[2000:]).max() > 1


def test_with_few_deals_weights_stay_near_those_known_beforehand():
    columns = np.random.default_rng(0).normal(size=(30, 26))
    blocks = -columns[:, 0]
    out = add_cross_fitted_columns(blocks, columns, np.eye(26)[0], np.full(26, 0.1))
    assert np.abs(out).max() < 1e-9  # all is known already: nothing to fit


@pytest.mark.parametrize("spread", [1e-17, 1e-5, 1e-3])
def test_what_hardly_moves_in_one_half_does_not_swamp_the_other(spread):
    """Rounding, or a hand so rare that one half has not seen it."""
    generator = np.random.default_rng(0)
    columns = generator.normal(size=(400, 1))
    columns[:200] *= spread
    blocks = 10 * generator.normal(size=400)
    out = add_cross_fitted_columns(blocks, columns, np.zeros(1), np.array([0.1]))
    assert np.abs(out - blocks).max() < 5


def test_few_hands_are_not_far_off():
    """Half of these hands showed no fold, and so nothing but rounding of what folds are worth."""
    game = load_game("nolimit_leduc")
    load, make = loader(game), build_reducer_factory("aivat", game, None)
    won = play_match(
        game, load("uniform"), load("raise"), "raise", 30, seed=83, reducer_factory=make
    )
    assert abs(won.value - -1.436) < 3 * won.half_width < 5


def test_hands_of_their_own_cards():
    decks = []
    players = [loader(LEDUC)("call")] * 2
    play_deals(
        LEDUC, players, 200, 0, [lambda t, _: decks.append(t.records["deck"])], duplicate=False
    )
    first, second = decks[0][::2, :3], decks[0][1::2, :3]
    assert 0 < (first == second).all(1).mean() < 0.05  # one in 120 by chance


def test_an_evaluation_reduces_its_matches():
    load = loader(HOLDEM)
    one, two = (
        evaluation(HOLDEM, opponents=["call"], deals=300, variance_reduction=reduce).evaluate(
            {"current": load("tight")}
        )[0]
        for reduce in ("none", "aivat")
    )
    assert one.measure == two.measure == "against/call"
    assert two.half_width < 0.8 * one.half_width


@pytest.mark.parametrize(
    ("game", "reduce", "why"),
    [
        (
            "big2",
            "aivat",
            "variance_reduction: aivat knows how the cards of poker come, not those of big2",
        ),
        (
            "limit_holdem_2to9",
            "control_variate",
            "variance_reduction: control_variate needs a fixed number of seats",
        ),
    ],
)
def test_a_reduction_that_a_game_has_not_is_refused(game, reduce, why):
    with pytest.raises(ConfigError, match=why):
        evaluation(load_game(game), opponents=[], variance_reduction=reduce)


def test_rounding_errors_are_no_result():
    """Of `call` and `raise` in limit hold'em AIVAT leaves 0, but for the last digit of sums."""
    assert format_number(5.1e-16, 1.9e-16) == format_number(2.5e-14, 3.1e-14) == "0"
    assert format_number(2.0, 3.1e-14) == "2"
    assert format_number(1.2e-10) == "1.2e-10", "an exploitability may be as small"
