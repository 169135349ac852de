"""Composition of a run's settings by Hydra, from the YAML files in conf/ and the overrides."""

from __future__ import annotations

import re
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from itertools import product
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import hydra
from hydra.core.config_loader import ConfigLoader
from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.types import Override
from hydra.core.plugins import Plugins
from hydra.errors import HydraException, MissingConfigException
from hydra.plugins.search_path_plugin import SearchPathPlugin
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import ConfigAttributeError, ConfigKeyError, OmegaConfBaseException
from yaml import YAMLError  # type: ignore[import-untyped]

from poker_rl.config.input_checks import (
    ConfigError,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    Range,
    Seed,
    format_value,
    shorten_text,
    suggest_allowed,
)
from poker_rl.config.option_files import (
    extract_override_key,
    iterate_yaml_keys,
    list_option_dirs,
    read_comments,
    suggest_option,
    to_plain_dict,
)
from poker_rl.config.overrides import parse_overrides

# Message of Hydra 1.3 or 1.4 on an override GROUP=NAME if no selected option uses this group.
NO_MATCH_ERROR = re.compile(r"(?:Could not override|No earlier Group Default for) '([^']+)'")
# Names for files and folders that the program creates; a path such as ../a does not match.
FILE_NAME_PATTERN = re.compile(r"\w[\w.+=-]{0,59}")

# Hydra 1.3 warns if version_base is missing, and Hydra 1.4 warns if it is present.
warnings.filterwarnings("ignore", message="The version_base parameter is deprecated")


@dataclass(kw_only=True, frozen=True)
class UngroupedConfig:
    """Settings of a run that belong to no group; conf/config.yaml explains each of them."""

    seed: Seed
    device: Literal["auto", "cpu", "cuda"]
    threads: PositiveInt
    precision: Literal["highest", "high", "medium"]
    workers: Annotated[int, Range(1, 1000)]
    budget: PositiveInt
    budget_unit: Literal["decisions", "hands", "updates", "iterations"]
    evaluate_every: PositiveInt
    checkpoint_every: PositiveInt
    figures: bool
    opponents: list[str]
    opponent_weights: list[PositiveFloat] | None
    self_interval: PositiveInt
    model_id: NonNegativeInt | None
    outputs: str
    name: str | None
    resume: str | None
    warm_start: str | None

    def __post_init__(self) -> None:
        if self.name is not None and not FILE_NAME_PATTERN.fullmatch(self.name):
            raise ConfigError(
                f"name: {format_value(self.name)} is no name of a folder; allowed: up to 60"
                " letters, digits and . _ + - =, a letter, digit or _ first"
            )


@dataclass(frozen=True)
class ComposedConfig:
    """Settings of one run, with the overrides and options from which Hydra composed them."""

    config: dict[str, Any]  # references such as `${budget}` are not yet resolved
    overrides: list[str]
    option_by_group: Mapping[str, str | None]


class OptionSearchPath(SearchPathPlugin):
    """Plug-in of Hydra that lets Hydra search several folders for options."""

    # This is a class attribute, because Hydra creates the instance without arguments.
    option_dirs: ClassVar[Sequence[Path]] = ()

    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        """Append all option folders except the first, which is Hydra's config folder already."""
        for folder in self.option_dirs[1:]:
            search_path.append("options", f"file://{folder.resolve()}")


@contextmanager
def initialize_hydra(option_dirs: Sequence[Path]) -> Iterator[None]:
    """Initialize Hydra in this context, with the option folders from `list_option_dirs`."""
    Plugins.instance().register(OptionSearchPath)
    OptionSearchPath.option_dirs = option_dirs
    config_dir = str(option_dirs[0].resolve())
    with hydra.initialize_config_dir(config_dir, job_name="train", version_base="1.3"):
        yield


def get_config_loader() -> ConfigLoader:
    """Return Hydra's config loader; works only in the context of `initialize_hydra`."""
    return GlobalHydra.instance().config_loader()


def compose_config(overrides: Sequence[str]) -> ComposedConfig:
    """Compose a run's settings by Hydra; works only in the context of `initialize_hydra`."""
    hydra_config = compose_with_hydra("config", _to_hydra_overrides(overrides))
    config: Any = OmegaConf.to_container(hydra_config)
    option_by_group = config.pop("hydra")["runtime"]["choices"]
    return ComposedConfig(config, list(overrides), option_by_group)


def read_setting_comments(overrides: Sequence[str], option_dirs: Sequence[Path]) -> dict[str, str]:
    """Return the comments on settings, by dotted key, in the option files that a run uses."""
    texts = _to_hydra_overrides(overrides)
    comments: dict[str, str] = {}
    for option in get_config_loader().compute_defaults_list("config", texts, RunMode.RUN).defaults:
        paths = (folder / f"{option.config_path}.yaml" for folder in option_dirs)
        if path := next(filter(Path.is_file, paths), None):
            comments |= read_comments(path, option.package or "")
    return comments


