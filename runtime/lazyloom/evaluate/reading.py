"""Reads: the data of values, which are evaluated if they are pending."""

from __future__ import annotations

import time
from threading import get_ident
from typing import Any, Final

from .. import foreign, settings, strict
from ..backends.data import device_view, host_array, host_number
from ..backends.selection import backend
from ..counters import counters
from ..errors import reraised
from ..hooks import hooks
from ..interrupts import reraise_from_handler
from ..placements import DEFAULT_PLACEMENT
from ..trace import graph
from ..trace.constraints import undivided
from ..trace.graph import DONE, FAILED, MAPPED, PENDING, SCHEDULED, Buffer, Value
from ..trace.mapping import unreadable
from ..trace.source import Site, user_site
from ..trace.tape import recompute
from ..types import leaf_type
from . import checks
from .evaluate import await_dispatch, evaluate
from .failures import not_copied, out_of_memory, read_error

_clock: Final = time.perf_counter

#: threads that record a call to be captured: their syncs wait until the call ends
held_back: Final[set[int]] = set()
#: how many values each of them has read
reads_of: Final[dict[int, int]] = {}
#: threads that record for future data: what is known about data on the host is not used
blind: Final[set[int]] = set()


def materialize(value: Value, reason: str, site: Site | None = None) -> Buffer:
    """The buffer of a value's data; evaluates a pending value and raises its error."""
    # data that a parent process was computing never becomes ready in its child
    graph.check_process()
    if foreign.inside[0]:
        foreign.check()
    node = value.node
    while True:
        if node.state == PENDING:
            evaluate(node, reason, site)
        if node.state == SCHEDULED:
            await_dispatch(node)
        if node.state == FAILED:
            assert node.error is not None
            raise reraised(node.error)
        if node.state == DONE:
            break
        if node.state == MAPPED:
            raise unreadable(value, site if site is not None else user_site())
    buffers = node.buffers
    buffer = buffers[value.index] if buffers is not None else None
    if buffer is None:
        fresh = recompute(value)
        return materialize(fresh, reason, site)
    if buffer.checks is not None:
        # the flags of its checks come with the results
        started = _clock()
        error = checks.failed(buffer)
        origin = buffer.origin
        if origin is not None:
            origin.waited(_clock() - started)
        if error is not None:
            raise reraised(error)
    return buffer


def read(value: Value, reason: str = "read") -> Any:
    """The value's data as a fresh NumPy array."""
    return _read(value, reason, COPY)


def look(value: Value, reason: str = "read") -> Any:
    """The value's data as a NumPy array, to be read as long as the caller has the value.

    It may be the memory of the device.
    """
    return _read(value, reason, VIEW)


def read_number(value: Value) -> Any:
    """The only element of the value's data as a Python number."""
    return _read(value, "read", NUMBER)


def read_element(value: Value, place: int) -> Any:
    """One element of the value's data, at ``place`` in row-major order, as a Python number."""
    return _read(value, "read", ELEMENT, place)


def element_number(value: Value, place: int) -> Any:
    """Likewise, of what the user reads a part."""
    return _read(value, "read", PART, place)


def await_data(value: Value) -> None:
    """Wait until the value's data exist; raises like :func:`read`, but is not counted in stats."""
    _read(value, "read", NOTHING)


def read_awaited(value: Value) -> Any:
    """:func:`read` after :func:`await_data`, which strict modes have been told of."""
    return _read(value, "read", COPY, 0, False)


def is_ready(value: Value) -> bool:
    """Return True if a read would not wait: the data are there, or the run that was to compute
    them has failed. Nothing runs."""
    graph.check_process()
    node = value.node
    if node.state != DONE:
        return node.state == FAILED
    buffers = node.buffers
    buffer = buffers[value.index] if buffers is not None else None
    if buffer is None:
        # it was given up, and is computed again
        return False
    array = buffer.array
    return buffer.host is not None or (array is not None and bool(backend().is_ready(array)))


