"""Environments of Gymnasium and PettingZoo: checks of both libraries, rewards, seats, errors."""

import itertools
from importlib import import_module

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from pettingzoo.test import api_test, performance_benchmark, seed_test

import poker_rl.integrations
from poker_rl.config import ConfigError
from poker_rl.evaluation import play_match
from poker_rl.games import Tables, load_game
from poker_rl.integrations import pettingzoo
from poker_rl.integrations.gymnasium import GameEnv, GameVectorEnv
from poker_rl.players import load_player

GAMES = ["leduc", "nolimit_holdem_sizes", "big2", "limit_holdem_6p"]


@pytest.mark.parametrize("name", [*GAMES, "limit_holdem_2to9"])
@pytest.mark.filterwarnings("ignore:.*A Box observation space")
def test_check_env_of_gymnasium_passes(name):
    check_env(gymnasium.make(poker_rl.integrations.to_env_id(name)).unwrapped)


@pytest.mark.parametrize(("name", "seat"), [("kuhn", 0), ("kuhn", 1), ("leduc", None)])
def test_mean_rewards_match_the_expected_winnings(name, seat):
    """The learner plays uniformly against `raise`; in these games it decides in every hand."""
    game, generator = load_game(name), np.random.default_rng(1)
    envs = GameVectorEnv(game, 500, opponents="raise", seat=seat)
    envs.reset(seed=0)
    rewards = []
    for _ in range(100):
        mask = envs.action_masks()
        _, reward, ended, _, _ = envs.step((mask * generator.random(mask.shape)).argmax(1))
        assert not reward[~ended].any()
        rewards.append(reward[ended])
    won = np.concatenate(rewards)
    half_width = 3 * won.std() / len(won) ** 0.5
    if seat is None:
        players = [load_player(name, game) for name in ("uniform", "raise")]
        match = play_match(game, *players, "raise", 4000, 0)
        expected, half_width = match.value, half_width + match.half_width
    else:
        # A fold loses the ante; a showdown of random cards wins 0 on average. Seat 0 folds if it
        # checks and then does not call: in 1/4 of the hands. Seat 1 faces a bet: it folds in 1/2.
        expected = -1 / 4 if seat == 0 else -1 / 2
    assert abs(won.mean() - expected) < half_width


def test_single_environment_equals_a_vector_environment_of_one():
    env = GameEnv("limit_holdem_6p", opponents="uniform")
    envs = GameVectorEnv("limit_holdem_6p", 1, opponents="uniform")
    observation, info = env.reset(seed=7)
    observations, infos = envs.reset(seed=7)
    ends = 0
    for _ in range(200):
        assert (observation == observations[0]).all()
        assert (info["action_mask"] == infos["action_mask"][0]).all()
        action = int(info["action_mask"].argmax())
        observation, reward, is_over, _, info = env.step(action)
        observations, rewards, terminations, _, infos = envs.step(np.array([action]))
        assert (reward, is_over) == (rewards[0], terminations[0])
        if is_over:
            ends += 1
            assert (observation == infos["final_obs"][0]).all()
            assert not info["action_mask"].any()
            observation, info = env.reset()
    assert ends > 10


def test_opponents_play_in_the_order_of_the_list():
    env = GameEnv("limit_holdem_3p", opponents=["raise", "fold"], seat=0, render_mode="ansi")
    _, info = env.reset(seed=0)
    record = env._envs.tables.records[0]
    assert record["folded"][:3].tolist() == [0, 0, 1]  # seat 2 acts first and folds
    assert env.render().startswith("0 ")
    assert env.render().endswith(" f")
    assert info["action_mask"].tolist() == [1, 1, 1]
    *_, info = env.step(1)  # seat 1 raises, and seat 0 is to act again
    assert record["paid"][:3].tolist() == [2, 4, 0]
    assert info["action_mask"].any()


def test_illegal_action_is_replaced_by_the_first_legal_action():
    envs, checking_envs = (GameVectorEnv("kuhn", 20, opponents="call", seat=0) for _ in range(2))
    for each in (envs, checking_envs):
        _, info = each.reset(seed=0)
    assert not info["action_mask"][:, 0].any()
    observations, rewards, _, _, info = envs.step(np.zeros(20, np.int64))
    assert info["illegal_action"].all()
    expected = checking_envs.step(np.ones(20, np.int64))
    assert not expected[4]["illegal_action"].any()
    assert (observations == expected[0]).all()
    assert (rewards == expected[1]).all()


