"""Kernels of ops that join any number of arrays, and of their vjps, whatever the number."""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate, pairwise
from typing import Any, Final

import numpy as np

from ..ops.derived import VJP
from ..trace.specs import Spec
from ..types import TensorType
from .kernel import HostKernel

#: the families: operands one after the other along an axis, or along a new one
_CONCATENATE: Final = "concatenate"
_STACK: Final = "stack"
JOINED: Final = (_CONCATENATE, _STACK)
#: operands up to which kernels come with the package
FEW: Final = 12


def joined(spec: Spec, types: tuple[TensorType | None, ...]) -> HostKernel | None:
    """The kernel of such an op of many arrays, or of its vjp; None if it is none.

    There would be one to trace for each number of operands, and for each choice of those that a
    vjp is by.
    """
    op = spec.op.root
    if op.family not in JOINED or any(t is None for t in types):
        return None
    shapes = [t.shape for t in types if t is not None]
    axis = spec.attrs["axis"]
    if spec.op is op and len(shapes) > FEW:
        axis %= len(shapes[0]) + (op.family == _STACK)
        return HostKernel(_join(op.family, axis, shapes[0]), (False,))
    if spec.op.base is op and spec.op.kind == VJP:
        count, argnums, outnums = (spec.attrs[name] for name in spec.op.own)
        if outnums != (0,):
            return None
        axis %= len(shapes[-1])
        at = [k if op.family == _STACK else slice(a, b) for k, (a, b) in enumerate(pairwise(
            accumulate((s[axis] if op.family == _CONCATENATE else 1 for s in shapes[:count]),
                       initial=0)))]  # fmt: skip
        return HostKernel(_parts([(*[slice(None)] * axis, at[k]) for k in argnums]),
                          (True,) * len(argnums))
    return None


def _join(family: str, axis: int, shape: tuple[int, ...]) -> Callable[..., Any]:
    if family == _CONCATENATE:
        return lambda *xs: np.concatenate(xs, axis)
    if not shape:
        return lambda *xs: np.array(xs)
    return lambda *xs: np.stack(xs, axis)


def _parts(places: list[tuple[Any, ...]]) -> Callable[..., Any]:
    """Parts of the last operand, the cotangent."""
    if len(places) == 1:
        (place,) = places
        return lambda *operands: operands[-1][place]

    def run(*operands: Any) -> Any:
        cotangent = operands[-1]
        return tuple([cotangent[place] for place in places])

    return run
