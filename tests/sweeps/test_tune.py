"""`poker-rl tune`: studies that are resumed or shared, pruning, and the printed best settings."""

import json
import shlex
import signal
import subprocess
import sys
import threading
from pathlib import Path
from statistics import fmean

import optuna
import pytest
import torch
from commands import ENVIRONMENT, list_runs, read_last_row, replace_settings, run_command
from processes import wait_for

from poker_rl.algos.algorithm import build_algorithm
from poker_rl.config.build import build
from poker_rl.config.compose import compose_plain_config
from poker_rl.config.option_files import (
    SHIPPED_OPTION_DIR,
    list_option_dirs,
    list_options_by_group,
    load_option,
)
from poker_rl.config.schedules import convert_horizons_to_steps
from poker_rl.games import Game
from poker_rl.sweeps import study as trial_module
from poker_rl.sweeps import tune as tune_module
from poker_rl.sweeps.study import format_overrides, parse_search_space
from poker_rl.sweeps.tune import build_checked_ungrouped_config
from poker_rl.training.trainer import Trainer

pytestmark = pytest.mark.usefixtures("working_folder")

ALPHA, GAMMA = "{low: 0.5, high: 2.0, log: true}", "{low: 1, high: 4, log: false}"
SPACE = f"search_space={{algo.alpha: {ALPHA}, algo.gamma: {GAMMA}}}"
HANDS_KEY = "search_space.algo.hands_per_iteration"
HANDS = "search_space={{algo.hands_per_iteration: {}}}"
RUN = "train_overrides=[game=kuhn,algo=dcfr,budget=40,evaluate_every=10,checkpoint_every=10"
RUN += ",figures=false]"
TUNE = ["tune", "out=study", RUN, SPACE]  # runs of less than a second


@pytest.fixture(autouse=True)
def save_no_figures(monkeypatch):
    """Save no figures, which take most of the time."""
    monkeypatch.setattr(tune_module, "save_figures", lambda *_: None)


def load_trials(folder="study"):
    """Return the trials of a study."""
    storage = f"sqlite:///{Path(folder).resolve()}/study.db"
    return optuna.load_study(study_name="poker-rl", storage=storage).trials


def get_states(folder="study"):
    return [trial.state.name for trial in load_trials(folder)]


def read_manifest(run):
    return json.loads(Path("study/kuhn/dcfr", run, "manifest.json").read_text())


def mean_exploitability(folders):
    return fmean(read_last_row(folder)["eval/average/exploitability"] for folder in folders)


def test_study_resumes_and_prints_a_command_to_repeat_the_best(capsys):
    overrides = RUN.replace("]", ",algo.alpha=1.5]")  # the search replaces this value
    arguments = replace_settings(TUNE, overrides, "seeds=[3,4]", "pruner=none")
    assert run_command(*arguments, "trials=1") == 0
    assert run_command(*arguments, "trials=3") == 0
    assert get_states() == ["COMPLETE"] * 3
    for trial in load_trials():
        folders = [Path(f"study/kuhn/dcfr/trial-{trial.number}_seed-{seed}") for seed in (3, 4)]
        assert trial.value == mean_exploitability(folders)
    *_, message, command = capsys.readouterr().out.splitlines()
    best = min(load_trials(), key=lambda trial: trial.value or 0.0)
    start = f"best: trial {best.number}, exploitability {best.value:.4g}, the mean of seeds 3,4: "
    folders = [f"kuhn/dcfr/trial-{best.number}_seed-{seed}" for seed in (3, 4)]
    assert message == start + ", ".join(folders)
    assert run_command(*shlex.split(command)[1:]) == 0
    assert len(list_runs("kuhn/dcfr")) == 2
    assert mean_exploitability(list_runs("kuhn/dcfr")) == best.value
    assert run_command(*arguments, "trials=3") == 0  # no trial is left to run
    assert len(load_trials()) == 3


def test_lost_trial_of_another_process_is_resumed():
    # The other process never finishes its first run, but keeps the lock of its trial.
    program = (
        "import time; from poker_rl.training.trainer import Trainer;"
        "Trainer.finish = lambda _: time.sleep(1e3);"
        "from poker_rl.cli import main; main()"
    )
    command = [sys.executable, "-c", program, *TUNE, "trials=2"]
    outputs = {"stderr": subprocess.DEVNULL, "stdout": subprocess.PIPE, "text": True}
    other_process = subprocess.Popen(command, env=ENVIRONMENT, **outputs)
    assert other_process.stdout.readline().startswith("trial 0: ")
    assert other_process.stdout.readline().startswith("run folder: ")

    def kill_once_a_trial_is_complete():  # in a thread of this process
        wait_for(lambda: "COMPLETE" in get_states(), other_process)
        other_process.kill()

    threading.Thread(target=kill_once_a_trial_is_complete, daemon=True).start()
    try:
        assert run_command(*TUNE, "trials=2") == 0
    finally:
        other_process.kill()
        other_process.communicate()
    lost, own, retried = load_trials()
    assert [trial.state.name for trial in (lost, own, retried)] == ["FAIL", "COMPLETE", "COMPLETE"]
    assert retried.params == lost.params != own.params
    folders = sorted(path.name for path in Path("study/kuhn/dcfr").iterdir())
    assert folders == ["trial-0_seed-0", "trial-1_seed-0"]  # trial 0 was resumed
    assert len(read_manifest("trial-0_seed-0")["resumed"]) == 1


