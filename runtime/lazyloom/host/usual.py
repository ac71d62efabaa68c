"""The usual types of ops, for which kernels are prebuilt.

What is usual follows from an op's family: ranks, broadcasts, axes and dtypes that programs have.
Ops for whose family nothing is said here have the types of their samples.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from ..dtypes import CLASSES, DType, bool_, float32, float64, int32, int64, uint32
from ..ops.samples import samples
from ..ops.spec import OpDef, Operand, table
from .usual_case import (
    DTYPES,
    PAIRS,
    RANKS,
    SHAPES,
    SMALL,
    SMALL_PAIRS,
    SOME_PAIRS,
    KernelCase,
    dims_of,
)
from .usual_groups import GROUPS


def cases() -> Iterator[KernelCase]:
    """All cases, those of an op's samples last."""
    for case in _by_family():
        operands = [o for o in case.operands if o is not None]
        most = max((RANKS.get(d, 5) for _, d in operands), default=5)
        rank = max((len(dims) for dims, _ in operands), default=0)
        if rank <= most:
            # most gradients are of single precision
            wide = any(d is float64 for _, d in operands)
            yield case._replace(derived=False) if wide else case
    for op in table().values():
        if op.family not in (*_ELEMENTWISE, *_REDUCTIONS, "cast", "passed_on") or _rare(op):
            yield from _sampled(op)


def _by_family() -> Iterator[KernelCase]:
    for op in table().values():
        if op.family in _ELEMENTWISE and not _rare(op):
            yield from _elementwise(op)
        elif op.family in _REDUCTIONS:
            yield from _reduction(op)
        elif op.family in ("along_axis", "cumulative", "sorted_axis", "sorted_positions"):
            yield from _along_axis(op)
    for group in GROUPS:
        yield from group()


def _of_class(o: Operand, op: OpDef, d: DType) -> DType:
    """The dtype of an operand beside others of dtype ``d``."""
    if o.classes == "T" or d in CLASSES[o.classes]:
        return d
    return next(x for x in (bool_, int64, float64, uint32) if x in CLASSES[o.classes])


def _dtypes(op: OpDef) -> tuple[DType, ...]:
    operands = [o.classes for o in op.operands]
    classes = op.T if "T" in operands else operands[0]
    return tuple(d for d in DTYPES if d in CLASSES[classes])


def _attributes(op: OpDef, *without: str) -> list[dict[str, Any]]:
    """The attributes that the op's samples have, the defaults first where there are such."""
    required = any(a.required for a in op.attributes if a.name not in without)
    found: list[dict[str, Any]] = [] if required else [{}]
    for sample in samples(op):
        given = {k: v for k, v in sample.attributes.items() if k not in without}
        if given not in found:
            found.append(given)
    return found[:6]


def _elementwise(op: OpDef) -> Iterator[KernelCase]:
    count = len(op.operands)
    if count > 3:
        return
    usual, compares = op.execution.usual, op.family == "comparison"
    for d in _dtypes(op):
        if d is int32 and not usual:
            continue
        small = d is int32 or (d is bool_ and op.family == "elementwise" and count > 1)
        shapes = SMALL if small or (count > 1 and not usual and d is not bool_) else SHAPES
        given: list[tuple[str | None, ...]] = [(s,) * count for s in shapes]
        pairs = SMALL_PAIRS if small or not usual else (
            SOME_PAIRS if compares else PAIRS)
        if usual and d is float32:
            given.append(("abcde",) * count)
        if count == 2:
            given += pairs
        elif count == 3:
            for s in shapes[1:]:
                given += [(s, "", ""), (s, s, "")]
                if usual:
                    given += [(s, "", s), ("", s, s), ("", s, ""), ("", "", s)]
            for x, y in pairs[2 * (len(shapes) - 1) :: 2] if usual and not small else ():
                given += [(x, y, ""), (y, x, ""), (y, "", x), (y, x, x)]
        given += [tuple(None if o.optional and k == out else s for k, (s, o) in enumerate(
            zip((shape, "", "")[:count], op.operands, strict=True)))
            for out in range(1, count) if op.operands[out].optional for shape in shapes]
        types = [_of_class(o, op, d) for o in op.operands]
        derived: set[tuple[str | None, ...]] = {
            *SMALL_PAIRS, ("", "", ""), ("a", "a", ""), ("ab", "ab", ""), ("", "a", "a"),
            *((s,) * count for s in (SHAPES if usual else SMALL))}
        if usual and not compares:
            derived.update(SOME_PAIRS)
        for attributes in _attributes(op)[:2]:
            for row in given:
                yield KernelCase(op, tuple(None if s is None else (dims_of(s), t) for s, t in zip(
                    row, types, strict=True)), attributes, count == 1 or row in derived)


