"""Several processes that learn together learn what one process with all of their play does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from fork_server import SERVER
from torch import distributed as dist

from poker_rl.algos.load import build_algorithm
from poker_rl.config.build import build
from poker_rl.config.compose import composed
from poker_rl.config.horizons import resolved
from poker_rl.config.options import option
from poker_rl.learning.hand_memory import Transitions
from poker_rl.learning.minibatches import minibatches
from poker_rl.learning.nearby import ROOM, Nearby
from poker_rl.learning.rollout import OPEN, joined
from poker_rl.training.checkpoints import Checkpoints, split_state

CPU = torch.device("cpu")
TEN = 10  # iterations, each of one step of an optimiser or more

ONE_STEP = ["algo.updates=1", "algo.training_period=8"]


def batches(replay: int, average: int) -> list[str]:
    return [f"algo.batch={replay}", f"algo.average.batch={average}"]


def in_two(work: Callable[[int], Any], folder: Path) -> list[Any]:
    """What the work returns in each of two processes that reach each other."""
    run_all([partial(work_with_other, work, folder, rank) for rank in range(2)])
    return [torch.load(folder / f"{rank}.pt", weights_only=False) for rank in range(2)]


def run_all(works: list[Callable[[], None]]) -> None:
    """Do each work in a process of its own, all at once."""
    processes = [SERVER.Process(target=work, daemon=True) for work in works]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
        assert process.exitcode == 0


def work_with_other(work: Callable[[int], Any], folder: Path, rank: int) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=2)
    torch.save(work(rank), folder / f"{rank}.pt")
    dist.destroy_process_group()


def learner(
    algo: str, rank: int, workers: int, *overrides: str, opponent: str | None = None
) -> Any:
    game = build(option("game", "leduc"), "game")
    settings = resolved(composed([f"algo={algo}", "game=leduc", "budget=20000", *overrides]))
    bot = None if opponent is None else build(option("player", opponent), "opponent", game=game)
    return build_algorithm(settings, game, CPU, 5, bot, workers, rank)


def share_state(learner: Any) -> None:
    """Give a learner the state of the first process's."""
    config = {"names": {"game": "leduc", "algo": "x"}}
    Checkpoints(Path(), config, learner._agents.game, learner).join()


def weights(learner: Any) -> dict[str, torch.Tensor]:
    """All tensors that are the same in all processes."""
    _, shared = split_state(learner.state_dict(), learner.own)
    found: dict[str, torch.Tensor] = {}

    def gather(name: str, part: Any) -> None:
        if isinstance(part, torch.Tensor):
            found[name] = part.detach().clone()
        elif isinstance(part, dict):
            for key, inner in part.items():
                gather(f"{name}.{key}", inner)

    gather("", shared)
    return found


