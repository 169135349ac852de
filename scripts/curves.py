"""Final figures and curves of runs that differ by their seed: mean, 95 % interval, picture.

    python scripts/curves.py docs/images/leduc.png PPO='outputs/leduc/ppo/*' ours=outputs/x,y/z

Each NAME=RUN,RUN is a curve: the mean of `--tag` over its runs at each decision count, and the
range between the lowest and the highest. A RUN may be a pattern such as `outputs/*/ppo/*`, and a
word without NAME= is another run of the name before it. The table has the final row of every
exploitability, the mean over the runs with Student's 95 % interval, and how long the runs took.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from glob import glob
from pathlib import Path

import numpy as np

from poker_rl.config.settings import Refused
from poker_rl.evaluation.drawing import DPI, Line, canvas, draw, footnote, label
from poker_rl.evaluation.figures import read
from poker_rl.storage.folder import METRICS, read_folder


def student(freedom: int, share: float = 0.975) -> float:
    """The quantile of Student's t distribution.

    With x = sqrt(freedom) tan(angle) the density is that of the angle, cos(angle)^(freedom - 1), up
    to a factor; its sum over a fine grid is good to six digits.
    """
    angles, step = np.linspace(-np.pi / 2, np.pi / 2, 1_000_001, retstep=True)
    middles = angles[:-1] + step / 2
    below = np.cumsum(np.cos(middles) ** (freedom - 1))
    angle = np.interp(share, below / below[-1], angles[1:])
    return float(np.sqrt(freedom) * np.tan(angle))


def interval(values: np.ndarray) -> float:
    """Half width of the 95 % interval of a mean, by Student's t."""
    return student(len(values) - 1) * float(values.std(ddof=1)) / len(values) ** 0.5


def minutes(folder: Path) -> float:
    """Wall time of a run, figures included."""
    manifest = read_folder(folder)[1]
    start, end = (datetime.fromisoformat(manifest[key]) for key in ("start", "end"))
    return (end - start).total_seconds() / 60


def runs_of(words: Sequence[str]) -> dict[str, list[Path]]:
    """The run folders of each curve.

    Raises:
        Refused: if a word names none.
    """
    runs: dict[str, list[Path]] = defaultdict(list)
    name = ""
    for word in words:
        first, equals, rest = word.partition("=")
        name, paths = (first, rest) if equals else (name, word)
        if not name:
            raise Refused(f"{word}: write NAME=RUN")
        for path in paths.split(","):
            found = [Path(one) for one in sorted(glob(path))]
            if not found:
                raise Refused(f"{word}: there is no {path}")
            for folder in found:
                read_folder(folder)
            runs[name] += found
    return runs


def curve(name: str, folders: Sequence[Path], tag: str) -> Line:
    """Mean and range of a tag over runs; prints the final row of every exploitability.

    Raises:
        Refused: if a run does not record the tag.
    """
    columns = [read(folder / METRICS) for folder in folders]
    for folder, column in zip(folders, columns, strict=True):
        if tag not in column:
            told = ", ".join(one for one in column if one.startswith("eval/"))
            raise Refused(f"--tag {tag}: not recorded by {folder}; allowed: {told}")
    length = min(len(column[tag]) for column in columns)
    values = np.array([column[tag][:length] for column in columns])  # [seeds, rows]
    steps = np.mean([column["decisions"][:length] for column in columns], axis=0)
    for one in sorted(columns[0]):
        if one.startswith("eval/") and one.endswith("exploitability"):
            final = np.array([column[one][-1] for column in columns])
            spread = f" ± {interval(final):.4f}" if len(final) > 1 else ""
            each = " ".join(f"{value:.4f}" for value in final)
            print(f"{name:24} {one:44} {final.mean():.4f}{spread}  ({each})")
    took = " ".join(f"{minutes(folder):.1f}" for folder in folders)
    print(f"{name:24} {steps[-1]:,.0f} decisions in {took} minutes")
    band = (("lowest to highest run", values.min(0), values.max(0)),)
    return Line(f"{name} ({len(folders)})", steps, values.mean(0), band, name)


def main(words: Sequence[str] | None = None) -> None:
    """Print the table and draw the picture; `words` are those of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("picture", type=Path)
    parser.add_argument("curves", nargs="+", metavar="NAME=RUN,RUN")
    parser.add_argument("--tag", default="eval/weight_average/exploitability")
    parser.add_argument("--title", default="")
    given = parser.parse_args(words)
    try:
        runs = runs_of(given.curves)
        lines = [curve(name, folders, given.tag) for name, folders in runs.items()]
    except Refused as error:
        parser.error(str(error))
    figure, (ax,) = canvas(7.5, 4.5)
    draw(ax, lines, log=True)
    first = read_folder(next(iter(runs.values()))[0])[1]["measurements"][given.tag]
    label(ax, given.title, "decisions", f"{given.tag.removeprefix('eval/')} ({first['unit']})")
    footnote(figure, f"{first['kind']}; mean over so many runs; shaded: lowest to highest run")
    for name, folders in runs.items():
        told = [read_folder(folder)[0] for folder in folders]
        games = dict.fromkeys(cfg["names"]["game"] for cfg in told)
        seeds = ", ".join(str(cfg["seed"]) for cfg in told)
        footnote(
            figure, f"{name}: {', '.join(games)}, seed {seeds}, {', '.join(map(str, folders))}"
        )
    given.picture.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(given.picture, dpi=DPI)


if __name__ == "__main__":
    main()
