"""The functions of loops and branches as programs of their own, which are divided as others are.

A loop is one op whose attributes hold its functions (:mod:`lazyloom.ops.bodies`). Where no
generator does the loop as an op, each function is offered to them. Of a loop that is differentiated
there are two programs for each function: one that computes its results and the values that its
derivative takes, and one that pulls cotangents back by the vjp of each op.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from ..ops.bodies import Body, BodyConstant, BodyInput, BodyResult, Use, parsed
from ..ops.derived import BACKWARD, FORWARD, VJP
from ..ops.spec import lookup
from ..program.program import Instruction, Structure
from ..program.stream import Leaf, Operand, Result, encode_operand
from ..trace.scalars import baked_constant
from ..trace.specs import Spec, spec_of
from ..types import TensorType
from .mapped import with_batches

#: a value inside a body
Source = BodyInput | BodyResult


class Cotangent(NamedTuple):
    """The cotangent of a result of a body."""

    result: int


class Gradient(NamedTuple):
    """What the program of a body's derivative takes and gives.

    Attributes:
        takes: for each leaf a value of the body, a cotangent, or the type of an operand of which
            only the type matters.
        gives: for each leaf of the body its cotangent: a leaf or result of the program, or None.
    """

    takes: tuple[BodyInput | BodyResult | Cotangent | TensorType, ...]
    gives: tuple[Operand, ...]

    @property
    def saved(self) -> tuple[Source, ...]:
        """The values of the body that it takes, in order."""
        return tuple(x for x in self.takes if isinstance(x, (BodyInput, BodyResult)))


class BodyProgram(NamedTuple):
    """A function of a loop or branch, or its derivative, as a program.

    Attributes:
        instruction: the loop in whose report it stands.
        name: the attribute of the loop that holds the function.
        structure, outputs: the program.
        gradient: of a derivative, what it takes and gives; None for the function.
    """

    instruction: int
    name: str
    structure: Structure
    outputs: tuple[tuple[int, int], ...]
    gradient: Gradient | None = None

    @property
    def path(self) -> str:
        """Where it stands in the program, for reports: ``%3.body``, and ``%3.body.vjp``."""
        return f"%{self.instruction}.{self.name}{'' if self.gradient is None else '.vjp'}"


class OfferedLoop(NamedTuple):
    """A loop or branch whose functions are offered.

    Attributes:
        instructions: the loop; or the half of it that gives residuals, and those that take them.
        bodies: its functions, and those of its derivative.
    """

    instructions: tuple[int, ...]
    bodies: tuple[BodyProgram, ...]


def loops_of(
    structure: Structure, outputs: Iterable[tuple[int, int]]
) -> tuple[list[OfferedLoop], dict[int, str]]:
    """Return the loops of a program whose functions are offered, and of others why not."""
    instructions = structure.instructions
    loops: list[OfferedLoop] = []
    why: dict[int, str] = {}
    halves = [n for n, i in enumerate(instructions) if _holds(i.spec) and i.spec.op.kind == FORWARD]
    readers: dict[int, list[int]] = {n: [] for n in halves}
    for n, i in enumerate(instructions) if halves else ():
        for f in {o.instruction for o in i.operands if isinstance(o, Result)}:
            if f in readers:
                readers[f].append(n)
    returned = set(outputs)
    joined: set[int] = set()
    for n, i in enumerate(instructions):
        op = i.spec.op
        if not _holds(i.spec) or n in joined:
            continue
        if op.root.signature.over_mesh:
            why[n] = "its function runs on each device of a mesh"
        elif op.base is not None and (op.base.base is not None or op.kind not in (
            VJP, FORWARD, BACKWARD
        )):
            why[n] = "its function is mapped, or differentiated otherwise than once in reverse"
        elif op.kind == BACKWARD:
            why[n] = "its function ran in another program, which gave the residuals"
        else:
            users = _halves(instructions, n, readers[n], returned) if op.kind == FORWARD else ()
            if users is None:
                why[n] = "its residuals are results of the program"
                continue
            joined.update(users)
            loops.append(OfferedLoop((n, *users), _bodies(i, n, users)))
    return loops, {n: reason for n, reason in why.items() if n not in joined}


def _holds(spec: Spec) -> bool:
    return bool(spec.op.root.signature.bodies)


def primary_of(i: Instruction) -> int:
    """Return how many results of an op that gives residuals are not residuals."""
    op = i.spec.op
    assert op.base is not None
    attrs = {k: v for k, v in i.spec.attrs.items() if k not in op.own}
    return len(spec_of(op.base, attrs, len(i.operands)).infer(i.operand_types))


def _halves(
    instructions: Sequence[Instruction], n: int, readers: Sequence[int],
    returned: set[tuple[int, int]],
) -> tuple[int, ...] | None:  # fmt: skip
    """Return the instructions that take the residuals of one; None if anything else does."""
    i = instructions[n]
    primary = primary_of(i)
    residuals = [Result(n, r) for r in range(primary, len(i.types))]
    if any((n, r) in returned for r in range(primary, len(i.types))):
        return None
    users: list[int] = []
    for k in readers:
        operands = instructions[k].operands
        if not any(isinstance(o, Result) and o in residuals for o in operands):
            continue
        op = instructions[k].spec.op
        if op.kind != BACKWARD or op.base is not i.spec.op.base or (
            list(operands[: len(residuals)]) != residuals
            or any(o in residuals for o in operands[len(residuals) :])
            or any(instructions[k].spec.attrs[name] != i.spec.attrs[name]
                   for name in op.root.signature.bodies)
        ):
            return None
        users.append(k)
    return tuple(users)


def _bodies(i: Instruction, n: int, users: Sequence[int]) -> tuple[BodyProgram, ...]:
    op = i.spec.op
    programs: list[BodyProgram] = []
    for name in op.root.signature.bodies:
        body = parsed(op.root, i.spec.attrs[name])
        gradient = None if op.base is None else _Backward(body).program(
            users[0] if users else n, name)
        saved = () if gradient is None or gradient.gradient is None else gradient.gradient.saved
        wanted = [u.source for u in body.results] + list(saved)
        programs.append(BodyProgram(n, name, structure_of(body), tuple(dict.fromkeys(
            (s.instruction, s.number) for s in wanted if isinstance(s, BodyResult)))))
        if gradient is not None:
            programs.append(gradient)
    return tuple(programs)


def structure_of(body: Body) -> Structure:
    """Return a body as the structure of a program with the same leaves."""
    stream: list[object] = []
    for i in body.instructions:
        stream.append(spec_of(i.op, i.attrs, len(i.operands)))
        stream += [encode_operand(None if o is None else _operand(o)) for o in i.operands]
    return with_batches(Structure(tuple(stream), body.leaves))


def _operand(use: Use) -> Operand:
    source = use.source
    if isinstance(source, BodyInput):
        return Leaf(source.number)
    if isinstance(source, BodyResult):
        return Result(source.instruction, source.number)
    return baked_constant(source.number, source.dtype)


class _Backward:
    """Writes the program that pulls cotangents back through a body."""

    def __init__(self, body: Body) -> None:
        self.body: Final = body
        self.moving: Final = _moving(body)
        self.takes: Final[dict[tuple[type, object], int]] = {}
        self.types: Final[list[TensorType]] = []
        self.items: Final[list[object]] = []
        self.count = 0
        #: the cotangent of each value, so far
        self.cotangents: Final[dict[Source, Operand]] = {}

    def program(self, instruction: int, name: str) -> BodyProgram | None:
        """Return the program; None where no result has a derivative."""
        body = self.body
        for k, use in enumerate(body.results):
            if self._moves(use):
                self._arrives(use.source, self._leaf(Cotangent(k), body.result_types[k]))
        if not self.takes:
            return None
        for n in range(len(body.instructions) - 1, -1, -1):
            self._through(n)
        gives = tuple(self.cotangents.get(BodyInput(k)) for k in range(len(body.leaves)))
        structure = with_batches(Structure(tuple(self.items), tuple(self.types)))
        taken = tuple(what for _, what in self.takes)
        return BodyProgram(
            instruction, name, structure,
            tuple(dict.fromkeys((o.instruction, o.number) for o in gives if isinstance(o, Result))),
            Gradient(taken, gives))  # type: ignore[arg-type]

    def _moves(self, use: Use | None) -> bool:
        return use is not None and not use.stopped and use.source in self.moving

    def _leaf(self, what: object, t: TensorType) -> Leaf:
        # a body's input and a cotangent of the same number are equal tuples
        key = type(what), what
        if key not in self.takes:
            self.takes[key] = len(self.types)
            self.types.append(t)
        return Leaf(self.takes[key])

    def _add(self, spec: Spec, operands: Sequence[Operand]) -> int:
        self.items.append(spec)
        self.items.extend(map(encode_operand, operands))
        self.count += 1
        return self.count - 1

    def _arrives(self, source: object, cotangent: Operand) -> None:
        assert isinstance(source, (BodyInput, BodyResult))
        before = self.cotangents.get(source)
        if before is not None:
            cotangent = Result(self._add(spec_of(lookup("add"), None, 2), [before, cotangent]), 0)
        self.cotangents[source] = cotangent

    def _through(self, n: int) -> None:
        i = self.body.instructions[n]
        outnums = tuple(r for r in range(len(self.body.types[n]))
                        if BodyResult(n, r) in self.cotangents)
        argnums = tuple(p for p, o in enumerate(i.operands)
                        if self._moves(o) and i.op.has_gradient(p))
        if not outnums or not argnums:
            return
        spec = spec_of(i.op, i.attrs, len(i.operands))
        mask = sum(1 << p for p in argnums)
        operands: list[Operand] = []
        for p, use in enumerate(i.operands):
            if use is None or isinstance(use.source, BodyConstant):
                operands.append(None if use is None else _operand(use))
                continue
            t = self._type(use.source)
            # that of which the derivative takes the type alone need not be kept
            operands.append(self._leaf(use.source if spec.needs(p, mask) else t, t))
        operands += [self.cotangents[BodyResult(n, r)] for r in outnums]
        derivative = i.op.derive(VJP)
        primals, by, of = derivative.own
        attrs = {**i.attrs, primals: len(i.operands), by: argnums, of: outnums}
        number = self._add(spec_of(derivative, attrs, len(operands)), operands)
        for at, p in enumerate(argnums):
            use = i.operands[p]
            assert use is not None
            self._arrives(use.source, Result(number, at))

    def _type(self, source: Source) -> TensorType:
        if isinstance(source, BodyInput):
            return self.body.leaves[source.number]
        return self.body.types[source.instruction][source.number]


def _moving(body: Body) -> set[object]:
    """Return the values of a body on which a derivative may depend."""
    moving: set[object] = {
        BodyInput(k) for k, t in enumerate(body.leaves) if t.dtype.is_inexact}
    for n, i in enumerate(body.instructions):
        if any(o is not None and not o.stopped and o.source in moving and i.op.has_gradient(p)
               for p, o in enumerate(i.operands)):
            moving.update(BodyResult(n, r) for r, t in enumerate(body.types[n])
                          if t.dtype.is_inexact)
    return moving
