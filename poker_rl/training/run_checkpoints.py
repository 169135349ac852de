"""Checkpoints of a run: state.pt, the players' snapshots and the parts of other processes.

`state.pt` contains everything that is equal in all processes of a run, such as networks and
counters, and the tables and buffers of rank 0. Every other rank saves its own tables and buffers in
`workers/<decisions>_<rank>.pt` before `state.pt` is replaced. So there is a complete checkpoint at
any moment: the one at the decisions that `state.pt` contains.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from poker_rl.algos.algorithm import Algorithm
from poker_rl.config.validation import ConfigError
from poker_rl.games.game import Game
from poker_rl.learning.distributed import collectives
from poker_rl.storage import checkpoint
from poker_rl.training.run_config import RESUME_RULE, find_difference, select_fixed_settings
from poker_rl.training.run_record import RunRecord

WORKERS_FOLDER = "workers"
MAX_COUNTER = 2**64


class DivergedError(ConfigError):
    """Error raised if a metric or a weight is not finite; the last good checkpoint is kept."""


class Checkpoints:
    """Save and restore one run in its folder.

    Attributes:
        last_progress: the counters at the last checkpoint; None if there is none.
        regular_steps: decisions at the checkpoints at regular intervals. Those at a stop are
            excluded, since matches against earlier snapshots must not depend on stops.
    """

    def __init__(
        self, folder: Path, config: Mapping[str, Any], game: Game, algorithm: Algorithm
    ) -> None:
        self.folder, self.game, self.algorithm = folder, game, algorithm
        self.settings, self.names = select_fixed_settings(config), dict(config["names"])
        self.last_progress: dict[str, int] | None = None
        self.regular_steps: list[int] = []

    @property
    def path(self) -> Path:
        """Path of state.pt."""
        return self.folder / checkpoint.STATE_FILE

    def save(
        self,
        record: RunRecord | None,
        record_state: Mapping[str, Any] | None = None,
        is_regular: bool = False,
    ) -> None:
        """Save a checkpoint, unless nothing was learned since the last one.

        Args:
            record: the record of rank 0; None in other processes.
            record_state: state of the record to save; None for its present state.
            is_regular: whether `checkpoint_every` demands it, rather than a stop or the end.
        """
        progress = asdict(self.algorithm.progress)
        if self.last_progress == progress:
            return
        if is_regular:
            self.regular_steps.append(progress["decisions"])
        if record is None:
            own, _ = split_state(self.algorithm.state_dict(), self.algorithm.per_process_parts)  # type: ignore[attr-defined]
            path = get_worker_path(self.folder, progress["decisions"], collectives.get_rank())
            path.parent.mkdir(exist_ok=True)
            checkpoint.save_atomically(path, checkpoint.copy_to_cpu(own))
            collectives.wait_for_all_processes()
        else:
            self._save_main(record, dict(record_state or record.state_dict()), progress)
            record.write_manifest(checkpoint=progress)
        self.last_progress = progress

    def _save_main(
        self, record: RunRecord, record_state: dict[str, Any], progress: dict[str, int]
    ) -> None:
        """Save the checkpoint of rank 0."""
        state = self.algorithm.state_dict()
        for name in checkpoint.find_non_finite_tensors(state):
            raise self.create_diverged_error(f"{name} of the algorithm's state is not finite")
        game = self.game.to_dict()
        players = {name: player.to_dict() for name, player in self.algorithm.players().items()}
        record.sync()
        collectives.wait_for_all_processes()  # until the other processes have saved their parts
        decisions = progress["decisions"]
        checkpoint.save_snapshot(self.folder, decisions, {"game": game, "players": players})
        checkpoint.save_atomically(
            self.path,
            {
                "names": self.names,
                "settings": self.settings,
                "game": game,
                "progress": progress,
                "algorithm": state,
                "record": record_state,
                "regular": list(self.regular_steps),
            },
        )
        remove_other_worker_checkpoints(self.folder, decisions)

    def create_diverged_error(self, problem: str) -> DivergedError:
        """Return the error for a value that is not finite; it names the last good checkpoint."""
        last = "there was no checkpoint yet"
        if self.last_progress is not None:
            at = f"{self.last_progress['decisions']:,} decisions"
            last = f"the last good checkpoint is {self.path} ({at})"
        decisions = self.algorithm.progress.decisions
        return DivergedError(f"{problem} after {decisions:,} decisions; {last}")

    def find_snapshot_before(self, decisions: int) -> Path | None:
        """Return the newest regular snapshot with at most `decisions` decisions, or None."""
        paths = [
            path
            for path in checkpoint.list_snapshots(self.folder)  # a user may have deleted some
            if int(path.stem) <= decisions and int(path.stem) in self.regular_steps
        ]
        return paths[-1] if paths else None

    def restore(self, record: RunRecord, has_checkpoint: bool) -> None:
        """Load the last checkpoint into the algorithm and the record of rank 0.

        Raises:
            ConfigError: if the checkpoint is damaged or belongs to another run.
        """
        path = self.path
        if not has_checkpoint and not path.exists():
            return  # the run was killed before its first checkpoint
        state = checkpoint.load_checked(path)
        with self._explain_misfit(path):
            if state["names"] != self.names or state["game"] != self.game.to_dict():
                raise ConfigError(f"{path} is the checkpoint of another game or algorithm")
            if key := find_difference(self.settings, state["settings"]):
                config = self.folder / "config.yaml"
                raise ConfigError(
                    f"{key}: {config} differs from the settings in {path.name}; {RESUME_RULE}"
                )
            progress = state["progress"]
            for rank in range(1, collectives.get_world_size()):
                part = get_worker_path(self.folder, progress["decisions"], rank)
                if not part.exists():
                    raise ConfigError(f"{part}: no such file")
            for name in checkpoint.find_non_finite_tensors(state["algorithm"]):
                raise ConfigError(f"{path} can't be trained on: {name} is not finite")
            new_state = {"algorithm": self.algorithm.state_dict(), "record": record.state_dict()}
            check_state_types(state, new_state, path)
            self.algorithm.load_state_dict(state["algorithm"])
            if asdict(self.algorithm.progress) != progress:
                raise ConfigError(f"{path}: its progress is not that of {self.names['algo']} in it")
            record.load_state_dict(state["record"])
            self.regular_steps = list(state["regular"])
        self.last_progress = record.manifest["checkpoint"] = progress

    def synchronize(self) -> None:
        """Copy rank 0's shared state to all processes; each also loads its own part of it."""
        if collectives.get_world_size() == 1:
            return
        folder, self.last_progress = collectives.broadcast_from_main(
            (str(self.folder.resolve()), self.last_progress)
        )
        self.folder = Path(folder)
        own, shared = split_state(self.algorithm.state_dict(), self.algorithm.per_process_parts)  # type: ignore[attr-defined]
        shared = collectives.broadcast_from_main(checkpoint.copy_to_cpu(shared))
        if not collectives.is_main_process():
            if self.last_progress is not None:
                path = get_worker_path(
                    self.folder, self.last_progress["decisions"], collectives.get_rank()
                )
                saved = checkpoint.load_checked(path)
                check_state_types({"algorithm": saved}, {"algorithm": own}, path)
                own = saved
            with self._explain_misfit(self.folder):
                self.algorithm.load_state_dict(merge_states(shared, own))
        collectives.wait_for_all_processes()

    @contextmanager
    def _explain_misfit(self, path: Path) -> Iterator[None]:
        """Turn errors of values that do not fit into a ConfigError that names `path`."""
        try:
            yield
        except checkpoint.LOAD_STATE_ERRORS as error:
            reason = str(error).partition("\n")[0]
            raise ConfigError(f"{path} does not fit the settings of this run: {reason}") from error


