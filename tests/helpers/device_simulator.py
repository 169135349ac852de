"""Simulated device `torch.device("simulated")`: it computes on the CPU with the errors of a GPU.

Its tensors wrap CPU tensors. Mixing them with CPU tensors or passing them to NumPy raises an error,
as on a GPU, so learners can be tested without one.

A process that has entered `simulate_device` once keeps the device, and torch then takes it for the
accelerator of the machine. So these tests have processes of their own: `test_simulated_device.py`.
"""

from contextlib import ExitStack, contextmanager, nullcontext
from functools import cache
from unittest.mock import MagicMock, patch

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

from poker_rl.learning.cuda_graphs import CapturedStep

NAME = "simulated"
aten = torch.ops.aten

INTO = {aten.copy_.default, aten._foreach_copy_.default}
# A GPU takes indices from the CPU, beside copies.
MAY_MIX = {*INTO, aten._to_copy.default, aten.index.Tensor}
# What gives a number to the CPU, or a tensor whose size depends on the values: the CPU has to wait.
AWAITED = "_local_scalar_dense", "_unique2", "bincount", "equal", "masked_select", "nonzero"
AWAITED = {*(getattr(aten, name).default for name in AWAITED), aten.repeat_interleave.Tensor}


GATES = (torch.sigmoid, torch.sigmoid, torch.tanh, torch.sigmoid)


def _lstm_cell(inputs, hidden, cell, input_bias, hidden_bias):
    """Return state and cell after a step, [B, units], and the gates' activations."""
    gates = (inputs + hidden + input_bias + hidden_bias).chunk(4, 1)
    write, keep, new, show = (f(gate) for f, gate in zip(GATES, gates, strict=True))
    cell = keep * cell + write * new
    return show * cell.tanh(), cell, torch.cat([write, keep, new, show], 1)


