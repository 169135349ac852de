"""Plug-ins, which are packages by other authors, and loading of classes by dotted name.

The metadata of a plug-in name its package in the entry point group `poker_rl.plugins`:

    [project.entry-points."poker_rl.plugins"]
    goofspiel = "goofspiel"

An installed plug-in is trusted: configs and checkpoints may name its classes like those of
poker_rl, and the YAML files in its folder `conf` are added to the options. Its code runs only when
a config or a checkpoint names one of its classes.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from poker_rl.config.validation import ConfigError

ENTRY_POINT_GROUP = "poker_rl.plugins"
PACKAGE_NAME = "poker_rl"


@dataclass(frozen=True)
class Plugin:
    """Installed plug-in with its names, version and folder."""

    package: str  # name of the package for `import`
    distribution: str  # name of the package for `pip install`
    version: str
    folder: Path

    @property
    def option_dir(self) -> Path:
        """Return the folder of the plug-in's option files, which may be missing."""
        return self.folder / "conf"


def list_plugins() -> list[Plugin]:
    """Return the plug-ins that can be used, sorted by package."""
    return _find_plugins()[0]


def list_plugin_problems() -> list[str]:
    """Return a message with the reason for each installed plug-in that can't be used."""
    return _find_plugins()[1]


@cache
def _find_plugins() -> tuple[list[Plugin], list[str]]:
    plugins, problems = [], []
    for entry in sorted(entry_points(group=ENTRY_POINT_GROUP), key=lambda entry: entry.value):
        assert entry.dist is not None  # for mypy: every entry of a group has one
        distribution, version = entry.dist.name, entry.dist.version
        prefix = f"plug-in {entry.name} ({distribution} {version}) is not used"
        # A name with a dot is rejected, because find_spec would import the parent package.
        spec = find_spec(entry.value) if entry.value.isidentifier() else None
        if spec is None or not spec.submodule_search_locations:
            problem = f"there is no top-level package {entry.value}"
            problems.append(f"{prefix}: {problem}; install it again or uninstall it")
            continue
        folder = Path(next(iter(spec.submodule_search_locations)))
        plugins.append(Plugin(entry.value, distribution, version, folder))
    return plugins, problems


def check_packages(extra: str, purpose: str, *packages: str) -> None:
    """Raise `ConfigError` if an optional package is not installed.

    Args:
        extra: the extra of poker-rl that installs these packages.
        purpose: what needs the packages, such as a command or a file.
    """
    if any(find_spec(package) is None for package in packages):
        raise ConfigError(f"{purpose} needs more packages: pip install 'poker-rl[{extra}]'")


def load_class(target: object) -> type[Any]:
    """Return the class with a dotted name, such as `poker_rl.algos.ppo.PPO`.

    The class must be defined, not only imported, in a module of poker_rl or of a plug-in.
    """
    module_name, _, class_name = str(target).rpartition(".")
    package = module_name.partition(".")[0]
    plugin_packages = [plugin.package for plugin in list_plugins()]
    if package in (PACKAGE_NAME, *plugin_packages):
        loaded_class = getattr(_import_module(module_name), class_name, None)
        if isinstance(loaded_class, type) and loaded_class.__module__ == module_name:
            return loaded_class
    plugins_text = "".join(f" or of the plug-in {package}" for package in plugin_packages)
    install_hint = "" if package in ("", PACKAGE_NAME) else "; is its plug-in installed?"
    target_text = json.dumps(target, ensure_ascii=False)
    raise ConfigError(f"{target_text} is not a class of poker_rl{plugins_text}{install_hint}")


def _import_module(name: str) -> ModuleType | None:
    """Import a module; return None if it does not exist."""
    try:
        return import_module(name)
    except ImportError as error:
        if isinstance(error, ModuleNotFoundError) and f"{name}.".startswith(f"{error.name}."):
            return None
        if name.startswith(f"{PACKAGE_NAME}."):
            if f"{error.name}.".startswith(f"{PACKAGE_NAME}."):
                raise  # a failed import within poker_rl is a bug and needs a traceback
            raise ConfigError(f"{name} needs an optional package: {error}") from None
        raise ConfigError(f"the plug-in's module {name} can't be imported: {error}") from error
