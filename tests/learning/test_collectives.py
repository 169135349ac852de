"""Two processes that train together equal one process that trains on the play of both."""

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
from poker_rl.learning.minibatches import iterate_minibatch_indices, sample_uniform_numbers
from poker_rl.players import load_player
from poker_rl.training.run_checkpoints import Checkpoints

ITERATIONS = 10  # with at least half as many gradient steps


def run_processes(targets):
    """Run all targets at once, each in its own process."""
    processes = [SERVER.Process(target=target, daemon=True) for target in targets]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
        assert process.exitcode == 0


def run_rank(folder, rank):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=2)
    torch.save(run_tasks(rank), folder / f"{rank}.pt")
    dist.destroy_process_group()


def learner(algo, rank, workers, *overrides, opponent=None):
    game = load_game("leduc")
    words = [f"algo={algo}", "game=leduc", "budget=20000", *overrides]
    bot = None if opponent is None else load_player(opponent, game)
    return compose_learner(words, game, 5, single_opponent(bot), "cpu", workers, rank)


def share_state(learner):
    """Copy the state of the first process's learner to the learners of all processes."""
    config = {"names": {"game": "leduc", "algo": "x"}}
    Checkpoints(Path(), config, learner.services.game, learner).load_state_on_all_ranks()


def weights(learner):
    """Return copies of all tensors that have to be equal in all processes."""
    tensors = {}

    def collect(name, part):
        if isinstance(part, torch.Tensor):
            tensors[name] = part.detach().clone()
        elif isinstance(part, dict):
            for key in part.keys() - set(learner.per_process_parts):
                collect(f"{name}.{key}", part[key])

    collect("", learner.state_dict())
    return tensors


def build_ppo_on_play_of_two(overrides, doubled):
    """Return a PPO learner in one process that learns from the play of two learners."""
    single = learner("ppo", 0, 1, *overrides, *doubled)
    halves = [learner("ppo", rank, 2, *overrides) for rank in range(2)]

    def play_in_halves():
        """Play at the tables of the first learner, then at those of the second."""
        whole, parts = single._rollout, [half._rollout for half in halves]
        for part in parts:
            part._actor, part.non_learning_network = whole._actor, whole.non_learning_network
            part.play()
        for field in fields(FixedLengthBatch):
            columns = [getattr(part.batch, field.name) for part in parts]
            getattr(whole.batch, field.name).copy_(torch.cat(columns, 1))
        rollouts = [half.services.rollout for half in halves]
        single.services.rollout.hands_played = sum(rollout.hands_played for rollout in rollouts)

    single._rollout.play = play_in_halves
    # The seed orders rows, which has no effect with one minibatch; both halves have to sample one.
    single.services.sample_seed = lambda: max(half.services.sample_seed() for half in halves)
    return single


def train_half(algo, overrides, rank):
    half = learner(algo, rank, 2, *overrides)
    share_state(half)
    last_metrics = [half.learn() for _ in range(ITERATIONS)][-1]
    return vars(half.progress), weights(half), last_metrics


PPO = ["algo.minibatches=1", "algo.normalize_advantages=true"]
ALGOS = ["ppo", "nfsp_ppo", "actor_critic", "nfsp", "apu", "vine"]


def list_overrides(algo):
    more = {"ppo": PPO, "apu": ["algo.variant=dual_apu_ctrl"]}.get(algo, [])
    return [*list_small_overrides(algo), *more]


@pytest.mark.parametrize("algo", ALGOS)
def test_two_processes_learn_equal_weights(algo, results):
    """PPO also equals one process that learns from the play of both."""
    first, second = (result[algo] for result in results)
    assert first[0] == second[0]
    assert first[0]["updates"] >= ITERATIONS // 2
    assert all(torch.equal(tensor, second[1][name]) for name, tensor in first[1].items())
    assert first[2] == second[2]
    assert 0 < first[2]["time/communication"] < 1
    if algo != "ppo":
        return

    single = build_ppo_on_play_of_two(list_overrides("ppo"), ["algo.tables=32"])
    start = weights(single)
    metrics = [single.learn() for _ in range(ITERATIONS)][-1]
    assert vars(single.progress) == first[0]
    trained = weights(single)
    assert max((trained[name] - tensor).abs().max() for name, tensor in start.items()) > 1e-3
    assert trained.keys() == first[1].keys()
    for name, tensor in trained.items():
        assert (tensor - first[1][name]).abs().max() < 1e-6, name
    for tag in metrics:
        if tag.startswith("loss/"):
            assert metrics[tag] == pytest.approx(first[2][tag], rel=1e-4, abs=1e-5)


