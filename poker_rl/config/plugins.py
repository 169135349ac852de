"""Plug-ins, which are packages by other authors, and the classes that settings may name.

The metadata of a plug-in name its package in the entry point group `poker_rl.plugins`:

    [project.entry-points."poker_rl.plugins"]
    goofspiel = "goofspiel"

An installed plug-in is trusted: configs and checkpoints may name its classes like those of
poker_rl, and the YAML files in its folder `conf` are added to the options. Its code runs only when
a config or a checkpoint names one of its classes.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Mapping
from dataclasses import dataclass, is_dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from poker_rl.config.validation import ConfigError, error_prefix, format_value

PACKAGE_NAME = "poker_rl"


@dataclass(frozen=True)
class Plugin:
    """Installed plug-in with its names, version and folder."""

    package: str  # name of the package for `import`
    distribution: str  # name of the package for `pip install`
    version: str
    folder: Path  # its subfolder conf, if there is one, has option files


@cache
def list_plugins() -> list[Plugin]:
    """Return the installed plug-ins, sorted by package; raise ConfigError if one is broken."""
    plugins = []
    for entry in sorted(entry_points(group="poker_rl.plugins"), key=lambda entry: entry.value):
        assert entry.dist is not None  # for mypy: every entry of a group has one
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


def check_packages(extra: str, purpose: str, *packages: str) -> None:
    """Raise ConfigError if a package, which an extra of poker-rl installs, is missing."""
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
        try:
            loaded_class = getattr(import_module(module_name), class_name, None)
        except ImportError as error:
            # It is a mistake in the name only if this module or a parent package is missing.
            if not (error.name and f"{module_name}.".startswith(f"{error.name}.")):
                raise ConfigError(f"{module_name} can't be imported: {error}") from error
            loaded_class = None
        if isinstance(loaded_class, type) and loaded_class.__module__ == module_name:
            return loaded_class
    plugins_text = "".join(f" or of the plug-in {package}" for package in plugin_packages)
    install_hint = "" if package in ("", PACKAGE_NAME) else "; is its plug-in installed?"
    raise ConfigError(
        f"{format_value(target)} is not a class of {PACKAGE_NAME}{plugins_text}{install_hint}"
    )


def resolve_target(config: object, path: str) -> tuple[type[Any], dict[str, Any]]:
    """Return the dataclass that `_target_` names, and a dictionary of the other settings."""
    if not isinstance(config, Mapping) or "_target_" not in config:
        raise ConfigError(
            f"{path}: {format_value(config)} is not settings with a `_target_`, their class"
        )
    settings = dict(config)
    with error_prefix(f"{path}._target_"):
        target = load_class(settings.pop("_target_"))
        if not is_dataclass(target):
            raise ConfigError(f"{target.__name__} has no settings")
    return target, settings


def get_field_annotation(target: type[Any], field_name: str) -> Any:
    """Return a field's annotation, evaluated in the module of the class that declares it."""
    owner = next(cls for cls in target.__mro__ if field_name in inspect.get_annotations(cls))
    annotation = inspect.get_annotations(owner)[field_name]
    if isinstance(annotation, str):
        return eval(annotation, vars(sys.modules[owner.__module__]))
    return annotation
