"""The methods of ufunc objects, generalised ufuncs and the arguments of a call, against NumPy."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as onp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lazyloom
import lazyloom_numpy as np
from lazyloom_numpy._ufuncs import ufunc as _ufuncs
from tests.numpy.helpers import both, data, same

pytestmark = pytest.mark.usefixtures("quick_compiler")

UFUNC_ERROR: Any = onp._core._exceptions.UFuncTypeError  # type: ignore[attr-defined]
UNARY = sorted(n for n, f in _ufuncs.TABLE.items() if f.nin == 1 and f.nout == 1)


def _attempt(call: Any, *arguments: Any) -> Any:
    try:
        with onp.errstate(all="ignore"):
            return call(*arguments)
    except Exception as error:
        return error


def _compare(call: Any, *arrays: Any, scale: float = 4.0) -> None:
    """Equal results, or exceptions of NumPy's type."""
    theirs = _attempt(call, onp, *(a.copy() for a in arrays))
    ours = _attempt(call, np, *map(np.array, arrays))
    if isinstance(theirs, Exception):
        # NumPy's private errors of this kind show the name of their public base
        kind = UFUNC_ERROR if isinstance(theirs, UFUNC_ERROR) else type(theirs)
        assert isinstance(ours, kind), (theirs, ours)
    elif isinstance(ours, Exception):
        raise ours
    else:
        same(ours, theirs, scale=scale)


FOLDED = ["subtract", "floor_divide", "remainder", "bitwise_xor", "logical_or", "lcm", "maximum"]


@pytest.mark.parametrize("name", FOLDED)
def test_every_axis_mask_and_start(name: str) -> None:
    def program(m: Any, a: Any) -> Any:
        f = getattr(m, name)
        return (f.reduce(a), f.reduce(a, axis=-1, keepdims=True), f.reduce(a, axis=1, initial=3),
                f.reduce(a, axis=0, initial=2, where=a > 2), f.accumulate(a, axis=1),
                f.reduceat(a, [0, 2, 1, 1], axis=1), f.reduceat(a, m.array([1, 0])),
                f.reduce(a[:1]), f.accumulate(a[:0]), f.outer(a[0], a[:, 0]))  # fmt: skip

    both(program, data((3, 4), "int32", 1, 1, 9))


@pytest.mark.parametrize("call", [
    lambda m, a: m.subtract.reduce(a, axis=None), lambda m, a: m.subtract.reduce(a, axis=(0, 1)),
    lambda m, a: m.subtract.reduce(a[:0]), lambda m, a: m.maximum.reduce(a[:0]),
    lambda m, a: m.maximum.reduce(a, where=a > 0), lambda m, a: m.add.reduce(a[:0], initial=None),
    lambda m, a: m.sin.reduce(a), lambda m, a: m.divmod.reduce(a),
    lambda m, a: m.matmul.reduce(a), lambda m, a: m.add.reduce(a, axis=2),
    lambda m, a: m.add.accumulate(m.array(1.0)), lambda m, a: m.ldexp.accumulate(a),
    lambda m, a: m.add.reduceat(a, [0, 5]), lambda m, a: m.add.reduceat(a, [-1]),
    lambda m, a: m.add.reduceat(a, [[0, 1]]), lambda m, a: m.add.reduceat(a, 1),
    lambda m, a: m.sin.outer(a, a), lambda m, a: m.matmul.outer(a, a),
    lambda m, a: m.add.at(a, [7], 1), lambda m, a: m.add.at(a, [0]),
    lambda m, a: m.negative.at(a, [0], 1), lambda m, a: m.modf.at(a, [0]),
    lambda m, a: m.matmul.at(a, [0], 1), lambda m, a: m.add.at([1, 2], [0], 1),
    lambda m, a: m.add.at(a, [0, 1], m.zeros((3, 5))),
    lambda m, a: m.add(a, a, a, a), lambda m, a: m.add(a, a, a, out=a),
    lambda m, a: m.add(a, a, out=3), lambda m, a: m.modf(a, out=a),
    lambda m, a: m.add(a, a, out=(a, a)), lambda m, a: m.add(a, a, where=[True, False]),
    lambda m, a: m.add(a, a, casting="odd"), lambda m, a: m.add(a, a, order="X"),
    lambda m, a: m.add(a, a, dtype=int), lambda m, a: m.add(a, 1, casting="no", dtype="f4"),
    lambda m, a: m.add(a, a, sig="dd->d", signature="dd->d"), lambda m, a: m.add(a, a, sig=3),
    lambda m, a: m.add(a, a, sig="dd->d", dtype="d"), lambda m, a: m.add(a, a, sig="ddd->d"),
    lambda m, a: m.add(a, a, sig=("d",) * 4), lambda m, a: m.add(a, a, loud=1),
    lambda m, a: m.add(a, a, axis=1), lambda m, a: m.sqrt(a, out=m.zeros(4, int)),
    lambda m, a: m.bitwise_and(a, a), lambda m, a: m.matmul(a, 1.0), lambda m, a: m.matmul(a, a),
    lambda m, a: m.matmul(a, a.T, axes=[(0, 1), (0, 1)]), lambda m, a: m.matmul(a, a.T, axis=0),
    lambda m, a: m.vecdot(a, a, axes=(0, 0)), lambda m, a: m.vecdot(a, a, axis=0, axes=[0, 0]),
    lambda m, a: m.matmul(a, a.T, keepdims=True), lambda m, a: m.vecdot(a, a[:, :3]),
    lambda m, a: m.matmul(a, a.T, where=a > 0),
])  # fmt: skip
def test_errors_are_of_numpys_types(call: Any) -> None:
    x = data((3, 4), "float64", 2)
    theirs = _attempt(call, onp, x.copy())
    assert isinstance(theirs, Exception), theirs
    _compare(call, x)


