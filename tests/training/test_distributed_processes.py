"""Runs in two processes that are stopped, killed and resumed; and pools of worker processes."""

import json
import multiprocessing
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
import torch
from commands import PROGRAM, run_command
from processes import default_signals, is_running, wait_for
from tiny_run import is_same, read_rows

from poker_rl.config import ConfigError
from poker_rl.storage import checkpoint
from poker_rl.training import distributed_processes
from poker_rl.training.process_pool import run_tasks_as_completed
from poker_rl.training.rank_and_device import ProcessRank, prepare_process
from poker_rl.training.run_checkpoints import remove_old_worker_files

pytestmark = pytest.mark.usefixtures("working_folder")

PPO = ["algo=ppo", "algo.tables=64", "algo.rollout_steps=8", "algo.lr=1e-3"]
NFSP = ["algo=nfsp", "algo.tables=8", "algo.learning_starts=50", "algo.replay_capacity=500"]
SHORT = ["game=kuhn", "figures=false", "workers=2", "evaluate_every=500", "checkpoint_every=500"]


def build_command(name, *settings):
    """Return the command of a run in two processes, and its run folder."""
    algo = settings[0].partition("=")[2]
    return ["train", *SHORT, *settings, f"name={name}"], Path(f"outputs/kuhn/{algo}/{name}")


@contextmanager
def signal_at_checkpoint(count, number):
    """Send signal `number` to the second process of a run when checkpoint `count` is saved."""
    earlier_processes = set(multiprocessing.active_children())  # of other tests, if any
    save, saved = checkpoint.save_snapshot, 0

    def save_and_send(*arguments):
        nonlocal saved
        saved += 1
        if saved == count:
            (process,) = set(multiprocessing.active_children()) - earlier_processes
            os.kill(process.pid or 0, number)
        return save(*arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checkpoint, "save_snapshot", save_and_send)
        yield


def load_result(folder):
    """Return all data of both processes that must be equal in two runs of equal length."""
    state = checkpoint.load_checked(folder / "state.pt")
    (worker,) = (folder / "workers").iterdir()
    assert worker.name == f"{state['progress']['decisions']}_1.pt"
    return read_rows(folder), {**state, "recorder": None, "other": checkpoint.load_checked(worker)}


def test_killed_and_resumed_run_equals_an_uninterrupted_one(monkeypatch, capsys):
    earlier_processes = set(multiprocessing.active_children())
    command, whole_folder = build_command("whole", *NFSP, "budget=3500")
    assert run_command(*command) == 0
    rows, state = load_result(whole_folder)
    assert len(rows) >= 7
    rollouts = [part["services"]["rollout"] for part in (state["algorithm"], state["other"])]
    assert not torch.equal(rollouts[0]["tables"], rollouts[1]["tables"])  # each deals other cards
    hands = sum(rollout["hands_played"] for rollout in rollouts)
    assert state["progress"]["hands"] == hands

    command, folder = build_command("broken", *NFSP, "budget=3500")
    with signal_at_checkpoint(3, signal.SIGTERM):  # only to the second process
        assert run_command(*command) == 143
    assert json.loads((folder / "manifest.json").read_text())["status"] == "interrupted"
    capsys.readouterr()
    # The watcher of the worker would end the run only after this time: the run must notice.
    monkeypatch.setattr(distributed_processes, "GRACE_S", 1e6)
    with signal_at_checkpoint(2, signal.SIGKILL):
        assert run_command("train", f"resume={folder}") == 1
    errors = capsys.readouterr().err.splitlines()
    messages = [line for line in errors if line.startswith("poker-rl: ")]
    assert messages == ["poker-rl: a worker process was killed, perhaps for lack of memory"]
    assert set(multiprocessing.active_children()) <= earlier_processes
    assert run_command("train", f"resume={folder}") == 0
    assert is_same(load_result(folder), (rows, state))


