"""The place of a function in the text of a kernel, which ends with what is called."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

from ...jaxprs.walking import called, needed
from ..c_values import C_TYPES, NoCode, dim_text
from ..primitives.entry import COMBINE, ELEMENTWISE
from ..primitives.table import PRIMITIVES

#: a line of a kernel that makes an array
_CALL: Final = re.compile(r"^ +v\d+ = ", re.MULTILINE)


def calls_of(text: str, closed: Any) -> int:
    """How many arrays a kernel makes, each by a call of NumPy.

    0 where no function would be better: it makes views, or calls NumPy once on integers.
    """
    calls = len(_CALL.findall(text))
    if calls == 1 and all(v.aval.dtype.kind != "f" for v in closed.jaxpr.outvars) or (
        _may_share(text) and _only_moves(closed.jaxpr)
    ):
        return 0
    return calls


def _may_share(text: str) -> bool:
    """Whether the memory of each result may be an operand's or a constant's."""
    return "False" not in text.partition("shared = ")[2].partition("\n")[0]


def _only_moves(jaxpr: Any) -> bool:
    """Whether nothing is computed of elements."""
    for step in needed(jaxpr):
        inner = called(step)
        known = PRIMITIVES.get(step.primitive.name)
        if inner is not None and not _only_moves(inner[0]) or known is not None and (
            known.kind in (ELEMENTWISE, COMBINE) and not isinstance(known.c, str)
        ):
            return False
    return True


def put(text: str, call: str, symbols: Sequence[str] | None) -> str:
    """The text of a kernel that is what a call makes of it."""
    if symbols is None:
        return f"{text}kernel = {call}\n"
    start, found, end = text.rpartition("return kernel\n")
    assert found and not end
    return f"{start}return {call}\n"


def tuple_text(parts: Sequence[str]) -> str:
    return f"({''.join(p + ', ' for p in parts)})"


def arrays_text(arrays: Sequence[tuple[Sequence[Any], str]]) -> str:
    """(dtype, shape) of each of some (shape, dtype). Raises NoCode."""
    return tuple_text([f"({dtype!r}, {tuple_text([dim_text(n) for n in shape])})"
                       for shape, dtype in arrays])


def marked(text: str, closed: Any, symbols: Sequence[str] | None) -> str:
    """The text of a kernel that may be a function, which is not written yet."""
    calls = calls_of(text, closed)
    if not calls:
        return text
    operands, results = ([(v.aval.shape, str(v.aval.dtype)) for v in variables]
                         for variables in (closed.jaxpr.invars, closed.jaxpr.outvars))
    if any(dtype not in C_TYPES for _, dtype in (*operands, *results)):
        return text
    try:
        given = f"kernel, {arrays_text(operands)}, {arrays_text(results)}, {calls}"
    except NoCode:
        return text
    return put(text, f"later({given})", symbols)
