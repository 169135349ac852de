"""APU: rewards by hand, agents that learn in turn, opponent pool, losses, warm starts, learning."""

from copy import deepcopy

import numpy as np
import pytest
import torch
from bitwise_resume import check_bitwise_resume
from holdem_bots import cards
from learner_contexts import (
    always_fold,
    build_learner,
    compute_winnings,
    mlp,
    record_results,
    set_outputs,
)
from random_games import deal_tables
from random_games import game as game_of
from toy_games import kuhn

from poker_rl.config import ConfigError
from poker_rl.config.schedules import Constant, Linear
from poker_rl.learning.opponent_pool import OpponentPoolSettings
from poker_rl.nets import HistoryNetConfig

FOLD, CALL, RAISE = 0, 1, 2
MLP_16 = mlp(16)
SIZES = {"reader_units": 8, "hidden_sizes": [16], "merged_size": 16}
LSTM = HistoryNetConfig(history_reader="lstm", activation="relu", init="orthogonal", **SIZES)


def apu(game, seed=0, opponent=None, net=MLP_16, **changed):
    pool = OpponentPoolSettings(play_prob=0.0, snapshot_interval=1, capacity=1)
    settings = {"episodes_per_iteration": 4, "gradient_steps": 3, "training_period": 2}
    settings |= {"agent_switch_period": 4, "actor_copy_period": 12, "opponent_pool": pool}
    settings |= {"batch_size": 8, "replay_capacity": 500, "tau": 0.1, "reward_scale": 1.0}
    settings |= {"epsilon": Linear(start=0.5, end=0.1, horizon=100)}
    settings |= {"entropy_coef": Constant(start=0.0)}
    settings |= {"actor_lr": Constant(start=1e-3), "critic_lr": Constant(start=1e-2)}
    return build_learner("apu", game, net, seed, opponent, settings | changed)


def weights(learner):
    """Return the current weights of every network, [K, weights] each."""
    return [
        torch.cat([weight.detach().flatten(1) for weight in network.parameters()], 1)
        for network in learner._networks.values()
    ]


# Three hands of six-player limit hold'em. A small bet is two chips; seats 0 and 1 have the blinds.
# Each tuple: the seat, its action, and how many small bets it puts in and takes from the pot.

UNCONTESTED = [  # seat 2 raises and takes a pot of 2 + 1/2 + 1, with the blinds
    *((2, RAISE, 2, 3.5), (3, FOLD, 0, 0), (4, FOLD, 0, 0), (5, FOLD, 0, 0)),
    *((0, FOLD, 0, 0), (1, FOLD, 0, 0)),
]
SPLIT = [  # seats 1 and 2 share a pot of 5: three small bets before the flop, two after it
    *((2, CALL, 1, 0), (3, FOLD, 0, 0), (4, FOLD, 0, 0), (5, FOLD, 0, 0)),
    *((0, CALL, 0.5, 0), (1, CALL, 0, 0)),
    *((0, CALL, 0, 0), (1, RAISE, 1, 0), (2, CALL, 1, 0), (0, FOLD, 0, 0)),
    *((1, CALL, 0, 0), (2, CALL, 0, 0)),
    *((1, CALL, 0, 2.5), (2, CALL, 0, 2.5)),
]
SHOWDOWN = [  # seat 0 wins a pot of 12, to which seat 1 has paid half
    *((2, FOLD, 0, 0), (3, FOLD, 0, 0), (4, FOLD, 0, 0), (5, FOLD, 0, 0)),
    *((0, CALL, 0.5, 0), (1, RAISE, 1, 0), (0, CALL, 1, 0)),
    *((0, RAISE, 1, 0), (1, RAISE, 2, 0), (0, CALL, 1, 0)),
    *((0, CALL, 0, 0), (1, CALL, 0, 0)),
    *((0, RAISE, 2, 12), (1, CALL, 2, 0)),
]
HANDS = [UNCONTESTED, SPLIT, SHOWDOWN] * 2  # an episode is six hands
HOLES = "AsAh 3c3d 4c4d 5c5d 6c6d 7c7d"
BOARDS = ["2c8hJsQd9s", "TsJsQsKsAs", "2c8hJsQd9s"] * 2  # the second board is a royal flush


