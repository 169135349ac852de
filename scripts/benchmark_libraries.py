"""Compare the speed of this project with that of other libraries: `make bench`.

The others are OpenSpiel, RLCard, PettingZoo, pgx, phevaluator and PokerKit; those that are not
installed are left out.

A printed rate is the highest of several short time windows. The windows of all libraries alternate,
so that other load on the machine affects all libraries equally. Each library uses one thread unless
a line of the output says otherwise.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib.util import find_spec
from typing import Any

import numba
import numpy as np
import torch

from poker_rl.algos.algorithm import build_algorithm
from poker_rl.config.build import build
from poker_rl.config.option_files import SHIPPED_OPTION_DIR, load_option, to_plain_dict
from poker_rl.evaluation.best_response.lbr import MAX_HANDS_PER_BOARD, LocalBestResponse
from poker_rl.evaluation.exact.exploitability import nash_conv
from poker_rl.games.cards import card_name
from poker_rl.games.game import Game, jit, shuffle_deck
from poker_rl.games.game_tree import get_tree
from poker_rl.games.hand_evaluator import evaluate_hand
from poker_rl.games.poker.betting import legal, payoffs, start, step
from poker_rl.games.poker.no_limit_poker import NoLimitPoker
from poker_rl.games.public.ranges import PrivateHands, compute_showdown_values
from poker_rl.games.tables import Tables
from poker_rl.nets.dense import MLPConfig
from poker_rl.nets.net_interfaces import NetDimensions
from poker_rl.nets.observation_encoders import ObservationEncoder
from poker_rl.players.network_player import NetworkPlayer
from poker_rl.training.rank_and_device import prepare_process

WINDOW_S, WINDOW_COUNT = 0.25, 12  # seconds of a time window; number of windows for each rate
BATCH = 512  # number of tables whose records and observations fit into a core's cache
# With two threads, batches are larger, so that fewer calls wait for Python's global lock.
BATCH_PER_THREAD = 4 * BATCH
CFR_ITERATIONS_PER_CALL = 100  # iterations on Leduc hold'em in each call of `learn`
LARGE_ITERATIONS_PER_CALL = 10  # iterations per call in the game with a million information sets
TRAVERSALS = 1000  # MCCFR traversals per iteration in the game with a million information sets

Benchmark = Callable[[], int]
"""Function that does some work and returns the amount, such as the number of decisions."""

LIMIT_HOLDEM = {
    "betting": "limit",
    "numPlayers": 2,
    "numRounds": 4,
    "blind": "2 1",
    "firstPlayer": "2 1 1 1",
    "raiseSize": "2 2 4 4",
    "maxRaises": "3 4 4 4",
    "numSuits": 4,
    "numRanks": 13,
    "numHoleCards": 2,
    "numBoardCards": "0 3 1 1",
}


def measure_best_rates(benchmarks: dict[str, Benchmark]) -> dict[str, float]:
    """Run benchmarks; return for each name the most work per second in any time window."""
    best = dict.fromkeys(benchmarks, 0.0)
    for work in benchmarks.values():
        work()  # the first call compiles code
    for _ in range(WINDOW_COUNT):
        for name, work in benchmarks.items():
            done, start, elapsed = 0, time.perf_counter(), 0.0
            while (elapsed := time.perf_counter() - start) < WINDOW_S:
                done += work()
            best[name] = max(best[name], done / elapsed)
    return best


def build_game(name: str) -> Game:
    return build(load_option("game", name), "game")


# Rules of games: decisions per second of random play, with observations and legal actions


@jit
def sample_uniformly_of_three_actions(masks, state, actions):  # type: ignore[no-untyped-def]
    """Sample one of fold, call and raise at each table, with xorshift (Marsaglia 2003)."""
    bits = state[0]
    for i in range(len(actions)):
        bits ^= bits << np.uint64(13)
        bits ^= bits >> np.uint64(7)
        bits ^= bits << np.uint64(17)
        legal = np.uint64(1) + np.uint64(masks[i, 0]) + np.uint64(masks[i, 2])
        chosen = np.int64(((bits >> np.uint64(32)) * legal) >> np.uint64(32))
        actions[i] = chosen + (not masks[i, 0])  # skip fold if it is illegal
    state[0] = bits


@jit
def sample_uniformly_of_many_actions(masks, state, actions):  # type: ignore[no-untyped-def]
    """Sample one of many legal actions at each table; skip eight illegal ones in one step."""
    bits, width, row, seen = state[0], masks.shape[1], -1, np.uint64(0)
    words = masks.reshape(-1).view(np.uint64)
    for word in range(len(words)):
        if words[word]:
            for cell in range(8 * word, 8 * word + 8):
                table = cell // width
                if masks[table, cell - table * width]:
                    if table != row:
                        row, seen = table, np.uint64(0)
                    seen += np.uint64(1)
                    bits ^= bits << np.uint64(13)
                    bits ^= bits >> np.uint64(7)
                    bits ^= bits << np.uint64(17)
                    # Reservoir sampling: take the new action with probability 1 / seen.
                    if (bits >> np.uint64(32)) * seen >> np.uint64(32) == 0:
                        actions[table] = cell - table * width
    state[0] = bits


@jit
def sample_no_limit_actions(masks, state, actions):  # type: ignore[no-untyped-def]
    """Sample fold, call or raise, and the size of a raise, in no-limit games with equal stacks."""
    bits, width = state[0], masks.shape[1]
    for i in range(len(actions)):
        bits ^= bits << np.uint64(13)
        bits ^= bits >> np.uint64(7)
        bits ^= bits << np.uint64(17)
        raises = masks[i, 2] or masks[i, width - 1]
        legal = np.uint64(1) + np.uint64(masks[i, 0]) + np.uint64(raises)
        chosen = np.int64(((bits >> np.uint64(32)) * legal) >> np.uint64(32)) + (not masks[i, 0])
        if chosen == 2:
            some = np.uint64(width - 2) * (bits & np.uint64(0xFFFFFFFF)) >> np.uint64(32)
            chosen = 2 + np.int64(some)
            while not masks[i, chosen]:
                chosen = chosen + 1 if chosen + 1 < width else 2
        actions[i] = chosen
    state[0] = bits


@jit
def step_and_redeal_unobserved(definitions, tables, actions, masks, won):  # type: ignore[no-untyped-def]
    """Play an action at each table, deal a new hand where one has ended, and update `masks`."""
    for i in range(len(tables)):
        game, table = definitions[0], tables[i]
        step(game, table, actions[i])
        if table.over:
            payoffs(game, table, won)
            shuffle_deck(table, game.cards, game.dealt)
            start(game, table)
        legal(game, table, masks[i])


class RandomPlay:
    """Benchmark of random play at a batch of tables, one hand after another at each table."""

    def __init__(self, game: Game, seed: int, batch: int = BATCH) -> None:
        self.batch = batch
        self.sample_actions = sample_uniformly_of_many_actions
        if game.action_count == 3:
            self.sample_actions = sample_uniformly_of_three_actions
        if isinstance(game, NoLimitPoker):
            self.sample_actions = sample_no_limit_actions
        self.definitions, self.tables = game.definitions, Tables(game, batch, seed)
        self.tables.deal()
        self.masks = self.tables.legal_mask()
        self.state = np.array([seed + 1], np.uint64)
        self.actions = np.zeros(batch, np.int64)
        self.outputs = (
            np.zeros(batch, np.int64),
            np.zeros((batch, game.observation_size), game.feature_dtype),
            self.masks,
            np.zeros((batch, game.seats), np.int64),
            np.zeros(batch, np.uint8),
        )

    def __call__(self) -> int:
        for _ in range(100):
            self.sample_actions(self.masks, self.state, self.actions)
            self.tables.step_autoreset(self.actions, *self.outputs)
        return 100 * self.batch

    def play_unobserved(self) -> int:
        """Play without computing observations; return the number of decisions."""
        won = self.outputs[3][0]
        for _ in range(100):
            self.sample_actions(self.masks, self.state, self.actions)
            step_and_redeal_unobserved(
                self.definitions, self.tables.records, self.actions, self.masks, won
            )
        return 100 * self.batch

    def play_and_count_hands(self) -> int:
        """Play with observations; return the number of hands that ended."""
        ended = 0
        for _ in range(100):
            self.sample_actions(self.masks, self.state, self.actions)
            self.tables.step_autoreset(self.actions, *self.outputs)
            ended += int(self.outputs[-1].sum())
        return ended


def create_threaded_play_benchmark(game: Game) -> Benchmark:
    """Return a benchmark of random play in two threads, each with a batch of tables."""
    plays = [RandomPlay(game, seed, BATCH_PER_THREAD) for seed in (1, 2)]
    pool = ThreadPoolExecutor(2)
    return lambda: sum(pool.map(lambda play: play(), plays))


def create_open_spiel_play_benchmark() -> Benchmark:
    import pyspiel

    game, generator = pyspiel.load_game("universal_poker", LIMIT_HOLDEM), random.Random(1)

    def play_hand() -> int:
        decisions, state = 0, game.new_initial_state()
        while not state.is_terminal():
            if not state.is_chance_node():
                decisions += 1
                state.observation_tensor()
                state.legal_actions_mask()
            state.apply_action(generator.choice(state.legal_actions()))
        return decisions

    return play_hand


def create_rlcard_benchmark() -> Benchmark:
    import rlcard

    environment, generator = rlcard.make("limit-holdem"), random.Random(1)

    def play_hand() -> int:
        decisions, (state, _) = 0, environment.reset()
        while not environment.is_over():
            state, _ = environment.step(generator.choice(list(state["legal_actions"])))
            decisions += 1
        return decisions

    return play_hand


# Environments: decisions per second of random legal play, each with an observation and a mask.
# In the vector environment only one seat's decisions count; the bot `call` has the other seat.


def create_gymnasium_benchmark() -> Benchmark:
    from poker_rl.integrations.gymnasium import GameVectorEnv

    environment, generator = GameVectorEnv("limit_holdem", 2048, "call"), np.random.default_rng(1)
    environment.reset(seed=1)

    def step() -> int:
        masks = environment.action_masks()
        environment.step((masks * generator.random(masks.shape, np.float32)).argmax(1))
        return len(masks)

    return step


def create_pettingzoo_benchmark(environment: Any) -> Benchmark:
    """Return a benchmark of random play in a PettingZoo environment."""
    generator = random.Random(1)
    environment.reset(seed=1)

    def play_hand() -> int:
        decisions = 0
        environment.reset()
        for _ in environment.agent_iter():
            observation, _, is_over, *_ = environment.last()
            if is_over:
                break
            legal = np.flatnonzero(observation["action_mask"]).tolist()
            environment.step(generator.choice(legal))
            decisions += 1
        return decisions

    return play_hand


def create_environment_benchmarks(has_rlcard: bool) -> dict[str, Benchmark]:
    from poker_rl.integrations import pettingzoo

    benchmarks = {
        "ours, Gymnasium, 2,048 tables": create_gymnasium_benchmark(),
        "ours, PettingZoo": create_pettingzoo_benchmark(pettingzoo.env("limit_holdem")),
    }
    if has_rlcard:
        benchmarks["RLCard"] = create_rlcard_benchmark()
        if find_spec("pygame") is not None:  # PettingZoo's environment imports pygame
            from pettingzoo.classic import texas_holdem_v4

            benchmarks["PettingZoo"] = create_pettingzoo_benchmark(texas_holdem_v4.env())
    return benchmarks


def create_pgx_benchmark(tables: int = 2048, steps: int = 16) -> Benchmark:
    """Return a benchmark of random play at many tables of Leduc, compiled by JAX."""
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})  # JAX starts one thread per core that it may use
    import jax
    import pgx
    from pgx.experimental.wrappers import auto_reset

    jax.devices()
    os.sched_setaffinity(0, cores)
    environment = pgx.make("leduc_holdem")
    step_and_reset = auto_reset(environment.step, environment.init)

    def step_one(state: Any, key: Any) -> Any:
        action_key, deal_key = jax.random.split(key)
        logits = jax.numpy.where(state.legal_action_mask, 0.0, -1e9)
        return step_and_reset(state, jax.random.categorical(action_key, logits), deal_key)

    def step_all(carry: Any, _: None) -> Any:
        state, key = carry
        key, step_key = jax.random.split(key)
        return (jax.vmap(step_one)(state, jax.random.split(step_key, tables)), key), None

    play = jax.jit(lambda carry: jax.lax.scan(step_all, carry, None, steps)[0])
    key = jax.random.PRNGKey(0)
    carry = jax.jit(jax.vmap(environment.init))(jax.random.split(key, tables)), key

    def step() -> int:
        nonlocal carry
        carry = jax.block_until_ready(play(carry))
        return tables * steps

    return step


# Hand strength: hands of seven cards per second


def deal_random_hands() -> np.ndarray:
    tables = Tables(build_game("limit_holdem"), 10_000, 0)
    tables.deal()
    return tables.records["deck"][:, :7].copy()


@jit
def evaluate_hands(hands):  # type: ignore[no-untyped-def]
    best = 0
    for i in range(len(hands)):
        best = max(best, evaluate_hand(hands[i], 7, 4))
    return best


def create_phevaluator_benchmark(hands: list[list[int]]) -> Benchmark:
    from phevaluator import evaluate_cards

    return wrap_as_benchmark(lambda: min(evaluate_cards(*hand) for hand in hands), len(hands))


# Showdowns of a range of all hands against another range, on a board of five cards


RIVER = np.array([0, 5, 22, 31, 46])


@jit
def compute_showdown_values_by_pairs(hands, ranks, reach, out):  # type: ignore[no-untyped-def]
    """Write the values of `compute_showdown_values` into `out` by a loop over all pairs of hands.

    `ranks` is the strength of each hand, or negative if a card of the hand is on the board.
    """
    for one in range(len(hands)):
        won = 0.0
        for other in range(len(hands)):
            shared = False
            for i in range(2):
                for j in range(2):
                    shared |= hands[one, i] == hands[other, j]
            if not shared and ranks[one] >= 0 and ranks[other] >= 0:
                won += reach[other] * ((ranks[one] > ranks[other]) - (ranks[one] < ranks[other]))
        out[one] = won


def create_range_showdown_benchmarks() -> dict[str, Benchmark]:
    private_hands = PrivateHands(build_game("limit_holdem"))  # type: ignore[arg-type]
    free = private_hands.mask_compatible_hands(RIVER)
    reach = np.random.default_rng(0).random(len(free)) * free
    out, ranks = np.empty((1, len(free))), np.full(len(free), -1, np.int32)
    order, sorted_ranks = private_hands.sort_by_strength(RIVER)
    ranks[order] = sorted_ranks
    reach_row_out = reach[None], np.zeros(1, np.int64), out  # a single range, in row 0
    benchmarks = {
        "ours": wrap_as_benchmark(
            lambda: compute_showdown_values(
                private_hands.hands, *private_hands.sort_by_strength(RIVER), *reach_row_out
            )
        ),
        "ours, strengths known": wrap_as_benchmark(
            lambda: compute_showdown_values(
                private_hands.hands, order, sorted_ranks, *reach_row_out
            )
        ),
        "double loop, strengths known": wrap_as_benchmark(
            lambda: compute_showdown_values_by_pairs(private_hands.hands, ranks, reach, out[0])
        ),
    }
    hands, board = private_hands.hands[free].tolist(), RIVER.tolist()
    if find_spec("phevaluator") is not None:
        from phevaluator import evaluate_cards

        benchmarks["phevaluator and NumPy"] = wrap_as_benchmark(
            lambda: compute_showdown_values_with_numpy(
                [-evaluate_cards(*hand, *board) for hand in hands], hands, reach[free]
            )
        )
    if find_spec("pokerkit") is not None:
        from pokerkit import Card, StandardHighHand

        names = ["".join(card_name(c, RANK_NAMES, SUIT_NAMES) for c in hand) for hand in hands]
        shown = tuple(Card.parse("".join(card_name(c, RANK_NAMES, SUIT_NAMES) for c in board)))

        def rank_with_pokerkit() -> list[int]:
            made = [StandardHighHand.from_game(tuple(Card.parse(name)), shown) for name in names]
            return [hand.entry.index for hand in made]

        benchmarks["PokerKit and NumPy"] = wrap_as_benchmark(
            lambda: compute_showdown_values_with_numpy(rank_with_pokerkit(), hands, reach[free])
        )
    return benchmarks


RANK_NAMES, SUIT_NAMES = "23456789TJQKA", "cdhs"


def create_lbr_benchmark() -> Benchmark:
    """Return a benchmark of the local best response to a network with 3 layers of 128 units."""
    limit = build_game("limit_holdem")
    net = MLPConfig(
        hidden_sizes=[128, 128, 128], activation="relu", init="orthogonal", features="sorted_suits"
    )
    size = NetDimensions(
        inputs=ObservationEncoder(limit, net.features).size, outputs=limit.action_count
    )
    module = net.build_module(size, torch.Generator().manual_seed(0))
    responder = LocalBestResponse(limit, NetworkPlayer(limit, net, module, "shared"), 0)
    return wrap_as_benchmark(
        lambda: responder.play_random_board(MAX_HANDS_PER_BOARD), 2 * MAX_HANDS_PER_BOARD
    )


def compute_showdown_values_with_numpy(
    ranks: list[int], hands: list[list[int]], reach: np.ndarray
) -> np.ndarray:
    """Return each hand's winnings against a range, [hands], by a matrix of all pairs of hands."""
    cards = np.array(hands)
    shared = (cards[:, None, :, None] == cards[None, :, None, :]).any((2, 3))
    won = np.sign(np.subtract.outer(ranks, ranks))
    wins: np.ndarray = np.where(shared, 0, won) @ reach
    return wins


