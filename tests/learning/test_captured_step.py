"""Work beside other work: in order on a CPU; on a GPU each stream waits where it must."""

from __future__ import annotations

from unittest.mock import patch

import torch

from poker_rl.learning.captured_step import ParallelBranch


class Streams:
    """GPU with streams, of which only the order of calls is recorded."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.current = Stream(self, "outer")

    def set_current(self, stream: Stream) -> None:
        self.current = stream


class Stream:
    def __init__(self, streams: Streams, name: str) -> None:
        self.streams, self.name = streams, name

    def wait_stream(self, other: Stream) -> None:
        self.streams.calls.append(f"{self.name} waits for {other.name}")


def test_a_branch_waits_for_what_is_before_it_and_the_rest_for_the_branch() -> None:
    streams = Streams()
    with (
        patch.object(torch.cuda, "Stream", lambda device: Stream(streams, "branch")),
        patch.object(torch.cuda, "current_stream", lambda: streams.current),
        patch.object(torch.cuda, "set_stream", streams.set_current),
    ):
        branch = ParallelBranch(torch.device("cuda"))
        for _ in range(2):
            with branch:
                streams.calls.append(f"work on {streams.current.name}")
            streams.calls.append(f"work on {streams.current.name}")
            branch.join()
    once = ["branch waits for outer", "work on branch", "work on outer", "outer waits for branch"]
    assert streams.calls == 2 * once
