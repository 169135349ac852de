"""Checkpoints of a run, to resume it or for the warm start of another run.

A checkpoint is state.pt and a snapshot of the players. Each rank above 0 saves its algorithm's
state in `workers/<decisions>_<rank>.pt` before rank 0 replaces state.pt. So there is always a
complete checkpoint.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from poker_rl.algos.algorithm import Algorithm, NetworkLearner
from poker_rl.config.input_checks import ConfigError
from poker_rl.config.option_files import find_differing_key, get_dotted_value
from poker_rl.config.target_classes import load_class, settings_to_dict
from poker_rl.games.game import Game
from poker_rl.learning import collectives
from poker_rl.players.bots.pretrained_bot import PretrainedBot
from poker_rl.players.network_player import NetworkPlayer
from poker_rl.players.player import Player
from poker_rl.storage import checkpoint
from poker_rl.storage.disk import fsync_path
from poker_rl.storage.run_files import LOCATION_SETTINGS, read_config_and_manifest
from poker_rl.training.run_config import CHANGEABLE_SETTINGS, RESUME_RULE
from poker_rl.training.run_recorder import RunRecorder

WORKERS_FOLDER = "workers"
# A warm start requires that these settings of the algorithm are equal in both runs, except that the
# other run's `_target_` may be in `warm_start_sources`. The settings define the shapes of networks,
# the unit of values, or the weights of iterations in the averages of deep_cfr.
EQUAL_ALGO_SETTINGS = {
    *("_target_", "network_sharing", "instances", "shared_layers", "iteration_weight_power"),
    *("reward_type", "reward_power", "reward_scale", "reward_unit"),
}


class Checkpoints:
    """Writer and reader of a run's checkpoints.

    Attributes:
        recorder: the recorder of the run in rank 0; None in other processes.
        last_progress: the counters at the last checkpoint; None if there is none.
        regular_decisions: decisions at each of the checkpoints that were due by `checkpoint_every`.
            Matches of a player against its earlier self use only these and not checkpoints that
            were saved because the run was stopped, so that a stop does not change results.
    """

    def __init__(
        self,
        folder: Path,
        config: Mapping[str, Any],
        game: Game,
        algorithm: Algorithm,
        recorder: RunRecorder | None = None,
    ) -> None:
        self.folder, self.game, self.algorithm, self.recorder = folder, game, algorithm, recorder
        changeable = CHANGEABLE_SETTINGS | LOCATION_SETTINGS
        self.settings = {key: one for key, one in config.items() if key not in changeable}
        self.last_progress: dict[str, int] | None = None
        self.regular_decisions: list[int] = []

    def save(
        self, is_regular: bool = False, recorder_state: Mapping[str, Any] | None = None
    ) -> None:
        """Save a checkpoint, unless nothing was learned since the last one.

        `is_regular` is true if the checkpoint is due by `checkpoint_every`. If `recorder_state` is
        None, the recorder's current state is saved. Raise FloatingPointError if a value in the
        algorithm's state is not finite.
        """
        progress = asdict(self.algorithm.progress)
        if self.last_progress == progress:
            return
        decisions, state = progress["decisions"], self.algorithm.state_dict()
        if is_regular:
            self.regular_decisions.append(decisions)
        if self.recorder is None:
            path = self.get_worker_path(decisions)
            path.parent.mkdir(exist_ok=True)
            checkpoint.save_atomically(path, state)
            collectives.wait_for_all_processes()
            self.last_progress = progress
            return
        for name in checkpoint.find_non_finite_tensors(state):
            raise FloatingPointError(f"{name} of the algorithm's state is not finite")
        game, recorder_state = self.game.to_dict(), recorder_state or self.recorder.state_dict()
        tree: dict[str, Any] = {"settings": self.settings, "game": game, "progress": progress}
        tree |= {"algorithm": state, "recorder": dict(recorder_state)}
        tree |= {"regular": list(self.regular_decisions)}
        players = {name: player.to_dict() for name, player in self.algorithm.players().items()}
        fsync_path(self.recorder.path)  # flush rows before their length is saved
        collectives.wait_for_all_processes()  # until all others have saved their states
        checkpoint.save_snapshot(self.folder, decisions, {"game": game, "players": players})
        checkpoint.save_atomically(self.folder / checkpoint.STATE_FILE, tree)
        remove_old_worker_files(self.folder, decisions)
        self.recorder.update_manifest(checkpoint=progress)
        self.last_progress = progress

    def get_worker_path(self, decisions: int) -> Path:
        """Return the path of this rank's part of the checkpoint after `decisions` decisions."""
        return self.folder / WORKERS_FOLDER / f"{decisions}_{collectives.get_rank()}.pt"

    def find_regular_snapshot_until(self, decisions: int) -> Path | None:
        """Return the newest regular snapshot with at most `decisions` decisions, or None."""
        paths = {int(path.stem): path for path in checkpoint.list_snapshots(self.folder)}
        steps = [step for step in self.regular_decisions if step <= decisions and step in paths]
        return paths[max(steps)] if steps else None

    def restore(self, recorder: RunRecorder) -> None:
        """Load the last checkpoint, if there is one, into the algorithm and the recorder."""
        path = self.folder / checkpoint.STATE_FILE
        if recorder.manifest["checkpoint"] is None and not path.exists():
            return
        state = checkpoint.load_checked(path)
        try:
            if key := find_differing_key(self.settings, state["settings"]):
                config = self.folder / "config.yaml"
                raise ConfigError(
                    f"{key}: {config} differs from the settings in {path.name}; {RESUME_RULE}"
                )
            self.algorithm.load_state_dict(state["algorithm"])
            recorder.load_state_dict(state["recorder"])
            self.regular_decisions = list(state["regular"])
            self.last_progress = recorder.manifest["checkpoint"] = state["progress"]
        except checkpoint.LOAD_STATE_ERRORS as error:
            reason = str(error).partition("\n")[0]
            raise ConfigError(f"{path} does not fit the settings of this run: {reason}") from error

    def load_state_on_all_ranks(self) -> None:
        """Give all ranks equal networks before training; a collective call, made by every rank.

        If there is a checkpoint, each rank above 0 loads its part of the checkpoint. Otherwise it
        loads the state of rank 0, but keeps its own `per_process_parts`, such as buffers.
        """
        if collectives.get_world_size() == 1:
            return
        folder, self.last_progress = collectives.broadcast_from_main(
            (str(self.folder.resolve()), self.last_progress)
        )
        self.folder = Path(folder)
        own_parts: tuple[str, ...] = self.algorithm.per_process_parts  # type: ignore[attr-defined]
        if self.last_progress is None:
            own = checkpoint.copy_to_cpu(self.algorithm.state_dict())
            state = replace_nested_values(collectives.broadcast_from_main(own), own, own_parts)
        elif not collectives.is_main_process():
            state = checkpoint.load_checked(self.get_worker_path(self.last_progress["decisions"]))
        if not collectives.is_main_process():
            self.algorithm.load_state_dict(state)
        collectives.wait_for_all_processes()