def script_hands(learner):
    """Make the learner play `HANDS` on `BOARDS` in later iterations."""
    decks = np.array([cards(HOLES + board) for board in BOARDS], np.int8)
    decks[[1, 4], :4] = cards("2s2h3c3d")  # seat 0 can't have the board's ace of spades
    play = learner.services.rollout.play_full_hands

    def act(rows):
        learner._choose_actions(rows)
        moves = rows.tables.records["moves"][rows.table]
        steps = [HANDS[table][move] for table, move in zip(rows.table, moves, strict=True)]
        assert [step[0] for step in steps] == rows.seat.tolist()
        return np.array([step[1] for step in steps]), np.zeros(len(steps))

    learner.services.rollout.play_full_hands = lambda _: play(act, decks)


@pytest.mark.parametrize(("unit", "power"), [(1.0, 2.0), (4.0, 3.0)])
def test_published_reward_matches_hand_calculation(unit, power):
    """The reward is (won / unit) ** power - put in / unit, divided by `reward_scale`."""
    scale = 100.0
    settings = {"reward_scale": scale, "reward_unit": unit, "reward_power": power}
    settings |= {"variant": "dual_apu_ctrl", "episodes_per_iteration": 1, "batch_size": 100}
    learner = apu(game_of("limit_holdem_6p"), **settings)
    script_hands(learner)
    learner.learn()
    items = learner._learners[0].buffer.state_dict()["items"]
    columns = {name: parts[0].numpy() for name, parts in items.items()}
    actual = {}
    records = learner.services.rollout.tables.records
    packed = learner._table_packer.pack(records)
    for hand, moves, reward in zip(*map(columns.get, ("hand", "moves", "reward")), strict=True):
        table, repeated = np.flatnonzero((packed == hand).all(1))
        assert repeated == table + 3
        actual[int(table), int(moves)] = float(reward)
    assert 2 * len(actual) == sum(map(len, HANDS)) == len(columns["hand"])
    for table, steps in enumerate(HANDS[:3]):
        rewards = [actual[table, move] for move in range(len(steps))]
        expected = [(won / unit) ** power - lost / unit for _, _, lost, won in steps]
        assert rewards == pytest.approx(np.array(expected) / scale, rel=1e-6)


def train_and_find_changes(learner):
    """Train for one iteration; return for each network whose weights of each replica changed."""
    before = weights(learner)
    learner.learn()
    return [(a != b).any(1).tolist() for a, b in zip(before, weights(learner), strict=True)]


def test_one_agent_learns_at_a_time():
    learner = apu(kuhn(3))
    for turn in range(7):  # an agent's turn is 4 episodes, an iteration
        sizes = [part.buffer.items_added.sum() for part in learner._learners]
        only = [k == turn % 3 for k in range(3)]
        assert train_and_find_changes(learner) == [only] * 4
        added = [part.buffer.items_added.sum() for part in learner._learners]
        assert [bool(now > then) for now, then in zip(added, sizes, strict=True)] == only


def test_other_agents_play_a_periodic_copy_of_the_actor():
    learner = apu(kuhn(3), variant="dual_apu")  # copied every 3 iterations of 4 episodes
    for turn in range(1, 8):
        before = [weight.clone() for weight in learner._copied_actor.parameters()]
        learner.learn()
        now = list(learner._copied_actor.parameters())
        actor = list(learner._actor.parameters())
        due = turn % 3 == 0
        assert all(map(torch.equal, now, actor if due else before))
        assert not all(map(torch.equal, now, before if due else actor))


@pytest.mark.parametrize("variant", ["apu", "dual_apu_ctrl"])
def test_pool_opponents_play_in_a_share_of_the_iterations(variant, monkeypatch):
    settings = OpponentPoolSettings(play_prob=0.5, snapshot_interval=5, capacity=2)
    learner = apu(kuhn(3), variant=variant, opponent_pool=settings)
    pool, usual = learner._opponent_pool, {learner._copied_actor} - {None}
    agents_of_network = {}  # for each network, the agents that it plays for
    policy = learner.services.compute_probs

    def record_agents(module, rows):
        agents_of_network.setdefault(module, set()).update(rows.agent.tolist())
        return policy(module, rows)

    monkeypatch.setattr(learner.services, "compute_probs", record_agents)
    pool_iterations, learning_agents = 0, set()
    for _ in range(40):
        agents_of_network.clear()
        learner.learn()
        others = set(agents_of_network) - {learner._actor}
        if others == {pool.opponent_network}:
            (agent,) = agents_of_network[learner._actor]
            assert agent not in agents_of_network[pool.opponent_network]
            learning_agents.add(agent)
            pool_iterations += 1
        else:
            assert others == usual
    assert learning_agents == ({0} if variant.startswith("dual") else {0, 1, 2})
    assert pool_iterations / 40 == pytest.approx(0.5, abs=0.3)


