"""Whether a YAML text is small enough to be read, found out without building anything of it.

A few lines may nest without end, contain themselves, or double with each line (the "billion
laughs"): whoever built such a text would run out of stack or memory.
"""

from __future__ import annotations

import yaml  # type: ignore[import-untyped]

from poker_rl.config.settings import Refused

DEEPEST = 50  # collections within each other; the settings of a run have four
LONGEST_SCALAR = 5_000  # characters: a path may have 4,096; PyYAML takes a minute for long numbers
MOST_VALUES = 10_000  # the settings of a run are about a hundred


def demand_readable(text: str) -> None:
    """Nothing, if the text is YAML of a sensible size.

    Raises:
        Refused: if it is not YAML, nests too deep, refers to itself or has too many or too long
            values.
    """
    values = 0  # with those that an alias stands for
    above: list[tuple[str | None, int]] = []  # of each open collection: anchor, values before it
    sizes: dict[str | None, int] = {}  # values of each anchor's collection
    try:
        for event in yaml.parse(text, yaml.SafeLoader):
            if isinstance(event, yaml.AliasEvent):
                if event.anchor in (anchor for anchor, _ in above):
                    raise Refused(f"is not settings: *{event.anchor} refers to itself")
                values += sizes.get(event.anchor, 1)
            elif isinstance(event, yaml.NodeEvent):
                if isinstance(event, yaml.CollectionStartEvent):
                    above.append((event.anchor, values))
                values += 1
                if isinstance(event, yaml.ScalarEvent) and len(event.value) > LONGEST_SCALAR:
                    raise Refused(f"is not settings: a text of over {LONGEST_SCALAR:,} characters")
            elif isinstance(event, yaml.CollectionEndEvent):
                anchor, before = above.pop()
                sizes[anchor] = values - before
            if len(above) > DEEPEST:
                raise Refused(f"is not settings: lists and mappings are nested over {DEEPEST} deep")
            if values > MOST_VALUES:
                raise Refused(f"is not settings: more than {MOST_VALUES:,} values")
    except yaml.YAMLError as error:
        raise Refused(f"is not YAML: {' '.join(str(error).split())}") from None
