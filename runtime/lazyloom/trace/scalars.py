"""Python numbers in operations: run-time parameters, and the few that are structure."""

from __future__ import annotations

from typing import Any, Final, cast, final

from ..compiled import mypyc_attr
from ..dtypes import DType
from ..errors import ArgumentError
from ..types import TensorType, scalar_type
from .fed import Fed


@mypyc_attr(acyclic=True)
@final
class Scalar:
    """A Python number as a run-time parameter: a 0-d operand whose value is not structure.

    Only 0, 1 and -1 (by bits: not -0.0) and bools become part of the program. Integers wrap
    and floats are truncated where the dtype is an integer one, as C's casts do.

    Raises ArgumentError for what is not a number, or a number that the dtype cannot hold at all.

    Example:

        >>> x = lazyloom.from_host([1.0, 2.0])
        >>> lazyloom.record("multiply", [x, lazyloom.Scalar(2.5, x.dtype)]).read()
        array([2.5, 5. ])
    """

    __slots__ = ("number", "type", "baked")

    def __init__(self, number: Any, dtype: DType, *, bake: bool = True) -> None:
        # a bool, int, float or complex, or a fed number (trace/fed.py)
        self.type: Final[TensorType] = scalar_type(dtype)
        kind = type(number)
        #: ``bake=False`` keeps even 0, 1 and -1 out of the structure (indices in a loop)
        baked: Baked | None = None
        if kind is float and dtype.kind == "f":
            real: float = cast(float, number)
            if bake and (real == 0.0 or real == 1.0 or real == -1.0):
                baked = _baked(real, dtype)
        else:
            if kind is Fed:
                number = _fed(number, dtype, bake)
            elif kind is not bool:
                number = _held(number, dtype)
            if bake or dtype.kind == "b":
                baked = _baked(number, dtype)
        self.number: Final[Any] = number
        self.baked: Final[Baked | None] = baked

    def __repr__(self) -> str:
        return f"Scalar({self.number!r}, {self.type.dtype.name})"


def _fed(number: Any, dtype: DType, bake: bool) -> Any:
    """The number behind one that a captured call is fed (:mod:`lazyloom.trace.fed`)."""
    if dtype.kind == "f":
        return number.given(bake)
    number.spoil(f"it becomes {dtype.name}")
    return number.plain


def _held(number: Any, dtype: DType) -> bool | int | float | complex:
    """The number as a Python number, if the dtype can hold it; raises ArgumentError."""
    # NumPy's scalars, and only its 0-d arrays, have an item() that gives a Python number
    plain: Any = number.item() if getattr(number, "shape", None) == () and hasattr(
        number, "item") else number
    try:
        if isinstance(plain, bool):
            return plain
        if isinstance(plain, int):
            if dtype.kind in "fc":
                float(plain)
            return int(plain)
        if isinstance(plain, float):
            if dtype.kind in "iu":
                int(plain)
            return float(plain)
        if isinstance(plain, complex) and dtype.kind in "bc":
            return complex(plain)
    except (OverflowError, ValueError):
        pass
    shown = repr(plain)
    raise ArgumentError(
        f"a scalar is {shown if len(shown) < 80 else shown[:60] + '...'}, expected a number that "
        f"{dtype.name} holds")


@mypyc_attr(acyclic=True)
@final
class Baked:
    """A scalar constant that is part of the structure. Interned.

    Attributes:
        number: 0, 1 or -1, or another finite real number that a code generator asked for
            (:mod:`lazyloom.execute.known_numbers`), exactly as the dtype holds it.
        dtype: its dtype.
    """

    __slots__ = ("number", "dtype")

    def __init__(self, number: Any, dtype: DType) -> None:
        self.number: Final[Any] = number
        self.dtype: Final = dtype


_baked_constants: dict[tuple[Any, DType], Baked] = {}


def _baked(number: bool | int | float | complex, dtype: DType) -> Baked | None:
    if dtype.kind == "b":
        return baked_constant(1 if number else 0, dtype)
    if number != 0 and number != 1 and number != -1:
        return None
    if number == 0:
        # -0.0 is not 0.0
        parts = (number.real, number.imag)
        if any(str(p) == "-0.0" for p in parts):
            return None
    elif isinstance(number, complex) and str(number.imag) == "-0.0":
        return None
    return baked_constant(int(number.real), dtype)


def baked_constant(number: Any, dtype: DType) -> Baked:
    """The interned constant of a number, as the dtype holds it, and that dtype."""
    baked = _baked_constants.get((number, dtype))
    if baked is None:
        if number == 0 or number == 1 or number == -1:
            number = int(number)
        baked = _baked_constants.setdefault((number, dtype), Baked(number, dtype))
    return baked


_constants: Final[dict[Baked, Scalar]] = {}


def constant(baked: Baked) -> Scalar:
    """The scalar that is a constant of the structure."""
    scalar = _constants.get(baked)
    if scalar is None:
        scalar = _constants[baked] = Scalar(baked.number, baked.dtype)
    return scalar