# Solving Leduc hold'em: evaluations and iterations per second


def create_open_spiel_nash_conv_benchmarks() -> dict[str, Benchmark]:
    import pyspiel
    from open_spiel.python import policy
    from open_spiel.python.algorithms import exploitability

    game = pyspiel.load_game("leduc_poker")
    uniform, tabular = pyspiel.UniformRandomPolicy(game), policy.TabularPolicy(game)
    root = game.new_initial_state()
    trees = [pyspiel.TabularBestResponse(game, seat, uniform) for seat in range(2)]

    def compute_on_built_trees() -> None:
        """Compute the best-response values of both players on trees that are already built."""
        for tree in trees:
            tree.set_policy(uniform)
            tree.value_from_state(root)

    return {
        "OpenSpiel C++, trees built before": wrap_as_benchmark(compute_on_built_trees),
        "OpenSpiel C++": wrap_as_benchmark(lambda: pyspiel.nash_conv(game, uniform)),
        "OpenSpiel Python": wrap_as_benchmark(lambda: exploitability.nash_conv(game, tabular)),
    }


def create_open_spiel_cfr_benchmarks() -> dict[str, Benchmark]:
    import pyspiel
    from open_spiel.python.algorithms import cfr

    game = pyspiel.load_game("leduc_poker")
    solvers = pyspiel.CFRPlusSolver(game), cfr.CFRPlusSolver(game)
    return {
        "OpenSpiel C++": wrap_as_benchmark(solvers[0].evaluate_and_update_policy),
        "OpenSpiel Python": wrap_as_benchmark(solvers[1].evaluate_and_update_policy),
    }


