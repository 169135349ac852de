"""Composing: from the YAML in conf/ and what the user gave to one config, or one for each job."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

import hydra
from hydra._internal.callbacks import Callbacks
from hydra._internal.core_plugins.file_config_source import FileConfigSource
from hydra._internal.sources_registry import SourcesRegistry
from hydra.core.config_loader import ConfigLoader
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override, RangeSweep
from hydra.core.plugins import Plugins
from hydra.errors import HydraException, MissingConfigException
from hydra.plugins.config_source import ConfigResult
from hydra.types import HydraContext
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import ConfigAttributeError, ConfigKeyError, OmegaConfBaseException
from yaml import YAMLError  # type: ignore[import-untyped]

from poker_rl.config.build import (
    CONF,
    allowed,
    elsewhere,
    folders,
    load,
    plain,
    shortened,
    unreadable,
)
from poker_rl.config.settings import Refused

# What Hydra says of an option of a group that only other options bring along, such as a network.
NO_MATCH = re.compile(r"Could not (?:override|delete) '([^']+)'\.\s+No match in the defaults list")
# What it says of key=a,b without -m.
SEVERAL = re.compile(r"(?:Ambiguous value for argument|Sweep parameters) '([^']+)'")

# Hydra keeps what it composed, 0.4 MB a job, until the last job has ended: 2 GB of so many.
MOST_JOBS = 5_000

OPTION = re.compile(r"[\w-]+")
LAUNCHER = re.compile(r"hydra[./]launcher\b")
# A word of a value, without what the grammar of overrides gives a meaning; or text in quotes.
WORD = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[^\s,=(){}\[\]'"\\]+""")


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
    config: Any = OmegaConf.to_container(_compose(overrides, launcher))
    choices = config.pop("hydra")["runtime"]["choices"]
    for group, option in choices.items():
        if option is not None and not OPTION.fullmatch(str(option)):
            raise Refused(f"{group}: {option} is not the name of an option")
    return Composed(config, list(overrides), choices)


def composed(overrides: Sequence[str], conf: Sequence[Path] | None = None) -> dict[str, Any]:
    """The settings that `poker-rl train` would begin with for the same overrides, as plain values.

    Args:
        conf: the folders of the options; None: those that come with the program and the plug-ins.

    Raises:
        Refused: if they can't be read or are of nothing that there is.
    """
    with opened(folders(None) if conf is None else conf):
        return plain(compose(overrides).settings)


def split(overrides: Sequence[str]) -> tuple[list[str], list[list[str]]]:
    """The overrides of the launcher, and those of each job of a sweep over the others.

    Raises:
        Refused: if one can't be read, stands for no value, or there are more than MOST_JOBS.
    """
    launcher, axes = [], {}
    for override in _parse(overrides):
        key = override.get_key_element()
        if override.is_hydra_override():
            launcher.append(str(override.input_line))
        elif override.value_type is None:  # ~key
            axes[key] = [key]
        elif override.is_sweep_override():
            axes[key] = [f"{key}={value}" for value in _values(override)]
        else:
            axes[key] = [f"{key}={override.get_value_element_as_str()}"]
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
        options = _loader().get_group_options(override.key_or_group)
        what = f"; {allowed('', options)}" if options else ""
        raise Refused(f"{override.input_line}: stands for no value at all{what}")
    return values


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
    task: Callable[[int], None],
    launcher: Sequence[str],
    folder: Path,
) -> None:
    """Run jobs by Hydra's launcher, which may use other processes or machines.

    Hydra itself would end the sweep at a job that can't be composed, so it is given the first for
    each. What a job is asked to do is composed by the task, when its turn comes.

    Args:
        jobs: the overrides of each; the first is known to compose.
        task: a module's function, given the number of the job.
        launcher: the overrides of the launcher, known to compose too.
        folder: what Hydra may write to.
    """
    config = _compose(jobs[0], [*launcher, f"hydra.sweep.dir='{folder}'"])
    one = Plugins.instance().instantiate_launcher(
        hydra_context=HydraContext(_loader(), Callbacks()),
        task_function=Task(task),
        config=config,
    )
    first = [_accepted(override) for override in _parse(jobs[0])]
    for done in one.launch([first] * len(jobs), initial_job_idx=0):
        _ = done.return_value  # raises what the job raised


