"""What a terminal shows of a table, of a session and of a finished hand, drawn by `rich`.

All of it comes from the plain values of `Session`; suits differ in shape and in colour, and nothing
is told by colour alone.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from poker_rl.evaluation.columns import number

SUITS = {"s": "♠", "h": "♥", "d": "♦", "c": "♣"}
COLOURS = {"s": "#000000", "h": "#c00000", "d": "#0033bb", "c": "#006b00"}
PAPER = "on #f4f4f4"
CARD = re.compile(r"\b([2-9TJQKA])([shdc])\b")
FEW = 3  # cards: so many hidden ones are shown as cards, more as their number
SPACED = 7  # cards: more of them in a row stand closer together
NOTHING = 0.005  # what less of a loss is called
BARS = 8  # chances at most, the likeliest
BAR = 24  # columns
TIMES = "\u00d7"
LEVELS = "▁▂▃▄▅▆▇█"
PLAIN = str.maketrans("♠♥♦♣▒▸█▌─·…±✓✗←→" + TIMES + LEVELS, "shdc#>#|--.~+!<>x12345678")


def card(code: str) -> Text:
    """A card: its rank, and the symbol of its suit if it has one."""
    suit = SUITS.get(code[1:], "")
    rank = code[:1].replace("T", "10") if suit else code
    return Text(f" {rank}{suit} ", f"bold {COLOURS.get(code[1:], '#000000')} {PAPER}")


def cards(codes: Sequence[str], hidden: int = 0) -> Text:
    """Cards in a row, and those that are face down."""
    backs = [Text(" ▒▒ ", "dim")] * hidden if hidden <= FEW else [Text(f"{hidden} cards", "dim")]
    return Text(" " if len(codes) < SPACED else "").join([*map(card, codes), *backs])


def pretty(label: str) -> str:
    """A label of a move with symbols of the suits."""
    return CARD.sub(lambda found: found[1].replace("T", "10") + SUITS[found[2]], label)


def title(text: str) -> str:
    return text[:1].upper() + text[1:]


def signed(value: float, half_width: float | None = None) -> str:
    """A result, with its interval if it has one."""
    long = half_width is None and abs(value) >= 10_000
    return ("+" if value > 0 else "") + (f"{value:.0f}" if long else number(value, half_width))


def percent(share: float) -> str:
    return f"{100 * share:.{1 if 0.0005 < share < 0.1 else 0}f} %"


def counted(chips: int, view: Mapping[str, Any]) -> str:
    """`1 chip`, `12 chips`; in a game that is not about chips, points."""
    unit = "point" if view["session"]["unit"].startswith("point") else "chip"
    return f"{chips} {unit}{'' if chips == 1 else 's'}"


def named(view: Mapping[str, Any], seat: int) -> str:
    """Who has a seat."""
    return str(next(place["name"] for place in view["ring"] if place["seat"] == seat))


def heading(view: Mapping[str, Any], width: int) -> RenderableType:
    """The game, the number of the hand and the opponents; and what has been won so far."""
    session, stats = view["session"], view["stats"]
    others = Counter(re.sub(r" \d+$", "", place["name"]) for place in view["ring"][1:])
    told = ", ".join(
        f"{times} {TIMES} {name}" if times > 1 else name for name, times in others.items()
    )
    what = f"{session['game'].replace('_', ' ')} · {session['hand_word']} {view['hand']}"
    won = f"{'+' * (stats['won'] > 0)}{counted(stats['won'], view)}"
    line = Text(title(what), "bold").append(f" · against {told}", "not bold dim")
    line.truncate(width - len(won) - 2, overflow="ellipsis", pad=True)
    return Group(line.append(f"  {won}", "not bold"), Text("─" * width, "dim"))


def middle(scene: Mapping[str, Any]) -> RenderableType:
    """The street, the cards in the middle and the pots."""
    pots = [f"{'side pot' if i else 'pot'} {chips}" for i, chips in enumerate(scene["pots"])]
    parts = [Text(scene["street"], "bold"), cards(scene["board"]), Text(" · ".join(pots))]
    return Text("   ").join(part for part in parts if part.plain)


def seats(
    view: Mapping[str, Any],
    scene: Mapping[str, Any],
    to_act: int | None,
    won: Sequence[int] | None,
    fanned: bool = False,
) -> Table:
    """A row for each place at the table, clockwise from the person's left to the person.

    Args:
        won: chips by place in a hand that is over, or None.
        fanned: whether many cards of the person's are shown elsewhere.
    """
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(no_wrap=True)
    grid.add_column(no_wrap=True, overflow="ellipsis", max_width=22)
    for _ in range(4):
        grid.add_column()
    ring = list(enumerate(view["ring"]))
    for i, place in [*ring[1:], ring[0]]:
        if place["seat"] is None:
            grid.add_row("", Text(place["name"]), Text("sits out"), style="dim")
            continue
        seat = scene["places"][place["seat"]]
        many = place["you"] and fanned and len(seat["cards"]) > FEW
        amount = "" if won is None or won[i] == 0 else signed(won[i])
        notes = ["folded"] * seat["folded"] + list(seat["notes"])
        shown = (
            Text(f"{len(seat['cards'])} cards") if many else cards(seat["cards"], seat["hidden"])
        )
        grid.add_row(
            "▸" if place["seat"] == to_act else " ",
            Text(place["name"], "bold" if place["you"] else ""),
            shown,
            "" if seat["stack"] is None else f"stack {seat['stack']}",
            Text(f"bet {seat['bet']}" if seat["bet"] else amount, "bold"),
            ", ".join(notes),
            style="dim" if seat["folded"] else "",
        )
    return grid


def fan(
    codes: Sequence[str], labels: Sequence[str], picked: Collection[str], width: int
) -> RenderableType:
    """Cards of which some are chosen, which stand a row higher; below each the key it goes by."""
    pitch = 5 if 5 * len(codes) <= width else 4
    raised, lying, keys = Text(), Text(), Text()
    for code, label in zip(codes, labels, strict=True):
        one = card(code)[:pitch]  # the ten is wider, and ends in a space
        gap = " " * (pitch - len(one))
        blank = Text(" " * len(one))
        raised.append(one if code in picked else blank).append(gap)
        lying.append(blank if code in picked else one).append(gap)
        keys.append(f"{label:^{pitch}}")
    return Group(raised, lying, keys)


def packed(items: Iterable[Text], width: int, between: str = "   ") -> Text:
    """Items in as few lines as they fit in, none of them broken."""
    lines = [Text()]
    for item in items:
        if lines[-1].plain and len(lines[-1]) + len(between) + len(item) > width:
            lines.append(Text())
        lines[-1].append(between if lines[-1].plain else "").append(item)
    return Text("\n").join(lines)


def key(name: str, label: str) -> Text:
    """A key and what it does."""
    return Text.assemble((f"[{name}]", "bold"), " ", label)


def explained(keys: Iterable[tuple[str, str]]) -> Table:
    """What keys do, a row each."""
    grid = Table.grid(padding=(0, 2, 0, 0))
    for name, told in keys:
        grid.add_row(Text(name, "bold"), told)
    return grid


def log(view: Mapping[str, Any], width: int) -> Text:
    """The moves since the person's last one."""
    told = [f"{named(view, one['seat'])}: {pretty(one['label'])}" for one in view["events"]]
    return packed((Text(one, "italic") for one in told), width, " · ")


