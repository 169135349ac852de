"""Runs that start with the networks and averages of another run."""

import shutil
from pathlib import Path

import pytest
import yaml
from commands import list_runs, replace_settings, run_command
from small_learners import list_small_overrides
from tiny_run import is_same

from poker_rl.storage import checkpoint
from poker_rl.training.run_checkpoints import Checkpoints
from poker_rl.training.trainer import Trainer

pytestmark = pytest.mark.usefixtures("working_folder")

QUICK = ["evaluation.deals=30", "evaluate_every=1e9", "checkpoint_every=1e9"]
QUICK += ["net.hidden_sizes=[8]"]
BUDGETS = {  # a few iterations, enough to fill an average policy's buffer
    **{"ppo": 250, "vpg": 60, "actor_critic": 60, "vine": 250, "reinforce": 3},
    **{"nfsp": 400, "nfsp_ppo": 500, "deep_cfr": 60, "public_policy_gradient": 100},
}
AVERAGE = ["algo.average_policy.capacity=50"]
EXTRA_SETTINGS = {"nfsp": ["algo.eta=1", *AVERAGE]}
EXTRA_SETTINGS["public_policy_gradient"] = AVERAGE
EXTRA_SETTINGS["nfsp_ppo"] = ["algo.average_policy.iteration_weight_power=1", *AVERAGE]
LEARNERS = {}
for algo, budget in BUDGETS.items():
    command = ["train", f"algo={algo}", f"budget={budget}", *list_small_overrides(algo)]
    LEARNERS[algo] = replace_settings(command, *EXTRA_SETTINGS.get(algo, []), *QUICK)
PPO = LEARNERS["ppo"]


def load_state(folder):
    return checkpoint.load_checked(folder / checkpoint.STATE_FILE)


def train(*arguments):
    """Train, and return the folder of the new run."""
    before = list_runs()
    assert run_command(*arguments) == 0
    (folder,) = [folder for folder in list_runs() if folder not in before]
    return folder


@pytest.fixture(scope="module")
def ppo_outputs(tmp_path_factory):
    """Return a folder of runs with one run of PPO."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("finished"))
        train(*PPO, "figures=false")
        return Path("outputs").absolute()


@pytest.fixture
def ppo_run(working_folder, ppo_outputs):
    """Return a copy of the run of PPO in the working folder."""
    shutil.copytree(ppo_outputs, "outputs")
    return list_runs()[0]


def interrupt_at(owner, method, *arguments):
    """Run a command, interrupt it at a call of `method` of `owner`; return the called object."""
    called, original = [], getattr(owner, method)

    def interrupting_method(self, *args, **kwargs):
        called.append(self)
        if owner is Checkpoints:
            original(self, *args, **kwargs)
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(owner, method, interrupting_method)
        assert run_command(*arguments) == 130
    return called[0]


def get_initial_state(*arguments):
    """Return the learner's state at the first checkpoint of a run."""
    return interrupt_at(Checkpoints, "save", *arguments).algorithm.state_dict()


@pytest.mark.parametrize("name", [name for name in LEARNERS if name != "deep_cfr"])
def test_warm_start_copies_only_networks_and_averages(name):
    learner = LEARNERS[name]
    folder = train(*learner, "seed=1")
    source = load_state(folder)["algorithm"]
    cold = get_initial_state(*learner, "seed=2")
    warm = get_initial_state(*learner, "seed=2", f"warm_start={folder}")
    copied = {"networks", "actor", "critic", "policy", "q", "target", "weight_average"}
    copied |= {"value_average"}
    for part in warm.keys() - {"average", "opponent_pool", "warm_start_iterations"}:
        expected = source if part in copied else cold
        assert is_same(warm[part], expected[part]), part
        assert not (part in copied and is_same(cold[part], source[part])), part
    if "average" in warm:
        warm_average, source_average, cold_average = (s["average"] for s in (warm, source, cold))
        assert min(source_average["buffer"]["items_added"]) > 50
        assert is_same(warm_average["module"], source_average["module"])
        assert not is_same(cold_average["module"], source_average["module"])
        assert is_same(warm_average["stepper"], cold_average["stepper"])
        for part in ("items_added", "items"):
            assert is_same(warm_average["buffer"][part], source_average["buffer"][part])
        for part in ("insertion_generator", "sample_generator"):
            assert is_same(warm_average["buffer"][part], cold_average["buffer"][part])


def test_average_policy_continues_iteration_count_after_warm_start():
    folder = train(*LEARNERS["nfsp_ppo"])
    done = load_state(folder)["progress"]["iterations"]
    warm = train(*LEARNERS["nfsp_ppo"], f"warm_start={folder}")
    (iteration,) = load_state(warm)["algorithm"]["average"]["buffer"]["items"]["iteration"]
    assert (iteration <= done).any()  # rows of the first run
    assert iteration.max() == done + load_state(warm)["progress"]["iterations"]