# Solving a game with a million information sets, whose tree takes 20 seconds and 2.6 GB to build


def create_benchmarks_by_threads(create_benchmark: Callable[[], Benchmark]) -> dict[str, Benchmark]:
    """Return two benchmarks of the same work, the first in one thread, the second in two."""

    def run(work: Benchmark, threads: int) -> int:
        numba.set_num_threads(threads)
        return work()

    return {
        "ours": partial(run, create_benchmark(), 1),
        "ours, two threads": partial(run, create_benchmark(), 2),
    }


def create_large_solver_benchmark(name: str, **settings: Any) -> Benchmark:
    """Return a benchmark of the solver conf/algo/<name> on the game with a million infosets."""
    config = {
        **load_option("algo", "mccfr" if name == "mccfr" else "cfr"),
        **load_option("algo", name),
    }
    large = build_game("leduc_4_streets")
    config |= {"iterations_per_step": LARGE_ITERATIONS_PER_CALL, **settings}
    amount = LARGE_ITERATIONS_PER_CALL * settings.get("traversals", 1)
    return wrap_as_benchmark(build(config, "algo", game=large, seed=0).learn, amount)


def create_open_spiel_mccfr_benchmark() -> Benchmark:
    import pyspiel

    streets = {"numRounds": 4, "numSuits": 2, "numRanks": 3, "numHoleCards": 1}
    betting = {"blind": "1 1", "firstPlayer": "1 1 1 1", "raiseSize": "2 4 4 4"}
    game = pyspiel.load_game(
        "universal_poker",
        {**LIMIT_HOLDEM, **streets, **betting, "maxRaises": "3 3 3 3", "numBoardCards": "0 1 1 1"},
    )
    return wrap_as_benchmark(pyspiel.ExternalSamplingMCCFRSolver(game, 0).run_iteration)


