"""Simulated device `torch.device("simulated")`: it computes on the CPU and fails where a GPU fails.

Its tensors wrap CPU tensors. Mixing them with CPU tensors or passing them to NumPy raises an error,
as on a GPU, so learners can be tested without one.

After `simulate_device`, torch takes the device for the accelerator of the machine until the process
ends. So `test_simulated_device.py` runs the tests of this device in processes of their own.
"""

from contextlib import ExitStack, contextmanager, nullcontext
from functools import cache
from unittest.mock import MagicMock, patch

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

from poker_rl.learning.cuda_graphs import CapturedStep

DEVICE = "simulated"
aten = torch.ops.aten

COPY_INTO = {aten.copy_.default, aten._foreach_copy_.default}
# Operations whose inputs may be on two devices: copies, and indexing with indices on the CPU.
MAY_MIX = {*COPY_INTO, aten._to_copy.default, aten.index.Tensor}
# The CPU waits for operations that return a number, or a tensor whose size depends on values.
WAITING = "_local_scalar_dense", "_unique2", "bincount", "equal", "masked_select", "nonzero"
WAITING = {*(getattr(aten, name).default for name in WAITING), aten.repeat_interleave.Tensor}


GATES = (torch.sigmoid, torch.sigmoid, torch.tanh, torch.sigmoid)


def _lstm_cell(inputs, hidden, cell, input_bias, hidden_bias):
    """Return state and cell after a step, [B, units], and the gates i, f, g, o, [B, 4 * units]."""
    gates = (inputs + hidden + input_bias + hidden_bias).chunk(4, 1)
    i, f, g, o = (activate(gate) for activate, gate in zip(GATES, gates, strict=True))
    cell = f * cell + i * g
    return o * cell.tanh(), cell, torch.cat([i, f, g, o], 1)


def _lstm_cell_backward(grad_state, grad_cell, cell, next_cell, activations, has_bias):
    """Return the gradients of the gates before activation, of the cell, and of a bias."""
    i, f, g, o = activations.chunk(4, 1)
    tanh = next_cell.tanh()
    d_cell = torch.zeros_like(cell) if grad_cell is None else grad_cell
    d_o = torch.zeros_like(cell)
    if grad_state is not None:
        d_cell = d_cell + grad_state * o * (1 - tanh**2)
        d_o = grad_state * tanh * o * (1 - o)
    d_i = d_cell * g * i * (1 - i)
    d_f = d_cell * cell * f * (1 - f)
    d_g = d_cell * i * (1 - g**2)
    d_gates = torch.cat([d_i, d_f, d_g, d_o], 1)
    return d_gates, d_cell * f, d_gates.sum(0)


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
    __torch_function__ = torch._C._disabled_torch_function_impl  # torch must not wrap results

    @staticmethod
    def __new__(cls, inner):
        created = torch.Tensor._make_wrapper_subclass(
            cls,
            inner.shape,
            strides=inner.stride(),
            storage_offset=inner.storage_offset(),
            dtype=inner.dtype,
            device=f"{DEVICE}:0",  # tensors of "cuda" are on "cuda:0"
        )
        created.inner = inner
        return created

    @classmethod
    def __torch_dispatch__(cls, operation, types, args=(), kwargs=None):
        raise RuntimeError(f"{operation}: the device {DEVICE} was left")

    def numpy(self, *, force=False):
        """Raise TypeError, as for every device but the CPU."""
        raise TypeError(f"can't convert {DEVICE} device type tensor to numpy. Use Tensor.cpu()")

    def tolist(self):
        """Return a list; torch's method does not support wrapper subclasses."""
        return self.cpu().tolist()

    @property
    def data(self):
        """Return the tensor without gradient; torch's property would lose `inner`."""
        return self.detach()

    def __deepcopy__(self, memo):
        """Return a copy with its own memory; the copy of a parameter is a parameter."""
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


def _map_tensors(change, tree):
    """Apply `change` to tensors in nested sequences; torch's `tree_map` takes ten times as long."""
    if isinstance(tree, torch.Tensor):
        return change(tree)
    if isinstance(tree, list | tuple):
        return type(tree)([_map_tensors(change, x) for x in tree])
    return tree


class SimulatedGraph:
    """Recorded operations that `replay` runs again on the same memory, as a CUDA graph does.

    Unlike a GPU, the simulator already runs operations while it records them; so the first replay
    does nothing. A replayed copy reads or writes the memory of the CPU tensor that was recorded.
    """

    def __init__(self):
        self._calls = []
        self.replays = 0

    def register_generator_state(self, generator):
        """Do nothing: recorded operations refer to their generators, so replays use them."""

    def add(self, operation, args, kwargs, results):
        """Record an operation with its arguments and results, whose tensors are on the CPU."""
        self._calls.append((operation, args, kwargs, results))

    def replay(self):
        """Run the recorded operations."""
        self.replays += 1
        if self.replays == 1:
            return
        with _disable_current_modes(), torch.no_grad():
            for operation, args, kwargs, results in self._calls:
                fresh = ONLY_ON_GPUS.get(operation, operation)(*args, **kwargs)
                for old, new in zip(_list_tensors(results), _list_tensors(fresh), strict=True):
                    # views and in-place results share the recorded memory: nothing to copy
                    if old.untyped_storage().data_ptr() != new.untyped_storage().data_ptr():
                        old.copy_(new)


def _list_tensors(tree):
    """Return the tensors in nested lists and tuples."""
    tensors = []
    _map_tensors(lambda x: tensors.append(x) or x, tree)
    return tensors


