"""Player with a policy that MaskablePPO (sb3-contrib, Stable-Baselines3) has trained."""

from __future__ import annotations

import json
import zipfile
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import torch

from poker_rl.config.validation import ConfigError, open_regular_file
from poker_rl.games.game import Game
from poker_rl.integrations.mlp_player import Activation, LinearLayersPlayer
from poker_rl.storage.checkpoint import MACHINE_MEMORY_BYTES, UNREADABLE_FILE_ERRORS
from poker_rl.storage.disk import name_path_in_errors

POLICY_MODULE = "sb3_contrib.common.maskable.policies"
CRITIC_PREFIXES = ("mlp_extractor.value_net.", "value_net.")
TANH_CLASS = "<class 'torch.nn.modules.activation.Tanh'>"
ACTIVATION_BY_CLASS: dict[str, Activation] = {
    TANH_CLASS: "tanh",
    "<class 'torch.nn.modules.activation.ReLU'>": "relu",
}


@dataclass(kw_only=True)
class MaskablePPOPlayer(LinearLayersPlayer):
    """Player with the weights from a file that `MaskablePPO.save` wrote.

    The policy has to be an `MlpPolicy` with tanh or ReLU that was trained in `GameEnv` or
    `GameVectorEnv`. Only its weights are read, which needs no Stable-Baselines3 and runs no code
    that the file may contain, unlike `MaskablePPO.load`.
    """

    def __post_init__(self, game: Game) -> None:
        super().__post_init__(game)
        weights, settings = read_saved_model(Path(self.file))
        policy_class, policy_settings = settings["policy_class"], settings["policy_kwargs"]
        activation = ACTIVATION_BY_CLASS.get(policy_settings.get("activation_fn", TANH_CLASS))
        if policy_class.get("__module__") != POLICY_MODULE or activation is None:
            problem = "is not of an MlpPolicy of MaskablePPO with tanh or ReLU"
            raise ConfigError(f"file: {self.file} {problem}")
        actor = {k: v for k, v in weights.items() if not k.startswith(CRITIC_PREFIXES)}
        self.set_layers(actor, activation)


def read_saved_model(path: Path) -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
    """Return the weights of a saved MaskablePPO by name, and the settings of its policy."""
    try:
        with (
            name_path_in_errors(path),
            open_regular_file(path, MACHINE_MEMORY_BYTES) as file,
            zipfile.ZipFile(file) as archive,
        ):
            settings = json.loads(archive.read("data"))
            policy_bytes = archive.read("policy.pth")
        weights = torch.load(BytesIO(policy_bytes), map_location="cpu", weights_only=True)
        return dict(weights), {
            key: dict(settings[key]) for key in ("policy_class", "policy_kwargs")
        }
    except FileNotFoundError:
        raise ConfigError(f"file: {path}: no such file") from None
    except UNREADABLE_FILE_ERRORS as error:
        raise ConfigError(f"file: {path} is not a model of MaskablePPO") from error
