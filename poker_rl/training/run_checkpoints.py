"""Checkpoints of a run: state.pt, the players' snapshots and the files of other processes.

Each rank above 0 saves its own tables and buffers in `workers/<decisions>_<rank>.pt` before rank 0
replaces `state.pt`, which has all other state. So there is always a complete checkpoint.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from poker_rl.algos.algorithm import Algorithm
from poker_rl.config.option_files import find_differing_key
from poker_rl.config.validation import ConfigError
from poker_rl.games.game import Game
from poker_rl.learning import collectives
from poker_rl.storage import checkpoint
from poker_rl.training.run_config import RESUME_RULE, select_fixed_settings
from poker_rl.training.run_record import RunRecord

WORKERS_FOLDER = "workers"


class DivergedError(ConfigError):
    """Error raised if a metric or a weight is not finite; the last checkpoint remains."""


class Checkpoints:
    """Writer and reader of a run's checkpoints.

    Attributes:
        last_progress: the counters at the last checkpoint; None if there is none.
        regular_steps: number of decisions at each checkpoint that `checkpoint_every` caused, not a
            stop. Matches play only against these snapshots, so that stops do not affect results.
    """

    def __init__(
        self, folder: Path, config: Mapping[str, Any], game: Game, algorithm: Algorithm
    ) -> None:
        self.folder, self.game, self.algorithm = folder, game, algorithm
        self.settings = select_fixed_settings(config)
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
            record: the run's record in rank 0; None in other processes.
            record_state: the state of the record to save; None for its present state.
            is_regular: true if `checkpoint_every` causes this checkpoint.
        """
        progress = asdict(self.algorithm.progress)
        if self.last_progress == progress:
            return
        decisions, state = progress["decisions"], self.algorithm.state_dict()
        if is_regular:
            self.regular_steps.append(decisions)
        if record is None:
            own, _ = split_state(state, self.algorithm.per_process_parts)  # type: ignore[attr-defined]
            path = self.get_worker_path(decisions, collectives.get_rank())
            path.parent.mkdir(exist_ok=True)
            checkpoint.save_atomically(path, checkpoint.copy_to_cpu(own))
            collectives.wait_for_all_processes()
            self.last_progress = progress
            return
        for name in checkpoint.find_non_finite_tensors(state):
            raise self.create_diverged_error(f"{name} of the algorithm's state is not finite")
        game = self.game.to_dict()
        players = {name: player.to_dict() for name, player in self.algorithm.players().items()}
        record.sync()
        collectives.wait_for_all_processes()  # until all have saved their tables and buffers
        checkpoint.save_snapshot(self.folder, decisions, {"game": game, "players": players})
        checkpoint.save_atomically(
            self.path,
            {
                "settings": self.settings,
                "game": game,
                "progress": progress,
                "algorithm": state,
                "record": dict(record_state or record.state_dict()),
                "regular": list(self.regular_steps),
            },
        )
        remove_old_worker_files(self.folder, decisions)
        record.write_manifest(checkpoint=progress)
        self.last_progress = progress

    def create_diverged_error(self, problem: str) -> DivergedError:
        """Return an error that names a value that is not finite, and the last checkpoint."""
        last = "there was no checkpoint yet"
        if self.last_progress is not None:
            last_decisions = self.last_progress["decisions"]
            last = f"the last good checkpoint is {self.path} ({last_decisions:,} decisions)"
        decisions = self.algorithm.progress.decisions
        return DivergedError(f"{problem} after {decisions:,} decisions; {last}")

    def get_worker_path(self, decisions: int, rank: int) -> Path:
        """Return the path of a rank's part of the checkpoint at so many decisions."""
        return self.folder / WORKERS_FOLDER / f"{decisions}_{rank}.pt"

    def find_snapshot_before(self, decisions: int) -> Path | None:
        """Return the newest regular snapshot up to `decisions` decisions; None without one."""
        paths = [
            path
            for path in checkpoint.list_snapshots(self.folder)
            if int(path.stem) <= decisions and int(path.stem) in self.regular_steps
        ]
        return paths[-1] if paths else None

    def restore(self, record: RunRecord) -> None:
        """Load the last checkpoint into the algorithm and the run's record; only rank 0 does so.

        Raises:
            ConfigError: if the checkpoint is damaged or belongs to another run.
        """
        path = self.path
        if record.manifest["checkpoint"] is None and not path.exists():
            return  # a run without a checkpoint starts from the beginning
        state = checkpoint.load_checked(path)
        try:
            if key := find_differing_key(self.settings, state["settings"]):
                config = self.folder / "config.yaml"
                raise ConfigError(
                    f"{key}: {config} differs from the settings in {path.name}; {RESUME_RULE}"
                )
            self.algorithm.load_state_dict(state["algorithm"])
            record.load_state_dict(state["record"])
            self.regular_steps = list(state["regular"])
            self.last_progress = record.manifest["checkpoint"] = state["progress"]
        except checkpoint.LOAD_STATE_ERRORS as error:
            reason = str(error).partition("\n")[0]
            raise ConfigError(f"{path} does not fit the settings of this run: {reason}") from error

    def synchronize(self) -> None:
        """Copy the shared state from rank 0 to all other processes.

        Ranks above 0 also load their own tables and buffers from the checkpoint, if there is one.
        """
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
                decisions = self.last_progress["decisions"]
                own = checkpoint.load_checked(
                    self.get_worker_path(decisions, collectives.get_rank())
                )
            self.algorithm.load_state_dict(merge_states(shared, own))
        collectives.wait_for_all_processes()


def remove_old_worker_files(folder: Path, decisions: int) -> None:
    """Remove the parts of ranks above 0, complete or not, of all checkpoints but one."""
    for path in (folder / WORKERS_FOLDER).glob("*_*.pt*"):
        if path.name.partition("_")[0] != str(decisions):
            path.unlink(missing_ok=True)


def split_state(
    state: Mapping[str, Any], names: tuple[str, ...]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Split nested dictionaries into two: the keys in `names`, at any depth, and the others."""
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
    """Merge the two dictionaries into which `split_state` has split a state."""
    both = one | other
    return both | {name: merge_states(one[name], other[name]) for name in one.keys() & other.keys()}
