"""Ops that run at their line, for debugging: the options ``eager`` and ``nan``."""

from __future__ import annotations

import math
from threading import get_ident
from typing import Any

import numpy as np

from .. import settings, strict
from ..backends.data import host_memory
from ..backends.selection import backend
from ..errors import reraised
from ..interrupts import reraise_from_handler
from ..trace.graph import DONE, FAILED, PENDING, Node
from ..trace.scalars import Scalar
from . import checks
from .evaluate import evaluate
from .failures import run_error
from .reading import blind, held_back


def run_recorded(node: Node) -> None:
    """Run an op that was just recorded, and raise its error.

    Raises what a read of its results would, and NaNError.
    """
    me = get_ident()
    if node.state != PENDING or me in held_back or me in blind:
        return
    watched = settings.get_option("nan") != "allow" and any(
        t.dtype.is_inexact for t in node.types) and not _operands_have_nan(node)
    evaluate(node, "eager op", node.site)
    if node.state == FAILED:
        assert node.error is not None
        raise reraised(node.error)
    buffers = node.buffers
    if node.state != DONE or buffers is None:
        return
    for buffer in buffers:
        if buffer is None:
            continue
        if buffer.checks is not None:
            error = checks.failed(buffer)
            if error is not None:
                raise reraised(error)
        array = buffer.array
        if array is not None:
            try:
                backend().wait(array)
            except Exception as raised:
                reraise_from_handler(raised)
                origin: Any = buffer.origin
                raise run_error(raised, origin) from raised
    if watched:
        _watch(node)


def _watch(node: Node) -> None:
    """Tell of the first result with a NaN, where no operand has one."""
    buffers = node.buffers
    assert buffers is not None and node.spec is not None
    name = node.spec.op.name
    for buffer, t in zip(buffers, node.types, strict=True):
        if buffer is None or not t.dtype.is_inexact or t.placement.is_divided:
            continue
        found = np.isnan(host_memory(buffer))
        count = int(found.sum())
        if count:
            first = ", ".join(str(int(n)) for n in np.argwhere(found)[0])
            where = f", the first at [{first}]," if t.shape else ""
            strict.occurred(
                "nan", node.site,
                f"the op {name}, whose operands have no NaN, gave {count} in a result of type "
                f"{t.text}{where}",
                "look at what its operands are before that line", name)
            return


def _operands_have_nan(node: Node) -> bool:
    for position, operand in enumerate(node.inputs):
        if isinstance(operand, Scalar):
            number: Any = operand.number
            if isinstance(number, (float, complex)) and (
                math.isnan(number.real) or math.isnan(number.imag)
            ):
                return True
        elif isinstance(operand, Node) and operand.state == DONE:
            index = 0 if node.indices is None else node.indices[position]
            t = operand.types[index]
            buffers = operand.buffers
            buffer = None if buffers is None else buffers[index]
            if buffer is not None and t.dtype.is_inexact and not t.placement.is_divided and (
                buffer.host is not None or buffer.array is not None
            ):
                if bool(np.isnan(host_memory(buffer)).any()):
                    return True
    return False
