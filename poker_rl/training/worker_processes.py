"""Worker processes: those of a distributed run, and those of a pool that runs numbered tasks.

The processes of a distributed run are started by torchrun, or else by rank 0.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess

import torch
from torch import distributed as dist
from torch.distributed import Store, TCPStore  # type: ignore[attr-defined]  # its __all__ lacks them
from torch.distributed.rendezvous import rendezvous

from poker_rl.config.process_setup import count_cores
from poker_rl.config.validation import ConfigError
from poker_rl.learning.collectives import (
    PROCESS_LOST_MESSAGE,
    ProcessLostError,
    ShmAllReduce,
    convert_connection_errors,
    use_shm_all_reduce,
)
from poker_rl.storage.disk import name_path_in_errors
from poker_rl.training.run_outcome import RunOutcome
from poker_rl.training.signals import write_to_stderr

# The time limit of collective operations is long, because workers wait while rank 0 evaluates,
# which may take hours. A killed process is detected sooner, by its closed connections.
COLLECTIVE_TIMEOUT = timedelta(days=7)
GRACE_S = 15.0  # after the loss of a worker, the training has so many seconds to report it
WATCH_INTERVAL_S = 0.5

TaskRunner = Callable[[int], None]  # function that runs the task with a number

_run_task: TaskRunner | None = None  # in a process of a pool


@dataclass(frozen=True)
class ProcessRank:
    """Rank of this process in its run, and the number of processes of the run."""

    count: int
    rank: int = 0
    local_count: int = 1  # number of the run's processes on this machine
    local_rank: int = 0  # rank of this process on this machine
    is_started: bool = False  # true if torchrun has started all processes of the run


SINGLE_PROCESS = ProcessRank(1)


def find_process_rank(count: int) -> ProcessRank:
    """Find out which of the `count` processes of a run this process is."""
    started = count_torchrun_processes()
    if started == 1:
        return ProcessRank(count, local_count=count)
    if started != count:
        raise ConfigError(f"workers: {count}, but torchrun has started {started} processes")
    rank = int(os.environ.get("RANK", 0))
    local_count = int(os.environ.get("LOCAL_WORLD_SIZE", started))
    return ProcessRank(count, rank, local_count, int(os.environ.get("LOCAL_RANK", rank)), True)


def count_torchrun_processes() -> int:
    """Return the number of processes that torchrun has started for this run; 1 without torchrun."""
    return int(os.environ.get("WORLD_SIZE", 1))


@contextmanager
def connect_workers(
    worker: ProcessRank, device: torch.device, run: Callable[[], RunOutcome]
) -> Iterator[None]:
    """Connect the processes of a run for the duration of this context.

    Without torchrun, rank 0 starts the other processes, which train by the function `run`, and
    raises the error that ends one of them.
    """
    if worker.count == 1:
        yield
    elif worker.is_started:
        with join_process_group(worker, device, open_torchrun_store()):
            yield
    else:
        children = ChildWorkers(worker.count, run)
        try:
            with (
                join_process_group(worker, device, children.wait_until_ready()),
                use_shm_all_reduce(children.shm_all_reduce, 0, children.check),
            ):
                yield
        except ProcessLostError:
            children.raise_cause()
            raise
        finally:
            children.kill()


@contextmanager
def join_process_group(worker: ProcessRank, device: torch.device, store: Store) -> Iterator[None]:
    """Initialize `torch.distributed` for the duration of this context."""
    backend = "cpu:gloo,cuda:nccl" if device.type == "cuda" else "gloo"
    with convert_connection_errors():
        dist.init_process_group(
            backend,
            store=store,
            rank=worker.rank,
            world_size=worker.count,
            timeout=COLLECTIVE_TIMEOUT,
        )
    try:
        yield
    finally:
        dist.destroy_process_group()


def open_torchrun_store() -> Store:
    """Connect to the key-value store whose address is in the environment, and report this rank."""
    address = f"{os.environ.get('MASTER_ADDR')}:{os.environ.get('MASTER_PORT')}"
    try:
        store, rank, _ = next(rendezvous("env://", timeout=timedelta(minutes=5)))
    except (RuntimeError, ValueError) as error:
        reason = "it is in use" if "EADDRINUSE" in str(error) else "no process can be reached there"
        raise ConfigError(f"MASTER_ADDR, MASTER_PORT: {address}: {reason}") from error
    store.set(f"here/{rank}", "")
    connected: Store = store
    return connected


class ChildWorkers:
    """Processes with ranks above 0, which rank 0 has started; they end when rank 0 ends."""

    def __init__(self, count: int, run: Callable[[], RunOutcome]) -> None:
        self.store = TCPStore("127.0.0.1", 0, count, True, wait_for_workers=False)
        context = multiprocessing.get_context("spawn")
        has_core_each = count * torch.get_num_threads() <= count_cores()
        with name_path_in_errors("/dev/shm"):  # an error of a semaphore contains no path
            self.shm_all_reduce = ShmAllReduce(count, has_core_each, context)
        self.processes: list[tuple[SpawnProcess, Connection]] = []
        self._ended = threading.Event()
        for rank in range(1, count):
            environment = {
                **{"WORLD_SIZE": count, "LOCAL_WORLD_SIZE": count, "RANK": rank},
                **{"LOCAL_RANK": rank, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": self.store.port},
            }
            receiver, sender = context.Pipe(duplex=False)
            arguments = [sender, run, environment, self.shm_all_reduce, rank]
            process = context.Process(target=_run_child, args=arguments, daemon=True)
            # The child starts with SIGINT blocked: Ctrl-C must not kill it before it can handle it.
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
            try:
                process.start()
            finally:
                signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
            # Now only the child holds the sender, so that the receiver notices the child's end.
            sender.close()
            self.processes.append((process, receiver))
        threading.Thread(target=self._end_with_workers, daemon=True).start()

    def wait_until_ready(self) -> Store:
        """Wait until all processes have connected to the key-value store, and return the store.

        If an error ends a process before, raise that error.
        """
        ranks = range(1, len(self.processes) + 1)
        while not all(self.store.check([f"here/{rank}"]) for rank in ranks):
            for error in self._read_errors():
                raise error
            time.sleep(0.02)
        return self.store

    def check(self) -> None:
        """Raise a ProcessLostError unless all processes are alive."""
        if not all(process.is_alive() for process, _ in self.processes):
            raise ProcessLostError(PROCESS_LOST_MESSAGE)

    def raise_cause(self) -> None:
        """Raise the error that ended another process, if it sent one."""
        self._ended.set()
        wait([receiver for _, receiver in self.processes], GRACE_S)
        for error in sorted(self._read_errors(), key=lambda one: isinstance(one, ProcessLostError)):
            raise error from None

    def kill(self) -> None:
        """Kill these processes; nothing is lost, because their checkpoints are on the disk."""
        self._ended.set()
        for process, _ in self.processes:
            process.kill()
            process.join()

    def _end_with_workers(self) -> None:
        """End this process after a worker was killed.

        Usually the training detects the loss before, but it might wait for the worker forever.
        """
        while not self._ended.wait(WATCH_INTERVAL_S):
            code = min(process.exitcode or 0 for process, _ in self.processes)
            if code < 0 and not self._ended.wait(GRACE_S):
                write_to_stderr(f"\npoker-rl: {describe_exit(code)}\n")
                os._exit(1)

    def _read_errors(self) -> Iterator[Exception]:
        """Yield the errors of the processes that have ended."""
        for process, receiver in self.processes:
            if not receiver.poll():
                continue
            try:
                outcome: RunOutcome = receiver.recv()
            except (EOFError, ConnectionError):
                process.join()
                outcome = RunOutcome("failed", 1, describe_exit(process.exitcode or 0))
            # A ProcessLostError is only a consequence of the end of another process.
            is_lost = outcome.message == PROCESS_LOST_MESSAGE
            kind = ProcessLostError if is_lost else ChildProcessError
            yield (ConfigError if outcome.exit_code == 2 else kind)(outcome.message)


def describe_exit(code: int) -> str:
    """Return a message about a worker process that ended with this exit code."""
    how = f"with exit code {code}" if code >= 0 else f"by {signal.Signals(-code).name}"
    cause = ", as by lack of memory" if code == -signal.SIGKILL else ""
    return f"a worker process was ended {how}{cause}"


def _run_child(
    sender: Connection,
    run: Callable[[], RunOutcome],
    environment: Mapping[str, object],
    shm_all_reduce: ShmAllReduce,
    rank: int,
) -> None:
    """Train in this process, whose rank is above 0, and send the outcome to rank 0.

    Ctrl-C is ignored until the training handles it.
    """
    threading.Thread(target=_exit_with_parent, daemon=True).start()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
    os.environ.update({name: str(value) for name, value in environment.items()})
    # Only rank 0 checks that all processes are alive.
    with use_shm_all_reduce(shm_all_reduce, rank, lambda: None):
        sender.send(run())


def run_tasks(
    create_task_runner: Callable[[], TaskRunner], tasks: Sequence[int], workers: int
) -> Iterator[int]:
    """Run tasks in a pool of processes, and yield the number of each finished task.

    Each process calls `create_task_runner` once, and ends when this process ends, even if it is
    killed. An error of a task is raised here.

    Raises:
        ChildProcessError: if a process was killed.
    """
    others = set(multiprocessing.active_children())
    context = multiprocessing.get_context("spawn")  # a fork would lack the threads of this process
    pool = ProcessPoolExecutor(min(workers, len(tasks)), context, _prepare_pool_process)
    try:
        task_by_future = {pool.submit(_run, create_task_runner, task): task for task in tasks}
        for future in as_completed(task_by_future):
            future.result()
            yield task_by_future[future]
    except BrokenProcessPool:
        raise ChildProcessError("a worker process was ended, as by lack of memory") from None
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        for process in set(multiprocessing.active_children()) - others:
            process.kill()


def _prepare_pool_process() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    threading.Thread(target=_exit_with_parent, daemon=True).start()


def _run(create_task_runner: Callable[[], TaskRunner], task: int) -> None:
    global _run_task
    _run_task = _run_task or create_task_runner()
    _run_task(task)


def _exit_with_parent() -> None:
    """Wait until the parent process has ended, and then exit at once."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
