"""All private or unstable names of JAX and jaxlib that the runtime uses.

The only module that knows such names. Each use says what it relies on; the tests run it
on the oldest and the newest supported jax.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import sys
import threading
from collections.abc import Mapping, Sequence
from typing import Any, Final

from ...ending import end_threads
from ...errors import ArgumentError
from ...host.host_arrays import writable
from ...installed import entry_points
from ...interrupts import Deferred, Postponed
from ...jaxprs.tracing import load, versions, x64
from ...settings import tuning
from ...startup import starting
from ..backend import Executable
from .flags import check_flags
from .jax_targets import DeviceTarget

_lock = threading.Lock()
_device: Any = None
_client: Any = None
_device_list: Any = None
_sharding: Any = None
_put: Any = None
#: the arguments of :func:`join`, from the moment on when there are several processes
_joined: Final[list[Any]] = []

#: names the device that programs run on, such as "cpu:4"; the first of JAX's default platform if
#: it is not set
DEVICE: Final = "LAZYLOOM_DEVICE"

#: XLA's options for every program. A bfloat16 result is rounded where the program says so,
#: whether or not it is read there.
XLA_OPTIONS = [("xla_allow_excess_precision", "False")]


def _start() -> None:
    global _device, _client, _device_list, _sharding, _put
    load()
    # a signal handler that computes arrays would wait for the lock
    with Deferred(True), _lock, starting():
        if _client is not None:
            return
        import jax
        from jaxlib import _jax

        check_flags()
        with x64():
            # those of this process: the first of all may belong to another one
            _device = _default_device(_local_devices(jax))
            _device_list = _jax.DeviceList((_device,))
            _sharding = jax.sharding.SingleDeviceSharding(_device)
            _put = getattr(_jax, "batched_device_put", None)
            _client = _device.client
    # before JAX, which takes the client apart
    atexit.register(end_threads)


def _local_devices(jax: Any) -> Sequence[Any]:
    """Return JAX's devices. Raises ArgumentError where ``JAX_PLATFORMS`` asks for others."""
    try:
        found: Sequence[Any] = jax.local_devices()
    except Exception as error:
        wanted = os.environ.get("JAX_PLATFORMS", "")
        if wanted in ("", "cpu"):
            raise
        raise ArgumentError(
            f"the environment variable JAX_PLATFORMS is {wanted!r}, and JAX can start none of "
            f"these ({str(error) or type(error).__name__}); expected platforms of this machine, "
            "such as 'cpu': correct it or unset it") from error
    return found


def devices_of_processes() -> list[Any]:
    """Return the devices of all processes, by rank and then by number."""
    return sorted(client().devices(), key=lambda d: (d.process_index, d.id))


def device_counts() -> list[int]:
    """Return how many devices each process has, by rank."""
    ranks = [d.process_index for d in client().devices()]
    return [ranks.count(rank) for rank in sorted(set(ranks))]


def on_thread(function: Any, arguments: tuple[Any, ...]) -> Any:
    """Return the result of a call that waits for other processes; raises if that never comes."""
    return _joined[1](function, arguments) if _joined else function(*arguments)


def _default_device(devices: Sequence[Any]) -> Any:
    """Return the device that LAZYLOOM_DEVICE names, else the first. Raises ArgumentError."""
    wanted = os.environ.get(DEVICE)
    if not wanted:
        return devices[0]
    names = [name_of(d, devices) for d in devices]
    if wanted not in names:
        raise ArgumentError(
            f"the environment variable {DEVICE} is {wanted!r}, expected one of {', '.join(names)}")
    return devices[names.index(wanted)]


def name_of(device: Any, devices: Sequence[Any]) -> str:
    """Return the name of one of the client's devices, such as "cpu:3"."""
    return f"{device.platform}:{devices.index(device)}"


def client() -> Any:
    """Return the XLA client of JAX's default device; starts it on first use."""
    if _client is None:
        _start()
    return _client


def device() -> Any:
    """Return the JAX device that programs run on."""
    if _client is None:
        _start()
    return _device


def on_other_device() -> bool:
    """Return True if programs run elsewhere than on this machine's processor.

    The client is not started where the environment answers this: starting it takes longer than
    many a program.
    """
    if not _elsewhere:
        _elsewhere.append(_other_device())
    return _elsewhere[0]


#: the answer of :func:`on_other_device`, which reads and small programs ask for each time
_elsewhere: Final[list[bool]] = []


