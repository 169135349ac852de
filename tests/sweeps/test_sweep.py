"""Sweeps: jobs that end in different ways, their summary, and launchers of clusters."""

import csv
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from commands import (
    ENVIRONMENT,
    PROGRAM,
    TRAIN,
    list_runs,
    read_last_row,
    replace_settings,
    run_command,
)
from processes import default_signals, until

from poker_rl.algos.tabular.cfr import CFR
from poker_rl.storage.run_files import read_last_metrics_row
from poker_rl.sweeps import job_launcher
from poker_rl.sweeps import sweep as sweep_module
from poker_rl.training import start_run
from poker_rl.training.run_endings import RunInterruptedError

pytestmark = pytest.mark.usefixtures("working_folder")

JOBLIB = ["hydra/launcher=joblib", "hydra.launcher.n_jobs=2"]


def summary():
    (path,) = Path("outputs/sweeps").glob("*.csv")
    with path.open() as file:
        return list(csv.DictReader(file))


def test_a_failing_job_does_not_stop_the_others(capsys):
    assert run_command(*replace_settings(TRAIN, "-m", "algo=cfr,nope", "seed=1,x,2")) == 2
    out, err = capsys.readouterr()
    folders = list_runs("kuhn/cfr")
    assert len(folders) == len(list_runs()) == 2
    rows = summary()
    expected = ["finished", "refused", "finished"] + ["refused"] * 3
    assert [row["status"] for row in rows] == expected
    assert [row["algo"] + row["seed"] for row in rows[::3]] == ["cfr1", "nope1"]
    assert [rows[0]["folder"], rows[2]["folder"]] == [str(folder) for folder in folders]
    shown = read_last_row(folders[0])["eval/average/exploitability"]
    assert float(rows[0]["eval/average/exploitability"]) == shown
    assert f"{shown:.4g}" in out
    assert re.search(r"player +exploitability \(ante/hand\) +folder", out)
    assert "finished  average  " in out
    errors = [line for line in err.splitlines() if line.startswith("poker-rl: ")]
    assert len(errors) == 4
    assert 'seed=x: refused: seed: "x" is not an integer' in errors[0]
    assert "algo=nope: no such option; " in errors[1]
    assert sorted(path.name for path in Path().iterdir()) == ["outputs"]
    command = json.loads((folders[1] / "manifest.json").read_text())["command"]
    assert command == "poker-rl train algo=cfr budget=10 evaluation.deals=30 seed=2"


def test_a_sweep_that_was_killed_has_a_summary():
    command = [*PROGRAM, *TRAIN[:2], "-m", "seed=range(0,3000)", "budget=1e9", "evaluate_every=1e8"]
    outputs = {"stderr": subprocess.DEVNULL, "stdout": subprocess.PIPE, "text": True}
    environment = ENVIRONMENT | {"TMPDIR": str(Path.cwd())}
    process = subprocess.Popen(command, env=environment, **outputs)
    assert process.stdout.readline() == "3,000 jobs\n"
    assert process.stdout.readline().startswith("progress: poker-rl sweep outputs/sweeps/")
    assert process.stdout.readline().startswith("job 1 of 3,000: algo=cfr_plus seed=0 ")
    until(lambda: list(Path("outputs").glob("kuhn/*/*/manifest.json")), process)
    process.kill()
    process.communicate()
    (folder,) = list_runs("kuhn/cfr_plus")
    assert run_command("sweep", str(sweep_folder())) == 0
    rows = summary()
    assert len(rows) == 3000
    assert [row["status"] for row in rows[:2]] == ["running or killed", "not run"]
    assert [row["folder"] for row in rows[:2]] == [str(folder), ""]


def test_a_bug_in_one_job(monkeypatch, capsys):
    def train(config, *_, **__):
        assert 1 / config["seed"]

    monkeypatch.setattr(start_run, "train_in_folder", train)
    assert run_command(*TRAIN, "-m", "seed=-1,0,1") == 1
    assert [row["status"] for row in summary()] == ["refused", "failed", "finished"]
    assert capsys.readouterr().err.count("ZeroDivisionError") == 2  # traceback and summary


