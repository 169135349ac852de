"""The script of APU's published six-player tables: who meets whom, and in which seats."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import reproduce_apu
import torch
from commands import code

from poker_rl.config.build import build
from poker_rl.config.option_files import load_option

CPU = torch.device("cpu")


def bot(game, name):
    return build(load_option("player", name), name, game=game, device=CPU)


def test_one_among_equals_wins_nothing_since_every_deal_is_played_in_all_seats():
    game = build(load_option("game", "limit_holdem_6p"), "game")
    tight = [bot(game, "tight")]
    won, wide = reproduce_apu.measure_winnings(game, tight, tight, deals=40)
    assert abs(won) < 1e-9
    assert wide < 1e-9


def test_of_several_candidates_it_tells_the_mean_in_small_bets():
    game = build(load_option("game", "limit_holdem_6p"), "game")
    tight, fold = bot(game, "tight"), bot(game, "fold")
    raisers = [bot(game, "raise")]
    alone = [
        reproduce_apu.measure_winnings(game, [one], raisers, deals=40)[0] for one in (tight, fold)
    ]
    assert alone[1] == -0.25  # both blinds, once in six hands
    both, _ = reproduce_apu.measure_winnings(game, [tight, fold], raisers, deals=40)
    assert abs(both - sum(alone) / 2) < 1e-9


def test_every_experiment_it_names_can_be_trained():
    folder = Path(__file__).parents[2] / "conf" / "experiment"
    there = {path.stem for path in folder.glob("*.yaml")}
    linear = {f"{name}_linear" for name in reproduce_apu.EXPERIMENTS}
    assert {*reproduce_apu.EXPERIMENTS, *linear, *reproduce_apu.OURS} <= there
    told = {name for rows in reproduce_apu.TABLES.values() for name, _, _ in rows}
    assert told <= set(reproduce_apu.EXPERIMENTS)


TINY = ["budget=120", "algo.episodes_per_iteration=10", "algo.batch_size=4"]


@pytest.mark.usefixtures("here")
def test_it_trains_what_is_missing_and_goes_on_where_it_was(capfd, monkeypatch):
    name = "dual_apu_none_linear"
    command = ["--only", name, "--deals", "30", "--minutes", "9"]  # the budget is over long before
    reproduce_apu.main([*command, "--set", *TINY, "--losses", "apu.png"])
    first = capfd.readouterr().out
    run = f"outputs/reproduce_apu/limit_holdem_6p/apu/{name}_seed0"
    assert f"\n{name}={run}\n" in first
    assert re.search(r"\| dual_apu \| dual_apu_none \| 0.918 \| - \| - \|\n", first)
    assert Path("apu.png").stat().st_size > 10_000

    monkeypatch.setattr(reproduce_apu, "measure_winnings", None)  # nobody plays again
    monkeypatch.setattr(reproduce_apu.subprocess, "Popen", None)  # or trains
    reproduce_apu.main(command)
    again = capfd.readouterr().out
    told = [text[text.index("Small bets") : text.index("A decision")] for text in (first, again)]
    assert told[0] == told[1]


@pytest.mark.usefixtures("here")
def test_its_tables_of_both_rewards(capfd):
    quiet = ["evaluate_every=60", "evaluation.opponents=[]", "evaluation.earlier_self=false"]
    assert code("train", "experiment=dual_apu_none", *TINY, *quiet, "name=run") == 0
    run = "outputs/limit_holdem_6p/apu/run"
    names = ("apu", "apu_linear", "apu_linear", "apu_none", "ppo_lhe_6p_none")
    reproduce_apu.main([*(f"{name}={run}" for name in names), "--only", "--deals", "30"])
    out = capfd.readouterr().out
    number = r"[+-]\d\.\d{3} ± \d\.\d{3}"
    assert out.count("| candidate |") == 6
    for bot in ("chen", "chen_randomized"):
        assert re.search(rf"\| apu \| {bot} \| 0.957 \| {number} \| {number} \|\n", out)
    assert re.search(rf"\| apu \| apu_none \| 9.728 \| {number} \| - \|\n", out)
    assert out.count("| ppo_lhe_6p_none | mcts_few |") == 1
    assert out.count(" ms\n") == 4


def test_of_several_seeds_the_interval_is_over_seeds(tmp_path):
    game = build(load_option("game", "limit_holdem_6p"), "game")
    matches = reproduce_apu.Matches(game, 30, tmp_path / "matches.jsonl", {})
    matches.players["apu_linear"] = [[], []]
    matches._measure_seed = lambda name, other, seed: ((1.0, 3.0)[seed], 0.5)
    assert (
        matches.format_winnings("apu_linear", "chen") == "+2.000 ± 12.706"
    )  # Student's t of one degree
    matches.players["apu_linear"].pop()
    assert matches.format_winnings("apu_linear", "chen") == "+1.000 ± 0.500"


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
