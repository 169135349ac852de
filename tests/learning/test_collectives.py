"""Several processes that learn together learn what one process with all of their play does."""

from dataclasses import fields
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from decision_recorder import record_decisions
from learner_contexts import compose_learner, single_opponent
from processes import SERVER
from small_learners import list_small_overrides
from torch import distributed as dist

from poker_rl.games import load_game
from poker_rl.learning import NEXT_PENDING
from poker_rl.learning.collectives import CHUNK_BYTES, ShmAllReduce
from poker_rl.learning.fixed_length_rollout import FixedLengthBatch
from poker_rl.learning.minibatches import iterate_minibatches, sample_uniform_numbers
from poker_rl.players import load_player
from poker_rl.training.run_checkpoints import Checkpoints

TEN = 10  # iterations, each of one step of an optimiser or more


def run_all(works):
    """Run each work in its own process, all at once."""
    processes = [SERVER.Process(target=work, daemon=True) for work in works]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
        assert process.exitcode == 0


def work_with_other(folder, rank):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=2)
    torch.save(do_all(rank), folder / f"{rank}.pt")
    dist.destroy_process_group()


def learner(algo, rank, workers, *overrides, opponent=None):
    game = load_game("leduc")
    words = [f"algo={algo}", "game=leduc", "budget=20000", *overrides]
    bot = None if opponent is None else load_player(opponent, game)
    return compose_learner(words, game, 5, single_opponent(bot), "cpu", workers, rank)


def share_state(learner):
    """Give a learner the state of the first process's."""
    config = {"names": {"game": "leduc", "algo": "x"}}
    Checkpoints(Path(), config, learner.services.game, learner).synchronize_ranks()


def weights(learner):
    """All tensors that are the same in all processes."""
    found = {}

    def gather(name, part):
        if isinstance(part, torch.Tensor):
            found[name] = part.detach().clone()
        elif isinstance(part, dict):
            for key in part.keys() - set(learner.per_process_parts):
                gather(f"{name}.{key}", part[key])

    gather("", learner.state_dict())
    return found


def ppo_of_both_halves(overrides, doubled):
    """Return a PPO learner in one process that learns from the play of two."""
    one = learner("ppo", 0, 1, *overrides, *doubled)
    halves = [learner("ppo", rank, 2, *overrides) for rank in range(2)]

    def play_in_halves():
        """Play a number of actions at all tables, those of the first half first."""
        whole, parts = one._rollout, [half._rollout for half in halves]
        for part in parts:
            part._actor, part.non_learning_network = whole._actor, whole.non_learning_network
            part.play()
        for field in fields(FixedLengthBatch):
            columns = [getattr(part.batch, field.name) for part in parts]
            getattr(whole.batch, field.name).copy_(torch.cat(columns, 1))
        rollouts = [half.services.rollout for half in halves]
        one.services.rollout.hands_played = sum(rollout.hands_played for rollout in rollouts)

    one._rollout.play = play_in_halves
    # With one minibatch the order does not matter; both generators have to sample a seed.
    one.services.sample_seed = lambda: max(half.services.sample_seed() for half in halves)
    return one


def learn_ten_times(algo, overrides, rank):
    half = learner(algo, rank, 2, *overrides)
    share_state(half)
    last_metrics = [half.learn() for _ in range(TEN)][-1]
    return vars(half.progress), weights(half), last_metrics


PPO = ["algo.minibatches=1", "algo.normalize_advantages=true"]
ALGOS = ["ppo", "nfsp_ppo", "actor_critic", "nfsp", "apu", "vine"]


def list_overrides(algo):
    more = {"ppo": PPO, "apu": ["algo.variant=dual_apu_ctrl"]}.get(algo, [])
    return [*list_small_overrides(algo), *more]


@pytest.mark.parametrize("algo", ALGOS)
def test_two_processes_learn_the_same(algo, results):
    """PPO also learns what one process learns from the play of both."""
    first, second = (result[algo] for result in results)
    assert first[0] == second[0]
    assert first[0]["updates"] >= TEN // 2
    assert all(torch.equal(tensor, second[1][name]) for name, tensor in first[1].items())
    assert first[2] == second[2]
    assert 0 < first[2]["time/communication"] < 1
    if algo != "ppo":
        return

    one = ppo_of_both_halves(list_overrides("ppo"), ["algo.tables=32"])
    start = weights(one)
    metrics = [one.learn() for _ in range(TEN)][-1]
    assert vars(one.progress) == first[0]
    now = weights(one)
    assert max((now[name] - tensor).abs().max() for name, tensor in start.items()) > 1e-3
    assert now.keys() == first[1].keys()
    for name, tensor in now.items():
        assert (tensor - first[1][name]).abs().max() < 1e-6, name
    for tag in metrics:
        if tag.startswith("loss/"):
            assert metrics[tag] == pytest.approx(first[2][tag], rel=1e-4, abs=1e-5)


