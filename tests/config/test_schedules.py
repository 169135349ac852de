"""Values of the schedules at the points that define them."""

import pytest

from poker_rl.config.schedules import (
    Constant,
    InverseSqrt,
    Linear,
    LogLinear,
    StableDecay,
)


@pytest.mark.parametrize(
    ("schedule", "value_by_step"),
    [
        (Constant(start=0.3), {0: 0.3, 10**9: 0.3}),
        (
            Linear(start=0.12, end=0.0, horizon=1e6),
            {0: 0.12, 250_000: 0.09, 10**6: 0.0, 10**7: 0.0},
        ),
        (
            StableDecay(start=0.8, end=0.2, decay_share=0.4, horizon=100),
            {0: 0.8, 60: 0.8, 80: 0.5, 100: 0.2, 10**6: 0.2},
        ),
        (LogLinear(start=0.4, end=0.1, horizon=100), {0: 0.4, 50: 0.2, 100: 0.1, 500: 0.1}),
        (InverseSqrt(start=0.08, horizon=100), {0: 0.08, 100: 0.08, 400: 0.04, 10_000: 0.008}),
    ],
)
def test_values(schedule, value_by_step):
    assert {step: schedule.value(step) for step in value_by_step} == pytest.approx(value_by_step)
