"""What ops took in earlier versions of the C ABI, for programs that were compiled then."""

from __future__ import annotations

from typing import Any, Final

import lazyloom
from lazyloom.errors import ArgumentError

#: attributes that ops had once: op, attribute
ATTRIBUTES: Final = {"running_moments": "correction"}


def replaced(op: Any, values: list[Any], attrs: dict[str, Any]) -> None:
    """Put what the op takes today in the place of an attribute that it had; both are changed.

    Until version 1.2 ``running_moments`` had a factor of the new variance, ``correction``; since
    then it has the number of values, ``num``, which tells the factor.

    Raises:
        ArgumentError: the attribute is no number, or there is no variance that it could multiply.
    """
    name = ATTRIBUTES[op.name]
    factor = attrs.pop(name)
    variance = values[3] if len(values) > 3 else None
    if not isinstance(factor, float):
        raise ArgumentError(
            f"{op.name}: attribute {name!r} is {factor!r}, expected a floating-point number",
            op=op.name)
    if not isinstance(variance, lazyloom.Value):
        raise ArgumentError(
            f"{op.name}: operand 3, the new variance, is no tensor, expected one beside the "
            f"attribute {name!r}", op=op.name)
    number = lazyloom.Scalar(factor, variance.type.dtype)
    values[3] = lazyloom.record(lazyloom.ops.lookup("multiply"), [variance, number], None)
