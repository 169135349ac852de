"""Check every learner on this machine's GPU, and compare its speed with that on one CPU core.

    python scripts/gpu.py > gpu.md                     # everything, in at most 8 minutes
    python scripts/gpu.py --only ppo_lhe --seconds 1   # only rows with this word

A row of the output is the check or the speed of one configuration. `--only check` and `--only
speed` select all rows of one kind. Each row is computed in its own process, so that an error or the
time limit of a row does not end other rows. The output is Markdown on stdout, written row by row;
progress and tracebacks go to stderr. Without a GPU, only the CPU is checked and measured.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import traceback
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from threading import Timer
from time import monotonic
from typing import Any

import numpy as np
import torch
from torch.autograd import DeviceType  # type: ignore[attr-defined]
from torch.profiler import ProfilerActivity, profile

from poker_rl.algos.algorithm import build_algorithm
from poker_rl.config.build import build
from poker_rl.config.compose import compose_plain_config
from poker_rl.config.option_files import SHIPPED_OPTION_DIR, list_option_files
from poker_rl.config.schedules import convert_horizons_to_steps
from poker_rl.config.target_classes import load_class
from poker_rl.config.threads_and_numba_cache import count_cores
from poker_rl.games.game import Game
from poker_rl.games.tables import Tables
from poker_rl.nets.precision import set_matmul_precision
from poker_rl.players.player import Player
from poker_rl.training.rank_and_device import prepare_process
from poker_rl.training.run_config import build_ungrouped_config

# Time limits in seconds: of all rows, and of one row, including the start of its process.
TIME_LIMIT_S, CHECK_LIMIT_S, GPU_LIMIT_S, CPU_LIMIT_S = 450, 120, 40, 100
ONE_CORE = "device=cpu threads=1"
MAX_CHECK_PROCESSES, MAX_CPU_PROCESSES = 8, 4  # limits for processes at the same time
# A warm-up compiles the rules, fills buffers and records CUDA graphs.
WARMUP_SECONDS, WARMUP_CALLS = 3, 2

CHECK_ROWS = [f"experiment={name}" for name in ("ppo_lhe", "nfsp_nlhe", "ppo_lhe_6p", "dual_apu")]
CHECK_ROWS += ["game=nolimit_holdem algo=ppo net=amounts_lstm"]
CHECK_ROWS += [
    f"game={game} algo={algo}"
    for game in ("limit_holdem", "nolimit_holdem", "limit_holdem_6p", "big2")
    for algo in ("ppo", "actor_critic", "apu", "vine")
    if (game, algo) != ("big2", "apu")  # APU supports only poker
]
WIDE = "experiment=ppo_lhe net.hidden_sizes=[1024,512,1024,512]"
EXPERIMENTS = """ppo_lhe nfsp_2000_code nfsp_lhe nfsp_lhe_paper big2_ppo_fast ppo_lhe_6p ppo_leduc
    dual_apu_linear deep_cfr_leduc ac_leduc ac_lhe big2_ppo apu ppo_nlhe public_pg_fhp"""
CORE_ROWS = [f"experiment={name}" for name in EXPERIMENTS.split()]
CORE_ROWS += ["game=kuhn algo=ppo", f"{WIDE} algo.tables=8192"]
# Settings for the GPU, each with the settings for one core with which they are compared
SPEED_ROWS = {
    "experiment=ppo_lhe hardware=gpu_ppo": "experiment=ppo_lhe",
    "experiment=ppo_lhe hardware=gpu_ppo algo.tables=131072": "experiment=ppo_lhe",
    f"{WIDE} hardware=gpu_ppo": f"{WIDE} algo.tables=8192",
    f"{WIDE} hardware=gpu_ppo precision=medium": f"{WIDE} algo.tables=8192",
    "experiment=big2_ppo_fast hardware=gpu_ppo algo.tables=8192": "experiment=big2_ppo_fast",
    "experiment=ppo_lhe_6p hardware=gpu_ppo": "experiment=ppo_lhe_6p",
    "experiment=ppo_leduc hardware=gpu_ppo": "experiment=ppo_leduc",
    "game=kuhn algo=ppo hardware=gpu_ppo": "game=kuhn algo=ppo",
} | {row: row for row in CORE_ROWS}
# For checks: values of settings with which an iteration takes only milliseconds
SMALL_SETTINGS = """tables=16 rollout_steps=4 hands_per_iteration=24 minibatches=2 traversals=20
    episodes_per_iteration=2 training_period=2 agent_switch_period=4 actor_copy_period=4
    batch_size=8 capacity=500 replay_capacity=500 learning_starts=8 regret_gradient_steps=2
    average_gradient_steps=2"""


def build_learner(overrides: Sequence[str], small: bool = False) -> tuple[Game, Any]:
    """Return the game and the learner of a run; `small` applies `SMALL_SETTINGS`, for checks."""
    config = convert_horizons_to_steps(compose_plain_config(overrides))
    if small:
        values = {key: int(n) for key, n in re.findall(r"(\w+)=(\d+)", SMALL_SETTINGS)}
        for part in (config["algo"], config["algo"].get("average_policy") or {}):
            part |= {key: values[key] for key in part.keys() & values}
    ungrouped = build_ungrouped_config(config)
    device = prepare_process(ungrouped.device, ungrouped.threads, ungrouped.seed)
    set_matmul_precision(ungrouped.precision, device)
    game: Game = build(config["game"], "game", Game)
    return game, build_algorithm(config, game, device, ungrouped.seed)


def learn_and_check_losses(learner: Any, updates: int) -> None:
    """Let a learner make `updates` updates; raise ValueError if its losses are not finite."""
    goal, metrics = learner.progress.updates + updates, dict[str, float]()
    for _ in range(100):
        metrics |= learner.learn()
        if learner.progress.updates >= goal:
            break
    losses = {tag: number for tag, number in metrics.items() if tag.startswith("loss/")}
    if not losses or not np.isfinite([*losses.values()]).all():
        raise ValueError(f"{learner.progress.updates} updates with losses {losses}")


def check_players_agree(name: str, game: Game, one: Player, other: Player) -> None:
    """Raise ValueError unless two players' probabilities agree to 1e-3 at 99 % of random tables.

    At the other tables they may differ, because a player may choose any of several best actions.
    """
    tables, generator = Tables(game, 300, seed=1), np.random.default_rng(1)
    tables.deal()
    for _ in range(5):
        tables.deal(np.flatnonzero(tables.records["over"]))
        tables.step((generator.random(game.action_count) * tables.legal_mask()).argmax(1))
    records = tables.records[tables.records["over"] == 0]
    difference = np.abs(one.action_probs(records) - other.action_probs(records)).max(1)
    if not (difference < 1e-3).mean() >= 0.99:
        raise ValueError(f"player {name}: probabilities differ by up to {difference.max():.2g}")


def check_learner(overrides: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Check on each device that a learner learns, can be loaded, and has players that run on a CPU.

    Yield one empty result if all is well; raise an exception otherwise.
    """
    for name in ["cuda", "cpu"] if torch.cuda.is_available() else ["cpu"]:
        on_device, file = [*overrides, f"device={name}"], BytesIO()
        game, learner = build_learner(on_device, small=True)
        learn_and_check_losses(learner, updates=20)
        torch.save(learner.state_dict(), file)
        file.seek(0)
        _, loaded = build_learner(on_device, small=True)
        loaded.load_state_dict(torch.load(file, map_location="cpu", weights_only=True))
        for key, player in learner.players().items():
            state = player.to_dict()
            on_cpu = load_class(state["_target_"]).from_dict(state, game, torch.device("cpu"))
            check_players_agree(key, game, player, on_cpu)
            check_players_agree(f"{key}, loaded", game, player, loaded.players()[key])
        learn_and_check_losses(loaded, updates=20)
    yield {}


