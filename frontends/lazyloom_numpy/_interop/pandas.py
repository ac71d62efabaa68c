"""Arrays of ours in pandas, which knows arrays and numbers by their types.

Most of pandas asks for ``__array__`` and takes our arrays so. What chooses rows, groups or
elements, and what computes with a frame, it compares with NumPy's class; numbers it looks at in C.
Each goes through a function of pandas, which is taught when pandas is imported: what is ours is
read as it comes in.
"""

from __future__ import annotations

import functools
import sys
from typing import Any, Final

import numpy as onp

from .._array.hosted import on_host
from .._array.ndarray import ScalarArray
from .when_imported import when_imported

#: the functions that get arrays and numbers of ours, by their modules in pandas
_READING: Final = (
    # whether a key is a function: frame[key], series.loc[key] = x, frame.where(key, x)
    ("core.common", "apply_if_callable"),
    # whether it is an array of no dimension: keys, too, and the other operand of operators
    ("_libs.lib", "item_from_zerodim"),
    ("core.ops.common", "item_from_zerodim"),
    ("core.indexing", "item_from_zerodim"),
    # the dtype of a column that is one number
    ("core.dtypes.cast", "infer_dtype_from_scalar"),
    # what groupby groups by
    ("core.groupby.groupby", "get_grouper"),
    # pandas.unique and factorize
    ("core.algorithms", "_ensure_arraylike"),
)


def _teach(pandas: Any) -> None:
    """Let these functions take what is ours, as far as this pandas has them."""
    for module, name in _READING:
        _replace(pandas, module, name, _reading)
    _replace(pandas, "_libs.lib", "maybe_convert_objects", _of_objects)


def _replace(pandas: Any, module: str, name: str, taught: Any) -> None:
    found: Any = sys.modules.get(f"{pandas.__name__}.{module}")
    inner = getattr(found, name, None)
    if inner is not None:
        setattr(found, name, functools.wraps(inner)(taught(inner)))


def _reading(inner: Any) -> Any:
    """A function of keys and operands, which get what is ours read; so does who called it."""

    def taught(*args: Any, **kwargs: Any) -> Any:
        return on_host(inner(*map(on_host, args), **kwargs))

    return taught


def _of_objects(inner: Any) -> Any:
    """What finds a dtype for an array of objects: those of a list, or that a function gave.

    Scalars of ours can be among them where it finds none.
    """

    def taught(objects: Any, *args: Any, **kwargs: Any) -> Any:
        found = inner(objects, *args, **kwargs)
        if not _is_objects(found) or ScalarArray not in set(map(type, objects)):
            return found
        read = onp.empty(len(objects), object)
        read[:] = list(map(on_host, objects))
        return inner(read, *args, **kwargs)

    return taught


def _is_objects(found: Any) -> bool:
    return isinstance(found, onp.ndarray) and found.dtype.kind == "O"


def install() -> None:
    """Let pandas, imported before or after, take arrays of ours."""
    when_imported("pandas", _teach)