#: the forms in which a value's data are read
COPY: Final = 0
VIEW: Final = 1
NUMBER: Final = 2
NOTHING: Final = 3
ELEMENT: Final = 4
#: an element that is not what the user reads, but leads to it
PART: Final = 5


def _read(value: Value, reason: str, form: int, place: int = 0, told: bool = True) -> Any:
    observer: Any = hooks.observer
    if observer is None:
        return _read_now(value, reason, form, place, told)
    waited = observer.waits()
    try:
        return _read_now(value, reason, form, place, told)
    finally:
        if form != PART:
            size = value.type.dtype.itemsize if form == ELEMENT else value.type.nbytes
            observer.read(waited, user_site(), value, 0 if form == NOTHING else size)


def _read_now(value: Value, reason: str, form: int, place: int, told: bool) -> Any:
    site = user_site()
    if settings.watching[0] and told and (form != PART or settings.forbids_reads()):
        _tell(value, reason, form, site)
    if value.type.placement is not DEFAULT_PLACEMENT:
        value = _in_each_process(value, reason, site)
    buffer = materialize(value, reason, site)
    if held_back:
        me = get_ident()
        if me in held_back:
            reads_of[me] = reads_of.get(me, 0) + 1
    host = buffer.host
    if form == NOTHING:
        if host is not None:
            return None
    elif form != PART:
        counters["reads"] += 1
        counters["bytes_read"] += (
            value.type.dtype.itemsize if form == ELEMENT else value.type.nbytes)
    if host is not None:
        if form == VIEW:
            return host
        if form >= ELEMENT:
            return host.item(place)
        return host.item() if form == NUMBER else host.copy()
    started = _clock()
    found = _from_device(value, buffer, form, place)
    origin = buffer.origin
    if origin is not None:
        origin.waited(_clock() - started)
    return found


def _from_device(value: Value, buffer: Buffer, form: int, place: int) -> Any:
    """What is read of data on the device, once these are there; raises the error of their run."""
    try:
        if form == NUMBER:
            return host_number(buffer.array, value.type)
        if form == VIEW:
            return device_view(buffer.array, value.type)
        if form >= ELEMENT:
            return device_view(buffer.array, value.type).item(place)
        if form == COPY:
            return host_array(buffer.array, value.type)
        backend().wait(buffer.array)
        return None
    except Exception as error:
        reraise_from_handler(error)
        if out_of_memory(error):
            not_copied(value, buffer, error)
        raise read_error(value, buffer, error) from error


def _tell(value: Value, reason: str, form: int, site: Site) -> None:
    """Tell strict modes of a read. Raises ReadForbiddenError, TransferError."""
    transfer = value.type.size > 1 and form != ELEMENT and form != PART
    if not strict.asked("reads") and not (transfer and strict.asked("transfers")):
        return
    node = value.node
    name = None if node.spec is None else node.spec.op.name
    of = "" if name is None else f", of the op {name} recorded at {node.site},"
    what = f"a value of type {value.type.text}{of} was read"
    if reason != "read":
        what += f" for the {reason}"
    strict.occurred(
        "reads", site, what, "keep the computation on tensors, or read outside the option", name)
    if transfer:
        strict.occurred(
            "transfers", site, what, "reduce it to what the host needs, or keep it on the device",
            name)


def _in_each_process(value: Value, reason: str, site: Site) -> Value:
    """A value whose data this process has as a whole: gathered if others have parts of it.

    It is computed first, as a read does not decide how a mesh divides it.
    """
    t = value.type
    if not t.placement.is_divided or t.size <= 1:
        return value
    buffer = materialize(value, reason, site)
    chosen = buffer.placement
    divided = True if chosen is None else leaf_type(t, chosen).placement.is_divided
    return undivided(value) if divided else value


def read_for_shape(value: Value, function: str) -> Any:
    """:func:`read` where the shape of a result depends on the data; the record names the function.

    Raises ReadForbiddenError, like any other read, where reads are forbidden.
    """
    counters["host_reads_of_data_dependent_shapes"] += 1
    return read(value, f"shape of {function}")
