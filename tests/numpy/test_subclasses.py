"""Classes derived from ``ndarray``, and objects that take part in ufuncs, as with NumPy's."""

from __future__ import annotations

import copy
import pickle
from types import SimpleNamespace
from typing import Any

import numpy as onp
import pytest

import lazyloom
import lazyloom_numpy as np


def derived(m: Any) -> SimpleNamespace:
    """The patterns of deriving a class, written once for both modules."""

    class Named(m.ndarray):
        """From data, with an attribute that what is made of it keeps."""

        def __new__(cls, data: Any, name: Any = None) -> Any:
            made = m.asarray(data).view(cls)
            made.name = name
            return made

        def __array_finalize__(self, obj: Any) -> None:
            if obj is not None:
                self.name = getattr(obj, "name", "unnamed")

    class Shaped(m.ndarray):
        """By the constructor of arrays."""

        def __new__(cls, shape: Any, dtype: Any = float, name: Any = None) -> Any:
            made = super().__new__(cls, shape, dtype)
            made.name = name
            return made

        def __array_finalize__(self, obj: Any) -> None:
            self.origin = type(obj).__name__
            if obj is not None:
                self.name = getattr(obj, "name", None)

    class Told(m.ndarray):
        """Notes which ufunc it was made by."""

        made_by = ""

        def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = None,
                            **kwargs: Any) -> Any:  # fmt: skip
            given = [x.view(m.ndarray) if isinstance(x, Told) else x for x in inputs]
            if out is not None:
                kwargs["out"] = tuple(
                    x.view(m.ndarray) if isinstance(x, Told) else x for x in out)
            result = super().__array_ufunc__(ufunc, method, *given, **kwargs)
            if result is NotImplemented:
                return NotImplemented
            if out is not None:
                result = out[0]
            made = m.asarray(result).view(Told)
            made.made_by = f"{ufunc.__name__}.{method}"
            return made

    class Wrapped(m.ndarray):
        """Says how results become its own."""

        made_by = ""

        def __array_wrap__(self, array: Any, context: Any = None, scalar: bool = False) -> Any:
            made = array.view(Wrapped)
            made.made_by = context[0].__name__
            return made

    class High(Named):
        __array_priority__ = 10.0

    class Plain(m.ndarray):
        pass

    class Mine(m.ndarray):
        def __mul__(self, other: Any) -> str:
            return "mine"

        def total(self) -> float:
            return float(self.sum())

        def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
            if func is m.sum:
                return "my sum"
            return super().__array_function__(func, types, args, kwargs)

    return SimpleNamespace(**{c.__name__: c for c in (
        Named, Shaped, Told, Wrapped, High, Plain, Mine)})


def seen(x: Any) -> Any:
    """Of a result, what both modules must agree on."""
    if isinstance(x, tuple):
        return tuple(seen(part) for part in x)
    if not isinstance(x, (lazyloom.Tensor, onp.ndarray, onp.generic)):
        return x
    kind = "scalar" if type(x) is np.ScalarArray or isinstance(x, onp.generic) else type(x).__name__
    attributes = tuple(getattr(x, a, None) for a in ("name", "origin", "made_by"))
    return kind, attributes, onp.asarray(x).round(6).tolist()


