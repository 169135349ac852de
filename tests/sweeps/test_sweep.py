"""Sweeps: jobs that finish, fail or are interrupted; their summary, resuming, and launchers."""

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
from processes import default_signals, wait_for

from poker_rl.algos.tabular.cfr import CFR
from poker_rl.storage.run_files import read_last_metrics_row
from poker_rl.sweeps import job_launcher
from poker_rl.sweeps import sweep as sweep_module
from poker_rl.training import start_run
from poker_rl.training.run_outcome import RunInterruptedError

pytestmark = pytest.mark.usefixtures("working_folder")

JOBLIB = ["hydra/launcher=joblib", "hydra.launcher.n_jobs=2"]


def read_jobs():
    (path,) = Path("outputs/sweeps").glob("*.csv")
    with path.open() as file:
        return list(csv.DictReader(file))


def test_failing_job_does_not_stop_other_jobs(capsys):
    assert run_command(*replace_settings(TRAIN, "-m", "algo=cfr,nope", "seed=1,x,2")) == 2
    out, err = capsys.readouterr()
    folders = list_runs("kuhn/cfr")
    assert len(folders) == len(list_runs()) == 2
    rows = read_jobs()
    expected = ["finished", "refused", "finished"] + ["refused"] * 3
    assert [row["status"] for row in rows] == expected
    assert [row["algo"] + row["seed"] for row in rows[::3]] == ["cfr1", "nope1"]
    assert [rows[0]["folder"], rows[2]["folder"]] == [str(folder) for folder in folders]
    value = read_last_row(folders[0])["eval/average/exploitability"]
    assert float(rows[0]["eval/average/exploitability"]) == value
    assert f"{value:.4g}" in out
    assert re.search(r"player +exploitability \(ante/hand\) +folder", out)
    assert "finished  average  " in out
    errors = [line for line in err.splitlines() if line.startswith("poker-rl: ")]
    assert len(errors) == 4
    assert 'seed=x: refused: seed: "x" is not an integer' in errors[0]
    assert "algo=nope: no such option; " in errors[1]
    assert sorted(path.name for path in Path().iterdir()) == ["outputs"]
    command = json.loads((folders[1] / "manifest.json").read_text())["command"]
    assert command == "poker-rl train algo=cfr budget=10 evaluation.deals=30 seed=2"


def test_killed_sweep_has_a_summary():
    command = [*PROGRAM, *TRAIN[:2], "-m", "seed=range(0,3000)", "budget=1e9", "evaluate_every=1e8"]
    outputs = {"stderr": subprocess.DEVNULL, "stdout": subprocess.PIPE, "text": True}
    environment = ENVIRONMENT | {"TMPDIR": str(Path.cwd())}
    process = subprocess.Popen(command, env=environment, **outputs)
    assert process.stdout.readline() == "3,000 jobs\n"
    assert process.stdout.readline().startswith("progress: poker-rl sweep outputs/sweeps/")
    assert process.stdout.readline().startswith("job 1 of 3,000: algo=cfr_plus seed=0 ")
    wait_for(lambda: list(Path("outputs").glob("kuhn/*/*/manifest.json")), process)
    process.kill()
    process.communicate()
    (folder,) = list_runs("kuhn/cfr_plus")
    assert run_command("sweep", str(find_sweep_folder())) == 0
    rows = read_jobs()
    assert len(rows) == 3000
    assert [row["status"] for row in rows[:2]] == ["running or killed", "not run"]
    assert [row["folder"] for row in rows[:2]] == [str(folder), ""]


def test_bug_in_one_job_is_reported_and_other_jobs_run(monkeypatch, capsys):
    def train(config, *_, **__):
        assert 1 / config["seed"]

    monkeypatch.setattr(start_run, "train_in_folder", train)
    assert run_command(*TRAIN, "-m", "seed=-1,0,1") == 1
    assert [row["status"] for row in read_jobs()] == ["refused", "failed", "finished"]
    assert capsys.readouterr().err.count("ZeroDivisionError") == 2  # in traceback and summary


