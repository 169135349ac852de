"""How the play page answers beside a hundred open sessions, its server on one core.

    python scripts/load.py game=limit_holdem_6p against=[call]
    python scripts/load.py --sessions 10 --hands 200 game=leduc against=[call]

Starts `poker-rl play` with the settings given, opens sessions over HTTP, and lets simulated people
play them at once: first with time to think between two actions, as people need, then with none.
Of both it prints requests a second, the median and the 95th percentile of the time an action takes
to be answered; of the server, how long it computes for a request, and its memory. An action has to
be answered within 100 ms beside people who think: the exit code is 1 if the 95th percentile is
above that.

With `--hands` one simulated person plays so many hands afterwards; printed are the session's
result and, where there is one, the result without luck.
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

from poker_rl.evaluation.columns import number

BAR = 0.1  # seconds
POKER_RL = [sys.executable, "-c", "from poker_rl import cli; cli.main()"]


class Person:
    """A session played by a program: it takes each move with the same chance, but seldom folds."""

    def __init__(self, address: str, seed: int) -> None:
        headers = {"sec-fetch-site": "same-origin"}
        self.client = httpx.AsyncClient(base_url=address, headers=headers, timeout=120)
        self.rng = random.Random(seed)
        self.view: dict[str, Any] = {}
        self.hands = 0

    async def post(self, path: str, **body: Any) -> float:
        """The seconds that it took."""
        begun = time.perf_counter()
        answer = await self.client.post(path, json=body)
        took = time.perf_counter() - begun
        answer.raise_for_status()
        self.view = answer.json()
        return took

    async def move(self) -> float:
        """The next action, or the next hand; the seconds until the answer."""
        if self.view["phase"] == "over":
            self.hands += 1
            return await self.post("next", turn=self.view["turn"])
        moves = self.view["moves"]
        staying = [move for move in moves if move["kind"] != "fold"]
        move = self.rng.choice(staying if staying and self.rng.random() < 0.9 else moves)
        return await self.post("act", turn=self.view["turn"], action=move["action"])

    async def play(self, think: float, until: float, took: list[float]) -> None:
        """Play until this moment, with so many seconds of thought before each action on average."""
        while True:
            pause = self.rng.expovariate(1 / think) if think else 0.0
            if took and time.perf_counter() + pause > until:
                return
            await asyncio.sleep(pause)
            took.append(await self.move())


async def measured(people: list[Person], think: float, seconds: float) -> list[float]:
    """Let everybody play; the seconds that each action took."""
    took: list[float] = []
    until = time.perf_counter() + seconds
    await asyncio.gather(*(person.play(think, until, took) for person in people))
    return sorted(took)


def line(name: str, took: list[float], seconds: float) -> str:
    median, high = took[len(took) // 2], took[int(0.95 * len(took))]
    return (
        f"{name:<28}{len(took) / seconds:8.1f} requests/s   median {1000 * median:6.1f} ms"
        f"   95th percentile {1000 * high:6.1f} ms"
    )


def computed(process: int) -> float:
    """Seconds that the server has spent computing so far."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory(process: int) -> str:
    """What the server holds and has held at most."""
    status = Path(f"/proc/{process}/status").read_text()
    held = dict(re.findall(r"(\w+):\s+(\d+) kB", status))
    now, most = (int(held[key]) / 1024 for key in ("VmRSS", "VmHWM"))
    return f"memory {now:.0f} MB, at most {most:.0f} MB"


async def run(address: str, process: int, args: argparse.Namespace) -> bool:
    """Print all figures; whether actions are answered within the bar."""
    people = [Person(address, seed) for seed in range(args.sessions)]
    await people[0].client.get("")  # is answered when everything is loaded
    print(f"{memory(process)}, before the first session")
    begun = time.perf_counter()
    await asyncio.gather(*(person.post("begin") for person in people))
    print(f"{args.sessions} sessions opened in {time.perf_counter() - begun:.1f} s")
    before = computed(process)
    thinking = await measured(people, args.think, args.seconds)
    print(line(f"{args.think:g} s of thought", thinking, args.seconds))
    saturated = await measured(people, 0, args.seconds)
    print(line("none", saturated, args.seconds))
    each = (computed(process) - before) / (len(thinking) + len(saturated))
    print(f"the server computes {1000 * each:.1f} ms for a request")
    print(f"{memory(process)}, after {sum(person.hands for person in people):,} hands")
    if args.hands:
        person = people[0]
        goal = person.hands + args.hands
        while person.hands < goal:
            await person.move()
        stats = person.view["stats"]
        for name, one in (("as played", stats), ("without luck", stats["lucky"])):
            if one and one["half_width"] is not None:
                print(f"{name}: {number(one['mean'], one['half_width'])} {stats['unit']}")
    for person in people:
        await person.client.aclose()
    return thinking[int(0.95 * len(thinking))] <= BAR


def positive(word: str) -> int:
    """A count that is at least 1."""
    if (count := int(word)) < 1:
        raise ValueError
    return count


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--sessions", type=positive, default=100, help="people at once")
    parser.add_argument(
        "--think", type=float, default=4.0, help="seconds between two actions, on average"
    )
    parser.add_argument(
        "--seconds", type=float, default=20.0, help="how long each measurement takes"
    )
    parser.add_argument("--hands", type=int, default=0, help="that one person plays in the end")
    cores = sorted(os.sched_getaffinity(0))
    parser.add_argument(
        "--core", type=int, default=cores[0], choices=cores, help="that the server runs on"
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
