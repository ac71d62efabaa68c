"""What ops took in earlier versions of the C ABI, for programs that were compiled then."""

from __future__ import annotations

from typing import Any

import lazyloom
from lazyloom.errors import ArgumentError


def multiplied(op: Any, values: list[Any], attrs: dict[str, Any]) -> bool:
    """Multiply operands by the factors that the op once had as attributes; both are changed.

    Returns whether there were any, as the op's table entry says
    (:class:`lazyloom.ops.traits.Signature`).

    Raises:
        ArgumentError: a factor is no number, or there is no tensor that it could multiply.
    """
    found = False
    for name, position in op.signature.factors.items():
        if name not in attrs:
            continue
        found = True
        factor = attrs.pop(name)
        operand = values[position] if len(values) > position else None
        if not isinstance(factor, float):
            raise ArgumentError(
                f"{op.name}: attribute {name!r} is {factor!r}, expected a floating-point number",
                op=op.name)
        if not isinstance(operand, lazyloom.Value):
            raise ArgumentError(
                f"{op.name}: operand {op.operand_name(position)!r} is no tensor, expected one that "
                f"the attribute {name!r} multiplies", op=op.name)
        number = lazyloom.Scalar(factor, operand.type.dtype)
        values[position] = lazyloom.record(
            lazyloom.ops.lookup("multiply"), [operand, number], None)
    return found
