"""Export of the weights of trained players: as safetensors with a model card, or as ONNX."""

from __future__ import annotations

import json
import logging
import re
import warnings
from collections.abc import Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import torch
import yaml  # type: ignore[import-untyped]
from torch import Tensor, nn

from poker_rl import __version__
from poker_rl.config.input_checks import ConfigError
from poker_rl.config.plugins import check_optional_packages
from poker_rl.evaluation.result import Result
from poker_rl.games.game import Game
from poker_rl.games.tables import Tables, tables_from_records
from poker_rl.nets.dense import ReplicatedLinear
from poker_rl.nets.history_net import ReplicatedLSTM
from poker_rl.nets.replicas import count_replicas
from poker_rl.players.bots.pretrained_bot import PRETRAINED_FOLDER, PretrainedBot
from poker_rl.players.network_player import NetworkPlayer
from poker_rl.players.player import Player
from poker_rl.players.player_loader import (
    find_bot_name,
    is_run_snapshot,
    load_player,
    read_headline_player_name,
    resolve_file_and_player,
)
from poker_rl.reports.evaluation_reports import EVALUATIONS_FOLDER, iterate_reports
from poker_rl.reports.run_data import read_run
from poker_rl.reports.table_formats import escape_markdown, format_markdown_table
from poker_rl.storage.checkpoint import (
    SAFETENSORS_SUFFIX,
    find_newest_snapshot,
    load_snapshot,
    save_safetensors,
)
from poker_rl.storage.disk import atomic_replacement, write_text_atomically
from poker_rl.storage.run_files import read_snapshot_origin

WEIGHTS_SUFFIXES = (SAFETENSORS_SUFFIX, ".onnx")
EXPORT_PACKAGES = ("safetensors", "onnx", "onnxscript", "onnxruntime")
MAX_DIFFERENCE = 1e-5  # allowed difference between probabilities by ONNX and by PyTorch
CHECKED_TABLE_COUNT = 256  # random hands; ONNX and PyTorch are compared at all their decisions
CARD_TASK = "reinforcement-learning"


def list_output_paths(path: Path) -> list[Path]:
    """Return the paths of the weights at `path` and, for safetensors, of their model card."""
    return [path, path.with_suffix(".md")] if path.suffix == SAFETENSORS_SUFFIX else [path]


def export_weights(path: Path, spec: str, player: Player, game: Game) -> str:
    """Write the weights of the trained player that `spec` names; return a message on the files."""
    check_optional_packages("export", "the file", *EXPORT_PACKAGES)
    if find_bot_name(spec) is None:
        source, name = resolve_file_and_player(spec)
    elif isinstance(player, PretrainedBot):
        source = PRETRAINED_FOLDER / player.file
        name = read_headline_player_name(source)
    else:
        raise ConfigError(f"{spec} is no trained player, and has no weights")
    player, results = load_player(f"{source}:{name}", game), []
    if is_run_snapshot(source):
        origin = read_snapshot_origin(source.parents[1], int(source.stem))
        results = list_newest_player_results(source, name)
    else:
        origin = load_snapshot(source).get("origin", {})
    file_name, message = re.sub(r"\W", "_", name), f"{path}: {name} of {game.name}"
    metadata = {"game": game.to_dict(), "origin": origin, "version": __version__}
    if path.suffix == SAFETENSORS_SUFFIX:
        save_safetensors(path, metadata | {"players": {file_name: player.to_dict()}})
        card_path = list_output_paths(path)[1]
        write_text_atomically(card_path, format_model_card(path.name, name, game, origin, results))
        return f"{message}; model card: {card_path}"
    difference = save_and_check_onnx(path, game, player, metadata | {"player": file_name})
    return f"{message}; at random decisions its probabilities differ by at most {difference:.1g}"


def list_newest_player_results(snapshot: Path, player_name: str) -> list[Result]:
    """Return the newest result of each main measure of a snapshot's player.

    Results are those of `poker-rl evaluate` for this snapshot. If it is the run's newest snapshot,
    measures that were not evaluated in this way have their last value from training.
    """
    run = snapshot.parents[1]
    results = read_run(run).list_last_results() if snapshot == find_newest_snapshot(run) else []
    for _, report_results, _, decisions in iterate_reports(run / EVALUATIONS_FOLDER):
        results += report_results if decisions == int(snapshot.stem) else []
    return list({result.tag: result for result in results if result.player == player_name}.values())


