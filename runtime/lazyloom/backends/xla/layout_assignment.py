"""Layout assignment: the memory layout of each value, where convolutions make it matter.

Frontends pass channels first; XLA's CPU code for a convolution wants channels last, and with
anything else it transposes its operands and its result, every time. So on a CPU a value stays in
the layout (:mod:`.layouts`) that its op gives it, ops that use it take it in that layout, and it
is transposed only where two layouts meet and where the program ends: results that leave a
program are always in logical order. The assignment depends only on the structure and the outputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from ...program.program import Instruction
from ...program.stream import Operand, Result
from . import jax_compat
from .layouts import Layout, identity, same_memory
from .lowered import Lowered, Placed
from .lowering import lower, lower_placed
from .regions.region_op import called

#: platforms whose compiler keeps values in the memory order that the program has
PLATFORMS: Final = ("cpu",)
_CONVOLUTION: Final = "stablehlo.convolution"


class Assigned(NamedTuple):
    """An instruction with the layouts of its operands and results."""

    lowered: Lowered
    operands: tuple[Layout | None, ...]
    results: tuple[Layout, ...]


def assign_layouts(
    instructions: list[Instruction], outputs: Sequence[tuple[int, int]]
) -> list[Assigned]:
    """Return every instruction of a program, lowered in the layouts that move the least."""
    lowered = [lower(i.spec, i.operand_types) for i in instructions]
    if jax_compat.device().platform in PLATFORMS:
        convolutions = [_CONVOLUTION in lowering.text or bool(_region_wants(i))
                        for i, lowering in zip(instructions, lowered, strict=True)]
        if any(convolutions):
            return _Assignment(instructions, lowered, convolutions, set(outputs)).run()
    return [in_row_major(i, lowering) for i, lowering in zip(instructions, lowered, strict=True)]


def in_row_major(i: Instruction, lowered: Lowered) -> Assigned:
    """Return an instruction with everything in row-major order."""
    return Assigned(
        lowered, tuple(None if t is None else identity(t.ndim) for t in i.operand_types),
        tuple(identity(t.ndim) for t in i.types))


def _region_wants(i: Instruction) -> list[int]:
    """Return the operands that a region of another generator wants in another layout."""
    call = called(i.spec)
    return [] if call is None else [
        k for k in range(len(call.region.operands)) if call.region.layouts[k] != identity(
            len(call.region.layouts[k]))]


class _Assignment:
    def __init__(
        self, instructions: list[Instruction], lowered: list[Lowered], convolutions: list[bool],
        outputs: set[tuple[int, int]],
    ) -> None:  # fmt: skip
        self.instructions: Final = instructions
        self.lowered: Final = lowered
        self.convolutions: Final = convolutions
        self.outputs: Final = outputs
        self.done: Final[list[Assigned]] = []
        #: values that were already transposed, with the layout
        self.transposed: Final[set[tuple[Operand, Layout]]] = set()
        self.wanted: Final = self._flows_into_convolutions()

    def run(self) -> list[Assigned]:
        for number in range(len(self.instructions)):
            self.done.append(self._instruction(number))
        return self.done

    def _flows_into_convolutions(self) -> set[tuple[int, int]]:
        """Return the results that a convolution takes as its input, directly or after light ops."""
        wanted: set[tuple[int, int]] = set()
        for number in range(len(self.instructions) - 1, -1, -1):
            i = self.instructions[number]
            if self.convolutions[number]:
                wants = _region_wants(i)
                items = [item for k, item in enumerate(i.operands)
                         if (k in wants if wants else k != 1)]
            elif not i.spec.heavy and any((number, r) in wanted for r in range(len(i.types))):
                items = list(i.operands)
            else:
                continue
            wanted.update(item for item in items if isinstance(item, Result))
        return wanted

    def _layout(self, item: Operand, ndim: int) -> Layout:
        if isinstance(item, Result):
            return self.done[item.instruction].results[item.number]
        return identity(ndim)

    def _instruction(self, number: int) -> Assigned:
        i = self.instructions[number]
        here = tuple(
            None if t is None else self._layout(item, t.ndim)
            for item, t in zip(i.operands, i.operand_types, strict=True))
        plain = in_row_major(i, self.lowered[number])
        movable = not (i.spec.op.execution.effect or i.spec.fallible)
        if not movable or (here == plain.operands and not self.convolutions[number]):
            return self._recorded(i, plain)
        pending = [here]
        tried: set[tuple[Layout | None, ...]] = set()
        best: tuple[tuple[int, int, int], Assigned] | None = None
        while pending:
            layouts = pending.pop(0)
            if layouts in tried:
                continue
            if layouts == plain.operands and not self.convolutions[number]:
                placed = Placed(plain.lowered, plain.results, 0, ())
            else:
                placed = lower_placed(i.spec, i.operand_types, layouts)
            score = self._score(number, here, layouts, placed)
            if best is None or score < best[0]:
                best = (score, Assigned(placed.lowered, layouts, placed.layouts))
            if score[0] == 0:
                break
            if placed.wanted:
                wanted = dict(placed.wanted)
                pending.append(tuple(wanted.get(k, f) for k, f in enumerate(layouts)))
            if not tried:
                for layout in dict.fromkeys(f for f in here if f):
                    pending += [_all_in(layouts, layout), _all_in(layouts, identity(len(layout)))]
            tried.add(layouts)
        assert best is not None
        return self._recorded(i, best[1])

    def _score(
        self, number: int, here: Sequence[Layout | None], layouts: Sequence[Layout | None],
        placed: Placed,
    ) -> tuple[int, int, int]:  # fmt: skip
        """Return the elements moved, those moved inside the op, and how many results have a layout
        that does not suit their readers.

        A move outside the op can be shared with other readers of the value.
        """
        i = self.instructions[number]
        moved = placed.moved
        for item, t, now, then in zip(i.operands, i.operand_types, here, layouts, strict=True):
            if t is not None and now is not None and then is not None and not (
                same_memory(t.shape, now, then) or (item, then) in self.transposed
            ):
                moved += t.size
        unsuited = 0
        for r, (t, layout) in enumerate(zip(i.types, placed.layouts, strict=True)):
            logical = layout == identity(t.ndim)
            if not logical and (number, r) in self.outputs:
                moved += t.size
            unsuited += logical == ((number, r) in self.wanted)
        return moved, placed.moved, unsuited

    def _recorded(self, i: Instruction, assigned: Assigned) -> Assigned:
        for item, layout in zip(i.operands, assigned.operands, strict=True):
            if layout is not None:
                self.transposed.add((item, layout))
        return assigned


def _all_in(layouts: tuple[Layout | None, ...], layout: Layout) -> tuple[Layout | None, ...]:
    return tuple(layout if f is not None and len(f) == len(layout) else f for f in layouts)
