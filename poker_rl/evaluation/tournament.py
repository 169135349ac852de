"""A tournament: who sits at which tables, and from what was won there a cross table and a ranking.

All tables are dealt the same cards, so what two players won can be compared deal by deal: the
interval of a difference is narrower than those of the two means. Every interval is over deals.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from math import gcd
from typing import Any, Literal

import numpy as np

from poker_rl.config.settings import Refused, about
from poker_rl.evaluation.columns import aligned, listed, number, numbered, shortened, wrapped
from poker_rl.evaluation.matches import half_width, unit_of
from poker_rl.evaluation.measurement import Measurement
from poker_rl.evaluation.ratings import elo, explained, largest_cycle
from poker_rl.evaluation.seated import demand_seats
from poker_rl.games.game import Game

COLUMNS = ("player", "measure", "value", "half_width", "unit", "kind")
Kind = Literal["rest", "mixed"]


def line_ups(
    game: Game, players: int, tables: Kind, rounds: int, seed: int
) -> list[tuple[int, ...]]:
    """The tables of a tournament: the players, by number, in their order around each.

    Heads-up every pair meets once. With more seats, `rest` is one player against another in all
    other seats, both ways round; `mixed` are tables of different players, drawn by chance so that
    all players sit down equally often in every round.

    Raises:
        Refused: if there are too few players for mixed tables, or the number of seats is drawn.
    """
    everybody = range(players)
    if game.seats == 2:
        return [(a, b) for a in everybody for b in everybody if a < b]
    if tables == "rest":
        others = game.seats - 1
        return [(a, *[b] * others) for a in everybody for b in everybody if a != b]
    with about("tables"):
        demand_seats(game, game.seats)
        if players < game.seats:
            raise Refused(f"mixed tables of {game.name} take {game.seats} players; give as many")
    generator = np.random.default_rng(seed)
    found = []
    for _ in range(rounds):
        # Around a circle of all players, each table takes the next ones.
        circle = generator.permutation(players)
        for table in range(players // gcd(players, game.seats)):
            at = np.arange(table * game.seats, (table + 1) * game.seats) % players
            found.append(tuple(circle[at].tolist()))
    return found


def counted(order: Sequence[int]) -> list[int]:
    """The players of a table whose results count: all, but only the one against the rest."""
    return list(order) if len(set(order)) == len(order) else [order[0]]


@dataclass(frozen=True)
class Standing:
    """A player's place in the ranking."""

    rank: int
    player: str
    won: Measurement  # a hand, as the mean over its tables
    behind: Measurement | None  # what the player one rank above won more; None for the first
    elo: Measurement | None  # heads-up only


@dataclass(frozen=True)
class Results:
    """All there is to tell of a finished tournament, the players by rank."""

    time: datetime
    command: str
    game: Game
    tables: Kind
    rounds: int
    deals: int
    seed: int
    standings: list[Standing]
    won: dict[tuple[str, str], Measurement]  # what a player won where the other one sat too
    explained: float | None  # share of the results that one rating a player explains
    cycle: list[str]  # three players who beat each other in a circle, or none

    @property
    def names(self) -> list[str]:
        """The players, the best first."""
        return [one.player for one in self.standings]

    @property
    def unit(self) -> str:
        """Of the results."""
        return self.standings[0].won.unit

    @property
    def pairwise(self) -> bool:
        """Whether each table has two players, who may beat each other."""
        return self.game.seats == 2 or self.tables == "rest"

    @property
    def rule(self) -> str:
        """What was played."""
        seats = self.game.seats
        who = f"one player against another in all {seats - 1} other seats"
        if seats == 2:
            who = "every pair"
        elif not self.pairwise:
            who = f"tables of {seats} different players, in {self.rounds} rounds"
        return (
            f"{self.game.name}: {len(self.names)} players, {who}; the same {self.deals:,} deals at"
            f" every table, each played in every rotation of the seats; {self.unit}, 95 % intervals"
            " over deals"
        )

    @property
    def meaning(self) -> str:
        """What a number of the cross table is."""
        if self.game.seats == 2:
            return "what the row's player won from the column's"
        if not self.pairwise:
            return "what the row's player won at the tables where the column's sat too"
        return f"what the row's player won alone against {self.game.seats - 1} of the column's"

    @property
    def remarks(self) -> list[str]:
        """Sentences on what a rating can tell of the table."""
        found = []
        if self.standings[0].elo is not None:
            found.append(
                "Elo counts deals, not chips: a deal is won by whoever won chips over both seats of"
                " it, a drawn one is half a win, and 400 points more are ten wins for each loss."
            )
        if self.explained is not None:
            found.append(
                f"One rating a player explains {100 * self.explained:.1f} % of the variance of the"
                " results; the rest is cycles and chance."
            )
        if self.cycle:
            wins = []
            for pair in zip(self.cycle, [*self.cycle[1:], self.cycle[0]], strict=True):
                one = self.won[pair]
                wins.append(f"{' beats '.join(pair)} by {number(one.value, one.half_width)}")
            found.append(f"The largest cycle: {', '.join(wins)}.")
        elif self.explained is not None and self.pairwise:
            found.append("No three players beat each other in a circle, each beyond its interval.")
        return found

    def text(self) -> str:
        """For the screen."""
        numbers = numbered(self.names)

        def table(rows: Sequence[Sequence[str]], keys: int) -> str:
            return aligned(shortened(rows, numbers), keys)

        parts = [wrapped(self.rule), table(self._ranking(), 2)]
        parts.append(f"{self.meaning}\n{table(self._cross_table(), 1)}")
        told = shortened([self.remarks], numbers)[0]
        parts.append("\n".join(wrapped(remark) for remark in told))
        return "\n\n".join(part for part in [*parts, listed(numbers)] if part)

    def _ranking(self) -> list[list[str]]:
        rated = self.standings[0].elo is not None
        rows = [["rank", "player", "won", "behind the one above", *["Elo"] * rated]]
        for one in self.standings:
            told = [one.won, one.behind, *[one.elo] * rated]
            cells = ["" if each is None else number(each.value, each.half_width) for each in told]
            rows.append([str(one.rank), one.player, *cells])
        return rows

    def _cross_table(self) -> list[list[str]]:
        rows = [["", *self.names]]
        for name in self.names:
            met = [self.won.get((name, other)) for other in self.names]
            cells = ["-" if one is None else number(one.value, one.half_width) for one in met]
            rows.append([name, *cells])
        return rows

    def plain(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "time": self.time.isoformat(sep=" ", timespec="seconds"),
            "command": self.command,
            "game": self.game.name,
            "tables": self.tables,
            "rounds": self.rounds,
            "deals": self.deals,
            "seed": self.seed,
            "ranking": [asdict(one) for one in self.standings],
            "won": [
                {"player": name, "other": other} | asdict(one)
                for (name, other), one in self.won.items()
            ],
            "explained": self.explained,
            "cycle": self.cycle,
        }

    def csv(self) -> str:
        """A row a number."""
        file = io.StringIO()
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        for one in self.standings:
            for measure, told in (("won", one.won), ("behind", one.behind), ("elo", one.elo)):
                if told is not None:
                    writer.writerow({"player": one.player, "measure": measure} | asdict(told))
        for (name, other), told in self.won.items():
            writer.writerow({"player": name, "measure": f"won/{other}"} | asdict(told))
        return file.getvalue()


