"""Reports of `poker-rl evaluate`: printed, saved and listed."""

from __future__ import annotations

import csv
import json
import os
import re
import sys

import pytest
import torch
from big2_tables import BIG2
from evaluations import KUHN, LEDUC, evaluation, loader, random_policies

from poker_rl.config.option_files import SHIPPED_OPTION_DIR, read_plain_yaml
from poker_rl.config.validation import ConfigError
from poker_rl.evaluation.matches.duplicate_match import compute_exact_values
from poker_rl.evaluation.player_evaluator import PlayerEvaluator
from poker_rl.evaluation.plots import plotting
from poker_rl.evaluation.result import Result
from poker_rl.games.game_tree import get_tree
from poker_rl.nets.dense import NetDimensions, SigmoidPolicyConfig
from poker_rl.players.network_player import NetworkPlayer
from poker_rl.players.tabular_player import TabularPlayer
from poker_rl.reports.evaluate import load_measured_players
from poker_rl.reports.evaluation_report import EvaluateConfig, Evaluation, format_report_list
from poker_rl.reports.measure_players import measure_players
from poker_rl.reports.rendering import build_wide_rows
from poker_rl.storage.checkpoint import save_snapshot
from poker_rl.storage.run_folder import write_config, write_manifest

CPU = torch.device("cpu")


def snapshot(folder, game, decisions=1000, **players):
    folder.mkdir(exist_ok=True)
    states = {name: TabularPlayer(game, policy).to_dict() for name, policy in players.items()}
    save_snapshot(folder, decisions, {"game": game.to_dict(), "players": states})
    return folder


def create_evaluation(game, evaluator=None, **settings):
    """Create the evaluation of a call with these settings of `conf/evaluate.yaml`."""
    config = EvaluateConfig(**read_plain_yaml(SHIPPED_OPTION_DIR / "evaluate.yaml") | settings)
    evaluator = evaluator or evaluation(game, deals=config.deals or 1000)
    return Evaluation(config, game, evaluator, loader(game))


def evaluate(run, game=KUHN, **settings):
    parts = create_evaluation(game, run=str(run), **settings)
    snapshot_path, players = load_measured_players(parts, CPU)
    return measure_players(parts, players, snapshot_path)


@pytest.fixture
def run(tmp_path):
    uniform, other = get_tree(KUHN).build_uniform_policy(), random_policies(KUHN)[0]
    snapshot(tmp_path / "run", KUHN, 500, current=other)
    return snapshot(tmp_path / "run", KUHN, 1000, current=uniform, average=other)


def test_earlier_selves_are_met_at_even_distances(run):
    for decisions in (100, 200, 300, 400):
        snapshot(run, KUHN, decisions, current=random_policies(KUHN)[0])
    results = evaluate(run, player="current", earlier_snapshots=3).results
    opponents = [f"against/itself at {decisions}" for decisions in (100, 300, 500)]
    sampled = [one for one in results if one.half_width is not None]
    assert [one.measure for one in sampled if one.measure.startswith("against/")] == opponents
    uniform, then = get_tree(KUHN).build_uniform_policy(), random_policies(KUHN)[0]
    truth = compute_exact_values(get_tree(KUHN), [uniform, then])[0]
    exact = [one for one in results if one.measure in opponents and one.kind == "exact"]
    assert [one.value for one in exact] == pytest.approx([truth] * 3)


def test_a_report_in_three_forms(run, capsys):
    evaluate(run, against=["call", str(run)])
    screen = capsys.readouterr().out
    assert "current (headline)" in screen.splitlines()[4]
    assert "1,000 decisions" in screen
    assert "exploitability" in screen
    assert "0.4583" in screen  # 11/24
    assert "1,000 deals, each played in every seat; 95 % interval" in screen

    (kept,) = (run / "evaluations").glob("*.json")
    report = json.loads(kept.read_text())
    assert (report["game"], report["decisions"], report["seed"]) == ("kuhn", 1000, 0)
    results = [Result(**row) for row in report["results"]]
    assert list(dict.fromkeys(one.player for one in results)) == ["current", "average"]
    first = Result("current", "exploitability", pytest.approx(11 / 24), None, "ante/hand", "exact")
    assert results[0] == first
    winnings, exact = [one for one in results if one.tag == "current/against/call"]
    assert (winnings.kind, winnings.n, exact.kind) == ("against call", 1000, "exact")
    assert abs(winnings.value - exact.value) < 2 * winnings.half_width
    assert len([one for one in results if one.measure.startswith("hands_won/")]) == 4
    rows = list(csv.DictReader(kept.with_suffix(".csv").open()))
    assert len(rows) == len(results) == 2 * 5 + 4 * (3 + 7)
    assert float(rows[0]["value"]) == pytest.approx(11 / 24)
    (row,) = [row for row in rows if row["measure"] == f"hands_won/{run}@1000:current"][:1]
    assert (row["n"], row["kind"]) == ("1000", f"against {run}@1000:current")


