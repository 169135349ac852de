"""Simulated device `torch.device("simulated")`: it computes on the CPU with the errors of a GPU.

Its tensors wrap CPU tensors. Mixing them with CPU tensors or passing them to NumPy raises an error,
as on a GPU, so learners can be tested without one.

A process that has entered `simulate_device` once keeps the device, and torch then takes it for the
accelerator of the machine. So these tests have processes of their own: `test_simulated_device.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from typing import Any, NoReturn
from unittest.mock import patch

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

NAME = "simulated"
aten = torch.ops.aten

COPIES = {aten._to_copy.default, aten.copy_.default}
# A GPU takes indices from the CPU, beside copies.
MAY_MIX = {*COPIES, aten._foreach_copy_.default, aten.index.Tensor}
# What gives a number to the CPU, or a tensor whose size depends on the values: the CPU has to wait.
AWAITED = {
    aten._local_scalar_dense.default,
    aten._unique2.default,
    aten.bincount.default,
    aten.equal.default,
    aten.masked_select.default,
    aten.nonzero.default,
    aten.repeat_interleave.Tensor,
}


def _lstm_cell(
    inputs: torch.Tensor,
    hidden: torch.Tensor,
    cell: torch.Tensor,
    input_bias: torch.Tensor,
    hidden_bias: torch.Tensor,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return state and cell after a step, [B, units], and the gates' activations."""
    gates = (inputs + hidden + input_bias + hidden_bias).chunk(4, 1)
    write, keep, new, show = (
        gate.tanh() if i == 2 else gate.sigmoid() for i, gate in enumerate(gates)
    )
    cell = keep * cell + write * new
    return show * cell.tanh(), cell, torch.cat([write, keep, new, show], 1)


