"""Annotations for op entries: classes of operand dtypes, and kinds of attributes.

To a type checker they are plain types; :mod:`lazyloom.ops.spec` reads their names.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from ..dtypes import DType

# Operands: a key of ``dtypes.CLASSES`` each, or the op's own dtype variable.
T: TypeAlias = Any
AnyType: TypeAlias = Any
Bool: TypeAlias = Any
Number: TypeAlias = Any
Real: TypeAlias = Any
Ordered: TypeAlias = Any
Floating: TypeAlias = Any
Complex: TypeAlias = Any
Inexact: TypeAlias = Any
Integer: TypeAlias = Any
Signed: TypeAlias = Any
Bitwise: TypeAlias = Any
Index: TypeAlias = Any

#: A result of an op.
Array: TypeAlias = Any

# Attributes: bool, int, float, str, and these; each may be ``| None``.
Ints: TypeAlias = tuple[int, ...]
Floats: TypeAlias = tuple[float, ...]

OPERANDS: dict[str, str] = {
    "T": "T", "AnyType": "any", "Bool": "bool", "Number": "number", "Real": "real",
    "Ordered": "ordered", "Floating": "floating", "Complex": "complex", "Inexact": "inexact",
    "Integer": "integer", "Signed": "signed", "Bitwise": "bitwise", "Index": "index",
}  # fmt: skip

ATTRIBUTES: dict[str, str] = {
    "bool": "bool", "int": "int", "float": "float", "str": "str", "DType": "dtype",
    "Ints": "ints", "Floats": "floats",
}  # fmt: skip

__all__ = [
    "T", "AnyType", "Bool", "Number", "Real", "Ordered", "Floating", "Complex", "Inexact",
    "Integer", "Signed", "Bitwise", "Index", "Array", "Ints", "Floats", "DType",
]  # fmt: skip