def test_interrupted_sweep_starts_no_more_jobs(monkeypatch, capsys):
    def train(config, *_, **__):
        if config["seed"] == 1:
            raise RunInterruptedError(15, "stopped")

    started, run_job_and_save_outcome = [], sweep_module.run_job_and_save_outcome

    def record_and_run_job(*arguments):
        started.append(arguments[-1])
        run_job_and_save_outcome(*arguments)

    monkeypatch.setattr(start_run, "train_in_folder", train)
    monkeypatch.setattr(sweep_module, "run_job_and_save_outcome", record_and_run_job)
    assert run_command(*TRAIN, "-m", "seed=0,1,2,3,4") == 143
    assert [row["status"] for row in read_jobs()] == ["finished", "interrupted", *["not run"] * 3]
    assert started == [0, 1]  # jobs 2 to 4 are not started, as composing configs takes long


def test_signal_to_the_parent_interrupts_parallel_jobs():
    pytest.importorskip("hydra_plugins.hydra_joblib_launcher")
    command = [*PROGRAM, *TRAIN[:2], "-m", "seed=0,1,2", *JOBLIB, "budget=1e9"]
    command += ["evaluate_every=1e6", "checkpoint_every=1e8"]
    outputs = {"stderr": subprocess.PIPE, "stdout": subprocess.DEVNULL, "text": True}
    with default_signals():
        process = subprocess.Popen(command, env=ENVIRONMENT, **outputs)
    wait_for(lambda: len(list(Path("outputs").glob("*/*/*/state.pt"))) == 2, process)
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate()
    assert process.returncode == 128 + signal.SIGTERM
    assert [row["status"] for row in read_jobs()] == ["interrupted", "interrupted", "not run"]
    assert "seed=2 budget=1e9 evaluate_every" in err
    assert "leaked" not in err
    assert "Traceback" not in err
    for folder in list_runs():
        manifest = json.loads((folder / "manifest.json").read_text())
        assert manifest["status"] == "interrupted"
        assert manifest["checkpoint"] is not None


def find_sweep_folder():
    (path,) = [path for path in Path("outputs/sweeps").iterdir() if path.is_dir()]
    return path


def test_same_command_resumes_unfinished_jobs(monkeypatch, capsys):
    sweep = [*TRAIN[:2], "-m", "seed=1,2,3", "budget=600", "evaluate_every=100"]
    learn, calls = CFR.learn, 0

    def learn_or_stop(self):
        nonlocal calls
        calls += 1
        if calls == 90:  # in job 2: a job has 60 calls of ten iterations
            os.kill(os.getpid(), signal.SIGUSR1)
        return learn(self)

    monkeypatch.setattr(CFR, "learn", learn_or_stop)
    assert run_command(*sweep) == 128 + signal.SIGUSR1
    assert [row["status"] for row in read_jobs()] == ["finished", "interrupted", "not run"]
    first, second = list_runs("kuhn/cfr_plus")
    assert (first.name[:7], second.name[:7]) == ("seed-1_", "seed-2_")
    before = (first / "manifest.json").read_text()
    capsys.readouterr()

    assert run_command("sweep", str(find_sweep_folder())) == 0
    table = capsys.readouterr().out
    assert "3 jobs: 1 finished, 1 interrupted, 1 not run" in table
    value = read_last_row(second)["eval/average/exploitability"]
    assert f"interrupted  average  {value:.4g} " in table

    calls = 10_000
    assert run_command(*sweep) == 0
    assert "3 jobs, of which 1 finished already" in capsys.readouterr().out
    assert [row["status"] for row in read_jobs()] == ["finished"] * 3
    assert len(list_runs("kuhn/cfr_plus")) == 3
    assert (first / "manifest.json").read_text() == before
    manifest = json.loads((second / "manifest.json").read_text())
    assert 0 < manifest["resumed"][0]["from"]["iterations"] < 600
    for folder in list_runs("kuhn/cfr_plus"):
        assert read_last_row(folder)["iterations"] == 600

    assert run_command(*sweep, "hydra/launcher=basic") == 0  # the launcher makes no difference
    assert run_command(*TRAIN[:2], "-m", "seed=3,4", "budget=600", "evaluate_every=100") == 0
    assert "finished already" in capsys.readouterr().out  # seed 3 is in both sweeps
    assert len(list_runs("kuhn/cfr_plus")) == 4
    assert "ray" not in sys.modules  # importing ray takes seconds


