"""Runs that are stopped in every way and resumed equal uninterrupted runs."""

import hashlib
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from unittest.mock import Mock

import pytest
import tiny_run
import torch
from processes import SERVER, default_signals
from tiny_run import is_same, read_rows
from tqdm import tqdm

from poker_rl.config import ConfigError
from poker_rl.storage import checkpoint
from poker_rl.storage.run_files import read_config_and_manifest
from poker_rl.training import signals
from poker_rl.training.run_outcome import DivergedError, RunInterruptedError

FORK = multiprocessing.get_context("fork")  # starts fast, without imports
TRACED = ("trainer.py", "recorder.py", "run_checkpoints.py", "checkpoint.py", "run_files.py")
TRACED += ("start_run.py",)


@pytest.fixture(autouse=True)
def working_folder(tmp_path, monkeypatch):
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # results depend on the number of threads
    monkeypatch.chdir(tmp_path)
    yield
    torch.set_num_threads(threads)


def load_result(folder):
    """Return all saved data that must be equal in two runs of equal length."""
    state = checkpoint.load_checked(folder / "state.pt")
    newest = checkpoint.load_snapshot(checkpoint.find_newest_snapshot(folder))
    return read_rows(folder), {**state, "recorder": None}, newest


def run_in_fork(function, *arguments):
    """Run in a fork of this process, which must have no other threads; return the exit code."""
    assert threading.active_count() == 1
    process = FORK.Process(target=function, args=arguments)
    process.start()
    process.join()
    return process.exitcode


def train_until_line(kill_at, resume):
    """Train, counting executed lines of the traced files; at line `kill_at`, kill this process."""
    count = 0

    def trace(frame, event, argument):
        nonlocal count
        if not frame.f_code.co_filename.endswith(TRACED):
            return None
        if event == "line":
            count += 1
            if count == kill_at:
                os.kill(os.getpid(), signal.SIGKILL)
        return trace

    sys.settrace(trace)
    try:
        tiny_run.train(resume)
    finally:
        sys.settrace(None)
    return count


