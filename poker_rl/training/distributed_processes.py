"""Processes of a distributed run, started by torchrun or, without torchrun, by rank 0."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from datetime import timedelta
from functools import partial

import torch
from torch import distributed as dist
from torch.distributed import Store, TCPStore  # type: ignore[attr-defined]  # its __all__ lacks them
from torch.distributed.rendezvous import rendezvous

from poker_rl.config.input_checks import ConfigError
from poker_rl.config.threads_and_numba_cache import count_cores
from poker_rl.learning import collectives
from poker_rl.learning.collectives import ProcessLostError, ShmAllReduce, use_shm_all_reduce
from poker_rl.storage.disk import name_path_in_errors
from poker_rl.training.process_pool import KILLED_MESSAGE, open_pool, prepare_pool_process
from poker_rl.training.rank_and_device import ProcessRank, count_torchrun_processes
from poker_rl.training.run_outcome import RunOutcome
from poker_rl.training.signals import write_to_stderr

# The time limit of collective operations is long, because workers wait while rank 0 evaluates,
# which may take hours. A killed process is detected sooner, by its closed connections.
TIME_LIMIT = timedelta(days=7)
GRACE_S = 15.0  # seconds within which the training should report the loss of a worker

_shm_all_reduce: ShmAllReduce | None = None  # set only in the processes that rank 0 starts


@contextmanager
def start_and_connect_workers(
    worker: ProcessRank, device: torch.device, run: Callable[[], RunOutcome]
) -> Iterator[None]:
    """Start the other processes of a run, unless torchrun did, and connect all in this context.

    Without torchrun, rank 0 starts the other processes, in which `run` trains. If one of these
    processes fails, its error is raised in rank 0.
    """
    if count_torchrun_processes() > 1:
        with join_process_group(worker, device, open_torchrun_store()):
            yield
        return
    context = multiprocessing.get_context("spawn")
    has_core_each = worker.count * torch.get_num_threads() <= count_cores()
    with name_path_in_errors("/dev/shm"):  # an error of a semaphore contains no path
        shm_all_reduce = ShmAllReduce(worker.count, has_core_each, context)
    store = TCPStore("127.0.0.1", 0, worker.count, True, wait_for_workers=False)
    has_ended = threading.Event()
    with open_pool(worker.count - 1, context, _prepare_worker, shm_all_reduce) as pool:
        # The children start with SIGINT blocked: Ctrl-C must not kill one before `_prepare_worker`.
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
        try:
            children = [
                pool.submit(_train_as_rank, rank, worker.count, store.port, run)
                for rank in range(1, worker.count)
            ]
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
        for child in children:
            child.add_done_callback(partial(exit_if_worker_was_killed, has_ended))
        try:
            while not store.check([f"here/{rank}" for rank in range(1, worker.count)]):
                check_children(children, 0.02)
            with (
                join_process_group(worker, device, store),
                use_shm_all_reduce(shm_all_reduce, 0, partial(check_children, children)),
            ):
                yield
        except ProcessLostError:
            check_children(children, GRACE_S)
            raise
        finally:
            has_ended.set()


@contextmanager
def join_process_group(worker: ProcessRank, device: torch.device, store: Store) -> Iterator[None]:
    """Initialize `torch.distributed` for the duration of this context."""
    backend = "cpu:gloo,cuda:nccl" if device.type == "cuda" else "gloo"
    with collectives.convert_connection_errors():
        dist.init_process_group(
            backend, store=store, rank=worker.rank, world_size=worker.count, timeout=TIME_LIMIT
        )
    try:
        yield
    finally:
        dist.destroy_process_group()


def open_torchrun_store() -> Store:
    """Connect to the key-value store at MASTER_ADDR, MASTER_PORT, and register this rank in it."""
    address = f"{os.environ.get('MASTER_ADDR')}:{os.environ.get('MASTER_PORT')}"
    store: Store
    try:
        store, rank, _ = next(rendezvous("env://", timeout=timedelta(minutes=5)))
    except (RuntimeError, ValueError) as error:
        reason = "it is in use" if "EADDRINUSE" in str(error) else "no process can be reached there"
        raise ConfigError(f"MASTER_ADDR, MASTER_PORT: {address}: {reason}") from error
    store.set(f"here/{rank}", "")
    return store


def check_children(children: Sequence[Future[RunOutcome]], timeout_s: float = 0.0) -> None:
    """Raise the error of a child that has failed, or fails in the next `timeout_s` seconds."""
    with suppress(TimeoutError):
        for child in as_completed(children, timeout_s):
            outcome = child.result()
            # Skip a child that only reports the loss of another process, which has the real error.
            if outcome.message not in ("", collectives.PROCESS_LOST_MESSAGE):
                is_refused = outcome.exit_code == 2
                raise (ConfigError if is_refused else ChildProcessError)(outcome.message)


def exit_if_worker_was_killed(has_ended: threading.Event, child: Future[RunOutcome]) -> None:
    """End this process if `child` was killed, unless the training ends within GRACE_S seconds.

    Usually the training ends by an error, but it might also wait for the killed child forever.
    """
    if has_ended.is_set() or not isinstance(child.exception(), BrokenProcessPool):
        return
    if not has_ended.wait(GRACE_S):
        write_to_stderr(f"\npoker-rl: {KILLED_MESSAGE}\n")
        os._exit(1)


def _prepare_worker(shm_all_reduce: ShmAllReduce) -> None:
    """Store the `ShmAllReduce` of this process, and ignore Ctrl-C, which only rank 0 handles."""
    global _shm_all_reduce
    _shm_all_reduce = shm_all_reduce
    prepare_pool_process(signal.SIG_IGN)


def _train_as_rank(rank: int, count: int, port: int, run: Callable[[], RunOutcome]) -> RunOutcome:
    """Train in this process, whose rank is above 0, and return the outcome."""
    assert _shm_all_reduce is not None
    os.environ |= {"WORLD_SIZE": str(count), "LOCAL_WORLD_SIZE": str(count), "RANK": str(rank)}
    os.environ |= {"LOCAL_RANK": str(rank), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    # The last argument is a check that all processes are alive, which only rank 0 needs to make.
    with use_shm_all_reduce(_shm_all_reduce, rank, lambda: None):
        return run()
