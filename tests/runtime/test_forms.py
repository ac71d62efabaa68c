"""When a program runs op by op and when whole, and what compiles beside it in the meantime."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lazyloom as ll
from lazyloom.backends.selection import backend
from lazyloom.cache import memory
from lazyloom.execute import ab_timing, costs
from lazyloom.execute.compiling import background
from lazyloom.execute.op_by_op import blas_threads
from lazyloom.host import find
from tests.contract.helpers import counted, host, in_threads, number, rec, script

pytestmark = [pytest.mark.op_by_op, pytest.mark.xla]

X = np.linspace(0.1, 2.0, 12, dtype=np.float32).reshape(3, 4)
#: seconds in which something that takes a second or two is done, on a machine with much to do
LONG = 120


@pytest.fixture(autouse=True)
def empty(fresh_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No program is known, none is being compiled, and none is too quick to be worth it.

    Compiled programs are no slower than op by op.
    """
    assert fresh_cache
    assert background.wait(LONG)
    monkeypatch.setattr(costs, "WORTH", 0.0)
    monkeypatch.setattr(costs, "PART", 0.0)
    # nor how long its loop has gone on
    monkeypatch.setattr(costs, "EAGER_FACTOR", 1e9)
    monkeypatch.setattr(costs, "SLOWER", math.inf)
    with ll.options(compiled_beside=64):
        yield
        assert background.wait(LONG)


def program(shift: float = 1.5, x: np.ndarray = X) -> Any:
    """A value of a program of three ops, one for all shifts that are no integers."""
    return rec("tanh", rec("add", rec("exp", host(x)), number(shift)))


def expected(shift: float = 1.5, x: np.ndarray = X) -> np.ndarray:
    return np.tanh(np.exp(x) + np.float32(shift))


def check(value: Any, wanted: np.ndarray) -> ll.Evaluation:
    """Read a value, which is that; the record of it."""
    np.testing.assert_allclose(value.read(), wanted, rtol=2e-6)
    record = ll.last_evaluation()
    assert record is not None
    return record


def until(done: Callable[[], bool]) -> None:
    end = time.monotonic() + LONG
    while not done():
        assert time.monotonic() < end, "nothing happens"


def becomes_whole(make: Callable[[], Any], wanted: np.ndarray) -> int:
    """Run a program until it runs whole; how often it ran op by op."""
    runs = 0
    end = time.monotonic() + LONG
    while check(make(), wanted).form == "op_by_op":
        runs += 1
        assert time.monotonic() < end, "it is never compiled"
        if runs > 3:
            background.wait(LONG)
    return runs


# the policy


def test_a_new_program_runs_op_by_op_and_says_so() -> None:
    # of types that no other test asks for: kernels outlive programs
    x = X.reshape(1, 2, 6)
    with counted() as delta:
        record = check(program(1.5, x), expected(1.5, x))
    assert (record.form, record.found, record.ops) == ("op_by_op", "op_by_op", 3)
    assert record.bytes_in == x.nbytes and f"{record.bytes_in} bytes in" in record.text()
    assert delta.runs_op_by_op == 1 and delta.ops_executed == 3
    assert delta.executions == 0 and delta.programs_compiled == 0
    assert record.estimate > 0 and record.spent >= 0
    assert record.timings["prepare"] > 0 and record.timings["op_by_op"] > 0
    text = record.text()
    assert "op by op" in text and "compiling is estimated to take" in text
    assert record.program is not None and record.program.key == (
        ll.program_of(program(2.5, x)).key)


def test_what_was_prepared_is_no_cost_of_a_program() -> None:
    x = X.reshape(1, 6, 2)
    record = check(program(1.5, x), expected(1.5, x))
    assert record.spent == record.timings["op_by_op"]
    again = check(program(2.5, x), expected(2.5, x))
    assert "prepare" not in again.timings and again.spent > record.spent


def test_a_program_that_runs_often_is_compiled_beside_and_runs_whole() -> None:
    with counted() as delta:
        runs = becomes_whole(program, expected())
    assert runs >= 3
    assert delta.background_compiles == delta.promotions == 1 and delta.background_failures == 0
    record = check(program(3.5), expected(3.5))
    assert (record.form, record.found) == ("compiled", "memory")
    assert "op by op" not in record.text()