def _other_device() -> bool:
    if _client is None and os.environ.get("JAX_PLATFORMS", "") == "cpu":
        return False
    if _client is None and not os.environ.get("JAX_PLATFORMS"):
        from importlib.util import find_spec

        if not entry_points("jax_plugins") and find_spec("jax_plugins") is None and (
            find_spec("libtpu") is None
        ):
            return False
    return bool(device().platform != "cpu")


def device_text() -> str:
    """Return platform and kind of the device, such as ``cpu: cpu``."""
    d = device()
    return f"{d.platform}: {d.device_kind}"


def compiler_options() -> list[tuple[str, str]]:
    """Return the options of XLA for every program; they override ``XLA_FLAGS``."""
    on_cpu = device().platform == "cpu"
    if not on_cpu:
        return XLA_OPTIONS
    # a signal handler that computes arrays would find a half-imported module
    with Deferred(True):
        from .compiler_defects import options

    return XLA_OPTIONS + options(versions()["jaxlib"])


def _of_default_device() -> Any:
    """Return XLA's options for a program of the default device."""
    from jaxlib import xla_client

    options = xla_client.CompileOptions()
    if device().id:
        import numpy as np

        options.executable_build_options.device_assignment = (
            xla_client.DeviceAssignment.create(np.array([[device().id]])))
    return options


def compile_text(text: str, target: DeviceTarget | None = None) -> Any:
    """Compile a StableHLO module given as text, for the default device if no target is given."""

    from . import compiler_defects, extrema, reductions

    if "@lapack_" in text:
        _find_lapack()
    jaxlib = versions()["jaxlib"]
    text = compiler_defects.guarded(text, jaxlib)
    if device().platform == "cpu":
        if compiler_defects.ynnpack_fuses(jaxlib):
            text = reductions.extrema_in_blocks(extrema.of_integers(text))
        else:
            text = reductions.in_blocks(text)
    c = client()
    options = _of_default_device() if target is None else target.options()
    options.env_option_overrides = compiler_options()
    devices = _device_list if target is None else target.device_list()
    return c.compile_and_load(text, devices, options)


def memory_needed(executable: Any) -> int:
    """Return the bytes that a run needs: results and temporaries, less the donated memory."""
    stats = executable.get_compiled_memory_stats()
    return int(stats.output_size_in_bytes - stats.alias_size_in_bytes + stats.temp_size_in_bytes)


def serialize(executable: Any) -> bytes:
    """Return the executable's machine code; no pickle, no trace."""
    return bytes(client().serialize_executable(executable))


def _find_lapack() -> None:
    """Make jaxlib look up LAPACK's routines.

    JAX does so when it lowers a call of one, which may have happened in another process; without
    it the call jumps to address 0.
    """
    from jaxlib import lapack

    lapack._lapack.initialize()


#: the handlers of custom calls that XLA knows, by name
_handlers: Final[dict[str, Any]] = {}


def know_call(name: str, handler: Any) -> None:
    """Register with XLA the FFI handler of a custom call, a capsule, before a program uses it."""
    load()
    with Deferred(True), _lock:
        if name not in _handlers:
            import jax.ffi

            jax.ffi.register_ffi_target(name, handler, platform="cpu", api_version=1)
            _handlers[name] = handler


def deserialize(data: bytes, target: DeviceTarget | None = None) -> Any:
    """Return an executable from the bytes of :func:`serialize`, which must be trusted."""
    c = client()  # before jaxlib: JAX determines what it may print
    if b"lapack_" in data:
        _find_lapack()
    if target is not None:
        return c.deserialize_executable(data, target.device_list(), target.options())
    return c.deserialize_executable(data, _device_list, _of_default_device())


#: whether programs run by ``jax.jit``'s C++ dispatch; False once it has turned out not to fit
fast_dispatch = True
#: whether a program has run by it in this process
_fast_proven = False


def _takes_long(executable: Any) -> bool:
    """Return True if XLA hands a program over to its threads, and never runs it in the call."""
    try:
        return float(executable.cost_analysis()["flops"]) >= 1000
    except Exception:
        return False


