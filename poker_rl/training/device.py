"""Device, threads and seeds of a process."""

from __future__ import annotations

import torch

from poker_rl.config.threads import count_cores, set_threads
from poker_rl.config.validation import ConfigError
from poker_rl.learning import memory_budget
from poker_rl.storage.disk import print_line
from poker_rl.training.launch_workers import SINGLE_PROCESS, Worker


def prepare_device(
    device: str, threads: int, seed: int, worker: Worker = SINGLE_PROCESS
) -> torch.device:
    """Set the threads and seeds of all libraries, and return the device to compute on.

    Args:
        device: auto, cpu or cuda.
        worker: rank of this process; several processes get one GPU each, or all use the CPU.

    Raises:
        ConfigError: if there is no such device, or there are fewer cores than threads.
    """
    cores = count_cores()
    if threads > cores:
        raise ConfigError(f"threads: {threads} are more than the cores that may be used, {cores}")
    set_threads(threads)
    local = worker.local_count
    if worker.count > 1 and worker.rank == 0 and threads * local > cores:
        each = f"{threads} thread{'s' * (threads > 1)}"
        print_line(
            f"workers: {local} processes of {each} each are more than the cores that"
            f" may be used, {cores}, and will wait for each other"
        )
    memory_budget.set_processes_on_machine(local)
    torch.manual_seed(seed)  # for code that uses torch's global generator
    has_gpu = torch.cuda.is_available()
    if has_gpu and worker.count > 1:
        gpus = torch.cuda.device_count()
        if device == "cuda" and gpus < local:
            raise ConfigError(f"device: cuda, but there are {gpus} GPUs here for {local} workers")
        has_gpu = gpus >= local
    if device == "cuda" and not has_gpu:
        reason = "sees no GPU" if torch.version.cuda else "is a build for the CPU alone"
        raise ConfigError(
            f"device: no cuda here, torch {torch.__version__} {reason}; allowed: auto, cpu"
        )
    if not has_gpu or device == "cpu":
        return torch.device("cpu")
    if worker.count > 1:
        torch.cuda.set_device(worker.local_rank)
    return torch.device("cuda")
