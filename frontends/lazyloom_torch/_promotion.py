"""PyTorch's type promotion.

Definition: PyTorch's documentation, "Tensor Attributes", section type promotion.
Operands rank by category (bool, integer, floating, complex) and, within that, tensors
with dimensions before zero-dimensional tensors before Python numbers; an operand of a
lower rank only raises the result's category, never its width.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import lazyloom

from . import _dtypes
from ._dtypes import dtype
from ._errors import described

_FLOAT_ORDER = {"float16": 0, "bfloat16": 0, "float32": 1, "float64": 2}


def _promote(a: dtype, b: dtype) -> dtype:
    if a.category > b.category:
        a, b = b, a
    if b.category == 3:
        double = _dtypes.complex128 in (a, b) or a is _dtypes.float64
        return _dtypes.complex128 if double else _dtypes.complex64
    if b.category == 2:
        if a.category < 2:
            return b
        first, second = _FLOAT_ORDER[a.name], _FLOAT_ORDER[b.name]
        if first == second:
            return _dtypes.float32
        return a if first > second else b
    if a.category == 0:
        return b
    if a.is_signed == b.is_signed:
        return a if a.itemsize >= b.itemsize else b
    signed, unsigned = (a, b) if a.is_signed else (b, a)
    if unsigned is not _dtypes.uint8:
        raise RuntimeError(
            f"promotion of {a!r} with {b!r} is not supported, as in PyTorch; convert one of them "
            "with .to(dtype)")
    return signed if signed.itemsize > 1 else _dtypes.int16


_TABLE = {}
for _a in _dtypes.ALL:
    for _b in _dtypes.ALL:
        try:
            _TABLE[_a, _b] = _a if _a is _b else _promote(_a, _b)
        except RuntimeError:
            pass


def promote_types(type1: dtype, type2: dtype) -> dtype:
    """The smallest dtype that is not smaller nor of a lower kind than either.

    Raises RuntimeError for uint16, uint32 and uint64 with a signed type.
    """
    found = _TABLE.get((type1, type2))
    return _promote(type1, type2) if found is None else found


def can_cast(from_: dtype, to: dtype) -> bool:
    """Whether an in-place result of the first dtype may be stored in the second."""
    return from_.category <= to.category


def number_dtype(number: Any) -> dtype:
    """The dtype that a Python number stands for. Raises TypeError for what is no number."""
    if isinstance(number, (bool, np.bool_)):
        return _dtypes.bool_
    if isinstance(number, (int, np.integer)):
        return _dtypes.int64
    if isinstance(number, (float, np.floating)):
        return _dtypes.get_default_dtype()
    if isinstance(number, (complex, np.complexfloating)):
        return _dtypes.get_default_dtype().to_complex()
    raise TypeError(
        f"expected a lazyloom_torch.Tensor or a Python number, given a {described(number)}")


def is_number(x: Any) -> bool:
    """Whether x is a Python or NumPy scalar."""
    kind = type(x)
    if kind is float or kind is int:
        return True
    return isinstance(x, (int, float, complex, np.generic)) and not isinstance(x, lazyloom.Tensor)


def _combine(higher: dtype | None, lower: dtype | None) -> dtype | None:
    if higher is None or lower is None:
        return lower if higher is None else higher
    if higher.category == 3:
        return higher
    if higher.category == 2:
        return higher.to_complex() if lower.category == 3 else higher
    if higher.category == 0 or lower.category >= 2:
        return promote_types(higher, lower)
    return higher


def combine(operands: Any) -> dtype:
    """The result dtype of ``(rank, dtype)`` pairs; rank 2 for tensors with dimensions,
    1 for zero-dimensional ones, 0 for Python numbers."""
    ranks: list[dtype | None] = [None, None, None]
    for rank, d in operands:
        known = ranks[rank]
        ranks[rank] = d if known is None or known is d else promote_types(known, d)
    found = _combine(ranks[2], _combine(ranks[1], ranks[0]))
    assert found is not None
    return found
