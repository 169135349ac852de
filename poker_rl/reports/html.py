"""Parts of a page. What is not `Markup` is escaped: names of runs and players are the user's."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from io import StringIO

from matplotlib import rc_context
from matplotlib.figure import Figure

from poker_rl.evaluation.drawing import GREY, INK, PALE
from poker_rl.reports.picture import SVG

# The colours of letters and lines, which follow those of the page.
THEME = {INK: "var(--ink)", GREY: "var(--grey)", PALE: "var(--pale)"}


class Markup(str):
    """Text that is HTML already."""


def element(name: str, *children: str, **attributes: str) -> Markup:
    """An element of a page; `class_` is the attribute `class`."""
    told = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(value)}"'
        for key, value in attributes.items()
    )
    return Markup(f"<{name}{told}>{joined(children)}</{name}>")


def joined(parts: Sequence[str]) -> Markup:
    """Parts one after another, those that are no markup escaped."""
    return Markup("".join(part if isinstance(part, Markup) else escape(part) for part in parts))


def table(rows: Sequence[Sequence[str]], marked: Sequence[int] = ()) -> Markup:
    """A table, the first row its heads; `marked` rows, counted from the first below, stand out."""
    head = element("tr", *(element("th", cell, scope="col") for cell in rows[0]))
    body = [
        element("tr", *(element("td", cell) for cell in row), class_="marked" * (place in marked))
        for place, row in enumerate(rows[1:])
    ]
    inner = element("table", element("thead", head), element("tbody", *body))
    # Wide tables scroll within the page, by keys too.
    return element("div", inner, class_="wide", tabindex="0")


def drawing(figure: Figure, name: str, number: int, on_white: bool = False) -> Markup:
    """A figure as SVG within the page.

    Args:
        name: what it shows, for people who do not see it.
        number: of the figure, so that the names of its parts are those of no other figure.
        on_white: its letters stand on colours of its own and keep theirs.
    """
    file = StringIO()
    with rc_context(SVG):
        figure.savefig(file, format="svg", transparent=True)
    text = file.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, count=1, flags=re.DOTALL)
    text = re.sub(r"<style.*?</style>", "", text, count=1, flags=re.DOTALL)
    text = re.sub(r'( id="|href="#|url\(#)', rf"\g<1>f{number}-", text)
    if not on_white:
        for colour, follows in THEME.items():
            text = text.replace(colour.lower(), follows)
    width = round(72 * figure.get_figwidth() * 96 / 72)  # pixels
    text = re.sub(r' (width|height)="[\d.]+pt"', "", text, count=2)
    said = f'<svg role="img" aria-label="{escape(name)}" style="max-width: {width}px"'
    inner = Markup(text.replace("<svg", said, 1))
    return element("figure", inner, class_="white" if on_white else "drawn", tabindex="0")
