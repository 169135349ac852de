"""Learners that record and replay simulated CUDA graphs give the same results as on the CPU."""

from dataclasses import fields
from functools import partial

import pytest
import torch
from device_simulator import DEVICE, SimulatedTensor, simulate_device, simulate_graphs
from learner_contexts import compose_learner, single_opponent

from poker_rl.algos import ppo as ppo_module
from poker_rl.games import load_game
from poker_rl.learning.cuda_graphs import WARMUP_CALLS, CapturedStep
from poker_rl.learning.fixed_length_rollout import FixedLengthRollout
from poker_rl.players import load_player

DQN = ["algo.tables=20", "algo.batch_size=8", "algo.learning_starts=8", "algo.train_freq=2"]
DQN += ["algo.network_sharing=shared"]
SGD = ["algo.optimizer=sgd", "algo.target_update_interval=21"]
PPO = ["algo.tables=16", "algo.rollout_steps=5", "algo.epochs=2"]
AVERAGE = ["algo.average_policy.gradient_steps=9", "algo.average_policy.batch_size=8"]
ONE_STEP = "algo.average_policy.gradient_steps=1"
POOL = "algo.opponent_pool={play_prob: 0.5, snapshot_interval: 2, capacity: 2}"
SEES_CARDS = "algo.critic_view=perfect_information"
EXTRAS = [SEES_CARDS, "algo.normalize_advantages=true", "algo.clip_value_loss=true"]
TWO = "algo.instances=2"
OVER_TYPES = "algo.entropy_over=action_types"
CASES = {
    "nfsp lstm": ("kuhn", "nfsp", *DQN, "algo.train_freq=8", "net=lstm"),
    "dqn sgd": ("kuhn", "dqn", *DQN, *SGD),
    "ppo two instances pool": ("leduc", "ppo", *PPO, POOL, TWO, "algo.shared_layers=1"),
    "ppo seats": ("leduc", "ppo", *PPO, "algo.network_sharing=per_seat", "algo.seating=shuffled"),
    "ppo amounts": ("nolimit_leduc", "ppo", *PPO, "algo.epochs=1", "net=amounts_lstm", OVER_TYPES),
    "ppo no forced moves": ("big2", "ppo", "algo.tables=4", "algo.include_forced_moves=false"),
    "mmd": ("leduc", "mmd", *PPO, *EXTRAS),
    # Several gradient steps in one graph sample the same batches as the CPU only with one network.
    "nfsp_ppo": ("leduc", "nfsp_ppo", *PPO, *AVERAGE),
    "nfsp_ppo two instances": ("leduc", "nfsp_ppo", *PPO, *AVERAGE, *EXTRAS, TWO, ONE_STEP),
}
ITERATIONS = WARMUP_CALLS + 6


@pytest.fixture(autouse=True)
def steps(monkeypatch):
    """Yield the list of the captured steps that were created on the simulated device."""
    created = []
    with simulate_device() as simulator, simulate_graphs(simulator):
        original_init = CapturedStep.__init__

        def init_and_record(self, function, device, *args, **kw):
            original_init(self, function, device, *args, **kw)
            if device.type == DEVICE:
                created.append(self)

        monkeypatch.setattr(CapturedStep, "__init__", init_and_record)
        yield created
        monkeypatch.undo()


def learner(device, game_name, algo, *overrides, opponent=None):
    game = load_game(game_name)
    words = [f"algo={algo}", f"game={game_name}", "budget=2000", *overrides]
    bot = None if opponent is None else load_player(opponent, game, torch.device(device))
    return compose_learner(words, game, 0, single_opponent(bot), device)


def get_tensor_addresses(learner):
    """Return the addresses of the tensors that captured steps of PPO read and write."""
    batch = learner._rollout.batch
    tensors = {field.name: getattr(batch, field.name) for field in fields(batch)}
    tensors |= {f"data {name}": values for name, values in learner._inputs.columns.items()}
    assert all(isinstance(values, SimulatedTensor) for values in tensors.values())
    return {name: values.inner.data_ptr() for name, values in tensors.items()}


