"""Configuration: where the YAML lies, the root settings, and `build`, from a node to its object.

A node names a dataclass by `_target_` and holds its fields, no more and no fewer; what is known
only at run time (the game, the device) is an argument of the call. Unlike Hydra's `instantiate`,
`build` takes no code from outside `poker_rl` and checks each value against the field's annotation.
"""

from __future__ import annotations

import dataclasses
import inspect
import json
import math
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException
from yaml import YAMLError  # type: ignore[import-untyped]

from poker_rl.settings import Count, Natural, Range, Refused, Seed

# what NumPy and torch say where memory ends, other than by MemoryError
TOO_LARGE = re.compile(
    "array is too big|Maximum allowed dimension|can't allocate memory|Storage size calculation"
    "|CUDA out of memory"
)
FILE_NAME = re.compile(r"\w[\w.+=-]{0,59}")  # and no folder above, whatever the system
PACKAGE = Path(__file__).resolve().parent
# In a wheel the YAML lies in the package, in a checkout beside it.
CONF = next(path for path in (PACKAGE / "conf", PACKAGE.parent / "conf") if path.is_dir())

SCALARS = {
    bool: "true or false",
    int: "an integer",
    float: "a number",
    str: "text (what looks like a number needs quotes)",
}


@dataclass(kw_only=True, frozen=True)
class Root:
    """The settings that belong to no group."""

    seed: Seed
    device: Literal["auto", "cpu", "cuda"]
    threads: Count
    budget: Count
    budget_unit: Literal["decisions", "hands", "updates", "iterations"]
    evaluate_every: Count
    checkpoint_every: Count
    opponent: str | None
    model_id: Natural | None
    outputs: str
    name: str | None
    resume: str | None

    def __post_init__(self) -> None:
        if not self.outputs:
            raise Refused("outputs: give a folder, such as outputs=outputs")
        if self.name is not None and not FILE_NAME.fullmatch(self.name):
            raise Refused(
                f"name: {_shown(self.name)} is no name of a folder; allowed: up to 60 letters,"
                " digits and . _ + - =, a letter, digit or _ first"
            )


def build(node: object, key: str, **runtime: Any) -> Any:
    """The object that a node's `_target_` names, its fields converted and checked.

    Args:
        key: the node's dotted place in the config, named in errors.
        runtime: arguments that are no settings; those the constructor does not name are dropped.

    Raises:
        Refused: if the target is not in `poker_rl`, a key is unknown or missing, or a value is of
            another type, out of range or refused by the constructor.
    """
    if isinstance(node, DictConfig):
        node = plain(node)
    if not isinstance(node, Mapping) or "_target_" not in node:
        raise Refused(f"{key}: {_shown(node)} is not settings with a `_target_`, their class")
    target = find(node["_target_"], f"{key}._target_")
    settings = {name: value for name, value in node.items() if name != "_target_"}
    arguments = convert_fields(target, settings, key, runtime)
    arguments |= {name: runtime[name] for name in takes(target) if name in runtime}
    try:
        return target(**arguments)
    except (MemoryError, RuntimeError, ValueError) as error:
        if ran_out(error):
            raise Refused(f"{key}: too large for the memory of this machine") from None
        raise
    except Refused as error:
        field, _, _ = str(error).partition(":")
        if field in runtime:
            raise
        link = "." if field.partition(".")[0] in node else ": "
        raise Refused(f"{key}{link}{error}") from None


def ran_out(error: Exception) -> bool:
    """Whether an exception says that memory ended: Python's own, NumPy's or torch's."""
    return isinstance(error, MemoryError) or TOO_LARGE.search(str(error)) is not None


def find(target: object, key: str) -> type[Any]:
    """The dataclass of this program that has that dotted name."""
    module, _, name = str(target).rpartition(".")
    if not module.startswith("poker_rl."):
        raise Refused(f"{key}: {_shown(target)} is not a class of poker_rl")
    try:
        found = getattr(import_module(module), name, None)
    except ModuleNotFoundError as error:
        if not f"{module}.".startswith(f"{error.name}."):
            raise
        found = None
    if not (isinstance(found, type) and dataclasses.is_dataclass(found)):
        raise Refused(f"{key}: {_shown(target)} is not a class of poker_rl")
    return found


def takes(target: type[Any]) -> list[str]:
    """The names of a constructor's arguments."""
    return list(inspect.signature(target).parameters)


def convert_fields(
    target: type[Any], node: Mapping[str, Any], key: str, runtime: Mapping[str, Any]
) -> dict[str, Any]:
    """A node's values as the dataclass declares them, one for each field not in `runtime`."""
    names = [f.name for f in dataclasses.fields(target) if f.init and f.name not in runtime]
    prefix = f"{key}." if key else ""
    for name in node:
        if name not in names:
            raise Refused(f"{prefix}{name}: no such setting; {allowed(str(name), names)}")
    for name in names:
        if name not in node or node[name] == "???":
            raise Refused(f"{prefix}{name}: missing; give {prefix}{name}=…")
    return {
        name: _convert(node[name], _annotation(target, name), f"{prefix}{name}", runtime)
        for name in names
    }


