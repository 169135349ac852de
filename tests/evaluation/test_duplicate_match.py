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


def evaluate(game, *players):
    return compute_exact_match_values(get_tree(game), players)


def test_exact_match_values_of_simple_bots():
    kuhn, leduc = loader(KUHN), loader(LEDUC)
    # Against a player that always bets and calls, the equilibrium that bets a jack with probability
    # 1/3 wins -4/3, -1/3, 2 with J, Q, K in seat 0 and -1, -2/3, 2 in seat 1: 1/9 a hand in either.
    assert evaluate(KUHN, kuhn("equilibrium"), kuhn("raise")) == pytest.approx([1 / 9, -1 / 9])
    # A player that folds to every bet loses the ante.
    assert evaluate(LEDUC, leduc("raise"), leduc("fold")) == pytest.approx([1, -1])
    assert evaluate(KUHN, kuhn("raise"), kuhn("call")) == pytest.approx([0, 0])


def test_each_big2_deal_is_played_from_all_four_seats():
    seen, load = [], loader(BIG2)
    players = [load("lowest"), *[load("uniform")] * 3]
    blocks = play_deals(BIG2, players, 40, seed=0, observers=[lambda *hands: seen.append(hands)])
    ((tables, rotation),) = seen
    assert rotation.tolist() == [0, 1, 2, 3] * 40
    decks = tables.records["deck"].reshape(40, 4, 52)
    assert (decks == decks[:, :1]).all()
    assert len(np.unique(decks[:, 0], axis=0)) == 40
    won = tables.payoffs()[np.arange(160), rotation].reshape(40, 4)
    np.testing.assert_allclose(blocks[:, 0], won.mean(1))
    assert won.sum() > 0  # these are the seats of `lowest`, which beats uniform


def test_folding_loses_750_mbb_a_hand():
    load = loader(HOLDEM)
    result = play_match(HOLDEM, load("fold"), load("raise"), "raise", 100, seed=0)
    assert (result.value, result.half_width) == (pytest.approx(-750), 0)
    assert (result.unit, result.kind) == ("mbb/hand", "against raise")


def test_match_with_more_deals_than_tables_has_the_exact_mean(monkeypatch):
    monkeypatch.setattr(duplicate_match, "MAX_TABLES", 64)
    player, other = (Policies(LEDUC, random_policies(LEDUC, seed=seed)) for seed in (1, 2))
    decks = []
    observers = [lambda tables, _: decks.append(tables.records["deck"][:, :3].copy())]
    blocks = play_deals(LEDUC, [player, other], 1000, seed=0, observers=observers)[:, 0]
    assert len(blocks) == 1000
    assert len(np.unique(np.concatenate(decks), axis=0)) == 120
    assert abs(blocks.mean() - evaluate(LEDUC, player, other)[0]) < 2 * compute_half_width(blocks)


def test_half_width_uses_students_t_distribution():
    # The exact quantile t(29) is 2.04523, the approximation 2.0418. The blocks have sd 1.
    blocks = np.resize([1.0, -1.0], 30) * np.sqrt(29 / 30)
    assert compute_half_width(blocks) == pytest.approx(2.04523 / np.sqrt(30), rel=2e-3)


@pytest.mark.parametrize(
    ("game", "order"), [(LEDUC, "ab"), (KUHN_3P, "abc"), (KUHN_3P, "aba")], ids=str
)
def test_mixed_table_intervals_contain_the_exact_values(game, order):
    tree = get_tree(game)
    players = {name: Policies(game, random_policies(game, seed=ord(name))) for name in order}
    results = play_mixed_table(game, tree, list(order), players, 20_000, seed=0)
    seats, winnings, exact = results[::3], results[1::3], results[2::3]
    names = sorted(set(order))
    assert [result.player for result in results] == [name for name in names for _ in range(3)]
    assert [result.value for result in seats] == [order.count(name) for name in names]
    for won, exact_result in zip(winnings, exact, strict=True):
        # Two half-widths are four standard errors: a correct mean is hardly ever that far off.
        assert abs(won.value - exact_result.value) < 2 * won.half_width
        assert won.half_width < 0.1
    for column in (winnings, exact):
        total = sum(n.value * mean.value for n, mean in zip(seats, column, strict=True))
        assert total == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("game", [LEDUC, KUHN_3P], ids=lambda game: game.name)
def test_aivat_interval_contains_the_exact_value_and_is_narrower(game):
    player, other = (Policies(game, random_policies(game, seed=seed)) for seed in (1, 2))
    others = [other] * (game.seats - 1)
    exact = evaluate(game, player, *others)[0]
    result = play_match(game, player, other, "two", 2000, seed=0, use_aivat=True)
    assert abs(result.value - exact) < 2 * result.half_width  # four standard errors
    raw = play_deals(game, [player, *others], 2000, seed=0)[:, 0]
    assert result.half_width < 0.9 * compute_half_width(raw)


def test_95_percent_of_aivat_intervals_contain_the_exact_value():
    player, other = (Policies(KUHN, random_policies(KUHN, seed=seed)) for seed in (1, 2))
    exact, runs, covered = evaluate(KUHN, player, other)[0], 200, 0
    for seed in range(runs):
        result = play_match(KUHN, player, other, "two", 100, seed, use_aivat=True)
        covered += abs(result.value - exact) <= result.half_width
    # Tolerance: four standard deviations of a binomial share, sqrt(.95 * .05 / 200) = .0154.
    assert covered / runs == pytest.approx(0.95, abs=4 * 0.0154)