def test_lost_trials_are_retried_a_limited_number_of_times(capsys):
    assert run_command(*TUNE, "trials=1") == 0
    storage = f"sqlite:///{Path('study').resolve()}/study.db"
    other_study = optuna.load_study(study_name="poker-rl", storage=storage)  # locks no trials
    other_study.ask()
    other_study.ask().set_user_attr("tries", trial_module.MAX_TRIES)
    assert get_states() == ["COMPLETE", "RUNNING", "RUNNING"]
    assert run_command(*TUNE, "trials=2") == 0
    assert get_states() == ["COMPLETE", "FAIL", "FAIL", "COMPLETE"]
    assert load_trials()[-1].user_attrs == {"first_try": 1, "tries": 2}
    assert "trial 2: given up after 5 tries\n" in capsys.readouterr().err


def test_interrupted_study_is_resumed(monkeypatch, capsys):
    def get_metric_and_stop(self, row):
        if row["iterations"]:
            signal.raise_signal(signal.SIGTERM)
        return 0.5

    with monkeypatch.context() as patch:
        patch.setattr(trial_module.ObjectiveFunction, "get_metric", get_metric_and_stop)
        assert run_command(*TUNE, "trials=1") == 143
    assert "poker-rl: stopped; to resume, give the same command\n" in capsys.readouterr().err
    assert run_command(*TUNE, "trials=1") == 0
    first, retried = load_trials()
    assert [first.state.name, retried.state.name] == ["FAIL", "COMPLETE"]
    assert retried.params == first.params
    assert read_manifest("trial-0_seed-0")["resumed"][0]["from"]["iterations"] == 10
    assert [path.name for path in Path("study/kuhn/dcfr").iterdir()] == ["trial-0_seed-0"]


def test_bad_and_refused_trials_are_pruned(monkeypatch, capsys):
    alphas = iter([1.5, 1.5, -5.0, -5.0, "much", "much"])  # -5 discounts regrets to almost 0
    monkeypatch.setattr(trial_module, "format_overrides", lambda _: [f"algo.alpha={next(alphas)}"])
    assert run_command(*TUNE, "trials=3", "startup_trials=1", "warmup_share=0.5") == 0
    assert get_states() == ["COMPLETE", "PRUNED", "PRUNED"]
    out = capsys.readouterr().out
    assert "trial 1: ended early, within the run of seed 0\n" in out
    assert 'trial 2: ended early, refused: algo.alpha: "much" is not a number\n' in out
    bad = Path("study/kuhn/dcfr/trial-1_seed-0")
    assert read_last_row(bad)["iterations"] == 20  # no trial is pruned before half of the budget
    assert read_manifest(bad.name)["status"] == "interrupted"
    assert run_command("compare", "study") == 0
    assert run_command("train", f"resume={bad}") == 0  # a pruned run can be resumed


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "tune: missing; give tune=NAME, or out=FOLDER and the study's settings"),
        (["search_space={algo.alpa: {choices: [1]}}"], "algo.alpa: no such setting; "),
        ([HANDS.format("3")], f"{HANDS_KEY}: 3; allowed: {{"),
        ([HANDS.format("{low: 3, high: 2, log: true}")], f"{HANDS_KEY}: `low <= high` must hold"),
        ([HANDS.format("{choices: abc}")], f'{HANDS_KEY}: {{"choices": "abc"}}; allowed: {{'),
        ([HANDS.format("{low: 3, high: inf}")], f"{HANDS_KEY}: low and high have to be finite"),
        (["search_space={seed: {choices: [1, 2]}}"], "seed: the study sets it"),
        (["search_space={budget: {choices: [40, 80]}}"], "budget: is equal in all trials; "),
    ],
)
def test_wrong_settings_create_no_files(arguments, message, get_refusal):
    option = ["tune=vpg_kuhn"] if arguments else []
    assert get_refusal("tune", *option, *arguments).startswith(message)
    assert not list(Path().iterdir())


def test_unknown_metric_is_refused(capsys, monkeypatch):
    for metric in ("loss/missing", "exploitable"):  # refused after a step; before any step
        assert run_command(*replace_settings(TUNE, f"metric={metric}", "out=a/b")) == 2
        assert f"metric: a run records no {metric}; it records " in capsys.readouterr().err
        assert not list(Path("a").iterdir())
        monkeypatch.delattr(Trainer, "train_until_budget", raising=False)


def test_folder_of_another_study_is_refused(get_refusal):
    assert run_command(*TUNE, "trials=1") == 0
    assert run_command(*replace_settings(TUNE, "out=study%2f", "trials=1")) == 0  # %2f is no "/"
    other_space = SPACE.replace("0.5", "0.6")
    message = get_refusal(*replace_settings(TUNE, other_space))
    assert "out: study holds a study with another search_space.algo.alpha.low;" in message
    assert "with another metric;" in get_refusal(*TUNE, "metric=value")
    Path("mine").mkdir()
    Path("mine/thesis.txt").touch()
    assert "out: mine is no study's folder" in get_refusal(*replace_settings(TUNE, "out=mine"))


@pytest.mark.parametrize("name", list_options_by_group([SHIPPED_OPTION_DIR])["tune"])
def test_shipped_studies_can_be_trained(name):
    """Build the algorithm with each bound and each choice of the search space at least once."""
    settings = load_option("tune", name)
    search_space = parse_search_space(settings["search_space"])
    overrides = settings["train_overrides"]
    build_checked_ungrouped_config(overrides, search_space, list_option_dirs(None))
    values = {
        key: getattr(range_, "choices", None) or (range_.low, range_.high)
        for key, range_ in search_space.items()
    }
    for number in range(max(map(len, values.values()))):
        trial = format_overrides({key: each[number % len(each)] for key, each in values.items()})
        config = compose_plain_config([*settings["train_overrides"], *trial])
        game = build(config["game"], "game", Game)
        build_algorithm(convert_horizons_to_steps(config), game, torch.device("cpu"), 0)
