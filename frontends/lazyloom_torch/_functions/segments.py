"""Reductions of consecutive parts of a dimension, of different lengths."""

from __future__ import annotations

from typing import Any

from lazyloom.dtypes import int64

from .._core import axis as checked_axis
from .._core import cast, record, scalar
from .._errors import described
from .._registry import declare
from .._tensor import Tensor, operand
from . import bounds
from .scattering import neutral
from .sorting import searchsorted

_wrap = Tensor.from_value
#: the reductions, by the names of those of ``scatter_reduce``
_REDUCTIONS = {"sum": "sum", "mean": "mean", "max": "amax", "min": "amin", "prod": "prod"}
_MODES = {"sum": "add", "mean": "add", "max": "max", "min": "min", "prod": "multiply"}


def _ends(lengths: Any, offsets: Any, axis: int) -> tuple[Any, Any]:
    """Where segments end, and how long they are: of lengths, or of offsets and one past the last.

    Both have a dimension of segments last, after dimensions that the data have in front, too.
    """
    given = lengths if lengths is not None else offsets
    if given is None:
        raise RuntimeError("segment_reduce(): Either lengths or offsets must be defined.")
    if not isinstance(given, Tensor):
        raise TypeError(
            f"segment_reduce(): lengths and offsets must be Tensor, not {described(given)}")
    if given.tensor_type.dtype.name not in ("int32", "int64"):
        raise RuntimeError(
            f"segment_reduce(): Expected lengths or offsets of int32 or int64, got {given.dtype!r}")
    if axis != given.ndim - 1:
        raise RuntimeError(
            "segment_reduce(): Expected axis to be the last dimension of lengths or offsets, "
            f"{given.ndim - 1}, but got {axis}.")
    v = cast(operand(given), int64)
    if lengths is not None:
        return record("cumsum", [v], {"axis": axis}), v
    n = v.shape[-1] - 1
    begins, ends = _part(v, axis, 0, n), _part(v, axis, 1, n + 1)
    return ends, record("subtract", [ends, begins])


def _part(v: Any, axis: int, start: int, stop: int) -> Any:
    rank = len(v.shape)
    return record("slice", [v], {
        "starts": tuple([start if d == axis else 0 for d in range(rank)]),
        "stops": tuple([stop if d == axis else e for d, e in enumerate(v.shape)]),
        "strides": (1,) * rank})


def segment_reduce(
    data: Tensor, reduce: str, *, lengths: Tensor | None = None, indices: Tensor | None = None,
    offsets: Tensor | None = None, axis: int = 0, unsafe: bool = False, initial: Any = None,
) -> Tensor:
    """Each segment of a dimension reduced: by "sum", "mean", "max", "min" or "prod".

    Segments are given by their ``lengths``, or by ``offsets``, where each begins and the last
    one ends. ``initial`` is what a reduction begins with; without it a segment without elements
    has 0, 1 or an infinity, and NaN as its mean. Lengths that are negative or do not add up to
    the dimension raise when the result is read, unless ``unsafe``.
    """
    if reduce not in _REDUCTIONS:
        raise RuntimeError(
            f"segment_reduce(): reduce must be one of {', '.join(_REDUCTIONS)}; got {reduce!r}")
    if indices is not None:
        raise RuntimeError(
            "segment_reduce(): indices based reduction is not supported; give lengths or offsets")
    v = operand(data)
    if v.dtype.kind != "f":
        raise NotImplementedError(f"segment_reduce is not implemented for {data.dtype!r}")
    at = checked_axis(axis, data.ndim)
    ends, counts = _ends(lengths, offsets, at)
    before, n, after = v.shape[:at], v.shape[at], v.shape[at + 1:]
    if ends.shape[:-1] != before:
        raise RuntimeError(
            f"segment_reduce(): lengths or offsets have shape {list(ends.shape)}, expected "
            f"{list(before)} and the number of segments, as data of shape {list(v.shape)} have "
            f"before dimension {at}")
    segments = ends.shape[-1]
    if lengths is not None and not unsafe:
        total = record("sum", [counts], {"axes": (at,), "keepdims": True})
        wrong = record("logical_or", [
            record("any", [record("less", [counts, scalar(0, int64)])]),
            record("any", [record("not_equal", [total, scalar(n, int64)])])])
        v = bounds.require(v, wrong, "torch.segments")
    # the number of the segment of each place; those before the first and after the last have one
    # more, which is dropped
    places = record("iota", [], {"shape": (*before, n), "axis": at, "dtype": int64})
    number = operand(searchsorted(_wrap(ends), _wrap(places), right=True))
    if lengths is None and segments:
        first = record("subtract", [_part(ends, at, 0, 1), _part(counts, at, 0, 1)])
        number = record("where", [record("less", [places, first]), scalar(segments, int64), number])
    number = record("reshape", [number], {"shape": (*before, n, *(1,) * len(after))})
    number = record("broadcast_to", [number], {"shape": v.shape})
    start = neutral(_REDUCTIONS[reduce], v.dtype) if initial is None else scalar(initial, v.dtype)
    found = record("full", [start], {"shape": (*before, segments + 1, *after)})
    if v.type.size:
        found = record("scatter_along_axis", [found, number, v], {
            "axis": at, "mode": _MODES[reduce]})
    found = _part(found, at, 0, segments)
    if reduce == "mean":
        counts = record("reshape", [counts], {"shape": (*before, segments, *(1,) * len(after))})
        some = record("broadcast_to", [record("greater", [counts, scalar(0, int64)])], {
            "shape": found.shape})
        empty = scalar(float("nan"), v.dtype) if initial is None else start
        by = record("where", [some, record("broadcast_to", [cast(counts, v.dtype)], {
            "shape": found.shape}), scalar(1, v.dtype)])
        found = record("where", [some, record("divide", [found, by]), empty])
    return _wrap(found)


declare({"function": [segment_reduce]})