def remove_old_worker_files(folder: Path, decisions: int) -> None:
    """Remove files of ranks above 0, except those of the checkpoint after `decisions` decisions."""
    for path in (folder / WORKERS_FOLDER).glob("*_*.pt*"):
        if path.name.partition("_")[0] != str(decisions):
            path.unlink(missing_ok=True)


def replace_nested_values(
    state: Mapping[str, Any], own: Mapping[str, Any], names: tuple[str, ...]
) -> dict[str, Any]:
    """Return `state` with the values of `own` for all keys in `names`, at any depth."""
    replaced = {}
    for key, value in state.items():
        if key in names:
            value = own[key]
        elif isinstance(value, dict):
            value = replace_nested_values(value, own[key], names)
        replaced[key] = value
    return replaced


def warm_start(
    spec: str,
    config: Mapping[str, Any],
    algorithm: Algorithm,
    game: Game,
    load: Callable[[str], Player],
) -> str:
    """Start a new run's algorithm with the networks of another run or of a trained player.

    `spec` names the run or, for `load`, the player. Return the spec to record in the config; for a
    run, it is FOLDER@DECISIONS with the decisions of the loaded checkpoint.
    """
    if not isinstance(algorithm, NetworkLearner):
        raise ConfigError(f"{config['names']['algo']} has no networks that could be taken over")
    path, _, decisions = spec.rpartition("@")
    if not path or Path(spec).exists() or not decisions.isdecimal():
        path, decisions = spec, ""
    if Path(path).is_dir():
        return warm_start_from_run(Path(path), decisions, config, algorithm, game)
    warm_start_from_player(spec, algorithm, load(spec))
    return spec