class DeviceSimulator(TorchDispatchMode):
    """Dispatch mode that runs the operations of the simulated device on the CPU.

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
        inputs = []

        def unwrap(x):
            inputs.append(x)
            return x.inner if isinstance(x, SimulatedTensor) else x

        args = [_map_tensors(unwrap, x) for x in args]
        inner = {key: _map_tensors(unwrap, x) for key, x in (kwargs or {}).items()}
        simulated = [x for x in inputs if isinstance(x, SimulatedTensor)]
        self._check_one_device(operation, inputs)
        requested = inner.get("device")
        on_device = bool(simulated) if requested is None else torch.device(requested).type == DEVICE
        if on_device and requested is not None:
            inner["device"] = torch.device("cpu")
        out = ONLY_ON_GPUS.get(operation, operation)(*args, **inner)
        if self._graph is not None and (on_device or simulated):
            simulated_ids = {id(x.inner) for x in simulated}

            def copy_number(x):
                """Copy a CPU scalar: a graph keeps its value, but the address of other tensors."""
                is_number = not x.dim() and id(x) not in simulated_ids and operation not in MAY_MIX
                return x.clone() if is_number else x

            self._graph.add(operation, [_map_tensors(copy_number, x) for x in args], inner, out)

        # the result of an in-place operation is its input, which must not be wrapped twice
        known = {id(x): x for x in inputs} | {id(x.inner): x for x in simulated}

        def wrap(x):
            return known[id(x)] if id(x) in known else SimulatedTensor(x) if on_device else x

        out = _map_tensors(wrap, out)
        if on_device or simulated:
            is_async = inner.get("non_blocking", operation in COPY_INTO and args[2:] == [True])
            self._track_waits(operation, inputs, out, is_async)
        return out

    def _check_one_device(self, operation, inputs):
        """Raise MixedDevicesError if a GPU can't mix these inputs; scalars may be anywhere."""
        is_simulated = [isinstance(x, SimulatedTensor) for x in inputs]
        shapes = [tuple(x.shape) for x in inputs if not isinstance(x, SimulatedTensor) and x.dim()]
        indexes_cpu = operation is aten.index.Tensor and not is_simulated[0]
        if any(is_simulated) and shapes and (operation not in MAY_MIX or indexes_cpu):
            raise MixedDevicesError(
                f"{operation}: tensors of {DEVICE} and, of these shapes, of the CPU: {shapes}"
            )

    def _track_waits(self, operation, inputs, out, is_async):
        """Update `busy` and `waits`; a copy between devices waits unless `is_async`."""
        copied = (
            operation in MAY_MIX
            and len({isinstance(x, SimulatedTensor) for x in (*inputs, *_list_tensors(out))}) > 1
            and not is_async
        )
        masked = operation is aten.index.Tensor and any(x.dtype == torch.bool for x in inputs[1:])
        self.busy = not (operation in WAITING or copied or masked)
        self.waits += not self.busy
        if self._graph is not None and not self.busy:
            raise SynchronizationError(f"{operation} makes the CPU wait")


class _Generator(torch.Generator):
    """Generator for one type of device, which samples on the CPU."""

    device_type: str

    def __new__(cls, device="cpu"):
        created = super().__new__(cls)
        created.device_type = torch.device(device).type
        return created

    def get_state(self):
        """Return the state, which has another size for the device than for the CPU, as on a GPU."""
        state = super().get_state()
        return torch.cat([state, state[:1]]) if self.device_type == DEVICE else state

    def set_state(self, state):
        """Set the state; raise RuntimeError if it comes from a generator of the other device."""
        if state.shape != self.get_state().shape:
            raise RuntimeError("RNG state is wrong size")
        super().set_state(state[:-1].contiguous() if self.device_type == DEVICE else state)


class _GeneratorCheck(TorchFunctionMode):
    """Function mode that checks that a generator samples for its own device."""

    def __torch_function__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        device = getattr((kwargs or {}).get("generator"), "device_type", None)
        if device is not None and isinstance(result, torch.Tensor) and result.device.type != device:
            raise MixedDevicesError(
                f"{function}: a generator of {device} and a tensor of {result.device}"
            )
        return result


@contextmanager
def simulate_device():
    """Provide the simulated device in this context."""
    _register()
    before = torch.__future__.get_overwrite_module_params_on_conversion()
    with ExitStack() as stack:
        # `Module.to` has to create new parameters, because tensors of the device have another class
        torch.__future__.set_overwrite_module_params_on_conversion(True)
        stack.callback(torch.__future__.set_overwrite_module_params_on_conversion, before)
        stack.enter_context(torch.autograd.set_multithreading_enabled(False))
        stack.enter_context(patch.object(torch, "Generator", _Generator))
        stack.enter_context(_GeneratorCheck())
        yield stack.enter_context(DeviceSimulator())


@contextmanager
def simulate_graphs(simulator):
    """Make each `CapturedStep` on the device record and replay a graph in this context."""
    original_init = CapturedStep.__init__

    def init_with_graph(self, function, device, *args, **kwargs):
        original_init(self, function, device, *args, **kwargs)
        self._uses_graph = device.type == DEVICE and kwargs.get("is_capturable", True)
        self._stream = MagicMock()

    with ExitStack() as stack:
        for owner, name, stand_in in (
            (CapturedStep, "__init__", init_with_graph),
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
    _setup_privateuseone_for_python_backend(DEVICE)
