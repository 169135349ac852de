"""Checks of users' input: ranges of numbers, hints for wrong names, and safe reading of files.

A field's annotation contains its range, as in `gamma: Probability`; `build` checks the value.
"""

from __future__ import annotations

import json
import re
import stat
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from math import inf, isfinite
from pathlib import Path
from typing import Annotated, Any, BinaryIO, NamedTuple

MIB = 1 << 20
MAX_YAML_BYTES = MIB // 8  # PyYAML needs a few seconds for a file of this size
MAX_JSON_BYTES = 16 * MIB
# Besides MemoryError, NumPy and torch report a lack of memory by errors with these messages.
OUT_OF_MEMORY_PATTERN = re.compile(
    "array is too big|Maximum allowed dimension|can't allocate memory|Storage size calculation"
    "|CUDA out of memory"
)


class ConfigError(Exception):
    """Error in a setting, file or argument; its message has one line and says what is allowed."""


def format_value(value: object) -> str:
    """Return a value as JSON text for an error message, cut after 60 characters."""
    return shorten_text(json.dumps(value, ensure_ascii=False, default=str))


def shorten_text(text: str) -> str:
    """Return text for an error message, cut after 60 characters."""
    return text if len(text) <= 60 else f"{text[:60]}…"


@contextmanager
def error_prefix(prefix: str) -> Iterator[None]:
    """Put `prefix`, such as a setting's name, before messages of ConfigErrors in this context."""
    try:
        yield
    except ConfigError as error:
        raise ConfigError(f"{prefix}: {error}") from None


def is_out_of_memory(error: Exception) -> bool:
    """Return whether Python, NumPy or torch reports a lack of memory by this error."""
    return isinstance(error, MemoryError) or OUT_OF_MEMORY_PATTERN.search(str(error)) is not None


@contextmanager
def memory_errors_as_config_errors(prefix: str) -> Iterator[None]:
    """Convert an error that reports a lack of memory to a ConfigError starting with `prefix`."""
    try:
        yield
    except (MemoryError, RuntimeError, ValueError) as error:
        if is_out_of_memory(error):
            raise ConfigError(f"{prefix}: too large for the memory of this machine") from None
        raise


class Range(NamedTuple):
    """Range of finite numbers from `low` to `high`; `low` is excluded if `exclude_low` is set.

    Annotations of fields contain ranges, as in `share: Annotated[float, Range(0, 1)]`.
    """

    low: float = -inf
    high: float = inf
    exclude_low: bool = False

    def __contains__(self, value: object) -> bool:
        if not isinstance(value, int | float):
            return False
        is_above_low = self.low < value if self.exclude_low else self.low <= value
        return is_above_low and value <= self.high and isfinite(value)

    def __str__(self) -> str:
        opening_bracket = "(" if self.exclude_low or self.low == -inf else "["
        return f"{opening_bracket}{self.low:g}, {self.high:g}{')' if self.high == inf else ']'}"


MAX_INTEGER = 10**18  # the largest integer that settings may contain; it fits into an int64

Probability = Annotated[float, Range(0, 1)]
PositiveShare = Annotated[float, Range(0, 1, exclude_low=True)]
PositiveFloat = Annotated[float, Range(0, exclude_low=True)]
NonNegativeFloat = Annotated[float, Range(0)]
# Exponent of t in the weight of iteration t in an average. Sums of larger powers could overflow.
AveragingExponent = Annotated[float, Range(0, 5)]
PositiveInt = Annotated[int, Range(1)]
NonNegativeInt = Annotated[int, Range(0)]
Seed = Annotated[int, Range(0, 1e18)]  # every random generator accepts seeds in this range
# Passes over a batch, and iterations of a solver, in one call of `learn()`. The numbers have upper
# limits because Ctrl-C takes effect only after the call.
PassCount = Annotated[int, Range(1, 1000)]
SolverIterationCount = Annotated[int, Range(1, 1e6)]

