"""Experiment trackers, with their real libraries offline: one tracked run, even after a kill."""

import json
import shutil
import sqlite3
import subprocess
from dataclasses import dataclass
from time import monotonic, sleep

import pytest
import tiny_run
from commands import PROGRAM, run_command

from poker_rl.training.loggers import trackers
from poker_rl.training.loggers.trackers import Tracker

RUN = "outputs/kuhn/cfr_plus/run"


def train(folder, *arguments):
    """Train in a new process, because libraries are set up once per process; return its output."""
    command = [*PROGRAM, "train", *arguments]
    process = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stderr
    return process.stdout + process.stderr


@pytest.fixture(scope="module")
def outputs(tmp_path_factory):
    """Return the outputs of a run that was resumed, then reset as by a kill and resumed again."""
    folder = tmp_path_factory.mktemp("trackers")
    run, backup = folder / RUN, folder / "kept"
    settings = ("evaluate_every=10", "checkpoint_every=20", "name=run", "budget=20")
    loggers = "logger=[wandb,mlflow,trackio]"
    printed = train(folder, "game=kuhn", "algo=cfr_plus", *settings, loggers)
    shutil.copytree(run, backup)
    printed += train(folder, f"resume={RUN}", "budget=40")
    for name in ("state.pt", "manifest.json"):
        shutil.copy(backup / name, run / name)
    printed += train(folder, f"resume={RUN}", "budget=60")
    assert "continues without" not in printed
    return folder / "outputs"


def read_rows(outputs):
    """Return the headline exploitability by number of decisions, from metrics.jsonl."""
    lines = (outputs.parent / RUN / "metrics.jsonl").read_text().splitlines()
    rows = [json.loads(line) for line in lines]
    assert len(rows) == 7
    return {row["decisions"]: row["eval/average/exploitability"] for row in rows}


def read_id(outputs):
    """Return the id by which trackers recognise the run."""
    return str(json.loads((outputs.parent / RUN / "manifest.json").read_text())["tracker_id"])


def test_mlflow_has_one_run_with_each_row_once(outputs):
    (run,) = (path.parent for path in outputs.glob("mlflow/*/*/meta.yaml"))
    assert "status: 3" in (run / "meta.yaml").read_text()  # MLflow's number of FINISHED
    assert (run / "tags" / "tracker_id").read_text() == read_id(outputs)
    assert (run / "tags" / "algo").read_text() == "cfr_plus"
    assert (run / "params" / "algo.gamma").exists()
    assert (run / "artifacts" / "figures" / "exploitability.png").exists()
    lines = (run / "metrics" / "eval" / "exploitability").read_text().splitlines()
    points = [(int(step), float(value)) for _, value, step in map(str.split, lines)]
    assert points == list(read_rows(outputs).items())


def test_trackio_has_one_run_with_each_row_once(outputs):
    with sqlite3.connect(outputs / "trackio" / "poker-rl.db") as database:
        rows = database.execute("SELECT run_name, step, metrics FROM metrics ORDER BY id")
        logged = [(name, step, json.loads(text)) for name, step, text in rows]
    assert {name for name, _, _ in logged} == {f"kuhn cfr_plus run {read_id(outputs)}"}
    tag = "eval/exploitability"
    points = [(step, values[tag]) for _, step, values in logged if tag in values]
    assert points == list(read_rows(outputs).items())
    assert any("figures/exploitability" in values for _, _, values in logged)


def test_wandb_continues_the_run_with_its_id(outputs):
    folders = list(outputs.glob("wandb/offline-run-*"))
    assert len(folders) == 3  # `wandb sync` joins those with one id
    assert {folder.name.rpartition("-")[2] for folder in folders} == {read_id(outputs)}
    for folder in folders:
        (log,) = folder.glob("*.wandb")
        assert b"eval/exploitability" in log.read_bytes()
        assert list(folder.glob("files/media/images/figures/exploitability_*.png"))


@dataclass
class BrokenTracker(Tracker):
    """Tracker that fails or hangs at the first row after `step`."""

    package = "json"  # a package that is always installed
    step: int
    hangs: bool

    def open_run(self, config):
        pass

    def track(self, values, figures, step):
        if step > self.step:
            if self.hangs:
                sleep(3600)
            raise RuntimeError("no network\nsecond line")

    def close_run(self, status):
        raise AssertionError("a tracker that has failed is not called again")


@pytest.mark.parametrize(("step", "hangs"), [(-1, False), (100, True)])
def test_broken_tracker_is_dropped_with_one_warning(step, hangs, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(trackers, "TIMEOUT_S", 0.25)
    start = monotonic()
    tiny_run.train(figures=False, loggers=[BrokenTracker(step, hangs)])
    assert monotonic() - start < 10
    assert tiny_run.read_rows(tiny_run.get_folder())[-1]["decisions"] >= 400
    reason = "no answer for 0.25 s" if hangs else "RuntimeError: no network"
    warnings = [line for line in capsys.readouterr().err.splitlines() if "logger json" in line]
    assert len(warnings) == 1
    assert f"logger json: {reason}; the run continues without this logger" in warnings[0]


def test_missing_library_is_refused_before_files_are_written(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(trackers, "find_spec", lambda name: None)
    for name in ("wandb", "mlflow", "trackio"):
        assert run_command("train", "game=kuhn", "algo=cfr_plus", f"logger=[{name}]") == 2
        expected = f"logger.{name}: needs more packages: pip install 'poker-rl[{name}]'"
        assert expected in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
