"""The script of APU's published six-player tables: who meets whom, and in which seats."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import reproduce_apu
import torch
from commands import code, runs

from poker_rl.config.build import build
from poker_rl.config.options import option

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
    folder = Path(__file__).parents[2] / "conf" / "experiment"
    there = {path.stem for path in folder.glob("*.yaml")}
    assert {*reproduce_apu.EXPERIMENTS, *reproduce_apu.OURS} <= there
    told = {name for rows in reproduce_apu.TABLES.values() for name, _, _ in rows}
    assert told <= set(reproduce_apu.EXPERIMENTS)


@pytest.mark.usefixtures("here")
def test_its_tables_of_runs_made_before(capsys):
    tiny = ["budget=120", "evaluate_every=60", "algo.batch=4", "evaluation.opponents=[]"]
    assert code("train", "experiment=dual_apu_none", *tiny, "evaluation.earlier_self=false") == 0
    (run,) = runs()
    given = [f"{name}={run}" for name in (*reproduce_apu.EXPERIMENTS, "ppo_lhe_6p_none")]
    reproduce_apu.main([*given, "--deals", "30", "--losses", "apu.png"])
    out = capsys.readouterr().out
    assert out.count("| candidate |") == 6
    assert out.count("| apu | sklansky |") == out.count("| ppo_lhe_6p_none | mcts |") == 1
    assert re.search(r"\| apu \| apu_none \| .* ± .* \| .* ± .* \| 9.728 \|\n", out)
    assert out.count(" ms\n") == len(given)
    assert Path("apu.png").stat().st_size > 10_000


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["apu=nowhere"], "apu=nowhere: nowhere: no such file"),
        (["apo=nowhere"], "apo=nowhere: write EXPERIMENT=RUN; allowed: apu, "),
        (["--deals", "2"], "--deals 2: at least 30"),
    ],
)
def test_what_it_cannot_use_is_refused_before_it_trains(words, said, capsys):
    with pytest.raises(SystemExit):
        reproduce_apu.main(words)
    assert said in capsys.readouterr().err
