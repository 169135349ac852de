"""Composing: from the YAML in conf/ and what the user gave to one config, or one for each job."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import hydra
from hydra._internal.callbacks import Callbacks
from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.plugins import Plugins
from hydra.errors import HydraException, MissingConfigException, OverrideParseException
from hydra.types import HydraContext
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import ConfigAttributeError, ConfigKeyError, OmegaConfBaseException
from yaml import YAMLError  # type: ignore[import-untyped]

from poker_rl.config import CONF, allowed, unreadable
from poker_rl.settings import Refused

# What Hydra says of an option of a group that only other options bring along, such as a network.
NO_MATCH = re.compile(r"Could not override '([^']+)'\.\s+No match in the defaults list")
# What it says of key=a,b without -m.
SEVERAL = re.compile(r"Ambiguous value for argument '([^']+)'")

OPTION = re.compile(r"[\w-]+")


@dataclass(frozen=True)
class Composed:
    """What one run is asked to do."""

    settings: dict[str, Any]  # plain values, interpolations not resolved
    overrides: list[str]  # what the user gave
    choices: Mapping[str, str | None]  # the option chosen of each group


def opened() -> AbstractContextManager[None]:
    """In this context Hydra knows where the YAML lies."""
    return hydra.initialize_config_dir(str(CONF), job_name="train", version_base="1.3")


def searching(folder: Path | None) -> list[str]:
    """The override that has Hydra look for options in a further folder too.

    Raises:
        Refused: if it is none.
    """
    if folder is None:
        return []
    if not folder.is_dir():
        raise Refused(f"--config-dir: {folder} is not a folder")
    return [f"hydra.searchpath=['file://{folder.resolve()}']"]


def compose(overrides: Sequence[str]) -> Composed:
    """What the overrides lead to.

    Raises:
        Refused: if they can't be read or are of nothing that there is.
    """
    config: Any = OmegaConf.to_container(_compose(overrides))
    asked = composed(config, config.pop("hydra"))
    for group, option in asked.choices.items():
        if option is not None and not OPTION.fullmatch(str(option)):
            raise Refused(f"{group}: {option} is not the name of an option")
    return asked


def composed(settings: dict[str, Any], hydra: Mapping[str, Any]) -> Composed:
    """What settings and Hydra's part of a config say."""
    return Composed(settings, hydra["overrides"]["task"], hydra["runtime"]["choices"])


def split(overrides: Sequence[str]) -> tuple[list[str], list[list[str]]]:
    """The overrides for Hydra, and those of each job of a sweep over the others.

    Raises:
        Refused: if one can't be read.
    """
    parser = OverridesParser.create(GlobalHydra.instance().config_loader())
    try:
        parsed = parser.parse_overrides(list(overrides))
        task = [override for override in parsed if not override.is_hydra_override()]
        jobs = BasicSweeper.split_arguments(task, None)[0]
    except HydraException as error:
        raise _refusal(error) from None
    return [str(o.input_line) for o in parsed if o.is_hydra_override()], jobs


def place(asked: Composed) -> tuple[str, str | None, Path]:
    """Where a run is to be: the folder of all runs, the run's name if it has one, its folder.

    Raises:
        Refused: if an interpolation leads nowhere.
    """
    config = OmegaConf.create(asked.settings)
    try:
        outputs, name = str(config.outputs), config.name
    except OmegaConfBaseException as error:
        raise Refused(f"{error.full_key}: {str(error).splitlines()[0]}") from None
    group = [str(asked.choices.get(group)) for group in ("game", "algo")]
    return outputs, name, Path(outputs, *group, str(name))


def launch(
    jobs: Sequence[Sequence[str]],
    task: Callable[[Composed, int], None],
    overrides: Sequence[str],
    folder: Path,
) -> None:
    """Run jobs by Hydra's launcher, which may use other processes or machines.

    Hydra's own sweeper would stop at the first job that can't be composed and tell of no other.

    Args:
        jobs: the overrides of each, known to compose.
        task: a module's function, given what is asked for and the number of the job.
        overrides: for Hydra itself: the launcher and its settings.
        folder: what Hydra may write to.
    """
    config = _compose([*overrides, f"hydra.sweep.dir='{folder}'"])
    launcher = Plugins.instance().instantiate_launcher(
        hydra_context=HydraContext(GlobalHydra.instance().config_loader(), Callbacks()),
        task_function=Task(task),
        config=config,
    )
    for done in launcher.launch(jobs, initial_job_idx=0):
        _ = done.return_value  # raises what the job raised


@dataclass(frozen=True)
class Task:
    """Calls a task in a launcher's job, perhaps in a process of its own."""

    task: Callable[[Composed, int], None]

    def __call__(self, settings: DictConfig) -> None:
        plain: Any = OmegaConf.to_container(settings)
        hydra: Any = OmegaConf.to_container(HydraConfig.get())
        self.task(composed(plain, hydra), hydra["job"]["num"])


def _compose(overrides: Sequence[str]) -> DictConfig:
    try:
        return hydra.compose("config", list(overrides), return_hydra_config=True)
    except (HydraException, OmegaConfBaseException, YAMLError) as error:
        raise _refusal(error) from None
    except ValueError as error:  # such as a group set to null
        raise Refused(f"{' '.join(overrides)}: {error}") from None


def _refusal(error: Exception) -> Refused:
    """What Hydra says of a config that can't be composed, in a few lines that name the key."""
    cause = error.__cause__
    if isinstance(error, MissingConfigException):
        group, _, name = str(error.missing_cfg_file).rpartition("/")
        return Refused(f"{group}={name}: no such option; {allowed(name, error.options or ())}")
    if isinstance(error, OverrideParseException):
        return unreadable(error.override)
    if isinstance(cause, ConfigKeyError | ConfigAttributeError):
        options = [str(key) for key in cause.parent_node or () if key != "hydra"]
        return Refused(f"{cause.full_key}: no such setting; {allowed(str(cause.key), options)}")
    if match := SEVERAL.match(str(error)):
        return Refused(f"{match[1]}: several values need -m, a sweep; a list is key=[a,b]")
    if match := NO_MATCH.search(str(error)):
        return Refused(f"{match[1]}: nothing that was chosen takes one")
    if isinstance(error, YAMLError):
        return Refused(" ".join(str(error).split()))
    return Refused("\n".join([str(error).strip(), *str(cause or "").splitlines()[:1]]))
