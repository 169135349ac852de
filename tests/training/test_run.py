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
import tiny
import torch
from processes import SERVER, default_signals
from tiny import same
from tqdm import tqdm

from poker_rl.config import ConfigError
from poker_rl.storage import checkpoint
from poker_rl.storage.run_files import read_config_and_manifest
from poker_rl.training import signals
from poker_rl.training.run_endings import DivergedError, RunInterruptedError

FORK = multiprocessing.get_context("fork")  # has all that a first run imports
TRACED = ("trainer.py", "recorder.py", "run_checkpoints.py", "checkpoint.py", "run_files.py")
TRACED += ("train.py",)


@pytest.fixture(autouse=True)
def working_folder(tmp_path, monkeypatch):
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # as in `kill_and_resume`
    monkeypatch.chdir(tmp_path)
    yield
    torch.set_num_threads(threads)


def result(folder):
    """Return everything that must be equal in two runs of equal length."""
    state = checkpoint.load_checked(folder / "state.pt")
    newest = checkpoint.load_snapshot(checkpoint.find_newest_snapshot(folder))
    return tiny.rows(folder), {**state, "recorder": None}, newest


def child(work, *arguments):
    """Run in a fork of this process, which must have no other threads; return the exit code."""
    assert threading.active_count() == 1
    process = FORK.Process(target=work, args=arguments)
    process.start()
    process.join()
    return process.exitcode


def lines_until(kill_at, resume):
    """Train, and kill -9 this process at a line of the traced files; return the number of lines."""
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
        tiny.train(resume)
    finally:
        sys.settrace(None)
    return count


def test_a_run_leaves_its_folder():
    tiny.train()
    folder = tiny.only_folder()
    assert folder.parent == Path("outputs/tiny/fit")
    cfg, manifest = read_config_and_manifest(folder)
    assert cfg == tiny.settings()
    assert (manifest["status"], manifest["seed"]) == ("finished", 5)
    assert 50 < manifest["peak_memory_mib"] < 50_000
    assert manifest["versions"]["torch"].startswith(torch.__version__.partition("+")[0])
    match = {"unit": "ante", "kind": "against call"}
    assert manifest["measurements"]["eval/current/match"] == match
    assert (folder / "figures/exploitability.png").stat().st_size > 0
    rows = tiny.rows(folder)
    assert rows[0]["decisions"] == 0
    steps = [row["decisions"] for row in rows]
    assert [step // 50 for step in steps] == list(range(9))  # the last one is on the beat
    assert not list(folder.rglob("*.part"))


def test_rows_hold_means_since_the_last_row(monkeypatch):
    values = iter(range(1, 1000))

    def learn(self):
        self.progress.decisions += 10
        self.progress.iterations += 1
        value = float(next(values))
        return {"loss/policy": value} | ({"rare": value} if value % 4 == 0 else {})

    monkeypatch.setattr(tiny.TinyAlgorithm, "learn", learn)
    tiny.train(budget=80, evaluate_every=30, checkpoint_every=1000)
    rows = tiny.rows(tiny.only_folder())
    assert [row["decisions"] for row in rows] == [0, 30, 60, 80]
    assert [row.get("loss/policy") for row in rows] == [None, 2.0, 5.0, 7.5]
    assert [row.get("rare") for row in rows] == [None, None, 4.0, 8.0]


def test_killed_at_any_line_and_resumed_equals_undisturbed():
    process = SERVER.Process(target=kill_and_resume)  # this one may have threads of other tests
    process.start()
    process.join()
    assert process.exitcode == 0


def kill_and_resume():
    torch.set_num_threads(1)
    tqdm.monitor_interval = 0  # no thread
    tiny.train()
    expected = result(tiny.only_folder())
    (tiny.only_folder().parents[2]).rename("whole")
    lines = lines_until(None, None)
    tiny.only_folder().parents[2].rename("traced")
    points = range(1, lines + 1, lines // 10)
    resumed = 0
    for kill_at in points:
        assert child(lines_until, kill_at, None) == -signal.SIGKILL
        folders = list(Path("outputs").glob("*/*/*"))
        if not folders or not (folders[0] / "manifest.json").exists():
            continue  # there was no run yet
        folder = folders[0]
        child(lines_until, kill_at // 2, folder)  # and once more on the way
        if read_config_and_manifest(folder)[1]["status"] != "finished":
            assert child(tiny.train, folder) == 0
        assert same(result(folder), expected), f"killed at line event {kill_at} of {lines}"
        folder.parents[2].rename(f"killed_{kill_at}")
        resumed += 1
    assert resumed > len(points) * 0.8


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Result of an uninterrupted run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("whole"))
        tiny.train()
        return result(tiny.only_folder())


def test_a_run_that_was_killed_before_its_first_checkpoint_begins_again(whole, monkeypatch):
    full = OSError(28, "No space left on device")
    with monkeypatch.context() as patch:
        patch.setattr(checkpoint, "save_snapshot", Mock(side_effect=full))
        with pytest.raises(OSError, match="No space left"):
            tiny.train()
    folder = tiny.only_folder()
    assert len(tiny.rows(folder)) == 1
    tiny.train(folder)
    assert same(result(folder), whole)


def test_two_halves_equal_the_whole(whole):
    tiny.train(budget=173)  # off the beat of evaluation
    folder = tiny.only_folder()
    tiny.train(folder, budget=400)
    assert same(result(folder), whole)
    config, manifest = read_config_and_manifest(folder)
    assert manifest["resumed"][0]["from"]["decisions"] >= 173
    assert config["budget"] == 400


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGUSR1])
def test_a_signal_checkpoints_and_leaves(number, whole, monkeypatch):
    with default_signals(), monkeypatch.context() as patch:
        tiny.call_before_iteration(patch, 7, lambda: os.kill(os.getpid(), number))
        handler = signal.getsignal(number)
        message = "poker-rl train resume=outputs/tiny/fit/"
        with pytest.raises(RunInterruptedError, match=message) as stopped:
            tiny.train()
        assert stopped.value.exit_code == 128 + number
        assert signal.getsignal(number) == handler
    folder = tiny.only_folder()
    _, manifest = read_config_and_manifest(folder)
    assert (manifest["status"], manifest["checkpoint"]["iterations"]) == ("interrupted", 8)
    tiny.train(folder)
    assert same(result(folder), whole)