# NFSP on Leduc hold'em: decisions per second of both agents, after learning has started

# The settings are those of OpenSpiel's nfsp_leduc_pytorch.py and experiment=nfsp_leduc_openspiel.
NFSP_SETTINGS = {
    "hidden_layers_sizes": [128],
    "replay_buffer_capacity": 200_000,
    "reservoir_buffer_capacity": 2_000_000,
    "min_buffer_size_to_learn": 1000,
    "anticipatory_param": 0.1,
    "batch_size": 128,
    "learn_every": 64,
    "rl_learning_rate": 0.01,
    "sl_learning_rate": 0.01,
    "optimizer_str": "sgd",
    "loss_str": "mse",
    "update_target_network_every": 19_200,
    "discount_factor": 1.0,
    "epsilon_decay_duration": 20_000_000,
    "epsilon_start": 0.06,
    "epsilon_end": 0.001,
}


def build_learner(experiment: str) -> Any:
    """Build the learner of an experiment on the CPU, without opponents, with seed 0."""
    from poker_rl.config.compose import compose_config, initialize_hydra
    from poker_rl.config.schedules import convert_horizons_to_steps

    with initialize_hydra([SHIPPED_OPTION_DIR]):
        settings = convert_horizons_to_steps(
            to_plain_dict(compose_config([f"experiment={experiment}"]).config)
        )
    return build_algorithm(settings, build(settings["game"], "game"), torch.device("cpu"), seed=0)


