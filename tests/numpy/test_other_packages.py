"""What other packages ask of an array: ufuncs of their own, memory, a backend, an operator."""

from __future__ import annotations

import array
import ctypes
import hashlib
import io
import struct
import subprocess
import sys
import types
import zlib
from collections import UserList, deque
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as onp
import pytest

import lazyloom_numpy as np
from lazyloom.extension import NATIVE
from tests.contract.helpers import script
from tests.numpy.helpers import same

EXPORTS = sys.version_info >= (3, 12) or hasattr(NATIVE, "exports_buffers")
buffers = pytest.mark.skipif(not EXPORTS, reason="before Python 3.12 it takes functions in C")


class TestUfuncsOfOthers:
    """``numpy.frompyfunc`` makes what SciPy's functions are: ufuncs that NumPy does not have."""

    double = onp.frompyfunc(lambda x: x * 2, 1, 1)
    plus = onp.frompyfunc(lambda x, y: x + y, 2, 1)

    def test_scipy(self) -> None:
        special = pytest.importorskip("scipy.special")
        h = onp.linspace(0.1, 2.0, 7)
        x = np.array(h)
        for ours, theirs in (
            (special.erfi(x), special.erfi(h)), (special.jv(2, x), special.jv(2, h)),
            (special.jv(h, x), special.jv(h, h)), (special.dawsn(x[1]), special.dawsn(h[1])),
            (special.sici(x), special.sici(h)), (special.log1p(x), special.log1p(h)),
            (special.dawsn(x.astype("f4")), special.dawsn(h.astype("f4"))),
            (special.beta.outer(x, x[:2]), special.beta.outer(h, h[:2])),
        ):  # fmt: skip
            assert all(isinstance(r, np.ndarray) for r in (
                ours if isinstance(ours, tuple) else (ours,)))
            same(ours, theirs)
        assert type(special.dawsn(x[1])) is type(x[1])
        out = np.zeros(7)
        assert special.erfi(x, out=out) is out
        same(out, special.erfi(h))
        low, high = np.zeros(7), onp.zeros(7)
        special.sici(x, out=(low, high))
        same(low, special.sici(h)[0])
        assert high.tolist() == special.sici(h)[1].tolist()
        some = np.zeros(7)
        special.erfi(x, out=some, where=x > 1)
        same(some, onp.where(h > 1, special.erfi(h), 0))

    def test_objects_come_back_as_numpys(self) -> None:
        found = self.double(np.arange(3))
        assert type(found) is onp.ndarray and found.dtype == object and found.tolist() == [0, 2, 4]
        assert self.plus.reduce(np.arange(4)) == 6
        assert self.plus.accumulate(np.arange(4)).tolist() == [0, 1, 3, 6]
        total = np.zeros(3)
        self.plus(np.arange(3.0), np.ones(3), out=total, casting="unsafe")
        assert total.tolist() == [1, 2, 3]

    def test_at(self) -> None:
        special = pytest.importorskip("scipy.special")
        x, h = np.array([0.5, 1.0, 2.0]), onp.array([0.5, 1.0, 2.0])
        special.dawsn.at(x, np.array([0, 2]))
        special.dawsn.at(h, [0, 2])
        same(x, h)

    def test_a_name_of_numpys_is_not_taken_for_numpys(self) -> None:
        def add(a: Any, b: Any) -> Any:
            return a * 100 + b

        other = onp.frompyfunc(add, 2, 1)
        assert other(np.arange(2), 1).tolist() == [1, 101]

    def test_a_derived_class_keeps_its_class(self) -> None:
        special = pytest.importorskip("scipy.special")

        class Named(np.ndarray):
            pass

        found = special.erfi(np.ones(2).view(Named))
        assert type(found) is Named

    def test_another_class_that_takes_part_is_asked(self) -> None:
        class Takes:
            def __array_ufunc__(self, function: Any, method: str, *inputs: Any, **kw: Any) -> str:
                return "mine"

        assert self.plus(np.ones(2), Takes()) == "mine"

    def test_ours_are_known_as_ufuncs(self) -> None:
        assert isinstance(np.sqrt, onp.ufunc) and isinstance(np.matmul, onp.ufunc)


