"""Engines of regions: generators build them, and they live as long as a program calls them."""

from __future__ import annotations

import hashlib
import importlib
import threading
import weakref
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from ....cache import memory
from ....codegen.claims import not_built
from ....codegen.faults import Failure, failed, raised
from ....codegen.generator import Code, CSource, NativeCode, PythonCode
from ....codegen.passes import prepared
from ....counters import counters
from ....foreign import Foreign
from ....host.c_source.library import CompilerError
from ....host.find import kernel_of
from ....host.subnormals import flushing
from ....interrupts import at_end, reraise_from_handler
from ....program.program import Instruction
from ....program.stream import Leaf, Result
from ....settings import tuning
from ....trace.scalars import Baked
from ....types import TensorType, tensor_type
from ...backend import NotLoaded
from ..jax_compat import know_call
from . import stored
from .c_compiler import library_of
from .region_op import TARGET, Called, Compared, extents_type
from .time_limit import within


def _extension() -> Any:
    try:
        return importlib.import_module("lazyloom._regions")
    except ImportError:
        return None


_regions: Final = _extension()


def available() -> str:
    """Return why no region can be called on this installation, or ""."""
    return "" if _regions is not None else (
        "what calls regions was not compiled: install with a C compiler")


def pages_handler() -> Any:
    """Return the XLA FFI handler of the call that asks for large pages, a capsule."""
    return _regions.pages_handler()


def call_them() -> None:
    """Register with XLA the handler that calls regions, which closes before the interpreter does.
    """
    know_call(TARGET, _regions.handler())
    if _regions.close not in at_end:
        at_end.append(_regions.close)


class NotBuilt(NotLoaded):
    """Regions could not be built; this is remembered, and XLA runs them from now on.

    Attributes:
        built: the engines of the program's other regions, for the next try.
    """

    built: Sequence[object] = ()


_engines: Final[weakref.WeakValueDictionary[int, Engine]] = weakref.WeakValueDictionary()
_lock: Final = threading.RLock()


class Engine:
    """Runs a region. The program's calls find it by its key while this object lives."""

    __slots__ = ("called", "native", "entries", "__weakref__")

    def __init__(self, called: Called, code: Code) -> None:
        self.called: Final = called
        #: the entries of the disk cache that it comes from, as (kind, description)
        self.entries: tuple[tuple[str, bytes], ...] = ()
        self.native: Final = self._native(code, called.key, True)

    def other(self, code: Code, key: int) -> Any:
        """Register other code for the same region, which lives as long as the returned object."""
        return self._native(code, key, False)

    def _native(self, code: Code, key: int, kept: bool) -> Any:
        called = self.called
        function, state, owner = 0, 0, None
        if isinstance(code, CSource):
            code = _compiled(code)
        if isinstance(code, NativeCode):
            function, state, owner = int(code.function), int(code.state), code.owner
            if not function:
                raise ValueError("the function's address is 0")
        elif isinstance(code, PythonCode):
            owner = code.function if code.fills else _checked(called, code.function)
        else:
            raise TypeError(f"{code!r:.80} was given, expected PythonCode, NativeCode or CSource")
        return native_engine(called, key, function, state, owner, _Fallback(called), kept)


def native_engine(
    called: Called | Compared, key: int, function: int, state: int, owner: Any, failed: Any,
    kept: bool,
) -> Any:  # fmt: skip
    """Return the object that a program's calls of a number reach, as long as it lives."""
    arrays = [(t.dtype.numpy, shape) for t, shape in called.region.in_memory()]
    operands = len(called.region.operands)
    extents = extents_type(called)
    if extents is not None:
        arrays.insert(operands, (extents.dtype.numpy, extents.shape))
        operands += 1
    return _regions.Engine(
        key, tuple(arrays[:operands]), tuple(arrays[operands:]), function, state, owner, failed,
        kept)


