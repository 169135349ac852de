"""Compare the decisions per second of a run in one process and in several (part of `make bench`).

    python scripts/benchmark_workers.py [WORKERS] [EXPERIMENT …]

A rate is measured in the second half of a run, when everything is compiled and learning has
started; of two runs, the higher rate is printed. Each process computes on one thread. Nothing else
should run on the machine, because a process that waits for its core delays all others.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

BUDGETS = {"ppo_lhe": 8_000_000, "big2_ppo_fast": 260_000, "nfsp_2000": 60_000}  # decisions
REPEATS = 2


def measure_speed_and_communication(experiment: str, workers: int) -> tuple[float, float]:
    """Return decisions per second, and the share of time for communication, in a run's 2nd half.

    Raises:
        CalledProcessError: if the run fails.
    """
    budget = BUDGETS[experiment]
    settings = [f"experiment={experiment}", f"workers={workers}", f"budget={budget}", "name=run"]
    settings += [f"evaluate_every={budget // 2}", f"checkpoint_every={budget}", "figures=false"]
    settings += ["evaluation.opponents=[]", "evaluation.deals=30", "device=cpu"]
    with TemporaryDirectory() as folder:
        program = [sys.executable, "-c", "from poker_rl.cli import main; main()", "train"]
        subprocess.run([*program, *settings], cwd=folder, check=True, capture_output=True)
        (path,) = Path(folder).glob("outputs/*/*/run/metrics.jsonl")
        row = json.loads(path.read_text().splitlines()[-1])
    return row["time/decisions_per_second"], row.get("time/communication", 0.0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("workers", type=int, nargs="?", default=2)
    parser.add_argument("experiments", nargs="*", metavar="experiment", help=", ".join(BUDGETS))
    arguments = parser.parse_args()
    workers = arguments.workers
    if workers < 1:
        parser.error(f"{workers} workers: at least 1")
    for experiment in arguments.experiments:
        if experiment not in BUDGETS:
            parser.error(f"{experiment}: allowed: {', '.join(BUDGETS)}")
    print(f"decisions a second; load of the machine before: {os.getloadavg()[0]:.1f}")
    print(f"{'':16}{'1 process':>12}{f'{workers} processes':>14}{'ratio':>8}{'exchanging':>12}")
    for experiment in arguments.experiments or BUDGETS:
        runs = [
            [measure_speed_and_communication(experiment, count) for count in (1, workers)]
            for _ in range(REPEATS)
        ]
        (alone, _), (together, exchange) = (max(one) for one in zip(*runs, strict=True))
        rates = f"{alone:>12,.0f}{together:>14,.0f}{together / alone:>7.2f}x"
        print(f"{experiment:16}{rates}{exchange:>11.1%}", flush=True)


if __name__ == "__main__":
    main()
