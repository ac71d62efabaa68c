"""Numbers with bounds: what a shadow's arrays are, and how dtypes limit them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import ml_dtypes
import numpy as np

BFLOAT16: Final = np.dtype(ml_dtypes.bfloat16)
#: roundings of a function of one element, in units in the last place
FUNCTION: Final = 4.0
#: of a sum, a product, a quotient of two elements
SIMPLE: Final = 1.0

#: of what no rule tells, forms may differ by so much of the largest number
UNTOLD: Final = 2.0**-7

#: what an operand of a shadow is in NumPy: a wider dtype
_WIDE: Final = {
    "float16": np.float64, "bfloat16": np.float64, "float32": np.float64,
    "float64": np.longdouble, "complex64": np.complex128, "complex128": np.clongdouble,
}  # fmt: skip


def is_float(dtype: Any) -> bool:
    """Whether a dtype is one of real floating-point numbers."""
    return dtype == BFLOAT16 or np.dtype(dtype).kind == "f"


def is_inexact(dtype: Any) -> bool:
    """Whether a dtype is one of real or complex floating-point numbers."""
    return is_float(dtype) or np.dtype(dtype).kind == "c"


def wide(dtype: Any) -> Any:
    """The dtype that a shadow computes in."""
    return np.dtype(_WIDE.get(np.dtype(dtype).name, dtype))


def part(dtype: Any) -> Any:
    """The dtype of the real and the imaginary part of complex numbers; a real dtype itself."""
    dtype = np.dtype(dtype)
    return np.dtype({"complex64": "f4", "complex128": "f8"}.get(dtype.name, dtype))


class Limits:
    """Where a floating-point dtype ends.

    Attributes:
        unit: half the distance from 1 to the next number: what a rounding may be off, relatively.
        largest: the largest finite number.
        rounded: from where on a number rounds to infinity.
        least: the least positive number that is not subnormal.
        tiny: the least positive number.
        flushes: arithmetic treats subnormal numbers as zeros. Of float16, whose arithmetic is that
            of float32, they are numbers as any.
    """

    def __init__(self, dtype: Any) -> None:
        info = ml_dtypes.finfo(part(dtype))
        kind = np.longdouble if part(dtype) == np.float64 else np.float64
        self.unit = float(info.eps) / 2
        self.largest = kind(info.max)
        self.rounded = kind(info.max) * (1 + kind(info.eps) / 4)
        self.least = kind(info.smallest_normal)
        self.tiny = kind(info.smallest_subnormal)
        self.flushes = part(dtype) != np.float16


_limits: dict[Any, Limits] = {}


def limits(dtype: Any) -> Limits:
    dtype = np.dtype(dtype)
    found = _limits.get(dtype)
    if found is None:
        found = _limits[dtype] = Limits(dtype)
    return found


def folded(count: int) -> float:
    """How many roundings of the sum of magnitudes a sum of that many terms may be off.

    Any order will do for a few terms. What adds many one after the other is off by as many
    roundings as there are terms, in the worst case; what adds in parts, as pairwise sums and sums
    of vectors do, by as many as the longest part and the logarithm of the count. The first 128
    terms may be added one by one, and each doubling from there on may add 4 roundings.
    """
    if count <= 1:
        return 0.0
    return float(min(count - 1, 128) + (4 * np.log2(count / 128) if count > 128 else 0))


class Shade:
    """An array of a shadow.

    Attributes:
        dtype: the dtype that a form has.
        v: the numbers in :func:`wide` of it.
        e: float64 of the same shape: how far a form may be from ``v``. 0 is exact, infinity is
            undecided. Of integers and truth values it is one of these two. NaN says that no rule
            tells: forms are compared with each other.
    """

    __slots__ = ("dtype", "v", "e")

    def __init__(self, dtype: Any, v: Any, e: Any = None) -> None:
        self.dtype = np.dtype(dtype)
        self.v = np.asarray(v)
        self.e = np.zeros(self.v.shape) if e is None else np.broadcast_to(
            np.asarray(e, np.float64), self.v.shape)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.v.shape

    @property
    def is_exact(self) -> bool:
        return not self.e.any()

    def moved(self, move: Callable[[Any], Any]) -> Shade:
        """The same elements in other places."""
        return Shade(self.dtype, move(self.v), move(self.e))

    def rounded(self) -> np.ndarray:
        """The numbers in the form's own dtype."""
        if self.v.dtype == self.dtype:
            return self.v
        with np.errstate(all="ignore"):
            return self.v.astype(self.dtype)


