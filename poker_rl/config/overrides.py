"""Parsing of overrides, which need fewer quotes on our command line than in Hydra's grammar."""

from __future__ import annotations

import os.path
import re
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from hydra.core.config_loader import ConfigLoader
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override, Quote, QuotedString
from hydra.errors import HydraException

from poker_rl.config.input_checks import ConfigError, error_prefix, shorten_text
from poker_rl.config.option_files import load_option, read_plain_yaml
from poker_rl.config.target_classes import get_field_annotation

QUOTED_TEXT_PATTERN = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\"""")
# Regex for one word in the value of an override, such as a or 'b c' in [a,'b c'].
VALUE_WORD_PATTERN = re.compile(rf"""{QUOTED_TEXT_PATTERN.pattern}|[^\s,(){{}}\[\]'"\\]+""")
UNQUOTED_PATTERN = re.compile(r"[\w/+.$%*@?|:-]+", re.ASCII)  # words that need no quotes in Hydra
# Words that Hydra reads as a number or a boolean
OTHER_TYPE_PATTERN = re.compile(
    r"[+-]?[\d._]+(e[+-]?\d+)?|[+-]?(inf|nan)|true|false", re.IGNORECASE
)
FUNCTION_CALL_PATTERN = re.compile(r"\w+\(")  # functions of Hydra, such as range(start=1,stop=5)
SUFFIXED_NUMBER_PATTERN = re.compile(r"(\d+(?:\.\d+)?)([kM])")  # numbers such as 100k and 1.5M


def parse_overrides(
    overrides: Sequence[str],
    config_class: type[Any],
    loader: ConfigLoader | None = None,
    allow_sweeps: bool = False,
) -> list[Override]:
    """Parse overrides with Hydra, after adding quotes around text and expanding numbers like 100k.

    `config_class` is the dataclass of the settings that belong to no group. Hydra gets the names of
    the groups from `loader`. If `allow_sweeps` is true, a comma in the value of a text setting
    separates two values of a sweep; otherwise the comma is a part of the text.
    """
    parser = OverridesParser.create(loader)
    annotation_by_name = {
        field.name: get_field_annotation(config_class, field.name) for field in fields(config_class)
    }
    parsed: list[Override] = []
    for override in overrides:
        key, separator, value = override.partition("=")
        is_text = annotation_by_name.get(key) in (str, str | None)
        if is_text and not (allow_sweeps and "," in value):
            is_literal = value == "null" or QUOTED_TEXT_PATTERN.fullmatch(value)
            value = value if is_literal else quote_text(value)
        elif not FUNCTION_CALL_PATTERN.match(value):
            # For a setting, 4k means the number 4000; for a group, it may be the name of an option.
            is_setting = "." in key or key in annotation_by_name
            convert_word = _expand_suffix_or_quote_word if is_setting else _quote_word
            value = VALUE_WORD_PATTERN.sub(_quote_text_word if is_text else convert_word, value)
        try:
            parsed += parser.parse_overrides([key + separator + value])
        except (HydraException, RecursionError):
            problem = f"{shorten_text(override)}: can't be read; write key=value or 'key=\"text\"'"
            if os.path.isdir(override):
                folders = f"run={override}, or resume={override} to train on"
                problem += f"; a run folder is given as {folders}"
            raise ConfigError(problem) from None
    return parsed


def compose_command_settings(
    path: Path, overrides: Sequence[str], config_class: type[Any], option_dirs: Sequence[Path] = ()
) -> dict[str, Any]:
    """Return the settings of a command, read from its YAML file and changed by overrides.

    `config_class` is the dataclass of the settings. If `path` is conf/tune.yaml, the override
    tune=NAME selects the option conf/tune/NAME.yaml. Settings in this option replace those in
    conf/tune.yaml, and overrides replace both.
    """
    settings = read_plain_yaml(path)
    changes: dict[str, Any] = {}
    for override, parsed in zip(overrides, parse_overrides(overrides, config_class), strict=True):
        key = override.partition("=")[0]
        if parsed.is_sweep_override():
            raise ConfigError(f"{key}: takes one value; a list is {key}=[a,b]")
        changes[key] = parsed.value()
    group = path.stem
    if group in settings and changes.get(group) is not None:
        with error_prefix(group):
            settings |= load_option(group, str(changes[group]), option_dirs)
    return settings | changes


def _expand_suffix_or_quote_word(word: re.Match[str]) -> str:
    """Convert a number such as 4M to 4e6; put any other word in quotes if Hydra needs them."""
    match = SUFFIXED_NUMBER_PATTERN.fullmatch(word[0])
    return match[1] + {"k": "e3", "M": "e6"}[match[2]] if match else _quote_word(word)


def _quote_word(word: re.Match[str]) -> str:
    is_accepted = word[0][0] in "'\"" or UNQUOTED_PATTERN.fullmatch(word[0])
    return word[0] if is_accepted else quote_text(word[0])


def _quote_text_word(word: re.Match[str]) -> str:
    """Put a word of a text setting in quotes unless Hydra reads it as text without them."""
    return quote_text(word[0]) if OTHER_TYPE_PATTERN.fullmatch(word[0]) else _quote_word(word)


def quote_text(text: str) -> str:
    """Return text in quotes, with escapes according to Hydra's grammar."""
    return QuotedString(text=text, quote=Quote.single).with_quotes()
