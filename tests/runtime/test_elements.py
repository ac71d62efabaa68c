"""Elements that are read one by one, and looked up where the data are in the host's memory."""

from __future__ import annotations

import itertools
import operator
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import lazyloom as ll
import lazyloom_numpy as lnp
import lazyloom_torch as torch
from lazyloom.trace.graph import DONE
from tests.contract.helpers import counted, rec

pytestmark = pytest.mark.usefixtures("quick_compiler")

FRONTENDS = {"numpy": lnp.asarray, "torch": torch.from_numpy}


@contextmanager
def nothing_runs() -> Iterator[None]:
    with counted() as delta:
        yield
    assert delta.executions == delta.runs_op_by_op == 0


@pytest.fixture(params=FRONTENDS)
def array(request: pytest.FixtureRequest) -> Any:
    return FRONTENDS[request.param]


@pytest.mark.parametrize("shape", [(1,), (7,), (2, 3), (3, 1, 2), (2, 2, 3, 2)])
def test_every_element_is_numpys(array: Any, shape: tuple[int, ...]) -> None:
    data = np.arange(np.prod(shape), dtype=np.float32).reshape(shape) - 2.5
    x = array(data)
    with nothing_runs():
        for index in itertools.product(*(range(-n, n) for n in shape)):
            assert x[index].item() == data[index]
            step = x
            for k in index:
                step = step[k]
            assert float(step) == data[index] and bool(step) and int(step) == int(data[index])


@pytest.mark.parametrize("reproducible", [False, True])
@pytest.mark.parametrize("shape", [(1 << 14,), ((1 << 16) + 1,), (3, 1 << 14), (2,) * 8])
def test_elements_of_large_arrays_and_of_many_axes(
    array: Any, shape: tuple[int, ...], reproducible: bool
) -> None:
    data = np.random.default_rng(0).uniform(-1, 1, shape)
    with ll.options(reproducible=reproducible):
        x = array(data) * 2
        x[(0,) * len(shape)].item()
        for index in np.random.default_rng(1).integers(0, shape, (20, len(shape))).tolist():
            with nothing_runs():
                assert x[tuple(index)].item() == 2 * data[tuple(index)]


@pytest.mark.parametrize("dtype", [
    "bool", "int8", "uint8", "int32", "int64", "float16", "bfloat16", "float32", "float64",
    "complex64", "complex128"])  # fmt: skip
def test_numbers_are_those_of_all_of_it(dtype: str) -> None:
    kind = np.dtype(getattr(ml_dtypes, dtype, dtype))
    x = ll.Tensor(ll.from_host(np.array([[0, 1, 3], [100, 1, 0]]).astype(kind)))
    starts = [ll.Scalar(1, ll.dtypes.int64, bake=False), ll.Scalar(0, ll.dtypes.int64, bake=False)]
    part = ll.Tensor(rec("dynamic_slice", x.value, *starts, sizes=(1, 1)))
    with nothing_runs():
        found = part.read_number()
    assert found == x.read()[1, 0].item() and type(found) is type(x.read()[1, 0].item())
    assert part.value.node.state == DONE and part.read().dtype == kind
    assert part.read().shape == (1, 1)


def test_special_numbers_keep_their_bits() -> None:
    data = np.array([np.nan, -0.0, np.inf, 5e-324, 0.0], np.float64)
    data[0] = np.uint64(0x7FF8_0000_0000_1234).view(np.float64)
    x = lnp.asarray(data)
    for k in range(len(data)):
        one = x[k]
        with nothing_runs():
            one.item()
        assert np.asarray(one).view(np.uint64) == data.view(np.uint64)[k]


@pytest.mark.parametrize("start, place", [(-9, 0), (-3, 1), (0, 0), (2, 2), (9, 3)])
def test_a_start_outside_is_moved_as_a_run_does(start: int, place: int) -> None:
    x = ll.from_host(np.arange(4.0))
    scalar = ll.Scalar(start, ll.dtypes.int64, bake=False)
    one = ll.Tensor(rec("reshape", rec("dynamic_slice", x, scalar, sizes=(1,)), shape=()))
    same = rec("reshape", rec("dynamic_slice", x, scalar, sizes=(1,)), shape=())
    with nothing_runs():
        assert one.read_number() == place
    assert same.read() == place