def deaf():
    """Run a long step without a Python instruction in it."""
    with signals.StopSignals():
        print("begun", flush=True)
        hashlib.pbkdf2_hmac("sha256", b"", b"", 2**31 - 1)  # minutes


def test_signals_are_heard_within_compiled_code():
    """The first prints a message at once; a second one, a second later, ends the process."""
    with default_signals():
        process = subprocess.Popen(
            [sys.executable, "-c", "import test_run; test_run.deaf()"],
            env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
    assert process.stdout.readline() == b"begun\n"
    process.send_signal(signal.SIGINT)
    message = process.stderr.readline() + process.stderr.readline()
    assert message == signals.STOPPING_MESSAGE.encode()
    time.sleep(signals.SAME_SIGNAL_S + 0.1)  # a busy machine only makes it longer
    process.send_signal(signal.SIGINT)
    assert process.wait() == 130
    assert process.stderr.read() == signals.ENDED_MESSAGE.encode()


@pytest.mark.parametrize("where", ["metric", "weight", "draw"])
def test_not_a_number_stops_the_run(where):
    algo = {"nan_at": 31, "nan_in": where}
    named = {
        "metric": r"loss/policy is nan",
        "weight": r"(loss/policy is|net\.bias|eval/)",
        "draw": r"probabilities that are not numbers: .* after \d+ decisions",
    }[where]
    with pytest.raises(DivergedError, match=named) as error:
        tiny.train(algo=algo)
    folder = tiny.only_folder()
    _, manifest = read_config_and_manifest(folder)
    saved = manifest["checkpoint"]["decisions"]
    assert f"{folder}/state.pt ({saved:,} decisions)" in str(error.value)
    assert "\n" not in str(error.value)
    assert manifest["status"] == "failed"
    assert manifest["error"].startswith("DivergedError: ")
    state = checkpoint.load_checked(folder / "state.pt")
    assert not list(checkpoint.find_non_finite_tensors(state))
    algorithm = tiny.TinyAlgorithm(5)
    for _ in range(31):
        algorithm.learn()
    for decisions in (saved, *(row["decisions"] for row in tiny.rows(folder))):
        assert decisions < algorithm.progress.decisions


def test_a_weight_is_looked_at_before_a_checkpoint():
    message = r"net\.bias of the algorithm's state .*/state\.pt \(0 decisions\)"
    with pytest.raises(DivergedError, match=message):
        tiny.train(algo={"nan_at": 1, "nan_in": "weight"}, checkpoint_every=1)
    assert checkpoint.find_newest_snapshot(tiny.only_folder()).stem == "0"


def test_it_is_measured_against_itself_at_half_its_decisions():
    tiny.train()
    folder = tiny.only_folder()
    saved = checkpoint.load_checked(folder / "state.pt")["regular"]
    met = []
    for row in tiny.rows(folder):
        met.append(row["eval/current/exploitability"] - row["eval/current/match"])
        half = [one for one in saved if one <= row["decisions"] // 2]
        assert met[-1] == pytest.approx(max(half, default=0))
    assert len({round(one) for one in met}) > 2


def test_one_process_at_a_time(monkeypatch):
    seen = []

    def intrude():
        with pytest.raises(ConfigError, match="another process"):
            tiny.train(tiny.only_folder())
        seen.append(True)

    tiny.call_before_iteration(monkeypatch, 3, intrude)
    tiny.train()
    assert seen == [True]


ZEROS = torch.zeros(7)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """Folder of all runs with one finished run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("finished"))
        tiny.train(budget=100, figures=False)
        return Path("outputs").absolute()


@pytest.fixture
def run(finished, tmp_path, monkeypatch):
    """Copy of the folder of the finished run in the working folder."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(finished, "outputs")
    return tiny.only_folder()


def contents(folder):
    return {path: path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


def spoilt(change):
    """Return a function that changes the contents of a checkpoint."""

    def spoil(folder):
        state = checkpoint.load_checked(folder / "state.pt")
        change(state)
        checkpoint.save_atomically(folder / "state.pt", state)

    return spoil


def spoil_metrics(folder):
    path = folder / "metrics.jsonl"
    path.write_bytes(b"{" * 30 + b"\n" + path.read_bytes()[31:])


def replace_config(folder):
    (folder / "config.yaml").unlink()
    os.mkfifo(folder / "config.yaml")


@pytest.mark.parametrize(
    ("spoil", "message"),
    {
        "no progress": (spoilt(lambda s: s.pop("progress")), "does not fit .*: 'progress'"),
        "settings": (spoilt(lambda s: s["settings"].update(seed=6)), "seed: .*config.yaml differs"),
        "shape": (spoilt(lambda s: s["algorithm"]["net"].update(bias=ZEROS)), "does not fit"),
        "garbage": (spoil_metrics, "metrics.jsonl is damaged: line 1 is not a row of numbers"),
        "rows": (lambda f: (f / "metrics.jsonl").write_text("{}\n"), "rows are gone"),
        "cut short": (lambda f: os.truncate(f / "state.pt", 500), "is damaged"),
        "config": (replace_config, "config.yaml is not a file"),
    }.values(),
)
def test_what_does_not_fit_is_refused_untouched(run, spoil, message):
    spoil(run)
    before = contents(run)
    with pytest.raises(ConfigError, match=message) as refusal:
        tiny.train(run, budget=200, figures=False)
    assert "\n" not in str(refusal.value)
    assert contents(run) == before


def test_what_is_refused_late_is_refused_untouched(run, monkeypatch):
    """For example, a worker's damaged file is read after the run's own."""
    tiny.train(run, budget=200, figures=False)
    before, damaged = contents(run), Mock(side_effect=ConfigError("damaged"))
    with monkeypatch.context() as patch:
        patch.setattr("poker_rl.training.run_checkpoints.Checkpoints.synchronize_ranks", damaged)
        with pytest.raises(ConfigError, match="damaged"):
            tiny.train(run, budget=300, figures=False)
    assert contents(run) == before
    tiny.train(run, budget=300, figures=False)
    assert len({row["decisions"] for row in tiny.rows(run)}) == len(tiny.rows(run))