CALLED = ("add subtract multiply divide power floor_divide equal less bitwise_or maximum arctan2"
          " sqrt negative absolute isnan invert divmod modf").split()
GIVEN = ["bool", "int8", "uint8", "int64", "uint64", "float16", "float32", "float64", "complex64"]


def _options(draw: Any, function: Any) -> dict[str, Any]:
    """Some of the arguments that choose the loop, the output and the cast."""
    found: dict[str, Any] = {}
    kind = draw(st.sampled_from(["dtype", "sig", "signature", "", ""]))
    if kind == "dtype":
        found[kind] = draw(st.sampled_from(GIVEN))
    elif kind:
        found[kind] = tuple(draw(st.sampled_from([None, None, *GIVEN]))
                            for _ in range(function.nargs))
    if draw(st.booleans()):
        found["casting"] = draw(st.sampled_from(["no", "equiv", "safe", "same_kind", "unsafe"]))
    if draw(st.booleans()):
        found["out"] = tuple(onp.zeros(3, draw(st.sampled_from(GIVEN))) if draw(st.booleans())
                             else None for _ in range(function.nout))
        if draw(st.booleans()):
            found["where"] = onp.array([True, False, True])
    return found


def _ours(x: Any) -> Any:
    if isinstance(x, tuple):
        return tuple(map(_ours, x))
    return np.array(x) if isinstance(x, onp.ndarray) else x


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.data())
def test_which_loop_a_call_takes(choice: Any) -> None:
    """Dtypes and exceptions of calls with any options; nothing runs."""
    draw = choice.draw
    name = draw(st.sampled_from(CALLED))
    theirs = getattr(onp, name)
    operands = [onp.ones(3, draw(st.sampled_from(GIVEN))) for _ in range(theirs.nin)]
    options = _options(draw, theirs)
    if theirs.nin == 2 and options.get("casting") not in ("no", "equiv"):
        operands[1] = draw(st.sampled_from([operands[1], 1, 2.5, True, onp.float32(2)]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = _attempt(lambda: theirs(*operands, **options))
        found = _attempt(lambda: getattr(np, name)(
            *map(_ours, operands), **{k: _ours(v) for k, v in options.items()}))
    if isinstance(expected, Exception):
        kind = UFUNC_ERROR if isinstance(expected, UFUNC_ERROR) else type(expected)
        assert isinstance(found, kind), (expected, found)
        return
    assert not isinstance(found, Exception), found
    pairs = zip(found, expected) if isinstance(expected, tuple) else [(found, expected)]
    assert all(a.dtype == b.dtype and a.shape == b.shape for a, b in pairs)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.lists(st.integers(-5, 4), min_size=6, max_size=6),
       st.lists(st.integers(-9, 9), min_size=6, max_size=6),
       st.sampled_from(["add", "subtract", "multiply", "minimum", "floor_divide", "bitwise_or"]))
def test_repeated_positions_take_their_turns(where: list[int], by: list[int], name: str) -> None:
    def program(m: Any, a: Any, b: Any) -> Any:
        getattr(m, name).at(a, m.array(where), b)
        return a

    both(program, onp.arange(10, 15), onp.array(by), exact=True)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.lists(st.integers(0, 6), min_size=4, max_size=4),
       st.sampled_from(["add", "maximum", "subtract"]))
