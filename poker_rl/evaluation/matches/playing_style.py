"""How players play hold'em: the usual statistics of playing style.

    hands       number of hands dealt to the player
    vpip        share of hands in which it voluntarily put chips in before the flop: a call or a
                raise, so that completing the small blind counts, but no blind and no check
    pfr         share of hands in which it raised before the flop
    aggression  bets and raises divided by calls of a bet, on all streets; None without a call
    showdown    share of hands that it took to a showdown

They are counted by seat and for all seats, and by number of seats where that varies.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np

from poker_rl.evaluation.result import AGAINST, Result
from poker_rl.games.game import Game, jit
from poker_rl.games.poker.betting import CALL, MAX_SEATS, RAISE, can_fold, start, step
from poker_rl.games.poker.poker_game import PokerGame
from poker_rl.games.poker.variable_seats import VariableSeatsPoker
from poker_rl.games.tables import Tables, copy_records

HAND_COUNT, VPIP_COUNT, PFR_COUNT, RAISE_COUNT, CALL_COUNT, SHOWDOWN_COUNT = range(6)
STYLE_UNITS = {  # unit of each statistic
    "hands": "hands",
    "vpip": "of hands",
    "pfr": "of hands",
    "aggression": "a call",
    "showdown": "of hands",
}


@dataclass(frozen=True)
class PlayingStyle:
    """Statistics of a player in the hands of a match.

    Attributes:
        seat_count: number of seats in these hands; None for hands with any number of seats.
        seat: the player's seat; None for all seats together.
    """

    player: str
    opponent: str
    seat_count: int | None
    seat: int | None
    hands: int
    vpip: float
    pfr: float
    aggression: float | None
    showdown: float

    def list_results(self) -> list[Result]:
        """Return results such as `vpip/seats_6/seat_0`, `vpip/seat_0` and `vpip`."""
        parts = {"seats": self.seat_count, "seat": self.seat}
        suffix = "".join(f"/{part}_{i}" for part, i in parts.items() if i is not None)
        values, kind = asdict(self), f"{AGAINST}{self.opponent}"
        return [
            Result(self.player, f"{name}{suffix}", values[name], None, unit, kind)
            for name, unit in STYLE_UNITS.items()
            if values[name] is not None
        ]


class StyleCounter:
    """Observer of a match that counts the actions of the first player and of its opponent."""

    def __init__(self, game: Game) -> None:
        self.game = game
        self.counts = np.zeros((2, MAX_SEATS + 1, MAX_SEATS, 6), np.int64)
        """By player, number of seats, seat and statistic."""

    def add_hands(self, tables: Tables, rotation: np.ndarray) -> None:
        """Count finished hands [B], in which the first player has seat `rotation` [B]."""
        records = copy_records(tables.records)  # the replay overwrites them
        _count_hands(tables.gather_definitions(), records, rotation, self.counts)

    def compute_styles(self, player: str, opponent: str) -> list[PlayingStyle]:
        """Return the styles of both players: of all hands, by number of seats and by seat."""
        styles = []
        varies_seats = len(self.game.definitions) > 1
        for counts, names in zip(
            self.counts, [(player, opponent), (opponent, player)], strict=True
        ):
            styles.append(_build_style(*names, None, None, counts.sum((0, 1))))
            for seats in self.game.definitions["seats"].tolist():
                seat_count = seats if varies_seats else None
                if varies_seats:
                    styles.append(_build_style(*names, seats, None, counts[seats].sum(0)))
                for seat in range(seats):
                    styles.append(_build_style(*names, seat_count, seat, counts[seats, seat]))
        return [style for style in styles if style.hands]


def is_holdem(game: Game) -> bool:
    """Return whether the game has two hole cards and betting before a flop."""
    return (
        isinstance(game, PokerGame | VariableSeatsPoker)
        and game.hole_cards == 2
        and len(game.board_cards) > 1
        and game.board_cards[0] == 0
    )


def _build_style(
    player: str, opponent: str, seat_count: int | None, seat: int | None, counts: np.ndarray
) -> PlayingStyle:
    hand_count, vpip, pfr, raises, calls, showdowns = counts.tolist()
    hands_played = max(hand_count, 1)
    aggression = raises / calls if calls else None
    style_values = vpip / hands_played, pfr / hands_played, aggression, showdowns / hands_played
    return PlayingStyle(player, opponent, seat_count, seat, hand_count, *style_values)


@jit
def _count_hands(definitions, tables, rotation, counts):  # type: ignore[no-untyped-def]
    """Replay finished hands and add to the counts, [player, number of seats, seat, statistic]."""
    hand_counts = np.zeros((MAX_SEATS, 6), np.int64)  # of one hand, by seat and statistic
    for i in range(len(tables)):
        game, table = definitions[i], tables[i]
        hand_counts[:] = 0
        moves = table.moves
        start(game, table)
        for move in range(moves):
            seat, action = table.to_act, table.line[move]
            is_raise = action >= RAISE
            is_call = action == CALL and can_fold(table)
            if table.street == 0:
                hand_counts[seat, VPIP_COUNT] |= is_raise or is_call
                hand_counts[seat, PFR_COUNT] |= is_raise
            hand_counts[seat, RAISE_COUNT] += is_raise
            hand_counts[seat, CALL_COUNT] += is_call
            step(game, table, action)
        for seat in range(game.seats):
            hand_counts[seat, HAND_COUNT] = 1
            hand_counts[seat, SHOWDOWN_COUNT] = table.live > 1 and not table.folded[seat]
            player_index = 0 if seat == rotation[i] else 1
            for k in range(6):
                counts[player_index, game.seats, seat, k] += hand_counts[seat, k]
