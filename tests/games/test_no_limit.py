"""Rules of no-limit poker: raises, all-ins, side pots, bet sizes, and invariants."""

from fractions import Fraction
from math import floor

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pyspiel
import pytest
import torch
from learner_contexts import cpu_context
from random_games import KINDS, NO_LIMIT, deal_tables, game, play

from poker_rl.config import ConfigError
from poker_rl.config.build import build
from poker_rl.config.option_files import load_option
from poker_rl.evaluation import nash_conv
from poker_rl.games import GameTree
from poker_rl.games.cards import parse_cards
from poker_rl.games.poker.table_dtypes import CALL, FOLD, RAISE
from poker_rl.games.tables import tables_from_records
from poker_rl.learning import LearnerServices, SharingAndSeatingSettings
from poker_rl.learning.buffers.insertion_rules import CircularInsertion
from poker_rl.learning.buffers.replay_buffer import ReplayBuffer

BOARD = "2c 7d 9h Js 4c"


def holdem(stacks, **changes):
    """Return no-limit hold'em with a seat for each stack and blinds of 1 and 2."""
    seats = len(stacks)
    blinds = [2, 1] if seats == 2 else [1, 2] + [0] * (seats - 2)
    openers = [1 if seats == 2 else 2 % seats, 0, 0, 0]
    settings = {"seats": seats, "blinds": blinds, "openers": openers, "stacks": stacks}
    return build({**load_option("game", "nolimit_holdem"), **settings, **changes}, "game")


def play_hand(definition, holes, *actions):
    """Return one table with these hole cards and the board `BOARD` after these actions."""
    deck = parse_cards(f"{holes} {BOARD}", definition.ranks, definition.suits)
    return deal_tables(definition, actions=actions, decks=np.array([deck], np.int8))


def get_legal(tables):
    return np.flatnonzero(tables.legal_mask()[0]).tolist()


def span(low, high):
    return list(range(low, high + 1))


TWO, THREE, FOUR = "As Ah Ks Kh", "As Ah Ks Kh Qs Qh", "As Ah Ks Kh Qs Qh Ts Th"


@pytest.mark.parametrize("as_pokerkit", [False, True])
def test_short_all_in_over_the_blinds_is_not_a_full_raise(as_pokerkit):
    """TDA rule example: a seat calls the blind, then another goes all-in below a full raise.

    The big blind, which has not acted yet, may raise by a whole blind. The seat that called may
    raise only after the big blind has raised.
    """
    settings = {"blinds": [2, 4, 0, 0], "min_bet": 4, "short_bets_reopen": as_pokerkit}
    definition = holdem([100, 100, 100, 7], **settings)
    tables = play_hand(definition, FOUR, CALL, 7, FOLD)
    assert get_legal(tables) == [FOLD, CALL, *span(11, 100)]
    tables.step(np.array([CALL]))
    assert tables.records["to_act"][0] == 2
    assert get_legal(tables) == [FOLD, CALL, *(span(11, 100) if as_pokerkit else [])]
    assert get_legal(play_hand(definition, FOUR, CALL, 7, FOLD, 11)) == [FOLD, CALL, *span(15, 100)]


@pytest.mark.parametrize("as_pokerkit", [False, True])
def test_short_first_bet_does_not_let_a_seat_that_checked_raise(as_pokerkit):
    """After an all-in for 3, where a bet is 4, only a seat that has not checked may raise."""
    definition = holdem([100, 5, 100], min_bet=4, short_bets_reopen=as_pokerkit)
    tables = play_hand(definition, THREE, CALL, CALL, CALL, CALL, 5)
    assert get_legal(tables) == [FOLD, CALL, *span(9, 100)]
    tables.step(np.array([CALL]))
    assert get_legal(tables) == [FOLD, CALL, *(span(9, 100) if as_pokerkit else [])]


def test_short_first_bets_that_add_up_to_a_full_bet_reopen_betting():
    """All-ins for 2 and then 4, where a bet is 4: a seat that checked before may raise."""
    tables = play_hand(holdem([100, 4, 6, 100], min_bet=4), FOUR, *[CALL] * 5, 4, 6, CALL)
    assert tables.records["to_act"][0] == 0
    assert get_legal(tables) == [FOLD, CALL, *span(10, 100)]


