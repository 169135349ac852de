"""`poker-rl play`: a table to sit down at, on a page in the browser or in a terminal."""

from __future__ import annotations

from poker_rl.cli.arguments import asked

HELP = """\
poker-rl play [key=value …]                             a table against a player that comes along
poker-rl play run=FOLDER [against=[PLAYER,…]]           against what a run has learnt
poker-rl play game=NAME against=[PLAYER,…]              an opponent for each other seat
poker-rl play ui=terminal [key=value …]                 by keys, where the command is given

Prints the address of a page on which you play by mouse or by keys. After the hand it shows the
cards and chances of everybody, and how good your own decisions were. Finished hands are kept; the
page goes on where it was when it is loaded again, also after the server was started anew.
A PLAYER is named as for `poker-rl evaluate`:

  poker-rl play game=kuhn                                        against an equilibrium
  poker-rl play game=limit_holdem_6p against=[tight,call,call,uniform,tight]
  poker-rl play run=outputs/leduc/ppo/TIME adviser=outputs/leduc/ppo/TIME
  poker-rl play session=outputs/play/kuhn/SESSION.jsonl          go on with an earlier session
  poker-rl play host=0.0.0.0 public=true                         for others on the network

  game=NAME, game.KEY=VALUE  as `poker-rl train` takes them
  --config-dir FOLDER        options of your own, in files such as FOLDER/player/mine.yaml;
                             of two with the same name yours counts"""


def run(arguments: list[str]) -> int:
    """Play until the person leaves or the page is stopped; the exit code."""
    read = asked("play", HELP, arguments, ("game",), "poker_rl.play.play.Play")
    if read is not None:
        from poker_rl.play.play import play

        play(*read)
    return 0
