"""CUDA graphs: record a step that does the same work on a GPU in every call, and replay it.

On a GPU, small networks spend most of their time on kernel launches. A CUDA graph launches all
kernels of a step at once. It requires the same work on the same memory in every call: a step reads
and writes tensors that keep their addresses, and the CPU never waits for a result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from poker_rl.learning import collectives

WARMUP_CALLS = 3  # calls before the recording, since libraries allocate memory on first use


class CapturedStep:
    """Function without arguments that is recorded as a CUDA graph at its fourth call.

    Later calls replay the graph. On a CPU, in a run of several processes, or if `is_capturable` is
    False, every call runs the function; a function whose shapes depend on the data can't be
    captured. `generators` are the GPU's random generators that the function uses.
    """

    def __init__(
        self,
        function: Callable[[], None],
        device: torch.device,
        generators: Sequence[torch.Generator] = (),
        *,
        is_capturable: bool = True,
    ) -> None:
        self._function, self._generators = function, generators
        self._uses_graph = device.type == "cuda" and is_capturable
        # Each step has its own stream: graphs recorded in one stream share a cuBLAS workspace of
        # PyTorch, and would mix their data in it if they were replayed at the same time.
        self._stream: Any = torch.cuda.Stream() if self._uses_graph else None  # type: ignore[no-untyped-call]
        self.reset()

    def reset(self) -> None:
        """Discard the graph; call this after replacing a tensor that the function uses."""
        self._warmup_calls = 0
        self._graph: torch.cuda.CUDAGraph | None = None

    def __call__(self) -> None:
        if not self._uses_graph or collectives.get_world_size() > 1:
            self._function()
        elif self._warmup_calls < WARMUP_CALLS:
            self._warmup_calls += 1
            self._stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(self._stream):
                self._function()
            torch.cuda.current_stream().wait_stream(self._stream)
        else:
            if self._graph is None:
                self._graph = torch.cuda.CUDAGraph()
                for generator in self._generators:
                    self._graph.register_generator_state(generator)
                with torch.cuda.graph(self._graph, stream=self._stream):
                    self._function()
            self._graph.replay()


class ParallelBranch:
    """Context whose GPU work runs in parallel with later work outside the context, until `join`.

    The results may be used only after `join`; tensors that the work reads must exist until then.
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
        """Make all GPU work that is queued from now on wait for the work of the context."""
        if self._stream is not None:
            torch.cuda.current_stream().wait_stream(self._stream)
