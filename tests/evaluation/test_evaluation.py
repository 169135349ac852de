"""Measures against known constants, and what `evaluate` prints and writes of a run."""

from __future__ import annotations

import csv
import json
import os
import sys

import numpy as np
import pytest
import torch
from big2_tables import BIG2
from evaluations import (
    HOLDEM,
    KUHN,
    KUHN_3P,
    LEDUC,
    Policies,
    evaluation,
    loader,
    random_policies,
)
from toy_games import forgetful

from poker_rl.config.settings import Refused
from poker_rl.evaluation import drawing
from poker_rl.evaluation.equilibrium import bets, distance, member
from poker_rl.evaluation.evaluate import Wanted, evaluate_players, evaluate_run
from poker_rl.evaluation.evaluation import Evaluation
from poker_rl.evaluation.exploitability import nash_conv
from poker_rl.evaluation.kept import table
from poker_rl.evaluation.matches import against, exact
from poker_rl.games.tree import tree_of
from poker_rl.nets.dense import BetWeight, Size
from poker_rl.players.equilibrium import optimal
from poker_rl.players.network import NetworkPlayer
from poker_rl.players.table import TablePlayer
from poker_rl.storage.checkpoint import save_snapshot
from poker_rl.storage.folder import write_config, write_manifest

CPU = torch.device("cpu")


def measured(game, player, name="default", **settings):
    results = evaluation(game, name, **settings).evaluate({"current": player})
    return {tag.removeprefix("current/"): one.value for tag, one in results.items()}


def test_uniform_play():
    assert measured(KUHN, loader(KUHN)("uniform")) == pytest.approx(
        {
            "exploitability": 11 / 24,
            "nash_conv": 11 / 12,
            "value": 1 / 8,
            "gain/seat_0": 0.375,
            "gain/seat_1": 0.5416667,
        }
    )
    assert measured(LEDUC, loader(LEDUC)("uniform")) == pytest.approx(
        {
            "exploitability": 4.7472222 / 2,
            "nash_conv": 4.7472222,
            "value": -0.078125,
            "gain/seat_0": 2.165625,
            "gain/seat_1": 2.5815972,
        }
    )


def test_three_seats_have_three_values():
    results = measured(KUHN_3P, loader(KUHN_3P)("uniform"))
    assert results["exploitability"] == pytest.approx(2.0625 / 3)
    values = [results[f"value/seat_{seat}"] for seat in range(3)]
    assert values == pytest.approx([0.234375, -0.046875, -0.1875])
    assert results["value"] == values[0]


def test_every_number_says_what_it_is():
    results = evaluation(LEDUC).evaluate({"current": loader(LEDUC)("uniform")})
    told = {tag: (one.unit, one.kind, one.half_width) for tag, one in results.items()}
    assert told["current/exploitability"] == ("ante/hand", "exact", None)
    assert told["current/value"] == ("chips a hand", "exact", None)
    # The progress bar and the end of a run show each player's first number.
    assert next(iter(results)) == "current/exploitability"


def test_instances_are_told_by_percentiles():
    tree, policies = tree_of(KUHN), random_policies(KUHN, count=9)
    results = measured(KUHN, Policies(KUHN, policies))
    each = [nash_conv(tree, policy) for policy in policies]
    assert results["nash_conv"] == pytest.approx(np.mean(each))
    for percent in (10, 25, 50, 75, 90):
        assert results[f"nash_conv/p{percent}"] == pytest.approx(np.percentile(each, percent))


def test_matches_of_instances_have_intervals():
    """Instances that play the same have the interval of one of them."""
    one = evaluation(KUHN, most_nodes=1, opponents=["uniform"], deals=100)
    call = np.where(tree_of(KUHN).legal[:, 1:2], [0.0, 1.0, 0.0], 0.0)
    alone, several = (
        one.evaluate({"current": Policies(KUHN, np.array([call] * count))}) for count in (1, 3)
    )
    half_width = alone["current/against/uniform"].half_width
    assert half_width > 0
    assert len(several) > 1
    assert {round(one.half_width, 9) for one in several.values()} == {round(half_width, 9)}


