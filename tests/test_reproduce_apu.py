"""The script of the reference work's six-player tables: who meets whom, and in which seats."""

from __future__ import annotations

from pathlib import Path

import reproduce_apu
import torch

from poker_rl.config import build, option

CPU = torch.device("cpu")


def bot(game, name):
    return build(option("player", name), name, game=game, device=CPU)


def test_one_among_equals_wins_nothing_since_every_deal_is_played_in_all_seats():
    game = build(option("game", "limit_holdem_6p"), "game")
    tight = [bot(game, "tight")]
    won, wide = reproduce_apu.met(game, tight, tight, deals=40)
    assert abs(won) < 1e-9
    assert wide < 1e-9


def test_of_several_candidates_it_tells_the_mean_in_small_bets():
    game = build(option("game", "limit_holdem_6p"), "game")
    tight, fold = bot(game, "tight"), bot(game, "fold")
    raisers = [bot(game, "raise")]
    alone = [reproduce_apu.met(game, [one], raisers, deals=40)[0] for one in (tight, fold)]
    assert alone[1] == -0.25  # both blinds, once in six hands
    both, _ = reproduce_apu.met(game, [tight, fold], raisers, deals=40)
    assert abs(both - sum(alone) / 2) < 1e-9


def test_every_experiment_it_names_can_be_trained():
    folder = Path(__file__).parents[1] / "conf" / "experiment"
    there = {path.stem for path in folder.glob("*.yaml")}
    assert {*reproduce_apu.EXPERIMENTS, *reproduce_apu.OURS} <= there
    told = {name for rows in reproduce_apu.TABLES.values() for name, _, _ in rows}
    assert told <= set(reproduce_apu.EXPERIMENTS)