def _lstm_cell_backward(
    grad_state: torch.Tensor | None,
    grad_cell: torch.Tensor | None,
    cell: torch.Tensor,
    next_cell: torch.Tensor,
    activations: torch.Tensor,
    has_bias: bool,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return the gradients of the gates before activation, of the cell, and of a bias."""
    write, keep, new, show = activations.chunk(4, 1)
    tanh = next_cell.tanh()
    of_cell = torch.zeros_like(cell) if grad_cell is None else grad_cell
    of_show = torch.zeros_like(cell)
    if grad_state is not None:
        of_cell = of_cell + grad_state * show * (1 - tanh**2)
        of_show = grad_state * tanh * show * (1 - show)
    of_write = of_cell * new * write * (1 - write)
    of_keep = of_cell * cell * keep * (1 - keep)
    of_new = of_cell * write * (1 - new**2)
    of_gates = torch.cat([of_write, of_keep, of_new, of_show], 1)
    return of_gates, of_cell * keep, of_gates.sum(0)


# Operations that PyTorch has for GPUs only.
ONLY_ON_GPUS = {
    aten._thnn_fused_lstm_cell.default: _lstm_cell,
    aten._thnn_fused_lstm_cell_backward_impl.default: _lstm_cell_backward,
}


class MixedDevicesError(RuntimeError):
    """Tensors or generators of two devices were mixed."""


class SynchronizationError(RuntimeError):
    """The CPU waited for the device in work that a CUDA graph would record."""


class SimulatedTensor(torch.Tensor):
    """Tensor of the device, whose values are in the CPU tensor `inner`."""

    inner: torch.Tensor
    __torch_function__ = torch._C._disabled_torch_function_impl  # what it gives keeps its class

    @staticmethod
    def __new__(cls, inner: torch.Tensor) -> SimulatedTensor:
        made: SimulatedTensor = torch.Tensor._make_wrapper_subclass(
            cls,
            inner.shape,
            strides=inner.stride(),
            storage_offset=inner.storage_offset(),
            dtype=inner.dtype,
            device=f"{NAME}:0",  # as of a GPU that is "cuda" when it is chosen
        )
        made.inner = inner
        return made

    @classmethod
    def __torch_dispatch__(cls, operation: Any, types: Any, args: Any = (), kwargs: Any = None):
        raise RuntimeError(f"{operation}: the device {NAME} was left")

    def numpy(self, *, force: bool = False) -> NoReturn:
        """Raise TypeError, as for every device but the CPU."""
        raise TypeError(f"can't convert {NAME} device type tensor to numpy. Use Tensor.cpu()")

    def tolist(self) -> Any:
        """Return a list; torch's method does not support wrapper subclasses."""
        return self.cpu().tolist()

    @property
    def data(self) -> torch.Tensor:
        """The same memory without gradient; torch's property would lose `inner`."""
        return self.detach()

    def __deepcopy__(self, memo: dict[int, Any]) -> torch.Tensor:
        """Copy the memory; a parameter stays one."""
        own = self.detach().clone()
        if isinstance(self, torch.nn.Parameter):
            own = torch.nn.Parameter(own, self.requires_grad)
        memo[id(self)] = own
        return own

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Pickle as a CPU tensor."""
        return self.inner.__reduce_ex__(protocol)

    def __repr__(self) -> str:
        return f"SimulatedTensor({self.inner})"


def _each(change: Callable[[torch.Tensor], torch.Tensor], tree: Any) -> Any:
    """Map the tensors in nested lists and tuples; torch's `tree_map` takes ten times as long."""
    if isinstance(tree, torch.Tensor):
        return change(tree)
    if isinstance(tree, list | tuple):
        return type(tree)([_each(change, x) for x in tree])
    return tree


class DeviceSimulator(TorchDispatchMode):
    """Dispatch mode that runs operations of the device.

    Attributes:
        busy: there is work for which the CPU has not waited.
        waits: number of operations for which the CPU has waited.
    """

    def __init__(self) -> None:
        super().__init__()
        self.busy = self._records = False
        self.waits = 0

    def synchronize(self) -> None:
        """Wait for all work."""
        self.busy = False

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Raise SynchronizationError in this context if the CPU waits, as a CUDA graph does."""
        self._records = True
        try:
            yield
        finally:
            self._records = False

    def __torch_dispatch__(self, operation: Any, types: Any, args: Any = (), kwargs: Any = None):
        given: list[torch.Tensor] = []

        def unwrapped(x: torch.Tensor) -> torch.Tensor:
            given.append(x)
            return x.inner if isinstance(x, SimulatedTensor) else x

        args = [_each(unwrapped, x) for x in args]
        inner = {key: _each(unwrapped, x) for key, x in (kwargs or {}).items()}
        theirs = [x for x in given if isinstance(x, SimulatedTensor)]
        self._check_one_device(operation, given)
        asked = inner.get("device")
        here = bool(theirs) if asked is None else torch.device(asked).type == NAME
        if here and asked is not None:
            inner["device"] = torch.device("cpu")
        made = ONLY_ON_GPUS.get(operation, operation)(*args, **inner)

        # what is changed in place stays what it is
        known = {id(x): x for x in given} | {id(x.inner): x for x in theirs}

        def wrapped(x: torch.Tensor) -> torch.Tensor:
            return known[id(x)] if id(x) in known else SimulatedTensor(x) if here else x

        made = _each(wrapped, made)
        is_async = inner.get("non_blocking") or (
            operation is aten.copy_.default and args[2:] == [True]
        )
        if (here or theirs) and not is_async:
            self._note(operation, given, made)
        return made

    def _check_one_device(self, operation: Any, given: list[torch.Tensor]) -> None:
        """Raise MixedDevicesError where a GPU would; scalars may be on any device."""
        theirs = [isinstance(x, SimulatedTensor) for x in given]
        others = [tuple(x.shape) for x in given if not isinstance(x, SimulatedTensor) and x.dim()]
        into_cpu = operation is aten.index.Tensor and not theirs[0]
        if any(theirs) and others and (operation not in MAY_MIX or into_cpu):
            raise MixedDevicesError(
                f"{operation}: tensors of {NAME} and, of these shapes, of the CPU: {others}"
            )

    def _note(self, operation: Any, given: list[torch.Tensor], made: Any) -> None:
        """Track whether the CPU had to wait."""
        copied = (
            operation in COPIES
            and len({isinstance(x, SimulatedTensor) for x in (*given, made)}) > 1
        )
        masked = operation is aten.index.Tensor and any(x.dtype == torch.bool for x in given[1:])
        self.busy = not (operation in AWAITED or copied or masked)
        self.waits += not self.busy
        if self._records and not self.busy:
            raise SynchronizationError(f"{operation} makes the CPU wait")


class _Generator(torch.Generator):
    """Generator for one device, `of`, which samples on the CPU."""

    of: str

    def __new__(cls, device: Any = "cpu") -> _Generator:
        made: _Generator = super().__new__(cls)
        made.of = torch.device(device).type
        return made

    def get_state(self) -> torch.Tensor:
        """Return the state, which has another size for the device than for the CPU, as on a GPU."""
        state = super().get_state()
        return torch.cat([state, state[:1]]) if self.of == NAME else state

    def set_state(self, state: torch.Tensor) -> None:
        """Set the state; raise RuntimeError for one of the other device."""
        if state.shape != self.get_state().shape:
            raise RuntimeError("RNG state is wrong size")
        super().set_state(state[:-1].contiguous() if self.of == NAME else state)


class _Drawing(TorchFunctionMode):
    """Function mode that checks that a generator samples for its own device."""

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None):
        drawn = function(*args, **(kwargs or {}))
        of = getattr((kwargs or {}).get("generator"), "of", None)
        if of is not None and isinstance(drawn, torch.Tensor) and drawn.device.type != of:
            raise MixedDevicesError(
                f"{function}: a generator of {of} and a tensor of {drawn.device}"
            )
        return drawn


@contextmanager
def simulate_device() -> Iterator[DeviceSimulator]:
    """Provide the simulated device in this context."""
    _register()
    before = torch.__future__.get_overwrite_module_params_on_conversion()
    with ExitStack() as stack:
        # `Module.to` makes new parameters, as of another class they have to be
        torch.__future__.set_overwrite_module_params_on_conversion(True)
        stack.callback(torch.__future__.set_overwrite_module_params_on_conversion, before)
        stack.enter_context(
            torch.autograd.set_multithreading_enabled(False)
        )  # modes are a thread's
        stack.enter_context(patch.object(torch, "Generator", _Generator))
        stack.enter_context(_Drawing())
        yield stack.enter_context(DeviceSimulator())


@cache
def _register() -> None:
    """Register the device with torch, which is possible once per process."""
    _setup_privateuseone_for_python_backend(NAME)
