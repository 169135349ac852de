"""Play a session in a terminal: print the table, and read one line for each decision."""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from poker_rl.config.validation import ConfigError
from poker_rl.evaluation.result import format_number
from poker_rl.play.move_requests import MoveNotAllowedError
from poker_rl.play.session import Session
from poker_rl.storage.disk import name_path_in_errors, print_line

MAX_LISTED_PROBS = 8  # number of the most probable moves that a hint lists
NEGLIGIBLE_COST = 0.005  # in the game's unit; a smaller cost is printed as "nothing"
CARD_PATTERN = re.compile(r"[2-9tjqka][shdc]")
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


def run_input_loop(session: Session, resume_arguments: str) -> None:
    """Play a session until the person quits or the input ends.

    Args:
        resume_arguments: arguments to print in the `poker-rl play` command for resuming.

    Raises:
        ConfigError: if standard input is closed.
    """
    if sys.stdin is None:
        raise ConfigError("ui: a terminal needs standard input, which is closed")
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(errors="ignore")
    view = session.build_view()
    if view["session"]["notice"]:
        print_line(view["session"]["notice"])
    print_line(format_table(view, session))
    try:
        while (line := _read_line()) is not None:
            words = line.lower().split()
            if words == ["q"]:
                return
            try:
                print_line(answer_line(session, words))
            except MoveNotAllowedError as error:
                print_line(str(error))
    finally:
        with suppress(OSError):  # the terminal may have been closed
            print_line(f"\nResume with: poker-rl play ui=terminal {resume_arguments}")


def _read_line() -> str | None:
    """Print a prompt and return the next line of input, or None at the end of the input."""
    with name_path_in_errors("standard output"):
        sys.stdout.write("> ")
        sys.stdout.flush()
    return sys.stdin.readline() or None


def answer_line(session: Session, words: list[str]) -> str:
    """Carry out an input line, split into `words`, and return the text to print.

    Raises:
        MoveNotAllowedError: if the line is neither a command nor a legal move.
    """
    view = session.build_view()
    is_over = view["phase"] == "over"
    if words == ["?"]:
        return HELP
    if words == ["s"]:
        return format_statistics(view)
    if words == ["h"]:
        return format_hint(session.get_hint(view["turn"]), view)
    if words == ["v"] and is_over:
        return format_review(session, view)
    if is_over and not words:
        return "\n" + format_table(session.deal_next_hand(view["turn"]), session)
    view = session.act(view["turn"], parse_move(view, words))
    return "\n" + format_table(view, session)


def parse_move(view: Mapping[str, Any], words: list[str]) -> int | dict[str, int]:
    """Return the move that a line names: an action number or `{"to": chips}`.

    Raises:
        MoveNotAllowedError: if the line names no move, or one that is not legal now.
    """
    bets = [move for move in view["moves"] if move["raise_to"] is not None]
    if len(words) == 2 and words[0] == "r" and words[1].isdecimal():
        raise_to = int(words[1][:9])
        for move in bets:
            if move["raise_to"] == raise_to:
                return int(move["action"])
        if bets and not view["amounts"]:
            sizes = ", ".join(str(move["raise_to"]) for move in bets)
            raise MoveNotAllowedError(f"You may bet or raise to {sizes}.")
        return {"to": raise_to}
    if words == ["r"] and len(bets) > 1:
        raise MoveNotAllowedError("Type an amount too, such as r 12.")
    if words == ["r"] and bets:
        return int(bets[0]["action"])
    for move in view["moves"]:
        if words == [move["key"]] and not move["cards"]:
            return int(move["action"])
        if words and sorted(words) == sorted(card.lower() for card in move["cards"]):
            return int(move["action"])
    if words and all(CARD_PATTERN.fullmatch(word) for word in words):
        raise MoveNotAllowedError("These cards are no legal play; h lists some that are.")
    raise MoveNotAllowedError("That is no move here; ? lists what you can type.")