def engine_of(called: Called, when: str = "build") -> Engine:
    """Return the engine of a region, built if there is none. Raises NotBuilt."""
    with _lock:
        engine = _engines.get(called.key)
        if engine is not None and engine.called.region.program == called.region.program:
            return engine
        try:
            with stored.noted() as entries:
                engine = _restored(called) or _built(called)
            engine.entries = tuple(entries)
        except Exception as error:
            reraise_from_handler(error)
            problem = failure(called, when, error)
            not_built(problem, called.region)
            raise NotBuilt(problem.error) from error
        _engines[called.key] = engine
        return engine


def _restored(called: Called) -> Engine | None:
    """Return the engine of a region from the bytes that are stored of it; None if that fails."""
    code = stored.restored(called)
    if code is None:
        return None
    try:
        engine = Engine(called, code)
    except Exception as error:
        reraise_from_handler(error)
        failed(failure(called, "restore", error), f"restore {called.key}")
        return None
    counters["engines_restored"] += 1
    return engine


def _built(called: Called) -> Engine:
    """Return the engine of a region, built by its generator within its time, and store it."""
    def build() -> Code:
        with Foreign(f"the code generator {called.generator.name!r}, which builds a region,"):
            return called.generator.build(prepared(called.generator, called.region).region)

    code = within(tuning.build_seconds, build)
    engine = Engine(called, code)
    counters["engines_built"] += 1
    stored.store(called, code)
    return engine


def failure(called: Called, when: str, error: object) -> Failure:
    """Return the record of a failure of a region."""
    name, key = called.generator.name, called.region.program.key
    ops = tuple(call.op for call in called.region.calls)
    if isinstance(error, BaseException):
        return raised(name, key, ops, when, error)
    return Failure(name, key, ops, when, str(error))


def _checked(called: Called, function: Any) -> Any:
    """Wrap a function of operands as one of operands and results that checks what it returns."""
    region = called.region
    operands = len(region.operands)
    inputs = operands + (region.extents is not None)
    owner = f"the code generator {called.generator.name!r}, which runs a region,"
    expected = [(t.dtype.numpy, shape) for t, shape in region.in_memory()[operands:]]

    def run(*arrays: Any) -> None:
        with Foreign(owner):
            returned = function(*arrays[:inputs])
        results = returned if isinstance(returned, (tuple, list)) else (returned,)
        if len(results) != len(expected):
            raise ValueError(f"{len(results)} results were given, expected {len(expected)}")
        for result, (dtype, shape) in zip(results, expected, strict=True):
            array = np.asarray(result)
            if array.dtype != dtype or array.shape != shape:
                raise ValueError(
                    f"a result is {array.dtype}{list(array.shape)}, expected {dtype}{list(shape)}")
        _write(results, arrays[inputs:])

    return run


def _write(results: Sequence[Any], arrays: Sequence[Any]) -> None:
    """Write results into arrays, which may lie where operands do.

    A result may be a view of an operand over which another one is written.
    """
    if len(arrays) > 1:
        results = [np.array(x) if any(np.may_share_memory(x, out) for out in arrays) else x
                   for x in results]
    for result, out in zip(results, arrays, strict=True):
        out[...] = result


#: for each thread, whether it runs ops that a generator failed at
_falling_back: Final = threading.local()


def falling_back() -> bool:
    """Return True if this thread runs ops that a generator failed at, and so uses none."""
    return getattr(_falling_back, "on", False)


class _Fallback:
    """Runs a region whose engine failed, by each op's host kernel."""

    __slots__ = ("called",)

    def __init__(self, called: Called) -> None:
        self.called: Final = called

    def __call__(self, error: object, *arrays: Any) -> None:
        if failed(failure(self.called, "run", error)):
            forget_programs_with(self.called)
        region = self.called.region
        count = len(region.operands)
        shapes = None
        if region.extents is not None:
            shapes = region.shapes([int(n) for n in arrays[count]])
            arrays = (*arrays[:count], *arrays[count + 1 :])
        logical = [_logical(x, layout)
                   for x, layout in zip(arrays, region.layouts, strict=True)]
        if shapes is not None:
            # what lies beyond the extents is anything
            logical = [x[tuple(slice(n) for n in shape)]
                       for x, shape in zip(logical, shapes, strict=True)]
        _falling_back.on = True
        try:
            with np.errstate(all="ignore"), flushing():
                results = by_kernels(self.called, logical[:count])
        finally:
            _falling_back.on = False
        _write(results, logical[count:])


