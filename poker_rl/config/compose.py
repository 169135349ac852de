"""Composition of a run's settings by Hydra, from the YAML files in conf/ and the overrides."""

from __future__ import annotations

import re
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, ClassVar

import hydra
from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.plugins import Plugins
from hydra.errors import HydraException, MissingConfigException
from hydra.plugins.search_path_plugin import SearchPathPlugin
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import ConfigAttributeError, ConfigKeyError, OmegaConfBaseException
from yaml import YAMLError  # type: ignore[import-untyped]

from poker_rl.config.hydra_overrides import (
    create_unknown_option_error,
    list_group_options,
    parse_overrides,
    quote_text,
    to_hydra_override,
)
from poker_rl.config.option_files import (
    SHIPPED_OPTION_DIR,
    list_option_dirs,
    parse_override_key,
    to_plain_dict,
)
from poker_rl.config.root_config import RootConfig
from poker_rl.config.suggestions import suggest_allowed
from poker_rl.config.validation import ConfigError, shorten_text

# Hydra 1.3 and 1.4 print these messages if an override selects an option of a group that no other
# option uses, such as net=mlp for an algorithm without networks.
NO_MATCH_ERROR = re.compile(
    r"(?:Could not (?:override|delete)|No earlier Group Default for) '([^']+)'"
    r"(?:\.\s+No match in the defaults list| exists)"
)

LAUNCHER_GROUP = "hydra/launcher"
# These overrides keep Hydra from writing its own logs and files in a sweep.
QUIET_HYDRA_OVERRIDES = (
    "hydra/job_logging=none",
    "hydra/hydra_logging=none",
    "hydra.output_subdir=null",
)

OPTION_NAME_PATTERN = re.compile(r"[\w-]+")

# Hydra 1.3 warns if version_base is missing, and Hydra 1.4 warns if it is present.
warnings.filterwarnings("ignore", message="The version_base parameter is deprecated")


@dataclass(frozen=True)
class ComposedConfig:
    """Settings of one run, with the overrides and options from which Hydra composed them."""

    config: dict[str, Any]  # with unresolved references such as `${budget}`
    overrides: list[str]
    option_by_group: Mapping[str, str | None]


class OptionSearchPath(SearchPathPlugin):
    """Hydra's search path for options, extended by the folders of the user and of plug-ins."""

    # `option_dirs` belongs to the class, because Hydra creates the instance without arguments.
    option_dirs: ClassVar[Sequence[Path]] = ()

    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        """Add the user's folder before the shipped one, and the plug-ins' folders after it."""
        is_before = True
        for folder in self.option_dirs:
            address = f"file://{folder.resolve()}"
            if folder == SHIPPED_OPTION_DIR:
                is_before = False
            elif is_before:
                search_path.prepend("--config-dir", address, "main")
            else:
                search_path.append("plug-in", address)


@contextmanager
def initialize_hydra(option_dirs: Sequence[Path]) -> Iterator[None]:
    """Initialize Hydra in this context, with the folders of options from `list_option_dirs`."""
    Plugins.instance().register(OptionSearchPath)
    OptionSearchPath.option_dirs = option_dirs
    config_dir = str(SHIPPED_OPTION_DIR)
    with hydra.initialize_config_dir(config_dir, job_name="train", version_base="1.3"):
        yield


def compose_config(overrides: Sequence[str]) -> ComposedConfig:
    """Compose the settings of a run by Hydra; call it inside `initialize_hydra`."""
    hydra_overrides = [to_hydra_override(override) for override in parse_overrides(overrides)]
    config: Any = OmegaConf.to_container(compose_with_hydra("config", hydra_overrides))
    option_by_group = config.pop("hydra")["runtime"]["choices"]
    for group, option in option_by_group.items():
        if option is not None and not OPTION_NAME_PATTERN.fullmatch(str(option)):
            raise ConfigError(f"{group}: {option} is not the name of an option")
    return ComposedConfig(config, list(overrides), option_by_group)


