"""What a predicate sees around its op: who produces what, and who reads it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lazyloom as ll
import lazyloom_torch as torch
from lazyloom import codegen
from lazyloom.backends.xla.regions import engines
from lazyloom.codegen import YES, Answer, Baked, Call, Leaf, No, Pattern, Result, any_value, match
from tests.codegen.programs import F32, VECTOR, Doing, divided, regions, written


def seen(text: str, outputs: str, **how: Any) -> list[Call]:
    """The calls of a program, in order, each asked about by itself."""
    p = written(text)

    def supports(call: Call) -> Answer:
        # an answer that depends on the wiring is asked for again at each op
        return YES if call.number >= 0 else No("not in a program")

    mine = Doing(supports=supports, **how)
    divided(p, outputs, mine)
    return mine.asked


def test_who_produces_and_who_reads() -> None:
    a, b, c, d = seen("A:t(x) B:d(A) C:add(A,B) D:add(C,C)", "D B")
    assert [call.number for call in (a, b, c, d)] == [0, 1, 2, 3]
    assert a.producer(0) is None and b.producer(0) == a
    first, second = c.producer(0), c.producer(1)
    assert first is not None and second is not None
    assert (first.number, second.number) == (0, 1)
    assert [(reader.number, k) for reader, k in a.readers()] == [(1, 0), (2, 0)]
    assert [(reader.number, k) for reader, k in c.readers()] == [(3, 0), (3, 1)]
    assert d.readers() == []
    assert [call.returned() for call in (a, b, c, d)] == [False, True, False, True]
    # from one to the next
    above = d.producer(0)
    assert above is not None and above.producer(1) == b


def test_what_each_operand_is() -> None:
    (call,) = seen("A:clip(x,0,$)", "A")
    assert call.wired[0] == Leaf(0) and call.values == (None, 0, None)
    assert isinstance(call.wired[1], Baked)
    a, b = seen("A:add(x,y) B:add(A,x)", "B")
    assert b.wired == (Result(0, 0), a.wired[0])


def test_a_trailing_operand_that_is_absent_is_none() -> None:
    short, whole = seen("A:clip(x,0) B:clip(A,0,_)", "B")
    assert len(short.operands) == len(whole.operands) == 3
    assert short.operands[2] is None and short.values[2] is None and short.wired[2] is None
    assert short.operands == whole.operands and short.producer(2) is None
    x = torch.zeros(1, 2, 5, 5)
    mine = Doing(ops="")
    program = ll.program_of(torch.conv2d(x, torch.zeros(3, 2, 3, 3)))
    codegen.partition(program.structure, program.outputs, [mine])
    (conv,) = [call for call in mine.asked if call.op == "conv"]
    assert len(conv.operands) == len(ll.ops.table()["conv"].operands)


def test_equal_calls_are_asked_once_unless_the_wiring_is_looked_at() -> None:
    p = written("A:t(x) B:t(A) C:t(B) D:t(C)")
    by_types = Doing()
    divided(p, "D", by_types)
    assert len(by_types.asked) == 1
    assert len(seen("A:t(x) B:t(A) C:t(B) D:t(C)", "D")) == 4

    def last(call: Call) -> Answer:
        return YES if call.returned() else No("something reads it")

    found = divided(p, "D", Doing(supports=last))
    assert found.owner == [-1, -1, -1, 0]
    # constants are looked at without that
    p = written("A:add(x,0) B:add(A,1) C:add(B,0)")
    mine = Doing(supports=lambda call: YES if call.values[1] == 0 else No("not of 0"))
    assert divided(p, "C", mine).owner == [0, -1, 1] and len(mine.asked) == 2


def test_a_check_of_a_pattern_sees_the_wiring() -> None:
    x, y = any_value(), any_value()

    def one_reader(calls: Any) -> Answer:
        product, total = calls
        other = next(k for k in (0, 1) if total.wired[k] != Result(product.number, 0))
        return YES if total.producer(other) is None else No("the other operand is computed")

    pair = Pattern("pair", match("add", match("multiply", x, y), any_value(), commutes=True),
                   one_reader)
    for text, expected in [("M:multiply(a,b) A:add(c,M)", ["mine: M A"]),
                           ("C:d(c) M:multiply(a,b) A:add(C,M)", [])]:
        p = written(text)
        assert regions(p, divided(p, "A", Doing(ops="", patterns=[pair]))) == expected


@pytest.mark.skipif(bool(engines.available()), reason=engines.available() or "there is none")
def test_calls_of_a_region_know_its_layouts() -> None:
    class Turned(Doing):
        def layouts(self, region: codegen.Region) -> Any:
            return [tuple(reversed(range(t.ndim))) for t in (*region.operands, *region.results)]

        def build(self, region: codegen.Region) -> codegen.Code:
            self.calls = region.calls
            return codegen.PythonCode(lambda a: np.abs(-a))

    mine = Turned("turned", "negative abs")
    codegen.register(mine)
    with codegen.use("turned"):
        result = torch.abs(-torch.tensor([[1.0, -2.0, 3.0], [0.0, 5.0, -1.0]])).numpy()
    assert result.tolist() == [[1, 2, 3], [0, 5, 1]]
    first, second = mine.calls
    assert first.layouts == ((1, 0), None) and second.layouts == (None, (1, 0))
    assert second.producer(0) == first and second.returned() and not first.returned()


def test_an_op_by_itself_has_no_wiring() -> None:
    call = Call("add", {}, (VECTOR, VECTOR), (VECTOR,))
    assert call.number == -1 and call.wired == () and call.producer(1) is None
    assert call.readers() == [] and call.returned()
    assert call == Call("add", {}, [VECTOR, VECTOR], [VECTOR])
    assert call != Call("add", {}, [VECTOR, VECTOR], [VECTOR], [None, 1])
    assert "float32[4]" in repr(call) and "values=(None, 1)" in repr(
        Call("add", {}, (VECTOR, ll.tensor_type((), F32)), (VECTOR,), (None, 1)))


@pytest.mark.parametrize("question", [
    lambda call: call.producer(2), lambda call: call.readers(1), lambda call: call.returned(-1)])
def test_an_operand_or_result_that_is_not_there(question: Any) -> None:
    a, _ = seen("A:add(x,y) B:t(A)", "B")
    with pytest.raises(ll.errors.ArgumentError, match=r"of add was asked for, expected 0 to"):
        question(a)