def test_segments_from_any_starts(starts: list[int], name: str) -> None:
    def program(m: Any, a: Any) -> Any:
        f = getattr(m, name)
        return f.reduceat(a, starts), f.reduceat(a, m.array(starts))

    both(program, onp.arange(7) ** 2, exact=True)


def test_computed_starts_out_of_range_are_told_at_the_read() -> None:
    a = np.arange(5.0)
    for starts in (np.array([0, 7]), np.array([-1, 2])):
        with pytest.raises(IndexError, match="out-of-bounds"):
            np.add.reduceat(a, starts)
        result = np.add.reduceat(a, starts * 1)
        with pytest.raises(IndexError, match="out of bounds"):
            result.tolist()
    assert np.add.reduceat(a, np.array([0, 3]) * 1).tolist() == [3.0, 7.0]


def test_at_of_every_unary_function() -> None:
    x = onp.array([0.25, 0.5, 0.75, 1.0])
    results = []
    for name in UNARY:
        for dtype in ("float64", "int32"):
            def program(m: Any, a: Any, name: str = name) -> Any:
                getattr(m, name).at(a, [0, 3, 0])
                return a

            given_ = x if dtype == "float64" else onp.arange(1, 5, dtype=dtype)
            theirs = _attempt(program, onp, given_.copy())
            ours = _attempt(program, np, np.array(given_))
            assert isinstance(ours, Exception) == isinstance(theirs, Exception), (name, ours)
            if not isinstance(ours, Exception):
                results.append((name, ours, theirs))
    lazyloom.sync(*[ours for _, ours, _ in results])
    for _, ours, theirs in results:
        same(ours, theirs, scale=16)


def test_at_leaves_the_rest_and_writes_through_views() -> None:
    def program(m: Any, a: Any) -> Any:
        view = a[1:, ::2]
        m.divide.at(view, (0, [0, 0]), 2)
        m.logical_and.at(view, (slice(None), 1), 5)
        m.multiply.at(a, a > 2**60, -1)
        m.add.at(a[0], [1, 1, 1], [0.6, 0.6, 0.6])
        return a

    both(program, onp.array([[1, 2, 3], [2**53 + 1, 5, 2**62 + 1], [7, 8, 0]]), exact=True)


def test_out_may_be_an_operand() -> None:
    def program(m: Any, a: Any) -> Any:
        m.add(a[1:], a[:-1], out=a[1:])
        m.multiply(a, a[::-1], out=a)
        m.divmod(a, 3, out=(a, None))
        m.add(a, 1, out=a, where=a > m.array(0))
        m.subtract(a[::2], 1, a[::2])
        return a

    both(program, onp.arange(6.0))


def test_results_in_an_order() -> None:
    x = onp.asfortranarray(data((3, 4), "float64", 3))
    a = np.asarray(x.copy(order="C"))
    for order in ("K", "A", "C", "F"):
        ours = np.add(a.reshape(4, 3).T, 1.0, order=order)
        theirs = onp.add(x.copy(order="C").reshape(4, 3).T, 1.0, order=order)
        assert ours.flags.c_contiguous == theirs.flags.c_contiguous, order
        assert ours.flags.f_contiguous == theirs.flags.f_contiguous, order


def test_unknown_keywords_are_told_by_the_name_of_the_ufunc() -> None:
    told = r"^(sin|matmul)\(\) got an unexpected keyword argument"
    for call in (lambda: np.sin(1.0, axes=1), lambda: np.matmul([1.0], [1.0], axies=1)):
        with pytest.raises(TypeError, match=told):
            call()


