"""Line 10: a program that catches the error of a run goes on with the state from before it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lazyloom as ll
from lazyloom.errors import ExecutionError, IndexRangeError, OutOfMemoryError
from tests.contract.ffi import Handlers
from tests.contract.helpers import host, number

HUGE = 1 << 41


def rec(op: str, *operands: Any, **attributes: Any) -> Any:
    return ll.record(op, operands, attributes)


#: results that are alive, so that the program has to make them
_alive: list[Any] = []


@pytest.fixture(autouse=True)
def forget() -> Any:
    yield
    _alive.clear()


def too_large(t: ll.Tensor) -> Any:
    """A value of the tensor's type whose program needs more memory than there is."""
    wide = rec("broadcast_to", rec("sum", t.value, axes=None, keepdims=False), shape=(HUGE,))
    _alive.append(wide)
    return rec("add", t.value, rec("sum", wide, axes=None, keepdims=False))


def computed(data: Any = (1.0, 2.0)) -> ll.Tensor:
    t = ll.Tensor(rec("add", host(data), number(0.5)))
    t.read()
    return t


@pytest.fixture(params=[True, False], ids=["donate", "keep"])
def donate(request: pytest.FixtureRequest) -> Any:
    with ll.options(donate=request.param):
        yield request.param


def test_out_of_memory_is_an_error_of_its_own(donate: bool) -> None:
    value = too_large(computed())
    for _ in range(2):
        with pytest.raises(OutOfMemoryError, match="out of memory") as caught:
            value.read()
        assert isinstance(caught.value, MemoryError) and isinstance(caught.value, RuntimeError)


def test_a_tensor_written_in_place_holds_what_it_did(donate: bool) -> None:
    t = computed()
    t._write(too_large(t))
    with pytest.raises(OutOfMemoryError):
        t.read()
    assert t.read().tolist() == [1.5, 2.5]
    t._write(rec("add", t.value, number(1.0)))
    assert t.read().tolist() == [2.5, 3.5]


def test_nobody_sees_it_before_the_error_was_raised(donate: bool) -> None:
    t = computed()
    t._write(too_large(t))
    ll.sync()
    with pytest.raises(OutOfMemoryError):
        t.read()
    u = computed()
    u._write(too_large(u))
    after = rec("add", u.value, number(1.0))
    for _ in range(2):
        with pytest.raises(OutOfMemoryError):
            after.read()
    assert u.read().tolist() == [1.5, 2.5]


def test_all_tensors_of_the_run_go_back_together(donate: bool) -> None:
    p, m, count = computed(), computed([4.0, 5.0]), computed([0.0])
    for step in range(5):
        loss = rec("sum", p.value, axes=None, keepdims=False)
        g = too_large(p) if step == 2 else rec("multiply", p.value, number(0.5))
        m._write(rec("add", rec("multiply", m.value, number(0.5)), g))
        p._write(rec("subtract", p.value, m.value))
        none = rec("multiply", rec("sum", g, axes=None, keepdims=False), number(0.0))
        count._write(rec("add", count.value, none))
        if step == 2:
            with pytest.raises(OutOfMemoryError):
                rec("add", loss, rec("sum", m.value, axes=None, keepdims=False)).read()
        else:
            loss.read()
            ll.sync()
    q, n = np.array([1.5, 2.5], np.float32), np.array([4.5, 5.5], np.float32)
    for _ in range(4):
        n = n * np.float32(0.5) + q * np.float32(0.5)
        q = q - n
    np.testing.assert_array_equal(p.read(), q)
    np.testing.assert_array_equal(m.read(), n)
    assert count.read().tolist() == [0.5]


def test_views_go_back_with_their_base(donate: bool) -> None:
    t = computed([1.0, 2.0, 3.0])
    view = t._alias(ll.frontend.Slice((0,), (2,), (1,)))
    assert view.read().tolist() == [1.5, 2.5]
    view._write(too_large(view))
    with pytest.raises(OutOfMemoryError):
        t.read()
    assert view.read().tolist() == [1.5, 2.5] and t.read().tolist() == [1.5, 2.5, 3.5]
    view._write(rec("negative", view.value))
    assert t.read().tolist() == [-1.5, -2.5, 3.5]


def test_several_writes_of_one_failed_run(donate: bool) -> None:
    t = computed()
    t._write(too_large(t))
    for k in range(20):
        t._write(rec("add", t.value, number(2.0 + k)))
    with pytest.raises(OutOfMemoryError):
        t.read()
    assert t.read().tolist() == [1.5, 2.5]


