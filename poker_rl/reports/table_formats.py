"""Functions that format tables for a terminal, Markdown or HTML, and build HTML pages.

A table is a list of rows of text; the first row holds the headings. Text in HTML elements is
escaped unless it is `HtmlMarkup`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from textwrap import fill

from poker_rl.evaluation.result import EXACT, Result
from poker_rl.storage.terminal_printing import escape_control_characters

TextRows = list[list[str]]
MAX_LINE_WIDTH = 120
MAX_NAME_WIDTH = 40  # a longer name is replaced by a number such as [1], which a legend explains
COLUMN_GAP = "  "
STYLE_SHEET = Path(__file__).with_name("page.css")
# This policy keeps browsers from running scripts that a name of a run might contain.
CONTENT_SECURITY_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


@dataclass(frozen=True)
class TextTable:
    """Table of text with a heading."""

    rows: TextRows
    heading: str = ""
    key_columns: int = 1  # a wide table is split; each part repeats this number of first columns


def format_for_terminal(parts: Iterable[str | TextTable], names: Iterable[str]) -> str:
    """Format paragraphs and tables; replace long `names` by numbers, with a legend at the end."""
    long_names = [name for name in dict.fromkeys(names) if len(name) > MAX_NAME_WIDTH]
    legend = {name: f"[{number}]" for number, name in enumerate(long_names, start=1)}

    def shorten(text: str) -> str:
        for name in sorted(legend, key=len, reverse=True):
            text = text.replace(name, legend[name])
        return text

    texts = []
    for part in parts:
        if isinstance(part, TextTable):
            rows = [[shorten(cell) for cell in row] for row in part.rows]
            heading = f"{part.heading}\n" if part.heading else ""
            texts.append(heading + format_columns(rows, part.key_columns))
        else:
            texts.append("\n".join(wrap_line(shorten(line)) for line in part.splitlines()))
    texts.append("\n".join(wrap_line(name, f"{number} ") for name, number in legend.items()))
    return "\n\n".join(filter(None, texts))


def wrap_line(line: str, prefix: str = "") -> str:
    """Wrap a line at spaces; a word that is too long for a line, such as a path, is not split."""
    return fill(
        line,
        MAX_LINE_WIDTH,
        initial_indent=prefix,
        subsequent_indent="    ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def format_columns(rows: Sequence[Sequence[str]], key_columns: int) -> str:
    """Format rows of cells as aligned columns, with a line of dashes below the first row.

    A table wider than `MAX_LINE_WIDTH` is split into blocks of columns, one below the other. Each
    block repeats the first `key_columns` columns.
    """
    rows = [[escape_control_characters(cell).replace("\n", "\\n") for cell in row] for row in rows]
    columns = [
        [f"{cell:<{width}}" for cell in (column[0], "-" * width, *column[1:])]
        for column in zip(*rows, strict=True)
        for width in [max(map(len, column))]
    ]
    blocks = [columns[:key_columns]]
    for column in columns[key_columns:]:
        line_width = len(COLUMN_GAP.join(cells[0] for cells in (*blocks[-1], column)))
        if line_width > MAX_LINE_WIDTH and len(blocks[-1]) > key_columns:
            blocks.append(columns[:key_columns])
        blocks[-1].append(column)
    return "\n\n".join(
        "\n".join(COLUMN_GAP.join(cells).rstrip() for cells in zip(*block, strict=True))
        for block in blocks
    )


def format_markdown_table(rows: TextRows) -> str:
    """Return a Markdown table with the first row as its heading."""
    lines = [[escape_markdown(cell) for cell in row] for row in rows]
    lines.insert(1, ["---"] * len(rows[0]))
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def escape_markdown(text: str) -> str:
    """Escape Markdown's special characters, which names may contain."""
    return text.translate({ord(character): f"\\{character}" for character in "\\`*_[]<>|"})


def build_long_rows(results: Sequence[Result], headline_player: str | None = None) -> TextRows:
    """Return headings and a row for each result, with its percentiles in further columns."""
    percentiles = {r.tag: r.value_and_interval_text for r in results if r.is_percentile}
    suffixes = dict.fromkeys(tag[tag.rindex("/") :] for tag in percentiles)
    rows = [["player", "measure", "value", *(s[1:] for s in suffixes), "unit", "kind", "n"]]
    for r in results:
        if not r.is_percentile:
            values = [
                r.value_and_interval_text,
                *(percentiles.get(r.tag + end, "") for end in suffixes),
            ]
            count = "" if r.n is None else f"{r.n:,}"
            player = mark_headline_player(r.player, headline_player)
            rows.append([player, r.measure, *values, r.unit, r.kind, count])
    return rows


