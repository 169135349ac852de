"""Failures of the machine: one line that names the path, and an intact last checkpoint."""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import tiny
from commands import ENVIRONMENT, PROGRAM, TRAIN, limit_file_size, list_runs, run_command

from poker_rl.storage import checkpoint, disk
from poker_rl.storage.run_folder import read_run_folder
from poker_rl.training import train as train_module

pytestmark = pytest.mark.usefixtures("working_folder")

FULL = "No space left on device"


def read_error(capsys: pytest.CaptureFixture[str]) -> str:
    """Return the line on standard error that is no progress bar."""
    err = capsys.readouterr().err.replace("\r", "\n")
    (line,) = [line for line in err.splitlines() if line and "|" not in line]
    assert line.startswith("poker-rl: ")
    return line.removeprefix("poker-rl: ")


@pytest.mark.parametrize(
    ("name", "spare_bytes", "options"),
    [
        ("state.pt", -1, ["checkpoint_every=1", "evaluate_every=1000"]),
        ("metrics.jsonl", 2000, ["checkpoint_every=1000", "evaluate_every=1"]),
    ],
)
def test_a_full_disk_while_training(name, spare_bytes, options, capsys):
    assert run_command(*TRAIN) == 0
    (folder,) = list_runs()
    capsys.readouterr()
    with limit_file_size((folder / "state.pt").stat().st_size + spare_bytes):
        assert run_command("train", f"resume={folder}", "budget=200", *options) == 1
    assert read_error(capsys).startswith(f"{folder}/{name}")
    assert not list(folder.rglob("*.part"))
    assert read_run_folder(folder)[1]["status"] == "failed"
    assert checkpoint.load_checked(folder / "state.pt")["progress"]["iterations"] == 10
    assert run_command("train", f"resume={folder}", "budget=20") == 0
    assert read_run_folder(folder)[1]["status"] == "finished"


def test_a_run_that_fails_at_the_start_leaves_no_folder(capsys):
    with limit_file_size(100):
        assert run_command(*TRAIN, "name=first") == 1
    assert read_error(capsys) == "outputs/kuhn/cfr_plus/first/config.yaml: File too large"
    assert not list_runs()


def test_a_failure_is_printed_in_a_line(monkeypatch, capsys):
    def train(*_: Any, **__: Any) -> None:
        with disk.naming_path("outputs/x"):
            raise OSError(errno.ENOSPC, FULL)

    monkeypatch.setattr(train_module, "train_in_folder", train)
    assert run_command(*TRAIN) == 1
    assert read_error(capsys) == f"outputs/x: {FULL}"
    assert run_command(*TRAIN, "-m", "seed=1,2") == 1
    assert f"seed=2: failed: outputs/x: {FULL}" in capsys.readouterr().err


def test_a_folder_that_is_gone_while_training(monkeypatch):
    learn = tiny.TinyAlgorithm.learn

    def remove(self: tiny.TinyAlgorithm) -> dict[str, float]:
        if self.progress.iterations == 3:
            shutil.rmtree(tiny.only_folder())
        return learn(self)

    monkeypatch.setattr(tiny.TinyAlgorithm, "learn", remove)
    with pytest.raises(FileNotFoundError) as failure:
        tiny.train()
    assert Path(failure.value.filename).is_relative_to("outputs/tiny/fit")
    assert not list(Path("outputs").glob("*/*/*"))  # and it is not created again


@pytest.mark.parametrize("fails", ["fsync", "replace"])
def test_a_file_that_can_not_be_replaced_stays(fails, tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.write_text("old")

    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, FULL)

    monkeypatch.setattr(os, fails, full)
    with pytest.raises(OSError, match=FULL) as failure, disk.atomic_replacement(path) as new_path:
        new_path.write_text("new")
    assert disk.format_os_error(failure.value) == f"{path}: {FULL}"
    assert path.read_text() == "old"
    assert [file.name for file in tmp_path.iterdir() if file.is_file()] == ["file"]


def test_a_result_that_can_not_be_written_is_printed(capsys):
    with limit_file_size(0):
        assert run_command("evaluate", "game=kuhn", "player=call", "out=there") == 1
    out, err = capsys.readouterr()
    assert "exploitability" in out
    assert re.fullmatch(r"poker-rl: there/[\d_.-]+\.json: File too large\n", err)


@pytest.mark.parametrize("arguments", [["list"], TRAIN], ids=["list", "train"])
def test_output_that_can_not_be_written(arguments):
    command = ["sh", "-c", 'exec "$@" >/dev/full', "sh", *PROGRAM, *arguments]
    options = {"env": ENVIRONMENT, "stderr": subprocess.PIPE, "text": True}
    done = subprocess.run(command, **options, check=False)
    assert (done.returncode, done.stderr) == (1, f"poker-rl: standard output: {FULL}\n")
    for folder in list_runs():
        assert json.loads((folder / "manifest.json").read_text())["status"] == "failed"
