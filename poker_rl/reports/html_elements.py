"""HTML elements, in which text is escaped unless it is `Markup`."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from html import escape
from io import BytesIO
from pathlib import Path

from matplotlib import rc_context
from matplotlib.artist import Artist
from matplotlib.figure import Figure

from poker_rl.reports.compare_runs import FIGURE_RC_PARAMS, METADATA

MAX_PANEL_BASIS = 480  # two panels of so many pixels fit side by side on a wide screen

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


def create_table(
    rows: Sequence[Sequence[str]], highlighted_rows: Sequence[int] = (), caption: str = ""
) -> Markup:
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
    parts = [create_element("caption", caption)] * bool(caption)
    parts += [create_element("thead", head), create_element("tbody", *body)]
    inner = create_element("table", *parts)
    # With a tabindex, a wide table can be scrolled by keyboard.
    return create_element("div", inner, class_="wide", tabindex="0")


def embed_figure(figure: Figure, description: str) -> Markup:
    """Return a figure as HTML with an image for each panel, so that panels fit on any screen.

    The title and the footnote become text of the page. This changes `figure`: it cannot be drawn
    afterwards.
    """
    title, note = figure.get_suptitle(), figure.get_supxlabel()
    for text in (figure._suptitle, figure._supxlabel):  # type: ignore[attr-defined]
        if text is not None:
            text.set_visible(False)
    artists: list[Artist] = [*figure.legends, *(ax for ax in figure.axes if ax.get_visible())]
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    images = []
    for number, artist in enumerate(artists, start=1):
        for other in artists:
            other.set_visible(other is artist)
        box = artist.get_tightbbox()
        assert box is not None
        inches = box.transformed(figure.dpi_scale_trans.inverted()).padded(0.05)
        file = BytesIO()
        with rc_context(FIGURE_RC_PARAMS):
            figure.savefig(file, format="svg", metadata=METADATA["svg"], bbox_inches=inches)
        source = f"data:image/svg+xml;base64,{b64encode(file.getvalue()).decode()}"
        width = round(96 * inches.width)
        style = f"flex: 1 1 {min(width, MAX_PANEL_BASIS)}px; max-width: {round(1.5 * width)}px"
        if number <= len(figure.legends):
            style = f"max-width: {width}px"
        text = f"{description}, part {number}" if len(artists) > 1 else description
        images.append(Markup(f'<img src="{source}" alt="{escape(text)}" style="{style}">'))
    rows = [images[: len(figure.legends)], images[len(figure.legends) :]]
    drawing = [create_element("div", *row, class_="panels") for row in rows if row]
    caption = [create_element("p", title)] * bool(title)
    note_lines = [create_element("p", note, class_="note")] * bool(note)
    return create_element("figure", *caption, *drawing, *note_lines)


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
