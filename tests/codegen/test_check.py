"""The checker itself: each way in which a partition can be wrong is found."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

import lazyloom as ll
from lazyloom.codegen import Part, Partition, Region
from lazyloom.codegen.check import Unsound, check
from lazyloom.ops.spec import lookup
from lazyloom.program.program import Program, Structure
from lazyloom.program.stream import Leaf, Result, ScalarSlot
from lazyloom.trace.scalars import baked_constant
from tests.codegen.programs import F32, VECTOR, Doing, divided, regions, takes, theirs, written

#: an op of XLA's before, between and after three regions of two generators
P = written("X:d(x) A:t(X,y) B:t(A,$) C:t(B,A) Y:d(B,z) D:u(Y,C) E:u(D,y,$) F:t(E) Z:d(F,$)")
OUTPUTS = P.results("Z C")
NUMBER = P.numbers


def whole() -> Partition:
    found = divided(P, "Z C", Doing(), theirs())
    assert regions(P, found) == ["mine: A B C", "theirs: D E", "mine: F"]
    assert found.steps == [-1, 0, -5, 1, 2, -9]
    assert takes(P, found.parts[0].operands) == ["X", "leaf 1", "scalar 0"]
    assert takes(P, found.parts[1].operands) == ["Y", "C", "leaf 1", "scalar 1"]
    assert found.parts[0].outputs == ((2, 0), (3, 0))
    return found


def other(found: Partition, *, parts: list[Part] | None = None, steps: list[int] | None = None,
          owner: list[int] | None = None) -> Partition:  # fmt: skip
    """A partition in which something is not as it was."""
    return Partition(
        found.parts if parts is None else parts, found.steps if steps is None else steps,
        found.owner if owner is None else owner, found.reasons)


def with_part(number: int, **changes: Any) -> Partition:
    """The partition, of which a region is not as it was."""
    found = whole()
    parts = list(found.parts)
    parts[number] = parts[number]._replace(**changes)
    return other(found, parts=parts)


def with_program(
    number: int, stream: Callable[[list[Any]], Sequence[Any]] = list,
    leaves: Callable[[list[Any]], Sequence[Any]] = list,
    outputs: Callable[[list[Any]], Sequence[Any]] = list, donated: Sequence[int] = (),
) -> Partition:  # fmt: skip
    """The partition, of which a region's own program is not as it was."""
    region = whole().parts[number].region
    own = region.program
    program = Program(
        Structure(tuple(stream(list(own.structure.stream))),
                  tuple(leaves(list(own.structure.leaf_types)))),
        outputs(list(own.outputs)), donated)
    return with_part(number, region=Region(program, region.composites, region.layouts))


def refused(found: Partition, message: str, outputs: Any = OUTPUTS) -> None:
    with pytest.raises(Unsound, match=message):
        check(P.structure, outputs, found)


def test_a_sound_partition_passes() -> None:
    check(P.structure, OUTPUTS, whole())
    # outputs asked for twice, and in another order
    check(P.structure, [*OUTPUTS[::-1], *OUTPUTS], whole())


# each op once


@pytest.mark.parametrize("place", range(6))
def test_a_step_that_is_missing(place: int) -> None:
    found = whole()
    refused(other(found, steps=[s for k, s in enumerate(found.steps) if k != place]),
            "before (it is|they are) there|expected each of")


@pytest.mark.parametrize("place", range(6))
def test_a_step_that_is_done_twice(place: int) -> None:
    found = whole()
    refused(other(found, steps=[*found.steps, found.steps[place]]), "expected each of 9 once")


def test_an_op_that_is_in_no_region_any_more() -> None:
    refused(with_part(0, members=(1, 2)), "3 ops of its own, expected 2")
    found = with_program(0, lambda s: s[:6], outputs=lambda o: [(1, 0)])
    found.parts[0] = found.parts[0]._replace(members=(1, 2), outputs=((2, 0),))
    refused(found, "before they are there")


def test_an_op_that_is_in_a_region_and_xlas() -> None:
    found = whole()
    refused(other(found, steps=[-1, 0, -3, -5, 1, 2, -9]), "before it is there|expected each of")
    refused(other(found, steps=[-1, 0, -5, 1, 2, -8, -9]), "before it is there|expected each of")


def test_an_op_that_is_in_two_regions() -> None:
    found = whole()
    first = found.parts[0]
    parts = [first, found.parts[1], found.parts[2], first]
    refused(other(found, parts=parts, steps=[-1, 0, 3, -5, 1, 2, -9]), "expected each of 9 once")


def test_an_op_that_is_not_there() -> None:
    found = whole()
    refused(other(found, steps=[*found.steps, -10]), "instruction 9, which is not there")
    refused(with_part(2, members=(99,)), "instruction 99, which is not there")
    refused(with_part(2, members=(-2,)), "instruction -2, which is not there")


def test_a_region_that_is_not_there() -> None:
    found = whole()
    refused(other(found, steps=[*found.steps, 3]), "region 3")


