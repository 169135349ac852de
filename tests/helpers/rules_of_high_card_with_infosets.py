"""The rules of high card with keys of information sets, so that the game has a tree."""

from rules_of_high_card import legal, observe, payoffs, start, step

from poker_rl.games import jit

__all__ = ["infoset", "legal", "observe", "payoffs", "start", "step"]


@jit
def infoset(game, table, seat, out):
    """Write the seat, its card and the action of seat 0, all of them from 1."""
    out[0] = 1 + seat
    out[1] = 1 + table.deck[seat]
    out[2] = 1 + table.line[0] if table.moves > 0 else 0
