"""Runs that start with the networks and averages of another run."""

import shutil
from pathlib import Path

import pytest
import yaml
from commands import list_runs, replace_settings, run_command
from small_learners import list_small_overrides
from tiny import same

from poker_rl.storage import checkpoint
from poker_rl.training.run_checkpoints import Checkpoints
from poker_rl.training.trainer import Trainer

pytestmark = pytest.mark.usefixtures("working_folder")

QUICK = ["evaluation.deals=30", "evaluate_every=1e9", "checkpoint_every=1e9"]
QUICK += ["net.hidden_sizes=[8]"]
BUDGETS = {  # a few iterations; an average's buffer gets full
    **{"ppo": 250, "vpg": 60, "actor_critic": 60, "vine": 250, "reinforce": 3},
    **{"nfsp": 400, "nfsp_ppo": 500, "deep_cfr": 60, "public_policy_gradient": 100},
}
AVERAGE = ["algo.average_policy.capacity=50"]
MORE = {"nfsp": ["algo.eta=1", *AVERAGE]}
MORE["public_policy_gradient"] = AVERAGE
MORE["nfsp_ppo"] = ["algo.average_policy.iteration_weight_power=1", *AVERAGE]
LEARNERS = {}
for algo, budget in BUDGETS.items():
    command = ["train", f"algo={algo}", f"budget={budget}", *list_small_overrides(algo)]
    LEARNERS[algo] = replace_settings(command, *MORE.get(algo, []), *QUICK)
PPO = LEARNERS["ppo"]


def state(folder):
    return checkpoint.load_checked(folder / checkpoint.STATE_FILE)


def run(*arguments):
    """Train, and return the folder of the new run."""
    before = list_runs()
    assert run_command(*arguments) == 0
    (folder,) = [folder for folder in list_runs() if folder not in before]
    return folder


@pytest.fixture(scope="module")
def ppo_outputs(tmp_path_factory):
    """Folder of all runs with one run of PPO."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("finished"))
        run(*PPO, "figures=false")
        return Path("outputs").absolute()


@pytest.fixture
def first(working_folder, ppo_outputs):
    """Copy of the run of PPO in the working folder."""
    shutil.copytree(ppo_outputs, "outputs")
    return list_runs()[0]


def interrupt(owner, method, *arguments):
    """Train until a method is called; return the object that it is of, after it was called."""
    called, original = [], getattr(owner, method)

    def interrupted(self, *given, **named):
        called.append(self)
        if owner is Checkpoints:
            original(self, *given, **named)
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(owner, method, interrupted)
        assert run_command(*arguments) == 130
    return called[0]


def at_the_start(*arguments):
    """Return the learner's state at the first checkpoint of a run."""
    return interrupt(Checkpoints, "save", *arguments).algorithm.state_dict()


@pytest.mark.parametrize("name", [name for name in LEARNERS if name != "deep_cfr"])
def test_networks_and_averages_are_taken_over_and_all_else_begins_afresh(name):
    learner = LEARNERS[name]
    folder = run(*learner, "seed=1")
    learnt = state(folder)["algorithm"]
    cold = at_the_start(*learner, "seed=2")
    warm = at_the_start(*learner, "seed=2", f"warm_start={folder}")
    taken = {"networks", "actor", "critic", "policy", "q", "target", "weight_average"}
    taken |= {"value_average"}
    for part in warm.keys() - {"average", "opponent_pool", "warm_start_iterations"}:
        expected = learnt if part in taken else cold
        assert same(warm[part], expected[part]), part
        assert not (part in taken and same(cold[part], learnt[part])), part
    if "average" in warm:
        ours, theirs, fresh = (one["average"] for one in (warm, learnt, cold))
        assert min(theirs["buffer"]["items_added"]) > 50
        assert same(ours["module"], theirs["module"])
        assert not same(fresh["module"], theirs["module"])
        assert same(ours["stepper"], fresh["stepper"])
        for part in ("items_added", "items"):
            assert same(ours["buffer"][part], theirs["buffer"][part])
        for part in ("insertion_generator", "sample_generator"):
            assert same(ours["buffer"][part], fresh["buffer"][part])


def test_play_after_a_warm_start_weighs_as_later_play():
    folder = run(*LEARNERS["nfsp_ppo"])
    done = state(folder)["progress"]["iterations"]
    warm = run(*LEARNERS["nfsp_ppo"], f"warm_start={folder}")
    (iteration,) = state(warm)["algorithm"]["average"]["buffer"]["items"]["iteration"]
    assert (iteration <= done).any()  # some of the first run's is still there
    assert iteration.max() == done + state(warm)["progress"]["iterations"]


