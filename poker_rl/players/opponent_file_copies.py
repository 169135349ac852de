"""Copies of opponents' files in the folder of a run, which make the folder self-contained.

If a run's opponent is a player of another run, or a bot given by a YAML file, then the run keeps a
copy of the snapshot or YAML file in its own folder, and its config names the copy:

    opponents/ppo_2026-11-21_04-45-20.510127@300000.pt:average
    opponents/mcts_1000.yaml

The file of the player that a search bot names in its setting `policy` is not copied.
"""

from __future__ import annotations

import filecmp
import re
from collections.abc import Collection
from itertools import chain, count
from pathlib import Path

from poker_rl.config.input_checks import ConfigError
from poker_rl.players.player_loader import find_bot_name, is_run_snapshot, resolve_file_and_player

OPPONENTS_FOLDER = "opponents"


class OpponentFileCopies:
    """Copies of opponents' files in a run's folder: those that exist, and those to be made.

    `run_folder` is None before the folder exists. If a run is resumed, `specs_in_config` are the
    opponents' specs in its config; the files of these opponents are not copied again.
    """

    def __init__(
        self, run_folder: Path | None = None, specs_in_config: Collection[str] = ()
    ) -> None:
        # Files that are still to be copied. A key is the path of the copy within the run's folder.
        self.files_to_copy: dict[str, Path] = {}
        self._run_folder, self._specs_in_config = run_folder, specs_in_config

    def plan_copy(self, spec: str) -> str:
        """Plan to copy the file that a spec names, if any; return the spec for the run's config.

        In the returned spec, the path of the copy replaces that of the file. Raise ConfigError if
        there is no such file.
        """
        if spec in self._specs_in_config or self.resolve_bundled_path(spec) != spec:
            return spec
        if (bot_name := find_bot_name(spec)) is not None:
            if not bot_name.endswith(".yaml"):
                return spec
            path, player_suffix = Path(bot_name), spec.removeprefix(bot_name)
        else:
            path, name = resolve_file_and_player(spec)
            player_suffix = f":{name}"
        if not path.is_file():
            raise ConfigError(f"{spec}: no such file")
        source_run = path.resolve().parent.parent
        run_prefix = f"{source_run.parent.name}_{source_run.name}@" if is_run_snapshot(path) else ""
        stem = re.sub(r"[^\w.@+-]", "_", f"{run_prefix}{path.stem}")
        for suffix in chain([""], (f"_{number}" for number in count(2))):
            bundled_path = f"{OPPONENTS_FOLDER}/{stem}{suffix}{path.suffix}"
            existing_file = self._find_file(bundled_path)
            if existing_file is None or filecmp.cmp(existing_file, path, shallow=False):
                break  # else a different file has this path, so try the next number
        self.files_to_copy[bundled_path] = path
        return bundled_path + player_suffix

    def resolve_bundled_path(self, spec: str) -> str:
        """Replace the path of a copy in a spec by the path of a file that can be read.

        This file is the copy in the run's folder or, if the copy is only planned, the original. A
        spec without the path of a copy is returned unchanged.
        """
        bundled_path, colon, player = spec.partition(":")
        is_bundled = bundled_path.startswith(f"{OPPONENTS_FOLDER}/")
        path = self._find_file(bundled_path) if is_bundled else None
        return spec if path is None else f"{path}{colon}{player}"

    def _find_file(self, bundled_path: str) -> Path | None:
        if bundled_path in self.files_to_copy or self._run_folder is None:
            return self.files_to_copy.get(bundled_path)
        path = self._run_folder / bundled_path
        return path if path.is_file() else None
