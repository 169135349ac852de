"""Parsing of overrides on the command line, and their conversion to Hydra's grammar."""

from __future__ import annotations

import os.path
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

from poker_rl.config.build import list_text_fields
from poker_rl.config.option_files import read_plain_yaml
from poker_rl.config.root_config import RootConfig
from poker_rl.config.suggestions import suggest_allowed
from poker_rl.config.validation import ConfigError, shorten_text

LAUNCHER_PATTERN = re.compile(r"hydra[./]launcher\b")
QUOTED_TEXT_PATTERN = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\"""")
# Regex for one value of an override, perhaps in a list: text in quotes, or a plain word.
VALUE_WORD_PATTERN = re.compile(rf"""{QUOTED_TEXT_PATTERN.pattern}|[^\s,(){{}}\[\]'"\\]+""")
UNQUOTED_PATTERN = re.compile(r"[\w/+.$%*@?|:-]+", re.ASCII)  # words that need no quotes in Hydra
FUNCTION_CALL_PATTERN = re.compile(r"\w+\(")  # functions of Hydra, such as range(start=1,stop=5)
SUFFIXED_NUMBER_PATTERN = re.compile(r"(\d+(?:\.\d+)?)([kM])")  # numbers such as 100k and 1.5M
EXPONENT_BY_SUFFIX = {"k": "e3", "M": "e6"}


def get_config_loader() -> ConfigLoader:
    """Return Hydra's config loader; call it inside `compose.initialize_hydra`."""
    return GlobalHydra.instance().config_loader()


def list_group_options(group: str) -> list[str]:
    """Return the names of a group's options; an empty list if there is no such group.

    It replaces Hydra's `get_group_options`, which is slow, because it copies Hydra's whole cache.
    """
    sources = [source for source in get_config_loader().get_sources() if source.is_group(group)]
    return sorted({name for source in sources for name in source.list(group, ObjectType.CONFIG)})


def parse_overrides(
    overrides: Sequence[str], config_class: type[Any] = RootConfig, allow_sweeps: bool = False
) -> list[Override]:
    """Parse overrides with Hydra, after adding quotes around text and expanding 100k and 1.5M.

    Args:
        config_class: dataclass of the settings that belong to no group.
        allow_sweeps: let commas separate values of a sweep even in settings that are text.
    """
    # Only `poker-rl train`, with RootConfig, has groups, which a parser with a loader recognizes.
    parser = OverridesParser.create(get_config_loader() if config_class is RootConfig else None)
    field_names = {field.name for field in fields(config_class)}
    text_field_names = list_text_fields(config_class)
    parsed: list[Override] = []
    for override in overrides:
        key, separator, value = override.partition("=")
        if key in text_field_names and not (allow_sweeps and "," in value):
            is_literal = value == "null" or QUOTED_TEXT_PATTERN.fullmatch(value)
            value = value if is_literal else quote_text(value)
        elif not FUNCTION_CALL_PATTERN.match(value):
            # The value 4k of a setting is a number; the value 4k of a group may be an option.
            is_setting = "." in key or key in field_names
            value = VALUE_WORD_PATTERN.sub(
                _expand_number_suffix if is_setting else _quote_word, value
            )
        try:
            parsed += parser.parse_overrides([key + separator + value])
        except (HydraException, RecursionError):
            raise create_unreadable_override_error(override) from None
        if parsed[-1].is_hydra_override() and not LAUNCHER_PATTERN.match(parsed[-1].key_or_group):
            raise ConfigError(
                f"{key}: has no effect here; of Hydra's own settings only hydra/launcher and"
                " hydra.launcher.KEY are read, by a sweep (-m)"
            )
    return parsed


def read_with_overrides(
    path: Path, overrides: Sequence[str], config_class: type[Any]
) -> dict[str, Any]:
    """Return the settings of a YAML file, those of `config_class`, changed by overrides."""
    settings = read_plain_yaml(path)
    for override, parsed in zip(overrides, parse_overrides(overrides, config_class), strict=True):
        key = override.partition("=")[0]
        if parsed.is_sweep_override():
            raise ConfigError(f"{key}: takes one value; a list is {key}=[a,b]")
        if parsed.is_delete():
            raise create_unreadable_override_error(override)
        settings[key] = parsed.value()
    return settings


def _expand_number_suffix(word: re.Match[str]) -> str:
    """Return 4e6 for 4M, and any other word in quotes if Hydra's grammar needs them."""
    match = SUFFIXED_NUMBER_PATTERN.fullmatch(word[0])
    return match[1] + EXPONENT_BY_SUFFIX[match[2]] if match else _quote_word(word)


def _quote_word(word: re.Match[str]) -> str:
    """Return a word, with quotes around it if Hydra's grammar needs them."""
    is_accepted = word[0][0] in "'\"" or UNQUOTED_PATTERN.fullmatch(word[0])
    return word[0] if is_accepted else quote_text(word[0])


def quote_text(text: str) -> str:
    """Return text in quotes, with escapes according to Hydra's grammar."""
    return QuotedString(text=text, quote=Quote.single).with_quotes()


def to_hydra_override(override: Override) -> str:
    """Return an override as text in Hydra's grammar, in which GROUP=null is ~GROUP.

    Raise ConfigError if the override has several values, can't be read or names no option.
    """
    group, text = override.key_or_group, str(override.input_line)
    if override.is_hydra_override():
        raise ConfigError(f"{group}: is of a sweep; give -m")
    if not group:
        raise ConfigError(f"{text}: can't be read; write key=value")
    if override.is_sweep_override():
        raise ConfigError(f"{text}: several values need -m, a sweep; a list is key=[a,b]")
    options, value = list_group_options(group), override.value()
    if not options or isinstance(value, list) or override.is_delete():
        return text
    if value is None:
        return f"~{override.get_key_element()}"
    if value not in options:
        raise create_unknown_option_error(group, str(value), options)
    return text


def create_unreadable_override_error(override: str) -> ConfigError:
    """Create the error for an argument that can't be read as an override."""
    problem = f"{shorten_text(override)}: can't be read; write key=value or 'key=\"any text\"'"
    if os.path.isdir(override):
        problem += f"; a run folder is given as run={override}, or resume={override} to train on"
    return ConfigError(problem)


def create_unknown_option_error(group: str, name: str, options: Sequence[str]) -> ConfigError:
    """Create the error for an option that a group does not have."""
    return ConfigError(
        f"{group}={name}: no such option; {suggest_allowed(name, options)};"
        f" --config-dir FOLDER adds those in FOLDER/{group}"
    )
