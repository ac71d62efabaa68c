"""Calls of kernels that were written down run in C as they do in Python."""

from __future__ import annotations

import random
from array import array
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from lazyloom.errors import ExecutionError
from lazyloom.execute.op_by_op.schedule import of_types
from lazyloom.execute.op_by_op.schedule import run_calls as in_python
from lazyloom.extension import NATIVE
from lazyloom.host import find
from lazyloom.host.kernel import HostKernel
from tests.contract.helpers import host, rec

RUNS: list[Any] = [
    pytest.param(in_python, id="python"),
    pytest.param(getattr(NATIVE, "run_calls", None), id="c", marks=pytest.mark.skipif(
        NATIVE is None, reason="the extension in C was not compiled"))]  # fmt: skip

Run = Callable[..., list[Any]]


def ints(*numbers: int) -> bytes:
    return array("i", numbers).tobytes()


def split(x: Any, count: Any) -> tuple[Any, ...]:
    return tuple(x + k for k in range(int(count)))


@pytest.mark.parametrize("run", RUNS)
def test_results_go_to_their_places(run: Run) -> None:
    x, two = np.arange(3.0), np.array(2)
    # two results of a call, a sum of them, and the first is let go of
    code = ints(0, 2, 0, 1, -2, 2, 3, 1, 2, 2, 3, 4, -1, 2)
    table = [x, two, None, None, None]
    found = run(code, [split, np.add], table, 2, ints(4, 0, 3, 0))
    np.testing.assert_array_equal(found[0], 2 * x + 1)
    np.testing.assert_array_equal(found[1], x + 1)
    assert table[2] is None


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.bool_, np.complex64, ml_dtypes.bfloat16])
def test_leaves_without_dimensions_are_scalars(run: Run, dtype: Any) -> None:
    seen: list[Any] = []

    def kernel(x: Any, y: Any, other: Any) -> Any:
        seen.extend((x, y, other))
        return x

    (found,) = run(ints(0, 3, 0, 1, 2, 3), [kernel],
                   [np.array(1, dtype), np.ones((1,), dtype), np.array(1, dtype), None], 2,
                   ints(3, 0))  # fmt: skip
    assert type(seen[0]) is np.dtype(dtype).type
    assert isinstance(seen[1], np.ndarray) and isinstance(seen[2], np.ndarray)
    assert isinstance(found, np.ndarray) and found.shape == () and found.dtype == dtype


@pytest.mark.parametrize("run", RUNS)
def test_results_have_memory_of_their_own_row_by_row(run: Run) -> None:
    x = np.arange(6.0).reshape(2, 3)
    plain, shared, turned = run(
        ints(0, 1, 0, 1), [lambda a: a.T], [x, None], 1, ints(0, 0, 0, 1, 1, 0))
    assert plain is x
    assert shared is not x and not np.shares_memory(shared, x)
    assert turned.flags.c_contiguous and not np.shares_memory(turned, x)
    np.testing.assert_array_equal(turned, x.T)
    empty = np.empty((0, 3)).T
    (found,) = run(b"", [], [empty], 1, ints(0, 0))
    assert found.shape == (3, 0)


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("count", [0, 1, 31, 32, 33, 500])
def test_calls_of_many_operands(run: Run, count: int) -> None:
    table: list[Any] = [np.full((1,), float(k)) for k in range(count)]
    (found,) = run(
        ints(0, count, *range(count), count), [lambda *x: np.sum(x, axis=0, initial=0.0)],
        [*table, None], count, ints(count, 0))
    assert float(np.sum(found)) == count * (count - 1) / 2


@pytest.mark.parametrize("run", RUNS)
def test_what_a_kernel_raises_goes_on(run: Run) -> None:
    def kernel(x: Any) -> Any:
        raise ZeroDivisionError("no")

    with pytest.raises(ZeroDivisionError, match="no"):
        run(ints(0, 1, 0, 1), [kernel], [np.ones(2), None], 1, ints(1, 0))


@pytest.mark.skipif(NATIVE is None, reason="the extension in C was not compiled")
@pytest.mark.parametrize(("code", "results", "expected"), [
    (ints(0, 1, 7, 1), ints(1, 0), IndexError), (ints(0, 1, 0, 9), ints(1, 0), IndexError),
    (ints(0, 1, 0, 1), ints(5, 0), IndexError), (ints(0, 1, -3, 1), ints(1, 0), IndexError),
    (ints(0, 1, 0), ints(1, 0), ValueError), (ints(0), ints(1, 0), ValueError),
    (ints(3, 1, 0, 1), ints(1, 0), ValueError), (ints(0, 1, 0, -2, 1), ints(1, 0), ValueError),
    (ints(0, 1, 0, -1, 1), ints(1, 0), TypeError), (ints(1, 1, 0, -2, 0, 1), b"", ValueError),
    (b"abc", ints(1, 0), TypeError), ([1], ints(1, 0), TypeError),
])  # fmt: skip
def test_code_that_is_wrong_is_an_error(code: Any, results: Any, expected: Any) -> None:
    """It is never from outside, but a mistake must not end the process."""
    kernels = [lambda x: 5, lambda x: (x, x, x)]
    with pytest.raises(expected):
        NATIVE.run_calls(code, kernels, [np.ones(2), None], 1, results)
    for wrong in ((), (b"", [], []), (b"", (), [], 0, b""), (b"", [], (), 0, b""),
                  (b"", [], [], 3, b""), (b"", [], [], "a", b"")):  # fmt: skip
        with pytest.raises((TypeError, IndexError)):
            NATIVE.run_calls(*wrong)