@pytest.mark.parametrize("variant", ["apu", "apu_ctrl"])
def test_only_agents_that_learn_explore(variant):
    settings = dict.fromkeys(("episodes_per_iteration", "agent_switch_period"), 300)
    settings |= dict.fromkeys(("batch_size", "replay_capacity"), 5000)
    learner = apu(game_of("leduc"), variant=variant, epsilon=Constant(start=1.0), **settings)
    set_outputs(learner._actor, [0, 2, 0])
    batches = record_results(learner.services.rollout, "play_full_hands")
    learner.learn()
    assert batches
    for rows in batches:
        count = rows.mask.sum(1)
        weight = np.exp(np.where(rows.mask, [0.0, 2.0, 0.0], -np.inf))
        softmax = (weight / weight.sum(1, keepdims=True))[np.arange(len(rows)), rows.action]
        explores = (rows.replica == 0) | (variant == "apu_ctrl")
        prob = np.where(explores, 1 / count, softmax)
        np.testing.assert_allclose(np.exp(rows.log_prob), prob, rtol=1e-5)


def test_number_of_updates_per_episode_is_exact():
    episodes, updates, period = 2, 5, 3
    settings = {"episodes_per_iteration": episodes, "gradient_steps": updates}
    learner = apu(kuhn(3), variant="dual_apu_ctrl", training_period=period, **settings)
    missed = 0
    for turn in range(1, 16):
        learner.learn()
        due = turn * episodes * updates // period
        if learner._learners[0].buffer.min_items_per_replica < 8:
            missed = due
        assert learner.progress.hands == turn * episodes * 3
        assert learner.progress.updates == due - missed
    assert learner.progress.updates == learner._learners[0].updates > 0


@pytest.mark.parametrize("variant", ["apu_ctrl", "dual_apu_ctrl"])
def test_losses_match_plain_loops(variant):
    game = game_of("leduc")
    learner = apu(game, variant=variant, gamma=0.9, batch_size=40, tau=0.01)
    for _ in range(8):
        learner.learn()
    first = learner._learners[0]
    batch = first.buffer.sample(40)
    first.buffer.sample = lambda count: batch
    actor, critic, target_actor, target_critic = first.networks
    replicas = first.buffer.replicas

    def describe(hand, moves):
        """Return the actor's and critic's inputs, legal actions, and whether the hand is over."""
        deck, actions = np.split(hand[: game.cards_dealt + 1 + moves], [game.cards_dealt])
        table = deal_tables(game, actions=actions[1:], decks=deck.view(np.int8)[None])
        seen, hidden = table.observe()[0], table.observe_hidden_cards()[0]
        rows = [torch.from_numpy(part).float() for part in (seen, np.r_[seen, hidden])]
        return *rows, table.legal_mask()[0], bool(table.records["over"][0])

    def forward(net, row, k):
        with torch.no_grad():
            return net(row.expand(replicas, 1, -1))[k, 0].double().numpy()

    def policy(net, row, legal, k):
        weight = np.where(legal, np.exp(forward(net, row, k)), 0)
        return weight / weight.sum()

    errors, gains, entropy, ends = 0.0, 0.0, 0.0, 0
    for k in range(replicas):
        for i in range(40):
            hand = batch["hand"][k, i].numpy()
            moves, next_moves = int(batch["moves"][k, i]), int(batch["next"][k, i])
            s, w, legal, _ = describe(hand, moves)
            s_next, w_next, legal_next, over = describe(hand, next_moves)
            td_target = float(batch["reward"][k, i])
            if not over:
                pi = policy(target_actor, s_next, legal_next, k)
                td_target += 0.9 * pi @ forward(target_critic, w_next, k)
            q = forward(critic, w, k)
            errors += (q[hand[game.cards_dealt + 1 + moves]] - td_target) ** 2 / 40
            pi = policy(actor, s, legal, k)
            gains += pi @ q / 40
            entropy -= pi[legal] @ np.log(pi[legal]) / 40
            ends += over
    assert 20 < ends < 40 * replicas - 20 or replicas == 1
    losses = first.compute_losses_and_entropy(40, 0.9)
    assert losses[0].item() == pytest.approx(errors, rel=1e-4)
    assert losses[1].item() == pytest.approx(-gains, rel=1e-4)
    assert losses[2].item() == pytest.approx(entropy, rel=1e-4)


