"""Local best response: known values, and equality with one that goes through every deal."""

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
from poker_rl.games.public import pairwise_win_margins
from poker_rl.games.public.ranges import Ranges
from poker_rl.games.tables import tables_from_records
from poker_rl.players.bots.basic_bots import UniformBot

HOLDEM = game("limit_holdem")


class HalfRaise(UniformBot):
    """Calls and raises equally often."""

    def legal_mask(self, records):
        legal = super().legal_mask(records)
        legal[:, FOLD] = False
        return legal


@pytest.mark.parametrize(
    ("player", "least", "most"),
    [
        ("fold", 750, 750),
        ("call", 1163.48, 1163.48),  # to check and call is all it does, so local is global
        ("raise", 3300, 3697.69),  # nine tenths, so that a responder that errs is noticed
        (HalfRaise(game=HOLDEM), 2100, 2406.55),
    ],
    ids=["fold", "call", "raise", "half"],
)
def test_limit_holdem_is_bounded_by_what_is_known(player, least, most, monkeypatch):
    """Exact values in mbb a hand, Johanson et al., IJCAI 2011; the intervals are around ± 200."""
    # Before the flop; more take longer.
    monkeypatch.setattr(pairwise_win_margins, "SAMPLED_BOARD_COUNT", 300)
    player = loader(HOLDEM)(player) if isinstance(player, str) else player
    won = compute_lbr_bound(HOLDEM, player, "it", 1920, seed=2)
    assert (won.unit, won.kind) == ("mbb/hand", "lower_bound")
    assert least - won.half_width <= won.value <= most + won.half_width
    assert won.half_width < 500


def check_down(tables):
    """What each seat wins if both check or call from here on, [B, seats]."""
    while len(rows := np.flatnonzero(tables.records["over"] == 0)):
        tables.step(np.full(len(rows), CALL), rows)
    return tables.payoffs()


def by_every_deal(definition, policy):
    """The exact value of the local best response to a policy [I, A], the mean over both seats.

    Each of its decisions is weighed by going through all deals that it may be in, hand by hand.
    """
    tree = get_tree(definition)
    deals = definition.list_deals()
    worth = 0.0
    for seat in (0, 1):
        local = policy.copy()
        for infoset in np.flatnonzero(tree.infoset_seat == seat):
            record = tree.infoset_records[infoset]
            seen = [seat, *range(2, 2 + int(definition.definitions[0]["shown"][record["street"]]))]
            possible = deals[(deals[:, seen] == record["deck"][seen]).all(1)]
            tables = deal_tables(definition, len(possible), decks=possible)
            weight = np.ones(len(possible))
            for action in record["line"][: record["moves"]]:
                if tables.records["to_act"][0] != seat:
                    weight *= policy[tree.lookup_infosets(tables.records), action]
                tables.step(np.full(len(possible), action))
            before = tables.records.copy()

            def after(*actions, before=before):
                played = tables_from_records(definition, before.copy())
                for action in actions:
                    played.step(np.full(len(before), action))
                return played

            legal = np.flatnonzero(tree.legal_mask[infoset])
            raises = legal[legal >= RAISE]
            if definition.raise_size_options == [] and len(raises):
                price = int(record["price"])  # both have it in after a call: a pot of twice that
                targets = [raises[0], raises[-1], 2 * price, 3 * price]
                raises = np.unique(np.clip(targets, raises[0], raises[-1]))
            found = {CALL: check_down(after(CALL))[:, seat]}
            if FOLD in legal:
                found[FOLD] = after(FOLD).payoffs()[:, seat]
            for action in raises:
                raised = after(action)
                folds = policy[tree.lookup_infosets(raised.records), FOLD]
                gone = after(action, FOLD).payoffs()[:, seat]
                found[action] = folds * gone + (1 - folds) * check_down(raised)[:, seat]
            local[infoset] = 0
            local[infoset, max(found, key=lambda action: weight @ found[action])] = 1
        mixed = np.where((tree.infoset_seat == seat)[:, None], local, policy)
        worth += compute_seat_values(tree, mixed)[seat] / 2
    return worth, compute_best_response_values(tree, policy).mean()


def mean_winnings(play, seat, place, line=()):
    """Return what a hand of the responder wins after `line`, times the probability of `line`."""
    moves, probability = iter(line), 1.0

    def next_of_line(state, hand_rows):
        nonlocal probability
        (probs,) = play.compute_mean_player_probs(state, hand_rows)
        action = next(moves, None)
        if action is None:
            raise StopIteration(np.flatnonzero(probs))
        probability *= probs[action]
        return np.array([action])

    play.sample_player_actions = next_of_line
    try:
        (won,) = play.play_hands(seat, np.array([place]))
        return probability * won
    except StopIteration as more:
        return sum(mean_winnings(play, seat, place, (*line, a)) for a in more.value)


NO_LIMIT_LEDUC = replace(game("nolimit_leduc"), stacks=4)
# One card each and no board, and who has put in more acts first: a check leaves the other to call.
BLINDS = {"ante": 0, "blinds": [2, 1], "openers": [0, 1], "stacks": [3, 7], "min_bet": 3}
CARDS = {"name": "larger_blind_opens", "ranks": "QKA", "suits": "s", "board_cards": [0, 0]}
LARGER_BLIND_OPENS = replace(game("nolimit_leduc"), **BLINDS, **CARDS)


