"""The published tables of APU on six-player hold'em, our agents' figures beside them.

    python scripts/reproduce_apu.py                            # sixteen runs of half a minute
    python scripts/reproduce_apu.py --minutes 60 --seeds 3 --deals 2000   # days; it may be stopped
    python scripts/reproduce_apu.py --only dual_apu_none dual_apu_none_linear
    python scripts/reproduce_apu.py apu=outputs/x dual_apu=outputs/y   # these two are not trained
    python scripts/reproduce_apu.py --losses docs/images/apu.png       # and the curves of losses
    python scripts/reproduce_apu.py ppo_lhe_6p=outputs/z               # and what our setting wins

Each of the eight experiments is trained with the reward as printed and, as `<experiment>_linear`,
with a linear one, by `poker-rl train` until its budget or the time is over; the linear ones with
several seeds. Runs and the results of matches are kept in a folder, and the same command goes on
with what is missing there; more minutes, seeds or deals add to it. A run that has begun keeps the
settings that it began with.

A figure is one candidate against five others, each deal played with the candidate in all six seats.
Its 95 % interval is over deals where there is one seed, else over the seeds by Student's t. Of an
experiment with six actors it is the mean over them, and one that meets such an experiment meets
five of its actors. The bots of the published work are not available. Ours stand for them in two
kinds: those that play soundly, and bots to the letter of the work, which draw by chance at each
decision. So its figures are company, not a bar.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
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
from poker_rl.reports.means import Mean
from poker_rl.storage.folder import METRICS, read_last_row, read_manifest

# Of each published bot the two that stand for it: one that plays soundly, one to the letter.
BOTS = {
    "sklansky": ("sklansky", "sklansky_letter"),
    "chen": ("chen", "chen_letter"),
    "rules": ("rules", "rules_letter"),
    "mcts": ("mcts", "mcts_few"),
}
EVERY_BOT = tuple(bot for both in BOTS.values() for bot in both)
# Small bets a hand, as printed; the row of APU against None reads "APU-1".
AGAINST_BOTS = {
    "apu": (4.083, 0.957, 3.265, 3.895),
    "dual_apu": (1.833, 0.542, 2.167, 3.376),
    "apu_ctrl": (2.275, 0.676, 2.726, 1.303),
    "dual_apu_ctrl": (1.981, 0.607, 2.882, 1.804),
}
TABLES: dict[str, list[tuple[str, str, float]]] = {
    "1. Against bots": [
        (name, bot, theirs)
        for name, results in AGAINST_BOTS.items()
        for both, theirs in zip(BOTS.values(), results, strict=True)
        for bot in both
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
REWARDS = {"printed": "", "linear": "_linear"}  # what an experiment's name ends with
PUBLISHED_MS = 7.3  # of a decision
CPU = torch.device("cpu")


def trained(out: Path, experiment: str, seed: int, minutes: float, settings: Sequence[str]) -> Path:
    """Train for so long at most, what a run there has had before included; the run folder."""
    name = f"{experiment}_seed{seed}"
    folder = out / "limit_holdem_6p" / "apu" / name
    if folder.exists():
        words = [f"resume={folder}"]
        done = read_last_row(folder).get("time/elapsed_s", 0.0)
        if read_manifest(folder).get("status") == "finished":
            return folder
    else:
        words = [f"experiment={experiment}", f"seed={seed}", f"name={name}", f"outputs={out}"]
        words += ["evaluation.opponents=[]", "evaluation.earlier_self=false"]  # measured here
        words += ["evaluate_every=600"]  # a row every 100 episodes, for the curves of losses
        words += ["figures=false", *settings]
        done = 0.0
    left = 60 * minutes - done
    if left > 0:
        program = "from poker_rl.cli import main; main()"
        with subprocess.Popen([sys.executable, "-c", program, "train", *words]) as process:
            try:
                process.wait(timeout=left)
            except subprocess.TimeoutExpired:
                process.terminate()  # it saves its work
    if not read_last_row(folder):
        sys.exit(f"{experiment} did not train")
    return folder


def snapshot(folder: Path) -> Path:
    """The newest of a run."""
    return parse(str(folder))[0]


def actors(game: Poker, folder: Path) -> list[Player]:
    """Every actor of a run's newest snapshot, as its headline player has them."""
    player = next(iter(load_players(snapshot(folder), game, CPU).values()))
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


