"""Elements that are written one by one, at once where the data are in the host's memory."""

from __future__ import annotations

import threading
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import lazyloom as ll
import lazyloom_numpy as lnp
import lazyloom_torch as torch
from tests.contract.helpers import counted

FRONTENDS = {"numpy": lnp.asarray, "torch": torch.from_numpy}
VALUES: list[Any] = [
    0, 1, -2, 2.5, -0.0, 0.1, float("inf"), float("nan"), True, 5e-324, 1e-40, 300, 1e39,
    np.float32(0.5), np.float64(3.25), np.int64(7), np.bool_(True), 1 + 2j]  # fmt: skip


@pytest.fixture(params=FRONTENDS)
def array(request: pytest.FixtureRequest) -> Any:
    return FRONTENDS[request.param]


def written(x: Any, index: Any, value: Any) -> Any:
    """The bytes after a write, or the kind of its error."""
    try:
        x[index] = value
    except Exception as error:
        return type(error).__name__
    found = np.asarray(x)
    return "nan" if (found != found).any() else found.tobytes()


@pytest.mark.parametrize("dtype", [
    "float64", "float32", "float16", "bfloat16", "int64", "int8", "uint8", "bool", "complex64"])
def test_every_number_is_what_a_recorded_write_makes_of_it(array: Any, dtype: str) -> None:
    if dtype == "bfloat16" and array is torch.from_numpy:
        pytest.skip("it takes no such arrays")
    kind = np.dtype(getattr(ml_dtypes, dtype, dtype))
    data = np.arange(6).reshape(2, 3).astype(kind)
    for value in VALUES:
        at_once, recorded = array(data.copy()), array(data.copy()) + array(np.zeros((), kind))
        at_once.tolist()
        assert written(at_once, (1, 2), value) == written(recorded, (1, 2), value), value


def test_a_loop_over_data_that_exist_records_nothing(array: Any) -> None:
    x = array(np.arange(12.0).reshape(3, 4))
    with counted() as delta:
        for i in range(3):
            for j in range(4):
                x[i, j] = x[i, j].item() * 2 if (i + j) % 2 else -1.5
        x[1, 2] = 9.0
    assert delta.ops_traced == 0 and delta.executions == 0
    odd = np.add.outer(range(3), range(4)) % 2
    expected = np.where(odd, np.arange(12.0).reshape(3, 4) * 2, -1.5)
    expected[1, 2] = 9.0
    assert x.tolist() == expected.tolist()


def test_a_loop_that_fills_a_new_array_runs_once() -> None:
    for library in (lnp, torch):
        x = library.zeros(100)
        with counted() as delta:
            for k in range(100):
                x[k] = k * k
        assert delta.executions <= 2 and delta.ops_traced < 30
        assert x.tolist() == [k * k for k in range(100)]


def test_a_few_writes_stay_a_part_of_the_program() -> None:
    programs = []
    for library in (lnp, torch):
        x = library.zeros(4) + 1
        x[0], x[1] = 2.0, 3.0
        with counted() as delta:
            assert (x * 2).tolist() == [4.0, 6.0, 2.0, 2.0]
        assert delta.executions <= 2
        programs.append(ll.last_evaluation().ops)
    assert programs[0] == programs[1]


def test_others_of_the_same_contents_see_or_keep_what_they_should() -> None:
    x = lnp.arange(6.0).reshape(2, 3)
    x.read()
    before, copied, row, column, element = x + 0, x.copy(), x[1], x[:, 2], x[1, 2]
    pending = x * 10
    x[1, 2] = -1.0
    assert row.tolist() == [3.0, 4.0, -1.0] and column.tolist() == [2.0, -1.0]
    assert float(element) == 5.0 and copied.tolist()[1] == before.tolist()[1] == [3.0, 4.0, 5.0]
    assert pending.tolist()[1] == [30.0, 40.0, 50.0]
    row[0] = 7.0
    column[0] = 8.0
    assert x.tolist() == [[0.0, 1.0, 8.0], [7.0, 4.0, -1.0]]
    t = torch.arange(6.0).reshape(2, 3)
    t.tolist()
    view, version = t[1], t._version
    t[1, 0] = 5.0
    assert view.tolist() == [5.0, 4.0, 5.0] and t._version == version + 1


