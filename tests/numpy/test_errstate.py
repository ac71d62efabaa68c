"""How floating-point errors are told: where asked, when read, with NumPy's words."""

from __future__ import annotations

import inspect
import io
import threading
import warnings
from typing import Any

import numpy as onp
import pytest

import lazyloom
import lazyloom_numpy as np
from lazyloom_numpy._ufuncs import errstate as _errstate

A = onp.array([1.0, 0.0, -1.0])
Z = onp.array([0.0, 0.0, 2.0])


def _line() -> int:
    frame = inspect.currentframe()
    assert frame is not None and frame.f_back is not None
    return frame.f_back.f_lineno


def _told(call: Any, *arrays: Any) -> tuple[set[str], set[str]]:
    """The texts that reading ours warns with, and those that NumPy's call does."""
    texts = []
    for module in (np, onp):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            with module.errstate(all="warn"):
                result = call(module, *(module.array(x) for x in arrays))
            onp.asarray(result[0] if isinstance(result, tuple) else result)
        texts.append({str(w.message) for w in caught})
    return texts[0], texts[1]


@pytest.mark.parametrize(("call", "arrays"), [
    (lambda m, a, z: a / z, (A, Z)),
    (lambda m, a, z: a // z, (A, Z)),
    (lambda m, a, z: a % z, (A, Z)),
    (lambda m, a: 1 / a, (A,)),
    (lambda m, a: a / 0, (A,)),
    (lambda m, a: m.log(a), (A,)),
    (lambda m, a: m.log1p(a), (A,)),
    (lambda m, a: m.sqrt(a), (A,)),
    (lambda m, a: m.arctanh(a), (A,)),
    (lambda m, a: m.arccos(a * 2), (A,)),
    (lambda m, a: a ** -1.0, (A,)),
    (lambda m, a: m.reciprocal(a), (A,)),
    (lambda m, a: m.exp(a * 1000), (A[:1],)),
    (lambda m, a: m.exp(a * -1000), (A[:1],)),
    (lambda m, a: m.sinh(a * 1000), (A[:1],)),
    (lambda m, a: a * 1e200 * a * 1e200, (A[:1],)),
    (lambda m, a: a * 1e-200 * a * 1e-200, (A[:1],)),
    (lambda m, a: m.square(a * 1e200), (A[:1],)),
    (lambda m, a: m.add(a * onp.inf, a * -onp.inf), (A[:1],)),
    (lambda m, a: m.hypot(a * 1.7e308, 1.7e308), (A[:1],)),
    (lambda m, a: a.astype("f4"), (A * 1e300,)),
    (lambda m, a: a.astype("i4"), (A * 1e300,)),
    (lambda m, a: m.divmod(a, 0.0), (A,)),
    (lambda m, a: m.isnan(a), (A * onp.nan,)),
    (lambda m, a: m.maximum(a, 0), (A * onp.nan,)),
    (lambda m, a: a + 1, (A * onp.nan,)),
    (lambda m, i: i // 0, (onp.arange(3),)),
    (lambda m, i: i % m.arange(3), (onp.arange(3),)),
    (lambda m, i: i // -1, (onp.array([-2**63]),)),
    (lambda m, i: i * 2, (onp.array([100], "i1"),)),
    (lambda m, a: a.sum(), (onp.array([onp.inf, -onp.inf]),)),
    (lambda m, a: m.sum(a), (onp.full(3, 1e308),)),
    (lambda m, a: m.prod(a, axis=0), (onp.full((3, 2), 1e200),)),
    (lambda m, a: m.cumsum(a), (onp.full(3, 1e308),)),
    (lambda m, a: m.multiply.reduce(a), (onp.full(3, 1e200),)),
    (lambda m, a: m.sum(a), (onp.array([onp.inf, 1.0]),)),
    (lambda m, a, b: a @ b, (onp.array([[1e200, 1.0]]), onp.array([1e200, 1.0]))),
    (lambda m, a: a.mean(), (onp.array([onp.inf, -onp.inf]),)),
    (lambda m, a: a.var(), (onp.array([onp.inf, 1.0]),)),
    (lambda m, s: s[0] / s[1], (A,)),
    (lambda m, s: s[0] * s[1], (onp.array([2**40, 2**40]),)),
    (lambda m, s: s[0] + s[1], (onp.array([100, 100], "i1"),)),
    (lambda m, s: -s[0], (onp.array([3], "u1"),)),
    (lambda m, a, z: m.divide(a, z, where=z != 0, out=m.zeros(3)), (A, Z)),
    (lambda m, i: m.floor_divide(i, i, where=i > 0, out=m.arange(3)), (onp.arange(3),)),
], ids=lambda v: inspect.getsource(v).strip().split("lambda ")[1][:40] if callable(v) else "")
def test_the_same_words_as_numpy(call: Any, arrays: Any) -> None:
    ours, theirs = _told(call, *arrays)
    assert ours == theirs


def test_nothing_is_told_unless_asked_and_it_costs_nothing() -> None:
    assert set(np.geterr().values()) == {"ignore"} and not _errstate.active()

    def keys() -> list[Any]:
        a, z = np.array(A), np.array(Z)
        return [lazyloom.program_of(x).key for x in (a / z, np.log(a).sum(), a**-1, (a @ z))]

    plain = keys()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with np.errstate(all="ignore"):
            assert not _errstate.active() and keys() == plain
        (np.array(A) / np.array(Z)).tolist()
    with np.errstate(divide="warn"):
        assert keys() != plain
    assert not _errstate.active() and keys() == plain


def test_the_warning_names_the_line_and_comes_at_the_read_once() -> None:
    a, z = np.array(A), np.array(Z)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with np.errstate(divide="warn"):
            quotient, line = a / z, _line()
        unrelated = (a + 1).tolist()
        dependent = quotient * 2
        assert not caught and unrelated
        dependent.tolist()
        quotient.tolist()
    assert [(w.category, w.filename, w.lineno) for w in caught] == [
        (RuntimeWarning, __file__, line)]


def test_an_error_is_raised_by_every_read_of_what_depends_on_it() -> None:
    before = np.seterr(over="raise")
    try:
        assert before["over"] == "ignore" and np.geterr()["over"] == "raise"
        a = np.array([1000.0])
        b = np.exp(a)
        c = b + 1
    finally:
        assert np.seterr(**before)["over"] == "raise"
    other = (a + 1).tolist()
    for x in (c, b, c):
        with pytest.raises(FloatingPointError, match="^overflow encountered in exp .*test_errst"):
            x.tolist()
    assert other == [1001.0] and not _errstate.active()


def test_leaving_a_block_that_raises_is_a_read() -> None:
    a, z = np.array(A), np.array(Z)
    text = "divide by zero encountered in divide"
    with pytest.raises(FloatingPointError, match=text), np.errstate(divide="raise"):
        a / z  # noqa: B018
    with np.errstate(divide="raise"):
        assert (a / (z + 3)).tolist()
    with pytest.raises(KeyError), np.errstate(divide="raise"):
        a / z  # noqa: B018
        raise KeyError
    with np.errstate(all="raise"):
        with np.errstate(divide="ignore", invalid="ignore"):
            inner = a / z
        with pytest.raises(FloatingPointError, match="invalid value encountered in sqrt"):
            np.sqrt(a).tolist()
    assert onp.isinf(inner.tolist()[0])


def test_callbacks_logs_and_prints(capfd: pytest.CaptureFixture[str]) -> None:
    a, z = np.array(A), np.array(Z)
    told: list[Any] = []
    log = io.StringIO()
    with np.errstate(divide="call", invalid="print", call=lambda *x: told.append(x)):
        first = a / z
    with np.errstate(all="log", call=log):
        second = np.log(a)
    with np.errstate(divide="call", call=None):
        third = a / z
    first.tolist(), second.tolist()
    assert told == [("divide by zero", 1)]
    assert capfd.readouterr().err == "Warning: invalid value encountered in divide\n"
    assert log.getvalue() == ("Warning: divide by zero encountered in log\n"
                              "Warning: invalid value encountered in log\n")
    with pytest.raises(FloatingPointError, match="seterrcall"):
        third.tolist()
    old = np.seterrcall(log)
    assert old is None and np.geterrcall() is log and np.seterrcall(old) is log
    with pytest.raises(TypeError, match="callable"):
        np.seterrcall(3)
    with pytest.raises(ValueError):
        np.seterr(all="loud")
    with pytest.raises(TypeError):
        np.errstate(loud="warn")


def test_as_a_decorator_and_entered_again() -> None:
    @np.errstate(invalid="raise")
    def root(x: Any) -> Any:
        return np.sqrt(x)

    for _ in range(2):
        with pytest.raises(FloatingPointError):
            root(np.array([-1.0]))
        assert root(np.array([4.0])).tolist() == [2.0]
    state = np.errstate(divide="warn")
    with state, pytest.raises(TypeError, match="twice"):
        state.__enter__()


def test_what_numpy_computes_in_a_block_goes_by_its_modes() -> None:
    def divide() -> None:
        np.float64(1) / np.float64(0)
        np.int64(1) // np.int64(0)
        np.longdouble(1) / np.longdouble(0)

    before = onp.geterr()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with np.errstate(all="ignore"):
            divide()
        np.errstate(divide="ignore")(divide)()
    told: list[Any] = []
    with np.errstate(divide="call", call=lambda *x: told.append(x)):
        divide()
    assert told == [("divide by zero", 1)] * 3
    with pytest.raises(FloatingPointError, match="scalar divide"), np.errstate(divide="raise"):
        divide()
    assert onp.geterr() == before and onp.geterrcall() is None


def test_every_thread_has_its_own() -> None:
    inside, leave = threading.Event(), threading.Event()
    seen: list[Any] = []

    def run() -> None:
        seen.append(np.geterr()["divide"])
        with np.errstate(divide="raise"):
            inside.set()
            leave.wait(20)

    thread = threading.Thread(target=run)
    thread.start()
    assert inside.wait(20)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert _errstate.active() and np.geterr()["divide"] == "ignore"
        quotient = (np.array(A) / np.array(Z) + np.array(A).sum()).tolist()
    leave.set()
    thread.join()
    assert onp.isinf(quotient[0]) and seen == ["ignore"] and not _errstate.active()


def test_in_place_and_out() -> None:
    a, out = np.array(A), np.zeros(3)
    with np.errstate(divide="warn", invalid="warn"):
        a /= np.array(Z)
        np.log(np.array(Z), out=out)
        view = out[1:]
        view += 1
    for x in (a, out):
        with pytest.warns(RuntimeWarning) as caught:
            x.tolist()
        assert "divide by zero" in str(caught[0].message)


def test_gradients_go_through_checks() -> None:
    def f(x: Any) -> Any:
        with np.errstate(all="warn"):
            return (np.log(x) * x).sum()

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        slope = lazyloom.grad(f)(np.array([1.0, 2.0]))
        onp.testing.assert_allclose(onp.asarray(slope), onp.log([1.0, 2.0]) + 1)


def test_mapped_functions_tell_when_their_result_is_read() -> None:
    def f(x: Any) -> Any:
        with np.errstate(divide="raise"):
            return np.log(x)

    onp.testing.assert_allclose(
        onp.asarray(lazyloom.vmap(f)(np.array([1.0, 2.0]))), onp.log([1.0, 2.0]))
    mapped = lazyloom.vmap(f)(np.array([1.0, 0.0]))
    with pytest.raises(FloatingPointError, match="divide by zero encountered in log"):
        mapped.tolist()
    with lazyloom.options(reads="error"):
        logarithm = f(np.array([0.0]))
    with pytest.raises(FloatingPointError):
        logarithm.tolist()


@pytest.mark.parametrize("call", [
    lambda m: m.mean(m.zeros(0)), lambda m: m.zeros((0, 3)).mean(0), lambda m: m.mean(m.arange(0)),
    lambda m: m.zeros(0).var(), lambda m: m.std(m.ones(1), ddof=1), lambda m: m.ones(3).std(ddof=3),
    lambda m: m.zeros((3, 0)).mean(0), lambda m: m.ones((2, 1)).var(1, ddof=1),
    lambda m: m.ones(3).var(),
])  # fmt: skip
def test_means_and_variances_of_too_little(call: Any) -> None:
    texts = []
    for module in (np, onp):
        with warnings.catch_warnings(record=True) as caught, onp.errstate(all="ignore"):
            warnings.simplefilter("always")
            result = onp.asarray(call(module))
        texts.append(([str(w.message) for w in caught], result.tolist()))
    assert texts[0][0] == texts[1][0]
    onp.testing.assert_array_equal(texts[0][1], texts[1][1])
