"""The device, threads and seeds of a process."""

from __future__ import annotations

import torch

from poker_rl.config.settings import Refused
from poker_rl.config.threads import set_threads
from poker_rl.learning import room
from poker_rl.storage.disk import say
from poker_rl.training.cores import count_cores
from poker_rl.training.launch_workers import ALONE, Worker


def prepare_device(device: str, threads: int, seed: int, worker: Worker = ALONE) -> torch.device:
    """Set threads and seeds of all libraries, and return the device to compute on.

    Args:
        device: auto, cpu or cuda.
        worker: which of the run's processes this is; each has a GPU of its own, or none has one.

    Raises:
        Refused: if there is no such device, or there are not so many cores.
    """
    cores = count_cores()
    if threads > cores:
        raise Refused(f"threads: {threads} are more than the cores that may be used, {cores}")
    set_threads(threads)
    local = worker.local_count
    if worker.count > 1 and worker.rank == 0 and threads * local > cores:
        each = f"{threads} thread{'s' * (threads > 1)}"
        say(
            f"workers: {local} processes of {each} each are more than the cores that"
            f" may be used, {cores}, and will wait for each other"
        )
    room.share(local)
    torch.manual_seed(seed)  # for code without a generator of its own
    has_gpu = torch.cuda.is_available()
    if has_gpu and worker.count > 1:
        gpus = torch.cuda.device_count()
        if device == "cuda" and gpus < local:
            raise Refused(f"device: cuda, but there are {gpus} GPUs here for {local} workers")
        has_gpu = gpus >= local
    if device == "cuda" and not has_gpu:
        why = "sees no GPU" if torch.version.cuda else "is a build for the CPU alone"
        raise Refused(f"device: no cuda here, torch {torch.__version__} {why}; allowed: auto, cpu")
    if not has_gpu or device == "cpu":
        return torch.device("cpu")
    if worker.count > 1:
        torch.cuda.set_device(worker.local_rank)
    return torch.device("cuda")
