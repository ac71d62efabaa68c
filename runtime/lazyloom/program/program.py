"""Canonical programs: what was recorded, freed of addresses, names and numbers.

A :class:`Structure` is compared by equality of its stream (:mod:`lazyloom.program.stream`). Who
wants to know what a program does asks for its instructions, whose operands are objects, or for
the decoded stream, where time counts.

Instructions stand in the order of recording, and an operand's comes before its own.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from ..dtypes import DType, dtype_named
from ..errors import ArgumentError
from ..notebooks import as_html
from ..ops.bodies import shown_attributes
from ..ops.derived import op_named
from ..placements import parsed, told
from ..trace.scalars import Baked, baked_constant
from ..trace.specs import Spec, spec_of
from ..types import TensorType, tensor_type
from .padding import Padding
from .stream import (
    INDEX_BITS,
    INDEX_MASK,
    Decoded,
    Item,
    Leaf,
    Operand,
    Result,
    ScalarSlot,
    encode_operand,
)

FORMAT: Final = 1


class Instruction(NamedTuple):
    """One op of a program."""

    spec: Spec
    operands: tuple[Operand, ...]
    operand_types: tuple[TensorType | None, ...]
    types: tuple[TensorType, ...]


class Structure:
    """The exact, comparable structure of a program: instructions and leaf types.

    With ``padding`` it is that of a padded program (:mod:`lazyloom.program.padding`).
    """

    __slots__ = ("stream", "leaf_types", "padding", "_hash", "_instructions", "_digest")

    def __init__(
        self, stream: tuple[Any, ...], leaf_types: tuple[TensorType, ...],
        padding: Padding | None = None,
    ) -> None:  # fmt: skip
        self.stream: Final = stream
        self.leaf_types: Final = leaf_types
        self.padding: Final = padding
        self._hash = hash((stream, leaf_types))
        self._instructions: list[Instruction] | None = None
        self._digest: str | None = None

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Structure)
            and self._hash == other._hash
            and self.leaf_types == other.leaf_types
            and self.stream == other.stream
            and self.padding == other.padding
        )

    @property
    def instructions(self) -> list[Instruction]:
        if self._instructions is None:
            self._instructions = self.decode_instructions()
        return self._instructions

    def decode(self) -> Decoded:
        """The stream as integers, decoded at each call."""
        return Decoded(self.stream, len(self.leaf_types))

    def decode_instructions(self) -> list[Instruction]:
        """:attr:`instructions`, decoded at each call and not kept."""
        stream = self.decode()
        inputs = stream.inputs()
        input_types = stream.input_types(self.leaf_types)
        instructions: list[Instruction] = []
        start = 0
        for spec, end in zip(stream.specs, stream.ends, strict=True):
            operands: list[Operand] = []
            types: list[TensorType | None] = []
            for code in stream.operands[start:end]:
                if code >= 0:
                    operands.append(inputs[code])
                    types.append(input_types[code])
                else:
                    number, index = (-1 - code) >> INDEX_BITS, (-1 - code) & INDEX_MASK
                    operands.append(Result(number, index))
                    types.append(instructions[number].types[index])
            start = end
            operand_types = tuple(types)
            instructions.append(
                Instruction(spec, tuple(operands), operand_types, spec.infer(operand_types)))
        return instructions

    @property
    def scalar_counts(self) -> dict[DType, int]:
        """How many run-time scalars of each dtype the program takes."""
        counts: dict[DType, int] = {}
        for instruction in self.instructions:
            for item in instruction.operands:
                if isinstance(item, ScalarSlot):
                    counts[item.dtype] = counts.get(item.dtype, 0) + 1
        return counts

    @property
    def serialized(self) -> bytes:
        """The structure as UTF-8 JSON: one line a leaf list, then one an instruction."""
        head: dict[str, Any] = {
            "format": FORMAT,
            "leaves": [[t.dtype.name, list(t.shape), t.placement.text]
                       for t in self.leaf_types],
        }  # fmt: skip
        if self.padding is not None:
            head["padding"] = self.padding
        lines = [json.dumps(head)]
        heads: dict[Spec, str] = {}
        start = 0
        stream = self.decode()
        inputs = [_packed_operand(operand) for operand in stream.inputs()]
        for spec, end in zip(stream.specs, stream.ends, strict=True):
            head_of_spec = heads.get(spec)
            if head_of_spec is None:
                head_of_spec = heads[spec] = json.dumps(
                    [spec.op.name, {k: _pack(v) for k, v in spec.attrs.items()}])[:-1]
            operands = ", ".join([
                inputs[code] if code >= 0 else _packed_result(-1 - code)
                for code in stream.operands[start:end]])
            lines.append(f"{head_of_spec}, [{operands}]]")
            start = end
        return "\n".join(lines).encode()

    @property
    def specs(self) -> list[Spec]:
        """The spec of each instruction."""
        return self.decode().specs

    def stream_with(self, specs: dict[int, Spec]) -> tuple[Any, ...]:
        """The stream with other specs for some instructions, which take as many operands."""
        decoded = self.decode()
        stream = list(self.stream)
        for number, spec in specs.items():
            stream[decoded.place_of(number)] = spec
        return tuple(stream)

    def with_numbers(self, numbers: dict[tuple[int, int], Any]) -> Structure:
        """The structure with constants for run-time scalars, by (instruction, operand)."""
        decoded = self.decode()
        instructions = self.instructions
        stream = list(self.stream)
        for (number, position), value in numbers.items():
            slot = instructions[number].operands[position]
            assert isinstance(slot, ScalarSlot)
            place = decoded.place_of(number) + 1 + position
            stream[place] = baked_constant(value, slot.dtype)
        return Structure(tuple(stream), self.leaf_types, self.padding)

    @property
    def digest(self) -> str:
        """SHA-256 of :attr:`serialized`, in hex."""
        if self._digest is None:
            self._digest = _sha256(self.serialized)
        return self._digest

    @staticmethod
    def parse(data: bytes) -> Structure:
        """The structure that was serialised to ``data``. Raises ArgumentError."""
        try:
            lines = data.decode().split("\n")
            head = json.loads(lines[0])
            if head["format"] != FORMAT:
                raise ArgumentError(f"program format {head['format']} given, expected {FORMAT}")
            leaves = tuple(
                tensor_type(tuple(shape), dtype_named(name), parsed(placement))
                for name, shape, placement in head["leaves"])
            padding = Padding.unpacked(head["padding"]) if "padding" in head else None
            stream: list[Any] = []
            for line in lines[1:]:
                name, attrs, operands = json.loads(line)
                stream.append(spec_of(op_named(name), {k: _unpack(v) for k, v in attrs.items()},
                                      len(operands)))
                stream.extend(_unpack_operand(o) for o in operands)
        except (ValueError, KeyError, IndexError, TypeError) as error:
            if isinstance(error, ArgumentError):
                raise
            raise ArgumentError(f"not a serialised program: {error}") from error
        return Structure(tuple(stream), leaves, padding)

    def restrict(self, keep: Iterable[int]) -> tuple[Structure, list[int], list[int]]:
        """The same program with only some instructions, which must be closed under operands.

        Returns the structure, the old number of each kept instruction and of each kept leaf.
        """
        kept = sorted(keep)
        renumber = {old: new for new, old in enumerate(kept)}
        leaves: dict[int, int] = {}
        stream: list[Any] = []
        for old in kept:
            instruction = self.instructions[old]
            stream.append(instruction.spec)
            for item in instruction.operands:
                if isinstance(item, Result):
                    item = Result(renumber[item.instruction], item.number)
                elif isinstance(item, Leaf):
                    item = Leaf(leaves.setdefault(item.number, len(leaves)))
                stream.append(encode_operand(item))
        return (
            Structure(tuple(stream), tuple(self.leaf_types[i] for i in leaves)),
            kept,
            list(leaves),
        )


def _sha256(data: bytes) -> str:
    # slow to import, as it loads OpenSSL; nobody asks for a key before a program runs
    import hashlib

    return hashlib.sha256(data).hexdigest()


def _pack(value: Any) -> Any:
    """JSON for an attribute, exact in type and bits."""
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return value
    if isinstance(value, int):
        return {"i": str(value)}
    if isinstance(value, float):
        return {"f": struct.pack("<d", value).hex()}
    if isinstance(value, DType):
        return {"d": value.name}
    return [_pack(v) for v in value]


def _unpack(value: Any) -> Any:
    if isinstance(value, dict):
        if "i" in value:
            return int(value["i"])
        if "f" in value:
            return struct.unpack("<d", bytes.fromhex(value["f"]))[0]
        return dtype_named(value["d"])
    if isinstance(value, list):
        return tuple(_unpack(v) for v in value)
    return value


def _packed_result(code: int) -> str:
    """JSON for a result, by instruction and index, which :func:`_unpack_operand` reads."""
    instruction, index = code >> INDEX_BITS, code & INDEX_MASK
    return f'["r", {instruction}, {index}]' if index else str(instruction)


def _packed_operand(operand: Operand) -> str:
    """JSON for an input, which :func:`_unpack_operand` reads."""
    if operand is None:
        return "null"
    if isinstance(operand, Leaf):
        return str(-1 - operand.number)
    if isinstance(operand, ScalarSlot):
        return f'["s", "{operand.dtype.name}"]'
    assert isinstance(operand, Baked)
    return f'["c", {operand.number}, "{operand.dtype.name}"]'


def _unpack_operand(item: Any) -> Item:
    """An item of the stream."""
    if isinstance(item, list):
        if item[0] == "s":
            return dtype_named(item[1])
        if item[0] == "c":
            return baked_constant(item[1], dtype_named(item[2]))
        return (int(item[1]), int(item[2]))
    return None if item is None else int(item)


class Program:
    """A structure with what is asked of it: the results wanted and the leaves given up.

    Attributes:
        structure: the instructions and leaf types.
        outputs: the results wanted, as (instruction, result).
        donated: numbers of the leaves whose memory the program may reuse.

    Example:

        >>> program = lazyloom.program_of(np.arange(3.0) * 2)
        >>> [str(op) for op in program.ops]
        ['multiply']
    """

    __slots__ = ("structure", "outputs", "donated", "_key")

    def __init__(
        self, structure: Structure, outputs: Sequence[tuple[int, int]], donated: Sequence[int]
    ) -> None:
        self.structure: Final = structure
        self.outputs: Final = tuple(outputs)
        self.donated: Final = tuple(donated)
        self._key: str | None = None

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Program)
            and self.outputs == other.outputs
            and self.donated == other.donated
            and self.structure == other.structure
        )

    def __hash__(self) -> int:
        return hash((self.structure, self.outputs, self.donated))

    def __repr__(self) -> str:
        return f"<Program {self.key[:12]}, {len(self.ops)} ops>"

    @property
    def serialized(self) -> bytes:
        """The program as bytes: the structure, then outputs and donation."""
        tail = json.dumps({"outputs": [list(o) for o in self.outputs],
                           "donated": list(self.donated)})  # fmt: skip
        return self.structure.serialized + b"\n" + tail.encode()

    @staticmethod
    def parse(data: bytes) -> Program:
        """The program that was serialised to ``data``. Raises ArgumentError."""
        body, _, tail = data.rpartition(b"\n")
        try:
            asked = json.loads(tail)
            outputs = [(int(a), int(b)) for a, b in asked["outputs"]]
            donated = [int(d) for d in asked["donated"]]
        except (ValueError, KeyError, TypeError) as error:
            raise ArgumentError(f"not a serialised program: {error}") from error
        return Program(Structure.parse(body), outputs, donated)

    @property
    def key(self) -> str:
        """SHA-256 of :attr:`serialized` in hex: equal exactly for equal programs."""
        if self._key is None:
            self._key = _sha256(self.serialized)
        return self._key

    @property
    def ops(self) -> list[str]:
        """The names of the ops, in order."""
        return [i.spec.op.name for i in self.structure.instructions]

    def text(self) -> str:
        """The program for people to read, one line an instruction."""
        leaves = self.structure.leaf_types
        inputs = ", ".join(
            f"%in{i}: {t.text}{told(t.placement)}{' donated' if i in self.donated else ''}"
            for i, t in enumerate(leaves))
        lines = [f"program({inputs}) {{"]
        for number, i in enumerate(self.structure.instructions):
            attrs, bodies = shown_attributes(i.spec.op, i.spec.attrs, "    ")
            results = ", ".join(t.text for t in i.types)
            lines.append(
                f"  %{number} = {i.spec.op.name}({', '.join(map(show_operand, i.operands))})"
                f"{attrs} : {results}")
            lines += bodies
        outputs = ", ".join(f"%{n}" if r == 0 else f"%{n}.{r}" for n, r in self.outputs)
        lines.append(f"  return {outputs}")
        lines.append("}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """What a notebook shows: the text."""
        return as_html(self.text(), {"ops": str(len(self.ops)), "key": self.key[:12]})


def show_operand(operand: Operand) -> str:
    """An operand of an instruction, for people to read."""
    if isinstance(operand, Result):
        return f"%{operand.instruction}" + (f".{operand.number}" if operand.number else "")
    if isinstance(operand, Leaf):
        return f"%in{operand.number}"
    if isinstance(operand, ScalarSlot):
        return f"${operand.dtype.name}.{operand.ordinal}"
    return "_" if operand is None else f"{operand.number}:{operand.dtype.name}"
