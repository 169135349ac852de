"""Composing: from the YAML in conf/ and what the user gave to the settings of a run."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import hydra
from hydra._internal.core_plugins.file_config_source import FileConfigSource
from hydra._internal.sources_registry import SourcesRegistry
from hydra.core.global_hydra import GlobalHydra
from hydra.errors import HydraException, MissingConfigException
from hydra.plugins.config_source import ConfigResult
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import ConfigAttributeError, ConfigKeyError, OmegaConfBaseException
from yaml import YAMLError  # type: ignore[import-untyped]

from poker_rl.config.messages import allowed, shortened
from poker_rl.config.options import CONF, folders, key_of, load, plain
from poker_rl.config.overrides import accepted, no_option, parsed
from poker_rl.config.settings import Refused

# What Hydra says of an option of a group that only other options bring along, such as a network.
NO_MATCH = re.compile(r"Could not (?:override|delete) '([^']+)'\.\s+No match in the defaults list")
# What it says of key=a,b without -m.
SEVERAL = re.compile(r"(?:Ambiguous value for argument|Sweep parameters) '([^']+)'")
# What it says of a list for a schedule and the like.
LIST = re.compile(r"Error merging override ([^=]+)=.*Cannot merge DictConfig with ListConfig", re.S)

OPTION = re.compile(r"[\w-]+")

# What Stable-Baselines3 and CleanRL call settings that are here too.
OF_OTHERS = {"learning_rate": "lr", "ent_coef": "entropy", "vf_coef": "value", "n_steps": "steps"}


@dataclass(frozen=True)
class Composed:
    """What one run is asked to do."""

    settings: dict[str, Any]  # plain values, interpolations not resolved
    overrides: list[str]  # what the user gave
    choices: Mapping[str, str | None]  # the option chosen of each group


class Options(FileConfigSource):
    """A folder of options from elsewhere, whose files are looked at before Hydra builds them."""

    @staticmethod
    def scheme() -> str:
        """What the folder's address begins with."""
        return "options"

    def load_config(self, config_path: str) -> ConfigResult:
        """What an option says.

        Raises:
            Refused: if it can't be read.
        """
        load(Path(self.path, self._normalize_file_name(config_path)))
        return super().load_config(config_path)


@contextmanager
def opened(conf: Sequence[Path]) -> Iterator[None]:
    """In this context Hydra knows where the YAML lies.

    Args:
        conf: what `folders` returned.
    """
    shipped = conf.index(CONF)
    with hydra.initialize_config_dir(str(CONF), job_name="train", version_base="1.3"):
        SourcesRegistry.instance().register(Options)
        loader: Any = GlobalHydra.instance().config_loader()
        path = loader.get_search_path()
        for folder in conf[:shipped]:  # Hydra's own `searchpath` would look there last
            path.prepend("--config-dir", f"{Options.scheme()}://{folder.resolve()}", "main")
        for folder in conf[shipped + 1 :]:
            path.prepend("plug-in", f"{Options.scheme()}://{folder.resolve()}", "schema")
        loader.repository.initialize_sources(path)
        yield


def compose(overrides: Sequence[str], launcher: Sequence[str] = ()) -> Composed:
    """What the overrides lead to.

    Args:
        launcher: those of a sweep's launcher, which only have to be right.

    Raises:
        Refused: if they can't be read or are of nothing that there is.
    """
    config: Any = OmegaConf.to_container(composed_by_hydra(overrides, launcher))
    choices = config.pop("hydra")["runtime"]["choices"]
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


def composed_by_hydra(overrides: Sequence[str], launcher: Sequence[str] = ()) -> DictConfig:
    given = [accepted(override) for override in parsed(overrides)]
    try:
        return hydra.compose("config", [*launcher, *given], return_hydra_config=True)
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
        return no_option(group, name, error.options or ())
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
