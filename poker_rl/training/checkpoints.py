"""Checkpoints of a run: state.pt, the players' snapshots and the parts of other processes.

What is the same in all processes of a run, networks and counters, is in `state.pt`, with what rank
0 has of its own, tables and memories. Every other rank saves its own part in
`workers/<decisions>_<rank>.pt` before `state.pt` is replaced, so at any moment there is a whole
checkpoint: the one at the decisions that `state.pt` names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from poker_rl.algos.algorithm import Algorithm
from poker_rl.config.settings import Refused
from poker_rl.games.game import Game
from poker_rl.learning import processes
from poker_rl.storage import checkpoint
from poker_rl.training.record import RunRecord
from poker_rl.training.run_config import RESUME_RULE, first_difference, fixed_settings

WORKERS = "workers"
STATE = checkpoint.STATE
MAX_COUNTER = 2**64  # that no counter reaches


class DivergedError(Refused):
    """A metric or a weight is not finite; the last good checkpoint is kept."""


class Checkpoints:
    """Save and restore one run in its folder.

    Attributes:
        saved: the counters at the last checkpoint; None if there is none.
        regular: decisions at the checkpoints that every run of this config makes. Those at a stop
            are not among them: matches against earlier snapshots must not depend on stops.
    """

    def __init__(
        self, folder: Path, config: Mapping[str, Any], game: Game, algorithm: Algorithm
    ) -> None:
        self.folder, self.game, self.algorithm = folder, game, algorithm
        self.settings, self.names = fixed_settings(config), dict(config["names"])
        self.saved: dict[str, int] | None = None
        self.regular: list[int] = []

    def save(
        self,
        record: RunRecord | None,
        record_state: Mapping[str, Any] | None = None,
        regular: bool = False,
    ) -> None:
        """Write a checkpoint, unless there is one of this moment.

        Args:
            record: of rank 0; None in every other process.
            record_state: its state, if not the present one.
            regular: the checkpoint is due, and not made by a stop.

        Raises:
            DivergedError: if a tensor of the algorithm is not finite.
        """
        progress = asdict(self.algorithm.progress)
        if self.saved == progress:
            return
        if regular:
            self.regular.append(progress["decisions"])
        if record is None:
            own, _ = split_state(self.algorithm.state_dict(), self.algorithm.own)  # type: ignore[attr-defined]
            path = worker_part(self.folder, progress["decisions"], processes.rank())
            path.parent.mkdir(exist_ok=True)
            checkpoint.save(path, checkpoint.compact(own))
            processes.meet()
        else:
            self._save_main(record, dict(record_state or record.state_dict()), progress)
            record.write_manifest(checkpoint=progress)
        self.saved = progress

    def _save_main(
        self, record: RunRecord, record_state: dict[str, Any], progress: dict[str, int]
    ) -> None:
        state = self.algorithm.state_dict()
        for name in checkpoint.not_finite(state):
            raise self.diverged(f"{name} of the algorithm's state is not finite")
        game = self.game.state()
        players = {name: player.state() for name, player in self.algorithm.players().items()}
        record.sync()
        self.check_files(record)
        processes.meet()  # the other processes have saved their parts
        decisions = progress["decisions"]
        checkpoint.save_snapshot(self.folder, decisions, {"game": game, "players": players})
        checkpoint.save(
            self.folder / STATE,
            {
                "names": self.names,
                "settings": self.settings,
                "game": game,
                "progress": progress,
                "algorithm": state,
                "record": record_state,
                "regular": list(self.regular),
            },
        )
        remove_other_parts(self.folder, decisions)

    def check_files(self, record: RunRecord) -> None:
        """Check that nobody removed what the run has saved so far.

        Raises:
            OSError: naming the file or the folder.
        """
        record.check_files()
        if self.saved is not None:
            (self.folder / STATE).stat()
            for rank in range(1, processes.count()):
                worker_part(self.folder, self.saved["decisions"], rank).stat()

    def diverged(self, what: str) -> DivergedError:
        """Return the error for a value that is not finite; it names the last good checkpoint."""
        known = "there was no checkpoint yet"
        if self.saved is not None:
            path = self.folder / STATE
            known = f"the last good checkpoint is {path} ({self.saved['decisions']:,} decisions)"
        decisions = self.algorithm.progress.decisions
        return DivergedError(f"{what} after {decisions:,} decisions; {known}")

    def snapshot_before(self, decisions: int) -> Path | None:
        """Return the newest regular snapshot at most so many decisions old; None without any."""
        regular = [one for one in self.regular if one <= decisions]
        paths = [path for path in checkpoint.snapshots(self.folder) if int(path.stem) in regular]
        return paths[-1] if paths else None  # a user may have deleted some

    def restore(self, record: RunRecord, has_checkpoint: bool) -> None:
        """Load the last checkpoint into the algorithm and the record of rank 0.

        Args:
            has_checkpoint: whether the manifest names one.

        Raises:
            Refused: if the checkpoint is damaged or belongs to another run.
        """
        path = self.folder / STATE
        if not has_checkpoint and not path.exists():
            return  # killed before the first one
        state = checkpoint.load_state(path)
        if state["names"] != self.names or state["game"] != self.game.state():
            raise Refused(f"{path} is the checkpoint of another game or algorithm")
        if key := first_difference(self.settings, state.get("settings")):
            config = self.folder / "config.yaml"
            raise Refused(
                f"{key}: {config} is not what {path.name} was trained with; {RESUME_RULE}"
            )
        for rank in range(1, processes.count()):
            part = worker_part(self.folder, state["progress"].get("decisions"), rank)
            if not part.exists():
                raise Refused(f"{part}: no such file")
        for name in checkpoint.not_finite(state["algorithm"]):
            raise Refused(f"{path} can't be trained on: {name} is not finite")
        check_kinds(
            state, {"algorithm": self.algorithm.state_dict(), "record": record.state_dict()}, path
        )
        try:
            self.algorithm.load_state_dict(state["algorithm"])
        except checkpoint.MISFITS as error:
            why = str(error).partition("\n")[0]
            raise Refused(f"{path} does not fit the settings of this run: {why}") from error
        if asdict(self.algorithm.progress) != state["progress"]:
            raise Refused(f"{path}: its progress is not that of {self.names['algo']} in it")
        record.load_state_dict(state["record"])
        self.saved = record.manifest["checkpoint"] = state["progress"]
        self.regular = list(state["regular"])

    def join(self) -> None:
        """Give all processes of a run the state of rank 0, and what is each one's own.

        Raises:
            Refused: if the run resumes and the part of this process is missing or does not fit.
        """
        if processes.count() == 1:
            return
        folder, self.saved = processes.from_first((str(self.folder.resolve()), self.saved))
        self.folder = Path(folder)
        own, shared = split_state(self.algorithm.state_dict(), self.algorithm.own)  # type: ignore[attr-defined]
        shared = processes.from_first(checkpoint.compact(shared))
        if not processes.first():
            if self.saved is not None:
                path = worker_part(self.folder, self.saved["decisions"], processes.rank())
                saved = checkpoint.load(path)
                check_kinds({"algorithm": saved}, {"algorithm": own}, path)
                own = saved
            try:
                self.algorithm.load_state_dict(merge_states(shared, own))
            except checkpoint.MISFITS as error:
                why = str(error).partition("\n")[0]
                message = f"{self.folder} does not fit the settings of this run: {why}"
                raise Refused(message) from error
        processes.meet()


def check_kinds(state: Mapping[str, Any], expected: Mapping[str, Any], path: Path) -> None:
    """Check that a checkpoint's parts have every value of a new run's, each of the same kind.

    Raises:
        Refused: naming the first that is missing or of another kind.
    """
    for part, values in expected.items():
        missing = [f"{part}.{key}" for key in values if key not in state[part]]
        if missing:
            raise Refused(f"{path} does not fit the settings of this run: {missing[0]} is missing")
        if wrong := first_misfit(state[part], values, part):
            raise Refused(
                f"{path} does not fit the settings of this run: {wrong} is of another kind,"
                " or out of range"
            )


def first_misfit(found: Any, expected: Any, key: str) -> str | None:
    """Return the dotted path of the first value of another kind than expected; None if all fit.

    A kind is that of a plain value, or a tensor's data type. What only one side has is not
    compared: it may appear later, as an optimiser's moments do. Integers count something, and are
    not below 0; generators, whose numbers are larger, check their own.
    """
    if expected is None:
        return None
    if isinstance(found, dict) and isinstance(expected, dict):
        pairs = [(name, found[name], expected[name]) for name in expected if name in found]
    elif isinstance(found, list | tuple) and isinstance(expected, list | tuple):
        pairs = [(n, *both) for n, both in enumerate(zip(found, expected, strict=False))]
    elif isinstance(found, torch.Tensor) and isinstance(expected, torch.Tensor):
        return None if found.dtype == expected.dtype else key
    elif isinstance(expected, float) and type(found) is int:
        return None
    elif type(found) is type(expected) is int:
        fits = 0 <= found < MAX_COUNTER or found == expected or expected >= MAX_COUNTER
        return None if fits else key
    else:
        return None if type(found) is type(expected) else key
    for name, one, other in pairs:
        if wrong := first_misfit(one, other, f"{key}.{name}"):
            return wrong
    return None


def worker_part(folder: Path, decisions: int, rank: int) -> Path:
    """Return the file of what a rank above 0 has of its own at a checkpoint."""
    return folder / WORKERS / f"{decisions}_{rank}.pt"


def remove_other_parts(folder: Path, decisions: int) -> None:
    """Remove the parts, complete or not, of other checkpoints than that at these decisions."""
    for path in (folder / WORKERS).glob("*_*.pt*"):
        if path.name.partition("_")[0] != str(decisions):
            path.unlink(missing_ok=True)


def split_state(
    state: Mapping[str, Any], names: tuple[str, ...]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the parts of a state that have one of these names, at any depth, and all others."""
    own: dict[str, Any] = {}
    rest: dict[str, Any] = {}
    for name, part in state.items():
        if name in names:
            own[name] = part
        elif isinstance(part, dict):
            inner, rest[name] = split_state(part, names)
            if inner:
                own[name] = inner
        else:
            rest[name] = part
    return own, rest


def merge_states(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """Undo `split_state`."""
    both = one | other
    return both | {name: merge_states(one[name], other[name]) for name in one.keys() & other.keys()}