def measure_speed(overrides: Sequence[str], seconds: float) -> Iterator[dict[str, Any]]:
    """Yield decisions per second as "rate"; on a GPU also "GPU GiB", the largest memory in use.

    On a GPU, yield a second result, which also has "GPU busy", the share of time it was busy.
    """
    learner = build_learner(overrides)[1]
    on_gpu = learner.services.device.type == "cuda"

    def learn(min_seconds: float, min_calls: int = 1) -> tuple[int, float]:
        """Call `learner.learn` repeatedly; return the number of calls and the seconds they took."""
        calls, start = 0, monotonic()
        while calls < min_calls or monotonic() - start < min_seconds:
            learner.learn()
            calls += 1
        if on_gpu:
            torch.cuda.synchronize()
        return calls, monotonic() - start

    learn(WARMUP_SECONDS, WARMUP_CALLS)
    first = learner.progress.decisions
    calls, elapsed = learn(seconds)
    result = {"rate": (learner.progress.decisions - first) / elapsed}
    if on_gpu:
        result["GPU GiB"] = torch.cuda.max_memory_allocated() / 2**30
    yield result
    if on_gpu:
        with profile(activities=[ProfilerActivity.CUDA]) as profiler:
            profiled_calls, _ = learn(0.2)
        # Profiling slows down the CPU but not the kernels, so divide by the time without profiling.
        busy = compute_busy_seconds(profiler.events()) / profiled_calls
        yield result | {"GPU busy": busy / (elapsed / calls)}


def compute_busy_seconds(events: Iterable[Any]) -> float:
    """Return the seconds in which a GPU ran at least one kernel or copy, from profiler events."""
    kernels = [event for event in events if event.device_type == DeviceType.CUDA]
    spans = [event.time_range for event in kernels if not event.is_user_annotation]
    busy = last_end = 0.0
    for start, end in sorted((span.start, span.end) for span in spans):
        busy += max(0.0, end - max(start, last_end))
        last_end = max(last_end, end)
    return busy / 1e6  # profiler times are in microseconds


