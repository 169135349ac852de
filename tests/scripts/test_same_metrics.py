"""The proof that a refactoring changes no number."""

from __future__ import annotations

from same_metrics import RUNS, compare_metrics, train_metrics


def test_a_run_repeats_itself_and_a_difference_is_told() -> None:
    run = "game=kuhn algo=reinforce budget=400"
    first = train_metrics(run)
    assert len(first) > 2
    assert list(compare_metrics({run: first}, {run: train_metrics(run)})) == [f"equal: {run}"]
    (line,) = compare_metrics({run: first}, {run: [first[0] | {"loss/policy": 7.0}, *first[1:]]})
    assert line == f"DIFFERENT ['loss/policy']: {run}"
    (line,) = compare_metrics({run: first}, {})
    assert line.startswith("DIFFERENT")
    assert len(set(RUNS)) == len(RUNS)
