"""Loading of players by their specs: the name of a bot, a run folder or a snapshot file.

    uniform                            a bot of `conf/player`
    bots/mcts_1000.yaml                a bot with the settings in a YAML file
    outputs/kuhn/ppo/x                 the headline player of a run's newest snapshot
    outputs/kuhn/ppo/x@300000          the headline player of the snapshot at 300,000 decisions
    outputs/kuhn/ppo/x/players/9.pt    the headline player of a snapshot file
    policy.safetensors                 the player in a file of `poker-rl export weights=`
    outputs/kuhn/ppo/x:average         another player of the snapshot, by its name
    outputs/kuhn/ppo/x:average.7       instance 7 of a player with several instances
    outputs/kuhn/ppo/x:current:greedy  the greedy version of a player
    tight:greedy                       the greedy version of a bot

The headline player is the first one in a snapshot, see `Algorithm.players`. A snapshot file holds
only data, no code: it names classes, which must be those of this program or of a plug-in.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from poker_rl.config.build import build
from poker_rl.config.input_checks import ConfigError, error_prefix
from poker_rl.config.option_files import list_option_dirs, load_option, read_plain_yaml
from poker_rl.config.target_classes import get_class_path
from poker_rl.config.threads_and_numba_cache import set_one_thread_by_default
from poker_rl.games.game import Game
from poker_rl.players.bet_abstraction_player import BetAbstractionPlayer, is_bet_abstraction_of
from poker_rl.players.player import GreedyWrapper, Player, player_from_dict
from poker_rl.storage import checkpoint

CPU = torch.device("cpu")

BOT_NAME_PATTERN = re.compile(r"[\w-]+")
GREEDY_SUFFIX = ":greedy"
PLAYER_PATTERN = re.compile(rf"(\w+)(?:\.(\d+))?({GREEDY_SUFFIX})?")  # like current.3:greedy
# This matches, for example, outputs/kuhn/ppo/x@300000:current.3:greedy.
SPEC_PATTERN = re.compile(rf"(.+?)(?:@(\d+))?(?::{PLAYER_PATTERN.pattern})?")

PLAYER_NAME_PATTERN = re.compile(r"\w{1,60}")  # such a name is safe in a file name


def load_player(
    spec: str, game: Game, device: torch.device = CPU, option_folders: Sequence[Path] | None = None
) -> Player:
    """Load the player that a spec names.

    As a side effect, the process computes on one thread from now on, unless
    `poker_rl.config.set_threads` was called before.

    Args:
        spec: a spec as in the module's docstring.
        option_folders: folders of YAML options; None for those of the program and of plug-ins.

    Raises:
        ConfigError: if there is no such player, its file is damaged, or it plays another game.
    """
    set_one_thread_by_default()
    if (bot_name := find_bot_name(spec)) is not None:
        config = load_bot_config(bot_name, option_folders)
        return build_bot(spec, config, game, device, option_folders)
    path, name, instance, is_greedy = parse_trained_player_spec(spec)
    name, player = next(iter(load_players_of_snapshot(path, game, device, name).items()))
    if player.instance_count > 1 or instance is not None:
        if instance is None or instance >= player.instance_count:
            last_instance = player.instance_count - 1
            advice = f"choose :{name}.0 to :{name}.{last_instance}"
            raise ConfigError(f"{spec}: {name} has {last_instance + 1} copies; {advice}")
        player = player.select_instance(instance)
    return GreedyWrapper(game, player) if is_greedy else player


def load_search_base_player(
    spec: str, game: Game, bot: Player, option_folders: Sequence[Path] | None
) -> Player:
    """Load the player whose policy is the base of a search by `bot`.

    Raise ConfigError if that player is a bot of the same class, which would search recursively.
    """
    with error_prefix("policy"):
        bot_name = find_bot_name(spec)
        config = load_bot_config(bot_name, option_folders) if bot_name else {}
        if config.get("_target_") == get_class_path(bot):
            raise ConfigError(f"{spec} searches itself")
        return load_player(spec, game, option_folders=option_folders)


def build_bot(
    spec: str,
    config: Mapping[str, Any],
    game: Game,
    device: torch.device,
    option_folders: Sequence[Path] | None = None,
) -> Player:
    """Build a bot from its settings; return its greedy version if the spec ends in `:greedy`."""
    name = spec.removesuffix(GREEDY_SUFFIX)
    runtime = {"game": game, "device": device, "option_folders": option_folders}
    player: Player = build(config, name, Player, **runtime)
    return player if name == spec else GreedyWrapper(game, player)


def load_bot_config(name: str, option_folders: Sequence[Path] | None = None) -> dict[str, Any]:
    """Return the settings of a bot of `conf/player` or of a YAML file."""
    if name.endswith(".yaml"):
        return read_plain_yaml(Path(name))
    folders = list_option_dirs(None) if option_folders is None else option_folders
    return load_option("player", name, folders)


def find_bot_name(spec: str) -> str | None:
    """Return the name or YAML path of the bot that a spec names; None if it names no bot."""
    name = spec.removesuffix(GREEDY_SUFFIX)
    is_run = (Path(name) / checkpoint.PLAYERS_FOLDER).is_dir()
    is_bot_name = BOT_NAME_PATTERN.fullmatch(name) is not None and not is_run
    return name if is_bot_name or name.endswith(".yaml") else None


def resolve_spec(spec: str) -> str:
    """Return the complete spec of a trained player, `RUN@DECISIONS:PLAYER` or `FILE:PLAYER`.

    The spec of a bot is returned unchanged.
    """
    if find_bot_name(spec) is not None:
        return spec
    path, player = resolve_file_and_player(spec)
    snapshot = f"{path.parent.parent}@{path.stem}" if is_run_snapshot(path) else path
    return f"{snapshot}:{player}"


def resolve_and_check_distinct_specs(specs: Sequence[str]) -> list[str]:
    """Return the complete specs, see `resolve_spec`; raise ConfigError if two of them are equal."""
    names = [resolve_spec(spec) for spec in specs]
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"{name} is named twice; name each player once")
    return names


def resolve_file_and_player(spec: str) -> tuple[Path, str]:
    """Return a spec's snapshot file, and the player's name in it, such as `average.7:greedy`."""
    path, name, instance, is_greedy = parse_trained_player_spec(spec)
    name = read_headline_player_name(path) if name is None else name
    instance_suffix = "" if instance is None else f".{instance}"
    return path, name + instance_suffix + GREEDY_SUFFIX * is_greedy


def read_headline_player_name(path: Path) -> str:
    """Return the name of the headline player of a snapshot file, which is its first player."""
    return next(iter(load_game_and_player_states(path)[1]))


def is_run_snapshot(snapshot: Path) -> bool:
    """Return whether a snapshot file is in the folder of a run, judged by its path."""
    return snapshot.match(f"{checkpoint.PLAYERS_FOLDER}/*.pt") and snapshot.stem.isdecimal()


def parse_trained_player_spec(spec: str) -> tuple[Path, str | None, int | None, bool]:
    """Return the parts of a trained player's spec: file, name, instance, and whether it is greedy.

    Name and instance are None if the spec does not contain them. If it names a run folder without
    `@DECISIONS`, the file is the run's newest snapshot.
    """
    if not spec:
        raise ConfigError('"" names no player')
    match = None if Path(spec).exists() else SPEC_PATTERN.fullmatch(spec)  # a path may hold a colon
    parts = match.groups() if match else (spec, None, None, None, None)
    path_text, decisions, name, instance, greedy_suffix = parts
    path = Path(path_text)
    if decisions is not None:
        if not path.is_dir():
            raise ConfigError(f"there is no run folder {path}; RUN@DECISIONS:PLAYER needs one")
        snapshots = {file.stem: file for file in checkpoint.list_snapshots(path)}
        if decisions not in snapshots:
            available = ", ".join(snapshots) or "none"
            raise ConfigError(f"{path} has no snapshot {decisions}; it has {available}")
        path = snapshots[decisions]
    elif path.is_dir():
        path = checkpoint.find_newest_snapshot(path)
    elif name is not None and BOT_NAME_PATTERN.fullmatch(path_text) and not path.exists():
        problem = f"there is no run folder or snapshot {path_text}, and a name of conf/player"
        raise ConfigError(f"{spec}: {problem} has no suffix but {GREEDY_SUFFIX}")
    return path, name, None if instance is None else int(instance), greedy_suffix is not None


def format_own_snapshot_name(snapshot: Path) -> str:
    """Return the display name of an opponent that is an older snapshot of the player's own run."""
    return f"itself at {int(snapshot.stem):,}"


