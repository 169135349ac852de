"""`poker-rl advise` prints the probabilities and values of a player."""

import json
from pathlib import Path

import numpy as np
import pytest
from commands import run_command
from random_games import game

from poker_rl.algos import create_algorithm
from poker_rl.games.poker.position_notation import parse_position
from poker_rl.play.advise_position import PositionAdvice

pytestmark = pytest.mark.usefixtures("working_folder")

FLOP = ["hand=AsKd", "board=Qs7h2c", "actions=r c / b r"]


def advise(capsys, *arguments):
    capsys.readouterr()
    assert run_command("advise", *arguments) == 0
    return capsys.readouterr().out


def test_advice_shows_the_probabilities_of_the_player(capsys):
    out = advise(capsys, "game=limit_holdem", "player=sklansky", *FLOP, "json=true")
    advice = json.loads(out)
    assert advice["infoset"] == "0 AsKd|Qs7h2c rcrr"
    probs = {action["name"]: action["prob"] for action in advice["actions"]}
    assert probs == {"fold": 0, "call": 0, "raise": 1}  # AK is in the tightest range
    assert advice["actions"][2]["to"] == 10
    assert advice["grid"]["probs"][0][1] == [0, 0, 1]
    assert advice["value"] is None
    text = advise(capsys, "game=limit_holdem", "player=sklansky", *FLOP)
    assert "(big blind) with AsKd, board Qs7h2c, after r c / b r; pot 14 chips, 2 to call" in text
    assert "raise to 10  100.0%  ####" in text
    assert "\x1b[" not in text  # no colors outside a terminal
    options = ["hand_grid=false", "figure=a.png"]
    arguments = ["game=limit_holdem", "player=sklansky", *FLOP, *options]
    assert "starting hand" not in advise(capsys, *arguments)
    assert Path("a.png").exists()


@pytest.mark.parametrize("name", ["kuhn", "leduc"])
def test_advice_shows_equilibrium_probabilities(name, capsys):
    """A jack folds to a bet in Kuhn poker; an unpaired jack folds to a raise in Leduc."""
    cards = ["hand=J", "actions=b"] if name == "kuhn" else ["hand=Js", "board=Kh", "actions=ccrr"]
    out = advise(capsys, f"game={name}", "player=uniform", *cards, "json=true")
    fold, *_ = json.loads(out)["actions"]
    assert fold["equilibrium"] > 0.95
    assert fold["prob"] < 0.6
    assert "equilibrium" in advise(capsys, f"game={name}", "player=uniform", *cards)


def test_advice_for_a_hand_class_averages_its_combinations(capsys):
    definition = game("limit_holdem")
    player = create_algorithm("ppo", definition).players()["current"]
    records = parse_position(definition, None, "AKs", "As7s2c", "rc")
    mean = PositionAdvice(definition, player, "it", records, "AKs")
    combinations = [PositionAdvice(definition, player, "it", record[None]) for record in records]
    for action, prob in enumerate(mean.probs[1:], 1):  # folding is illegal here
        probs = [combination.probs[action] for combination in combinations]
        assert min(probs) < prob < max(probs)
        assert prob == pytest.approx(np.mean(probs))
    expected = np.mean([combination.expected_payoff for combination in combinations])
    assert mean.expected_payoff == pytest.approx(expected, abs=1e-6)  # values are float32
    advice = mean.to_dict(with_grid=False)
    assert (advice["infoset"], advice["combinations"]) == ("0 AKs|As7s2c rc", 3)
    pair = advise(capsys, "game=limit_holdem", "player=sklansky", "hand=22", "hand_grid=false")
    assert "with 22, the mean over its 6 combinations, first to act" in pair


def test_game_and_player_default_to_those_of_the_run(finished_run, capsys, get_refusal):
    folder = finished_run
    position = ["hand=J", "actions=b", "json=true"]
    advice = json.loads(advise(capsys, f"run={folder}", *position))
    assert (advice["game"], advice["infoset"]) == ("kuhn", "1 J r")
    assert advice["player"].endswith(":average")
    by_name = advise(capsys, "game=kuhn", f"player={folder}:current", *position)
    assert advise(capsys, f"run={folder}", "player=current", *position) == by_name
    assert "game: is that of" in get_refusal("advise", f"run={folder}", "game=kuhn", *position)
    assert "has no player call" in get_refusal("advise", f"run={folder}", "player=call", *position)


HAND = ["player=uniform", "hand=AsKd"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (HAND, "run: missing; give run=FOLDER, or game=NAME player=NAME"),
        (["game=limit_holdem", *HAND, "checkpoint=3"], "checkpoint: is of a run"),
        (["game=big2", *HAND], "game: big2 is not a poker game"),
        (["game=limit_holdem", *HAND, "actions=rrrr"], "actions: action 4, r: is not allowed"),
        (["game=limit_holdem", *HAND, "seats=3"], "seats: 3; limit_holdem is played by 2"),
        (["game=kuhn", "player=uniform", "hand=K", "figure=a.png"], "figure: is of starting hands"),
        (["game=limit_holdem", *HAND, "seat=3"], "seat: no such setting; did you mean seats?"),
    ],
)
def test_wrong_settings_are_refused(arguments, message, get_refusal):
    assert message in get_refusal("advise", *arguments)
    assert not list(Path().iterdir())
