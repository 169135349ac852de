"""Build objects, such as a learner or a game, from their settings.

The settings of an object are a mapping: `_target_` is the dotted name of a dataclass, and the other
keys are its fields. Arguments that YAML cannot contain, such as the game and the device, are passed
to `build` by keyword. Unlike Hydra's `instantiate`, `build` accepts only classes of `poker_rl` and
of installed plug-ins, and checks each value against the field's annotation.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping
from dataclasses import fields
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from poker_rl.config.input_checks import (
    MAX_INTEGER,
    ConfigError,
    NonNegativeFloat,
    Range,
    format_value,
    memory_errors_as_config_errors,
    suggest_allowed,
)
from poker_rl.config.schedules import Constant, Schedule
from poker_rl.config.target_classes import get_field_annotation, split_target_and_settings

ALLOWED_INTEGERS = Range(-MAX_INTEGER, MAX_INTEGER)
SCALAR_DESCRIPTIONS = {
    bool: "true or false",
    int: "an integer",
    float: "a number",
    str: "text (what looks like a number needs quotes)",
}


def build(config: object, path: str, expected_type: Any = object, **runtime: Any) -> Any:
    """Return the object that settings describe, after checking and converting their values.

    The object's class must be a subclass of `expected_type` or, if `expected_type` is a protocol,
    have the protocol's methods. The message of a ConfigError begins with `path`, the dotted key of
    the settings, such as `algo`. Arguments in `runtime` that the class does not take are ignored.
    """
    target, field_values = split_target_and_settings(config, path)
    if getattr(expected_type, "_is_protocol", False):
        methods = [name for name, member in vars(expected_type).items() if callable(member)]
        is_match = all(hasattr(target, name) for name in methods if not name.startswith("_"))
    else:
        is_match = issubclass(target, expected_type)
    if not is_match:
        raise ConfigError(f"{path}._target_: {target.__name__} is not a {expected_type.__name__}")
    parameters = inspect.signature(target).parameters
    arguments = convert_fields(target, field_values, path, runtime)
    arguments |= {name: runtime[name] for name in parameters if name in runtime}
    with memory_errors_as_config_errors(path):
        try:
            return target(**arguments)
        except ConfigError as error:
            key = str(error).partition(":")[0]
            if key in runtime:
                raise
            is_own_key = key.partition(".")[0] in {"_target_", *parameters}
            raise ConfigError(f"{path}{'.' if is_own_key else ': '}{error}") from None


def convert_fields(
    target: type[Any], config: Mapping[str, Any], path: str, runtime: Mapping[str, Any]
) -> dict[str, Any]:
    """Check settings, and convert each to the type of the field of the same name in `target`.

    `config` must contain all fields, except those whose default is None. It must not contain the
    fields in `runtime`, because the program sets them.
    """
    own_fields = [field for field in fields(target) if field.init and field.name not in runtime]
    default_by_name = {field.name: field.default for field in own_fields}
    prefix = f"{path}." if path else ""
    for name in config:
        if name not in default_by_name:
            hint = suggest_allowed(str(name), default_by_name)
            raise ConfigError(f"{prefix}{name}: no such setting; {hint}")
    for name, default in default_by_name.items():
        if config.get(name, "???" if default is not None else None) == "???":
            raise ConfigError(f"{prefix}{name}: missing; give {prefix}{name}=…")
    return {
        name: _convert_value(
            config[name], get_field_annotation(target, name), f"{prefix}{name}", runtime
        )
        for name in default_by_name
        if name in config
    }


def _convert_value(value: Any, annotation: Any, path: str, runtime: Mapping[str, Any]) -> Any:
    """Return a value converted to the type that `annotation` describes."""
    origin, annotation_args = get_origin(annotation), get_args(annotation)
    if annotation is Any:
        return value
    if origin is Annotated:
        value = _convert_value(value, annotation_args[0], path, runtime)
        for allowed in annotation_args[1:]:
            if isinstance(allowed, Range) and value not in allowed:
                raise ConfigError(f"{path}: {format_value(value)} is not in {allowed}")
        return value
    if origin in (Union, UnionType):
        return _convert_union(value, annotation_args, path, runtime)
    if origin is Literal:
        if value not in annotation_args:
            hint = suggest_allowed(str(value), map(str, annotation_args))
            raise ConfigError(f"{path}: {format_value(value)} is no choice; {hint}")
        return value
    if origin in (list, tuple):
        if not isinstance(value, list | tuple):
            text = format_value(value)
            raise ConfigError(f"{path}: {text} is not a list, such as [{text}]")
        return origin(
            _convert_value(item, annotation_args[0], f"{path}[{index}]", runtime)
            for index, item in enumerate(value)
        )
    if origin is dict:
        if not isinstance(value, Mapping):
            raise ConfigError(f"{path}: {format_value(value)} is not a mapping, such as {{a: 1}}")
        return {
            key: _convert_value(item, annotation_args[1], f"{path}.{key}", runtime)
            for key, item in value.items()
        }
    if annotation is Schedule and not isinstance(value, Mapping):
        if type(value) not in (int, float):
            problem = "is neither a number nor a schedule, {start, end, horizon}"
            raise ConfigError(f"{path}: {format_value(value)} {problem}")
        return Constant(start=_convert_value(value, NonNegativeFloat, path, runtime))
    if annotation not in SCALAR_DESCRIPTIONS:
        return build(value, path, annotation, **runtime)
    return _convert_scalar(value, annotation, path)


def _convert_union(
    value: Any, alternatives: tuple[Any, ...], path: str, runtime: Mapping[str, Any]
) -> Any:
    """Return a value converted to the first type of a union that accepts it."""
    if NoneType in alternatives:
        if value is None:
            return None
        if value == "":  # reject it: the path "" would mean the working folder
            raise ConfigError(f"{path}: is empty; for none give {path}=null")
    errors = []
    for alternative in alternatives:
        if alternative is not NoneType:
            try:
                return _convert_value(value, alternative, path, runtime)
            except ConfigError as error:
                errors.append(str(error))
    raise ConfigError(", or ".join([errors[0], *(e.removeprefix(f"{path}: ") for e in errors[1:])]))


def _convert_scalar(value: Any, annotation: type[Any], path: str) -> Any:
    if annotation is int and isinstance(value, float) and value.is_integer():
        value = int(value)  # YAML reads the integer 1e6 as a float
    if type(value) is int and annotation is not bool and value not in ALLOWED_INTEGERS:
        raise ConfigError(f"{path}: {format_value(value)} is not in {ALLOWED_INTEGERS}")
    if annotation is float and type(value) is int:
        value = float(value)
    if type(value) is not annotation or (annotation is float and math.isnan(value)):
        raise ConfigError(f"{path}: {format_value(value)} is not {SCALAR_DESCRIPTIONS[annotation]}")
    return value