NAMED = """
    x | x[1:] | x[0] | x[None] | x[[0, 2]] | x[x > 1] | x + 1 | 1 + x | x * x | -x | abs(x) | x ** 2
    x < 2 | x == 2 | divmod(x, 2) | x // 2 | 2 - x | m.arange(3.0) + x | x + m.arange(3.0) | x & (x > 0)
    m.sin(x) | m.add(x, 1) | m.add.reduce(x) | m.add.accumulate(x) | m.multiply.outer(x, x)
    x.flat[1:] | x.flat[1] | x.flat[[0, 1]] | x.reshape(3, 1).flat[...] | x.imag | x.real
    m.vectorize(lambda v: v + 1)(x) | m.vectorize(lambda v, w: (v, w))(x, 1)
    m.vectorize(lambda v: v + 1)(x[:1]) | m.vectorize(lambda v: 1.0, signature="(n)->()")(x[None])
    m.add(x, 1, out=x) | x.__iadd__(1) | x.sum() | x.mean() | x.max() | x.std() | x.any() | x.argmax()
    x.copy() | x.astype("float32") | x.reshape(3, 1) | x.reshape(3, 1).T | x.ravel() | x.flatten()
    x.reshape(3, 1).sum(0) | x.reshape(3, 1).mean(axis=0) | x.cumsum() | x.clip(1, 2) | x.take([0])
    x.reshape(1, 3) @ x.reshape(3, 1) | x.round() | x.squeeze() | x.view() | x.view(m.ndarray)
    m.asarray(x) | m.asanyarray(x) | m.array(x) | m.array(x, subok=True) | m.zeros_like(x)
    m.ones_like(x, subok=False) | m.mean(x) | m.sum(x) | m.cumsum(x) | m.sort(x) | m.max(x) | m.flip(x)
    m.concatenate([x, x]) | m.stack([x, x]) | m.where(x > 1, x, 0) | m.transpose(x) | m.clip(x, 0, 1)
    m.expand_dims(x, 0) | m.squeeze(x[None]) | m.repeat(x, 2) | m.diff(x) | m.round(x) | m.outer(x, x)
    copy.copy(x) | copy.deepcopy(x) | repr(x) | str(x) | [type(v) is type(x) for v in x] | x.dtype
    isinstance(x, m.ndarray) | len(x) | x.shape | x + c.High([1.0, 1, 1], "high") | x.tolist()
    c.High([1.0, 1, 1], "high") + x | x.setdefault | x.view(c.Plain) | x.view(c.Plain)[:2] + 1
    m.arange(6.0).view(c.Plain).reshape(2, 3) | m.arange(4).view(type=c.Plain) | c.Shaped((0,))
    pickle.loads(pickle.dumps(x.name)) | c.Shaped((2, 0), name="n")[:, :0] | c.Shaped((0, 2)).T
    m.arange(3.0).view(c.Told) + 1 | 1 + m.arange(3.0).view(c.Told) | m.sin(m.arange(3.0).view(c.Told))
    m.arange(3.0).view(c.Told).sum() | m.max(m.arange(6.0).reshape(2, 3).view(c.Told), axis=0)
    m.add.reduce(m.arange(3.0).view(c.Told)) | m.arange(3.0) * m.arange(3.0).view(c.Told)
    m.add(m.arange(3.0), m.arange(3.0).view(c.Told)) | -m.arange(3.0).view(c.Told) | m.arange(3.0).view(c.Told) < 2
    m.sin(m.arange(3.0).view(c.Wrapped)) | m.arange(3.0).view(c.Wrapped) + 1
    m.arange(3.0).view(c.Mine) * 2 | m.arange(3.0).view(c.Mine).total() | m.sum(m.arange(3.0).view(c.Mine))
    m.mean(m.arange(6.0).reshape(2, 3).view(c.Mine), axis=0) | m.arange(3.0).view(c.Mine) + 1
"""  # noqa: E501


USES = [use.strip() for use in NAMED.replace("\n", "|").split("|") if use.strip()]


@pytest.mark.parametrize("use", USES)
def test_as_numpy(use: str) -> None:
    found = []
    for m in (np, onp):
        c = derived(m)
        space = {"m": m, "c": c, "x": c.Named([1.0, 2, 3], "a"), "copy": copy, "pickle": pickle}
        try:
            found.append(seen(eval(use, space)))
        except (TypeError, AttributeError) as error:
            found.append(type(error).__name__)
    assert found[0] == found[1]