def test_a_large_game_has_no_invented_distance():
    results = evaluation(HOLDEM, deals=100).evaluate({"current": loader(HOLDEM)("call")})
    assert list(results) == [f"current/against/{name}" for name in ("uniform", "call", "raise")]
    assert {one.kind for one in results.values()} == {
        f"against {n}" for n in ("uniform", "call", "raise")
    }
    assert results["current/against/uniform"].half_width > 0


def test_the_tree_is_as_large_as_the_setting_allows():
    assert "nash_conv" in measured(KUHN, loader(KUHN)("call"), most_nodes=54)
    assert "nash_conv" not in measured(KUHN, loader(KUHN)("call"), most_nodes=53)


def test_a_small_game_that_can_not_be_enumerated_is_measured_by_matches(monkeypatch):
    game = forgetful(monkeypatch)
    found = measured(game, loader(game)("call"), opponents=["uniform"], deals=30)
    assert list(found) == ["against/uniform"]


def test_evaluating_twice_gives_the_same():
    one = evaluation(KUHN, most_nodes=1, deals=100)
    players = {"current": loader(KUHN)("uniform")}
    assert one.evaluate(players) == one.evaluate(players)


def test_others_have_every_seat_but_the_first():
    own = measured(KUHN, loader(KUHN)("call"))
    beside = measured(KUHN, loader(KUHN)("call"), others="equilibrium")
    # No first player wins more than the value of the game from an equilibrium.
    assert beside["gain/seat_0"] == pytest.approx(-1 / 18 - beside["value"])
    # What the best second player wins from the first is as it was.
    best = [results["gain/seat_1"] - results["value"] for results in (own, beside)]
    assert best[0] == pytest.approx(best[1])
    told = evaluation(KUHN, others="equilibrium").evaluate({"current": loader(KUHN)("call")})
    assert {one.kind for one in told.values()} == {"exact, beside equilibrium"}


# The distance to optimal of Kuhn poker


def test_distance_of_even_chances():
    first, second = distance(np.full((4, 3), 0.5))
    assert (first, second) == (pytest.approx(0.861, abs=5e-4), pytest.approx(1.056, abs=5e-4))
    results = measured(KUHN, loader(KUHN)("uniform"), "k2")
    assert results["distance_first"] == pytest.approx(31 / 36)
    assert results["distance_second"] == pytest.approx(19 / 18)


@pytest.mark.parametrize("alpha", [0, 0.1, 0.25, 1 / 3])
def test_every_equilibrium_is_optimal(alpha):
    assert distance(optimal(alpha)) == pytest.approx((0, 0))
    np.testing.assert_allclose(member(optimal(alpha)), optimal(alpha))


def test_bets_by_situation_and_card():
    tree = tree_of(KUHN)
    policy = loader(KUHN)("equilibrium").probabilities(tree.records)  # alpha 1/3
    expected = [[1 / 3, 0, 1], [1 / 3, 0, 1], [0, 2 / 3, 1], [0, 1 / 3, 1]]
    np.testing.assert_allclose(bets(tree, policy), expected)
    np.testing.assert_allclose(bets(tree, np.stack([policy, policy])), [expected] * 2)


def test_a_fixed_second_player_is_not_measured():
    results = measured(KUHN, loader(KUHN)("uniform"), "k2", opponent="equilibrium")
    assert results["distance_first"] == pytest.approx(31 / 36)
    assert "distance_second" not in results


def test_kuhn_alone():
    with pytest.raises(Refused, match="for Kuhn poker, not for leduc"):
        evaluation(LEDUC, "k2")
    with pytest.raises(Refused, match="for Kuhn poker, not for limit_holdem"):
        evaluation(HOLDEM, "k1")


# A run folder


def snapshot(folder, game, decisions=1000, **players):
    folder.mkdir(exist_ok=True)
    states = {name: TablePlayer(game, policy).state() for name, policy in players.items()}
    save_snapshot(folder, decisions, {"game": game.state(), "players": states})
    return folder