@pytest.mark.parametrize(
    "definition", [kuhn(), leduc(), NO_LIMIT_LEDUC, LARGER_BLIND_OPENS], ids=lambda one: one.name
)
def test_a_hand_wins_on_average_the_mean_over_all_deals(definition):
    """So the means over the player's hands, in place of its cards, leave nothing out."""
    (policy,) = random_policies(definition, seed=1)
    policy = policy**4 / (policy**4).sum(1, keepdims=True)  # its actions tell much of its hand
    player = Policies(definition, [policy])
    player.is_suit_invariant = False
    responder, ranges = LocalBestResponse(definition, player, 0), Ranges(definition)
    found = []
    for board in combinations(range(definition.deck_size), sum(definition.board_cards)):
        cards = np.array(board, np.int64)
        play = ResponderPlay(responder, cards, np.flatnonzero(ranges.mask_compatible_hands(cards)))
        for seat, place in product((0, 1), range(definition.deck_size - len(cards))):
            found.append(mean_winnings(play, seat, place))
    assert np.mean(found) == pytest.approx(by_every_deal(definition, policy)[0], abs=1e-6)


@pytest.mark.parametrize("definition", [leduc(), game("nolimit_leduc")], ids=lambda one: one.name)
def test_the_estimate_agrees_with_the_mean_over_all_deals(definition):
    """Within its interval, and under the exact exploitability."""
    (policy,) = random_policies(definition, seed=5)
    exact, best = by_every_deal(definition, policy)
    assert 0.3 * best < exact <= best + 1e-12
    player = Policies(definition, [policy])
    player.is_suit_invariant = False
    won = compute_lbr_bound(definition, player, "random", 1000, seed=0)
    scale = 1 / definition.unit_chips
    assert won.value == pytest.approx(exact * scale, abs=won.half_width)
    assert won.half_width < 0.25 * exact * scale


ONE_CARD_FIRST = replace(leduc(), name="one_card_first", board_cards=[1, 1])


@pytest.mark.parametrize("definition", [leduc(), NO_LIMIT_LEDUC, ONE_CARD_FIRST])
def test_sampled_boards_do_not_raise_the_bound(definition, monkeypatch):
    """Against `call` no response wins more, also if actions are chosen by a single board."""
    for name in ("MAX_ENUMERATED_BOARDS", "SAMPLED_BOARD_COUNT"):
        monkeypatch.setattr(pairwise_win_margins, name, 1)
    player = loader(definition)("call")
    won = [LocalBestResponse(definition, player, s).play_random_board(4) for s in range(300)]
    policy = np.eye(definition.action_count)[np.full(get_tree(definition).infoset_count, CALL)]
    assert np.mean(won) < by_every_deal(definition, policy)[0] + 4 * np.std(won) / len(won) ** 0.5


def test_win_margins_average_over_boards():
    """Two aces win 81.95 % of the pots from two kings.

    With a third one on the flop they lose one board of 990, with both other kings, and share the
    16 with a four and a five, a straight for everybody.
    """
    ranges, none = Ranges(HOLDEM), np.random.default_rng(0)
    place = {tuple(hand): i for i, hand in enumerate(ranges.hands.tolist())}
    aces, kings = place[48, 49], place[44, 45]
    one, no_board = np.array([aces]), np.array([], np.int64)
    (before,) = pairwise_win_margins.compute_win_margins(HOLDEM, ranges, one, no_board, none)
    assert (1 + before[kings]) / 2 == pytest.approx(0.8195, abs=0.04)  # of 2,000 boards
    flop = np.array([0, 5, 50])  # a deuce, a three of another suit and an ace
    (after,) = pairwise_win_margins.compute_win_margins(HOLDEM, ranges, one, flop, none)
    assert after[kings] == pytest.approx(1 - (2 * 1 + 16) / 990)
    assert after[place[48, 51]] == 0  # one card cannot be held twice


@pytest.mark.parametrize("name", ["limit_holdem_3p", "limit_holdem_2to9", "big2"])
def test_what_is_not_poker_for_two_is_refused(name):
    with pytest.raises(ConfigError, match=f"{name} is not poker for two players"):
        LocalBestResponse(game(name), loader(leduc())("call"), 0)


def test_the_best_of_trained_responses_plays_a_second_match():
    """Of those that were given `raise` wins most from `call`; not by the deals that chose it."""
    definition = leduc()
    load = loader(definition)
    given = {name: load(name) for name in ("fold", "raise", "call")}
    player = load("uniform")
    bound = compute_best_response_bound(definition, player, "uniform", given, 200, seed=3)
    responder = given[bound.measure.removeprefix("bound/")]
    won = [play_match(definition, one, player, "uniform", 200, 3).value for one in given.values()]
    chosen = play_match(definition, responder, player, "uniform", 200, 3)
    assert chosen.value == max(won)
    assert bound.value != chosen.value
    fold = {"fold": given["fold"]}
    alone = compute_best_response_bound(definition, player, "uniform", fold, 200, seed=3)
    assert alone.value < 0
    assert alone.kind == "lower_bound, vacuous"