def create_own_nfsp_benchmark() -> Benchmark:
    ours = build_learner("nfsp_leduc_openspiel")

    def run_iteration() -> int:
        before: int = ours.progress.decisions
        metrics = ours.learn()
        return ours.progress.decisions - before if "loss/average" in metrics else 0

    while not run_iteration():
        pass
    return run_iteration


def create_training_benchmark(experiment: str, counter: str) -> Benchmark:
    """Return a benchmark of training iterations, after all networks have started to learn.

    Args:
        experiment: option of conf/experiment.
        counter: the amount of work that is counted, "decisions" or "updates".
    """
    ours = build_learner(experiment)
    metrics: Mapping[str, float] = {}
    has_average = getattr(ours, "average_policy", None) is not None
    while not ours.progress.updates or (has_average and "loss/average" not in metrics):
        metrics = ours.learn()

    def run_iteration() -> int:
        before: int = getattr(ours.progress, counter)
        ours.learn()
        return int(getattr(ours.progress, counter)) - before

    return run_iteration


def create_open_spiel_nfsp_benchmark() -> Benchmark:
    from open_spiel.python import rl_environment
    from open_spiel.python.pytorch import nfsp

    environment = rl_environment.Environment("leduc_poker")
    size = environment.observation_spec()["info_state"][0]
    actions = environment.action_spec()["num_actions"]
    agents = [nfsp.NFSP(i, size, actions, **NFSP_SETTINGS) for i in range(2)]

    def play_hand() -> int:
        decisions, step = 0, environment.reset()
        while not step.last():
            decisions += 1
            agent = agents[step.observations["current_player"]]
            step = environment.step([agent.step(step).action])
        for agent in agents:
            agent.step(step)
        return decisions

    while any(agent.loss[0] is None for agent in agents):
        play_hand()
    return play_hand


