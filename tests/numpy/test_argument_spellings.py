"""Spellings, keywords, outputs and operands that programs give, as NumPy takes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as onp
import pytest

import lazyloom
import lazyloom_numpy as np

pytestmark = pytest.mark.usefixtures("quick_compiler")

Call = Callable[[Any], Any]
A = [[3.0, 1.0, 2.0], [0.0, 5.0, 4.0]]


def outcome(call: Call, module: Any) -> Any:
    """What a call gives: data, dtype and memory order, or the class of what it raises."""
    try:
        with onp.errstate(all="ignore"):
            found = call(module)
    except Exception as error:
        kinds = [c for c in type(error).__mro__ if c.__module__ == "builtins"]
        return kinds[0]
    if not hasattr(found, "dtype"):
        return found
    flags = (found.flags.c_contiguous, found.flags.f_contiguous) if found.ndim > 1 else ()
    return onp.asarray(found).tolist(), found.dtype, flags


def same(call: Call) -> None:
    found, expected = outcome(call, np), outcome(call, onp)
    if isinstance(expected, tuple) and isinstance(found, tuple) and len(expected) == 3:
        onp.testing.assert_allclose(found[0], expected[0], rtol=1e-12)
        found, expected = found[1:], expected[1:]
    assert found == expected


ORDERED: dict[str, Callable[[Any, Any], Any]] = {
    "zeros": lambda np, o: np.zeros((2, 3), order=o),
    "ones": lambda np, o: np.ones((2, 3), order=o),
    "full": lambda np, o: np.full((2, 3), 1.5, order=o),
    "eye": lambda np, o: np.eye(2, 3, order=o),
    "array": lambda np, o: np.array(A, order=o),
    "array of array": lambda np, o: np.array(np.array(A).T, order=o),
    "asarray": lambda np, o: np.asarray(np.array(A).T, order=o),
    "asarray_chkfinite": lambda np, o: np.asarray_chkfinite(np.array(A), order=o),
    "copy": lambda np, o: np.copy(np.array(A).T, order=o),
    "method copy": lambda np, o: np.array(A).T.copy(o),
    "astype": lambda np, o: np.array(A).T.astype("f4", order=o),
    "zeros_like": lambda np, o: np.zeros_like(np.array(A).T, order=o),
    "full_like": lambda np, o: np.full_like(np.array(A).T, 2, order=o),
    "reshape": lambda np, o: np.reshape(np.array(A), (3, 2), order=o),
    "ravel": lambda np, o: np.ravel(np.array(A).T, order=o),
    "flatten": lambda np, o: np.array(A).T.flatten(o),
    "tobytes": lambda np, o: np.array(A).T.tobytes(o),
    "ufunc": lambda np, o: np.add(np.array(A).T, 1, order=o),
    "matmul": lambda np, o: np.matmul(np.array(A), np.array(A).T, order=o),
    "einsum": lambda np, o: np.einsum("ij,kj->ik", np.array(A), np.array(A), order=o),
    "clip": lambda np, o: np.clip(np.array(A), 0, 1, order=o),
    "unravel_index": lambda np, o: int(np.unravel_index(3, (2, 3), order=o)[0]),
    "ravel_multi_index": lambda np, o: int(np.ravel_multi_index((1, 2), (2, 3), order=o)),
}


@pytest.mark.parametrize("name", ORDERED)
def test_orders_in_all_spellings(name: str) -> None:
    for order in ("C", "c", "F", "f", "A", "a", "K", "k", b"F", None, "Cx", "", "z", 1):
        same(lambda np, order=order: ORDERED[name](np, order))


WORDS: dict[str, tuple[Callable[[Any, Any], Any], tuple[Any, ...]]] = {
    "sort": (lambda np, w: np.sort(np.array(A), kind=w),
             ("quick", "Q", "heapsort", "merge", "stab", b"stable", "", "x", "introselect", 1)),
    "argsort": (lambda np, w: np.argsort(np.array(A), kind=w), ("quick", "m", "x", None)),
    "partition": (lambda np, w: np.partition(np.array(A), 1, kind=w).shape,
                  ("introselect", b"introselect", "quick", None)),
    "method partition": (lambda np, w: np.array(A).partition(1, kind=w), ("introselect", "heap")),
    "searchsorted": (lambda np, w: np.searchsorted(np.array([1.0, 2, 2]), 2.0, side=w),
                     ("left", b"right", "l", None)),
    "take": (lambda np, w: np.take(np.array([1.0, 2, 3]), [4, -5], mode=w),
             ("wrap", "clip", b"clip", 0, 1, None, "raise", "w", 1.0)),
    "choose": (lambda np, w: np.choose([3, 0], np.array([[1, 2], [3, 4]]), mode=w),
               ("wrap", "clip", 1, "raise")),
    "ravel_multi_index": (lambda np, w: int(np.ravel_multi_index((1, 5), (2, 3), mode=w)),
                          ("wrap", 0, b"clip", "raise", ("wrap", "clip"))),
    "casting": (lambda np, w: np.add(np.array([1]), np.array([1.0]), casting=w),
                ("safe", b"safe", "no", "SAFE", None)),
    "concatenate": (lambda np, w: np.concatenate([np.array([1.0])], casting=w), ("no", "x")),
    "require": (lambda np, w: np.require(np.array(A), requirements=[w]),
                ("F", "f", "F_CONTIGUOUS", "C", "W", "K", "Fx")),
}


@pytest.mark.parametrize("name", WORDS)
def test_words_in_all_spellings(name: str) -> None:
    call, words = WORDS[name]
    for word in words:
        same(lambda np, word=word: call(np, word))


def _written(write: Callable[[Any, Any], Any], shape: Any, dtype: Any = float) -> Call:
    def call(np: Any) -> Any:
        out = np.zeros(shape, dtype)
        write(np, out)
        return out

    return call


def _in_place(write: Call) -> Call:
    def call(np: Any) -> Any:
        x = np.ones(2, complex)
        write(x)
        return x

    return call


CALLS: dict[str, Call] = {
    # a 0-d array counts as one with an axis
    "repeat": lambda np: np.repeat(np.array(3.0), 2, axis=0),
    "take": lambda np: np.take(np.array(3.0), [0, 0], axis=-1),
    "compress": lambda np: np.compress([True], np.array(3.0), axis=0),
    "repeat along 1": lambda np: np.repeat(np.array(3.0), 2, axis=1),
    # numbers that do not fit
    "select": lambda np: np.select([np.array([True, False])], [np.array([1, 2], "u1")], -1),
    "full_like": lambda np: np.full_like(np.array([1, 2], "u1"), -1),
    # real and complex data
    "cov": lambda np: np.cov(np.array([1.0, 2, 4]), np.array([1 + 2j, 2, 3j])),
    "corrcoef": lambda np: np.corrcoef(np.array([[1.0, 2, 4], [3, 2, 2]]), np.array([1j, 2, 3])),
    # a knot at infinity
    "interp from": lambda np: np.interp(
        np.array([0.5, 1, 1.5, -np.inf]), np.array([-np.inf, 1, 2]), np.array([1.0, 2, 3])),
    "interp to": lambda np: np.interp(
        np.array([1.5, 5, np.inf]), np.array([1, 2, np.inf]), np.array([1.0, 2, 3])),
    "interp infinite": lambda np: np.interp(
        np.array([0.0, 0.5, 1, 1.5, np.nan]), np.arange(4.0), np.array([1.0, np.inf, 3, 4])),
    "interp level": lambda np: np.interp(
        np.array([0.5]), np.array([-np.inf, np.inf]), np.array([2.0, 2.0])),
    "interp complex": lambda np: np.interp(
        np.array([0.5, 1.5]), np.array([0.0, 1, np.inf]), np.array([1j, 2, 3 + 1j])),
    # Python numbers are weak
    "isclose": lambda np: np.isclose(np.array([0.1, 1.0], "f4"), 0.1, rtol=0, atol=0),
    "isclose first": lambda np: np.isclose(0.1, np.array([0.1], "f4"), rtol=0, atol=0),
    "isclose of ints": lambda np: np.isclose(np.array([10**10 + 1]), 10**10, rtol=1e-10),
    "isclose of numbers": lambda np: bool(np.isclose(1.0, 1 + 1e-9)),
    "allclose": lambda np: np.allclose(np.array([0.1], "f4"), 0.1, rtol=0, atol=0),
    # axes of size 1
    "einsum": lambda np: np.einsum("ij,jk->ik", np.ones((2, 1)), np.ones((3, 2))),
    "einsum refused": lambda np: np.einsum("ij,jk->ik", np.ones((2, 2)), np.ones((3, 2))),
    # keywords
    "dot": lambda np: np.ones(2).dot(b=np.ones(2)),
    "conj": _in_place(lambda x: x.conj(x)),
    "conj where": _in_place(lambda x: x.conjugate(out=x, where=[True, False])),
    "size": lambda np: np.size(np.ones((2, 3, 4)), axis=(0, 1)),
    "size negative": lambda np: np.size(np.ones((2, 3, 4)), axis=-1),
    "size beyond": lambda np: np.size(np.ones((2, 3)), axis=2),
    # outputs
    "percentile": _written(lambda np, o: np.percentile(np.arange(3.0), 50, out=o), (1,)),
    "quantile": _written(lambda np, o: np.quantile(np.array(A), 0.3, 0, out=o), (2, 3)),
    "nanmedian": _written(lambda np, o: np.nanmedian(np.array(A), 0, out=o), (1, 3), int),
    "median": _written(lambda np, o: np.median(np.array(A), 0, out=o), 3, int),
    "median refused": _written(lambda np, o: np.median(np.array(A), 0, out=o), (1, 3)),
    "round": _written(lambda np, o: np.round(np.array(A), out=o), (1, 2, 3)),
    "argmax": _written(lambda np, o: np.argmax(np.array(A), 0, out=o), 3, bool),
    "argmax refused": _written(lambda np, o: np.argmax(np.array(A), 0, out=o), 3, "f4"),
    "take out": _written(lambda np, o: np.take(np.array(A), [1, 0], 0, out=o), (2, 3), int),
    "list out": lambda np: np.sum(np.array(A), 0, out=[np.zeros(3)]),
    # dtypes
    "angle": lambda np: np.angle(np.array([0, 7], "u1")),
    "angle of bools": lambda np: np.angle(np.array([True])),
    "isclose of results": lambda np: np.isclose(
        np.array([0.1], "f4"), np.array([0.1]).sum(), rtol=0, atol=0),
    "mean": lambda np: np.mean(np.array([1.5, 2.9]), dtype="i8"),
    "mean of some": lambda np: np.mean(
        np.array(A), 0, dtype="i4", where=np.array([[True, True, False], [True, False, True]])),
    "mean refused": lambda np: np.mean(np.array(A), 2, dtype="i4"),
    "mean of no dimension": lambda np: np.mean(np.array(2.0), axis=0),
    "std of no dimension": lambda np: np.std(np.array(2.0), axis=-1),
    "sum of no dimension": lambda np: np.sum(np.array(2.0), axis=-1),
    "cumsum of no dimension": lambda np: np.cumsum(np.array(2.0), axis=-1),
    "accumulate of no dimension": lambda np: np.add.accumulate(np.array(2.0)),
    "var": lambda np: np.var(np.array([1.5, 2.9, 7]), dtype="i8"),
    "std": lambda np: np.std(np.array([1.5, 2.9, 17]), dtype="i4", ddof=1),
    "std refused": lambda np: np.std(np.array(A), 1, dtype="i4"),
    "partition of nothing": lambda np: np.partition(np.zeros((2, 0)), 1),
    "argpartition of no dimension": lambda np: np.argpartition(np.array(2.0), 0),
    "insert what is no number": lambda np: np.insert(np.array([1, 2]), 0, float("nan")),
    "insert a fraction": lambda np: np.insert(np.array([1, 2]), 0, 2.5),
    # what is written
    "put": _written(lambda np, o: np.put(o, 1, 2j), 3),
    "place": _written(lambda np, o: np.place(o, np.array([True, False, True]), [1j]), 3),
    "put of an array": _written(lambda np, o: np.put(o, [0, -1], np.array([1, 2])), 3),
    "digitize complex": lambda np: np.digitize(np.array([1j]), np.array([0.0, 1])),
    "tensordot": lambda np: np.tensordot(np.ones(3), np.ones(1)),
    # the rest
    "piecewise": lambda np: np.piecewise([1, 2, 3], [[True, False, False]], [lambda x: x * 2, 5.7]),
    "piecewise of one": lambda np: np.piecewise([1, 2, 3], [True, False, True], [4, 5]),
    "digitize": lambda np: np.digitize(
        np.array([0.0, 1, 2, np.nan]), np.array([0, 1, np.nan, np.nan])),
    "digitize down": lambda np: np.digitize(
        np.array([0.0, 1, 2, np.nan]), [np.nan, np.nan, 1, 0]),
    "digitize level": lambda np: np.digitize(np.array([0.0, 2]), np.array([1.0, 1.0])),
    "digitize neither": lambda np: onp.asarray(np.digitize(np.array([0.0]), [0, 2, 1])),
    "insert": lambda np: np.insert(np.arange(4.0), 1.0, 5),
    "insert several": lambda np: np.insert(np.arange(4.0), [1.0, 2.0], 5),
    "insert array": lambda np: np.insert(np.arange(4.0), np.array([1.5]), 5),
}


@pytest.mark.parametrize("name", CALLS)
def test_calls(name: str) -> None:
    same(CALLS[name])


def test_the_letters_of_einsum_broadcast_in_the_op() -> None:
    x, y = np.ones((2, 1)), np.ones((3, 4))
    found = lazyloom.apply("einsum", [x, y], {"equation": "ij,jk->ik"})
    assert found.tolist() == [[3.0] * 4] * 2
