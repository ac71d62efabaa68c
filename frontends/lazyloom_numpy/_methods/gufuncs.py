"""Generalised ufuncs: functions of vectors and matrices, broadcast over the leading axes."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Sequence
from typing import Any, Final

import numpy as onp

import lazyloom
from lazyloom.dtypes import DType
from lazyloom.frontend import write_lock

from .._arguments import dtypes as dt
from .._arguments.convert import as_value, value_of
from .._array.ndarray import ndarray, wrap
from .._functions.manipulation import moveaxis
from .._ufuncs import errstate
from .._ufuncs.loops import Compute
from .._ufuncs.ufunc import store, ufunc

record = lazyloom.record


def _of_two(
    x1: Any, x2: Any, /, out: Any = None, *, casting: str = "same_kind", order: str = "K",
    dtype: Any = None, subok: bool = True, signature: Any = None, axes: Any = None,
    axis: Any = None, keepdims: bool = False,
) -> Any:  # fmt: skip
    """What a generalised ufunc takes, for those who inspect one."""


_SIGNATURE: Final = inspect.signature(_of_two)


class gufunc(ufunc):
    """A ufunc with core dimensions, such as ``matmul``.

    A call takes ``axes``, one tuple of core axes for each operand and result, and where all
    operands have one core axis of one size and the result none, ``axis`` and ``keepdims``. See
    ``numpy.ufunc``.
    """

    __slots__ = ("cores",)

    options = ufunc.options | {"axes", "axis", "keepdims"}

    def __init__(self, name: str, compute: Compute, doc: str | None = None) -> None:
        super().__init__(name, None, compute, doc)
        self.__signature__ = _SIGNATURE
        inputs, _, outputs = str(self.np.signature).partition("->")
        #: the names of the core dimensions of each operand, then of the result
        self.cores: Final = [
            tuple(part.strip("()").split(",")) if part != "()" else ()
            for part in (*inputs.replace("),(", ") (").split(" "), outputs)]

    def compute_values(self, operands: Sequence[Any], dtype: Any = None) -> Any:
        """The result's Value, after a look at the core dimensions."""
        values = [as_value(x) for x in operands]
        self._check([v.type.shape for v in values])
        result = super().compute_values(values, dtype)
        first, *others = [v.type.dtype for v in values]
        if self.__name__ == "matmul" and dtype is None and first.is_inexact and (
            others == [first] and not errstate.active()
        ):
            self.ready[first, first] = lazyloom.spec("matmul", 2)
        return result

    def _check(self, shapes: Sequence[tuple[int, ...]]) -> None:
        sizes: dict[str, int] = {}
        for position, (shape, core) in enumerate(zip(shapes, self.cores)):
            needed = sum(not name.endswith("?") for name in core)
            if len(shape) < needed:
                raise ValueError(
                    f"{self.__name__}: Input operand {position} does not have enough dimensions "
                    f"(has {len(shape)}, gufunc core with signature {self.signature} requires "
                    f"{needed})")
            names = core if len(shape) >= len(core) else [
                n for n in core if not n.endswith("?")]
            for number, (name, size) in enumerate(zip(names, shape[len(shape) - len(names):])):
                known = sizes.setdefault(name, size)
                if known != size:
                    raise ValueError(
                        f"{self.__name__}: Input operand {position} has a mismatch in its core "
                        f"dimension {number}, with gufunc signature {self.signature} (size {size} "
                        f"is different from {known})")

    def _call_general(
        self, args: Any, out: Any, where: Any, dtype: Any, *, axes: Any = None, axis: Any = None,
        keepdims: bool = False, **options: Any,
    ) -> Any:  # fmt: skip
        if where is not True:
            raise TypeError(
                f"{self.__name__}() got an unexpected keyword argument 'where'")
        if axes is None and axis is None and not keepdims:
            return super()._call_general(args, out, where, dtype, **options)
        vectors = all(len(core) == 1 for core in self.cores[:-1]) and not self.cores[-1]
        if axis is not None:
            if axes is not None:
                raise TypeError("cannot specify both 'axis' and 'axes'")
            if not vectors:
                raise TypeError(
                    f"{self.__name__}: axis can only be used with a single shared core dimension, "
                    f"not with the {len(set(sum(self.cores, ())))} distinct ones implied by "
                    f"signature {self.signature}.")
            axes = [(operator.index(axis),)] * self.nin + [()]
        if keepdims and not vectors:
            raise TypeError(
                f"{self.__name__} does not support keepdims: its signature {self.signature} "
                "requires that all its operands have one core dimension, and its result none")
        (target,) = self._outputs(out)
        if target is None:
            return self._compute_moved(args, target, axes, keepdims, dtype, options)
        # what is written may be an operand, too
        with write_lock(target):
            return self._compute_moved(args, target, axes, keepdims, dtype, options)

    def _compute_moved(
        self, args: Any, target: Any, axes: Any, keepdims: bool, dtype: Any, options: Any
    ) -> Any:
        operands = [ndarray.from_value(value_of(a)) for a in args]
        chosen = self._axes(axes, operands)
        moved = [_to_end(x, of) for x, of in zip(operands, chosen)]
        result = super()._call_general(moved, None, True, dtype, **options)
        if keepdims:
            places = chosen[0]
            for x, of in zip(operands, chosen):
                if len(of) == 1 and x.ndim == max(y.ndim for y in operands):
                    places = of
            place = places[0] % max(x.ndim for x in operands)
            shape = (*result.shape[:place], 1, *result.shape[place:])
            result = result.reshape(shape)
        elif chosen[-1]:
            result = _from_end(result, chosen[-1])
        if target is None:
            return result if type(result) is not ndarray or result.shape else wrap(result.value)
        store(self.__name__, target, result.value, options.get("casting", "same_kind"))
        return target

    def _axes(self, axes: Any, operands: Sequence[ndarray]) -> list[tuple[int, ...]]:
        """The core axes of each operand and the result."""
        if axes is None:
            axes = [tuple(range(-len(core), 0)) for core in self.cores[:-1]] + [()]
        if not isinstance(axes, list):
            raise TypeError("axes should be a list.")
        if len(axes) == self.nin and not self.cores[-1]:
            axes = [*axes, ()]
        if len(axes) != self.nargs:
            raise ValueError(
                f"axes should be a list with an entry for all {self.nargs} inputs and outputs; "
                "entries for outputs can only be omitted if none of them has core axes.")
        result = []
        for position, (entry, core) in enumerate(zip(axes, self.cores)):
            given = (entry,) if hasattr(entry, "__index__") else tuple(entry)
            needed = len(core)
            if position < self.nin:
                needed = min(needed, max(operands[position].ndim, needed - 1))
                given = dt.normalize_axes(given, operands[position].ndim)
            elif "?" in "".join(core):
                needed -= sum(x.ndim < 2 for x in operands)
            if len(given) != needed:
                raise ValueError(
                    f"{self.__name__}: operand {position} has {needed} core dimensions, but "
                    f"{len(given)} dimensions are specified by axes tuple.")
            result.append(given)
        return result


