"""`poker-rl advise`: what a player would do in a position that is typed in."""

from __future__ import annotations

from poker_rl.cli.arguments import asked

HELP = """\
poker-rl advise run=FOLDER hand=CARDS [key=value …]              what a run has learnt
poker-rl advise game=NAME player=PLAYER hand=CARDS [key=value …]  any player of any game

The chances that a player gives each legal action in a position of a game of poker, what it expects
to win if it has learnt that, in hold'em what it would do there with every starting hand, and in
Kuhn poker and Leduc hold'em the chances of an equilibrium beside its own:

  poker-rl advise game=limit_holdem player=sklansky hand=AsKd board=Qs7h2c actions="r c / b r"
  poker-rl advise run=outputs/kuhn/ppo/TIME hand=K actions="c r"
  poker-rl advise game=nolimit_holdem player=FOLDER hand=AhAd actions=r6 figure=aces.png

Whose hand it is follows from the actions: the seat that is to act holds the cards. hand=AKs is a
class of hands (AKo, AK and 22 too): all numbers are then the mean over its combinations, each as
likely. actions are f fold, c check or call, r bet or raise, and / between streets. In no-limit
an amount is what its seat has put in with it:

  r12 or r12h          12 chips over the whole hand, blinds and antes included
  r12s, b12s           12 chips on this street: what players say at a table

  poker-rl advise game=nolimit_holdem player=nlhe_nfsp hand=AKs board=Qs7h2c actions="r6 c / x b6s"

docs/advise.md has all the ways to write cards and actions.

  game=NAME, game.KEY=VALUE  as `poker-rl train` takes them, if there is no run
  --config-dir FOLDER        options of your own, in files such as FOLDER/player/mine.yaml"""


def run(arguments: list[str]) -> int:
    """Ask and print; the exit code."""
    read = asked("advise", HELP, arguments, ("game",), "poker_rl.play.advise.Settings")
    if read is not None:
        from poker_rl.play.advise import advise

        advise(*read)
    return 0
