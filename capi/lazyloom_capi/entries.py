"""The private entries behind the exported C functions.

Each answers 1 for success. An exception becomes the calling thread's error record
and a negative answer, the status to report; see ``shims.c``. This module can be
imported only in a process that has loaded the library.
"""

from __future__ import annotations

import _thread
import gc
import os
import threading
import warnings
from collections.abc import Callable
from typing import Any, Final

import _lazyloom_shims  # type: ignore[import-not-found]
import numpy as np
from _lazyloom_abi import ffi, lib  # type: ignore[import-not-found]

import lazyloom
from lazyloom import codegen
from lazyloom.errors import (
    AliasError,
    ArgumentError,
    DTypeError,
    GradientError,
    HandleError,
    LoomError,
    OutOfMemoryError,
    ShapeError,
)
from lazyloom.frontend import write

from . import calls, describe, handles
from .handles import BUFFER, PROGRAM, TENSOR

INTERNAL: Final = 102
OPTIONS: Final = {1: "donate", 2: "forbid_reads"}

_UNKNOWN: Final = "<unknown>:0"

_files: dict[int, str] = {}
#: ``since``: the newest node that is not of the function that this thread records once
_own: Final = threading.local()
_op_names: list[Any] = []


class Leaf:
    """What a tensor that requires a gradient has collected."""

    __slots__ = ("gradient",)

    def __init__(self) -> None:
        self.gradient: lazyloom.Value | None = None


class Tensor(lazyloom.Tensor):
    """The object behind a ``loom_tensor`` that was written or collects a gradient.

    Behind all others is their Value alone, which costs less.
    """

    __slots__ = ("leaf",)
    leaf: Leaf | None

    def __init__(self, value: lazyloom.Value) -> None:
        super().__init__(value)
        self.leaf = None


class CallerFailedError(Exception):
    """A function of the caller's returned this status, whose error is recorded already."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


def failed(exception: type[BaseException], value: BaseException, traceback: Any) -> int:
    """Record an exception as the error of this thread; the answer is minus its status."""
    if isinstance(value, CallerFailedError):
        return -value.status
    if isinstance(value, LoomError):
        code, message, op, site = value.code, str(value), value.op or "", value.site or ""
        if site == _UNKNOWN:
            site = ""
    else:
        if issubclass(exception, KeyboardInterrupt):
            # the Python program around the caller is to hear of it, not this call alone
            _thread.interrupt_main()
        out_of_memory = issubclass(exception, MemoryError)
        code, op, site = OutOfMemoryError.code if out_of_memory else INTERNAL, "", ""
        message = f"{exception.__name__}: {value}"
        while traceback is not None and traceback.tb_next is not None:
            traceback = traceback.tb_next
        if traceback is not None:
            code_object = traceback.tb_frame.f_code
            message += f" (in {code_object.co_name}, {code_object.co_filename}:"
            message += f"{traceback.tb_lineno})"
    texts = [t.encode("utf-8", "backslashreplace") for t in (message, op, site)]
    lib.loomp_set_error(code, *texts)
    return -code


def entry(function: Callable[..., int]) -> Callable[..., int]:
    _offer(function.__name__, function)
    return function


def located(function: Callable[..., int]) -> Callable[..., int]:
    """An entry whose last two arguments are the caller's source location."""
    _offer(function.__name__, placed(function))
    return function


def _offer(name: str, function: Callable[..., int]) -> None:
    # a library of an older minor version has no use for what was added since
    if hasattr(lib, name):
        ffi.def_extern(name=name, onerror=failed)(function)


