"""`poker-rl evaluate`: measure what a run has learnt, or any player of any game."""

from __future__ import annotations

from poker_rl.cli.arguments import asked

GAME = ("game", "evaluation")  # groups that `evaluate` composes where there is no run

HELP = """\
poker-rl evaluate run=FOLDER [key=value …]               what a run has learnt
poker-rl evaluate game=NAME player=PLAYER [key=value …]  any player of any game

Exact exploitability and value where the game can be enumerated, duplicate matches, and in Kuhn
poker the policies beside the equilibrium; or what each player of a mixed table wins there. All of
it is kept in FOLDER/evaluations under the time.

A PLAYER is a name in conf/player, a file like those, a run folder (its newest snapshot, its
headline player) or what is named of it:

  poker-rl evaluate run=outputs/kuhn/ppo/TIME against=[uniform,equilibrium]
  poker-rl evaluate run=outputs/kuhn/ppo/TIME show=true      all evaluations of the run, a table
  poker-rl evaluate game=leduc player=call against=[raise,outputs/leduc/ppo/TIME]
  poker-rl evaluate game=leduc player=outputs/leduc/ppo/TIME@DECISIONS:current against=[call]
  poker-rl evaluate game=leduc player=outputs/leduc/ppo/TIME:current:greedy against=[call]
  poker-rl evaluate game=limit_holdem player=tight lbr=true  a lower bound on exploitability
  poker-rl evaluate game=kuhn_3p seats=[raise,call,call]     a table with a player for each seat

`:greedy` behind a player, of a snapshot (`RUN:current:greedy`) or a bot (`chen:greedy`), takes the
action that the player takes most often, always.

  game=NAME, evaluation.KEY=VALUE  as `poker-rl train` takes them, if there is no run
  --config-dir FOLDER              options of your own, in files such as FOLDER/player/mine.yaml;
                                   of two with the same name yours counts"""


def run(arguments: list[str]) -> int:
    """Measure and print; the exit code."""
    read = asked("evaluate", HELP, arguments, GAME, "poker_rl.reports.evaluate.Evaluate")
    if read is not None:
        from poker_rl.reports.evaluate import evaluate

        evaluate(*read)
    return 0
