"""Line 2: each recorded op executes at most once, counted by a handler inside XLA."""

from __future__ import annotations

import numpy as np
import pytest

import lazyloom as ll
from tests.contract.ffi import Handlers
from tests.contract.helpers import counted, host, in_threads, number


def test_reads_that_share_a_prefix_execute_it_once(handlers: Handlers) -> None:
    x = host([1.0, 2.0])
    shared = ll.record("test_count", [ll.record("test_count", [x])])
    branches = [ll.record("multiply", [shared, number(k)]) for k in (2.0, 3.0, 4.0)]
    before = handlers.runs
    results = [b.read().tolist() for b in branches]
    assert results == [[6, 8], [9, 12], [12, 16]]
    assert handlers.runs - before == 2


def test_reads_with_recording_between_them_execute_it_once(handlers: Handlers) -> None:
    x = host([1.0, 2.0])
    shared = ll.record("test_count", [x])
    before = handlers.runs
    total = 0.0
    for k in range(3):
        total += float(ll.record("multiply", [shared, number(2.0 + k)]).read()[0])
    assert total == 18.0
    assert handlers.runs - before == 1


def test_a_value_read_again_is_not_computed_again(handlers: Handlers) -> None:
    y = ll.record("test_count", [host([1.0])])
    before = handlers.runs
    for _ in range(3):
        assert y.read().tolist() == [2]
    ll.sync(y, wait=True)
    ll.sync(wait=True)
    assert handlers.runs - before == 1


def test_what_is_released_before_it_is_needed_never_executes(handlers: Handlers) -> None:
    before = handlers.runs
    x = host([1.0])
    dropped = ll.record("test_count", [x])
    dropped = ll.record("test_count", [dropped])
    del dropped
    ll.record("add", [x, x]).read()
    ll.sync(wait=True)
    assert handlers.runs == before


def test_an_op_with_an_effect_executes_though_nobody_wants_its_result(handlers: Handlers) -> None:
    before = handlers.runs
    x = host([1.0])
    for _ in range(2):
        dropped = ll.record("test_count_effect", [x])
    del dropped
    assert handlers.runs == before
    ll.sync(wait=True)
    # both of two equal ones: neither removed nor merged
    ll.record("add", [x, x]).read()
    assert handlers.runs - before == 2
    ll.sync(wait=True)
    assert handlers.runs - before == 2


def test_unrelated_work_stays_pending(handlers: Handlers) -> None:
    mine, other = host([1.0]), host([2.0])
    pending = ll.record("test_count", [other])
    before = handlers.runs
    ll.record("add", [mine, mine]).read()
    assert handlers.runs == before
    assert pending.is_pending
    pending.read()
    assert handlers.runs == before + 1


@pytest.mark.compiled
def test_one_read_runs_the_connected_component_as_one_program(handlers: Handlers) -> None:
    x = host([1.0, 2.0])
    y = ll.record("test_count", [x])
    left = ll.record("add", [y, number(5.0)])
    right = ll.record("multiply", [y, number(7.0)])
    with counted() as delta:
        left.read()
    assert delta.executions == 1
    assert not right.is_pending
    with counted() as delta:
        right.read()
    assert delta.executions == 0


def test_equal_ops_recorded_twice_are_two_values(handlers: Handlers) -> None:
    x = host([1.0, 2.0])
    a, b = ll.record("test_count", [x]), ll.record("test_count", [x])
    before = handlers.runs
    assert a.read().tolist() == b.read().tolist() == [2, 3]
    assert handlers.runs - before <= 2


def test_reads_from_many_threads_execute_once(handlers: Handlers) -> None:
    x = host(np.arange(4))
    shared = ll.record("test_count", [x])
    branches = [ll.record("multiply", [shared, number(2.0 + k)]) for k in range(8)]
    before = handlers.runs
    results = in_threads([b.read for b in branches])
    for k, r in enumerate(results):
        np.testing.assert_array_equal(r, (np.arange(4) + 1.0) * (2 + k))
    assert handlers.runs - before == 1


def test_a_growing_set_of_outputs_does_not_execute_again(handlers: Handlers) -> None:
    def step(keep: bool) -> list[ll.Value]:
        x = host([3.0])
        a = ll.record("test_count", [x])
        b = ll.record("multiply", [a, number(0.5)])
        b.read()
        return [a, b] if keep else [b]

    for keep in (False, True, False, True):
        before = handlers.runs
        kept = step(keep)
        assert kept[0].read().tolist() == ([4] if keep else [2])
        assert handlers.runs - before == 1


def test_heavy_results_are_kept_between_forward_and_backward(handlers: Handlers) -> None:
    w = host([[0.1, 0.2], [0.3, 0.4]]).as_leaf("w")
    x = host([[1.0, 1.0]])
    hidden = ll.record("tanh", [ll.record("matmul", [x, w])])
    loss = ll.record("sum", [hidden], {"axes": None, "keepdims": False})
    del hidden
    loss.read()
    with counted() as delta:
        (grad,) = ll.gradients([loss], [w])
        assert grad is not None
        program = ll.program_of(grad)
        grad.read()
    # the product is an input of the backward program; only tanh is recorded again
    assert "matmul" not in program.ops
    assert delta.recomputed_ops <= 1
    np.testing.assert_allclose(
        grad.read(), np.array([1.0, 1])[:, None] * (1 - np.tanh([0.4, 0.6]) ** 2), rtol=1e-5)
