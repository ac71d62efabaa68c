"""Small programs as text, and generators that do what they are told, for tests of partitioning."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, NamedTuple

import lazyloom as ll
from lazyloom.codegen import (
    YES,
    Answer,
    Call,
    Code,
    Generator,
    No,
    Partition,
    Pattern,
    Region,
    partition,
)
from lazyloom.codegen.check import check
from lazyloom.ops.spec import lookup
from lazyloom.program.program import Program, Structure
from lazyloom.program.stream import Leaf, Operand, Result, encode_operand
from lazyloom.trace.scalars import baked_constant
from lazyloom.types import TensorType

F32: Final = ll.dtypes.float32
VECTOR: Final = ll.tensor_type((4,), F32)

#: ops by the letter that stands for them in the text of a program, of one, two and three operands
KINDS: Final = {
    "t": ("negative", "add", "addcmul"),  # what "mine" does
    "u": ("abs", "maximum", "lerp"),  # what "theirs" does
    "d": ("exp", "subtract", "clip"),  # what is left to the default, XLA
}
MINE: Final = " ".join(KINDS["t"])
THEIRS: Final = " ".join(KINDS["u"])


class Written(NamedTuple):
    """A program and the numbers of its ops by name."""

    structure: Structure
    numbers: dict[str, int]

    def results(self, names: str) -> list[tuple[int, int]]:
        """Results by name, "A B" or "A.1" for another than the first."""
        found = []
        for name in names.split():
            op, _, number = name.partition(".")
            found.append((self.numbers[op], int(number or 0)))
        return found

    def names(self, numbers: Iterable[int]) -> str:
        """The names of ops, in order."""
        named = {n: name for name, n in self.numbers.items()}
        return " ".join(named[n] for n in numbers)

    def program(self, outputs: str) -> Program:
        """The program with these results."""
        return Program(self.structure, self.results(outputs), [])


def written(text: str, leaf: TensorType = VECTOR) -> Written:
    """The program of a text such as ``"A:t(x) B:d(A,$) C:barrier(A,B) D:t(C.1,1)"``.

    Each word is an op: its name, a letter of :data:`KINDS` or an op of the table, and its
    operands, a leaf "x" where it has none. An operand is the name of an op, another result of it
    as "C.1", "$" for a run-time scalar, a number for a constant, "_" for one that is absent, or
    else a leaf.
    """
    numbers: dict[str, int] = {}
    leaves: dict[str, int] = {}
    stream: list[Any] = []
    for word in text.split():
        name, _, rest = word.partition(":")
        kind, _, inside = rest.rstrip(")").partition("(")
        operands = inside.split(",") if inside else ["x"]
        op = KINDS[kind][len(operands) - 1] if kind in KINDS else kind
        stream.append(ll.spec_of(lookup(op), {}, len(operands)))
        for operand in operands:
            base, _, result = operand.partition(".")
            if base == "$":
                stream.append(F32)
            elif base == "_":
                stream.append(None)
            elif base.isdigit():
                stream.append(baked_constant(int(base), F32))
            elif base in numbers:
                stream.append(encode_operand(Result(numbers[base], int(result or 0))))
            else:
                stream.append(encode_operand(Leaf(leaves.setdefault(base, len(leaves)))))
        numbers[name] = len(numbers)
    return Written(Structure(tuple(stream), (leaf,) * len(leaves)), numbers)


class Doing(Generator):
    """A generator that does ops of some names, "add exp", and says what it is told to.

    It counts how often it is asked (:attr:`asked`), and keeps the regions that it was shown.
    """

    def __init__(
        self, name: str = "mine", ops: str = MINE, *, priority: int = 0, merges: bool = True,
        patterns: Sequence[Pattern] = (), worthwhile: Callable[[Region], Any] | None = None,
        supports: Callable[[Call], Any] | None = None, version: str = "1",
    ) -> None:
        self.name = name
        self.version = version
        self.priority = priority
        self.merges = merges
        self.ops = frozenset(ops.split())
        self.asked: list[Call] = []
        self.shown: list[Region] = []
        self._patterns = patterns
        self._worthwhile = worthwhile
        self._supports = supports

    def supports(self, call: Call) -> Answer:
        self.asked.append(call)
        if self._supports is not None:
            found: Answer = self._supports(call)
            return found
        return YES if call.op in self.ops else No(f"no {call.op}")

    def patterns(self) -> Sequence[Pattern]:
        return self._patterns

    def worthwhile(self, region: Region) -> Answer:
        self.shown.append(region)
        if self._worthwhile is not None:
            found: Answer = self._worthwhile(region)
            return found
        return YES

    def build(self, region: Region) -> Code:
        raise NotImplementedError


def theirs(**how: Any) -> Doing:
    """A second generator, for the ops of the letter "u"."""
    return Doing("theirs", THEIRS, **how)


def sound(
    structure: Structure, outputs: Sequence[tuple[int, int]], generators: Sequence[Generator],
    refused: Iterable[tuple[str, str]] = (),
) -> Partition:  # fmt: skip
    """A partition that passes the checker, and what else all of them must be."""
    refused = list(refused)
    found = partition(structure, outputs, generators, refused)
    check(structure, outputs, found)
    count = len(structure.instructions)
    assert len(found.owner) == len(found.reasons) == count
    for n, p in enumerate(found.owner):
        if p >= 0:
            # who does an op has no reason not to
            assert found.parts[p].generator.name not in found.reasons[n]
        elif generators:
            assert found.reasons[n], f"nobody says why op {n} is XLA's"
    asked = [step for step in found.steps if step >= 0]
    assert asked == list(range(len(found.parts))), "regions stand in the order in which they run"
    for part in found.parts:
        assert (part.generator.name, part.region.program.key) not in refused
        assert not part.region.program.donated
        own = part.region.program.structure
        # leaves are numbered by first use, and are of their operands' types
        used = [o.number for i in own.instructions for o in i.operands if isinstance(o, Leaf)]
        assert list(dict.fromkeys(used)) == list(range(len(part.operands)))
        for mine, n in zip(own.instructions, part.members, strict=True):
            assert mine.operand_types == structure.instructions[n].operand_types
    return found


def divided(
    program: Written, outputs: str, *generators: Generator,
    refused: Iterable[tuple[str, str]] = (),
) -> Partition:  # fmt: skip
    """A sound partition of a written program; one generator, "mine", where none is given."""
    return sound(program.structure, program.results(outputs), generators or [Doing()], refused)


def regions(program: Written, found: Partition) -> list[str]:
    """The regions in order, as ``"mine: A B"``."""
    return [f"{p.generator.name}: {program.names(p.members)}" for p in found.parts]


def left(program: Written, found: Partition) -> str:
    """The ops that are XLA's, by name."""
    return program.names(n for n, p in enumerate(found.owner) if p < 0)


def takes(program: Written, operands: Sequence[Operand]) -> list[str]:
    """Operands for people to read: "A", "A.1", "leaf 0", "scalar 0"."""
    found = []
    for item in operands:
        if isinstance(item, Result):
            name = program.names([item.instruction])
            found.append(f"{name}.{item.number}" if item.number else name)
        elif isinstance(item, Leaf):
            found.append(f"leaf {item.number}")
        else:
            found.append(f"scalar {item.ordinal}")  # type: ignore[union-attr]
    return found


def gives(program: Written, outputs: Sequence[tuple[int, int]]) -> list[str]:
    """Outputs for people to read."""
    return takes(program, [Result(n, r) for n, r in outputs])
