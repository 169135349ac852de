"""Hands in the format PHH: PokerKit replays them to equal chips, and they are read back."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import replay_hands
from compare_game_engines import redivide_pokerkit_pots, sample_stack_games
from pokerkit import Automation, HandHistory
from random_games import game, play

from poker_rl.config import ConfigError
from poker_rl.evaluation.agreement_with_recorded_hands import allow_all_amounts
from poker_rl.games.hand_history import hand_history_from_record, replay_hand
from poker_rl.games.poker.phh_reader import (
    FRACTION_OF_CHIP,
    iterate_histories,
    read_recorded_decisions,
)
from poker_rl.games.poker.phh_writer import format_phh

STACK_GAMES = [
    next(g for g in sample_stack_games(16, seed=4) if g.seats == seats) for seats in range(2, 7)
]
GAMES = [game("limit_holdem"), game("limit_holdem_6p"), game("limit_holdem_2to9"), *STACK_GAMES]
GAMES += [game("nolimit_holdem_6p_sizes"), game("nolimit_holdem_2to9")]


def play_hands(definition, count, seed=0):
    """Yield random hands and what each seat won."""
    tables, moves = play(definition, count, seed)
    lines = [[] for _ in range(count)]
    for move in moves:
        for row, action in zip(move.rows, move.actions, strict=True):
            lines[row].append(int(action))
    for record, line, won in zip(tables.records, lines, tables.payoffs(), strict=True):
        hand = hand_history_from_record(definition, record, tuple(line))
        seats = int(definition.definitions[hand.variant]["seats"])
        yield hand, won[:seats].tolist()


def replay_to_last_action(history):
    """Return PokerKit's state after the last action, before it kills hands and pushes chips."""
    manual = {Automation.HAND_KILLING, Automation.CHIPS_PUSHING}
    history.automations = tuple(set(history.automations) - manual)
    left = len(history.actions)
    for state, action in history.state_actions:
        left -= action is not None
        if not left:
            return state
    raise AssertionError("it has not taken all actions")