OF_RUN = ("checkpoint", "player", "earlier")


def evaluate(run, game=KUHN, **arguments):
    own = {key: arguments.pop(key) for key in OF_RUN if key in arguments}
    settings = {"evaluation": evaluation(game), "deals": 1000, "seed": 0} | arguments
    wanted = Wanted(game=game, load=loader(game), **settings)
    return evaluate_run(run, wanted, device=CPU, **{"earlier": 0, **own})


@pytest.fixture
def run(tmp_path):
    uniform, other = tree_of(KUHN).uniform(), random_policies(KUHN)[0]
    snapshot(tmp_path / "run", KUHN, 500, current=other)
    return snapshot(tmp_path / "run", KUHN, 1000, current=uniform, average=other)


def test_earlier_selves_are_met_at_even_distances(run):
    for decisions in (100, 200, 300, 400):
        snapshot(run, KUHN, decisions, current=random_policies(KUHN)[0])
    matches = evaluate(run, player="current", earlier=3).matches
    assert [match.itself_at for match in matches] == [100, 300, 500]
    assert [match.against for match in matches] == [
        "itself at 100",
        "itself at 300",
        "itself at 500",
    ]
    uniform, then = tree_of(KUHN).uniform(), random_policies(KUHN)[0]
    truth = exact(tree_of(KUHN), [uniform, then])[0]
    assert [match.exact for match in matches] == pytest.approx([truth] * 3)


def test_in_training_a_player_meets_itself_from_half_as_many_decisions(tmp_path):
    raises, calls = loader(HOLDEM)("raise"), loader(HOLDEM)("call")
    half = save_snapshot(
        tmp_path, 400, {"game": HOLDEM.state(), "players": {"current": calls.state()}}
    )
    one = evaluation(HOLDEM, deals=200)
    tag = "current/against/earlier_self"
    found = one.evaluate({"current": raises}, half)
    assert found[tag].kind == "against itself at 400"
    assert found[tag].value == found["current/against/call"].value
    assert tag not in one.evaluate({"current": raises})


def test_a_report_in_three_forms(run, capsys):
    evaluate(run, against=["call", str(run)])
    screen = capsys.readouterr().out
    assert "current (headline)" in screen.splitlines()[2]
    assert "1,000 decisions" in screen
    assert "exploitability" in screen
    assert "0.4583" in screen  # 11/24
    assert "1,000 deals, each played in every seat; ante/hand, 95 % interval" in screen
    assert "after check-bet  0.500 / 0.000  0.500 / 0.667  0.500 / 1.000" in screen

    (kept,) = (run / "evaluations").glob("*.json")
    report = json.loads(kept.read_text())
    assert (report["game"], report["decisions"], report["seed"]) == ("kuhn", 1000, 0)
    assert list(report["players"]) == ["current", "average"]
    expected = {"value": 11 / 24, "half_width": None, "unit": "ante/hand", "kind": "exact"}
    assert report["players"]["current"]["exploitability"] == pytest.approx(expected)
    match = report["matches"][0]
    assert (match["player"], match["against"], match["deals"]) == ("current", "call", 1000)
    assert abs(match["won"]["value"] - match["exact"]) < 2 * match["won"]["half_width"]
    assert len(report["matches"]) == 4
    kuhn = report["kuhn"]["current"]
    assert kuhn["alpha"] == pytest.approx(1 / 3)  # it bets the jack more often than any equilibrium
    assert kuhn["bet_or_call"]["after a bet"] == {"J": 0.5, "Q": 0.5, "K": 0.5}
    assert kuhn["equilibrium"]["after check-bet"] == pytest.approx({"J": 0, "Q": 2 / 3, "K": 1})

    rows = list(csv.DictReader(kept.with_suffix(".csv").open()))
    assert len(rows) == 2 * 5 + 2 * 4
    assert float(rows[0]["value"]) == pytest.approx(11 / 24)
    assert [row["measure"].partition("/")[::2] for row in rows[-2:]] == [
        *(("against", f"{run}@1000:current"), ("hands_won", f"{run}@1000:current")),
    ]
    assert (rows[-1]["deals"], rows[-1]["kind"]) == ("1000", f"against {run}@1000:current")


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
    lines = table(run / "evaluations").splitlines()
    told = [" ".join(line.split()) for line in lines[2:7]]
    assert told[0] == "1 1,000 current (headline) exploitability 0.4583 ante/hand exact"
    assert told[2].startswith("1 1,000 current (headline) against/call ")
    assert told[2].endswith(" ante/hand 50 3")
    assert told[4].startswith("2 500 current (headline) exploitability ")
    assert [line.split()[-3:] for line in lines[-2:]] == [["poker-rl", "evaluate", "run=here"]] * 2
    (run / "evaluations/x.json").write_text("[]")
    with pytest.raises(Refused, match=r"show: .*x\.json is no evaluation"):
        table(run / "evaluations")
    with pytest.raises(Refused, match="there are no evaluations in"):
        table(run)


