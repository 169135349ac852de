"""Composing: from the YAML in conf/ and what the user gave to the settings of a run."""

from __future__ import annotations

import re
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import hydra
from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.config_store import ConfigStore
from hydra.core.object_type import ObjectType
from hydra.core.plugins import Plugins
from hydra.errors import HydraException, MissingConfigException
from hydra.plugins.config_source import ConfigResult, ConfigSource
from hydra.plugins.search_path_plugin import SearchPathPlugin
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import ConfigAttributeError, ConfigKeyError, OmegaConfBaseException
from yaml import YAMLError  # type: ignore[import-untyped]

from poker_rl.config.messages import allowed, shortened
from poker_rl.config.options import (
    CONF,
    check_references,
    folders,
    key_of,
    load,
    option_files,
    plain,
)
from poker_rl.config.overrides import accepted, no_option, options_of, parsed, quoted
from poker_rl.config.settings import Refused

# Messages of Hydra 1.3 and 1.4 for an option of a group that only other options bring along, such
# as a network.
NO_MATCH = re.compile(
    r"(?:Could not (?:override|delete)|No earlier Group Default for) '([^']+)'"
    r"(?:\.\s+No match in the defaults list| exists)"
)
# What it says of key=a,b without -m.
SEVERAL = re.compile(r"(?:Ambiguous value for argument|Sweep parameters) '([^']+)'")
# Messages of OmegaConf 2.3 and 2.4 for a list where a schedule or the like belongs.
LIST = re.compile(
    r"Error merging override ([^=]+)=.*Cannot merge "
    r"(?:DictConfig with ListConfig|incompatible container types.*object_type=dict)",
    re.S,
)

LAUNCHERS = "hydra/launcher"  # the group of them
# Of Hydra's own settings when a sweep is launched: it writes nothing itself.
QUIET = ("hydra/job_logging=none", "hydra/hydra_logging=none", "hydra.output_subdir=null")

OPTION = re.compile(r"[\w-]+")

# Hydra 1.3 warns where version_base is missing, Hydra 1.4 where it is given.
warnings.filterwarnings("ignore", message="The version_base parameter is deprecated")

# What Stable-Baselines3 and CleanRL call settings that are here too.
OF_OTHERS = {"learning_rate": "lr", "ent_coef": "entropy", "vf_coef": "value", "n_steps": "steps"}


@dataclass(frozen=True)
class Composed:
    """What one run is asked to do."""

    settings: dict[str, Any]  # plain values, interpolations not resolved
    overrides: list[str]  # what the user gave
    choices: Mapping[str, str | None]  # the option chosen of each group


class Options(ConfigSource):
    """Folder of options from elsewhere, whose files are checked before Hydra reads them."""

    @staticmethod
    def scheme() -> str:
        """Return the first part of the folder's address."""
        return "options"

    def available(self) -> bool:
        """Return True if the folder exists."""
        return self.is_group("")

    def is_group(self, config_path: str) -> bool:
        """Return True if it is a folder of options."""
        return Path(self.path, config_path).is_dir()

    def is_config(self, config_path: str) -> bool:
        """Return True if it is an option, with or without the ending of its file.

        Hydra's own settings come from Hydra and this program alone, but a folder may have a preset
        of a launcher, unless its name already means another one.
        """
        group, _, name = config_path.removesuffix(".yaml").rpartition("/")
        if group.partition("/")[0] == "hydra":
            shipped = [path.name for path in option_files(CONF, LAUNCHERS)]
            known = [*shipped, *ConfigStore.instance().list(LAUNCHERS)]
            if group != LAUNCHERS or f"{name}.yaml" in known:
                return False
        return self._file(config_path).is_file()

    def list(self, config_path: str, results_filter: ObjectType | None) -> list[str]:
        """Return the names of the options and groups in a group."""
        names: list[str] = []
        for path in Path(self.path, config_path).iterdir():
            inner = str(Path(config_path, path.name))
            self._list_add_result(names, inner, path.name, results_filter)
        return sorted(set(names))

    def load_config(self, config_path: str) -> ConfigResult:
        """Return the settings of an option.

        Raises:
            Refused: if it can't be read, or is of Hydra's own settings.
        """
        path = self._file(config_path)
        config = load(path)
        content: Any = OmegaConf.to_container(config)
        if "hydra" in content or "hydra/" in str(content.get("defaults")):
            where = "a launcher is named on the command line"
            raise Refused(f"{path}: hydra: has no effect in a file of options; {where}")
        header = self._get_header_dict(path.read_text(encoding="utf-8"))
        return ConfigResult(self.provider, self.full_path(), config, header)

    def _file(self, config_path: str) -> Path:
        return Path(self.path, config_path.removesuffix(".yaml") + ".yaml")


class Folders(SearchPathPlugin):
    """Search path of Hydra: options of the user, of the program, of plug-ins."""

    conf: ClassVar[Sequence[Path]] = (CONF,)  # Hydra makes the instance, without arguments

    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        """Add the folders of the user and of the plug-ins to the program's own."""
        shipped = self.conf.index(CONF)
        for folder in self.conf[:shipped]:  # Hydra's own `searchpath` would look there last
            search_path.prepend("--config-dir", self._address(folder), "main")
        for folder in self.conf[shipped + 1 :]:
            search_path.append("plug-in", self._address(folder))

    @staticmethod
    def _address(folder: Path) -> str:
        return f"{Options.scheme()}://{folder.resolve()}"