def test_a_warm_run_is_killed_and_resumed_like_any_other():
    first = run(*PPO, "seed=1")
    stays = ["algo.lr=1e-3", "algo.entropy_coef=0.1", "seed=2"]
    longer = replace_settings([*PPO, *stays], "budget=500", f"warm_start={first}")
    whole = run(*longer)
    snapshot = yaml.safe_load((whole / "config.yaml").read_text())["warm_start"]
    assert snapshot == f"{first}@{state(first)['progress']['decisions']}"

    half = run(*PPO, *stays, f"warm_start={snapshot}")
    before = list_runs()
    interrupt(Trainer, "run", *longer)  # before its first checkpoint
    (young,) = set(list_runs()) - set(before)
    assert run_command("train", f"resume={young}") == 0
    shutil.rmtree(first)  # by now it is not needed
    assert run_command("train", f"resume={half}", "budget=500") == 0
    for folder in (half, young):
        assert same(state(folder)["algorithm"], state(whole)["algorithm"])
        assert yaml.safe_load((folder / "config.yaml").read_text())["warm_start"] == snapshot


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("game=leduc", "has game.name kuhn, and this run leduc"),
        ("algo=mmd algo.kl_old_coef=null", ""),
        ("algo=vine algo.tables=8 algo.batch_size=8", ""),
        ("algo=vpg", "has algo._target_ poker_rl.algos.ppo.PPO, and this run poker_rl.algos.vpg"),
        ("algo.shared_layers=1", "has algo.shared_layers 0, and this run 1"),
        ("net.hidden_sizes=[9]", "has net.hidden_sizes [8], and this run [9]"),
        ("algo.instances=2", "has algo.instances 1, and this run 2"),
    ],
)
def test_what_does_not_fit_is_told_before_there_is_a_folder(change, message, first, get_refusal):
    options = [option for option in PPO if not (change.startswith("algo=") and "algo." in option)]
    command = replace_settings(options, *change.split(), f"warm_start={first}")
    if not message:
        run(*command)
        return
    assert get_refusal(*command).startswith(f"warm_start: {first} {message}")
    assert list_runs() == [first]


@pytest.mark.parametrize(
    ("learner", "change", "player", "has_critic"),
    [
        ("ppo", "seed=2", "weight_average", True),
        ("vine", "seed=2", "weight_average", True),
        ("ppo", "algo.reward_scale=7", "current", False),
    ],
)
def test_networks_of_a_player_and_its_critic_if_the_unit_is_equal(
    learner, change, player, has_critic, first
):
    learnt, command = state(first)["algorithm"], replace_settings(LEARNERS[learner], change)
    cold = at_the_start(*command)
    spec = f"{first}@{state(first)['progress']['decisions']}:{player}"
    warm = at_the_start(*command, f"warm_start={spec}")
    count = len(learnt["weight_average"])  # number of tensors of the actor; the critic's follow
    networks, expected = (list(one["networks"].values()) for one in (warm, learnt))
    if player == "weight_average":
        expected[:count] = learnt["weight_average"].values()
    if not has_critic:
        expected[count:] = list(cold["networks"].values())[count:]
    assert same(networks, expected)
    assert same(list(warm["weight_average"].values()), expected[:count])
    if learner == "vine":
        assert same(list(warm["value_average"].values()), expected[count:])


def test_a_critic_that_shares_layers_leaves_the_policy_of_a_player(first):
    policy = list(state(first)["algorithm"]["weight_average"].values())
    spec = f"{first}@{state(first)['progress']['decisions']}:weight_average"
    warm = at_the_start(*PPO, "algo.shared_layers=1", f"warm_start={spec}")
    assert same(list(warm["networks"].values())[: len(policy)], policy)


def test_players_without_a_fitting_network(first, get_refusal):
    problems = {
        f"{first}:current net.hidden_sizes=[9]": "has net.hidden_sizes [8], and this run [9]",
        "uniform": "is no run and has no policy network of this game",
    }
    for change, message in problems.items():
        spec, *settings = change.split()
        command = replace_settings(PPO, f"warm_start={spec}", *settings)
        assert get_refusal(*command).startswith(f"warm_start: {spec} {message}")
    assert get_refusal(*PPO, "warm_start=5").startswith("warm_start: no player is called 5; ")
    message = "warm_start: this algorithm can start from a run, but not from a player"
    assert get_refusal(*LEARNERS["deep_cfr"], f"warm_start={first}:current").startswith(message)
    assert list_runs() == [first]


def test_a_folder_that_was_tampered_with(first, get_refusal):
    path = first / "config.yaml"
    cfg = yaml.safe_load(path.read_text())
    path.write_text(yaml.safe_dump(cfg | {"net": [8]}))
    message = f"warm_start: {first} does not fit this run: "
    assert get_refusal(*PPO, f"warm_start={first}").startswith(message)
    path.write_text(yaml.safe_dump(cfg))
    other = {name: part for name, part in state(first).items() if name != "progress"}
    checkpoint.save_atomically(first / checkpoint.STATE_FILE, other)
    assert get_refusal(*PPO, f"warm_start={first}").startswith(message)
    assert list_runs() == [first]
