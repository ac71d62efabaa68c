"""Arrays of what no device has a dtype for are NumPy's own, and go together with ours."""

from __future__ import annotations

import io
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as onp
import pytest

import lazyloom_numpy as np

pytestmark = pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")


def alike(ours: Any, theirs: Any) -> None:
    """Equal data; NumPy's own array where a device has no such dtype, else one of ours."""
    if isinstance(theirs, tuple):
        assert len(ours) == len(theirs)
        for a, b in zip(ours, theirs):
            alike(a, b)
        return
    expected = onp.asarray(theirs)
    if not isinstance(theirs, (onp.ndarray, onp.generic)):
        assert ours == theirs  # an element of an array of objects
        return
    assert ours.dtype == expected.dtype and onp.shape(ours) == expected.shape
    known = expected.dtype.kind in "biufc" and expected.dtype != onp.longdouble
    assert isinstance(ours, np.ndarray) == known
    assert onp.asarray(ours).tolist() == expected.tolist()


WORDS = ["b", "a", "b", "c"]
CALLS: dict[str, Callable[[Any], Any]] = {
    "array": lambda m: m.array(WORDS),
    "asarray": lambda m: m.asarray([1, None, "x"]),
    "of a dtype": lambda m: m.array([1, 2], dtype=object),
    "two dimensions": lambda m: m.array([WORDS, WORDS]).T,
    "at least": lambda m: m.array("x", ndmin=2),
    "bytes": lambda m: m.array([b"ab", b"c"]),
    "numbers to texts": lambda m: m.arange(3).astype(str),
    "numbers to objects": lambda m: m.arange(3.0).astype(object),
    "array of ours as objects": lambda m: m.array(m.arange(3), dtype=object),
    "zeros": lambda m: m.zeros(2, object),
    "empty": lambda m: m.empty((2, 1), dtype=object),
    "full": lambda m: m.full(2, "x"),
    "full of nothing": lambda m: m.full((2,), None),
    "full_like": lambda m: m.full_like(m.arange(3), "x", dtype="U3"),
    "where": lambda m: m.where(m.arange(3) > 1, "big", "small"),
    "select": lambda m: m.select([m.arange(3) > 1], [m.array(["x"] * 3)], "y"),
    "unique": lambda m: m.unique(WORDS, return_counts=True, return_inverse=True),
    "sort": lambda m: m.sort(WORDS),
    "argsort": lambda m: m.argsort(m.array(WORDS), kind="stable"),
    "searchsorted": lambda m: m.searchsorted(["a", "b"], ["b"]),
    "isin": lambda m: m.isin(m.array(WORDS), ["a"]),
    "concatenate": lambda m: m.concatenate([m.array(WORDS), m.array(["long word"])]),
    "concatenate with numbers": lambda m: m.concatenate([m.array([None]), m.arange(2)]),
    "stack": lambda m: m.vstack([WORDS, WORDS]),
    "repeat": lambda m: m.repeat(m.array(WORDS), m.arange(4)),
    "take": lambda m: m.take(m.array(WORDS), m.array([0, 2])),
    "delete": lambda m: m.delete(m.array(WORDS), 1),
    "insert": lambda m: m.insert(m.array(WORDS), 1, "z"),
    "position": lambda m: (m.argmax(m.array([1, 3, 2], object)), m.argmin(m.array([2, 1], "O"))),
    "a condition of objects": lambda m: m.where(m.array([None, 1], object), 1, 0),
    "reshape": lambda m: m.reshape(m.array(WORDS), (2, 2)),
    "equal to a text": lambda m: (m.array(WORDS) == "b").tolist(),
    "texts choose": lambda m: m.arange(4)[m.array(WORDS) == "b"],
    "ours choose texts": lambda m: m.array(WORDS)[m.arange(4) > 1],
    "positions of ours": lambda m: m.array(WORDS)[m.array([3, 0])],
    "sum of objects": lambda m: m.sum(m.array([Fraction(1, 2), Fraction(1, 3)])),
    "largest": lambda m: m.max(m.array([Decimal(1), Decimal(3)])),
    "any": lambda m: m.any(m.array([None, "x"])) is not None,
    "objects and ours": lambda m: m.arange(3) * m.array([1, 2.5, 3], dtype=object),
    "ours in place": lambda m: _added(m, m.array([1, 2, 3], dtype=object)),
    "accumulate objects": lambda m: m.add.accumulate(m.array([1, 2], object)),
    "ufunc of objects": lambda m: m.multiply(m.array([1, 2], object), m.arange(2)),
    "outer of objects": lambda m: m.add.outer(m.array(["a"], object), m.array(["b"], object)),
    "fractions": lambda m: m.array([0.5, 0.25]) == Fraction(1, 2),
    "less than a fraction": lambda m: m.array([0.5, 0.25]) < Fraction(1, 2),
    "records": lambda m: m.array([(1, 2.0)], dtype=[("a", int), ("b", float)])["a"].tolist(),
    "dates": lambda m: m.arange("2020-01-01", "2020-01-04", dtype="datetime64[D]"),
    "days between": lambda m: m.diff(m.array(["2020-01-01", "2020-01-04"], "M8[D]")),
    "extended": lambda m: m.zeros(2, m.longdouble) + m.arange(2),
    "vectorize": lambda m: m.vectorize(lambda x: f"<{x}>")(m.arange(3)),
    "frompyfunc": lambda m: m.frompyfunc(lambda a, b: a + b, 2, 1)(m.arange(3), 1),
    "frompyfunc outer": lambda m: m.frompyfunc(lambda a, b: a + b, 2, 1).outer([1, 2], m.arange(2)),
    "frompyfunc reduce": lambda m: m.frompyfunc(lambda a, b: a + b, 2, 1).reduce(m.arange(4)),
    "texts of a file": lambda m: m.loadtxt(io.StringIO("a,1\nb,2"), delimiter=",", dtype=str),
    "genfromtxt": lambda m: m.genfromtxt(io.StringIO("a,1\nb,2"), delimiter=",", dtype=str),
    "masked": lambda m: m.ma.masked_where(m.arange(3) > 1, m.arange(3)).filled(-1).tolist(),
    "mean of masked": lambda m: float(m.mean(m.ma.masked_array([1.0, 2.0, 9.0], [0, 0, 1]))),
    "masked and ours": lambda m: int((m.arange(2) + m.ma.masked_array([1, 2], [0, 1])).sum()),
    "data of masked": lambda m: m.array(m.ma.masked_array([1, 2], [True, False])),
    "matrix product": lambda m: m.asarray(m.matrix([[1, 2], [3, 4]]) * m.matrix([[1], [2]])),
    "matrix and ours": lambda m: m.asarray(m.array([[1, 0], [0, 2]]) * m.matrix([[1], [2]])),
    "blocks": lambda m: m.bmat([[m.eye(2), m.ones((2, 1))]]).tolist(),
    "blocks by name": lambda m: _blocks(m).tolist(),
    "order of fields": lambda m: m.argsort(m.array(
        [(1, 3), (1, 2)], dtype=[("x", int), ("y", int)]), order=("x", "y")),
    "matrix passes": lambda m: type(m.asanyarray(m.matrix([[1]]))).__name__ == "matrix",
    "masked passes": lambda m: m.asanyarray(m.ma.array([1, 2], mask=[0, 1])).sum() == 1,
    "a masked array printed": lambda m: len(m.array_repr(m.ma.array([0.0]))) > 20,
    "real of a number": lambda m: (m.real(1 + 2j), m.imag(1 + 2j), m.real(3)) == (1.0, 2.0, 3),
    "polynomial": lambda m: m.polynomial.Polynomial([1.0, 2.0])(m.arange(3.0)).tolist(),
    "product of objects": lambda m: m.multiply.reduce(m.array([2, 3], object)),
    "char": lambda m: m.char.upper(m.array(["a"])),
    "choices": lambda m: m.choose(m.array([0, 1]), [m.array(["a", "b"]), m.array(["c", "d"])]),
}  # fmt: skip