def format_table(view: Mapping[str, Any], session: Session) -> str:
    """Return a text with the moves since the person's last decision, and the table.

    At a decision the text ends with the legal moves, and after the hand with its outcome.
    """
    is_over = view["phase"] == "over"
    scene = view["result"]["shown"] if is_over else view["table"]
    lines = [f"{_get_name_at_seat(view, one['seat'])}: {one['label']}" for one in view["events"]]
    if not view["past"]:
        lines = [f"{_capitalize(view['session']['hand_noun'])} {view['hand']}", *lines]
    pots = [f"{'side pot' if i else 'pot'} {chips}" for i, chips in enumerate(scene["pots"])]
    table = [scene["street"], " ".join(scene["board"]), ", ".join(pots)]
    lines.append("   ".join(part for part in table if part))
    players = list(enumerate(view["players"]))
    for i, player in [*players[1:], players[0]]:  # the person comes last
        won = view["result"]["won"][i] if is_over else None
        lines.append(_format_seat(player, scene, won))
    if view["table"]["hand_name"] and not is_over:
        lines.append(f"Your hand: {view['table']['hand_name']}")
    if is_over:
        lines += _format_outcome(view, session)
    else:
        lines.append(_format_moves(view))
    return "\n".join(line for line in lines if line)


def _format_seat(player: Mapping[str, Any], scene: Mapping[str, Any], won: int | None) -> str:
    if player["seat"] is None:
        return f"  {player['name']}   not dealt in"
    seat = scene["seats"][player["seat"]]
    hidden = seat["hidden_card_count"]
    parts = [
        " ".join(seat["cards"]) or f"{hidden} hidden card{'s' * (hidden != 1)}",
        "" if seat["stack"] is None else f"stack {seat['stack']}",
        f"bet {seat['bet']}" if seat["bet"] else "",
        ", ".join(["folded"] * seat["folded"] + list(seat["notes"])),
        f"{won:+}" if won else "",
    ]
    marker = "*" if player["seat"] == scene["to_act"] else " "
    return f"{marker} {player['name']:<16} {'   '.join(part for part in parts if part)}"


def _format_moves(view: Mapping[str, Any]) -> str:
    """Return a line with the legal moves and what to type for each of them."""
    bets = [move for move in view["moves"] if move["raise_to"] is not None]
    simple = [move for move in view["moves"] if not move["cards"] and move not in bets]
    items = [f"{move['label']} ({move['key']})" for move in simple]
    if len(bets) == 1 and not view["amounts"]:
        items.append(f"{bets[0]['label']} (r)")
    elif bets:
        sizes = [f"{m['size_name'] or m['label']} {m['raise_to']} ({m['key']})" for m in bets]
        amounts = view["amounts"]
        interval = f" from {amounts['low']} to {amounts['high']}" if amounts else ""
        verb = _capitalize(bets[0]["action_type"])
        items.append(f"{verb} to CHIPS{interval} (r CHIPS), or {', '.join(sizes)}")
    if play_count := sum(bool(move["cards"]) for move in view["moves"]):
        items.append(f"{play_count} plays (type the cards; h lists the best)")
    return ", ".join(items)


def _format_outcome(view: Mapping[str, Any], session: Session) -> list[str]:
    """Return the person's winnings in a finished hand, and the grades of the person's moves."""
    won = view["result"]["won"][0]
    verb = "win" if won > 0 else "lose"
    lines = [f"You {verb} {_format_chips(abs(won), view)}" if won else "You come out even"]
    steps = session.review_hand(view["hand"])["steps"]
    own = [step for step in steps if step["grade"] and step["choices"] > 1]
    lines += [f"{step['label']}: {_format_grade(step['grade'], view)}" for step in own]
    return [*lines, "Enter: next hand, v: review, s: statistics, ?: help, q: quit"]


def format_hint(hint: Mapping[str, Any], view: Mapping[str, Any]) -> str:
    """Return the adviser's most probable moves and its expected payoff, as text."""
    lines = [f"{view['session']['adviser']} would", *_format_probs(hint["probs"])]
    if hint["value"] is not None:
        unit = view["stats"]["unit"].partition("/")[0]
        unit += "s" * (unit != "mbb")
        hand = view["session"]["hand_noun"]
        lines.append(f"Its expected payoff of the whole {hand}: {hint['value']:+.3g} {unit}")
    return "\n".join(lines)


