"""Launch of the jobs of a sweep by a Hydra launcher, perhaps on other machines."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from hydra.core.hydra_config import HydraConfig
from hydra.core.plugins import Plugins
from hydra.experimental.callback import Callback
from hydra.types import HydraContext
from omegaconf import DictConfig

from poker_rl.config.compose import compose_with_hydra, get_config_loader
from poker_rl.config.input_checks import ConfigError
from poker_rl.config.option_files import find_option_file, read_first_comment
from poker_rl.config.overrides import quote_text

# These overrides keep Hydra from writing its own logs and files in a sweep.
NO_LOGS = ("hydra/job_logging=none", "hydra/hydra_logging=none", "hydra.output_subdir=null")

# Hydra warns whenever it checks conf/hydra/launcher/*.yaml against the settings that a launcher
# has. The check is intended, so ignore the warning.
warnings.filterwarnings("ignore", message=r"\s*'hydra/launcher/\w+' is validated against")


def find_launcher_name(launcher_overrides: Sequence[str], option_dirs: Sequence[Path]) -> str:
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


def run_jobs_with_hydra_launcher(
    job_numbers: Sequence[int],
    task: Callable[[int], None],
    launcher_overrides: Sequence[str],
    folder: Path,
) -> None:
    """Run jobs by a Hydra launcher, which may write into `folder`.

    `task` runs the job whose number it gets, and may be pickled for another process or machine.
    Hydra gets no overrides, since a wrong setting in one job would then end the whole sweep.
    Instead, `task` composes a job's config when the job starts.
    """
    callback: Any = Callback()
    hydra_launcher = Plugins.instance().instantiate_launcher(
        hydra_context=HydraContext(get_config_loader(), callback),
        task_function=lambda _: task(job_numbers[HydraConfig.get().job.num]),
        config=compose_launch_config(launcher_overrides, folder),
    )
    for job_return in hydra_launcher.launch([[]] * len(job_numbers), initial_job_idx=0):
        _ = job_return.return_value  # if the job failed, `return_value` raises its exception


def compose_launch_config(launcher_overrides: Sequence[str], folder: Path) -> DictConfig:
    """Return Hydra's own settings for a sweep; Hydra's files are written into `folder`."""
    # "${" in the path would begin a reference to a setting.
    escaped_folder = str(folder.absolute()).replace("${", "\\${")
    folder_overrides = [f"hydra.sweep.dir={quote_text(escaped_folder)}", "hydra.sweep.subdir=."]
    return compose_with_hydra(None, [*NO_LOGS, *launcher_overrides, *folder_overrides])
