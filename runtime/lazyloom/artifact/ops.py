"""The ops of an exported program, beside its module: what code generators take parts of.

They are used by the Lazyloom that wrote them alone, since what an op is may change; every other one
runs the module.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from ..dtypes import DType, dtype_named
from ..errors import ArgumentError
from ..host import storage
from ..program.program import Program, Structure
from ..program.stream import Leaf, Result, ScalarSlot
from ..trace.graph import Value
from ..trace.recording import record_spec
from ..trace.scalars import Baked, Scalar
from ..types import TensorType


def packed(
    structure: Structure, outputs: Sequence[tuple[int, int]], scalars: Mapping[DType, Sequence[Any]]
) -> bytes:
    """Return a program as JSON: the ops, the numbers that are in it, and what wrote it."""
    return json.dumps({
        "source": storage.fingerprint().hex(),
        "program": Program(structure, list(outputs), []).serialized.decode(),
        "numbers": {dtype.name: [_number(n) for n in numbers]
                    for dtype, numbers in scalars.items()}}).encode()


def _number(n: Any) -> Any:
    return [n.real, n.imag] if isinstance(n, complex) else n


class ExportedOps:
    """The ops of a program, which a call records."""

    def __init__(self, program: Program, numbers: Mapping[DType, Sequence[Any]]) -> None:
        self.program: Final = program
        self._numbers: Final = numbers

    @property
    def operands(self) -> tuple[TensorType, ...]:
        """The types of the leaves."""
        return self.program.structure.leaf_types

    @property
    def results(self) -> tuple[TensorType, ...]:
        """The types of the outputs."""
        instructions = self.program.structure.instructions
        return tuple(instructions[n].types[r] for n, r in self.program.outputs)

    def record(self, operands: Sequence[Value]) -> list[Value]:
        """Record the ops on values for the leaves; return the outputs."""
        values: list[tuple[Value, ...]] = []
        taken = dict.fromkeys(self._numbers, 0)
        for i in self.program.structure.instructions:
            given: list[Value | Scalar | None] = []
            for item in i.operands:
                if isinstance(item, Leaf):
                    given.append(operands[item.number])
                elif isinstance(item, Result):
                    given.append(values[item.instruction][item.number])
                elif isinstance(item, Baked):
                    given.append(Scalar(item.number, item.dtype))
                elif isinstance(item, ScalarSlot):
                    number = self._numbers[item.dtype][taken[item.dtype]]
                    taken[item.dtype] += 1
                    given.append(Scalar(number, item.dtype, bake=False))
                else:
                    given.append(None)
            results: Any = record_spec(i.spec, given)
            values.append(results if isinstance(results, tuple) else (results,))
        return [values[n][r] for n, r in self.program.outputs]


def unpacked(data: bytes, where: str) -> ExportedOps | str:
    """Return the ops that :func:`packed` wrote, or why they are of no use to this Lazyloom.

    Raises ArgumentError for data that is damaged.
    """
    try:
        fields: Any = json.loads(data)
        if fields["source"] != storage.fingerprint().hex():
            return ("its ops are those of another version of Lazyloom, JAX or NumPy, or of another "
                    "source of it")
        program = Program.parse(fields["program"].encode())
        numbers = {dtype_named(name): [complex(*n) if isinstance(n, list) else n for n in given]
                   for name, given in fields["numbers"].items()}
        counts = {dtype: len(given) for dtype, given in numbers.items()}
        if counts != dict(program.structure.scalar_counts):
            raise ValueError(f"it has numbers {counts}, expected as many as its ops take")
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise ArgumentError(f"{where} is no program: {error}; the file is damaged") from error
    return ExportedOps(program, numbers)
