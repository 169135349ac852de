"""Reproduce the published tables of APU on six-player hold'em.

    python scripts/reproduce_apu.py                            # sixteen runs of half a minute
    python scripts/reproduce_apu.py --minutes 60 --seeds 3 --deals 2000   # days; it may be stopped
    python scripts/reproduce_apu.py --only dual_apu_none dual_apu_none_linear
    python scripts/reproduce_apu.py apu=outputs/x dual_apu=outputs/y   # these two are not trained
    python scripts/reproduce_apu.py --losses docs/images/apu.png       # also draws curves of losses
    python scripts/reproduce_apu.py ppo_lhe_6p=outputs/z               # also evaluates a run of PPO

Each of the eight experiments is trained twice: with the published reward, and with a linear one in
the experiment `<experiment>_linear`, for which `--seeds` sets the number of seeds. Training ends
with the budget or after `--minutes`. Runs and match results are saved in a folder. If the command
is repeated, also with more minutes, seeds or deals, it resumes the runs and does only what is
missing. A resumed run keeps its settings.

A result is the winnings of one candidate against five others; each deal is played six times, with
the candidate in every seat. The 95 % interval of a result is over deals if there is one seed, else
over seeds by Student's t. If the candidate has six actors, the result is the mean over them; if the
opponent has six actors, five of them play. The bots of the publication are not available. Two kinds
of bots replace them: sound ones, and literal ones that randomize each decision as the publication
describes. So our results can only be compared roughly with the published ones.
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
from poker_rl.config.input_checks import ConfigError
from poker_rl.config.option_files import load_option
from poker_rl.evaluation.matches.duplicate_match import MIN_DEALS, compute_half_width, play_deals
from poker_rl.evaluation.plots.plotting import CurveLine, Panel, create_figure_and_axes, draw_panel
from poker_rl.evaluation.plots.run_curves import read_curves
from poker_rl.games.poker.fixed_limit_poker import FixedLimitPoker
from poker_rl.games.tables import Tables
from poker_rl.players.player import Player
from poker_rl.players.player_loader import load_players_of_snapshot, parse_trained_player_spec
from poker_rl.reports.seed_statistics import estimate_with_interval
from poker_rl.storage.run_files import METRICS_FILE, read_last_metrics_row, read_manifest

# The two bots that replace each published bot: a sound one and a literal one.
REPLACEMENT_BOTS = {
    "sklansky": ("sklansky", "sklansky_randomized"),
    "chen": ("chen", "chen_randomized"),
    "rules": ("rules", "rules_randomized"),
    "mcts": ("mcts", "mcts_few"),
}
EVERY_BOT = tuple(bot for both in REPLACEMENT_BOTS.values() for bot in both)
# Published winnings against the bots of the publication, in the order of REPLACEMENT_BOTS, in small
# bets per hand
PUBLISHED_AGAINST_BOTS = {
    "apu": (4.083, 0.957, 3.265, 3.895),
    "dual_apu": (1.833, 0.542, 2.167, 3.376),
    "apu_ctrl": (2.275, 0.676, 2.726, 1.303),
    "dual_apu_ctrl": (1.981, 0.607, 2.882, 1.804),
}
# For each table its rows: candidate, opponent, and the candidate's published winnings
TABLES: dict[str, list[tuple[str, str, float]]] = {
    "1. Against bots": [
        (name, bot, theirs)
        for name, results in PUBLISHED_AGAINST_BOTS.items()
        for both, theirs in zip(REPLACEMENT_BOTS.values(), results, strict=True)
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
    *PUBLISHED_AGAINST_BOTS,
    *(f"{name}_{history}" for name in ("apu", "dual_apu") for history in ("fc", "none")),
)
# Experiments with PPO that are evaluated if the user gives runs of them.
OURS = ("ppo_lhe_6p", "ppo_lhe_6p_fc", "ppo_lhe_6p_none")
REWARDS = {"published": "", "linear": "_linear"}  # suffix of the experiment's name by reward
PUBLISHED_MS = 7.3  # published milliseconds per decision
CPU = torch.device("cpu")


def train_experiment(
    out: Path, experiment: str, seed: int, minutes: float, extra_overrides: Sequence[str]
) -> Path:
    """Train for at most `minutes` in all, earlier commands included; return the run folder."""
    name = f"{experiment}_seed{seed}"
    folder = out / "limit_holdem_6p" / "apu" / name
    if folder.exists():
        overrides = [f"resume={folder}"]
        seconds_done = read_last_metrics_row(folder).get("time/elapsed_s", 0.0)
        if read_manifest(folder).get("status") == "finished":
            return folder
    else:
        overrides = [f"experiment={experiment}", f"seed={seed}", f"name={name}", f"outputs={out}"]
        # The runs play no matches, because this script plays them.
        overrides += ["evaluation.opponents=[]", "evaluation.earlier_self=false"]
        overrides += ["evaluate_every=600"]  # a row every 100 episodes, for the curves of losses
        overrides += ["figures=false", *extra_overrides]
        seconds_done = 0.0
    seconds_left = 60 * minutes - seconds_done
    if seconds_left > 0:
        program = "from poker_rl.cli import main; main()"
        with subprocess.Popen([sys.executable, "-c", program, "train", *overrides]) as process:
            try:
                process.wait(timeout=seconds_left)
            except subprocess.TimeoutExpired:
                process.terminate()  # the run then saves a checkpoint
    if not read_last_metrics_row(folder):
        sys.exit(f"{experiment} did not train")
    return folder


def get_newest_snapshot(folder: Path) -> Path:
    """Return the newest snapshot of a run."""
    return parse_trained_player_spec(str(folder))[0]


def load_actors(game: FixedLimitPoker, folder: Path) -> list[Player]:
    """Return the actors (one or six) of the first player in a run's newest snapshot."""
    player = next(iter(load_players_of_snapshot(get_newest_snapshot(folder), game, CPU).values()))
    return [player.select_instance(k) for k in range(player.instance_count)]


