"""Duplicate matches, mixed tables and variance reduction against exactly known values."""

import numpy as np
import pytest
from big2_tables import BIG2
from evaluations import HOLDEM, KUHN, KUHN_3P, LEDUC, Policies, evaluation, loader, random_policies

from poker_rl.config import ConfigError
from poker_rl.evaluation import Result
from poker_rl.evaluation.matches import duplicate_match
from poker_rl.evaluation.matches.duplicate_match import (
    compute_exact_match_values,
    compute_half_width,
    play_deals,
    play_match,
    play_mixed_table,
)
from poker_rl.evaluation.matches.winnings_and_playing_style import (
    STYLE_UNITS,
    StyleCounter,
    measure_winnings_and_style,
)
from poker_rl.evaluation.variance_reduction.aivat import add_control_variates
from poker_rl.games import Tables, get_tree, load_game
from poker_rl.games.poker.table_dtypes import CALL, FOLD, RAISE


def exactly(game, *players):
    return compute_exact_match_values(get_tree(game), players)


def test_exact_values_of_bots():
    kuhn, leduc = loader(KUHN), loader(LEDUC)
    # Against one who always bets and calls the equilibrium at alpha 1/3 wins, holding J, Q, K,
    # -4/3, -1/3, 2 as first player and -1, -2/3, 2 as second: 1/9 a hand in either seat.
    assert exactly(KUHN, kuhn("equilibrium"), kuhn("raise")) == pytest.approx([1 / 9, -1 / 9])
    # Whoever folds to every bet loses his ante.
    assert exactly(LEDUC, leduc("raise"), leduc("fold")) == pytest.approx([1, -1])
    assert exactly(KUHN, kuhn("raise"), kuhn("call")) == pytest.approx([0, 0])


def test_each_deal_of_four_is_played_in_each_of_the_seats():
    seen = []
    load = loader(BIG2)
    players = [load("lowest"), *[load("uniform")] * 3]
    blocks = play_deals(BIG2, players, 40, seed=0, observers=[lambda *hands: seen.append(hands)])
    ((tables, rotation),) = seen
    assert rotation.tolist() == [0, 1, 2, 3] * 40
    decks = tables.records["deck"].reshape(40, 4, 52)
    assert (decks == decks[:, :1]).all()
    assert len(np.unique(decks[:, 0], axis=0)) == 40
    won = tables.payoffs()[np.arange(160), rotation].reshape(40, 4)
    np.testing.assert_allclose(blocks[:, 0], won.mean(1))
    assert won.sum() > 0  # the player of these seats is the one that beats uniform play


def test_folding_loses_750_mbb_a_hand():
    load = loader(HOLDEM)
    result = play_match(HOLDEM, load("fold"), load("raise"), "raise", 100, seed=0)
    assert (result.value, result.half_width) == (pytest.approx(-750), 0)
    assert (result.unit, result.kind) == ("mbb/hand", "against raise")


def test_more_deals_than_tables(monkeypatch):
    monkeypatch.setattr(duplicate_match, "MAX_TABLES", 64)
    one, two = (Policies(LEDUC, random_policies(LEDUC, seed=seed)) for seed in (1, 2))
    decks = []
    look = [lambda tables, _: decks.append(tables.records["deck"][:, :3].copy())]
    blocks = play_deals(LEDUC, [one, two], 1000, seed=0, observers=look)[:, 0]
    assert len(blocks) == 1000
    assert len(np.unique(np.concatenate(decks), axis=0)) == 120
    assert abs(blocks.mean() - exactly(LEDUC, one, two)[0]) < 2 * compute_half_width(blocks)


def test_half_width_is_students():
    # t(29) = 2.04523, ours 2.0418; the blocks' standard deviation is 1.
    blocks = np.resize([1.0, -1.0], 30) * np.sqrt(29 / 30)
    assert compute_half_width(blocks) == pytest.approx(2.04523 / np.sqrt(30), rel=2e-3)


@pytest.mark.parametrize(
    ("game", "order"), [(LEDUC, "ab"), (KUHN_3P, "abc"), (KUHN_3P, "aba")], ids=str
)
def test_the_intervals_of_a_table_hold_the_exact_values(game, order):
    tree = get_tree(game)
    players = {name: Policies(game, random_policies(game, seed=ord(name))) for name in order}
    results = play_mixed_table(game, tree, list(order), players, 20_000, seed=0)
    seats, winnings, exact = results[::3], results[1::3], results[2::3]
    names = sorted(set(order))
    assert [result.player for result in results] == [name for name in names for _ in range(3)]
    assert [result.value for result in seats] == [order.count(name) for name in names]
    for won, truth in zip(winnings, exact, strict=True):
        # Two half widths are four standard errors: only a wrong mean is that far.
        assert abs(won.value - truth.value) < 2 * won.half_width
        assert won.half_width < 0.1
    for column in (winnings, exact):
        total = sum(n.value * one.value for n, one in zip(seats, column, strict=True))
        assert total == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("game", [LEDUC, KUHN_3P], ids=lambda game: game.name)
def test_the_interval_holds_the_exact_value_and_is_narrower(game):
    one, two = (Policies(game, random_policies(game, seed=seed)) for seed in (1, 2))
    others = [two] * (game.seats - 1)
    truth = exactly(game, one, *others)[0]
    found = play_match(game, one, two, "two", 2000, seed=0, use_aivat=True)
    assert abs(found.value - truth) < 2 * found.half_width  # four standard errors
    raw = play_deals(game, [one, *others], 2000, seed=0)[:, 0]
    assert found.half_width < 0.9 * compute_half_width(raw)


