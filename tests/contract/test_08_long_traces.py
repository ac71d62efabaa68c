"""Line 8: a million operations without a read neither overflow, exhaust memory nor compile on."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import lazyloom as ll
from tests.contract.helpers import counted, host, number, script

MILLION = """
    import json, sys, time
    import numpy as np, lazyloom as ll

    def peak_kib():
        with open("/proc/self/status") as f:
            return int(next(line for line in f if line.startswith("VmHWM")).split()[1])

    body, count = sys.argv[1], int(sys.argv[2])
    x = ll.from_host(np.zeros(16, np.float32))
    y = ll.from_host(np.arange(16, dtype=np.float32))
    one = ll.from_host(np.ones(16, np.float32))
    expected = np.zeros(16, np.float32)
    started = time.perf_counter()
    if body == "no repetition":
        # a linear congruential generator of full period picks each op and its operand
        names = ["add", "subtract", "maximum", "minimum"]
        check = [np.add, np.subtract, np.maximum, np.minimum]
        given, data = [y, one], [np.arange(16, dtype=np.float32), np.ones(16, np.float32)]
        state = 12345
        for _ in range(count):
            state = (state * 1103515245 + 12345) & 0x7FFFFFFF
            k, o = (state >> 16) & 3, (state >> 20) & 1
            x = ll.record(names[k], [x, given[o]])
            expected = check[k](expected, data[o])
    else:
        size, done = int(body), 0
        if size == 1:
            # exact in float32: 2**24 is more than a million
            for _ in range(count):
                x = ll.record("add", [x, one])
            expected += count
        else:
            while done < count:
                for i in range(min(size, count - done)):
                    if i % 3 == 0:
                        x = ll.record("subtract", [x, one])
                        expected -= 1
                    elif i % 3 == 1:
                        x = ll.record("add", [x, one])
                        expected += 1
                    else:
                        x = ll.record("maximum", [x, y])
                        expected = np.maximum(expected, np.arange(16, dtype=np.float32))
                done += size
    recorded = time.perf_counter() - started
    result = x.read()
    total = time.perf_counter() - started
    stats = dict(ll.stats())
    del x
    ll.sync(wait=True)
    print(json.dumps({
        "right": bool((result == expected).all()), "recorded": recorded, "total": total,
        "peak_mib": peak_kib() // 1024, "compiled": stats["programs_compiled"],
        "ops": stats["ops_executed"], "executions": stats["executions"]}))