#: modules of functions that few programs have
_RARE: Final = ("special", "series", "incomplete_gamma", "complex_edges")
_ELEMENTWISE: Final = ("elementwise", "comparison", "predicate", "real_part", "approximated",
                       "integral_power")  # fmt: skip
_REDUCTIONS: Final = ("reduction", "extremum", "accumulation", "real_reduction",
                      "truth_reduction", "count_reduction", "arg_reduction")  # fmt: skip


def _rare(op: OpDef) -> bool:
    return op.fn.__module__.rpartition(".")[2] in _RARE


def _reduction(op: OpDef) -> Iterator[KernelCase]:
    one = op.family == "arg_reduction"
    name = "axis" if one else "axes"
    others = _attributes(op, name, "keepdims", "dtype")[: 1 if op.family == "real_reduction" else 2]
    truth = op.family in ("truth_reduction", "count_reduction")
    for d in _dtypes(op):
        if d is int32 or truth and d is not bool_:
            continue
        for shape in ("", "a", "1", "ab", "1b", "a1", "11", "abc", "1bc", "abcd"):
            rank = len(shape)
            axes: list[Any] = [None, *range(rank)] if one else [
                None, *((k,) for k in range(rank))]
            if not one and rank > 2:
                axes += [(rank - 2, rank - 1), tuple(range(1, rank)), (0, 1), (0, *range(2, rank))]
            for axis in dict.fromkeys(axes):
                for keepdims in (False, True):
                    summed = op.family == "accumulation" and d is bool_
                    for more in [*others, {"dtype": int64}] if summed else others:
                        yield KernelCase(op, ((dims_of(shape), d),), {
                            name: axis, "keepdims": keepdims, **more})


def _along_axis(op: OpDef) -> Iterator[KernelCase]:
    for d in _dtypes(op):
        for shape in ("a", "1", "ab", "1b", "abc", "1bc", "abcd", "1bcd"):
            axes = {-1, *range(len(shape))} if len(shape) < 3 or "1" not in shape else {-1}
            if op.family != "along_axis":
                axes = set(range(len(shape))) if len(shape) < 3 else {len(shape) - 1}
            for axis in sorted(axes):
                for more in _attributes(op, "axis")[:4]:
                    yield KernelCase(op, ((dims_of(shape), d),), {"axis": axis, **more})


def _sampled(op: OpDef) -> Iterator[KernelCase]:
    """The types of the op's samples; each of its extents of 2 or more is a letter of its own."""
    seen: set[Any] = set()
    rare = _rare(op)
    try:
        given = list(samples(op))
    except LookupError:
        return
    for sample in given:
        dtypes = [None if o is None else str(o.dtype) for o in sample.operands]
        if any(n not in _SAMPLED for n in dtypes):
            continue
        shapes = [None if o is None else o.shape for o in sample.operands]
        key = (tuple(dtypes), tuple(shapes), repr(sample.attributes))
        if key in seen or len(seen) >= (1 if rare else 4):
            continue
        seen.add(key)
        for wide in (False, True):
            if wide and "float32" not in dtypes:
                continue
            yield KernelCase(op, tuple(
                None if o is None else (tuple(o.shape), _SAMPLED[str(o.dtype)] if not (
                    wide and str(o.dtype) == "float32") else float64)
                for o in sample.operands), sample.attributes, not rare and not wide)


_SAMPLED: Final[dict[str | None, Any]] = {
    None: None, "uint32": uint32, **{d.name: d for d in DTYPES}}
