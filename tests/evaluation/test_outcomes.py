"""How hands of a match end, counted by hand and for bots whose hands are known."""

from __future__ import annotations

import numpy as np
import pytest
from big2_tables import BIG2
from evaluations import HOLDEM, KUHN_3P, loader

from poker_rl.evaluation import figures
from poker_rl.evaluation.matches import against, half_width
from poker_rl.evaluation.measurement import Measurement
from poker_rl.evaluation.outcomes import OutcomeCount, Outcomes, table_of


def outcomes(game, player, other, deals):
    load, count = loader(game), OutcomeCount(game)
    won = against(game, load(player), load(other), other, deals, seed=0, watch=[count.add])
    return won, count.outcomes(other)


def test_whoever_always_bets_wins_every_hand_of_whoever_folds():
    _, found = outcomes(KUHN_3P, "raise", "fold", 50)
    assert found.results == [2]
    assert found.hands == [150]
    assert found.hands_won == Measurement(1, 0, "of hands", "against fold")
    _, found = outcomes(HOLDEM, "fold", "raise", 50)
    assert (found.results, found.hands) == ([-1, -0.5], [50, 50])  # each blind on half the hands
    assert (found.hands_won.value, found.unit) == (0, "big blind")


def test_results_add_up_to_what_was_won():
    won, found = outcomes(BIG2, "lowest", "uniform", 100)
    results, hands = np.array(found.results), np.array(found.hands)
    assert hands.sum() == 400
    assert results @ hands / 400 == pytest.approx(won.value)
    assert found.hands_won.value == pytest.approx(hands[results > 0].sum() / 400)
    assert not np.any(results == 0)
    assert results.min() >= -13
    assert results.max() <= 39
    # A share p of n hands deviates by sqrt(p (1 - p) / n); those of a deal are nearly independent.
    p = found.hands_won.value
    assert found.hands_won.half_width == pytest.approx(1.96 * (p * (1 - p) / 400) ** 0.5, rel=0.4)


def test_deals_are_the_unit_of_the_interval():
    count = OutcomeCount(KUHN_3P)
    count._won = [np.array([2, -1, -1, 2, 2, -1] * 20)]
    count._rotation = [np.array([0, 1, 2] * 40)]
    found = count.outcomes("them")
    assert found.hands_won.value == pytest.approx(0.5)
    assert found.hands_won.half_width == pytest.approx(half_width(np.array([1 / 3, 2 / 3] * 20)))


def test_percentiles():
    ended = Outcomes(
        Measurement(0.3, 0.1, "of hands", "against x"), "point", [-2, -1, 3], [50, 20, 30]
    )
    assert ended.percentiles() == [-2, -2, -2, 3, 3]
    assert table_of([("us", "x", ended)])[1] == ["us", "x", "-2", "-2", "-2", "-2", "3", "3", "3"]


def test_figure():
    ended = Outcomes(Measurement(0.3, 0.1, "of hands", "against x"), "point", [-2, 3], [75, 25])
    assert figures.outcomes([]) is None
    figure = figures.outcomes([("us", "runs/a/x@9", ended)])
    (ax,) = figure.axes
    assert [bar.get_height() for bar in ax.patches] == [75, 25]
    assert [bar.get_x() + bar.get_width() / 2 for bar in ax.patches] == pytest.approx([-2, 3])
    assert ax.get_title(loc="left") == "us against x@9"
    assert figure.get_supxlabel().endswith("in full: runs/a/x@9")
    assert ax.get_legend().get_texts()[0].get_text() == "mean -0.75"
