"""Games that define only their rules are trained and evaluated; all else is optional."""

import pytest
from high_card import HighCard
from learner_contexts import learn_decisions

from poker_rl.algos import load_algorithm
from poker_rl.config import ConfigError
from poker_rl.evaluation import play_match
from poker_rl.games import Tables
from poker_rl.games.tree_nodes import count_nodes
from poker_rl.play.live_hand import NamedPlayer, TableSetup
from poker_rl.players.bots.basic_bots import PreferenceBot, UniformBot

GAME = HighCard(name="high_card", unit="point", unit_chips=1)


def test_five_rules_are_enough_to_train_and_to_evaluate():
    """Doubling with the two higher cards wins a third of a point from a player that passes.

    The player has learned some of that: 0.10 was measured.
    """
    learner = load_algorithm("ppo", GAME)
    learn_decisions(learner, 40_000)
    player, passes = learner.players()["current"], PreferenceBot(game=GAME, prefer=["0"])
    won = play_match(GAME, player, passes, "passes", 2000, seed=0)
    assert won.unit == "point/hand"
    assert won.value > 3 * won.half_width
    assert (GAME.seats, GAME.hand_noun, GAME.count_deals()) == (2, "hand", 12)
    assert GAME.action_types.tolist() == [0, 1]
    assert count_nodes(GAME, 100) > 100


@pytest.mark.parametrize("rule", ["infoset", "history", "reveal", "resample_hidden_cards"])
def test_what_needs_an_optional_rule_says_so(rule):
    tables = Tables(GAME, 1, 0)
    tables.deal()
    method = {"infoset": tables.infoset_keys}.get(rule) or getattr(tables, rule)
    with pytest.raises(ConfigError, match=f"^game: high_card has no rule `{rule}`$"):
        method()


def test_a_game_without_views_is_not_played_by_people():
    uniform = NamedPlayer("uniform", UniformBot(game=GAME))
    with pytest.raises(ConfigError, match=r"^game: high_card has no view to play it by"):
        TableSetup(GAME, [uniform])