# For some settings of this program, the names of equal or similar settings in Stable-Baselines3,
# CleanRL, RLlib, OpenSpiel, PokerKit and Optuna.
NAMES_IN_OTHER_LIBRARIES = {
    "algo": "algorithm",
    "bet_sizes": "betting_abstraction",
    "budget": "total_timesteps total_steps num_timesteps timesteps timesteps_total training_steps",
    "checkpoint_every": "save_freq checkpoint_freq checkpoint_frequency save_model",
    "clip_coef": "clip_range clip_param clip_ratio clip_epsilon",
    "clip_value_loss": "clip_vloss clip_range_vf",
    "device": "cuda num_gpus",
    "entropy_coef": "entropy ent_coef entropy_coeff entropy_cost",
    "epochs": "n_epochs update_epochs num_epochs num_sgd_iter",
    "epsilon": "exploration_rate exploration_fraction start_e end_e epsilon_start",
    "evaluate_every": "eval_freq eval_every evaluation_interval",
    "gae_lambda": "lambda lambda_ gae_gamma",
    "game": "env env_id env_name gym_id",
    "hidden_sizes": "net_arch fcnet_hiddens hidden_layers_sizes hiddens",
    "lr": "learning_rate lr_schedule anneal_lr",
    "max_grad_norm": "grad_clip",
    "minibatches": "batch_size num_minibatches minibatch_size sgd_minibatch_size",
    "name": "exp_name run_name tb_log_name",
    "net": "policy model network policy_kwargs",
    "normalize_advantages": "norm_adv normalize_advantage",
    "replay_capacity": "buffer_size replay_buffer_capacity",
    "rollout_steps": "n_steps num_steps rollout_fragment_length rollout_length",
    "seats": "num_players players player_count",
    "stacks": "stack starting_stack starting_stacks",
    "tables": "num_envs n_envs num_envs_per_worker",
    "target_update_interval": "target_network_frequency update_target_network_every",
    "value_coef": "vf_coef vf_loss_coeff value_loss_coef critic_loss_coef",
    "workers": "num_workers num_env_runners",
}


def suggest_allowed(word: str, options: Iterable[str], dotted_keys: Collection[str] = ()) -> str:
    """Return a hint for a wrong word, such as "did you mean gamma? allowed: epochs, gamma".

    The hint lists `options`, the allowed words. It suggests `dotted_keys`, such as algo.gamma, that
    end in the word. If another library uses the word for a setting, keys that end in our name of
    this setting match too. Of all matching keys, those with the fewest dots are suggested. If no
    key matches, the hint suggests a similar option.
    """
    options = sorted(options)
    keys = sorted(dotted_keys or options, key=lambda key: (key.count("."), key))
    other_names = NAMES_IN_OTHER_LIBRARIES.items()
    names = [word, *(own_name for own_name, others in other_names if word in others.split())]
    matches = [
        key for key in keys for name in names if re.search(rf"(^|[._]){re.escape(name)}$", key)
    ]
    matches = [key for key in matches if key.count(".") == matches[0].count(".")]
    exact_matches = [key for key in matches if key.rpartition(".")[2] in names]
    suggestions = exact_matches or matches or get_close_matches(word, options, n=1)
    hint = f"did you mean {' or '.join(suggestions)}? " if suggestions else ""
    return f"{hint}allowed: {', '.join(options) or 'none'}"


def open_regular_file(path: Path, max_bytes: int) -> BinaryIO:
    """Open a file; raise ConfigError if it is too large, or a folder, a pipe or a device."""
    file_status = path.stat()
    if not stat.S_ISREG(file_status.st_mode):
        raise ConfigError(f"{path} is not a file")
    if file_status.st_size > max_bytes:
        raise ConfigError(f"{path} has {file_status.st_size:,} bytes; allowed: up to {max_bytes:,}")
    return path.open("rb")


def read_yaml_text(path: Path) -> str:
    """Return the text of a YAML file without parsing it."""
    with open_regular_file(path, MAX_YAML_BYTES) as file:
        try:
            return file.read(MAX_YAML_BYTES).decode()
        except UnicodeDecodeError:
            raise ConfigError(f"{path}: is not text") from None


def read_json(path: Path) -> Any:
    """Return the content of a JSON file; raise ValueError if it can't be parsed."""
    with open_regular_file(path, MAX_JSON_BYTES) as file:
        try:
            return json.loads(file.read(MAX_JSON_BYTES))
        except RecursionError:
            raise ValueError(f"{path} is nested too deep") from None
