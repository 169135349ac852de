"""The script of APU's published six-player tables: who meets whom, and in which seats."""

from __future__ import annotations

from pathlib import Path

import reproduce_apu


def test_every_experiment_it_names_can_be_trained():
    folder = Path(__file__).parents[2] / "conf" / "experiment"
    there = {path.stem for path in folder.glob("*.yaml")}
    linear = {f"{name}_linear" for name in reproduce_apu.EXPERIMENTS}
    assert {*reproduce_apu.EXPERIMENTS, *linear, *reproduce_apu.OURS} <= there
    names = {name for rows in reproduce_apu.TABLES.values() for name, _, _ in rows}
    assert names <= set(reproduce_apu.EXPERIMENTS)