def _format_probs(groups: list[dict[str, Any]]) -> list[str]:
    if not any(one["is_part"] for one in groups):
        groups = sorted(groups, key=lambda one: -one["prob"])
    shown = [one for i, one in enumerate(groups) if i < MAX_LISTED_PROBS or one["is_taken"]]
    lines = []
    for one in shown:
        amounts = f" ({one['amounts']})" if one["amounts"] else ""
        value = "" if one["value"] is None else f", expects {one['value']:+.2f}"
        mark, indent = ">" if one["is_taken"] else " ", "  " * one["is_part"]
        lines.append(f"{mark} {100 * one['prob']:5.1f} %  {indent}{one['label']}{amounts}{value}")
    return lines


def _format_grade(grade: Mapping[str, Any], view: Mapping[str, Any]) -> str:
    facts = [grade["word"]]
    if grade["cost"] is not None:
        cost = f"{format_number(grade['cost'])} {view['session']['cost_unit']}s"
        facts.append(f"costs {'nothing' if grade['cost'] < NEGLIGIBLE_COST else cost}")
    return ", ".join([*facts, f"{grade['grader']} does it {100 * grade['prob']:.1f} % of the time"])


def format_review(session: Session, view: Mapping[str, Any]) -> str:
    """Return all decisions of the finished hand as text, with policies, grades and all cards."""
    lines = []
    for step in session.review_hand(view["hand"])["steps"]:
        scene = step["table"]
        cards = " ".join(scene["seats"][step["seat"]]["cards"])
        board = " ".join([scene["street"], *scene["board"]]).strip()
        name = view["players"][step["player_index"]]["name"]
        lines.append(f"{name} with {cards}{f' on {board}' if board else ''}: {step['label']}")
        if step["probs"] is not None:
            lines += _format_probs(step["probs"])
        if step["grade"]:
            lines.append(f"  {_format_grade(step['grade'], view)}")
        if step["equilibrium"]:
            lines += ["  equilibrium", *_format_probs(step["equilibrium"])]
    return "\n".join(lines)


def format_statistics(view: Mapping[str, Any]) -> str:
    """Return the statistics of the session as text, one per line."""
    stats = view["stats"]
    rows = [(f"{_capitalize(view['session']['hand_noun'])}s", str(stats["hands"]))]
    rows.append(("Won", f"{'+' * (stats['won'] > 0)}{_format_chips(stats['won'], view)}"))
    rows.append((stats["unit"], _format_mean(stats)))
    if stats["bb_per_100"] is not None:
        rows.append(("bb/100", _format_mean(stats["bb_per_100"])))
    if stats["ev_adjusted"]:
        rows.append((f"EV-adjusted, {stats['unit']}", _format_mean(stats["ev_adjusted"])))
    for name, key in (("VPIP", "vpip"), ("PFR", "pfr")) if stats["style"] else ():
        rows.append((name, f"{100 * stats['style'][key]:.0f} %"))
    if stats["style"] and stats["style"]["aggression"] is not None:
        rows.append(("Aggression", format_number(stats["style"]["aggression"])))
    if stats["places"]:
        rows.append((f"Places 1 to {len(stats['places'])}", ", ".join(map(str, stats["places"]))))
    if len(stats["opponents"]) > 1:
        rows += [(one["name"], _format_mean(one)) for one in stats["opponents"]]
    return "\n".join(f"{name:<24} {value}" for name, value in rows)


def _format_mean(result: Mapping[str, Any]) -> str:
    return f"{'+' * (result['mean'] > 0)}{format_number(result['mean'], result['half_width'])}"


def _format_chips(chips: int, view: Mapping[str, Any]) -> str:
    unit = "point" if view["session"]["unit"].startswith("point") else "chip"
    return f"{chips} {unit}{'s' * (abs(chips) != 1)}"


def _get_name_at_seat(view: Mapping[str, Any], seat: int) -> str:
    return str(next(player["name"] for player in view["players"] if player["seat"] == seat))


def _capitalize(text: str) -> str:
    return text[:1].upper() + text[1:]
