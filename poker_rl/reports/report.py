"""What `poker-rl report` does once settings are read: runs as one HTML file that needs no other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from poker_rl.config.build import convert_fields
from poker_rl.config.options import CONF, read
from poker_rl.config.settings import Range, Refused, Seed, about
from poker_rl.reports.compare import Compare, compared
from poker_rl.reports.groups import head_of
from poker_rl.reports.html import Markup, drawing, element, joined, table
from poker_rl.reports.picture import draw
from poker_rl.reports.pieces import section
from poker_rl.reports.trained import Trained, found, read_run
from poker_rl.storage.disk import make_room, say
from poker_rl.storage.folder import write_text

STYLE = Path(__file__).with_name("page.css")
# A browser that keeps to it runs no script and loads nothing from elsewhere, whatever a name holds.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
MOST_HANDS = 100
NAME = "report.html"


@dataclass(kw_only=True, frozen=True)
class Asked:
    """The settings of `poker-rl report`."""

    out: str | None
    overwrite: bool
    hands: Annotated[int, Range(0, MOST_HANDS)]
    seed: Seed

    def __post_init__(self) -> None:
        if self.out is not None and Path(self.out).suffix != ".html":
            raise Refused(f"out: {self.out} is no page; give FILE.html")


def report(words: Sequence[str], settings: Mapping[str, Any], conf: Sequence[Path]) -> None:
    """Write the page of the runs that the words name.

    Args:
        conf: the folders of the options, which say what settings are by default.

    Raises:
        Refused: if a run or a player of it can't be read, or the page is there already.
    """
    asked = Asked(**convert_fields(Asked, settings, "", {}))
    runs = [read_run(folder) for folder in found(words)]
    if asked.out is None and len(runs) > 1:
        raise Refused(f"out: missing; of {len(runs)} runs, name the page: out=FILE.html")
    out = runs[0].folder / NAME if asked.out is None else Path(asked.out)
    with about("out"):
        # The page of a run's own folder is made of that folder alone, and can be made again.
        make_room(out, asked.overwrite or asked.out is None)
    write_text(out, page(runs, asked.hands, asked.seed, conf))
    say(f"written: {out}")


def page(runs: Sequence[Trained], hands: int, seed: int, conf: Sequence[Path]) -> str:
    """The whole page.

    Args:
        hands: that each run's headline player plays with itself.
        seed: of those hands.
    """
    single = len(runs) == 1
    title = f"{runs[0].game}: {head_of(runs[0])}" if single else f"{len(runs)} runs"
    sections = [section(place, run, hands, seed, conf) for place, run in enumerate(runs, start=1)]
    before = [] if single else [contents(runs), comparison(runs)]
    head = element(
        "head",
        Markup('<meta charset="utf-8">'),
        Markup(f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'),
        Markup('<meta name="viewport" content="width=device-width, initial-scale=1">'),
        element("title", f"{title} - poker-rl"),
        element("style", Markup(STYLE.read_text())),
    )
    body = element("body", element("h1", title), *before, *sections)
    return f"<!doctype html>\n{element('html', head, body, lang='en')}\n"


def contents(runs: Sequence[Trained]) -> Markup:
    """Links to the runs."""
    links = [
        element("li", element("a", str(run.folder), href=f"#run-{place}"))
        for place, run in enumerate(runs, start=1)
    ]
    return element("nav", element("ol", *links), aria_label="runs")


def comparison(runs: Sequence[Trained]) -> Markup:
    """The runs side by side, as `poker-rl compare` has them."""
    parts: list[str] = [element("h2", "Side by side")]
    usual = Compare(**convert_fields(Compare, read(CONF / "compare.yaml"), "", {}))
    measured = [run for run in runs if run.measures]
    for number, figures in enumerate(compared(measured, usual) if measured else ()):
        parts += [element("p", figures.title()), table(figures.rows())]
        if len(figures.settings()) > 1:
            parts.append(table(figures.settings()))
        parts += [element("p", note, class_="note") for note in figures.notes()]
        if any(figures.counted(group) for group in figures.groups):
            name = f"curves of {figures.game}"
            parts.append(drawing(draw([figures]), name, number))
    return joined(parts)