def test_exact_values_stand_beside_samples():
    results = [
        Result("a", "against/b", 1.5, 0.5, "ante/hand", "against b", 100),
        Result("a", "against/b", 1.25, None, "ante/hand", "exact"),
        Result("a", "hands_won/b", 0.5, 0.1, "of hands", "against b", 100),
        Result("a", "seats", 2, None, "", "at the table"),
    ]
    heads, match, table = build_wide_rows(results, "a")
    columns = ["against (ante/hand)", "against, exact (ante/hand)", "hands_won (of hands)", "seats"]
    assert heads == ["player", "kind", *columns]
    assert match == ["a (headline)", "against b", "1.50 ± 0.50", "1.25", "0.50 ± 0.10", "-"]
    assert table == ["a (headline)", "at the table", "-", "-", "-", "2"]


def test_every_evaluation_is_kept_and_all_are_shown(run, capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["poker-rl", "evaluate", "run=here"])
    evaluate(run, against=["call"], seed=3, deals=50)
    evaluate(run, checkpoint=500, player="current")
    assert len(list((run / "evaluations").glob("*.json"))) == 2
    first = json.loads(min((run / "evaluations").glob("*.json")).read_text())
    assert first["command"] == "poker-rl evaluate run=here"
    assert (first["deals"], first["seed"], first["headline"]) == (50, 3, "current")
    assert first["evaluation"]["opponents"] == ["uniform", "call", "raise"]
    capsys.readouterr()
    lines = format_report_list(run / "evaluations").splitlines()
    told = [" ".join(line.split()) for line in lines]
    assert re.fullmatch(r"1: 1,000 decisions, seed 3, .*, poker-rl evaluate run=here", told[0])
    assert "current (headline) exploitability 0.4583 ante/hand exact" in told
    (against, _) = [line for line in told if " against/call " in line]
    assert against.startswith("current (headline) against/call ")
    assert against.endswith(" ante/hand against call 50")
    assert told[-5].startswith("2: 500 decisions, seed 0, ")
    (run / "evaluations/x.json").write_text("[]")
    with pytest.raises(ConfigError, match=r"x\.json is no evaluation"):
        format_report_list(run / "evaluations")
    with pytest.raises(ConfigError, match="there are no evaluations in"):
        format_report_list(run)


def test_nothing_printed_is_wider_than_120_columns(tmp_path, capsys):
    folder = tmp_path / "a_run_with_a_long_name_of_its_own_2026-11-22_05-31-48.727688"
    names = ["current", "average", "weight_average", "and_one_with_a_name_that_is_long_itself"]
    policies = {name: random_policies(KUHN)[0] for name in names}
    snapshot(folder, KUHN, **policies)
    levels = list(range(0, 101, 5))
    states = {"current": network_of(4).to_dict()}
    (tmp_path / "copies").mkdir()
    save_snapshot(tmp_path / "copies", 8, {"game": KUHN.to_dict(), "players": states})
    evaluate(folder, against=["call", str(folder), f"{folder}:average"])
    matches = capsys.readouterr().out
    evaluate(tmp_path / "copies", evaluator=evaluation(KUHN, percentiles=levels))
    copies = capsys.readouterr().out
    listed = [line for line in matches.splitlines() if line.startswith("[") and line[4] != " "]
    assert listed[0] == "[1] and_one_with_a_name_that_is_long_itself"
    assert listed[1:] == [f"[2] {folder}@1000:current", f"[3] {folder}@1000:average"]
    assert "current (headline)  against [2]" in matches
    for text in (matches, copies, format_report_list(folder / "evaluations")):
        tables = [line for line in text.splitlines() if str(tmp_path) not in line]
        assert max(map(len, tables)) <= 120
    heads = [line.split()[:2] for line in copies.splitlines() if line.startswith("player  ")]
    assert heads.count(["player", "measure"]) > 1  # columns that go on below
    assert {f"p{level}" for level in levels} <= set(copies.split())


def test_in_larger_games_all_other_seats_are_the_same_opponent(capsys):
    load = loader(BIG2)
    evaluator = evaluation(BIG2, opponents="[]", deals=30)
    measure_players(
        create_evaluation(BIG2, evaluator, against=["uniform"]), {"lowest": load("lowest")}
    )
    out = capsys.readouterr().out
    assert "in every seat, all other seats taken by the same opponent; 95 % interval" in out
    assert "against (point/game)" in out