def test_target_networks_are_polyak_averages():
    learner = apu(kuhn(), variant="dual_apu_ctrl", tau=0.25, gradient_steps=1)
    learner.learn()
    before = weights(learner)
    learner._take_gradient_step(learner._learners[0])
    now = weights(learner)
    for own, target in ((0, 2), (1, 3)):
        torch.testing.assert_close(now[target], 0.75 * before[target] + 0.25 * now[own])


@pytest.mark.parametrize("variant", ["apu", "dual_apu_ctrl"])
def test_resume_is_bitwise_equal(variant):
    game = game_of("leduc")
    changed = {"variant": variant, "replay_capacity": 40, "agent_switch_period": 8}
    changed["opponent_pool"] = OpponentPoolSettings(play_prob=0.5, snapshot_interval=2, capacity=2)
    check_bitwise_resume(game, lambda seed: apu(game, seed, **changed), steps=9)


@pytest.mark.parametrize(("variant", "net"), [("apu", LSTM), ("apu_ctrl", MLP_16)])
def test_warm_start_gives_every_agent_a_copy_of_a_single_one(variant, net):
    game = game_of("limit_holdem_6p")
    settings = {"net": net, "episodes_per_iteration": 1}
    settings |= {"training_period": 1, "agent_switch_period": 1}
    settings |= {"ema_decay": 0.5, "store_decisions_of": "all", "actor_lr": Constant(start=0.05)}
    single = apu(game, variant="dual_apu_ctrl", **settings)
    for _ in range(3):
        single.learn()
    state = deepcopy(single.state_dict())
    six = apu(game, seed=1, variant=variant, **settings)
    assert not equals_single(six, state).any()
    six.warm_start(state)
    assert equals_single(six, state).all()
    assert six.progress.updates == 0
    six.learn()
    six.learn()
    learners = [True] * 6 if variant == "apu_ctrl" else [True, True, False, False, False, False]
    unchanged = [[not moved for moved in learners]] * 4
    assert equals_single(six, state).tolist() == [*unchanged, [False] * 6]  # all EMAs differ
    with pytest.raises(RuntimeError):
        single.warm_start(six.state_dict())
    dual = apu(game, seed=2, variant="dual_apu", **settings)
    dual.warm_start(state)
    for name, weight in dual._copied_actor.named_parameters():
        assert torch.equal(weight, state["actor"][name])
        assert not weight.requires_grad
    six.warm_start(deepcopy(dual.state_dict()))
    assert equals_single(six, state).all()


def test_warm_start_from_a_player_sets_target_and_copied_actor():
    game = game_of("limit_holdem_6p")
    player = apu(game, seed=1).players()["current"].select_instance(0)
    learner = apu(game, seed=2, variant="dual_apu", ema_decay=0.5)
    learner.warm_start_from_player(player)
    copies = [learner._networks["actor"], learner._networks["target_actor"]]
    for module in (*copies, learner._copied_actor, learner._weight_ema.module):
        for weight, expected in zip(module.parameters(), player.module.parameters(), strict=True):
            assert torch.equal(weight, expected)


def equals_single(six, single_state):
    """Return whether 4 networks and the EMA of each of six agents equal the single agent's."""
    parts = ("actor", "critic", "target_actor", "target_critic", "weight_average")
    state = six.state_dict()
    equal = [
        [torch.equal(own[k], single_state[part][name][0]) for name, own in state[part].items()]
        for part in parts
        for k in range(6)
    ]
    return np.array([all(each) for each in equal]).reshape(len(parts), 6)


@pytest.mark.parametrize("reward", ["published", "payoff"])
def test_learns_to_bet_against_a_player_who_always_folds(reward):
    """A player that always bets wins the ante in each hand, because the opponent folds."""
    folds = always_fold(kuhn())
    settings = {"variant": "dual_apu_ctrl", "reward_type": reward, "episodes_per_iteration": 16}
    settings |= {"gradient_steps": 4, "training_period": 8, "batch_size": 32}
    settings |= {"replay_capacity": 5000, "actor_lr": Constant(start=1e-2)}
    learner = apu(kuhn(), opponent=folds, **settings)
    while learner.progress.hands < 1500:
        learner.learn()
    assert min(compute_winnings(kuhn(), learner.players()["current"], folds)) > 0.9


def test_incompatible_periods_and_opponents_are_refused():
    message = r"^episodes_per_iteration: 8 at once .* actor_copy_period, 12$"
    with pytest.raises(ConfigError, match=message):
        apu(kuhn(3), episodes_per_iteration=8, variant="dual_apu")
    with pytest.raises(ConfigError, match=r"^variant: dual_apu plays itself; with opponents: dual"):
        apu(kuhn(), variant="dual_apu", opponent=object())