def shade_of(array: Any) -> Shade:
    """An array as a shadow has it: all of it is exact."""
    array = np.asarray(array)
    return Shade(array.dtype, array.astype(wide(array.dtype)))


def flushed(v: Any, dtype: Any) -> Any:
    """Numbers as arithmetic takes and gives them: subnormal ones are zeros of their sign."""
    if not is_inexact(dtype):
        return v
    at = limits(dtype)
    if np.dtype(dtype).kind == "c":
        if not at.flushes:
            return v
        return _complex(flushed(v.real, part(dtype)), flushed(v.imag, part(dtype)), v.dtype)
    if not at.flushes:
        return v
    small = np.abs(v) < at.least
    return np.where(small, np.copysign(v.dtype.type(0), v), v) if small.any() else v


def ranged(v: Any, dtype: Any) -> Any:
    """Results as a dtype can hold them: infinite where too large, zeros where too small."""
    if not is_inexact(dtype):
        return v
    if np.dtype(dtype).kind == "c":
        return _complex(ranged(v.real, part(dtype)), ranged(v.imag, part(dtype)), v.dtype)
    at = limits(dtype)
    large = np.abs(v) >= at.rounded
    if large.any():
        v = np.where(large, np.copysign(v.dtype.type(np.inf), v), v)
    if not at.flushes:
        small = np.abs(v) < at.tiny / 2
        return np.where(small, np.copysign(v.dtype.type(0), v), v) if small.any() else v
    return flushed(v, dtype)


def _complex(real: Any, imag: Any, dtype: Any) -> Any:
    found = np.empty(np.broadcast_shapes(real.shape, imag.shape), dtype)
    found.real, found.imag = real, imag
    return found


def corners(xs: Sequence[Shade]) -> list[list[Any]]:
    """The operands of an elementwise step at the ends of their intervals, the middle first."""
    found: list[list[Any]] = [[]]
    for x in xs:
        middle = flushed(x.v, x.dtype)
        ends = [middle]
        if is_inexact(x.dtype) and x.e.any():
            with np.errstate(all="ignore"):
                known = np.where(np.isfinite(x.e), x.e, np.where(
                    np.isnan(x.e) & np.isfinite(middle), UNTOLD * np.abs(middle), 0)).astype(
                        middle.real.dtype)
            ends += [flushed(middle + known, x.dtype), flushed(middle - known, x.dtype)]
            if x.dtype.kind == "c":
                ends += [middle + 1j * known, middle - 1j * known]
        found = [[*some, end] for some in found for end in ends]
    return found


def joined(xs: Sequence[Shade]) -> Any:
    """The places where a result depends on something undecided (infinity) or untold (NaN)."""
    found: Any = 0.0
    for x in xs:
        if not x.is_exact:
            undecided = np.where(np.isinf(x.e), np.inf, np.where(np.isnan(x.e), np.nan, 0.0))
            found = np.where(np.isinf(found) | np.isinf(undecided), np.inf, found + undecided)
    return found


def same_class(a: Any, b: Any) -> Any:
    """Where two numbers are of one class: NaN, either infinity, finite."""
    if a.dtype.kind == "c":
        return same_class(a.real, b.real) & same_class(a.imag, b.imag)
    return ((np.isfinite(a) & np.isfinite(b)) | (np.isnan(a) & np.isnan(b)) | (a == b))


