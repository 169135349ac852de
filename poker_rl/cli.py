"""The command line: `poker-rl train`, `evaluate` and `list`.

Settings are given as Hydra's overrides. Whatever the user got wrong is a `Refused`, told in a line
or two with exit code 2; any other exception is a bug. Imports are late so that `--help` is quick.
"""

from __future__ import annotations

import argparse
import sys
import traceback
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NoReturn

from poker_rl import __version__
from poker_rl.settings import Refused

if TYPE_CHECKING:
    from omegaconf import DictConfig

HELP = """\
poker-rl: reinforcement learning for poker, measured by the exact distance to Nash

  poker-rl train [key=value …]                  train in a new folder outputs/<game>/<algo>/<time>
  poker-rl evaluate run=FOLDER [key=value …]    measure what a run has learnt, play matches
  poker-rl list [group …]                       games, algorithms, networks, players, experiments

  poker-rl train game=kuhn algo=ppo
  poker-rl train -m algo=vpg,ppo seed=0,1,2     a sweep: one run after another
  poker-rl train resume=FOLDER                  go on with a run that was stopped
  tensorboard --logdir outputs                  look at the curves

`poker-rl COMMAND --help` tells more, --version the version."""

TRAIN_HELP = """\
poker-rl train [key=value …] [-m] [--cfg job] [--config-dir FOLDER]

  key=value            a setting, or an option of a group: seed=1 algo=ppo algo.gamma=0.9
  -m, --multirun       a sweep over key=a,b; hydra/launcher=joblib runs the jobs side by side
  -c, --cfg job        print all settings instead of training
  --config-dir FOLDER  further options, in files such as FOLDER/game/mine.yaml"""


def main() -> NoReturn:
    """The console script."""
    try:
        code = run(sys.argv[1:])
    except Refused as error:
        tell(str(error))
        code = 2
    except KeyboardInterrupt:
        code = 130
    sys.exit(code)


def tell(what: str) -> None:
    print(f"poker-rl: {what}", file=sys.stderr, flush=True)


def run(arguments: list[str]) -> int:
    """Run the command that the arguments begin with; its exit code."""
    name = arguments[0] if arguments else "--help"
    if name in ("-h", "--help", "--version"):
        print(f"poker-rl {__version__}" if name == "--version" else HELP)
        return 0
    if name not in COMMANDS:
        from poker_rl.config import allowed

        raise Refused(f"{name}: no such command; {allowed(name, COMMANDS)}")
    return COMMANDS[name](arguments[1:])


class Arguments(argparse.ArgumentParser):
    """A parser whose errors are one line like all others."""

    def __init__(self) -> None:
        super().__init__(add_help=False, allow_abbrev=False)
        self.add_argument("-h", "--help", action="store_true")

    def error(self, message: str) -> NoReturn:
        raise Refused(message)


def train(arguments: list[str]) -> int:
    """`poker-rl train`: a run, or a sweep of them."""
    parser = Arguments()
    parser.add_argument("-m", "--multirun", action="store_true")
    parser.add_argument("-c", "--cfg", choices=["job"])
    parser.add_argument("--config-dir", type=Path)
    parser.add_argument("overrides", nargs="*")
    given = parser.parse_intermixed_args(arguments)

    from hydra import initialize_config_dir
    from omegaconf import OmegaConf

    from poker_rl.config import CONF, compose, parted
    from poker_rl.listing import annotated, groups, table

    conf, overrides = [CONF], list(given.overrides)
    if given.config_dir is not None:
        if not given.config_dir.is_dir():
            raise Refused(f"--config-dir: {given.config_dir} is not a folder")
        conf.append(given.config_dir)
        overrides.append(f"hydra.searchpath=['file://{given.config_dir.resolve()}']")
    with initialize_config_dir(str(CONF), job_name="train", version_base="1.3"):
        if given.multirun and not (given.help or given.cfg):
            return sweep(overrides)
        settings, hydra = parted(compose(overrides))
        if given.help:
            options = {group: " ".join(names) for group, names in groups(conf).items()}
            print(TRAIN_HELP, f"Groups\n{table(options)}", "All settings\n", sep="\n\n")
        if given.help or given.cfg:
            print(annotated(OmegaConf.to_container(settings), conf, hydra.runtime.choices))
            return 0
        from poker_rl.job import attempt

        outcome = attempt(settings, hydra)
        if outcome.message:
            tell(outcome.message)
        return outcome.exit_code


def sweep(overrides: list[str]) -> int:
    """Run every job of a sweep, and tell in the end how each went."""
    from hydra._internal.callbacks import Callbacks
    from hydra.core.global_hydra import GlobalHydra
    from hydra.core.plugins import Plugins
    from hydra.types import HydraContext

    from poker_rl.config import compose, split
    from poker_rl.sweep import collect, report

    hydra, jobs = split(overrides)
    refused, accepted = {}, []
    for number, job in enumerate(jobs):
        try:
            compose([*hydra, *job])
        except Refused as error:
            refused[number] = str(error)
        else:
            accepted.append(job)
    # Hydra's own sweeper would stop at the first job that can't be composed, and tell of no other.
    with TemporaryDirectory(prefix="poker-rl-") as scratch:
        config = compose([*hydra, f"hydra.sweep.dir='{scratch}'"])
        launcher = Plugins.instance().instantiate_launcher(
            hydra_context=HydraContext(GlobalHydra.instance().config_loader(), Callbacks()),
            task_function=job_of_sweep,
            config=config,
        )
        interrupted = False
        try:
            for done in launcher.launch(accepted, initial_job_idx=0):
                _ = done.return_value  # raises what the job raised
        except KeyboardInterrupt:
            interrupted = True
        except Exception:
            traceback.print_exc()
        return report(collect(Path(scratch), jobs, refused, interrupted))


def job_of_sweep(settings: DictConfig) -> None:
    """One job of a sweep, perhaps in a process of its own; what became of it is left in a file."""
    from hydra.core.hydra_config import HydraConfig

    from poker_rl.job import attempt

    hydra: Any = HydraConfig.get()
    print(f"job {hydra.job.num + 1}: {' '.join(hydra.overrides.task)}", flush=True)
    outcome = attempt(settings, hydra)
    outcome.write(Path(hydra.sweep.dir) / f"{hydra.job.num:06}.json")
    if outcome.status == "interrupted":
        raise KeyboardInterrupt  # which also ends the sweep


def evaluate(arguments: list[str]) -> int:
    """`poker-rl evaluate`: measure what a run has learnt."""
    raise NotImplementedError


def show(arguments: list[str]) -> int:
    """`poker-rl list`: the options of all groups or of some."""
    parser = Arguments()
    parser.add_argument("groups", nargs="*")
    given = parser.parse_args(arguments)

    from poker_rl.config import CONF, allowed
    from poker_rl.listing import groups, table

    found = groups([CONF])
    for group in given.groups:
        if group not in found:
            raise Refused(f"{group}: no such group; {allowed(group, found)}")
    for group in given.groups or found:
        print(f"{group}=", table(found[group]), "", sep="\n")
    return 0


COMMANDS = {"train": train, "evaluate": evaluate, "list": show}
