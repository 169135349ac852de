"""`poker-rl export`: what other programs read is what the player does."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pyspiel
import pytest
from commands import run_command
from evaluations import random_policies
from open_spiel.python.algorithms.exploitability import nash_conv as nash_conv_there
from open_spiel.python.policy import TabularPolicy
from pokerkit import HandHistory
from random_games import game
from toy_games import kuhn, leduc

from poker_rl.evaluation.exact.exploitability import nash_conv
from poker_rl.games.game_tree import get_tree
from poker_rl.players.player_loader import load_player
from poker_rl.reports.export_player import (
    find_open_spiel_name,
    format_policy_csv,
    format_policy_json,
    play_hands,
)

pytestmark = pytest.mark.usefixtures("working_folder")

TWINS = [kuhn(2), kuhn(3), leduc(2)]


def read_csv(text):
    """The chances in a file by information set, [A]."""
    head, *rows = csv.reader(text.splitlines())
    assert head[1:] == [f"action_{action}" for action in range(len(head) - 1)]
    return {name: np.array(chances, float) for name, *chances in rows}


def read_json(text):
    policy = json.loads(text)["policy"]
    actions = 1 + max(int(action) for chances in policy.values() for action in chances)
    found = {}
    for name, chances in policy.items():
        found[name] = np.zeros(actions)
        for action, chance in chances.items():
            found[name][int(action)] = chance
    return found


@pytest.mark.parametrize("definition", TWINS, ids=lambda one: f"{one.name}_{one.seats}")
@pytest.mark.parametrize(
    ("write", "read"), [(format_policy_csv, read_csv), (format_policy_json, read_json)]
)
def test_openspiel_reads_a_policy_and_finds_the_same_nash_conv(definition, write, read):
    tree, policy = get_tree(definition), random_policies(definition, seed=3)[0]
    there = pyspiel.load_game(find_open_spiel_name(definition), {"players": definition.seats})
    theirs, chances = TabularPolicy(there), read(write(tree, policy))
    assert chances.keys() == theirs.state_lookup.keys()
    for name, row in chances.items():
        theirs.policy_for_key(name)[:] = row
    assert (theirs.action_probability_array[~theirs.legal_actions_mask.astype(bool)] == 0).all()
    assert nash_conv_there(there, theirs) == pytest.approx(nash_conv(tree, policy), abs=1e-9)


@pytest.mark.parametrize("name", ["nolimit_leduc", "limit_holdem", "big2"])
def test_games_that_openspiel_has_not(name):
    assert find_open_spiel_name(game(name)) is None


def test_each_hand_has_a_deal_of_its_own_and_the_player_every_seat_in_turn():
    definition = game("limit_holdem_2to9")
    fold, call = (load_player(name, definition) for name in ("fold", "call"))
    found = play_hands(definition, (fold, call), 60, seed=5)
    assert len(found) == len({hand.deck for hand, _ in found}) == 60
    for number, (hand, own) in enumerate(found):
        seats = hand.variant + definition.min_seats
        assert own == number % seats
        folds = [action for action in hand.actions if action == 0]
        assert len(folds) <= 1  # the first player alone folds


def test_hands_and_policies_of_a_run(finished_run, capsys):
    assert run_command("export", f"run={finished_run}", "policy=a/kuhn.csv") == 0
    assert "12 information sets" in capsys.readouterr().out
    assert len(read_csv(Path("a/kuhn.csv").read_text())) == 12
    assert run_command("export", "game=nolimit_leduc", "player=uniform", "policy=own.json") == 0
    assert "OpenSpiel has no such game" in capsys.readouterr().out
    assert json.loads(Path("own.json").read_text())["open_spiel"] is None
    hold = ["export", "game=limit_holdem", "player=sklansky", "against=call"]
    assert run_command(*hold, "hands=7", "out=h.phhs") == 0
    with Path("h.phhs").open("rb") as file:
        read = list(HandHistory.load_all(file))
    assert [one.players for one in read[:2]] == [["sklansky", "call"], ["call", "sklansky"]]
    assert len(read) == 7


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["policy=a.csv"], "run: missing"),
        (["game=kuhn", "player=uniform"], "hands, policy, weights: give"),
        (["game=kuhn", "player=uniform", "policy=a.txt"], "policy: a.txt does not end in"),
        (["game=limit_holdem", "player=call", "policy=a.csv"], "policy: limit_holdem is too"),
        (["game=kuhn", "player=call", "hands=3", "out=a.phhs"], "hands: kuhn can't be written"),
        (["game=limit_holdem", "player=call", "hands=3"], "hands, out: go together"),
        (
            ["game=limit_holdem", "player=call", "hands=3", "out=a.txt"],
            "out: a.txt does not end in .phhs",
        ),
        (["game=kuhn", "player=nobody", "policy=a.csv"], "player: "),
        (["game=kuhn", "player=call", "policy=there.csv"], "policy: there.csv is there already"),
    ],
)
def test_what_export_refuses(arguments, words, get_refusal):
    Path("there.csv").write_text("mine")
    assert words in get_refusal("export", *arguments)
    assert Path("there.csv").read_text() == "mine"
    assert sorted(path.name for path in Path().iterdir()) == ["there.csv"]


def test_a_file_is_replaced_if_that_is_asked_for():
    Path("there.csv").write_text("mine")
    arguments = ["export", "game=kuhn", "player=uniform", "policy=there.csv", "overwrite=true"]
    assert run_command(*arguments) == 0
    assert len(read_csv(Path("there.csv").read_text())) == 12
