"""Check that a change of the code leaves the metrics of all learners equal to the last digit.

    git switch main   && python scripts/same_metrics.py record before.json
    git switch change && python scripts/same_metrics.py record after.json
    python scripts/same_metrics.py compare before.json after.json

`record` trains each learner for some seconds with a fixed seed, in a temporary folder, and saves
its metrics without times. It takes a few minutes on one core. Metrics can only be equal if both
files were recorded on the same machine with the same versions of torch and numba.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

RUNS = (
    "game=kuhn algo=cfr budget=200",
    "game=kuhn algo=cfr_plus budget=200",
    "game=kuhn algo=cfr_linear budget=200",
    "game=kuhn algo=dcfr budget=200",
    "game=kuhn algo=pcfr_plus budget=200",
    "game=kuhn algo=pdcfr_plus budget=200",
    "game=leduc algo=mccfr budget=2000",
    "game=leduc algo=public_cfr budget=20",
    "game=kuhn algo=reinforce budget=20000",
    "game=leduc algo=vpg budget=40000",
    "game=leduc algo=ppo budget=60000",
    "game=leduc algo=ppo budget=40000 opponents=[uniform]",
    "game=leduc algo=ppo budget=60000 algo.instances=2 algo.network_sharing=per_seat"
    " algo.critic_view=perfect_information",
    "game=leduc algo=mmd budget=60000",
    "game=leduc algo=actor_critic budget=40000",
    "game=leduc algo=vine budget=40000",
    "game=leduc algo=public_policy_gradient budget=40000",
    "game=leduc algo=deep_cfr algo.traversals=100 budget=20000",
    "game=leduc algo=dqn budget=20000",
    "game=leduc algo=nfsp budget=20000",
    "game=leduc algo=nfsp_ppo budget=40000",
    "experiment=k1_ppo budget=20",
    "experiment=k2_fixed_opponent budget=20",
    "experiment=apu budget=40 evaluation.opponents=[call]",
    "experiment=dual_apu budget=40 evaluation.opponents=[call]",
    "experiment=apu_none budget=240 algo.opponent_pool.play_prob=0.5"
    " algo.opponent_pool.snapshot_interval=5"
    " evaluation.opponents=[call]",
    "experiment=apu_none budget=240 evaluation.opponents=[call]",
    "experiment=ppo_lhe budget=100000",
    "experiment=ppo_lhe_6p budget=60000 evaluation.opponents=[call]",
    "experiment=ppo_lhe_6p_none budget=60000 evaluation.opponents=[call]",
    "experiment=nfsp_2000 budget=6000",
    "experiment=nfsp_nlhe_20 budget=60000",
    "experiment=big2_ppo_fast budget=40000",
)
COMMON_OVERRIDES = ("seed=3", "evaluation.deals=30", "figures=false", "name=run")

Rows = list[dict[str, Any]]


def train_and_read_metrics(run: str) -> Rows:
    """Train a run with the overrides in `run`; return its rows of metrics.jsonl without times.

    Raises:
        CalledProcessError: if the run fails.
    """
    budget = int(dict(one.split("=") for one in run.split())["budget"])
    every = [f"evaluate_every={budget // 4}", f"checkpoint_every={budget // 2}"]
    program = "from poker_rl.cli import main; main()"
    with TemporaryDirectory() as folder:
        command = [sys.executable, "-c", program, "train", *run.split(), *COMMON_OVERRIDES, *every]
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
        (path,) = Path(folder).glob("outputs/*/*/run/metrics.jsonl")
        rows = [json.loads(line) for line in path.read_text().splitlines()]
    return [{tag: n for tag, n in row.items() if not tag.startswith("time/")} for row in rows]


def compare_metrics(before: Mapping[str, Rows], after: Mapping[str, Rows]) -> Iterator[str]:
    """Yield a line for each run of `before`: "equal", or "DIFFERENT" and the tags that differ."""
    for run, rows in before.items():
        others = after.get(run, [])
        tags = {
            tag
            for one, other in zip(rows, others, strict=False)
            for tag in one | other
            if one.get(tag) != other.get(tag)
        }
        difference = sorted(tags) or f"{len(rows)}, {len(others)} rows"
        yield f"{'equal' if rows == others else f'DIFFERENT {difference}'}: {run}"


def read_recorded_metrics(path: str) -> dict[str, Rows]:
    """Return the rows of metrics by run in a file that `record` wrote; exit if it is not one."""
    try:
        found: dict[str, Rows] = json.loads(Path(path).read_text())
    except (OSError, ValueError):
        sys.exit(f"{path}: no file that `record` wrote")
    return found


def main() -> None:
    """Record or compare; exit with code 1 if anything differs."""
    match sys.argv[1:]:
        case ["record", path]:
            found = {}
            for run in RUNS:
                found[run] = train_and_read_metrics(run)
                print(run, flush=True)
            Path(path).write_text(json.dumps(found, indent=1))
        case ["compare", before, after]:
            lines = list(
                compare_metrics(read_recorded_metrics(before), read_recorded_metrics(after))
            )
            print("\n".join(lines))
            sys.exit(any(line.startswith("DIFFERENT") for line in lines))
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
