"""Sweeps: from overrides with several values to jobs, and jobs to Hydra's launcher."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.types import Override, RangeSweep
from hydra.core.plugins import Plugins
from hydra.experimental.callback import Callback
from hydra.types import HydraContext
from omegaconf import DictConfig

from poker_rl.config.compose import launch_settings
from poker_rl.config.listing import about
from poker_rl.config.messages import allowed
from poker_rl.config.options import find_option
from poker_rl.config.overrides import loader, options_of, parsed
from poker_rl.config.settings import Refused

# Hydra would warn that a preset in conf/hydra/launcher is checked against the launcher's own keys,
# which is as it should be.
warnings.filterwarnings("ignore", message=r"\s*'hydra/launcher/\w+' is validated against")

# Hydra keeps what it composed, 0.4 MB a job, until the last job has ended: 2 GB of so many.
MOST_JOBS = 5_000


def split(overrides: Sequence[str]) -> tuple[list[str], list[list[str]]]:
    """The overrides of the launcher, and those of each job of a sweep over the others.

    Raises:
        Refused: if one can't be read, stands for no value, or there are more than MOST_JOBS.
    """
    launcher, axes = [], {}
    for typed, override in zip(overrides, parsed(overrides, sweep=True), strict=True):
        key = override.get_key_element()
        if override.is_hydra_override():
            launcher.append(str(override.input_line))
        elif override.value_type is None:  # ~key
            axes[key] = [key]
        elif override.is_sweep_override():
            axes[key] = [f"{key}={value}" for value in _values(override)]
        else:
            axes[key] = [typed]  # which is also how the job is shown
    count = prod(map(len, axes.values()))
    if count > MOST_JOBS:
        sizes = " x ".join(str(len(values)) for values in axes.values() if len(values) > 1)
        raise Refused(f"-m: {sizes} = {count:,} jobs; at most {MOST_JOBS:,} are run in a sweep")
    return launcher, [list(job) for job in product(*axes.values())]


def _values(override: Override) -> list[str]:
    """What a key of a sweep is set to, one after another."""
    key = override.get_key_element()
    if not override.is_discrete_sweep():
        raise Refused(f"{override.input_line}: has no end of values; write {key}=a,b or a range")
    swept: Any = override.value()
    if isinstance(swept, RangeSweep):
        assert swept.start is not None
        assert swept.stop is not None
        if not swept.step:
            raise Refused(f"{override.input_line}: by steps of 0 a range never comes to its end")
        if not (swept.stop - swept.start) / swept.step <= MOST_JOBS:
            raise Refused(f"{override.input_line}: a sweep has at most {MOST_JOBS:,} jobs")
    values = list(override.sweep_string_iterator())
    if not values:
        options = options_of(override.key_or_group)
        what = f"; {allowed('', options)}" if options else ""
        raise Refused(f"{override.input_line}: stands for no value at all{what}")
    return values


def demand_installed(launcher: Sequence[str], conf: Sequence[Path]) -> None:
    """Refuse a launcher that there is not, or whose package is not there.

    Args:
        launcher: the overrides of the launcher.
        conf: the folders of the options.

    Raises:
        Refused: with the first comment of its YAML, which says what to install.
    """
    config = launch_settings(launcher, Path()).hydra
    try:
        there = find_spec(config.launcher._target_.rpartition(".")[0]) is not None
    except ModuleNotFoundError:
        there = False
    if not there:
        name = config.runtime.choices["hydra/launcher"]
        what = about(find_option("hydra/launcher", name, conf))
        raise Refused(f"hydra/launcher={name}: is not installed. {what}")


def launch(
    numbers: Sequence[int],
    task: Callable[[int], None],
    launcher: Sequence[str],
    folder: Path,
) -> None:
    """Run jobs by Hydra's launcher, which may use other processes or machines.

    The jobs reach Hydra without overrides, and the task composes its own when it starts. Otherwise
    Hydra would end the sweep at a job that can't be composed, and would obey settings of Hydra in
    option files.

    Args:
        numbers: of the jobs that are to run.
        task: a module's function, given the number of the job.
        launcher: the overrides of the launcher, known to compose too.
        folder: what Hydra and its launcher may write to.
    """
    none: Any = Callback()  # does nothing, as there are none to call
    one = Plugins.instance().instantiate_launcher(
        hydra_context=HydraContext(loader(), none),
        task_function=Task(task, list(numbers)),
        config=launch_settings(launcher, folder),
    )
    for done in one.launch([[]] * len(numbers), initial_job_idx=0):
        _ = done.return_value  # raises what the job raised


@dataclass(frozen=True)
class Task:
    """Calls a task in a launcher's job, perhaps in a process of its own."""

    task: Callable[[int], None]
    numbers: list[int]  # of the jobs, in the order of the launcher

    def __call__(self, settings: DictConfig) -> None:
        self.task(self.numbers[HydraConfig.get().job.num])
