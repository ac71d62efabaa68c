"""Bodies: recorded functions that an op holds as an attribute, such as the step of a scan.

A body is text, so it is part of a structure like any other attribute: two are equal exactly
if their texts are. It has no quoted strings, so bodies in bodies do not grow by escapes::

    float32[3] float32[] int64[]|multiply{}$0 $1;add{}%0 !$0|%1 %0

These are the types of its leaves; its instructions, each the name of an op, its attributes and
operands; its results. An operand is a leaf ``$number``, a result ``%instruction`` or
``%instruction.number``, a constant ``#number:dtype``, or ``_`` if it is absent; ``!`` before it
means that no gradient passes.
"""

from __future__ import annotations

import functools
import struct
import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from ..dtypes import DType, dtype_named
from ..errors import ArgumentError, LoomError
from ..types import TensorType, tensor_type
from ._jax import lax
from .derived import op_named
from .spec import OpDef


class BodyInput(NamedTuple):
    """An operand of the body."""

    number: int


class BodyResult(NamedTuple):
    """Result ``number`` of an instruction."""

    instruction: int
    number: int


class BodyConstant(NamedTuple):
    """A 0-d number."""

    number: int
    dtype: DType


class Use(NamedTuple):
    """What an instruction or the end of the body reads; ``stopped``: no gradient passes."""

    source: BodyInput | BodyResult | BodyConstant
    stopped: bool = False


#: an operand of an instruction; None if it is absent
Operand: TypeAlias = "Use | None"


class BodyInstruction(NamedTuple):
    """One op of a body."""

    op: OpDef
    attrs: dict[str, Any]
    operands: tuple[Operand, ...]


class Body:
    """A recorded function.

    Attributes:
        leaves: the types of its operands.
        instructions: each comes after its operands.
        results: what the function returns.
        types: the types of the results of each instruction.
        result_types: the types of ``results``.
    """

    __slots__ = ("leaves", "instructions", "results", "types", "result_types")

    def __init__(
        self, leaves: Sequence[TensorType], instructions: Sequence[BodyInstruction],
        results: Sequence[Use],
    ) -> None:  # fmt: skip
        self.leaves: Final = tuple(leaves)
        self.instructions: Final = tuple(instructions)
        self.results: Final = tuple(results)
        self.types: Final[list[tuple[TensorType, ...]]] = []
        for i in self.instructions:
            operand_types = [None if o is None else self._type(o) for o in i.operands]
            self.types.append(i.op.infer(operand_types, i.attrs))
        self.result_types: Final = tuple([self._type(r) for r in self.results])

    def _type(self, use: Use) -> TensorType:
        source = use.source
        if isinstance(source, BodyInput):
            return self.leaves[source.number]
        if isinstance(source, BodyResult):
            return self.types[source.instruction][source.number]
        return tensor_type((), source.dtype)

    def __call__(self, operands: Sequence[Any]) -> list[Any]:
        """The results for JAX arrays, by the definitions of its ops."""
        values: list[Any] = []

        def read(use: Use) -> Any:
            source = use.source
            if isinstance(source, BodyInput):
                x = operands[source.number]
            elif isinstance(source, BodyResult):
                x = values[source.instruction][source.number]
            else:
                x = lax.full((), source.number, source.dtype.numpy)
            return lax.stop_gradient(x) if use.stopped else x

        for i in self.instructions:
            results = i.op.fn(*[None if o is None else read(o) for o in i.operands], **i.attrs)
            values.append(results if isinstance(results, (tuple, list)) else (results,))
        # without JAX's weak types, which a carry must not get
        return [lax.convert_element_type(read(r), t.dtype.numpy)
                for r, t in zip(self.results, self.result_types, strict=True)]

    def ops(self) -> set[OpDef]:
        """The ops of its instructions, and of bodies that these hold."""
        ops: set[OpDef] = set()
        for i in self.instructions:
            ops |= held_ops(i.op, i.attrs)
        return ops

    def refuses_reverse(self, moving: Iterable[int] | None) -> str:
        """The reason why no cotangents can be pulled back through it, "" if they can.

        ``moving`` are the leaves that have a derivative, None for all.
        """
        at_leaf = set(range(len(self.leaves)) if moving is None else moving)
        at_result: set[tuple[int, int]] = set()

        def moves(use: Operand) -> bool:
            if use is None or use.stopped:
                return False
            source = use.source
            if isinstance(source, BodyInput):
                return source.number in at_leaf and self.leaves[source.number].dtype.is_inexact
            return isinstance(source, BodyResult) and tuple(source) in at_result

        for number, i in enumerate(self.instructions):
            positions = [p for p, o in enumerate(i.operands) if moves(o)]
            if not positions:
                continue
            why = refuses_reverse(i.op, i.attrs, positions)
            if why:
                return why
            at_result.update(
                (number, k) for k, t in enumerate(self.types[number]) if t.dtype.is_inexact)
        return ""

    def lines(self, indent: str) -> list[str]:
        """The body in readable form."""
        lines = [f"{indent}({', '.join(f'${n}: {t.text}' for n, t in enumerate(self.leaves))}) {{"]
        for number, i in enumerate(self.instructions):
            attrs, inner = shown_attributes(i.op, i.attrs, indent + "    ")
            operands = ", ".join(map(_operand_text, i.operands))
            results = ", ".join(t.text for t in self.types[number])
            lines.append(f"{indent}  %{number} = {i.op.name}({operands}){attrs} : {results}")
            lines += inner
        lines.append(f"{indent}  return {', '.join(map(_operand_text, self.results))}")
        lines.append(f"{indent}}}")
        return lines


