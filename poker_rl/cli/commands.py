"""The commands `train` and `list`, and the functions that run all other commands."""

from __future__ import annotations

import argparse
import inspect
import re
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from pkgutil import resolve_name
from textwrap import fill
from typing import NoReturn

from poker_rl.config.build import convert_fields
from poker_rl.config.input_checks import ConfigError, suggest_allowed
from poker_rl.config.option_files import (
    SHIPPED_OPTION_DIR,
    describe_options,
    dump_with_comments,
    extract_override_key,
    list_option_dirs,
    list_options_by_group,
    read_comments,
    to_plain_dict,
)
from poker_rl.config.plugins import check_optional_packages
from poker_rl.storage.terminal_printing import print_error, print_line

SETTING_PATTERN = re.compile(r"\w+=")  # matches an override key=value
DASHED_SETTING_PATTERN = re.compile(r"unrecognized arguments: --([a-z]\w+)(?=[=\s]|$)")

MAIN_SETTING_COUNT = 5  # settings at the top of conf/<command>.yaml that --help explains
# Groups of options that a command accepts, as in game=leduc; commands not listed accept `game`.
GROUPS_BY_COMMAND = {"evaluate": ("game", "evaluation"), "compare": (), "report": (), "tune": ()}

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
writes this table as a CSV file, during and after the sweep, on any machine that sees the folders.
The folder is outputs/sweeps/NAME, which `poker-rl train -m` prints when it begins.
"running or killed" means that a run has started and has not recorded how it ended.""",
    "watch": """\
poker-rl watch RUN

Shows the progress of a run while it trains: the first measure of each player, rates and time left.
It ends with the run, or at Ctrl-C, which does not stop the run. In a pipe, it prints a line for
each row of metrics.jsonl.""",
    "list": f"""\
poker-rl list [GROUP …] [--config-dir FOLDER]

  GROUP                      only the options of this group: game, algo, net, player, experiment, …
{CONFIG_DIR_HELP}

