"""Player with the weights of a plain PyTorch network, for example trained with `GameVectorEnv`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import linear

from poker_rl.config.validation import ConfigError
from poker_rl.games.game import Game
from poker_rl.games.tables import tables_from_records
from poker_rl.nets.action_probs import masked_softmax
from poker_rl.players.bots.basic_bots import Bot
from poker_rl.storage.checkpoint import find_non_finite_tensors, load_checked

Activation = Literal["tanh", "relu"]


class MLPPolicy:
    """Policy of a multilayer perceptron: a softmax over its outputs for the legal actions.

    Args:
        game: the game that is played; `Tables.observe` gives the inputs of the network.
        weights: `weight` [outputs, inputs] and `bias` [outputs] of each linear layer by dotted
            name, in the order of the layers.
        activation: the activation function between the layers.

    Raises:
        ConfigError: if the weights do not form linear layers from observations to actions.
    """

    def __init__(self, game: Game, weights: Mapping[str, Tensor], activation: Activation) -> None:
        self._game = game
        self._activate = torch.tanh if activation == "tanh" else torch.relu
        names = [name.rpartition(".")[0] for name in weights if name.endswith("weight")]
        expected = {f"{name}.{part}" for name in names for part in ("weight", "bias")}
        if not names or weights.keys() != expected:
            raise ConfigError("holds other weights than those of linear layers with a bias")
        self._layers = [(weights[f"{name}.weight"], weights[f"{name}.bias"]) for name in names]
        sizes = [game.observation_size, *(len(bias) for _, bias in self._layers)]
        shapes = list(zip(sizes[1:], sizes[:-1], strict=True))
        if sizes[-1] != game.action_count or shapes != [tuple(w.shape) for w, _ in self._layers]:
            raise ConfigError(
                f"is not a network from the {game.observation_size} features of an observation of"
                f" {game.name} to its {game.action_count} actions"
            )
        for name in find_non_finite_tensors(weights):
            raise ConfigError(f"{name} is not finite")

    @torch.inference_mode()
    def action_probs(self, records: np.ndarray) -> np.ndarray:
        """Return the probabilities of all actions at tables [B] as an array [B, actions]."""
        tables = tables_from_records(self._game, records)
        x = torch.from_numpy(tables.observe()).float()
        for index, (weight, bias) in enumerate(self._layers):
            x = linear(self._activate(x) if index else x, weight.float(), bias.float())
        return masked_softmax(x.double(), torch.from_numpy(tables.legal_mask())).numpy()


@dataclass(kw_only=True)
class MLPPlayer(Bot):
    """Player with the weights from a file that `torch.save(network.state_dict(), file)` wrote.

    The network is an `nn.Sequential` of linear layers with an activation between them. Reading the
    file runs no code that it may contain.

    Raises:
        ConfigError: if the file does not contain such a network for this game.
    """

    file: str
    activation: Activation

    def __post_init__(self, game: Game) -> None:
        super().__post_init__(game)
        self._policy = build_policy(game, self.file, load_checked(Path(self.file)), self.activation)

    def action_probs(self, records: np.ndarray) -> np.ndarray:
        """Return the probabilities of all actions at tables [B] as an array [B, actions]."""
        return self._policy.action_probs(records)


def build_policy(
    game: Game, file: str, weights: Mapping[str, Any], activation: Activation
) -> MLPPolicy:
    """Return a policy with these weights; errors name the setting `file`."""
    if not all(isinstance(weight, Tensor) and weight.ndim in (1, 2) for weight in weights.values()):
        raise ConfigError(f"file: {file} holds other weights than those of linear layers")
    try:
        return MLPPolicy(game, weights, activation)
    except ConfigError as error:
        raise ConfigError(f"file: {file} {error}") from None
