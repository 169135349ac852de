"""Tabular solvers: known values of NashConv, threads, resuming, equilibria of small games."""

import numpy as np
import pyspiel
import pytest
import torch
from random_games import game
from toy_games import imperfect_recall_kuhn, kuhn, label, leduc, leduc_8, numba_threads, two_cores

from poker_rl.algos.tabular.mccfr import MCCFR
from poker_rl.algos.tabular.small_game_equilibrium import compute_equilibrium_player
from poker_rl.config import ConfigError
from poker_rl.config.build import build
from poker_rl.config.option_files import load_option
from poker_rl.evaluation import compute_seat_values, exploitability, nash_conv
from poker_rl.games import game_tree, get_tree, sequence_form

VARIANTS = ["cfr", "cfr_linear", "cfr_plus", "dcfr", "pcfr_plus", "pdcfr_plus"]
SOLVERS = [*VARIANTS, "mccfr"]


def solver(name, game, seed=0, **settings):
    """Return a solver as configured in conf/algo."""
    config = {} if name == "mccfr" else load_option("algo", "cfr")
    return build({**config, **load_option("algo", name), **settings}, "algo", game=game, seed=seed)


def trajectory(algorithm, game, iterations):
    """Return NashConv of the average policy at these iterations."""
    values = []
    for iteration in iterations:
        while algorithm.progress.iterations < iteration:
            algorithm.learn()
        values.append(nash_conv(get_tree(game), algorithm.players()["average"].policy))
    return values


# NashConv at 10, 100, 1,000 and 10,000 iterations, from independent implementations, except for
# PDCFR+ (implementations that predict from undiscounted regrets give .0887, 2.5e-7, 2.6e-13).
@pytest.mark.parametrize(
    ("name", "game", "expected"),
    [
        ("cfr", kuhn(), [0.1374, 0.01645, 0.00188, 0.000227]),
        ("cfr_plus", kuhn(), [0.0654, 0.00239, 0.000175, 1.93e-5]),
        ("dcfr", kuhn(), [0.0456, 0.00333, 0.000293, 4.77e-5]),
        ("pcfr_plus", kuhn(), [0.0404, 4.65e-5, 4.71e-8]),
        ("pdcfr_plus", kuhn(), [0.05896, 2.21e-7, 2.27e-13]),
        ("cfr_plus", kuhn(3), [0.1493, 0.00296, 3.2e-5]),
        ("cfr", leduc(), [1.777, 0.1914, 0.0236]),
        ("cfr_plus", leduc(), [1.221, 0.0268]),
        ("dcfr", leduc(), [1.558, 0.0155]),
        ("pcfr_plus", leduc(), [1.074, 0.0396]),
    ],
    ids=label,
)
def test_nash_conv_matches_known_values(name, game, expected):
    actual = trajectory(solver(name, game), game, [10, 100, 1_000, 10_000][: len(expected)])
    np.testing.assert_allclose(actual, expected, rtol=0.005)


# After many iterations NashConv depends on rounding. Mean and standard deviation at 1,000 and
# 10,000 iterations over 6 orders of summation: CFR+ 5.05e-4 ± .11e-4 and 1.37e-5 ± .22e-5, DCFR
# 3.17e-4 ± .23e-4 and 1.18e-5 ± .35e-5. Bounds are mean + 4 deviations.
@pytest.mark.parametrize(
    ("name", "bounds"), [("cfr_plus", [5.5e-4, 2.3e-5]), ("dcfr", [4.1e-4, 2.6e-5])]
)
def test_leduc_is_solved(name, bounds):
    algorithm, tree = solver(name, leduc(), iterations_per_step=1000), get_tree(leduc())
    actual = trajectory(algorithm, leduc(), [1_000, 10_000])
    assert (np.array(actual) < bounds).all()
    value = compute_seat_values(tree, algorithm.players()["average"].policy)[0]
    assert value == pytest.approx(-0.085606424, abs=actual[-1])


@pytest.mark.parametrize(("name", "factory"), [("cfr", "CFRSolver"), ("cfr_plus", "CFRPlusSolver")])
@pytest.mark.parametrize("game", [kuhn(), leduc()], ids=label)
def test_nash_conv_agrees_with_openspiel(name, factory, game):
    reference = pyspiel.load_game(f"{game.name}_poker")
    oracle = getattr(pyspiel, factory)(reference)
    for _ in range(20):
        oracle.evaluate_and_update_policy()
    expected = pyspiel.nash_conv(reference, oracle.average_policy())
    assert trajectory(solver(name, game), game, [20]) == pytest.approx([expected], rel=1e-9)