"""


def a_million(body: str, timeout: float, count: int = 1_000_000) -> dict[str, Any]:
    done = script(MILLION, body, str(count), timeout=timeout)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    print(f"\n{count} ops, body {body}: {found}")
    assert found["right"], found
    assert found["ops"] == count
    assert found["peak_mib"] < 4096, found
    return found


#: interpreted, recording a million takes four times as long
ONE_BODY = pytest.mark.once("one length of a body shows that a million is not too many")


@pytest.mark.slow
@pytest.mark.parametrize("body", [
    pytest.param(1, marks=ONE_BODY), 7, pytest.param(301, marks=ONE_BODY)])
def test_a_million_repeating_ops_without_a_read(body: int, tmp_path: Any) -> None:
    found = a_million(str(body), 400)
    # with whatever the disk cache already has, so fewer is fine
    assert found["compiled"] <= 3, found


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.once("nearly all of its time is XLA's, which compiles ever new programs")
def test_a_million_ops_without_any_repetition(thorough: bool) -> None:
    """A fifth of them otherwise: ever new programs take all the time."""
    fifths = 5 if thorough else 1
    found = a_million("no repetition", 900, 200_000 * fifths)
    assert found["compiled"] <= 20 * fifths, found


@pytest.mark.parametrize("body", [1, 2, 7, 50, 301, 333])
def test_bodies_settle_on_three_programs(body: int, fresh_cache: Any) -> None:
    one = host(np.ones(4))
    x = host(np.zeros(4))
    expected, count = np.zeros(4, np.float32), 0
    with counted() as delta:
        while count < 8_000:
            for i in range(body):
                x = ll.record("subtract" if i % 5 == 3 else "add", [x, one])
                expected += -1 if i % 5 == 3 else 1
            count += body
        np.testing.assert_array_equal(x.read(), expected)
    assert delta.ops_executed == count
    assert delta.programs_compiled <= 3


def test_two_loops_in_a_row_settle_each(fresh_cache: Any) -> None:
    one = host(np.ones(4))
    x = host(np.zeros(4))
    with counted() as delta:
        for _ in range(4000):
            x = ll.record("add", [x, one])
        for _ in range(2000):
            x = ll.record("subtract", [x, one])
            x = ll.record("abs", [x])
        np.testing.assert_array_equal(x.read(), np.full(4, 2000.0))
    assert delta.programs_compiled <= 7


def test_changing_scalars_do_not_hide_the_repetition(fresh_cache: Any) -> None:
    x = host(np.zeros(4))
    expected = np.zeros(4, np.float32)
    with counted() as delta:
        for k in range(5000):
            rate = 2.0 + k % 97
            x = ll.record("add", [x, number(rate)])
            expected += np.float32(rate)
        np.testing.assert_array_equal(x.read(), expected)
    assert delta.programs_compiled <= 3


def test_a_loop_that_keeps_a_list_of_its_results(fresh_cache: Any) -> None:
    one = host(np.ones(4))
    x = host(np.zeros(4))
    kept = []
    with counted() as delta:
        for _ in range(6000):
            x = ll.record("add", [x, one])
            kept.append(x)
        ll.sync(wait=True)
    assert delta.programs_compiled <= 5
    for k in (0, 1, 999, 1000, 5999):
        np.testing.assert_array_equal(kept[k].read(), np.full(4, k + 1.0))


@pytest.mark.compiled
def test_a_wide_graph_is_one_program(fresh_cache: Any) -> None:
    xs = [host(np.full(2, k + 2.0)) for k in range(200)]
    with counted() as delta:
        ys = [ll.record("multiply", [ll.record("add", [x, x]), x]) for x in xs]
        while len(ys) > 1:
            ys = [ll.record("add", pair) if len(pair) == 2 else pair[0]
                  for pair in (ys[i : i + 2] for i in range(0, len(ys), 2))]  # fmt: skip
        np.testing.assert_allclose(
            ys[0].read(), np.full(2, sum(2 * (k + 2.0) ** 2 for k in range(200))), rtol=1e-6)
    assert delta.executions == 1


def test_a_long_chain_is_released_without_recursion() -> None:
    with counted() as delta:
        x = host(np.zeros(4))
        first = x
        for _ in range(900):
            x = ll.record("add", [x, first])
        del x
        ll.sync(wait=True)
    assert delta.executions == 0
    # and a tape of history that outlives its run
    w = host(np.ones(4)).as_leaf("w")
    y = w
    for _ in range(30_000):
        y = ll.record("negative", [y])
    np.testing.assert_array_equal(y.read(), np.ones(4))
    del y
    np.testing.assert_array_equal(ll.record("negative", [w]).read(), -np.ones(4))


@pytest.mark.parametrize("length", [400, 3000, 8000])
def test_the_gradient_of_a_long_chain(length: int, fresh_cache: Any) -> None:
    """The forward part was cut, so backward computes it again, a segment at a time."""
    w = host(np.ones(4)).as_leaf("w")
    y = w
    for _ in range(length):
        y = ll.record("multiply", [y, number(1.0005)])
    loss = ll.record("sum", [y], {"axes": None, "keepdims": False})
    del y
    with counted() as delta:
        (g,) = ll.gradients([loss], [w], retain_graph=False)
        assert g is not None
        np.testing.assert_allclose(g.read(), np.full(4, 1.0005**length), rtol=1e-3)
    assert delta.programs_compiled <= 8


@pytest.mark.compiled
@pytest.mark.once("the memory is XLA's while it compiles")
@pytest.mark.parametrize("shape", [(), (2,), (4,), (8,), (1000,)])
@pytest.mark.parametrize("op", ["add", "multiply"])
def test_a_long_chain_of_one_op_compiles_in_bounded_memory(
    op: str, shape: Any, thorough: bool
) -> None:
    """One fusion of 600 additions to a vector of 4 took XLA's CPU code tens of gigabytes."""
    if (op == "add") != (shape in ((), (4,))) and not thorough:
        pytest.skip("with --thorough: both ops at every shape")
    done = script(
        """
        import resource, sys
        import numpy as np, lazyloom as ll
        op, shape = sys.argv[1], eval(sys.argv[2])
        x = ll.from_host(np.ones(shape, np.float32))
        ll.record("negative", [x]).read()  # starts a thread for each core, with a stack each
        with open("/proc/self/status") as f:
            used = int(next(line for line in f if line.startswith("VmData")).split()[1]) << 10
        resource.setrlimit(resource.RLIMIT_DATA, (used + (3 << 30), used + (3 << 30)))
        expected = np.ones(shape, np.float32)
        f = {"add": np.add, "multiply": np.multiply}[op]
        for k in range(900):
            number = 1.0 + (k % 7) / 8 if k % 2 else 1 / (1.0 + (k % 7) / 8)
            x = ll.record(op, [x, ll.Scalar(number, ll.dtypes.float32)])
            expected = f(expected, np.float32(number))
        np.testing.assert_array_equal(x.read(), expected)
        """, op, repr(shape), timeout=100)
    assert done.returncode == 0