@dataclass
class Matches:
    """Everybody who plays, and the results of their matches, kept in a file once played."""

    game: Poker
    deals: int
    kept: Path
    runs: dict[str, list[Path]]  # of each experiment, a run a seed
    players: dict[str, list[list[Player]]] = field(default_factory=dict)  # of each, its actors
    known: dict[str, list[float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Load players and what is kept."""
        for bot in EVERY_BOT:
            self.players[bot] = [[build(option("player", bot), bot, game=self.game, device=CPU)]]
        for name, folders in self.runs.items():
            self.players[name] = [actors(self.game, folder) for folder in folders]
        if self.kept.exists():
            for line in self.kept.read_text().splitlines():
                self.known |= json.loads(line)

    def figure(self, name: str, other: str) -> str:
        """What a candidate wins from five others, with its interval; a dash if one is missing."""
        if name not in self.players or other not in self.players:
            return "-"
        seeds = [self._of_seed(name, other, seed) for seed in range(len(self.players[name]))]
        mean = Mean(tuple(won for won, _ in seeds))
        wide = seeds[0][1] if mean.half_width is None else mean.half_width
        return f"{mean.mean:+.3f} ± {wide:.3f}"

    def _of_seed(self, name: str, other: str, seed: int) -> tuple[float, float]:
        rivals = seed % len(self.players[other])
        five = str(snapshot(self.runs[other][rivals])) if other in self.runs else other
        key = f"{snapshot(self.runs[name][seed])} against {five}, {self.deals} deals"
        if key not in self.known:
            found = met(
                self.game, self.players[name][seed], self.players[other][rivals], self.deals
            )
            self.known[key] = list(found)
            self.kept.parent.mkdir(parents=True, exist_ok=True)
            with self.kept.open("a") as file:
                file.write(json.dumps({key: found}) + "\n")
        won, wide = self.known[key]
        return won, wide


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


def losses(runs: Mapping[str, Sequence[Path]]) -> Figure:
    """Both losses of APU and of Dual-APU over episodes, beside their controls'."""
    figure, axes = canvas(9, 6.4, 2, 2)
    pairs = [(name, loss) for name in ("apu", "dual_apu") for loss in ("actor", "critic")]
    for (name, loss), ax in zip(pairs, axes, strict=True):
        lines = []
        for one in (name, f"{name}_ctrl"):
            curves = read(runs[one][0] / METRICS) if one in runs else {}
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
    parser.add_argument("--seeds", type=int, default=1, help="of each linear experiment")
    parser.add_argument("--deals", type=int, default=200, help="of each match, six hands each")
    parser.add_argument("--only", nargs="*", metavar="EXPERIMENT", help="to train no others")
    parser.add_argument("--out", type=Path, default=Path("outputs/reproduce_apu"), metavar="FOLDER")
    parser.add_argument("--set", nargs="*", default=[], metavar="KEY=VALUE", help="in training")
    parser.add_argument("--losses", type=Path, metavar="PNG", help="draw the curves of losses")
    given = parser.parse_args(words)
    every = [name + ending for ending in REWARDS.values() for name in EXPERIMENTS]
    for flag, least in (("deals", FEWEST_DEALS), ("seeds", 1)):
        if getattr(given, flag) < least:
            parser.error(f"--{flag} {getattr(given, flag)}: at least {least}")
    wanted = every if given.only is None else given.only
    for name in wanted:
        if name not in every:
            parser.error(f"--only {name}: allowed: {', '.join(every)}")
    torch.set_num_threads(1)
    game: Poker = build(option("game", "limit_holdem_6p"), "game")
    runs: dict[str, list[Path]] = {}
    for word in given.runs:
        name, equals, folder = word.partition("=")
        if not equals or name not in (*every, *OURS):
            allowed = ", ".join((*every, *OURS))
            parser.error(f"{word}: write EXPERIMENT=RUN; allowed: {allowed}")
        try:
            actors(game, Path(folder))
        except Refused as error:
            parser.error(f"{word}: {error}")
        runs.setdefault(name, []).append(Path(folder))
    for name in [name for name in wanted if name not in runs]:
        for seed in range(given.seeds if name.endswith(REWARDS["linear"]) else 1):
            folder = trained(given.out, name, seed, given.minutes, given.set)
            runs.setdefault(name, []).append(folder)
            print(f"{name}={folder}", flush=True)

    if given.losses is not None:
        given.losses.parent.mkdir(parents=True, exist_ok=True)
        losses(runs).savefig(given.losses, dpi=150)
    matches = Matches(game, given.deals, given.out / "matches.jsonl", runs)
    tell(matches)
    print(f"\nA decision, published {PUBLISHED_MS} ms:")
    for name in runs:
        print(f"{name} {decision_ms(game, matches.players[name][0][0]):.2f} ms")


def tell(matches: Matches) -> None:
    """Print the published tables, and that of our own setting if there is a run of it."""
    print("\nSmall bets a hand (1 is 1,000 mbb/hand), with 95 % intervals.")
    heads = " | ".join(f"{reward} reward" for reward in REWARDS)
    for title, rows in TABLES.items():
        print(f"\n{title}\n\n| candidate | five others | published | {heads} |")
        print("|---" * (3 + len(REWARDS)) + "|")
        for name, other, theirs in rows:
            figures = []
            for ending in REWARDS.values():
                five = other if other in EVERY_BOT else other + ending
                figures.append(matches.figure(name + ending, five))
            print(f"| {name} | {other} | {theirs} | {' | '.join(figures)} |", flush=True)
    ours = [name for name in OURS if name in matches.runs]
    if ours:
        print("\n6. PPO, our setting\n\n| candidate | five others | won |\n|---|---|---|")
    for name in ours:
        for bot in EVERY_BOT:
            print(f"| {name} | {bot} | {matches.figure(name, bot)} |", flush=True)


if __name__ == "__main__":
    main()
