"""The PettingZoo environments pass PettingZoo's own tests, and pay what the rules pay."""

from __future__ import annotations

import itertools
from importlib import import_module

import numpy as np
import pytest
from pettingzoo.test import api_test, performance_benchmark, seed_test

from poker_rl.config.validation import ConfigError
from poker_rl.games import Tables, load_game
from poker_rl.integrations import pettingzoo

GAMES = ["kuhn", "leduc", "limit_holdem", "nolimit_holdem_sizes", "big2", "limit_holdem_6p"]

pytestmark = pytest.mark.filterwarnings(
    "ignore:Observation is not a NumPy array",
    "ignore:Observation space for each agent probably should be",
    "ignore:Agent's m(in|ax)imum observation space value is",
)


@pytest.mark.parametrize("name", [*GAMES, "nolimit_holdem", "limit_holdem_2to9"])
def test_the_tests_of_pettingzoo_pass(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    api_test(pettingzoo.env(name))
    seed_test(lambda: pettingzoo.env(name))
    clock = import_module("pettingzoo.test.performance_benchmark").time
    with monkeypatch.context() as patch:  # a benchmark of five seconds that pass faster
        patch.setattr(clock, "time", itertools.count(0, 0.2).__next__)
        performance_benchmark(pettingzoo.env(name))


def play_hand(env: pettingzoo.GameAECEnv, generator: np.random.Generator) -> dict[str, float]:
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
def test_rewards_are_the_payoffs_in_the_unit_of_the_game(name: str) -> None:
    env, generator = pettingzoo.env(name), np.random.default_rng(0)
    env.reset(seed=0)
    for _ in range(20):
        won = play_hand(env, generator)
        payoffs = env._tables.payoffs()[0]
        assert list(won.values()) == [chips / env.game.unit_chips for chips in payoffs]
        env.reset()


def test_every_agent_sees_its_own_cards() -> None:
    """Before any action in Leduc, a seat sees nothing but its card."""
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


def test_the_number_of_agents_varies_with_the_hand() -> None:
    env, generator = pettingzoo.env("limit_holdem_2to9"), np.random.default_rng(0)
    counts = set()
    env.reset(seed=0)
    for _ in range(60):
        counts.add(env.num_agents)
        assert len(play_hand(env, generator)) in counts
        env.reset()
    assert counts == set(range(2, 10))


def test_a_seed_repeats_the_hands_and_none_continues_them() -> None:
    env = pettingzoo.env("limit_holdem")

    def deal(*seeds: int | None) -> list[bytes]:
        decks = []
        for seed in seeds:
            env.reset(seed=seed)
            decks.append(env._tables.records["deck"].tobytes())
        return decks

    first = deal(5, None, None)
    assert len(set(first)) == 3
    assert deal(5, None, None) == first


def test_illegal_actions_and_games_are_errors() -> None:
    env = pettingzoo.env(load_game("kuhn"), render_mode="ansi")
    env.reset(seed=0)
    assert env.render()[0] == "0"
    with pytest.raises(ValueError, match="illegal action 0 at table 0: 0 "):
        env.step(0)  # there is no bet to fold to
    with pytest.raises(ConfigError, match=r"game\.ante"):
        pettingzoo.env("kuhn", overrides=["game.ante=-1"])
