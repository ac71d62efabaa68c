"""Recording any op on tensors, by its name."""

from __future__ import annotations

from typing import Any

from ..dtypes import DType, as_dtype
from ..errors import ArgumentError, LoomError
from ..ops.spec import OpDef, lookup
from ..trace.graph import Value
from ..trace.recording import as_list, record
from ..trace.scalars import Scalar
from ..trace.source import user_site
from ..trace.specs import place
from .tensor import Tensor


def apply(
    op: Any, operands: Any, attributes: Any = None
) -> Any:
    """Record one operation on tensors.

    Args:
        op: the op, or its name; see ``docs/ops.md``.
        operands: tensors of any frontend, values, scalars, None for an absent optional
            operand, or Python numbers, which take the dtype of the op's other operands.
        attributes: the op's attributes.

    Returns:
        a tensor of the class of the first tensor among the operands, or a tuple of them.

    Raises:
        UnknownOpError, ArgumentError, ShapeError, DTypeError: for this call, at once.

    Example:

        >>> lazyloom.apply("sum", [np.ones((2, 3))], {"axes": (0,)})
        array([2., 2., 2.])
    """
    try:
        op_def = op if isinstance(op, OpDef) else lookup(op)
    except LoomError as error:
        place(error, str(op))
        raise
    if not isinstance(operands, (list, tuple)):
        operands = as_list(op_def, operands)
    cls: type[Tensor] | None = None
    shared: DType | None = None
    prepared: list[Any] = []
    x: Any
    for i, x in enumerate(operands):
        if isinstance(x, Tensor):
            if cls is None:
                cls = type(x)
            x = x.value
        if shared is None and isinstance(x, (Value, Scalar)) and _class_of(op_def, i) == "T":
            shared = x.type.dtype
        prepared.append(x)
    for i, x in enumerate(prepared):
        if isinstance(x, (bool, int, float, complex)):
            dtype = _scalar_dtype(op_def, i, x, shared)
            try:
                # positions differ from run to run of a loop
                prepared[i] = Scalar(x, dtype, bake=_class_of(op_def, i) != "index")
            except ArgumentError as error:
                raise ArgumentError(
                    f"{op_def.name}: operand {op_def.operand_name(i)!r}: {error}", op=op_def.name,
                    site=str(user_site())) from None
    result = record(op_def, prepared, attributes)
    wrap = (cls or Tensor).from_value
    if isinstance(result, tuple):
        return tuple([wrap(v) for v in result])
    return wrap(result)


def _class_of(op: OpDef, position: int) -> str:
    if not op.operands:
        return ""
    return op.operands[min(position, len(op.operands) - 1)].classes


def _scalar_dtype(op: OpDef, position: int, number: Any, shared: DType | None) -> DType:
    classes = _class_of(op, position)
    if classes == "T":
        if shared is None:
            shared = as_dtype(type(number))
        fits = (
            shared.is_complex
            or (shared.is_floating and not isinstance(number, complex))
            or isinstance(number, bool)
            or (isinstance(number, int) and shared.is_integer and _in_range(number, shared))
        )
        if not fits:
            raise ArgumentError(
                f"{op.name}: operand {op.operand_name(position)!r} is the "
                f"{type(number).__name__} {number!r}, expected a number that {shared.name} holds; "
                "cast the tensor first", op=op.name, site=str(user_site()))
        return shared
    if classes == "index":
        return as_dtype("int64")
    return as_dtype(type(number))


def _in_range(number: int, dtype: DType) -> bool:
    bits = 8 * dtype.itemsize
    if dtype.kind == "u":
        return 0 <= number < 1 << bits
    return -(1 << bits - 1) <= number < 1 << bits - 1
