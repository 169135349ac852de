"""`poker-rl tournament`: players against each other, a cross table and a ranking."""

from __future__ import annotations

from poker_rl.cli.arguments import asked, keys_of

HELP = """\
poker-rl tournament game=NAME players=[PLAYER,…] [key=value …]
poker-rl tournament resume=FOLDER                  go on with one that was stopped

Every pair of players heads-up; with more seats one player against another in all other seats, or
mixed tables. The cross table and a ranking with 95 % intervals, heads-up with Elo, are printed and
kept in a folder, whose finished tables are not played again. A PLAYER is named as in
`poker-rl evaluate`:

  poker-rl tournament game=leduc players=[uniform,call,raise,outputs/leduc/ppo/TIME] workers=2
  poker-rl tournament game=limit_holdem_6p players=[tight,chen,sklansky,rules] deals=4000
  poker-rl tournament game=kuhn_3p players=[uniform,call,raise,fold] tables=mixed

  game=NAME            with what `poker-rl train` takes for it, such as game.max_raises=[2,2]
  --config-dir FOLDER  options of your own, in files such as FOLDER/player/mine.yaml; of two with
                       the same name yours counts"""


def run(arguments: list[str]) -> int:
    """Play and print; the exit code."""
    read = asked("tournament", HELP, arguments, ["game"], "poker_rl.reports.tournament.Tournament")
    if read is not None:
        from poker_rl.reports.tournament import tournament

        tournament(*read, {key.partition(".")[0] for key in keys_of(arguments)})
    return 0