#: v has three elements, q is a positive definite matrix, both of a class; n is an array, plain
FUNCTIONS = """
    argsort(v) | argsort(q, axis=0) | argmax(v) | argmax(q, axis=0) | argmin(q, axis=1) | median(v)
    median(q, axis=0) | nansum(v) | nansum(q, axis=0) | nanmean(v) | nanmean(q, 0) | nanmedian(q, 0)
    nanstd(v) | nanvar(q, axis=0) | nanmax(q, axis=0) | nanmin(v) | nanprod(v) | nancumsum(v)
    nancumprod(v) | gradient(v) | gradient(q) | unique(v) | unique(q, axis=0) | imag(v) | real(v)
    unique(v, return_index=True) | unique(v, return_inverse=True, return_counts=True)
    nan_to_num(v) | angle(v) | diag(v) | diag(q) | diagflat(v) | isreal(v) | iscomplex(v)
    real_if_close(v) | count_nonzero(v) | count_nonzero(q, axis=0) | require(v) | isposinf(v)
    isneginf(v) | cov(v) | cov(q) | corrcoef(q) | broadcast_arrays(v, n) | trim_zeros(v)
    broadcast_arrays(v, n, subok=True) | broadcast_to(v, (2, 3)) | broadcast_to(v, (2, 3), subok=True)
    cumulative_sum(v) | cumulative_prod(v) | unique_values(v) | unique_all(v) | unique_counts(v)
    unique_inverse(v) | dot(v, n) | dot(n, v) | dot(q, q) | inner(v, v) | inner(q, q) | vdot(v, v)
    kron(v, n) | kron(n, v) | correlate(v, n) | correlate(n, v) | isclose(v, n) | isclose(n, v)
    setdiff1d(v, n) | setdiff1d(n, v) | isin(v, n) | isin(n, v) | tile(v, 2) | take(v, 1) | take(v, [0])
    delete(v, 1) | insert(v, 1, 9.0) | compress([1, 0, 1], v) | extract(n > 1, v) | extract(v > 1, n)
    percentile(v, 50) | percentile(q, 50, axis=0) | quantile(q, [0.2, 0.5]) | nanquantile(q, 0.5, 0)
    nanpercentile(v, 50) | take_along_axis(v, m.array([0, 1]), 0) | unstack(q) | meshgrid(v, n)
    apply_along_axis(lambda r: r * 2, 0, q) | apply_along_axis(lambda r: r.sum(), 0, q) | ix_(i, i)
    piecewise(v, [v > 1.5], [1.0, 0.0]) | argpartition(v, 1) | linalg.inv(q) | linalg.pinv(q)
    linalg.eigh(q) | linalg.eig(q) | linalg.svd(q) | linalg.svd(q, compute_uv=False) | linalg.qr(q)
    linalg.qr(q, mode="r") | linalg.cholesky(q) | linalg.solve(q, n[:2]) | linalg.solve(n[:2] * q, v[:2])
    linalg.solve(m.eye(2), v[:2]) | linalg.lstsq(q, v[:2]) | linalg.diagonal(q) | linalg.det(q)
    linalg.matrix_power(q, 2) | atleast_2d(v, n) | transpose(q) | permute_dims(q, (1, 0)) | outer(v, v)
    concatenate([v, v]) | where(v > 1, v, 0) | einsum("ij->i", q) | cross(v, v) | trace(q) | tril(q)
    linalg.eigvalsh(q) | linalg.norm(v) | interp(v, n, n) | polyval([1.0, 2.0], v) | meshgrid(n, v)
"""  # noqa: E501


def kinds(x: Any) -> Any:
    if isinstance(x, (tuple, list)):
        return [kinds(part) for part in x]
    if isinstance(x, (np.ndarray, onp.ndarray)) and type(x) is not np.ScalarArray:
        return type(x).__name__, x.shape, getattr(x, "name", None)
    return "number", onp.shape(x)


@pytest.mark.parametrize(
    "use", [use.strip() for use in FUNCTIONS.replace("\n", "|").split("|") if use.strip()])
def test_functions_give_the_class_that_numpys_give(use: str) -> None:
    found = []
    for m in (np, onp):
        named = derived(m).Named
        found.append(kinds(eval(f"m.{use}", {
            "m": m, "v": named([3.0, 1, 2], "a"), "q": named([[4.0, 1], [1, 3]], "a"),
            "n": m.array([1.0, 2, 3]), "i": named([1, 0], "a")})))
    assert found[0] == found[1]


@pytest.mark.parametrize("use", [
    "concatenate([v, v])", "median(v)", "linalg.inv(q)", "where(v > 1, v, 0)", "sum(q, axis=0)",
    "take(v, [0])", "piecewise(v, [v > 1], [1.0, 0.0])", "einsum('ij->i', q)"])
def test_functions_of_numpy_itself_take_derived_classes(use: str) -> None:
    found = []
    for m in (np, onp):
        named = derived(m).Named
        made = eval(f"m.{use}", {
            "m": onp, "v": named([3.0, 1, 2], "a"), "q": named([[4.0, 1], [1, 3]], "a")})
        assert isinstance(made, m.ndarray)
        found.append(kinds(made))
    assert found[0] == found[1]


def test_results_with_names_keep_them() -> None:
    found = np.linalg.eigh(derived(np).Named([[4.0, 1], [1, 3]], "a"))
    assert found.eigenvectors.name == "a" and type(found.eigenvalues) is np.ndarray


@pytest.mark.parametrize("use", [
    "concatenate([x, x])", "linalg.det(x)", "where(x > 0, x, 0)", "einsum('ij->i', x)", "tril(x)",
    "stack((x, x))", "linalg.inv(x)", "nansum(x)"])  # fmt: skip
def test_a_class_is_asked_about_every_function(use: str) -> None:
    found = []
    for m in (np, onp):
        class Asked(m.ndarray):  # type: ignore[name-defined, misc]
            def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
                return func.__name__, super().__array_function__(func, types, args, kwargs) is None

        found.append(eval(f"m.{use}", {"m": m, "x": m.eye(2).view(Asked)}))
    assert found[0] == found[1]


