"""Sorts, the largest elements, and their gradients, by ``native/c_kernels``."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from ...program.stream import Leaf
from ...types import TensorType
from ..answers import YES, Answer, Call, No
from ..generator import NativeCode, Region
from .rows import code, rows

#: kinds of elements, and the bits of infinity, by the names of dtypes
_KINDS: Final = {"b": 0, "u": 0, "i": 1, "f": 2}
_INFINITY: Final = {"float16": 0x7C00, "bfloat16": 0x7F80, "float32": 0x7F800000,
                    "float64": 0x7FF0000000000000}
#: positions take 31 bits beside the upper bits of the elements
_LONGEST: Final = 2**31 - 1
#: dtypes of the positions by which JAX's gradients gather
_POSITIONS: Final = ("int32", "uint32", "int64", "uint64")
#: seconds per element, for estimates
_EACH: Final = 1e-8


class _Sort(NamedTuple):
    """What a sort must give.

    Attributes:
        results: the numbers of the results that are values, positions, and positions for a
            gradient; None for each that is absent.
        reversed: whether positions for a gradient are those in the reversed row.
        turned: whether values are written from the end.
        descending: the order.
        taken: the number of elements.
    """

    results: tuple[int | None, int | None, int | None]
    reversed: bool
    turned: bool
    descending: bool
    taken: int


def _axis(call: Call, x: TensorType) -> int:
    return int(call.attributes["axis"]) % x.ndim


def _sort(call: Call) -> _Sort | No:
    x = call.operands[0]
    assert x is not None
    kind, _, derived = call.op.partition(".")
    attrs = call.attributes
    taken = int(attrs["k"]) if kind == "top_k" else x.shape[_axis(call, x)]
    descending = bool(attrs["largest"] if kind == "top_k" else attrs["descending"])
    if not derived:
        values = None if kind == "argsort" else 0
        positions = None if kind == "sort" else 0 if kind == "argsort" else 1
        return _Sort((values, positions, None), False, False, descending, taken)
    number = 1 if kind == "sort" else 2
    if attrs["forward_argnums"] != (0,) or len(call.results) != number + 1:
        return No("residuals of another kind")
    kept = call.results[number]
    if kept.shape != (*call.results[0].shape, 1) or kept.dtype.name not in _POSITIONS:
        return No(f"residuals {kept.text}, expected positions")
    if kind == "sort":
        # the definition sorts in ascending order and reverses the values
        return _Sort((0, None, 1), False, descending, False, taken)
    return _Sort((0, 1, 2), kind != "top_k" and descending, False, descending, taken)


def _forward(call: Call) -> Answer:
    x = call.operands[0]
    assert x is not None
    if x.dtype.kind not in _KINDS:
        return No(f"dtype {x.dtype.name}, expected real numbers")
    if not x.ndim or x.shape[_axis(call, x)] > _LONGEST:
        return No(f"a row longer than {_LONGEST}")
    sort = _sort(call)
    return sort if isinstance(sort, No) else YES


def _backward(call: Call) -> Answer:
    attrs = call.attributes
    if len(call.operands) != 2 or attrs["backward_outnums"] != (0,) or (
        attrs["backward_argnums"] != (0,)
    ):
        return No("a derivative of another kind")
    kept, cotangent = call.operands
    assert kept is not None and cotangent is not None
    if kept.shape != (*cotangent.shape, 1) or kept.dtype.name not in _POSITIONS:
        return No(f"residuals {kept.text}, expected positions")
    return YES if cotangent.dtype.kind == "f" else No(f"dtype {cotangent.dtype.name}")


_SUPPORTS: Final[dict[str, Callable[[Call], Answer]]] = {
    **dict.fromkeys(("sort", "argsort", "sort_with_indices", "top_k"), _forward),
    **dict.fromkeys(("sort.fwd", "sort_with_indices.fwd", "top_k.fwd"), _forward),
    **dict.fromkeys(("sort.bwd", "sort_with_indices.bwd", "top_k.bwd"), _backward),
}


def supports(call: Call) -> Answer:
    """Return YES if an op is supported, or why not."""
    return _SUPPORTS[call.op](call)


def known(op: str) -> bool:
    """Return True if an op is one of these."""
    return op in _SUPPORTS


def seconds(call: Call) -> float:
    """Estimate the seconds of a run."""
    return _EACH * sum(t.size for t in call.operands if t is not None)


def build(region: Region) -> NativeCode:
    """Return the function with the numbers that it takes."""
    native: Any = importlib.import_module("lazyloom._c_kernels")
    call = region.calls[0]
    operands = [x.number for x in region.program.structure.instructions[0].operands
                if isinstance(x, Leaf)]
    # a result that nothing uses is not a result of the region
    buffers = {r: len(region.operands) + k for k, (_, r) in enumerate(region.program.outputs)}
    if call.op.endswith(".bwd"):
        kept, cotangent = call.operands
        assert kept is not None and cotangent is not None
        axis = _axis(call, cotangent)
        outer, count, inner = rows(call.results[0], axis)
        kind = call.op.removesuffix(".bwd")
        turned = kind != "top_k" and bool(call.attributes["descending"])
        return code(native.scattering(), [
            cotangent.dtype.itemsize, outer, count, inner, cotangent.shape[axis],
            kept.dtype.itemsize, turned, turned and kind != "sort", *operands])
    x = call.operands[0]
    sort = _sort(call)
    assert x is not None and not isinstance(sort, No)
    outer, count, inner = rows(x, _axis(call, x))
    gradient = sort.results[2]
    used = [0 if r is None else buffers.get(r, 0) for r in sort.results]
    # with equal elements in order, where a descending `sort` has them in reverse
    plain = used[1:] == [0, 0] and sort.taken == count and not sort.turned and (
        call.op == "sort" or not sort.descending)
    return code(native.sorting(), [
        _KINDS[x.dtype.kind], x.dtype.itemsize, _INFINITY.get(x.dtype.name, 0), outer, count, inner,
        sort.taken, sort.descending,
        *used,
        0 if gradient is None else call.results[gradient].dtype.itemsize,
        sort.reversed, sort.turned, plain])