def measure_winnings_with_interval(
    game: FixedLimitPoker, candidates: Sequence[Player], others: Sequence[Player], deals: int
) -> tuple[float, float]:
    """Return the candidates' mean winnings in small bets per hand, and half the 95 % interval.

    Each candidate plays against five of the others. The interval is over deals.
    """
    rest = game.seats - 1
    blocks = []
    for k, candidate in enumerate(candidates):
        five = [others[(k + 1 + i) % len(others)] for i in range(rest)]
        blocks.append(play_deals(game, [candidate, *five], deals, seed=0)[:, 0] / game.unit_chips)
    mean = np.mean(blocks, axis=0)  # [deals]
    return float(mean.mean()), compute_half_width(mean)


@dataclass
class Matches:
    """Players and the results of their matches, which are saved in a file.

    Attributes:
        runs: run folders of each experiment, one for each seed.
        players: for each experiment or bot, the list of its actors for each seed.
        saved: mean winnings and half their 95 % interval by match.
    """

    game: FixedLimitPoker
    deals: int
    results_file: Path
    runs: dict[str, list[Path]]
    players: dict[str, list[list[Player]]] = field(default_factory=dict)
    saved: dict[str, list[float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Load the players and the saved results."""
        for bot in EVERY_BOT:
            self.players[bot] = [
                [build(load_option("player", bot), bot, game=self.game, device=CPU)]
            ]
        for name, folders in self.runs.items():
            self.players[name] = [load_actors(self.game, folder) for folder in folders]
        if self.results_file.exists():
            for line in self.results_file.read_text().splitlines():
                self.saved |= json.loads(line)

    def format_winnings(self, name: str, other: str) -> str:
        """Format the winnings of `name` against five of `other`; a dash if a player is missing."""
        if name not in self.players or other not in self.players:
            return "-"
        seeds = [self._measure_seed(name, other, seed) for seed in range(len(self.players[name]))]
        mean, _, high = estimate_with_interval([won for won, _ in seeds])
        half_width = seeds[0][1] if high is None else high - mean
        return f"{mean:+.3f} ± {half_width:.3f}"

    def _measure_seed(self, name: str, other: str, seed: int) -> tuple[float, float]:
        """Return mean winnings and half their interval for a seed; play if they are not saved."""
        index = seed % len(self.players[other])
        five = str(get_newest_snapshot(self.runs[other][index])) if other in self.runs else other
        key = f"{get_newest_snapshot(self.runs[name][seed])} against {five}, {self.deals} deals"
        if key not in self.saved:
            found = measure_winnings_with_interval(
                self.game, self.players[name][seed], self.players[other][index], self.deals
            )
            self.saved[key] = list(found)
            self.results_file.parent.mkdir(parents=True, exist_ok=True)
            with self.results_file.open("a") as file:
                file.write(json.dumps({key: found}) + "\n")
        won, half_width = self.saved[key]
        return won, half_width


def measure_decision_ms(game: FixedLimitPoker, player: Player, count: int = 200) -> float:
    """Return the mean time that a player takes for a decision, in milliseconds."""
    tables = Tables(game, count, 0)
    tables.deal()
    for _ in range(8):
        tables.step(np.ones(count, np.int64))
    player.action_probs(tables.records[:1])
    start = perf_counter()
    for i in range(count):
        player.action_probs(tables.records[i : i + 1])
    return 1000 * (perf_counter() - start) / count


def draw_training_losses(runs: Mapping[str, Sequence[Path]]) -> Figure:
    """Draw the losses over episodes of actor and critic, for APU, Dual-APU and their controls."""
    figure, axes = create_figure_and_axes(4, columns=2, size=(9, 6.4))
    pairs = [(name, loss) for name in ("apu", "dual_apu") for loss in ("actor", "critic")]
    for (name, loss), ax in zip(pairs, axes, strict=True):
        lines = []
        for one in (name, f"{name}_ctrl"):
            curves = read_curves(runs[one][0] / METRICS_FILE) if one in runs else {}
            if f"loss/{loss}" in curves:
                lines.append(CurveLine(one, curves["hands"] / 6, curves[f"loss/{loss}"]))
        draw_panel(ax, Panel(f"{name}: {loss} loss", lines, "loss"), "episodes")
    return figure


def main(words: Sequence[str] | None = None) -> None:
    """Train the experiments, play the matches and print the tables.

    `words` are the arguments of the script; None for those of the process.
    """
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", nargs="*", metavar="EXPERIMENT=RUN", help="trained before")
    parser.add_argument("--minutes", type=float, default=0.5, help="to train each of the others")
    parser.add_argument("--seeds", type=int, default=1, help="of each linear experiment")
    parser.add_argument("--deals", type=int, default=200, help="of each match, six hands each")
    parser.add_argument("--only", nargs="*", metavar="EXPERIMENT", help="to train no others")
    parser.add_argument("--out", type=Path, default=Path("outputs/reproduce_apu"), metavar="FOLDER")
    parser.add_argument("--set", nargs="*", default=[], metavar="KEY=VALUE", help="in training")
    parser.add_argument("--losses", type=Path, metavar="PNG", help="draw the curves of losses")
    arguments = parser.parse_args(words)
    every = [name + ending for ending in REWARDS.values() for name in EXPERIMENTS]
    for flag, least in (("deals", MIN_DEALS), ("seeds", 1)):
        if getattr(arguments, flag) < least:
            parser.error(f"--{flag} {getattr(arguments, flag)}: at least {least}")
    wanted = every if arguments.only is None else arguments.only
    for name in wanted:
        if name not in every:
            parser.error(f"--only {name}: allowed: {', '.join(every)}")
    torch.set_num_threads(1)
    game: FixedLimitPoker = build(load_option("game", "limit_holdem_6p"), "game")
    runs: dict[str, list[Path]] = {}
    for word in arguments.runs:
        name, equals, folder = word.partition("=")
        if not equals or name not in (*every, *OURS):
            allowed = ", ".join((*every, *OURS))
            parser.error(f"{word}: write EXPERIMENT=RUN; allowed: {allowed}")
        try:
            load_actors(game, Path(folder))
        except ConfigError as error:
            parser.error(f"{word}: {error}")
        runs.setdefault(name, []).append(Path(folder))
    for name in [name for name in wanted if name not in runs]:
        for seed in range(arguments.seeds if name.endswith(REWARDS["linear"]) else 1):
            folder = train_experiment(arguments.out, name, seed, arguments.minutes, arguments.set)
            runs.setdefault(name, []).append(folder)
            print(f"{name}={folder}", flush=True)

    if arguments.losses is not None:
        arguments.losses.parent.mkdir(parents=True, exist_ok=True)
        draw_training_losses(runs).savefig(arguments.losses, dpi=150)
    matches = Matches(game, arguments.deals, arguments.out / "matches.jsonl", runs)
    print_tables(matches)
    print(f"\nA decision, published {PUBLISHED_MS} ms:")
    for name in runs:
        print(f"{name} {measure_decision_ms(game, matches.players[name][0][0]):.2f} ms")


def print_tables(matches: Matches) -> None:
    """Print the published tables with our results, and a table of PPO if runs of it were given."""
    print("\nSmall bets a hand (1 is 1,000 mbb/hand), with 95 % intervals.")
    heads = " | ".join(f"{reward} reward" for reward in REWARDS)
    for title, rows in TABLES.items():
        print(f"\n{title}\n\n| candidate | five others | published | {heads} |")
        print("|---" * (3 + len(REWARDS)) + "|")
        for name, other, theirs in rows:
            figures = []
            for ending in REWARDS.values():
                five = other if other in EVERY_BOT else other + ending
                figures.append(matches.format_winnings(name + ending, five))
            print(f"| {name} | {other} | {theirs} | {' | '.join(figures)} |", flush=True)
    ours = [name for name in OURS if name in matches.runs]
    if ours:
        print("\n6. PPO, our setting\n\n| candidate | five others | won |\n|---|---|---|")
    for name in ours:
        for bot in EVERY_BOT:
            print(f"| {name} | {bot} | {matches.format_winnings(name, bot)} |", flush=True)


if __name__ == "__main__":
    main()