def shown_attributes(
    op: OpDef, attrs: Mapping[str, Any], indent: str
) -> tuple[str, list[str]]:
    """Attributes in readable form: plain ones in one line, and the lines of bodies below it."""
    bodies = op.root.signature.bodies
    plain = ", ".join(f"{k}={_shown(v)}" for k, v in attrs.items() if k not in bodies)
    lines: list[str] = []
    for name in bodies:
        first, *rest = parsed(op.root, attrs[name]).lines(indent)
        lines += [f"{indent}{name} {first.lstrip()}", *rest]
    return f" {{{plain}}}" if plain else "", lines


#: characters of an attribute that are shown whole
_LONGEST_SHOWN: Final = 1000


def _shown(value: Any) -> str:
    if isinstance(value, tuple):
        return f"({', '.join(map(_shown, value))})"
    if isinstance(value, str) and len(value) > _LONGEST_SHOWN:
        # a module of another program
        return f"{value[:40]!r}... ({len(value)} characters, hash {zlib.crc32(value.encode()):08x})"
    return repr(value)


def held_ops(op: OpDef, attrs: Mapping[str, Any]) -> set[OpDef]:
    """An op and the ops of all bodies that it holds."""
    ops = {op}
    for name in op.root.signature.bodies:
        ops |= parsed(op.root, attrs[name]).ops()
    return ops


def refuses_reverse(
    op: OpDef, attrs: Mapping[str, Any], moving: Sequence[int] | None
) -> str:
    """The reason why no cotangents can be pulled back through an op to these operands.

    "" if they can; None stands for all operands.
    """
    why = op.root.derivative.irreversible
    if why is None:
        return ""
    # only its kind knows which operands of a derived op are those of the root
    return why(attrs, moving if op.base is None else None)


# The text.


def body_text(
    leaves: Sequence[TensorType], instructions: Sequence[BodyInstruction], results: Sequence[Use]
) -> str:
    """The text of a body."""
    lines = [
        f"{i.op.name}{{{''.join([f'{k}={_packed(v)}' for k, v in i.attrs.items()])}}}"
        f"{' '.join(map(_operand_text, i.operands))}" for i in instructions]
    return (f"{' '.join([t.text for t in leaves])}|{';'.join(lines)}|"
            f"{' '.join(map(_operand_text, results))}")


def _operand_text(use: Operand) -> str:
    if use is None:
        return "_"
    source = use.source
    if isinstance(source, BodyInput):
        text = f"${source.number}"
    elif isinstance(source, BodyResult):
        text = f"%{source.instruction}.{source.number}" if source.number else (
            f"%{source.instruction}")
    else:
        text = f"#{source.number}:{source.dtype.name}"
    return f"!{text}" if use.stopped else text


def _packed(value: Any) -> str:
    """An attribute, exact in type and bits, in a self-delimiting form."""
    if value is None:
        return "n"
    if isinstance(value, bool):
        return "t" if value else "f"
    if isinstance(value, int):
        return f"i{value};"
    if isinstance(value, float):
        return f"d{struct.pack('<d', value).hex()}"
    if isinstance(value, str):
        return f"s{len(value)}:{value}"
    if isinstance(value, DType):
        return f"T{value.name};"
    return f"({''.join(map(_packed, value))})"


