"""An op at types whose extents are letters, and the shapes that most programs have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from ..dtypes import DType, bool_, float32, float64, int32, int64
from ..ops.spec import OpDef, lookup

#: an extent: a number, or letters that stand for one each and are multiplied
Dim: TypeAlias = "int | str"
Dims: TypeAlias = "tuple[Dim, ...]"


class Extent(str):
    """An attribute that is one number, by its letters."""


class KernelCase(NamedTuple):
    """An op at types: its operands' extents with dtypes (None: absent), and its attributes.

    Attributes that are tuples may have letters in them. ``derived``: its vjps are usual, too;
    ``residuals``: what emits residuals and what takes them.
    """

    op: OpDef
    operands: tuple[tuple[Dims, DType] | None, ...]
    attributes: Mapping[str, Any]
    derived: bool = True
    residuals: bool = False


FLOATS: Final = (float32, float64)
#: the dtypes of most programs, and up to which rank
RANKS: Final = {float32: 5, float64: 3, int64: 3, bool_: 3, int32: 1}
DTYPES: Final = tuple(RANKS)


def dims_of(text: str) -> Dims:
    """``"a1"`` as ``("a", 1)``."""
    return tuple(1 if c == "1" else c for c in text)


def case_of(
    name: str, operands: Sequence[tuple[Any, DType] | None], **attributes: Any
) -> KernelCase:
    """A case of an op by its name, shapes as text."""
    return KernelCase(lookup(name), tuple(
        None if o is None else (dims_of(o[0]) if isinstance(o[0], str) else o[0], o[1])
        for o in operands), attributes)


#: shapes of one operand
SHAPES: Final = ("", "a", "1", "ab", "1b", "a1", "11", "abc", "1bc", "a1c", "ab1", "11c", "abcd",
                 "1bcd")
SMALL: Final = ("", "a", "1", "ab", "1b", "a1")
#: two that broadcast, either way round
_ROWS: Final = (
    "ab b", "1b b", "a1 1", "ab 1b", "ab a1", "a1 1b", "a1 b", "a 1", "1b 1", "ab 1", "ab 11",
    "1b 11", "abc c", "1bc c", "11c c", "a1c c", "ab1 1", "abc bc", "1bc bc", "11c 1c", "abc 1bc",
    "abc a1c", "abc ab1", "abc 11c", "a1c 1bc", "ab1 a1c", "abc b1", "abc a11", "abc 1", "1bc 1c",
    "ab1 b1", "1bc 1b1", "abcd d", "abcd cd", "abcd 1b11", "abcd b11", "abcd a11d", "abcd 11cd",
    "abcd abc1", "abcd a111", "abcd a1cd", "1bcd cd", "1bcd b11", "1bcd 1b11", "1bcd 11cd",
)  # fmt: skip
PAIRS: Final = tuple(
    pair for row in (*((s, "") for s in SHAPES[1:]), *(r.split() for r in _ROWS))
    for pair in ((row[0], row[1]), (row[1], row[0])))
SOME_PAIRS: Final = tuple(
    pair for row in (*((s, "") for s in SHAPES[1:]), *(r.split() for r in _ROWS[:17]))
    for pair in ((row[0], row[1]), (row[1], row[0])))
SMALL_PAIRS: Final = tuple(
    pair for row in (("a", ""), ("ab", ""), ("1", ""), ("ab", "b"), ("ab", "a1"))
    for pair in ((row[0], row[1]), (row[1], row[0])))