def test_a_reproducible_run_is_never_in_pieces() -> None:
    with counted() as delta:
        with ll.options(reproducible=True):
            record = check(program(), expected())
            assert (record.form, record.found) == ("compiled", "compiled")
            first = program().read()
        # it is known now
        assert check(program(), expected()).form == "compiled"
    assert delta.runs_op_by_op == 0 and delta.programs_compiled == 1
    with ll.options(reproducible=True):
        np.testing.assert_array_equal(program().read(), first)


def test_reproducible_is_of_the_thread() -> None:
    forms: dict[int, str] = {}

    def run(ops: int, value: Any, **options: bool) -> None:
        with ll.options(**options):
            value.read()
            record = next(r for r in reversed(ll.evaluations()) if r.ops == ops)
            forms[ops] = record.form

    def chain(n: int) -> Any:
        value = host(X)
        for _ in range(n):
            value = rec("sin", value)
        return value

    in_threads([lambda: run(5, chain(5), reproducible=True), lambda: run(6, chain(6))])
    assert forms == {5: "compiled", 6: "op_by_op"}


@pytest.mark.slow
def test_a_program_whose_run_takes_longer_than_compiling_is_compiled_first() -> None:
    pytest.importorskip("jaxlib.xla_client")  # whose start would have to be paid, too
    x = np.linspace(0.0, 1.0, 5_000_000)
    value, wanted = host(x, np.float64), x
    for _ in range(6):
        value, wanted = rec("square", value), wanted * wanted
    found = value.read()
    record = ll.last_evaluation()
    assert record is not None and (record.form, record.found) == ("compiled", "compiled")
    np.testing.assert_allclose(found, wanted, rtol=1e-13, atol=1e-300)


def test_without_compiling_beside_a_program_waits_for_its_compiler_once_it_has_paid() -> None:
    x = np.linspace(0, 1, 300_000)

    def slow() -> Any:
        return rec("sum", rec("sin", rec("exp", host(x, np.float64))), axes=(0,), keepdims=False)

    wanted = np.sin(np.exp(x)).sum()
    with ll.options(compiled_beside=0), counted() as delta:
        end = time.monotonic() + LONG
        runs = 0
        while True:
            np.testing.assert_allclose(slow().read(), wanted, rtol=1e-12)
            record = ll.last_evaluation()
            assert record is not None and time.monotonic() < end
            if record.form == "compiled":
                break
            runs += 1
    assert runs >= 1 and record.found == "compiled"
    assert delta.background_compiles == 0 and delta.programs_compiled == 1


@pytest.mark.slow
def test_a_program_on_disk_is_loaded_once_that_has_paid() -> None:
    code = """
        import numpy as np, lazyloom as ll
        from lazyloom.execute import costs
        from lazyloom.execute.compiling import background
        costs.WORTH, costs.PART, costs.SLOWER = 0.0, 0.0, float('inf')
        costs.EAGER_FACTOR = 1e9
        x = ll.from_host(np.linspace(0, 1, 2000))
        form = "op_by_op"
        runs = 0
        while form == "op_by_op" and runs < 100_000:
            y = ll.record("exp", [ll.record("sin", [ll.record("exp", [x])])])
            np.testing.assert_allclose(y.read(), np.exp(np.sin(np.exp(x.read()))), rtol=1e-13)
            form = ll.last_evaluation().form
            runs += 1
        print(form, ll.stats()["programs_from_disk"], ll.stats()["background_compiles"])
        """
    assert script(code, timeout=LONG).stdout.split()[::2] == ["compiled", "1"]
    assert script(code, timeout=LONG).stdout.split() == ["compiled", "1", "0"]


def test_a_backend_without_kernels_runs_programs_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend(), "is_host", lambda: False)
    assert check(program(), expected()).form == "compiled"


# results


def test_results_share_no_memory_with_operands_and_with_each_other() -> None:
    data = X.copy()
    x = ll.from_host(data)
    flat = rec("reshape", x, shape=(12,))
    turned = rec("transpose", x, axes=(1, 0))
    same = rec("identity", x)
    found = [v.read() for v in (flat, turned, same, x)]
    for k, a in enumerate(found):
        a[...] = k
    for value, wanted in ((flat, X.ravel()), (turned, X.T), (same, X), (x, X)):
        np.testing.assert_array_equal(value.read(), wanted)