def allowed(word: str, options: Iterable[str]) -> str:
    """What a message says after a wrong word: the right one, if there is a near miss, and all."""
    options = sorted(options)
    near = [f"did you mean {match}? " for match in get_close_matches(word, options, n=1)]
    return "".join(near) + f"allowed: {', '.join(options) or 'none'}"


def plain(config: Mapping[str, Any] | DictConfig) -> dict[str, Any]:
    """A config as plain values, interpolations resolved.

    Raises:
        Refused: if an interpolation leads nowhere.
    """
    node: Any = config
    try:
        settings: Any = OmegaConf.to_container(OmegaConf.create(node), resolve=True)
    except OmegaConfBaseException as error:
        raise Refused(f"{error.full_key}: {str(error).splitlines()[0]}") from None
    return dict(settings)


def read(path: Path) -> dict[str, Any]:
    """A YAML file of settings as plain values.

    Raises:
        Refused: if it is missing or is not a YAML mapping.
    """
    try:
        config = OmegaConf.load(path)
    except (OSError, UnicodeDecodeError, YAMLError, OmegaConfBaseException) as error:
        what = error.strerror if isinstance(error, OSError) else "is not a file of settings"
        raise Refused(f"{path}: {what}") from None
    if not isinstance(config, DictConfig):
        raise Refused(f"{path}: is not a file of settings")
    return plain(config)


def overridden(path: Path, overrides: Sequence[str]) -> dict[str, Any]:
    """The settings of a YAML file, some of them given anew as key=value.

    Raises:
        Refused: if one can't be read.
    """
    settings = read(path)
    for override in overrides:
        try:
            settings |= plain(OmegaConf.from_dotlist([override]))
        except (OmegaConfBaseException, YAMLError):
            raise unreadable(override) from None
        if "=" not in override:
            raise unreadable(override)
    return settings


def unreadable(override: str) -> Refused:
    return Refused(f"{override}: can't be read; write key=value or 'key=\"any text\"'")


def option(group: str, name: str) -> dict[str, Any]:
    """The settings of one option of a group, such as the player `uniform`.

    Raises:
        Refused: if the group has no such option.
    """
    options = [path.stem for path in (CONF / group).glob("*.yaml")]
    if name not in options:
        raise Refused(f"no {group} is called {name}; {allowed(name, options)}")
    settings = read(CONF / group / f"{name}.yaml")
    own: dict[str, Any] = settings.get(group, settings)  # under its key, beside what else it sets
    return own


def _annotation(target: type[Any], name: str) -> Any:
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
                raise Refused(f"{key}: {_shown(value)} is not in {range_}")
        return value
    if origin in (Union, UnionType):
        if value is None and NoneType in args:
            return None
        refusals = []
        for member in args:
            if member is not NoneType:
                try:
                    return _convert(value, member, key, runtime)
                except Refused as error:
                    refusals.append(str(error).removeprefix(f"{key}: "))
        raise Refused(f"{key}: {', or '.join(refusals)}")
    if origin is Literal:
        if value not in args:
            options = allowed(str(value), map(str, args))
            raise Refused(f"{key}: {_shown(value)} is no choice; {options}")
        return value
    if origin in (list, tuple):
        if not isinstance(value, list | tuple):
            raise Refused(f"{key}: {_shown(value)} is not a list, such as [{_shown(value)}]")
        return origin(_convert(v, args[0], f"{key}[{i}]", runtime) for i, v in enumerate(value))
    if annotation not in SCALARS:
        return _member(build(value, key, **runtime), annotation, f"{key}._target_")
    if annotation is float and type(value) is int:
        value = float(value)
    if annotation is int and isinstance(value, float) and value.is_integer():
        value = int(value)  # 1e6 is what people type
    if type(value) is not annotation or (annotation is float and math.isnan(value)):
        raise Refused(f"{key}: {_shown(value)} is not {SCALARS[annotation]}")
    return value


def _member(part: Any, annotation: Any, key: str) -> Any:
    """A built part, if it is of the class or has the methods of the protocol that was declared."""
    if getattr(annotation, "_is_protocol", False):
        fits = all(hasattr(part, name) for name in vars(annotation) if not name.startswith("_"))
    else:
        fits = isinstance(part, annotation)
    if not fits:
        raise Refused(f"{key}: {type(part).__name__} is not a {annotation.__name__}")
    return part


def _shown(value: object) -> str:
    """A value as one would write it in YAML, cut at 60 characters."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else f"{text[:60]}…"
