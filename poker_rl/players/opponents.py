"""Players from elsewhere that a run takes along, so that it needs nothing but its own folder.

A run that meets the player of another run, or a bot given as a file of settings, keeps a copy of
that file in its own folder, and its config names the copy:

    opponents/ppo_2026-11-21_04-45-20.510127@300000.pt:average
    opponents/mcts_1000.yaml
"""

from __future__ import annotations

import filecmp
import re
from collections.abc import Collection
from itertools import chain, count
from pathlib import Path

from poker_rl.config.settings import Refused
from poker_rl.players.load import bot_of, in_run, resolve

OPPONENTS = "opponents"


class Opponents:
    """The copies in a run's folder, and those yet to be made.

    Args:
        run: the run's folder; None if there is none yet.
        named: what the run's config names already, which stays as it is.

    Attributes:
        files: what is to be copied: the place in the run's folder, and where the file lies now.
    """

    def __init__(self, run: Path | None = None, named: Collection[str] = ()) -> None:
        self.files: dict[str, Path] = {}
        self._run, self._named = run, named

    def take(self, spec: str) -> str:
        """Take along what a user named; the words by which the run's config names it.

        Raises:
            Refused: if there is no such file, or it holds no players.
        """
        if spec in self._named or self.locate(spec) != spec:
            return spec
        if (bot := bot_of(spec)) is not None:
            if not bot.endswith(".yaml"):
                return spec
            path, player = Path(bot), spec.removeprefix(bot)
        else:
            path, name = resolve(spec)
            player = f":{name}"
        if not path.is_file():
            raise Refused(f"{spec}: no such file")
        run = path.resolve().parent.parent
        of_run = f"{run.parent.name}_{run.name}@" if in_run(path) else ""
        place = self._place(path, re.sub(r"[^\w.@+-]", "_", f"{of_run}{path.stem}"))
        self.files[place] = path
        return place + player

    def locate(self, spec: str) -> str:
        """Where a player that the run's config names lies now."""
        place, colon, player = spec.partition(":")
        path = self._path(place) if place.startswith(f"{OPPONENTS}/") else None
        return spec if path is None else f"{path}{colon}{player}"

    def _path(self, place: str) -> Path | None:
        if place in self.files:
            return self.files[place]
        inside = None if self._run is None else self._run / place
        return inside if inside is not None and inside.is_file() else None

    def _place(self, path: Path, stem: str) -> str:
        """Its place in the run's folder: a number is added if another file has the name."""
        ends = chain([""], (f"_{number}" for number in count(2)))
        for place in (f"{OPPONENTS}/{stem}{end}{path.suffix}" for end in ends):
            there = self._path(place)
            if there is None or filecmp.cmp(there, path, shallow=False):
                break
        return place
