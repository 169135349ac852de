"""The rules move by move beside OpenSpiel's: same seat to act, same legal actions, same payoffs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyspiel
import pytest
from random_games import drawn, game, play
from small_games import kuhn, label, leduc

from poker_rl.games.betting import CALL, FOLD, RAISE
from poker_rl.games.poker import Poker

DEFINITIONS = drawn(count=120, seed=2)
HANDS = 40  # of each

Names = Callable[[np.ndarray], dict[int, int]]


def same_action(legal: np.ndarray) -> dict[int, int]:
    """OpenSpiel's name of each legal action: the same."""
    return {int(action): int(action) for action in np.flatnonzero(legal)}


def pass_or_bet(legal: np.ndarray) -> dict[int, int]:
    """OpenSpiel's Kuhn poker says pass (0) for check and fold, bet (1) for bet and call."""
    return {FOLD: 0, CALL: 1} if legal[FOLD] else {CALL: 0, RAISE: 1}


def lockstep(definition: Poker, other: Any, hands: int, seed: int, names: Names) -> None:
    """Play random hands, then each again in OpenSpiel with the same cards."""
    tables, moves = play(definition, hands, seed)
    won = tables.payoffs()
    histories: list[list[tuple[int, dict[int, int], int]]] = [[] for _ in range(hands)]
    for move in moves:
        for row, record, legal, action in zip(
            move.rows, move.records, move.legal, move.actions, strict=True
        ):
            histories[row].append((int(record["to_act"]), names(legal), int(action)))

    for row, history in enumerate(histories):
        deck = iter(tables.records["deck"][row, : definition.dealt].tolist())
        state = other.new_initial_state()

        def deal(state: Any = state, deck: Any = deck) -> None:
            while state.is_chance_node():
                state.apply_action(next(deck))

        for seat, legal, action in history:
            deal()
            assert state.current_player() == seat
            assert state.legal_actions() == sorted(legal.values())
            state.apply_action(legal[action])
        deal()  # the board's last cards, where a game deals them with nobody left to act
        assert state.is_terminal()
        assert won[row].sum() == 0
        # It splits an odd chip, we give it away whole: the same where pots divide evenly.
        returns = np.array(state.returns())
        assert (np.abs(won[row] - returns) < 1).all()
        assert (won[row] == returns)[returns == np.round(returns)].all()


def universal_poker(definition: Poker) -> Any:
    """The same game there. Its players count from 1 and its antes are blinds."""

    def words(numbers: Any) -> str:
        return " ".join(map(str, numbers))

    return pyspiel.load_game(
        "universal_poker",
        {
            "betting": "limit",
            "numPlayers": definition.seats,
            "numRounds": len(definition.board_cards),
            "blind": words(definition.record["post"][0, : definition.seats]),
            "firstPlayer": words(seat + 1 for seat in definition.openers),
            "raiseSize": words(definition.raise_sizes),
            "maxRaises": words(definition.max_raises),
            "numSuits": len(definition.suits),
            "numRanks": len(definition.ranks),
            "numHoleCards": definition.hole_cards,
            "numBoardCards": words(definition.board_cards),
        },
    )


@pytest.mark.parametrize("definition", [kuhn(2), kuhn(3)], ids=label)
def test_kuhn(definition):
    other = pyspiel.load_game("kuhn_poker", {"players": definition.seats})
    lockstep(definition, other, hands=500, seed=1, names=pass_or_bet)


@pytest.mark.parametrize("definition", [leduc(2), leduc(3)], ids=label)
def test_leduc(definition):
    other = pyspiel.load_game("leduc_poker", {"players": definition.seats})
    lockstep(definition, other, hands=500, seed=1, names=same_action)


def test_limit_holdem():
    definition = game("limit_holdem")
    lockstep(definition, universal_poker(definition), hands=500, seed=1, names=same_action)


@pytest.mark.parametrize("first", range(0, len(DEFINITIONS), 10))
def test_drawn_definitions(first):
    for seed, definition in enumerate(DEFINITIONS[first : first + 10], first):
        lockstep(definition, universal_poker(definition), HANDS, seed, same_action)
