"""Load test of the play page: a hundred open sessions, with the server on one core.

    python scripts/load.py game=limit_holdem_6p against=[call]
    python scripts/load.py --sessions 10 --hands 200 game=leduc against=[call]

The script starts `poker-rl play` with the given settings, opens sessions over HTTP, and lets
simulated people play them in parallel: first with pauses to think before each action, and then
without pauses. For both it prints the requests per second and the median and 95th percentile of the
response time. It also prints the server's CPU time per request and its memory. The exit code is 1
if the 95th percentile with pauses is above 100 ms.

With `--hands`, one simulated person then plays so many hands, and the mean result of its session is
printed, also adjusted for luck if the game allows it.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx

from poker_rl.evaluation.result import format_number

MAX_RESPONSE_S = 0.1
POKER_RL = [sys.executable, "-c", "from poker_rl import cli; cli.main()"]


class SimulatedPerson:
    """Client of the page that plays a session with uniformly sampled moves, but seldom folds."""

    def __init__(self, address: str, seed: int) -> None:
        headers = {"sec-fetch-site": "same-origin"}
        self.client = httpx.AsyncClient(base_url=address, headers=headers, timeout=120)
        self.rng = random.Random(seed)
        self.view: dict[str, Any] = {}
        self.hands = 0

    async def post(self, path: str, **body: Any) -> float:
        """Send a request and return the seconds until the answer."""
        start = time.perf_counter()
        answer = await self.client.post(path, json=body)
        took = time.perf_counter() - start
        answer.raise_for_status()
        self.view = answer.json()
        return took

    async def move(self) -> float:
        """Make a move, or start the next hand; return the seconds until the answer."""
        if self.view["phase"] == "over":
            self.hands += 1
            return await self.post("next", turn=self.view["turn"])
        moves = self.view["moves"]
        staying = [move for move in moves if move["action_type"] != "fold"]
        move = self.rng.choice(staying if staying and self.rng.random() < 0.9 else moves)
        return await self.post("act", turn=self.view["turn"], action=move["action"])

    async def play(self, think: float, until: float, took: list[float]) -> None:
        """Play, with a random pause before each action.

        Args:
            think: mean pause in seconds; 0 for none.
            until: value of `time.perf_counter()` at which to stop; at least one action is taken.
            took: list to which the response times in seconds are appended.
        """
        while True:
            pause = self.rng.expovariate(1 / think) if think else 0.0
            if took and time.perf_counter() + pause > until:
                return
            await asyncio.sleep(pause)
            took.append(await self.move())


async def measure_response_times(
    people: list[SimulatedPerson], think: float, seconds: float
) -> list[float]:
    """Let all people play; return the sorted response times in seconds."""
    took: list[float] = []
    until = time.perf_counter() + seconds
    await asyncio.gather(*(person.play(think, until, took) for person in people))
    return sorted(took)


def format_line(name: str, took: list[float], seconds: float) -> str:
    median, high = took[len(took) // 2], took[int(0.95 * len(took))]
    return (
        f"{name:<28}{len(took) / seconds:8.1f} requests/s   median {1000 * median:6.1f} ms"
        f"   95th percentile {1000 * high:6.1f} ms"
    )


def read_cpu_seconds(process: int) -> float:
    """Return the CPU time of a process so far, in seconds."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def read_memory(process: int) -> str:
    """Return the present and the highest memory of a process, as text."""
    status = Path(f"/proc/{process}/status").read_text()
    held = dict(re.findall(r"(\w+):\s+(\d+) kB", status))
    now, most = (int(held[key]) / 1024 for key in ("VmRSS", "VmHWM"))
    return f"memory {now:.0f} MB, at most {most:.0f} MB"


async def run(address: str, process: int, args: argparse.Namespace) -> bool:
    """Print all measurements; return whether the response time is low enough."""
    people = [SimulatedPerson(address, seed) for seed in range(args.sessions)]
    await people[0].client.get("")  # the server answers when it is ready
    print(f"{read_memory(process)}, before the first session")
    start = time.perf_counter()
    await asyncio.gather(*(person.post("begin") for person in people))
    print(f"{args.sessions} sessions opened in {time.perf_counter() - start:.1f} s")
    before = read_cpu_seconds(process)
    thinking = await measure_response_times(people, args.think, args.seconds)
    print(format_line(f"{args.think:g} s of thought", thinking, args.seconds))
    saturated = await measure_response_times(people, 0, args.seconds)
    print(format_line("none", saturated, args.seconds))
    each = (read_cpu_seconds(process) - before) / (len(thinking) + len(saturated))
    print(f"the server computes {1000 * each:.1f} ms for a request")
    print(f"{read_memory(process)}, after {sum(person.hands for person in people):,} hands")
    if args.hands:
        person = people[0]
        goal = person.hands + args.hands
        while person.hands < goal:
            await person.move()
        stats = person.view["stats"]
        for name, one in (("as played", stats), ("EV-adjusted", stats["ev_adjusted"])):
            if one and one["half_width"] is not None:
                print(f"{name}: {format_number(one['mean'], one['half_width'])} {stats['unit']}")
    for person in people:
        await person.client.aclose()
    return thinking[int(0.95 * len(thinking))] <= MAX_RESPONSE_S


def parse_positive(word: str) -> int:
    """Parse a count of at least 1."""
    if (count := int(word)) < 1:
        raise ValueError
    return count


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument(
        "--sessions", type=parse_positive, default=100, help="number of simulated people"
    )
    parser.add_argument(
        "--think", type=float, default=4.0, help="seconds between two actions, on average"
    )
    parser.add_argument("--seconds", type=float, default=20.0, help="length of each measurement")
    parser.add_argument(
        "--hands", type=int, default=0, help="hands that one person plays in the end"
    )
    cores = sorted(os.sched_getaffinity(0))
    parser.add_argument(
        "--core", type=int, default=cores[0], choices=cores, help="core of the server"
    )
    parser.add_argument("overrides", nargs="*", help="settings of `poker-rl play`")
    args = parser.parse_intermixed_args()
    with tempfile.TemporaryDirectory() as folder:
        server = subprocess.Popen(
            [*POKER_RL, "play", "port=0", f"outputs={folder}", *args.overrides],
            env=os.environ | {"PYTHONUNBUFFERED": "1"},
            preexec_fn=lambda: os.sched_setaffinity(0, {args.core}),
            stdout=subprocess.PIPE,
            text=True,
        )
        assert server.stdout is not None
        address = next((one.strip() for one in server.stdout if one.startswith("http")), None)
        if address is None:
            return server.wait()
        try:
            fine = asyncio.run(run(address, server.pid, args))
        finally:
            server.send_signal(signal.SIGINT)
            server.wait()
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