class TestMemory:
    @buffers
    def test_what_takes_bytes(self) -> None:
        x, h = np.arange(6.0).reshape(2, 3) * 2, onp.arange(6.0).reshape(2, 3) * 2
        assert hashlib.sha256(x).digest() == hashlib.sha256(h).digest()
        assert zlib.crc32(x) == zlib.crc32(h) and struct.unpack("6d", x)[5] == 10.0
        file = io.BytesIO()
        assert file.write(x) == 48 and file.getvalue() == h.tobytes() == bytes(x)
        assert onp.frombuffer(x).tolist() == h.ravel().tolist()
        assert bytearray(x) == bytearray(h)

    @buffers
    @pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float16", "complex128"])
    def test_memoryview(self, dtype: str) -> None:
        x = np.ones((2, 3), dtype)
        h = onp.ones((2, 3), dtype)
        ours, theirs = memoryview(x), memoryview(h)
        assert ours.shape == theirs.shape and ours.format == theirs.format and ours.readonly
        assert bytes(ours) == bytes(theirs) and ours.strides == theirs.strides
        assert memoryview(x.T.copy()).shape == (3, 2) and memoryview(np.zeros(())).ndim == 0
        assert memoryview(np.zeros((0, 2))).shape == (0, 2)
        with pytest.raises((TypeError, NotImplementedError)):  # memoryview writes no complex ones
            ours[0, 0] = 1
        before = bytes(ours)
        x += x
        assert bytes(ours) == before  # a look at what was there, whose memory is not used again
        assert bytes(memoryview(x)) == (h + h).tobytes()

    @buffers
    def test_nobody_writes(self) -> None:
        with pytest.raises(BufferError):
            (ctypes.c_char * 8).from_buffer(np.zeros(1))
        with pytest.raises(TypeError, match="read-write"):
            io.BytesIO(b"12345678").readinto(np.zeros(1))

    @buffers
    def test_a_derived_class(self) -> None:
        class Named(np.ndarray):
            pass

        assert bytes(memoryview(np.arange(3.0).view(Named))) == onp.arange(3.0).tobytes()

    def test_numpy_copies_as_before(self) -> None:
        x = np.arange(3.0)
        copy = onp.asarray(x)
        copy[0] = 9  # its own memory, writable
        assert x.tolist() == [0, 1, 2] and onp.asarray(np.ones(2, np.bfloat16)).dtype == np.bfloat16
        shared = onp.asarray(x, copy=False)
        assert not shared.flags.writeable and onp.shares_memory(shared, onp.from_dlpack(x))

    def test_array_interface(self) -> None:
        x = np.arange(12).reshape(3, 4)
        described = x.__array_interface__
        assert described["shape"] == (3, 4) and described["strides"] == (32, 8)
        assert described["typestr"] == onp.dtype(int).str and described["version"] == 3

        class Holds:
            __array_interface__ = described

        assert onp.asarray(Holds()).tolist() == x.tolist()
        assert hasattr(x, "__array_interface__")
        assert not hasattr(np.ones(2, np.bfloat16), "__array_interface__")

    def test_strides_by_numpys_function(self) -> None:
        strided = onp.lib.stride_tricks.as_strided
        x, h = np.arange(10), onp.arange(10)
        windows = strided(x[3:], (2, 3), (-8, 8))
        assert windows.tolist() == strided(h[3:], (2, 3), (-8, 8)).tolist()
        assert not windows.flags.writeable
        assert onp.lib.stride_tricks.sliding_window_view(x, 3)[4].tolist() == [4, 5, 6]

    def test_images(self) -> None:
        image = pytest.importorskip("PIL.Image")
        h = onp.arange(36, dtype="u1").reshape(3, 4, 3)
        for x, y in ((np.array(h), h), (np.array(h)[:, ::-1], h[:, ::-1]), (np.array(h)[..., 0],
                                                                            h[..., 0])):
            assert onp.array_equal(onp.asarray(image.fromarray(x)), y)


