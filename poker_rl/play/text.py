"""A finished hand as text, to be copied and read."""

from __future__ import annotations

from collections.abc import Sequence

from poker_rl.games.scene import Scene
from poker_rl.play.table import YOU, Dealt


def text_of(hand: Dealt, names: Sequence[str]) -> str:
    """Who had which cards, each move under its street, and who won how many chips.

    Args:
        names: round the table, the person's first.
    """
    game = hand.table.game
    begun = hand.steps[0].record if hand.steps else hand.record
    first, last = (game.scene(record[0], None) for record in (begun, hand.record))
    lines = [f"{game.name}, {game.hand} {hand.number}"]
    for seat, place in enumerate(hand.ring):
        shown = first.places[seat]
        notes = f" ({', '.join(shown.notes)})" if shown.notes else ""
        lines.append(f"{names[place]}{notes}: {' '.join(shown.cards)}")
    heading, board = "", first.board
    for step in hand.steps:
        scene = game.scene(step.record[0], None)
        board = scene.board
        if scene.street and _heading(scene) != heading:
            heading = _heading(scene)
            lines.append(heading)
        lines.append(f"  {names[hand.ring[step.seat]]}: {step.move.label}")
    if last.street and last.board != board:  # after an all-in nobody moves on it
        lines.append(f"board {' '.join(last.board)}")
    for place, chips in enumerate(hand.won()):
        if place in hand.ring and chips:
            verb = "win" if place == YOU else "wins"
            verb = verb if chips > 0 else verb.replace("win", "lose")
            lines.append(f"{names[place]} {verb} {abs(chips)}")
    return "\n".join(lines)


def _heading(scene: Scene) -> str:
    return " ".join([scene.street, *scene.board])
