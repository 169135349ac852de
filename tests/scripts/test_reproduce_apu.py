"""The script of APU's published six-player tables: who meets whom, and in which seats."""

from __future__ import annotations

from pathlib import Path

import pytest
import reproduce_apu


def test_every_experiment_it_names_can_be_trained():
    folder = Path(__file__).parents[2] / "conf" / "experiment"
    there = {path.stem for path in folder.glob("*.yaml")}
    linear = {f"{name}_linear" for name in reproduce_apu.EXPERIMENTS}
    assert {*reproduce_apu.EXPERIMENTS, *linear, *reproduce_apu.OURS} <= there
    told = {name for rows in reproduce_apu.TABLES.values() for name, _, _ in rows}
    assert told <= set(reproduce_apu.EXPERIMENTS)


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["apu=nowhere"], "apu=nowhere: nowhere: no such file"),
        (["apo=nowhere"], "apo=nowhere: write EXPERIMENT=RUN; allowed: apu, "),
        (["--deals", "2"], "--deals 2: at least 30"),
        (["--seeds", "0"], "--seeds 0: at least 1"),
        (["--only", "apo"], "--only apo: allowed: apu, "),
    ],
)
def test_what_it_cannot_use_is_refused_before_it_trains(words, said, capsys):
    with pytest.raises(SystemExit):
        reproduce_apu.main(words)
    assert said in capsys.readouterr().err