class TestSequences:
    GIVEN: dict[str, Callable[[], Any]] = {
        "range": lambda: range(2), "deque": lambda: deque([2, 0]),
        "memoryview": lambda: memoryview(onp.array([1, 2])),
        "array": lambda: array.array("q", [0, 1]), "UserList": lambda: UserList([1, 0]),
        "bytearray": lambda: bytearray(b"\x01\x00"), "tuple": lambda: ([0, 2],),
        "NumPy scalars": lambda: [onp.int8(1), onp.int64(2)],
    }  # fmt: skip

    @pytest.mark.parametrize("name", GIVEN)
    def test_as_indices(self, name: str) -> None:
        given = self.GIVEN[name]
        h = onp.arange(12.0).reshape(3, 4)
        x = np.array(h)
        same(x[given()], h[given()])
        if name != "tuple":
            same(x[given(), 1], h[given(), 1])
            same(x[:, given()], h[:, given()])
            same(x[given(), np.array([1, 3])], h[given(), [1, 3]])
            same(np.take(x, given(), axis=1), onp.take(h, given(), axis=1))
        x[given()] = -1
        h[given()] = -1
        same(x, h)
        x[given()] += 5
        h[given()] += 5
        same(x, h)

    @pytest.mark.parametrize("name", [n for n in GIVEN if n != "tuple"])
    def test_as_values(self, name: str) -> None:
        given = self.GIVEN[name]
        h = onp.arange(2.0)
        x = np.array(h)
        for m, y in ((onp, h), (np, x)):
            y[:] = given()
            y[[0, 1]] = given()
            y[y > 0] += 1
            assert isinstance(m.add(y, given()), m.ndarray)
        same(x, h)
        same(x + given(), h + given())
        same(given() - x, given() - h)
        same(x < given(), h < given())
        same(np.array(given()), onp.array(given()))
        same(np.concatenate([given(), x]), onp.concatenate([given(), h]))
        same(np.where([True, False], given(), x), onp.where([True, False], given(), h))

    def test_masks_of_others(self) -> None:
        x, h = np.arange(3), onp.arange(3)
        mask = memoryview(onp.array([True, False, True]))
        same(x[mask], h[mask])
        same(x[deque([True, False, True])], h[deque([True, False, True])])

    @pytest.mark.parametrize("bad", [{1}, "a", b"a", 1.5, {0: 1}, object(), [0.5], deque([0.5])])
    def test_what_is_no_index(self, bad: Any) -> None:
        for m in (onp, np):
            with pytest.raises(IndexError):
                m.arange(3)[bad]

    def test_sequences_of_arrays_to_join(self) -> None:
        x = np.arange(3)
        same(np.vstack(deque([x, x])), onp.vstack([onp.arange(3)] * 2))
        same(np.concatenate(onp.zeros((2, 3))), onp.zeros(6))
        same(np.hstack(UserList([x, [7]])), onp.array([0, 1, 2, 7]))

    @pytest.mark.parametrize("select", [
        lambda m, x: x[m.array([], int)], lambda m, x: x[[]], lambda m, x: x[m.zeros(0, bool)],
        lambda m, x: x[m.zeros((0, 2), int), m.zeros(2, int)],
        lambda m, x: x[m.zeros((0, 1), int), m.array([[0, 1]])],
        lambda m, x: x[m.arange(3)[m.zeros(3, bool)]],
        lambda m, x: x.take(m.zeros(0, int), axis=0),
        lambda m, x: m.take_along_axis(x, m.zeros((0, 3), int), axis=0),
        lambda m, x: m.delete(x, [], axis=0), lambda m, x: x[range(0)], lambda m, x: x[deque()],
        lambda m, x: x[m.zeros((0, 3), bool)], lambda m, x: x[m.ix_([], [0, 2])],
        lambda m, x: m.compress([], x, axis=0), lambda m, x: x[m.nonzero(x)],
        lambda m, x: m.repeat(x, [], axis=0), lambda m, x: x[m.argsort(x[:, 0])],
    ])  # fmt: skip
    def test_nothing_of_an_empty_axis(self, select: Any) -> None:
        same(select(np, np.zeros((0, 3))), select(onp, onp.zeros((0, 3))))