SIZES = [[[10, 4], [7, 9]], [[10, 4], [0, 0]]]  # numbers of rows by process and replica


def make_minibatches(sizes, rank):
    replica = torch.from_numpy(np.repeat([0, 1], sizes[rank]))
    uniform = sample_uniform_numbers(torch.tensor(rank), len(replica))
    largest = max(map(max, sizes))
    parts = iterate_minibatch_indices(replica, uniform < 1, uniform, 2, 3, largest)
    return [(index.numpy(), weight.numpy()) for index, weight in parts]


@pytest.mark.parametrize("case", range(len(SIZES)))
def test_minibatches_weight_rows_of_both_processes_equally(case, results):
    """Processes have different numbers of rows, most of them not divisible by 3 minibatches."""
    sizes = SIZES[case]
    first, second = (result[f"rows {case}"] for result in results)
    assert len(first) == len(second) == 3
    seen = [[], []]
    for pair in zip(first, second, strict=True):
        for k in range(2):
            values, sums = [], []
            for rank, (index, weight) in enumerate(pair):
                used = index[k][weight[k] > 0]
                seen[rank] += used.tolist()
                values += (100 * rank + used).tolist()
                sums.append(((100 * rank + index[k]) * weight[k]).sum())
            assert np.mean(sums) == pytest.approx(np.mean(values))
    for rank, rows in enumerate(seen):
        assert sorted(rows) == list(range(sum(sizes[rank])))


def train_on_few_decisions(rank):
    small = ["algo.tables=1", "algo.rollout_steps=1", "algo.minibatches=1", "algo.instances=2"]
    more = ["algo.normalize_advantages=true", "algo.seating=shuffled"]
    half = learner("ppo", rank, 2, *small, *more, opponent="call")
    share_state(half)
    batches = record_decisions(half)
    for _ in range(2 * ITERATIONS):
        assert all(np.isfinite(value) for value in half.learn().values())
    seen = [(len(batch), int((batch.next_row != NEXT_PENDING).sum())) for batch, _ in batches]
    return seen, weights(half)


def test_process_without_usable_decisions_stays_synchronized(results):
    """With one table a process, an iteration may have no decision whose hand has ended."""
    first, second = (result["little"] for result in results)
    rows = [[decided for _, decided in seen] for seen, _ in (first, second)]
    assert any(bool(count) != bool(other_count) for count, other_count in zip(*rows, strict=True))
    assert min(size for size, _ in first[0]) == 0
    assert all(torch.equal(tensor, second[1][name]) for name, tensor in first[1].items())


def run_tasks(rank):
    """Return the results of all tasks of the tests in one process, by name."""
    tasks = {algo: partial(train_half, algo, list_overrides(algo)) for algo in ALGOS}
    tasks |= {f"rows {i}": partial(make_minibatches, sizes) for i, sizes in enumerate(SIZES)}
    tasks["little"] = train_on_few_decisions
    return {name: task(rank) for name, task in tasks.items()}


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Return the results of two processes that train together."""
    folder = tmp_path_factory.mktemp("results")
    run_processes([partial(run_rank, folder, rank) for rank in range(2)])
    return [torch.load(folder / f"{rank}.pt", weights_only=False) for rank in range(2)]


def make_values(turn, rank):
    """Return tensors of several types; in turn 0, the float32 one is longer than three chunks."""
    generator = torch.Generator().manual_seed(10 * turn + rank)
    whole = torch.randint(100, (2, 3), generator=generator)
    size = 3 * CHUNK_BYTES // 4 + 5 if turn == 0 else 7
    return [torch.randn(size, generator=generator), whole.t(), whole.double()[0, 0]]


def check_sums(reducer, workers, rank):
    torch.set_num_threads(1)
    reducer.set_rank_and_liveness_check(rank, lambda: None)
    for turn in range(10):
        parts = zip(*(make_values(turn, other) for other in range(workers)), strict=True)
        for own, of_all in zip(make_values(turn, rank), parts, strict=True):
            total = reducer.all_reduce(own, take_max=False)
            assert torch.equal(total, torch.stack(of_all).sum(0))


def test_shm_all_reduce_sums_tensors_of_all_types():
    workers = 3
    reducer = ShmAllReduce(workers, False, SERVER)  # without polls: cores may be too few
    run_processes([partial(check_sums, reducer, workers, rank) for rank in range(workers)])