def wrap_as_benchmark(work: Callable[[], Any], amount: int = 1) -> Benchmark:
    """Return a benchmark that calls a function, and counts each call as `amount` of work."""

    def run() -> int:
        work()
        return amount

    return run


def measure_and_print_rates(title: str, benchmarks: dict[str, Benchmark]) -> None:
    """Measure and print the rates of this project and of other libraries, and their ratios."""
    measured = measure_best_rates(benchmarks)
    peers = [name for name in benchmarks if not name.startswith("ours")]
    print(f"\n{title:34}{'a second':>14}", *(f"{f'/ {peer}':>20}" for peer in peers))
    for name, rate in measured.items():
        ratios = (f"{rate / measured[peer]:>19,.1f}x" for peer in peers)
        print(f"  {name:32}{rate:>14,.0f}", *(ratios if name not in peers else ()))


def print_tabular_rates_of_large_game(has_open_spiel: bool) -> None:
    tree = get_tree(build_game("leduc_4_streets"))
    uniform = tree.build_uniform_policy()
    measure_nash_conv = partial(nash_conv, tree, uniform)
    benchmarks = create_benchmarks_by_threads(lambda: wrap_as_benchmark(measure_nash_conv))
    measure_and_print_rates("NashConv, a million infosets", benchmarks)
    measure_and_print_rates(
        "CFR+, a million infosets",
        create_benchmarks_by_threads(lambda: create_large_solver_benchmark("cfr_plus")),
    )
    benchmarks = {"ours": create_large_solver_benchmark("mccfr", traversals=TRAVERSALS)}
    if has_open_spiel:
        benchmarks["OpenSpiel C++"] = create_open_spiel_mccfr_benchmark()
    measure_and_print_rates("MCCFR, traversals of each seat", benchmarks)
    numba.set_num_threads(1)