# in order


def test_steps_in_another_order() -> None:
    found = whole()
    count = 0
    for k in range(len(found.steps) - 1):
        steps = list(found.steps)
        steps[k], steps[k + 1] = steps[k + 1], steps[k]
        # each needs the one before it
        refused(other(found, steps=steps), "before (it is|they are) there")
        count += 1
    assert count == 5


def test_a_region_in_another_order() -> None:
    for members in ((2, 1, 3), (1, 3, 2), (3, 2, 1), (1, 2, 2, 3)):
        refused(with_part(0, members=members), "region 0 holds")


def test_regions_that_wait_for_each_other() -> None:
    # A1 and A2 as one region, and B1 and B2 as another
    p = written("A1:t(x) B2:u(y) B1:u(A1) A2:t(B2)")
    mine, others = Doing(), theirs()
    apart = divided(p, "B1 A2", mine, others)

    def region(members: tuple[int, int], operands: Any, ops: Any) -> Part:
        program = Program(Structure(ops, (VECTOR, VECTOR)), [(0, 0), (1, 0)], [])
        return Part(mine, members, operands, tuple((n, 0) for n in members),
                    Region(program, (), ((0,),) * 4))

    negative, absolute = (ll.spec_of(lookup(op), {}, 1) for op in ("negative", "abs"))
    parts = [region((0, 3), (Leaf(0), Result(1, 0)), (negative, -1, negative, -2)),
             region((1, 2), (Leaf(1), Result(0, 0)), (absolute, -1, absolute, -2))]
    for steps in ([0, 1], [1, 0]):
        with pytest.raises(Unsound, match="before they are there"):
            check(p.structure, p.results("B1 A2"),
                  Partition(parts, steps, [0, 1, 1, 0], apart.reasons))


# what goes in


@pytest.mark.parametrize("place", range(4))
def test_an_operand_that_is_not_given(place: int) -> None:
    operands = whole().parts[1].operands
    refused(with_part(1, operands=operands[:place] + operands[place + 1:]),
            "before it is there|is not given")


def test_an_operand_that_is_given_twice() -> None:
    operands = whole().parts[1].operands
    refused(with_part(1, operands=(*operands, operands[0])), "an operand twice")


def test_operands_in_another_order() -> None:
    operands = whole().parts[1].operands
    refused(with_part(1, operands=operands[::-1]), "region 1, op 5: takes")


@pytest.mark.parametrize("operand", [
    Result(0, 0), Leaf(0), Leaf(7), ScalarSlot(F32, 0), Result(99, 0)], ids=str)
def test_an_operand_that_nothing_in_the_region_uses(operand: Any) -> None:
    operands = whole().parts[1].operands
    refused(with_part(1, operands=(*operands, operand)), "region 1")


def test_another_operand() -> None:
    operands = list(whole().parts[1].operands)
    for place, instead in ((0, Result(0, 0)), (2, Leaf(0)), (3, ScalarSlot(F32, 2))):
        changed = [*operands[:place], instead, *operands[place + 1:]]
        refused(with_part(1, operands=tuple(changed)), "before it is there|is not given")


# what comes out


def test_a_result_that_others_use_is_missing() -> None:
    refused(with_part(0, outputs=((3, 0),)), r"region 0 gives \(\(1, 0\), \(2, 0\)\), expected")
    found = with_program(0, outputs=lambda o: o[1:])
    found.parts[0] = found.parts[0]._replace(outputs=((3, 0),))
    refused(found, "instruction 4 uses .* before it is there")
    found = with_program(0, outputs=lambda o: o[:1])
    found.parts[0] = found.parts[0]._replace(outputs=((2, 0),))
    refused(found, "region 1 takes .* before they are there")


def test_a_result_that_the_program_gives_is_missing() -> None:
    refused(whole(), r"the results \[\(1, 0\)\] are inside regions", [*OUTPUTS, (1, 0)])
    refused(whole(), r"the results \[\(9, 0\)\] are inside regions", [*OUTPUTS, (9, 0)])


def test_a_result_that_nothing_uses() -> None:
    p = written("A:t B:t(A) C:t(A)")
    found = divided(p, "B")
    assert regions(p, found) == ["mine: A B C"]
    (part,) = found.parts
    program = Program(part.region.program.structure, [(1, 0), (2, 0)], [])
    found.parts[0] = part._replace(
        outputs=((1, 0), (2, 0)), region=part.region._replace(program=program))
    with pytest.raises(Unsound, match=r"region 0 gives \[\(2, 0\)\], which nothing uses"):
        check(p.structure, p.results("B"), found)


def test_a_result_that_is_used_inside_its_region_alone() -> None:
    found = with_program(0, outputs=lambda o: [(0, 0), *o])
    found.parts[0] = found.parts[0]._replace(outputs=((1, 0), (2, 0), (3, 0)))
    refused(found, r"region 0 gives \[\(1, 0\)\], which nothing uses")