def results(
    game: Game,
    names: Sequence[str],
    orders: Sequence[tuple[int, ...]],
    blocks: Sequence[np.ndarray],
    **told: Any,
) -> Results:
    """Rank the players of a tournament.

    Args:
        names: of the players, by number.
        orders: the tables, as `line_ups` has them.
        blocks: what those `counted` of each table won, in chips a hand, [counted, deals].
        told: the other fields of `Results`, as they are.
    """
    scale, unit = unit_of(game)
    own: dict[int, list[np.ndarray]] = {}  # by player, at each of its tables
    met: dict[tuple[int, int], list[np.ndarray]] = {}  # by player and another at the table
    designs, means = [], []
    for order, block in zip(orders, blocks, strict=True):
        for player, won in zip(counted(order), block * scale, strict=True):
            own.setdefault(player, []).append(won)
            for other in sorted(set(order) - {player}):
                met.setdefault((player, other), []).append(won)
            design = -np.bincount(order, minlength=len(names)) / (game.seats - 1)
            design[player] = 1
            designs.append(design)
            means.append(won.mean())
    results = np.array(means)
    if game.seats > 2:  # to sit alone against the rest may pay, or cost, whoever it is
        results -= results.mean()
    mean = {player: np.mean(each, axis=0) for player, each in own.items()}  # [deals] of each
    ranked = sorted(mean, key=lambda player: -mean[player].mean())
    pairs = {
        pair: measured(np.mean(each, axis=0), unit, f"against {names[pair[1]]}")
        for pair, each in met.items()
    }
    rated = ratings_of(orders, blocks, len(names)) if game.seats == 2 else {}
    standings = [
        Standing(
            rank,
            names[player],
            measured(mean[player], unit, "mean of all tables"),
            None if above is None else measured(mean[above] - mean[player], unit, "behind"),
            rated.get(player),
        )
        for rank, (above, player) in enumerate(zip([None, *ranked], ranked, strict=False), start=1)
    ]
    cycle = None
    if all(len(set(order)) == 2 for order in orders):
        table, wide = np.zeros((2, len(names), len(names)))
        for pair, one in pairs.items():
            table[pair], wide[pair] = one.value, one.half_width or 0
        cycle = largest_cycle(table, wide)
    return Results(
        game=game,
        standings=standings,
        won={(names[a], names[b]): pairs[a, b] for a in ranked for b in ranked if (a, b) in pairs},
        explained=explained(np.array(designs), results) if len(names) > 2 else None,
        cycle=[] if cycle is None else [names[player] for player in cycle],
        **told,
    )


def ratings_of(
    orders: Sequence[tuple[int, ...]], blocks: Sequence[np.ndarray], players: int
) -> Mapping[int, Measurement]:
    """Elo of the players of a heads-up tournament, by number."""
    scores = (np.sign([block[0] for block in blocks]) + 1) / 2
    rating, influences = elo(np.array(orders), scores, players)
    return {
        player: Measurement(float(rating[player]), half_width(influences[player]), "Elo", "fitted")
        for player in range(players)
    }


def measured(blocks: np.ndarray, unit: str, kind: str) -> Measurement:
    """The mean of independent blocks, with its interval."""
    return Measurement(float(blocks.mean()), half_width(blocks), unit, kind)
