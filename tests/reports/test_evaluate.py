"""Reports of `poker-rl evaluate`: printed, saved and listed."""

import csv
import json
import os
import re
import sys

import pytest
import torch
from evaluations import KUHN, LEDUC, Policies, evaluation, loader, random_policies

from poker_rl.config import ConfigError
from poker_rl.config.option_files import SHIPPED_OPTION_DIR, read_plain_yaml
from poker_rl.evaluation import Result
from poker_rl.evaluation.matches.duplicate_match import compute_exact_match_values
from poker_rl.evaluation.player_evaluator import PlayerEvaluator
from poker_rl.games import get_tree
from poker_rl.players import TabularPlayer
from poker_rl.reports.evaluate import load_measured_players, measure_and_report_players
from poker_rl.reports.evaluation_reports import EvaluateConfig, Evaluation, read_and_format_reports
from poker_rl.storage.checkpoint import save_snapshot

CPU = torch.device("cpu")


def add_snapshot(folder, game, decisions=1000, **players):
    folder.mkdir(exist_ok=True)
    states = {name: TabularPlayer(game, policy).to_dict() for name, policy in players.items()}
    save_snapshot(folder, decisions, {"game": game.to_dict(), "players": states})
    return folder


def evaluate(run, game=KUHN, **settings):
    """Evaluate a run; `settings` replace those of `conf/evaluate.yaml`."""
    settings = read_plain_yaml(SHIPPED_OPTION_DIR / "evaluate.yaml") | {"run": str(run)} | settings
    config = EvaluateConfig(**settings)
    parts = Evaluation(config, game, evaluation(game, deals=config.deals or 1000), loader(game))
    measure_and_report_players(parts, load_measured_players(parts, CPU))
    return parts


@pytest.fixture
def run(tmp_path):
    uniform, random = get_tree(KUHN).build_uniform_policy(), random_policies(KUHN)[0]
    add_snapshot(tmp_path / "run", KUHN, 500, current=random)
    return add_snapshot(tmp_path / "run", KUHN, 1000, current=uniform, average=random)


def test_player_plays_earlier_snapshots_at_even_distances(run):
    for decisions in (100, 200, 300, 400):
        add_snapshot(run, KUHN, decisions, current=random_policies(KUHN)[0])
    results = evaluate(run, player="current", earlier_snapshots=3).results
    opponents = [f"against/itself at {decisions}" for decisions in (100, 300, 500)]
    sampled = [row for row in results if row.half_width is not None]
    assert [row.measure for row in sampled if row.measure.startswith("against/")] == opponents
    players = [loader(KUHN)("uniform"), Policies(KUHN, random_policies(KUHN))]
    expected = compute_exact_match_values(get_tree(KUHN), players)[0]
    exact = [row for row in results if row.measure in opponents and row.kind == "exact"]
    assert [row.value for row in exact] == pytest.approx([expected] * 3)


def test_report_is_printed_and_saved_as_json_and_csv(run, capsys):
    evaluate(run, against=["call", str(run)])
    screen = capsys.readouterr().out
    assert "current (headline)" in screen.splitlines()[4]
    assert "1,000 decisions" in screen
    assert "exploitability" in screen
    assert "0.4583" in screen  # exploitability of uniform play, 11/24
    assert "1,000 deals, each played in every seat; 95 % interval" in screen

    (json_path,) = (run / "evaluations").glob("*.json")
    report = json.loads(json_path.read_text())
    assert (report["game"], report["decisions"], report["seed"]) == ("kuhn", 1000, 0)
    results = [Result(**row) for row in report["results"]]
    assert list(dict.fromkeys(result.player for result in results)) == ["current", "average"]
    first = Result("current", "exploitability", pytest.approx(11 / 24), None, "ante/hand", "exact")
    assert results[0] == first
    winnings, exact = [result for result in results if result.tag == "current/against/call"]
    assert (winnings.kind, winnings.n, exact.kind) == ("against call", 1000, "exact")
    assert abs(winnings.value - exact.value) < 2 * winnings.half_width
    assert len([result for result in results if result.measure.startswith("hands_won/")]) == 4
    rows = list(csv.DictReader(json_path.with_suffix(".csv").open()))
    assert len(rows) == len(results) == 2 * 5 + 4 * 3
    assert float(rows[0]["value"]) == pytest.approx(11 / 24)
    (row,) = [row for row in rows if row["measure"] == f"hands_won/{run}@1000:current"][:1]
    assert (row["n"], row["kind"]) == ("1000", f"against {run}@1000:current")


def test_all_evaluations_are_saved_and_listed(run, capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["poker-rl", "evaluate", "run=here"])
    evaluate(run, against=["call"], seed=3, deals=50)
    evaluate(run, checkpoint=500, player="current")
    assert len(list((run / "evaluations").glob("*.json"))) == 2
    report = json.loads(min((run / "evaluations").glob("*.json")).read_text())
    assert report["command"] == "poker-rl evaluate run=here"
    assert (report["deals"], report["seed"], report["headline"]) == (50, 3, "current")
    assert report["evaluation"]["opponents"] == ["uniform", "call", "raise"]
    capsys.readouterr()
    lines = read_and_format_reports(run / "evaluations").splitlines()
    rows = [" ".join(line.split()) for line in lines]
    assert re.fullmatch(r"1: 1,000 decisions, seed 3, .*, poker-rl evaluate run=here", rows[0])
    assert "current (headline) exploitability 0.4583 ante/hand exact" in rows
    (match_row, _) = [line for line in rows if " against/call " in line]
    assert match_row.startswith("current (headline) against/call ")
    assert match_row.endswith(" ante/hand against call 50")
    assert rows[-5].startswith("2: 500 decisions, seed 0, ")
    (run / "evaluations/x.json").write_text("[]")
    with pytest.raises(ConfigError, match=r"x\.json is no evaluation"):
        read_and_format_reports(run / "evaluations")
    with pytest.raises(ConfigError, match="there are no evaluations in"):
        read_and_format_reports(run)


def test_mismatched_or_missing_players_are_refused(run, tmp_path):
    leduc = add_snapshot(tmp_path / "leduc", LEDUC, current=get_tree(LEDUC).build_uniform_policy())
    (run / "players/300.pt").write_bytes(b"damaged")
    for message, settings in (
        ("is of kuhn, not of this leduc", {"game": LEDUC}),
        ("is of leduc, not of this kuhn", {"against": [str(leduc)]}),
        ("has no player best; it has current, average", {"player": "best"}),
        ("has no snapshot 7; it has 300, 500, 1000", {"checkpoint": 7}),
        (r"earlier_snapshots: .*300", {"against": ["call"], "earlier_snapshots": 3}),
        (r"figures: .*metrics\.jsonl: no such file", {"figures": True}),
    ):
        with pytest.raises(ConfigError, match=message):
            evaluate(run, **settings)
    assert not (run / "evaluations").exists()


def test_unwritable_output_is_refused_before_measuring(run, monkeypatch):
    monkeypatch.setattr(PlayerEvaluator, "evaluate_player", None)
    (run / "file").touch()
    with pytest.raises(ConfigError, match=r"out: .*file is not a folder"):
        evaluate(run, out=str(run / "file/x"))
    monkeypatch.setattr(os, "access", lambda *_: False)  # as for a folder of another user
    with pytest.raises(ConfigError, match="out: nothing can be written into the folder"):
        evaluate(run, out=str(run / "there"))
