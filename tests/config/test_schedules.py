"""Values of the schedules at the points that define them."""

import pytest

from poker_rl.config.schedules import Constant, InverseSqrt, Linear, LogLinear, StableDecay


def test_constant() -> None:
    assert Constant(start=0.3).value(0) == Constant(start=0.3).value(10**9) == 0.3


def test_linear_reaches_its_end_and_stays() -> None:
    epsilon = Linear(start=0.12, end=0.0, horizon=1e6)
    assert [epsilon.value(step) for step in (0, 250_000, 10**6, 10**7)] == pytest.approx(
        [0.12, 0.09, 0.0, 0.0]
    )


def test_stable_decay_falls_in_the_last_part_of_its_horizon() -> None:
    rate = StableDecay(start=0.8, end=0.2, decay_share=0.4, horizon=100)
    assert [rate.value(step) for step in (0, 60, 80, 100, 10**6)] == pytest.approx(
        [0.8, 0.8, 0.5, 0.2, 0.2]
    )


def test_log_passes_the_geometric_mean_half_way() -> None:
    alpha = LogLinear(start=0.4, end=0.1, horizon=100)
    assert [alpha.value(step) for step in (0, 50, 100, 500)] == pytest.approx([0.4, 0.2, 0.1, 0.1])


def test_inverse_sqrt_waits_for_its_horizon() -> None:
    eta = InverseSqrt(start=0.08, horizon=100)
    assert [eta.value(step) for step in (0, 100, 400, 10_000)] == pytest.approx(
        [0.08, 0.08, 0.04, 0.008]
    )
