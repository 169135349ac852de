"""Checkpoints are loaded whole or rejected; errors of files are one line with the path."""

import errno
import json
import os
import pickle
import re
import shutil
import subprocess
from collections import deque
from pathlib import Path

import numpy as np
import pytest
import tiny_run
import torch
from commands import ENVIRONMENT, PROGRAM, TRAIN, limit_file_size, list_runs, run_command

from poker_rl.config import ConfigError
from poker_rl.config.option_files import read_plain_yaml
from poker_rl.storage import checkpoint, disk, run_files, terminal_printing
from poker_rl.storage.run_files import read_config_and_manifest

pytestmark = pytest.mark.usefixtures("working_folder")

FULL = "No space left on device"


def read_error(capsys):
    """Return the only line on standard error that is no progress bar, without its prefix."""
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
def test_full_disk_fails_the_run_which_resumes(name, spare_bytes, options, finished_run, capsys):
    folder = finished_run
    with limit_file_size((folder / "state.pt").stat().st_size + spare_bytes):
        assert run_command("train", f"resume={folder}", "budget=200", *options) == 1
    assert read_error(capsys).startswith(f"{folder}/{name}")
    assert not list(folder.rglob("*.part"))
    assert read_config_and_manifest(folder)[1]["status"] == "failed"
    assert checkpoint.load_checked(folder / "state.pt")["progress"]["iterations"] == 10
    assert run_command("train", f"resume={folder}", "budget=20") == 0
    assert read_config_and_manifest(folder)[1]["status"] == "finished"


def test_run_that_fails_at_the_start_leaves_no_folder(capsys):
    with limit_file_size(100):
        assert run_command(*TRAIN, "name=first") == 1
    assert read_error(capsys) == "outputs/kuhn/cfr_plus/first/config.yaml: File too large"
    assert not list_runs()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_folder_deleted_while_training_is_not_created_again(monkeypatch):
    tiny_run.call_before_iteration(monkeypatch, 3, lambda: shutil.rmtree(tiny_run.get_folder()))
    with pytest.raises(FileNotFoundError) as failure:
        tiny_run.train()
    assert Path(failure.value.filename).is_relative_to("outputs/tiny/fit")
    assert not list(Path("outputs").glob("*/*/*"))


@pytest.mark.parametrize("fails", ["fsync", "replace"])
def test_file_is_unchanged_if_its_replacement_fails(fails, tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.write_text("old")

    def raise_disk_full(*_):
        raise OSError(errno.ENOSPC, FULL)

    monkeypatch.setattr(os, fails, raise_disk_full)
    with pytest.raises(OSError, match=FULL) as failure, disk.atomic_replacement(path) as new_path:
        new_path.write_text("new")
    assert terminal_printing.format_os_error(failure.value) == f"{path}: {FULL}"
    assert path.read_text() == "old"
    assert [file.name for file in tmp_path.iterdir() if file.is_file()] == ["file"]


def test_result_is_printed_if_its_file_can_not_be_written(capsys):
    with limit_file_size(0):
        assert run_command("evaluate", "game=kuhn", "player=call", "out=there") == 1
    out, err = capsys.readouterr()
    assert "exploitability" in out
    assert re.fullmatch(r"poker-rl: there/[\d_.-]+\.json: File too large\n", err)


def test_full_standard_output_is_an_error_and_fails_the_run():
    command = ["sh", "-c", 'exec "$@" >/dev/full', "sh", *PROGRAM, *TRAIN]
    options = {"env": ENVIRONMENT, "stderr": subprocess.PIPE, "text": True}
    process = subprocess.run(command, **options, check=False)
    assert (process.returncode, process.stderr) == (1, f"poker-rl: standard output: {FULL}\n")
    (folder,) = list_runs()
    assert json.loads((folder / "manifest.json").read_text())["status"] == "failed"


TREE = {"weight": torch.arange(5.0), "plain": {1: 2, "list": [1.5, (2, None)], "big": 2**128}}


def write(path):
    checkpoint.save_atomically(path, TREE)
    return path


def test_saved_checkpoint_is_loaded_unchanged(tmp_path):
    tree = checkpoint.load_checked(write(tmp_path / "state.pt"))
    assert torch.equal(tree["weight"], TREE["weight"])
    assert tree["plain"] == TREE["plain"]
    assert [path.name for path in tmp_path.iterdir()] == ["state.pt"]


@pytest.mark.parametrize("value", [np.float64(3), np.zeros(3), Path("x"), deque([1])], ids=repr)
def test_value_that_could_not_be_loaded_is_not_saved(tmp_path, value):
    path = write(tmp_path / "state.pt")
    with pytest.raises(pickle.UnpicklingError):
        checkpoint.save_atomically(path, {"value": value})
    assert checkpoint.load_checked(path).keys() == TREE.keys()


def test_truncated_files_and_flipped_bits_are_rejected(tmp_path):
    path = write(tmp_path / "state.pt")
    whole = path.read_bytes()
    start = whole.index(np.arange(5, dtype=np.float32).tobytes())
    flipped = [whole[:i] + bytes([whole[i] ^ 1]) + whole[i + 1 :] for i in range(start, start + 20)]
    for damaged in [whole[:length] for length in range(0, len(whole), 41)] + flipped:
        path.write_bytes(damaged)
        with pytest.raises(ConfigError, match="damaged or no checkpoint"):
            checkpoint.load_checked(path)


class Bomb:
    def __reduce__(self):
        return (print, ("executed",))


def test_files_with_code_are_rejected_and_not_executed(tmp_path, capsys):
    path = tmp_path / "state.pt"
    for content in ({"bomb": Bomb()}, torch.zeros(3)):
        torch.save(content, path)
        with pytest.raises(ConfigError, match="damaged or no checkpoint"):
            checkpoint.load_checked(path)
    with pytest.raises(ConfigError, match="no such file"):
        checkpoint.load_checked(tmp_path / "missing.pt")
    with pytest.raises(ConfigError, match="no player snapshot"):
        checkpoint.load_snapshot(write(path))
    assert "executed" not in capsys.readouterr().out


def test_snapshot_of_a_view_does_not_store_the_whole_tensor(tmp_path):
    replicas = torch.zeros(1000, 1000, requires_grad=True)
    players = {"current": {"weight": replicas[3]}}
    path = checkpoint.save_snapshot(tmp_path, 1, {"game": {}, "players": players})
    assert path.stat().st_size < 10_000
    assert not checkpoint.load_snapshot(path)["players"]["current"]["weight"].requires_grad


def test_separators_of_lines_in_text_are_kept(tmp_path):
    text = "a\r\u2028b"
    assert disk.to_csv([{"name": text}]) == f'name\n"{text}"\n'
    run_files.write_config(tmp_path, {"name": text})
    assert read_plain_yaml(tmp_path / "config.yaml") == {"name": text}
