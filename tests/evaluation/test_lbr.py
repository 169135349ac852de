"""Local best response (LBR): known values, and equality with an enumeration of all deals."""

from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest
from evaluations import Policies, loader, random_policies
from random_games import deal_tables, game
from toy_games import kuhn, leduc

from poker_rl.config import ConfigError
from poker_rl.evaluation import compute_best_response_values, compute_seat_values, play_match
from poker_rl.evaluation.best_response.exploitability_lower_bounds import (
    compute_best_response_bound,
    compute_lbr_bound,
)
from poker_rl.evaluation.best_response.lbr import LocalBestResponse, ResponderPlay
from poker_rl.games import get_tree
from poker_rl.games.poker.table_dtypes import CALL, FOLD, RAISE
from poker_rl.games.public import expected_win_margins
from poker_rl.games.public.ranges import PrivateHands
from poker_rl.games.tables import tables_from_records
from poker_rl.players.bots.basic_bots import UniformBot

HOLDEM = game("limit_holdem")


class HalfRaise(UniformBot):
    """Bot that calls and raises equally often, and never folds."""

    def legal_mask(self, records):
        legal = super().legal_mask(records)
        legal[:, FOLD] = False
        return legal


@pytest.mark.parametrize(
    ("player", "least", "most"),
    [
        ("fold", 750, 750),
        ("call", 1163.48, 1163.48),  # calls, as LBR assumes, so the bound is exact
        ("raise", 3300, 3697.69),  # about 9/10 of the exact value or more
        (HalfRaise(game=HOLDEM), 2100, 2406.55),
    ],
    ids=["fold", "call", "raise", "half_raise"],
)
def test_lbr_bound_in_limit_holdem_agrees_with_published_values(player, least, most, monkeypatch):
    """`most` is exact, in mbb/hand (Johanson et al., IJCAI 2011); intervals are around ± 200."""
    # Fewer boards are sampled before the flop than usual, to save time.
    monkeypatch.setattr(expected_win_margins, "SAMPLED_BOARD_COUNT", 300)
    player = loader(HOLDEM)(player) if isinstance(player, str) else player
    won = compute_lbr_bound(HOLDEM, player, "it", 1920, seed=2)
    assert (won.unit, won.kind) == ("mbb/hand", "lower_bound")
    assert least - won.half_width <= won.value <= most + won.half_width
    assert won.half_width < 500


def check_to_showdown(tables):
    """Return what each seat wins if both check or call to the end, [B, seats]."""
    while len(rows := np.flatnonzero(tables.records["over"] == 0)):
        tables.step(np.full(len(rows), CALL), rows)
    return tables.payoffs()


def enumerate_value(definition, policy):
    """Return the exact values of LBR and best response to a policy [I, A], as means over seats.

    Each decision of the LBR is found by enumerating all deals in its information set.
    """
    tree, deals = get_tree(definition), definition.list_deals()
    value = 0.0
    for seat in (0, 1):
        lbr_policy = policy.copy()
        for infoset in np.flatnonzero(tree.infoset_seat == seat):
            record = tree.infoset_records[infoset]
            known = [seat, *range(2, 2 + int(definition.definitions[0]["shown"][record["street"]]))]
            possible = deals[(deals[:, known] == record["deck"][known]).all(1)]
            tables = deal_tables(definition, len(possible), decks=possible)
            weight = np.ones(len(possible))
            for action in record["line"][: record["moves"]]:
                if tables.records["to_act"][0] != seat:
                    weight *= policy[tree.lookup_infosets(tables.records), action]
                tables.step(np.full(len(possible), action))
            before = tables.records.copy()

            def play(*actions, before=before):
                played = tables_from_records(definition, before.copy())
                for action in actions:
                    played.step(np.full(len(before), action))
                return played

            legal = np.flatnonzero(tree.legal_mask[infoset])
            raises = legal[legal >= RAISE]
            if definition.raise_size_options == [] and len(raises):
                price = int(record["price"])  # chips of each seat after a call
                targets = [raises[0], raises[-1], 2 * price, 3 * price]
                raises = np.unique(np.clip(targets, raises[0], raises[-1]))
            winnings = {CALL: check_to_showdown(play(CALL))[:, seat]}
            if FOLD in legal:
                winnings[FOLD] = play(FOLD).payoffs()[:, seat]
            for action in raises:
                raised = play(action)
                folds = policy[tree.lookup_infosets(raised.records), FOLD]
                folded = play(action, FOLD).payoffs()[:, seat]
                winnings[action] = folds * folded + (1 - folds) * check_to_showdown(raised)[:, seat]
            lbr_policy[infoset] = 0
            lbr_policy[infoset, max(winnings, key=lambda action: weight @ winnings[action])] = 1
        mixed = np.where((tree.infoset_seat == seat)[:, None], lbr_policy, policy)
        value += compute_seat_values(tree, mixed)[seat] / 2
    return value, compute_best_response_values(tree, policy).mean()


def compute_mean_winnings(play, seat, hand_row, line=()):
    """Return mean winnings after the player's actions `line`, times the probability of `line`."""
    moves, probability = iter(line), 1.0

    def next_of_line(state, hand_rows):
        nonlocal probability
        (probs,) = play.compute_mean_player_probs(state, hand_rows)
        action = next(moves, None)
        if action is None:
            raise StopIteration(np.flatnonzero(probs))
        probability *= probs[action]
        return np.array([action])

    play.sample_mean_policy_actions = next_of_line
    try:
        (won,) = play.play_hands(seat, np.array([hand_row]))
        return probability * won
    except StopIteration as stop:
        return sum(compute_mean_winnings(play, seat, hand_row, (*line, a)) for a in stop.value)


