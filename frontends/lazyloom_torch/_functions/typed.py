"""Constructors by type, ``torch.FloatTensor`` and its kind, as older programs write them."""

from __future__ import annotations

from typing import Any

import numpy as np

from lazyloom.errors import type_name

from .. import _dtypes
from .._registry import declare
from .._tensor import Tensor
from . import creation


class _Kind(type):
    """Answers ``isinstance(x, torch.FloatTensor)`` by the dtype."""

    _dtype: _dtypes.dtype

    def __instancecheck__(cls, x: Any) -> bool:
        return isinstance(x, Tensor) and x.dtype is cls._dtype

    def __call__(cls, *data: Any) -> Tensor:
        """A tensor of sizes (zeros), or a copy of a sequence, array or tensor, in that dtype.

        TypeError for anything else.
        """
        kind = cls._dtype
        if not data:
            return creation.FUNCTIONS["empty"](0, dtype=kind)
        if len(data) == 1 and not isinstance(data[0], int):
            if isinstance(data[0], Tensor):
                if data[0].dtype is not kind:
                    raise TypeError(f"{cls.__name__}() takes a tensor of dtype {kind!r}, not "
                                    f"{data[0].dtype!r}; use .to({kind!r})")
                return data[0].detach()
            if not isinstance(data[0], (list, tuple, np.ndarray)) and not creation.has_dtype(
                    data[0]):
                raise TypeError(f"{cls.__name__}() takes sizes, a sequence, an array or a tensor, "
                                f"not {type_name(data[0])}")
            return creation.FUNCTIONS["tensor"](data[0], dtype=kind)
        return creation.FUNCTIONS["zeros"](*data, dtype=kind)


def _kind(prefix: str, dtype: _dtypes.dtype) -> Any:
    return _Kind(f"{prefix}Tensor", (), {
        "_dtype": dtype, "__module__": "torch",
        "__doc__": f"Makes tensors of {dtype!r}, and answers ``isinstance`` by the dtype."})


declare({"function as-is": [(f"{prefix}Tensor", _kind(prefix, dtype)) for prefix, dtype in (
    ("Float", _dtypes.float32), ("Double", _dtypes.float64), ("Half", _dtypes.float16),
    ("BFloat16", _dtypes.bfloat16), ("Byte", _dtypes.uint8), ("Char", _dtypes.int8),
    ("Short", _dtypes.int16), ("Int", _dtypes.int32), ("Long", _dtypes.int64),
    ("Bool", _dtypes.bool_))]})
