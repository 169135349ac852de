"""The published tables of APU on six-player hold'em, our agents' figures beside them.

    python scripts/reproduce_apu.py                            # eight runs of half a minute
    python scripts/reproduce_apu.py --minutes 15 --deals 2000
    python scripts/reproduce_apu.py apu=outputs/x dual_apu=outputs/y   # these two are not trained
    python scripts/reproduce_apu.py --losses docs/images/apu.png       # and the curves of losses
    python scripts/reproduce_apu.py ppo_lhe_6p=outputs/z               # and what our setting wins

Each experiment is trained by `poker-rl train` until its budget or the time is over. A figure is one
candidate against five others, each deal played with the candidate in all six seats, with its 95 %
interval over deals; of an experiment with six actors it is the mean over them, and one that meets
such an experiment meets five of its actors. The bots of the published work are not available and
these are ours, so its figures are company, not a bar.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import perf_counter

import numpy as np
import torch
from matplotlib.figure import Figure

from poker_rl.config.build import build
from poker_rl.config.options import option
from poker_rl.config.settings import Refused
from poker_rl.evaluation.drawing import Line, canvas, draw, label
from poker_rl.evaluation.figures import read
from poker_rl.evaluation.matches import FEWEST_DEALS, half_width, play
from poker_rl.games.poker.limit import Poker
from poker_rl.games.tables import Tables
from poker_rl.players.load import load_players, parse
from poker_rl.players.player import Player
from poker_rl.storage.folder import METRICS

BOTS = ("sklansky", "chen", "rules", "mcts")
# small bets a hand, as printed; of APU against None the work prints 19.728 - 9.728, a misprint
AGAINST_BOTS = {
    "apu": (4.083, 0.957, 3.265, 3.895),
    "dual_apu": (1.833, 0.542, 2.167, 3.376),
    "apu_ctrl": (2.275, 0.676, 2.726, 1.303),
    "dual_apu_ctrl": (1.981, 0.607, 2.882, 1.804),
}
TABLES: dict[str, list[tuple[str, str, float | None]]] = {
    "1. Against bots": [
        (name, bot, theirs)
        for name, results in AGAINST_BOTS.items()
        for bot, theirs in zip(BOTS, results, strict=True)
    ],
    "2. APU and its control": [("apu", "apu_ctrl", 0.031)],
    "3. Dual-APU and its control": [("dual_apu", "dual_apu_ctrl", 0.003)],
    "4. APU without a history, and with a dense layer for it": [
        ("apu", "apu_none", 9.728),
        ("apu", "apu_fc", 1.251),
    ],
    "5. Dual-APU without a history, and with a dense layer for it": [
        ("dual_apu", "dual_apu_none", 0.918),
        ("dual_apu", "dual_apu_fc", 0.672),
    ],
}
EXPERIMENTS = (
    *AGAINST_BOTS,
    *(f"{name}_{history}" for name in ("apu", "dual_apu") for history in ("fc", "none")),
)
OURS = ("ppo_lhe_6p", "ppo_lhe_6p_fc", "ppo_lhe_6p_none")  # measured if given
PUBLISHED_MS = 7.3  # of a decision
CPU = torch.device("cpu")


def train(experiment: str, minutes: float, settings: Sequence[str]) -> Path:
    """Train for so long at most; the run folder."""
    program = "from poker_rl.cli import main; main()"
    quiet = ["evaluation.opponents=[]", "evaluation.earlier_self=false"]  # this script measures
    quiet += ["evaluate_every=600"]  # a row every 100 episodes, for the curves of losses
    command = ["-c", program, "train", f"experiment={experiment}", *quiet, *settings]
    with subprocess.Popen([sys.executable, *command], stdout=subprocess.PIPE) as process:
        try:
            said, _ = process.communicate(timeout=60 * minutes)
        except subprocess.TimeoutExpired:
            process.terminate()  # it saves its work
            said, _ = process.communicate()
    folder = re.search(r"run folder: (.+)", said.decode())
    if folder is None:
        sys.exit(f"{experiment} did not train")
    return Path(folder[1])


def actors(game: Poker, folder: Path) -> list[Player]:
    """Every actor of a run's newest snapshot."""
    snapshot, *_ = parse(str(folder))
    player = load_players(snapshot, game, CPU, "current")["current"]
    return [player.instance(k) for k in range(player.instances)]