def test_a_read_one_is_a_number_of_its_own() -> None:
    x = lnp.arange(6.0).reshape(2, 3)
    one = x[1, 2]
    assert float(one) == 5.0
    node = one.value.node
    assert node.state == DONE and not node.inputs
    x[1, 2] = 7.0
    assert float(one) == 5.0 and float(x[1, 2]) == 7.0 and float(one + 1) == 6.0


def test_a_view_sees_what_is_written_later() -> None:
    x = torch.arange(6.0)
    one = x[4]
    assert one.item() == 4.0
    x[4] = -1.0
    assert one.item() == -1.0
    one.add_(3.0)
    assert one.item() == 2.0 and x[4].item() == 2.0 and x.tolist()[4] == 2.0


def test_another_user_of_the_same_part_computes_it() -> None:
    x = lnp.asarray(np.arange(4.0))
    one = x[3]
    doubled = one * 2
    with nothing_runs():
        assert float(one) == 3.0
    assert float(doubled) == 6.0


def test_a_gradient_flows_as_before() -> None:
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    one = x[1]
    assert one.item() == 2.0
    (one * one).backward()
    assert x.grad.tolist() == [0.0, 4.0, 0.0]


def test_what_is_pending_runs_first() -> None:
    x = lnp.asarray(np.arange(4.0)) * 3
    with counted() as delta:
        assert float(x[2]) == 6.0
    assert delta.executions + delta.runs_op_by_op == 1 and delta.ops_executed == 3
    x.read()
    with nothing_runs():
        assert float(x[1]) == 3.0


def test_a_read_is_counted_and_may_be_forbidden() -> None:
    x = lnp.arange(4.0)
    x.read()
    with counted() as delta:
        float(x[1])
    assert delta.reads == 1 and delta.bytes_read == 8
    one = x[2]
    with ll.options(reads="error"), pytest.raises(ll.errors.ReadForbiddenError):
        float(one)
    assert float(one) == 2.0


def test_a_call_that_is_captured_reads_as_before() -> None:
    def step(x: Any) -> Any:
        return x * float(x[0])

    run = ll.jit(step)
    for first in (2.0, 3.0, 3.0, 5.0):
        assert np.asarray(run(lnp.asarray([first, 1.0]))).tolist() == [first * first, first]


def test_compiled_results_are_looked_up_too() -> None:
    with ll.options(reproducible=True):
        x = lnp.arange(5.0) * 2
        ll.sync()
        with nothing_runs():
            assert [float(x[k]) for k in range(5)] == [0, 2, 4, 6, 8]


def test_many_kept_elements_keep_no_array() -> None:
    kept = []
    for k in range(50):
        x = lnp.full(1000, float(k))
        kept.append(x[k])
        assert float(kept[-1]) == k
    assert all(not one.value.node.inputs for one in kept)