# Mean and standard deviation of NashConv after 10,000 and 100,000 iterations: Kuhn .0167 ± .0069,
# .0045 ± .0014 over 6 seeds; Leduc .551 ± .069, .128 ± .010 over 3. Bounds: mean + 4 deviations.
@pytest.mark.parametrize(
    ("game", "bounds"), [(kuhn(), [0.045, 0.0104]), (leduc(), [0.83, 0.17])], ids=label
)
def test_mccfr_converges(game, bounds):
    actual = trajectory(solver("mccfr", game), game, [10_000, 100_000])
    assert (np.array(actual) < bounds).all()
    assert actual[1] < actual[0] / 2


def test_regrets_of_external_sampling_average_to_those_of_cfr():
    """The mean over 4,000 traversals from the uniform policy is within 4 standard errors."""
    game = kuhn()
    exact = solver("cfr", game, iterations_per_step=1)
    exact.learn()
    first = get_tree(game).first_infoset_of_seat
    rows = slice(first[0], first[1])  # seat 0 only: seat 1 traverses after a policy update
    sampled = []
    for seed in range(4_000):
        algorithm = MCCFR(game=game, seed=seed, iterations_per_step=1, traversals=1)
        algorithm.learn()
        sampled.append(algorithm.state_dict()["regrets"].numpy()[rows])
    error = np.std(sampled, axis=0) / np.sqrt(len(sampled))
    expected = exact.state_dict()["regrets"].numpy()[rows]
    assert (abs(np.mean(sampled, axis=0) - expected) <= 4 * error + 1e-12).all()


def run_steps(threads, name, game, **settings):
    """Return the state of a solver after two steps with this number of threads."""
    with numba_threads(threads):
        algorithm = solver(name, game, seed=5, **settings)
        for _ in range(2):
            algorithm.learn()
        assert get_tree(game).thread_count == threads
    return algorithm.state_dict()


def assert_equal_tables(first, second):
    for key in ("regrets", "sums"):
        assert first[key].abs().sum() > 0
        assert torch.equal(first[key], second[key])


@two_cores
def test_number_of_threads_changes_nothing(monkeypatch):
    monkeypatch.setattr(sequence_form, "MIN_PARALLEL_LEAVES", 100_000)
    monkeypatch.setattr(game_tree, "_cached_trees", {})
    one, two = (run_steps(threads, "dcfr", leduc_8(), iterations_per_step=3) for threads in (1, 2))
    assert_equal_tables(one, two)


@pytest.mark.parametrize("game", [kuhn(3), leduc()], ids=label)
def test_number_of_tree_parts_changes_nothing(game, monkeypatch):
    """Regrets are equal whether a tree is divided into one part per seat or one per hand."""
    whole = run_steps(1, "pcfr_plus", game, iterations_per_step=20)
    monkeypatch.setattr(sequence_form, "MIN_PARALLEL_LEAVES", 1)
    monkeypatch.setattr(game_tree, "_cached_trees", {})
    assert_equal_tables(whole, run_steps(2, "pcfr_plus", game, iterations_per_step=20))


@pytest.mark.parametrize("name", SOLVERS)
def test_resume_is_bitwise_equal(name, tmp_path):
    baseline, saved, resumed = (solver(name, leduc(), seed=5) for _ in range(3))
    saved.learn()
    torch.save(saved.state_dict(), tmp_path / "state.pt")
    resumed.load_state_dict(torch.load(tmp_path / "state.pt", weights_only=True))
    resumed.learn()
    for _ in range(2):
        metrics = baseline.learn()
    assert all(np.isfinite(value) for value in metrics.values())
    assert resumed.progress == baseline.progress
    for player, other in zip(resumed.players().values(), baseline.players().values(), strict=True):
        np.testing.assert_array_equal(player.policy, other.policy)
    state, expected = resumed.state_dict(), baseline.state_dict()
    assert state.keys() == expected.keys()
    assert all(torch.equal(state[key], expected[key]) for key in ("regrets", "sums"))


def test_errors_name_the_key():
    with pytest.raises(ConfigError, match=r"algo\.gamma: -1\.0 is not in \[0, 5\]"):
        solver("cfr", kuhn(), gamma=-1)
    with pytest.raises(ConfigError, match="limit_holdem has more than"):
        solver("mccfr", build(load_option("game", "limit_holdem"), "game"))


@pytest.mark.parametrize(("name", "bound"), [("kuhn", 1e-9), ("leduc", 2e-4)])
def test_equilibrium_of_a_small_game_is_not_exploitable(name, bound, monkeypatch):
    """Measured exploitability: 1.8e-15 in Kuhn and 1.6e-4 antes a hand in Leduc."""
    small_game = game(name)
    player = compute_equilibrium_player(small_game)
    tree = get_tree(small_game)
    assert exploitability(tree, player.action_probs(tree.infoset_records)) < bound
    assert compute_equilibrium_player(small_game) is player
    assert (
        compute_equilibrium_player(imperfect_recall_kuhn(monkeypatch)) is None
    )  # CFR needs perfect recall