def test_bet_sizes_are_rounded_exactly():
    """2.01 times a pot of 50 is 100.5 chips; as a float it is less, and would be rounded down."""
    sizes = holdem([300, 300], bet_sizes=[2.01])
    tables = play_hand(sizes, TWO, CALL, CALL)
    for pot in range(4, 100, 2):
        tables.records["paid"][0, :2] = tables.records["price"] = pot // 2
        tables.records["to_act"], tables.records["raise_by"] = 0, 0
        expected_price = pot // 2 + floor(Fraction(201, 100) * pot + Fraction(1, 2))
        after = tables_from_records(sizes, tables.records.copy())
        after.step(np.array([RAISE]))
        assert after.records["price"][0] == expected_price


def test_bet_sizes_are_shares_of_the_pot_after_calling():
    sizes = holdem([200, 200], bet_sizes=[0.5, 1.0, "all_in"])
    names = [sizes.action_name(action) for action in range(sizes.action_count)]
    assert names == ["fold", "call", "raise_0.5", "raise_1", "raise_all_in"]
    for action, chips in zip((2, 3, 4), (4, 6, 200), strict=True):  # the pot is 4 after a call
        assert play_hand(sizes, TWO, action).records["price"][0] == chips
    for action, chips in zip((2, 3, 4), (12, 18, 200), strict=True):  # 12 after a call
        assert play_hand(sizes, TWO, 3, action).records["price"][0] == chips


@st.composite
def random_games(draw):
    stacks = draw(st.lists(st.integers(4, 400), min_size=2, max_size=9))
    sizes = st.lists(st.sampled_from([0.3, 0.5, 0.75, 1.0, 2.0]), unique=True).map(sorted)
    settings = {"ante": draw(st.integers(0, 1)), "min_bet": draw(st.integers(2, 9))}
    settings["bet_sizes"] = draw(sizes) + draw(st.sampled_from([[], ["all_in"]]))
    try:
        return holdem(stacks, **settings)
    except ConfigError:  # not a valid game
        hypothesis.reject()


def check_hands(game, hands, seed):
    tables, moves = play(game, hands, seed)
    assert (tables.payoffs().sum(1) == 0).all()
    for i, definition in enumerate(game.variant_games):
        check_variant(definition, tables, moves, tables.records["variant"] == i)


def check_variant(game, tables, moves, is_variant):
    stacks = np.array(game.starting_stacks)
    for move in moves:
        assert move.legal.any(1).all()
        row = np.flatnonzero(is_variant[move.rows])
        seat = move.records["to_act"][row]
        assert (move.records["paid"][row, seat] < stacks[seat]).all()
        assert not move.records["folded"][row, seat].any()
    won = tables.payoffs()[is_variant, : game.seats]
    paid = tables.records["paid"][is_variant, : game.seats]
    folded = tables.records["folded"][is_variant, : game.seats] != 0
    assert (won.sum(1) == 0).all()
    assert (paid <= stacks).all()
    assert (won >= -paid).all()
    assert (won[folded] == -paid[folded]).all()
    sizes = np.sort(paid, axis=1)
    assert (won <= np.minimum(paid.sum(1) - sizes[:, -1], sizes[:, -2] * game.seats)[:, None]).all()


@hypothesis.given(random_games(), st.integers(0, 2**32))
@hypothesis.settings(max_examples=150, derandomize=True)
def test_hands_with_random_stacks_keep_invariants(definition, seed):
    check_hands(definition, hands=20, seed=seed)


@pytest.mark.parametrize("name", [name for name in KINDS if name in NO_LIMIT])
def test_random_no_limit_hands_keep_invariants(name):
    check_hands(game(name), hands=500, seed=3)


def test_longest_hand_fits_into_its_record():
    """Nine seats raise by the minimum and call until the limit on actions forbids raises."""
    tables, turn = deal_tables(holdem([30_000] * 9)), 0
    while not tables.records["over"][0]:
        raises = np.flatnonzero(tables.legal_mask()[0, RAISE:])
        action = RAISE + raises[0] if len(raises) and turn % 8 == 0 else CALL
        tables.step(np.array([action]))
        turn += 1
    assert 140 < turn <= 192
    assert tables.payoffs().sum() == 0


