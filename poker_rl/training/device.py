"""Set the device, threads and seeds of a process, and choose the faster device for a run."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import torch

from poker_rl.algos.algorithm import NetworkLearner
from poker_rl.config.build import build
from poker_rl.config.plugins import resolve_target
from poker_rl.config.process_setup import count_cores, set_threads
from poker_rl.config.validation import ConfigError, memory_errors_as_config_errors
from poker_rl.games.game import Game
from poker_rl.learning import memory_checks
from poker_rl.nets.encoders import ObservationEncoder
from poker_rl.nets.net_config import NetConfig, NetDimensions
from poker_rl.training.worker_processes import SINGLE_PROCESS, ProcessRank

# Settings that say how many rows a network call has; the first one that a learner has is used.
ROW_SETTINGS = ("batch_size", "tables", "hands_per_iteration")


def prepare_process(
    device: str, threads: int, seed: int, worker: ProcessRank = SINGLE_PROCESS
) -> torch.device:
    """Set the threads and the seed of all libraries, and return the device of this process.

    If a run has several processes, each gets its own GPU, or all use the CPU.
    """
    cores = count_cores()
    if threads > cores:
        raise ConfigError(f"threads: {threads} are more than the cores that may be used, {cores}")
    set_threads(threads)
    local = worker.local_count
    memory_checks.set_processes_on_machine(local)
    torch.manual_seed(seed)
    has_gpu = torch.cuda.is_available()
    if has_gpu and worker.count > 1:
        gpus = torch.cuda.device_count()
        if device == "cuda" and gpus < local:
            raise ConfigError(f"device: cuda, but there are {gpus} GPUs here for {local} workers")
        has_gpu = gpus >= local
    if device == "cuda" and not has_gpu:
        version = torch.__version__
        raise ConfigError(f"device: no cuda here, torch {version} sees no GPU; allowed: auto, cpu")
    if not has_gpu or device == "cpu":
        return torch.device("cpu")
    if worker.count > 1:
        torch.cuda.set_device(worker.local_rank)
    return torch.device("cuda")


def choose_faster_device(config: Mapping[str, Any], game: Game) -> tuple[torch.device, str]:
    """Return the faster device for a run on a machine with a GPU, and the reason as text.

    The work of a network call is the number of weights times the number of rows. The GPU is chosen
    if the work is at least `min_gpu_work`, an attribute of the learner's class.
    """
    cpu, gpu = torch.device("cpu"), torch.device("cuda")
    if "net" not in config:
        return cpu, "as the algorithm has no networks"
    net: NetConfig = build(config["net"], "net", NetConfig)
    encoder = ObservationEncoder(game, net.features)
    size = NetDimensions(
        inputs=encoder.size, outputs=game.action_count, history_shape=encoder.history_shape
    )
    with memory_errors_as_config_errors("net"):
        module = net.build_module(size, torch.Generator())
    learner_class, settings = resolve_target(config["algo"], "algo")
    numbers = {name: n for name, n in settings.items() if isinstance(n, int | float)}
    rows = next((numbers[name] for name in ROW_SETTINGS if name in numbers), math.inf)
    weights = sum(weight.numel() for weight in module.parameters())
    work = weights * rows * numbers.get("instances", 1)
    if work < getattr(learner_class, "min_gpu_work", NetworkLearner.min_gpu_work):
        return cpu, "faster than the GPU for networks this small (device=cuda uses it anyway)"
    return gpu, "faster than the CPU for networks of this size (device=cpu uses that anyway)"
