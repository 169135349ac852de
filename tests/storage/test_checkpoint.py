"""Checkpoints and snapshots: complete or rejected, whatever happens while they are written."""

from __future__ import annotations

import pickle
from collections import deque
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from commands import limit_file_size

from poker_rl.config.validation import ConfigError
from poker_rl.storage import checkpoint

TREE = {"weight": torch.arange(5.0), "plain": {1: 2, "list": [1.5, (2, None)], "big": 2**128}}


def write(path: Path) -> Path:
    checkpoint.save_atomically(path, TREE)
    return path


def test_a_saved_tree_is_loaded(tmp_path):
    tree = checkpoint.load_checked(write(tmp_path / "state.pt"))
    assert torch.equal(tree["weight"], TREE["weight"])
    assert tree["plain"] == TREE["plain"]
    assert [path.name for path in tmp_path.iterdir()] == ["state.pt"]


@pytest.mark.parametrize("value", [np.float64(3), np.zeros(3), Path("x"), deque([1])], ids=repr)
def test_a_value_that_could_not_be_loaded_is_not_saved(tmp_path, value):
    path = write(tmp_path / "state.pt")
    with pytest.raises(pickle.UnpicklingError):
        checkpoint.save_atomically(path, {"value": value})
    assert checkpoint.load_checked(path).keys() == TREE.keys()


def test_a_full_disk_leaves_the_old_file(tmp_path):
    path = write(tmp_path / "state.pt")
    with limit_file_size(50_000), pytest.raises(OSError, match="File too large") as failure:
        checkpoint.save_atomically(path, {"large": torch.zeros(100_000)})
    assert failure.value.filename == str(path)
    assert list(tmp_path.iterdir()) == [path]  # and no half of the new one
    assert checkpoint.load_checked(path).keys() == TREE.keys()


def test_truncated_files_are_rejected(tmp_path):
    path = write(tmp_path / "state.pt")
    whole = path.read_bytes()
    for length in range(0, len(whole), 13):
        path.write_bytes(whole[:length])
        with pytest.raises(ConfigError, match="damaged or no checkpoint"):
            checkpoint.load_checked(path)


def test_a_flipped_bit_in_a_weight_is_rejected(tmp_path):
    path = write(tmp_path / "state.pt")
    whole = path.read_bytes()
    start = whole.index(np.arange(5, dtype=np.float32).tobytes())
    for position in range(start, start + 20):
        path.write_bytes(whole[:position] + bytes([whole[position] ^ 1]) + whole[position + 1 :])
        with pytest.raises(ConfigError, match="damaged or no checkpoint"):
            checkpoint.load_checked(path)


class Bomb:
    def __reduce__(self) -> Any:
        return (print, ("executed",))


def test_files_with_code_are_rejected_and_not_executed(tmp_path, capsys):
    path = tmp_path / "state.pt"
    torch.save({"bomb": Bomb()}, path)
    with pytest.raises(ConfigError, match="damaged or no checkpoint"):
        checkpoint.load_checked(path)
    torch.save(torch.zeros(3), path)
    with pytest.raises(ConfigError, match="damaged or no checkpoint"):
        checkpoint.load_checked(path)
    path.write_bytes(pickle.dumps({"a": 1}))
    with pytest.raises(ConfigError, match="damaged or no checkpoint"):
        checkpoint.load_checked(path)
    with pytest.raises(ConfigError, match="no such file"):
        checkpoint.load_checked(tmp_path / "missing.pt")
    with pytest.raises(ConfigError, match="no player snapshot"):
        checkpoint.load_snapshot(write(path))
    assert "executed" not in capsys.readouterr().out


def test_tensors_that_are_not_finite_are_named():
    tree = {
        "net": {"bias": torch.tensor([1.0, torch.nan]), "weight": torch.zeros(2)},
        "moments": [torch.tensor(3), torch.tensor([-torch.inf], dtype=torch.float64)],
        "empty": torch.zeros(0),
        "limit": float("inf"),
    }
    assert list(checkpoint.find_non_finite_tensors(tree)) == ["net.bias", "moments.1"]


def test_snapshots_are_listed_by_decisions(tmp_path):
    with pytest.raises(ConfigError, match="no player snapshots"):
        checkpoint.find_newest_snapshot(tmp_path)
    tree: dict[str, Any] = {"game": {}, "players": {"current": {"weight": torch.zeros(3)}}}
    paths = [checkpoint.save_snapshot(tmp_path, n, tree) for n in (900, 1000, 20)]
    assert [path.stem for path in checkpoint.list_snapshots(tmp_path)] == ["20", "900", "1000"]
    assert checkpoint.find_newest_snapshot(tmp_path) == paths[1]
    assert checkpoint.load_snapshot(paths[1])["players"].keys() == {"current"}


def test_a_snapshot_of_a_view_holds_the_view_alone(tmp_path):
    copies = torch.zeros(1000, 1000, requires_grad=True)
    players = {"current": {"weight": copies[3]}}
    path = checkpoint.save_snapshot(tmp_path, 1, {"game": {}, "players": players})
    assert path.stat().st_size < 10_000
    assert not checkpoint.load_snapshot(path)["players"]["current"]["weight"].requires_grad
