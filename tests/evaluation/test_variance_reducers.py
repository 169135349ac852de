"""Matches with less luck in them: the exact value still, and narrower."""

from __future__ import annotations

import numpy as np
import pytest
from evaluations import KUHN, KUHN_3P, LEDUC, Policies, evaluation, random_policies
from test_duplicate_match import exactly

from poker_rl.config.validation import ConfigError
from poker_rl.evaluation.matches.duplicate_match import compute_half_width, play_deals, play_match
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
    # Random policies act at random more than by their cards, which is all that a control knows.
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


@pytest.mark.parametrize("spread", [1e-17, 1e-5, 1e-3])
def test_columns_that_hardly_vary_in_one_half_get_small_weights(spread):
    """Rounding, or a hand so rare that one half has not seen it."""
    generator = np.random.default_rng(0)
    columns = generator.normal(size=(400, 1))
    columns[:200] *= spread
    blocks = 10 * generator.normal(size=400)
    out = add_cross_fitted_columns(blocks, columns, np.zeros(1), np.array([0.1]))
    assert np.abs(out - blocks).max() < 5


def test_a_reduction_that_a_game_has_not_is_refused():
    why = "variance_reduction: aivat knows how the cards of poker come, not those of big2"
    with pytest.raises(ConfigError, match=why):
        evaluation(load_game("big2"), opponents=[], variance_reduction="aivat")