def placed(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with two more arguments at the end, the caller's file and line."""

    def at(*arguments: Any) -> Any:
        file = arguments[-2]
        if not file:
            return function(*arguments[:-2])
        name = _files.get(file)
        if name is None:
            name = _files[file] = ffi.string(ffi.cast("char *", file)).decode("utf-8", "replace")
        # a loop calls functions of the caller's, which call us
        before = lazyloom.set_site(name, arguments[-1])
        try:
            return function(*arguments[:-2])
        finally:
            lazyloom.clear_site(before)

    return at


def start(opened: bool) -> None:
    """Get ready for calls. ``opened``: the library opened the interpreter itself."""
    lazyloom.skip_folder(os.path.dirname(__file__))
    if opened:
        # Nobody else's code runs in it. Graphs are freed by counting references, and to look for
        # cycles among the newest 700 objects again and again costs a sixth of recording.
        gc.set_threshold(10_000, *gc.get_threshold()[1:])
        # no function prints, and there is no Python program that could hear of a warning
        warnings.simplefilter("ignore")
    _lazyloom_shims.setup({
        "Value": lazyloom.Value, "Scalar": lazyloom.Scalar, "Site": lazyloom.Site,
        "unknown": lazyloom.Site(None, 0), "record_one": lazyloom.record_one,
        "record_two": lazyloom.record_two, "record_number": lazyloom.record_number,
        "record_spec": lazyloom.record_spec,
        "apply": placed(apply), "failed": failed, "HandleError": HandleError,
        "dtypes": tuple(lazyloom.dtypes.dtype_indexed(i + 1) for i in range(15)),
        "opened": opened,
    })  # fmt: skip


# ---- life ---------------------------------------------------------------------------


@entry
def loomp_enter() -> int:
    # being called is what gives a thread its state
    return 1


@entry
def loomp_shutdown() -> int:
    scheduled = [v for v in map(_contents, handles.release_all()) if not v.is_pending]
    for value in scheduled:
        try:
            lazyloom.sync(value, wait=True)
        except LoomError:
            # a failure belongs to whoever reads the value, and nobody can any more
            pass
    return 1


@entry
def loomp_set_option(option: int, value: int) -> int:
    name = _option(option)
    if value not in (0, 1):
        raise ArgumentError(f"loom_set_option: {name} is {value}, expected 0 or 1")
    lazyloom.set_option(name, bool(value))
    return 1


@entry
def loomp_get_option(option: int, value: Any) -> int:
    value[0] = lazyloom.get_option(_option(option))
    return 1


def _option(option: int) -> str:
    name = OPTIONS.get(option)
    if name is None:
        raise ArgumentError(f"option {option} is not known, expected a loom_option (1 or 2)")
    return name


# ---- tensors ------------------------------------------------------------------------


def _give(value: lazyloom.Value) -> int:
    return handles.give(TENSOR, value)


def _contents(thing: Any) -> lazyloom.Value:
    """The value of what a tensor's handle stands for."""
    value: lazyloom.Value = thing.value if isinstance(thing, Tensor) else thing
    return value


def _value(bits: int) -> lazyloom.Value:
    """The value of a tensor; raises HandleError."""
    return _contents(handles.find(TENSOR, bits))


def _tensor(bits: int) -> Tensor:
    """A tensor, to be written or to collect a gradient; raises HandleError."""
    found = handles.find(TENSOR, bits)
    if not isinstance(found, Tensor):
        found = Tensor(found)
        handles.replace(TENSOR, bits, found)
    return found


def _shape(shape: Any, ndim: int) -> tuple[int, ...]:
    dims = tuple(ffi.unpack(shape, ndim)) if ndim else ()
    if any(d < 0 for d in dims):
        raise ShapeError(f"shape {dims} has a negative dimension")
    return dims


@located
def loomp_from_host(
    data: Any, nbytes: int, dtype: int, shape: Any, ndim: int, share: int, done: Any,
    context: Any, result: Any,
) -> int:  # fmt: skip
    owner = data
    if share and done != ffi.NULL:
        owner = ffi.gc(data, lambda _: done(context)) if nbytes else None
        if owner is None:
            done(context)
    dims = _shape(shape, ndim)
    element = lazyloom.dtypes.dtype_indexed(dtype)
    expected = lazyloom.tensor_type(dims, element).nbytes
    if nbytes != expected:
        raise ArgumentError(
            f"nbytes is {nbytes}, expected {expected} for {element.name} of shape {dims}")
    if nbytes:
        memory = np.frombuffer(ffi.buffer(owner, nbytes), dtype=np.uint8)
        array = memory.view(element.numpy).reshape(dims)
        if element.kind == "b":
            # any other byte than 0 and 1 is not a value that XLA knows
            array = memory.reshape(dims) != 0
    else:
        array = np.empty(dims, element.numpy)
    result[0] = _give(lazyloom.from_host(array, share=bool(share)))
    return 1


def _read(tensor: int) -> Any:
    array = np.ascontiguousarray(_value(tensor).read())
    return array.reshape(-1).view(np.uint8)


@located
def loomp_read(tensor: int, buffer: Any, nbytes: int) -> int:
    type = _value(tensor).type
    if nbytes != type.nbytes:
        raise ArgumentError(
            f"loom_tensor_read: nbytes is {nbytes}, expected {type.nbytes} for {type.text}")
    contents = _read(tensor)
    if nbytes:
        ffi.memmove(buffer, contents, nbytes)
    return 1


@located
def loomp_map(tensor: int, result: Any, data: Any, nbytes: Any) -> int:
    contents = _read(tensor)
    memory = ffi.from_buffer(contents)
    result[0] = handles.give(BUFFER, memory)
    data[0] = ffi.cast("void *", memory)
    nbytes[0] = contents.nbytes
    return 1


@entry
def loomp_info(tensor: int, what: int, value: Any) -> int:
    found = _value(tensor)
    if what == lib.LOOMP_PENDING:
        value[0] = found.is_pending
    elif what == lib.LOOMP_REQUIRES_GRAD:
        value[0] = found.requires_grad
    elif what == lib.LOOMP_DTYPE:
        value[0] = found.type.dtype.index
    elif what == lib.LOOMP_NDIM:
        value[0] = found.type.ndim
    else:
        value[0] = found.type.nbytes
    return 1


@entry
def loomp_shape(tensor: int, shape: Any, capacity: int, ndim: Any) -> int:
    dims = _value(tensor).shape
    ndim[0] = len(dims)
    for i, d in enumerate(dims[:capacity]):
        shape[i] = d
    return 1


# ---- recording ----------------------------------------------------------------------


def apply(
    source: int, name: int, operands: int, operand_count: int, attributes: int,
    attribute_count: int,
) -> tuple[Any, Any]:  # fmt: skip
    """Record an op that ``recording.c`` has not met in this form, or that is wrong.

    Takes addresses for the pointers of ``loom_apply``. Returns the result, a Value or a tuple
    of them, and what the library can do the same call with: its spec, the number of operands
    that are part of it, which operands share a dtype and which are positions, as bits, and
    whether it has one result; None for what is not worth keeping.
    """
    op = calls.op_named(ffi.cast("char *", name))
    values = calls.values(op, ffi.cast("loom_operand *", operands), operand_count)
    attrs = None
    if attribute_count:
        attrs = calls.attributes(op, ffi.cast("loom_attr *", attributes), attribute_count)
    recorded = lazyloom.source(op, values, attrs) if source else lazyloom.record(op, values, attrs)
    several = type(recorded) is tuple
    if several and not recorded:
        return recorded, None
    node = (recorded[0] if several else recorded).node
    single = not several and len(op.outputs) == 1 and not op.lists
    return recorded, (node.spec, len(node.inputs), *calls.classes(op, operand_count), single)


@located
def loomp_boundary(tensor: int) -> int:
    lazyloom.boundary(_value(tensor))
    return 1


@located
def loomp_assign(target: int, value: int) -> int:
    given = _value(value)
    _refuse_outside(target)
    tensor = _tensor(target)
    if given.type is not tensor.type:
        kind = ShapeError if given.shape != tensor.type.shape else DTypeError
        raise kind(
            f"loom_tensor_assign: value is {given.type.text}, expected {tensor.type.text} as "
            "target is; cast and broadcast it first")
    if tensor.leaf is not None:
        given = given.detach().as_leaf(tensor.leaf)
    write(tensor, given)
    return 1


def _refuse_outside(target: int) -> None:
    """Raise AliasError for a tensor that is older than the function that a loop records."""
    since = getattr(_own, "since", None)
    found = handles.find(TENSOR, target)
    # one that was written before knows itself when it was made
    if since is not None and not isinstance(found, Tensor) and found.node.seq <= since:
        raise AliasError(
            f"loom_tensor_assign: target, a {found.type.text}, is from outside the function that a "
            "loop or a branch records once; give the new contents back, in a loop as a part of the "
            "carry")


@located
def loomp_detach(tensor: int, result: Any) -> int:
    result[0] = _give(_value(tensor).detach())
    return 1


# ---- gradients ----------------------------------------------------------------------


@located
def loomp_require_grad(tensor: int, required: int) -> int:
    found = _tensor(tensor)
    if not required:
        if found.leaf is not None or found.value.requires_grad:
            write(found, found.value.detach())
            found.leaf = None
    elif found.leaf is None:
        leaf = Leaf()
        write(found, found.value.detach().as_leaf(leaf))
        found.leaf = leaf
    return 1


@entry
def loomp_set_grad_enabled(enabled: int, previous: Any) -> int:
    previous[0] = lazyloom.set_grad_enabled(bool(enabled))
    return 1


def _values(array: Any, count: int) -> list[Any]:
    given = ffi.unpack(array, count) if count else ()
    return [_value(bits) for bits in given]


def _cotangents(array: Any, count: int) -> list[Any] | None:
    if array == ffi.NULL:
        return None
    return [_value(bits) if bits else None for bits in ffi.unpack(array, count)]


@located
def loomp_grad(
    outputs: Any, output_count: int, inputs: Any, input_count: int, cotangents: Any,
    create_graph: int, gradients: Any,
) -> int:  # fmt: skip
    found = lazyloom.gradients(
        _values(outputs, output_count), _values(inputs, input_count),
        _cotangents(cotangents, output_count), create_graph=bool(create_graph))
    for i, value in enumerate(found):
        if value is None:
            raise GradientError(f"loom_grad: inputs[{i}] does not reach an output")
    for i, value in enumerate(found):
        gradients[i] = _give(value)  # type: ignore[arg-type]
    return 1


@located
def loomp_backward(outputs: Any, output_count: int, cotangents: Any) -> int:
    reached = lazyloom.backward(
        _values(outputs, output_count), _cotangents(cotangents, output_count))
    for leaf, gradient in reached:
        if isinstance(leaf, Leaf):
            before = leaf.gradient
            leaf.gradient = (
                gradient if before is None else lazyloom.record("add", [before, gradient]))
    return 1


def _leaf(tensor: int) -> Leaf:
    leaf: Leaf | None = getattr(handles.find(TENSOR, tensor), "leaf", None)
    if leaf is None:
        raise GradientError(
            "the tensor is no leaf and collects no gradient; call loom_tensor_require_grad() first")
    return leaf


@entry
def loomp_gradient(tensor: int, result: Any) -> int:
    gradient = _leaf(tensor).gradient
    result[0] = 0 if gradient is None else _give(gradient)
    return 1


@entry
def loomp_clear_gradient(tensor: int) -> int:
    _leaf(tensor).gradient = None
    return 1


# ---- loops and branches -------------------------------------------------------------


class _Given:
    """A function of the caller's as one of tensors."""

    #: messages say no place: what Python knows is not the caller's
    __code__ = None

    def __init__(
        self, name: str, of: str, call: Any, function: Any, let_go: Any, results: int
    ) -> None:
        self.__name__ = name
        self._of, self._call, self._function = of, call, function
        self._let_go, self._results = let_go, results

    def __call__(self, tensors: list[lazyloom.Tensor]) -> list[lazyloom.Tensor]:
        count = self._results
        inputs = [_give(t.value) for t in tensors]
        before = getattr(_own, "since", None)
        # the newest node that is not the function's own
        _own.since = min(
            [lazyloom.last_sequence(), *(t.value.node.seq - 1 for t in tensors)])
        outputs = ffi.new("uint64_t[]", max(count, 1))
        given: list[int] = []
        try:
            status = self._call(
                self._function, ffi.new("uint64_t[]", inputs or [0]), len(inputs), outputs, count)
            given = list(ffi.unpack(outputs, count)) if count else []
            if status:
                raise CallerFailedError(status)
            for i, bits in enumerate(given):
                if not bits:
                    raise HandleError(
                        f"{self._of}: output {i} of function {self.__name__} is the null handle, "
                        "expected a tensor")
            return [lazyloom.Tensor(_value(bits)) for bits in given]
        finally:
            _own.since = before
            # one that was given back is there once
            used = sorted({*inputs, *given} - {0})
            if used:
                self._let_go(ffi.new("uint64_t[]", used), len(used))


def _tensors(array: Any, count: int) -> list[lazyloom.Tensor]:
    return [lazyloom.Tensor(v) for v in _values(array, count)]


def _hand_out(found: list[lazyloom.Tensor], results: Any) -> int:
    for i, t in enumerate(found):
        results[i] = _give(t.value)
    return 1


@located
def loomp_scan(
    call: Any, step: Any, let_go: Any, init: Any, carry_count: int, xs: Any, xs_count: int,
    length: int, ys_count: int, reverse: int, results: Any,
) -> int:  # fmt: skip
    f = _Given("step", "loom_scan", call, step, let_go, carry_count + ys_count)

    def one(
        carry: list[lazyloom.Tensor], row: list[lazyloom.Tensor]
    ) -> tuple[list[lazyloom.Tensor], list[lazyloom.Tensor]]:
        found = f([*carry, *row])
        return found[:carry_count], found[carry_count:]

    one.__wrapped__ = f  # type: ignore[attr-defined]
    last, given = lazyloom.scan(
        one, _tensors(init, carry_count), _tensors(xs, xs_count), None if length < 0 else length,
        bool(reverse))
    return _hand_out([*last, *given], results)


@located
def loomp_while_loop(
    call: Any, condition: Any, body: Any, let_go: Any, init: Any, carry_count: int, max_steps: int,
    results: Any,
) -> int:  # fmt: skip
    goes_on = _Given("condition", "loom_while_loop", call, condition, let_go, 1)
    step = _Given("body", "loom_while_loop", call, body, let_go, carry_count)

    def holds(carry: list[lazyloom.Tensor]) -> lazyloom.Tensor:
        return goes_on(carry)[0]

    holds.__wrapped__ = goes_on  # type: ignore[attr-defined]
    found = lazyloom.while_loop(
        holds, step, _tensors(init, carry_count),
        max_steps=None if max_steps < 0 else max_steps)
    return _hand_out(found, results)


@located
def loomp_cond(
    call: Any, which: int, if_true: Any, if_false: Any, let_go: Any, operands: Any,
    operand_count: int, results: Any, result_count: int,
) -> int:  # fmt: skip
    branches = [
        _Given(name, "loom_cond", call, function, let_go, result_count)
        for name, function in (("if_true", if_true), ("if_false", if_false))]
    found = lazyloom.cond(
        lazyloom.Tensor(_value(which)), *branches, _tensors(operands, operand_count))
    return _hand_out(found, results)


# ---- evaluation and observation -----------------------------------------------------


@located
def loomp_sync(given: Any, count: int, wait: int) -> int:
    if count:
        # called with nothing, lazyloom.sync() runs all there is
        lazyloom.sync(*_values(given, count), wait=bool(wait))
    return 1


@located
def loomp_mark_dynamic(tensor: int, axis: int, minimum: int, maximum: int) -> int:
    found = _value(tensor)
    for name, bound in (("minimum", minimum), ("maximum", maximum)):
        if bound != -1 and bound < 1:
            raise ArgumentError(
                f"loom_mark_dynamic: {name} is {bound}, expected an extent of at least 1, or -1 if "
                "it is not known")
    lazyloom.mark_dynamic(
        found, axis, min=None if minimum == -1 else minimum,
        max=None if maximum == -1 else maximum)
    return 1


@located
def loomp_mark_static(tensor: int, axes: Any, axis_count: int) -> int:
    found = _value(tensor)
    if axes == ffi.NULL:
        lazyloom.mark_static(found)
    elif axis_count:
        for axis in ffi.unpack(axes, axis_count):
            lazyloom.mark_static(found, axis)
    return 1


@located
def loomp_program_of(given: Any, count: int, result: Any) -> int:
    result[0] = handles.give(PROGRAM, lazyloom.program_of(*_values(given, count)))
    return 1


@entry
def loomp_codegen_use(names: Any, count: int) -> int:
    codegen.use(*(ffi.string(names[k]).decode("utf-8", "replace") for k in range(count)))
    return 1


@entry
def loomp_last_program(result: Any) -> int:
    evaluation = lazyloom.last_evaluation()
    program = None if evaluation is None else evaluation.program
    result[0] = 0 if program is None else handles.give(PROGRAM, program)
    return 1


@entry
def loomp_program_ops(program: int, count: Any) -> int:
    count[0] = describe.op_count(handles.find(PROGRAM, program))
    return 1


@entry
def loomp_text(
    what: int, handle: int, name: Any, buffer: Any, capacity: int, needed: Any
) -> int:
    if what == lib.LOOMP_PROGRAM_KEY:
        text = handles.find(PROGRAM, handle).key
    elif what == lib.LOOMP_PROGRAM_TEXT:
        text = handles.find(PROGRAM, handle).text()
    elif what == lib.LOOMP_STATS:
        text = describe.stats_json()
    elif what == lib.LOOMP_LAST_EVALUATION:
        text = describe.last_evaluation()
    elif what == lib.LOOMP_PROGRAM_EXPLAIN:
        text = codegen.explain(handles.find(PROGRAM, handle)).text()
    elif what == lib.LOOMP_CODEGEN_IN_USE:
        text = ",".join(codegen.in_use()) or "xla"
    elif what == lib.LOOMP_CODEGEN_AVAILABLE:
        text = ",".join(codegen.available())
    else:
        text = describe.op_json(calls.op_named(name))
    data = text.encode()
    needed[0] = len(data) + 1
    if capacity:
        part = data[:capacity - 1]
        ffi.memmove(buffer, part, len(part))
        buffer[len(part)] = b"\0"
    return 1


@entry
def loomp_stat(name: Any, value: Any) -> int:
    value[0] = describe.stat(ffi.string(name).decode("utf-8", "replace"))
    return 1


def _names() -> list[Any]:
    if len(_op_names) != len(lazyloom.ops.table()):
        # the table can grow; names given out before stay where they are in memory
        known = {ffi.string(n): n for n in _op_names}
        _kept.extend(_op_names)
        names = [n.encode() for n in lazyloom.ops.names()]
        _op_names[:] = [known.get(n) or ffi.new("char[]", n) for n in names]
    return _op_names


_kept: list[Any] = []


@entry
def loomp_op_count(count: Any) -> int:
    count[0] = len(_names())
    return 1


@entry
def loomp_op_name(index: int, name: Any) -> int:
    names = _names()
    if index >= len(names):
        raise ArgumentError(f"loom_op_name: index is {index}, expected 0 to {len(names) - 1}")
    name[0] = names[index]
    return 1
