"""`poker-rl list`: the options of all groups or of some."""

from __future__ import annotations

from poker_rl.cli.arguments import Arguments, options
from poker_rl.config.settings import Refused
from poker_rl.storage.disk import say

HELP = """\
poker-rl list [GROUP …] [--config-dir FOLDER]

  GROUP                only the options of this group: game, algo, net, player, experiment, …
  --config-dir FOLDER  with the options in files such as FOLDER/game/mine.yaml

Behind the name of a player, `:greedy` takes the action that it takes most often, always."""


def run(arguments: list[str]) -> int:
    """Print the options; the exit code."""
    parser = Arguments()
    parser.add_argument("groups", nargs="*")
    given = parser.parse_intermixed_args(arguments)
    if given.help:
        say(HELP)
        return 0

    from poker_rl.config.listing import described, groups, origins
    from poker_rl.config.messages import allowed

    conf = options(given.config_dir)
    found = groups(conf)
    for group in given.groups:
        if group not in found:
            raise Refused(f"{group}: no such group; {allowed(group, found)}")
    for group in given.groups or found:
        say(f"{group}=\n{described(found[group])}\n")
    for line in origins(conf):
        say(line)
    return 0
