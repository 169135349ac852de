"""Worker processes of tasks, and a run in two processes, stopped, killed and resumed."""

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
import tiny
import torch
from commands import PROGRAM, run_command
from processes import default_signals, is_running, until
from tiny import same

from poker_rl.config import ConfigError
from poker_rl.storage import checkpoint
from poker_rl.training import distributed_processes
from poker_rl.training.process_pool import iterate_finished_tasks
from poker_rl.training.rank_and_device import ProcessRank, prepare_process
from poker_rl.training.run_checkpoints import remove_old_worker_files

pytestmark = pytest.mark.usefixtures("working_folder")

PPO = ["algo=ppo", "algo.tables=64", "algo.rollout_steps=8", "algo.lr=1e-3"]
NFSP = ["algo=nfsp", "algo.tables=8", "algo.learning_starts=50", "algo.replay_capacity=500"]
SHORT = ["game=kuhn", "figures=false", "workers=2", "evaluate_every=500", "checkpoint_every=500"]


def train(name, *settings):
    """Return the command of a run in two processes, and its folder."""
    algo = settings[0].partition("=")[2]
    return ["train", *SHORT, *settings, f"name={name}"], Path(f"outputs/kuhn/{algo}/{name}")


@contextmanager
def signal_at_checkpoint(count, number):
    """Send a signal to the second process after so many checkpoints in this context."""
    others = set(multiprocessing.active_children())  # that a launcher keeps for its next jobs
    save, saved = checkpoint.save_snapshot, 0

    def save_and_send(*arguments):
        nonlocal saved
        saved += 1
        if saved == count:
            (process,) = set(multiprocessing.active_children()) - others
            os.kill(process.pid or 0, number)
        return save(*arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checkpoint, "save_snapshot", save_and_send)
        yield


def left(folder):
    """Return everything of both processes that must be equal in two runs of equal length."""
    state = checkpoint.load_checked(folder / "state.pt")
    (other,) = (folder / "workers").iterdir()
    assert other.name == f"{state['progress']['decisions']}_1.pt"
    return tiny.rows(folder), {**state, "recorder": None, "other": checkpoint.load_checked(other)}


