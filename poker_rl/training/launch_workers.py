"""The processes of a run: started by torchrun, or by rank 0 itself on this machine."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess

import torch
from torch import distributed as dist
from torch.distributed import Store, TCPStore  # type: ignore[attr-defined]  # its __all__ lacks them
from torch.distributed.rendezvous import rendezvous

from poker_rl.config.settings import Refused
from poker_rl.learning.nearby import Nearby
from poker_rl.learning.processes import LOST, Lost, reaching_others, sharing
from poker_rl.storage.disk import at
from poker_rl.training.cores import count_cores
from poker_rl.training.outcome import Outcome
from poker_rl.training.worker_pool import describe_exit, exit_with_parent

# Workers wait while rank 0 evaluates, however long that takes. The end of a process is noticed by
# its closed connections, not by this time limit.
COLLECTIVE_TIMEOUT = timedelta(days=7)
GRACE_S = 15.0  # in which rank 0 may notice for itself that a worker has ended

RunWorker = Callable[[], Outcome]
"""What a process other than rank 0 does: train, by the environment that torchrun sets."""


@dataclass(frozen=True)
class Worker:
    """Which process of a run this one is.

    Attributes:
        count: processes of the run.
        rank: index of this one.
        local_count: processes of the run on this machine.
        local_rank: index of this one among those.
        is_started: whether all processes were started already, by torchrun or by rank 0.
    """

    count: int
    rank: int = 0
    local_count: int = 1
    local_rank: int = 0
    is_started: bool = False


ALONE = Worker(1)


def this_worker(count: int) -> Worker:
    """Return which process this one is in a run with so many.

    Raises:
        Refused: if torchrun started another number of processes.
    """
    started = torchrun_count()
    if started == 1:
        return Worker(count, local_count=count)
    if started != count:
        raise Refused(f"workers: {count}, but torchrun has started {started} processes")
    rank = _from_environment("RANK", 0)
    local_count = _from_environment("LOCAL_WORLD_SIZE", started)
    return Worker(count, rank, local_count, _from_environment("LOCAL_RANK", rank), True)


def torchrun_count() -> int:
    """Return how many processes torchrun has started for this run; 1 without torchrun."""
    return _from_environment("WORLD_SIZE", 1)


def _from_environment(name: str, default: int) -> int:
    value = os.environ.get(name, str(default))
    if not value.isdecimal():
        raise Refused(f"{name}: {value} is no whole number, as torchrun sets in the environment")
    return int(value)


@contextmanager
def connect_workers(worker: Worker, device: torch.device, run: RunWorker) -> Iterator[None]:
    """Connect the processes of a run for the duration of this context.

    Args:
        device: that the networks are on.
        run: called in each other process, if they are not started yet.

    Raises:
        Refused, OSError: what ended another process.
    """
    if worker.count == 1:
        yield
    elif worker.is_started:
        with process_group(worker, device, torchrun_store()):
            yield
    else:
        children = ChildWorkers(worker.count, run)
        try:
            children.watch()
            store = children.wait_until_ready()
            with (
                process_group(worker, device, store),
                sharing(children.nearby, 0, children.check),
            ):
                yield
        except Lost:
            children.raise_cause()
            raise
        finally:
            children.kill()


@contextmanager
def process_group(worker: Worker, device: torch.device, store: Store) -> Iterator[None]:
    """Initialise `torch.distributed` for the duration of this context."""
    backend = "cpu:gloo,cuda:nccl" if device.type == "cuda" else "gloo"
    with reaching_others():
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


def torchrun_store() -> Store:
    """Return the store at which torchrun's environment says that the processes meet.

    Raises:
        Refused: if it can't be reached.
    """
    address = f"{os.environ.get('MASTER_ADDR')}:{os.environ.get('MASTER_PORT')}"
    try:
        store, rank, _ = next(rendezvous("env://", timeout=timedelta(minutes=5)))
    except (RuntimeError, ValueError) as error:
        why = "it is in use" if "EADDRINUSE" in str(error) else "no process can be reached there"
        raise Refused(f"MASTER_ADDR, MASTER_PORT: {address}: {why}") from error
    store.set(f"here/{rank}", "")
    whole: Store = store
    return whole


class ChildWorkers:
    """The other processes of a run, started by rank 0 on its machine; they end with it."""

    def __init__(self, count: int, run: RunWorker) -> None:
        self.store = TCPStore("127.0.0.1", 0, count, True, wait_for_workers=False)
        context = multiprocessing.get_context("spawn")
        has_core_each = count * torch.get_num_threads() <= count_cores()
        with at("/dev/shm"):  # a semaphore that can't be made there names no path
            self.nearby = Nearby(count, has_core_each, context)
        self.processes: dict[int, tuple[SpawnProcess, Connection]] = {}
        self._ended = threading.Event()
        for rank in range(1, count):
            numbers = {"WORLD_SIZE": count, "LOCAL_WORLD_SIZE": count}
            numbers |= {"RANK": rank, "LOCAL_RANK": rank, "MASTER_PORT": self.store.port}
            environment = {name: str(value) for name, value in numbers.items()}
            environment |= {"MASTER_ADDR": "127.0.0.1"}
            receiver, sender = context.Pipe(duplex=False)
            arguments = [sender, run, environment, self.nearby, rank]
            process = context.Process(target=_run_child, args=arguments, daemon=True)
            # Blocked signals are inherited; `_run_child` unblocks SIGINT.
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
            try:
                process.start()
            finally:
                signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
            sender.close()  # so that only the process itself holds it open
            self.processes[rank] = process, receiver

    def wait_until_ready(self) -> Store:
        """Return the store at which the processes meet, once all are there.

        Raises:
            Refused, OSError: what ended one of them before.
        """
        while not all(self.store.check([f"here/{rank}"]) for rank in self.processes):
            for process, receiver in self.processes.values():
                if receiver.poll():
                    raise _cause(process, receiver)
            time.sleep(0.02)
        return self.store

    def check(self) -> None:
        """Check that all processes are alive.

        Raises:
            Lost: if one is not.
        """
        if not all(process.is_alive() for process, _ in self.processes.values()):
            raise Lost(LOST)

    def watch(self) -> None:
        """End this process too when a worker is killed, in case it does not notice itself."""
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        running = [process for process, _ in self.processes.values()]
        while running:
            wait([process.sentinel for process in running])
            # Read once: a process closes its sentinel a little before it has an exit code.
            codes = [process.exitcode for process in running]
            killed = [code for code in codes if code is not None and code < 0]
            if killed and not self._ended.wait(GRACE_S):
                with suppress(OSError):
                    os.write(2, f"\npoker-rl: {describe_exit(killed[0])}\n".encode())
                os._exit(1)
            running = [one for one, code in zip(running, codes, strict=True) if code is None]

    def raise_cause(self) -> None:
        """Raise why another process has ended, after this one has noticed that.

        Raises:
            Refused, OSError: what ended it.
        """
        self._ended.set()
        wait([receiver for _, receiver in self.processes.values()], GRACE_S)
        causes = [_cause(*one) for one in self.processes.values() if one[1].poll()]
        for error in sorted(causes, key=lambda one: isinstance(one, Lost)):
            raise error from None

    def kill(self) -> None:
        """Kill every process: each has saved its part, or nobody waits for it."""
        self._ended.set()
        for process, _ in self.processes.values():
            process.kill()
            process.join()


def _cause(process: SpawnProcess, receiver: Connection) -> Exception:
    """Return what ended a process that this one needs."""
    try:
        outcome: Outcome = receiver.recv()
    except (EOFError, ConnectionError):
        process.join()
        return ChildProcessError(describe_exit(process.exitcode or 0))
    if outcome.exit_code == 2:
        return Refused(outcome.message)
    return Lost(LOST) if outcome.message == LOST else ChildProcessError(outcome.message)


def _run_child(
    sender: Connection, run: RunWorker, environment: Mapping[str, str], nearby: Nearby, rank: int
) -> None:
    """Run as one of the other processes. Ctrl-C reaches it too, and counts once it trains."""
    threading.Thread(target=exit_with_parent, daemon=True).start()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
    os.environ.update(environment)
    with sharing(nearby, rank, lambda: None):  # rank 0 kills this process when it ends
        sender.send(run())
