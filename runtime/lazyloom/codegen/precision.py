"""The comparison of results with XLA's, at the precision that a generator promises."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import ml_dtypes
import numpy as np

from ..program.program import Program
from ..program.stream import Result

#: units in the last place of their own dtype by which results of 16 bits or fewer may differ
#: in addition to the tolerance: each op of a region may round to them, or only the last
ROUNDINGS: Final = 4
#: the unit in the last place of float32, relative to the largest magnitude
FLOAT32: Final = 2.0**-23
#: a step of an 8-bit integer, relative to the largest magnitude
STEP: Final = 2.0**-7

_finfo: Final[Any] = ml_dtypes.finfo


def roundings(program: Program) -> tuple[int, ...]:
    """Return for each result how many ops that round to integers lie on the longest way to it."""
    depth: list[int] = []
    for i in program.structure.instructions:
        before = max((depth[x.instruction] for x in i.operands if isinstance(x, Result)), default=0)
        depth.append(before + i.spec.op.execution.rounds)
    return tuple(depth[n] for n, _ in program.outputs)


def difference(
    actual: Sequence[Any], expected: Sequence[Any], tolerance: float,
    rounded: Sequence[int] = (),
) -> str | None:  # fmt: skip
    """Describe the largest difference of the first result that differs by too much; None if none.

    ``actual`` and ``expected`` are NumPy arrays of equal dtypes and shapes. Integers and bools must
    be equal, NaNs in the same places, and infinities equal. Elsewhere a result may differ
    by ``tolerance`` units in the last place, relative to its largest magnitude: those of float32,
    of float64 for results of float64 and complex128, and additionally by :data:`ROUNDINGS` of their
    own for narrower dtypes. Magnitudes below the smallest normal number count as zero.

    ``rounded`` has for each result how many ops round to integers before it (:func:`roundings`);
    none if it is empty. For each of them an integer may differ by one, and any other result by
    :data:`STEP`, relative to its largest magnitude.
    """
    for number, (a, b) in enumerate(zip(actual, expected, strict=True)):
        steps = rounded[number] if rounded else 0
        worst = _worst(np.asarray(a), np.asarray(b), tolerance, steps)
        if worst is not None:
            which = f"result {number}" if len(expected) > 1 else "its result"
            return f"{which}, {b.dtype}{list(b.shape)}, {worst}"
    return None


def _worst(a: Any, b: Any, tolerance: float, steps: int) -> str | None:
    if a.tobytes() == b.tobytes():
        return None
    if a.dtype.kind in "iu" and steps:
        apart = np.maximum(a, b) - np.minimum(a, b)
        # a difference of signed integers may be more than their dtype holds
        apart = apart.view(f"u{a.dtype.itemsize}")
        place = _at(apart > steps, a, b, apart)
        return None if place is None else (
            f"{place}, expected at most {steps} apart, as {steps} op{'s' if steps > 1 else ''} "
            "before it round to integers")
    if a.dtype.kind in "biu":
        return _at(a != b, a, b)
    try:
        info: Any = _finfo(a.real.dtype)
    except ValueError:
        # an integer of few bits
        return _at(a != b, a, b)
    unit, smallest = float(info.eps), float(info.smallest_normal)
    if unit > FLOAT32:
        a, b = a.astype(np.float32), b.astype(np.float32)
    with np.errstate(all="ignore"):
        finite = np.isfinite(b)
        wrong = np.where(np.isnan(b), ~np.isnan(a), ~finite & (a != b))
        place = _at(wrong, a, b)
        if place is not None:
            return place
        largest = float(np.max(np.abs(b), where=finite, initial=0.0))
        allowed = tolerance * unit if unit <= FLOAT32 else tolerance * FLOAT32 + ROUNDINGS * unit
        allowed += steps * STEP
        apart = np.where(finite, np.abs(a - b), 0.0)
        apart[np.isnan(apart)] = np.inf
        limit = max(allowed * largest, smallest)
        place = _at(apart > limit, a, b, apart)
    if place is None:
        return None
    last_place = unit * largest if largest else smallest
    return (f"{place}: {float(apart.max()) / last_place:.4g} units in the last place of the "
            f"largest magnitude, {largest:.6g}, expected at most {limit / last_place:.4g}")


def _at(wrong: Any, a: Any, b: Any, apart: Any = None) -> str | None:
    """Describe the place and values where two results differ (most); None if they do nowhere."""
    if not wrong.any():
        return None
    place = np.unravel_index(int(np.argmax(wrong if apart is None else apart)), wrong.shape)
    count = int(wrong.sum())
    index = ", ".join(map(str, place))
    more = f" and in {count - 1} more" if count > 1 else ""
    return f"is {a[place]} at [{index}]{more}, XLA's {b[place]}"
