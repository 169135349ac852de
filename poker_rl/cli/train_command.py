"""`poker-rl train`: a run, or a sweep of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from poker_rl.cli.arguments import Arguments, options
from poker_rl.storage.disk import say, tell

if TYPE_CHECKING:
    from poker_rl.config.compose import Composed

HELP = """\
poker-rl train [key=value …] [-m] [--cfg job] [--config-dir FOLDER]

  key=value            a setting, or an option of a group: seed=1 algo=ppo algo.gamma=0.9
  -m, --multirun       a sweep over key=a,b; hydra/launcher=joblib runs the jobs side by side,
                       submitit_slurm and ray on many machines; given once more, it goes on with
                       what is not finished
  -c, --cfg job        print all settings instead of training
  --config-dir FOLDER  options of your own, in files such as FOLDER/game/mine.yaml; of two with
                       the same name yours counts"""


def run(arguments: list[str]) -> int:
    """Train, once or for every job of a sweep; the exit code."""
    parser = Arguments()
    parser.add_argument("-m", "--multirun", action="store_true")
    parser.add_argument("-c", "--cfg", choices=["job"])
    parser.add_argument("overrides", nargs="*")
    given = parser.parse_intermixed_args(arguments)

    from poker_rl.config.compose import compose, opened
    from poker_rl.config.options import demand_once
    from poker_rl.config.sweeps import split

    demand_once(given.overrides)
    conf = options(given.config_dir)
    with opened(conf):
        launcher, jobs = split(given.overrides) if given.multirun else ([], [given.overrides])
        asked = compose(jobs[0])  # before anything is begun
        if given.help or given.cfg:
            if given.multirun:
                from poker_rl.sweeps.summary import count_jobs

                say(f"# the first of {count_jobs(len(jobs))}: {' '.join(jobs[0])}")
            print_settings(asked, conf, given.help)
            return 0
        if given.multirun:
            from poker_rl.sweeps.sweep import run_sweep

            return run_sweep(given.overrides, jobs, launcher, conf)
    from poker_rl.training.train import train

    outcome = train(asked, conf)
    if outcome.message:
        tell(outcome.message)
    return outcome.exit_code


def print_settings(asked: Composed, conf: list[Path], explain: bool) -> None:
    """Print all settings with their comments, and what else there is to choose from."""
    from poker_rl.config.horizons import resolved
    from poker_rl.config.listing import annotated, groups, table
    from poker_rl.config.options import plain

    algo = {name: part for name, part in resolved(plain(asked.settings)).items() if name == "algo"}
    if explain:
        options = {group: " ".join(names) for group, names in groups(conf).items()}
        say("\n\n".join([HELP, f"Groups\n{table(options)}", "All settings\n"]))
    say(annotated(asked.settings | algo, conf, asked.choices))
