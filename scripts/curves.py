"""Final figures and curves of runs that differ by their seed: mean, 95 % interval, picture.

    python scripts/curves.py docs/images/leduc.png PPO=outputs/leduc/ppo/* ours=outputs/x,outputs/y

Each NAME=RUN,RUN is a curve: the mean of `--tag` over its runs at each decision count, and the
range between the lowest and the highest. A word without NAME= is another run of the name before
it, as when a shell expands `*`. The table has the final row of every exploitability, the mean
over the runs with Student's 95 % interval, and how long the runs took.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from datetime import datetime
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from scipy.stats import t

from poker_rl.evaluation.figures import COLOURS, read, style


def interval(values: np.ndarray) -> float:
    """Half width of the 95 % interval of a mean, by Student's t."""
    return float(t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values)))


def minutes(folder: Path) -> float:
    """Wall time of a run, figures included."""
    manifest = json.loads((folder / "manifest.json").read_text())
    start, end = (datetime.fromisoformat(manifest[key]) for key in ("start", "end"))
    return (end - start).total_seconds() / 60


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("picture", type=Path)
    parser.add_argument("curves", nargs="+", metavar="NAME=RUN,RUN")
    parser.add_argument("--tag", default="eval/weight_average/exploitability")
    parser.add_argument("--title", default="")
    given = parser.parse_args()
    runs: dict[str, list[Path]] = defaultdict(list)
    name = ""
    for word in given.curves:
        first, equals, rest = word.partition("=")
        name, paths = (first, rest) if equals else (name, word)
        runs[name] += [Path(path) for path in paths.split(",")]

    figure = Figure(figsize=(7.5, 4.5), layout="constrained")
    ax = figure.subplots()
    style(ax)
    for colour, (name, folders) in zip(COLOURS, runs.items(), strict=False):
        columns = [read(folder / "metrics.jsonl") for folder in folders]
        length = min(len(column[given.tag]) for column in columns)
        curves = np.array([column[given.tag][:length] for column in columns])  # [seeds, rows]
        steps = np.mean([column["decisions"][:length] for column in columns], axis=0)
        shown = steps > 0
        ax.plot(steps[shown], curves.mean(0)[shown], color=colour, label=f"{name} ({len(folders)})")
        low, high = curves.min(0)[shown], curves.max(0)[shown]
        ax.fill_between(steps[shown], low, high, color=colour, alpha=0.2, linewidth=0)

        for tag in sorted(columns[0]):
            if tag.startswith("eval/") and tag.endswith("exploitability"):
                final = np.array([column[tag][-1] for column in columns])
                spread = f" ± {interval(final):.4f}" if len(final) > 1 else ""
                each = " ".join(f"{value:.4f}" for value in final)
                print(f"{name:24} {tag:44} {final.mean():.4f}{spread}  ({each})")
        took = " ".join(f"{minutes(folder):.1f}" for folder in folders)
        print(f"{name:24} {steps[-1]:,.0f} decisions in {took} minutes")
    ax.set(xscale="log", yscale="log", xlabel="decisions", ylabel="exploitability (antes a hand)")
    ax.set_title(given.title, loc="left", fontsize=11)
    ax.legend(frameon=False, title="mean and range (runs)", alignment="left")
    given.picture.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(given.picture, dpi=150)


if __name__ == "__main__":
    main()
