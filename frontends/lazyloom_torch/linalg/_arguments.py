"""What the functions of ``torch.linalg`` ask of their arguments, and how they fail for data."""

from __future__ import annotations

from typing import Any

import numpy as np

import lazyloom

from .._core import broadcast_shapes, cast, record
from .._dtypes import dtype
from .._errors import not_a_tensor
from .._tensor import Tensor, operand

_wrap = Tensor.from_value


class LinAlgError(RuntimeError):
    """A matrix for which there is no result: singular, or not positive definite."""


class FailedLinAlgError(lazyloom.errors.ExecutionError, LinAlgError):
    """A LinAlgError that became known when the program had run."""


def op(name: str, *tensors: Tensor, **attributes: Any) -> Any:
    """Record an op of the table; a Tensor, or a tuple of them."""
    found = record(name, [operand(t) for t in tensors], attributes)
    return tuple(map(_wrap, found)) if isinstance(found, tuple) else _wrap(found)


def check_inexact(name: str, *tensors: Tensor) -> None:
    """RuntimeError unless all are of one dtype, float32, float64 or complex."""
    for x in tensors:
        if not isinstance(x, Tensor):
            raise not_a_tensor(x, f"linalg.{name}: ")
        if not x.tensor_type.dtype.is_inexact:
            raise RuntimeError(
                f"linalg.{name}: Expected a floating point or complex tensor as input. Got "
                f"{x.dtype!r}; convert it with .to(torch.float32)")
        if x.tensor_type.dtype.itemsize == 2:
            raise RuntimeError(
                f"linalg.{name}: Low precision dtypes not supported. Got {x.dtype!r}; convert it "
                "with .to(torch.float32)")
        if x.tensor_type.dtype is not tensors[0].tensor_type.dtype:
            raise RuntimeError(
                f"linalg.{name}: Expected all inputs to have the same dtype, got "
                f"{tensors[0].dtype!r} and {x.dtype!r}")


def check_matrix(name: str, x: Tensor, which: str = "A") -> None:
    """RuntimeError unless there are two dimensions or more."""
    if x.ndim < 2:
        raise RuntimeError(
            f"linalg.{name}: The input tensor {which} must have at least 2 dimensions, it has "
            f"shape {list(x.shape)}")


def check_square(name: str, x: Tensor, which: str = "A") -> None:
    """RuntimeError unless the last two dimensions are equal."""
    check_matrix(name, x, which)
    if x.shape[-1] != x.shape[-2]:
        raise RuntimeError(
            f"linalg.{name}: {which} must be batches of square matrices, but they are "
            f"{x.shape[-2]} by {x.shape[-1]} matrices")


def matrix(name: str, x: Tensor, square: bool = False) -> Tensor:
    """The argument, if it is a matrix of a precise dtype."""
    check_inexact(name, x)
    (check_square if square else check_matrix)(name, x)
    return x


def batched(x: Tensor, batch: tuple[int, ...], core: int = 2) -> Tensor:
    """The tensor with its dimensions before the last ``core`` broadcast to ``batch``."""
    shape = (*batch, *x.tensor_type.shape[x.ndim - core:])
    return x if x.tensor_type.shape == shape else x.expand(shape)


def on_tape_of(x: Tensor, value: Tensor) -> Tensor:
    """A constant as a result of x, where one of them has no elements."""
    if not x.requires_grad:
        return value
    nothing = record("norm", [operand(x)], {"order": 1.0})
    zero = record("multiply", [nothing, lazyloom.Scalar(0.0, nothing.dtype)])
    made: Tensor = _wrap(record("add", [operand(value), cast(zero, value.tensor_type.dtype)]))
    return made


def one_batch(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Two batches of matrices with equal dimensions before the last two."""
    batch = broadcast_shapes(x.tensor_type.shape[:-2], y.tensor_type.shape[:-2])
    return batched(x, batch), batched(y, batch)


def is_vector(a: Tensor, b: Tensor) -> bool:
    """Whether the right-hand side b of an equation with a stands for vectors, not matrices."""
    return b.ndim == 1 or (a.ndim - 1 == b.ndim and b.tensor_type.shape == a.tensor_type.shape[:-1])


# ------------------------------------------------------- what is known only when it has run


_TEXTS = {
    "singular": ("The diagonal element {at} is zero, the {of} could not be completed because the "
                 "input matrix is singular."),
    "cholesky": ("The factorization could not be completed because the input is not "
                 "positive-definite (the leading minor of order {at} is not positive-definite)."),
    "finite": ("The algorithm failed to converge because the input matrix contained non-finite "
               "values."),
}
_DOING = {"inv": "inversion"}


def _judge(data: Any, check: lazyloom.Check) -> lazyloom.LoomError:
    of, _, kind = check.of.partition(" ")
    found = np.asarray(data)
    where = np.flatnonzero(found)
    at = int(found.reshape(-1)[where[0]])
    batch = f"(Batch element {int(where[0])}): " if found.ndim else ""
    text = _TEXTS[kind].format(at=at, of=_DOING.get(of, "solve"))
    return FailedLinAlgError(f"linalg.{of}: {batch}{text} Called at {check.site}.", op=of,
                       site=str(check.site))


lazyloom.register_check("torch.linalg", _judge)


def unless(flag: Tensor, of: str, kind: str, *results: Tensor) -> list[Tensor]:
    """The results, whose readers get a LinAlgError where an element of ``flag`` is not 0."""
    bad = operand(flag)
    return [_wrap(record("checked", (operand(r), bad), {
        "kind": "torch.linalg", "of": f"{of} {kind}"})[0]) for r in results]


def finite(of: str, x: Tensor, *results: Tensor) -> list[Tensor]:
    """The results, whose readers get a LinAlgError if x has an infinite element or NaN."""
    bad = record("logical_not", [record("all", [record("isfinite", [operand(x)])])])
    return unless(_wrap(bad), of, "finite", *results)


def zero_pivot(lu: Tensor) -> Tensor:
    """The place, counted from 1, of the first 0 on the diagonal of U; 0 if there is none; int32."""
    v = operand(lu)
    at = {"axis1": len(v.shape) - 2, "axis2": len(v.shape) - 1}
    zero = record("logical_not", [record("diagonal", [v], at)])
    if not zero.shape[-1]:
        return _wrap(cast(record("any", [zero], {"axes": (-1,)}), lazyloom.dtypes.int32))
    one = cast(zero, lazyloom.dtypes.int32)
    first = record("argmax", [one], {"axis": len(one.shape) - 1})
    found = record("add", [first, lazyloom.Scalar(1, first.dtype)])
    there = record("any", [zero], {"axes": (-1,)})
    return _wrap(cast(record("multiply", [found, cast(there, first.dtype)]),
                      lazyloom.dtypes.int32))


def real_dtype(x: Tensor) -> dtype:
    """The dtype of singular values and norms."""
    return x.dtype.to_real()