class LoadedProgram(Executable):
    """A loaded executable that runs as cheaply as a function of ``jax.jit``.

    ``run`` is the C++ dispatch of ``jax.jit`` built around the executable, where this jaxlib has
    it in a form that is known here; otherwise, and once for each kind of argument, the
    executable's own ``execute_sharded``. ``direct`` says whether it is the C++ dispatch itself.
    """

    __slots__ = ("executable", "_slow", "_fast", "_returns_at_once")

    def __init__(
        self, executable: Any, inputs: int, outputs: Sequence[tuple[tuple[int, ...], Any]],
        needs: int = 0, timings: Mapping[str, float] | None = None,
        shardings: tuple[Sequence[Any], Sequence[Any]] | None = None, joined: bool = False,
    ) -> None:
        self.executable = executable
        self._returns_at_once = joined and _takes_long(executable)
        self.finished = None
        self.needs = needs
        self.timings = timings or {}
        self._slow = slow = _Slow(executable, inputs, outputs) if shardings is None else (
            _Sharded(executable, inputs, outputs, *shardings))
        self._fast: Any = _dispatcher(slow) if fast_dispatch and not joined else None
        self.run: Any = slow.run
        self.direct = False
        if joined:
            # JAX's own dispatch takes arrays of all replicas
            self.run = self._run_together
        if self._fast is not None:
            self.direct = _fast_proven
            self.run = self._fast if _fast_proven else self._try

    def _run_together(self, *arguments: Any) -> list[Any]:
        """Run; the last result only says that all have ended.

        XLA runs what is short before it returns, and would wait for the other processes therein.
        """
        if self._returns_at_once:
            results = self._slow.run(*arguments)
        else:
            results = _joined[1](self._slow.run, arguments)
        self.finished = results.pop()
        return results

    def _try(self, *arguments: Any) -> list[Any]:
        """Run by the C++ dispatch before it is proven in this process: no results may be lost."""
        global _fast_proven
        if fast_dispatch:
            _first.started, _first.results = False, None
            try:
                out: list[Any] = self._fast(*arguments)
                if not _first.started:
                    # it ran without a cache miss
                    _fast_proven = True
                    self.run = self._fast
                    self.direct = True
                return out
            except Exception:
                if _first.started and _first.results is None:
                    raise
                out = _first.results or self._slow.run(*arguments)
                _no_fast_dispatch()
                return out
            finally:
                _first.results = None
        self.run = self._slow.run
        return self._slow.run(*arguments)

    def serialize(self) -> bytes:
        """Return the executable's machine code; no pickle, no trace."""
        return serialize(self.executable)


_first = threading.local()


class _Slow:
    """The executable's own way to run, and the callback of the C++ dispatch on a cache miss."""

    __slots__ = ("executable", "inputs", "outputs")

    def __init__(
        self, executable: Any, inputs: int, outputs: Sequence[tuple[tuple[int, ...], Any]]
    ) -> None:
        self.executable = executable
        self.inputs = inputs
        self.outputs = outputs

    def run(self, *arguments: Any) -> list[Any]:
        results = self.executable.execute_sharded(list(arguments))
        return [shards[0] for shards in results.disassemble_into_single_device_arrays()]

    def miss(self, *arguments: Any) -> tuple[list[Any], Any, bool]:
        """Run, and return how the C++ dispatch can run arguments of this kind by itself."""
        with Postponed():
            _first.started = True
            out = self.run(*arguments)
            data = None
            if fast_dispatch:
                if not _fast_proven:
                    _first.results = out
                try:
                    data = self._data()
                except Exception:
                    _no_fast_dispatch()
        return out, data, False

    def shardings(self) -> tuple[Sequence[Any], Sequence[Any]]:
        """Return the shardings of the inputs and of the outputs."""
        return [_sharding] * self.inputs, [_sharding] * len(self.outputs)

    def _data(self) -> Any:
        from jax._src import tree_util
        from jax._src.interpreters import pxla

        n, m = self.inputs, len(self.outputs)
        inputs, outputs = self.shardings()
        tree = tree_util.dispatch_registry.flatten([0] * m)[1]
        return pxla.MeshExecutableFastpathData(
            xla_executable=self.executable, out_pytree_def=tree, in_shardings=list(inputs),
            out_shardings=list(outputs), out_avals=[_aval(s, d) for s, d in self.outputs],
            out_committed=[True] * m, kept_var_bitvec=[True] * n,
            in_device_local_layouts=[None] * n, const_args=[])


class _Sharded(_Slow):
    """The same for a program on another device than the default one, or on a mesh."""

    __slots__ = ("of_inputs", "of_outputs")

    def __init__(
        self, executable: Any, inputs: int, outputs: Sequence[tuple[tuple[int, ...], Any]],
        of_inputs: Sequence[Any], of_outputs: Sequence[Any],
    ) -> None:
        super().__init__(executable, inputs, outputs)
        self.of_inputs = of_inputs
        self.of_outputs = of_outputs

    def shardings(self) -> tuple[Sequence[Any], Sequence[Any]]:
        return self.of_inputs, self.of_outputs

    def run(self, *arguments: Any) -> list[Any]:
        import jax

        results = self.executable.execute_sharded(list(arguments))
        shards = results.disassemble_into_single_device_arrays()
        with x64():
            made = [
                jax.make_array_from_single_device_arrays(shape, sharding, parts)
                for (shape, _), sharding, parts in zip(self.outputs, self.of_outputs, shards)]
        # of several processes: what says that all have ended
        return made + [parts[0] for parts in shards[len(made):]]


