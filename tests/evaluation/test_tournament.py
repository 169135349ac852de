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
    fit_elo_and_influences,
    list_counted_players_at_table,
)
from poker_rl.games import get_tree, load_game
from poker_rl.reports.play_tournament import format_ranking_and_cross_table

NAMES = ["a", "b", "c", "d"]


def get_results(ranking, measure):
    """Return the results of this measure by player, in the order of the ranking."""
    result_of_player = {name: ranking.find_result(name, measure) for name in ranking.player_names}
    return {name: result for name, result in result_of_player.items() if result is not None}


def get_pair_results(ranking):
    """Return results by pair (a, b): the winnings of a at the tables where b plays too."""
    names = ranking.player_names
    return {(a, b): result for b in names for a, result in get_results(ranking, f"won/{b}").items()}


def play_tournament(game, players, table_kind="one_against_rest", deals=2000, rounds=2, seed=0):
    """Return the results of a tournament of `players`, a dict by name."""
    orders = assign_players_to_tables(game, len(players), table_kind, rounds, seed)
    seated, blocks = list(players.values()), []
    for order in orders:
        won = play_deals(game, [seated[player] for player in order], deals, seed)
        counted = list_counted_players_at_table(order)
        blocks.append(won[:, [order.index(player) for player in counted]].T)
    return compute_tournament_results(game, list(players), orders, blocks, table_kind, rounds)


@pytest.mark.parametrize("game", [KUHN, LEDUC, KUHN_3P], ids=lambda game: game.name)
def test_cross_table_intervals_contain_the_exact_values(game):
    players = {name: Policies(game, random_policies(game, seed=i)) for i, name in enumerate(NAMES)}
    ranking = play_tournament(game, players, deals=20_000)
    assert len(get_pair_results(ranking)) == 12
    for (row, other), result in get_pair_results(ranking).items():
        seated = [players[row]] + [players[other]] * (game.seats - 1)
        exact = compute_exact_match_values(get_tree(game), seated)[0]
        # Two half-widths are four standard errors: a correct mean is hardly ever that far off.
        assert abs(result.value - exact) < 2 * result.half_width
        assert result.half_width < 0.1
    won = get_results(ranking, "won")
    for name, result in won.items():
        pairs = [get_pair_results(ranking)[name, other].value for other in NAMES if other != name]
        assert result.value == pytest.approx(np.mean(pairs))
    values = [result.value for result in won.values()]
    assert values == sorted(values, reverse=True)


def test_players_have_independent_random_numbers_at_each_table():
    players = [Policies(LEDUC, random_policies(LEDUC, seed=i)) for i in (0, 0)]
    decks = []
    observers = [lambda tables, _: decks.append(tables.records["deck"])]
    first, second = (play_deals(LEDUC, players, 500, 1, observers, table)[:, 0] for table in (0, 1))
    assert (decks[0] == decks[1]).all()
    assert (first != second).mean() > 0.3


def test_differences_are_measured_on_the_same_deals():
    load = loader(LEDUC)
    # With two players, one wins what the other loses, so the difference is twice as much.
    ranking = play_tournament(LEDUC, {name: load(name) for name in ("raise", "uniform")})
    (gap,) = get_results(ranking, "behind").values()
    won = get_results(ranking, "won")[ranking.player_names[0]]
    assert gap.value == pytest.approx(2 * won.value)
    assert gap.half_width == pytest.approx(2 * won.half_width)
    # Equal players win the same in every deal, so the difference and its interval are zero.
    players = {"raise": load("raise"), "again": load("raise"), "uniform": load("uniform")}
    ranking = play_tournament(LEDUC, players)
    gap = ranking.find_result(ranking.player_names[1], "behind")
    assert (gap.value, gap.half_width) == (0, 0)
    assert get_results(ranking, "won")[ranking.player_names[0]].half_width > 0.01


@pytest.mark.parametrize(("players", "tables"), [(6, 1), (7, 7), (9, 3)])
def test_mixed_tables_seat_all_players_equally_often(players, tables):
    game = load_game("limit_holdem_6p")
    orders = assign_players_to_tables(game, players, "mixed", rounds=5, seed=3)
    assert len(orders) == 5 * tables
    assert all(len(set(order)) == 6 for order in orders)
    for start in range(0, len(orders), tables):  # the tables of a round
        seated = Counter(player for order in orders[start : start + tables] for player in order)
        assert set(seated.values()) == {6 * tables // players}
        assert len(seated) == players
    assert len(set(orders)) > 4  # line-ups differ between rounds
    assert orders == assign_players_to_tables(game, players, "mixed", rounds=5, seed=3)


def test_mixed_tournament_of_simple_bots_has_known_results():
    # A player that folds to every bet loses the ante at each table with one that always bets.
    load = loader(KUHN_3P)
    players = {name: load(name) for name in ("raise", "call", "fold")}
    ranking = play_tournament(KUHN_3P, players, table_kind="mixed", deals=500)
    won = {result.player: result for result in get_results(ranking, "won").values()}
    assert won["fold"].value == pytest.approx(-1)
    assert sum(result.value for result in won.values()) == pytest.approx(0, abs=1e-9)
    pair_values = [get_pair_results(ranking)["raise", other].value for other in ("call", "fold")]
    assert pair_values == [won["raise"].value] * 2  # all three play at one table
    assert not get_results(ranking, "elo")
    assert "at the tables where the column's sat too" in format_ranking_and_cross_table(ranking)


PAIRS = np.array([(a, b) for a in range(4) for b in range(a + 1, 4)])
TRUE_RATINGS = np.array([250.0, 50.0, -80.0, -220.0])


def sample_scores(deals, generator):
    """Return scores [pairs, deals]: 1 with Elo's probability 1 / (1 + 10 ** (-d / 400)), else 0."""
    difference = TRUE_RATINGS[PAIRS[:, 0]] - TRUE_RATINGS[PAIRS[:, 1]]
    prob = 1 / (1 + 10 ** (-difference / 400))
    return (generator.random((len(PAIRS), deals)) < prob[:, None]).astype(float)


def test_fit_elo_recovers_known_ratings():
    rating, influences = fit_elo_and_influences(
        PAIRS, sample_scores(20_000, np.random.default_rng(0)), 4
    )
    half_widths = [compute_half_width(influence) for influence in influences]
    # Two half-widths are four standard errors: a correct rating is hardly ever that far off.
    assert (abs(rating - TRUE_RATINGS) < 2 * np.array(half_widths)).all()
    assert max(half_widths) < 4
    rating, _ = fit_elo_and_influences(np.array([(0, 1)]), np.ones((1, 1000)), 2)
    assert rating[0] - rating[1] == pytest.approx(1320.5, abs=0.05)