`:greedy` behind the name of a player always takes the most probable action of that player.""",
}


class ArgumentParser(argparse.ArgumentParser):
    """Parser of --help, --config-dir and a list of words; raises ConfigError for other flags."""

    def __init__(self, words_name: str) -> None:
        super().__init__(add_help=False, allow_abbrev=False)
        self.add_argument("-h", "--help", action="store_const", const="short")
        self.add_argument("--help=all", dest="help", action="store_const", const="all")
        self.add_argument("--config-dir")
        self.add_argument(words_name, nargs="*")

    def error(self, message: str) -> NoReturn:
        if setting := DASHED_SETTING_PATTERN.match(message):
            message += f"; a setting has no dashes: {setting[1]}=…"
        raise ConfigError(message)


def format_main_settings_help(command: str, comments: Mapping[str, str]) -> str:
    """Return the help text on the main settings of a command, from their comments."""
    width = max(map(len, comments)) + 5
    lines = [
        fill(f"  {key}=".ljust(width) + comment, 100, subsequent_indent=" " * width)
        for key, comment in comments.items()
    ]
    return "\n".join([*lines, f"\n`poker-rl {command} --help=all` has all settings.\n"])


def run_command_with_settings(name: str, function_name: str, arguments: list[str]) -> int:
    """Run a command with settings in conf/<name>.yaml, or print its help; return the exit code.

    The function named `function_name` takes `config`, a dataclass of the settings, and may take:

        group_config  settings of a run, composed with the overrides of groups such as `game`; None
                      if there are no such overrides
        option_dirs   the folders that hold option files
        run_specs     the words that are not settings: run folders, patterns and sweep summaries
        given_keys    the keys of all overrides on the command line
    """
    namespace = ArgumentParser("words").parse_intermixed_args(arguments)
    defaults_path = SHIPPED_OPTION_DIR / f"{name}.yaml"
    groups = GROUPS_BY_COMMAND.get(name, ("game",))
    if namespace.help:
        # The comment at the beginning of the file is the help of the command.
        usage = re.sub("^# ?", "", defaults_path.read_text(encoding="utf-8"), flags=re.MULTILINE)
        if namespace.help == "short":
            usage = re.split(r"^\w+: ", usage, maxsplit=1, flags=re.MULTILINE)[0]
            main_comments = islice(read_comments(defaults_path, "").items(), MAIN_SETTING_COUNT)
            usage += format_main_settings_help(name, dict(main_comments))
        print_line(f"{usage}\n{GAME_HELP if groups else CONFIG_DIR_HELP}")
        return 0

    if name == "tune":
        check_optional_packages("tune", "tune", "optuna")
    function = resolve_name(function_name)
    annotations = inspect.get_annotations(function, eval_str=True)
    words: dict[str, list[str]] = {"runs": [], "settings": [], "groups": []}
    for word in namespace.words:
        is_run = "run_specs" in annotations and not SETTING_PATTERN.match(word)
        is_of_group = extract_override_key(word).partition(".")[0] in groups
        words["runs" if is_run else "groups" if is_of_group else "settings"].append(word)
    option_dirs = list_option_dirs(namespace.config_dir)

    from poker_rl.config.compose import compose_plain_config
    from poker_rl.config.overrides import compose_command_settings

    group_config = None
    if words["groups"]:
        group_config = compose_plain_config(words["groups"], option_dirs)
        for group in groups:
            if group_config.get(group) is None:
                raise ConfigError(f"{group}: missing; give {group}=…")
    config_class = annotations["config"]
    settings = compose_command_settings(defaults_path, words["settings"], config_class, option_dirs)
    values = {
        "config": config_class(**convert_fields(config_class, settings, "", {})),
        "group_config": group_config,
        "option_dirs": option_dirs,
        "run_specs": words["runs"],
        "given_keys": [*map(extract_override_key, words["settings"] + words["groups"])],
    }
    return int(function(**{key: values[key] for key in annotations.keys() & values.keys()}) or 0)


def run_train(arguments: list[str]) -> int:
    """Train one run, or all jobs of a sweep with --multirun; return the exit code."""
    parser = ArgumentParser("overrides")
    parser.add_argument("-m", "--multirun", action="store_true")
    parser.add_argument("-c", "--cfg", choices=["job"])
    namespace = parser.parse_intermixed_args(arguments)

    from poker_rl.config import compose
    from poker_rl.config.schedules import convert_horizons_to_steps

    option_dirs = list_option_dirs(namespace.config_dir)
    with compose.initialize_hydra(option_dirs):
        launcher_overrides: list[str] = []
        jobs = [namespace.overrides]
        if namespace.multirun:
            launcher_overrides, jobs = compose.split_launcher_and_job_overrides(namespace.overrides)
        composed = compose.compose_config(jobs[0])
        if namespace.help:
            print_train_help(option_dirs)
        if namespace.cfg or namespace.help == "all":
            # In `algo`, print references such as `${seed}` resolved and horizons of schedules in
            # steps. Print all other settings as they are in the files and overrides.
            algo = convert_horizons_to_steps(to_plain_dict(composed.config)).get("algo")
            comments = compose.read_setting_comments(jobs[0], option_dirs)
            print_line(dump_with_comments(composed.config | {"algo": algo}, comments))
        if namespace.help or namespace.cfg:
            return 0
        if namespace.multirun:
            from poker_rl.sweeps.sweep import run_sweep

            return run_sweep(namespace.overrides, jobs, composed, launcher_overrides, option_dirs)
    from poker_rl.training.start_run import run_training_job

    outcome = run_training_job(composed, option_dirs)
    if outcome.message:
        print_error(outcome.message)
    return outcome.exit_code


def print_train_help(option_dirs: list[Path]) -> None:
    """Print the usage of `train` with its main groups of options and settings."""
    options_by_group = list_options_by_group(option_dirs)
    comments = {group: ", ".join(options_by_group[group]) for group in ("game", "algo")}
    comments |= read_comments(SHIPPED_OPTION_DIR / "config.yaml", "")
    main_comments = {key: comments[key] for key in ("game", "algo", "budget", "seed", "name")}
    print_line(f"{COMMAND_HELP['train']}\n\n{format_main_settings_help('train', main_comments)}")


def run_list(arguments: list[str]) -> int:
    """Print the options of all groups, or of the named ones; return the exit code."""
    namespace = ArgumentParser("groups").parse_intermixed_args(arguments)
    if namespace.help:
        print_line(COMMAND_HELP["list"])
        return 0

    options_by_group = list_options_by_group(list_option_dirs(namespace.config_dir))
    for group in namespace.groups:
        if group not in options_by_group:
            raise ConfigError(f"{group}: no such group; {suggest_allowed(group, options_by_group)}")
    for group in namespace.groups or options_by_group:
        print_line(f"{group}=\n{describe_options(options_by_group[group])}\n")
    return 0


def run_folder_command(name: str, function_name: str, arguments: list[str]) -> int:
    """Run a command whose only argument is a folder, or print its help; return the exit code."""
    namespace = ArgumentParser("folders").parse_intermixed_args(arguments)
    if namespace.help:
        print_line(COMMAND_HELP[name])
    elif len(namespace.folders) != 1:
        raise ConfigError(f"{name}: give one folder, as `poker-rl {name} --help` explains")
    else:
        resolve_name(function_name)(Path(namespace.folders[0]))
    return 0
