"""Who gets which op, and the reasons that are given for those that stay XLA's."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as onp
import pytest

import lazyloom as ll
from lazyloom.codegen import (
    YES,
    Answer,
    Call,
    Failure,
    No,
    Only,
    Pattern,
    Region,
    any_value,
    explain,
    faults,
    match,
    partition,
    register,
    use,
)
from lazyloom.ops.rules import elementwise
from tests.codegen.programs import (
    F32,
    THEIRS,
    Doing,
    divided,
    gives,
    left,
    regions,
    sound,
    takes,
    theirs,
    written,
)
from tests.contract.helpers import host, number, rec

# several generators


def test_of_several_generators_each_does_its_ops() -> None:
    p = written("A:t B:u(A) C:d(B) D:t(B,C)")
    found = divided(p, "D", Doing(), theirs())
    assert regions(p, found) == ["mine: A", "theirs: B", "mine: D"]
    # who was asked and does not do it says why; who came later was not asked
    assert found.reasons == [
        {}, {"mine": "no abs"}, {"mine": "no exp", "theirs": "no exp"}, {}]


@pytest.mark.parametrize("priorities", list(itertools.product((0, 1, -3), repeat=2)))
def test_what_two_do_goes_to_the_one_that_the_user_names_first(
    priorities: tuple[int, int]
) -> None:
    p = written("A:t B:u(A) C:t(B)")
    one = Doing("one", "negative abs", priority=priorities[0])
    two = Doing("two", "abs negative", priority=priorities[1])
    for generator in (one, two):
        register(generator)
    for given in ([one, two], [two, one]):
        assert regions(p, divided(p, "C", *given)) == [f"{given[0].name}: A B C"]
        with use(*(g.name for g in given)):
            found = explain(p.program("C")).partition
        assert regions(p, found) == [f"{given[0].name}: A B C"]


def test_an_op_goes_to_the_first_that_does_it() -> None:
    p = written("A:t B:u(A) C:d(B)")
    some = Doing("some", "negative")
    most = Doing("most", "negative abs")
    every = Doing("every", "negative abs exp")
    for given, expected in (
        ([some, most, every], ["some: A", "most: B", "every: C"]),
        ([every, most, some], ["every: A B C"]),
        ([most, some, every], ["most: A B", "every: C"]),
    ):
        found = divided(p, "C", *given)
        assert regions(p, found) == expected
        assert left(p, found) == ""


def test_who_has_taken_an_op_keeps_it_from_patterns_of_others() -> None:
    pair = Pattern("pair", match("abs", match("negative", any_value())))
    p = written("A:t B:u(A) C:u(x)")
    grouping = Doing("grouping", "", patterns=[pair])
    assert regions(p, divided(p, "B C", Doing(), grouping)) == ["mine: A"]
    assert regions(p, divided(p, "B C", grouping, Doing())) == ["grouping: A B"]


# what is asked


def test_a_predicate_sees_the_whole_call() -> None:
    x = host(onp.ones((2, 3)))
    mine = Doing(ops="sum clip")
    total = rec("sum", rec("clip", x, None, number(2.5)), axes=(1,), keepdims=True)
    program = ll.program_of(total)
    sound(program.structure, program.outputs, [mine])
    clip, added = mine.asked
    tensor = ll.tensor_type((2, 3), F32)
    assert clip.op == "clip" and clip.operands == (tensor, None, ll.tensor_type((), F32))
    assert clip.layouts == (None,) * 4
    assert clip.results == (tensor,) and clip.attributes == {}
    assert added == Call("sum", {"axes": (1,), "dtype": None, "keepdims": True}, (tensor,),
                         (ll.tensor_type((2, 1), F32),))
    (region,) = mine.shown
    assert region.calls == [clip, added] and region.results == added.results
    assert [call.layouts for call in region.calls] == [
        ((0, 1), None, (), None), (None, (0, 1))]
    assert region.operands == (tensor, ll.tensor_type((), F32))
    assert region.layouts == ((0, 1), (), (0, 1)) and region.composites == ()
    assert region.in_memory() == ((tensor, (2, 3)), (ll.tensor_type((), F32), ()),
                                  (added.results[0], (2, 1)))


def test_a_predicate_decides_by_types_and_attributes() -> None:
    def narrow(call: Call) -> Answer:
        if call.op == "roll" and call.attributes["shifts"] != (1,):
            return No(f"a roll by {call.attributes['shifts'][0]}")
        if call.results[0].dtype is not F32:
            return No(f"it makes {call.results[0].dtype.name}")
        return YES

    x = host(onp.ones(5))
    a = rec("roll", x, shifts=(1,))
    b = rec("roll", a, shifts=(2,))
    c = rec("cast", b, dtype=ll.dtypes.float64)
    program = ll.program_of(rec("negative", c))
    found = sound(program.structure, program.outputs, [Doing(supports=narrow)])
    assert found.owner == [0, -1, -1, -1]
    assert [r.get("mine") for r in found.reasons] == [
        None, "a roll by 2", "it makes float64", "it makes float64"]


def test_equal_calls_are_asked_about_once() -> None:
    mine = Doing()
    p = written(" ".join(f"O{k}:{'tdt'[k % 3]}({f'O{k - 1}' if k else 'x'})" for k in range(90)))
    found = divided(p, "O89", mine)
    assert len(mine.asked) == 2
    # and each op has its answer
    assert sum(owner < 0 for owner in found.owner) == 30
    assert all(bool(r) == (owner < 0)
               for r, owner in zip(found.reasons, found.owner, strict=True))


class Told(Exception):
    pass


def raises(call: Call) -> Answer:
    if call.op == "abs":
        raise Told("not today")
    return YES


@pytest.mark.parametrize(("answer", "reason"), [
    (True, "its predicate gave True, expected YES or No(reason)"),
    (False, "its predicate gave False, expected YES or No(reason)"),
    (None, "its predicate gave None, expected YES or No(reason)"),
    (No, "its predicate gave <class 'lazyloom.codegen.answers.No'>"),
    ("yes", "its predicate gave 'yes', expected YES or No(reason)"),
    ("x" * 1000, "its predicate gave 'xxx"),
])
def test_an_answer_that_is_none_is_a_reason(answer: object, reason: str) -> None:
    p = written("A:t B:u(A) C:t(B)")
    mine = Doing(supports=lambda call: answer if call.op == "abs" else YES)
    found = divided(p, "C", mine)
    assert regions(p, found) == ["mine: A", "mine: C"]
    assert found.reasons[1]["mine"].startswith(reason) and len(found.reasons[1]["mine"]) < 200


def test_a_predicate_that_raises_is_a_reason() -> None:
    p = written("A:t B:u(A) C:t(B)")
    found = divided(p, "C", Doing(supports=raises), theirs())
    assert regions(p, found) == ["mine: A", "theirs: B", "mine: C"]
    assert found.reasons[1] == {"mine": "its predicate raised Told: not today"}


def test_an_interrupt_inside_a_predicate_is_none() -> None:
    def interrupted(call: Call) -> Answer:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        divided(written("A:t"), "A", Doing(supports=interrupted))


def test_patterns_that_cannot_be_asked_for_are_a_reason() -> None:
    class Broken(Doing):
        def patterns(self) -> Sequence[Pattern]:
            raise Told("no table")

    p = written("A:t B:u(A)")
    found = divided(p, "B", Broken(), theirs())
    assert "theirs: B" in regions(p, found)


# what is never offered


def shaped(x: Any) -> Any:
    """x itself."""
    return x


@pytest.fixture(scope="module")
def special() -> Iterator[None]:
    """Ops that have an effect and that can fail, which the op table has none of."""
    names = []
    shaped.__annotations__["x"] = "T"
    for name, how in (("claims_effect", {"effect": True}), ("claims_fallible", {"fallible": True})):
        ll.register_op(
            elementwise, T="floating", source="the tests", name=name,
            execution=ll.ops.Execution(**how))(shaped)
        names.append(name)
    yield
    table: Any = ll.ops.table()
    for name in names:
        # what other tests go through is the table of the package
        del table[name]


ANYTHING = {"supports": lambda call: YES}


@pytest.mark.usefixtures("special")
@pytest.mark.parametrize(("op", "reason"), [
    ("claims_effect", "it has effects of its own"),
    ("claims_fallible", "it can fail while it runs"),
])
def test_what_does_more_than_compute_is_not_offered(op: str, reason: str) -> None:
    p = written(f"A:t B:{op}(A) C:t(B) D:t(A,C)")
    mine = Doing(**ANYTHING, patterns=[
        Pattern("all", match("negative", match(op, match("negative", any_value())))),
        Pattern("two", match(op, any_value()))])
    found = divided(p, "D", mine)
    assert regions(p, found) == ["mine: A", "mine: C D"] and left(p, found) == "B"
    assert found.reasons[1] == {"mine": reason}
    assert op not in {c.op for c in mine.asked}


def test_what_is_checked_is_not_offered() -> None:
    x = rec("negative", host(onp.ones(3)))
    flag = rec("any", rec("isnan", x))
    y, looked_at = rec("checked", x, flag, kind="claims")
    program = ll.program_of(rec("negative", y), looked_at)
    mine = Doing(**ANYTHING)
    found = sound(program.structure, program.outputs, [mine])
    at = program.ops.index("checked")
    assert found.owner[at] == -1
    assert found.reasons[at] == {"mine": "it can fail while it runs"}
    assert "checked" not in {c.op for c in mine.asked}
    assert len(found.parts) == 2


def test_what_is_empty_is_not_offered() -> None:
    x = host(onp.ones((3, 2)))
    nothing = rec("slice", rec("negative", x), starts=(1, 0), stops=(1, 2))
    joined = rec("concatenate", rec("exp", nothing), x, axis=0)
    program = ll.program_of(rec("negative", joined))
    assert program.ops == ["negative", "slice", "exp", "concatenate", "negative"]
    mine = Doing(**ANYTHING, patterns=[Pattern("two", match("exp", match("slice", any_value())))])
    found = sound(program.structure, program.outputs, [mine])
    # one with an empty result, one of nothing else, one with an empty operand
    assert found.owner == [0, -1, -1, -1, 1]
    assert found.reasons[1:4] == [{"mine": "an operand or result is empty"}] * 3
    assert all(t.size for call in mine.asked for t in (*call.operands, *call.results)
               if t is not None)


@pytest.mark.usefixtures("special")
def test_the_reason_comes_from_everyone_that_there_is() -> None:
    p = written("A:t B:claims_effect(A)")
    found = divided(p, "B", Doing(**ANYTHING), theirs())
    assert found.reasons[1] == dict.fromkeys(("mine", "theirs"), "it has effects of its own")


# what is worth it


def at_least(count: int) -> Any:
    """Of a region, whether it has so many ops."""
    return lambda region: (
        YES if len(region.calls) >= count else No(f"{len(region.calls)} ops are too few"))


def test_a_region_that_is_not_worth_it_is_xlas() -> None:
    p = written("A:t B:t(A) C:t(B) X:d(C) D:t(X) Y:d(D)")
    mine = Doing(worthwhile=at_least(2))
    found = divided(p, "Y", mine)
    assert regions(p, found) == ["mine: A B C"] and left(p, found) == "X D Y"
    assert found.steps == [0, -4, -5, -6]
    assert found.reasons[4] == {"mine": "1 ops are too few"}
    assert [len(r.calls) for r in mine.shown] == [3, 1]
    assert left(p, divided(p, "Y", Doing(worthwhile=at_least(4)))) == "A B C X D Y"


@pytest.mark.parametrize(("answer", "reason"), [
    (None, "its predicate gave None, expected YES, No(reason) or Only(numbers, reason)"),
    (True, "its predicate gave True, expected YES, No(reason) or Only(numbers, reason)"),
    (Only([0, 2], "why"), "its predicate gave Only([0, 2], 'why'), expected numbers from 0 to 1"),
    (Only([], "nothing"), "nothing"),
    (No("it is slower"), "it is slower"), (Told("no model"), "its predicate raised Told: no model"),
])
def test_whatever_is_said_of_a_region_is_a_reason(answer: object, reason: str) -> None:
    def worthwhile(region: Region) -> Any:
        if isinstance(answer, Exception):
            raise answer
        return answer

    p = written("A:t B:t(A)")
    found = divided(p, "B", Doing(worthwhile=worthwhile))
    assert found.parts == [] and found.reasons == [{"mine": reason}] * 2


def test_the_ops_of_a_group_that_is_not_worth_it_are_each_xlas() -> None:
    pair = Pattern("pair", match("abs", match("negative", any_value())))
    p = written("A:t B:u(A) C:d(B)")
    found = divided(p, "C", Doing(ops="", patterns=[pair], worthwhile=at_least(3)))
    assert found.parts == [] and found.steps == [-1, -2, -3]
    assert found.reasons[:2] == [{"mine": "2 ops are too few"}] * 2


def test_what_one_gives_back_does_not_bind_the_next() -> None:
    # A and B as one region, which V needs and which needs U, keep V from U
    p = written("U:u(x) A:t(x) B:t(A,U) V:u(A,U)")
    assert regions(p, divided(p, "B V", Doing(), theirs())) == [
        "theirs: U", "mine: A B", "theirs: V"]
    found = divided(p, "B V", Doing(worthwhile=at_least(3)), theirs())
    assert regions(p, found) == ["theirs: U V"] and left(p, found) == "A B"


def test_a_region_that_failed_before_is_refused() -> None:
    p = written("A:t B:t(A) X:d(B) C:t(X,$) Y:d(C)")
    first = divided(p, "Y")
    assert regions(p, first) == ["mine: A B", "mine: C"]
    key = first.parts[0].region.program.key
    mine = Doing()
    found = divided(p, "Y", mine, refused=[("mine", key)])
    assert regions(p, found) == ["mine: C"]
    assert found.reasons[0] == found.reasons[1] == {"mine": "it failed here before"}
    # nobody else is refused, nor is it asked whether that is worth it
    assert [len(r.calls) for r in mine.shown] == [1]
    assert len(divided(p, "Y", refused=[("theirs", key), ("mine", "another")]).parts) == 2


def test_equal_regions_are_refused_together() -> None:
    p = written("A:t(x) X:d(A) B:t(X) Y:d(B)")
    key = divided(p, "Y").parts[0].region.program.key
    assert divided(p, "Y", refused=[("mine", key)]).parts == []


# what people are told


def explained(text: str, outputs: str, *generators: Doing) -> Any:
    """The report of a program, of which these generators are in use."""
    for one in generators:
        register(one)
    with use(*(one.name for one in generators)):
        return explain(written(text).program(outputs))


def test_a_report_names_each_op_and_where_it_runs() -> None:
    found = explained("A:t B:t(A) C:d(B) D:u(C,B) E:d(D)", "E", Doing(), theirs())
    assert found.text().split("\n") == [
        "  %0 = negative : float32[4] -> mine, region 0",
        "  %1 = negative : float32[4] -> mine, region 0",
        "  %2 = exp : float32[4] -> xla (mine: no exp; theirs: no exp)",
        "  %3 = maximum : float32[4] -> theirs, region 1",
        "  %4 = exp : float32[4] -> xla (mine: no exp; theirs: no exp)",
        "5 ops: mine 2, xla 2, theirs 1; 2 regions",
        "  region 0: mine, 2 negative",
        "  region 1: theirs, maximum",
    ]
    assert str(found) == found.text()
    assert found.coverage == 0.6
    assert [found.generator(n) for n in range(5)] == ["mine", "mine", "xla", "theirs", "xla"]


def test_a_report_of_a_program_that_nobody_does() -> None:
    found = explained("A:d B:d(A)", "B", Doing())
    assert found.coverage == 0 and not found.left_behind()
    assert "2 ops: xla 2; 0 regions" in found.text()
    found = explained("A:d B:d(A)", "B")
    assert found.text().split("\n")[0] == "  %0 = exp : float32[4] -> xla"
    assert found.coverage == 0


def test_a_report_names_groups_and_estimates() -> None:
    class Quick(Doing):
        def seconds(self, region: Region) -> float | None:
            return 3e-6 * len(region.calls)

    pair = Pattern("linear_relu", match("abs", match("negative", any_value())))
    found = explained("A:t B:u(A) C:t(B)", "C", Quick(patterns=[pair]))
    assert "  region 0: mine, 2 negative, abs; as linear_relu; 9 us estimated" in found.text()


def test_a_report_of_a_generator_that_cannot_estimate() -> None:
    class Broken(Doing):
        def seconds(self, region: Region) -> float | None:
            raise Told("no model")

    assert "region 0: mine" in explained("A:t", "A", Broken()).text()


def test_heavy_work_that_is_left_behind_is_named() -> None:
    x = host(onp.ones((4, 4)))
    program = ll.program_of(rec("matmul", rec("exp", rec("matmul", x, x)), x))
    mine = Doing(supports=lambda call: No("float32") if call.op == "matmul" else YES)
    register(mine)
    with use("mine"):
        found = explain(program)
        assert found.left_behind() == [0, 2]
        text = found.text()
        assert "warning: %0, matmul, is heavy work that no generator does" in text
        assert "%2 = matmul : float32[4,4] -> xla (mine: float32)" in text
    with use("xla"):
        assert not explain(program).left_behind()


def test_a_report_tells_of_what_failed_before() -> None:
    p = written("A:t B:d(A)")
    key = divided(p, "B").parts[0].region.program.key
    with pytest.warns(RuntimeWarning, match=r"'mine' failed to build a region of 1 op \(neg"):
        faults.failed(Failure("mine", key, ("negative",), "build", "no such thing"))
    assert ("mine", key) in faults.refused()
    found = explained("A:t B:d(A)", "B", Doing())
    assert found.partition.parts == []
    assert ("%0 = negative : float32[4] -> xla (mine: it failed here before: no such thing)"
            in found.text())
    faults.forget()
    assert explained("A:t B:d(A)", "B", Doing()).partition.parts


def test_every_op_is_explained() -> None:
    """What is recorded in one go with all kinds of ops: for each, where it runs or why not."""
    x = host(onp.ones((3, 3)))
    values, order = rec("sort_with_indices", rec("matmul", x, x))
    y = rec("where", rec("greater", values, number(2.5)), values, rec("cast", order, dtype=F32))
    program = ll.program_of(rec("sum", y), order)
    register(Doing(ops="matmul where sum"))
    with use("mine"):
        found = explain(program)
    lines = found.text().split("\n")[: len(program.ops)]
    for n, (op, line) in enumerate(zip(program.ops, lines, strict=True)):
        assert line.startswith(f"  %{n} = {op} : ")
        where = f"mine, region {found.partition.owner[n]}" if op in "matmul where sum" else (
            f"xla (mine: no {op})")
        assert line.endswith(f" -> {where}")


def test_what_is_asked_for_is_what_the_partition_is_of() -> None:
    # the same ops with other outputs
    p = written("A:t(x,$) B:u(A) C:t(B)")
    for outputs in ("C", "A C", "A B C"):
        found = divided(p, outputs)
        assert gives(p, found.parts[0].outputs) == ["A"]
        assert takes(p, found.parts[1].operands) == ["B"]
    assert partition(p.structure, p.results("C"), [Doing(ops=f"negative {THEIRS}")]).owner == [
        -1, 0, 0]
