"""Texts of `poker-rl --help` and of commands whose help is not in `conf/<command>.yaml`."""

PROGRAM_HELP = """\
poker-rl: reinforcement learning for poker, measured by the exact distance to Nash

  poker-rl train [key=value …]                  train in a new folder outputs/<game>/<algo>/<run>
  poker-rl evaluate run=FOLDER [key=value …]    measure the players of a run, play matches
  poker-rl evaluate game=NAME player=NAME …     measure any player of any game
  poker-rl play [key=value …]                   play yourself, in a browser or in a terminal
  poker-rl compare RUN… [key=value …]           results and curves of runs, means over seeds
  poker-rl sweep FOLDER                         progress of the jobs of a sweep, at any time
  poker-rl watch RUN                            progress of a run while it trains
  poker-rl report RUN… [key=value …]            a report on runs, as one HTML file
  poker-rl advise game=NAME player=PLAYER hand=CARDS …   the policy of a player in a position
  poker-rl review hands=FILE run=FOLDER …                grades of the decisions in recorded hands
  poker-rl export run=FOLDER hands=1000 out=FILE …       hands, policies and weights as files
  poker-rl tournament game=NAME players=[…]     matches of players with each other, and a ranking
  poker-rl tune tune=NAME [key=value …]         a search for the best settings, many runs
  poker-rl list [GROUP …]                       games, algorithms, networks, players, experiments

First: `poker-rl train game=kuhn name=first`, then `poker-rl evaluate run=outputs/kuhn/ppo/first`.
`poker-rl COMMAND --help` explains a command and its main settings, --help=all has all of them.
`poker-rl --version` prints the version."""

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
  -m, --multirun             a sweep: one job for each value in key=a,b. hydra/launcher=joblib runs
                             jobs in parallel, submitit_slurm and ray run them on many machines.
                             The same command again runs only the jobs that are not finished
  -c, --cfg job              print all settings instead of training
{CONFIG_DIR_HELP}""",
    "sweep": """\
poker-rl sweep FOLDER

Prints a line for each job of a sweep: its progress, its last measurements and its run folder, and
writes this table as a CSV file. It works during and after the sweep, on any machine that sees the
folders.
The folder is outputs/sweeps/NAME, which `poker-rl train -m` prints when it begins.

"running or killed" means that a run has started and has not recorded how it ended.""",
    "watch": """\
poker-rl watch RUN

Shows the progress of a run while it trains: the first measure of each player, rates, time left, and
the share of the learning time in networks. It ends with the run, or at Ctrl-C, which does not stop
the run. In a pipe, it prints a line for each row of metrics.jsonl.""",
    "list": f"""\
poker-rl list [GROUP …] [--config-dir FOLDER]

  GROUP                      only the options of this group: game, algo, net, player, experiment, …
{CONFIG_DIR_HELP}

`:greedy` behind the name of a player always takes the most probable action of that player.""",
}
