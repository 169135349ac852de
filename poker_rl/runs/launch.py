"""The processes of a run: torchrun starts them, or the first one does by itself on this machine."""

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
from poker_rl.runs.cores import cores
from poker_rl.runs.sweep import Outcome
from poker_rl.runs.workers import died, end_with_parent
from poker_rl.storage.disk import at

# Others wait while the first process evaluates, however long that takes. That a process has ended
# is noticed by its connections being closed.
LONGEST = timedelta(days=7)
PATIENCE = 15.0  # seconds in which the first process may notice for itself that another has ended

Member = Callable[[], Outcome]
"""What a process beside the first one does: train, by the environment that torchrun gives."""


@dataclass(frozen=True)
class Place:
    """Which process of a run this one is.

    Args:
        workers: processes of the run.
        rank: number of this one, from 0 on.
        here: those of them that are on this machine.
        local: number of this one among those.
        begun: whether the others were started already, by torchrun or by the first one.
    """

    workers: int
    rank: int = 0
    here: int = 1
    local: int = 0
    begun: bool = False


ALONE = Place(1)


def place(workers: int) -> Place:
    """Of this process in a run with so many.

    Raises:
        Refused: if another number of processes was started.
    """
    number = started()
    if number == 1:
        return Place(workers, here=workers)
    if number != workers:
        raise Refused(f"workers: {workers}, but torchrun has started {number} processes")
    rank = _number("RANK", 0)
    here, local = _number("LOCAL_WORLD_SIZE", number), _number("LOCAL_RANK", rank)
    return Place(workers, rank, here, local, begun=True)


def started() -> int:
    """Processes that torchrun has started for this run; 1 without torchrun."""
    return _number("WORLD_SIZE", 1)


def _number(name: str, otherwise: int) -> int:
    value = os.environ.get(name, str(otherwise))
    if not value.isdecimal():
        raise Refused(f"{name}: {value} is no whole number, as torchrun sets in the environment")
    return int(value)


@contextmanager
def joined(place: Place, device: torch.device, member: Member) -> Iterator[None]:
    """In this context the processes of a run reach each other.

    Args:
        device: that the networks are on.
        member: what the others do, if they are still to be started.

    Raises:
        Refused, OSError: what ended another process.
    """
    if place.workers == 1:
        yield
    elif place.begun:
        with reached(place, device, met()):
            yield
    else:
        others = Others(place.workers, member)
        try:
            others.watch()
            with reached(place, device, others.met()), sharing(others.nearby, 0, others.check):
                yield
        except Lost:
            others.tell()
            raise
        finally:
            others.end()


@contextmanager
def reached(place: Place, device: torch.device, store: Store) -> Iterator[None]:
    """In this context `torch.distributed` knows the other processes, which meet at a store."""
    backend = "cpu:gloo,cuda:nccl" if device.type == "cuda" else "gloo"
    with reaching_others():
        dist.init_process_group(
            backend,
            store=store,
            rank=place.rank,
            world_size=place.workers,
            timeout=LONGEST,
        )
    try:
        yield
    finally:
        dist.destroy_process_group()


def met() -> Store:
    """Where the environment says that the processes meet.

    Raises:
        Refused: if nobody can meet there.
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


class Others:
    """The other processes of a run, started by the first one on its machine; they end with it."""

    def __init__(self, workers: int, member: Member) -> None:
        self.store = TCPStore("127.0.0.1", 0, workers, True, wait_for_workers=False)
        context = multiprocessing.get_context("spawn")
        awake = workers * torch.get_num_threads() <= cores()
        with at("/dev/shm"):  # a semaphore that can't be made there names no path
            self.nearby = Nearby(workers, awake, context)
        self.processes: dict[int, tuple[SpawnProcess, Connection]] = {}
        self._ended = threading.Event()
        for rank in range(1, workers):
            names = {"WORLD_SIZE": workers, "LOCAL_WORLD_SIZE": workers}
            names |= {"RANK": rank, "LOCAL_RANK": rank, "MASTER_PORT": self.store.port}
            there = {name: str(value) for name, value in names.items()}
            ours, theirs = context.Pipe(duplex=False)
            there |= {"MASTER_ADDR": "127.0.0.1"}
            arguments = [theirs, member, there, self.nearby, rank]
            process = context.Process(target=_serve, args=arguments, daemon=True)
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])  # inherited, see `_serve`
            try:
                process.start()
            finally:
                signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
            theirs.close()  # so that only the process itself holds it open
            self.processes[rank] = process, ours

    def met(self) -> Store:
        """Where they meet, once all are there.

        Raises:
            Refused, OSError: what ended one of them before.
        """
        while not all(self.store.check([f"here/{rank}"]) for rank in self.processes):
            for process, told in self.processes.values():
                if told.poll():
                    raise _why(process, told)
            time.sleep(0.02)
        return self.store

    def check(self) -> None:
        """Look whether all are still there.

        Raises:
            Lost: if not.
        """
        if not all(process.is_alive() for process, _ in self.processes.values()):
            raise Lost(LOST)

    def watch(self) -> None:
        """End this process too when another one has been killed, should it not notice itself."""
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        running = [process for process, _ in self.processes.values()]
        while running:
            wait([process.sentinel for process in running])
            # Asked once: a process that ends closes its sentinel a little before it has a code.
            codes = [process.exitcode for process in running]
            killed = [code for code in codes if code is not None and code < 0]
            if killed and not self._ended.wait(PATIENCE):
                with suppress(OSError):
                    os.write(2, f"\npoker-rl: {died(killed[0])}\n".encode())
                os._exit(1)
            running = [one for one, code in zip(running, codes, strict=True) if code is None]

    def tell(self) -> None:
        """Say why another process has ended, which this one has noticed.

        Raises:
            Refused, OSError: what ended it.
        """
        self._ended.set()
        wait([told for _, told in self.processes.values()], PATIENCE)
        found = [_why(*one) for one in self.processes.values() if one[1].poll()]
        for error in sorted(found, key=lambda one: isinstance(one, Lost)):
            raise error from None

    def end(self) -> None:
        """See that no process is left."""
        self._ended.set()
        for process, _ in self.processes.values():
            process.kill()  # what it had to save it has saved, or nobody waits for it
            process.join()


def _why(process: SpawnProcess, told: Connection) -> Exception:
    """What ended a process that this one needs."""
    try:
        outcome: Outcome = told.recv()
    except (EOFError, ConnectionError):
        process.join()
        return ChildProcessError(died(process.exitcode or 0))
    if outcome.exit_code == 2:
        return Refused(outcome.message)
    return Lost(LOST) if outcome.message == LOST else ChildProcessError(outcome.message)


def _serve(
    told: Connection, member: Member, environment: Mapping[str, str], nearby: Nearby, rank: int
) -> None:
    """Be one of the other processes. Ctrl-C reaches it too, and only counts once it learns."""
    threading.Thread(target=end_with_parent, daemon=True).start()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
    os.environ.update(environment)
    with sharing(nearby, rank, lambda: None):  # where the first process ends, this one is killed
        told.send(member())