def test_contents_that_a_run_between_computed_are_not_passed_over(donate: bool) -> None:
    """What is older than the state from before must not come back."""
    t = computed()
    t._write(rec("add", t.value, number(1.0)))
    good = rec("add", t.value, number(3.0))
    wide = ll.source("full", [number(2.0)], {"shape": (HUGE,)})
    t._write(rec("add", t.value, rec("sum", wide, axes=None, keepdims=False)))
    with pytest.raises(OutOfMemoryError):
        t.read()
    assert good.read().tolist() == [5.5, 6.5]
    if donate:
        with pytest.raises(OutOfMemoryError):
            t.read()
        t._write(host([0.0, 1.0]))
        assert t.read().tolist() == [0, 1]
    else:
        assert t.read().tolist() == [2.5, 3.5]


def test_a_leaf_stays_a_leaf(donate: bool) -> None:
    token = object()
    t = ll.Tensor(rec("add", host([1.0, 2.0]), number(0.5)).as_leaf(token))
    t.read()
    with_grad = t.value
    before = ll.set_grad_enabled(False)
    try:
        t._write(too_large(t).as_leaf(token))
    finally:
        ll.set_grad_enabled(before)
    del with_grad
    with pytest.raises(OutOfMemoryError):
        t.read()
    assert t.value.requires_grad
    (g,) = ll.gradients([rec("sum", rec("multiply", t.value, t.value), axes=None, keepdims=False)],
                        [t.value])
    assert g is not None and g.read().tolist() == [3, 5]


def test_what_had_a_history_is_an_error_and_no_wrong_gradient() -> None:
    w = host([1.0, 2.0]).as_leaf("w")
    t = ll.Tensor(rec("multiply", w, number(2.0)))
    t.read()
    t._write(too_large(t))
    for _ in range(2):
        with pytest.raises(OutOfMemoryError):
            t.read()
    with ll.options(donate=False):
        t = ll.Tensor(rec("multiply", w, number(2.0)))
        t.read()
        t._write(too_large(t))
        with pytest.raises(OutOfMemoryError):
            t.read()
        assert t.read().tolist() == [2, 4]
        (g,) = ll.gradients([rec("sum", t.value, axes=None, keepdims=False)], [w])
        assert g is not None and g.read().tolist() == [2, 2]


def test_memory_of_what_was_written_over_is_let_go() -> None:
    t = computed()
    held = t.value.node.buffers
    assert held is not None
    buffer = held[0]
    assert buffer is not None
    del held
    t._write(rec("add", t.value, number(1.0)))
    assert holds_data(buffer)
    t.read()
    assert not holds_data(buffer)
    t.read()
    held = t.value.node.buffers
    assert held is not None
    buffer = held[0]
    t._write(host([0.0, 1.0]))
    assert buffer is not None and not holds_data(buffer)


def holds_data(buffer: Any) -> bool:
    return buffer.array is not None or buffer.host is not None


def failing(t: ll.Tensor) -> Any:
    """Fails inside XLA, where the first element is negative."""
    return rec("test_check", rec("negative", t.value))


def out_of_range(t: ll.Tensor) -> Any:
    index = rec("add", host([0, 7], np.int64), host([0, 0], np.int64))
    return rec("take", t.value, ll.check_indices(index, 2, 0, "take"), axis=0)


@pytest.mark.parametrize("step", [failing, out_of_range])
def test_nothing_is_lost_without_donation(
    handlers: Handlers, step: Callable[[ll.Tensor], Any]
) -> None:
    with ll.options(donate=False):
        t, u = computed(), computed([3.0])
        t._write(step(t))
        u._write(rec("add", u.value, rec("sum", t.value, axes=None, keepdims=False)))
        t._write(rec("add", t.value, number(2.0)))
        ll.sync()
        t._write(rec("add", t.value, number(5.0)))
        with pytest.raises((ExecutionError, IndexRangeError)):
            t.read()
        assert t.read().tolist() == [1.5, 2.5]
        assert u.read().tolist() == [3.5]


def test_a_failure_that_was_told_does_not_touch_other_tensors(donate: bool) -> None:
    bad, fine = computed(), computed([7.0])
    bad._write(too_large(bad))
    fine._write(rec("add", fine.value, number(1.0)))
    with pytest.raises(OutOfMemoryError):
        bad.read()
    fine._write(rec("add", fine.value, number(1.0)))
    assert fine.read().tolist() == [9.5] and bad.read().tolist() == [1.5, 2.5]