@pytest.mark.skipif(NATIVE is None, reason="the extension in C was not compiled")
@pytest.mark.parametrize("seed", range(20))
def test_random_calls_give_the_same_both_ways(seed: int) -> None:
    r = random.Random(seed)
    kernels: list[Any] = [np.add, np.negative, split, lambda a, b, c: a * b + c]
    leaves = r.randint(1, 4)
    first: list[Any] = [
        np.array(float(k)) if r.random() < 0.4 else np.arange(3.0) + k for k in range(leaves)]
    table: list[Any] = [*first, np.float64(2)]
    filled = list(range(leaves + 1))
    code: list[int] = []
    for _ in range(r.randint(1, 12)):
        k = r.randrange(4)
        if k == 2:
            places = [len(table), len(table) + 1]
            code += [2, 2, r.choice(filled), leaves, -2, *places]
        else:
            places = [len(table)]
            many = (2, 1, 0, 3)[k]
            code += [k, many, *r.choices(filled, k=many), *places]
        table += [None] * len(places)
        filled += places
        if r.random() < 0.2 and len(filled) > leaves + 2:
            gone = filled.pop(r.randrange(leaves + 1, len(filled)))
            code += [-1, gone]
    wanted = [n for p in r.choices(filled, k=3) for n in (p, r.randrange(2))]
    expected = in_python(ints(*code), kernels, list(table), leaves, ints(*wanted))
    found = NATIVE.run_calls(ints(*code), kernels, list(table), leaves, ints(*wanted))
    for a, b in zip(expected, found, strict=True):
        np.testing.assert_array_equal(a, b, strict=True)


@pytest.mark.parametrize("of", [
    pytest.param(of_types, id="python"),
    pytest.param(getattr(NATIVE, "of_types", None), id="c", marks=pytest.mark.skipif(
        NATIVE is None, reason="the extension in C was not compiled"))])  # fmt: skip
def test_types_of_results(of: Any) -> None:
    def types(*arrays: Any) -> tuple[Any, ...]:
        return tuple(part for x in arrays for part in (np.dtype(x.dtype.str), x.shape))

    some = [np.ones((2, 3), np.float32), np.array(1), np.ones((0, 4), np.bool_), np.ones(5)]
    assert of(some, types(*some)) and of([], ())
    half = [np.ones(3, ml_dtypes.bfloat16)]
    assert of(half, (np.dtype(ml_dtypes.bfloat16), (3,)))
    assert not of(half, (np.dtype(np.float16), (3,)))
    for other in (np.ones((2, 3)), np.ones((3, 2), np.float32), np.ones((2, 3, 1), np.float32),
                  np.ones(2, np.float32), np.float32(1), None, [1, 2]):
        assert not of([other, *some[1:]], types(*some))
    assert not of([np.ones(3, ">f8")], (np.dtype("<f8"), (3,)))


@pytest.mark.skipif(NATIVE is None, reason="the extension in C was not compiled")
@pytest.mark.parametrize("given", [
    (), ([], (), ()), ((), ()), ([1], ()), ([np.ones(2)], (np.dtype(float),)), ([], []),
    ([np.ones(2)], (np.dtype(float), (1 << 80,))),
])  # fmt: skip
def test_types_that_are_none_are_errors(given: Any) -> None:
    with pytest.raises((TypeError, OverflowError)):
        NATIVE.of_types(*given)


@pytest.mark.op_by_op
@pytest.mark.xla
def test_a_kernel_that_gives_another_type_in_a_later_run_is_told(
    monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted: list[Any] = [np.float32]

    def changing(x: Any) -> Any:
        return np.sinh(x).astype(wanted[-1])

    monkeypatch.setattr(find, "kernel_of", lambda *_: HostKernel(changing, (False,)))
    # at types that no other test asks for
    x = np.full((7, 1, 2), 0.25, np.float32)
    for _ in range(4):
        np.testing.assert_allclose(rec("sinh", host(x)).read(), np.sinh(x), rtol=1e-6)
    wanted.append(np.float64)
    with pytest.raises(
        ExecutionError, match=r"host_kernel .* returned float64\[7,1,2\], expected float32"
    ):
        rec("sinh", host(x)).read()
