"""Plug-ins: installed packages by other authors, found by their entry points.

The distribution of a plug-in names its package in the entry point group `poker_rl.plugins`:

    [project.entry-points."poker_rl.plugins"]
    goofspiel = "goofspiel"

An installed plug-in is trusted: configs and checkpoints may name its classes like those of
poker_rl, and the YAML in its folder `conf` joins the options. Its code runs only when a config or a
checkpoint names one of its classes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path

ENTRY_POINT_GROUP = "poker_rl.plugins"


@dataclass(frozen=True)
class Plugin:
    """Installed plug-in."""

    package: str  # name in import statements
    distribution: str  # name in pip install
    version: str  # version of the distribution
    folder: Path  # folder of the Python sources

    @property
    def option_dir(self) -> Path:
        """Return the folder of the plug-in's option files, which may be missing."""
        return self.folder / "conf"


def list_plugins() -> list[Plugin]:
    """Return the plug-ins that can be used, sorted by package."""
    return _find_plugins()[0]


def list_plugin_problems() -> list[str]:
    """Return a message for each installed plug-in that can't be used, with the reason."""
    return _find_plugins()[1]


def iterate_plugin_sources() -> Iterator[Path]:
    """Yield the Python files of all plug-ins."""
    for plugin in list_plugins():
        yield from sorted(plugin.folder.rglob("*.py"))


@cache
def _find_plugins() -> tuple[list[Plugin], list[str]]:
    """Return the plug-ins that can be used, and a message for each of the others."""
    plugins, problems = [], []
    for entry in sorted(entry_points(group=ENTRY_POINT_GROUP), key=lambda entry: entry.value):
        assert entry.dist is not None  # for mypy: every entry of a group has one
        distribution, version = entry.dist.name, entry.dist.version
        prefix = f"plug-in {entry.name} ({distribution} {version}) is not used"
        # find_spec of a name with a dot would import the package above it, which runs code.
        spec = find_spec(entry.value) if entry.value.isidentifier() else None
        if spec is None or not spec.submodule_search_locations:
            problem = f"there is no top-level package {entry.value}"
            problems.append(f"{prefix}: {problem}; install it again or uninstall it")
            continue
        folder = Path(next(iter(spec.submodule_search_locations)))
        plugins.append(Plugin(entry.value, distribution, version, folder))
    return plugins, problems