def _to_end(x: ndarray, axes: tuple[int, ...]) -> ndarray:
    return moveaxis(x, axes, tuple(range(-len(axes), 0))) if axes else x


def _from_end(x: Any, axes: tuple[int, ...]) -> Any:
    return moveaxis(x, tuple(range(-len(axes), 0)), axes) if axes else x


# -------------------------------------------------------------------- the functions


def _of_bools(compute: Compute) -> Compute:
    """Products of bools by those of integers: whether any is not 0."""

    def wrapped(v: Sequence[Any], d: tuple[DType, ...]) -> Any:
        if d[0].kind != "b":
            return compute(v, d)
        int32 = dt.internal(onp.int32)
        product = compute([record("cast", (x,), {"dtype": int32}) for x in v], (int32,) * len(d))
        return record("not_equal", (product, dt.scalar(0, int32)))

    return wrapped


def _matmul(v: Sequence[Any], d: tuple[DType, ...]) -> Any:
    return record("matmul", v)


def _vecdot(v: Sequence[Any], d: tuple[DType, ...]) -> Any:
    return record("vecdot", v, {"axis": -1})


def _matvec(v: Sequence[Any], d: tuple[DType, ...]) -> Any:
    matrix, vector = v
    column = record("expand_dims", (vector,), {"axes": (len(vector.type.shape),)})
    product = record("matmul", (matrix, column))
    return record("squeeze", (product,), {"axes": (len(product.type.shape) - 1,)})


def _vecmat(v: Sequence[Any], d: tuple[DType, ...]) -> Any:
    vector, matrix = v
    if vector.type.dtype.kind == "c":
        vector = record("conj", (vector,))
    row = record("expand_dims", (vector,), {"axes": (len(vector.type.shape) - 1,)})
    product = record("matmul", (row, matrix))
    return record("squeeze", (product,), {"axes": (len(product.type.shape) - 2,)})


FUNCTIONS: Final = {
    "matmul": gufunc("matmul", _of_bools(_matmul)),
    "vecdot": gufunc(
        "vecdot", _of_bools(_vecdot),
        "The dot product of vectors along the last axis, the first conjugated. See "
        "``numpy.vecdot``."),
    "matvec": gufunc(
        "matvec", _of_bools(_matvec),
        "Matrix times vectors of the last axis. See ``numpy.matvec``."),
    "vecmat": gufunc(
        "vecmat", _of_bools(_vecmat),
        "Conjugated vectors of the last axis times matrix. See ``numpy.vecmat``."),
}  # fmt: skip