def test_wrong_arguments_are_errors():
    with pytest.raises(ConfigError, match="opponents: 2 given; allowed: one for all, or 1, one"):
        GameEnv("kuhn", opponents=["call", "call"])
    with pytest.raises(ConfigError, match="seat: 2; allowed: 0 to 1, or None"):
        GameEnv("kuhn", seat=2)
    with pytest.raises(ConfigError, match="seat: 2; allowed: 0 to 1"):
        GameEnv("limit_holdem_2to9", seat=2)  # hands of two players have no seat 2
    env = GameEnv("limit_holdem", opponents="fold", seat=0)  # the opponent acts first and folds
    with pytest.raises(ConfigError, match="1000 hands of limit_holdem ended before the learner's"):
        env.reset()
    env = pettingzoo.env(load_game("kuhn"), render_mode="ansi")
    env.reset(seed=0)
    assert env.render()[0] == "0"
    with pytest.raises(ValueError, match="illegal action 0 at table 0: 0 "):
        env.step(0)  # illegal: there is no bet
    with pytest.raises(ConfigError, match=r"game\.ante"):
        pettingzoo.env("kuhn", overrides=["game.ante=-1"])


pytestmark = pytest.mark.filterwarnings(
    "ignore:Observation is not a NumPy array",
    "ignore:Observation space for each agent probably should be",
    "ignore:Agent's m(in|ax)imum observation space value is",
)


@pytest.mark.parametrize("action", [-1, 3])
def test_actions_outside_the_space_or_after_the_hand_are_errors(action):
    envs, env = GameVectorEnv("leduc", 2, "call"), GameEnv("leduc", "call")
    for before_reset in (env, pettingzoo.env("leduc")):
        with pytest.raises(RuntimeError, match=r"call reset\(\)"):
            before_reset.step(1)
    envs.reset(seed=0)
    with pytest.raises(ValueError, match=f"action {action}; allowed: 0 to 2"):
        envs.step(np.array([1, action]))
    with pytest.raises(ValueError, match="reset_mask"):
        envs.reset(options={"reset_mask": np.array([True, False])})
    env.reset(seed=0)
    while not env.step(1)[2]:
        pass
    with pytest.raises(RuntimeError, match="the hand is over"):
        env.step(1)


@pytest.mark.parametrize("name", [*GAMES, "limit_holdem_2to9"])
def test_api_and_seed_tests_of_pettingzoo_pass(name, monkeypatch):
    api_test(pettingzoo.env(name))
    seed_test(lambda: pettingzoo.env(name))
    clock = import_module("pettingzoo.test.performance_benchmark").time
    with monkeypatch.context() as patch:  # shortens the benchmark, which takes 5 s of this clock
        patch.setattr(clock, "time", itertools.count(0, 0.2).__next__)
        performance_benchmark(pettingzoo.env(name))


def play_hand(env, generator):
    """Play random legal actions; return what each agent won."""
    won = {}
    for agent in env.agent_iter():
        observation, reward, is_over, _, info = env.last()
        if is_over:
            won[agent] = reward
            env.step(None)
        else:
            assert (observation["action_mask"] == info["action_mask"]).all()
            env.step(generator.choice(np.flatnonzero(observation["action_mask"])))
    return won


@pytest.mark.parametrize("name", GAMES)
def test_pettingzoo_rewards_are_payoffs_in_the_unit_of_the_game(name):
    env, generator = pettingzoo.env(name), np.random.default_rng(0)
    env.reset(seed=0)
    for _ in range(20):
        won = play_hand(env, generator)
        payoffs = env._tables.payoffs()[0]
        assert list(won.values()) == [chips / env.game.unit_chips for chips in payoffs]
        env.reset()


def test_each_agent_observes_its_own_card():
    """Before any action in Leduc, a seat observes only its card."""
    env = pettingzoo.env("leduc")
    env.reset(seed=3)
    deck = env._tables.records["deck"][:, :3]
    tables = Tables(env.game, 2, 0)
    tables.deal(decks=np.concatenate([deck, deck[:, [1, 0, 2]]]))
    expected = tables.observe()
    assert (env.observe("player_0")["observation"] == expected[0]).all()
    assert (env.observe("player_1")["observation"] == expected[1]).all()
    assert (expected[0] != expected[1]).any()
    assert env.agent_selection == "player_0"
    assert not env.observe("player_1")["action_mask"].any()
