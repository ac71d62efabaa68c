"""The private entries behind the exported C functions: start and end, tensors, recording.

Those of gradients, of loops and branches, and of evaluation and observation are in modules of
their own beside this one, which are imported with it. This module can be imported only in a
process that has loaded the library.
"""

from __future__ import annotations

import contextlib
import gc
import os
from typing import Any, Final

import _lazyloom_shims  # type: ignore[import-not-found]
import numpy as np
from _lazyloom_abi import ffi, lib  # type: ignore[import-not-found]

import lazyloom
from lazyloom.errors import (
    AliasError,
    ArgumentError,
    DTypeError,
    HandleError,
    LoomError,
    ShapeError,
)
from lazyloom.frontend import (
    end_profile,
    fitted,
    from_memory,
    look,
    write,
    write_all,
    write_lock,
)

from . import (
    calls,
    capture,
    custom,
    dlpack,
    exported,
    former,
    gradients,
    handles,
    logs,
    loops,
    observation,
    places,
    quantizing,
    reports,
    transforms,
    waiting,
)
from .handles import BUFFER, TENSOR
from .serving import (
    Tensor,
    bytes_of,
    contents_of,
    entry,
    failed,
    find,
    give,
    located,
    own,
    placed,
    tensor_of,
    value_of,
    values_of,
)

#: with this module, the library has all entries
PARTS: Final = (
    capture, custom, dlpack, exported, gradients, loops, observation, places, quantizing,
    reports, transforms, waiting)  # fmt: skip
#: variables of the environment that decide what computes
CHECKED: Final = ("JAX_PLATFORMS", "LAZYLOOM_BACKEND", "LAZYLOOM_DEVICE", "XLA_FLAGS")
OPTIONS: Final = {1: "donate", 2: "reads", 3: "reproducible"}
#: what 0 and 1 are of an option that is not True or False
VALUES: Final = {"reads": ("allow", "error")}


def start(opened: bool) -> None:
    """Get ready for calls. ``opened``: the library opened the interpreter itself."""
    lazyloom.skip_folder(os.path.dirname(__file__))
    waiting.opened[0] = opened
    if opened:
        # Nobody else's code runs in it. Graphs are freed by counting references, and to look for
        # cycles among the newest 700 objects again and again costs a sixth of recording.
        gc.set_threshold(10_000, *gc.get_threshold()[1:])
        # no function prints, and there is no Python program that could hear of a warning
        logs.take_all()
        if any(os.environ.get(name) for name in CHECKED):
            # what is wrong with them is an error of the start, not of the first computation
            lazyloom.devices()
    logs.take_own(opened)
    _lazyloom_shims.setup({
        "Value": lazyloom.Value, "Scalar": lazyloom.Scalar, "Site": lazyloom.Site,
        "unknown": lazyloom.Site(None, 0), "record_one": lazyloom.record_one,
        "record_two": lazyloom.record_two, "record_number": lazyloom.record_number,
        "record_spec": lazyloom.record_spec,
        "apply": placed(apply), "failed": failed, "HandleError": HandleError,
        "dtypes": tuple(lazyloom.dtypes.dtype_indexed(i + 1) for i in range(15)),
        "opened": opened, "Tensor": Tensor, "name_site": lazyloom.name_site,
        "gradients": lazyloom.gradients, "set_grad_enabled": lazyloom.set_grad_enabled,
        "write_all": write_all, "look": look, "from_memory": from_memory,
    })  # fmt: skip


# ---- life ---------------------------------------------------------------------------


@entry
def loomp_enter() -> int:
    # being called is what gives a thread its state
    return 1


@entry
def loomp_shutdown() -> int:
    waiting.finish()
    capture.cancel_all()
    scheduled = [v for v in map(contents_of, handles.release_all()) if not v.is_pending]
    for value in scheduled:
        try:
            lazyloom.sync(value, wait=True)
        except LoomError:
            # a failure belongs to whoever reads the value, and nobody can any more
            pass
    del scheduled
    with contextlib.suppress(LoomError):
        # the file cannot be written, and the end goes on
        reports.end_begun()
    end_profile()
    # what was recorded and never ran is let go of by the graph when it is next looked at
    lazyloom.sync_older(0)
    # a call that failed may be held by its own traceback, and with it the caller's context
    gc.collect()
    return 1


@entry
def loomp_set_option(option: int, value: int) -> int:
    name = _option(option)
    if value not in (0, 1):
        raise ArgumentError(f"loom_set_option: {name} is {value}, expected 0 or 1")
    lazyloom.set_option(name, VALUES.get(name, (False, True))[value])
    return 1


@entry
def loomp_get_option(option: int, value: Any) -> int:
    name = _option(option)
    value[0] = lazyloom.get_option(name) == VALUES.get(name, (False, True))[1]
    return 1


def _option(option: int) -> str:
    name = OPTIONS.get(option)
    if name is None:
        raise ArgumentError(f"option {option} is not known, expected a loom_option (1 to 3)")
    return name


# ---- tensors ------------------------------------------------------------------------