def test_other_settings_start_another_run():
    option_file = Path("mine/experiment/mine.yaml")
    option_file.parent.mkdir(parents=True)
    for deals in (30, 40):
        option_file.write_text(f"# @package _global_\nevaluation: {{deals: {deals}}}\n")
        assert run_command("train", "-m", *TRAIN[1:3], "experiment=mine", "--config-dir=mine") == 0
    assert len(list_runs("kuhn/cfr_plus")) == 2
    named_run = ["experiment=mine", "--config-dir=mine", "name=mine"]
    for deals, status in ((50, 0), (50, 0), (60, 2)):  # 60: the name is taken
        option_file.write_text(f"# @package _global_\nevaluation: {{deals: {deals}}}\n")
        assert run_command("train", "-m", *TRAIN[1:3], *named_run) == status
    command = [*TRAIN, "-m", "seed=1,2", "name=n${seed}"]
    assert run_command(*command) == run_command(*command) == 0  # the second finds finished runs
    shutil.rmtree("outputs/kuhn/cfr_plus/n2")
    assert run_command(*command) == 0
    assert run_command(*command, "evaluate_every=5") == 2  # other runs have the names
    assert len(list_runs("kuhn/cfr_plus")) == 5


def test_missing_launcher_is_refused(get_refusal, monkeypatch):
    monkeypatch.setattr(job_launcher, "find_spec", lambda name: None)
    message = get_refusal("train", "-m", "seed=1,2", "hydra/launcher=submitit_slurm")
    assert message.startswith("hydra/launcher=submitit_slurm: is not installed. ")
    assert "pip install 'poker-rl[slurm]'" in message
    assert not Path("outputs").exists()


def read_manifest():
    (folder,) = list_runs("kuhn/cfr_plus")
    return json.loads((folder / "manifest.json").read_text())


def test_requeued_job_resumes_in_its_folder():
    """As under SLURM: a signal before the time limit, then the job starts again."""
    if find_spec("submitit") is None:
        pytest.skip("submitit is not installed")
    command = [*PROGRAM, *TRAIN[:2], "-m", "hydra/launcher=submitit_local", "seed=1"]
    command += ["budget=1e9", "evaluate_every=1e4", "checkpoint_every=1e8"]
    outputs = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    process = subprocess.Popen(command, env=ENVIRONMENT, **outputs)

    def get_training_pid():
        """Return the process id of the training, the only child of submitit's process."""
        paths = Path("outputs").glob("sweeps/*/.submitit/*")
        (job_path,) = [path for path in paths if path.name != "%j"]
        return int(Path(f"/proc/{job_path.name}/task/{job_path.name}/children").read_text())

    wait_for(lambda: list(Path("outputs").glob("kuhn/*/*/state.pt")), process)
    (folder,) = list_runs("kuhn/cfr_plus")
    wait_for(lambda: read_last_metrics_row(folder).get("iterations", 0) > 0, process)
    first_pid = get_training_pid()
    os.kill(first_pid, signal.SIGUSR2)
    wait_for(lambda: read_manifest()["resumed"] and read_manifest()["status"] == "running", process)
    restart = read_manifest()["resumed"][0]["from"]["iterations"]
    wait_for(lambda: read_last_metrics_row(folder)["iterations"] > restart, process)  # trains again
    second_pid = get_training_pid()
    assert second_pid != first_pid
    os.kill(second_pid, signal.SIGTERM)  # cancels the job
    out, err = process.communicate()
    assert process.returncode == 143, err
    assert "interrupted" in out
    assert "Traceback" not in err
    assert restart > 0
    assert read_manifest()["status"] == "interrupted"
    assert read_manifest()["checkpoint"]["iterations"] > restart


def test_ray_runs_the_jobs_of_a_sweep():
    if find_spec("ray") is None:  # importing ray would take seconds
        pytest.skip("ray is not installed")
    command = [*PROGRAM, *TRAIN, "-m", "hydra/launcher=ray", "seed=1,x,2"]
    command += ["hydra.launcher.ray.init.num_cpus=2", "figures=false"]
    process = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    assert process.returncode == 2, process.stderr
    assert 'refused: seed: "x" is not an integer' in process.stderr
    folders = list_runs("kuhn/cfr_plus")
    assert [read_last_row(folder)["iterations"] for folder in folders] == [10, 10]