def _no_fast_dispatch() -> None:
    global fast_dispatch
    fast_dispatch = False


def _dispatcher(slow: _Slow) -> Any:
    """Return the C++ dispatch of ``jax.jit`` (and of its compiled programs) around an executable.

    Relies on ``jaxlib._jax.pjit``'s parameters and on what it expects of a cache miss, as in
    ``jax._src.interpreters.pxla.MeshExecutable.create_cpp_call``. None where they differ.
    """
    try:
        from jax._src import tree_util
        from jax._src.interpreters import pxla
        from jaxlib import _jax

        return _jax.pjit(
            "lazyloom", slow.run, slow.miss, [], [], pxla.JitGlobalCppCacheKeys(),
            tree_util.dispatch_registry, pxla.cc_shard_arg)
    except Exception:
        _no_fast_dispatch()
        return None


_avals: dict[tuple[tuple[int, ...], Any], Any] = {}


def _aval(shape: tuple[int, ...], dtype: Any) -> Any:
    """Return JAX's description of an array of a shape and NumPy dtype."""
    key = (shape, dtype)
    aval = _avals.get(key)
    if aval is None:
        from jax._src import core

        if len(_avals) >= tuning.array_types_kept:
            _avals.clear()
        aval = _avals[key] = core.ShapedArray(shape, dtype)
    return aval


#: whether arrays are uploaded by the C++ function that ``jax.device_put`` calls
fast_upload = True


def upload(array: Any) -> Any:
    """Return a device array of a NumPy array's data, of exactly its dtype.

    The array's memory may be used in place, so it must be private.
    """
    global fast_upload
    if fast_upload:
        if _client is None:
            _start()
        try:
            # keeps 64-bit types, whatever JAX's configuration says
            return _put(_aval(array.shape, array.dtype), _sharding, [array], [_device], True,
                        enable_x64=True)
        except (TypeError, AttributeError, ImportError):
            fast_upload = False
    with x64():
        import jax

        return jax.device_put(array, device())


def lower_text(fn: Any, arguments: Sequence[Any]) -> tuple[str, list[tuple[tuple[int, ...], str]]]:
    """Return the StableHLO text of ``fn`` for (shape, NumPy dtype) arguments, and its result types.
    """
    with x64():
        import jax

        shaped = [jax.ShapeDtypeStruct(shape, dtype) for shape, dtype in arguments]
        lowered = jax.jit(fn, keep_unused=True).lower(*shaped)
        out = jax.tree_util.tree_leaves(lowered.out_info)
        return lowered.as_text(), [(tuple(o.shape), str(o.dtype)) for o in out]


def run_step(
    step: Any, operands: Sequence[Any], changed: Mapping[str, Any] | None = None
) -> list[Any]:
    """Run one equation of a jaxpr on other operands, with parameters changed."""
    bound = step.primitive.get_bind_params({**step.params, **(changed or {})})
    # functions that the step calls come separately from its parameters, or among them
    functions, parameters = bound if isinstance(bound, tuple) else ((), bound)
    out = step.primitive.bind(*functions, *operands, **parameters)
    return list(out) if step.primitive.multiple_results else [out]


def device_copy(array: Any) -> Any:
    """Return a device array of the same data in memory of its own."""
    with x64():
        import jax.numpy as jnp

        return jnp.array(array, copy=True)


#: not empty once an array was divided over several devices: C++ reads the first part of such a one
sharded: Final[list[None]] = []


def _is_sharded(array: Any) -> bool:
    """Return True if an array is divided; asked for nothing before one was, as reads are short."""
    return len(array.sharding.device_set) > 1


#: whether results are read by the C++ function that ``numpy.asarray`` calls, which copies once
fast_read = True


def to_host(array: Any) -> Any:
    """Return the data as a new NumPy array; waits, and raises the run's error if it failed."""
    global fast_read
    wait(array)  # raises; reading the result of a failed run ends the process
    if fast_read and not (sharded and _is_sharded(array)):
        try:
            data, copied = array._single_device_array_to_np_array_did_copy()
            return data if copied and data.flags.writeable else data.copy()
        except AttributeError:
            fast_read = False
    import numpy as np

    return np.array(np.asarray(array))