def test_warm_started_run_resumes_like_any_other():
    first_run = train(*PPO, "seed=1")
    changes = ["algo.lr=1e-3", "algo.entropy_coef=0.1", "seed=2"]
    longer = replace_settings([*PPO, *changes], "budget=500", f"warm_start={first_run}")
    uninterrupted = train(*longer)
    snapshot = yaml.safe_load((uninterrupted / "config.yaml").read_text())["warm_start"]
    assert snapshot == f"{first_run}@{load_state(first_run)['progress']['decisions']}"

    extended = train(*PPO, *changes, f"warm_start={snapshot}")
    before = list_runs()
    interrupt_at(Trainer, "run", *longer)  # before the first checkpoint
    (killed,) = set(list_runs()) - set(before)
    assert run_command("train", f"resume={killed}") == 0
    shutil.rmtree(first_run)  # resuming does not need it
    assert run_command("train", f"resume={extended}", "budget=500") == 0
    for folder in (extended, killed):
        assert is_same(load_state(folder)["algorithm"], load_state(uninterrupted)["algorithm"])
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
def test_mismatched_run_is_refused_before_a_folder_exists(change, message, ppo_run, get_refusal):
    options = [option for option in PPO if not (change.startswith("algo=") and "algo." in option)]
    command = replace_settings(options, *change.split(), f"warm_start={ppo_run}")
    if not message:
        train(*command)
        return
    assert get_refusal(*command).startswith(f"warm_start: {ppo_run} {message}")
    assert list_runs() == [ppo_run]


@pytest.mark.parametrize(
    ("learner", "change", "player", "has_critic"),
    [
        ("ppo", "seed=2", "weight_average", True),
        ("vine", "seed=2", "weight_average", True),
        ("ppo", "algo.reward_scale=7", "current", False),
    ],
)
def test_warm_start_from_a_player_copies_a_critic_of_equal_scale(
    learner, change, player, has_critic, ppo_run
):
    source, command = load_state(ppo_run)["algorithm"], replace_settings(LEARNERS[learner], change)
    cold = get_initial_state(*command)
    spec = f"{ppo_run}@{load_state(ppo_run)['progress']['decisions']}:{player}"
    warm = get_initial_state(*command, f"warm_start={spec}")
    count = len(source["weight_average"])  # the actor's tensors come first, then the critic's
    networks, expected = (list(states["networks"].values()) for states in (warm, source))
    if player == "weight_average":
        expected[:count] = source["weight_average"].values()
    if not has_critic:
        expected[count:] = list(cold["networks"].values())[count:]
    assert is_same(networks, expected)
    assert is_same(list(warm["weight_average"].values()), expected[:count])
    if learner == "vine":
        assert is_same(list(warm["value_average"].values()), expected[count:])


def test_shared_critic_layers_do_not_change_the_copied_policy(ppo_run):
    policy = list(load_state(ppo_run)["algorithm"]["weight_average"].values())
    spec = f"{ppo_run}@{load_state(ppo_run)['progress']['decisions']}:weight_average"
    warm = get_initial_state(*PPO, "algo.shared_layers=1", f"warm_start={spec}")
    assert is_same(list(warm["networks"].values())[: len(policy)], policy)


def test_players_without_a_matching_network_are_refused(ppo_run, get_refusal):
    problems = {
        f"{ppo_run}:current net.hidden_sizes=[9]": "has net.hidden_sizes [8], and this run [9]",
        "uniform": "is no run and has no policy network of this game",
    }
    for change, message in problems.items():
        spec, *settings = change.split()
        command = replace_settings(PPO, f"warm_start={spec}", *settings)
        assert get_refusal(*command).startswith(f"warm_start: {spec} {message}")
    assert get_refusal(*PPO, "warm_start=5").startswith("warm_start: no player is called 5; ")
    message = "warm_start: this algorithm can start from a run, but not from a player"
    assert get_refusal(*LEARNERS["deep_cfr"], f"warm_start={ppo_run}:current").startswith(message)
    assert list_runs() == [ppo_run]


def test_edited_or_incomplete_run_is_refused(ppo_run, get_refusal):
    path = ppo_run / "config.yaml"
    config = yaml.safe_load(path.read_text())
    path.write_text(yaml.safe_dump(config | {"net": [8]}))
    message = f"warm_start: {ppo_run} does not contain a complete run: "
    assert get_refusal(*PPO, f"warm_start={ppo_run}").startswith(message)
    path.write_text(yaml.safe_dump(config))
    incomplete = {name: part for name, part in load_state(ppo_run).items() if name != "progress"}
    checkpoint.save_atomically(ppo_run / checkpoint.STATE_FILE, incomplete)
    assert get_refusal(*PPO, f"warm_start={ppo_run}").startswith(message)
    assert list_runs() == [ppo_run]