def pointwise(
    f: Callable[..., Any], xs: Sequence[Shade], dtype: Any, roundings: float
) -> Shade:
    """An elementwise step whose results are numbers of a dtype, each off by so many units.

    Results of an exact step of exact operands are exact. Where the classes at the ends of the
    intervals differ, the result is undecided.
    """
    dtype = np.dtype(dtype)
    with np.errstate(all="ignore"):
        points = corners(xs)
        kind = wide(dtype)
        v = ranged(np.asarray(f(*points[0])).astype(kind, copy=False), dtype)
        e = np.zeros(v.shape)
        undecided = np.zeros(v.shape, bool)
        for point in points[1:]:
            at = ranged(np.asarray(f(*point)).astype(kind, copy=False), dtype)
            undecided |= ~same_class(v, at)
            apart = np.abs(at - v).astype(np.float64)
            e = np.fmax(e, np.where(np.isfinite(apart), apart, 0))
            if dtype.kind != "c":
                # two zeros of unlike signs, or zero and not: no class of zeros is decided
                unlike = (v == 0) & ((at != 0) | (np.signbit(at) != np.signbit(v)))
                e = np.where(unlike, np.fmax(e, limits(dtype).tiny), e)
        at = limits(dtype)
        size = np.abs(v).astype(np.float64)
        finite = np.isfinite(size)
        if roundings:
            off = np.where(finite, 2 * roundings * at.unit * size, 0)
            if not at.flushes:
                off = np.where(finite & (size < at.least), roundings * float(at.tiny), off)
            if roundings <= SIMPLE and dtype.kind != "c" and all(x.is_exact for x in xs):
                # the result is a number of the dtype: every form finds it
                off = np.where(v.astype(dtype).astype(kind) == v, 0, off)
            e = e + off
            e = np.where(e > 0, _at_ends(v, e, f, points[0], kind, dtype, roundings), e)
        if dtype.kind == "c":
            # too large for a bound, though its parts are not
            undecided |= np.isfinite(v) & ~finite
        e = np.where(undecided, np.inf, e)
        e = np.where(finite | np.isinf(e), e, 0)
        if np.dtype(dtype).kind == "c":
            # what complex functions make of infinities and NaN no rule tells; the other part of
            # such a number may have any sign where it has a bound
            plain, bounded = np.isfinite(v), False
            for x, y in zip(xs, points[0], strict=True):
                plain = plain & np.isfinite(y)
                bounded = bounded | (x.e > 0)
            e = np.where(plain, e, np.where(bounded, np.inf, np.nan))
        taint = joined(xs)
        # what is told of nothing is not told either, but where its class depends on the last digits
        e = np.where(np.isinf(taint) | undecided, np.inf, e + np.where(
            np.isnan(taint), np.nan, 0))
    return Shade(dtype, v, e)


def _at_ends(
    v: Any, e: Any, f: Any, middle: Any, kind: Any, dtype: Any, roundings: float
) -> Any:
    """Bounds where a rounding may take a result over the largest number, or below the least.

    There forms may differ by a class, as their roundings do.
    """
    at = limits(dtype)
    if np.dtype(dtype).kind == "c":
        size = np.abs(v).astype(np.float64)
        return np.where(np.isfinite(size) & (size + e >= float(at.rounded)), np.inf, e)
    raw = np.abs(np.asarray(f(*middle)).astype(kind, copy=False))
    off = e + 2 * roundings * at.unit * np.where(np.isfinite(raw), raw, 0).astype(np.float64)
    near_top = np.isfinite(raw) & (np.abs(raw - at.rounded) <= off)
    e = np.where(near_top, np.inf, e)
    if at.flushes:
        near_least = (raw + off >= at.least) & (raw - off < at.least)
        e = np.where(near_least, np.fmax(e, (raw + off).astype(np.float64)), e)
    return e


def decision(f: Callable[..., Any], xs: Sequence[Shade], dtype: Any = bool) -> Shade:
    """An elementwise step whose results are truth values or integers; exact where ends agree."""
    with np.errstate(all="ignore"):
        points = corners(xs)
        v = np.asarray(f(*points[0]))
        undecided = np.isinf(joined(xs)) & np.ones(v.shape, bool)
        undecided |= np.isnan(joined(xs))
        for point in points[1:]:
            undecided = undecided | (np.asarray(f(*point)) != v)
    return Shade(dtype, v.astype(dtype), np.where(undecided, np.inf, 0.0))
