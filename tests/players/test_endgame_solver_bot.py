"""Bot that solves the last betting street while it plays."""

import shutil
from dataclasses import replace

import numpy as np
import pytest
from commands import run_command
from random_games import deal_tables, game
from toy_games import kuhn, leduc

from poker_rl.algos.tabular.public_cfr import PublicCFR
from poker_rl.config import ConfigError
from poker_rl.config.option_files import SHIPPED_OPTION_DIR
from poker_rl.evaluation.exact.public_tree_evaluator import evaluate_on_public_tree
from poker_rl.games.poker.table_dtypes import CALL, FOLD
from poker_rl.players import load_player, sample_from_probs
from poker_rl.players.bots import endgame_solver_bot
from poker_rl.players.bots.all_in_call_solver import compute_all_in_call_probs
from poker_rl.players.bots.endgame_betting_lines import enumerate_endgame_street_lines
from poker_rl.players.bots.endgame_solver_bot import EndgameSolverBot

DEEP, SIZES = replace(game("nolimit_leduc"), stacks=40), [0.5, 1.0, "all_in"]


def build_solver(definition, policy, **settings):
    defaults = {"iterations": 100, "range_share": 0.2, "bet_sizes": None}
    return EndgameSolverBot(game=definition, policy=policy, **{**defaults, **settings})


def measure_exploitability(definition, player):
    return evaluate_on_public_tree(definition, player)[0].mean() / definition.unit_chips


def test_solver_plays_an_equilibrium_of_a_game_with_one_street():
    """Kuhn poker has one street; the first seat loses 1/18 antes a hand at an equilibrium."""
    player = build_solver(kuhn(), "uniform", iterations=2000)
    gains, values = evaluate_on_public_tree(kuhn(), player)
    assert values[0] == pytest.approx(-1 / 18, abs=1e-3)
    assert gains.sum() < 2e-3


TWO_SIZES = game("nolimit_leduc"), [1.0, "all_in"]


@pytest.mark.parametrize(
    ("definition", "bet_sizes", "policy", "most"),
    [
        (leduc(), None, "call", 0.3),
        (leduc(), None, "uniform", 0.4),
        (leduc(), None, "leduc_ac", 0.9),
        (*TWO_SIZES, "call", 0.51),  # 0.48 with eight sizes on the second street
        (*TWO_SIZES, "uniform", 0.4),  # 0.84 without solving calls of first-street all-ins
    ],
)
def test_solving_lowers_the_exploitability(definition, bet_sizes, policy, most):
    before = measure_exploitability(definition, load_player(policy, definition))
    player = build_solver(definition, policy, bet_sizes=bet_sizes)
    assert measure_exploitability(definition, player) < most * before


def play_line(deck, *actions):
    return deal_tables(DEEP, actions=actions, decks=np.array([deck])).records


def test_endgame_lines_have_all_sizes_until_two_raises_then_the_largest():
    sized, start = replace(DEEP, bet_sizes=SIZES), play_line([4, 0, 5], CALL, CALL)
    lines = enumerate_endgame_street_lines(DEEP, sized, start, np.array([7]))

    def list_actions(*actions):
        line = 0
        for action in actions:
            line = lines.line_after_action[line, action]
        decision = np.searchsorted(lines.street.decision_lines, line)
        return lines.actions[decision, lines.street.legal_mask[decision]].tolist()

    assert list_actions() == [CALL, 2, 3, 7, 40]  # the pot has two chips
    assert list_actions(3) == [FOLD, CALL, 6, 9, 40]
    assert list_actions(3, 9) == [FOLD, CALL, 40]
    probs = np.full((1, 1, 41), 1 / 40) * (np.arange(41) > FOLD)
    shares = lines.convert_actions_to_choices(np.array([0]), probs)[0, 0] * 40
    assert shares == pytest.approx([1, 1, 2, 12, 24])  # CALL; raises to 2, 3-4, 5-16, 17-40


def test_dominated_hand_folds_after_its_own_unlisted_bet():
    player = build_solver(DEEP, "uniform", bet_sizes=SIZES)
    jack = play_line([0, 2, 5], CALL, CALL, 10, 24)  # a king on the board, the opponent has a queen
    assert player.action_probs(jack)[0, FOLD] > 0.9


def test_safe_solving_keeps_an_equilibrium(monkeypatch):
    """With range_share=1 the value of the game stays, but exploitability is higher."""
    settings = {"alpha": np.inf, "beta": -np.inf, "gamma": 1.0, "iterations_per_step": 500}
    cfr = PublicCFR(**settings, game=leduc())
    cfr.learn()
    average = cfr.players()["average"]
    monkeypatch.setattr(endgame_solver_bot, "load_search_base_player", lambda *args: average)
    safe, unsafe = (
        build_solver(leduc(), "average", range_share=share, iterations=1000) for share in (0.2, 1.0)
    )
    assert measure_exploitability(leduc(), safe) < 0.005
    assert measure_exploitability(leduc(), unsafe) > 0.015
    for player in (safe, unsafe):
        first_seat_value = evaluate_on_public_tree(leduc(), player)[1][0]
        assert first_seat_value == pytest.approx(-0.0856, abs=2e-3)


