"""Operands of collectives that XLA may know before a program runs.

XLA takes what it knows for equal in all processes, as it would be if all ran one program, and then
computes the reduction by itself: of zeros, of positions, of products over nothing. Another process
has a program of its own, in which it knows nothing of the kind, and waits for ever.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from ...program.program import Instruction
from ...program.stream import Result
from ...trace.scalars import Baked

#: bytes of operands that are hidden in any case: that costs a pass over them
_SMALL: Final = 1 << 18

_ELEMENT: Final = re.compile(r"tensor<(?:\d+x)*(.*)>")
#: whether this is a replica that there never is; XLA does not know the number of its own
_NEVER: Final = """    %own_replica = stablehlo.replica_id : tensor<ui32>
    %no_replica = stablehlo.constant dense<4294967295> : tensor<ui32>
    %never = stablehlo.compare EQ, %own_replica, %no_replica : \
(tensor<ui32>, tensor<ui32>) -> tensor<i1>"""


class Unforeseen:
    """The operands of a program's collectives, which XLA may not know."""

    def __init__(self, instructions: Sequence[Instruction]) -> None:
        self._instructions = instructions
        self._known: list[bool] | None = None
        self._begun = False

    def hidden(
        self, number: int, arguments: list[str], types: list[str], lines: list[str]
    ) -> list[str]:
        """Return what a collective takes in place of its arguments."""
        found: list[str] = []
        i = self._instructions[number]
        present = [(item, t) for item, t in zip(i.operands, i.operand_types, strict=True)
                   if t is not None]
        if len(present) != len(arguments):
            return arguments
        for k, ((item, t), name, type_) in enumerate(
            zip(present, arguments, types, strict=True)
        ):
            known = isinstance(item, Baked) or isinstance(item, Result) and (
                t.nbytes <= _SMALL or self._is_known(item.instruction))
            if not known or not t.size:
                found.append(name)
                continue
            if not self._begun:
                self._begun = True
                lines.append(_NEVER)
            match = _ELEMENT.fullmatch(type_)
            assert match is not None
            scalar, new = f"tensor<{match[1]}>", f"%unforeseen{number}_{k}"
            lines.append(
                f"    {new}_r = stablehlo.convert %own_replica : (tensor<ui32>) -> {scalar}\n"
                f"    {new}_b = stablehlo.broadcast_in_dim {new}_r, dims = [] : "
                f"({scalar}) -> {type_}\n"
                f"    {new} = stablehlo.select %never, {new}_b, {name} : tensor<i1>, {type_}")
            found.append(new)
        return found

    def _is_known(self, number: int) -> bool:
        """Return True if an instruction depends on no data, or on values of no elements."""
        if self._known is None:
            known: list[bool] = []
            for i in self._instructions:
                known.append(
                    all(item is None or isinstance(item, Baked) for item in i.operands)
                    or any(t is not None and not t.size for t in i.operand_types)
                    or any(isinstance(item, Result) and known[item.instruction]
                           for item in i.operands))
            self._known = known
        return self._known[number]