def compose_plain_config(
    overrides: Sequence[str],
    option_dirs: Sequence[Path] | None = None,
    allowed_groups: Collection[str] | None = None,
) -> dict[str, Any]:
    """Return the settings of `poker-rl train` with these overrides, as plain values.

    Args:
        option_dirs: option folders by precedence; None for those shipped and of plug-ins.
        allowed_groups: groups whose options and settings may be overridden; None for all.
    """
    for key in map(parse_override_key, overrides):
        if allowed_groups is not None and key.partition(".")[0] not in allowed_groups:
            groups = ", ".join(allowed_groups)
            raise ConfigError(f"{key}: has no effect here; allowed: settings of {groups}")
    with initialize_hydra(list_option_dirs(None) if option_dirs is None else option_dirs):
        return to_plain_dict(compose_config(overrides).config)


def compose_run_folder(composed: ComposedConfig) -> tuple[str, Path]:
    """Return the setting `outputs`, and the run's folder: <outputs>/<game>/<algo>/<name>."""
    config = OmegaConf.create(composed.config)
    try:
        outputs, name = str(config.outputs), str(config.name)
    except OmegaConfBaseException as error:
        raise ConfigError(f"{error.full_key}: {str(error).splitlines()[0]}") from None
    game, algo = (str(composed.option_by_group.get(group)) for group in ("game", "algo"))
    return outputs, Path(outputs, game, algo, name)


def compose_launch_config(launcher_overrides: Sequence[str], folder: Path) -> DictConfig:
    """Return Hydra's own settings for a sweep, in which Hydra may write into `folder`."""
    # "${" in the path would begin a reference to a setting.
    escaped_folder = str(folder.absolute()).replace("${", "\\${")
    folder_overrides = [f"hydra.sweep.dir={quote_text(escaped_folder)}", "hydra.sweep.subdir=."]
    overrides = [*QUIET_HYDRA_OVERRIDES, *launcher_overrides, *folder_overrides]
    return compose_with_hydra(None, overrides)


def compose_with_hydra(config_name: str | None, overrides: Sequence[str]) -> DictConfig:
    """Compose settings by Hydra; raise its errors as ConfigErrors."""
    try:
        return hydra.compose(config_name, list(overrides), return_hydra_config=True)
    except (HydraException, OmegaConfBaseException, YAMLError) as error:
        raise ConfigError(_explain_hydra_error(error)) from None
    except RecursionError:
        problem = "lists within lists without end, or defaults that lead back to themselves"
        raise ConfigError(f"{shorten_text(' '.join(overrides))}: {problem}") from None
    except ValueError as error:  # as Hydra raises if `defaults` in a YAML file is no list
        raise ConfigError(f"{shorten_text(' '.join(overrides))}: {error}") from None


def _explain_hydra_error(error: Exception) -> str:
    """Convert an error of Hydra or OmegaConf to one line that names the key."""
    cause = error.__cause__
    if isinstance(error, MissingConfigException):
        group, _, name = str(error.missing_cfg_file).rpartition("/")
        return str(create_unknown_option_error(group, name, list_group_options(group)))
    if isinstance(cause, ConfigKeyError | ConfigAttributeError):
        siblings: Any = OmegaConf.to_container(cause.parent_node) if cause.parent_node else {}
        siblings.pop("hydra", None)
        parent_key, dot, word = str(cause.full_key).rpartition(".")
        keys = {*_iterate_dotted_keys(siblings, parent_key + dot)}
        root_keys = {field.name for field in fields(RootConfig)}
        hint = suggest_allowed(word, siblings, keys | root_keys)
        return f"{cause.full_key}: no such setting; {hint}"
    if match := NO_MATCH_ERROR.search(str(error)):
        problems = {
            "net": "the algorithm has no networks",
            "logger": "null is no list of loggers; [] is for none",
        }
        return f"{match[1]}: {problems.get(match[1], 'no selected option takes one')}"
    first_line_of_cause = "".join(str(cause or "").splitlines()[:1])
    return " ".join(f"{error} {first_line_of_cause}".split())


def _iterate_dotted_keys(settings: Mapping[str, Any], prefix: str) -> Iterator[str]:
    for name, value in settings.items():
        yield f"{prefix}{name}"
        if isinstance(value, dict):
            yield from _iterate_dotted_keys(value, f"{prefix}{name}.")
