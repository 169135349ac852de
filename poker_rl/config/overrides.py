"""Overrides of the command line: how they are read, and what of them Hydra is given."""

from __future__ import annotations

import re
from collections.abc import Sequence

from hydra.core.config_loader import ConfigLoader
from hydra.core.global_hydra import GlobalHydra
from hydra.core.object_type import ObjectType
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.errors import HydraException

from poker_rl.config.messages import allowed, elsewhere, unreadable
from poker_rl.config.settings import Refused

LAUNCHER = re.compile(r"hydra[./]launcher\b")
# A word of a value, without what the grammar of overrides gives a meaning; or text in quotes.
WORD = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[^\s,=(){}\[\]'"\\]+""")


def loader() -> ConfigLoader:
    """Hydra's, in a context of `compose.opened`."""
    return GlobalHydra.instance().config_loader()


def options_of(group: str) -> list[str]:
    """The names of a group's options; none if there is no such group.

    Hydra's own `get_group_options` would copy all that it has read before it answers, each time.
    """
    sources = [source for source in loader().get_sources() if source.is_group(group)]
    return sorted({name for one in sources for name in one.list(group, ObjectType.CONFIG)})


def parsed(overrides: Sequence[str]) -> list[Override]:
    """Overrides as Hydra reads them, words such as läuf in quotes.

    Raises:
        Refused: if one can't be read, or is of Hydra itself and not of its launcher.
    """
    parser, read = OverridesParser.create(loader()), []
    for override in overrides:
        key, equals, value = override.partition("=")
        try:
            read += parser.parse_overrides([key + equals + WORD.sub(_quoted, value)])
        except (HydraException, RecursionError):
            raise unreadable(override) from None
        if read[-1].is_hydra_override() and not LAUNCHER.match(read[-1].key_or_group):
            raise Refused(
                f"{key}: has no effect here; of Hydra's own settings only hydra/launcher and"
                " hydra.launcher.KEY are read, by a sweep (-m)"
            )
    return read


def _quoted(word: re.Match[str]) -> str:
    """A word as the grammar of overrides takes it, which knows letters a to z only."""
    plain = word[0].isascii() or word[0][0] in "'\""
    return word[0] if plain else f"'{word[0]}'"


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