def _type(call: str, dtype: int, shape: Any, ndim: int) -> lazyloom.TensorType:
    """The type that a call names. Raises DTypeError, ShapeError."""
    dims = tuple(ffi.unpack(shape, ndim)) if ndim else ()
    if any(d < 0 for d in dims):
        raise ShapeError(f"{call}: shape is {dims}, expected dimensions of 0 or more")
    try:
        element = lazyloom.dtypes.dtype_indexed(dtype)
    except DTypeError as error:
        raise DTypeError(f"{call}: dtype: {error}") from None
    try:
        return lazyloom.tensor_type(dims, element)
    except ShapeError as error:
        raise ShapeError(f"{call}: shape: {error}") from None


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
    call = "loom_tensor_share_host" if share else "loom_tensor_from_host"
    type = _type(call, dtype, shape, ndim)
    dims, element = type.shape, type.dtype
    if nbytes != type.nbytes:
        raise ArgumentError(
            f"{call}: nbytes is {nbytes}, expected {type.nbytes} for {element.name} of shape "
            f"{dims}")
    if nbytes:
        memory = np.frombuffer(ffi.buffer(owner, nbytes), dtype=np.uint8)
        array = memory.view(element.numpy).reshape(dims)
        if element.kind == "b":
            # any other byte than 0 and 1 is not a value that XLA knows
            result[0] = give(lazyloom.from_host(memory.reshape(dims) != 0))
            return 1
    else:
        array = np.empty(dims, element.numpy)
    result[0] = give(lazyloom.from_host(array, share=bool(share)))
    return 1


@located
def loomp_read(tensor: int, buffer: Any, nbytes: int) -> int:
    capture.refuse_read("loom_tensor_read")
    type = value_of(tensor).type
    if nbytes != type.nbytes:
        raise ArgumentError(
            f"loom_tensor_read: nbytes is {nbytes}, expected {type.nbytes} for {type.text}")
    value = value_of(tensor)
    contents = bytes_of(look(value))
    if nbytes:
        ffi.memmove(buffer, contents, nbytes)
    return 1


@located
def loomp_map(tensor: int, result: Any, data: Any, nbytes: Any) -> int:
    capture.refuse_read("loom_tensor_map")
    # nothing writes over the memory of a value that is held
    value = value_of(tensor)
    contents = bytes_of(look(value))
    memory = ffi.from_buffer(contents)
    result[0] = handles.give(BUFFER, (memory, value))
    data[0] = ffi.cast("void *", memory)
    nbytes[0] = contents.nbytes
    return 1


@entry
def loomp_info(tensor: int, what: int, value: Any) -> int:
    found = value_of(tensor)
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
    dims = value_of(tensor).shape
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
    former_call = False
    if attrs is not None and op.signature.factors:
        former_call = former.multiplied(op, values, attrs)
    recorded = lazyloom.source(op, values, attrs) if source else lazyloom.record(op, values, attrs)
    several = type(recorded) is tuple
    if former_call or (several and not recorded):
        return recorded, None
    node = (recorded[0] if several else recorded).node
    single = not several and len(op.signature.outputs) == 1 and not op.signature.lists
    return recorded, (node.spec, len(node.inputs), *calls.classes(op, operand_count), single)


@located
def loomp_boundary(tensor: int) -> int:
    lazyloom.boundary(value_of(tensor))
    return 1


@located
def loomp_assign(target: int, value: int) -> int:
    _assign("loom_tensor_assign", target, value_of(value, "loom_tensor_assign: value"))
    return 1


@located
def loomp_assign_all(targets: Any, values: Any, count: int) -> int:
    if not count:
        return 1
    given = values_of(values, count, "loom_tensors_assign: values")
    for i, (target, contents) in enumerate(zip(ffi.unpack(targets, count), given, strict=True)):
        _assign("loom_tensors_assign", target, contents, f"targets[{i}]")
    return 1


def _assign(call: str, target: int, given: lazyloom.Value, named: str = "target") -> None:
    found = find(TENSOR, target, f"{call}: {named}")
    _refuse_outside(call, target, found)
    tensor = found if isinstance(found, Tensor) else tensor_of(target)
    kind = tensor.tensor_type
    if not given.type.agrees(kind):
        error = ShapeError if given.shape != kind.shape else DTypeError
        raise error(
            f"{call}: value is {given.type.text}, expected {kind.text} as target is; cast "
            "and broadcast it first")
    with write_lock(tensor):
        leaf = tensor.leaf
        if leaf is not None:
            given = fitted(given.detach() if given.requires_grad else given, kind).as_leaf(leaf)
        write(tensor, given)


def _refuse_outside(call: str, target: int, found: Any) -> None:
    """Raise AliasError for a tensor that is older than the function that a loop records."""
    since = getattr(own, "since", None)
    capture.refuse_outside(call, target, found)
    # one that was written before knows itself when it was made
    if since is not None and not isinstance(found, Tensor) and found.node.seq <= since:
        raise AliasError(
            f"{call}: target, a {found.type.text}, is from outside the function that a "
            "loop or a branch records once; give the new contents back, in a loop as a part of the "
            "carry")


@located
def loomp_detach(tensor: int, result: Any) -> int:
    result[0] = give(value_of(tensor).detach())
    return 1
