"""Operators at the edges of their short way: what the core records at once must be what NumPy
computes, and what it leaves to the ufuncs must reach them."""

from __future__ import annotations

import operator
import threading

import numpy as onp
import pytest

import lazyloom
import lazyloom_numpy as np
import lazyloom_torch as torch
from lazyloom.dtypes import ALL
from lazyloom.tensor import operators as _operators
from lazyloom_numpy._ufuncs import operators as registered
from lazyloom_numpy._ufuncs import ufunc as _ufuncs
from tests.numpy.helpers import tolerance

pytestmark = pytest.mark.usefixtures("quick_compiler")

OPERATORS = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "truediv": operator.truediv,
    "matmul": operator.matmul, "lt": operator.lt, "le": operator.le, "gt": operator.gt,
    "ge": operator.ge,
}  # fmt: skip
NUMBERS = [0, 1, -1, 2, 2.5, -0.0, float("nan"), float("inf"), True, False, 3 + 4j,
           onp.float64(0.1), onp.float32(0.1), onp.int8(3), onp.bool_(True)]  # fmt: skip


def _same(ours, theirs):
    assert ours.dtype == theirs.dtype
    data = onp.asarray(ours)
    assert data.shape == theirs.shape
    onp.testing.assert_allclose(data, theirs, **tolerance(theirs.dtype))
    if theirs.dtype.kind == "f":
        kept = ~onp.isnan(theirs)  # the sign of a NaN is nobody's
        onp.testing.assert_array_equal(onp.signbit(data)[kept], onp.signbit(theirs)[kept])


def _outcome(function, *args):
    try:
        with onp.errstate(all="ignore"):
            return function(*args)
    except Exception as error:
        return type(error)


@pytest.mark.parametrize("name", [n for n in OPERATORS if n != "matmul"])
@pytest.mark.parametrize("dtype", ["bool", "uint8", "int32", "float16", "float32", "complex64"])
def test_numbers_on_either_side_promote_as_in_numpy(name, dtype):
    function = OPERATORS[name]
    theirs = onp.array([0, 1, 3]).astype(dtype)
    ours = np.array(theirs)
    for number in NUMBERS:
        for args in ((0, 1), (1, 0)):
            pair, expected = (ours, number), (theirs, number)
            want = _outcome(function, *[expected[i] for i in args])
            got = _outcome(function, *[pair[i] for i in args])
            if isinstance(want, type):
                assert isinstance(got, type) and issubclass(got, Exception), (number, args, want)
            else:
                _same(got, want)


def test_what_is_recorded_at_once_is_what_the_ufunc_does():
    rules = _operators.operators_of(np.ndarray)
    assert rules is not None
    checked = 0
    for number, name in enumerate(registered.UFUNCS):
        function = _ufuncs.TABLE[name]
        for d in ALL:
            spec = rules.specs[number][d.index]
            if spec is None:
                continue
            key = (d,) * function.nin
            plan = function._plan(key, None)
            assert plan.inputs == key and plan.op in (spec.op.name, None)
            assert name == "matmul" or plan.compute is None
            result = spec.infer(tuple(lazyloom.tensor_type((2, 2), k) for k in key))[0].dtype
            assert plan.outputs[0] is result
            for bit, weak in ((_operators.FLOATS, float), (_operators.INTS, int)):
                if rules.numbers[number][d.index] & bit:
                    assert function._plan((d, weak), None).inputs == key
            checked += 1
    assert checked > 60


def test_a_huge_int_overflows_as_in_numpy():
    for dtype, number in (("float64", 10**400), ("int8", 300), ("uint8", -1)):
        theirs = onp.ones(2, dtype)
        ours = np.array(theirs)
        with pytest.raises(OverflowError):
            theirs + number
        with pytest.raises(OverflowError):
            ours + number
        with pytest.raises(OverflowError):
            number + ours
    assert (np.ones(2, "int8") < 300).tolist() == [True, True]


def test_results_without_dimensions_are_scalars_and_immutable():
    total = np.arange(4.0).sum()
    assert type(total) is np.ScalarArray and type(total + 1) is np.ScalarArray
    before = total
    total += 1
    assert (float(before), float(total)) == (6.0, 7.0)
    x = np.array(3.0)
    assert type(x) is np.ndarray
    x *= 2
    assert type(x) is np.ndarray and float(x) == 6.0
    assert type(x @ np.ones(1) if x.ndim else x + x) is np.ScalarArray


def test_comparisons_do_not_chain_silently():
    x = np.arange(3.0)
    with pytest.raises(ValueError, match="ambiguous"):
        _ = 0 < x < 2
    assert bool(0 < np.float64(1.0) * x.sum() < 4)


