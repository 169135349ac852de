"""Plug-ins, which are packages by other authors, and a check for optional packages.

The metadata of a plug-in name its package in the entry point group `poker_rl.plugins`:

    [project.entry-points."poker_rl.plugins"]
    goofspiel = "goofspiel"

An installed plug-in is trusted: configs and checkpoints may name its classes like those of
poker_rl, and the YAML files in its folder `conf` are added to the options. Its code runs only when
a config or a checkpoint names one of its classes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path

from poker_rl.config.input_checks import ConfigError


@dataclass(frozen=True)
class Plugin:
    """Installed plug-in with its names, version and folder."""

    package: str  # name of the package for `import`
    distribution: str  # name of the package for `pip install`
    version: str
    folder: Path  # option files are in its subfolder conf, if there is one


@cache
def list_plugins() -> list[Plugin]:
    """Return the installed plug-ins, sorted by package; raise ConfigError if one is broken."""
    plugins = []
    for entry in sorted(entry_points(group="poker_rl.plugins"), key=lambda entry: entry.value):
        assert entry.dist is not None  # for mypy: every entry point has a distribution
        # A name with a dot is rejected, because find_spec would import the parent package.
        spec = find_spec(entry.value) if entry.value.isidentifier() else None
        if spec is None or not spec.submodule_search_locations:
            problem = f"there is no top-level package {entry.value}"
            raise ConfigError(
                f"plug-in {entry.dist.name}: {problem}; install it again or uninstall it"
            )
        folder = Path(next(iter(spec.submodule_search_locations)))
        plugins.append(Plugin(entry.value, entry.dist.name, entry.dist.version, folder))
    return plugins


def check_optional_packages(extra: str, purpose: str, *packages: str) -> None:
    """Raise ConfigError if a package that `pip install poker-rl[extra]` installs is missing."""
    if any(find_spec(package) is None for package in packages):
        raise ConfigError(f"{purpose} needs more packages: pip install 'poker-rl[{extra}]'")