def test_a_result_that_the_program_gave_before() -> None:
    p = written("A:t B:t(A) C:d(B)")
    found = divided(p, "A C")
    with pytest.raises(Unsound, match="which nothing uses"):
        check(p.structure, p.results("C"), found)


@pytest.mark.parametrize("output", [(0, 0), (5, 0), (2, 1), (99, 0)], ids=str)
def test_a_result_that_it_does_not_make(output: tuple[int, int]) -> None:
    outputs = whole().parts[0].outputs
    refused(with_part(0, outputs=(*outputs, output)), "region 0 gives")


def test_a_result_that_comes_out_twice() -> None:
    found = with_program(0, outputs=lambda o: [*o, o[0]])
    found.parts[0] = found.parts[0]._replace(outputs=(*found.parts[0].outputs, (2, 0)))
    refused(found, "region 0 gives")


# whose an op is


@pytest.mark.parametrize(("number", "instead"), [(1, -1), (1, 1), (5, 0), (7, -1), (8, 2), (0, 0)])
def test_another_owner(number: int, instead: int) -> None:
    found = whole()
    owner = list(found.owner)
    owner[number] = instead
    refused(other(found, owner=owner), "owner")


def test_regions_that_are_numbered_otherwise() -> None:
    found = whole()
    refused(other(found, parts=[found.parts[1], found.parts[0], found.parts[2]]), "region")


def test_a_region_that_nobody_runs() -> None:
    found = whole()
    refused(other(found, parts=[*found.parts, found.parts[2]]), "region")


# the region's own program


def replaced(place: int, item: Any) -> Callable[[list[Any]], list[Any]]:
    return lambda items: [*items[:place], item, *items[place + 1:]]


def test_the_program_of_a_region_is_as_it_is_written_here() -> None:
    assert whole().parts[0].region.program.structure.stream == (
        ll.spec_of(lookup("add"), {}, 2), -1, -2,
        ll.spec_of(lookup("add"), {}, 2), 0, -3,
        ll.spec_of(lookup("add"), {}, 2), 1, 0)
    check(P.structure, OUTPUTS, with_program(0))


@pytest.mark.parametrize(("place", "item", "message"), [
    (0, ll.spec_of(lookup("multiply"), {}, 2), "region 0 does multiply, expected add"),
    (1, -2, "region 0, op 1: takes"),  # another leaf
    (4, -1, "region 0, op 2: takes"),  # a leaf instead of a result
    (5, F32, "region 0, op 2: takes"),  # a scalar of its own
    (5, 0, "region 0, op 2: takes"),
    (7, 0, "region 0, op 3: takes"),  # another result
    (8, -1, "region 0, op 3: takes"),
], ids=str)  # fmt: skip
def test_another_program(place: int, item: Any, message: str) -> None:
    refused(with_program(0, replaced(place, item)), message)


def test_an_op_too_many_or_too_few_in_a_program() -> None:
    extra = ll.spec_of(lookup("negative"), {}, 1)
    refused(with_program(0, lambda s: [*s, extra, 2]), "4 ops of its own, expected 3")
    refused(with_program(0, lambda s: s[:6], outputs=lambda o: o[:1]), "2 ops of its own")


def test_operands_of_an_op_in_another_order() -> None:
    refused(with_program(0, lambda s: [*s[:7], s[8], s[7]]), "region 0, op 3: takes")


def test_results_of_a_program_in_another_order() -> None:
    refused(with_program(0, outputs=lambda o: o[::-1]), "region 0 gives")
    refused(with_part(0, outputs=((3, 0), (2, 0))), "region 0 gives")
    refused(with_program(0, outputs=lambda o: o[:1]), "region 0 gives")


def test_another_attribute_or_constant() -> None:
    p = written("A:t(x,1) B:d(A)")
    (part,) = divided(p, "B").parts
    own = part.region.program
    for item in (baked_constant(0, F32), baked_constant(1, ll.dtypes.float64), None, -1):
        try:
            program = Program(Structure(
                (own.structure.stream[0], -1, item), own.structure.leaf_types), own.outputs, [])
            program.structure.instructions  # noqa: B018
        except ll.LoomError:
            continue  # no program at all
        found = divided(p, "B")
        found.parts[0] = part._replace(region=part.region._replace(program=program))
        with pytest.raises(Unsound, match="region 0, op 0: takes"):
            check(p.structure, p.results("B"), found)


def test_leaves_of_another_type() -> None:
    # which broadcast to the same results
    scalar = ll.tensor_type((), F32)
    refused(with_program(0, leaves=lambda t: [t[0], scalar, t[2]]), "region 0")
    refused(with_program(0, leaves=lambda t: [t[0], t[1], VECTOR]), "region 0")


def test_a_leaf_that_its_program_does_not_use() -> None:
    refused(with_program(0, leaves=lambda t: [*t, VECTOR]), "region 0")


def test_a_leaf_that_is_donated() -> None:
    # memory that others may still read
    refused(with_program(0, donated=[0]), "region 0")
