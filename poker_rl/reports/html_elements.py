"""HTML elements, in which text is escaped unless it is `Markup`."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from html import escape
from io import BytesIO
from pathlib import Path

from matplotlib import rc_context
from matplotlib.figure import Figure

from poker_rl.reports.compare_runs import FIGURE_RC_PARAMS, METADATA

STYLE_SHEET = Path(__file__).with_name("page.css")
# This policy keeps browsers from running scripts that a name of a run might contain.
CONTENT_SECURITY_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


class Markup(str):
    """Text that is HTML."""


def create_element(name: str, *children: str, **attributes: str) -> Markup:
    """Return an HTML element; the keyword `class_` sets the attribute `class`."""
    attribute_text = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(value)}"'
        for key, value in attributes.items()
    )
    content = "".join(one if isinstance(one, Markup) else escape(one) for one in children)
    return Markup(f"<{name}{attribute_text}>{content}</{name}>")


def create_table(rows: Sequence[Sequence[str]], highlighted_rows: Sequence[int] = ()) -> Markup:
    """Return a table with its headings in `rows[0]`; highlighted row 0 is the one below them."""
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
    # With a tabindex, a wide table can be scrolled by keyboard.
    return create_element("div", inner, class_="wide", tabindex="0")


def embed_figure(figure: Figure, description: str) -> Markup:
    """Return a figure as HTML that contains the image."""
    file = BytesIO()
    with rc_context(FIGURE_RC_PARAMS):
        figure.savefig(file, format="svg", metadata=METADATA["svg"])
    source = f"data:image/svg+xml;base64,{b64encode(file.getvalue()).decode()}"
    return create_element("figure", Markup(f'<img src="{source}" alt="{escape(description)}">'))


def create_document(title: str, *elements: str) -> str:
    """Return an HTML page that needs no other file, with its title as a heading."""
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
