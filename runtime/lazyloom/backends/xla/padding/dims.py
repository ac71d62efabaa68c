"""Dimensions of padded values: what is valid along them.

A size is a Python expression, as text, in the symbols ``e0``, ``e1``, ...: extents of 2 or more. At
the bucket it gives the number of elements, at the actual extents the number of valid ones. A
dimension is described by the sizes whose product it is, row-major: of the dimension
``("16", "e0")`` of 16 times bucket(e0) elements, number i is valid where i mod bucket(e0) < e0. So
a reshape that merges dimensions loses nothing, and one that splits them recovers them.

A description that begins with :data:`ANY` belongs to a dimension along which a value does not vary,
padding included; it takes the factors of any dimension that it is combined with.
"""

from __future__ import annotations

import ast
import functools
import math
import re
from collections.abc import Mapping, Sequence
from typing import Final

from ....program.sizes import FUNCTIONS as FUNCTIONS
from ....program.sizes import compiled as compiled
from ....program.sizes import is_static as is_static
from ....program.sizes import named as named
from ....program.sizes import python as python
from ....program.sizes import size_at as size_at
from ...backend import NotPadded as NotPadded

#: the factors of a dimension, row-major; or ANY and its size
Description = tuple[str, ...]

ANY: Final = "any"

SYMBOL: Final = re.compile(r"\be\d+\b")
#: extents at which no relation of sizes holds by chance
_GENERIC: Final = ((1009, 9973, 31337), (7, 5, 11))


def is_any(description: Description) -> bool:
    return description[0] == ANY


def is_dynamic(description: Description) -> bool:
    """Return True if some elements may be padding."""
    return not is_static(description[-1])


def elements(description: Description, values: Mapping[str, int]) -> int:
    """Return the product of the factors at these extents."""
    return math.prod(size_at(f, values) for f in description if f != ANY)


def generic(symbols: Sequence[str]) -> list[dict[str, int]]:
    """Return extents at which sizes are compared: sizes that are equal at them are equal."""
    first, second = (
        {s: base + k * step * (k + 1) for k, s in enumerate(symbols)}
        for base, step in zip(_GENERIC[0][:2], _GENERIC[1][:2], strict=True))
    return [first, second, {s: _GENERIC[0][2] + 2 * first[s] for s in symbols}]


def check_grows(text: str) -> None:
    """Raise NotPadded unless the size at any extents is at most that at larger ones.

    Otherwise the valid elements might not fit into the dimension at the bucket.
    """
    if not is_static(text) and not _grows(text):
        raise NotPadded(f"a dimension of {text} elements, which may be more for smaller extents")


@functools.lru_cache(maxsize=4096)
def _grows(text: str) -> bool:
    lowest = dict.fromkeys(set(SYMBOL.findall(text)), 2)
    return _direction(ast.parse(python(text), mode="eval").body, lowest) in (0, 1)


def _direction(node: ast.expr, lowest: Mapping[str, int]) -> int | None:
    """Return 1 for a size that grows with the extents, -1 for one that falls, 0 for a constant, and
    None if unknown."""
    match node:
        case ast.Constant():
            return 0
        case ast.Name():
            return 1
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            direction = _direction(inner, lowest)
            return None if direction is None else -direction
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as op, right=right):
            a, b = _direction(left, lowest), _direction(right, lowest)
            if b is not None and isinstance(op, ast.Sub):
                b = -b
            return _together([a, b])
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            a, b = _direction(left, lowest), _direction(right, lowest)
            if a is None or b is None:
                return None
            if a == 0 or b == 0:
                factor, other = (left, b) if a == 0 else (right, a)
                return other if _least(factor, lowest) >= 0 else -other
            positive = _least(left, lowest) >= 0 and _least(right, lowest) >= 0
            return 1 if a == b == 1 and positive else None
        case ast.BinOp(left=left, op=ast.Pow(), right=ast.Constant()):
            a = _direction(left, lowest)
            return 1 if a == 1 and _least(left, lowest) >= 0 else None
        case ast.Call(func=ast.Name(id="max" | "min"), args=args):
            return _together([_direction(a, lowest) for a in args])
        case ast.Call(func=ast.Name(id="floordiv"), args=[inner, ast.Constant(value=int(by))]):
            return _direction(inner, lowest) if by > 0 else None
    return None


def _together(directions: Sequence[int | None]) -> int | None:
    changing = {d for d in directions if d != 0}
    return 0 if not changing else changing.pop() if len(changing) == 1 else None


def _least(node: ast.expr, lowest: Mapping[str, int]) -> int:
    """Return the value at the smallest extents."""
    return int(eval(compile(ast.Expression(node), "<size>", "eval"), {**FUNCTIONS, **lowest}))


def unified(a: Description, b: Description) -> Description:
    """Return the description of a dimension that fits both. Raises NotPadded."""
    if a == b or is_any(b):
        return a
    if is_any(a):
        return b
    raise NotPadded(f"a dimension that is padded as {a} in one operand and as {b} in another")