@contextmanager
def opened(conf: Sequence[Path]) -> Iterator[None]:
    """In this context Hydra knows where the YAML lies.

    Args:
        conf: what `folders` returned.
    """
    for plugin in (Options, Folders):
        Plugins.instance().register(plugin)
    Folders.conf = conf
    try:
        with hydra.initialize_config_dir(str(CONF), job_name="train", version_base="1.3"):
            yield
    finally:
        Folders.conf = (CONF,)


def compose(overrides: Sequence[str]) -> Composed:
    """Return the settings and choices that the overrides compose.

    Raises:
        Refused: if they can't be read or are of nothing that there is.
    """
    given = [accepted(override) for override in parsed(overrides)]
    config: Any = OmegaConf.to_container(composed_by_hydra("config", given))
    choices = config.pop("hydra")["runtime"]["choices"]
    check_references(config)
    for group, option in choices.items():
        if option is not None and not OPTION.fullmatch(str(option)):
            raise Refused(f"{group}: {option} is not the name of an option")
    return Composed(config, list(overrides), choices)


def composed(
    overrides: Sequence[str],
    conf: Sequence[Path] | None = None,
    only: Collection[str] | None = None,
) -> dict[str, Any]:
    """The settings that `poker-rl train` would begin with for the same overrides, as plain values.

    Args:
        conf: the folders of the options; None: those that come with the program and the plug-ins.
        only: what the overrides may be of, such as `algo`, as nothing else counts; None: anything.

    Raises:
        Refused: if they can't be read or are of nothing that there is.
    """
    for override in overrides:
        key = key_of(override)
        if only is not None and key.partition(".")[0] not in only:
            raise Refused(f"{key}: counts for nothing here; allowed: settings of {', '.join(only)}")
    with opened(folders(None) if conf is None else conf):
        return plain(compose(overrides).settings)


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


def launch_settings(launcher: Sequence[str], folder: Path) -> DictConfig:
    """Return Hydra's own settings for a sweep, in which no file of options has a say.

    Args:
        launcher: overrides that choose and set the launcher.
        folder: what Hydra and the launcher may write to.

    Raises:
        Refused: if they can't be read or are of nothing that there is.
    """
    path = str(folder.absolute()).replace("${", "\\${")  # which would refer to a setting
    inside = [f"hydra.sweep.dir={quoted(path)}", "hydra.sweep.subdir=."]
    return composed_by_hydra(None, [*QUIET, *launcher, *inside])


def composed_by_hydra(name: str | None, overrides: Sequence[str]) -> DictConfig:
    try:
        return hydra.compose(name, list(overrides), return_hydra_config=True)
    except (HydraException, OmegaConfBaseException, YAMLError) as error:
        raise _refusal(error, overrides) from None
    except RecursionError:
        what = "lists within lists without end, or defaults that lead back to themselves"
        raise Refused(f"{shortened(' '.join(overrides))}: {what}") from None
    except ValueError as error:  # such as defaults that are no list
        raise Refused(f"{shortened(' '.join(overrides))}: {error}") from None


def _refusal(error: Exception, overrides: Sequence[str]) -> Refused:
    """What Hydra says of a config that can't be composed, in a few lines that name the key.

    Args:
        overrides: what the user gave.
    """
    cause = error.__cause__
    if isinstance(error, MissingConfigException):
        group, _, name = str(error.missing_cfg_file).rpartition("/")
        return no_option(group, name, options_of(group))
    if isinstance(cause, ConfigKeyError | ConfigAttributeError):
        tree: Any = OmegaConf.to_container(cause.parent_node) if cause.parent_node else {}
        tree.pop("hydra", None)
        word, above = str(cause.key), str(cause.full_key).rpartition(".")[0]
        meant, keys = OF_OTHERS.get(word, word), list(_keys(tree, f"{above}." if above else ""))
        near = [key for key in keys if key.rpartition(".")[2] == meant]
        near = near or [key for key in keys if key.endswith(f"_{meant}")]
        return Refused(f"{cause.full_key}: no such setting; {allowed(word, tree, near)}")
    if match := SEVERAL.match(str(error)):
        return Refused(f"{match[1]}: several values need -m, a sweep; a list is key=[a,b]")
    if match := NO_MATCH.search(str(error)):
        chosen = sorted(one for one in overrides if one.startswith(("algo=", "experiment=")))
        if match[1] == "net" and chosen:  # an algo that is given counts before an experiment's
            return Refused(f"net: {chosen[0]} has no networks")
        return Refused(f"{match[1]}: nothing that was chosen takes one")
    if match := LIST.search(f"{error} {cause}"):
        return Refused(f"{match[1]}: is no list; give {match[1]}.NAME=VALUE, or one value for all")
    if isinstance(error, YAMLError):
        return Refused(" ".join(str(error).split()))
    told = [*str(error).split(), *"".join(str(cause or "").splitlines()[:1]).split()]
    return Refused(" ".join(told))


def _keys(tree: Mapping[str, Any], above: str) -> Iterator[str]:
    """Yield the dotted keys of all settings in a tree."""
    for name, value in tree.items():
        yield f"{above}{name}"
        if isinstance(value, dict):
            yield from _keys(value, f"{above}{name}.")