class BothMemories:
    """The memories of two processes as one, whose batches are half of each."""

    def __init__(self, *memories: Any) -> None:
        self.memories, self.copies = memories, memories[0].copies

    @property
    def fewest(self) -> int:
        return min(memory.fewest for memory in self.memories)

    @property
    def begun(self) -> bool:
        return any(memory.begun for memory in self.memories)

    @property
    def fill(self) -> float:
        return float(np.mean([memory.fill for memory in self.memories]))

    def state_dict(self) -> dict[str, Any]:
        return {}

    def sample(self, count: int) -> dict[str, torch.Tensor]:
        one, other = (memory.sample(count // 2) for memory in self.memories)
        return {name: torch.cat([one[name], other[name]], 1) for name in one}

    def transitions(self, count: int) -> Transitions:
        one, other = (memory.transitions(count // 2) for memory in self.memories)
        parts = {f.name: [getattr(part, f.name) for part in (one, other)] for f in fields(one)}
        return Transitions(**{name: torch.cat(part, 1) for name, part in parts.items()})


def of_both_halves(algo: str, overrides: list[str], doubled: list[str]) -> Any:
    """A learner in one process whose play is that of two, and whose batches are both of theirs."""
    one = learner(algo, 0, 1, *overrides, *doubled)
    halves = [learner(algo, rank, 2, *overrides) for rank in range(2)]
    rollouts = [half._agents.rollout for half in halves]
    played: list[Any] = []

    def play(way: str, *arguments: Any) -> Any:
        played.clear()
        for half in halves:
            half.progress = one.progress
            for name in ("_actor", "_q", "_other", "_player", "_judge"):
                if hasattr(one, name):
                    setattr(half, name, getattr(one, name))
            half._epsilon, half._answers = getattr(one, "_epsilon", None), 0
            for gathered in ("_policies", "_seen"):
                getattr(half, gathered, []).clear()
            played.append(getattr(half._agents.rollout, way)(half._act, *arguments))
        one._agents.rollout.hands = sum(rollout.hands for rollout in rollouts)
        one._policies = [policy for half in halves for policy in getattr(half, "_policies", [])]
        one._answers = sum(half._answers for half in halves)
        tables = len(rollouts[0].agent)
        return joined([played[0], shifted(played[1], tables)])

    def parts(rows: np.ndarray, copy: np.ndarray, count: int) -> Any:
        """Whole batches, whose order is nothing; both generators draw theirs all the same."""
        first = len(played[0])
        if hasattr(one, "_traverser"):  # whose decisions alone are in the batch
            first = int((played[0].agent == halves[0]._traverser[played[0].table]).sum())
        here = int((rows < first).sum())
        for half in halves:
            half._agents.generator.permuted(np.arange(max(here, len(rows) - here))[None], axis=1)
        return minibatches(rows, copy, 1, count, one._agents.generator, CPU)

    one._agents.minibatches = parts
    one._agents.rollout.stream = lambda act, steps: play("stream", steps)
    one._agents.rollout.play_out = lambda act, decks=None: play("play_out")
    if algo == "nfsp_ppo":
        both = [half._averages.play for half in halves]
        one._averages.play.memory = BothMemories(*(average.memory for average in both))

        def add(batch: Any, rows: np.ndarray, policy: np.ndarray, iteration: int) -> None:
            first, here = len(played[0]), rows < len(played[0])
            both[0].add(played[0], rows[here], policy[here], iteration)
            both[1].add(played[1], rows[~here] - first, policy[~here], iteration)

        one._averages.play.add = add
        one._learns = lambda batch: np.concatenate(
            [half._learns(part) for half, part in zip(halves, played, strict=True)]
        )
    if hasattr(one, "_average"):
        one._average.memory = BothMemories(*(half._average.memory for half in halves))
        for half in halves:
            half._average.module = one._average.module
    if hasattr(one, "_memory"):
        one._memory = BothMemories(*(half._memory for half in halves))
        one._remember = lambda batch: sum(
            half._remember(part) for half, part in zip(halves, played, strict=True)
        )
    for number, own in enumerate(getattr(one, "_learners", [])):
        own.memory = BothMemories(*(half._learners[number].memory for half in halves))
        one._remember = lambda batch, own: [
            half._remember(part, [half._learner]) for half, part in zip(halves, played, strict=True)
        ]
    return one


def shifted(batch: Any, tables: int) -> Any:
    """A batch at tables that come after so many others."""
    return SimpleNamespace(**vars(batch) | {"table": batch.table + tables})


def learn_ten_times(
    algo: str, overrides: list[str], rank: int
) -> tuple[dict[str, int], dict[str, torch.Tensor], dict[str, float]]:
    half = learner(algo, rank, 2, *overrides)
    share_state(half)
    told = [half.learn() for _ in range(TEN)][-1]
    return vars(half.progress), weights(half), told


@pytest.mark.parametrize(
    ("algo", "overrides", "doubled"),
    [
        (
            "ppo",
            ["algo.tables=16", "algo.steps=6", "algo.minibatches=1", "algo.normalise=true"],
            ["algo.tables=32"],
        ),
        ("actor_critic", ["algo.hands=32", "algo.minibatches=1"], ["algo.hands=64"]),
        (
            "nfsp",
            ["algo.tables=16", "algo.steps=8", "algo.learn_from=32", *batches(16, 8)],
            ["algo.tables=32", *batches(32, 16)],
        ),
        (
            "dqn",
            ["algo.tables=16", "algo.steps=8", "algo.learn_from=32", "algo.batch=16"],
            ["algo.tables=32", "algo.batch=32"],
        ),
        (
            "nfsp_ppo",
            ["algo.tables=16", "algo.steps=6", "algo.minibatches=1", "algo.average.batch=8"],
            ["algo.tables=32", "algo.average.batch=16"],
        ),
        (
            "apu",
            ["algo.update=dual_apu_ctrl", "algo.episodes=8", "algo.batch=16", *ONE_STEP],
            ["algo.episodes=16", "algo.batch=32"],
        ),
        (
            "vine",
            ["algo.tables=16", "algo.steps=6", "algo.batch=16", "algo.updates=1"],
            ["algo.tables=32", "algo.batch=32"],
        ),
    ],
)
def test_two_processes_learn_what_one_does_with_both_halves(
    algo: str, overrides: list[str], doubled: list[str], tmp_path: Path
) -> None:
    first, second = in_two(partial(learn_ten_times, algo, overrides), tmp_path)
    assert first[0] == second[0]
    assert all(torch.equal(tensor, second[1][name]) for name, tensor in first[1].items())
    assert first[2] == second[2]
    assert 0 < first[2]["time/communication"] < 1

    every = {"nfsp": "algo.every", "dqn": "algo.every", "apu": "algo.training_period"}
    if algo in every:  # twice the play for a step on twice the batch
        settings = composed([f"algo={algo}", "game=leduc", *overrides])["algo"]
        name = every[algo]
        doubled = [*doubled, f"{name}={2 * settings[name.removeprefix('algo.')]}"]
    one = of_both_halves(algo, overrides, doubled)
    start = weights(one)
    told = [one.learn() for _ in range(TEN)][-1]
    assert vars(one.progress) == first[0]
    assert one.progress.updates >= TEN
    now = weights(one)
    assert max((now[name] - tensor).abs().max() for name, tensor in start.items()) > 1e-3
    assert now.keys() == first[1].keys()
    for name, tensor in now.items():
        assert (tensor - first[1][name]).abs().max() < 1e-6, name
    for tag in told:
        if tag.startswith("loss/"):
            assert told[tag] == pytest.approx(first[2][tag], rel=1e-4, abs=1e-5)


def rows_and_weights(sizes: list[list[int]], rank: int) -> list[tuple[Any, Any]]:
    copy = np.repeat([0, 1], sizes[rank])
    generator = np.random.default_rng(rank)
    parts = minibatches(np.arange(len(copy)), copy, 2, 3, generator, CPU)
    return [(index.numpy(), weight.numpy()) for index, weight in parts]


@pytest.mark.parametrize("sizes", [[[10, 4], [7, 9]], [[10, 4], [0, 0]]])
def test_parts_of_a_pass_weigh_the_rows_of_both_processes_alike(
    sizes: list[list[int]], tmp_path: Path
) -> None:
    """With unequal numbers of rows of two copies, which do not divide by the number of parts."""
    one, other = in_two(partial(rows_and_weights, sizes), tmp_path)
    assert len(one) == len(other) == 3
    seen: list[list[int]] = [[], []]
    for both in zip(one, other, strict=True):
        for k in range(2):
            values, sums = [], []
            for rank, (index, weight) in enumerate(both):
                here = index[k][weight[k] > 0]
                seen[rank] += here.tolist()
                values += (100 * rank + here).tolist()
                sums.append(((100 * rank + index[k]) * weight[k]).sum())
            assert np.mean(sums) == pytest.approx(np.mean(values))
    for rank, rows in enumerate(seen):
        assert sorted(rows) == list(range(sum(sizes[rank])))


def learn_from_little(
    opponent: str | None, rank: int
) -> tuple[list[tuple[int, int]], dict[str, torch.Tensor]]:
    small = ["algo.tables=1", "algo.steps=1", "algo.minibatches=1", "algo.instances=2"]
    beside = ["algo.normalise=true", "algo.seating=shuffled"]
    half = learner("ppo", rank, 2, *small, *beside, opponent=opponent)
    share_state(half)
    seen = []
    learns = half._learns

    def watched(batch: Any) -> Any:
        seen.append((len(batch), int((batch.next != OPEN).sum())))
        return learns(batch)

    half._learns = watched
    for _ in range(2 * TEN):
        assert all(np.isfinite(value) for value in half.learn().values())
    return seen, weights(half)


@pytest.mark.parametrize("opponent", [None, "call"])
def test_a_process_with_nothing_to_learn_from_keeps_step(
    opponent: str | None, tmp_path: Path
) -> None:
    """At one table a step decides nothing that is complete, or is the opponent's."""
    one, other = in_two(partial(learn_from_little, opponent), tmp_path)
    rows = [[decided for _, decided in seen] for seen, _ in (one, other)]
    assert any(bool(here) != bool(there) for here, there in zip(*rows, strict=True))
    if opponent is not None:
        assert min(size for size, _ in one[0]) == 0
    assert all(torch.equal(tensor, other[1][name]) for name, tensor in one[1].items())


def values(turn: int, rank: int) -> list[torch.Tensor]:
    """Numbers of all kinds, in the first turn more float32 than fit at once: four parts."""
    drawn = torch.Generator().manual_seed(10 * turn + rank)
    whole = torch.randint(100, (2, 3), generator=drawn)
    size = 3 * ROOM // 4 + 5 if turn == 0 else 7
    return [torch.randn(size, generator=drawn), whole.t(), whole.double()[0, 0]]


def gather_often(nearby: Nearby, workers: int, rank: int) -> None:
    torch.set_num_threads(1)
    nearby.join(rank, lambda: None)
    for turn in range(20):
        every = zip(*(values(turn, other) for other in range(workers)), strict=True)
        for mine, all_of_them in zip(values(turn, rank), every, strict=True):
            found = nearby.gathered(mine, lambda places: places.sum(0))
            assert torch.equal(found, torch.stack(all_of_them).sum(0))


def test_shared_memory_brings_numbers_of_all_kinds_together() -> None:
    workers = 3
    nearby = Nearby(workers, False, SERVER)  # more processes than cores: who waits sleeps
    run_all([partial(gather_often, nearby, workers, rank) for rank in range(workers)])
