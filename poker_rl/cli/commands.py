"""Table of the commands, and the functions of train, list, sweep and watch."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, NoReturn

from poker_rl.cli.help_texts import COMMAND_HELP, CONFIG_DIR_HELP, GAME_HELP
from poker_rl.config.validation import ConfigError
from poker_rl.storage.disk import print_error, print_line

if TYPE_CHECKING:
    from poker_rl.config.compose import ComposedConfig

SETTING_PATTERN = re.compile(r"\w+=")  # matches an override key=value
DASHED_SETTING_PATTERN = re.compile(r"unrecognized arguments: --([a-z]\w+)(?=[=\s]|$)")


class ArgumentParser(argparse.ArgumentParser):
    """Parser of --help, --config-dir and positional words that raises ConfigError."""

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


def collect_option_dirs(user_dir: str | None) -> list[Path]:
    """Return the folders that hold option files; print a line for each plug-in with a problem."""
    from poker_rl.config.option_files import list_option_dirs
    from poker_rl.config.plugins import list_plugin_problems

    for problem in list_plugin_problems():
        print_error(problem)
    return list_option_dirs(user_dir)


@dataclass(frozen=True)
class SettingsCommand:
    """Command with settings in `conf/<name>.yaml`, which overrides on the command line change.

    Its function gets some of these arguments, in the order of the field `arguments`:

        settings      the settings
        group_config  the settings of `groups`; None if no override belongs to them
        option_dirs   the folders that hold option files
        runs          the words that are not settings: run folders, patterns and sweep summaries
        keys          the keys of all overrides on the command line
    """

    config_class: str  # dotted name of the settings' dataclass
    function: str  # dotted name of the function, which is imported when the command runs
    arguments: tuple[str, ...] = ("settings", "group_config", "option_dirs")
    groups: tuple[str, ...] = ("game",)  # groups of options, as in game=leduc
    main_settings: tuple[str, ...] = ()  # settings that --help explains; --help=all explains all


def format_main_settings(command: str, yaml_text: str, keys: Sequence[str]) -> str:
    """Return the help text on some settings of a command, from the comments in its YAML text."""
    rows = dict(re.findall(r"^(\w+): .*?  # (.*)$", yaml_text, re.MULTILINE))
    width = max(map(len, keys)) + 3
    lines = [
        fill(
            rows[key],
            100,
            initial_indent=f"  {key}=".ljust(width + 2),
            subsequent_indent=" " * (width + 2),
        )
        for key in keys
    ]
    return "\n".join([*lines, f"\n`poker-rl {command} --help=all` has all {len(rows)} settings.\n"])


def run_or_print_help(name: str, command: SettingsCommand, arguments: list[str]) -> int:
    """Print the help of a command, or call its function; return the exit code."""
    from poker_rl.config.option_files import SHIPPED_OPTION_DIR, check_keys_given_once
    from poker_rl.config.plugins import check_packages, load_class

    namespace = ArgumentParser("words").parse_intermixed_args(arguments)
    defaults_path = SHIPPED_OPTION_DIR / f"{name}.yaml"
    groups = command.groups if "group_config" in command.arguments else ()
    if namespace.help:
        # The comment at the beginning of the file is the help of the command.
        defaults_text = defaults_path.read_text(encoding="utf-8")
        usage = re.sub("^# ?", "", defaults_text, flags=re.MULTILINE)
        if namespace.help == "short" and command.main_settings:
            usage = re.split(r"^\w+: ", usage, maxsplit=1, flags=re.MULTILINE)[0]
            usage += format_main_settings(name, defaults_text, command.main_settings)
        print_line(f"{usage}\n{GAME_HELP if groups else CONFIG_DIR_HELP}")
        return 0

    runs: list[str] = []
    overrides: list[str] = []
    group_overrides: list[str] = []
    for word in namespace.words:
        is_run = not SETTING_PATTERN.match(word) or os.path.exists(word)
        if is_run and "runs" in command.arguments:
            runs.append(word)
        else:
            is_of_group = re.split("[=.]", word)[0] in groups
            (group_overrides if is_of_group else overrides).append(word)
    check_keys_given_once([*overrides, *group_overrides])
    option_dirs = collect_option_dirs(namespace.config_dir)
    if name == "tune":
        check_packages("tune", "tune", "optuna")

    from poker_rl.config.compose import compose_plain_config
    from poker_rl.config.hydra_overrides import read_with_overrides

    group_config = None
    if group_overrides:
        group_config = compose_plain_config(group_overrides, option_dirs)
        for group in groups:
            if group_config.get(group) is None:
                raise ConfigError(f"{group}: missing; give {group}=…")
    values = {
        "settings": read_with_overrides(defaults_path, overrides, load_class(command.config_class)),
        "group_config": group_config,
        "option_dirs": option_dirs,
        "runs": runs,
        "keys": [word.partition("=")[0] for word in (*overrides, *group_overrides)],
    }
    module, _, function_name = command.function.rpartition(".")
    function = getattr(import_module(module), function_name)
    return int(function(*(values[argument] for argument in command.arguments)) or 0)


def run_train(arguments: list[str]) -> int:
    """Train one run, or all jobs of a sweep with --multirun; return the exit code."""
    parser = ArgumentParser("overrides")
    parser.add_argument("-m", "--multirun", action="store_true")
    parser.add_argument("-c", "--cfg", choices=["job"])
    namespace = parser.parse_intermixed_args(arguments)

    from poker_rl.config.compose import compose_config, initialize_hydra
    from poker_rl.config.option_files import check_keys_given_once
    from poker_rl.config.sweep_overrides import split_sweep

    check_keys_given_once(namespace.overrides)
    option_dirs = collect_option_dirs(namespace.config_dir)
    with initialize_hydra(option_dirs):
        launcher_overrides, jobs = (
            split_sweep(namespace.overrides) if namespace.multirun else ([], [namespace.overrides])
        )
        composed = compose_config(jobs[0])
        if namespace.help or namespace.cfg:
            if namespace.multirun:
                plural = "" if len(jobs) == 1 else "s"
                print_line(f"# the first of {len(jobs):,} job{plural}: {' '.join(jobs[0])}")
            if namespace.help == "short":
                print_train_help(option_dirs)
            else:
                print_config(composed, option_dirs, bool(namespace.help))
            return 0
        if namespace.multirun:
            from poker_rl.sweeps.sweep import run_sweep

            return run_sweep(namespace.overrides, jobs, composed, launcher_overrides, option_dirs)
    from poker_rl.training.train import train

    outcome = train(composed, option_dirs)
    if outcome.message:
        print_error(outcome.message)
    return outcome.exit_code


def print_train_help(option_dirs: list[Path]) -> None:
    """Print the usage of `train` with its main groups of options and settings."""
    from poker_rl.config.option_files import SHIPPED_OPTION_DIR
    from poker_rl.config.option_listing import list_options_by_group

    options_by_group = list_options_by_group(option_dirs)
    text = (SHIPPED_OPTION_DIR / "config.yaml").read_text(encoding="utf-8")
    text += "".join(
        f"\n{group}: x  # {', '.join(options_by_group[group])}\n" for group in ("game", "algo")
    )
    settings = format_main_settings("train", text, ("game", "algo", "budget", "seed", "name"))
    settings = re.sub(" all [0-9]+ settings", " all groups and settings", settings)
    print_line(f"{COMMAND_HELP['train']}\n\n{settings}")


def print_config(composed: ComposedConfig, option_dirs: list[Path], show_help: bool) -> None:
    """Print all settings of a run with comments, after the help of `train` if `show_help`."""
    from poker_rl.config.option_files import to_plain_dict
    from poker_rl.config.option_listing import (
        dump_with_comments,
        format_two_columns,
        list_options_by_group,
    )
    from poker_rl.config.schedule_horizons import convert_horizons_to_steps

    if show_help:
        options_by_group = list_options_by_group(option_dirs)
        options = {group: " ".join(names) for group, names in options_by_group.items()}
        groups_text = f"Groups\n{format_two_columns(options)}"
        print_line("\n\n".join([COMMAND_HELP["train"], groups_text, "All settings\n"]))
    resolved = convert_horizons_to_steps(to_plain_dict(composed.config))
    algo = {"algo": resolved["algo"]} if "algo" in resolved else {}
    print_line(dump_with_comments(composed.config | algo, option_dirs, composed.option_by_group))


def run_list(arguments: list[str]) -> int:
    """Print the options of all groups, or of the named ones; return the exit code."""
    namespace = ArgumentParser("groups").parse_intermixed_args(arguments)
    if namespace.help:
        print_line(COMMAND_HELP["list"])
        return 0

    from poker_rl.config.option_listing import describe_options, list_options_by_group
    from poker_rl.config.suggestions import suggest_allowed

    options_by_group = list_options_by_group(collect_option_dirs(namespace.config_dir))
    for group in namespace.groups:
        if group not in options_by_group:
            raise ConfigError(f"{group}: no such group; {suggest_allowed(group, options_by_group)}")
    for group in namespace.groups or options_by_group:
        print_line(f"{group}=\n{describe_options(options_by_group[group])}\n")
    return 0


def show_sweep(arguments: list[str]) -> int:
    """Print the progress of the jobs of a sweep; return the exit code."""
    namespace = ArgumentParser("folders").parse_intermixed_args(arguments)
    if namespace.help:
        print_line(COMMAND_HELP["sweep"])
        return 0
    if len(namespace.folders) != 1:
        raise ConfigError("FOLDER: give the folder of one sweep, outputs/sweeps/NAME")

    from poker_rl.sweeps.job_outcomes import JobOutcomes

    summary = JobOutcomes(Path(namespace.folders[0]))
    print_line(f"{summary.format_table()}\n\n{summary.format_counts()}")
    summary.write_csv()
    return 0


def watch(arguments: list[str]) -> int:
    """Show the progress of a run until it ends; return the exit code."""
    namespace = ArgumentParser("folders").parse_intermixed_args(arguments)
    if namespace.help:
        print_line(COMMAND_HELP["watch"])
        return 0
    if len(namespace.folders) != 1:
        raise ConfigError("RUN: give one run folder")

    from poker_rl.reports.watch import watch_run

    watch_run(Path(namespace.folders[0]))
    return 0


COMMANDS: dict[str, SettingsCommand | Callable[[list[str]], int]] = {
    "train": run_train,
    "evaluate": SettingsCommand(
        "poker_rl.reports.evaluation_report.EvaluateConfig",
        "poker_rl.reports.evaluate.evaluate",
        groups=("game", "evaluation"),
        main_settings=("run", "player", "against", "deals", "figures"),
    ),
    "tournament": SettingsCommand(
        "poker_rl.reports.play_tournament.TournamentConfig",
        "poker_rl.reports.play_tournament.play_tournament",
        ("settings", "group_config", "option_dirs", "keys"),
        main_settings=("players", "deals", "workers", "out", "resume"),
    ),
    "play": SettingsCommand(
        "poker_rl.play.play_launcher.PlayConfig",
        "poker_rl.play.play_launcher.start_play",
        main_settings=("game", "run", "against", "adviser", "ui"),
    ),
    "advise": SettingsCommand(
        "poker_rl.play.position_advice.AdviseConfig",
        "poker_rl.play.position_advice.print_advice",
        main_settings=("player", "hand", "board", "actions", "figure"),
    ),
    "review": SettingsCommand(
        "poker_rl.play.review_hands.ReviewConfig",
        "poker_rl.play.review_hands.review_hands",
        main_settings=("hands", "seat", "run", "player", "out"),
    ),
    "compare": SettingsCommand(
        "poker_rl.reports.comparison.CompareConfig",
        "poker_rl.reports.compare_runs.compare_runs",
        ("runs", "settings"),
        main_settings=("tags", "x_axis", "x_value", "out"),
    ),
    "sweep": show_sweep,
    "watch": watch,
    "report": SettingsCommand(
        "poker_rl.reports.html_report.ReportConfig",
        "poker_rl.reports.html_report.write_report",
        ("runs", "settings", "option_dirs"),
        main_settings=("out", "overwrite", "hands", "seed"),
    ),
    "export": SettingsCommand(
        "poker_rl.reports.export_player.ExportConfig",
        "poker_rl.reports.export_player.export_player",
        main_settings=("run", "hands", "out", "policy", "weights"),
    ),
    "tune": SettingsCommand(
        "poker_rl.sweeps.study_config.TuneConfig",
        "poker_rl.sweeps.tune.tune",
        ("settings", "keys", "option_dirs"),
        main_settings=("tune", "trials", "seeds", "metric", "out"),
    ),
    "list": run_list,
}