def warm_start_from_player(spec: str, algorithm: NetworkLearner, player: Player) -> None:
    """Check that `algorithm` can start from the player named `spec`, then copy its networks."""
    if isinstance(player, PretrainedBot):
        player = player.player
    if type(player) is not NetworkPlayer:
        raise ConfigError(f"{spec} is no run and has no policy network of this game")
    own_player = algorithm.players().get("current")
    if type(own_player) is not NetworkPlayer:
        raise ConfigError("this algorithm can start from a run, but not from a player")
    settings, own_settings = (
        {
            "algo": {"instances": one.instance_count, "network_sharing": one.network_sharing},
            "net": settings_to_dict(one.net_config),
        }
        for one in (player, own_player)
    )
    if key := find_differing_key(settings, own_settings):
        value, own_value = (get_dotted_value(one, key) for one in (settings, own_settings))
        raise ConfigError(f"{spec} has {key} {value}, and this run {own_value}")
    algorithm.warm_start_from_player(player)


def warm_start_from_run(
    folder: Path, expected: str, config: Mapping[str, Any], algorithm: NetworkLearner, game: Game
) -> str:
    """Load the networks, averages and opponent pool of another run into a new run's algorithm.

    Optimizers, counters, schedules, tables and random generators start in their initial states.
    `expected` is the number of decisions of the required checkpoint, or "" for any. Return
    FOLDER@DECISIONS of the loaded checkpoint.
    """
    old, _ = read_config_and_manifest(folder)
    state = checkpoint.load_checked(folder / checkpoint.STATE_FILE)
    try:
        decisions = str(state["progress"]["decisions"])
        if expected not in ("", decisions):
            raise ConfigError(
                f"{folder} is now at {decisions} decisions, not at {expected}, and only its latest"
                " checkpoint can be used for a warm start"
            )
        algo_keys = sorted(EQUAL_ALGO_SETTINGS & config["algo"].keys())
        algos = [{key: one["algo"].get(key) for key in algo_keys} for one in (old, config)]
        games, nets = [state["game"], game.to_dict()], [old["net"], config["net"]]
        for part, (one, other) in {"algo": algos, "game": games, "net": nets}.items():
            for name in other | one:
                value, new_value = one.get(name), other.get(name)
                if name == "_target_" and load_class(value) is load_class(new_value):
                    continue
                if value != new_value and value not in algorithm.warm_start_sources:
                    raise ConfigError(
                        f"{folder} has {part}.{name} {value}, and this run {new_value}"
                    )
        try:
            algorithm.warm_start(state["algorithm"])
        except RuntimeError as error:
            raise ConfigError(f"{folder} has networks of other shapes") from error
        except ConfigError as error:
            raise ConfigError(f"{folder} does not fit this run: algo.{error}") from None
    except checkpoint.LOAD_STATE_ERRORS as error:
        raise ConfigError(f"{folder} does not contain a complete run: {error}") from error
    return f"{folder}@{decisions}"