class TestOperatorsOfOthers:
    def test_sparse_matrices(self) -> None:
        sparse = pytest.importorskip("scipy.sparse")
        h = onp.array([[4.0, 1, 0], [1, 3, 1], [0, 1, 2]])
        x, v = np.array(h), np.array([1.0, 2.0, 3.0])
        for kind in (sparse.csr_matrix, sparse.csr_array):
            s = kind(h)
            for found in (s + x, x + s, s - x, x - s, x * s if kind is sparse.csr_matrix else x @ s,
                          x @ s, s @ x, s.dot(x), s @ v):
                assert not isinstance(found, tuple)
            onp.testing.assert_array_equal(onp.asarray(s + x), h + h)
            onp.testing.assert_array_equal(onp.asarray(x - s), h - h)
            onp.testing.assert_array_equal(onp.asarray(x @ s), h @ h)
            onp.testing.assert_array_equal(kind(x).toarray(), h)

    def test_linear_operators(self) -> None:
        linalg = pytest.importorskip("scipy.sparse.linalg")
        h = onp.array([[4.0, 1, 0], [1, 3, 1], [0, 1, 2 + 0.0]])
        b = onp.array([1.0, 2.0, 3.0])
        x, v = np.array(h), np.array(b)
        for solve in (linalg.cg, linalg.gmres, linalg.bicgstab, linalg.minres):
            onp.testing.assert_allclose(solve(x, v)[0], solve(h, b)[0], rtol=1e-6)
        operator = linalg.aslinearoperator(x)
        onp.testing.assert_allclose(operator.matvec(b), h @ b)
        onp.testing.assert_allclose(operator.rmatvec(b), h.T @ b)
        onp.testing.assert_allclose(operator.matmat(h), h @ h)
        onp.testing.assert_allclose(linalg.svds(x, k=1, v0=v)[1], linalg.svds(h, k=1, v0=b)[1])
        onp.testing.assert_allclose(onp.asarray(linalg.expm_multiply(x, v)),
                                    linalg.expm_multiply(h, b))

    def test_complex_adjoint(self) -> None:
        x = np.array([[1 + 2j, 3], [0, 1j]])
        same(x.rmatvec(np.array([1.0, 1j])), onp.asarray(x).conj().T @ [1.0, 1j])
        same(x.matmat(x), onp.asarray(x) @ onp.asarray(x))

    def test_numbers_of_other_kinds(self) -> None:
        for m in (onp, np):
            x = m.array([0.5, 0.25])
            assert (x == Fraction(1, 2)).tolist() == [True, False]
            assert (x != Decimal("0.25")).tolist() == [True, False]
            assert (x > Fraction(1, 3)).tolist() == [True, False]
            whole = m.array([1, 2]) + Fraction(1, 2)
            assert list(whole) == [Fraction(3, 2), Fraction(5, 2)]

    def test_an_object_without_operators_is_refused_unread(self) -> None:
        import lazyloom

        x = np.ones(2) + 1
        with lazyloom.options(reads="error"), pytest.raises(TypeError, match="unsupported"):
            x + object()

    def test_an_object_with_a_reflected_operator_gets_the_array(self) -> None:
        class Mine:
            def __radd__(self, other: Any) -> Any:
                return other

        x = np.ones(2)
        assert x + Mine() is x