@pytest.mark.parametrize("definition", GAMES, ids=lambda game: f"{game.name}_{game.seats}")
def test_pokerkit_replays_hands_to_the_same_chips(definition):
    """PokerKit gives odd chips to other winners; `redivide_pokerkit_pots` divides pots as we do."""
    equal_count = 0
    for hand, won in play_hands(definition, 200 // len(GAMES) + 10):
        names = [f'player "{seat}"' for seat in range(len(won))]
        history = HandHistory.loads(format_phh(definition, hand, names))
        assert history.players == names
        stacks = zip(history.finishing_stacks, history.starting_stacks, strict=True)
        assert [after - before for after, before in stacks] == won
        *_, state = history
        assert not state.status
        payoffs = [int(chips) for chips in state.payoffs]
        equal_count += payoffs == won
        state = replay_to_last_action(history)
        assert (redivide_pokerkit_pots(state) if sum(state.statuses) > 1 else payoffs) == won
    assert equal_count > 20


@pytest.mark.parametrize(
    ("definition", "why"),
    [
        (game("leduc"), "is not hold'em"),
        (replace(game("limit_holdem"), raise_sizes=[2, 2, 2, 2]), "do not double"),
        (replace(game("nolimit_holdem"), blinds=[], ante=1), "no small and big blind"),
    ],
)
def test_games_that_phh_cannot_express_are_refused(definition, why):
    hand, won = next(play_hands(definition, 1))
    with pytest.raises(ConfigError, match=why):
        format_phh(definition, hand, ["someone"] * len(won))


HANDS = Path(__file__).parent / "hands" / "nolimit_6p.phhs"
SIX_SEATS = game("nolimit_holdem_6p")
STAKES = {"stacks": 10_000, "min_bet": 100, "blinds": [50, 100, 0, 0, 0, 0]}
SAME_STAKES = replace(SIX_SEATS, **STAKES, unit_chips=100)
CHECKED_FIELDS = ["paid", "to_act", "street", "variant"]


@pytest.mark.parametrize("definition", GAMES, ids=lambda game: f"{game.name}_{game.seats}")
def test_exported_hands_are_read_back_unchanged(definition, tmp_path):
    """Hands of a game with bet sizes are read back as hands of the game with all amounts."""
    played = list(play_hands(definition, 12))
    path, full_game = tmp_path / "hands.phhs", allow_all_amounts(definition)
    texts = (
        format_phh(definition, hand, [f"n{seat}" for seat in range(len(won))])
        for hand, won in played
    )
    path.write_text("\n".join(f"[{number}]\n{text}" for number, text in enumerate(texts)))
    read = read_recorded_decisions(path, full_game)
    assert not read.left_out
    assert len(read.actions) == len(read.records) == sum(len(hand.actions) for hand, _ in played)
    for (hand, won), recorded in zip(played, read.hands, strict=True):
        expected = np.concatenate(list(replay_hand(definition, hand)))[:-1]
        for field in CHECKED_FIELDS:
            np.testing.assert_array_equal(recorded.records[field], expected[field])
        hole_cards = slice(2 * len(won))  # board cards that nobody saw are not in the file
        decks = (records["deck"][:, hole_cards] for records in (recorded.records, expected))
        np.testing.assert_array_equal(*decks)
        assert replay_hands.compute_final_payoffs(full_game, recorded) == won


def test_hands_that_a_game_cannot_express_are_left_out_with_reason():
    names = [name for name, _ in iterate_histories(HANDS)]
    read = read_recorded_decisions(HANDS, SIX_SEATS)
    assert [hand.name for hand in read.hands] == [names[1]]
    reasons = (FRACTION_OF_CHIP, "5 seats", "variant PO", "other starting stacks")
    left_out = [[name] for name in (names[0], *names[2:])]
    assert read.left_out == dict(zip(reasons, left_out, strict=True))
    assert set(read.records["to_act"].tolist()) == {5}  # the only seat with known cards
    rounded = read_recorded_decisions(HANDS, SIX_SEATS, round_amounts=True).hands
    assert [hand.rounded_amounts for hand in rounded] == [1, 0]
    assert rounded[0].records["paid"][1, 2] in (4, 5)  # 225 / 50 = 4.5 chips of the game
    exact = read_recorded_decisions(HANDS, SAME_STAKES).hands
    assert [hand.rounded_amounts for hand in exact] == [0, 0]
    assert exact[0].records["paid"][1, 2] == 225


@pytest.mark.parametrize("name", ["Fay", "6", "p6"])
def test_read_decisions_selects_a_player_by_name_or_number(name):
    read = read_recorded_decisions(HANDS, SIX_SEATS, name)
    assert read.actions.tolist() == [16, 34]  # chips put in during the hand
    (hand,) = read.hands
    assert hand.players[read.records["to_act"][0]] == "Fay"


@pytest.mark.parametrize(
    "change",
    [
        ("p6 cbr 800", "p6 cbr 300"),  # less than the smallest raise
        ("p3 f", "p4 f"),  # out of turn
        ("p6 cbr 900", "p6 f"),  # a fold without a bet
        ("p4 cbr 250", "p4 cbr 1e999999999"),
        ("actions = [", 'actions = ["d dh p1 ????"]\n_rest = ['),
        ("antes = [0,", "antes = [10,"),
        ("starting_stacks = [10000,", "starting_stacks = [inf,"),
        ("d db 2c7dJh", "d db ??????"),  # the flop is not known
    ],
)
def test_hands_that_break_the_rules_are_left_out(change, tmp_path):
    text = HANDS.read_text().split("[2]\n")[1].split("[3]\n")[0]
    assert change[0] in text
    path = tmp_path / "a.phh"
    path.write_text(text)
    assert len(read_recorded_decisions(path, SIX_SEATS).hands) == 1
    path.write_text(text.replace(*change))
    with pytest.raises(ConfigError, match=r"has no hand of nolimit_holdem_6p \(left out: "):
        read_recorded_decisions(path, SIX_SEATS)


@pytest.mark.parametrize(
    "content", [b"", b"\xff\xfe", b"x = 1", b"a = " + b"[" * 10_000, b"a = 1e999999999"]
)
def test_files_of_other_formats_are_refused(content, tmp_path):
    for name in ("a.phh", "a.phhs"):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(ConfigError, match="is no hand history in the format PHH"):
            read_recorded_decisions(tmp_path / name, SIX_SEATS)
    with pytest.raises(ConfigError, match="no such file"):
        read_recorded_decisions(tmp_path / "b.phh", SIX_SEATS)


def test_replay_script_reports_different_chips(tmp_path, capsys):
    stakes = ["game.stacks=10000", "game.min_bet=100", "game.blinds=[50,100,0,0,0,0]"]
    arguments = ["game=nolimit_holdem_6p", *stakes, "game.unit_chips=100"]
    assert replay_hands.main([str(HANDS), *arguments]) == 0
    assert "2 hands: equal to the chip" in capsys.readouterr().out
    path = tmp_path / "a.phhs"
    path.write_text(HANDS.read_text().replace("[9950, 9775, 10275", "[9950, 9776, 10274"))
    assert replay_hands.main([str(path), *arguments]) == 1
    assert "1 hands: different chips" in capsys.readouterr().out
