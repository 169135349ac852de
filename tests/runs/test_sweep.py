"""Sweeps: jobs that end in every way, and what is told of them."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import yaml
from commands import TRAIN, code, last_row, runs

import poker_rl
from poker_rl.cli import train_command
from poker_rl.cli.train_command import job_of_sweep
from poker_rl.runs import job
from poker_rl.runs.stop import Interrupted

pytestmark = pytest.mark.usefixtures("here")


def summary() -> list[dict[str, str]]:
    (path,) = Path("outputs/sweeps").glob("*.csv")
    with path.open() as file:
        return list(csv.DictReader(file))


def test_a_failing_job_does_not_stop_the_others(capsys: pytest.CaptureFixture[str]) -> None:
    assert code(*TRAIN, "-m", "algo=cfr,nope", "seed=1,x,2") == 2
    out, err = capsys.readouterr()
    folders = runs("kuhn/cfr")
    assert len(folders) == len(runs()) == 2
    rows = summary()
    assert [(row["algo"], row["seed"], row["status"]) for row in rows] == [
        ("cfr", "1", "finished"),
        ("cfr", "x", "refused"),
        ("cfr", "2", "finished"),
        ("nope", "1", "refused"),
        ("nope", "x", "refused"),
        ("nope", "2", "refused"),
    ]
    assert [rows[0]["folder"], rows[2]["folder"]] == [str(folder) for folder in folders]
    shown = last_row(folders[0])["eval/average/exploitability"]
    assert float(rows[0]["eval/average/exploitability"]) == shown
    assert f"{shown:.4g}" in out
    assert "headline  average/exploitability  current/exploitability" in out
    assert "finished  average   " in out
    told = [line for line in err.splitlines() if line.startswith("poker-rl: ")]
    assert len(told) == 4
    assert 'seed=x: refused: seed: "x" is not an integer' in told[0]
    assert "algo=nope: no such option; " in told[1]
    assert sorted(path.name for path in Path().iterdir()) == ["outputs"]
    command = json.loads((folders[1] / "manifest.json").read_text())["command"]
    assert command == "poker-rl train algo=cfr budget=10 evaluation.deals=30 seed=2"


def test_the_summary_is_there_from_the_beginning() -> None:
    command = [sys.executable, "-c", "from poker_rl.cli import main; main()", *TRAIN[:2]]
    command += ["-m", "seed=range(0,3000)", "budget=1e9", "evaluate_every=1e8"]
    here = {"PYTHONPATH": str(Path(poker_rl.__file__).parents[1]), "TMPDIR": str(Path.cwd())}
    process = subprocess.Popen(
        command, env=os.environ | here, stderr=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "3,000 jobs\n"
    assert process.stdout.readline().startswith("job 1 of 3,000: algo=cfr_plus seed=0 ")
    while not list(Path("outputs").glob("sweeps/*.csv")):
        assert process.poll() is None
        time.sleep(0.05)
    process.kill()
    process.communicate()
    (folder,) = runs("kuhn/cfr_plus")
    rows = summary()
    assert len(rows) == 3000
    assert [row["status"] for row in rows[:2]] == ["running", "not run"]
    assert [row["folder"] for row in rows[:2]] == [str(folder), ""]


def test_jobs_that_are_alike() -> None:
    assert code(*TRAIN, "-m", "seed=1,1", "experiment=null") == 0
    rows = summary()
    assert [row["folder"] for row in rows] == [str(folder) for folder in runs("kuhn/cfr_plus")]
    assert len(rows) == 2
    assert rows[0]["eval/average/exploitability/unit"] == "ante/hand"
    assert rows[0]["eval/average/value/unit"] == "chips a hand"


def test_settings_of_the_first_job(capsys: pytest.CaptureFixture[str]) -> None:
    assert code(*TRAIN, "-m", "seed=7,8", "--cfg", "job") == 0
    out = capsys.readouterr().out
    assert out.startswith(
        "# the first of 2 jobs: algo=cfr_plus budget=10 evaluation.deals=30 seed=7"
    )
    assert yaml.safe_load(out)["seed"] == 7


def test_a_job_that_leaves_no_word_of_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    def train(*_: Any, begun: Any, **__: Any) -> None:
        begun(Path("outputs/x"))
        raise KeyboardInterrupt  # a second one, which acts at once

    monkeypatch.setattr(job, "train", train)
    assert code(*TRAIN, "-m", "seed=1,2") == 130
    told = [(row["status"], row["folder"]) for row in summary()]
    assert told == [("interrupted", "outputs/x"), ("not run", "")]


def test_a_bug_in_one_job(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def train(cfg: dict[str, Any], *_: Any, **__: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        return {"loss": 1 / cfg["seed"]}, {}

    monkeypatch.setattr(job, "train", train)
    assert code(*TRAIN, "-m", "seed=-1,0,1") == 1
    assert [row["status"] for row in summary()] == ["refused", "failed", "finished"]
    assert capsys.readouterr().err.count("ZeroDivisionError") == 2  # traceback and summary


def test_an_interrupted_sweep(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def train(cfg: dict[str, Any], *_: Any, begun: Any, **__: Any) -> tuple[Any, Any]:
        if cfg["seed"] == 1:
            begun(Path("outputs/x"))
            raise Interrupted(15, "stopped")
        return {}, {}

    asked: list[int] = []

    def one(*given: Any) -> None:
        asked.append(given[-1])
        job_of_sweep(*given)

    monkeypatch.setattr(job, "train", train)
    monkeypatch.setattr(train_command, "job_of_sweep", one)
    assert code(*TRAIN, "-m", "seed=0,1,2,3,4") == 143
    assert [row["status"] for row in summary()] == ["finished", "interrupted", *["not run"] * 3]
    assert [row["folder"] for row in summary()] == ["", "outputs/x", "", "", ""]
    assert asked == [0, 1, 2]  # the launcher composes no others, which takes minutes for thousands


def test_a_signal_between_two_jobs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def one(*given: Any) -> None:
        signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr(train_command, "job_of_sweep", one)
    assert code(*TRAIN, "-m", "seed=0") == 143
    assert capsys.readouterr().out == "1 job\n"


def test_a_signal_to_the_parent_of_jobs_side_by_side() -> None:
    pytest.importorskip("hydra_plugins.hydra_joblib_launcher")
    command = [sys.executable, "-c", "from poker_rl.cli import main; main()", *TRAIN[:2]]
    command += ["-m", "hydra/launcher=joblib", "hydra.launcher.n_jobs=2"]
    command += ["seed=0,1,2", "budget=1e9", "evaluate_every=1e6", "checkpoint_every=1e8"]
    here = {"PYTHONPATH": str(Path(poker_rl.__file__).parents[1])}
    process = subprocess.Popen(
        command, env=os.environ | here, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
    )
    while len(list(Path("outputs").glob("*/*/*/state.pt"))) < 2:
        assert process.poll() is None
        time.sleep(0.05)
    process.terminate()
    _, err = process.communicate()
    assert process.returncode == 143
    assert [row["status"] for row in summary()] == ["interrupted", "interrupted", "not run"]
    assert "seed=2 budget=1000000000.0 evaluate_every" in err
    assert "Traceback" not in err
    for folder in runs():
        manifest = json.loads((folder / "manifest.json").read_text())
        assert manifest["status"] == "interrupted"
        assert manifest["checkpoint"] is not None


def test_jobs_of_ones_own_names() -> None:
    jobs = ["-m", "algo=cfr,cfr_plus", "seed=1,2", "name=one_${seed}", "outputs=there"]
    assert code(*TRAIN, *jobs) == 0
    folders = [str(path) for path in sorted(Path("there").glob("kuhn/*/*"))]
    assert folders == [f"there/kuhn/{a}/one_{s}" for a in ("cfr", "cfr_plus") for s in (1, 2)]
    (path,) = Path("there/sweeps").glob("*.csv")
    with path.open() as file:
        assert [row["folder"] for row in csv.DictReader(file)] == folders
    assert not Path("outputs").exists()


def test_settings_that_only_the_swept_algorithms_have(asked: list[dict[str, Any]]) -> None:
    assert code("train", "-m", "algo=cfr,cfr_plus", "algo.beta=-1") == 0
    assert [cfg["algo"]["beta"] for cfg in asked] == [-1, -1]
    assert not Path("multirun").exists()


def test_jobs_side_by_side() -> None:
    pytest.importorskip("hydra_plugins.hydra_joblib_launcher")
    side_by_side = ["hydra/launcher=joblib", "hydra.launcher.n_jobs=2"]
    assert code(*TRAIN, "-m", "seed=1,x", *side_by_side) == 2
    assert [row["status"] for row in summary()] == ["finished", "refused"]
    assert len(runs("kuhn/cfr_plus")) == 1
