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
from commands import ENVIRONMENT, list_runs, read_last_row, replace_settings, run_command

from poker_rl.config import plugins
from poker_rl.config.option_files import SHIPPED_OPTION_DIR, list_option_dirs, load_option
from poker_rl.config.option_listing import list_options_by_group
from poker_rl.sweeps import study_objective as trial_module
from poker_rl.sweeps import tune as tune_module
from poker_rl.sweeps.study_config import parse_search_space
from poker_rl.sweeps.tune import check_search_space

pytestmark = pytest.mark.usefixtures("working_folder")

ALPHA, GAMMA = "{low: 0.5, high: 2.0, log: true}", "{low: 1, high: 4, log: false}"
SPACE = f"search_space={{algo.alpha: {ALPHA}, algo.gamma: {GAMMA}}}"
HANDS_KEY = "search_space.algo.hands_per_iteration"
HANDS = "search_space={{algo.hands_per_iteration: {}}}"
RUN = "train_overrides=[game=kuhn,algo=dcfr,budget=40,evaluate_every=10,checkpoint_every=10"
RUN += ",figures=false]"
TUNE = ["tune", "out=study", RUN, SPACE, "heartbeat_interval=1"]  # runs of less than a second


@pytest.fixture(autouse=True)
def quick(monkeypatch, request):
    """Save no figures except in the test of figures, because they take most of the time."""
    if "pictures" not in request.node.name:
        monkeypatch.setattr(tune_module, "save_figures", lambda *_: None)


def study(folder="study"):
    """Return the trials of a study."""
    storage = f"sqlite:///{Path(folder).resolve()}/study.db"
    return optuna.load_study(study_name="poker-rl", storage=storage).trials


def states(folder="study"):
    return [trial.state.name for trial in study(folder)]


def manifest(run):
    read = json.loads(Path("study/kuhn/dcfr", run, "manifest.json").read_text())
    return read


def test_a_study_is_resumed_by_its_command_and_prints_how_to_repeat_the_best(capsys):
    beside = RUN.replace("]", ",algo.alpha=1.5]")  # which is searched too
    arguments = replace_settings(TUNE, beside, "seeds=[3,4]", "pruner=none")
    assert run_command(*arguments, "trials=1") == 0
    assert run_command(*arguments, "trials=3") == 0
    assert states() == ["COMPLETE"] * 3
    for trial in study():
        rows = [
            read_last_row(Path(f"study/kuhn/dcfr/trial-{trial.number}_seed-{seed}"))
            for seed in (3, 4)
        ]
        assert trial.value == fmean(row["eval/average/exploitability"] for row in rows)
    *_, message, command = capsys.readouterr().out.splitlines()
    best = min(study(), key=lambda trial: trial.value or 0.0)
    begins = f"best: trial {best.number}, exploitability {best.value:.4g}, the mean of seeds 3,4: "
    folders = [f"kuhn/dcfr/trial-{best.number}_seed-{seed}" for seed in (3, 4)]
    assert message == begins + ", ".join(folders)
    assert run_command(*shlex.split(command)[1:]) == 0
    again = [
        read_last_row(folder)["eval/average/exploitability"] for folder in list_runs("kuhn/dcfr")
    ]
    assert len(again) == 2
    assert fmean(again) == best.value
    assert run_command(*arguments, "trials=3") == 0  # nothing is left to do
    assert len(study()) == 3


def test_pictures():
    assert run_command(*TUNE, "trials=3", "pruner=none") == 0
    pictures = {path.stem: path.read_bytes() for path in Path("study").glob("*.png")}
    assert pictures.keys() == {"history", "importances", "slices"}
    # Some 900 dots wide at least, and not empty.
    assert all(int.from_bytes(png[16:20]) > 800 for png in pictures.values())
    assert all(len(png) > 10_000 for png in pictures.values())


def test_two_processes_share_a_study_and_one_resumes_the_trial_of_the_other():
    # The other process never comes to the end of its first run, though it gives signs of life.
    program = (
        "import time; from poker_rl.training.trainer import Trainer;"
        "Trainer.finish = lambda _: time.sleep(1e3);"
        "from poker_rl.cli import main; main()"
    )
    command = [sys.executable, "-c", program, *TUNE, "trials=2"]
    outputs = {"stderr": subprocess.DEVNULL, "stdout": subprocess.PIPE, "text": True}
    other = subprocess.Popen(command, env=ENVIRONMENT, **outputs)
    assert other.stdout.readline().startswith("trial 0: ")
    assert other.stdout.readline().startswith("run folder: ")

    def kill():
        while not ended.wait(0.1):
            if "COMPLETE" in states():  # by this process, while the other one is alive
                break
        other.kill()

    ended = threading.Event()
    killer = threading.Thread(target=kill)
    killer.start()
    try:
        assert run_command(*TUNE, "trials=2") == 0
    finally:
        ended.set()
        killer.join()
        other.communicate()
    lost, own, again = study()
    assert [trial.state.name for trial in (lost, own, again)] == ["FAIL", "COMPLETE", "COMPLETE"]
    assert again.params == lost.params != own.params
    assert sorted(path.name for path in Path("study/kuhn/dcfr").iterdir()) == [
        "trial-0_seed-0",  # gone on with, from its checkpoint
        "trial-1_seed-0",
    ]
    assert len(manifest("trial-0_seed-0")["resumed"]) == 1


