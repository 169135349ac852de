"""Rank, device, threads and seed of a process of a run."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch

from poker_rl.algos.algorithm import NetworkLearner
from poker_rl.config.build import build
from poker_rl.config.input_checks import ConfigError, memory_errors_as_config_errors
from poker_rl.config.target_classes import split_target_and_settings
from poker_rl.config.threads_and_numba_cache import count_cores, set_threads
from poker_rl.games.game import Game
from poker_rl.learning import collectives
from poker_rl.nets.net_interfaces import NetConfig, NetDimensions
from poker_rl.nets.observation_encoders import ObservationEncoder

# Settings that determine the number of rows (decisions) in a call of a network. The first one that
# the algorithm has is used.
ROW_SETTINGS = ("batch_size", "tables", "hands_per_iteration")


@dataclass(frozen=True)
class ProcessRank:
    """Rank of this process in its run, and the number of processes of the run."""

    count: int = 1
    rank: int = 0
    local_count: int = 1  # number of the run's processes on this machine
    local_rank: int = 0  # rank of this process on this machine


def find_process_rank(count: int) -> ProcessRank:
    """Return the rank of this process in a run of `count` processes.

    Raise ConfigError if torchrun has started another number of processes.
    """
    started = count_torchrun_processes()
    if started == 1:
        return ProcessRank(count, local_count=count)
    if started != count:
        raise ConfigError(f"workers: {count}, but torchrun has started {started} processes")
    rank = int(os.environ.get("RANK", 0))
    local_count = int(os.environ.get("LOCAL_WORLD_SIZE", started))
    return ProcessRank(count, rank, local_count, int(os.environ.get("LOCAL_RANK", rank)))


def count_torchrun_processes() -> int:
    """Return the number of processes in WORLD_SIZE, which torchrun or rank 0 sets; 1 if unset."""
    return int(os.environ.get("WORLD_SIZE") or 1)


def prepare_process(
    device: str, threads: int, seed: int, worker: ProcessRank = ProcessRank()
) -> torch.device:
    """Set threads of torch and numba and the seed of torch; return the device of this process.

    With `device=auto`, each process of the run gets its own GPU, or all use the CPU if this machine
    has too few GPUs; with `device=cuda`, too few GPUs are an error.
    """
    if threads > (cores := count_cores()):
        raise ConfigError(f"threads: {threads} are more than the cores that may be used, {cores}")
    set_threads(threads)
    # Treat denormal numbers, in float32 those below 1e-38, as 0. They are slow on some processors,
    # and Adam's moments decay to such numbers if a weight gets no more gradients.
    torch.set_flush_denormal(True)
    collectives.local_world_size = worker.local_count
    torch.manual_seed(seed)
    gpus = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if device == "cuda" and gpus < worker.local_count:
        problem = (
            f"torch {torch.__version__} sees {gpus} GPUs here for {worker.local_count} workers"
        )
        raise ConfigError(f"device: cuda, but {problem}; allowed: auto, cpu")
    if device == "cpu" or gpus < worker.local_count:
        return torch.device("cpu")
    if worker.count > 1:
        torch.cuda.set_device(worker.local_rank)
    return torch.device("cuda")


def choose_faster_device(config: Mapping[str, Any], game: Game) -> tuple[torch.device, str]:
    """Return the faster device for a run on a machine with a GPU, and the reason as text.

    The GPU is chosen if the work of a network call is at least `min_gpu_work`, an attribute of the
    learner's class. The work is the number of weights, times rows per call, times instances.
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
    learner_class, settings = split_target_and_settings(config["algo"], "algo")
    numbers = {name: n for name, n in settings.items() if isinstance(n, int | float)}
    rows = next((numbers[name] for name in ROW_SETTINGS if name in numbers), math.inf)
    weights = sum(weight.numel() for weight in module.parameters())
    work = weights * rows * numbers.get("instances", 1)
    if work < getattr(learner_class, "min_gpu_work", NetworkLearner.min_gpu_work):
        return cpu, "faster than the GPU for networks this small (device=cuda uses it anyway)"
    return gpu, "faster than the CPU for networks of this size (device=cpu uses that anyway)"
