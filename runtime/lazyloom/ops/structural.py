"""Ops that exist for the runtime itself: identities that differ in their gradient."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..dtypes import int64
from ..errors import ShapeError
from ..types import TensorType
from ._jax import jax, lax
from .cases import Cases, case, integers
from .indexing import _wide
from .kinds import AnyType, Array, Integer, Ints, T
from .rules import check_at_least, one
from .spec import OpDef, op
from .traits import NOT_DIFFERENTIABLE, Access, Derivative, Execution, Signature


def same(
    op: OpDef, types: Sequence[TensorType], attrs: Mapping[str, Any]
) -> tuple[TensorType, ...]:
    """The result has the first operand's type, and every operand that shape."""
    for i, t in enumerate(types):
        if t.shape != types[0].shape:
            raise ShapeError(
                f"{op.name}: operand {op.operand_name(i)!r} has shape {t.shape}, expected "
                f"{types[0].shape} as operand {op.operand_name(0)!r} has", op=op.name)
    return (types[0],)


same.family = "elementwise"  # type: ignore[attr-defined]


@op(same, source="stablehlo.add of nothing: the identity function",
    derivative=Derivative(linear="x"), access=Access(data_movement=True))
def identity(x: T) -> Array:
    """x itself, as a value of its own. The gradient passes through."""
    return x


@op(same, source="array API copy", reference="numpy.copy", derivative=Derivative(linear="x"),
    access=Access(data_movement=True))
def copy(x: T) -> Array:
    """x as a value of its own, for frontends that tell row-major copies from what they copy.

    The gradient passes through. Programs only compute x: where data lies is the compiler's affair.
    """
    return x


@op(same, source="jax.lax.with_sharding_constraint, jax.device_put",
    derivative=Derivative(linear="x"), access=Access(data_movement=True),
    execution=Execution(places=True))
def place(x: T, *, placement: str = "default:0/whole/row-major/device") -> Array:
    """x on the devices, and divided over them, that the text of a placement names.

    The gradient passes through. On one mesh it is a constraint of the program; what is computed on
    other devices is a program of its own.
    """
    return x


def position(
    op: OpDef, types: Sequence[TensorType], attrs: Mapping[str, Any]
) -> tuple[TensorType, ...]:
    """A 0-d int64; the attribute ``size`` is positive."""
    check_at_least(op, "size", attrs["size"], 1)
    return one((), int64)


position.family = "checked"  # type: ignore[attr-defined]


@op(
    position, source="NumPy's check of an index", derivative=NOT_DIFFERENTIABLE,
    samples=Cases(
        case([0, 2, -3, 5, 9], size=5), case([0, 2, -3], size=3),
        case(integers([[0, -1], [-4, 7]], np.int8), size=3),
        case(integers([3, 200], np.uint8), size=100), case(integers([2**40, 1]), size=7),
        case(integers(4, np.uint64), size=4), case(integers([]), size=2),
        case([0, 2, -3], size=3, negative=False), case([0, 2], size=3, negative=False)),
)  # fmt: skip
def first_out_of_range(indices: Integer, *, size: int, negative: bool = True) -> Array:
    """One of the indices that is not in ``-size .. size - 1``, int64; 0 where all are.

    Without ``negative`` none below 0 is in range either. On a CPU it is the first one in
    row-major order. Raises ArgumentError where ``size`` is not positive, since 0 is then out of
    range itself.
    """
    large, bad = _outside(indices, -size if negative else 0, size)
    return _first(large, bad)