def test_observation_scales_chips_by_the_largest_stack():
    definition = holdem([100, 50])
    tables = play_hand(definition, TWO, 6, 20)
    observation = tables.observe()[0]
    start = 2 * 4 * 8 * 2 + 4 * 52
    seat_1, seat_0, pot = np.split(observation[start:], [3, 6])
    assert observation.dtype == np.float32
    assert seat_1 * 100 == pytest.approx([6, 44, 100])
    assert seat_0 * 100 == pytest.approx([20, 80, 100])
    assert pot * 100 == pytest.approx([26, 20, 14])
    own, opponent = observation[: start - 4 * 52].reshape(2, 4, 8, 2)[:, 0, :3] * 100
    assert own == pytest.approx(np.array([[0, 1], [6, 0], [0, 0]]))  # blind of 1, raise to 6
    assert opponent == pytest.approx(np.array([[2, 0], [0, 0], [20, 0]]))


def test_observe_history_of_a_no_limit_hand():
    """Rows: seat [2], street [4], fold/call/raise [3], chips put in, stack, share of it left."""
    steps, lengths = play_hand(holdem([100, 50]), TWO, 6, CALL).observe_history()
    assert lengths.tolist() == [4]
    assert steps[0].tolist() == [
        pytest.approx([1, 0, 1, 0, 0, 0, 0, 0, 1, 0.02, 1.0, 0.98]),
        pytest.approx([0, 1, 1, 0, 0, 0, 0, 1, 0, 0.01, 0.5, 0.98]),
        pytest.approx([0, 1, 1, 0, 0, 0, 0, 0, 1, 0.05, 0.5, 0.88]),
        pytest.approx([1, 0, 1, 0, 0, 0, 0, 1, 0, 0.04, 1.0, 0.94]),
    ]


def test_nash_conv_of_uniform_play_matches_openspiel():
    tree = GameTree(game("nolimit_leduc"))
    settings = {"betting": "nolimit", "bettingAbstraction": "fullgame", "stack": "6 6"}
    settings |= {"numPlayers": 2, "numRounds": 2, "blind": "1 1", "firstPlayer": "1 1"}
    settings |= {"numSuits": 2, "numRanks": 3, "numHoleCards": 1, "numBoardCards": "0 1"}
    openspiel_game = pyspiel.load_game("universal_poker", settings)
    expected = pyspiel.nash_conv(openspiel_game, pyspiel.UniformRandomPolicy(openspiel_game))
    assert nash_conv(tree, tree.build_uniform_policy()) == pytest.approx(expected, abs=1e-9)


def test_replay_buffer_stores_observed_chips_precisely():
    """Stored features of chips differ from observed ones by at most 1/2,048."""
    definition = game("nolimit_holdem_sizes")
    tables, _ = play(definition, 1, seed=6)
    seats = SharingAndSeatingSettings(network_sharing="shared", instances=1, seating="fixed")
    context = cpu_context(definition, build(load_option("net", "mlp_small"), "net"))
    column = LearnerServices(context, seats, tables_per_instance=4).observation_column
    buffer = ReplayBuffer("m", 1, CircularInsertion(), {"seen": column}, torch.device("cpu"), 0)
    buffer.add(np.zeros(1, np.int64), seen=tables.observe())
    stored = buffer.sample(1)["seen"][0, 0].float().numpy()
    assert np.abs(stored - tables.observe()[0]).max() <= 1 / 2048
    assert len(np.unique(stored)) > 3


@pytest.mark.parametrize(
    ("name", "actions"),
    [("call", [CALL, CALL]), ("fold", [FOLD, FOLD]), ("raise", [4, 10]), ("all_in", [200, 200])],
)
def test_simple_bots_choose_the_expected_no_limit_actions(name, actions):
    definition = game("nolimit_holdem")
    bot = build(load_option("player", name), "player", game=definition)
    for tables, action in zip(
        [play_hand(definition, TWO), play_hand(definition, TWO, 6)], actions, strict=True
    ):
        assert np.flatnonzero(bot.action_probs(tables.records)[0]).tolist() == [action]