@pytest.fixture(scope="module")
def finished_run(tmp_path_factory):
    """Return the folder of a finished run of PPO with `workers=2`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("finished"))
        command, folder = build_command("ours", *PPO, "budget=2000")
        assert run_command(*command) == 0
        return folder.absolute()


def test_resume_with_other_workers_or_missing_file_is_refused(finished_run, get_refusal):
    folder = shutil.copytree(finished_run, Path("one"))
    message = get_refusal("train", f"resume={folder}", "workers=3")
    assert message.startswith("workers: a resumed run")
    (worker_file,) = (folder / "workers").iterdir()
    worker_file.unlink()
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    message = get_refusal("train", f"resume={folder}", "budget=4000")
    assert message.endswith(f"{worker_file.name}: no such file")
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before


def test_torchrun_run_equals_a_run_with_workers(finished_run):
    command, torchrun_folder = build_command("theirs", *PPO, "budget=2000")
    bin_folder = Path(sys.executable).parent
    torchrun = [str(bin_folder / "torchrun"), "--nproc-per-node=2", "--rdzv-backend=c10d"]
    torchrun += ["--rdzv-endpoint=localhost:0", str(bin_folder / "poker-rl")]
    command.remove("workers=2")
    subprocess.run([*torchrun, *command], check=True, capture_output=True)
    assert is_same(load_result(finished_run)[0], load_result(torchrun_folder)[0])
    expected, actual = (load_result(run)[1]["algorithm"] for run in (finished_run, torchrun_folder))
    assert is_same(expected, actual)


def test_workers_end_when_the_first_process_is_killed():
    command, folder = build_command("killed", *PPO, "budget=1e9")
    program = [*PROGRAM, *command]
    with subprocess.Popen(program, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as process:
        wait_for((folder / "state.pt").exists, process)
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        assert children
        process.kill()
    wait_for(lambda: not any(map(is_running, children)))


def test_wrong_workers_and_ports_are_refused(get_refusal, monkeypatch):
    message = get_refusal("train", "algo=cfr", "workers=2")
    assert message == "workers: CFR learns in one process; allowed: 1"
    assert get_refusal("train", "workers=0").startswith("workers: 0 is not in [1, ")
    for name, value in {"WORLD_SIZE": "2", "RANK": "0", "MASTER_ADDR": "localhost"}.items():
        monkeypatch.setenv(name, value)
    assert get_refusal("train", "workers=3") == "workers: 3, but torchrun has started 2 processes"
    message = get_refusal("train", "-m", "seed=1,2")
    assert message.startswith("-m: torchrun starts the processes of one")
    with socket.create_server(("", 0)) as listener:
        port = str(listener.getsockname()[1])
        monkeypatch.setenv("MASTER_PORT", port)
        assert get_refusal("train", "algo=ppo").endswith(f"localhost:{port}: it is in use")
    assert not Path("outputs").exists()


def test_either_all_workers_get_a_gpu_or_none(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    chosen = []
    monkeypatch.setattr(torch.cuda, "set_device", chosen.append)
    worker = ProcessRank(2, rank=1, local_count=2, local_rank=1)
    assert prepare_process("auto", 1, 0, worker).type == "cuda"
    assert chosen == [1]
    assert prepare_process("auto", 1, 0, ProcessRank(3, local_count=3)).type == "cpu"
    with pytest.raises(ConfigError, match=r"device: cuda, but .* sees 2 GPUs here for 3 workers"):
        prepare_process("cuda", 1, 0, ProcessRank(3, local_count=3))


def test_worker_files_of_old_checkpoints_are_removed(tmp_path):
    (tmp_path / "workers").mkdir()
    for name in ("100_1.pt", "100_2.pt", "150_1.pt.part", "200_1.pt", "200_2.pt"):
        (tmp_path / "workers" / name).touch()
    remove_old_worker_files(tmp_path, 200)
    remaining = sorted(path.name for path in (tmp_path / "workers").iterdir())
    assert remaining == ["200_1.pt", "200_2.pt"]


KILLED, REFUSED, DISK_FULL, ENDLESS = 100, 101, 102, 103


def prepare(folder):
    return partial(run_task, folder)


def run_task(folder, task):
    """Write a file named by the task and the process; some tasks fail."""
    if task == KILLED:
        os.kill(os.getpid(), signal.SIGKILL)
    if task == REFUSED:
        raise ConfigError("seed: is not lucky")
    if task == DISK_FULL:
        raise OSError(28, "No space left on device", "x.json")
    (folder / f"{task}_{os.getpid()}").touch()
    if task == ENDLESS:
        time.sleep(3600)  # releases the GIL, as compiled rules and networks do


def test_every_task_runs_once(tmp_path):
    assert sorted(run_tasks_as_completed(partial(prepare, tmp_path), range(7), 2)) == list(range(7))
    files = [path.name.split("_") for path in tmp_path.iterdir()]
    assert sorted(int(task) for task, _ in files) == list(range(7))
    assert 1 <= len({process for _, process in files}) <= 2
    assert str(os.getpid()) not in {process for _, process in files}


@pytest.mark.parametrize(
    ("task", "error", "message"),
    [
        (KILLED, ChildProcessError, "a worker process was killed, perhaps for lack of memory"),
        (REFUSED, ConfigError, "seed: is not lucky"),
        (DISK_FULL, OSError, r"No space left on device: 'x.json'"),
    ],
)
def test_failed_task_raises_its_error_and_ends_the_pool(task, error, message, tmp_path):
    with pytest.raises(error, match=message):
        list(run_tasks_as_completed(partial(prepare, tmp_path), [0, task], 1))
    assert [path.name.split("_")[0] for path in tmp_path.iterdir()] == ["0"]  # task 0 finished


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_pool_ends_with_the_process_that_started_it(number, tmp_path):
    (tmp_path / "done").mkdir()
    program = tmp_path / "program.py"
    program.write_text(
        "from functools import partial\n"
        "from pathlib import Path\n"
        "from poker_rl.training.signals import let_ctrl_c_kill_process\n"
        "from poker_rl.training.process_pool import run_tasks_as_completed\n"
        "from test_distributed_processes import ENDLESS, prepare\n"
        "if __name__ == '__main__':\n"
        "    with let_ctrl_c_kill_process():\n"
        "        list(run_tasks_as_completed(partial(prepare, Path('done')), [ENDLESS] * 2, 2))\n"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    with default_signals():
        process = subprocess.Popen([sys.executable, program], env=environment, cwd=tmp_path)
    with process:
        try:
            wait_for(lambda: len(list((tmp_path / "done").iterdir())) == 2, process)
            workers = [path.name.split("_")[1] for path in (tmp_path / "done").iterdir()]
            process.send_signal(number)
            assert process.wait() == -number
            wait_for(lambda: not any(map(is_running, workers)))
        finally:
            process.kill()