def network_of(copies):
    net = SigmoidPolicyConfig(init_range=1.0)
    module = net.build_module(
        NetDimensions(inputs=12, outputs=3, replicas=copies), torch.Generator().manual_seed(0)
    )
    return NetworkPlayer(KUHN, net, module, "shared", copies)


def test_several_copies_are_told_by_percentiles(tmp_path, capsys):
    states = {"current": network_of(4).to_dict()}
    save_snapshot(tmp_path, 8, {"game": KUHN.to_dict(), "players": states})
    results = {one.measure: one for one in evaluate(tmp_path).results}
    head, _, exploitability, *_ = (
        line.split() for line in capsys.readouterr().out.splitlines()[2:]
    )
    percentiles = [f"p{p}" for p in (10, 25, 50, 75, 90)]
    assert head == ["player", "measure", "value", *percentiles, "unit", "kind", "n"]
    assert exploitability[6] == f"{results['exploitability/p50'].value:.4g}"
    with pytest.raises(
        ConfigError, match=r"bounds are of one instance, choose current\.0 to current\.3"
    ):
        evaluate(tmp_path, against=["call"])
    with pytest.raises(ConfigError, match=r"player: .*current has 4 copies; choose :current.0 to"):
        evaluate(tmp_path, player="current.4")
    results = evaluate(tmp_path, player="current.3", against=["call"]).results
    assert {one.player for one in results} == {"current.3"}


def test_an_older_checkpoint_and_one_player(run):
    assert evaluate(run, checkpoint=500).snapshot.name == "500.pt"
    assert {one.player for one in evaluate(run, player="average").results} == {"average"}


def test_figures_are_drawn_and_signed(run, monkeypatch):
    origins, save = [], plotting.save_png

    def watched(figure, path, origin):
        origins.append(origin)
        save(figure, path, origin)

    monkeypatch.setattr(plotting, "save_png", watched)
    write_config(run, {})
    write_manifest(run, {"status": "finished", "checkpoint": None, "resumed": [], "seed": 7})
    (run / "metrics.jsonl").write_text('{"decisions": 0, "eval/current/exploitability": 1}\n')
    evaluate(run, figures=True)
    drawn = {path.name for path in run.glob("evaluations/*/*")}
    assert drawn == {"exploitability.png", "policy_current.png", "policy_average.png"}
    told = f"{run}/players/1000.pt, trained with seed 7, kuhn; evaluated with seed 0"
    assert origins == [told] * len(drawn)


def test_what_can_not_be_evaluated_is_refused(run, tmp_path):
    leduc = snapshot(tmp_path / "leduc", LEDUC, current=get_tree(LEDUC).build_uniform_policy())
    with pytest.raises(ConfigError, match="is of kuhn, not of this leduc"):
        evaluate(run, LEDUC)
    with pytest.raises(ConfigError, match="is of leduc, not of this kuhn"):
        evaluate(run, against=[str(leduc)])
    with pytest.raises(ConfigError, match="Kuhn poker"):
        evaluate(leduc, LEDUC, against=["equilibrium"])
    with pytest.raises(ConfigError, match="rise"):
        evaluate(run, against=["rise"])
    with pytest.raises(ConfigError, match="has no player best; it has current, average"):
        evaluate(run, player="best")
    with pytest.raises(ConfigError, match="has no snapshot 7; it has 500, 1000"):
        evaluate(run, checkpoint=7)
    (run / "players/300.pt").write_bytes(b"damaged")
    with pytest.raises(ConfigError, match=r"earlier_snapshots: .*300"):
        evaluate(run, against=["call"], earlier_snapshots=3)
    with pytest.raises(ConfigError, match=r"figures: .*metrics\.jsonl: no such file"):
        evaluate(run, figures=True)
    assert not (run / "evaluations").exists()


def test_what_can_not_be_kept_is_refused_before_anything_is_measured(run, monkeypatch):
    monkeypatch.setattr(PlayerEvaluator, "evaluate_player", None)
    (run / "file").touch()
    with pytest.raises(ConfigError, match=r"out: .*file is not a folder"):
        evaluate(run, out=str(run / "file/x"))
    monkeypatch.setattr(os, "access", lambda *_: False)  # as it is for anyone but root
    with pytest.raises(PermissionError, match="nothing can be written into this folder"):
        evaluate(run, out=str(run / "there"))