def test_threads_read_while_another_writes() -> None:
    x = torch.zeros(64)
    stop = threading.Event()
    wrong: list[float] = []

    def read() -> None:
        while not stop.is_set():
            for k in range(0, 64, 7):
                number = x[k].item()
                if number != int(number) or not 0 <= number <= 200:
                    wrong.append(number)

    threads = [threading.Thread(target=read) for _ in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(200):
        x += 1
    stop.set()
    for thread in threads:
        thread.join()
    assert not wrong and x.tolist() == [200.0] * 64


def test_elements_of_views_lie_where_pytorchs_do() -> None:
    real = pytest.importorskip("torch")

    def views(library: Any) -> Iterator[Any]:
        a = library.arange(24.0).reshape(2, 3, 4)
        yield a
        yield a.permute(2, 0, 1)
        yield a[:, 1:, ::2]
        yield a[0].expand(3, 3, 4)
        yield library.as_strided(a, (3, 2), (2, 5), 1)
        yield a.reshape(24)
        yield a[1, 2]
        yield a[:1, :1, :1]

    for theirs, ours in zip(views(real), views(torch), strict=True):
        for index in itertools.product(*(range(-n, n) for n in theirs.shape)):
            a, b = theirs[index], ours[index]
            assert a.item() == b.item() and a.shape == b.shape and a.stride() == b.stride()
            assert a.storage_offset() == b.storage_offset()
            assert a.is_contiguous() == b.is_contiguous()


@pytest.mark.parametrize("index", [(7,), (0, 3), (-3, 0), (0, 0, 0), (True, 0), (0, 1.0), ("a",)])
def test_other_indices_are_errors_or_views_as_before(array: Any, index: Any) -> None:
    data = np.arange(6.0).reshape(2, 3)
    x = array(data)
    try:
        expected = data[index if len(index) > 1 else index[0]]
    except IndexError:
        with pytest.raises((IndexError, TypeError)):
            x[index if len(index) > 1 else index[0]]
        return
    assert np.asarray(x[index if len(index) > 1 else index[0]]).tolist() == expected.tolist()


def test_an_element_that_is_only_read_records_nothing(array: Any) -> None:
    x = array(np.arange(24.0).reshape(2, 3, 4))
    with nothing_runs(), counted() as delta:
        assert float(x[1, 2, 3]) == 23.0 and bool(x[0, 0, 1]) and int(x[1, 0, 0]) == 12
        assert x[1][2][3].item() == 23.0 and x[:, 1:, ::2][1, 1, 1].item() == 22.0
        assert 6.0 in [float(x[0, 1][k]) for k in range(4)] and not bool(x[0, 0, 0])
    assert delta.ops_traced == 0 and delta.reads == 10


def test_an_element_that_an_op_takes_is_recorded_as_in_the_other_frontend() -> None:
    programs = []
    for make in FRONTENDS.values():
        x = make(np.arange(5.0))
        one = x[3]
        assert (one * 2 + x).tolist() == [6.0, 7.0, 8.0, 9.0, 10.0]
        programs.append(ll.last_evaluation().program)
    assert programs[0] == programs[1]


def test_elements_are_copies_of_what_was_there() -> None:
    x = lnp.arange(6.0).reshape(2, 3)
    x.read()
    before, read_before, row = x[1, 2], x[1, 1], x[1]
    assert float(read_before) == 4.0
    x[1] = -1.0
    after = row[2]
    assert [float(v) for v in (before, read_before, after)] == [5.0, 4.0, -1.0]
    assert [float(v + 1) for v in (before, read_before, after)] == [6.0, 5.0, 0.0]
    before += 1
    assert float(before) == 6.0 and x.tolist() == [[0.0, 1.0, 2.0], [-1.0, -1.0, -1.0]]
    read_before[...] = 9.0
    assert float(read_before) == 9.0 and float(x[1, 1]) == -1.0


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float16", "float32", "complex64"])
def test_an_element_is_what_a_computed_one_is(dtype: str) -> None:
    data = np.array([3, 1, 0]).astype(dtype)
    x = lnp.asarray(data)
    x.read()
    for read_first in (False, True):
        one = x[0]
        if read_first:
            one.item()
        assert type(one) is type(x.max()) and one.dtype == data.dtype and one.shape == ()
        assert one.value.type is (x.max()).value.type
        assert np.asarray(one) == data[0] and repr(one) == repr(data[0])
        assert hash(one) == hash(data[0])


def test_bits_of_an_element_stay_where_it_was_read_first() -> None:
    data = np.array([0x7FC1_2345, 0x8000_0000, 1], np.uint32).view(np.float32)
    x = lnp.asarray(data)
    x.read()
    for k in range(3):
        one = x[k]
        one.item()
        assert np.asarray(one).view(np.uint32) == data.view(np.uint32)[k]


def test_elements_under_transforms_and_captures_are_recorded() -> None:
    x = lnp.asarray([1.0, 2.0, 3.0])
    x.read()
    rows = lnp.asarray([[1.0, 5.0], [2.0, 6.0]])
    assert ll.vmap(lambda row: row[1] * 2)(rows).tolist() == [10.0, 12.0]
    one = x[1]
    captured = ll.jit(lambda y: y * one)
    assert [captured(x).tolist() for _ in range(4)] == [[2.0, 4.0, 6.0]] * 4
    one = x[2]
    assert captured(x).tolist() == [3.0, 6.0, 9.0]
    given = ll.jit(lambda y, s: y + s)
    for k in (0, 1, 2, 1):
        assert given(x, x[k]).tolist() == [1.0 + x[k].item(), 2.0 + x[k].item(), 3.0 + x[k].item()]
    t = torch.tensor([1.0, 2.0, 3.0])
    assert ll.grad(lambda v: v[1] * v[1])(t).tolist() == [0.0, 4.0, 0.0]


def test_a_kept_element_that_was_read_holds_no_array() -> None:
    kept = []
    for k in range(3):
        x = lnp.full(1000, float(k))
        x.read()
        kept.append(x[k])
        assert float(kept[-1]) == k
    assert all(not one.value.node.inputs for one in kept)


def test_elements_shared_by_threads_are_recorded_once() -> None:
    x = lnp.arange(100.0)
    x.read()
    for k in range(60):
        one = x[k]
        found: list[Any] = []

        def use(one: Any = one, found: list[Any] = found) -> None:
            found.append((float(one), float(one + 1), one.value.type.shape))

        threads = [threading.Thread(target=use) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert found == [(float(k), k + 1.0, ())] * 4


def test_conversions_of_what_has_several_elements_are_numpys_errors() -> None:
    x = lnp.arange(3.0)
    with pytest.raises(ValueError, match="ambiguous"):
        bool(x)
    with pytest.raises(TypeError, match="0-dimensional"):
        float(x)
    with pytest.raises(TypeError, match="0-dimensional"):
        float(lnp.ones(1))
    assert bool(lnp.ones((1, 1))) and not bool(lnp.zeros(1))
    plain = ll.Tensor(ll.from_host(np.ones(3)))
    assert bool(plain)
    with pytest.raises(TypeError, match="subscriptable"):
        plain[0]
    with pytest.raises(TypeError, match="one element"):
        float(plain)
    assert float(ll.Tensor(ll.from_host(np.float64(2.5)))) == 2.5


OPERATORS: dict[str, Any] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "truediv": operator.truediv,
    "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge,
    "eq": operator.eq, "ne": operator.ne}  # fmt: skip
SPECIAL: dict[str, list[Any]] = {
    "float64": [0.0, -0.0, 1.5, -2.25, 0.1, np.inf, -np.inf, np.nan, 5e-324, 1e-300, 1.7e308],
    "float32": [0.0, -0.0, 1.5, -2.25, 0.1, np.inf, -np.inf, np.nan, 1e-45, 2e-38, 3e38],
    "float16": [0.0, 1.5, np.nan, 6e4], "bfloat16": [0.0, 1.5, np.nan, 3e38],
    "int64": [0, 1, -3, 2**63 - 1, -(2**63), 2**53 + 1], "int8": [0, 1, -3, 127, -128],
    "uint8": [0, 1, 255], "uint64": [0, 3, 2**64 - 1], "bool": [False, True],
    "complex64": [0j, 1 - 2j],
}  # fmt: skip
NUMBERS: list[Any] = [0, 1, -3, 2, 0.0, -0.0, 0.1, 1e-310, 1e300, float("inf"), float("nan"), True,
                      300, 2**40]  # fmt: skip


def outcome(compute: Any, read_at_once: bool) -> Any:
    """What a computation gives, as a number read or as an array that ops compute."""
    try:
        found = compute()
        if found is NotImplemented or isinstance(found, (bool, np.generic)):
            return type(found).__name__, repr(found)
        number = found.item() if read_at_once else None
        data = np.asarray(found)
    except Exception as error:
        return type(error).__name__
    if read_at_once:
        again = np.array(number, data.dtype)
        assert (again == data or again != again and data != data).all()
        if data.dtype.kind == "f":
            assert np.signbit(again) == np.signbit(data) or data != data
    return data.dtype, data.shape, "nan" if (data != data).any() else data.tobytes()


@pytest.mark.parametrize("dtype", SPECIAL)
def test_operators_on_elements_are_what_ops_compute(dtype: str) -> None:
    kind = np.dtype(getattr(ml_dtypes, dtype, dtype))
    x = lnp.asarray(np.array(SPECIAL[dtype], kind))
    y = x + x if dtype == "bool" else x * 1
    lnp.asarray(y).read()
    x.read()
    count = len(SPECIAL[dtype])
    for name, function in OPERATORS.items():
        for i in range(count):
            others = [lambda k=k: x[k] for k in range(count)] + [lambda b=b: b for b in NUMBERS]
            for other in others:
                for swapped in (False, True):
                    def compute(function: Any = function, other: Any = other, i: int = i,
                                swapped: bool = swapped, recorded: bool = False) -> Any:
                        a, b = x[i], other()
                        if recorded:
                            # an op has taken them
                            a.value  # noqa: B018
                            if isinstance(b, lnp.ndarray):
                                b.value  # noqa: B018
                        return function(b, a) if swapped else function(a, b)

                    expected = outcome(lambda: compute(recorded=True), False)
                    for read_at_once in (True, False):
                        found = outcome(compute, read_at_once)
                        assert found == expected, (name, x[i], other(), swapped, read_at_once)


@pytest.mark.parametrize("dtype", SPECIAL)
def test_operators_on_one_element_are_what_ops_compute(dtype: str) -> None:
    kind = np.dtype(getattr(ml_dtypes, dtype, dtype))
    x = lnp.asarray(np.array(SPECIAL[dtype], kind))
    x.read()
    for function in (operator.neg, abs, lambda a: a**2, lambda a: -(a * a), lambda a: abs(a) > a):
        for i in range(len(SPECIAL[dtype])):
            def taken(i: int = i) -> Any:
                one = x[i]
                one.value  # noqa: B018
                return one

            expected = outcome(lambda f=function, t=taken: f(t()), False)
            for read_at_once in (True, False):
                assert outcome(lambda f=function, i=i: f(x[i]), read_at_once) == expected


def test_long_computations_on_elements_are_exact_and_end() -> None:
    data = np.random.default_rng(5).uniform(-1, 1, 3000)
    x = lnp.asarray(data)
    x.read()
    total, expected = x[0] * 0.0, 0.0
    for k in range(len(data)):
        total = total + x[k] * x[k] if data[k] > 0 else total - x[k] / 3
        expected = expected + data[k] * data[k] if data[k] > 0 else expected - data[k] / 3
    assert float(total) == expected
    bad = lnp.asarray([np.nan, 1.0])
    bad.read()
    total = bad[0]
    for _ in range(20000):
        total = total + bad[1]
    assert np.isnan(float(total))


def test_elements_are_compared_on_the_host_and_used_as_indices() -> None:
    x = lnp.asarray([3, 1, 2])
    y = lnp.asarray([1.0, 2.0, 4.0])
    lnp.sum(x).read(), y.read(), x.read()
    with nothing_runs(), counted() as delta:
        assert x[0] > x[1] and x[0] != 2 and x[1] != x[2] and x[2] in [x[0], x[2]]
        assert float(y[x[1]]) == 2.0 and y[0] - y[1] < 0 and abs(y[0] - y[2]) ** 2 == 9.0
        assert float(-y[2] / 8 + 1) == 0.5 and max(x[0], x[1], x[2]).item() == 3
    assert delta.ops_traced == 0
    y[x[1]] = 7.0
    assert y.tolist() == [1.0, 7.0, 4.0]
    with pytest.raises(IndexError):
        y[x[0]]


def test_what_is_computed_of_elements_is_recorded_for_an_op() -> None:
    x = lnp.asarray([1.0, 2.0, 4.0])
    x.read()
    scaled = (x[1] - x[0]) * 3
    with counted() as delta:
        assert (x * scaled).tolist() == [3.0, 6.0, 12.0]
    # two slices, two reshapes, a difference, two products
    assert delta.ops_executed == 7
    shared = x[2] + 1
    assert ((x + shared) * (x - shared)).tolist() == [-24.0, -21.0, -9.0]
    assert float(shared) == 5.0 and (x + shared).tolist() == [6.0, 7.0, 9.0]


def test_errors_of_numbers_are_still_watched() -> None:
    x = lnp.asarray([0.0, 1.0])
    x.read()
    with lnp.errstate(divide="raise"):
        with pytest.raises(FloatingPointError):
            float(x[1] / x[0])
        one, zero = x[1], x[0]
    with lnp.errstate(divide="raise"), pytest.raises(FloatingPointError):
        float(one / zero)


def test_threads_that_share_what_is_computed_of_elements_get_it() -> None:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for repeat in range(40):
            x = lnp.asarray(np.arange(16.0) + repeat)
            x.read()
            shared = [x[k] - x[k + 1] * 2.0 for k in range(8)]
            expected = [k + repeat - 2.0 * (k + 1 + repeat) for k in range(8)]
            found: list[Any] = []

            def use(
                shared: list[Any] = shared, expected: list[float] = expected,
                found: list[Any] = found,
            ) -> None:
                try:
                    found.append([float(one) for one in shared] == expected)
                    found.append([float(one + 1) - 1 for one in shared] == expected)
                except Exception as error:
                    found.append(error)

            threads = [threading.Thread(target=use) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert found == [True] * 8
            assert [float(one) for one in shared] == expected
    finally:
        sys.setswitchinterval(before)


def test_elements_beside_numpys_numbers_in_a_list() -> None:
    x = lnp.asarray([1.0, 2.0])
    x.read()
    assert lnp.array([x[0], np.float64(3), np.complex128(1j)]).tolist() == [1, 3, 1j]
    assert lnp.array([np.float64(0.3), lnp.sum(x)]).tolist() == [0.3, 3.0]