def test_generalised_functions() -> None:
    def program(m: Any, a: Any, b: Any, v: Any) -> Any:
        out = m.zeros((2, 3, 3), "complex128")
        m.matmul(a, b, out=out)
        return (out, m.matmul(a, b, axes=[(1, 2), (1, 2), (0, 1)]), m.matmul(v, b), m.matmul(a, v),
                m.matvec(a, v), m.vecmat(v, b), m.vecdot(a, v), m.vecdot(a, a, axis=0),
                m.vecdot(a, a, keepdims=True), m.vecdot(v, v, axes=[0, 0]),
                m.matvec(a, v, dtype="complex128"))  # fmt: skip

    both(program, data((2, 3, 4), "complex128", 1), data((2, 4, 3), "complex128", 2),
         data((4,), "complex128", 3), scale=8)


def test_objects() -> None:
    assert isinstance(np.matmul, np.ufunc) and isinstance(np.add, np.ufunc)
    assert pickle.loads(pickle.dumps(np.vecdot)) is np.vecdot
    for name in ("reduce", "accumulate", "reduceat", "outer", "at", "nin", "nout", "nargs",
                 "identity", "signature", "types", "ntypes", "resolve_dtypes"):  # fmt: skip
        assert hasattr(np.ufunc, name), name
    for name, function in _ufuncs.TABLE.items():
        theirs = getattr(onp, name)
        for attribute in ("nin", "nout", "nargs", "identity", "signature", "ntypes"):
            mine, expected = getattr(function, attribute), getattr(theirs, attribute)
            assert mine == expected or mine is expected, (name, attribute)


def test_errors_are_numpys_own() -> None:
    x = np.zeros((2, 3))
    with pytest.raises(onp.exceptions.AxisError) as caught:
        x.sum(axis=4)
    assert caught.value.axis == 4 and caught.value.ndim == 2
    with pytest.raises(UFUNC_ERROR):
        np.add(x, x, out=np.zeros((2, 3), int))
    with pytest.raises(UFUNC_ERROR):
        np.add(x, x, dtype=int)
    with pytest.raises(onp.exceptions.AxisError, match="start"):
        np.rollaxis(x, 0, 5)


def test_vectorize() -> None:
    calls: list[Any] = []

    def step(x: Any, y: Any) -> Any:
        calls.append((type(x), type(y)))
        return x if x > y else np.sqrt(y)

    before = lazyloom.stats()["reads"]
    f = np.vectorize(step, otypes=["f8"])
    result = f(np.array([[1.0], [5.0]]), np.array([4.0, 9.0]))
    assert isinstance(result, np.ndarray) and result.tolist() == [[2.0, 3.0], [5.0, 3.0]]
    assert set(calls) == {(float, float)} and lazyloom.stats()["reads"] > before

    @np.vectorize(otypes=["i4"], doc="Twice.")
    def twice(x: int) -> int:
        return 2 * x

    assert twice(np.arange(3)).dtype == onp.int32 and twice.__doc__ == "Twice."
    assert type(np.vectorize(lambda x: x, otypes=[object])(np.arange(2))) is onp.ndarray
    with pytest.raises(ValueError):
        np.vectorize(lambda x: x)(np.zeros(0))
    assert np.frompyfunc(step, 2, 1)(np.arange(2), 1).dtype == object


def test_integers_to_negative_powers() -> None:
    x, n = onp.arange(1, 5), onp.array([2, 1, 0, 3])
    both(lambda m, a, b: (a**b, 2**b, a**m.int64(2), m.power.reduce(a), m.power.accumulate(b),
                          m.power.reduce(a, initial=2), m.power.outer(a, b)), x, n)  # fmt: skip
    both(lambda m, a: (m.power.at(a, [0, 1, 1], [2, 2, 3]), a)[1], x)
    a = np.array(x)
    for exponent in (-1, onp.int8(-1)):
        with pytest.raises(ValueError, match="negative integer powers"):
            a**exponent
    power, other = a ** np.array([1, -1, 2, 3]), a + 1
    for _ in range(2):
        with pytest.raises(ValueError, match="negative integer powers"):
            (power + 1).tolist()
    assert other.tolist() == [2, 3, 4, 5]
