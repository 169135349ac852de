"""Play a session in a terminal: print the table, and read one line for each decision."""

from __future__ import annotations

import io
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from poker_rl.play.live_hand import RequestNotAllowedError
from poker_rl.play.session import Session
from poker_rl.storage.terminal_printing import print_line

MAX_LISTED_PROBS = 8  # number of groups of moves that are listed; later ones are left out
HELP = """\
f, c, r, p    fold; check or call; bet or raise; pass
r 12          bet or raise to 12 chips
1 to 5        bet or raise to the size with that number
3d 3h         play these cards
h             hint: what the adviser would do
v             after the hand: every decision with the probabilities of its player
s             statistics of the session
Enter         the next hand
q             quit; finished hands are saved"""

View = Mapping[str, Any]


def run_input_loop(session: Session, resume_arguments: str) -> None:
    """Play a session until the person quits or the input ends; then print how to resume it."""
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(errors="ignore")
    print_line(format_view(session.build_view(), session))
    try:
        while (words := input("> ").lower().split()) != ["q"]:
            try:
                print_line(execute_line(session, words))
            except RequestNotAllowedError as error:
                print_line(str(error))
    except EOFError:
        return
    finally:
        with suppress(OSError):  # the terminal may have been closed
            print_line(f"\nResume with: poker-rl play ui=terminal {resume_arguments}")


def execute_line(session: Session, words: list[str]) -> str:
    """Execute one line of input, split into `words`; return the text to print."""
    view = session.build_view()
    is_over = view["phase"] == "over"
    if words == ["?"]:
        return HELP
    if words == ["s"]:
        return "\n".join(f"{name:<24} {text}" for name, text, _ in view["stats"]["rows"])
    if words == ["h"]:
        hint = session.get_hint(view["turn"])
        lines = [f"{view['session']['adviser']} would", *_format_move_groups(hint["probs"])]
        return "\n".join([*lines, hint["text"]]).rstrip()
    if words == ["v"] and is_over:
        return format_review(session, view)
    if is_over and not words:
        view = session.deal_next_hand(view["turn"])
    else:
        view = session.act(view["turn"], parse_move(view, words))
    return "\n" + format_view(view, session)


def parse_move(view: View, words: list[str]) -> int | dict[str, int]:
    """Return the number of the typed action, or `{"to": chips}` for a bet of an unlisted amount."""
    bets = [move for move in view["moves"] if move["raise_to"] is not None]
    if words == ["r"] and len(bets) > 1:
        raise RequestNotAllowedError("Type an amount too, such as r 12.")
    for move in view["moves"]:
        names = [[move["key"]], ["r", str(move["raise_to"])], ["r"] if move in bets else None]
        if words in names and not move["cards"]:
            return int(move["action"])
        if words and sorted(words) == sorted(card.lower() for card in move["cards"]):
            return int(move["action"])
    if view["amounts"] and len(words) == 2 and words[0] == "r" and words[1].isdecimal():
        return {"to": int(words[1][:9])}
    raise RequestNotAllowedError("That is no legal move; ? lists what you can type.")


def format_view(view: View, session: Session) -> str:
    """Return a view as text: moves since the last view, the table, and legal moves or outcome."""
    is_over = view["phase"] == "over"
    table = view["result"]["shown"] if is_over else view["table"]
    name_of_seat = {player["seat"]: player["name"] for player in view["players"]}
    lines = [f"{name_of_seat[event['seat']]}: {event['label']}" for event in view["events"]]
    if not view["past"]:
        lines.insert(0, f"{view['session']['hand_noun'].capitalize()} {view['hand']}")
    pots = [f"{'side pot' if i else 'pot'} {chips}" for i, chips in enumerate(table["pots"])]
    lines.append(_join_facts(table["street"], " ".join(table["board"]), ", ".join(pots)))
    payoffs = view["result"]["won"] if is_over else [0] * len(view["players"])
    you, *others = map(_format_seat, view["players"], [table] * len(payoffs), payoffs)
    lines += [*others, you]
    if is_over:
        lines += _format_outcome_and_grades(view, session)
    else:
        lines += [f"Your hand: {table['hand_name']}"] * bool(table["hand_name"])
        lines.append(_format_moves(view))
    return "\n".join(filter(None, lines))


def _format_seat(player: View, table: View, won: int) -> str:
    if player["seat"] is None:
        return f"  {player['name']}   not dealt in"
    seat = table["seats"][player["seat"]]
    hidden = seat["hidden_card_count"]
    facts = _join_facts(
        " ".join(seat["cards"]) or f"{hidden} hidden card{'s' * (hidden != 1)}",
        "" if seat["stack"] is None else f"stack {seat['stack']}",
        f"bet {seat['bet']}" if seat["bet"] else "",
        ", ".join(["folded"] * seat["folded"] + list(seat["notes"])),
        f"{won:+}" if won else "",
    )
    return f"{'*' if player['seat'] == table['to_act'] else ' '} {player['name']:<16} {facts}"


def _join_facts(*facts: str) -> str:
    return "   ".join(filter(None, facts))


def _format_moves(view: View) -> str:
    """Return a line with the legal moves and what the person has to type for each of them."""
    items = []
    for move in view["moves"]:
        has_size = move["raise_to"] is not None and move["size_name"]
        name = f"{move['size_name']} {move['raise_to']}" if has_size else move["label"]
        items += [f"{name} ({move['key']})"] * (not move["cards"])
    if view["amounts"]:
        items.append(f"from {view['amounts']['low']} to {view['amounts']['high']} (r CHIPS)")
    if play_count := sum(bool(move["cards"]) for move in view["moves"]):
        items.append(f"{play_count} plays (type the cards; h lists the best)")
    return ", ".join(items)


def _format_outcome_and_grades(view: View, session: Session) -> list[str]:
    """Return the person's winnings in a finished hand, and the grades of the person's moves."""
    steps = session.review_hand(view["hand"])["steps"]
    grades = [f"{step['label']}: {step['grade']['text']}" for step in steps if step["grade"]]
    help_line = "Enter: next hand, v: review, s: statistics, ?: help, q: quit"
    return [view["result"]["outcome"], *grades, help_line]


def _format_move_groups(groups: list[dict[str, Any]]) -> list[str]:
    lines = []
    for i, one in enumerate(groups):
        if i < MAX_LISTED_PROBS or one["is_taken"]:
            mark, indent = ">" if one["is_taken"] else " ", "  " * one["is_subgroup"]
            facts = f" ({one['facts']})" if one["facts"] else ""
            lines.append(f"{mark} {100 * one['prob']:5.1f} %  {indent}{one['label']}{facts}")
    return lines


def format_review(session: Session, view: View) -> str:
    """Return all decisions of a finished hand as text, with policies, grades and all cards."""
    lines = []
    for step in session.review_hand(view["hand"])["steps"]:
        table = step["table"]
        cards = " ".join(table["seats"][step["seat"]]["cards"])
        board = " ".join(filter(None, [table["street"], *table["board"]]))
        name = view["players"][step["player_index"]]["name"]
        lines.append(f"{name} with {cards}{f' on {board}' if board else ''}: {step['label']}")
        lines += _format_move_groups(step["probs"] or [])
        if step["grade"]:
            lines.append(f"  {step['grade']['text']}")
        if step["equilibrium"]:
            lines += ["  equilibrium", *_format_move_groups(step["equilibrium"])]
    return "\n".join(lines)