def _lstm_cell_backward(grad_state, grad_cell, cell, next_cell, activations, has_bias):
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
    def __new__(cls, inner):
        made = torch.Tensor._make_wrapper_subclass(
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
    def __torch_dispatch__(cls, operation, types, args=(), kwargs=None):
        raise RuntimeError(f"{operation}: the device {NAME} was left")

    def numpy(self, *, force=False):
        """Raise TypeError, as for every device but the CPU."""
        raise TypeError(f"can't convert {NAME} device type tensor to numpy. Use Tensor.cpu()")

    def tolist(self):
        """Return a list; torch's method does not support wrapper subclasses."""
        return self.cpu().tolist()

    @property
    def data(self):
        """Return the tensor without gradient; torch's property would lose `inner`."""
        return self.detach()

    def __deepcopy__(self, memo):
        """Copy the memory; a parameter stays one."""
        own = self.detach().clone()
        if isinstance(self, torch.nn.Parameter):
            own = torch.nn.Parameter(own, self.requires_grad)
        memo[id(self)] = own
        return own

    def __reduce_ex__(self, protocol):
        """Pickle as a CPU tensor."""
        return self.inner.__reduce_ex__(protocol)

    def __repr__(self):
        return f"SimulatedTensor({self.inner})"


def _each(change, tree):
    """Map the tensors in nested lists and tuples; torch's `tree_map` takes ten times as long."""
    if isinstance(tree, torch.Tensor):
        return change(tree)
    if isinstance(tree, list | tuple):
        return type(tree)([_each(change, x) for x in tree])
    return tree


class SimulatedGraph:
    """Operations of the device that `replay` runs on the memory of the recording, as a CUDA graph.

    The recording runs them too, while a GPU only records them; so the first replay does nothing.
    Memory that the CPU reads or writes in a recorded copy has to stay the same, too.
    """

    def __init__(self):
        self._calls = []
        self.replays = 0

    def register_generator_state(self, generator):
        """Do nothing; a replay draws from the generators of the recording."""

    def add(self, operation, args, kwargs, made):
        """Record an operation with its arguments and results, tensors of the CPU."""
        self._calls.append((operation, args, kwargs, made))

    def replay(self):
        """Run the recorded operations."""
        self.replays += 1
        if self.replays == 1:
            return
        with _disable_current_modes(), torch.no_grad():
            for operation, args, kwargs, made in self._calls:
                fresh = ONLY_ON_GPUS.get(operation, operation)(*args, **kwargs)
                for old, new in zip(_list_tensors(made), _list_tensors(fresh), strict=True):
                    # views and what is changed in place are in this memory already
                    if old.untyped_storage().data_ptr() != new.untyped_storage().data_ptr():
                        old.copy_(new)


def _list_tensors(tree):
    """Return the tensors in nested lists and tuples."""
    found = []
    _each(lambda x: found.append(x) or x, tree)
    return found


class DeviceSimulator(TorchDispatchMode):
    """Dispatch mode that runs operations of the device.

    Attributes:
        busy: there is work for which the CPU has not waited.
        waits: number of operations for which the CPU has waited.
    """

    def __init__(self):
        super().__init__()
        self.busy = False
        self.waits = 0
        self._graph = None

    def synchronize(self):
        """Wait for all work."""
        self.busy = False

    @contextmanager
    def recording(self, graph=None, stream=None):
        """Record into a graph; raise SynchronizationError in this context if the CPU waits."""
        self._graph = SimulatedGraph() if graph is None else graph
        try:
            yield
        finally:
            self._graph = None

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        given = []

        def unwrapped(x):
            given.append(x)
            return x.inner if isinstance(x, SimulatedTensor) else x

        args = [_each(unwrapped, x) for x in args]
        inner = {key: _each(unwrapped, x) for key, x in (kwargs or {}).items()}
        theirs = [x for x in given if isinstance(x, SimulatedTensor)]
        self._check_one_device(operation, given)
        requested = inner.get("device")
        here = bool(theirs) if requested is None else torch.device(requested).type == NAME
        if here and requested is not None:
            inner["device"] = torch.device("cpu")
        made = ONLY_ON_GPUS.get(operation, operation)(*args, **inner)
        if self._graph is not None and (here or theirs):
            of_device = {id(x.inner) for x in theirs}

            def as_recorded(x):
                """A GPU gets the value of a number on the CPU at once, but the memory of copies."""
                is_number = not x.dim() and id(x) not in of_device and operation not in MAY_MIX
                return x.clone() if is_number else x

            self._graph.add(operation, [_each(as_recorded, x) for x in args], inner, made)

        # what is changed in place stays what it is
        known = {id(x): x for x in given} | {id(x.inner): x for x in theirs}

        def wrapped(x):
            return known[id(x)] if id(x) in known else SimulatedTensor(x) if here else x

        made = _each(wrapped, made)
        if here or theirs:
            waits_not = inner.get("non_blocking", operation in INTO and args[2:] == [True])
            self._note(operation, given, made, waits_not)
        return made

    def _check_one_device(self, operation, given):
        """Raise MixedDevicesError where a GPU would; scalars may be on any device."""
        theirs = [isinstance(x, SimulatedTensor) for x in given]
        others = [tuple(x.shape) for x in given if not isinstance(x, SimulatedTensor) and x.dim()]
        into_cpu = operation is aten.index.Tensor and not theirs[0]
        if any(theirs) and others and (operation not in MAY_MIX or into_cpu):
            raise MixedDevicesError(
                f"{operation}: tensors of {NAME} and, of these shapes, of the CPU: {others}"
            )

    def _note(self, operation, given, made, waits_not):
        """Track whether the CPU had to wait; `waits_not` is that of a copy, of pinned memory."""
        copied = (
            operation in MAY_MIX
            and len({isinstance(x, SimulatedTensor) for x in (*given, *_list_tensors(made))}) > 1
            and not waits_not
        )
        masked = operation is aten.index.Tensor and any(x.dtype == torch.bool for x in given[1:])
        self.busy = not (operation in AWAITED or copied or masked)
        self.waits += not self.busy
        if self._graph is not None and not self.busy:
            raise SynchronizationError(f"{operation} makes the CPU wait")


class _Generator(torch.Generator):
    """Generator for one device, `of`, which samples on the CPU."""

    of: str

    def __new__(cls, device="cpu"):
        made = super().__new__(cls)
        made.of = torch.device(device).type
        return made

    def get_state(self):
        """Return the state, which has another size for the device than for the CPU, as on a GPU."""
        state = super().get_state()
        return torch.cat([state, state[:1]]) if self.of == NAME else state

    def set_state(self, state):
        """Set the state; raise RuntimeError for one of the other device."""
        if state.shape != self.get_state().shape:
            raise RuntimeError("RNG state is wrong size")
        super().set_state(state[:-1].contiguous() if self.of == NAME else state)


class _Drawing(TorchFunctionMode):
    """Function mode that checks that a generator samples for its own device."""

    def __torch_function__(self, function, types, args=(), kwargs=None):
        drawn = function(*args, **(kwargs or {}))
        of = getattr((kwargs or {}).get("generator"), "of", None)
        if of is not None and isinstance(drawn, torch.Tensor) and drawn.device.type != of:
            raise MixedDevicesError(
                f"{function}: a generator of {of} and a tensor of {drawn.device}"
            )
        return drawn


@contextmanager
def simulate_device():
    """Provide the simulated device in this context."""
    _register()
    before = torch.__future__.get_overwrite_module_params_on_conversion()
    with ExitStack() as stack:
        # `Module.to` makes new parameters, as of another class they have to be
        torch.__future__.set_overwrite_module_params_on_conversion(True)
        stack.callback(torch.__future__.set_overwrite_module_params_on_conversion, before)
        stack.enter_context(torch.autograd.set_multithreading_enabled(False))
        stack.enter_context(patch.object(torch, "Generator", _Generator))
        stack.enter_context(_Drawing())
        yield stack.enter_context(DeviceSimulator())


@contextmanager
def simulate_graphs(simulator):
    """Have captured steps on the device record and replay graphs in this context, as on a GPU."""
    original = CapturedStep.__init__

    def set_up(self, function, device, *args, **kwargs):
        original(self, function, device, *args, **kwargs)
        self._uses_graph = device.type == NAME and kwargs.get("is_capturable", True)
        self._stream = MagicMock()

    with ExitStack() as stack:
        for owner, name, stand_in in (
            (CapturedStep, "__init__", set_up),
            (torch.cuda, "CUDAGraph", SimulatedGraph),
            (torch.cuda, "graph", simulator.recording),
            (torch.cuda, "Stream", MagicMock),
            (torch.cuda, "current_stream", MagicMock),
            (torch.cuda, "stream", nullcontext),
        ):
            stack.enter_context(patch.object(owner, name, stand_in))
        yield


@cache
def _register():
    """Register the device with torch, which is possible once per process."""
    _setup_privateuseone_for_python_backend(NAME)