def bars(
    whose: str, chances: Sequence[Mapping[str, Any]], most: int, chosen: str | None = None
) -> RenderableType:
    """Chances of the likeliest moves, and of the one that was chosen, which is marked."""
    shown = sorted(chances, key=lambda one: -one["chance"])
    kept = [one for i, one in enumerate(shown) if i < most or one["label"] == chosen]
    grid = Table.grid(padding=(0, 2, 0, 0))
    for justify in ("left", "left", "right", "left"):
        grid.add_column(justify=justify, no_wrap=True)
    for one in kept:
        mine = one["label"] == chosen
        halves = round(2 * BAR * one["chance"])
        grid.add_row(
            "▸" if mine else " ",
            Text(pretty(one["label"]), "bold" if mine else ""),
            percent(one["chance"]),
            "█" * (halves // 2) + "▌" * (halves % 2),
        )
    return Group(Text(whose, "bold"), grid)


def verdict(grade: Mapping[str, Any], view: Mapping[str, Any]) -> Text:
    """How good a move of the person was."""
    told = [] if grade["share"] is None else [f"{percent(grade['share'])} of the time"]
    if grade["loss"] is not None:
        told.append(f"costs {cost_of(grade, view)}")
    word = Text("✗ mistake", "bold red") if grade["mistake"] else Text("✓ fine", "bold green")
    return word.append(f": {', '.join(told)}", "not bold default") if told else word


def grades(
    view: Mapping[str, Any], steps: Sequence[Mapping[str, Any]], width: int
) -> RenderableType:
    """The person's decisions in short, but for those without a choice."""
    mine = [step for step in steps if step["grade"] and step["choices"] > 1]
    items = []
    for step in mine:
        grade = step["grade"]
        share = "" if grade["share"] is None else f" {percent(grade['share'])}"
        cost = f", costs {cost_of(grade, view)}" if (grade["loss"] or 0) >= NOTHING else ""
        mark = ("✗", "bold red") if grade["mistake"] else ("✓", "bold green")
        items.append(Text.assemble(mark, " ", (pretty(step["label"]), "bold"), share, cost))
    heading = f"How often {view['session']['adviser']} makes your moves:"
    return Group(*[Text(heading)] * bool(items), packed(items, width))


def cost_of(grade: Mapping[str, Any], view: Mapping[str, Any]) -> str:
    """What a move loses: against an equilibrium, or about, as the adviser values it."""
    about = "" if grade["equilibrium"] else "about "
    if grade["loss"] < NOTHING:
        return f"{about}nothing"
    return f"{about}{number(grade['loss'])} {view['stats']['unit'].partition('/')[0]}"


def expected(hint: Mapping[str, Any], view: Mapping[str, Any]) -> Text:
    """What the adviser expects to win."""
    unit, word = view["stats"]["unit"].partition("/")[0], view["session"]["hand_word"]
    return Text(f"It expects {signed(hint['value'])} {unit} from the whole {word}.")


def outcome(view: Mapping[str, Any]) -> Text:
    """Whether the person has won."""
    won = view["result"]["won"][0]
    if won == 0:
        return Text("You come out even", "bold")
    return Text(f"You {'win' if won > 0 else 'lose'} {counted(abs(won), view)}", "bold")


def judged(
    view: Mapping[str, Any], steps: Sequence[Mapping[str, Any]], at: int, most: int
) -> list[RenderableType]:
    """A decision of a finished hand: the table before it, chances and grade."""
    step = steps[at]
    name = view["ring"][step["ring"]]["name"]
    parts: list[RenderableType] = [
        Text(f"Decision {at + 1} of {len(steps)} · {name}: {pretty(step['label'])}", "bold"),
        Text(),
        middle(step["scene"]),
        seats(view, step["scene"], step["seat"], None),
        Text(),
    ]
    asked = view["session"]["adviser"] if step["grade"] else name
    if step["chances"] is not None:
        parts.append(bars(f"Chances of {asked}", step["chances"], most, step["chosen"]))
    if step["grade"]:
        parts.append(verdict(step["grade"], view))
        if step["grade"]["equilibrium"]:
            known = step["grade"]["equilibrium"]
            parts.append(bars("Chances in an equilibrium", known, most, step["chosen"]))
    return parts


def statistics(view: Mapping[str, Any], width: int) -> list[RenderableType]:
    """The session in numbers."""
    stats, word = view["stats"], view["session"]["hand_word"]
    grid = Table.grid(padding=(0, 3, 0, 0))
    grid.add_row(f"{title(word)}s", str(stats["hands"]))
    if stats["abandoned"]:
        grid.add_row("Left unfinished", str(stats["abandoned"]))
    grid.add_row("Won", f"{'+' * (stats['won'] > 0)}{counted(stats['won'], view)}")
    grid.add_row(f"Won, {stats['unit']}", signed(stats["mean"], stats["half_width"]))
    if stats["lucky"]:
        grid.add_row("Without luck", signed(stats["lucky"]["mean"], stats["lucky"]["half_width"]))
    if stats["style"]:
        style = stats["style"]
        grid.add_row("Enters pots", percent(style["vpip"]))
        grid.add_row("Raises before the flop", percent(style["pfr"]))
        if style["aggression"] is not None:
            grid.add_row("Aggression", number(style["aggression"]))
    if stats["places"]:
        grid.add_row(f"Places 1 to {len(stats['places'])}", " · ".join(map(str, stats["places"])))
    parts: list[RenderableType] = [grid]
    if len(stats["curve"]) > 2:
        parts += [Text(), Text("Won so far"), spark(stats["curve"], width)]
    if len(stats["opponents"]) > 1:
        others = Table.grid(padding=(0, 3, 0, 0))
        for one in stats["opponents"]:
            others.add_row("  " + one["name"], signed(one["mean"], one["half_width"]))
        parts += [Text(), Text(f"What each opponent has won, {stats['unit']}"), others]
    if stats["more_hands"]:
        more = (
            f"About {stats['more_hands']} more {word}s until this is known to ±{stats['goal']:g}."
        )
        parts += [Text(), Text(more)]
    return parts


def spark(values: Sequence[float], width: int) -> Text:
    """A curve in one line, between its lowest and its highest value."""
    count = max(2, min(len(values), width - 24))
    kept = [values[round(i * (len(values) - 1) / (count - 1))] for i in range(count)]
    low, high = min(values), max(values)
    steps = [round((value - low) / ((high - low) or 1) * (len(LEVELS) - 1)) for value in kept]
    return Text(f"{signed(low)} {''.join(LEVELS[step] for step in steps)} {signed(high)}")