def test_control_variate_weights_come_from_the_other_half_of_blocks():
    generator = np.random.default_rng(0)
    columns = generator.normal(size=(4000, 3))
    blocks = columns @ [2.0, -1.0, 0.0] + generator.normal(size=4000)
    adjusted = add_control_variates(blocks, columns, np.zeros(3), np.full(3, 0.1))
    assert adjusted.std() < 1.1 < blocks.std()
    changed = blocks.copy()
    changed[:2000] *= -3
    after = add_control_variates(changed, columns, np.zeros(3), np.full(3, 0.1))
    np.testing.assert_allclose(after[:2000] - changed[:2000], adjusted[:2000] - blocks[:2000])
    assert np.abs(after[2000:] - adjusted[2000:]).max() > 1


@pytest.mark.parametrize("spread", [1e-17, 1e-5, 1e-3])
def test_control_variates_almost_constant_in_one_half_get_small_weights(spread):
    """A column is almost constant by rounding, or if a rare hand occurs in one half only."""
    generator = np.random.default_rng(0)
    columns = generator.normal(size=(400, 1))
    columns[:200] *= spread
    blocks = 10 * generator.normal(size=400)
    adjusted = add_control_variates(blocks, columns, np.zeros(1), np.array([0.1]))
    assert np.abs(adjusted - blocks).max() < 5


def test_aivat_for_big2_is_refused():
    message = "variance_reduction: aivat knows how the cards of poker come, not those of big2"
    with pytest.raises(ConfigError, match=message):
        evaluation(load_game("big2"), opponents=[], variance_reduction="aivat")


ACTIONS = {"f": FOLD, "c": CALL, "r": RAISE}


def count_styles(*hands):
    """Return style statistics of both players in hands such as `0 rf`: seat of "us", actions."""
    tables = Tables(HOLDEM, len(hands), seed=0)
    tables.deal()
    for row, hand in enumerate(hands):
        for letter in hand.split()[1]:
            tables.step(np.array([ACTIONS[letter]]), np.array([row]))
    assert tables.records["over"].all()
    before, counter, styles = tables.records.copy(), StyleCounter(), {}
    counter.add_hands(tables, np.array([int(hand.split()[0]) for hand in hands]))
    assert (tables.records == before).all()
    for result in counter.list_style_results("us", "them"):
        styles.setdefault(result.player, {})[result.measure] = result.value
    return {player: tuple(map(values.get, STYLE_UNITS)) for player, values in styles.items()}


@pytest.mark.parametrize(
    ("hand", "button", "big_blind"),
    [
        ("1 f", (1, 0, 0, None, 0), (1, 0, 0, None, 0)),
        # Completing the small blind is a voluntary call, checking the big blind is not.
        ("1 cccccccc", (1, 1, 0, 0, 1), (1, 0, 0, None, 1)),
        ("1 rf", (1, 1, 1, None, 0), (1, 0, 0, None, 0)),
        ("1 rc" + "cc" * 3, (1, 1, 1, None, 1), (1, 1, 0, 0, 1)),
        ("1 crc" + "cc" * 3, (1, 1, 0, 0, 1), (1, 1, 1, None, 1)),
        # Raises before the flop count once as PFR, and all of them as aggression.
        ("1 rrrc" + "cc" * 3, (1, 1, 1, None, 1), (1, 1, 1, 1, 1)),
        # On the flop the big blind bets, the button raises, and the big blind folds.
        ("1 cc" + "rrf", (1, 1, 0, 1, 0), (1, 0, 0, None, 0)),
        ("1 cc" + "crc" + "cc" + "crc", (1, 1, 0, 2, 1), (1, 0, 0, 0, 1)),
    ],
)
def test_style_statistics_of_one_hand(hand, button, big_blind):
    styles = count_styles(hand)
    assert styles["us"] == pytest.approx(button)
    assert styles["them"] == pytest.approx(big_blind)


def measure_winnings_and_hands_won(game, player, other, deals):
    load = loader(game)
    match = measure_winnings_and_style(
        game, None, player, load(player), other, load(other), deals, 0, None
    )
    return match[0]


def test_always_betting_wins_every_hand_from_always_folding():
    winnings, hands_won = measure_winnings_and_hands_won(KUHN_3P, "raise", "fold", 50)
    assert winnings.value == 2
    assert hands_won == Result("raise", "hands_won/fold", 1, 0, "of hands", "against fold", 50)
    assert measure_winnings_and_hands_won(HOLDEM, "fold", "raise", 50)[1].value == 0


def test_interval_of_hands_won_is_binomial():
    _, hands_won = measure_winnings_and_hands_won(BIG2, "lowest", "uniform", 100)
    # Hands are nearly independent: a share p of n has the standard error sqrt(p (1 - p) / n).
    p = hands_won.value
    assert hands_won.half_width == pytest.approx(1.96 * (p * (1 - p) / 400) ** 0.5, rel=0.4)