def test_a_trial_killed_before_its_first_heartbeat_is_tried_again():
    assert run_command(*TUNE, "trials=1") == 0
    storage = f"sqlite:///{Path('study').resolve()}/study.db"
    optuna.load_study(study_name="poker-rl", storage=storage).ask()  # sends no heartbeat
    assert states() == ["COMPLETE", "RUNNING"]
    assert run_command(*TUNE, "trials=2") == 0
    assert states() == ["COMPLETE", "FAIL", "COMPLETE"]


def test_a_stopped_study_is_saved_and_resumed(monkeypatch, capsys):
    def stopped(self, row):
        signal.raise_signal(signal.SIGTERM)
        return 0.5

    with monkeypatch.context() as patch:
        patch.setattr(trial_module.Objective, "get_metric", stopped)
        assert run_command(*TUNE, "trials=1") == 143
    assert "poker-rl: stopped; to resume, give the same command\n" in capsys.readouterr().err
    assert run_command(*TUNE, "trials=1") == 0
    first, again = study()
    assert [first.state.name, again.state.name] == ["FAIL", "COMPLETE"]
    assert again.params == first.params
    assert manifest("trial-0_seed-0")["resumed"][0]["from"]["iterations"] == 10
    assert [path.name for path in Path("study/kuhn/dcfr").iterdir()] == ["trial-0_seed-0"]


def test_bad_trials_are_pruned(monkeypatch, capsys):
    given = [{"algo.alpha": 1.5}, {"algo.alpha": -5.0}]  # which forgets all positive regret
    monkeypatch.setattr(trial_module, "suggest_settings", lambda space, trial: given[trial.number])
    assert run_command(*TUNE, "trials=2", "startup_trials=1", "warmup_share=0.5") == 0
    assert states() == ["COMPLETE", "PRUNED"]
    assert "trial 1: ended early, within the run of seed 0\n" in capsys.readouterr().out
    bad = Path("study/kuhn/dcfr/trial-1_seed-0")
    assert read_last_row(bad)["iterations"] == 20  # before half of the budget none is ended
    assert manifest(bad.name)["status"] == "interrupted"
    assert run_command("compare", "study") == 0
    assert run_command("train", f"resume={bad}") == 0  # a run like any other


def test_a_refused_run_ends_only_its_trial(monkeypatch, capsys):
    given = [{"algo.alpha": 1.5}, {"algo.alpha": "much"}, {"algo.alpha": 1.0}]
    monkeypatch.setattr(trial_module, "suggest_settings", lambda space, trial: given[trial.number])
    assert run_command(*TUNE, "trials=3", "pruner=none") == 0
    assert states() == ["COMPLETE", "PRUNED", "COMPLETE"]
    out = capsys.readouterr().out
    assert 'trial 1: ended early, refused: algo.alpha: "much" is not a number\n' in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["tune=nope"], "tune: no tune is called nope; "),
        ([], "tune: missing; give tune=NAME, or out=FOLDER search_space={…} train_overrides=[…]"),
        (["search_space={algo.alpa: {choices: [1]}}"], "algo.alpa: no such setting; "),
        ([HANDS.format("3")], f"{HANDS_KEY}: 3; allowed: {{"),
        ([HANDS.format("{low: 3, high: 2, log: true}")], f"{HANDS_KEY}: `low <= high` must hold"),
        (["search_space={seed: {choices: [1, 2]}}"], "seed: the study sets it"),
        (["train_overrides=[budget=40,+budget=40]"], "train_overrides: budget: given twice"),
        (["search_space={budget: {choices: [40, 80]}}"], "budget: 40 in some trials and 80 in oth"),
        (["seeds=[1,1]"], "seeds: [1, 1]; give at least one, as [0], and each once"),
        (["out=what?"], "out: what? can't hold a study; "),
    ],
)
def test_wrong_settings_create_no_files(arguments, message, get_refusal):
    named = [] if not arguments or "tune=nope" in arguments else ["tune=vpg_kuhn"]
    assert get_refusal("tune", *named, *arguments).startswith(message)
    assert not list(Path().iterdir())


def test_an_unknown_metric_is_refused_at_the_first_row(get_refusal):
    message = get_refusal(*replace_settings(TUNE, "metric=exploitable", "out=a/b"))
    assert "metric: a run records no exploitable; it records " in message
    assert not list(Path("a").iterdir())


def test_the_folder_of_another_study_is_refused(get_refusal):
    assert run_command(*TUNE, "trials=1") == 0
    plan = Path("study/tune.yaml").read_bytes()
    other = SPACE.replace("0.5", "0.6")
    assert "out: study holds a study with another search_space.algo.alpha.low;" in get_refusal(
        *replace_settings(TUNE, other)
    )
    assert "with another metric;" in get_refusal(*TUNE, "metric=value")
    assert Path("study/tune.yaml").read_bytes() == plan
    Path("mine").mkdir()
    Path("mine/thesis.txt").touch()
    assert "out: mine is no study's folder" in get_refusal(*replace_settings(TUNE, "out=mine"))
    Path("mine/thesis.txt").rename("mine/tune.yaml.part")  # of a process killed as it began
    assert run_command(*replace_settings(TUNE, "out=mine", "trials=1")) == 0


def test_without_optuna_it_says_what_to_install(monkeypatch, get_refusal):
    monkeypatch.setattr(plugins, "find_spec", lambda name: None)
    message = get_refusal("tune", "tune=vpg_kuhn")
    assert message == "tune needs more packages: pip install 'poker-rl[tune]'"


@pytest.mark.parametrize("name", list_options_by_group([SHIPPED_OPTION_DIR])["tune"])
def test_shipped_studies_can_be_trained(name):
    settings = load_option("tune", name)
    search_space = parse_search_space(settings["search_space"])
    check_search_space(settings["train_overrides"], search_space, list_option_dirs(None))
