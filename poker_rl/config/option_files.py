"""Find and read option files, the YAML files in conf/ and in the folders of users and plug-ins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from io import StringIO
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import InterpolationToMissingValueError, OmegaConfBaseException
from yaml import YAMLError  # type: ignore[import-untyped]

from poker_rl.config.plugins import list_plugins
from poker_rl.config.suggestions import suggest_allowed
from poker_rl.config.untrusted_files import read_yaml_text
from poker_rl.config.validation import ConfigError, error_prefix

PACKAGE_FOLDER = Path(__file__).resolve().parents[1]
# Errors that reading a file of settings as YAML can raise.
UNREADABLE_YAML_ERRORS = (
    *(OSError, YAMLError, OmegaConfBaseException),
    *(ValueError, AttributeError, RecursionError),
)
# The installed package contains the folder conf; in a checkout, conf is beside it.
SHIPPED_OPTION_DIR = next(
    path for path in (PACKAGE_FOLDER / "conf", PACKAGE_FOLDER.parent / "conf") if path.is_dir()
)


def to_plain_dict(config: Mapping[str, Any] | DictConfig) -> dict[str, Any]:
    """Return settings as plain values, with all references such as `${budget}` resolved."""
    node: Any = config
    try:
        plain_values: Any = OmegaConf.to_container(OmegaConf.create(node), resolve=True)
    except InterpolationToMissingValueError as error:
        # The missing key is only in the message; `error.full_key` is the key that refers to it.
        missing_key = str(error).splitlines()[0].rpartition(" ")[2]
        raise ConfigError(f"{missing_key}: missing; give {missing_key}=…") from None
    except OmegaConfBaseException as error:
        raise ConfigError(f"{error.full_key}: {str(error).splitlines()[0]}") from None
    return dict(plain_values)


def parse_override_key(override: str) -> str:
    """Return the key of an override, such as `algo.lr` of `algo.lr=1` or `~algo.lr`."""
    return override.partition("=")[0].lstrip("+~")


def check_keys_given_once(overrides: Sequence[str]) -> None:
    """Raise ConfigError if two overrides have the same key, because one would be ignored."""
    keys = [parse_override_key(override) for override in overrides if "=" in override]
    for key in keys:
        if keys.count(key) > 1:
            raise ConfigError(f"{key}: given twice; give it once")


def load_yaml(path: Path) -> DictConfig:
    """Return the settings of a YAML file without resolving its references."""
    try:
        config = OmegaConf.load(StringIO(read_yaml_text(path)))
    except UNREADABLE_YAML_ERRORS as error:
        reason = getattr(error, "strerror", None) or " ".join(str(error).split())
        raise ConfigError(f"{path}: can't be read: {reason}") from None
    if not isinstance(config, DictConfig):
        raise ConfigError(f"{path}: is not a file of settings, key: value")
    return config


def read_plain_yaml(path: Path) -> dict[str, Any]:
    """Return the settings of a YAML file as plain values."""
    config = load_yaml(path)
    with error_prefix(str(path)):
        return to_plain_dict(config)


def list_option_dirs(user_dir: str | None) -> list[Path]:
    """Return the option folders by precedence: the user's, the shipped one, those of plug-ins.

    Plug-ins come last, so that a new plug-in never replaces a shipped option.
    """
    option_dirs = [SHIPPED_OPTION_DIR]
    option_dirs += [p.option_dir for p in list_plugins() if p.option_dir.is_dir()]
    if user_dir is None:
        return option_dirs
    folder = Path(user_dir)
    if not user_dir or not folder.is_dir():
        raise ConfigError(f"--config-dir: {user_dir or 'an empty name'} is not a folder")
    if not list_option_files(folder):
        example = folder / "game" / "mine.yaml"
        raise ConfigError(f"--config-dir: {folder} holds no options, files such as {example}")
    return [folder, *option_dirs]


def list_option_files(folder: Path, group: str = "*") -> list[Path]:
    """Return the option files of one group or of all groups in a folder, without hidden files."""
    yaml_paths = folder.glob(f"{group}/*.yaml")
    return sorted(path for path in yaml_paths if path.is_file() and not path.name.startswith("."))


def list_user_option_dirs(option_dirs: Sequence[Path]) -> list[Path]:
    """Select from all option folders those that the user gave by --config-dir."""
    return list(option_dirs[: option_dirs.index(SHIPPED_OPTION_DIR)])


def normalize_numbers(value: Any) -> Any:
    """Return plain values with whole floats as integers, so that 1e6 equals 1000000."""
    if isinstance(value, dict):
        return {key: normalize_numbers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [normalize_numbers(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def find_option_file(
    group: str, option_name: str, option_dirs: Sequence[Path] = (SHIPPED_OPTION_DIR,)
) -> Path:
    """Return the file of an option, such as `uniform` of the group `player`.

    Raise ConfigError if no folder has it.
    """
    for folder in option_dirs:
        if (path := folder / group / f"{option_name}.yaml").is_file():
            return path
    names = {path.stem for folder in option_dirs for path in list_option_files(folder, group)}
    raise ConfigError(
        f"no {group} is called {option_name}; {suggest_allowed(option_name, names)};"
        f" --config-dir FOLDER adds those in FOLDER/{group}"
    )


def load_option(
    group: str, option_name: str, option_dirs: Sequence[Path] = (SHIPPED_OPTION_DIR,)
) -> dict[str, Any]:
    """Return the settings of an option; raise ConfigError if it does not exist."""
    settings = read_plain_yaml(find_option_file(group, option_name, option_dirs))
    # An option that also sets root settings has its own settings below a key named like the group.
    option_config: dict[str, Any] = settings.get(group, settings)
    return option_config
