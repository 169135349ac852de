"""Games imported from and exported to OpenSpiel have the same exploitability in both programs."""

import numpy as np
import pyspiel
import pytest
from commands import list_runs, read_last_row, run_command
from open_spiel.python.algorithms import cfr
from open_spiel.python.algorithms import exploitability as openspiel_exploitability
from tree_values import random_policy

from poker_rl.config import ConfigError
from poker_rl.evaluation import nash_conv
from poker_rl.games import get_tree, load_game
from poker_rl.integrations import games_to_openspiel

LIARS_DICE = ["game.name=liars_dice", "+game.params.dice_sides=3"]
GOOFSPIEL = ["game.name=goofspiel", "+game.params={num_cards: 3, imp_info: true}"]
THREE_PLAYERS = "+game.params={num_cards: 3, players: 3}"


def compute_openspiel_nash_conv(game, tree, policy):
    """Return OpenSpiel's NashConv of a policy [I, A]; its I rows are matched by infoset name."""
    infoset_of_name = {name: i for i, name in enumerate(tree.infoset_names)}
    rows = {}

    def walk(state):
        if not state.is_terminal() and not state.is_chance_node():
            key = state.information_state_string()
            infoset_text = "_".join(key.split())
            if game.get_type().short_name.startswith("poker_rl"):
                infoset = infoset_of_name[key]
            else:
                infoset = infoset_of_name[f"{state.current_player()} {infoset_text}".strip()]
            assert state.legal_actions() == np.flatnonzero(tree.legal_mask[infoset]).tolist()
            rows[key] = [(action, policy[infoset, action]) for action in state.legal_actions()]
        for action in state.legal_actions():
            walk(state.child(action))

    walk(game.new_initial_state())
    assert len(rows) == tree.infoset_count
    return pyspiel.nash_conv(game, rows)


@pytest.mark.parametrize(
    ("spec", "overrides"),
    [("liars_dice(dice_sides=3)", LIARS_DICE), ("goofspiel(num_cards=3,imp_info=True)", GOOFSPIEL)],
)
def test_imported_game_has_the_nash_conv_of_openspiel(spec, overrides):
    """The case of Goofspiel tests simultaneous bids, with chance events between them."""
    game = pyspiel.load_game(spec)
    if game.get_type().dynamics == pyspiel.GameType.Dynamics.SIMULTANEOUS:
        game = pyspiel.convert_to_turn_based(game)
    tree = get_tree(load_game("openspiel", *overrides))
    policy = random_policy(tree, 0)
    assert nash_conv(tree, policy) == pytest.approx(compute_openspiel_nash_conv(game, tree, policy))


def test_exported_game_has_the_same_nash_conv_in_openspiel():
    game = games_to_openspiel.load_game("kuhn", ["game.ante=2"])
    tree = get_tree(game.game)
    policy = random_policy(tree, 0)
    assert compute_openspiel_nash_conv(game, tree, policy) == pytest.approx(nash_conv(tree, policy))
    state = game.new_initial_state()
    for action in (2, 0, 2, 0):  # chance deals K and J; K bets, J folds
        state.apply_action(action)
    assert state.is_terminal()
    assert state.returns() == [2, -2]


def test_openspiel_solvers_solve_an_exported_game():
    game = games_to_openspiel.load_game("kuhn")
    python_solver, cpp_solver = cfr.CFRPlusSolver(game), pyspiel.CFRPlusSolver(game)
    for _ in range(10):
        python_solver.evaluate_and_update_policy()
        cpp_solver.evaluate_and_update_policy()
    expected = pyspiel.nash_conv(game, cpp_solver.average_policy())
    assert expected < 0.1
    actual = openspiel_exploitability.nash_conv(game, python_solver.average_policy())
    assert actual == pytest.approx(expected, rel=0.2)


def test_cfr_plus_and_ppo_learn_imported_games(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    train = ["train", "game=openspiel", "logger=[]"]
    assert run_command(*train, *LIARS_DICE, "algo=cfr_plus", "budget=100") == 0
    row = read_last_row(list_runs()[0])
    assert row["eval/average/exploitability"] < 0.01
    ppo = ["algo=ppo", "budget=60000", "evaluate_every=30000", "algo.tables=128"]
    assert run_command(*train, *GOOFSPIEL, *ppo, "figures=false") == 0
    (folder,) = list_runs("*/ppo")
    row = read_last_row(folder)
    assert row["eval/weight_average/exploitability"] < 0.9 * 2 / 3  # the uniform policy has 2/3


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["game.name=kuhn"], r"game\.name: OpenSpiel has no game 'kuhn'; allowed: 2048, "),
        (["+game.params.dice=2"], r"game\.params: .* liars_dice .* parameter 'dice'\..* numdice"),
        (["game.name=nfg_game"], "game.params: OpenSpiel can't play nfg_game with {}: "),
        (["game.name=goofspiel", "+game.params.players=1"], "goofspiel has fewer than two players"),
        (["game.max_nodes=9"], r"game\.max_nodes: liars_dice has more nodes than 9"),
        (["game.name=goofspiel", THREE_PLAYERS], r"game\.unit_chips: 1; .* need 2"),
        (["game.name=first_sealed_auction"], r"game\.name: .* chance that depends on the moves"),
        (["game.name=backgammon"], r"game\.name: backgammon has no information states"),
    ],
)
def test_unsupported_games_are_errors(overrides, message):
    with pytest.raises(ConfigError, match=message):
        load_game("openspiel", *overrides)
    with pytest.raises(ConfigError, match="game: limit_holdem_2to9"):
        games_to_openspiel.load_game("limit_holdem_2to9")
