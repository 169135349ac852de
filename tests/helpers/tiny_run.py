"""Runs of a tiny algorithm with all parts of a checkpoint: weights, optimizer and generators."""

import json
from dataclasses import asdict
from pathlib import Path
from time import perf_counter

import numpy as np
import torch

from poker_rl.algos import Progress
from poker_rl.config.option_files import SHIPPED_OPTION_DIR, read_plain_yaml
from poker_rl.evaluation import Result
from poker_rl.players import sample_from_probs
from poker_rl.training.loggers.tensorboard import TensorBoard
from poker_rl.training.start_run import train_in_folder


class TinyGame:
    name = "tiny"

    def to_dict(self):
        return {"name": "tiny", "cards": [1, 2, 3]}


class TinyPlayer:
    def __init__(self, weight):
        self.weight = weight

    def to_dict(self):
        return {"_target_": "tiny_run.TinyPlayer", "weight": self.weight}


class TinyAlgorithm:
    """Algorithm that fits noise; at iteration `nan_at` NaN or inf appears where `nan_in` says."""

    def __init__(self, seed, nan_at=0, nan_in="metric"):
        self.nan_at, self.nan_in = nan_at, nan_in
        self.progress = Progress()
        self.torch_generator = torch.Generator().manual_seed(seed)
        self.numpy_generator = np.random.default_rng(seed)
        self.net = torch.nn.Linear(4, 3)
        with torch.no_grad():
            for weight in self.net.parameters():
                weight.copy_(torch.rand(weight.shape, generator=self.torch_generator))
        self.optimiser = torch.optim.Adam(self.net.parameters(), lr=0.01)

    def learn(self):
        inputs = torch.rand(8, 4, generator=self.torch_generator)
        loss = self.net(inputs).square().mean()
        self.optimiser.zero_grad()
        loss.backward()
        self.optimiser.step()
        self.progress.hands += 3
        self.progress.decisions += int(self.numpy_generator.integers(5, 12))
        self.progress.updates += 1
        self.progress.iterations += 1
        metrics = {"loss/policy": loss.item(), "time/outside_networks": perf_counter() % 1}
        if self.progress.iterations % 3 == 0:
            metrics["policy/entropy"] = self.net.bias.sum().item()
        if self.progress.iterations == self.nan_at:
            if self.nan_in == "metric":
                metrics["loss/policy"] = float("nan")
            elif self.nan_in == "draw":
                sample_from_probs(np.full((1, 3), np.nan), np.zeros(1))
            else:
                with torch.no_grad():
                    self.net.bias[1] = float("inf")
        return metrics

    def players(self):
        return {"current": TinyPlayer(self.net.weight)}

    def state_dict(self):
        state = {"progress": asdict(self.progress), "net": self.net.state_dict()}
        state |= {"optimiser": self.optimiser.state_dict()}
        state |= {"torch": self.torch_generator.get_state()}
        return state | {"numpy": self.numpy_generator.bit_generator.state}

    def load_state_dict(self, state):
        self.progress = Progress(**state["progress"])
        self.net.load_state_dict(state["net"])
        self.optimiser.load_state_dict(state["optimiser"])
        self.torch_generator.set_state(state["torch"])
        self.numpy_generator.bit_generator.state = state["numpy"]


class TinyEvaluation:
    exact_every = None

    def evaluate(self, players, halfway_snapshot=None, exact=False):
        size = float(players["current"].weight.detach().norm())
        before = 0 if halfway_snapshot is None else int(halfway_snapshot.stem)
        return [
            Result("current", "exploitability", size, None, "ante", "exact"),
            Result("current", "match", size - before, 0.25, "ante", "against call", 100),
        ]

    def build_figures(self, players, metrics):
        from matplotlib.figure import Figure

        figure = Figure(figsize=(2, 1))
        rows = [json.loads(line) for line in metrics.read_text().splitlines()]
        figure.subplots().plot([row["eval/current/exploitability"] for row in rows])
        return {"exploitability": figure}


def build_settings(**changes):
    """Return a run's config: the defaults of `conf/config.yaml` with `TinyGame` and its parts."""
    defaults = read_plain_yaml(SHIPPED_OPTION_DIR / "config.yaml")
    root = {key: value for key, value in defaults.items() if key != "defaults"}
    root |= {"names": {"game": "tiny", "algo": "fit"}, "seed": 5, "device": "cpu", "logger": {}}
    root |= {"budget": 400, "budget_unit": "decisions", "evaluate_every": 50}
    root |= {"checkpoint_every": 70, "game": {"_target_": "tiny_run.TinyGame"}}
    root |= {"algo": {"_target_": "poker_rl.algos.ppo.PPO", "nan_at": 0, "nan_in": "metric"}}
    return root | {"evaluation": {"_target_": "tiny_run.TinyEvaluation"}} | changes


def train(resume=None, overrides=(), loggers=None, **changes):
    """Train `TinyAlgorithm` in the current folder; `changes` replace settings of the run."""
    config = build_settings(**changes)
    algo = {key: value for key, value in config["algo"].items() if key != "_target_"}
    algorithm = TinyAlgorithm(config["seed"], **algo)
    parts = {"game": TinyGame(), "evaluator": TinyEvaluation(), "device": torch.device("cpu")}
    parts |= {"loggers": [TensorBoard()] if loggers is None else loggers, "files_to_copy": {}}
    train_in_folder(config, algorithm, **parts, resume=resume, overrides=overrides)


def call_before_iteration(patch, number, act):
    """Call `act` after `number` iterations of a `TinyAlgorithm`, before the next one."""
    learn = TinyAlgorithm.learn

    def act_and_learn(self):
        if self.progress.iterations == number:
            act()
        return learn(self)

    patch.setattr(TinyAlgorithm, "learn", act_and_learn)


def read_rows(folder):
    """Return the rows of a run's metrics, without the tags `time/…`."""
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    return [{k: v for k, v in row.items() if not k.startswith("time/")} for row in lines]


def get_folder():
    """Return the only run folder in the current folder."""
    (folder,) = Path("outputs").glob("*/*/*")
    return folder


def is_same(first, second):
    """Return whether two values, which may be nested, are bitwise equal."""
    if isinstance(first, torch.Tensor):
        return torch.equal(first, second)
    if isinstance(first, dict):
        return first.keys() == second.keys() and all(is_same(first[k], second[k]) for k in first)
    if isinstance(first, list | tuple):
        return len(first) == len(second) and all(map(is_same, first, second))
    return bool(first == second)
