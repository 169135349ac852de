"""Configuration: where the YAML lies, the root settings, and `build`, from a node to its object.

A node names a dataclass by `_target_` and holds its fields, no more and no fewer; what is known
only at run time (the game, the device) is an argument of the call. Unlike Hydra's `instantiate`,
`build` takes no code from outside `poker_rl` and the installed plug-ins, and checks each value
against the field's annotation.
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
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException
from yaml import YAMLError  # type: ignore[import-untyped]

from poker_rl.config.classes import class_of
from poker_rl.config.plugins import plugins
from poker_rl.config.schedules import Constant, Schedule
from poker_rl.config.settings import (
    Count,
    Natural,
    NonNegative,
    Range,
    Refused,
    Seed,
    about,
    in_memory,
)
from poker_rl.config.yaml_text import demand_readable

FILE_NAME = re.compile(r"\w[\w.+=-]{0,59}")  # and no folder above, whatever the system
PACKAGE = Path(__file__).resolve().parents[1]
# In a wheel the YAML lies in the package, in a checkout beside it.
CONF = next(path for path in (PACKAGE / "conf", PACKAGE.parent / "conf") if path.is_dir())

MAPPING = "is not a file of settings, key: value"

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
    figures: bool
    opponent: str | None
    model_id: Natural | None
    outputs: str
    name: str | None
    resume: str | None
    warm_start: str | None

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
        Refused: if the target is not in `poker_rl` or a plug-in, a key is unknown or missing, or a
            value is of another type, out of range or refused by the constructor.
    """
    target, settings = _class_and_settings(node, key)
    arguments = convert_fields(target, settings, key, runtime)
    arguments |= {name: runtime[name] for name in takes(target) if name in runtime}
    with in_memory(key):
        try:
            return target(**arguments)
        except Refused as error:
            field, _, _ = str(error).partition(":")
            if field in runtime:
                raise
            link = "." if field.partition(".")[0] in {"_target_", *settings} else ": "
            raise Refused(f"{key}{link}{error}") from None


def build_as(kind: Any, node: object, key: str, **runtime: Any) -> Any:
    """The same, if its class is a kind of another one or has the methods of a protocol.

    Raises:
        Refused: if it does not, too; of a wrong class no other setting is looked at.
    """
    target, _ = _class_and_settings(node, key)
    if getattr(kind, "_is_protocol", False):
        methods = [name for name, member in vars(kind).items() if callable(member)]
        fits = all(hasattr(target, name) for name in methods if not name.startswith("_"))
    else:
        fits = issubclass(target, kind)
    if not fits:
        raise Refused(f"{key}._target_: {target.__name__} is not a {kind.__name__}")
    return build(node, key, **runtime)


def _class_and_settings(node: object, key: str) -> tuple[type[Any], dict[str, Any]]:
    """The class that a node names by its `_target_`, and its other settings."""
    if isinstance(node, DictConfig):
        node = plain(node)
    if not isinstance(node, Mapping) or "_target_" not in node:
        raise Refused(f"{key}: {_shown(node)} is not settings with a `_target_`, their class")
    settings = {name: value for name, value in node.items() if name != "_target_"}
    return find(node["_target_"], f"{key}._target_"), settings


def find(target: object, key: str) -> type[Any]:
    """The dataclass of this program that has that dotted name."""
    with about(key):
        found = class_of(target)
        if not dataclasses.is_dataclass(found):
            raise Refused(f"{_shown(target)} has no settings")
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
        name: _convert(node[name], annotation_of(target, name), f"{prefix}{name}", runtime)
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


def load(path: Path) -> DictConfig:
    """A YAML file of settings, its interpolations not resolved.

    Raises:
        Refused: if it is missing or is not a YAML mapping of a sensible size.
    """
    try:
        demand_readable(path.read_text(encoding="utf-8"))
        config = OmegaConf.load(path)
    except Refused as error:
        raise Refused(f"{path}: {error}") from None
    except UnicodeDecodeError:
        raise Refused(f"{path}: is not text") from None
    except OSError as error:  # without a system's reason: what OmegaConf says of a bare number
        raise Refused(f"{path}: {error.strerror or MAPPING}") from None
    except (YAMLError, OmegaConfBaseException) as error:  # a key twice, an interpolation cut off
        raise Refused(f"{path}: can't be read: {str(error).splitlines()[0]}") from None
    if not isinstance(config, DictConfig):
        raise Refused(f"{path}: {MAPPING}")
    return config