def test_an_interrupted_sweep(monkeypatch, capsys):
    def train(config, *_, **__):
        if config["seed"] == 1:
            raise RunInterruptedError(15, "stopped")

    started, run_job = [], sweep_module.run_job

    def one(*given):
        started.append(given[-1])
        run_job(*given)

    monkeypatch.setattr(start_run, "train_in_folder", train)
    monkeypatch.setattr(sweep_module, "run_job", one)
    assert run_command(*TRAIN, "-m", "seed=0,1,2,3,4") == 143
    assert [row["status"] for row in summary()] == ["finished", "interrupted", *["not run"] * 3]
    assert started == [0, 1]  # the launcher composes no others, which takes minutes for thousands


def test_a_signal_to_the_parent_of_parallel_jobs():
    pytest.importorskip("hydra_plugins.hydra_joblib_launcher")
    command = [*PROGRAM, *TRAIN[:2], "-m", "seed=0,1,2", *JOBLIB, "budget=1e9"]
    command += ["evaluate_every=1e6", "checkpoint_every=1e8"]
    outputs = {"stderr": subprocess.PIPE, "stdout": subprocess.DEVNULL, "text": True}
    with default_signals():
        process = subprocess.Popen(command, env=ENVIRONMENT, **outputs)
    until(lambda: len(list(Path("outputs").glob("*/*/*/state.pt"))) == 2, process)
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate()
    assert process.returncode == 128 + signal.SIGTERM
    assert [row["status"] for row in summary()] == ["interrupted", "interrupted", "not run"]
    assert "seed=2 budget=1e9 evaluate_every" in err
    assert "leaked" not in err
    assert "Traceback" not in err
    for folder in list_runs():
        manifest = json.loads((folder / "manifest.json").read_text())
        assert manifest["status"] == "interrupted"
        assert manifest["checkpoint"] is not None


def sweep_folder():
    (path,) = [path for path in Path("outputs/sweeps").iterdir() if path.is_dir()]
    return path


def test_the_same_command_resumes_unfinished_jobs(monkeypatch, capsys):
    sweep = [*TRAIN[:2], "-m", "seed=1,2,3", "budget=600", "evaluate_every=100"]
    learn, calls = CFR.learn, 0

    def stopped(self):
        nonlocal calls
        calls += 1
        if calls == 90:  # ten iterations each; half way through the second job
            os.kill(os.getpid(), signal.SIGUSR1)
        return learn(self)

    monkeypatch.setattr(CFR, "learn", stopped)
    assert run_command(*sweep) == 128 + signal.SIGUSR1
    assert [row["status"] for row in summary()] == ["finished", "interrupted", "not run"]
    first, second = list_runs("kuhn/cfr_plus")
    assert (first.name[:7], second.name[:7]) == ("seed-1_", "seed-2_")
    before = (first / "manifest.json").read_text()
    capsys.readouterr()

    assert run_command("sweep", str(sweep_folder())) == 0
    table = capsys.readouterr().out
    assert "3 jobs: 1 finished, 1 interrupted, 1 not run" in table
    shown = read_last_row(second)["eval/average/exploitability"]
    assert f"interrupted  average  {shown:.4g} " in table

    calls = 10_000
    assert run_command(*sweep) == 0
    assert "3 jobs, of which 1 finished already" in capsys.readouterr().out
    assert [row["status"] for row in summary()] == ["finished"] * 3
    assert len(list_runs("kuhn/cfr_plus")) == 3
    assert (first / "manifest.json").read_text() == before
    manifest = json.loads((second / "manifest.json").read_text())
    assert 0 < manifest["resumed"][0]["from"]["iterations"] < 600
    for folder in list_runs("kuhn/cfr_plus"):
        assert read_last_row(folder)["iterations"] == 600

    assert run_command(*sweep, "hydra/launcher=basic") == 0  # and whatever launches it
    assert run_command(*TRAIN[:2], "-m", "seed=3,4", "budget=600", "evaluate_every=100") == 0
    assert "finished already" in capsys.readouterr().out  # job 1, by another sweep
    assert len(list_runs("kuhn/cfr_plus")) == 4
    assert "ray" not in sys.modules  # whose import takes seconds


