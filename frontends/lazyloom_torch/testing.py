"""``torch.testing``: compare tensors, and make them. Comparing reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from lazyloom.errors import type_name

from . import _dtypes
from ._dtypes import dtype as _dtype
from ._interchange import is_foreign, own_copy
from ._placing import placed as _placed
from ._tensor import Tensor

#: relative and absolute tolerance by dtype, PyTorch's defaults
_DEFAULT = {"float16": (1e-3, 1e-5), "bfloat16": (1.6e-2, 1e-5), "float32": (1.3e-6, 1e-5),
            "float64": (1e-7, 1e-7), "complex64": (1.3e-6, 1e-5), "complex128": (1e-7, 1e-7)}


def _tolerance(kinds: Sequence[_dtype], rtol: float | None, atol: float | None
               ) -> tuple[float, float]:
    if (rtol is None) != (atol is None):
        raise ValueError(f"rtol and atol must both be given or both be left out, got {rtol} and "
                         f"{atol}")
    if rtol is not None and atol is not None:
        return rtol, atol
    found = [_DEFAULT.get(k.name, (0.0, 0.0)) for k in kinds]
    return max(r for r, _ in found), max(a for _, a in found)


def assert_close(
    actual: Any, expected: Any, *, allow_subclasses: bool = True, rtol: float | None = None,
    atol: float | None = None, equal_nan: bool = False, check_device: bool = True,
    check_dtype: bool = True, check_layout: bool = True, check_stride: bool = False,
    msg: str | Callable[[str], str] | None = None,
) -> None:
    """Assert that two tensors, numbers, or sequences or mappings of them are close.

    Close is ``|actual - expected| <= atol + rtol * |expected|``, with tolerances that depend on
    the dtype (0 for integers and bool). Raises AssertionError saying how many elements differ and
    where most; ValueError if only one tolerance is given. As torch.testing.assert_close.
    """

    def refuse(text: str) -> None:
        text = msg(text) if callable(msg) else msg or text
        raise AssertionError(text)

    def compare(a: Any, b: Any, place: str) -> None:
        where = f"\n\nThe failure occurred for item {place}" if place else ""
        if isinstance(b, Mapping) and isinstance(a, Mapping):
            if set(a) != set(b):
                refuse(f"The keys of the mappings do not match: {list(a)} != {list(b)}{where}")
            for key in b:
                compare(a[key], b[key], f"{place}[{key!r}]")
            return
        sequences = (list, tuple)
        if isinstance(b, sequences) and isinstance(a, sequences):
            if len(a) != len(b):
                refuse(f"The lengths of the sequences do not match: {len(a)} != {len(b)}{where}")
            for i, (x, y) in enumerate(zip(a, b, strict=True)):
                compare(x, y, f"{place}[{i}]")
            return
        if is_foreign(a) or is_foreign(b):
            a, b = (own_copy(x) if is_foreign(x) else x for x in (a, b))
        if isinstance(a, Tensor) != isinstance(b, Tensor):
            raise TypeError(f"cannot compare {type_name(a)} with {type_name(b)}")
        _compare(a, b, where)

    def _compare(a: Any, b: Any, where: str) -> None:
        if isinstance(b, Tensor):
            kinds = (a.dtype, b.dtype)
            for name, want in (("shape", True), ("dtype", check_dtype), ("stride()", check_stride)):
                x, y = (getattr(t, name) if name != "stride()" else t.stride() for t in (a, b))
                if want and x != y:
                    refuse(f"The values for attribute {name!r} do not match: {x} != {y}.{where}")
            x, y = a.detach().read(), b.detach().read()
        else:
            x, y = np.asarray(a), np.asarray(b)
            kinds = (_number_dtype(x), _number_dtype(y))
            if check_dtype and type(a) is not type(b):
                refuse(f"The types do not match: {type_name(a)} != {type_name(b)}.{where}")
        relative, absolute = _tolerance(kinds, rtol, atol)
        _close(x, y, relative, absolute, where)

    def _close(x: Any, y: Any, relative: float, absolute: float, where: str) -> None:
        exact = relative == absolute == 0
        if not exact or x.dtype != y.dtype:
            kind = np.complex128 if "c" in (x.dtype.kind, y.dtype.kind) else np.float64
            x, y = x.astype(kind), y.astype(kind)
        with np.errstate(all="ignore"):
            same = (x == y) | ((x != x) & (y != y) if equal_nan else False)
            gap = np.abs(np.subtract(x, y, dtype=x.dtype if x.dtype.kind in "fc" else np.float64))
            good = same | (gap <= absolute + relative * np.abs(y))
            far = gap / np.abs(y).astype(gap.dtype)
        if np.all(good):
            return
        if not np.ndim(x):
            refuse(f"Scalars are not close!\n\nExpected {y} but got {x}.\nAbsolute difference: "
                   f"{gap} (up to {absolute} allowed)\nRelative difference: {far} (up to "
                   f"{relative} allowed){where}")
        lines = []
        for name, values, allowed in (("absolute", gap, absolute), ("relative", far, relative)):
            shown = np.where(good, -1.0, np.where(np.isnan(values), np.inf, values))
            at = tuple(int(i) for i in np.unravel_index(np.argmax(shown), shown.shape))
            lines.append(f"Greatest {name} difference: {values[at]} at index {at} "
                         f"(up to {allowed} allowed)")
        wrong = int(np.size(good) - np.count_nonzero(good))
        refuse("\n".join([
            f"Tensor-likes are not {'equal' if exact else 'close'}!", "",
            f"Mismatched elements: {wrong} / {np.size(good)} "
            f"({100 * wrong / np.size(good):.1f}%)", *lines]) + where)

    compare(actual, expected, "")


def _number_dtype(x: Any) -> _dtype:
    return {"b": _dtypes.bool_, "i": _dtypes.int64, "f": _dtypes.float64,
            "c": _dtypes.complex128}[x.dtype.kind]


@_placed
def make_tensor(
    *shape: Any, dtype: _dtype, device: Any = None, low: float | None = None,
    high: float | None = None, requires_grad: bool = False, noncontiguous: bool = False,
    exclude_zero: bool = False, memory_format: Any = None,
) -> Tensor:
    """A tensor of random numbers between low (included) and high.

    By default floating-point and complex numbers lie in [-9, 9], integers in [-9, 10) (unsigned
    ones in [0, 10)). ``exclude_zero`` replaces zeros by one; ``noncontiguous`` makes it a view of
    every second element. Raises ValueError if low is not below high.
    """
    from ._functions import creation, pointwise
    from .random import FUNCTIONS as random

    _dtypes.check_device(device)
    sizes = tuple(shape[0]) if len(shape) == 1 and isinstance(shape[0], Sequence) else shape
    if noncontiguous and sizes:
        sizes = (*sizes[:-1], 2 * sizes[-1])
    if low is not None and high is not None and low >= high:
        raise ValueError(f"low must be below high, got {low} and {high}")
    if dtype is _dtypes.bool_:
        made = random["randint"](0, 2, sizes, dtype=dtype)
    elif dtype.category == 1:
        first = int(low) if low is not None else -9 if dtype.is_signed else 0
        made = random["randint"](first, 10 if high is None else int(high), sizes, dtype=dtype)
    else:
        begin, end = (-9.0 if low is None else low), (9.0 if high is None else high)
        real = dtype.to_real() if dtype.is_complex else dtype
        parts = [random["rand"](sizes, dtype=real) * (end - begin) + begin
                 for _ in range(2 if dtype.is_complex else 1)]
        made = pointwise.FUNCTIONS["complex"](*parts) if dtype.is_complex else parts[0]
    if exclude_zero:
        made = pointwise.where(made == 0, creation.FUNCTIONS["ones_like"](made), made)
    if noncontiguous and sizes:
        made = made[..., ::2]
    return made.detach().requires_grad_(requires_grad)


__all__ = ["assert_close", "make_tensor"]