def read(path: Path) -> dict[str, Any]:
    """The same as plain values.

    Raises:
        Refused: if it is no such file, or an interpolation leads nowhere.
    """
    config = load(path)
    try:
        return plain(config)
    except Refused as error:
        raise Refused(f"{path}: {error}") from None


def overridden(path: Path, overrides: Sequence[str]) -> dict[str, Any]:
    """The settings of a YAML file, some of them given anew as key=value.

    Raises:
        Refused: if one can't be read.
    """
    settings = read(path)
    for override in overrides:
        key, equals, value = override.partition("=")
        try:
            demand_readable(value)
            given = OmegaConf.from_dotlist([override])
        except (OmegaConfBaseException, YAMLError, Refused):
            raise unreadable(override) from None
        if not equals or not key:
            raise unreadable(override)
        settings |= plain(given)
    return settings


def unreadable(override: str) -> Refused:
    return Refused(f"{shortened(override)}: can't be read; write key=value or 'key=\"any text\"'")


def folders(own: str | None) -> list[Path]:
    """Where options are looked for, the first one found counts: in a folder of the user's, if one
    is given, then in what comes with the program, then in the plug-ins.

    So a plug-in that is installed never changes what a name of this program means.

    Raises:
        Refused: if the folder holds no options, or what would not be read from there.
    """
    installed = [CONF, *(plugin.conf for plugin in plugins() if plugin.conf.is_dir())]
    if own is None:
        return installed
    folder = Path(own)
    if not own or not folder.is_dir():
        raise Refused(f"--config-dir: {own or 'an empty name'} is not a folder")
    for root in CONF.glob("*.yaml"):
        if (folder / root.name).exists():
            raise Refused(
                f"--config-dir: {folder / root.name} is of no group and would not be read;"
                f" root settings can stand in {folder / 'experiment' / 'mine.yaml'}"
            )
    if not any(folder.glob("*/*.yaml")):
        example = folder / "game" / "mine.yaml"
        raise Refused(f"--config-dir: {folder} holds no options, files such as {example}")
    return [folder, *installed]


def of_the_user(conf: Sequence[Path]) -> list[Path]:
    """Those of the folders of options that come neither with the program nor with a plug-in."""
    return list(conf[: conf.index(CONF)])


def find_option(group: str, name: str, conf: Sequence[Path] = (CONF,)) -> Path:
    """The file of one option of a group, such as the player `uniform`.

    Args:
        conf: the folders to look in.

    Raises:
        Refused: if the group has no such option.
    """
    for folder in conf:
        if (path := folder / group / f"{name}.yaml").is_file():
            return path
    options = {path.stem for folder in conf for path in (folder / group).glob("*.yaml")}
    raise Refused(f"no {group} is called {name}; {allowed(name, options)}; {elsewhere(group)}")


def elsewhere(group: str) -> str:
    """What a message says after the options that there are: where others are looked for."""
    return f"--config-dir FOLDER adds those in FOLDER/{group}"


def option(group: str, name: str, conf: Sequence[Path] = (CONF,)) -> dict[str, Any]:
    """The settings of one option of a group; see `find_option`."""
    settings = read(find_option(group, name, conf))
    own: dict[str, Any] = settings.get(group, settings)  # under its key, beside what else it sets
    return own


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
    if annotation is Schedule and not isinstance(value, Mapping):
        return Constant(start=_convert(value, NonNegative, key, runtime))  # a bare number
    if annotation not in SCALARS:
        return build_as(annotation, value, key, **runtime)
    if annotation is float and type(value) is int:
        value = float(value)
    if annotation is int and isinstance(value, float) and value.is_integer():
        value = int(value)  # 1e6 is what people type
    if type(value) is not annotation or (annotation is float and math.isnan(value)):
        raise Refused(f"{key}: {_shown(value)} is not {SCALARS[annotation]}")
    return value


def _shown(value: object) -> str:
    """A value as one would write it in YAML, shortened."""
    return shortened(json.dumps(value, ensure_ascii=False, default=str))


def shortened(text: str) -> str:
    """What the user gave, as a message repeats it: cut at 60 characters."""
    return text if len(text) <= 60 else f"{text[:60]}…"
