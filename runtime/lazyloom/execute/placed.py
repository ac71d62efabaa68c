"""Runs of programs on another device than the default one, or on a mesh of devices."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any, Final

from ..backends.data import given
from ..backends.selection import backend
from ..cache.memory import DispatchInfo
from ..counters import counters
from ..hooks import hooks
from ..interrupts import reraise_from_handler
from ..placements import DEFAULT_PLACEMENT, Placement
from ..program.plan import Plan
from ..trace.graph import Buffer
from ..types import TensorType

#: held by who dispatches a program on a mesh of the host's devices
_turn: Final = threading.RLock()
#: a result of the newest such program
_newest: Final[list[Any]] = []


@contextlib.contextmanager
def turn(placement: Placement) -> Iterator[None]:
    """A ``with`` block that dispatches a program, once the one before it has run where it must.

    On a mesh of the host's devices a program needs a thread for each device at the same time, and
    those that wait take them: with two in flight, both may wait for ever.
    """
    if placement.mesh is None or placement.mesh.size == 1 or not backend().is_host():
        yield
        return
    with _turn:
        together = hooks.together
        if together is not None and not placement.mesh.per_process:
            together.finish()
        while _newest:
            try:
                backend().wait(_newest.pop())
            except Exception as error:
                reraise_from_handler(error)  # whoever reads it gets the error
        yield


def arguments(
    leaves: list[Buffer], types: tuple[TensorType, ...], placement: Placement
) -> list[Any]:
    """The leaves' arrays, each on the program's devices and divided as its type says.

    An array that lies elsewhere is moved, and kept there if that is its own type's place. One on
    the default device stays there as well, for other programs: it goes whole to each device of
    ``placement``. Other processes must have the same data for a mesh that they share.
    """
    arrays: list[Any] = []
    mesh = placement.mesh
    shared = placement.is_shared
    for buffer, t in zip(leaves, types, strict=True):
        buffer.used = True
        target = placement if t.placement is DEFAULT_PLACEMENT else t.placement
        array = buffer.array
        if array is None:
            host = buffer.host
            if host is None:
                raise AssertionError("a buffer without data was used")
            if shared:
                _same(host, t, mesh)
            moved = upload(host, target)
            counters["bytes_uploaded"] += host.nbytes
        else:
            if shared and t.placement is DEFAULT_PLACEMENT:
                _same(backend().host_view(array), t, mesh)
            moved = given(backend().move(array, target), "move")
        if t.placement is not DEFAULT_PLACEMENT and moved is not array:
            buffer.array = moved
            buffer.host = None
        arrays.append(moved)
    return arrays


def _same(data: Any, t: TensorType, mesh: Any) -> None:
    """Have the processes of a mesh compare what each puts onto it whole."""
    hooks.together.same(data, f"{t.text}", mesh.ranks)


def upload(host: Any, placement: Placement) -> Any:
    """Return an array of a NumPy array's data on the devices of a placement."""
    return given(backend().upload_to(host, placement), "upload_to")


def results(plan: Plan, info: DispatchInfo) -> None:
    """Note how XLA divided the results; move those to the default device that belong there."""
    instructions = info.program.structure.instructions
    chosen = info.loaded.placements
    smallest: Any = None
    least = -1
    for k, (n, r) in enumerate(plan.wanted):
        target = plan.results[k]
        t = instructions[n].types[r]
        placement = t.placement
        if placement is DEFAULT_PLACEMENT:
            target.array = given(backend().move(target.array, DEFAULT_PLACEMENT), "move")
        elif chosen and placement.mesh is not None:
            divided = chosen[info.position[k]]
            if divided.mesh == placement.mesh:
                # another one moves when it is first used, to where its type says
                target.placement = divided
                if least < 0 or t.size < least:
                    least, smallest = t.size, target.array
    plan.evaluation.collectives = info.loaded.collectives
    if smallest is not None and info.loaded.finished is None:
        # on a mesh: the next program waits for it
        _newest[:] = [smallest]
