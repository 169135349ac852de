"""Texts of `poker-rl --help` and `poker-rl COMMAND --help`."""

PROGRAM_HELP = """\
poker-rl: reinforcement learning for poker, measured by the exact distance to Nash

  poker-rl train [key=value …]                  train in a new folder outputs/<game>/<algo>/<run>
  poker-rl evaluate run=FOLDER [key=value …]    measure the players of a run, play matches
  poker-rl evaluate game=NAME player=NAME …     measure any player of any game
  poker-rl play [key=value …]                   play yourself, in a browser or in a terminal
  poker-rl compare RUN… [key=value …]           figures and curves of several runs, over their seeds
  poker-rl sweep FOLDER                         progress of the jobs of a sweep, at any time
  poker-rl report RUN… [key=value …]            runs as a page to read and print, one HTML file
  poker-rl advise game=NAME player=PLAYER hand=CARDS …   the policy of a player in a position
  poker-rl export run=FOLDER hands=1000 out=FILE …       hands and policies for other programs
  poker-rl tournament game=NAME players=[…]     players against each other: a cross table, a ranking
  poker-rl tune tune=NAME [key=value …]         a search for the best settings, many runs
  poker-rl list [GROUP …]                       games, algorithms, networks, players, experiments

First: `poker-rl train game=kuhn name=first`, then `poker-rl evaluate run=outputs/kuhn/ppo/first`.
`poker-rl COMMAND --help` explains a command, --version prints the version."""

CONFIG_DIR_HELP = """\
  --config-dir FOLDER        options of your own, in files such as FOLDER/player/mine.yaml; they
                             take precedence over options with the same name"""
GAME_HELP = f"""\
  game=NAME, game.KEY=VALUE  as for `poker-rl train`, if there is no run
{CONFIG_DIR_HELP}"""

