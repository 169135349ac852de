"""Names of information sets in OpenSpiel, for the games that it shares with this program.

These are Kuhn poker with any number of players and Leduc poker for two. Cards and actions have the
same numbers in both programs, except that OpenSpiel's actions of Kuhn poker are `pass`, 0, and
`bet`, 1 (Lanctot et al., arXiv:1908.09453). OpenSpiel's Leduc poker for three is another game: it
splits odd chips in halves.
"""

from __future__ import annotations

import numpy as np

from poker_rl.games.game import Game
from poker_rl.games.hand_history import hand_history_from_record, replay_hand
from poker_rl.games.poker.fixed_limit import FixedLimitPoker
from poker_rl.games.poker.record_dtypes import CALL, RAISE

OPEN_SPIEL_KUHN, OPEN_SPIEL_LEDUC = "kuhn_poker", "leduc_poker"
LEDUC_STARTING_CHIPS = 100  # in OpenSpiel
COMMON_RULES = {"hole_cards": 1, "ante": 1, "blinds": []}
KUHN_RULES = COMMON_RULES | {
    "board_cards": [0],
    "openers": [0],
    "raise_sizes": [1],
    "max_raises": [1],
}
LEDUC_RULES = COMMON_RULES | {
    "board_cards": [0, 1],
    "openers": [0, 0],
    "raise_sizes": [2, 4],
    "max_raises": [2, 2],
}


def find_open_spiel_name(game: Game) -> str | None:
    """Return OpenSpiel's name of the same game; None if OpenSpiel lacks the game."""
    if not isinstance(game, FixedLimitPoker) or len(game.ranks) != game.seats + 1 or game.stacks:
        return None
    rules = game.to_dict()
    if len(game.suits) == 1 and rules == rules | KUHN_RULES:
        return OPEN_SPIEL_KUHN
    is_leduc = game.seats == len(game.suits) == 2 and rules == rules | LEDUC_RULES
    return OPEN_SPIEL_LEDUC if is_leduc else None


def format_open_spiel_infoset(open_spiel_name: str, game: Game, record: np.void) -> str:
    """Return OpenSpiel's name of the information set of the seat to act at a table."""
    seat, seats = int(record["to_act"]), game.seats
    action_line = record["line"][: record["moves"]].tolist()
    own_card = int(record["deck"][seat])
    if open_spiel_name == OPEN_SPIEL_KUHN:
        kuhn_actions = [
            to_open_spiel_action(open_spiel_name, action, RAISE in action_line[:i])
            for i, action in enumerate(action_line)
        ]
        return str(own_card) + "".join("pb"[bet] for bet in kuhn_actions)
    actions_by_round: list[list[str]] = [[], []]
    history = hand_history_from_record(game, record, tuple(action_line))
    for table, action in zip(replay_hand(game, history), action_line, strict=False):
        actions_by_round[int(table["street"][0])].append(str(action))
    street = int(record["street"])
    chips_in = record["paid"][:seats].tolist()
    money = " ".join(str(LEDUC_STARTING_CHIPS - chips) for chips in chips_in)
    public_card_text = f"[Public: {int(record['deck'][seats])}]" if street else ""
    return (
        f"[Observer: {seat}][Private: {own_card}][Round {street + 1}][Player: {seat}]"
        f"[Pot: {sum(chips_in)}][Money: {money}]{public_card_text}"
        f"[Round1: {' '.join(actions_by_round[0])}][Round2: {' '.join(actions_by_round[1])}]"
    )


def to_open_spiel_action(open_spiel_name: str, action: int, facing_bet: bool) -> int:
    """Return OpenSpiel's number of an action."""
    return (
        int(action == RAISE or (facing_bet and action == CALL))
        if open_spiel_name == OPEN_SPIEL_KUHN
        else action
    )