def _blocks(m: Any) -> Any:
    a, b = m.eye(2), m.ones((2, 2))
    assert a.shape == b.shape
    return m.bmat("a, b; b, a")


def _added(m: Any, other: Any) -> Any:
    x = m.zeros(3)
    try:
        x += other  # NumPy does not cast the sum, of dtype object, back
    except TypeError:
        return m.zeros(3)
    return x


@pytest.mark.parametrize("name", CALLS)
def test_as_numpy(name: str) -> None:
    ours, theirs = CALLS[name](np), CALLS[name](onp)
    if type(theirs) in (bool, int, float, list) or isinstance(theirs, onp.bool):
        assert ours == theirs
    else:
        alike(ours, theirs)


@pytest.mark.parametrize("given", [
    onp.array([1, 2], object), onp.array(["3", "4"]), [Fraction(1, 2), Decimal(2)],
    onp.ma.masked_array([5, 6], [True, False]),
])  # fmt: skip
def test_assigned_where_numpy_makes_numbers_of_them(given: Any) -> None:
    ours, theirs = np.zeros(3), onp.zeros(3)
    ours[:2] = theirs[:2] = given
    ours[2] = theirs[2] = Decimal("1.5")
    assert ours.tolist() == theirs.tolist()


def test_functions_that_write_to_an_array_of_numpys() -> None:
    x = np.arange(3.0)
    out = onp.zeros(3)
    assert np.add(x, 1, out=out) is out and out.tolist() == [1, 2, 3]
    total = onp.zeros(())
    assert np.sum(x, out=total) is total and total == 3
    np.copyto(out, x)
    np.put(out, [0], [9])
    np.putmask(out, np.array([False, True, False]), x + 5)
    assert out.tolist() == [9, 6, 2]
    words = onp.array(["a", "b", "c"])
    np.place(words, np.arange(3) > 1, ["z"])
    assert words.tolist() == ["a", "b", "z"]
    np.add.at(out, np.array([0, 0]), 1)
    assert out.tolist() == [11, 6, 2]