def compose_plain_config(
    overrides: Sequence[str],
    option_dirs: Sequence[Path] | None = None,
    allowed_groups: Collection[str] | None = None,
) -> dict[str, Any]:
    """Compose the settings of a run as plain values, without unresolved references.

    `option_dirs` defaults to the shipped folder and those of plug-ins. Raise ConfigError for an
    override of a group that is not in `allowed_groups`; None allows all.
    """
    for key in map(extract_override_key, overrides):
        if allowed_groups is not None and key.partition(".")[0] not in allowed_groups:
            groups = ", ".join(allowed_groups)
            raise ConfigError(f"{key}: has no effect here; allowed: settings of {groups}")
    with initialize_hydra(list_option_dirs(None) if option_dirs is None else option_dirs):
        return to_plain_dict(compose_config(overrides).config)


def get_outputs_and_run_folder(composed: ComposedConfig) -> tuple[str, Path]:
    """Return the setting `outputs`, and the folder of the run, <outputs>/<game>/<algo>/<name>."""
    config, options = to_plain_dict(composed.config), composed.option_by_group
    parts = (config["outputs"], options.get("game"), options.get("algo"), config["name"])
    return str(config["outputs"]), Path(*map(str, parts))


def split_launcher_and_job_overrides(overrides: Sequence[str]) -> tuple[list[str], list[list[str]]]:
    """Return the overrides of Hydra's launcher, and a list of overrides for each job."""
    launcher_overrides: list[str] = []
    values_by_key: dict[str, list[str]] = {}
    parsed = parse_overrides(overrides, UngroupedConfig, get_config_loader(), allow_sweeps=True)
    for text, override in zip(overrides, parsed, strict=True):
        key = override.get_key_element()
        if override.is_hydra_override():
            launcher_overrides.append(str(override.input_line))
        elif override.is_sweep_override():
            values_by_key[key] = _split_into_single_overrides(override)
        else:  # an override such as ~net is only a key, without a value
            values_by_key[key] = [key if override.value_type is None else text]
    return launcher_overrides, [list(job) for job in product(*values_by_key.values())]


def _split_into_single_overrides(override: Override) -> list[str]:
    """Split an override with several values, such as KEY=A,B, into KEY=A and KEY=B."""
    text, key = override.input_line, override.get_key_element()
    if not override.is_discrete_sweep():
        raise ConfigError(f"{text}: has infinitely many values; write {key}=a,b or a range")
    try:
        values = list(override.sweep_string_iterator())
    except ValueError as error:  # such as a range with step 0
        raise ConfigError(f"{text}: {error}") from None
    if not values:
        options = get_config_loader().get_group_options(override.key_or_group)
        raise ConfigError(f"{text}: has no value; {suggest_allowed('', options)}")
    return [f"{key}={value}" for value in values]


def _to_hydra_overrides(overrides: Sequence[str]) -> list[str]:
    """Convert overrides to Hydra's grammar, such as net=null (no option of a group) to ~net."""
    texts = []
    for override in parse_overrides(overrides, UngroupedConfig, get_config_loader()):
        key, text = override.key_or_group, str(override.input_line)
        if override.is_hydra_override():
            raise ConfigError(f"{key}: has no effect here; a sweep (-m) takes hydra/launcher=NAME")
        if override.is_sweep_override():
            raise ConfigError(f"{text}: several values need -m, a sweep; a list is key=[a,b]")
        is_null = override.value() is None and not override.is_delete()
        is_group = is_null and get_config_loader().get_group_options(key)
        texts.append(f"~{override.get_key_element()}" if is_group else text)
    return texts


def compose_with_hydra(config_name: str | None, overrides: Sequence[str]) -> DictConfig:
    """Compose settings by Hydra; convert errors of Hydra to ConfigErrors."""
    try:
        return hydra.compose(config_name, list(overrides), return_hydra_config=True)
    except (HydraException, OmegaConfBaseException, YAMLError) as error:
        raise ConfigError(_explain_hydra_error(error)) from None
    except (RecursionError, ValueError) as error:  # ValueError if `defaults` is no list
        is_endless = isinstance(error, RecursionError)
        problem = "defaults that lead back to themselves" if is_endless else str(error)
        raise ConfigError(f"{shorten_text(' '.join(overrides))}: {problem}") from None


def _explain_hydra_error(error: Exception) -> str:
    """Convert an error of Hydra or OmegaConf to one line that names the key."""
    cause = error.__cause__
    if isinstance(error, MissingConfigException):
        group, _, name = str(error.missing_cfg_file).rpartition("/")
        hint = suggest_option(group, name, get_config_loader().get_group_options(group))
        return f"{group}={name}: no such option; {hint}"
    if isinstance(cause, ConfigKeyError | ConfigAttributeError):
        siblings: Any = OmegaConf.to_container(cause.parent_node) if cause.parent_node else {}
        siblings.pop("hydra", None)
        parent_key, dot, word = str(cause.full_key).rpartition(".")
        yaml_keys = iterate_yaml_keys(OmegaConf.to_yaml(siblings))
        keys = {f"{parent_key}{dot}{key}" for _, key, _ in yaml_keys}
        root_keys = {field.name for field in fields(UngroupedConfig)}
        hint = suggest_allowed(word, siblings, keys | root_keys)
        return f"{cause.full_key}: no such setting; {hint}"
    if match := NO_MATCH_ERROR.search(str(error)):
        return f"{match[1]}: no selected option takes one, as an algorithm without networks no net"
    first_line_of_cause = "".join(str(cause or "").splitlines()[:1])
    return " ".join(f"{error} {first_line_of_cause}".split())
