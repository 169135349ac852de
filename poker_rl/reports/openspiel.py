"""The names that OpenSpiel gives the information sets of games that it has too.

Its Kuhn poker, with any number of players, and its Leduc poker for two number cards and actions as
we do; only Kuhn poker's are `pass`, 0, and `bet`, 1 (Lanctot et al., arXiv:1908.09453). Leduc poker
for three is another game there: it splits an odd chip in halves, which ours gives away whole.
"""

from __future__ import annotations

import numpy as np

from poker_rl.games.game import Game
from poker_rl.games.hand import hand_of, replay
from poker_rl.games.poker.limit import Poker
from poker_rl.games.poker.table import CALL, RAISE

KUHN, LEDUC = "kuhn_poker", "leduc_poker"
STAKE = 100  # chips that OpenSpiel's players of Leduc poker have
COMMON = {"hole_cards": 1, "ante": 1, "blinds": []}
RULES = {
    KUHN: {"board_cards": [0], "openers": [0], "raise_sizes": [1], "max_raises": [1]},
    LEDUC: {"board_cards": [0, 1], "openers": [0, 0], "raise_sizes": [2, 4], "max_raises": [2, 2]},
}
SUITS = {KUHN: 1, LEDUC: 2}


def twin(game: Game) -> str | None:
    """OpenSpiel's name of the same game; None if it has none."""
    if not isinstance(game, Poker) or len(game.ranks) != game.seats + 1 or game.stacks:
        return None
    state = game.state()
    for name, rules in RULES.items():
        same = all(state[key] == value for key, value in (COMMON | rules).items())
        if same and len(game.suits) == SUITS[name] and (name == KUHN or game.seats == 2):
            return name
    return None


def infoset_name(name: str, game: Game, record: np.void) -> str:
    """What OpenSpiel's game of this name calls what the seat to act knows at a table."""
    seat, seats = int(record["to_act"]), game.seats
    line = record["line"][: record["moves"]].tolist()
    own = int(record["deck"][seat])
    if name == KUHN:
        facing = [RAISE in line[:i] for i in range(len(line))]
        bets = [action_of(name, *each) for each in zip(line, facing, strict=True)]
        return str(own) + "".join("pb"[bet] for bet in bets)
    rounds: list[list[str]] = [[], []]
    for table, action in zip(replay(game, hand_of(game, record, tuple(line))), line, strict=False):
        rounds[int(table["street"][0])].append(str(action))
    street = int(record["street"])
    paid = record["paid"][:seats].tolist()
    money = " ".join(str(STAKE - chips) for chips in paid)
    public = f"[Public: {int(record['deck'][seats])}]" if street else ""
    return (
        f"[Observer: {seat}][Private: {own}][Round {street + 1}][Player: {seat}]"
        f"[Pot: {sum(paid)}][Money: {money}]{public}"
        f"[Round1: {' '.join(rounds[0])}][Round2: {' '.join(rounds[1])}]"
    )


def action_of(name: str, action: int, facing: bool) -> int:
    """OpenSpiel's number of an action of this game, of a seat that faces a bet or does not."""
    return int(action == RAISE or (facing and action == CALL)) if name == KUHN else action
