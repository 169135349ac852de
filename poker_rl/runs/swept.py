"""The run of a sweep's job: its name says what is asked of it, so that it is found again."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from poker_rl.config.horizons import resolved
from poker_rl.config.options import alike, plain, read
from poker_rl.players.load import bot_of
from poker_rl.runs.job import command_of, own_bots
from poker_rl.runs.job import named as met
from poker_rl.runs.resume import MAY_CHANGE, differing
from poker_rl.storage.folder import PLACE, label_of, read_folder, read_manifest

if TYPE_CHECKING:
    from poker_rl.config.compose import Composed

NAME_CHARACTERS = 60  # as many as a run's name may have
TELLING = ("game", "algo", "net", "seed", "budget_unit")  # by which runs of one command may differ


def digest_of(value: object) -> str:
    """Eight hexadecimal digits that stand for plain values."""
    return sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:8]


def named(asked: Composed, conf: Sequence[Path]) -> Composed:
    """The same with the name of the job's run: what was set for it, and a digest of all settings.

    So every sweep that asks for the same settings, in whatever words, finds the same run; where a
    YAML has changed, be it that of a bot, the same words ask for other settings and begin another
    run.

    Raises:
        Refused: if there is no such bot.
    """
    from poker_rl.config.compose import place

    settings = plain(asked.settings)
    asks = {key: value for key, value in settings.items() if key not in PLACE}
    bots = bots_of(settings, conf)
    digest = digest_of(alike(asks) | ({"bots": bots} if bots else {}))
    unsaid = MAY_CHANGE - {"device"} | PLACE  # which stands in the names of earlier versions
    label = label_of(asked.overrides, unsaid)[: NAME_CHARACTERS - len(digest) - 1]
    first = replace(asked, settings=asked.settings | {"name": f"{label}_{digest}".lstrip("_")})
    _, _, folder = place(first)
    digests = [digest] if bots else [digest, digest_of(asks)]  # which earlier versions took
    found = {path for one in digests for path in folder.parent.glob(f"*{one}")}
    begun = sorted(path for path in found if read_manifest(path))
    if folder in begun or not begun:
        return first
    return replace(asked, settings=asked.settings | {"name": begun[0].name})


def bots_of(settings: dict[str, Any], conf: Sequence[Path]) -> dict[str, Any]:
    """The settings of the bots that a run meets and that come from files of the user's.

    Raises:
        Refused: if there is no such file.
    """
    own = own_bots(conf)
    files = {spec: own.get(name, name) for spec in met(settings) if (name := bot_of(spec))}
    return {spec: read(Path(file)) for spec, file in files.items() if file.endswith(".yaml")}


def own_run(asked: Composed, conf: Sequence[Path]) -> tuple[Composed, bool]:
    """What a job is asked to do in a run that is its own; and whether that is finished already.

    The run has a name, and if it has begun, it is gone on with.

    Args:
        conf: the folders of the options.

    Raises:
        Refused: if an interpolation leads nowhere.
    """
    from poker_rl.config.compose import place

    given = asked.settings["name"]
    if asked.settings["resume"] is not None:
        return asked, False
    if given is None:
        asked = named(asked, conf)
    _, _, folder = place(asked)
    manifest = read_manifest(folder)
    # A name of the user's own says nothing of the settings; the command that began the run does,
    # as long as no YAML has changed.
    if not manifest or (given is not None and not began(asked, conf, folder, manifest)):
        return asked, False
    again = {"resume": str(folder)}
    go_on = replace(asked, settings=asked.settings | again, overrides=[f"resume={folder}"])
    return go_on, manifest.get("status") == "finished"


def began(asked: Composed, conf: Sequence[Path], folder: Path, manifest: Mapping[str, Any]) -> bool:
    """Whether a job began the run of a folder: by the same command, with the same settings."""
    if manifest.get("command") != command_of(asked, conf):
        return False
    theirs, _ = read_folder(folder)
    ours = resolved(plain(asked.settings) | {"budget": theirs.get("budget")})
    return all(differing(ours.get(key), theirs.get(key)) is None for key in TELLING)


def take_gpu(asked: Composed, number: int) -> None:
    """Have a job beside others compute on a GPU by its number, where a process sees several."""
    if asked.settings["device"] != "cpu" and torch.cuda.device_count() > 1:
        torch.cuda.set_device(number % torch.cuda.device_count())  # what "cuda" is from now on
