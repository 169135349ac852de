"""`poker-rl export`: hands and policies as files that other programs read."""

from __future__ import annotations

from poker_rl.cli.arguments import asked

HELP = """\
poker-rl export run=FOLDER [key=value …]               of what a run has learnt
poker-rl export game=NAME player=PLAYER [key=value …]  of any player of any game

Hands of hold'em that a player plays, in the PHH format that PokerKit replays, and the whole policy
of a game that can be enumerated, its information sets named as in OpenSpiel's game if it has it:

  poker-rl export run=outputs/limit_holdem/ppo/TIME hands=1000 against=call out=hands.phhs
  poker-rl export run=outputs/leduc/ppo/TIME policy=leduc.csv
  poker-rl export game=kuhn player=equilibrium policy=kuhn.json

A file that is there is replaced only with overwrite=true. docs/export.md describes the files.

  game=NAME, game.KEY=VALUE  as `poker-rl train` takes them, if there is no run
  --config-dir FOLDER        options of your own, in files such as FOLDER/player/mine.yaml"""


def run(arguments: list[str]) -> int:
    """Write the files; the exit code."""
    read = asked("export", HELP, arguments, ("game",), "poker_rl.reports.export.Export")
    if read is not None:
        from poker_rl.reports.export import export

        export(*read)
    return 0
