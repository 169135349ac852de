"""The proof that a refactoring changes no number."""

from __future__ import annotations

from same_metrics import RUNS, differences, metrics


def test_a_run_repeats_itself_and_a_difference_is_told() -> None:
    run = "game=kuhn algo=reinforce budget=400"
    first = metrics(run)
    assert len(first) > 2
    assert list(differences({run: first}, {run: metrics(run)})) == [f"equal: {run}"]
    (told,) = differences({run: first}, {run: [first[0] | {"loss/policy": 7.0}, *first[1:]]})
    assert told == f"DIFFERENT ['loss/policy']: {run}"
    (told,) = differences({run: first}, {})
    assert told.startswith("DIFFERENT")
    assert len(set(RUNS)) == len(RUNS)
