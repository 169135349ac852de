"""Overrides of the command line: how they are read, and what of them Hydra is given."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from hydra.core.config_loader import ConfigLoader
from hydra.core.global_hydra import GlobalHydra
from hydra.core.object_type import ObjectType
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override, Quote, QuotedString
from hydra.errors import HydraException

from poker_rl.config.build import text_fields
from poker_rl.config.messages import allowed, elsewhere, unreadable
from poker_rl.config.options import read
from poker_rl.config.root import Root
from poker_rl.config.settings import Refused

LAUNCHER = re.compile(r"hydra[./]launcher\b")
QUOTED = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\"""")
# A word of a value, without what separates or encloses values; or text in quotes.
WORD = re.compile(rf"""{QUOTED.pattern}|[^\s,(){{}}\[\]'"\\]+""")
BARE = re.compile(r"[\w/+.$%*@?|:-]+", re.ASCII)  # what the grammar takes without quotes
CALL = re.compile(r"\w+\(")  # such as range(1,5), whose arguments may be named by =
MULTIPLE = re.compile(r"(\d+(?:\.\d+)?)([kM])")  # 100k, 1.5M
POWERS = {"k": "e3", "M": "e6"}


def loader() -> ConfigLoader:
    """Hydra's, in a context of `compose.opened`."""
    return GlobalHydra.instance().config_loader()


def options_of(group: str) -> list[str]:
    """The names of a group's options; none if there is no such group.

    Hydra's own `get_group_options` would copy all that it has read before it answers, each time.
    """
    sources = [source for source in loader().get_sources() if source.is_group(group)]
    return sorted({name for one in sources for name in one.list(group, ObjectType.CONFIG)})


def parsed(
    overrides: Sequence[str], target: type[Any] = Root, sweep: bool = False
) -> list[Override]:
    """Return the overrides as Hydra reads them, one for each.

    The value of a setting that is text is taken as it is typed.

    Args:
        target: the dataclass of the settings that belong to no group.
        sweep: a text with commas is several values of a sweep.

    Raises:
        Refused: if one can't be read, or is of Hydra itself and not of its launcher.
    """
    # What belongs to no command's own settings may be an option of a group.
    parser = OverridesParser.create(loader() if target is Root else None)
    names, texts = {field.name for field in fields(target)}, text_fields(target)
    result: list[Override] = []
    for override in overrides:
        key, equals, value = override.partition("=")
        if key in texts and not (sweep and "," in value):
            value = _quoted_text(value)
        elif not CALL.match(value):
            # An option of a group may be called 4k; nothing else but a number is.
            is_setting = "." in key or key in names
            value = WORD.sub(_number_or_word if is_setting else _quoted_word, value)
        try:
            result += parser.parse_overrides([key + equals + value])
        except (HydraException, RecursionError):
            raise unreadable(override) from None
        if result[-1].is_hydra_override() and not LAUNCHER.match(result[-1].key_or_group):
            raise Refused(
                f"{key}: has no effect here; of Hydra's own settings only hydra/launcher and"
                " hydra.launcher.KEY are read, by a sweep (-m)"
            )
    return result


def overridden(path: Path, overrides: Sequence[str], target: type[Any]) -> dict[str, Any]:
    """Return the settings of a YAML file with those that are given as key=value in their place.

    Args:
        target: the dataclass of these settings.

    Raises:
        Refused: if an override can't be read.
    """
    settings = read(path)
    for override, one in zip(overrides, parsed(overrides, target), strict=True):
        key = override.partition("=")[0]
        if one.is_sweep_override():
            raise Refused(f"{key}: takes one value; a list is {key}=[a,b]")
        if one.is_delete():
            raise unreadable(override)
        settings[key] = one.value()
    return settings


def _number_or_word(word: re.Match[str]) -> str:
    """Return 4e6 for 4M, and any other word as `_quoted_word` does."""
    match = MULTIPLE.fullmatch(word[0])
    return match[1] + POWERS[match[2]] if match else _quoted_word(word)


def _quoted_word(word: re.Match[str]) -> str:
    """Return a word as the grammar of overrides takes it, in quotes if it has other characters."""
    return word[0] if word[0][0] in "'\"" or BARE.fullmatch(word[0]) else quoted(word[0])


def _quoted_text(typed: str) -> str:
    """Return the value of a text setting in quotes, unless it is null or in quotes already."""
    return typed if typed == "null" or QUOTED.fullmatch(typed) else quoted(typed)


def quoted(text: str) -> str:
    """Return text as an override whose value is that text."""
    return QuotedString(text=text, quote=Quote.single).with_quotes()


def accepted(override: Override) -> str:
    """An override in the words of Hydra, which knows no null for "none of this group".

    Raises:
        Refused: if it names an option that there is not.
    """
    group, value = override.key_or_group, override.value()
    if override.is_hydra_override():
        raise Refused(f"{group}: is of a sweep; give -m")
    if not group:
        raise Refused(f"{override.input_line}: can't be read; write key=value")
    options = options_of(group)
    if not options or isinstance(value, list) or override.is_sweep_override():
        return str(override.input_line)
    if override.is_delete():
        return str(override.input_line)
    if value is None:
        return f"~{override.get_key_element()}"
    if value not in options:
        raise no_option(group, str(value), options)
    return str(override.input_line)


def no_option(group: str, name: str, options: Sequence[str]) -> Refused:
    """What is said of an option that there is not."""
    return Refused(f"{group}={name}: no such option; {allowed(name, options)}; {elsewhere(group)}")