#: the C type of one element in the processor's memory, by dtype
_ELEMENTS: Final[dict[str, Any]] = {
    "bool": ctypes.c_bool, "int8": ctypes.c_int8, "int16": ctypes.c_int16,
    "int32": ctypes.c_int32, "int64": ctypes.c_int64, "uint8": ctypes.c_uint8,
    "uint16": ctypes.c_uint16, "uint32": ctypes.c_uint32, "uint64": ctypes.c_uint64,
    "float32": ctypes.c_float, "float64": ctypes.c_double,
}
#: whether a number is read in place, which is faster than through a NumPy array
fast_number = True


def number(array: Any, dtype: str) -> Any:
    """Return the only element as a Python number; None where :func:`to_host` must read it.

    Waits, and raises the run's error if it failed.
    """
    global fast_number
    element = _ELEMENTS.get(dtype)
    if element is None or not fast_number or sharded and _is_sharded(array):
        return None
    wait(array)
    try:
        if device().platform != "cpu":
            fast_number = False
            return None
        value = element.from_address(array.unsafe_buffer_pointer()).value
        # if it is not deleted now, it was not deleted while it was read
        return None if array.is_deleted() else value
    except AttributeError:
        fast_number = False
        return None


def host_view(array: Any) -> Any:
    """Return the data as a NumPy array that may be the device's memory; waits, and raises as above.
    """
    wait(array)
    if fast_read and not (sharded and _is_sharded(array)):
        try:
            return array._single_device_array_to_np_array_did_copy()[0]
        except AttributeError:
            pass
    import numpy as np

    return np.asarray(array)


def given_up(array: Any) -> Any:
    """Return the data of an array that nothing uses again, in its own memory if that is the host's.

    NumPy sees memory of JAX as read-only. No run is using it, and none will.
    """
    view = host_view(array)
    if view.flags.writeable or view.flags.owndata or not view.flags.c_contiguous:
        return to_host(array)
    return writable(view)


def wait(array: Any) -> None:
    """Wait until the array is computed; raises the run's error if it failed."""
    if _joined:
        # nothing can interrupt XLA when it waits for another process, which may have ended
        _joined[0](array)
    array.block_until_ready()


def join(waiting: Any, running: Any) -> None:
    """From now on there are several processes.

    ``waiting(array)`` returns when it is computed, ``running(function, arguments)`` what the
    function returns, which waits for other processes; both raise if that never happens. Raises
    RuntimeError if the client is there already.
    """
    if _client is not None:
        raise RuntimeError("XLA has been started")
    _joined.extend([waiting, running])


def started() -> bool:
    """Return True if XLA's client has been started, by this package or by the program itself."""
    xla_bridge = sys.modules.get("jax._src.xla_bridge")
    return _client is not None or bool(getattr(xla_bridge, "_backends", None))


def is_ready(array: Any) -> bool:
    """Return True if the array is computed, or failed; does not wait."""
    return bool(array.is_ready())


def _row_major(array: Any) -> bool:
    """Return True if the elements are in memory in the order that programs take."""
    order = array.format.layout.major_to_minor
    return tuple(order) == tuple(range(array.ndim))


class _HostMemory:
    """An object of the DLPack protocol in the host's memory, as one of the default device.

    All of the processor's devices can use that memory. JAX takes it for that of the device whose
    number the object says, which of host memory is always 0.
    """

    __slots__ = ("source",)

    def __init__(self, source: Any) -> None:
        self.source = source

    def __dlpack__(self, **options: Any) -> Any:
        # that memory has no streams, and not everybody's function takes one
        options.pop("stream", None)
        return self.source.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return _HOST, int(device().local_hardware_id)


#: DLPack's device type of host memory
_HOST: Final = 1


def from_dlpack(source: Any, copy: bool | None) -> Any:
    """Return a device array of the data of any object of the DLPack protocol.

    For ``copy=None`` it shares memory where it can, for False always (or raises), for True never.
    """
    with x64():
        import jax.dlpack

        if device().platform == "cpu" and device().local_hardware_id and (
            source.__dlpack_device__()[0] == _HOST
        ):
            source = _HostMemory(source)
        # JAX's copy may not copy
        array = jax.dlpack.from_dlpack(source, copy=None if copy else copy)
        if array.devices() != {device()}:
            if copy is False:
                raise ValueError(
                    f"the memory is that of {', '.join(map(str, array.devices()))}, which "
                    f"{device()} does not share")
            return jax.device_put(array, device()).block_until_ready()
        # JAX keeps another order of the elements in memory, which programs do not expect
        if not copy and (array.ndim < 2 or _row_major(array)):
            return array
        if copy is False:
            raise ValueError("the memory is not in row-major order")
        # it must be finished before the source is written to
        return device_copy(array).block_until_ready()