def test_an_interrupted_kernel_leaves_its_values_pending(monkeypatch: pytest.MonkeyPatch) -> None:
    value = program(11.0)
    with monkeypatch.context() as patch:
        def interrupted(*_: Any) -> None:
            raise KeyboardInterrupt

        patch.setattr(find, "kernel_of", interrupted)
        with pytest.raises(KeyboardInterrupt):
            # of types that no other test asks for: kernels outlive programs
            rec("atanh", rec("tanh", host(X.reshape(2, 1, 6)))).read()
    check(value, expected(11.0))


def test_an_op_whose_kernel_fails_runs_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    from lazyloom.host.kernel import HostKernel

    def broken(*_: Any) -> Any:
        raise TypeError("a kernel's mistake")

    monkeypatch.setattr(find, "kernel_of", lambda *_: HostKernel(broken, (False,)))
    with counted() as delta:
        # at types that no other test asks for
        x = np.full((5, 1, 3), 0.25, np.float32)
        np.testing.assert_allclose(rec("sinh", host(x)).read(), np.sinh(x), rtol=1e-6)
    assert delta.host_kernels_failed == 1
    with ll.options(fallbacks="error"), pytest.raises(ll.errors.ExecutionError) as caught:
        rec("sinh", host(np.full((5, 1, 4), 0.25, np.float32))).read()
    text = str(caught.value)
    assert "the kernel of the host for the op sinh failed: TypeError: a kernel's mistake" in text
    assert 'options(fallbacks="error") is in force' in text


def test_kernels_are_given_none_for_operands_that_are_absent() -> None:
    """One in the middle: those that follow keep their places."""
    x, bias = np.arange(24, dtype=np.float32).reshape(2, 3, 1, 4), np.full(4, 3, np.float32)
    with counted() as delta:
        for _ in range(3):
            found = rec("layer_norm", host(x), None, host(bias), normalized_ndim=1, eps=1e-5)
            np.testing.assert_allclose(found.read().mean(-1), np.full((2, 3, 1), 3), rtol=1e-5)
    assert delta.host_kernels_failed == 0


# where the compiled program is slower