@functools.lru_cache(maxsize=4096)
def _parse(text: str) -> Body:
    return _Reader(text).body()


class ReplacedText(str):
    """The text of a body that is computed otherwise: :func:`parsed` gives that body."""

    body: Body


def parsed(op: OpDef, text: str) -> Body:
    """The body of that text. Raises ArgumentError."""
    if isinstance(text, ReplacedText):
        return text.body
    try:
        return _parse(text)
    except (ValueError, IndexError, KeyError, TypeError, LoomError, struct.error) as error:
        raise ArgumentError(
            f"{op.name}: a body is no text that lazyloom.{op.name} records: {error}",
            op=op.name) from error


class _Reader:
    """Reads the text of a body from front to back."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def until(self, end: str) -> str:
        stop = self.text.index(end, self.at)
        part = self.text[self.at : stop]
        self.at = stop + len(end)
        return part

    def body(self) -> Body:
        leaves = [_type(t) for t in self.until("|").split()]
        instructions: list[BodyInstruction] = []
        while self.text[self.at] != "|":
            op = op_named(self.until("{"))
            attrs: dict[str, Any] = {}
            while self.text[self.at] != "}":
                name = self.until("=")
                attrs[name] = self.value()
            self.at += 1
            operands = self.operands()
            for o in operands:
                if o is not None:
                    _check(o, leaves, len(instructions))
            instructions.append(
                BodyInstruction(op, op.canonical_attributes(attrs), tuple(operands)))
            if self.text[self.at] == ";":
                self.at += 1
        self.at += 1
        results: list[Use] = []
        for r in self.operands():
            if r is None:
                raise ValueError("a result is absent")
            _check(r, leaves, len(instructions))
            results.append(r)
        return Body(leaves, instructions, results)

    def operands(self) -> list[Operand]:
        stop = self.at
        while stop < len(self.text) and self.text[stop] not in ";|":
            stop += 1
        words = self.text[self.at : stop].split()
        self.at = stop
        return [_operand(w) for w in words]

    def value(self) -> Any:
        kind = self.text[self.at]
        self.at += 1
        if kind == "n":
            return None
        if kind in "tf":
            return kind == "t"
        if kind == "i":
            return int(self.until(";"))
        if kind == "d":
            digits = self.text[self.at : self.at + 16]
            self.at += 16
            return struct.unpack("<d", bytes.fromhex(digits))[0]
        if kind == "s":
            size = int(self.until(":"))
            text = self.text[self.at : self.at + size]
            self.at += size
            return text
        if kind == "T":
            return dtype_named(self.until(";"))
        if kind != "(":
            raise ValueError(f"an attribute begins with {kind!r}")
        items: list[Any] = []
        while self.text[self.at] != ")":
            items.append(self.value())
        self.at += 1
        return tuple(items)


def _type(text: str) -> TensorType:
    name, _, dims = text.rstrip("]").partition("[")
    return tensor_type(tuple(int(d) for d in dims.split(",")) if dims else (), dtype_named(name))


def _operand(word: str) -> Operand:
    if word == "_":
        return None
    stopped = word.startswith("!")
    word = word.removeprefix("!")
    kind, rest = word[0], word[1:]
    if kind == "$":
        return Use(BodyInput(int(rest)), stopped)
    if kind == "%":
        instruction, _, number = rest.partition(".")
        return Use(BodyResult(int(instruction), int(number or 0)), stopped)
    if kind == "#":
        digits, _, dtype = rest.partition(":")
        return Use(BodyConstant(int(digits), dtype_named(dtype)), stopped)
    raise ValueError(f"an operand is {word!r}")


def _check(use: Use, leaves: Sequence[TensorType], before: int) -> None:
    """Raise IndexError for a leaf or result that does not exist yet."""
    source = use.source
    if isinstance(source, BodyInput) and not 0 <= source.number < len(leaves):
        raise IndexError(f"leaf {source.number} of {len(leaves)}")
    if isinstance(source, BodyResult) and not 0 <= source.instruction < before:
        raise IndexError(f"the result of instruction {source.instruction} before it is there")
