"""Tournaments against exactly known values: who meets whom, the cross table, the ranking."""

from __future__ import annotations

from collections import Counter
from datetime import datetime

import numpy as np
import pytest
from evaluations import HOLDEM, KUHN, KUHN_3P, LEDUC, Policies, loader, random_policies

from poker_rl.evaluation.cross_table import cross_table
from poker_rl.evaluation.matches import exact, play
from poker_rl.evaluation.tournament import counted, line_ups, results
from poker_rl.games.load import load_game
from poker_rl.games.tree import tree_of

NAMES = ["a", "b", "c", "d"]


def tournament(game, players, tables="rest", deals=2000, rounds=2, seed=0):
    """The results of these players by name."""
    orders = line_ups(game, len(players), tables, rounds, seed)
    each, blocks = list(players.values()), []
    for order in orders:
        won = play(game, [each[player] for player in order], deals, seed)
        blocks.append(won[:, [order.index(player) for player in counted(order)]].T)
    told = {"time": datetime(2026, 1, 1), "command": "poker-rl tournament"}
    told |= {"tables": tables, "rounds": rounds, "deals": deals, "seed": seed}
    return results(game, list(players), orders, blocks, **told)


def random_players(game):
    return {name: Policies(game, random_policies(game, seed=i)) for i, name in enumerate(NAMES)}


@pytest.mark.parametrize("game", [KUHN, LEDUC, KUHN_3P], ids=lambda game: game.name)
def test_the_cross_table_holds_the_exact_values(game):
    tree, players = tree_of(game), random_players(game)
    policies = {name: player.policies[0] for name, player in players.items()}
    found = tournament(game, players, deals=20_000)
    assert len(found.won) == 12
    for (row, column), one in found.won.items():
        truth = exact(tree, [policies[row]] + [policies[column]] * (game.seats - 1))[0]
        # Two half widths are four standard errors: only a wrong mean is that far.
        assert abs(one.value - truth) < 2 * one.half_width
        assert one.half_width < 0.1
    for one in found.standings:
        truth = np.mean(
            [found.won[one.player, other].value for other in NAMES if other != one.player]
        )
        assert one.won.value == pytest.approx(truth)


def test_heads_up_what_one_wins_the_other_loses():
    found = tournament(LEDUC, random_players(LEDUC), deals=200)
    for (row, column), one in found.won.items():
        assert one.value == pytest.approx(-found.won[column, row].value)
    assert sum(one.won.value for one in found.standings) == pytest.approx(0)
    assert sum(one.elo.value for one in found.standings) == pytest.approx(0)
    assert [one.rank for one in found.standings] == [1, 2, 3, 4]
    won = [one.won.value for one in found.standings]
    assert won == sorted(won, reverse=True)


def test_differences_are_of_the_same_deals():
    load = loader(LEDUC)
    # Of two players one wins what the other loses: they differ by twice that.
    first, second = tournament(LEDUC, {n: load(n) for n in ("raise", "uniform")}).standings
    assert first.behind is None
    assert second.behind.value == pytest.approx(2 * first.won.value)
    assert second.behind.half_width == pytest.approx(2 * first.won.half_width)
    # Two who play alike win the same in every deal: that they do not differ is certain.
    players = {"raise": load("raise"), "again": load("raise"), "uniform": load("uniform")}
    first, second, _ = tournament(LEDUC, players).standings
    assert (second.behind.value, second.behind.half_width) == (0, 0)
    assert first.won.half_width > 0.01


@pytest.mark.parametrize(("players", "tables"), [(6, 1), (7, 7), (8, 4), (9, 3), (18, 3)])
def test_at_mixed_tables_all_sit_equally_often(players, tables):
    game = load_game("limit_holdem_6p")
    orders = line_ups(game, players, "mixed", rounds=5, seed=3)
    assert len(orders) == 5 * tables
    assert all(len(set(order)) == 6 for order in orders)
    for start in range(0, len(orders), tables):  # in every round
        seated = Counter(player for order in orders[start : start + tables] for player in order)
        assert set(seated.values()) == {6 * tables // players}
        assert len(seated) == players
    assert len(set(orders)) > 4  # rounds differ
    assert orders == line_ups(game, players, "mixed", rounds=5, seed=3)


def test_a_mixed_table_of_known_results():
    # Whoever folds to every bet loses the ante at every table with one who always bets.
    load = loader(KUHN_3P)
    players = {name: load(name) for name in ("raise", "call", "fold")}
    found = tournament(KUHN_3P, players, tables="mixed", deals=500)
    ranks = {one.player: one for one in found.standings}
    assert ranks["fold"].won.value == pytest.approx(-1)
    assert sum(one.won.value for one in found.standings) == pytest.approx(0, abs=1e-9)
    at_all = [found.won["raise", other].value for other in ("call", "fold")]
    assert at_all == [ranks["raise"].won.value] * 2  # there is only one table, of all three
    assert ranks["raise"].elo is None
    assert "at the tables where the column's sat too" in found.text()
    assert not found.cycle


def test_what_sitting_alone_is_worth_is_no_variance_that_ratings_leave():
    """Each wins 1 alone against the rest, and `a` one more than the others: ratings say it all."""
    orders = line_ups(KUHN_3P, 3, "rest", rounds=1, seed=0)
    strength = {0: 1.0, 1: 0.0, 2: 0.0}
    blocks = [
        np.full((len(counted(order)), 30), 1 + strength[order[0]] - strength[order[1]])
        for order in orders
    ]
    told = {"time": datetime(2026, 1, 1), "command": "", "tables": "rest"}
    told |= {"rounds": 1, "deals": 30, "seed": 0}
    found = results(KUHN_3P, ["a", "b", "c"], orders, blocks, **told)
    assert found.explained == pytest.approx(1)


def test_nothing_printed_is_wider_than_120_columns():
    load = loader(HOLDEM)
    long = "outputs/limit_holdem/ppo/entropy.start-0.5_seed-1_2026-11-21_04-45-20@300000:average"
    names = ["uniform", "call", "raise", "tight", "chen", "sklansky", "rules", "fold"]
    players = {name: load(name) for name in names} | {long: load("all_in")}
    found = tournament(HOLDEM, players, deals=60)
    lines = found.text().splitlines()
    assert max(map(len, lines)) <= 120
    assert lines[-1] == f"[1] {long}"
    for name in names:
        assert any(line.split()[1:2] == [name] for line in lines)


def test_the_figure_says_in_words_what_its_colours_say():
    found = tournament(LEDUC, {name: loader(LEDUC)(name) for name in ("raise", "call", "fold")})
    figure = cross_table(found)
    (ax,) = figure.axes
    cells = {text.get_text() for text in ax.texts}
    assert {"+1", "\N{MINUS SIGN}1", "0"} <= cells  # whoever folds to every bet loses the ante
    assert len(ax.texts) == 6
    assert [label.get_text() for label in ax.get_yticklabels()] == [
        "1. raise",
        "2. call",
        "3. fold",
    ]
