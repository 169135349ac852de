"""Tournaments and ratings against exactly known values."""

from collections import Counter

import numpy as np
import pytest
from evaluations import KUHN, KUHN_3P, LEDUC, Policies, loader, random_policies

from poker_rl.evaluation.matches.duplicate_match import (
    compute_exact_match_values,
    compute_half_width,
    play_deals,
)
from poker_rl.evaluation.matches.tournament_lineups_and_ranking import (
    assign_players_to_tables,
    compute_tournament_results,
    fit_elo,
    list_counted_players,
)
from poker_rl.games import get_tree, load_game
from poker_rl.reports.play_tournament import format_ranking_and_cross_table

NAMES = ["a", "b", "c", "d"]


def get_results_of(found, measure):
    """Return the results of this measure by player, in the order of the ranking."""
    results = {name: found.find_result(name, measure) for name in found.player_names}
    return {name: result for name, result in results.items() if result is not None}


def get_pair_results(found):
    """Return the winnings of each player at the tables with another one, by both players."""
    names = found.player_names
    return {(a, b): one for b in names for a, one in get_results_of(found, f"won/{b}").items()}


def tournament(game, players, table_kind="one_against_rest", deals=2000, rounds=2, seed=0):
    """The results of these players by name."""
    orders = assign_players_to_tables(game, len(players), table_kind, rounds, seed)
    each, blocks = list(players.values()), []
    for order in orders:
        won = play_deals(game, [each[player] for player in order], deals, seed)
        blocks.append(won[:, [order.index(player) for player in list_counted_players(order)]].T)
    return compute_tournament_results(game, list(players), orders, blocks, table_kind, rounds)


@pytest.mark.parametrize("game", [KUHN, LEDUC, KUHN_3P], ids=lambda game: game.name)
def test_the_cross_table_holds_the_exact_values(game):
    players = {name: Policies(game, random_policies(game, seed=i)) for i, name in enumerate(NAMES)}
    found = tournament(game, players, deals=20_000)
    assert len(get_pair_results(found)) == 12
    for (row, other), one in get_pair_results(found).items():
        seated = [players[row]] + [players[other]] * (game.seats - 1)
        truth = compute_exact_match_values(get_tree(game), seated)[0]
        # Two half widths are four standard errors: only a wrong mean is that far.
        assert abs(one.value - truth) < 2 * one.half_width
        assert one.half_width < 0.1
    won = get_results_of(found, "won")
    for name, one in won.items():
        pairs = [get_pair_results(found)[name, other].value for other in NAMES if other != name]
        assert one.value == pytest.approx(np.mean(pairs))
    values = [one.value for one in won.values()]
    assert values == sorted(values, reverse=True)


def test_players_of_each_table_have_independent_random_numbers():
    players = [Policies(LEDUC, random_policies(LEDUC, seed=i)) for i in (0, 0)]
    decks = []
    see = [lambda tables, _: decks.append(tables.records["deck"])]
    first, second = (play_deals(LEDUC, players, 500, 1, see, table)[:, 0] for table in (0, 1))
    assert (decks[0] == decks[1]).all()
    assert (first != second).mean() > 0.3


def test_differences_are_of_the_same_deals():
    load = loader(LEDUC)
    # Of two players one wins what the other loses: they differ by twice that.
    found = tournament(LEDUC, {n: load(n) for n in ("raise", "uniform")})
    (gap,) = get_results_of(found, "behind").values()
    won = get_results_of(found, "won")[found.player_names[0]]
    assert gap.value == pytest.approx(2 * won.value)
    assert gap.half_width == pytest.approx(2 * won.half_width)
    # Two who play alike win the same in every deal: that they do not differ is certain.
    players = {"raise": load("raise"), "again": load("raise"), "uniform": load("uniform")}
    found = tournament(LEDUC, players)
    gap = found.find_result(found.player_names[1], "behind")
    assert (gap.value, gap.half_width) == (0, 0)
    assert get_results_of(found, "won")[found.player_names[0]].half_width > 0.01


@pytest.mark.parametrize(("players", "tables"), [(6, 1), (7, 7), (9, 3)])
def test_at_mixed_tables_all_sit_equally_often(players, tables):
    game = load_game("limit_holdem_6p")
    orders = assign_players_to_tables(game, players, "mixed", rounds=5, seed=3)
    assert len(orders) == 5 * tables
    assert all(len(set(order)) == 6 for order in orders)
    for start in range(0, len(orders), tables):  # in every round
        seated = Counter(player for order in orders[start : start + tables] for player in order)
        assert set(seated.values()) == {6 * tables // players}
        assert len(seated) == players
    assert len(set(orders)) > 4  # rounds differ
    assert orders == assign_players_to_tables(game, players, "mixed", rounds=5, seed=3)


def test_a_mixed_table_of_known_results():
    # Whoever folds to every bet loses the ante at every table with one who always bets.
    load = loader(KUHN_3P)
    players = {name: load(name) for name in ("raise", "call", "fold")}
    found = tournament(KUHN_3P, players, table_kind="mixed", deals=500)
    ranks = {one.player: one for one in get_results_of(found, "won").values()}
    assert ranks["fold"].value == pytest.approx(-1)
    assert sum(one.value for one in ranks.values()) == pytest.approx(0, abs=1e-9)
    at_all = [get_pair_results(found)["raise", other].value for other in ("call", "fold")]
    assert at_all == [ranks["raise"].value] * 2  # there is only one table, of all three
    assert not get_results_of(found, "elo")
    assert "at the tables where the column's sat too" in format_ranking_and_cross_table(found)


PAIRS = np.array([(a, b) for a in range(4) for b in range(a + 1, 4)])
KNOWN = np.array([250.0, 50.0, -80.0, -220.0])


def played(deals, generator):
    """Scores of all pairs, drawn by the formula of Elo (1978): 1 / (1 + 10 ** (-d / 400))."""
    apart = KNOWN[PAIRS[:, 0]] - KNOWN[PAIRS[:, 1]]
    prob = 1 / (1 + 10 ** (-apart / 400))
    return (generator.random((len(PAIRS), deals)) < prob[:, None]).astype(float)


def test_known_ratings_are_found():
    rating, influences = fit_elo(PAIRS, played(20_000, np.random.default_rng(0)), 4)
    wide = [compute_half_width(each) for each in influences]
    # Two half widths are four standard errors: only a wrong rating is that far.
    assert (abs(rating - KNOWN) < 2 * np.array(wide)).all()
    assert max(wide) < 4
    rating, _ = fit_elo(np.array([(0, 1)]), np.ones((1, 1000)), 2)
    assert rating[0] - rating[1] == pytest.approx(1320.5, abs=0.05)