def test_run_folder_is_complete():
    tiny_run.train()
    folder = tiny_run.get_folder()
    assert folder.parent == Path("outputs/tiny/fit")
    config, manifest = read_config_and_manifest(folder)
    assert config == tiny_run.build_settings()
    assert (manifest["status"], manifest["seed"]) == ("finished", 5)
    assert 50 < manifest["peak_memory_mib"] < 50_000
    assert manifest["versions"]["torch"].startswith(torch.__version__.partition("+")[0])
    match = {"unit": "ante", "kind": "against call"}
    assert manifest["measurements"]["eval/current/match"] == match
    assert (folder / "figures/exploitability.png").stat().st_size > 0
    rows = read_rows(folder)
    assert rows[0]["decisions"] == 0
    steps = [row["decisions"] for row in rows]
    assert [step // 50 for step in steps] == list(range(9))  # one row per 50 decisions
    assert not list(folder.rglob("*.part"))


def test_metrics_rows_hold_means_since_the_previous_row(monkeypatch):
    values = iter(range(1, 1000))

    def learn(self):
        self.progress.decisions += 10
        self.progress.iterations += 1
        value = float(next(values))
        return {"loss/policy": value} | ({"rare": value} if value % 4 == 0 else {})

    monkeypatch.setattr(tiny_run.TinyAlgorithm, "learn", learn)
    tiny_run.train(budget=80, evaluate_every=30, checkpoint_every=1000)
    rows = read_rows(tiny_run.get_folder())
    assert [row["decisions"] for row in rows] == [0, 30, 60, 80]
    assert [row.get("loss/policy") for row in rows] == [None, 2.0, 5.0, 7.5]
    assert [row.get("rare") for row in rows] == [None, None, 4.0, 8.0]


def test_run_killed_at_any_line_and_resumed_is_bitwise_equal():
    process = SERVER.Process(target=kill_and_resume)  # forks need a process without other threads
    process.start()
    process.join()
    assert process.exitcode == 0


def kill_and_resume():
    torch.set_num_threads(1)
    tqdm.monitor_interval = 0  # tqdm starts no thread, which forks must not have
    tiny_run.train()
    expected = load_result(tiny_run.get_folder())
    (tiny_run.get_folder().parents[2]).rename("whole")
    lines = train_until_line(None, None)
    tiny_run.get_folder().parents[2].rename("traced")
    kill_lines = range(1, lines + 1, lines // 10)
    resumed = 0
    for kill_at in kill_lines:
        assert run_in_fork(train_until_line, kill_at, None) == -signal.SIGKILL
        folders = list(Path("outputs").glob("*/*/*"))
        if not folders or not (folders[0] / "manifest.json").exists():
            continue  # killed before the run had begun
        folder = folders[0]
        run_in_fork(train_until_line, kill_at // 2, folder)  # kill it while it resumes
        if read_config_and_manifest(folder)[1]["status"] != "finished":
            assert run_in_fork(tiny_run.train, folder) == 0
        assert is_same(load_result(folder), expected), f"killed at line event {kill_at} of {lines}"
        folder.parents[2].rename(f"killed_{kill_at}")
        resumed += 1
    assert resumed > len(kill_lines) * 0.8


@pytest.fixture(scope="module")
def uninterrupted_result(tmp_path_factory):
    """Return the result of an uninterrupted run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("whole"))
        tiny_run.train()
        return load_result(tiny_run.get_folder())


def test_resume_without_a_checkpoint_starts_from_the_beginning(uninterrupted_result, monkeypatch):
    full = OSError(28, "No space left on device")
    with monkeypatch.context() as patch:
        patch.setattr(checkpoint, "save_snapshot", Mock(side_effect=full))
        with pytest.raises(OSError, match="No space left"):
            tiny_run.train()
    folder = tiny_run.get_folder()
    assert len(read_rows(folder)) == 1
    tiny_run.train(folder)
    assert is_same(load_result(folder), uninterrupted_result)


def test_resume_with_a_larger_budget_equals_one_run(uninterrupted_result):
    tiny_run.train(budget=173)  # 173 is between two evaluations
    folder = tiny_run.get_folder()
    tiny_run.train(folder, budget=400)
    assert is_same(load_result(folder), uninterrupted_result)
    config, manifest = read_config_and_manifest(folder)
    assert manifest["resumed"][0]["from"]["decisions"] >= 173
    assert config["budget"] == 400


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGUSR1])
def test_signal_saves_a_checkpoint_and_ends_the_run(number, uninterrupted_result, monkeypatch):
    with default_signals(), monkeypatch.context() as patch:
        tiny_run.call_before_iteration(patch, 7, lambda: os.kill(os.getpid(), number))
        handler = signal.getsignal(number)
        message = "poker-rl train resume=outputs/tiny/fit/"
        with pytest.raises(RunInterruptedError, match=message) as error:
            tiny_run.train()
        assert error.value.exit_code == 128 + number
        assert signal.getsignal(number) == handler
    folder = tiny_run.get_folder()
    _, manifest = read_config_and_manifest(folder)
    assert (manifest["status"], manifest["checkpoint"]["iterations"]) == ("interrupted", 8)
    tiny_run.train(folder)
    assert is_same(load_result(folder), uninterrupted_result)


def run_compiled_code():
    """Call a function that runs for minutes without a Python instruction."""
    with signals.StopSignals():
        print("begun", flush=True)
        hashlib.pbkdf2_hmac("sha256", b"", b"", 2**31 - 1)


def test_signals_are_handled_during_compiled_code():
    """The first signal prints a message at once; the same signal later ends the process."""
    with default_signals():
        process = subprocess.Popen(
            [sys.executable, "-c", "import test_stop_and_resume as t; t.run_compiled_code()"],
            env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
    assert process.stdout.readline() == b"begun\n"
    process.send_signal(signal.SIGINT)
    message = process.stderr.readline() + process.stderr.readline()
    assert message == signals.STOPPING_MESSAGE.encode()
    time.sleep(signals.SAME_SIGNAL_S + 0.1)  # a longer wait does no harm
    process.send_signal(signal.SIGINT)
    assert process.wait() == 130
    assert process.stderr.read() == signals.ENDED_MESSAGE.encode()


@pytest.mark.parametrize("where", ["metric", "weight", "draw"])
def test_nan_stops_the_run(where):
    algo = {"nan_at": 31, "nan_in": where}
    pattern = {
        "metric": r"loss/policy is nan",
        "weight": r"(loss/policy is|net\.bias|eval/)",
        "draw": r"probabilities that are not numbers: .* after \d+ decisions",
    }[where]
    with pytest.raises(DivergedError, match=pattern) as error:
        tiny_run.train(algo=algo)
    folder = tiny_run.get_folder()
    _, manifest = read_config_and_manifest(folder)
    saved = manifest["checkpoint"]["decisions"]
    assert f"{folder}/state.pt ({saved:,} decisions)" in str(error.value)
    assert "\n" not in str(error.value)
    assert manifest["status"] == "failed"
    assert manifest["error"].startswith("DivergedError: ")
    state = checkpoint.load_checked(folder / "state.pt")
    assert not list(checkpoint.find_non_finite_tensors(state))
    algorithm = tiny_run.TinyAlgorithm(5)
    for _ in range(31):
        algorithm.learn()
    for decisions in (saved, *(row["decisions"] for row in read_rows(folder))):
        assert decisions < algorithm.progress.decisions


def test_weights_are_checked_before_a_checkpoint_is_saved():
    message = r"net\.bias of the algorithm's state .*/state\.pt \(0 decisions\)"
    with pytest.raises(DivergedError, match=message):
        tiny_run.train(algo={"nan_at": 1, "nan_in": "weight"}, checkpoint_every=1)
    assert checkpoint.find_newest_snapshot(tiny_run.get_folder()).stem == "0"


def test_player_is_evaluated_against_its_halfway_snapshot():
    tiny_run.train()
    folder = tiny_run.get_folder()
    saved = checkpoint.load_checked(folder / "state.pt")["regular"]
    opponents = []
    for row in read_rows(folder):
        opponents.append(row["eval/current/exploitability"] - row["eval/current/match"])
        earlier = [count for count in saved if count <= row["decisions"] // 2]
        assert opponents[-1] == pytest.approx(max(earlier, default=0))
    assert len({round(count) for count in opponents}) > 2


def test_run_in_use_cannot_be_resumed(monkeypatch):
    attempts = []

    def resume_meanwhile():
        with pytest.raises(ConfigError, match="another process"):
            tiny_run.train(tiny_run.get_folder())
        attempts.append(True)

    tiny_run.call_before_iteration(monkeypatch, 3, resume_meanwhile)
    tiny_run.train()
    assert attempts == [True]


ZEROS = torch.zeros(7)


@pytest.fixture(scope="module")
def finished_runs(tmp_path_factory):
    """Return a folder of runs with one finished run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("finished"))
        tiny_run.train(budget=100, figures=False)
        return Path("outputs").absolute()


@pytest.fixture
def run(finished_runs, tmp_path, monkeypatch):
    """Return a copy of the finished run in the working folder."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(finished_runs, "outputs")
    return tiny_run.get_folder()


def read_files(folder):
    return {path: path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


def modify(change):
    """Return a function that applies `change` to the checkpoint of a run folder."""

    def edit(folder):
        state = checkpoint.load_checked(folder / "state.pt")
        change(state)
        checkpoint.save_atomically(folder / "state.pt", state)

    return edit


def damage_metrics(folder):
    path = folder / "metrics.jsonl"
    path.write_bytes(b"{" * 30 + b"\n" + path.read_bytes()[31:])


@pytest.mark.parametrize(
    ("damage", "message"),
    {
        "no progress": (modify(lambda s: s.pop("progress")), "does not fit .*: 'progress'"),
        "settings": (modify(lambda s: s["settings"].update(seed=6)), "seed: .*config.yaml differs"),
        "shape": (modify(lambda s: s["algorithm"]["net"].update(bias=ZEROS)), "does not fit"),
        "garbage": (damage_metrics, "metrics.jsonl is damaged: line 1 is not a row of numbers"),
        "rows": (lambda f: (f / "metrics.jsonl").write_text("{}\n"), "rows are gone"),
        "cut short": (lambda f: os.truncate(f / "state.pt", 500), "is damaged"),
        "config": (
            lambda f: (f / "config.yaml").unlink() or os.mkfifo(f / "config.yaml"),
            "is not a file",
        ),
    }.values(),
)
def test_damaged_run_is_refused_and_left_unchanged(run, damage, message):
    damage(run)
    before = read_files(run)
    with pytest.raises(ConfigError, match=message) as refusal:
        tiny_run.train(run, budget=200, figures=False)
    assert "\n" not in str(refusal.value)
    assert read_files(run) == before


def test_late_refusal_leaves_the_run_unchanged(run, monkeypatch):
    """An error can come late: a damaged worker file is read after the checkpoint."""
    tiny_run.train(run, budget=200, figures=False)
    before, damaged = read_files(run), Mock(side_effect=ConfigError("damaged"))
    with monkeypatch.context() as patch:
        patch.setattr(
            "poker_rl.training.run_checkpoints.Checkpoints.load_state_on_all_ranks", damaged
        )
        with pytest.raises(ConfigError, match="damaged"):
            tiny_run.train(run, budget=300, figures=False)
    assert read_files(run) == before
    tiny_run.train(run, budget=300, figures=False)
    assert len({row["decisions"] for row in read_rows(run)}) == len(read_rows(run))
