"""The script that compares runs by their curves."""

from __future__ import annotations

import ast
import re
import sys
from importlib.metadata import requires
from pathlib import Path

import curves
import pytest
from commands import TRAIN, code, runs

SCRIPTS = Path(curves.__file__).parent


@pytest.mark.parametrize(
    ("freedom", "quantile"), [(1, 12.706), (2, 4.303), (4, 2.776), (30, 2.042)]
)
def test_students_quantile(freedom, quantile):
    """As any table of Student's distribution has them, in percent 97.5."""
    assert curves.student(freedom) == pytest.approx(quantile, abs=5e-4)


def test_it_needs_only_what_the_project_requires():
    needed = {re.match(r"[\w-]+", line)[0] for line in requires("poker-rl") if "extra" not in line}
    used = set()
    for node in ast.walk(ast.parse((SCRIPTS / "curves.py").read_text())):
        if isinstance(node, ast.ImportFrom):
            used.add(node.module.partition(".")[0])
        elif isinstance(node, ast.Import):
            used |= {alias.name.partition(".")[0] for alias in node.names}
    assert used - sys.stdlib_module_names <= needed | {"poker_rl"}


@pytest.mark.usefixtures("here")
def test_curves_of_patterns_of_runs(capsys, monkeypatch):
    for seed in (0, 1):
        assert code(*TRAIN, f"seed={seed}", "evaluate_every=2") == 0
    assert len(runs()) == 2
    notes = []
    monkeypatch.setattr(curves, "footnote", lambda figure, words: notes.append(words))
    tag = "--tag=eval/average/exploitability"
    curves.main(["a/b.png", "CFR+=outputs/kuhn/*/*", f"one={runs()[0]}", tag])
    out = capsys.readouterr().out
    assert len(re.findall(r"^CFR\+ .*average/exploitability .* ± .*\(\S+ \S+\)$", out, re.M)) == 1
    assert Path("a/b.png").stat().st_size > 10_000
    assert notes[0].startswith("exact; ")
    assert notes[1] == f"CFR+: kuhn, seed 0, 1, {runs()[0]}, {runs()[1]}"


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["x=nowhere/*"], "x=nowhere/*: there is no nowhere/*"),
        (["outputs"], "outputs: write NAME=RUN"),
        (["x=."], ". is no run folder"),
        (["x=outputs/kuhn/*/*", "--tag=eval/y"], "allowed: eval/average/exploitability"),
    ],
)
def test_what_it_cannot_draw_is_refused(words, said, capsys):
    assert code(*TRAIN) == 0
    with pytest.raises(SystemExit) as left:
        curves.main(["b.png", *words])
    assert left.value.code == 2
    assert said in capsys.readouterr().err
    assert not Path("b.png").exists()