def test_a_program_that_is_slower_compiled_runs_op_by_op_again(
    monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(costs, "SLOWER", 0.0)
    with counted() as delta:
        becomes_whole(program, expected())
        for k in range(5):
            assert check(program(k + 0.5), expected(k + 0.5)).form == "compiled"
        for k in range(20):
            record = check(program(k + 0.5), expected(k + 0.5))
            assert record.form == "op_by_op"
    assert delta.demotions == delta.promotions == 1 and delta.background_failures == 0
    assert "the compiled program was slower" in record.text()
    with ll.options(reproducible=True):
        assert check(program(9.5), expected(9.5)).form == "compiled"


def test_what_was_slower_once_is_compared_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(costs, "SLOWER", 0.0)
    monkeypatch.setattr(costs, "AGAIN", 20)
    becomes_whole(program, expected())
    for _ in range(5):
        check(program(), expected())
    monkeypatch.setattr(costs, "SLOWER", math.inf)
    found = [check(program(), expected()).form for _ in range(40)]
    assert found == ["op_by_op"] * 20 + ["compiled"] * 20


def test_what_was_slower_does_not_wait_for_a_compiler_where_more_of_it_is_wanted(
    monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(costs, "SLOWER", 0.0)
    monkeypatch.setattr(costs, "AGAIN", 5)
    becomes_whole(program, expected())
    for _ in range(8):
        check(program(), expected())
    with counted() as delta:
        for _ in range(3):
            inner = rec("exp", host(X))
            record = check(rec("tanh", rec("add", inner, number(1.5))), expected())
            assert record.form == "op_by_op"
    assert delta.programs_compiled == 0 and delta.compile_wait_us == 0


class Loop:
    """Runs of the program in a loop, whose time is told by the form of each."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, whole: float, pieces: float) -> None:
        self.seconds = {"compiled": whole, "op_by_op": pieces}
        self.now = 0.0
        monkeypatch.setattr(costs, "SLOWER", 1.0)
        monkeypatch.setattr(costs, "NEAR", 0.0)
        monkeypatch.setattr(costs, "FAR", math.inf)
        monkeypatch.setattr(ab_timing, "clock", lambda: self.now)
        becomes_whole(program, expected())

    def run(self, count: int, read: bool = True) -> list[str]:
        found = []
        for k in range(count):
            value = program(k + 0.5)
            if read:
                form = check(value, expected(k + 0.5)).form
            else:
                ll.sync(value)
                form = ll.evaluations(1)[0].form
            self.now += self.seconds[form]
            found.append(form)
        return found


#: runs that are waited for, and those of a trial
COMPARED, TRIAL = 5, 2 * ab_timing.TURNS * ab_timing.RUNS


@pytest.mark.parametrize("read", [True, False])
def test_a_program_stays_in_the_form_in_which_its_loop_goes_round_more_quickly(
    read: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop = Loop(monkeypatch, whole=2.0, pieces=1.0)
    turns = ["compiled"] * ab_timing.RUNS + ["op_by_op"] * ab_timing.RUNS
    with counted() as delta:
        found = loop.run(COMPARED + TRIAL + costs.AGAIN // 2, read)
    assert found == [
        *["compiled"] * COMPARED, *turns * ab_timing.TURNS, *["op_by_op"] * (costs.AGAIN // 2)]
    assert delta.demotions == 1


def test_a_program_that_won_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    loop = Loop(monkeypatch, whole=1.0, pieces=1.5)
    with counted() as delta:
        found = loop.run(COMPARED + TRIAL + costs.AGAIN)
        assert found[COMPARED + TRIAL :] == ["compiled"] * costs.AGAIN
        loop.seconds["op_by_op"] = 0.5
        found = loop.run(TRIAL + costs.AGAIN // 2)
        assert found[TRIAL + 2 :] == ["op_by_op"] * (costs.AGAIN // 2 - 2)
    assert delta.demotions == 1


def test_a_whole_program_that_grows_slower_is_tried_again(
    monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(costs, "AGAIN", 1 << 20)
    loop = Loop(monkeypatch, whole=1.0, pieces=1.5)
    loop.run(COMPARED + TRIAL)
    soon = costs.LOOK * (costs.LATE_LOOKS + 2)
    assert loop.run(soon) == ["compiled"] * soon
    # now and then it waits for something else
    for k in range(2 * costs.LATE_LOOKS):
        loop.now += 1000.0 * (k % 2)
        assert loop.run(costs.LOOK) == ["compiled"] * costs.LOOK
    # somebody else wants the processors
    loop.seconds["compiled"] = 2.0
    found = loop.run(soon + TRIAL)
    assert "op_by_op" in found[:soon] and found[-costs.LOOK :] == ["op_by_op"] * costs.LOOK


def test_a_loop_that_is_slow_in_any_form_is_tried_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(costs, "AGAIN", 1 << 20)
    loop = Loop(monkeypatch, whole=1.0, pieces=1.5)
    loop.run(COMPARED + TRIAL)
    loop.seconds = {"compiled": 3.0, "op_by_op": 4.0}
    soon = costs.LOOK * (costs.LATE_LOOKS + 2)
    found = loop.run(soon + TRIAL)
    assert found.count("op_by_op") == TRIAL // 2
    loop.seconds = {"compiled": 9.0, "op_by_op": 12.0}
    assert loop.run(2 * soon) == ["compiled"] * 2 * soon


def test_products_use_the_threads_that_the_loop_is_quickest_with(
    monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[int] = []
    monkeypatch.setattr(costs, "AGAIN", 1 << 20)
    monkeypatch.setattr(costs, "SLOWER", 1.0)
    monkeypatch.setattr(costs, "NEAR", 0.0)
    monkeypatch.setattr(costs, "FAR", math.inf)
    assert blas_threads.several() in (True, False)  # it has looked for the library
    monkeypatch.setattr(blas_threads._library, "get", lambda: calls[-1] if calls else 2)
    monkeypatch.setattr(blas_threads._library, "set", calls.append)
    now = 0.0
    monkeypatch.setattr(ab_timing, "clock", lambda: now)
    x = np.random.default_rng(0).uniform(0.5, 1.0, (96, 96)).astype(np.float32)
    wanted = x @ x

    def product() -> Any:
        return rec("matmul", host(x), host(x))

    def form() -> str:
        """In which form it ran: how many threads are set, and set back, tells the pieces' apart."""
        calls.clear()
        np.testing.assert_allclose(product().read(), wanted, rtol=1e-4, atol=1e-4)
        record = ll.last_evaluation()
        assert record is not None
        return record.form if record.form == "compiled" else "one" if calls == [1, 2] else "several"

    becomes_whole(product, wanted)
    seconds = {"compiled": 3.0, "one": 2.0, "several": 1.0}
    entry = max(memory.entries(), key=lambda e: e.used)
    history = entry.history
    # as if they were brief: with much else to do, the threads of BLAS wait for each other
    history.recent = [1e-4]
    # a run that ends before it is read was not waited for, and is not compared
    for _ in range(10 * COMPARED + 3 * ab_timing.TURNS * ab_timing.RUNS):
        if history.demotions:
            break
        now += seconds[form()]
    assert form() == "several"
    assert history.several_threads and 0.0 < history.bound < 1.0
    # whatever else this machine does
    history.bound, history.late = math.inf, 0
    for _ in range(2 * costs.LATE):
        assert form() == "several"
    # as if others wanted the processors, now and then
    for k in range(costs.LATE):
        history.bound = 0.0 if k % 2 else math.inf
        form()
    assert form() == "several" and history.several_threads
    history.bound = 0.0
    for _ in range(costs.LATE):
        form()
    assert form() == "one" and not history.several_threads


def test_a_run_that_fails_on_trial_fails_where_it_is_read(
    monkeypatch: pytest.MonkeyPatch
) -> None:
    loop = Loop(monkeypatch, whole=1.0, pieces=1.5)
    loop.run(COMPARED + ab_timing.RUNS - 1)

    def broken(array: Any) -> None:
        raise RuntimeError("the device is gone")

    value = program()
    value.read()
    with monkeypatch.context() as patch:
        patch.setattr(backend(), "wait", broken)
        following = rec("tanh", rec("add", rec("exp", value), number(1.5)))
        ll.sync(following)
    np.testing.assert_allclose(following.read(), expected(1.5, expected()), rtol=1e-5)


def test_a_program_that_is_no_slower_compiled_stays_so() -> None:
    becomes_whole(program, expected())
    with counted() as delta:
        for k in range(10):
            check(program(k + 0.5), expected(k + 0.5))
    assert delta.demotions == 0 and delta.executions == 10


def test_a_program_that_goes_on_repeating_is_compiled_while_nothing_else_is() -> None:
    def chain() -> Any:
        value = host(X)
        for k in range(120):
            value = rec(("sin", "tanh", "cos")[k * k % 7 % 3], value)
        return value

    runs = 0
    while background.idle():
        chain().read()
        runs += 1
        assert runs <= costs.STEADY_RUNS + 1


# what compiles beside the program


def test_a_failed_compilation_is_noted_and_the_program_goes_on_in_pieces(
    monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(request: Any) -> Any:
        raise ValueError("no such luck")

    monkeypatch.setattr(backend(), "compiles_elsewhere", lambda: False)
    monkeypatch.setattr(backend(), "compile", failing)
    with counted() as delta:
        for k in range(5):
            check(program(k + 0.5), expected(k + 0.5))
        assert background.wait(LONG)
        for k in range(50):
            record = check(program(k + 0.5), expected(k + 0.5))
            assert record.form == "op_by_op"
    assert delta.background_failures == 1 and delta.background_compiles == 0
    site, error = background.failures()[-1]
    assert str(error) == "no such luck" and "test_forms.py" in site
    assert "compiling failed" in record.text()
    with ll.options(fallbacks="error"), pytest.raises(ll.errors.FallbackError) as caught:
        program(0.5).read()
    assert "runs op by op, as it could not be compiled (no such luck) at " in str(caught.value)


def test_many_programs_at_once() -> None:
    """The queue is bounded, and what gives way is asked for again."""
    def value(k: int) -> Any:
        found = host(X)
        for bit in range(8):
            found = rec("sin" if k >> bit & 1 else "tanh", found)
        return found

    def wanted(k: int) -> np.ndarray:
        found = X
        for bit in range(8):
            found = np.sin(found) if k >> bit & 1 else np.tanh(found)
        return found

    started = time.monotonic()
    with ll.options(compiled_beside=6), counted() as delta:
        for _ in range(5):
            for k in range(200):
                np.testing.assert_allclose(value(k).read(), wanted(k), rtol=1e-5)
                assert len(background._compiler.queue) <= 6
        assert background.wait(LONG)
    assert delta.background_failures == 0 and delta.background_compiles >= 1
    assert time.monotonic() - started < LONG


def test_threads_that_run_one_program_get_their_values() -> None:
    def run(seed: int) -> None:
        for k in range(40):
            shift = float(seed * 40 + k)
            np.testing.assert_allclose(program(shift).read(), expected(shift), rtol=2e-6)

    in_threads([lambda s=s: run(s) for s in range(4)], LONG)  # type: ignore[misc]


BEGIN = """
    import os, resource
    if os.environ.get("LAZYLOOM_TEST_LIMIT"):
        resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024))
    import os, signal, sys, time, warnings
    warnings.simplefilter("ignore")  # of forks of a process that imported JAX
    import numpy as np, lazyloom as ll
    from lazyloom.execute import costs
    from lazyloom.execute.compiling import background
    costs.WORTH, costs.PART, costs.SLOWER, costs.START_EARLY = 0.0, 0.0, float('inf'), 0.0
    costs.EAGER_FACTOR = 1e9
    x = ll.from_host(np.full(4, 0.5, np.float32))
    w = np.full(4, 0.5, np.float32)

    def run(n=60):
        y, e = x, w
        for _ in range(n):
            y, e = ll.record("sin", [y]), np.sin(e)
        np.testing.assert_allclose(y.read(), e, rtol=1e-5)
        return ll.last_evaluation().form

    deadline = time.time() + 100
    while background.idle() and run() == "op_by_op":
        assert time.time() < deadline
    assert not background.idle()
"""


def begun(rest: str, quiet: bool = True, **environment: str) -> list[str]:
    """Run code in a process while a program of it is being compiled."""
    import textwrap

    started = time.monotonic()
    done = script(textwrap.dedent(BEGIN) + textwrap.dedent(rest), timeout=LONG, **environment)
    assert not (quiet and done.stderr), done.stderr
    assert time.monotonic() - started < LONG
    return done.stdout.split()


def test_an_exit_in_the_middle() -> None:
    assert begun("print('end')") == ["end"]


@pytest.mark.slow
def test_an_exit_in_the_middle_of_compiling_on_the_thread() -> None:
    assert begun("""
    assert background.wait(100)
    os.environ["LAZYLOOM_COMPILER"] = "0"
    background._compiler.process.close()
    while background.idle():
        run(61)
    print('end')
    """) == ["end"]


def test_an_error_that_ends_the_process_in_the_middle() -> None:
    assert begun("""
    try:
        ll.record("add", [x])
    except ll.LoomError as error:
        print(type(error).__name__)
    """) == ["ArgumentError"]


@pytest.mark.slow
def test_a_fork_in_the_middle() -> None:
    assert begun("""
    pid = os.fork()
    if pid == 0:
        try:
            ll.record("add", [x, x]).read()
            print("a value", flush=True)
        except ll.LoomError as error:
            print("refused", flush=True)
        os._exit(0)
    os.waitpid(pid, 0)
    run()
    assert background.wait(100)
    print(run())
    """) == ["refused", "compiled"]


@pytest.mark.slow
def test_a_forked_child_does_not_keep_the_compiler_process() -> None:
    assert begun("""
    while not background._compiler.process.pid:
        time.sleep(0.01)
    other = background._compiler.process.pid
    pid = os.fork()
    if pid == 0:
        time.sleep(100)
        os._exit(0)
    try:
        assert background.wait(100)
        background._compiler.process.close()
        end = time.time() + 60
        while os.path.exists(f"/proc/{other}"):
            assert time.time() < end, "it waits for the child"
            time.sleep(0.05)
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    print("ended")
    """) == ["ended"]


@pytest.mark.slow
def test_ctrl_c_in_the_middle() -> None:
    hits, form = begun("""
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    hits = 0
    for k in range(40):
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.002 + 0.0002 * k)
            end = time.time() + 1
            while time.time() < end:
                run()
        except KeyboardInterrupt:
            hits += 1
    assert background.wait(100)
    while run() != "compiled":
        background.wait(100)
    print(hits, run())
    """, quiet=False)
    # an interrupted destructor of the interpreted core swallows some
    assert int(hits) >= 1 and form == "compiled"


@pytest.mark.slow
def test_a_disk_that_is_full() -> None:
    assert begun("""
    assert background.wait(100)
    run()
    background.wait(100)
    print(run())
    """, LAZYLOOM_TEST_LIMIT="1") == ["compiled"]
