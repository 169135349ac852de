"""Split overrides with several values into the jobs of a sweep, and launch the jobs by Hydra."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from importlib.util import find_spec
from itertools import islice, product
from math import prod
from pathlib import Path
from typing import Any

from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.types import Override
from hydra.core.plugins import Plugins
from hydra.experimental.callback import Callback
from hydra.types import HydraContext
from omegaconf import DictConfig

from poker_rl.config.compose import compose_launch_config
from poker_rl.config.hydra_overrides import get_config_loader, list_group_options, parse_overrides
from poker_rl.config.option_files import find_option_file
from poker_rl.config.option_listing import read_first_comment
from poker_rl.config.suggestions import suggest_allowed
from poker_rl.config.validation import ConfigError

# Hydra warns that it checks conf/hydra/launcher/*.yaml against the settings of the launcher. This
# check is wanted.
warnings.filterwarnings("ignore", message=r"\s*'hydra/launcher/\w+' is validated against")

MAX_JOBS = 5_000  # Hydra needs 0.4 MB of memory for each job of a sweep


def split_sweep(overrides: Sequence[str]) -> tuple[list[str], list[list[str]]]:
    """Return the overrides of the launcher, and a list with the overrides of each job."""
    launcher_overrides: list[str] = []
    values_by_key: dict[str, list[str]] = {}
    for text, override in zip(
        overrides, parse_overrides(overrides, allow_sweeps=True), strict=True
    ):
        key = override.get_key_element()
        if override.is_hydra_override():
            launcher_overrides.append(str(override.input_line))
        elif override.is_sweep_override():
            values_by_key[key] = _expand_sweep_values(override)
        else:  # an override such as ~net is only a key, without a value
            values_by_key[key] = [key if override.value_type is None else text]
    job_count = prod(map(len, values_by_key.values()))
    if job_count > MAX_JOBS:
        raise ConfigError(f"-m: {job_count:,} jobs; a sweep has at most {MAX_JOBS:,} jobs")
    return launcher_overrides, [list(job) for job in product(*values_by_key.values())]


def _expand_sweep_values(override: Override) -> list[str]:
    """Return KEY=VALUE for each value of an override such as KEY=VALUE,VALUE."""
    text, key = override.input_line, override.get_key_element()
    if not override.is_discrete_sweep():
        raise ConfigError(f"{text}: has infinitely many values; write {key}=a,b or a range")
    try:
        values = list(islice(override.sweep_string_iterator(), MAX_JOBS + 1))
    except ValueError as error:  # Hydra raises a ValueError for a range with steps of 0
        raise ConfigError(f"{text}: {error}") from None
    if not values:
        options = list_group_options(override.key_or_group)
        raise ConfigError(f"{text}: has no value; {suggest_allowed('', options)}")
    return [f"{key}={value}" for value in values]


def find_launcher(launcher_overrides: Sequence[str], option_dirs: Sequence[Path]) -> str:
    """Return the name of the selected Hydra launcher; raise ConfigError if it isn't installed."""
    config = compose_launch_config(launcher_overrides, Path()).hydra
    name = str(config.runtime.choices["hydra/launcher"])
    try:
        is_installed = find_spec(config.launcher._target_.rpartition(".")[0]) is not None
    except ModuleNotFoundError:
        is_installed = False
    if not is_installed:
        install_hint = read_first_comment(find_option_file("hydra/launcher", name, option_dirs))
        raise ConfigError(f"hydra/launcher={name}: is not installed. {install_hint}")
    return name


def launch_jobs(
    job_numbers: Sequence[int],
    task: Callable[[int], None],
    launcher_overrides: Sequence[str],
    folder: Path,
) -> None:
    """Run jobs by a Hydra launcher, which may use other processes or machines.

    Hydra gets no overrides: `task` composes the config of a job when the job starts. If Hydra
    composed it, a wrong setting in one job would end the sweep, and a job could change Hydra's
    own settings.

    Args:
        task: function that runs the job with a number; it may be pickled for another process.
        folder: the folder into which Hydra and the launcher may write.
    """
    callback: Any = Callback()
    hydra_launcher = Plugins.instance().instantiate_launcher(
        hydra_context=HydraContext(get_config_loader(), callback),
        task_function=partial(_run_job, task, job_numbers),
        config=compose_launch_config(launcher_overrides, folder),
    )
    for job_return in hydra_launcher.launch([[]] * len(job_numbers), initial_job_idx=0):
        _ = job_return.return_value  # if the job failed, `return_value` raises its exception


def _run_job(
    task: Callable[[int], None], job_numbers: Sequence[int], hydra_config: DictConfig
) -> None:
    """Call `task` with the number of the job that the launcher has started in this process."""
    task(job_numbers[HydraConfig.get().job.num])
