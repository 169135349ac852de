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

from poker_rl.config.validation import ConfigError, error_prefix
from poker_rl.games.game import Game
from poker_rl.nets.action_probs import masked_softmax
from poker_rl.players.bots.basic_bots import Bot
from poker_rl.storage.checkpoint import find_non_finite_tensors, load_checked

Activation = Literal["tanh", "relu"]


@dataclass(kw_only=True)
class LinearLayersPlayer(Bot):
    """Player with a multilayer perceptron from a file, whose softmax gives the probabilities.

    Subclasses read the file and call `set_layers`.
    """

    file: str

    def set_layers(self, weights: Mapping[str, Any], activation: Activation) -> None:
        """Set the `weight` [outputs, inputs] and `bias` [outputs] of the layers by dotted names.

        Raises:
            ConfigError: if they do not form linear layers from observations to actions.
        """
        game, tensors = self._game, list(weights.values())
        self._activate = torch.tanh if activation == "tanh" else torch.relu
        names = [name.rpartition(".")[0] for name in weights if name.endswith("weight")]
        expected = {f"{name}.{part}" for name in names for part in ("weight", "bias")}
        with error_prefix(f"file: {self.file}"):
            is_tensor = all(isinstance(one, Tensor) and one.ndim in (1, 2) for one in tensors)
            if not names or weights.keys() != expected or not is_tensor:
                raise ConfigError("holds other weights than those of linear layers with a bias")
            self._layers = [(weights[f"{name}.weight"], weights[f"{name}.bias"]) for name in names]
            sizes = [game.observation_size, *(len(bias) for _, bias in self._layers)]
            shapes = list(zip(sizes[1:], sizes[:-1], strict=True))
            if sizes[-1] != game.action_count or shapes != [w.shape for w, _ in self._layers]:
                raise ConfigError(
                    f"is not a network from the {game.observation_size} features of an observation"
                    f" of {game.name} to its {game.action_count} actions"
                )
            for name in find_non_finite_tensors(weights):
                raise ConfigError(f"{name} is not finite")

    @torch.inference_mode()
    def action_probs(self, records: np.ndarray) -> np.ndarray:
        """Return the probabilities of all actions at tables [B] as an array [B, actions]."""
        tables = self.to_tables(records)
        x = torch.from_numpy(tables.observe()).float()
        for index, (weight, bias) in enumerate(self._layers):
            x = linear(self._activate(x) if index else x, weight.float(), bias.float())
        return masked_softmax(x.double(), torch.from_numpy(tables.legal_mask())).numpy()


@dataclass(kw_only=True)
class MLPPlayer(LinearLayersPlayer):
    """Player with the weights from a file that `torch.save(network.state_dict(), file)` wrote.

    The network is an `nn.Sequential` of linear layers with an activation between them. Reading the
    file runs no code that it may contain.
    """

    activation: Activation

    def __post_init__(self, game: Game) -> None:
        super().__post_init__(game)
        self.set_layers(load_checked(Path(self.file)), self.activation)
