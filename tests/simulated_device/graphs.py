"""Learners whose steps are recorded and replayed, as by a GPU, learn what they do on the CPU."""

from dataclasses import fields
from functools import partial

import pytest
import torch
from device_simulator import NAME, SimulatedTensor, simulate_device, simulate_graphs
from learner_contexts import compose_learner, sole

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
ODD = [SEES_CARDS, "algo.normalize_advantages=true", "algo.clip_value_loss=true"]
TWO = "algo.instances=2"
OVER_TYPES = "algo.entropy_over=action_types"
RUNS = {
    "nfsp lstm": ("kuhn", "nfsp", *DQN, "algo.train_freq=8", "net=lstm"),
    "dqn sgd": ("kuhn", "dqn", *DQN, *SGD),
    "ppo two pool": ("leduc", "ppo", *PPO, POOL, TWO, "algo.shared_layers=1"),
    "ppo seats": ("leduc", "ppo", *PPO, "algo.network_sharing=per_seat", "algo.seating=shuffled"),
    "ppo amounts": ("nolimit_leduc", "ppo", *PPO, "algo.epochs=1", "net=amounts_lstm", OVER_TYPES),
    "ppo forced": ("big2", "ppo", "algo.tables=4", "algo.include_forced_moves=false"),
    "mmd": ("leduc", "mmd", *PPO, *ODD),
    # batches of several steps in one graph are of one network what they are on the CPU
    "nfsp_ppo": ("leduc", "nfsp_ppo", *PPO, *AVERAGE),
    "nfsp_ppo two": ("leduc", "nfsp_ppo", *PPO, *AVERAGE, *ODD, TWO, ONE_STEP),
}
ITERATIONS = WARMUP_CALLS + 6


@pytest.fixture(autouse=True)
def steps(monkeypatch):
    """All captured steps on the simulated device."""
    made = []
    with simulate_device() as simulator, simulate_graphs(simulator):
        set_up = CapturedStep.__init__

        def listing(self, function, device, *args, **kw):
            set_up(self, function, device, *args, **kw)
            if device.type == NAME:
                made.append(self)

        monkeypatch.setattr(CapturedStep, "__init__", listing)
        yield made
        monkeypatch.undo()


def learner(on, game_name, algo, *overrides, opponent=None):
    game = load_game(game_name)
    words = [f"algo={algo}", f"game={game_name}", "budget=2000", *overrides]
    bot = None if opponent is None else load_player(opponent, game, torch.device(on))
    return compose_learner(words, game, 0, sole(bot), on)


def addresses(learner):
    """Where the tensors are that captured steps of PPO read and write."""
    batch = learner._rollout.batch
    tensors = {field.name: getattr(batch, field.name) for field in fields(batch)}
    tensors |= {f"data {name}": values for name, values in learner._inputs.columns.items()}
    assert all(isinstance(values, SimulatedTensor) for values in tensors.values())
    return {name: values.inner.data_ptr() for name, values in tensors.items()}


def learn_alike(here, there):
    """Have learners on the device and on the CPU learn, and compare what they say."""
    found, expected = here.learn(), there.learn()
    for one in (found, expected):
        del one["time/outside_networks"]
    assert found == pytest.approx(expected, rel=1e-3, abs=1e-5)
    assert vars(here.progress) == vars(there.progress)
    return found


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
def test_what_a_graph_replays_is_what_the_cpu_does(run, steps):
    """Nothing recorded makes the CPU wait, and what it reads and writes keeps its address."""
    here, there = learner(NAME, *run), learner("cpu", *run)
    before = {}
    is_ppo = isinstance(here, ppo_module.PPO)
    for _ in range(ITERATIONS):
        learn_alike(here, there)
        if not is_ppo:
            continue
        now = addresses(here)
        assert before in ({}, now)
        before = now
    replays = {step: 0 if step._graph is None else step._graph.replays for step in steps}
    if is_ppo:
        rollout, prepare = here._rollout, here._prepare_data
        assert replays.pop(rollout._captured_carry) == ITERATIONS - WARMUP_CALLS
        (sample,) = (group.sample for group in rollout._groups)
        calls = here.rollout_steps * ITERATIONS if here.services.has_equal_blocks else WARMUP_CALLS
        assert replays.pop(sample) == calls - WARMUP_CALLS
        calls = ITERATIONS if here.services.replicas == 1 else WARMUP_CALLS
        assert replays.pop(prepare) == calls - WARMUP_CALLS
        assert replays[here._learn_epoch] > 0
    else:
        assert max(replays.values()) > WARMUP_CALLS
    players, others = here.players(), there.players()
    for name, player in players.items():
        for one, other in zip(
            player.module.parameters(), others[name].module.parameters(), strict=True
        ):
            torch.testing.assert_close(one.detach().cpu(), other.detach(), atol=1e-4, rtol=1e-3)


@pytest.mark.parametrize(
    ("game", "opponent", "settings"),
    [("limit_holdem", "fold", ["algo.seating=shuffled", TWO]), ("leduc", None, [POOL, TWO])],
)
def test_an_iteration_without_a_decision_to_learn_from_does_no_harm(game, opponent, settings):
    """At one table of each instance a step decides nothing, or nothing whose end is known."""
    small = ["algo.tables=1", "algo.rollout_steps=1", "algo.minibatches=1", *settings]
    here, there = (learner(on, game, "ppo", *small, opponent=opponent) for on in (NAME, "cpu"))
    counts = []
    for _ in range(15):
        learn_alike(here, there)
        replica = here._inputs.columns["replica"][here._inputs.columns["is_used"]].cpu()
        counts += replica.bincount(minlength=here.instances).tolist()
    assert 0 in counts
    assert max(counts) > 0


def test_two_groups_of_tables_on_the_device_play_what_one_does_on_the_cpu(monkeypatch):
    settings = [*PPO, "algo.tables=17", "algo.minibatches=1", SEES_CARDS]
    there = learner("cpu", "leduc", "ppo", *settings)
    monkeypatch.setattr(ppo_module, "FixedLengthRollout", partial(FixedLengthRollout, groups=2))
    here = learner(NAME, "leduc", "ppo", *settings)
    for _ in range(ITERATIONS):
        learn_alike(here, there)
    samples = [group.sample for group in here._rollout._groups]
    assert len(samples) == 2
    assert all(sample._graph.replays > 5 * WARMUP_CALLS for sample in samples)


def test_a_state_of_the_cpu_is_gone_on_with_by_new_recordings():
    settings = ["leduc", "ppo", *PPO, POOL]
    here, there = (learner(on, *settings) for on in (NAME, "cpu"))
    for _ in range(6):
        here.learn(), there.learn()
    here.load_state_dict(there.state_dict())
    for _ in range(6):
        learn_alike(here, there)