def test_nothing_printed_is_wider_than_120_columns(tmp_path, capsys):
    folder = tmp_path / "a_run_with_a_long_name_of_its_own_2026-11-22_05-31-48.727688"
    names = ["current", "average", "weight_average", "and_one_with_a_name_that_is_long_itself"]
    policies = {name: random_policies(KUHN)[0] for name in names}
    snapshot(folder, KUHN, **policies)
    levels = list(range(0, 101, 5))
    states = {"current": network_of(4).state()}
    (tmp_path / "copies").mkdir()
    save_snapshot(tmp_path / "copies", 8, {"game": KUHN.state(), "players": states})
    evaluate(folder, against=["call", str(folder), f"{folder}:average"])
    matches = capsys.readouterr().out
    evaluate(tmp_path / "copies", evaluation=evaluation(KUHN, percentiles=levels))
    copies = capsys.readouterr().out
    listed = [line for line in matches.splitlines() if line.startswith("[") and line[4] != " "]
    assert listed[0] == "[1] and_one_with_a_name_that_is_long_itself"
    assert listed[1:] == [f"[2] {folder}@1000:current", f"[3] {folder}@1000:average"]
    assert "current (headline)  [2]" in matches
    for text in (matches, copies, table(folder / "evaluations")):
        tables = [line for line in text.splitlines() if str(tmp_path) not in line]
        assert max(map(len, tables)) <= 120
    heads = [line.split()[0] for line in copies.splitlines() if "current/p" in line]
    assert heads == ["measure"] * len(heads)
    assert len(heads) > 1
    assert {f"current/p{level}" for level in levels} <= set(copies.split())


def test_in_larger_games_all_other_seats_are_the_same_opponent(capsys):
    load = loader(BIG2)
    measured = evaluation(BIG2, opponents="[]")
    wanted = Wanted(
        game=BIG2, evaluation=measured, load=load, against=["uniform"], deals=30, seed=0
    )
    evaluate_players({"lowest": load("lowest")}, wanted)
    out = capsys.readouterr().out
    assert "in every seat, all other seats taken by the same opponent; point/game, 95 %" in out
    assert "games won" in out


def network_of(copies):
    net = BetWeight(spread=1.0)
    module = net.module(Size(inputs=12, outputs=3, copies=copies), torch.Generator().manual_seed(0))
    return NetworkPlayer(KUHN, net, module, "shared", copies)


def test_several_copies_are_told_by_percentiles(tmp_path, capsys):
    states = {"current": network_of(4).state()}
    save_snapshot(tmp_path, 8, {"game": KUHN.state(), "players": states})
    one = evaluate(tmp_path).measures["current"]["exploitability/p50"].value
    head, _, exploitability, *_ = (
        line.split() for line in capsys.readouterr().out.splitlines()[2:]
    )
    assert head == [
        "measure",
        *("current", "(headline)"),
        *(f"current/p{p}" for p in (10, 25, 50, 75, 90)),
        "unit",
        "kind",
    ]
    assert exploitability[4] == f"{one:.4g}"
    with pytest.raises(Refused, match=r"bounds are of one copy, choose current\.0 to current\.3"):
        evaluate(tmp_path, against=["call"])
    with pytest.raises(Refused, match=r"player: .*current has 4 copies; choose :current.0 to"):
        evaluate(tmp_path, player="current.4")
    assert evaluate(tmp_path, player="current.3", against=["call"]).matches[0].player == "current.3"


