"""Line 10: a failure is a value: raised where it is read, with op and line, and nowhere else."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lazyloom as ll
from lazyloom.backends.selection import backend
from lazyloom.errors import ExecutionError
from tests.contract.ffi import Handlers
from tests.contract.helpers import host, in_threads, number, script


def rec(op: str, *operands: Any, **attributes: Any) -> Any:
    return ll.record(op, operands, attributes)


def failing(data: Any = (-1.0, 2.0)) -> tuple[ll.Value, int]:
    """A value whose computation fails inside XLA, and the line that recorded it."""
    line = sys._getframe().f_lineno + 1
    return ll.record("test_check", [host(data)]), line


def check(value: ll.Value, line: int) -> ExecutionError:
    with pytest.raises(ExecutionError) as caught:
        value.read()
    error = caught.value
    text = str(error)
    assert error.op == "test_check" and "op test_check" in text and "boom" in text
    assert error.site == f"{__file__}:{line}" and f"{__file__}:{line}" in text
    return error


def test_it_is_raised_at_the_read_with_op_and_line(handlers: Handlers) -> None:
    value, line = failing()
    check(value, line)


def test_nothing_is_raised_before_the_read(handlers: Handlers) -> None:
    value, line = failing()
    later = rec("add", value, value)
    ll.sync(value)
    ll.sync()
    check(later, line)


def test_waiting_for_it_raises_it(handlers: Handlers) -> None:
    value, line = failing()
    with pytest.raises(ExecutionError, match=f"test_check, recorded at .*:{line},.*boom"):
        ll.sync(value, wait=True)


def test_later_readers_get_it_again_each_with_a_traceback_of_its_own(handlers: Handlers) -> None:
    value, line = failing()
    errors = [check(value, line) for _ in range(3)]
    assert len({id(e) for e in errors}) == 3
    assert len({str(e) for e in errors}) == 1


def test_readers_on_other_threads_get_it(handlers: Handlers) -> None:
    value, line = failing()
    messages = in_threads([lambda: str(check(value, line)) for _ in range(6)])
    assert len(set(messages)) == 1
    recorded_here, line = failing()
    (message,) = in_threads([lambda: str(check(recorded_here, line))])
    assert str(line) in message


def test_what_depends_on_it_fails_with_the_same_error(handlers: Handlers) -> None:
    value, line = failing()
    below = rec("multiply", rec("add", value, number(2.0)), number(3.0))
    message = str(check(below, line))
    # also what is recorded after it is known to have failed, and what spans several programs
    after = rec("exp", below)
    assert str(check(after, line)) == message
    assert str(check(rec("add", after, host([1.0, 2.0])), line)) == message
    assert str(check(value, line)) == message


def test_values_of_the_same_component_that_do_not_depend_on_it_are_fine(
    handlers: Handlers,
) -> None:
    x = host([-1.0, 2.0])
    value = rec("test_check", x)
    sibling = rec("add", x, number(5.0))
    joined = rec("add", value, sibling)
    assert sibling.read().tolist() == [4, 7]
    with pytest.raises(ExecutionError, match="boom"):
        joined.read()
    assert rec("add", sibling, sibling).read().tolist() == [8, 14]
    assert x.read().tolist() == [-1, 2]


def test_of_two_that_can_fail_only_the_failing_one_does(handlers: Handlers) -> None:
    bad, good = host([-1.0, 2.0]), host([1.0, 2.0])
    shared = host([3.0, 4.0])
    a, b = rec("test_check", bad), rec("test_check", good)
    a2, b2 = rec("add", a, shared), rec("add", b, shared)
    both = rec("add", a2, b2)
    assert b2.read().tolist() == [4, 6]
    for v in (both, a2, a):
        with pytest.raises(ExecutionError, match="boom"):
            v.read()
    assert b.read().tolist() == [1, 2]


def test_a_temporary_of_a_failed_op_does_not_disturb_the_rest(handlers: Handlers) -> None:
    x = host([1.0, 2.0])
    value, line = failing()
    check(value, line)
    temporary = rec("exp", x)
    dead_end = rec("add", temporary, value)
    del temporary
    fine = rec("add", x, number(5.0))
    joined = rec("add", dead_end, fine)
    assert fine.read().tolist() == [6, 7]
    check(joined, line)


def test_a_failed_value_has_no_program(handlers: Handlers) -> None:
    value, line = failing()
    check(value, line)
    below = rec("add", value, number(2.0))
    with pytest.raises(ExecutionError, match="boom"):
        ll.program_of(below)
    check(below, line)


def test_the_same_program_runs_again_with_other_data(handlers: Handlers) -> None:
    for data in ([-1.0, 2.0], [1.0, 2.0], [-1.0, 5.0], [7.0, 2.0]):
        value = rec("multiply", rec("test_check", host(data)), number(2.0))
        if data[0] < 0:
            with pytest.raises(ExecutionError):
                value.read()
        else:
            assert value.read().tolist() == [2 * d for d in data]


def test_inputs_of_a_failed_run_that_are_alive_are_not_lost(handlers: Handlers) -> None:
    x = rec("add", host([-5.0, 1.0]), number(2.0))
    x.read()
    value = rec("test_check", x)
    with pytest.raises(ExecutionError):
        value.read()
    assert x.read().tolist() == [-3, 3]


@pytest.mark.parametrize("donate", [True, False])
def test_a_failed_step_in_place(handlers: Handlers, donate: bool) -> None:
    """A tensor overwritten by a failed step is an error that names it; its old value is not."""
    with ll.options(donate=donate):
        t = ll.Tensor(rec("add", host([-5.0, 1.0]), number(2.0)))
        t.read()
        old = t.value
        line = sys._getframe().f_lineno + 1
        t._write(ll.record("test_check", [t.value]))
        t._write(rec("add", t.value, number(2.0)))
        with pytest.raises(ExecutionError, match=f"test_check, recorded at .*:{line},"):
            t.read()
        assert old.read().tolist() == [-3, 3]
        t._write(old)
        assert rec("negative", t.value).read().tolist() == [3, -3]


def test_gradients_through_a_failed_value_raise_its_error(handlers: Handlers) -> None:
    w = host([1.0, 2.0]).as_leaf("w")
    value, line = failing()
    loss = rec("sum", rec("multiply", rec("sin", w), value), axes=None, keepdims=False)
    (before,) = ll.gradients([loss], [w])
    assert before is not None
    check(loss, line)
    check(before, line)
    for ask in (ll.gradients, lambda outputs, _: ll.backward(outputs)):
        with pytest.raises(ExecutionError, match="boom"):
            ask([loss], [w])
    assert w.read().tolist() == [1, 2]


def test_the_process_goes_on_after_many_failures(handlers: Handlers) -> None:
    for k in range(50):
        value, line = failing([-1.0 - k, 2.0])
        check(value, line)
    assert rec("add", host([1.0]), number(2.0)).read().tolist() == [3]
    ll.sync(wait=True)


def test_the_record_of_a_failed_run_says_so(handlers: Handlers) -> None:
    value, line = failing()
    check(value, line)
    record = ll.last_evaluation()
    assert record is not None and record.error is not None
    assert "failed" in record.text() and "boom" in record.text()


def test_a_definition_that_does_not_compile_is_an_error_of_its_own_results() -> None:
    from lazyloom.ops.kinds import Array, T
    from lazyloom.ops.rules import elementwise

    name = "test_broken_definition"
    if name not in ll.ops.names():

        def body(x: T) -> Array:
            """A definition with a fault."""
            raise ValueError("the definition is broken")

        ll.register_op(elementwise, T="floating", source="the tests", name=name, version=None)(body)
    value = rec(name, host([1.0]))
    unrelated = rec("add", host([1.0]), number(2.0))
    for _ in range(2):
        with pytest.raises(ExecutionError, match="the definition is broken") as caught:
            value.read()
        assert re.search(name, str(caught.value))
    assert unrelated.read().tolist() == [3]


def test_a_failure_in_a_process_that_ends_right_away_is_quiet(handlers: Handlers) -> None:
    done = script(
        """
        import sys, numpy as np, lazyloom as ll
        from pathlib import Path
        from tests.contract.ffi import Handlers
        Handlers(Path(sys.argv[1]))
        v = ll.record("test_check", [ll.from_host(np.array([-1.0], np.float32))])
        ll.sync(v)
        try:
            v.read()
        except ll.LoomError as error:
            print(type(error).__name__, error.op)
        w = ll.record("add", [v, v])
        ll.sync(w)
        """,
        str(handlers.path))
    assert done.stdout.split() == ["ExecutionError", "test_check"]
    assert "Traceback" not in done.stderr


@pytest.mark.compiled
def test_an_interrupted_run_leaves_its_values_pending(
    monkeypatch: pytest.MonkeyPatch, fresh_cache: Path
) -> None:
    assert fresh_cache  # or the program is not compiled
    x = host([1.0, 2.0])
    value = rec("add", rec("exp", x), number(11.0))

    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(backend(), "compile", interrupted)
        for _ in range(2):
            with pytest.raises(KeyboardInterrupt):
                value.read()
            assert value.is_pending
    np.testing.assert_allclose(value.read(), np.exp([1.0, 2.0]) + 11, rtol=1e-6)
    assert x.read().tolist() == [1, 2]