def build_wide_rows(results: Sequence[Result], headline_player: str | None) -> TextRows:
    """Return headings and a row for each player and kind of result, such as "against uniform".

    Each measure has a column, but winnings against different opponents share one, because the kind
    names the opponent. A measure that was both sampled and computed exactly has two columns. Units
    are in the headings or, if all are equal, in a column of their own.
    """
    sampled_kinds = {(r.player, r.measure): r.kind for r in results if r.half_width is not None}
    units: dict[str, dict[str, None]] = {}
    cells: dict[tuple[str, str], dict[str, str]] = {}
    for result in results:
        column, kind = result.measure.partition("/")[0], result.kind
        if kind == EXACT and (result.player, result.measure) in sampled_kinds:
            kind, column = sampled_kinds[result.player, result.measure], f"{column}, exact"
        units.setdefault(column, {})[result.unit] = None
        cells.setdefault((result.player, kind), {})[column] = result.value_and_interval_text
    all_units = {unit for column_units in units.values() for unit in column_units}
    headings, common_unit = [*units, "unit"], [*all_units]
    if len(all_units) > 1 or all_units == {""}:
        common_unit = []
        headings = [
            column + "".join(f" ({unit})" for unit in column_units if unit not in ("", column))
            for column, column_units in units.items()
        ]
    rows = [["player", "kind", *headings]]
    for (player, kind), row in cells.items():
        values = (row.get(column, "-") for column in units)
        rows.append([mark_headline_player(player, headline_player), kind, *values, *common_unit])
    return rows


def mark_headline_player(player: str, headline_player: str | None) -> str:
    """Return a player's name, followed by "(headline)" if it is the headline player."""
    return f"{player} (headline)" if player == headline_player else player


class HtmlMarkup(str):
    """Text that is HTML and is not escaped again."""


def create_html_element(tag: str, /, *children: str, **attributes: str) -> HtmlMarkup:
    """Return an HTML element; `http_equiv=` sets the attribute "http-equiv", `class_=` "class"."""
    attribute_text = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(value)}"'
        for key, value in attributes.items()
    )
    content = "".join(one if isinstance(one, HtmlMarkup) else escape(one) for one in children)
    end = "" if tag in ("img", "meta") else f"</{tag}>"
    return HtmlMarkup(f"<{tag}{attribute_text}>{content}{end}")


def create_html_table(
    rows: Sequence[Sequence[str]], highlighted_rows: Sequence[int] = (), caption: str = ""
) -> HtmlMarkup:
    """Return an HTML table; `rows[0]` are headings, `highlighted_rows` are counted below them."""
    headings = [create_html_element("th", cell, scope="col") for cell in rows[0]]
    head, body = create_html_element("tr", *headings), []
    for i, row in enumerate(rows[1:]):
        cells = [create_html_element("td", cell) for cell in row]
        body.append(create_html_element("tr", *cells, class_="marked" * (i in highlighted_rows)))
    parts = [create_html_element("caption", caption)] * bool(caption)
    parts += [create_html_element("thead", head), create_html_element("tbody", *body)]
    # With a tabindex, a wide table can be scrolled by keyboard.
    table = create_html_element("table", *parts)
    return create_html_element("div", table, class_="wide", tabindex="0")


def create_html_document(title: str, *elements: str) -> str:
    """Return an HTML page that needs no other file, with its title as the first heading."""
    policy = {"http_equiv": "Content-Security-Policy", "content": CONTENT_SECURITY_POLICY}
    head = create_html_element(
        "head",
        create_html_element("meta", charset="utf-8"),
        create_html_element("meta", **policy),
        create_html_element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        create_html_element("title", f"{title} - poker-rl"),
        create_html_element("style", HtmlMarkup(STYLE_SHEET.read_text())),
    )
    body = create_html_element("body", create_html_element("h1", title), *elements)
    return f"<!doctype html>\n{create_html_element('html', head, body, lang='en')}\n"
