"""Work on a GPU that runs beside other work."""

from __future__ import annotations

import torch


class ParallelBranch:
    """Context whose work a GPU does beside the work after the context, until `join`.

    The work is queued on a stream of its own, also while a `CapturedStep` is recorded. Its results
    may be used after `join`, and tensors that it reads must exist until then. On a CPU the work is
    done in order.

    Args:
        device: device of the work.
    """

    def __init__(self, device: torch.device) -> None:
        self._stream = torch.cuda.Stream(device) if device.type == "cuda" else None  # type: ignore[no-untyped-call]

    def __enter__(self) -> None:
        if self._stream is not None:
            self._outer_stream = torch.cuda.current_stream()
            self._stream.wait_stream(self._outer_stream)
            torch.cuda.set_stream(self._stream)

    def __exit__(self, *error: object) -> None:
        if self._stream is not None:
            torch.cuda.set_stream(self._outer_stream)

    def join(self) -> None:
        """Let the work after this call wait for the branch."""
        if self._stream is not None:
            torch.cuda.current_stream().wait_stream(self._stream)
