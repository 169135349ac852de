"""Import of the classes that settings name by `_target_`, and types of their fields."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from importlib import import_module
from typing import Any

from poker_rl.config import plugins
from poker_rl.config.input_checks import ConfigError, error_prefix, format_value

PACKAGE_NAME = "poker_rl"


def load_class(target: object) -> type[Any]:
    """Return the class with a dotted name, such as `poker_rl.algos.ppo.PPO`.

    The class must be defined, not only imported, in a module of poker_rl or of a plug-in.
    """
    module_name, _, class_name = str(target).rpartition(".")
    package = module_name.partition(".")[0]
    plugin_packages = [plugin.package for plugin in plugins.list_plugins()]
    if package in (PACKAGE_NAME, *plugin_packages):
        try:
            loaded_class = getattr(import_module(module_name), class_name, None)
        except ImportError as error:
            # If this module or a parent is missing, `target` is wrong; else the module is faulty.
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


def get_class_path(instance: object) -> str:
    """Return the dotted name of an object's class, as in `_target_`."""
    return f"{type(instance).__module__}.{type(instance).__qualname__}"


def settings_to_dict(settings: Any) -> dict[str, Any]:
    """Return the fields of a dataclass object, nested ones included, in the form of its YAML."""
    state: dict[str, Any] = {"_target_": get_class_path(settings)}
    for field in fields(settings):
        value = getattr(settings, field.name)
        state[field.name] = settings_to_dict(value) if is_dataclass(value) else value
    return state


def split_target_and_settings(config: object, path: str) -> tuple[type[Any], dict[str, Any]]:
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