@op(
    position, source="the check of a target by torch.nn.functional.nll_loss",
    derivative=NOT_DIFFERENTIABLE,
    samples=Cases(
        case([0, 2, -100, 3, 9], size=3), case([0, 2, -100], size=3),
        case([0, 2, -100, 1], size=3, ignore_index=None),
        case([0, 7, 2, 8], size=3, ignore_index=7),
        case(integers([[0, -1], [-4, 7]], np.int8), size=8, ignore_index=-1),
        case(integers([3, 156], np.uint8), size=100),
        case(integers([2**40, 1]), size=7, ignore_index=2**40),
        case(integers(4, np.uint64), size=4), case(integers([]), size=2)),
)  # fmt: skip
def first_invalid_label(
    labels: Integer, *, size: int, ignore_index: int | None = -100
) -> Array:
    """One of the labels that is neither in ``0 .. size - 1`` nor ``ignore_index``, int64; or 0.

    On a CPU it is the first one in row-major order. ``ignore_index`` None means that every label is
    a class. Raises ArgumentError where ``size`` is not positive, since 0 is then out of range
    itself.
    """
    large, bad = _outside(labels, 0, size)
    limits = np.iinfo(labels.dtype)
    if ignore_index is not None and limits.min <= ignore_index <= limits.max:
        other = lax.ne(labels, lax.full_like(labels, ignore_index))
        bad = lax.bitwise_and(bad, other)
    return _first(large, bad)


def _outside(indices: Array, least: int, size: int) -> tuple[Array, Array]:
    """Indices as int32 or int64, and which of them are not in ``least .. size - 1``."""
    large = _wide(indices)
    if large.dtype.itemsize == 4 and size > 2**31 - 1:
        large = lax.convert_element_type(large, "int64")
    bad = lax.ge(large, lax.full_like(large, size))
    if indices.dtype.kind != "u":
        bad = lax.bitwise_or(bad, lax.lt(large, lax.full_like(large, least)))
    return large, bad


def _first(large: Array, bad: Array) -> Array:
    """The first bad element, int64; 0 if there is none."""
    elements = lax.convert_element_type(
        lax.select(bad, large, lax.full_like(large, 0)), "int64")

    def first(a: Array, b: Array) -> Array:
        return lax.select(lax.ne(a, lax.full_like(a, 0)), a, b)

    return lax.reduce(elements, np.int64(0), first, tuple(range(elements.ndim)))


def both(
    op: OpDef, types: Sequence[TensorType], attrs: Mapping[str, Any]
) -> tuple[TensorType, ...]:
    """The types of the two operands."""
    return (types[0], types[1])


both.family = "checked"  # type: ignore[attr-defined]


@op(
    both, source="a value and a condition of it, looked at before it is read",
    derivative=Derivative(differentiable=("x",), linear="x"),
    signature=Signature(outputs=("result", "looked_at"), messages=("kind", "of", "info")),
    samples=Cases(
        case((2, 3), np.array(0), kind="none", of="take", info=(0, 3)),
        case((0, 3), np.array([False, False]), kind="none"), each=0),
    execution=Execution(checked=True),
)  # fmt: skip
def checked(
    x: AnyType, flag: AnyType, *, kind: str, of: str = "", info: Ints = ()
) -> tuple[Array, Array]:
    """x itself, and ``flag``, which is looked at before anything that depends on x is read.

    Where the flag is not zero, what was registered for ``kind`` (see
    ``lazyloom.register_check``) says what is wrong with it: an error is raised by every read of
    what depends on x, and by no other. ``of`` names the op that x is for, and ``info`` is passed
    on. Under vmap there is a flag for every element of the batch.
    """
    return x, flag


@op(
    same, source="straight-through estimator, arXiv 1308.3432",
    derivative=Derivative(differentiable=("x",), piecewise_linear="x y", constant_derivative="x y"),
    # by intent the gradient is not that of the data
    samples=Cases(case((2, 3), (2, 3)), case((), ()), case((0, 3), (0, 3)), smooth=False),
)
def straight_through(x: T, y: T) -> Array:
    """The data of y with the gradient of x: the cotangent passes to x unchanged.

    For data that was overwritten without recording a gradient.
    """
    if x.dtype.kind not in "fcV" and str(x.dtype) != "bfloat16":
        return y
    return _straight_through(x, y)


def _straight_through(x: Any, y: Any) -> Any:
    # a rule for tangents serves both directions
    @jax.custom_jvp  # type: ignore[untyped-decorator]
    def pass_through(x: Any, y: Any) -> Any:
        return y

    @pass_through.defjvp  # type: ignore[untyped-decorator]
    def tangent(primals: Any, tangents: Any) -> Any:
        return primals[1], tangents[0]

    return pass_through(x, y)
