"""`poker-rl review` and `poker-rl evaluate hands=`: decisions of others, graded by a player."""

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
from poker_rl.games.poker.phh_reader import read_decisions
from poker_rl.games.poker.table_dtypes import CALL
from poker_rl.play.review_recorded_hands import grade_decisions
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


def test_a_player_agrees_with_its_own_hands_and_not_with_others(capsys):
    """`tight` and `call` are deterministic, so all of their decisions are certain."""
    assert run_command(*EXPORT, "out=limit.phhs") == 0
    arguments = ["game=limit_holdem", "hands=limit.phhs", "player=tight"]
    assert run_command("review", *arguments, "out=all.csv") == 0
    with Path("all.csv").open() as file:
        rows = list(csv.DictReader(file))
    own = [row for row in rows if row["player"] == "tight"]
    others = [row for row in rows if row["player"] == "call"]
    assert len(own) + len(others) == len(rows)
    assert {(row["probability"], row["grade"]) for row in own} == {("1.0", "fine")}
    assert all(row["action"].lower().startswith(row["likeliest"]) for row in own)
    assert {row["grade"] for row in others} == {"fine", "mistake"}
    capsys.readouterr()
    opponents = "evaluation.opponents=[]"
    assert run_command("evaluate", *arguments, opponents, "hands_seat=tight", "out=e") == 0
    (path,) = Path("e").glob("*.csv")
    measured = {row["measure"]: row for row in csv.DictReader(path.read_text().splitlines())}
    assert float(measured["log_likelihood"]["value"]) == 0
    assert float(measured["agreement"]["value"]) == 1
    assert measured["agreement"]["kind"] == "hands of tight"
    assert measured["agreement"]["n"] == str(len(own))


def test_measures_are_means_over_decisions_with_intervals_over_hands():
    assert run_command(*EXPORT, "out=limit.phhs") == 0
    definition = game("limit_holdem")
    decisions = read_decisions(Path("limit.phhs"), definition, "call")
    player = load_player("lhe_ppo", definition)
    taken = player.action_probs(decisions.records)[range(len(decisions.actions)), decisions.actions]
    results = measure_recorded_decisions(definition, player, "p", decisions, "hands of call")
    likelihood = results[0]
    assert likelihood.value == pytest.approx(np.log(np.maximum(taken, MIN_PROB)).mean())
    assert 0 < likelihood.half_width < 1
    fold = load_player("fold", definition)
    folds = measure_recorded_decisions(definition, fold, "", decisions, "")
    assert log(MIN_PROB) <= folds[0].value < 0


def test_a_page_and_a_text_name_players_mistakes_and_hands_left_out(capsys):
    arguments = [*REVIEW, "player=tight", "seat=Fay", "out=review.html"]
    assert run_command(*arguments) == 0
    printed, page = capsys.readouterr().out, Path("review.html").read_text()
    left_out = ("variant PO", "5 seats", "other starting stacks")
    for text in (printed, page):
        for words in ("Fay", "AsKs", "2c7dJh", "Raise to 16", *left_out):
            assert words in text
    assert "://" not in page
    assert run_command(*arguments, "overwrite=true", "round_amounts=true") == 0
    assert "rounded amounts" in capsys.readouterr().out


def test_a_known_cost_decides_the_grade():
    """Fay raises to 16 and 34 chips; a call or check would be worth 1 and 0.2 big blinds more."""

    class Critic(UniformBot):
        def action_values(self, records):
            values = np.where(self.legal_mask(records), -3.0, np.nan)
            values[:, CALL] = [-1.0, -2.6]
            return values

    definition = game("nolimit_holdem_6p")
    decisions = read_decisions(HANDS, definition, "Fay")
    rows = grade_decisions(definition, Critic(game=definition), decisions)
    assert [(row["cost"], row["grade"]) for row in rows] == [(1, "mistake"), (0.2, "inaccuracy")]


def test_names_in_a_file_are_escaped(capsys):
    path = Path("hands.phhs")
    path.write_text(path.read_text().replace('"Fay"', '"<b>\\u001b[31m"'))
    assert run_command(*REVIEW, "player=tight", "out=review.html") == 0
    assert "\x1b" not in capsys.readouterr().out
    assert "<b>" not in Path("review.html").read_text()


def test_a_player_with_bet_sizes_grades_any_amount():
    path = PRETRAINED_FOLDER / "nlhe_ppo.pt"
    definition = replace(game("nolimit_holdem"), **load_snapshot(path)["game"])
    player = load_player(str(path), definition)
    full_game = allow_all_amounts(definition)
    words = ["game=nolimit_holdem", "player=pot_odds", "hands=3", "out=nolimit.phhs"]
    assert run_command("export", *words) == 0
    decisions = read_decisions(Path("nolimit.phhs"), full_game)
    player = to_full_game_player(definition, player)
    probs = compute_action_type_probs(full_game, player, decisions.records)
    np.testing.assert_allclose(probs.sum(1), 1, atol=1e-5)
    assert probs.shape[1] == 3


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["review", "game=limit_holdem", "player=call"], "hands: missing"),
        ([*REVIEW, "player=call", "out=a.txt"], "out: a.txt does not end in .csv or .html"),
        ([*REVIEW, "player=call", "seat=Zoe"], "hands: hands.phhs has no decision of Zoe"),
        (["review", "game=limit_holdem", REVIEW[2], "player=call"], "variant NT: 4; variant PO: 1"),
        (["evaluate", "game=kuhn", "player=call", "hands=hands.phhs"], "hands: kuhn can't be"),
    ],
)
def test_refusals(arguments, words, get_refusal):
    assert words in get_refusal(*arguments)