def test_given_memory_stays_the_givers() -> None:
    data = np.arange(3.0)
    shared = torch.from_numpy(data)
    x, y = lnp.asarray(data), lnp.array(data)
    for a in (shared, x, y):
        a.tolist()
        a[1] = 9.0
        assert a.tolist() == [0.0, 9.0, 2.0]
    handed = np.asarray(y)
    y[0] = 4.0
    assert handed.tolist() == [0.0, 9.0, 2.0] and data.tolist() == [0.0, 1.0, 2.0]


def test_what_may_not_be_written_is_refused_as_before() -> None:
    x = lnp.arange(3.0)
    x.read()
    x.setflags(write=False)
    with pytest.raises(ValueError, match="read-only"):
        x[0] = 1.0
    with pytest.raises(ValueError, match="read-only"):
        lnp.broadcast_to(lnp.ones(1), (3,))[1] = 1.0
    leaf = torch.ones(3, requires_grad=True)
    with pytest.raises(RuntimeError, match="leaf Variable"):
        leaf[0] = 1.0
    with pytest.raises(IndexError):
        x[3]
    y = lnp.arange(3.0)
    y.read()
    with pytest.raises(IndexError):
        y[3] = 1.0
    with torch.inference_mode():
        made = torch.ones(3)
        made.tolist()
    with pytest.raises(RuntimeError, match="[Ii]nference"):
        made[0] = 2.0


def test_gradients_transforms_and_captures_go_on() -> None:
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    y.tolist()
    y[1] = 5.0
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 0.0, 2.0]

    def put(row: Any) -> Any:
        row[0] = 9.0
        return row * 2

    assert ll.vmap(put)(lnp.ones((2, 2))).tolist() == [[18.0, 2.0], [18.0, 2.0]]
    state = lnp.zeros(3)
    state.read()

    def step(k: Any) -> Any:
        state[1] = 4.0
        return state + k

    run = ll.jit(step)
    for k in (1.0, 2.0, 3.0):
        state[1] = 0.0
        assert run(lnp.asarray(k)).tolist() == [k, 4.0 + k, k]
        assert state.tolist() == [0.0, 4.0, 0.0]