def check_equal_iteration(on_gpu, on_cpu):
    """Train both learners for one iteration; check that metrics and progress agree."""
    metrics, cpu_metrics = on_gpu.learn(), on_cpu.learn()
    for values in (metrics, cpu_metrics):
        del values["time/outside_networks"]
    assert metrics == pytest.approx(cpu_metrics, rel=1e-3, abs=1e-5)
    assert vars(on_gpu.progress) == vars(on_cpu.progress)
    return metrics


@pytest.mark.parametrize("arguments", CASES.values(), ids=CASES)
def test_graph_replay_matches_training_on_cpu(arguments, steps):
    """Recorded work also never makes the CPU wait, and its tensors keep their addresses."""
    gpu, cpu = learner(DEVICE, *arguments), learner("cpu", *arguments)
    before = {}
    is_ppo = isinstance(gpu, ppo_module.PPO)
    for _ in range(ITERATIONS):
        check_equal_iteration(gpu, cpu)
        if not is_ppo:
            continue
        now = get_tensor_addresses(gpu)
        assert before in ({}, now)
        before = now
    replays = {step: 0 if step._graph is None else step._graph.replays for step in steps}
    if is_ppo:
        rollout, prepare = gpu._rollout, gpu._prepare_data
        assert replays.pop(rollout._captured_carry) == ITERATIONS - WARMUP_CALLS
        (sample,) = (group.sample for group in rollout._groups)
        calls = gpu.rollout_steps * ITERATIONS if gpu.services.has_equal_blocks else WARMUP_CALLS
        assert replays.pop(sample) == calls - WARMUP_CALLS
        calls = ITERATIONS if gpu.services.replicas == 1 else WARMUP_CALLS
        assert replays.pop(prepare) == calls - WARMUP_CALLS
        assert replays[gpu._learn_epoch] > 0
    else:
        assert max(replays.values()) > WARMUP_CALLS
    players, cpu_players = gpu.players(), cpu.players()
    for name, player in players.items():
        for weight, goal in zip(
            player.module.parameters(), cpu_players[name].module.parameters(), strict=True
        ):
            torch.testing.assert_close(weight.detach().cpu(), goal.detach(), atol=1e-4, rtol=1e-3)


@pytest.mark.parametrize(
    ("game", "opponent", "settings"),
    [("limit_holdem", "fold", ["algo.seating=shuffled", TWO]), ("leduc", None, [POOL, TWO])],
)
def test_iterations_without_usable_decisions_match_cpu(game, opponent, settings):
    """With one table per instance, an instance can have no usable decision in an iteration."""
    small = ["algo.tables=1", "algo.rollout_steps=1", "algo.minibatches=1", *settings]
    on_gpu, on_cpu = (learner(on, game, "ppo", *small, opponent=opponent) for on in (DEVICE, "cpu"))
    counts = []
    for _ in range(15):
        check_equal_iteration(on_gpu, on_cpu)
        replica = on_gpu._inputs.columns["replica"][on_gpu._inputs.columns["is_used"]].cpu()
        counts += replica.bincount(minlength=on_gpu.instances).tolist()
    assert 0 in counts
    assert max(counts) > 0


def test_two_table_groups_on_the_device_match_one_on_cpu(monkeypatch):
    settings = [*PPO, "algo.tables=17", "algo.minibatches=1", SEES_CARDS]
    on_cpu = learner("cpu", "leduc", "ppo", *settings)
    monkeypatch.setattr(ppo_module, "FixedLengthRollout", partial(FixedLengthRollout, groups=2))
    on_gpu = learner(DEVICE, "leduc", "ppo", *settings)
    for _ in range(ITERATIONS):
        check_equal_iteration(on_gpu, on_cpu)
    samples = [group.sample for group in on_gpu._rollout._groups]
    assert len(samples) == 2
    assert all(sample._graph.replays > 5 * WARMUP_CALLS for sample in samples)


def test_learner_with_recorded_graphs_continues_from_a_cpu_state():
    settings = ["leduc", "ppo", *PPO, POOL]
    on_gpu, on_cpu = (learner(on, *settings) for on in (DEVICE, "cpu"))
    for _ in range(6):
        on_gpu.learn(), on_cpu.learn()
    on_gpu.load_state_dict(on_cpu.state_dict())
    for _ in range(6):
        check_equal_iteration(on_gpu, on_cpu)