def test_95_in_100_reduced_intervals_hold_the_exact_value():
    one, two = (Policies(KUHN, random_policies(KUHN, seed=seed)) for seed in (1, 2))
    truth, runs, held = exactly(KUHN, one, two)[0], 200, 0
    for seed in range(runs):
        found = play_match(KUHN, one, two, "two", 100, seed, use_aivat=True)
        held += abs(found.value - truth) <= found.half_width
    # Four standard deviations of a binomial count: sqrt(.95 * .05 / 200) = .0154.
    assert held / runs == pytest.approx(0.95, abs=4 * 0.0154)


def test_results_have_no_part_in_their_own_weights():
    generator = np.random.default_rng(0)
    columns = generator.normal(size=(4000, 3))
    blocks = columns @ [2.0, -1.0, 0.0] + generator.normal(size=4000)
    out = add_control_variates(blocks, columns, np.zeros(3), np.full(3, 0.1))
    assert out.std() < 1.1 < blocks.std()
    moved = blocks.copy()
    moved[:2000] *= -3
    again = add_control_variates(moved, columns, np.zeros(3), np.full(3, 0.1))
    np.testing.assert_allclose(again[:2000] - moved[:2000], out[:2000] - blocks[:2000])
    assert np.abs(again[2000:] - out[2000:]).max() > 1


@pytest.mark.parametrize("spread", [1e-17, 1e-5, 1e-3])
def test_columns_that_hardly_vary_in_one_half_get_small_weights(spread):
    """Rounding, or a hand so rare that one half has not seen it."""
    generator = np.random.default_rng(0)
    columns = generator.normal(size=(400, 1))
    columns[:200] *= spread
    blocks = 10 * generator.normal(size=400)
    out = add_control_variates(blocks, columns, np.zeros(1), np.array([0.1]))
    assert np.abs(out - blocks).max() < 5


def test_a_reduction_that_a_game_has_not_is_refused():
    why = "variance_reduction: aivat knows how the cards of poker come, not those of big2"
    with pytest.raises(ConfigError, match=why):
        evaluation(load_game("big2"), opponents=[], variance_reduction="aivat")


ACTIONS = {"f": FOLD, "c": CALL, "r": RAISE}


def count(*hands):
    """The styles of hands, each the player's seat and the actions, such as `0 rf`, by player."""
    tables = Tables(HOLDEM, len(hands), seed=0)
    tables.deal()
    for row, hand in enumerate(hands):
        for letter in hand.split()[1]:
            tables.step(np.array([ACTIONS[letter]]), np.array([row]))
    assert tables.records["over"].all()
    before, counted, found = tables.records.copy(), StyleCounter(), {}
    counted.add_hands(tables, np.array([int(hand.split()[0]) for hand in hands]))
    assert (tables.records == before).all()
    for result in counted.list_style_results("us", "them"):
        found.setdefault(result.player, {})[result.measure] = result.value
    return {player: tuple(map(values.get, STYLE_UNITS)) for player, values in found.items()}


@pytest.mark.parametrize(
    ("hand", "button", "big_blind"),
    [
        ("1 f", (1, 0, 0, None, 0), (1, 0, 0, None, 0)),
        # Completing the small blind is a call of one's own will, checking the big blind is not.
        ("1 cccccccc", (1, 1, 0, 0, 1), (1, 0, 0, None, 1)),
        ("1 rf", (1, 1, 1, None, 0), (1, 0, 0, None, 0)),
        ("1 rc" + "cc" * 3, (1, 1, 1, None, 1), (1, 1, 0, 0, 1)),
        ("1 crc" + "cc" * 3, (1, 1, 0, 0, 1), (1, 1, 1, None, 1)),
        # Raises before the flop count once as PFR, and all of them as aggression.
        ("1 rrrc" + "cc" * 3, (1, 1, 1, None, 1), (1, 1, 1, 1, 1)),
        # A bet on the flop and a raise of it: no call of the button's, whose opponent folds.
        ("1 cc" + "rrf", (1, 1, 0, 1, 0), (1, 0, 0, None, 0)),
        ("1 cc" + "crc" + "cc" + "crc", (1, 1, 0, 2, 1), (1, 0, 0, 0, 1)),
    ],
)
def test_one_hand(hand, button, big_blind):
    styles = count(hand)
    assert styles["us"] == pytest.approx(button)
    assert styles["them"] == pytest.approx(big_blind)


def won_and_hands_won(game, player, other, deals):
    load = loader(game)
    match = measure_winnings_and_style(
        game, None, player, load(player), other, load(other), deals, 0, None
    )
    return match[0]


def test_a_player_that_always_bets_wins_every_hand_of_one_that_folds():
    winnings, hands_won = won_and_hands_won(KUHN_3P, "raise", "fold", 50)
    assert winnings.value == 2
    assert hands_won == Result("raise", "hands_won/fold", 1, 0, "of hands", "against fold", 50)
    assert won_and_hands_won(HOLDEM, "fold", "raise", 50)[1].value == 0


def test_the_interval_of_hands_won_is_that_of_a_share():
    _, hands_won = won_and_hands_won(BIG2, "lowest", "uniform", 100)
    # A share p of n hands deviates by sqrt(p (1 - p) / n); those of a deal are nearly independent.
    p = hands_won.value
    assert hands_won.half_width == pytest.approx(1.96 * (p * (1 - p) / 400) ** 0.5, rel=0.4)