def play_tables(definition, player, count=40):
    """Yield the records of unfinished tables before each move, until all hands are over."""
    tables, generator = deal_tables(definition, count), np.random.default_rng(0)
    while len(rows := np.flatnonzero(tables.records["over"] == 0)):
        records = tables.records.take(rows)
        yield records
        probs = player.action_probs(records)
        tables.step(sample_from_probs(probs, generator.random(len(rows))), rows)


@pytest.mark.parametrize("name", ["flop_holdem", "nolimit_leduc_sizes", "nolimit_leduc"])
def test_probabilities_of_a_batch_equal_those_of_single_tables(name):
    definition = game(name)
    settings = {"bet_sizes": [0.5, "all_in"] if name == "nolimit_leduc" else None}
    policy_name, earlier_count = "tight" if "holdem" in name else "uniform", 0
    player = build_solver(definition, policy_name, **settings)
    policy = load_player(player.policy, definition)
    last_street = len(definition.board_cards) - 1
    for records in play_tables(definition, policy):
        probs = player.action_probs(records)
        new_player = build_solver(definition, player.policy, **settings)
        single_probs = [new_player.action_probs(records[i : i + 1])[0] for i in range(len(records))]
        np.testing.assert_allclose(probs, single_probs, atol=1e-6)
        np.testing.assert_allclose(probs.sum(1), 1, atol=1e-6)
        is_earlier = records["street"] < last_street
        is_earlier &= records["paid"].max(1) < np.max(definition.stacks or np.inf)  # no all-in
        assert (probs[is_earlier] == policy.action_probs(records[is_earlier])).all()
        earlier_count += is_earlier.sum()
    assert earlier_count


def test_base_policy_decides_first_if_a_blind_is_all_in():
    definition = replace(game("limit_holdem"), stacks=2)
    tables, player = deal_tables(definition, 5), build_solver(definition, "call")
    assert (player.action_probs(tables.records)[:, CALL] == 1).all()


def test_base_policy_is_looked_up_in_the_users_config_folder(tmp_path, get_refusal):
    options = tmp_path / "player"
    options.mkdir()
    search = (SHIPPED_OPTION_DIR / "player" / "lhe_endgame.yaml").read_text()
    (options / "search.yaml").write_text(search.replace("lhe_ppo_half_hour", "mine"))
    command = ["advise", f"--config-dir={tmp_path}", "game=kuhn", "player=search", "hand=K"]
    assert "policy: no player is called mine" in get_refusal(*command)
    shutil.copy(SHIPPED_OPTION_DIR / "player" / "call.yaml", options / "mine.yaml")
    assert run_command(*command) == 0


@pytest.mark.parametrize(
    ("name", "policy", "message"),
    [
        ("nolimit_holdem", "uniform", "bet_sizes: not given; nolimit_holdem allows bets of any"),
        ("limit_holdem_3p", "uniform", "limit_holdem_3p is not poker for two players"),
        ("limit_holdem", "lhe_endgame", "policy: lhe_endgame searches itself$"),
    ],
)
def test_unsupported_games_and_base_policies_are_refused(name, policy, message):
    with pytest.raises(ConfigError, match=f"^{message}"):
        build_solver(game(name), policy)


WIN_MARGINS = np.array([[0, 1, 1], [-1, 0, 1], [-1, -1, 0]], np.float32)  # rows and columns A, K, Q
IS_DISJOINT = 1 - np.eye(3, dtype=np.float32)


@pytest.mark.parametrize(
    ("called", "folded", "other_folded", "no_bluff"), [(3, 1, 1, -1), (8, 2, 1, -1), (8, 2, 2, -2)]
)
def test_all_in_solver_calls_so_that_a_bluff_wins_nothing(called, folded, other_folded, no_bluff):
    """The caller has a king; the opponent's all-in is with an ace or, as a bluff, a queen."""
    stakes = {"called": called, "folded": folded, "checked": folded, "other_folded": other_folded}
    ranges = np.array([0, 1, 0], np.float32), np.array([0.5, 0, 0.5], np.float32)
    king_calls = compute_all_in_call_probs(
        WIN_MARGINS, IS_DISJOINT, *ranges, **stakes, iterations=2000
    )[1]
    value_of_bluff = folded * (1 - king_calls) - called * king_calls
    assert value_of_bluff == pytest.approx(no_bluff, abs=0.1)