def forget_programs_with(called: Called) -> None:
    """Drop the programs in memory that call a region, so that ones without it replace them."""
    key = called.key
    memory.drop(lambda program: any(
        engine.called.key == key for engine in getattr(program, "engines", ())))


def _logical(array: Any, layout: Sequence[int]) -> Any:
    """Return a view of an array in memory with its axes in logical order."""
    return array.transpose([layout.index(d) for d in range(len(layout))])


def in_order(array: Any, layout: Sequence[int]) -> Any:
    """Return an array in logical order as it is in memory in a layout; it is read-only."""
    turned = array.transpose(layout)
    # NumPy makes one axis of none
    ordered = np.ascontiguousarray(turned).reshape(turned.shape)
    ordered.flags.writeable = False
    return ordered


def by_kernels(called: Called, operands: Sequence[Any]) -> list[Any]:
    """Return the results of a region on NumPy arrays in logical order, op by op on the host.

    Raises NotImplementedError for an op that has no host kernel.
    """
    program = called.region.program
    values: list[Any] = []
    for i in program.structure.instructions:
        if called.region.extents is not None:
            i = _at_the_shapes(i, operands, values)
        kernel = kernel_of(i.spec, i.operand_types)
        if kernel is None:
            raise NotImplementedError(f"{i.spec.op.name} has no kernel of the host")
        arguments: list[Any] = []
        for item, t in zip(i.operands, i.operand_types, strict=True):
            if isinstance(item, Leaf):
                arguments.append(np.ascontiguousarray(operands[item.number]).reshape(
                    _shape(t)))
            elif isinstance(item, Result):
                arguments.append(values[item.instruction][item.number])
            elif isinstance(item, Baked):
                arguments.append(np.array(item.number, item.dtype.numpy))
            else:
                arguments.append(None)
        result = kernel.run(*arguments)
        values.append(result if len(i.types) > 1 else (result,))
    return [values[n][r] for n, r in program.outputs]


def _at_the_shapes(
    i: Instruction, operands: Sequence[Any], values: Sequence[Any]
) -> Instruction:
    """Return an instruction of a region for many extents with the types of a run."""
    types: list[TensorType | None] = []
    for item, t in zip(i.operands, i.operand_types, strict=True):
        x = operands[item.number] if isinstance(item, Leaf) else (
            values[item.instruction][item.number] if isinstance(item, Result) else None)
        types.append(t if x is None or t is None else tensor_type(np.shape(x), t.dtype))
    return i._replace(operand_types=tuple(types), types=i.spec.infer(tuple(types)))


def _shape(t: TensorType | None) -> tuple[int, ...]:
    assert t is not None
    return t.shape


_libraries: Final[dict[str, Any]] = {}


def _compiled(code: CSource) -> NativeCode:
    """Return the function of C source, compiled or from disk. Raises CompilerError."""
    import ctypes

    digest = hashlib.sha256(f"{code.flags}\n{code.text}".encode()).hexdigest()
    with _lock:
        library = _libraries.get(digest)
        if library is None:
            library = _libraries[digest] = library_of(
                "const char *region(void *const *);\n" + code.text
                + "\nconst char *region_of_state(void *state, void *const *buffers)"
                  " { (void)state; return region(buffers); }\n", code.flags,
                tuning.build_seconds)
        address = ctypes.cast(library.region_of_state, ctypes.c_void_p).value
    if address is None:
        raise CompilerError("the library has no such function")
    return NativeCode(address, 0, library)