def compute_and_print_row(task: str, seconds: float, overrides: Sequence[str]) -> None:
    """Compute a row of the output in this process, and print its results as lines of JSON.

    `task` is "check" or "speed". Each line contains the results so far; an exception adds the key
    "error".
    """
    result: dict[str, Any] = {}
    try:
        for result in (
            check_learner(overrides) if task == "check" else measure_speed(overrides, seconds)
        ):
            print(json.dumps(result), flush=True)
    except Exception as error:
        traceback.print_exc()
        first_line = f"{type(error).__name__}: {error}".splitlines()[0]
        print(json.dumps(result | {"error": first_line}), flush=True)


def run_row(task: str, row: str, seconds: float, limit: float, deadline: float) -> dict[str, Any]:
    """Compute a row in a process of its own; return its last result, with "error" if it failed."""
    limit = min(limit, deadline - monotonic())
    if limit < 5:
        return {"error": "no time left"}
    print(f"{task}: {row}", file=sys.stderr, flush=True)
    command = [sys.executable, __file__, "--worker", task, str(seconds), *row.split()]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        timer = Timer(limit, process.kill)
        timer.start()
        out, err = (text.decode(errors="replace") for text in process.communicate())
        timer.cancel()
    lines = ["{}", *(line for line in out.splitlines() if line.startswith("{"))]
    result: dict[str, Any] = json.loads(lines[-1])
    if process.returncode:
        result["error"] = f"exit code {process.returncode} (-9: over {limit:.0f} s)"
    if err:
        print(f"{task}: {row}\n{err}", file=sys.stderr, flush=True)
    return result


def measure_and_print_speeds(rows: Sequence[str], seconds: float, deadline: float) -> None:
    """Measure the speed of rows on the GPU and on single cores, and print a table."""
    columns = {"one core": ",.0f"}
    if has_gpu := torch.cuda.is_available():
        columns |= {"GPU": ",.0f", "ratio": ".2f", "GPU busy": ".0%", "GPU GiB": ".1f"}
    print(f"\n| decisions/s | {' | '.join(columns)} |\n|---|{'---|' * len(columns)}", flush=True)
    with ThreadPoolExecutor(max(1, min(MAX_CPU_PROCESSES, count_cores() // 4))) as pool:
        cores = {
            row: pool.submit(run_row, "speed", f"{row} {ONE_CORE}", seconds, CPU_LIMIT_S, deadline)
            for row in dict.fromkeys(SPEED_ROWS[row] for row in rows)
        }
        for row in rows if has_gpu else cores:
            gpu_row = row if "hardware=" in row else f"{row} device=cuda"
            gpu = run_row("speed", gpu_row, seconds, GPU_LIMIT_S, deadline) if has_gpu else {}
            core = cores[SPEED_ROWS[row]].result()
            numbers = gpu | {"one core": core.get("rate"), "GPU": gpu.get("rate")}
            if numbers["GPU"] and numbers["one core"]:
                numbers["ratio"] = numbers["GPU"] / numbers["one core"]
            numbers = {name: n for name, n in numbers.items() if n is not None}
            cells = [f"{numbers[n]:{columns[n]}}" if n in numbers else "" for n in columns]
            errors = "".join(f"; {part['error']}" for part in (gpu, core) if "error" in part)
            print(f"| `{row}`{errors} | {' | '.join(cells)} |", flush=True)


def main() -> None:
    """Run all checks and measurements, or only the rows that contain a word given by `--only`."""
    if sys.argv[1:2] == ["--worker"]:
        return compute_and_print_row(sys.argv[2], float(sys.argv[3]), sys.argv[4:])
    deadline = monotonic() + TIME_LIMIT_S
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", nargs="+", metavar="NAME", default=[])
    parser.add_argument("--seconds", type=float, default=3.0, help="of each measurement")
    arguments = parser.parse_args()

    def select(part: str, rows: Iterable[str]) -> list[str]:
        names = set(arguments.only)
        return [row for row in rows if not names or names & {part, *re.split("[ =]", row)}]

    algos = [path.stem for path in list_option_files(SHIPPED_OPTION_DIR, "algo")]
    learners = [name for name in algos if "net" in compose_plain_config([f"algo={name}"])]
    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else "no GPU"
    print(f"torch {torch.__version__}, {gpu}, {count_cores()} cores\n", flush=True)
    checks = select("check", [f"game=leduc algo={name}" for name in learners] + CHECK_ROWS)
    with ThreadPoolExecutor(max(1, min(MAX_CHECK_PROCESSES, count_cores() // 2))) as pool:
        results = pool.map(lambda row: run_row("check", row, 0, CHECK_LIMIT_S, deadline), checks)
        for row, result in zip(checks, results, strict=True):
            print(f"- `{row}`: {result.get('error', 'ok')}", flush=True)
    measure_and_print_speeds(select("speed", SPEED_ROWS), arguments.seconds, deadline)


if __name__ == "__main__":
    main()
