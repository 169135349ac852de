"""HTML elements. Text is escaped unless it is `Markup`, as users choose names of runs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from io import StringIO

from matplotlib import rc_context
from matplotlib.figure import Figure

from poker_rl.evaluation.plots.plotting import GREY_COLOR, GRID_COLOR, INK_COLOR
from poker_rl.reports.comparison_figure import SVG_RC_PARAMS

# Colors of text and lines in figures, replaced by variables of the page's style sheet.
CSS_COLORS = {INK_COLOR: "var(--ink)", GREY_COLOR: "var(--grey)", GRID_COLOR: "var(--pale)"}


class Markup(str):
    """Text that is HTML."""


def create_element(name: str, *children: str, **attributes: str) -> Markup:
    """Return an element; the keyword `class_` sets the attribute `class`."""
    attribute_text = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(value)}"'
        for key, value in attributes.items()
    )
    return Markup(f"<{name}{attribute_text}>{join_markup(children)}</{name}>")


def join_markup(parts: Sequence[str]) -> Markup:
    """Concatenate parts; those that are not `Markup` are escaped."""
    return Markup("".join(part if isinstance(part, Markup) else escape(part) for part in parts))


def create_table(rows: Sequence[Sequence[str]], highlighted_rows: Sequence[int] = ()) -> Markup:
    """Return a table with the first row as headings; highlighted rows count from 0 below it."""
    head = create_element("tr", *(create_element("th", cell, scope="col") for cell in rows[0]))
    body = [
        create_element(
            "tr",
            *(create_element("td", cell) for cell in row),
            class_="marked" * (index in highlighted_rows),
        )
        for index, row in enumerate(rows[1:])
    ]
    inner = create_element("table", create_element("thead", head), create_element("tbody", *body))
    # Wide tables scroll within the page, also by keyboard.
    return create_element("div", inner, class_="wide", tabindex="0")


def embed_figure(
    figure: Figure, description: str, figure_number: int, keep_colors: bool = False
) -> Markup:
    """Return a figure as inline SVG.

    Args:
        description: text for screen readers.
        figure_number: unique on the page, makes the identifiers within the figure unique.
        keep_colors: whether text keeps its color because it stands on colored cells.
    """
    file = StringIO()
    with rc_context(SVG_RC_PARAMS):
        figure.savefig(file, format="svg", transparent=True)
    text = file.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, count=1, flags=re.DOTALL)
    text = re.sub(r"<style.*?</style>", "", text, count=1, flags=re.DOTALL)
    text = re.sub(r'( id="|href="#|url\(#)', rf"\g<1>f{figure_number}-", text)
    if not keep_colors:
        for color, css_color in CSS_COLORS.items():
            text = text.replace(color.lower(), css_color)
    width = round(72 * figure.get_figwidth() * 96 / 72)  # pixels
    text = re.sub(r' (width|height)="[\d.]+pt"', "", text, count=2)
    svg_tag = f'<svg role="img" aria-label="{escape(description)}" style="max-width: {width}px"'
    inner = Markup(text.replace("<svg", svg_tag, 1))
    return create_element("figure", inner, class_="white" if keep_colors else "drawn", tabindex="0")
