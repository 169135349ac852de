"""Hands exported as PHH, which PokerKit replays to the same chips."""

from __future__ import annotations

from dataclasses import replace

import pytest
from lockstep import compute_pot_winnings, sample_stack_games
from pokerkit import Automation, HandHistory
from random_games import game, play

from poker_rl.config.validation import ConfigError
from poker_rl.games.hand_history import hand_history_from_record
from poker_rl.games.poker.phh import format_phh

STACKS = [
    next(g for g in sample_stack_games(16, seed=4) if g.seats == seats) for seats in range(2, 7)
]
GAMES = [game("limit_holdem"), game("limit_holdem_6p"), game("limit_holdem_2to9"), *STACKS]
GAMES += [game("nolimit_holdem_6p_sizes"), game("nolimit_holdem_2to9")]


def hands(definition, count, seed=0):
    """Random hands, and what each seat won."""
    tables, moves = play(definition, count, seed)
    lines = [[] for _ in range(count)]
    for move in moves:
        for row, action in zip(move.rows, move.actions, strict=True):
            lines[row].append(int(action))
    for record, line, won in zip(tables.records, lines, tables.payoffs(), strict=True):
        hand = hand_history_from_record(definition, record, tuple(line))
        seats = int(definition.definitions[hand.variant]["seats"])
        yield hand, won[:seats].tolist()


def before_the_end(history):
    """The table after the last action in the file, no hand killed and no chips pushed yet."""
    by_hand = {Automation.HAND_KILLING, Automation.CHIPS_PUSHING}
    history.automations = tuple(set(history.automations) - by_hand)
    left = len(history.actions)
    for state, action in history.state_actions:
        left -= action is not None
        if not left:
            return state
    raise AssertionError("it has not taken all actions")


@pytest.mark.parametrize("definition", GAMES, ids=lambda one: f"{one.name}_{one.seats}")
def test_pokerkit_replays_hands_to_the_same_chips(definition):
    """Odd chips go to other winners in PokerKit, so `compute_pot_winnings` divides its pots."""
    exactly = 0
    for hand, won in hands(definition, 200 // len(GAMES) + 10):
        names = [f'player "{seat}"' for seat in range(len(won))]
        history = HandHistory.loads(format_phh(definition, hand, names))
        assert history.players == names
        stacks = zip(history.finishing_stacks, history.starting_stacks, strict=True)
        assert [after - before for after, before in stacks] == won
        *_, state = history
        assert not state.status
        there = [int(chips) for chips in state.payoffs]
        exactly += there == won
        state = before_the_end(history)
        assert (compute_pot_winnings(state) if sum(state.statuses) > 1 else there) == won
    assert exactly > 20


@pytest.mark.parametrize(
    ("definition", "why"),
    [
        (game("leduc"), "is not hold'em"),
        (replace(game("limit_holdem"), raise_sizes=[2, 2, 2, 2]), "do not double"),
        (replace(game("nolimit_holdem"), blinds=[], ante=1), "no small and big blind"),
        (replace(game("nolimit_holdem"), openers=[0, 0, 0, 0]), "in other seats"),
    ],
)
def test_games_that_phh_has_not_are_refused(definition, why):
    hand, won = next(hands(definition, 1))
    with pytest.raises(ConfigError, match=why):
        format_phh(definition, hand, ["someone"] * len(won))