def check_state_types(state: Mapping[str, Any], expected: Mapping[str, Any], path: Path) -> None:
    """Check that a checkpoint has all values of `expected`, a new run's state, with equal types."""
    for part, values in expected.items():
        missing = [f"{part}.{key} is missing" for key in values if key not in state[part]]
        misfit = None if missing else find_misfit(state[part], values, part)
        if missing or misfit:
            problem = missing[0] if missing else f"{misfit} is of another type, or out of range"
            raise ConfigError(f"{path} does not fit the settings of this run: {problem}")


def find_misfit(found: Any, expected: Any, key: str) -> str | None:
    """Return the dotted key of the first value of another type than expected; None if all fit.

    Tensors are compared by their data type. Values on one side only are not compared, since some,
    such as an optimizer's moments, appear later. Integers are counters and must not be negative;
    larger ones are states of random generators, which are not checked here.
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
    misfits = (find_misfit(one, other, f"{key}.{name}") for name, one, other in pairs)
    return next((misfit for misfit in misfits if misfit), None)


def get_worker_path(folder: Path, decisions: int, rank: int) -> Path:
    """Return the path of the worker file, in which a rank above 0 saves its own state."""
    return folder / WORKERS_FOLDER / f"{decisions}_{rank}.pt"


def remove_other_worker_checkpoints(folder: Path, decisions: int) -> None:
    """Remove all worker files, complete or not, but those of the checkpoint at `decisions`."""
    for path in (folder / WORKERS_FOLDER).glob("*_*.pt*"):
        if path.name.partition("_")[0] != str(decisions):
            path.unlink(missing_ok=True)


def split_state(
    state: Mapping[str, Any], names: tuple[str, ...]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Split a nested state into the entries with one of these names, at any depth, and the rest."""
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
    """Merge the two states that `split_state` returned into one."""
    both = one | other
    return both | {name: merge_states(one[name], other[name]) for name in one.keys() & other.keys()}
