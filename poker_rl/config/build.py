"""From a node of a config to the object that it names.

A node names a dataclass by `_target_` and holds its fields, no more and no fewer; what is known
only at run time (the game, the device) is an argument of the call. Unlike Hydra's `instantiate`,
`build` takes no code from outside `poker_rl` and the installed plug-ins, and checks each value
against the field's annotation.
"""

from __future__ import annotations

import dataclasses
import inspect
import math
import sys
from collections.abc import Mapping
from contextlib import suppress
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from omegaconf import DictConfig

from poker_rl.config.classes import class_of
from poker_rl.config.messages import allowed, shown
from poker_rl.config.options import plain
from poker_rl.config.schedules import Constant, Schedule
from poker_rl.config.settings import LARGEST, NonNegative, Range, Refused, about, in_memory

SCALARS = {
    bool: "true or false",
    int: "an integer",
    float: "a number",
    str: "text (what looks like a number needs quotes)",
}


def build(node: object, key: str, **runtime: Any) -> Any:
    """The object that a node's `_target_` names, its fields converted and checked.

    Args:
        key: the node's dotted place in the config, named in errors.
        runtime: arguments that are no settings; those the constructor does not name are dropped.

    Raises:
        Refused: if the target is not in `poker_rl` or a plug-in, a key is unknown or missing, or a
            value is of another type, out of range or refused by the constructor.
    """
    target, settings = class_and_settings(node, key)
    arguments = convert_fields(target, settings, key, runtime)
    arguments |= {name: runtime[name] for name in takes(target) if name in runtime}
    with in_memory(key):
        try:
            return target(**arguments)
        except Refused as error:
            field, _, _ = str(error).partition(":")
            if field in runtime:
                raise
            link = "." if field.partition(".")[0] in {"_target_", *takes(target)} else ": "
            raise Refused(f"{key}{link}{error}") from None


def build_as(kind: Any, node: object, key: str, **runtime: Any) -> Any:
    """The same, if its class is a kind of another one or has the methods of a protocol.

    Raises:
        Refused: if it does not, too; of a wrong class no other setting is looked at.
    """
    target, _ = class_and_settings(node, key)
    if getattr(kind, "_is_protocol", False):
        methods = [name for name, member in vars(kind).items() if callable(member)]
        fits = all(hasattr(target, name) for name in methods if not name.startswith("_"))
    else:
        fits = issubclass(target, kind)
    if not fits:
        raise Refused(f"{key}._target_: {target.__name__} is not a {kind.__name__}")
    return build(node, key, **runtime)


def class_and_settings(node: object, key: str) -> tuple[type[Any], dict[str, Any]]:
    """The class that a node names by its `_target_`, and its other settings."""
    if isinstance(node, DictConfig):
        node = plain(node)
    if not isinstance(node, Mapping) or "_target_" not in node:
        named = f"; in a file, `defaults: [override /{key}: {node}]` names it"
        option = isinstance(node, str) and "." not in key
        what = "is not settings with a `_target_`, their class"
        raise Refused(f"{key}: {shown(node)} {what}{named * option}")
    settings = {name: value for name, value in node.items() if name != "_target_"}
    return find(node["_target_"], f"{key}._target_"), settings


def find(target: object, key: str) -> type[Any]:
    """The dataclass of this program that has that dotted name."""
    with about(key):
        found = class_of(target)
        if not dataclasses.is_dataclass(found):
            raise Refused(f"{shown(target)} has no settings")
    return found


def takes(target: type[Any]) -> list[str]:
    """The names of a constructor's arguments."""
    return list(inspect.signature(target).parameters)


def convert_fields(
    target: type[Any], node: Mapping[str, Any], key: str, runtime: Mapping[str, Any]
) -> dict[str, Any]:
    """A node's values as the dataclass declares them, one for each field not in `runtime`.

    A field whose default is None may be left out.
    """
    fields = [f for f in dataclasses.fields(target) if f.init and f.name not in runtime]
    names, optional = [f.name for f in fields], {f.name for f in fields if f.default is None}
    prefix = f"{key}." if key else ""
    for name in node:
        if name not in names:
            raise Refused(f"{prefix}{name}: no such setting; {allowed(str(name), names)}")
    for name in names:
        if name not in node and name in optional:
            continue
        if name not in node or node[name] == "???":
            raise Refused(f"{prefix}{name}: missing; give {prefix}{name}=…")
    return {
        name: _convert(node[name], annotation_of(target, name), f"{prefix}{name}", runtime)
        for name in names
        if name in node
    }


def text_fields(target: type[Any]) -> set[str]:
    """Return the names of a dataclass's fields that are text, or text and null."""
    names = [field.name for field in dataclasses.fields(target)]
    return {name for name in names if annotation_of(target, name) in (str, str | None)}


def annotation_of(target: type[Any], name: str) -> Any:
    """A field's annotation, evaluated where it was written; other fields need not be evaluable."""
    owner = next(c for c in target.__mro__ if name in inspect.get_annotations(c))
    annotation = inspect.get_annotations(owner)[name]
    if isinstance(annotation, str):
        return eval(annotation, vars(sys.modules[owner.__module__]))
    return annotation


def _convert(value: Any, annotation: Any, key: str, runtime: Mapping[str, Any]) -> Any:
    """A value as its annotation declares it, or Refused."""
    origin, args = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        value = _convert(value, args[0], key, runtime)
        for range_ in args[1:]:
            if isinstance(range_, Range) and value not in range_:
                raise Refused(f"{key}: {shown(value)} is not in {range_}")
        return value
    if origin in (Union, UnionType):
        if value is None and NoneType in args:
            return None
        if value == "" and NoneType in args:  # as a path it would be the working folder
            raise Refused(f"{key}: is empty; for none give {key}=null")
        members = [member for member in args if member is not NoneType]
        if len(members) == 1:
            return _convert(value, members[0], key, runtime)
        refusals = []
        for member in members:
            try:
                return _convert(value, member, key, runtime)
            except Refused as error:
                refusals.append(str(error).removeprefix(f"{key}: "))
        raise Refused(f"{key}: {', or '.join(refusals)}")
    if origin is Literal:
        if value not in args:
            options = allowed(str(value), map(str, args))
            raise Refused(f"{key}: {shown(value)} is no choice; {options}")
        return value
    if origin in (list, tuple):
        if not isinstance(value, list | tuple):
            raise Refused(f"{key}: {shown(value)} is not a list, such as [{shown(value)}]")
        return origin(_convert(v, args[0], f"{key}[{i}]", runtime) for i, v in enumerate(value))
    if annotation is Schedule and not isinstance(value, Mapping):
        if type(value) not in (int, float):
            what = "is neither a number nor a schedule, {start, end, horizon}"
            raise Refused(f"{key}: {shown(value)} {what}")
        return Constant(start=_convert(value, NonNegative, key, runtime))  # a bare number
    if annotation not in SCALARS:
        return build_as(annotation, value, key, **runtime)
    if annotation is float and type(value) is int:
        with suppress(OverflowError):  # it stays an integer, and is none of those allowed
            value = float(value)
    if annotation is int and isinstance(value, float) and value.is_integer():
        value = int(value)  # 1e6 is what people type
    if type(value) is not annotation or (annotation is float and math.isnan(value)):
        raise Refused(f"{key}: {shown(value)} is not {SCALARS[annotation]}")
    if annotation is int and abs(value) > LARGEST:
        raise Refused(f"{key}: {shown(value)} is too large; allowed: up to {LARGEST:g}")
    return value