def test_stopped_killed_and_resumed_equals_the_uninterrupted_run(monkeypatch, capsys):
    others = set(multiprocessing.active_children())
    command, undisturbed = train("whole", *NFSP, "budget=3500")
    assert run_command(*command) == 0
    rows, state = left(undisturbed)
    assert len(rows) >= 7
    tables = [part["services"]["rollout"] for part in (state["algorithm"], state["other"])]
    assert not torch.equal(tables[0]["tables"], tables[1]["tables"])  # cards of their own
    dealt = sum(one["hands_played"] for one in tables)
    assert state["progress"]["hands"] == dealt

    command, folder = train("broken", *NFSP, "budget=3500")
    with signal_at_checkpoint(3, signal.SIGTERM):  # which reaches only one of them
        assert run_command(*command) == 143
    assert json.loads((folder / "manifest.json").read_text())["status"] == "interrupted"
    capsys.readouterr()
    # The first process is to notice for itself.
    monkeypatch.setattr(distributed_processes, "GRACE_S", 1e6)
    with signal_at_checkpoint(2, signal.SIGKILL):
        assert run_command("train", f"resume={folder}") == 1
    errors = capsys.readouterr().err.splitlines()
    messages = [line for line in errors if line.startswith("poker-rl: ")]
    assert messages == ["poker-rl: a worker process was ended, as by lack of memory"]
    assert set(multiprocessing.active_children()) <= others
    assert run_command("train", f"resume={folder}") == 0
    assert same(left(folder), (rows, state))


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """Folder of a run of PPO with `workers=2`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("finished"))
        command, folder = train("ours", *PPO, "budget=2000")
        assert run_command(*command) == 0
        return folder.absolute()


def test_what_a_resumed_run_lacks_is_refused(finished, get_refusal):
    folder = shutil.copytree(finished, Path("one"))
    message = get_refusal("train", f"resume={folder}", "workers=3")
    assert message.startswith("workers: a resumed run")
    (other,) = (folder / "workers").iterdir()
    other.unlink()
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    message = get_refusal("train", f"resume={folder}", "budget=4000")
    assert message.endswith(f"{other.name}: no such file")
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before


def test_torchrun_starts_the_same_run(finished):
    command, other = train("theirs", *PPO, "budget=2000")
    programs = Path(sys.executable).parent
    torchrun = [str(programs / "torchrun"), "--nproc-per-node=2", "--rdzv-backend=c10d"]
    torchrun += ["--rdzv-endpoint=localhost:0", str(programs / "poker-rl")]
    command.remove("workers=2")
    subprocess.run([*torchrun, *command], check=True, capture_output=True)
    assert same(left(finished)[0], left(other)[0])
    ours, theirs = (left(one)[1]["algorithm"] for one in (finished, other))
    assert same(ours, theirs)


def test_all_end_with_the_first_process():
    command, folder = train("killed", *PPO, "budget=1e9")
    program = [*PROGRAM, *command]
    with subprocess.Popen(program, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as process:
        until((folder / "state.pt").exists, process)
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        assert children
        process.kill()
    until(lambda: not any(map(is_running, children)))


def test_what_can_not_be_is_refused(get_refusal, monkeypatch):
    message = get_refusal("train", "algo=cfr", "workers=2")
    assert message == "workers: CFR learns in one process; allowed: 1"
    assert get_refusal("train", "workers=0").startswith("workers: 0 is not in [1, ")
    for name, value in {"WORLD_SIZE": "2", "RANK": "0", "MASTER_ADDR": "localhost"}.items():
        monkeypatch.setenv(name, value)
    assert get_refusal("train", "workers=3") == "workers: 3, but torchrun has started 2 processes"
    message = get_refusal("train", "-m", "seed=1,2")
    assert message.startswith("-m: torchrun starts the processes of one")
    with socket.create_server(("", 0)) as taken:
        port = str(taken.getsockname()[1])
        monkeypatch.setenv("MASTER_PORT", port)
        assert get_refusal("train", "algo=ppo").endswith(f"localhost:{port}: it is in use")
    assert not Path("outputs").exists()


def test_each_worker_has_a_gpu_or_none_has(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    taken = []
    monkeypatch.setattr(torch.cuda, "set_device", taken.append)
    worker = ProcessRank(2, rank=1, local_count=2, local_rank=1)
    assert prepare_process("auto", 1, 0, worker).type == "cuda"
    assert taken == [1]
    assert prepare_process("auto", 1, 0, ProcessRank(3, local_count=3)).type == "cpu"
    with pytest.raises(ConfigError, match=r"device: cuda, but .* sees 2 GPUs here for 3 workers"):
        prepare_process("cuda", 1, 0, ProcessRank(3, local_count=3))


def test_what_other_checkpoints_left_is_removed_half_written_or_not(tmp_path):
    (tmp_path / "workers").mkdir()
    for name in ("100_1.pt", "100_2.pt", "150_1.pt.part", "200_1.pt", "200_2.pt"):
        (tmp_path / "workers" / name).touch()
    remove_old_worker_files(tmp_path, 200)
    left = sorted(path.name for path in (tmp_path / "workers").iterdir())
    assert left == ["200_1.pt", "200_2.pt"]


DEADLY, REFUSED, FULL, LONG = 100, 101, 102, 103


def begin(folder):
    return partial(work, folder)


def work(folder, task):
    """Write a file named by the task and the process; some numbers fail in their own way."""
    if task == DEADLY:
        os.kill(os.getpid(), signal.SIGKILL)
    if task == REFUSED:
        raise ConfigError("seed: is not lucky")
    if task == FULL:
        raise OSError(28, "No space left on device", "x.json")
    (folder / f"{task}_{os.getpid()}").touch()
    if task == LONG:
        time.sleep(3600)  # other threads may run meanwhile, as beside compiled rules and networks


def test_every_task_is_done_once(tmp_path):
    assert sorted(iterate_finished_tasks(partial(begin, tmp_path), range(7), 2)) == list(range(7))
    done = [path.name.split("_") for path in tmp_path.iterdir()]
    assert sorted(int(task) for task, _ in done) == list(range(7))
    assert 1 <= len({process for _, process in done}) <= 2
    assert str(os.getpid()) not in {process for _, process in done}


@pytest.mark.parametrize(
    ("task", "error", "says"),
    [
        (DEADLY, ChildProcessError, "a worker process was ended, as by lack of memory"),
        (REFUSED, ConfigError, "seed: is not lucky"),
        (FULL, OSError, r"No space left on device: 'x.json'"),
    ],
)
def test_what_ends_a_task_ends_all(task, error, says, tmp_path):
    with pytest.raises(error, match=says):
        list(iterate_finished_tasks(partial(begin, tmp_path), [0, task], 1))
    assert [path.name.split("_")[0] for path in tmp_path.iterdir()] == ["0"]  # is kept


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_they_end_with_the_process_that_shares_out(number, tmp_path):
    (tmp_path / "done").mkdir()
    program = tmp_path / "program.py"
    program.write_text(
        "from functools import partial\n"
        "from pathlib import Path\n"
        "from poker_rl.training.signals import let_ctrl_c_kill_process\n"
        "from poker_rl.training.process_pool import iterate_finished_tasks\n"
        "from test_distributed_processes import LONG, begin\n"
        "if __name__ == '__main__':\n"
        "    with let_ctrl_c_kill_process():\n"
        "        list(iterate_finished_tasks(partial(begin, Path('done')), [LONG] * 2, 2))\n"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    with default_signals():
        process = subprocess.Popen([sys.executable, program], env=environment, cwd=tmp_path)
    with process:
        try:
            until(lambda: len(list((tmp_path / "done").iterdir())) == 2, process)
            workers = [path.name.split("_")[1] for path in (tmp_path / "done").iterdir()]
            process.send_signal(number)
            assert process.wait() == -number
            until(lambda: not any(map(is_running, workers)))
        finally:
            process.kill()
