"""How players play hold'em, beside what they win: the usual counts of a player's style.

    hands       dealt to the player
    vpip        share of them in which it put chips in before the flop of its own will: a call or a
                raise, so that the small blind's completing counts, but not a blind or a check
    pfr         share of them in which it raised before the flop
    aggression  bets and raises for each call of a bet, on all streets; none without a call
    showdown    share of them that it took to a showdown

Counted for each seat and for all of them, and where the number of seats is drawn for each number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from poker_rl.games.game import Game, rule
from poker_rl.games.poker.betting import CALL, RAISE, SEATS, can_fold, start, step
from poker_rl.games.poker.drawn_seats import DrawnSeats
from poker_rl.games.poker.game import PokerGame
from poker_rl.games.tables import Tables, copied

HANDS, VPIP, PFR, RAISES, CALLS, SHOWDOWNS = range(6)


@dataclass(frozen=True)
class Style:
    """A player's style in some hands."""

    player: str
    against: str
    seats: int | None  # of the hands; None: of any number
    seat: int | None  # the player's; None: any
    hands: int
    vpip: float
    pfr: float
    aggression: float | None
    showdown: float

    def measures(self) -> dict[str, float]:
        """What there is of the counts, by name: `vpip/seats_6/seat_0`, `vpip/seat_0`, `vpip`."""
        parts = {"seats": self.seats, "seat": self.seat}
        where = "".join(f"/{part}_{i}" for part, i in parts.items() if i is not None)
        told = {key: asdict(self)[key] for key in MEASURES}
        return {key + where: value for key, value in told.items() if value is not None}


MEASURES = {"hands": "hands", "vpip": "of hands", "pfr": "of hands"}
MEASURES |= {"aggression": "a call", "showdown": "of hands"}  # and their units


class StyleCount:
    """Counts the hands of a duplicate match between a player and another in all other seats."""

    def __init__(self, game: Game) -> None:
        self.game = game
        self.counts = np.zeros((2, SEATS + 1, SEATS, 6), np.int64)  # [player, seats, seat, count]

    def add(self, tables: Tables, rotation: np.ndarray) -> None:
        """Count finished hands [B], in which the player has seat `rotation`, [B]."""
        records = copied(tables.records)  # to be played again
        _count(tables.definitions(), records, rotation, self.counts)

    def styles(self, player: str, other: str) -> list[Style]:
        """Of both players: of all hands, by seat and, if it is drawn, by number of seats."""
        found = []
        drawn = len(self.game.record) > 1
        for who, names in enumerate([(player, other), (other, player)]):
            by_seats = self.counts[who]
            found.append(_style(*names, None, None, by_seats.sum((0, 1))))
            for seats in self.game.record["seats"].tolist():
                told = seats if drawn else None
                if drawn:
                    found.append(_style(*names, told, None, by_seats[seats].sum(0)))
                for seat in range(seats):
                    found.append(_style(*names, told, seat, by_seats[seats, seat]))
        return [style for style in found if style.hands]


def is_holdem(game: Game) -> bool:
    """Whether there are two hole cards, and a flop to play before."""
    return (
        isinstance(game, PokerGame | DrawnSeats)
        and game.hole_cards == 2
        and len(game.board_cards) > 1
        and game.board_cards[0] == 0
    )


def table_of(styles: Sequence[Style]) -> list[list[str]]:
    """For the screen: by number of seats, or by seat where it is fixed."""
    drawn = any(style.seats is not None for style in styles)
    split = "seats" if drawn else "seat"
    rows = [["player", "against", split, "hands", "VPIP", "PFR", "aggression", "showdown"]]
    for style in styles:
        if drawn and style.seat is not None:
            continue
        where = style.seats if drawn else style.seat
        shares = [f"{100 * share:.1f} %" for share in (style.vpip, style.pfr, style.showdown)]
        aggression = "-" if style.aggression is None else f"{style.aggression:.2f}"
        who = [style.player, style.against, "all" if where is None else str(where)]
        rows.append([*who, f"{style.hands:,}", *shares[:2], aggression, shares[2]])
    return rows


def rows_of(styles: Sequence[Style]) -> list[dict[str, Any]]:
    """For CSV: a row a number."""
    return [
        {
            "player": style.player,
            "measure": measure,
            "value": value,
            "unit": MEASURES[measure.split("/")[0]],
            "kind": f"against {style.against}",
        }
        for style in styles
        for measure, value in style.measures().items()
    ]


def _style(
    player: str, against: str, seats: int | None, seat: int | None, counts: np.ndarray
) -> Style:
    hands, vpip, pfr, raises, calls, showdowns = counts.tolist()
    played = max(hands, 1)
    aggression = raises / calls if calls else None
    shares = vpip / played, pfr / played, aggression, showdowns / played
    return Style(player, against, seats, seat, hands, *shares)


@rule
def _count(games, tables, rotation, counts):  # type: ignore[no-untyped-def]
    """Play finished hands again by their actions, and count into [player, seats, seat, count]."""
    seen = np.zeros((SEATS, 6), np.int64)  # of a hand, by seat
    for i in range(len(tables)):
        game, table = games[i], tables[i]
        seen[:] = 0
        moves = table.moves
        start(game, table)
        for move in range(moves):
            seat, action = table.to_act, table.line[move]
            raises = action >= RAISE
            calls = action == CALL and can_fold(table)
            if table.street == 0:
                seen[seat, VPIP] |= raises or calls
                seen[seat, PFR] |= raises
            seen[seat, RAISES] += raises
            seen[seat, CALLS] += calls
            step(game, table, action)
        for seat in range(game.seats):
            seen[seat, HANDS] = 1
            seen[seat, SHOWDOWNS] = table.live > 1 and not table.folded[seat]
            who = 0 if seat == rotation[i] else 1
            for k in range(6):
                counts[who, game.seats, seat, k] += seen[seat, k]
