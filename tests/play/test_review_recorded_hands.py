"""`poker-rl review` and `poker-rl evaluate hands=`: a player grades recorded decisions."""

import csv
import shutil
from dataclasses import replace
from math import log
from pathlib import Path

import numpy as np
import pytest
from commands import run_command
from random_games import game

from poker_rl.evaluation.agreement_with_recorded_hands import (
    MIN_PROB,
    allow_all_amounts,
    compute_action_type_probs,
    measure_recorded_decisions,
    to_full_game_player,
)
from poker_rl.games.poker.phh_reader import read_recorded_decisions
from poker_rl.games.poker.table_dtypes import CALL
from poker_rl.play.review_recorded_hands import build_grade_rows
from poker_rl.players import load_player
from poker_rl.players.bots.basic_bots import UniformBot
from poker_rl.players.bots.pretrained_bot import PRETRAINED_FOLDER
from poker_rl.storage.checkpoint import load_snapshot

pytestmark = pytest.mark.usefixtures("working_folder")

HANDS = Path(__file__).parents[1] / "games" / "hands" / "nolimit_6p.phhs"
REVIEW = ["review", "game=nolimit_holdem_6p", "hands=hands.phhs"]
EXPORT = ["export", "game=limit_holdem", "player=tight", "against=call", "hands=40"]


@pytest.fixture(autouse=True)
def hands_file(working_folder):
    shutil.copy(HANDS, "hands.phhs")


def test_player_agrees_fully_only_with_its_own_hands(capsys):
    """`tight` and `call` are deterministic: each decision has probability 0 or 1."""
    assert run_command(*EXPORT, "out=limit.phhs") == 0
    arguments = ["game=limit_holdem", "hands=limit.phhs", "player=tight"]
    assert run_command("review", *arguments, "out=all.csv") == 0
    with Path("all.csv").open() as file:
        rows = list(csv.DictReader(file))
    own_rows = [row for row in rows if row["player"] == "tight"]
    other_rows = [row for row in rows if row["player"] == "call"]
    assert len(own_rows) + len(other_rows) == len(rows)
    assert {(row["probability"], row["grade"]) for row in own_rows} == {("1.0", "fine")}
    assert all(row["action"].lower().startswith(row["likeliest"]) for row in own_rows)
    assert {row["grade"] for row in other_rows} == {"fine", "mistake"}
    capsys.readouterr()
    opponents = "evaluation.opponents=[]"
    assert run_command("evaluate", *arguments, opponents, "hands_seat=tight", "out=e") == 0
    (path,) = Path("e").glob("*.csv")
    results = {row["measure"]: row for row in csv.DictReader(path.read_text().splitlines())}
    assert float(results["log_likelihood"]["value"]) == 0
    assert float(results["agreement"]["value"]) == 1
    assert results["agreement"]["kind"] == "hands of tight"
    assert results["agreement"]["n"] == str(len(own_rows))


def test_log_likelihood_is_a_mean_over_decisions():
    assert run_command(*EXPORT, "out=limit.phhs") == 0
    definition = game("limit_holdem")
    decisions = read_recorded_decisions(Path("limit.phhs"), definition, "call")
    player = load_player("lhe_ppo", definition)
    taken = player.action_probs(decisions.records)[range(len(decisions.actions)), decisions.actions]
    results = measure_recorded_decisions(definition, player, "p", decisions, "hands of call")
    likelihood = results[0]
    assert likelihood.value == pytest.approx(np.log(np.maximum(taken, MIN_PROB)).mean())
    assert 0 < likelihood.half_width < 1
    fold = load_player("fold", definition)
    fold_results = measure_recorded_decisions(definition, fold, "", decisions, "")
    assert log(MIN_PROB) <= fold_results[0].value < 0


def test_review_lists_players_mistakes_and_skipped_hands(capsys):
    arguments = [*REVIEW, "player=tight", "seat=Fay", "out=review.html"]
    assert run_command(*arguments) == 0
    printed, page = capsys.readouterr().out, Path("review.html").read_text()
    skipped = ("variant PO", "5 seats", "other starting stacks")
    for text in (printed, page):
        for expected in ("Fay", "AsKs", "2c7dJh", "Raise to 16", *skipped):
            assert expected in text
    assert "://" not in page
    assert run_command(*arguments, "overwrite=true", "round_amounts=true") == 0
    assert "rounded amounts" in capsys.readouterr().out


def test_grade_follows_the_known_cost():
    """Fay raises to 16 and 34 chips; calls would be worth 1 and 0.2 big blinds more."""

    class Critic(UniformBot):
        def action_values(self, records):
            values = np.where(self.legal_mask(records), -3.0, np.nan)
            values[:, CALL] = [-1.0, -2.6]
            return values

    definition = game("nolimit_holdem_6p")
    decisions = read_recorded_decisions(HANDS, definition, "Fay")
    rows = build_grade_rows(definition, Critic(game=definition), decisions)
    assert [(row["cost"], row["grade"]) for row in rows] == [(1, "mistake"), (0.2, "inaccuracy")]


def test_player_names_in_hand_files_are_escaped(capsys):
    path = Path("hands.phhs")
    path.write_text(path.read_text().replace('"Fay"', '"<b>\\u001b[31m"'))
    assert run_command(*REVIEW, "player=tight", "out=review.html") == 0
    assert "\x1b" not in capsys.readouterr().out
    assert "<b>" not in Path("review.html").read_text()


def test_player_with_fixed_bet_sizes_grades_any_amount():
    path = PRETRAINED_FOLDER / "nlhe_ppo.pt"
    definition = replace(game("nolimit_holdem"), **load_snapshot(path)["game"])
    player = load_player(str(path), definition)
    full_game = allow_all_amounts(definition)
    arguments = ["game=nolimit_holdem", "player=pot_odds", "hands=3", "out=nolimit.phhs"]
    assert run_command("export", *arguments) == 0
    decisions = read_recorded_decisions(Path("nolimit.phhs"), full_game)
    player = to_full_game_player(definition, player)
    probs = compute_action_type_probs(full_game, player, decisions.records)
    np.testing.assert_allclose(probs.sum(1), 1, atol=1e-5)
    assert probs.shape[1] == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["review", "game=limit_holdem", "player=call"], "hands: missing"),
        ([*REVIEW, "player=call", "out=a.txt"], "out: a.txt does not end in .csv or .html"),
        ([*REVIEW, "player=call", "seat=Zoe"], "hands: hands.phhs has no decision of Zoe"),
        (["review", "game=limit_holdem", REVIEW[2], "player=call"], "variant NT: 4; variant PO: 1"),
        (["evaluate", "game=kuhn", "player=call", "hands=hands.phhs"], "hands: kuhn can't be"),
    ],
)
def test_wrong_settings_are_refused(arguments, message, get_refusal):
    assert message in get_refusal(*arguments)
