"""Variable numbers of seats: equal to the games with each number, in one layout."""

import numpy as np
import pytest
from learner_contexts import sole
from random_games import game, play

from poker_rl.config.validation import ConfigError
from poker_rl.evaluation.matches.duplicate_match import play_deals as match
from poker_rl.games.game_tree import get_tree
from poker_rl.games.tables import Tables
from poker_rl.games.tree_nodes import count_nodes
from poker_rl.learning.rollout import Rollout
from poker_rl.players.action_sampling import sample_from_probs
from poker_rl.players.player_loader import load_player

DRAWN, NO_LIMIT = game("limit_holdem_2to9"), game("nolimit_holdem_2to9")
SEATS = range(2, 10)


def bot(name):
    return load_player(name, DRAWN)


def test_each_number_of_seats_is_as_likely():
    tables = Tables(DRAWN, 80_000, seed=1)
    for _ in range(2):
        before = tables.gather_definitions()["seats"].copy()
        tables.deal()
        seats = tables.gather_definitions()["seats"]
        counts = np.bincount(seats, minlength=10)[2:]
        # Five standard deviations of a binomial count: sqrt(80,000 * 1/8 * 7/8) = 94.
        assert (np.abs(counts - 10_000) < 5 * 94).all()
    # The next number does not depend on the last.
    pairs = np.bincount(before * 10 + seats, minlength=100)
    assert (np.abs(pairs[pairs > 0] - 1250) < 5 * 35).all()
    assert (pairs > 0).sum() == 64


@pytest.mark.parametrize("seats", SEATS)
@pytest.mark.parametrize("variable", [DRAWN, NO_LIMIT], ids=["limit", "no-limit"])
def test_a_hand_is_of_the_game_with_its_seats(variable, seats):
    """Move by move; what is seen is the same but for empty seats."""
    definition = variable.variant_games[seats - 2]
    fixed, moves = play(definition, 200, seed=seats)
    drawn = Tables(variable, 200, seed=0)
    decks = fixed.records["deck"][:, : definition.cards_dealt]
    drawn.deal(decks=decks, variants=seats - 2)
    alone = Tables(definition, 200, seed=0)
    alone.deal(decks=decks)
    for move in moves:
        assert (drawn.records["to_act"][move.rows] == move.records["to_act"]).all()
        assert (drawn.legal_mask(move.rows) == move.legal).all()
        check_view(definition, alone.observe(move.rows), drawn.observe(move.rows))
        hidden = drawn.reveal(move.rows)
        width = definition.hidden_card_size
        assert (hidden[:, :width] == alone.reveal(move.rows)).all()
        assert not hidden[:, width:].any()
        drawn.step(move.actions, move.rows)
        alone.step(move.actions, move.rows)
    won = drawn.payoffs()
    assert (won[:, :seats] == fixed.payoffs()).all()
    assert not won[:, seats:].any()


def check_view(definition, own, drawn):
    """[seats, 4 streets, raise counts, raise, call or fold], four planes of cards, then chips."""
    seats, levels = definition.seats, int(definition.definitions["raise_levels"][0])
    kinds = 2 if seats == 2 else 3
    actions, cards, chips = np.split(drawn, [9 * 4 * levels * 3, 9 * 4 * levels * 3 + 208], axis=1)
    size = seats * 4 * levels * kinds
    own_actions, own_cards, own_chips = np.split(own, [size, size + 208], axis=1)
    assert (cards == own_cards).all()
    actions = actions.reshape(len(own), 9, 4, levels, 3).copy()
    empty = actions[:, seats:]
    assert (empty[:, :, 0, 0, 2] == 1).all()
    assert empty.sum() == empty[:, :, 0, 0, 2].size
    seen = actions[:, :seats, ..., :kinds]
    assert (seen == own_actions.reshape(*seen.shape)).all()
    if own_chips.size:  # by seat, then of the pot
        assert (chips[:, : 3 * seats] == own_chips[:, :-3]).all()
        assert not chips[:, 3 * seats : -3].any()
        assert (chips[:, -3:] == own_chips[:, -3:]).all()


def test_it_is_measured_by_matches_and_never_enumerated():
    assert count_nodes(DRAWN, 10) > 10
    with pytest.raises(
        ConfigError, match=r"^game: limit_holdem_2to9 samples its definition .*not enumerated$"
    ):
        get_tree(DRAWN)
    with pytest.raises(ConfigError, match="draws its seats"):
        DRAWN.list_deals()


def test_a_match_rotates_over_the_seats_of_the_deal():
    # Whoever folds to every raise loses the blinds, three chips, once in each rotation.
    players = [bot("fold"), *[bot("raise")] * 8]
    blocks = match(DRAWN, players, 400, seed=1)
    np.testing.assert_allclose(blocks.sum(1), 0, atol=1e-12)
    seats = -3 / blocks[:, 0]
    np.testing.assert_allclose(seats, np.round(seats))
    assert set(np.round(seats)) == set(SEATS)
    # Players without a seat win nothing.
    assert not blocks[np.arange(9) >= np.round(seats)[:, None]].any()


def even(counts):
    """Return whether counts are within five standard deviations of their mean."""
    return bool((np.abs(counts - counts.mean()) < 5 * np.sqrt(counts.mean())).all())


def uniformly(rows):
    probs = rows.mask / rows.mask.sum(1, keepdims=True)
    return sample_from_probs(probs, np.random.default_rng(0).random(len(probs))), np.zeros(
        len(probs)
    )


def test_the_only_learner_is_always_dealt_in():
    rollout = Rollout(DRAWN, 20_000, 0, opponents=sole(bot("call")), seating="shuffled")
    batch = rollout.play_full_hands(uniformly)
    assert (batch.agent == 0).all()
    assert (np.bincount(batch.table, minlength=20_000) > 0).all()  # nobody else ends a hand
    seats, seat = rollout.tables.gather_definitions()["seats"], rollout.agent_of_seat.argmin(1)
    assert (batch.seat == seat[batch.table]).all()
    assert (np.sort(rollout.agent_of_seat, axis=1) == np.arange(9)).all()
    for n in SEATS:
        assert even(np.bincount(seat[seats == n], minlength=n))
