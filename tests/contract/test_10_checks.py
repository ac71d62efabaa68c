"""Line 10, for conditions that a program evaluates: looked at by the readers of what depends on
them, and by nobody else; nothing waits for them before."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import lazyloom as ll
from lazyloom.errors import ExecutionError, IndexRangeError, LoomError
from lazyloom.evaluate import checks, collect
from lazyloom.program.evaluations import new_evaluation
from lazyloom.trace import graph
from lazyloom.trace.source import UNKNOWN
from tests.contract.helpers import host, in_threads, number

ZERO, ONE = (ll.Scalar(n, ll.dtypes.int64) for n in (0, 1))


def positions(data: Any) -> ll.Value:
    """Integers given from the host."""
    return host(data, np.int64)


def rec(op: str, *operands: Any, **attributes: Any) -> Any:
    return ll.record(op, operands, attributes)


def checked(indices: Any, size: int, axis: int = 0) -> ll.Value:
    flag = rec("first_out_of_range", indices, size=size)
    return rec("checked", indices, flag, kind="index", of="take", info=(axis, size))[0]


def taken(x: Any, indices: list[int]) -> tuple[ll.Value, int]:
    """Elements of x at computed positions, and the line where they are checked."""
    line = sys._getframe().f_lineno + 1
    return rec("take", x, checked(rec("add", positions(indices), ZERO), 3), axis=0), line


def fails(value: ll.Value, line: int, index: int = 7) -> IndexRangeError:
    with pytest.raises(IndexError, match=f"index {index} is out of bounds for axis 0 with size 3"
                       ) as caught:  # fmt: skip
        value.read()
    error = caught.value
    assert isinstance(error, IndexRangeError) and isinstance(error, ExecutionError)
    assert error.op == "take" and error.code == 13
    assert error.site is not None and error.site.startswith(f"{__file__}:")
    return error


def test_it_is_raised_where_what_depends_on_it_is_read() -> None:
    x = host([1.0, 2.0, 3.0])
    bad, line = taken(x, [0, 7])
    good, _ = taken(x, [0, -3])
    below = rec("multiply", rec("add", bad, good), number(2.0))
    fine = rec("multiply", good, number(3.0))
    ll.sync()
    assert fine.read().tolist() == [3, 3]
    for value in (below, bad, below):
        fails(value, line)
    fails(rec("exp", below), line)
    assert rec("add", fine, fine).read().tolist() == [6, 6]


def test_waiting_for_it_raises_it_and_handing_it_to_the_device_does_not() -> None:
    bad, _ = taken(host([1.0, 2.0, 3.0]), [7])
    ll.sync(bad)
    with pytest.raises(IndexError, match="index 7"):
        ll.sync(bad, wait=True)
    with pytest.raises(IndexError, match="index 7"):
        ll.to_dlpack(bad)


def test_each_reader_gets_an_error_of_its_own() -> None:
    bad, line = taken(host([1.0, 2.0, 3.0]), [7])
    errors = [fails(bad, line) for _ in range(3)]
    assert len({id(e) for e in errors}) == 3
    assert len(set(in_threads([lambda: str(fails(bad, line)) for _ in range(4)]))) == 1


def test_checks_pass_through_programs() -> None:
    x = host([1.0, 2.0, 3.0])
    bad, line = taken(x, [7, 1])
    for _ in range(3):
        ll.sync(bad)
        bad = rec("add", bad, bad)
    fails(bad, line)


def test_a_check_that_passed_is_forgotten() -> None:
    x, total = host([1.0, 2.0, 3.0]), host([0.0])
    for _ in range(40):
        good, _ = taken(x, [2])
        total = rec("add", total, good)
        ll.sync(total, wait=True)
    buffer = total.node.buffers[0]
    assert buffer is not None and buffer.checks is None
    assert total.read().tolist() == [120]


def test_a_chain_without_reads_keeps_few_checks() -> None:
    x = host([1.0, 2.0, 3.0])
    for _ in range(60):
        x = rec("take", x, checked(rec("add", positions([0, 1, 2]), ZERO), 3), axis=0)
        ll.sync(x)
    ll.sync(x, wait=False)
    buffer = x.node.buffers[0]
    assert buffer is not None and len(buffer.checks or ()) < 60
    assert x.read().tolist() == [1, 2, 3]


def test_a_gradient_through_an_index_out_of_range_is_an_error() -> None:
    def loss(x: Any, i: Any) -> Any:
        i = ll.Tensor(checked(rec("add", i.value, ZERO), 3))
        return ll.apply("sum", [ll.apply("take", [x, i], {"axis": 0})])

    x = ll.Tensor(host([1.0, 2.0, 3.0]))
    gradient = ll.grad(loss)
    assert gradient(x, ll.Tensor(positions([0, 0]))).read().tolist() == [2, 0, 0]
    with pytest.raises(IndexError, match="index 9"):
        gradient(x, ll.Tensor(positions([0, 9]))).read()


def test_equal_structure_compiles_once_whatever_the_flag_says() -> None:
    x = host([1.0, 2.0, 3.0])
    taken(x, [0, 1, 2])[0].read()
    before = ll.stats()["programs_compiled"]
    taken(x, [2, 1, 0])[0].read()
    with pytest.raises(IndexError):
        taken(x, [2, 1, 5])[0].read()
    assert ll.stats()["programs_compiled"] == before


def test_a_check_that_nobody_needs_is_not_computed() -> None:
    x = host([1.0, 2.0, 3.0])
    bad, _ = taken(x, [7])
    del bad
    other = rec("add", x, x)
    other.read()
    assert ll.last_evaluation().ops == 1


def test_a_judge_is_asked_once_and_may_let_it_pass(monkeypatch: Any) -> None:
    asked: list[Any] = []

    def judge(data: Any, check: ll.Check) -> LoomError | None:
        asked.append((data.tolist(), check.of, check.info))
        return None

    monkeypatch.setitem(checks._judges, "of the test", judge)
    flag = rec("add", positions([0, 3]), ZERO)
    value = rec("checked", host([5.0]), flag, kind="of the test", of="it", info=(1, 2))[0]
    later = rec("add", value, value)
    assert value.read().tolist() == [5] and later.read().tolist() == [10]
    assert value.read().tolist() == [5]
    assert asked == [([0, 3], "it", (1, 2))]


def test_an_interrupted_run_keeps_its_checks() -> None:
    x = host([1.0, 2.0, 3.0])
    bad, line = taken(x, [7])
    component = graph.find(bad.node)
    assert component is not None
    plans: list[Any] = []
    with graph.trace.lock:
        nodes = collect.pending_of(component)
        component.nodes = []
        graph.trace.components.pop(component, None)
        collect.schedule(nodes, new_evaluation("test", UNKNOWN), plans)
        collect.restore(plans)
    assert bad.is_pending
    fails(bad, line)


def test_ranges_that_the_host_knows() -> None:
    assert ll.known_range(positions([3, -1, 2])) == (-1, 3)
    assert ll.known_range(host([1.0])) is None
    assert ll.known_range(positions([])) is None
    assert ll.known_range(rec("add", positions([1]), ONE)) is None
    value = positions([3, -1, 2])
    assert ll.known_range(value) == (-1, 3)
    rec("add", value, value).read()  # uploaded
    assert ll.known_range(value) == (-1, 3)


def test_what_was_chosen_from_known_integers_has_their_bounds() -> None:
    given = positions([3, -1, 2])
    chosen = rec("take", given, positions([0, 2]), axis=0)
    assert ll.known_range(chosen) is None  # -1 is not among them
    assert ll.known_bounds(chosen) == ll.known_bounds(given) == (-1, 3)
    assert ll.known_bounds(rec("reshape", chosen, shape=(2, 1))) == (-1, 3)
    assert ll.known_bounds(rec("add", chosen, ONE)) is None


def test_reads_for_a_shape_are_named_and_counted() -> None:
    before = ll.stats()["host_reads_of_data_dependent_shapes"]
    value = rec("add", positions([3]), ONE)
    assert ll.read_for_shape(value, "nonzero").tolist() == [4]
    assert ll.stats()["host_reads_of_data_dependent_shapes"] == before + 1
    record = ll.last_evaluation()
    assert record is not None and record.reason == "shape of nonzero"
    assert record.site.file == __file__
    with ll.options(reads="error"), pytest.raises(ll.errors.ReadForbiddenError):
        ll.read_for_shape(value, "nonzero")
