"""The stream of a structure: its encoding, and the only decoder.

A stream is a flat tuple of interned objects and small integers, which costs no object for each
operand and is compared by equality. It has for each instruction its spec, then ``spec.arity``
items (:data:`Item`). :func:`lazyloom.evaluate.collect.canonical` writes one for the nodes that
run, and :func:`encode_operand` one operand; everybody else decodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple, TypeAlias, final

from ..dtypes import DType
from ..trace.scalars import Baked
from ..trace.specs import Spec
from ..types import TensorType, tensor_type

#: an operand in the stream: the number of an instruction for its first result, (instruction,
#: result) for another, ``-1 - number`` for a leaf, a dtype for the next run-time scalar of it, a
#: constant, or None for one that is absent
Item: TypeAlias = "int | tuple[int, int] | DType | Baked | None"

#: bits of a result's number in :attr:`Decoded.operands`, below the instruction's
INDEX_BITS: Final = 24
INDEX_MASK: Final = (1 << INDEX_BITS) - 1


class Result(NamedTuple):
    """Result ``number`` of that instruction of the program."""

    instruction: int
    number: int


class Leaf(NamedTuple):
    """An input of the program; they are numbered by first use."""

    number: int


class ScalarSlot(NamedTuple):
    """Run-time scalar number ``ordinal`` of that dtype; they are numbered by first use, too."""

    dtype: DType
    ordinal: int


#: an operand of an instruction; None is one that is absent
Operand: TypeAlias = "Result | Leaf | ScalarSlot | Baked | None"


def encode_operand(operand: Operand) -> Item:
    """An operand as an item of the stream."""
    if isinstance(operand, Result):
        return (operand.instruction, operand.number) if operand.number else operand.instruction
    if isinstance(operand, Leaf):
        return -1 - operand.number
    if isinstance(operand, ScalarSlot):
        return operand.dtype
    return operand


@final
class Decoded:
    """A stream as integers.

    Attributes:
        specs: of each instruction.
        ends: of each instruction, where its operands end in ``operands``; they begin where the
            previous instruction's end.
        operands: an input's place, which is at least 0, or ``-1 - (instruction << INDEX_BITS |
            result)``. The places are those of the leaves and then of ``others``.
        others: the inputs that are no leaves: a dtype for each run-time scalar in order of use,
            and each constant and None once.
        leaves: the number of leaves.
    """

    __slots__ = ("specs", "ends", "operands", "others", "leaves")

    def __init__(self, stream: tuple[Any, ...], leaves: int) -> None:
        specs: list[Spec] = []
        ends: list[int] = []
        operands: list[int] = []
        others: list[Any] = []
        constants: dict[Any, int] = {}
        at = 0
        length = len(stream)
        while at < length:
            spec: Spec = stream[at]
            end = at + 1 + spec.arity
            for position in range(at + 1, end):
                item = stream[position]
                if isinstance(item, int):
                    operands.append(-1 - (item << INDEX_BITS) if item >= 0 else -1 - item)
                elif isinstance(item, tuple):
                    instruction: int = item[0]
                    index: int = item[1]
                    operands.append(-1 - (instruction << INDEX_BITS | index))
                elif isinstance(item, DType):
                    operands.append(leaves + len(others))
                    others.append(item)
                else:
                    place = constants.get(item)
                    if place is None:
                        place = constants[item] = leaves + len(others)
                        others.append(item)
                    operands.append(place)
            specs.append(spec)
            ends.append(len(operands))
            at = end
        self.specs: Final[list[Spec]] = specs
        self.ends: Final[list[int]] = ends
        self.operands: Final[list[int]] = operands
        self.others: Final[list[Any]] = others
        self.leaves: Final[int] = leaves

    def place_of(self, number: int) -> int:
        """Where an instruction's spec stands in the stream."""
        return number + (self.ends[number - 1] if number else 0)

    def input_types(self, leaf_types: Sequence[TensorType]) -> list[TensorType | None]:
        """The type of each input, by place; None for an operand that is absent."""
        types: list[TensorType | None] = list(leaf_types)
        for item in self.others:
            if item is None:
                types.append(None)
            else:
                types.append(tensor_type((), item if isinstance(item, DType) else item.dtype))
        return types

    def inputs(self) -> list[Operand]:
        """Each input, by place."""
        inputs: list[Operand] = [Leaf(number) for number in range(self.leaves)]
        ordinals: dict[DType, int] = {}
        for item in self.others:
            if isinstance(item, DType):
                ordinal = ordinals.get(item, 0)
                ordinals[item] = ordinal + 1
                inputs.append(ScalarSlot(item, ordinal))
            else:
                inputs.append(item)
        return inputs