def format_model_card(
    file_name: str, player: str, game: Game, origin: Mapping[str, Any], results: Sequence[Result]
) -> str:
    """Return a model card: Markdown that begins with metadata in YAML, which model hubs read."""
    metadata: dict[str, Any] = {"library_name": "poker-rl", "pipeline_tag": CARD_TASK}
    metadata["tags"] = [CARD_TASK, "poker-rl", game.name]
    rows, metrics = [["measure", "value", "unit", "kind"]], []
    for r in results:
        rows.append([r.measure, r.value_and_interval_text, r.unit, r.kind])
        name = f"{r.measure} ({r.unit}, {r.kind})"
        metrics.append({"type": r.measure, "name": name, "value": float(r.value)})
    if results:
        dataset = {"type": game.name, "name": game.name}
        model_results = [{"task": {"type": CARD_TASK}, "dataset": dataset, "metrics": metrics}]
        metadata["model-index"] = [{"name": f"{game.name} {player}", "results": model_results}]
    origin_rows = [[key, str(value)] for key, value in origin.items() if value is not None]
    front, rules = (
        yaml.safe_dump(tree, sort_keys=False, allow_unicode=True)
        for tree in (metadata, game.to_dict())
    )
    parts = [
        f"---\n{front}---",
        f"# {escape_markdown(f'{game.name}: {player}')}",
        f"A player of the game {escape_markdown(game.name)} for poker-rl {__version__}.",
        "## Origin",
        format_markdown_table([["", ""], *origin_rows]) if origin else "unknown",
        "## Results",
        format_markdown_table(rows) if results else "not measured",
        "## Use\n\n```bash\npip install 'poker-rl[export]'\n"
        f"poker-rl evaluate game={game.name} player={file_name}\n```",
        f"## Game\n\n```yaml\n{rules}```",
    ]
    return "\n\n".join(parts) + "\n"


class _OnnxPolicy(nn.Module):
    """Policy of a player as a PyTorch module for ONNX, without code for sparse inputs."""

    def __init__(self, player: NetworkPlayer) -> None:
        super().__init__()
        self.module, self.compute_probs = deepcopy(player.module), player.compute_probs
        self.networks = count_replicas(self.module)
        for layer in self.module.modules():
            if isinstance(layer, ReplicatedLinear):
                layer.reads_observations = False

    def forward(self, observation: Tensor, mask: Tensor, seat: Tensor | None = None) -> Tensor:
        """Return probabilities [B, A] of A actions; `seat` [B] selects the network of each row."""
        logits = self.module(observation.expand(self.networks, -1, -1))
        row = torch.arange(observation.shape[0])
        return self.compute_probs(logits[0] if seat is None else logits[seat, row], mask)


def save_and_check_onnx(
    path: Path, game: Game, player: Player, metadata: Mapping[str, Any]
) -> float:
    """Write the policy of a player as an ONNX model, after a check at random decisions.

    Return the largest difference between probabilities by the ONNX model and by PyTorch. Raise
    ConfigError if it exceeds `MAX_DIFFERENCE`, or if the player can't be exported.
    """
    import onnx
    import onnxruntime

    reason = ""
    if not isinstance(player, NetworkPlayer):
        reason = "it is no network"
    elif player.network_sharing == "per_betting_node":
        reason = "it has a network for each betting line"
    elif any(isinstance(module, ReplicatedLSTM) for module in player.module.modules()):
        reason = "its network has an LSTM"
    if reason or not isinstance(player, NetworkPlayer):
        raise ConfigError(f"can't be exported to ONNX: {reason}; give FILE.safetensors")
    records = collect_random_decision_records(game)
    legal_mask = tables_from_records(game, records).legal_mask()
    inputs = {"observation": player.encoder(records).astype(np.float32), "mask": legal_mask}
    if player.network_sharing != "shared":
        inputs["seat"] = records["to_act"].astype(np.int64)
    batch = torch.export.Dim("batch")
    # At a lower log level, torch warns of optional packages that are not installed.
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            program = torch.onnx.export(
                _OnnxPolicy(player).eval(),
                tuple(map(torch.from_numpy, inputs.values())),
                input_names=list(inputs),
                output_names=["probs"],
                dynamic_shapes=({0: batch},) * len(inputs),
                dynamo=True,
                verbose=False,
            )
        except torch.onnx.errors.OnnxExporterError:
            raise ConfigError("torch can't export this network to ONNX") from None
    assert program is not None
    model = program.model_proto  # each access to this attribute creates a new model
    onnx.helper.set_model_props(model, {"poker_rl": json.dumps(dict(metadata))})
    data = model.SerializeToString()
    session = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"])
    probs = session.run(None, inputs)[0]
    difference = float(np.abs(probs - player.action_probs(records)).max())
    if not difference <= MAX_DIFFERENCE:
        raise ConfigError(
            f"the probabilities of the ONNX model differ by {difference:.1g}; allowed: up to"
            f" {MAX_DIFFERENCE:g}"
        )
    with atomic_replacement(path) as new_path:
        new_path.write_bytes(data)
    return difference


def collect_random_decision_records(game: Game) -> np.ndarray:
    """Play `CHECKED_TABLE_COUNT` random hands; return the record at each decision, [decisions]."""
    generator, tables = np.random.default_rng(0), Tables(game, CHECKED_TABLE_COUNT, seed=0)
    tables.deal()
    decisions = []
    while len(rows := np.flatnonzero(tables.records["over"] == 0)):
        decisions.append(tables.records[rows].copy())
        legal_mask = tables.legal_mask(rows)
        tables.step((generator.random(legal_mask.shape) * legal_mask).argmax(1), rows)
    return np.concatenate(decisions)
