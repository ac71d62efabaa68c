"""What is stated of a primitive of JAX: how its steps are written with NumPy and in C."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from ..c_values import CValue, FunctionWriter, InnerLoop, Lazy, NoCode, Shape, same
from ..writer import Expr, Writer

Exprs: TypeAlias = "list[Expr]"
CValues: TypeAlias = "Sequence[CValue]"

# what steps do with elements

#: compute each of the same one of their operands
ELEMENTWISE: Final = "elementwise"
#: leave them as they are, in order
RESHAPE: Final = "reshape"
#: move them
MOVE: Final = "move"
#: combine them
COMBINE: Final = "combine"
#: have to do with keys of random numbers
KEYS: Final = "keys"
#: solve systems, sort, call functions
OTHER: Final = "other"

# why a primitive has no code in C

COMPLEX: Final = "code in C has no complex numbers"
SELDOM: Final = "too few programs spend time in it"
ROUTINE: Final = "NumPy's own routine takes the time"
LOOP: Final = "it calls functions, which code in C cannot"


class Primitive(NamedTuple):
    """A primitive.

    Attributes:
        numpy: writes a step with a Writer, given its parameters, operands, and the shape and the
            dtype of its result. Raises Unsupported.
        c: the same with a FunctionWriter, which raises NoCode; or why there is no such code.
        kind: what it does with elements.
        whole: both are given the step and its operands instead, and give all its results.
        overflows: whether the result of finite numbers may be too large for float16.
        bits: whether it depends on how a number is written in memory.
        library: bytes of the least floating-point numbers for each of which it calls C's library,
            if it does.
    """

    numpy: Callable[..., Any]
    c: Callable[..., Any] | str
    kind: str
    whole: bool = False
    overflows: bool = False
    bits: bool = False
    library: int = 0


Emit: TypeAlias = "Callable[[Writer, Any, Exprs, tuple[int, ...], Any], Expr]"
EmitInC: TypeAlias = "Callable[[FunctionWriter, Any, CValues, Shape, Any], CValue]"
#: the C text of an element, with places for those of operands and ``{kind}`` for the type of the
#: first one; or what gives that and about how many operations it takes
Formula: TypeAlias = "str | Callable[[Any, CValues, Any], tuple[str, int]]"


def elementwise(
    numpy: Emit, formula: Formula, cost: int = 1, real: bool = False,
    overflows: bool = False, bits: bool = False, library: int = 0,
) -> Primitive:
    """A primitive that computes element by element, in C only ``real`` numbers perhaps."""

    def c(f: FunctionWriter, p: Any, xs: CValues, shape: Shape, dtype: Any) -> CValue:
        if real and any(x.dtype.kind != "f" for x in xs):
            raise NoCode(f"a function of {xs[0].dtype}")
        text, taken = (formula, cost) if isinstance(formula, str) else formula(p, xs, dtype)
        return _Elementwise(shape, dtype, text, xs, taken)

    return Primitive(numpy, c, ELEMENTWISE, False, overflows, bits, library)


def in_numpy(numpy: Emit, why: str, bits: bool = False) -> Primitive:
    """A primitive that computes element by element and has no code in C."""
    return Primitive(numpy, why, ELEMENTWISE, bits=bits)


class _Elementwise(Lazy):
    def __init__(self, shape: Shape, dtype: Any, text: str, xs: CValues, cost: int) -> None:
        def element(body: InnerLoop, index: Sequence[str]) -> str:
            key = (id(self), tuple(index))
            if key in body.elements:
                return body.elements[key]
            # operands of no axes, or of axes with one element, are the same all along these
            given = [x.at(body, ["0" if same(n, 1) else i for n, i in zip(
                x.shape, index, strict=False)]) for x in xs]
            found = body.elements[key] = body.let(
                self.kind, text.format(*given, kind=xs[0].kind))
            return found

        super().__init__(shape, dtype, element, cost + sum(x.cost for x in xs))
