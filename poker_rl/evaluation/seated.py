"""Mixed tables: any players at one table, one a seat, and what each of them wins there.

Every deal is played in all rotations of the order given, so that each player has every seat with
the same cards. Other orders are not played: who acts after whom is part of what is asked, and there
are far too many of them at a full table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from poker_rl.config.settings import Refused
from poker_rl.evaluation.columns import number
from poker_rl.evaluation.matches import exact, half_width, play, unit_of
from poker_rl.evaluation.measurement import Measurement
from poker_rl.games.game import Game
from poker_rl.games.tree import Tree
from poker_rl.players.player import Player, policy_at


@dataclass(frozen=True)
class Seated:
    """A player of a mixed table; `exact` is what `won` estimates, where there is a tree."""

    player: str
    seats: int  # that it takes
    won: Measurement  # a hand, as the mean over its seats
    exact: float | None


def demand_seats(game: Game, count: int) -> None:
    """Refuse a number of players that is not that of the seats, or seats that are drawn."""
    if len(drawn := np.unique(game.record["seats"])) > 1:
        raise Refused(
            f"{game.name} draws {drawn[0]} to {drawn[-1]} seats for each hand; choose a game with a"
            " fixed number of them"
        )
    if count != game.seats:
        raise Refused(f"{count} given, but {game.name} has {game.seats} seats, a player for each")


def seat_all(
    game: Game,
    tree: Tree | None,
    order: Sequence[str],
    players: Mapping[str, Player],
    deals: int,
    seed: int,
) -> list[Seated]:
    """What each player wins at a table; times the seats it takes these sum to zero.

    Args:
        order: the names of the players around the table, one a seat.
        players: by name, each as often as it is asked for in `order`.
    """
    scale, unit = unit_of(game)
    around = [players[name] for name in order]
    blocks = play(game, around, deals, seed) * scale
    truth = None
    if tree is not None:
        policies = {name: policy_at(game, player, tree.records) for name, player in players.items()}
        truth = exact(tree, [policies[name] for name in order]) * scale
    found = []
    for name in dict.fromkeys(order):
        mine = [place for place, other in enumerate(order) if other == name]
        own = blocks[:, mine].mean(1)
        won = Measurement(float(own.mean()), half_width(own), unit, "at the table")
        exactly = None if truth is None else float(truth[mine].mean())
        found.append(Seated(name, len(mine), won, exactly))
    return found


def table_of(seated: Sequence[Seated]) -> list[list[str]]:
    """For the screen."""
    exactly = seated[0].exact is not None
    rows = [["player", "seats", "won", *["exact"] * exactly]]
    for one in seated:
        row = [one.player, str(one.seats), number(one.won.value, one.won.half_width)]
        rows.append(row if one.exact is None else [*row, number(one.exact)])
    return rows
