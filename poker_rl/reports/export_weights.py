"""Weights of trained players as safetensors, with a model card, or as ONNX."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml  # type: ignore[import-untyped]

from poker_rl import __version__
from poker_rl.config.plugins import check_packages
from poker_rl.config.validation import ConfigError
from poker_rl.evaluation.result import Result
from poker_rl.games.game import Game
from poker_rl.players.bots.pretrained_bot import PRETRAINED_FOLDER, PretrainedBot
from poker_rl.players.player import Player
from poker_rl.players.player_loader import (
    is_run_snapshot,
    load_player,
    parse_bot_name,
    read_headline_player,
    resolve_snapshot,
)
from poker_rl.reports.evaluation_report import EVALUATIONS_FOLDER, read_reports
from poker_rl.reports.run_data import read_run
from poker_rl.reports.text_tables import escape_markdown, format_markdown_table
from poker_rl.storage.checkpoint import find_newest_snapshot, load_snapshot
from poker_rl.storage.run_folder import describe_origin, write_text_atomically
from poker_rl.storage.safetensors_file import SAFETENSORS_SUFFIX, save_safetensors

ONNX_SUFFIX = ".onnx"
WEIGHTS_SUFFIXES = (SAFETENSORS_SUFFIX, ONNX_SUFFIX)
PACKAGES = ("safetensors", "onnx", "onnxscript", "onnxruntime")


def list_weight_files(path: Path) -> list[Path]:
    """Return the files to write: the weights, and for safetensors also a model card."""
    return [path, path.with_suffix(".md")] if path.suffix == SAFETENSORS_SUFFIX else [path]


def export_weights(path: Path, spec: str, player: Player, game: Game) -> str:
    """Write the weights of a trained player in the format of the file's suffix.

    Return a message that names the files. Raise ConfigError if the player can't be exported.
    """
    check_packages("export", "the file", *PACKAGES)
    source, name = find_player_file(spec, player)
    player = load_player(f"{source}:{name}", game)
    results: list[Result] = []
    if is_run_snapshot(source):
        origin = describe_origin(source.parents[1], int(source.stem))
        results = list_player_results(source, name)
    else:
        origin = load_snapshot(source).get("origin", {})
    file_name = re.sub(r"\W", "_", name)
    metadata = {"game": game.to_dict(), "origin": origin, "version": __version__}
    if path.suffix == SAFETENSORS_SUFFIX:
        save_safetensors(path, metadata | {"players": {file_name: player.to_dict()}})
        card_path = list_weight_files(path)[1]
        write_text_atomically(card_path, format_model_card(path.name, name, game, origin, results))
        return f"{path}: {name} of {game.name}; model card: {card_path}"
    from poker_rl.reports.onnx_policy import save_onnx

    difference = save_onnx(path, game, player, metadata | {"player": file_name})
    return (
        f"{path}: {name} of {game.name}; at random decisions its probabilities differ by at most"
        f" {difference:.1g}"
    )


def find_player_file(spec: str, player: Player) -> tuple[Path, str]:
    """Return the file that holds a trained player, and the player's name in it."""
    if parse_bot_name(spec) is None:
        return resolve_snapshot(spec)
    if not isinstance(player, PretrainedBot):
        raise ConfigError(f"{spec} is no trained player, and has no weights")
    path = PRETRAINED_FOLDER / player.file
    return path, read_headline_player(path)


def list_player_results(snapshot: Path, player_name: str) -> list[Result]:
    """Return the newest result of each measure of a player in a snapshot of a run.

    Results are from `poker-rl evaluate` and, if the snapshot is the newest one, from training.
    """
    run = snapshot.parents[1]
    results = read_run(run).list_last_results() if snapshot == find_newest_snapshot(run) else []
    for _, report_results, _, decisions in read_reports(run / EVALUATIONS_FOLDER):
        results += report_results if decisions == int(snapshot.stem) else []
    return list({result.tag: result for result in results if result.player == player_name}.values())


def format_model_card(
    file_name: str,
    player_name: str,
    game: Game,
    origin: Mapping[str, Any],
    results: Sequence[Result],
) -> str:
    """Return a model card: Markdown that begins with metadata in YAML, which model hubs read."""
    task = "reinforcement-learning"
    metadata: dict[str, Any] = {
        "library_name": "poker-rl",
        "pipeline_tag": task,
        "tags": [task, "poker-rl", game.name],
    }
    rows = [["measure", "value", "unit", "kind"]]
    if results:
        metrics = [
            {
                "type": r.measure,
                "name": f"{r.measure} ({r.unit}, {r.kind})",
                "value": float(r.value),
            }
            for r in results
        ]
        dataset = {"type": game.name, "name": game.name}
        model_results = [{"task": {"type": task}, "dataset": dataset, "metrics": metrics}]
        metadata["model-index"] = [{"name": f"{game.name} {player_name}", "results": model_results}]
        rows += [
            [result.measure, result.formatted_value, result.unit, result.kind] for result in results
        ]
    origin_rows = [["", ""]]
    origin_rows += [[key, str(value)] for key, value in origin.items() if value is not None]
    parts = [
        f"---\n{_dump_yaml(metadata)}---",
        f"# {escape_markdown(f'{game.name}: {player_name}')}",
        f"A player of the game {escape_markdown(game.name)} for poker-rl {__version__}.",
        f"## Origin\n\n{format_markdown_table(origin_rows) if origin else 'unknown'}",
        f"## Results\n\n{format_markdown_table(rows) if results else 'not measured'}",
        "## Use\n\n```bash\npip install 'poker-rl[export]'\n"
        f"poker-rl evaluate game={game.name} player={file_name}\n```",
        f"## Game\n\n```yaml\n{_dump_yaml(game.to_dict())}```",
    ]
    return "\n\n".join(parts) + "\n"


def _dump_yaml(tree: Mapping[str, Any]) -> str:
    text: str = yaml.safe_dump(dict(tree), sort_keys=False, allow_unicode=True)
    return text
