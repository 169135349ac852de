"""Nested tensors and plain values in safetensors files, which can't contain code.

The metadata of the file has one entry, `poker_rl`: the nested values as JSON, with {"tensor": NAME}
in place of each tensor. NAME is the dotted path of the tensor and its name in the file.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from poker_rl.config.plugins import check_packages
from poker_rl.config.untrusted_files import MIB, open_regular_file
from poker_rl.config.validation import ConfigError
from poker_rl.storage.disk import atomic_replacement

SAFETENSORS_SUFFIX = ".safetensors"
METADATA_KEY = "poker_rl"
MAX_METADATA_BYTES = MIB  # the settings of players take only some kilobytes
MAX_FILE_BYTES = 1 << 40
TENSOR_KEY = "tensor"


def save_safetensors(path: Path, tree: Mapping[str, Any]) -> None:
    """Write nested tensors and plain values; raise ConfigError if safetensors is not installed."""
    check_packages("export", str(path), "safetensors")
    from safetensors.torch import save_file

    tensors: dict[str, torch.Tensor] = {}
    metadata = {METADATA_KEY: json.dumps(_move_tensors(tree, "", tensors))}
    with atomic_replacement(path) as new_path:
        save_file(tensors, new_path, metadata)


def load_safetensors(path: Path) -> dict[str, Any]:
    """Return the nested values from a file of `save_safetensors`, with tensors on the CPU.

    Raises:
        ConfigError: if the file is missing, damaged or not from `save_safetensors`, or safetensors
            is not installed.
    """
    check_packages("export", str(path), "safetensors")
    from safetensors import SafetensorError, safe_open

    try:
        open_regular_file(path, MAX_FILE_BYTES).close()
        with safe_open(path, "pt") as file:
            text = file.metadata()[METADATA_KEY]
            if len(text) > MAX_METADATA_BYTES:
                raise ValueError("too long")
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        return dict(_insert_tensors(json.loads(text), tensors))
    except FileNotFoundError:
        raise ConfigError(f"{path}: no such file") from None
    except (SafetensorError, LookupError, RuntimeError, TypeError, ValueError) as error:
        raise ConfigError(f"{path} is damaged or no player of poker-rl export") from error


def _move_tensors(tree: Any, path: str, tensors: dict[str, torch.Tensor]) -> Any:
    """Return nested values with each tensor replaced by its name; add the tensors to `tensors`."""
    if isinstance(tree, torch.Tensor):
        tensors[path] = tree.contiguous()
        return {TENSOR_KEY: path}
    if isinstance(tree, Mapping):
        return {
            key: _move_tensors(value, f"{path}.{key}" if path else key, tensors)
            for key, value in tree.items()
        }
    return tree


def _insert_tensors(tree: Any, tensors: Mapping[str, torch.Tensor]) -> Any:
    """Return nested values with each tensor's name replaced by the tensor."""
    if isinstance(tree, dict):
        if tree.keys() == {TENSOR_KEY}:
            return tensors[tree[TENSOR_KEY]]
        return {key: _insert_tensors(value, tensors) for key, value in tree.items()}
    return tree