def test_an_older_checkpoint_and_one_player(run):
    assert evaluate(run, checkpoint=500).snapshot.name == "500.pt"
    assert list(evaluate(run, player="average").measures) == ["average"]


def test_figures_are_drawn_and_signed(run, monkeypatch):
    origins, save = [], drawing.save

    def watched(figure, path, origin):
        origins.append(origin)
        save(figure, path, origin)

    monkeypatch.setattr(drawing, "save", watched)
    write_config(run, {})
    write_manifest(run, {"status": "finished", "checkpoint": None, "resumed": [], "seed": 7})
    (run / "metrics.jsonl").write_text('{"decisions": 0, "eval/current/exploitability": 1}\n')
    evaluate(run, figures=True)
    drawn = {path.name for path in run.glob("evaluations/*/*")}
    assert drawn == {"exploitability.png", "policy_current.png", "policy_average.png"}
    told = f"{run}/players/1000.pt, trained with seed 7, kuhn; evaluated with seed 0"
    assert origins == [told] * len(drawn)


def test_policies_that_are_not_numbers_are_refused():
    broken = Policies(KUHN, random_policies(KUHN) * np.nan)
    with pytest.raises(Refused, match="probabilities that are not numbers"):
        evaluation().evaluate({"current": broken})
    with pytest.raises(Refused, match="probabilities that are not numbers"):
        against(KUHN, broken, broken, "itself", 100, 0)


def test_what_can_not_be_evaluated_is_refused(run, tmp_path):
    leduc = snapshot(tmp_path / "leduc", LEDUC, current=tree_of(LEDUC).uniform())
    with pytest.raises(Refused, match="is of kuhn, not of this leduc"):
        evaluate(run, LEDUC)
    with pytest.raises(Refused, match="is of leduc, not of this kuhn"):
        evaluate(run, against=[str(leduc)])
    with pytest.raises(Refused, match="Kuhn poker"):
        evaluate(leduc, LEDUC, against=["equilibrium"])
    with pytest.raises(Refused, match="rise"):
        evaluate(run, against=["rise"])
    with pytest.raises(Refused, match="has no player best; it has current, average"):
        evaluate(run, player="best")
    with pytest.raises(Refused, match="has no snapshot 7; it has 500, 1000"):
        evaluate(run, checkpoint=7)
    (run / "players/300.pt").write_bytes(b"damaged")
    with pytest.raises(Refused, match=r"earlier: .*300"):
        evaluate(run, against=["call"], earlier=3)
    with pytest.raises(Refused, match=r"figures: .*metrics\.jsonl: no such file"):
        evaluate(run, figures=True)
    assert not (run / "evaluations").exists()
    with pytest.raises(Refused, match="deals: 10 are too few"):
        evaluate(run, against=["call"], deals=10)


def test_what_can_not_be_kept_is_refused_before_anything_is_measured(run, monkeypatch):
    monkeypatch.setattr(Evaluation, "measures", None)
    (run / "file").touch()
    with pytest.raises(Refused, match=r"out: .*file is not a folder"):
        evaluate(run, out=run / "file/x")
    monkeypatch.setattr(os, "access", lambda *_: False)  # as it is for anyone but root
    with pytest.raises(PermissionError, match="nothing can be written into this folder"):
        evaluate(run, out=run / "there")


def test_an_opponent_named_twice_is_refused():
    with pytest.raises(Refused, match="opponents: call is named twice; name each player once"):
        evaluation(BIG2, opponents="[uniform,call,call]")
