"""Line 4: a scalar that changes costs no compile, and no result depends on what ran before."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lazyloom as ll
from tests.contract.helpers import counted, host, number, tensor


def rec(op: str, *operands: Any, **attributes: Any) -> Any:
    return ll.record(op, operands, attributes)


def train(steps: int, rates: list[float], momenta: list[float]) -> list[int]:
    """Steps of SGD with momentum; the number of programs compiled in each."""
    rng = np.random.default_rng(0)
    data = rng.normal(size=(32, 8)).astype(np.float32)
    labels = (data @ rng.normal(size=(8, 1))).astype(np.float32)
    w = tensor(rng.normal(size=(8, 1)) * 0.1)
    v = ll.Tensor(ll.source("full", [number(0.0)], {"shape": (8, 1)}))
    compiled, losses = [], []
    for step in range(steps):
        with counted() as delta:
            leaf = w.value.as_leaf("w")
            error = rec("subtract", rec("matmul", host(data), leaf), host(labels))
            loss = rec("mean", rec("multiply", error, error), axes=None, keepdims=False)
            (grad,) = ll.gradients([loss], [leaf])
            with_momentum = rec("add", rec("multiply", v.value, number(momenta[step])), grad)
            v._write(with_momentum)
            w._write(rec("subtract", leaf.detach(), rec("multiply", v.value, number(rates[step]))))
            del leaf, error, grad, with_momentum
            losses.append(float(loss.read()))
        compiled.append(delta.programs_compiled)
        assert delta.executions <= 2 if step == 0 else delta.executions == 1
    assert losses[-1] < losses[0]
    return compiled


@pytest.mark.compiled
def test_a_training_loop_with_changing_rates_compiles_in_its_first_step_only(
    fresh_cache: Any,
) -> None:
    steps = 8
    compiled = train(steps, [0.05 * 0.9**k for k in range(steps)],
                     [0.5 + 0.05 * k for k in range(steps)])  # fmt: skip
    assert compiled[0] >= 1
    assert compiled[1:] == [0] * (steps - 1)


@pytest.mark.compiled
def test_numbers_of_every_kind_are_parameters(fresh_cache: Any) -> None:
    cases = [
        (ll.dtypes.float32, np.float32, [0.5, 2.0, 1e30, float("inf"), float("nan"), -0.0]),
        (ll.dtypes.float64, np.float64, [0.1, 1e-300, 7.0]),
        (ll.dtypes.int64, np.int64, [2, -7, 2**62]),
        (ll.dtypes.uint8, np.uint8, [2, 200, 255]),
        (ll.dtypes.complex64, np.complex64, [2 + 3j, -1j, 0.5 + 0j]),
        (ll.dtypes.bfloat16, ll.dtypes.bfloat16.numpy, [2.0, 3.0]),
    ]
    for dtype, np_dtype, numbers in cases:
        x = np.array([1, 3]).astype(np_dtype)
        with counted() as delta:
            for n in numbers:
                y = rec("add", ll.from_host(x), ll.Scalar(n, dtype)).read()
                np.testing.assert_array_equal(y, x + np.array(n).astype(np_dtype))
        assert delta.programs_compiled == 1, dtype


@pytest.mark.compiled
def test_slices_at_changing_places_compile_once(fresh_cache: Any) -> None:
    data = np.arange(40, dtype=np.float32).reshape(20, 2)
    x = tensor(data)
    with counted() as delta:
        for i in range(0, 20, 4):
            part = x._alias(ll.frontend.Slice((i, 0), (4, 2), (1, 1)))
            total = ll.apply("sum", [part], {"axes": (0,), "keepdims": False})
            np.testing.assert_array_equal(total.read(), data[i : i + 4].sum(0))
    assert delta.programs_compiled == 1


def test_writes_at_changing_places_compile_once(fresh_cache: Any) -> None:
    expected = np.zeros((6, 2), np.float32)
    x = tensor(expected)
    counts = []
    for i in range(6):
        with counted() as delta:
            row = x._alias(ll.frontend.Slice((i, 0), (1, 2), (1, 1)))
            row._write(ll.apply("add", [row, 2.0 + i]).value)
            expected[i] += 2 + i
            np.testing.assert_array_equal(x.read(), expected)
        counts.append(delta.programs_compiled)
    assert sum(counts) <= 2 and counts[2:] == [0] * 4


def test_results_do_not_depend_on_what_ran_before(fresh_cache: Any) -> None:
    x = np.random.default_rng(1).normal(size=10_000).astype(np.float32)

    def scaled(a: float, b: float) -> np.ndarray:
        result: np.ndarray = rec("multiply", rec("multiply", host(x), number(a)), number(b)).read()
        return result

    alone = scaled(0.1, 0.3)
    for a, b in ((0.2, 0.3), (0.1, 0.5), (1.0, 0.3), (0.1, 1.0), (1.0, 1.0), (0.0, 0.3)):
        scaled(a, b)
    for _ in range(3):
        np.testing.assert_array_equal(scaled(0.1, 0.3), alone)
    # what IEEE 754 says of the two products, each rounded
    np.testing.assert_array_equal(alone, (x * np.float32(0.1)) * np.float32(0.3))


def test_results_do_not_depend_on_which_temporaries_are_alive(fresh_cache: Any) -> None:
    x = np.random.default_rng(2).normal(size=1000).astype(np.float32)

    def run(keep: bool) -> np.ndarray:
        a = rec("multiply", host(x), number(0.1))
        b = rec("add", a, number(0.7))
        kept = [a] if keep else []
        del a
        result: np.ndarray = rec("multiply", b, b).read()
        del kept
        return result

    first = run(False)
    run(True)
    np.testing.assert_array_equal(run(False), first)


def test_run_time_numbers_that_stay_are_not_uploaded_again_and_zeros_keep_their_sign() -> None:
    def run(number: float) -> Any:
        x = ll.from_host(np.array([1.0, -1.0], np.float32))
        return rec("multiply", x, ll.Scalar(number, ll.dtypes.float32, bake=False)).read()

    signs = [np.signbit(run(n)).tolist() for n in (0.0, 0.0, -0.0, -0.0, 0.0)]
    assert signs == [[False, True]] * 2 + [[True, False]] * 2 + [[False, True]]