def met(
    game: Poker, candidates: Sequence[Player], others: Sequence[Player], deals: int
) -> tuple[float, float]:
    """Small bets a hand, and half the 95 % interval, of a candidate: the mean over all of them."""
    rest = game.seats - 1
    blocks = []
    for k, candidate in enumerate(candidates):
        five = [others[(k + 1 + i) % len(others)] for i in range(rest)]
        blocks.append(play(game, [candidate, *five], deals, seed=0)[:, 0] / game.unit_chips)
    mean = np.mean(blocks, axis=0)  # [deals]; all of them had the same deals
    return float(mean.mean()), half_width(mean)


def decision_ms(game: Poker, player: Player, count: int = 200) -> float:
    """Mean time of a decision alone, at tables some calls into a hand."""
    tables = Tables(game, count, 0)
    tables.deal()
    for _ in range(8):
        tables.step(np.ones(count, np.int64))
    player.probabilities(tables.records[:1])
    start = perf_counter()
    for i in range(count):
        player.probabilities(tables.records[i : i + 1])
    return 1000 * (perf_counter() - start) / count


def losses(runs: Mapping[str, Path]) -> Figure:
    """Both losses of APU and of Dual-APU over episodes, beside their controls'."""
    figure, axes = canvas(9, 6.4, 2, 2)
    pairs = [(name, loss) for name in ("apu", "dual_apu") for loss in ("actor", "critic")]
    for (name, loss), ax in zip(pairs, axes, strict=True):
        lines = []
        for one in (name, f"{name}_ctrl"):
            curves = read(runs[one] / METRICS)
            if f"loss/{loss}" in curves:
                lines.append(Line(one, curves["hands"] / 6, curves[f"loss/{loss}"]))
        draw(ax, lines)
        label(ax, f"{name}: {loss} loss", "episodes", "loss")
    return figure


def main(words: Sequence[str] | None = None) -> None:
    """Train, measure and print; `words` are those of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", nargs="*", metavar="EXPERIMENT=RUN", help="trained before")
    parser.add_argument("--minutes", type=float, default=0.5, help="to train each of the others")
    parser.add_argument("--deals", type=int, default=200, help="of each match, six hands each")
    parser.add_argument("--set", nargs="*", default=[], metavar="KEY=VALUE", help="in training")
    parser.add_argument("--losses", type=Path, metavar="PNG", help="draw the curves of losses")
    given = parser.parse_args(words)
    if given.deals < FEWEST_DEALS:
        parser.error(f"--deals {given.deals}: at least {FEWEST_DEALS}")
    torch.set_num_threads(1)
    game: Poker = build(option("game", "limit_holdem_6p"), "game")
    runs, players = {}, {}
    for word in given.runs:
        name, equals, folder = word.partition("=")
        if not equals or name not in (*EXPERIMENTS, *OURS):
            allowed = ", ".join((*EXPERIMENTS, *OURS))
            parser.error(f"{word}: write EXPERIMENT=RUN; allowed: {allowed}")
        runs[name] = Path(folder)
        try:
            players[name] = actors(game, runs[name])
        except Refused as error:
            parser.error(f"{word}: {error}")
    for name in EXPERIMENTS:
        if name not in runs:
            runs[name] = train(name, given.minutes, given.set)
            players[name] = actors(game, runs[name])
            print(f"{name}={runs[name]}", flush=True)

    if given.losses is not None:
        given.losses.parent.mkdir(parents=True, exist_ok=True)
        losses(runs).savefig(given.losses, dpi=150)
    for bot in BOTS:
        players[bot] = [build(option("player", bot), bot, game=game, device=CPU)]
    ours: list[tuple[str, str, float | None]]
    ours = [(name, bot, None) for name in OURS if name in runs for bot in BOTS]
    for title, rows in (TABLES | ({"6. PPO, our setting": ours} if ours else {})).items():
        print(f"\n{title}\n\n| candidate | five others | sb/h | mbb/h | published sb/h |")
        print("|---|---|---|---|---|")
        for name, other, theirs in rows:
            won, wide = met(game, players[name], players[other], given.deals)
            in_mbb = f"{1000 * won:.0f} ± {1000 * wide:.0f}"
            print(f"| {name} | {other} | {won:.3f} ± {wide:.3f} | {in_mbb} | {theirs or ''} |")
            sys.stdout.flush()
    print(f"\nA decision, published {PUBLISHED_MS} ms:")
    for name in runs:
        print(f"{name} {decision_ms(game, players[name][0]):.2f} ms")


if __name__ == "__main__":
    main()