class Frame:
    """What data frames are to NumPy: functions call their methods, ufuncs ``__array_ufunc__``."""

    def __init__(self, data: Any) -> None:
        self.data = onp.asarray(data)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self.data

    def __array_ufunc__(self, function: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        given = [x.data if isinstance(x, Frame) else onp.asarray(x) for x in inputs]
        return Frame(getattr(function, method)(*given))

    def mean(self, axis: Any = None, dtype: Any = None, out: Any = None, **kwargs: Any) -> Any:
        found = self.data.mean(axis)
        return found if axis is None else Frame(found)

    def round(self, decimals: int = 0, out: Any = None) -> Any:
        return Frame(self.data.round(decimals))

    def cumsum(self, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        return Frame(self.data.cumsum(axis))


class TestDataFrames:
    def test_functions_ask_the_object(self) -> None:
        for m in (onp, np):
            f = Frame([[1.26, 2.0], [3.0, 4.0]])
            assert type(m.mean(f, axis=0)) is Frame and type(m.round(f, 1)) is Frame
            assert type(m.cumsum(f, axis=1)) is Frame and type(m.sqrt(f)) is Frame
            assert type(m.mean(f)) is onp.float64  # what its own method gives
            assert type(f.data[0, 0]) is onp.float64
            assert isinstance(m.array(f), m.ndarray) and isinstance(m.linalg.inv(f), m.ndarray)
            x = m.zeros((2, 2))
            x[:] = f
            assert x[1, 1] == 4.0

    def test_pandas(self) -> None:
        pandas = pytest.importorskip("pandas")
        frame = pandas.DataFrame({"a": [1.0, 2.0, 4.0], "b": [3.0, 5.0, 7.0], "g": [0, 0, 1]})
        for name in ("mean", "sum", "std", "max", "median", "var"):
            ours, theirs = frame.apply(getattr(np, name)), frame.apply(getattr(onp, name))
            assert ours.dtype == theirs.dtype and ours.tolist() == theirs.tolist()
            ours = frame.groupby("g").agg(getattr(np, name))
            theirs = frame.groupby("g").agg(getattr(onp, name))
            assert ours.equals(theirs) or onp.allclose(ours, theirs, equal_nan=True)
        for f in (np.sqrt, np.log):
            assert f(frame).dtypes.tolist() == [onp.float64] * 3
            assert type(f(frame["a"])) is pandas.Series
            assert frame["a"].apply(f).dtype == onp.float64
        assert type(np.mean(frame, axis=0)) is pandas.Series
        frame["c"] = np.arange(3.0)
        assert pandas.DataFrame(np.ones((2, 2))).to_numpy().tolist() == [[1, 1], [1, 1]]
        assert np.arange(3)[frame["g"] == 0].tolist() == [0, 1]
        assert frame.iloc[np.array([0, 2])].shape == (2, 4)


def _shown(x: Any) -> Any:
    """What a result is and holds, whichever package it is from."""
    if hasattr(x, "to_numpy") and hasattr(x, "index"):
        dtypes = x.dtypes.tolist() if x.ndim == 2 else [x.dtype]
        return type(x).__name__, dtypes, x.index.tolist(), x.to_numpy().tolist()
    found = onp.asarray(x)
    return found.dtype.kind, found.tolist()


def _written(x: Any, at: str, key: Any, value: Any) -> Any:
    target = x if at == "" else getattr(x, at)
    target[key] = value
    return x


class TestPandas:
    """What pandas makes of our arrays and numbers, beside what it makes of NumPy's."""

    CASES: dict[str, Any] = {
        "frame[mask]": lambda m, f: f[m.array([True, False, True, False])],
        "frame[no mask]": lambda m, f: f[f.columns[m.array([0, 2])]],
        "series[mask]": lambda m, f: f["a"][m.array([True, False, True, False])],
        "series[labels]": lambda m, f: f["a"][m.array([0, 2])],
        "frame[mask] = x": lambda m, f: _written(f, "", m.asarray(f["a"]) > 2, -1.0),
        "frame[mask of two] = x": lambda m, f: _written(
            f, "", m.array([[True, False, False]] * 4), -1.0),
        "series[mask] = x": lambda m, f: _written(
            f["a"].copy(), "", m.array([True, False, True, False]), m.array([7.0, 8.0])),
        "loc": lambda m, f: f.loc[m.array([True, False, True, False]), "a"],
        "loc of a function": lambda m, f: f.loc[lambda f: m.asarray(f["a"]) > 2],
        "loc = x": lambda m, f: _written(
            f, "loc", (m.array([True, False, True, False]), "a"), m.array([7.0, 8.0])),
        "iloc of a number": lambda m, f: f.iloc[m.argmax(m.array([1, 5, 2]))],
        "where": lambda m, f: f["a"].where(m.array([True, False, True, False]), m.arange(4.0)),
        "a column's name": lambda m, f: f[f.columns[m.argmin(m.array([3, 1, 2]))]],
        "map": lambda m, f: f["a"].map(m.sqrt),
        "map of a function": lambda m, f: f["a"].map(lambda v: m.sqrt(v) if v > 2 else 0.0),
        "map of integers": lambda m, f: f["a"].map(lambda v: m.int32(v)),
        "map of bools": lambda m, f: f["a"].map(lambda v: m.isnan(v)),
        "apply": lambda m, f: f["a"].apply(lambda v: m.sin(v) * 2),
        "apply by columns": lambda m, f: f.apply(lambda c: m.sum(m.asarray(c))),
        "apply by rows": lambda m, f: f.apply(lambda r: m.linalg.norm(m.array(r)), axis=1),
        "frame.map": lambda m, f: f.map(m.sqrt),
        "agg": lambda m, f: f.agg({"a": m.mean, "b": m.max}),
        "groupby by an array": lambda m, f: f.groupby(m.array([0, 1, 1, 0])).sum(),
        "groupby of a series": lambda m, f: f["a"].groupby(m.array([0, 1, 1, 0])).mean(),
        "groupby, apply": lambda m, f: f.groupby("g")[["a", "b"]].apply(
            lambda d: m.mean(m.asarray(d["a"]) * m.asarray(d["b"]))),
        "a column that is a number": lambda m, f: f.assign(z=m.sum(m.arange(4.0))),
        "minus a matrix": lambda m, f: f - m.arange(12.0).reshape(4, 3),
        "of a matrix": lambda m, f: m.arange(12.0).reshape(4, 3) * f,
        "of a number": lambda m, f: (f - m.mean(m.arange(3.0))) / m.std(m.arange(3.0)),
        "a ufunc of both": lambda m, f: m.maximum(f["a"], m.arange(4.0) * 2),
    }

    @pytest.mark.parametrize("name", CASES)
    def test_a_frame(self, name: str) -> None:
        pandas = pytest.importorskip("pandas")
        made = [pandas.DataFrame({"a": [1.0, 2.0, 4.0, 8.0], "b": [3.0, 5.0, 7.0, 9.0],
                                  "g": [0, 0, 1, 1]}) for _ in range(2)]  # fmt: skip
        ours, theirs = (self.CASES[name](m, f) for m, f in zip((np, onp), made, strict=True))
        assert _shown(ours) == _shown(theirs)

    @pytest.mark.parametrize("make", [
        lambda m, pd: pd.Series(m.arange(4.0)),
        lambda m, pd: pd.Series([m.sum(m.arange(3.0)), m.mean(m.arange(4.0))]),
        lambda m, pd: pd.Series({"x": m.max(m.arange(3)), "y": m.min(m.arange(4))}),
        lambda m, pd: pd.Series([m.any(m.arange(3)), m.all(m.arange(4))]),
        lambda m, pd: pd.Series(m.sum(m.arange(3.0)), index=[1, 2]),
        lambda m, pd: pd.Series([m.sum(m.arange(3.0)), None, "text"]),
        lambda m, pd: pd.DataFrame(m.arange(6.0).reshape(3, 2), columns=["p", "q"]),
        lambda m, pd: pd.DataFrame({"p": m.arange(3), "q": m.sum(m.ones(3))}),
        lambda m, pd: pd.DataFrame([{"loss": m.mean(m.arange(i + 2.0))} for i in range(3)]),
        lambda m, pd: pd.Series([1.0, 2.0]).to_numpy() @ m.ones(2),
        lambda m, pd: m.stack(pd.Series([m.arange(2.0), m.ones(2)])),
        lambda m, pd: pd.unique(m.array([1, 2, 1])),
        lambda m, pd: pd.factorize(m.array([5, 2, 5]))[0],
    ])  # fmt: skip
    def test_made_of_ours(self, make: Any) -> None:
        pandas = pytest.importorskip("pandas")
        assert _shown(make(np, pandas)) == _shown(make(onp, pandas))

    def test_whichever_is_imported_first(self) -> None:
        pytest.importorskip("pandas")
        for imports in ("import pandas\nimport lazyloom_numpy as np",
                        "import lazyloom_numpy as np\nimport pandas"):
            subprocess.run([sys.executable, "-c", f"{imports}\n" + (
                "assert len(pandas.DataFrame({'a': [1, 2]})[np.array([True, False])]) == 1\n"
                "assert pandas.Series([np.sum(np.ones(2))]).dtype == float")], check=True)


def test_a_package_is_taught_once_it_is_imported_not_when_it_is_asked_for(tmp_path: Path) -> None:
    """As transformers and others ask whether there is one; an import may also fail at first."""
    core = tmp_path / "pandas" / "core"
    core.mkdir(parents=True)
    (tmp_path / "pandas" / "__init__.py").write_text(
        "import sys\nif not hasattr(sys, 'ready'): raise ImportError('not ready')\n"
        "from pandas.core import common\n")
    (core / "__init__.py").write_text("")
    (core / "common.py").write_text("def apply_if_callable(key, frame): return key\n")
    script(f"""
    import importlib.util, sys
    sys.path.insert(0, {str(tmp_path)!r})
    import numpy
    import lazyloom_numpy as np

    finders = list(sys.meta_path)
    assert importlib.util.find_spec("pandas") is not None
    try:
        import pandas
    except ImportError as error:
        assert str(error) == "not ready"
    sys.ready = True
    import pandas
    assert type(pandas.core.common.apply_if_callable(np.ones(3), None)) is numpy.ndarray
    assert len(sys.meta_path) == len(finders) - 1  # what waited has gone
    """)


class TestEinops:
    """einops finds arrays by classes derived from its own, which are made when it is imported."""

    def test_the_backend(self) -> None:
        from lazyloom_numpy._interop import einops as _einops

        backends = types.ModuleType("einops._backends")

        class AbstractBackend:
            framework_name = ""

        class NumpyBackend(AbstractBackend):
            framework_name = "numpy"

        backends.__dict__.update(AbstractBackend=AbstractBackend, NumpyBackend=NumpyBackend)
        _einops._define(backends)
        (cls,) = NumpyBackend.__subclasses__()
        made: Any = cls()
        assert made.framework_name in sys.modules
        assert made.is_appropriate_type(np.ones(2)) and not made.is_appropriate_type(onp.ones(2))

    def test_a_later_import_is_seen(self, tmp_path: Any) -> None:
        package = tmp_path / "einops"
        package.mkdir()
        (package / "__init__.py").write_text("from . import _backends\n")
        (package / "_backends.py").write_text(
            "class AbstractBackend: framework_name = ''\n"
            "class NumpyBackend(AbstractBackend): pass\n")
        program = (
            f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
            "import lazyloom_numpy as np\nimport einops\n"
            "(made,) = einops._backends.NumpyBackend.__subclasses__()\n"
            "assert made().is_appropriate_type(np.ones(2))\n"
            "assert 'einops._backends' not in [getattr(f, 'name', '') for f in sys.meta_path]\n")
        subprocess.run([sys.executable, "-c", program], check=True)

    def test_einops(self) -> None:
        einops = pytest.importorskip("einops")
        x, h = np.arange(12.0).reshape(3, 4), onp.arange(12.0).reshape(3, 4)
        same(einops.rearrange(x, "a (b c) -> c b a", c=2),
             einops.rearrange(h, "a (b c) -> c b a", c=2))
        same(einops.reduce(x, "a b -> b", "mean"), einops.reduce(h, "a b -> b", "mean"))
        same(einops.repeat(x, "a b -> a b c", c=2), einops.repeat(h, "a b -> a b c", c=2))
        same(einops.einsum(x, x, "a b, c b -> a c"), einops.einsum(h, h, "a b, c b -> a c"))


@pytest.mark.parametrize("axis", [None, 0, -1, onp.int64(0)])
@pytest.mark.parametrize("name", ["nanmean", "nanvar", "nanstd", "nansum", "nanmax", "nanmin"])
def test_numbers_have_an_axis_for_the_functions_without_nan(name: str, axis: Any) -> None:
    for given in (2.5, 2.5 + 1j if name not in ("nanmax", "nanmin") else 2.5):
        same(getattr(np, name)(np.array(given), axis=axis),
             getattr(onp, name)(onp.array(given), axis=axis))


@pytest.mark.parametrize("name", ["nanmean", "nanvar", "nanstd"])
def test_means_without_nan_of_inexact_numbers_are_inexact(name: str) -> None:
    for m in (onp, np):
        x = m.array([1.0, m.nan, 4.0])
        with pytest.raises(TypeError, match="dtype must be inexact"):
            getattr(m, name)(x, dtype=int)
        with pytest.raises(TypeError, match="out must be inexact"):
            getattr(m, name)(x, out=m.zeros((), int))
    same(getattr(np, name)(np.array([1, 2, 4]), dtype=int),
         getattr(onp, name)(onp.array([1, 2, 4]), dtype=int))


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int64", "float32", "complex128"])
@pytest.mark.parametrize("shape", [(), (0, 2), (2, 3)])
def test_byteswap(dtype: str, shape: tuple[int, ...]) -> None:
    h = onp.arange(onp.prod(shape, dtype=int)).reshape(shape).astype(dtype)
    x = np.array(h)
    assert x.byteswap().tobytes() == h.byteswap().tobytes()
    assert x.T.byteswap().tobytes() == h.T.byteswap().tobytes()
    rows = x[:1] if shape else x
    assert rows.byteswap(inplace=True) is rows
    (h[:1] if shape else h).byteswap(inplace=True)
    assert x.tobytes() == h.tobytes()