NO_LIMIT_LEDUC = replace(game("nolimit_leduc"), stacks=4)
# One card each, no board. The larger blind acts first; after it checks, the other has yet to call.
BLINDS = {"ante": 0, "blinds": [2, 1], "openers": [0, 1], "stacks": [3, 7], "min_bet": 3}
CARDS = {"name": "larger_blind_opens", "ranks": "QKA", "suits": "s", "board_cards": [0, 0]}
LARGER_BLIND_OPENS = replace(game("nolimit_leduc"), **BLINDS, **CARDS)


@pytest.mark.parametrize(
    "definition", [kuhn(), leduc(), NO_LIMIT_LEDUC, LARGER_BLIND_OPENS], ids=lambda game: game.name
)
def test_mean_winnings_of_the_responder_equal_the_enumerated_value(definition):
    """The responder's play averages over the player's hands, which must not bias its winnings."""
    (policy,) = random_policies(definition, seed=1)
    policy = policy**4 / (policy**4).sum(1, keepdims=True)  # so that actions reveal the hand
    player = Policies(definition, [policy])
    player.is_suit_invariant = False
    responder, hands = LocalBestResponse(definition, player, 0), PrivateHands(definition)
    means = []
    for board in combinations(range(definition.deck_size), sum(definition.board_cards)):
        cards = np.array(board, np.int64)
        play = ResponderPlay(responder, cards, np.flatnonzero(hands.mask_compatible_hands(cards)))
        for seat, hand_row in product((0, 1), range(definition.deck_size - len(cards))):
            means.append(compute_mean_winnings(play, seat, hand_row))
    assert np.mean(means) == pytest.approx(enumerate_value(definition, policy)[0], abs=1e-6)


@pytest.mark.parametrize("definition", [leduc(), game("nolimit_leduc")], ids=lambda game: game.name)
def test_lbr_interval_contains_the_enumerated_value(definition):
    (policy,) = random_policies(definition, seed=5)
    exact, best = enumerate_value(definition, policy)
    assert 0.3 * best < exact <= best + 1e-12
    player = Policies(definition, [policy])
    player.is_suit_invariant = False
    won = compute_lbr_bound(definition, player, "random", 1000, seed=0)
    scale = 1 / definition.unit_chips
    assert won.value == pytest.approx(exact * scale, abs=won.half_width)
    assert won.half_width < 0.25 * exact * scale


ONE_CARD_FIRST = replace(leduc(), name="one_card_first", board_cards=[1, 1])


@pytest.mark.parametrize("definition", [leduc(), NO_LIMIT_LEDUC, ONE_CARD_FIRST])
def test_sampled_boards_do_not_raise_the_lbr_bound(definition, monkeypatch):
    """The LBR to `call` is a best response, so choosing by a single board can only win less."""
    for name in ("MAX_ENUMERATED_BOARDS", "SAMPLED_BOARD_COUNT"):
        monkeypatch.setattr(expected_win_margins, name, 1)
    player = loader(definition)("call")
    won = [LocalBestResponse(definition, player, s).play_random_board(4) for s in range(300)]
    policy = np.eye(definition.action_count)[np.full(get_tree(definition).infoset_count, CALL)]
    assert np.mean(won) < enumerate_value(definition, policy)[0] + 4 * np.std(won) / len(won) ** 0.5


def test_win_margins_average_over_boards():
    """Two aces win 81.95 % of the pots from two kings.

    On a flop of A, 3 and 2, of 990 boards, the aces lose on the one with both other kings, and tie
    on the 16 with a four and a five, where the best hand is the straight on the board.
    """
    hands, generator = PrivateHands(HOLDEM), np.random.default_rng(0)
    row_of_hand = {tuple(hand): i for i, hand in enumerate(hands.hands.tolist())}
    aces, kings = row_of_hand[48, 49], row_of_hand[44, 45]
    rows, no_board = np.array([aces]), np.array([], np.int64)
    (margins,) = expected_win_margins.compute_win_margins(HOLDEM, hands, rows, no_board, generator)
    assert (1 + margins[kings]) / 2 == pytest.approx(0.8195, abs=0.04)  # 2,000 sampled boards
    flop = np.array([0, 5, 50])  # a deuce, a three of another suit and an ace
    (on_flop,) = expected_win_margins.compute_win_margins(HOLDEM, hands, rows, flop, generator)
    assert on_flop[kings] == pytest.approx(1 - (2 * 1 + 16) / 990)
    assert on_flop[row_of_hand[48, 51]] == 0  # the hands share a card


@pytest.mark.parametrize("name", ["limit_holdem_3p", "limit_holdem_2to9", "big2"])
def test_lbr_refuses_games_other_than_two_player_poker(name):
    with pytest.raises(ConfigError, match=f"{name} is not poker for two players"):
        LocalBestResponse(game(name), loader(leduc())("call"), 0)


def test_best_trained_response_is_measured_in_a_second_match():
    """The match that chooses the response has other deals than the one that measures it."""
    definition = leduc()
    load = loader(definition)
    bots = {name: load(name) for name in ("fold", "raise", "call")}
    player = load("uniform")
    bound = compute_best_response_bound(definition, player, "uniform", bots, 200, seed=3)
    responder = bots[bound.measure.removeprefix("bound/")]
    won = [play_match(definition, bot, player, "uniform", 200, 3).value for bot in bots.values()]
    chosen = play_match(definition, responder, player, "uniform", 200, 3)
    assert chosen.value == max(won)
    assert bound.value != chosen.value
    fold = {"fold": bots["fold"]}
    fold_bound = compute_best_response_bound(definition, player, "uniform", fold, 200, seed=3)
    assert fold_bound.value < 0
    assert fold_bound.kind == "lower_bound, vacuous"