def test_other_settings_are_another_run():
    own = Path("mine/experiment/mine.yaml")
    own.parent.mkdir(parents=True)
    for deals in (30, 40):
        own.write_text(f"# @package _global_\nevaluation: {{deals: {deals}}}\n")
        assert run_command("train", "-m", *TRAIN[1:3], "experiment=mine", "--config-dir=mine") == 0
    assert len(list_runs("kuhn/cfr_plus")) == 2
    yaml_of_ones_own = ["experiment=mine", "--config-dir=mine", "name=mine"]
    for deals, status in ((50, 0), (50, 0), (60, 2)):  # the last one is another sweep
        own.write_text(f"# @package _global_\nevaluation: {{deals: {deals}}}\n")
        assert run_command("train", "-m", *TRAIN[1:3], *yaml_of_ones_own) == status
    named = [*TRAIN, "-m", "seed=1,2", "name=n${seed}"]
    assert run_command(*named) == run_command(*named) == 0  # its own runs, which are finished
    shutil.rmtree("outputs/kuhn/cfr_plus/n2")
    assert run_command(*named) == 0
    assert run_command(*named, "evaluate_every=5") == 2  # those of another command
    assert len(list_runs("kuhn/cfr_plus")) == 5


def test_a_launcher_that_is_not_installed(get_refusal, monkeypatch):
    monkeypatch.setattr(job_launcher, "find_spec", lambda name: None)
    message = get_refusal("train", "-m", "seed=1,2", "hydra/launcher=submitit_slurm")
    assert message.startswith("hydra/launcher=submitit_slurm: is not installed. ")
    assert "pip install 'poker-rl[slurm]'" in message
    assert not Path("outputs").exists()


def manifest():
    (folder,) = list_runs("kuhn/cfr_plus")
    return json.loads((folder / "manifest.json").read_text())


def test_a_requeued_job_resumes_in_its_folder():
    """As with SLURM, a signal arrives before the time limit and the job starts again."""
    if find_spec("submitit") is None:
        pytest.skip("submitit is not installed")
    command = [*PROGRAM, *TRAIN[:2], "-m", "hydra/launcher=submitit_local", "seed=1"]
    command += ["budget=1e9", "evaluate_every=1e4", "checkpoint_every=1e8"]
    outputs = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    process = subprocess.Popen(command, env=ENVIRONMENT, **outputs)

    def job():
        """Return the process that trains, the only child of submitit's process of a job."""
        paths = Path("outputs").glob("sweeps/*/.submitit/*")
        (queued,) = [path for path in paths if path.name != "%j"]
        return int(Path(f"/proc/{queued.name}/task/{queued.name}/children").read_text())

    until(lambda: list(Path("outputs").glob("kuhn/*/*/state.pt")), process)
    (folder,) = list_runs("kuhn/cfr_plus")
    until(lambda: read_last_metrics_row(folder).get("iterations", 0) > 0, process)
    first = job()
    os.kill(first, signal.SIGUSR2)
    until(lambda: manifest()["resumed"] and manifest()["status"] == "running", process)
    began = manifest()["resumed"][0]["from"]["iterations"]
    until(lambda: read_last_metrics_row(folder)["iterations"] > began, process)  # it trains again
    again = job()
    assert again != first
    os.kill(again, signal.SIGTERM)  # the job is cancelled
    out, err = process.communicate()
    assert process.returncode == 143, err
    assert "interrupted" in out
    assert "Traceback" not in err
    assert began > 0
    assert manifest()["status"] == "interrupted"
    assert manifest()["checkpoint"]["iterations"] > began


def test_jobs_of_ray():
    if find_spec("ray") is None:  # looked for without importing it, which takes seconds
        pytest.skip("ray is not installed")
    command = [*PROGRAM, *TRAIN, "-m", "hydra/launcher=ray", "seed=1,x,2"]
    command += ["hydra.launcher.ray.init.num_cpus=2", "figures=false"]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    assert done.returncode == 2, done.stderr
    assert 'refused: seed: "x" is not an integer' in done.stderr
    folders = list_runs("kuhn/cfr_plus")
    assert [read_last_row(folder)["iterations"] for folder in folders] == [10, 10]