SIZES = [[[10, 4], [7, 9]], [[10, 4], [0, 0]]]  # rows of two copies in each process


def rows_and_weights(sizes, rank):
    copy = torch.from_numpy(np.repeat([0, 1], sizes[rank]))
    uniform = sample_uniform_numbers(torch.tensor(rank), len(copy))
    largest = max(map(max, sizes))
    parts = iterate_minibatches(copy, uniform < 1, uniform, 2, 3, largest)
    return [(index.numpy(), weight.numpy()) for index, weight in parts]


@pytest.mark.parametrize("case", range(len(SIZES)))
def test_parts_of_a_pass_weigh_the_rows_of_both_processes_alike(case, results):
    """With unequal numbers of rows of two copies, which do not divide by the number of parts."""
    sizes = SIZES[case]
    one, other = (result[f"rows {case}"] for result in results)
    assert len(one) == len(other) == 3
    seen = [[], []]
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


def learn_from_little(rank):
    small = ["algo.tables=1", "algo.rollout_steps=1", "algo.minibatches=1", "algo.instances=2"]
    beside = ["algo.normalize_advantages=true", "algo.seating=shuffled"]
    half = learner("ppo", rank, 2, *small, *beside, opponent="call")
    share_state(half)
    batches = record_decisions(half)
    for _ in range(2 * TEN):
        assert all(np.isfinite(value) for value in half.learn().values())
    seen = [(len(batch), int((batch.next_row != NEXT_PENDING).sum())) for batch, _ in batches]
    return seen, weights(half)


def test_a_process_with_nothing_to_learn_from_keeps_step(results):
    """At one table a step decides nothing that is complete, or is the opponent's."""
    one, other = (result["little"] for result in results)
    rows = [[decided for _, decided in seen] for seen, _ in (one, other)]
    assert any(bool(here) != bool(there) for here, there in zip(*rows, strict=True))
    assert min(size for size, _ in one[0]) == 0
    assert all(torch.equal(tensor, other[1][name]) for name, tensor in one[1].items())


def do_all(rank):
    """Return the results of everything that the tests do in two processes, by name."""
    tasks = {algo: partial(learn_ten_times, algo, list_overrides(algo)) for algo in ALGOS}
    tasks |= {f"rows {i}": partial(rows_and_weights, sizes) for i, sizes in enumerate(SIZES)}
    tasks["little"] = learn_from_little
    return {name: task(rank) for name, task in tasks.items()}


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Results of two processes that reach each other."""
    folder = tmp_path_factory.mktemp("results")
    run_all([partial(work_with_other, folder, rank) for rank in range(2)])
    return [torch.load(folder / f"{rank}.pt", weights_only=False) for rank in range(2)]


def values(turn, rank):
    """Numbers of all kinds, in the first turn more float32 than fit at once: four parts."""
    drawn = torch.Generator().manual_seed(10 * turn + rank)
    whole = torch.randint(100, (2, 3), generator=drawn)
    size = 3 * CHUNK_BYTES // 4 + 5 if turn == 0 else 7
    return [torch.randn(size, generator=drawn), whole.t(), whole.double()[0, 0]]


def gather_often(nearby, workers, rank):
    torch.set_num_threads(1)
    nearby.set_up_process(rank, lambda: None)
    for turn in range(10):
        every = zip(*(values(turn, other) for other in range(workers)), strict=True)
        for mine, all_of_them in zip(values(turn, rank), every, strict=True):
            found = nearby.all_reduce(mine, take_max=False)
            assert torch.equal(found, torch.stack(all_of_them).sum(0))


def test_shared_memory_brings_numbers_of_all_kinds_together():
    workers = 3
    nearby = ShmAllReduce(workers, False, SERVER)  # more processes than cores: who waits sleeps
    run_all([partial(gather_often, nearby, workers, rank) for rank in range(workers)])
