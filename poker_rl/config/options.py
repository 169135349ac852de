"""The YAML: where options lie, which of two with the same name counts, and how a file is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from io import StringIO
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import InterpolationToMissingValueError, OmegaConfBaseException
from yaml import MarkedYAMLError, YAMLError  # type: ignore[import-untyped]

from poker_rl.config.files import read_text
from poker_rl.config.messages import allowed, elsewhere
from poker_rl.config.plugins import plugins
from poker_rl.config.settings import Refused, about
from poker_rl.config.yaml_text import demand_readable

PACKAGE = Path(__file__).resolve().parents[1]


# In a wheel the YAML lies in the package, in a checkout beside it.
CONF = next(path for path in (PACKAGE / "conf", PACKAGE.parent / "conf") if path.is_dir())


MAPPING = "is not a file of settings, key: value"


# The settings of a run have two. Each may double what another one stands for.
MOST_REFERENCES = 20


def check_references(settings: object) -> None:
    """Check that there are few `${…}` in settings, before they are resolved.

    Raises:
        Refused: if there are too many.
    """
    if (count := str(settings).count("${")) > MOST_REFERENCES:
        raise Refused(f"{count} references ${{…}}; allowed: up to {MOST_REFERENCES}")


def plain(config: Mapping[str, Any] | DictConfig) -> dict[str, Any]:
    """A config as plain values, interpolations resolved.

    Raises:
        Refused: if an interpolation leads nowhere, or there are too many.
    """
    node: Any = config
    check_references(node)
    try:
        settings: Any = OmegaConf.to_container(OmegaConf.create(node), resolve=True)
    except InterpolationToMissingValueError as error:  # the key is the one that refers to it
        missing = str(error).splitlines()[0].rpartition(" ")[2]
        raise Refused(f"{missing}: missing; give {missing}=…") from None
    except OmegaConfBaseException as error:
        raise Refused(f"{error.full_key}: {str(error).splitlines()[0]}") from None
    return dict(settings)


def key_of(override: str) -> str:
    """The key of an override, `algo.lr` of `algo.lr=1`, `+algo.lr=1` and `~algo.lr`."""
    return override.partition("=")[0].lstrip("+~")


def demand_once(overrides: Sequence[str]) -> None:
    """Refuse a key that is given twice: of two values one would count without a word.

    Raises:
        Refused: naming it.
    """
    keys = [key_of(one) for one in overrides if "=" in one]
    for key in keys:
        if keys.count(key) > 1:
            raise Refused(f"{key}: given twice; give it once")


def load(path: Path) -> DictConfig:
    """A YAML file of settings, its interpolations not resolved.

    Raises:
        Refused: if it is missing or is not a YAML mapping of a sensible size.
    """
    try:
        text = read_text(path)
        with about(str(path)):
            demand_readable(text)
        config = OmegaConf.load(StringIO(text))
    except OSError as error:  # without a system's reason: what OmegaConf says of a bare number
        raise Refused(f"{path}: {error.strerror or MAPPING}") from None
    except MarkedYAMLError as error:  # such as a key that is there twice
        line = "" if error.problem_mark is None else f", line {error.problem_mark.line + 1}"
        raise Refused(f"{path}: can't be read: {error.problem}{line}") from None
    # An interpolation that is cut off; a tag such as !!int of what is none.
    except (YAMLError, OmegaConfBaseException, ValueError, AttributeError) as error:
        raise Refused(f"{path}: can't be read: {str(error).splitlines()[0]}") from None
    if not isinstance(config, DictConfig):
        raise Refused(f"{path}: {MAPPING}")
    return config


def read(path: Path) -> dict[str, Any]:
    """The same as plain values.

    Raises:
        Refused: if it is no such file, or an interpolation leads nowhere.
    """
    config = load(path)
    try:
        return plain(config)
    except Refused as error:
        raise Refused(f"{path}: {error}") from None


def folders(own: str | None) -> list[Path]:
    """Where options are looked for, the first one found counts: in a folder of the user's, if one
    is given, then in what comes with the program, then in the plug-ins.

    So a plug-in that is installed never changes what a name of this program means.

    Raises:
        Refused: if the folder holds no options, or what would not be read from there.
    """
    installed = [CONF, *(plugin.conf for plugin in plugins() if plugin.conf.is_dir())]
    if own is None:
        return installed
    folder = Path(own)
    if not own or not folder.is_dir():
        raise Refused(f"--config-dir: {own or 'an empty name'} is not a folder")
    for root in CONF.glob("*.yaml"):
        if (folder / root.name).exists():
            raise Refused(
                f"--config-dir: {folder / root.name} is of no group and would not be read;"
                f" root settings can stand in {folder / 'experiment' / 'mine.yaml'}"
            )
    groups = {path.parent.name for path in option_files(folder)}
    if not groups:
        example = folder / "game" / "mine.yaml"
        raise Refused(f"--config-dir: {folder} holds no options, files such as {example}")
    known = {path.name for path in CONF.iterdir() if path.is_dir()}
    for group in sorted(groups - known):  # the folder may hold others, which are left alone
        if get_close_matches(group, known, n=1):
            raise Refused(f"--config-dir: {folder / group} is no group; {allowed(group, known)}")
    return [folder, *installed]


def option_files(folder: Path, group: str = "*") -> list[Path]:
    """The files of the options in a folder of groups, of one group or of all.

    Hidden files are left out: editors lock with them what is being written.
    """
    found = folder.glob(f"{group}/*.yaml")
    return sorted(path for path in found if path.is_file() and not path.name.startswith("."))


def of_the_user(conf: Sequence[Path]) -> list[Path]:
    """Those of the folders of options that come neither with the program nor with a plug-in."""
    return list(conf[: conf.index(CONF)])


def alike(value: Any) -> Any:
    """Plain values whose whole numbers are all of one kind: 1e6 and 1000000 ask for the same."""
    if isinstance(value, dict):
        return {key: alike(one) for key, one in value.items()}
    if isinstance(value, list):
        return [alike(one) for one in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def find_option(group: str, name: str, conf: Sequence[Path] = (CONF,)) -> Path:
    """The file of one option of a group, such as the player `uniform`.

    Args:
        conf: the folders to look in.

    Raises:
        Refused: if the group has no such option.
    """
    for folder in conf:
        if (path := folder / group / f"{name}.yaml").is_file():
            return path
    options = {path.stem for folder in conf for path in option_files(folder, group)}
    raise Refused(f"no {group} is called {name}; {allowed(name, options)}; {elsewhere(group)}")


def option(group: str, name: str, conf: Sequence[Path] = (CONF,)) -> dict[str, Any]:
    """The settings of one option of a group; see `find_option`."""
    settings = read(find_option(group, name, conf))
    own: dict[str, Any] = settings.get(group, settings)  # under its key, beside what else it sets
    return own
