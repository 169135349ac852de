"""Network policies as ONNX models that map an observation and an action mask to probabilities."""

from __future__ import annotations

import json
import logging
import warnings
from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from poker_rl.config.validation import ConfigError
from poker_rl.games.game import Game
from poker_rl.games.tables import Tables, tables_from_records
from poker_rl.nets.dense import ReplicatedLinear
from poker_rl.nets.lstm import ReplicatedLSTM
from poker_rl.nets.replicas import count_replicas
from poker_rl.players.network_player import NetworkPlayer
from poker_rl.players.player import Player
from poker_rl.storage.disk import atomic_replacement

MAX_DIFFERENCE = 1e-5  # allowed difference between probabilities by ONNX and by PyTorch
CHECKED_TABLES = 256  # ONNX and PyTorch are compared at all decisions of so many random hands


class _OnnxPolicy(nn.Module):
    """Policy of a player as a PyTorch module with dense inputs, because ONNX has no sparse ones."""

    def __init__(self, player: NetworkPlayer) -> None:
        super().__init__()
        self.module, self.compute_probs = deepcopy(player.module), player.compute_probs
        self.networks = count_replicas(self.module)
        for layer in self.module.modules():
            if isinstance(layer, ReplicatedLinear):
                layer.reads_observations = False

    def forward(self, observation: Tensor, mask: Tensor, seat: Tensor | None = None) -> Tensor:
        """Return probabilities [B, A] of observations [B, features], masks [B, A] and seats [B]."""
        logits = self.module(observation.expand(self.networks, -1, -1))
        row = torch.arange(observation.shape[0])
        return self.compute_probs(logits[0] if seat is None else logits[seat, row], mask)


def save_onnx(path: Path, game: Game, player: Player, metadata: Mapping[str, Any]) -> float:
    """Write the policy of a player as an ONNX model, and compare the model with PyTorch.

    Returns:
        the largest difference between their probabilities at random decisions.

    Raises:
        ConfigError: if the player can't be exported, or the difference is over `MAX_DIFFERENCE`.
    """
    import onnx
    import onnxruntime

    reason = "it is no network"
    if isinstance(player, NetworkPlayer):
        has_lstm = any(isinstance(module, ReplicatedLSTM) for module in player.module.modules())
        reason = "its network has an LSTM" if has_lstm else ""
        if player.network_sharing == "per_betting_node":
            reason = "it has a network for each betting line"
    if reason or not isinstance(player, NetworkPlayer):
        raise ConfigError(f"can't be exported to ONNX: {reason}; give FILE.safetensors")
    records = collect_random_decisions(game, CHECKED_TABLES)
    legal_mask = tables_from_records(game, records).legal_mask()
    inputs = {"observation": player.encoder(records).astype(np.float32), "mask": legal_mask}
    if player.network_sharing != "shared":
        inputs["seat"] = records["to_act"].astype(np.int64)
    arguments = tuple(map(torch.from_numpy, inputs.values()))
    batch = torch.export.Dim("batch")
    # Without this, torch warns of packages that are not needed.
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            program = torch.onnx.export(
                _OnnxPolicy(player).eval(),
                arguments,
                input_names=list(inputs),
                output_names=["probs"],
                dynamic_shapes=tuple({0: batch} for _ in arguments),
                dynamo=True,
                verbose=False,
            )
        except torch.onnx.errors.OnnxExporterError:
            raise ConfigError("torch can't export this network to ONNX") from None
    assert program is not None
    model = program.model_proto
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


def collect_random_decisions(game: Game, table_count: int) -> np.ndarray:
    """Play random hands; return a copy of the table's record at each decision, [decisions]."""
    generator, tables = np.random.default_rng(0), Tables(game, table_count, seed=0)
    tables.deal()
    decisions = []
    while len(rows := np.flatnonzero(tables.records["over"] == 0)):
        decisions.append(tables.records[rows].copy())
        legal_mask = tables.legal_mask(rows)
        tables.step((generator.random(legal_mask.shape) * legal_mask).argmax(1), rows)
    return np.concatenate(decisions)