COMMAND_HELP = {
    "train": f"""\
poker-rl train [key=value …] [-m] [--cfg job] [--config-dir FOLDER]

  key=value                  a setting, or an option of a group: seed=1 algo=ppo algo.gamma=0.9
  -m, --multirun             a sweep over key=a,b; hydra/launcher=joblib runs the jobs side by
                             side, submitit_slurm and ray on many machines; the same command again
                             runs the jobs that are not finished
  -c, --cfg job              print all settings instead of training
{CONFIG_DIR_HELP}""",
    "evaluate": f"""\
poker-rl evaluate run=FOLDER [key=value …]               the players of a run
poker-rl evaluate game=NAME player=PLAYER [key=value …]  any player of any game

Exact exploitability and value where the game can be enumerated, duplicate matches, and in Kuhn
poker the policies beside the equilibrium; or the winnings of each player of a mixed table. The
results are kept in FOLDER/evaluations under the time.

A PLAYER is a name in conf/player, a file like those, a run folder (the headline player of its
newest snapshot) or a snapshot or player of a run:

  poker-rl evaluate run=outputs/kuhn/ppo/TIME against=[uniform,equilibrium]
  poker-rl evaluate game=leduc player=call against=[raise,outputs/leduc/ppo/TIME]
  poker-rl evaluate game=leduc player=outputs/leduc/ppo/TIME@DECISIONS:current:greedy
  poker-rl evaluate game=kuhn_3p seats=[raise,call,call]     a table with a player for each seat

`:greedy` behind a player, of a snapshot (`RUN:current:greedy`) or a bot (`chen:greedy`), always
takes the most probable action of that player. evaluation.KEY=VALUE is as for `poker-rl train`.

{GAME_HELP}""",
    "tournament": f"""\
poker-rl tournament game=NAME players=[PLAYER,…] [key=value …]
poker-rl tournament resume=FOLDER                  continue one that was stopped

Every pair of players heads-up; with more seats one player against another in all other seats, or
mixed tables. The cross table and a ranking with 95 % intervals, heads-up with Elo, are printed and
kept in a folder; finished tables are not played again. A PLAYER is named as in `poker-rl evaluate`:

  poker-rl tournament game=leduc players=[uniform,call,raise,outputs/leduc/ppo/TIME] workers=2

{GAME_HELP}""",
    "play": f"""\
poker-rl play [key=value …]                             a table against a bundled player
poker-rl play run=FOLDER [against=[PLAYER,…]]           against the player of a run
poker-rl play game=NAME against=[PLAYER,…]              an opponent for each other seat

Prints the address of a page on which you play by mouse or by keys. After the hand it shows all
cards and the probabilities of all players, and grades your own decisions. Finished hands are kept;
the page shows the same table when it is loaded again, also after a restart of the server.
A PLAYER is named as for `poker-rl evaluate`:

  poker-rl play game=limit_holdem_6p against=[tight,call,call,uniform,tight]
  poker-rl play run=outputs/leduc/ppo/TIME ui=terminal           in this terminal
  poker-rl play session=outputs/play/kuhn/SESSION.jsonl          continue a session
  poker-rl play host=0.0.0.0 public=true                         for others on the network

{GAME_HELP}""",
    "advise": f"""\
poker-rl advise run=FOLDER hand=CARDS [key=value …]               the player of a run
poker-rl advise game=NAME player=PLAYER hand=CARDS [key=value …]  any player of any game

The probability of each legal action in a position of a game of poker, the expected winnings if the
player has learnt them, in hold'em the policy with every starting hand in that position, and in Kuhn
poker and Leduc hold'em the probabilities of an equilibrium:

  poker-rl advise game=limit_holdem player=sklansky hand=AsKd board=Qs7h2c actions="r c / b r"
  poker-rl advise game=nolimit_holdem player=nlhe_nfsp hand=AKs board=Qs7h2c actions="r6 c / x b6s"

The cards are those of the seat that acts after these actions; hand=AKs is the mean over a class of
hands. actions are f fold, c check or call, r bet or raise, and / between streets. In no-limit, r12
and b12 count the chips of the seat in the whole hand, r12s and b12s those on this street.

docs/advise.md has all notations of cards and actions.

{GAME_HELP}""",
    "compare": """\
poker-rl compare RUN … [key=value …]

Runs that differ in their seed alone are one row: the mean of each figure with its 95 % interval
(Student), their progress and their time. A RUN is

  outputs/leduc/ppo/first            a run folder
  outputs/leduc                      all run folders below a folder
  'outputs/leduc/*/*seed*'           all that match a pattern
  outputs/sweeps/SWEEP.csv           all runs of a sweep, by its summary""",
    "sweep": """\
poker-rl sweep FOLDER

Prints a line for each job of a sweep: its progress, its last measurements and its run's folder. It
writes the table as a CSV file too, and works at any time and on any machine that sees the folders.
The folder is outputs/sweeps/NAME, which `poker-rl train -m` prints when it begins.

"running or killed" is a run that has begun and has not recorded an end.""",
    "report": """\
poker-rl report RUN … [key=value …] [--config-dir FOLDER]

One HTML file that needs no other and loads nothing: figures, curves, policies of small games, the
evaluations of the run, a few hands, every setting beside its default, versions and machine.
A RUN is as for `poker-rl compare`; of several runs the page begins with their comparison.""",
    "export": f"""\
poker-rl export run=FOLDER [key=value …]               the player of a run
poker-rl export game=NAME player=PLAYER [key=value …]  any player of any game

Hands of hold'em that a player plays, in the PHH format that PokerKit replays, and the whole policy
of a game that can be enumerated, its information sets named as in OpenSpiel if that has the game:

  poker-rl export run=FOLDER hands=1000 against=call out=hands.phhs policy=leduc.csv

An existing file is replaced only with overwrite=true. docs/export.md describes the files.

{GAME_HELP}""",
    "tune": f"""\
poker-rl tune tune=NAME [key=value …]

A search for the settings with the best value of a metric, by Optuna. Each trial is a run of
`poker-rl train` for every seed; trials that look bad are ended early. The study is kept in its
folder, with figures and all runs. The same command continues it, and in a second terminal shares
the trials:

  poker-rl tune tune=vpg_kuhn                          some minutes

At the end it prints the command that trains with the best settings. docs/tune.md explains how to
write a study, FOLDER/tune/NAME.yaml.

{CONFIG_DIR_HELP}""",
    "list": f"""\
poker-rl list [GROUP …] [--config-dir FOLDER]

  GROUP                      only the options of this group: game, algo, net, player, experiment, …
{CONFIG_DIR_HELP}

`:greedy` behind the name of a player always takes the most probable action of that player.""",
}
