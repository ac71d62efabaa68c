"""Which form each value of a program has in memory, where convolutions make that matter.

Frontends hand over channels first; XLA's CPU code for a convolution wants channels last, and one
that gets anything else turns its operands and its result around, every time. So on a CPU a value
lives in the form (:mod:`.layouts`) that its op gives it, what works on it takes it as it lies, and
it is turned only where two forms meet and where the program ends: results that leave a program are
always in logical order. What is found here depends on the structure and the outputs alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from ...program.program import Instruction, Structure
from . import jax_compat
from .layouts import Form, identity, same_memory
from .lowering import Lowered, Placed, lower, lower_placed

#: platforms whose compiler leaves values in the order in which the program has them
PLATFORMS: Final = ("cpu",)
_CONVOLUTION: Final = "stablehlo.convolution"


class Arranged(NamedTuple):
    """An instruction with the forms that it takes its operands in and gives its results in."""

    lowered: Lowered
    operands: tuple[Form | None, ...]
    results: tuple[Form, ...]


def arrange(structure: Structure, outputs: Sequence[tuple[int, int]]) -> list[Arranged]:
    """Every instruction of the structure, lowered in the forms that move the least."""
    instructions = structure.instructions
    lowered = [lower(i.spec, i.operand_types) for i in instructions]
    if jax_compat.device().platform in PLATFORMS:
        convolutions = [_CONVOLUTION in found.text for found in lowered]
        if any(convolutions):
            return _Arranging(instructions, lowered, convolutions, set(outputs)).run()
    return [_plain(i, found) for i, found in zip(instructions, lowered, strict=True)]


def _plain(i: Instruction, lowered: Lowered) -> Arranged:
    return Arranged(
        lowered, tuple(None if t is None else identity(t.ndim) for t in i.operand_types),
        tuple(identity(t.ndim) for t in i.types))


class _Arranging:
    def __init__(
        self, instructions: list[Instruction], lowered: list[Lowered], convolutions: list[bool],
        outputs: set[tuple[int, int]],
    ) -> None:  # fmt: skip
        self.instructions: Final = instructions
        self.lowered: Final = lowered
        self.convolutions: Final = convolutions
        self.outputs: Final = outputs
        self.done: Final[list[Arranged]] = []
        #: values that were turned already, with the form
        self.turned: Final[set[tuple[Any, Form]]] = set()
        self.wanted: Final = self._flows_into_convolutions()

    def run(self) -> list[Arranged]:
        for number in range(len(self.instructions)):
            self.done.append(self._instruction(number))
        return self.done

    def _flows_into_convolutions(self) -> set[tuple[int, int]]:
        """Results that a convolution takes as its input, as they are or after light ops."""
        found: set[tuple[int, int]] = set()
        for number in range(len(self.instructions) - 1, -1, -1):
            i = self.instructions[number]
            if self.convolutions[number]:
                items = [item for k, item in enumerate(i.operands) if k != 1]
            elif not i.spec.heavy and any((number, r) in found for r in range(len(i.types))):
                items = list(i.operands)
            else:
                continue
            found.update(pair for pair in map(_pair, items) if pair is not None)
        return found

    def _form(self, item: Any, ndim: int) -> Form:
        pair = _pair(item)
        return identity(ndim) if pair is None else self.done[pair[0]].results[pair[1]]

    def _instruction(self, number: int) -> Arranged:
        i = self.instructions[number]
        here = tuple(
            None if t is None else self._form(item, t.ndim)
            for item, t in zip(i.operands, i.operand_types, strict=True))
        plain = _plain(i, self.lowered[number])
        movable = not (i.spec.op.effect or i.spec.op.fallible)
        if not movable or (here == plain.operands and not self.convolutions[number]):
            return self._settled(i, plain)
        pending = [here]
        tried: set[tuple[Form | None, ...]] = set()
        best: tuple[tuple[int, int, int], Arranged] | None = None
        while pending:
            forms = pending.pop(0)
            if forms in tried:
                continue
            if forms == plain.operands and not self.convolutions[number]:
                placed = Placed(plain.lowered, plain.results, 0, ())
            else:
                placed = lower_placed(i.spec, i.operand_types, forms)
            score = self._score(number, here, forms, placed)
            if best is None or score < best[0]:
                best = (score, Arranged(placed.lowered, forms, placed.forms))
            if score[0] == 0:
                break
            if placed.wanted:
                asked = dict(placed.wanted)
                pending.append(tuple(asked.get(k, f) for k, f in enumerate(forms)))
            if not tried:
                for form in dict.fromkeys(f for f in here if f):
                    pending += [_all_in(forms, form), _all_in(forms, identity(len(form)))]
            tried.add(forms)
        assert best is not None
        return self._settled(i, best[1])

    def _score(
        self, number: int, here: Sequence[Form | None], forms: Sequence[Form | None],
        placed: Placed,
    ) -> tuple[int, int, int]:  # fmt: skip
        """Elements moved, those of them inside the op, and how ill the results suit what follows.

        What is moved outside can be shared with other readers of the value.
        """
        i = self.instructions[number]
        moved = placed.moved
        for item, t, now, then in zip(i.operands, i.operand_types, here, forms, strict=True):
            if t is not None and now is not None and then is not None and not (
                same_memory(t.shape, now, then) or (item, then) in self.turned
            ):
                moved += t.size
        unsuited = 0
        for r, (t, form) in enumerate(zip(i.types, placed.forms, strict=True)):
            logical = form == identity(t.ndim)
            if not logical and (number, r) in self.outputs:
                moved += t.size
            unsuited += logical == ((number, r) in self.wanted)
        return moved, placed.moved, unsuited

    def _settled(self, i: Instruction, arranged: Arranged) -> Arranged:
        for item, form in zip(i.operands, arranged.operands, strict=True):
            if form is not None:
                self.turned.add((item, form))
        return arranged


def _all_in(forms: tuple[Form | None, ...], form: Form) -> tuple[Form | None, ...]:
    return tuple(form if f is not None and len(f) == len(form) else f for f in forms)


def _pair(item: Any) -> tuple[int, int] | None:
    """(instruction, result) of an operand that is one."""
    if type(item) is int:
        return (item, 0) if item >= 0 else None
    return (item[0], item[1]) if type(item) is tuple else None
