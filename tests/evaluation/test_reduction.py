"""Matches with less luck in them: the exact value still, and narrower."""

from __future__ import annotations

import numpy as np
import pytest
from evaluations import HOLDEM, KUHN, KUHN_3P, LEDUC, Policies, evaluation, loader, random_policies
from test_matches import exactly

from poker_rl.config.settings import Refused
from poker_rl.evaluation.columns import number
from poker_rl.evaluation.matches import against, half_width, play
from poker_rl.evaluation.reduction import fitted, reduction
from poker_rl.games import load_game


@pytest.mark.parametrize("reduce", ["control", "aivat"])
@pytest.mark.parametrize("game", [LEDUC, KUHN_3P], ids=lambda game: game.name)
def test_the_interval_holds_the_exact_value_and_is_narrower(game, reduce):
    one, two = (Policies(game, random_policies(game, seed=seed)) for seed in (1, 2))
    others = [two] * (game.seats - 1)
    truth = exactly(game, one, *others)[0]
    make = reduction(reduce, game, None)
    found = against(game, one, two, "two", 2000, seed=0, reduce=make)
    assert abs(found.value - truth) < 2 * found.half_width  # four standard errors
    raw = play(game, [one, *others], 2000, seed=0, duplicate=reduce == "aivat")[:, 0]
    # Random policies act by chance more than by their cards, which is all that a control knows.
    assert found.half_width < (1 if reduce == "control" else 0.9) * half_width(raw)


def test_95_in_100_reduced_intervals_hold_the_exact_value():
    one, two = (Policies(KUHN, random_policies(KUHN, seed=seed)) for seed in (1, 2))
    truth, make = exactly(KUHN, one, two)[0], reduction("aivat", KUHN, None)
    runs, held = 200, 0
    for seed in range(runs):
        found = against(KUHN, one, two, "two", 100, seed, reduce=make)
        held += abs(found.value - truth) <= found.half_width
    # Four standard deviations of a binomial count: sqrt(.95 * .05 / 200) = .0154.
    assert held / runs == pytest.approx(0.95, abs=4 * 0.0154)


def test_a_control_player_draws_anew_in_each_match():
    """Else means over matches would keep the luck of one."""
    one, two = (Policies(KUHN, random_policies(KUHN, seed=seed)) for seed in (1, 2))
    make = reduction("control", KUHN, None)
    won = []
    for seed in (1, 2, 1):
        control = make([one, two], seed)
        play(KUHN, [one, two], 50, seed=0, watch=[control.add], duplicate=False)
        won.append(np.concatenate(control._won))
    assert not np.array_equal(won[0], won[1])
    assert np.array_equal(won[0], won[2])


def test_half_the_width_of_duplicate_deals_in_limit_holdem():
    load = loader(HOLDEM)
    make = reduction("aivat", HOLDEM, None)
    raw, less = (
        against(HOLDEM, load("uniform"), load("call"), "call", 600, seed=0, reduce=each)
        for each in (None, make)
    )
    assert less.half_width < raw.half_width / 2
    assert abs(less.value - raw.value) < 2 * raw.half_width


def test_results_have_no_part_in_their_own_weights():
    generator = np.random.default_rng(0)
    columns = generator.normal(size=(4000, 3))
    blocks = columns @ [2.0, -1.0, 0.0] + generator.normal(size=4000)
    out = fitted(blocks, columns, np.zeros(3), np.full(3, 0.1))
    assert out.std() < 1.1 < blocks.std()
    moved = blocks.copy()
    moved[:2000] *= -3
    again = fitted(moved, columns, np.zeros(3), np.full(3, 0.1))
    np.testing.assert_allclose(again[:2000] - moved[:2000], out[:2000] - blocks[:2000])
    assert np.abs(again[2000:] - out[2000:]).max() > 1


def test_with_few_deals_weights_stay_near_those_known_beforehand():
    columns = np.random.default_rng(0).normal(size=(30, 26))
    blocks = -columns[:, 0]
    out = fitted(blocks, columns, np.eye(26)[0], np.full(26, 0.1))
    assert np.abs(out).max() < 1e-9  # all is known already: nothing to fit


@pytest.mark.parametrize("spread", [1e-17, 1e-5, 1e-3])
def test_what_hardly_moves_in_one_half_does_not_swamp_the_other(spread):
    """Rounding, or a hand so rare that one half has not seen it."""
    generator = np.random.default_rng(0)
    columns = generator.normal(size=(400, 1))
    columns[:200] *= spread
    blocks = 10 * generator.normal(size=400)
    out = fitted(blocks, columns, np.zeros(1), np.array([0.1]))
    assert np.abs(out - blocks).max() < 5


def test_few_hands_are_not_far_off():
    """Half of these hands showed no fold, and so nothing but rounding of what folds are worth."""
    game = load_game("nolimit_leduc")
    load, make = loader(game), reduction("aivat", game, None)
    won = against(game, load("uniform"), load("raise"), "raise", 30, seed=83, reduce=make)
    assert abs(won.value - -1.436) < 3 * won.half_width < 5


def test_hands_of_their_own_cards():
    decks = []
    players = [loader(LEDUC)("call")] * 2
    play(LEDUC, players, 200, 0, [lambda t, _: decks.append(t.records["deck"])], duplicate=False)
    first, second = decks[0][::2, :3], decks[0][1::2, :3]
    assert 0 < (first == second).all(1).mean() < 0.05  # one in 120 by chance


def test_an_evaluation_reduces_its_matches():
    load = loader(HOLDEM)
    one, two = (
        evaluation(HOLDEM, opponents=["call"], deals=300, reduce=reduce).measures(load("tight"))
        for reduce in ("none", "aivat")
    )
    assert two["against/call"].half_width < 0.8 * one["against/call"].half_width


@pytest.mark.parametrize(
    ("game", "reduce", "why"),
    [
        ("big2", "aivat", "reduce: aivat knows how the cards of poker come, not those of big2"),
        ("limit_holdem_2to9", "control", "reduce: control is of a table of so many seats"),
    ],
)
def test_a_reduction_that_a_game_has_not_is_refused(game, reduce, why):
    with pytest.raises(Refused, match=why):
        evaluation(load_game(game), opponents=[], reduce=reduce)


def test_rounding_errors_are_no_result():
    """Of `call` and `raise` in limit hold'em AIVAT leaves 0, but for the last digit of sums."""
    assert number(5.1e-16, 1.9e-16) == number(2.5e-14, 3.1e-14) == "0"
    assert number(2.0, 3.1e-14) == "2"
    assert number(1.2e-10) == "1.2e-10", "an exploitability may be as small"