def test_in_place_writes_where_numpy_does():
    for make in (lambda m: m.arange(6.0), lambda m: m.arange(6)):
        theirs, ours = make(onp), make(np)
        for x in (theirs, ours):
            view = x[1:4]
            alias = x
            x += 1
            view *= 2
            x[::2] -= 3
            assert alias is x
        _same(ours, theirs)
    for bad in (lambda m: operator.iadd(m.ones(3), m.ones((2, 3))),
                lambda m: operator.itruediv(m.arange(3), 2),
                lambda m: operator.iadd(m.arange(3), 0.5)):
        expected = _outcome(bad, onp)
        assert isinstance(expected, type)
        found = _outcome(bad, np)
        assert isinstance(found, type) and issubclass(found, (TypeError, ValueError))
    x = np.ones(3)
    x += np.ones(1)
    assert x.tolist() == [2.0, 2.0, 2.0]


def test_in_place_refuses_what_is_read_only():
    for frozen in (np.ones(3), np.ones((2, 3))[0], np.broadcast_to(np.ones(3), (2, 3))):
        frozen.setflags(write=False)
        with pytest.raises(ValueError, match="read-only"):
            frozen += 1
        assert onp.asarray(frozen).min() == 1
    x = np.ones(3)
    x.setflags(write=False)
    x.setflags(write=True)
    x += 1
    assert x.tolist() == [2.0, 2.0, 2.0]


def test_memory_order_survives_the_short_way():
    for make in (lambda m: m.ones((2, 3)).T, lambda m: m.asfortranarray(m.ones((2, 3))),
                 lambda m: m.ones((4, 3))[::2], lambda m: m.ones((4, 3))[:, ::-1],
                 lambda m: m.swapaxes(m.ones((2, 3, 4)), 0, 1)):
        theirs, ours = make(onp), make(np)
        for result, expected in ((ours + ours, theirs + theirs), (-ours, -theirs),
                                 (ours * 2.0, theirs * 2.0), (1 < ours, 1 < theirs)):
            assert result.strides == expected.strides
            assert result.flags.c_contiguous == expected.flags.c_contiguous


class Loud(np.ndarray):
    def __add__(self, other):
        return "loud"

    def __radd__(self, other):
        return "reflected"


class Unknown:
    def __radd__(self, other):
        return "unknown"

    __rmul__ = __radd__
    __rmatmul__ = __radd__

    def __gt__(self, other):
        return "greater"


def test_other_classes_get_their_turn():
    loud, x = Loud.from_value(np.ones(2).value), np.ones(2)
    assert loud + x == "loud" and x + loud == "reflected"
    assert type(loud * x) is Loud  # as NumPy's derived classes
    assert x + Unknown() == "unknown" and x @ Unknown() == "unknown"
    assert (x < Unknown()) == "greater"
    for function in (operator.add, operator.sub, operator.matmul, operator.lt):
        with pytest.raises(TypeError):
            function(x, object())
        with pytest.raises(TypeError):
            function(object(), x)


def test_numpy_arrays_and_scalars_on_the_left_leave_it_to_ours():
    x = np.arange(3.0)
    for left in (onp.arange(3.0), onp.float64(2.0), onp.arange(6.0).reshape(2, 3)):
        for function in (operator.add, operator.mul, operator.lt, operator.truediv):
            result = function(left, x)
            assert isinstance(result, np.ndarray)
            with onp.errstate(all="ignore"):
                _same(result, onp.asarray(function(left, onp.arange(3.0))))


def test_tensors_of_another_frontend_are_operands():
    x, t = np.arange(3.0), torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)
    # a tensor's: PyTorch's come before NumPy's arrays, and carry gradients
    for total in (x + t, t + x):
        assert type(total) is torch.Tensor and total.tolist() == [1.0, 3.0, 5.0]
    x += t
    assert type(x) is np.ndarray and x.tolist() == [1.0, 3.0, 5.0]


def test_threads_operate_on_one_array():
    x = np.arange(64.0)
    totals: list[float] = []

    def work() -> None:
        y = x
        for _ in range(50):
            y = (y + 1.0) * 1.0 - 1.0
        totals.append(float(y.sum()))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert totals == [2016.0] * 4


def test_an_index_is_planned_by_what_it_is():
    """True is no 1, and positions that were planned once follow the array that is indexed."""
    x, y = np.arange(12.0).reshape(3, 4), np.arange(12.0).reshape(4, 3).T
    for _ in range(2):
        assert x[1, 2:].tolist() == [6.0, 7.0]
        assert y[1, 2:].tolist() == [7.0, 10.0]
        assert x[True].shape == (1, 3, 4) and x[1].shape == (4,)
        assert x[1:2, None].shape == (1, 1, 4)
        assert float(x[2, 3]) == 11.0 and float(y[2, 3]) == 11.0
        assert y.T[0].base is not x
    x[1, 2:] = 0
    assert x[1].tolist() == [4.0, 5.0, 0.0, 0.0]
    x.setflags(write=False)
    with pytest.raises(ValueError, match="read-only"):
        x[1, 2:] = 1
    with pytest.raises(ValueError, match="read-only"):
        x[1, 2:][0] = 1
    assert x.reshape(4, 3)[0].flags.writeable is False