@dataclass(frozen=True)
class Task:
    """Calls a task in a launcher's job, perhaps in a process of its own."""

    task: Callable[[int], None]

    def __call__(self, settings: DictConfig) -> None:
        self.task(HydraConfig.get().job.num)


def _loader() -> ConfigLoader:
    return GlobalHydra.instance().config_loader()


def _parse(overrides: Sequence[str]) -> list[Override]:
    """Overrides as Hydra reads them, words such as läuf in quotes.

    Raises:
        Refused: if one can't be read, or is of Hydra itself and not of its launcher.
    """
    parser, parsed = OverridesParser.create(_loader()), []
    for override in overrides:
        key, equals, value = override.partition("=")
        try:
            parsed += parser.parse_overrides([key + equals + WORD.sub(_quoted, value)])
        except (HydraException, RecursionError):
            raise unreadable(override) from None
        if parsed[-1].is_hydra_override() and not LAUNCHER.match(parsed[-1].key_or_group):
            raise Refused(
                f"{key}: has no effect here; of Hydra's own settings only hydra/launcher and"
                " hydra.launcher.KEY are read, by a sweep (-m)"
            )
    return parsed


def _quoted(word: re.Match[str]) -> str:
    """A word as the grammar of overrides takes it, which knows letters a to z only."""
    plain = word[0].isascii() or word[0][0] in "'\""
    return word[0] if plain else f"'{word[0]}'"


def _accepted(override: Override) -> str:
    """An override in the words of Hydra, which knows no null for "none of this group".

    Raises:
        Refused: if it names an option that there is not.
    """
    group, value = override.key_or_group, override.value()
    if override.is_hydra_override():
        raise Refused(f"{group}: is of a sweep; give -m")
    options = _loader().get_group_options(group)
    if not options or isinstance(value, list) or override.is_sweep_override():
        return str(override.input_line)
    if override.is_delete():
        return str(override.input_line)
    if value is None:
        return f"~{override.get_key_element()}"
    if value not in options:
        raise _no_option(group, str(value), options)
    return str(override.input_line)


def _no_option(group: str, name: str, options: Sequence[str]) -> Refused:
    return Refused(f"{group}={name}: no such option; {allowed(name, options)}; {elsewhere(group)}")


def _compose(overrides: Sequence[str], launcher: Sequence[str] = ()) -> DictConfig:
    given = [_accepted(override) for override in _parse(overrides)]
    try:
        return hydra.compose("config", [*launcher, *given], return_hydra_config=True)
    except (HydraException, OmegaConfBaseException, YAMLError) as error:
        raise _refusal(error) from None
    except RecursionError:
        what = "lists within lists without end, or defaults that lead back to themselves"
        raise Refused(f"{shortened(' '.join(overrides))}: {what}") from None
    except ValueError as error:  # such as defaults that are no list
        raise Refused(f"{shortened(' '.join(overrides))}: {error}") from None


def _refusal(error: Exception) -> Refused:
    """What Hydra says of a config that can't be composed, in a few lines that name the key."""
    cause = error.__cause__
    if isinstance(error, MissingConfigException):
        group, _, name = str(error.missing_cfg_file).rpartition("/")
        return _no_option(group, name, error.options or ())
    if isinstance(cause, ConfigKeyError | ConfigAttributeError):
        options = [str(key) for key in cause.parent_node or () if key != "hydra"]
        return Refused(f"{cause.full_key}: no such setting; {allowed(str(cause.key), options)}")
    if match := SEVERAL.match(str(error)):
        return Refused(f"{match[1]}: several values need -m, a sweep; a list is key=[a,b]")
    if match := NO_MATCH.search(str(error)):
        return Refused(f"{match[1]}: nothing that was chosen takes one")
    if isinstance(error, YAMLError):
        return Refused(" ".join(str(error).split()))
    told = [*str(error).split(), *"".join(str(cause or "").splitlines()[:1]).split()]
    return Refused(" ".join(told))