@pytest.mark.parametrize("size", [1, 2048, 2049, 1 << 16])
def test_arrays_of_every_size(array: Any, size: int) -> None:
    data = np.arange(float(size))
    x = array(data.copy())
    for k in (0, size // 2, size - 1, -1):
        x[k] = 0.5
        data[k] = 0.5
        assert x[k].item() == 0.5
    assert np.array_equal(np.asarray(x), data)


def test_many_axes_and_indices_that_are_arrays() -> None:
    data = np.arange(256.0).reshape((2,) * 8)
    x, i = lnp.asarray(data), lnp.asarray([1, 0])
    x.read(), i.read()
    x[(i[0],) * 8] = 3.5
    x[0, 1, 0, 1, 0, 1, 0, int(i[0])] = -2.0
    data[(1,) * 8], data[0, 1, 0, 1, 0, 1, 0, 1] = 3.5, -2.0
    assert np.array_equal(np.asarray(x), data)
    with pytest.raises(IndexError):
        lnp.ones(())[0] = 1.0


def test_no_write_of_several_threads_is_lost() -> None:
    x = lnp.zeros(64)
    x.read()

    def write(first: int) -> None:
        for k in range(first, 64, 4):
            x[k] = k + 1.0
            x[k] += 1

    for _ in range(20):
        x[:] = 0
        x.read()
        threads = [threading.Thread(target=write, args=(k,)) for k in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert x.tolist() == [k + 2.0 for k in range(64)]


def test_a_failed_run_leaves_what_was_written_before_it() -> None:
    x = lnp.arange(4.0)
    x.read()
    x[1] = 7.0
    with ll.options(reads="error"):
        x[2] = 8.0
    assert x.tolist() == [0.0, 7.0, 8.0, 3.0]


def test_programs_in_plain_loops_are_numpys() -> None:
    def sieve(np: Any) -> Any:
        prime = np.ones(200, dtype=bool)
        prime[0] = prime[1] = False
        for k in range(2, 15):
            if prime[k]:
                for m in range(k * k, 200, k):
                    prime[m] = False
        return prime

    def distances(np: Any) -> Any:
        a, b = "kitten sitting", "sitting kitten"
        d = np.zeros((len(a) + 1, len(b) + 1), dtype=int)
        for i in range(len(a) + 1):
            d[i, 0] = i
        for j in range(len(b) + 1):
            d[0, j] = j
        for i in range(1, len(a) + 1):
            for j in range(1, len(b) + 1):
                cost = a[i - 1] != b[j - 1]
                d[i, j] = min(d[i - 1, j] + 1, d[i, j - 1] + 1, d[i - 1, j - 1] + int(cost))
        return d

    def sorted_by_insertion(np: Any) -> Any:
        x = np.array([5.0, -1.0, 3.5, 2.0, 2.0, -7.25, 0.0])
        for i in range(1, len(x)):
            j = i
            while j > 0 and x[j - 1] > x[j]:
                x[j - 1], x[j] = x[j], x[j - 1]
                j -= 1
        return x

    def smoothed(np: Any) -> Any:
        grid = np.zeros((8, 8))
        grid[3, 4] = 1.0
        for _ in range(3):
            for i in range(1, 7):
                for j in range(1, 7):
                    grid[i, j] = (grid[i - 1, j] + grid[i + 1, j] + grid[i, j - 1]
                                  + grid[i, j + 1] + grid[i, j] * 4) / 8
        return grid

    for program in (sieve, distances, sorted_by_insertion, smoothed):
        assert np.asarray(program(lnp)).tobytes() == program(np).tobytes()


def test_a_loop_of_elements_of_a_pending_array_runs_once_and_goes_on_without_ops() -> None:
    def mirrored(np: Any) -> Any:
        x = np.arange(400.0).reshape(20, 20)
        x = x * 2 - 1
        for i in range(1, 19):
            x[0, i] = -x[1, i]
            x[19, i] = 0.5 * (x[18, i] + x[i, 18])
        return x

    with counted() as delta:
        found = mirrored(lnp)
    assert delta.executions <= 2 and delta.ops_traced < 100
    assert np.asarray(found).tobytes() == mirrored(np).tobytes()


SLICES: list[Any] = [
    slice(None), slice(1, 3), slice(None, None, -2), slice(5, 2), slice(-100, 100), (0, slice(1)),
    (slice(None), -1), (slice(0, 2), slice(None, None, 3)), (1, 2), (slice(2),), (-2,)]  # fmt: skip


@pytest.mark.parametrize("index", SLICES, ids=str)
def test_numbers_are_written_to_slices_as_numpy_does(index: Any) -> None:
    data = np.arange(20.0).reshape(4, 5)
    x = lnp.asarray(data.copy())
    row = x[1]
    x.read(), row.read()
    with counted() as delta:
        x[index] = -0.5
    assert delta.ops_traced == 0
    data[index] = -0.5
    assert np.array_equal(np.asarray(x), data) and np.array_equal(np.asarray(row), data[1])
    data[index], x[index] = 1, 1
    assert np.array_equal(np.asarray(x), data)


def test_slices_that_are_not_of_the_array_are_errors_as_before() -> None:
    x = lnp.arange(6.0).reshape(2, 3)
    x.read()
    for index in ((2, slice(None)), (0, 0, slice(None)), (slice(None), 3)):
        with pytest.raises(IndexError):
            x[index] = 1.0
    with pytest.raises(TypeError):
        x["a":2] = 1.0
    assert x.tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]


def test_where_reads_are_forbidden_elements_are_written_as_recorded() -> None:
    x, y = lnp.arange(5.0), lnp.zeros(40)
    x.read(), y.read()
    pending = x * 2
    with ll.options(reads="error"):
        x[1] = x[2]
        x[0] = x[3] + 1
        for k in range(20):
            y[k] = x[4]
            pending[k % 5] = float(k)
        total = x[4]
        for _ in range(20):
            total = total + 1.0
    assert x.tolist() == [4.0, 2.0, 2.0, 3.0, 4.0] and y.tolist() == [4.0] * 20 + [0.0] * 20
    assert pending.tolist() == [15.0, 16.0, 17.0, 18.0, 19.0] and float(total) == 24.0


def test_kept_elements_of_what_is_written_hold_no_copies() -> None:
    x = lnp.zeros(2000)
    x.read()
    kept = []
    for k in range(300):
        x[k] = k * 0.5
        kept.append(x[k])
    assert sum(one._later.whole is not None for one in kept) == 0
    x[5] = float("nan")
    assert lnp.isnan(x[5]) and [float(one) for one in kept] == [k * 0.5 for k in range(300)]