class Duck:
    """An object that takes part in ufuncs."""

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return ufunc.__name__, method, len(inputs), sorted(kwargs)


class Apart:
    """One that takes none, and has operators of its own."""

    __array_ufunc__ = None

    def __radd__(self, other: Any) -> str:
        return "radd"


def test_objects_that_decide_about_ufuncs() -> None:
    for m in (np, onp):
        a = m.arange(3.0)
        assert m.sin(Duck()) == ("sin", "__call__", 1, [])
        assert m.add(a, Duck(), where=a > 1) == ("add", "__call__", 2, ["where"])
        assert a * Duck() == ("multiply", "__call__", 2, [])
        assert a + Apart() == "radd"
        with pytest.raises(TypeError, match="does not support ufuncs"):
            m.add(a, Apart())


@pytest.mark.compiled
def test_writes_go_through_and_pickles_keep_the_class() -> None:
    a = np.arange(4.0)
    view = a.view(Kept)
    view[1] = 7
    view[2:] += 1
    assert a.tolist() == [0, 7, 3, 4]
    again = pickle.loads(pickle.dumps(view))
    assert type(again) is Kept and again.tolist() == view.tolist()
    pending = lazyloom.stats()["executions"]
    result = np.sin(view * 2)[1:].reshape(3, 1).sum(0)
    assert type(result) is Kept and lazyloom.stats()["executions"] == pending
    assert type(onp.cos(view)) is Kept


class Kept(np.ndarray):
    pass


class Noted(np.ndarray):
    """Adds to the state that is pickled, as classes written for NumPy do."""

    note: Any = None

    def __reduce__(self) -> Any:
        made, given, state = super().__reduce__()
        return made, given, (*state, self.note)

    def __setstate__(self, state: Any) -> None:
        self.note = state[-1]
        super().__setstate__(state[:-1])


def test_classes_that_add_to_the_pickled_state() -> None:
    x = np.arange(3.0).view(Noted)
    x.note = "kept"
    for again in (pickle.loads(pickle.dumps(x)), copy.copy(x)):
        assert type(again) is Noted and again.tolist() == [0, 1, 2]
    assert pickle.loads(pickle.dumps(x)).note == "kept"
    with pytest.raises(TypeError, match="without what your class added"):
        super(Noted, x).__setstate__(("kept",))


def _extending(m: Any) -> Any:
    """A class whose methods call those of ndarray by that name, and whose __new__ takes more."""

    class Extending(m.ndarray):
        tag: Any

        def __new__(cls, values: Any, tag: str) -> Any:
            made = m.ndarray.__new__(cls, (len(values),), float)
            m.ndarray.__setitem__(made, slice(None), values)
            made.tag = tag
            return made

        def __array_finalize__(self, obj: Any) -> None:
            m.ndarray.__array_finalize__(self, obj)
            self.tag = getattr(obj, "tag", None)

        def __array_wrap__(self, array: Any, context: Any = None, *rest: Any) -> Any:
            if array.ndim:
                return m.ndarray.__array_wrap__(self, array, context, *rest)
            return array[()]

        def __getitem__(self, key: Any) -> Any:
            return m.ndarray.__getitem__(self, key)

        def __mul__(self, other: Any) -> Any:
            return m.ndarray.__mul__(self, other)

        def sum(self, *args: Any, **kwargs: Any) -> Any:
            return m.ndarray.sum(self, *args, **kwargs)

    return Extending


@pytest.mark.parametrize("code", [
    "x", "x + 1", "x * 2", "x[1:]", "x[0]", "x.sum()", "x.max()", "m.prod(x)", "x.mean()",
    "m.std(x)", "x.sum(0)", "m.sum(x.reshape(3, 1), 0)", "m.atleast_2d(x)", "m.atleast_3d(x)",
    "m.vstack([x, x])", "m.cross(x, x + 1)", "m.ndarray.__array_wrap__(x, m.ones(3))",
    "m.ones(3).view(type(x))", "m.ones(3) + x", "m.ones(3)[1:]", "m.ndarray.copy(x)",
])  # fmt: skip
def test_classes_call_methods_of_ndarray_by_its_name(code: str) -> None:
    found, expected = (
        _named(eval(code, {"m": m, "x": _extending(m)([1.0, 2.0, 3.0], "tag")}))
        for m in (np, onp))
    assert found == expected


def _named(x: Any) -> Any:
    kind = type(x).__name__ if isinstance(x, (onp.ndarray, np.ndarray)) and x.ndim else "number"
    return kind, getattr(x, "tag", None), onp.asarray(x).tolist()