def test_what_numpy_refuses_is_refused_as_there() -> None:
    for m in (onp, np):
        with pytest.raises(TypeError):
            m.sin("a")
        with pytest.raises(ValueError):
            m.array([[1], [2, 3]])
        with pytest.raises(TypeError):
            m.zeros(2) + m.array(["a", "b"])
        with pytest.raises(ValueError):
            m.zeros(2)[:] = "x"


def test_draws_of_texts_and_objects() -> None:
    pool = ["red", "green", "blue"]
    for source in (np.random, np.random.RandomState(1), np.random.default_rng(1)):
        drawn = source.choice(pool, 50)
        assert type(drawn) is onp.ndarray and set(drawn) <= set(pool) and len(set(drawn)) > 1
        assert source.choice(pool) in pool and isinstance(source.choice(pool), str)
        assert source.choice(pool, 4, p=[0, 1, 0]).tolist() == ["green"] * 4
        assert sorted(source.choice(pool, 3, replace=False)) == sorted(pool)
        assert sorted(source.permutation(pool)) == sorted(pool)
        things = onp.array([None, {"a": 1}, "x"], object)
        assert source.choice(things, 2).dtype == object
    rows = onp.array([["a", "b"], ["c", "d"]])
    mixed = np.random.default_rng(2).permuted(rows, axis=1)
    assert [sorted(row) for row in mixed.tolist()] == [["a", "b"], ["c", "d"]]
    columns = np.random.default_rng(2).choice(rows, 5, axis=1)
    assert columns.shape == (2, 5) and set(columns[0]) <= {"a", "b"}
    assert np.random.default_rng(3).choice(pool, 9).tolist() == (
        np.random.default_rng(3).choice(pool, 9).tolist())


def test_the_legacy_module_of_random() -> None:
    from lazyloom_numpy.random import mtrand

    assert np.random.mtrand is mtrand and mtrand.RandomState is np.random.RandomState
    np.random.seed(3)
    first = mtrand.rand(2).tolist()
    mtrand._rand.seed(3)
    assert np.random.rand(2).tolist() == first
    with pytest.raises(AttributeError):
        _ = mtrand.nothing


def test_views_as_records_and_bytes_are_numpys_and_read_only() -> None:
    rows = np.array([[1, 2], [3, 4], [1, 2]])
    packed = rows.view(onp.dtype((onp.void, 16))).reshape(-1)
    assert type(packed) is onp.ndarray
    _, first, inverse = np.unique(packed, return_index=True, return_inverse=True)
    assert (rows[first][inverse] == rows).all() and len(first) == 2
    named = np.arange(4.0).view([("x", float), ("y", float)])
    assert named["y"].tolist() == [1.0, 3.0]
    with pytest.raises(ValueError, match="read-only"):
        named["x"] = 0
