"""Players with the weights of a plain PyTorch network or of a MaskablePPO model of sb3-contrib."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch.nn.functional import linear

from poker_rl.config.input_checks import ConfigError, error_prefix, open_regular_file
from poker_rl.games.game import Game
from poker_rl.nets.action_probs import masked_softmax
from poker_rl.players.bots.bot import Bot
from poker_rl.storage.checkpoint import (
    MACHINE_MEMORY_BYTES,
    UNREADABLE_FILE_ERRORS,
    find_non_finite_tensors,
    load_checked,
)
from poker_rl.storage.disk import name_path_in_errors

POLICY_MODULE = "sb3_contrib.common.maskable.policies"
CRITIC_PREFIXES = ("mlp_extractor.value_net.", "value_net.")
CLASS_BY_ACTIVATION = {
    "tanh": "<class 'torch.nn.modules.activation.Tanh'>",
    "relu": "<class 'torch.nn.modules.activation.ReLU'>",
}


@dataclass(kw_only=True)
class LinearLayersPlayer(Bot):
    """Player whose policy is the masked softmax of a multilayer perceptron loaded from a file.

    Subclasses read the file and call `set_layers`.
    """

    file: str

    def set_layers(self, weights: Mapping[str, Any], activation: str) -> None:
        """Set the layers from weights such as `0.weight` and `0.bias`, ordered by layer.

        Raises:
            ConfigError: if the weights are not finite, or not of linear layers from observations to
                actions.
        """
        game = self._game
        self._activate = torch.tanh if activation == "tanh" else torch.relu
        # The names are converted to text first, because a forged file may have keys of any type.
        names = [name.rpartition(".")[0] for name in map(str, weights) if name.endswith("weight")]
        expected = {f"{name}.{part}" for name in names for part in ("weight", "bias")}
        with error_prefix(f"file: {self.file}"):
            is_tensor = [isinstance(w, torch.Tensor) and w.ndim in (1, 2) for w in weights.values()]
            if not names or weights.keys() != expected or not all(is_tensor):
                raise ConfigError("holds other weights than those of linear layers with a bias")
            self._layers = [(weights[f"{name}.weight"], weights[f"{name}.bias"]) for name in names]
            sizes = [game.observation_size, *(len(bias) for _, bias in self._layers)]
            shapes = [((n, m), (n,)) for m, n in pairwise(sizes)]
            layer_shapes = [(weight.shape, bias.shape) for weight, bias in self._layers]
            if sizes[-1] != game.action_count or shapes != layer_shapes:
                raise ConfigError(
                    f"is not a network from the {game.observation_size} features of an observation"
                    f" of {game.name} to its {game.action_count} actions"
                )
            for name in find_non_finite_tensors(weights):
                raise ConfigError(f"{name} is not finite")

    @torch.inference_mode()
    def action_probs(self, records: np.ndarray) -> np.ndarray:
        """Return the probabilities of all actions, [B, actions], at B tables with `records` [B]."""
        tables = self.build_tables(records)
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

    activation: Literal["tanh", "relu"]

    def __post_init__(self, game: Game) -> None:
        super().__post_init__(game)
        self.set_layers(load_checked(Path(self.file)), self.activation)


@dataclass(kw_only=True)
class MaskablePPOPlayer(LinearLayersPlayer):
    """Player with the weights from a file that `MaskablePPO.save` wrote.

    The policy has to be an `MlpPolicy` with tanh or ReLU that was trained in `GameEnv` or
    `GameVectorEnv`. Only its weights are read, which needs no Stable-Baselines3 and runs no code
    that the file may contain, unlike `MaskablePPO.load`.
    """

    def __post_init__(self, game: Game) -> None:
        super().__post_init__(game)
        weights, policy_class, policy_settings = read_saved_maskable_ppo(Path(self.file))
        activation_class = policy_settings.get("activation_fn", CLASS_BY_ACTIVATION["tanh"])
        names = [name for name, one in CLASS_BY_ACTIVATION.items() if one == activation_class]
        if policy_class.get("__module__") != POLICY_MODULE or not names:
            problem = "is not of an MlpPolicy of MaskablePPO with tanh or ReLU"
            raise ConfigError(f"file: {self.file} {problem}")
        actor = {k: v for k, v in weights.items() if not str(k).startswith(CRITIC_PREFIXES)}
        self.set_layers(actor, names[0])


def read_saved_maskable_ppo(path: Path) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Return weights, `policy_class` and `policy_kwargs` from a file of `MaskablePPO.save`.

    Raise ConfigError if there is no such file.
    """
    try:
        with (
            name_path_in_errors(path),
            open_regular_file(path, MACHINE_MEMORY_BYTES) as file,
            zipfile.ZipFile(file) as archive,
        ):
            settings = json.loads(archive.read("data"))
            policy_bytes = archive.read("policy.pth")
        weights = torch.load(BytesIO(policy_bytes), map_location="cpu", weights_only=True)
        return dict(weights), dict(settings["policy_class"]), dict(settings["policy_kwargs"])
    except FileNotFoundError:
        raise ConfigError(f"file: {path}: no such file") from None
    except UNREADABLE_FILE_ERRORS as error:
        raise ConfigError(f"file: {path} is not a model of MaskablePPO") from error
