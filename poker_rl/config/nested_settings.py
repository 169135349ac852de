"""Read, set and compare values of nested dictionaries by dotted key, such as `algo.lr`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

MISSING = object()


def find_differing_key(one: Any, other: Any, key: str = "") -> str | None:
    """Return the dotted key of the first setting that differs; None if all are equal."""
    if not (isinstance(one, Mapping) and isinstance(other, Mapping)):
        return None if one == other else key
    for name in sorted(one.keys() | other.keys(), key=str):
        path = f"{key}.{name}" if key else str(name)
        if found := find_differing_key(one.get(name), other.get(name), path):
            return found
    return None


def get_value(tree: Any, key: str) -> Any:
    """Return the value at a dotted key of nested dictionaries; MISSING if there is none."""
    for part in key.split("."):
        tree = tree.get(part, MISSING) if isinstance(tree, dict) else MISSING
    return tree


def set_value(tree: dict[str, Any], key: str, value: Any) -> None:
    """Set the value at a dotted key of nested dictionaries."""
    *parents, last = key.split(".")
    for parent in parents:
        tree = tree.setdefault(parent, {})
    tree[last] = value