def main() -> None:
    has_open_spiel, has_rlcard = find_spec("pyspiel") is not None, find_spec("rlcard") is not None

    holdem = build_game("limit_holdem")
    benchmarks: dict[str, Benchmark] = {
        "ours": RandomPlay(holdem, 0),
        "ours, two threads": create_threaded_play_benchmark(holdem),
    }
    if has_open_spiel:
        benchmarks["OpenSpiel Python"] = create_open_spiel_play_benchmark()
    if has_rlcard:
        benchmarks["RLCard"] = create_rlcard_benchmark()
    measure_and_print_rates("Heads-up limit hold'em, decisions", benchmarks)

    if find_spec("pettingzoo") is not None:
        measure_and_print_rates(
            "Environments of limit hold'em", create_environment_benchmarks(has_rlcard)
        )
    benchmarks = {"ours": RandomPlay(build_game("leduc"), 0)}
    if find_spec("pgx") is not None:
        benchmarks["pgx"] = create_pgx_benchmark()
    measure_and_print_rates("Leduc hold'em, decisions", benchmarks)

    for name in ("nolimit_holdem_sizes", "nolimit_holdem", "nolimit_holdem_6p"):
        play = RandomPlay(build_game(name), 0)
        benchmarks = {"ours": play, "ours, without observations": play.play_unobserved}
        measure_and_print_rates(f"{name}, decisions", benchmarks)

    big2 = build_game("big2")
    measure_and_print_rates(
        "Big 2, decisions",
        {"ours": RandomPlay(big2, 0), "ours, two threads": create_threaded_play_benchmark(big2)},
    )
    measure_and_print_rates("Big 2, games", {"ours": RandomPlay(big2, 0).play_and_count_hands})

    hands = deal_random_hands()
    benchmarks = {"ours": wrap_as_benchmark(lambda: evaluate_hands(hands), len(hands))}
    if find_spec("phevaluator") is not None:
        benchmarks["phevaluator"] = create_phevaluator_benchmark(hands.tolist())
    measure_and_print_rates("Strength of seven cards, hands", benchmarks)

    measure_and_print_rates(
        "Range against range on the river, showdowns", create_range_showdown_benchmarks()
    )
    prepare_process("cpu", threads=1, seed=0)
    measure_and_print_rates(
        "Local best response to 3 x 128, hands", {"ours": create_lbr_benchmark()}
    )

    leduc = build_game("leduc")
    tree = get_tree(leduc)
    uniform = tree.build_uniform_policy()
    benchmarks = {"ours": wrap_as_benchmark(lambda: nash_conv(tree, uniform))}
    measure_and_print_rates(
        "NashConv of a Leduc policy",
        benchmarks | (create_open_spiel_nash_conv_benchmarks() if has_open_spiel else {}),
    )

    settings = {**load_option("algo", "cfr"), **load_option("algo", "cfr_plus")}
    solver = build({**settings, "iterations_per_step": CFR_ITERATIONS_PER_CALL}, "algo", game=leduc)
    benchmarks = {"ours": wrap_as_benchmark(solver.learn, CFR_ITERATIONS_PER_CALL)}
    measure_and_print_rates(
        "CFR+ on Leduc, iterations",
        benchmarks | (create_open_spiel_cfr_benchmarks() if has_open_spiel else {}),
    )

    print_tabular_rates_of_large_game(has_open_spiel)
    for experiment, counter in (
        ("ppo_lhe", "decisions"),
        ("big2_ppo_fast", "decisions"),
        ("nfsp_2000", "updates"),
    ):
        measure_and_print_rates(
            f"experiment={experiment}, {counter}",
            {"ours": create_training_benchmark(experiment, counter)},
        )

    benchmarks = {"ours": create_own_nfsp_benchmark()}
    if has_open_spiel and find_spec("tree") is not None:  # OpenSpiel's NFSP needs dm-tree
        benchmarks["OpenSpiel PyTorch"] = create_open_spiel_nfsp_benchmark()
    measure_and_print_rates("NFSP on Leduc, decisions", benchmarks)


if __name__ == "__main__":
    main()
