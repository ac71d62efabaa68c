"""Barriers between reads of an array and writes into it, in a program on a CPU.

XLA:CPU writes into an array in place where nothing else reads it. It also fuses what computes the
written values into the loop that writes them, unless that reads the same array, since the loop
would read elements that it has already overwritten. It looks for "the same array" only among the
operands themselves, and a reshape between the two, which is a bitcast and no copy, hides that
they are one (https://github.com/openxla/xla/issues/49176). ``b[:, 1:] = b[:, :-1]`` became this
for a ``b`` of shape (1, 6) that is a view of six elements, with ``p`` in the memory of the result::

    fused_computation (s: s64[], p: f64[6]) -> f64[1,6] {
      written = f64[1,6] bitcast(p)
      read = f64[5] dynamic-slice(p, s), dynamic_slice_sizes={5}
      update = f64[1,5] bitcast(read)
      ROOT r = f64[1,6] dynamic-update-slice(written, update, 0, t)
    }

So the written values become a value of their own (see :mod:`.fusion_barriers`) wherever they
depend on anything that may be the array that they are written into.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from typing import Final

from ...program.program import Instruction
from ...program.stream import Leaf, Result
from ...settings import LOWERINGS_KEPT
from ...types import TensorType

#: steps that XLA does in place
_WRITES: Final = ("stablehlo.dynamic_update_slice", '"stablehlo.scatter"')
#: steps that XLA never simplifies to one of their operands
_COMPUTES: Final = ("stablehlo.dot_general", "stablehlo.convolution", "stablehlo.custom_call")
_NAME: Final = re.compile(r"%\w+")
#: platforms whose compiler was observed to fuse a read of what is overwritten
_PLATFORMS: Final = ("cpu",)


def separated(
    instructions: Sequence[Instruction], texts: Sequence[str], leaf_types: Sequence[TensorType],
    platform: str,
) -> set[int]:  # fmt: skip
    """Return the numbers of instructions whose results must not be fused into a write of them.

    ``texts`` holds the StableHLO functions of each instruction.
    """
    writes = {n for n, text in enumerate(texts) if any(w in text for w in _WRITES)}
    if platform not in _PLATFORMS or not writes:
        return set()
    memory = _Memory(instructions, texts, leaf_types)
    targets = {n: memory.written_by(n) for n in sorted(writes)}
    numbers: set[int] = set()
    #: for each instruction, the written arrays that its computation reads, as far as XLA may fuse
    reads: list[int] = []
    for number in range(len(instructions)):
        if number in targets:
            for value in memory.beside(number):
                if isinstance(value, Result) and reads[value.instruction] & targets[number]:
                    numbers.add(value.instruction)
                    reads[value.instruction] = 0
        reach = 0
        for value in memory.operands(number):
            reach |= memory.written(value)
            if isinstance(value, Result):
                reach |= reads[value.instruction]
        reads.append(reach)
    return numbers


#: a value of a program
_Value = Result | Leaf


@functools.lru_cache(maxsize=LOWERINGS_KEPT)
def used_operands(text: str) -> frozenset[int]:
    """Return the numbers of the operands that the results of an op's first function depend on.

    The function of a derivative also computes the op's own results, which nothing uses.
    """
    body = text.partition("func.func")[2].partition("func.func")[0].partition("{\n")[2]
    wanted: set[str] = set()
    pending: list[str] = []
    for line in reversed(body.splitlines()):
        pending.append(line)
        # a step is a line at this depth, followed by the lines of its regions
        if line.startswith("    ") and not line.startswith(("     ", "    }", "    ^")):
            names = [_NAME.findall(part) for part in reversed(pending)]
            pending = []
            if "=" not in line.partition(" : ")[0] or not names[0] or names[0][0] in wanted:
                wanted.update(name for part in names for name in part)
    return frozenset(int(n[4:]) for n in wanted if n.startswith("%arg") and n[4:].isdigit())


class _Memory:
    """Which values may be one array: those of equal size in bytes that an op other than a product
    joins.

    A written array is a bit of an int, and a set of them an int.
    """

    def __init__(
        self, instructions: Sequence[Instruction], texts: Sequence[str],
        leaf_types: Sequence[TensorType],
    ) -> None:  # fmt: skip
        self._instructions: Final = instructions
        self._texts: Final = texts
        self._leaves: Final = leaf_types
        self._joined: Final[dict[_Value, _Value]] = {}
        self._bits: Final[dict[_Value, int]] = {}
        for number, i in enumerate(instructions):
            if not any(c in texts[number] for c in _COMPUTES):
                for value in self.operands(number):
                    for r, t in enumerate(i.types):
                        if t.nbytes == self._bytes(value):
                            self._join(Result(number, r), value)

    def operands(self, number: int) -> list[_Value]:
        """Return the operands of an instruction that are leaves or results, and that it reads.

        A derivative has operands that it only takes the shape of.
        """
        items = [item for item, t in zip(self._instructions[number].operands,
                                         self._instructions[number].operand_types, strict=True)
                 if t is not None]
        used = used_operands(self._texts[number])
        return [item for k, item in enumerate(items)
                if isinstance(item, (Result, Leaf)) and k in used]

    def beside(self, number: int) -> list[_Value]:
        """Return the operands of an instruction without the one that it writes into."""
        operands = self.operands(number)
        sizes = [t.nbytes for t in self._instructions[number].types]
        into = next((k for k, value in enumerate(operands) if self._bytes(value) in sizes), None)
        return [value for k, value in enumerate(operands) if k != into]

    def written_by(self, number: int) -> int:
        """Return the arrays that an instruction writes into."""
        arrays = 0
        for r in range(len(self._instructions[number].types)):
            arrays |= self._bits.setdefault(self._root(Result(number, r)), 1 << len(self._bits))
        return arrays

    def written(self, value: _Value) -> int:
        """Return the written array that a value may be, or 0."""
        return self._bits.get(self._root(value), 0)

    def _bytes(self, value: _Value) -> int:
        if isinstance(value, Leaf):
            return self._leaves[value.number].nbytes
        return self._instructions[value.instruction].types[value.number].nbytes

    def _root(self, value: _Value) -> _Value:
        passed = []
        while value in self._joined:
            passed.append(value)
            value = self._joined[value]
        for each in passed:
            self._joined[each] = value
        return value

    def _join(self, a: _Value, b: _Value) -> None:
        a, b = self._root(a), self._root(b)
        if a != b:
            self._joined[a] = b
