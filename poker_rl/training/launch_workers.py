"""Processes of a distributed run, its workers, which torchrun starts, or else rank 0."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
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
from poker_rl.training.task_pool import wait_for_parent_and_exit

# The time limit of collective operations is long, because workers wait while rank 0 evaluates,
# which may take hours. A killed process is detected sooner, by its closed connections.
COLLECTIVE_TIMEOUT = timedelta(days=7)
GRACE_S = 15.0  # after the loss of a worker, the training has so many seconds to report it
WATCH_INTERVAL_S = 0.5


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
    """Connect to torchrun's key-value store, by the address in the environment."""
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
        self.processes: dict[int, tuple[SpawnProcess, Connection]] = {}
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
            self.processes[rank] = process, receiver
        threading.Thread(target=self._end_with_workers, daemon=True).start()

    def wait_until_ready(self) -> Store:
        """Wait until all processes have connected to the key-value store, and return the store.

        If an error ends a process before, raise that error.
        """
        while not all(self.store.check([f"here/{rank}"]) for rank in self.processes):
            for process, receiver in self.processes.values():
                if receiver.poll():
                    raise _read_error(process, receiver)
            time.sleep(0.02)
        return self.store

    def check(self) -> None:
        """Raise a ProcessLostError unless all processes are alive."""
        if not all(process.is_alive() for process, _ in self.processes.values()):
            raise ProcessLostError(PROCESS_LOST_MESSAGE)

    def _end_with_workers(self) -> None:
        """End this process after a worker was killed.

        Usually the training detects the loss before, but it might wait for the worker forever.
        """
        while not self._ended.wait(WATCH_INTERVAL_S):
            codes = [process.exitcode or 0 for process, _ in self.processes.values()]
            if min(codes) < 0 and not self._ended.wait(GRACE_S):
                write_to_stderr(f"\npoker-rl: {describe_exit(min(codes))}\n")
                os._exit(1)

    def raise_cause(self) -> None:
        """Raise the error that ended another process, if it sent one."""
        self._ended.set()
        wait([receiver for _, receiver in self.processes.values()], GRACE_S)
        causes = [_read_error(*one) for one in self.processes.values() if one[1].poll()]
        for error in sorted(causes, key=lambda one: isinstance(one, ProcessLostError)):
            raise error from None

    def kill(self) -> None:
        """Kill these processes; nothing is lost, because their checkpoints are on the disk."""
        self._ended.set()
        for process, _ in self.processes.values():
            process.kill()
            process.join()


def _read_error(process: SpawnProcess, receiver: Connection) -> Exception:
    """Return the error that a process sent before it ended, or else an error with its exit code."""
    try:
        outcome: RunOutcome = receiver.recv()
    except (EOFError, ConnectionError):
        process.join()
        return ChildProcessError(describe_exit(process.exitcode or 0))
    if outcome.exit_code == 2:
        return ConfigError(outcome.message)
    # A ProcessLostError is only a consequence: the process lost its connection to another one.
    is_lost = outcome.message == PROCESS_LOST_MESSAGE
    return (ProcessLostError if is_lost else ChildProcessError)(outcome.message)


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
    threading.Thread(target=wait_for_parent_and_exit, daemon=True).start()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
    os.environ.update({name: str(value) for name, value in environment.items()})
    # Only rank 0 checks that all processes are alive.
    with use_shm_all_reduce(shm_all_reduce, rank, lambda: None):
        sender.send(run())