def load_players_of_snapshot(
    path: Path, game: Game, device: torch.device, player_name: str | None = None
) -> dict[str, Player]:
    """Return the players of a snapshot file by name, or only the one named `player_name`.

    The players must have been trained in `game`. If `game` allows bets of any size, they may also
    have been trained in the same game with listed bet sizes, see `BetAbstractionPlayer`. Raise
    ConfigError if the file is damaged or of another game, or has no such player.
    """
    (game_of_file, player_states), game_config = load_game_and_player_states(path), game.to_dict()
    is_sized = is_bet_abstraction_of(game_of_file, game_config)
    if game_of_file != game_config and not is_sized:
        keys = game_config | game_of_file  # the first key to compare is `name`
        key = next(key for key in keys if game_of_file.get(key) != game_config.get(key))
        other_game = game_of_file.get(key) if key == "name" else f"another {game.name}: {key}"
        raise ConfigError(f"{path} is of {other_game}, not of this {game.name}")
    if player_name is not None:
        if player_name not in player_states:
            available = ", ".join(player_states)
            raise ConfigError(f"{path} has no player {player_name}; it has {available}")
        player_states = {player_name: player_states[player_name]}
    players: dict[str, Player] = {}
    with error_prefix(str(path)):
        try:
            for weight_name in checkpoint.find_non_finite_tensors(player_states):
                raise ConfigError(f"can't be played with: {weight_name} is not finite")
            own_game = replace(game, **game_of_file) if is_sized else game
            for name, state in player_states.items():
                player = player_from_dict(state, own_game, device)
                players[name] = BetAbstractionPlayer(game, own_game, player) if is_sized else player
        except checkpoint.LOAD_STATE_ERRORS as error:
            raise ConfigError(f"does not hold the players of a {game.name} run") from error
    return players


def load_game_and_player_states(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return two dicts of a snapshot file: the game's settings, and each player's state by name."""
    snapshot = checkpoint.load_snapshot(path)
    if not snapshot["players"]:
        raise ConfigError(f"{path} holds no players")
    for name in snapshot["players"]:
        if not (isinstance(name, str) and PLAYER_NAME_PATTERN.fullmatch(name)):
            problem = f"{ascii(name)[:60]} is not the name of a player"
            raise ConfigError(f"{path}: {problem}; allowed: up to 60 letters, digits and _")
    return snapshot["game"], snapshot["players"]
