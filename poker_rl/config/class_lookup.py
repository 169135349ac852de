"""Lookup of classes by dotted name, the only way in which configs and checkpoints refer to code."""

from __future__ import annotations

import json
from importlib import import_module
from types import ModuleType
from typing import Any

from poker_rl.config.plugins import list_plugins
from poker_rl.config.validation import ConfigError

PACKAGE_NAME = "poker_rl"


def load_class(target: object) -> type[Any]:
    """Return the class with a dotted name, such as `poker_rl.algos.ppo.PPO`.

    The named module must belong to poker_rl or a plug-in and define the class, not just import it.
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
                raise  # a bug in poker_rl, which needs a traceback
            raise ConfigError(f"{name} needs an optional package: {error}") from None
        raise ConfigError(f"the plug-in's module {name} can't be imported: {error}") from error
