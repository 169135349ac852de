"""HTML elements. Text is escaped unless it is `Markup`, as users choose names of runs."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from html import escape
from io import BytesIO
from pathlib import Path

from matplotlib import rc_context
from matplotlib.figure import Figure

from poker_rl.reports.comparison_figure import SVG_RC_PARAMS

STYLE_SHEET = Path(__file__).with_name("page.css")
# With this policy browsers run no scripts and load nothing from elsewhere, even if a name has HTML.
CONTENT_SECURITY_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


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


def embed_figure(figure: Figure, description: str) -> Markup:
    """Return a figure as an SVG image, with a description for screen readers."""
    file = BytesIO()
    with rc_context(SVG_RC_PARAMS):
        figure.savefig(file, format="svg", metadata={"Date": None})
    source = f"data:image/svg+xml;base64,{b64encode(file.getvalue()).decode()}"
    style = f"max-width: {round(96 * figure.get_figwidth())}px"
    image = Markup(f'<img src="{source}" alt="{escape(description)}" style="{style}">')
    return create_element("figure", image, tabindex="0")


def create_document(title: str, *elements: str) -> str:
    """Return a self-contained HTML page with its title as a heading."""
    head = create_element(
        "head",
        Markup('<meta charset="utf-8">'),
        Markup(f'<meta http-equiv="Content-Security-Policy" content="{CONTENT_SECURITY_POLICY}">'),
        Markup('<meta name="viewport" content="width=device-width, initial-scale=1">'),
        create_element("title", f"{title} - poker-rl"),
        create_element("style", Markup(STYLE_SHEET.read_text())),
    )
    body = create_element("body", create_element("h1", title), *elements)
    return f"<!doctype html>\n{create_element('html', head, body, lang='en')}\n"
