"""Products over long axes keep the bound of sums, compiled whole and op by op."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lazyloom
import lazyloom_numpy as lp
import lazyloom_torch as torch
from lazyloom.backends.xla.long_products import in_blocks
from lazyloom.cache import memory
from lazyloom.execute.op_by_op.blas_threads import Threads, using

pytestmark = [
    pytest.mark.xla,
    pytest.mark.once("kernels and lowerings are texts that are made outside the core")]

#: a prime, so that there is a rest; and one with many divisors
ODD, EVEN = 16411, 16384
#: units in the last place of the sum of magnitudes: a fifth of what one accumulator is off by
UNITS = 12
FORMS: dict[str, dict[str, Any]] = {
    "whole": {"reproducible": True},
    "op_by_op": {"reproducible": False, "compiled_beside": 0},
}


def positive(*shape: int, dtype: str = "float32") -> np.ndarray:
    rng = np.random.default_rng(0)
    found = np.abs(rng.normal(size=shape)).astype("float64")
    if dtype.startswith("complex"):
        return (found + 1j * np.abs(rng.normal(size=shape))).astype(dtype)
    return found.astype(dtype)


def product(x: np.ndarray, y: np.ndarray) -> Any:
    return lp.array(x).T @ lp.array(y)


def weight_gradient(x: np.ndarray, y: np.ndarray) -> Any:
    weight = torch.zeros(y.shape[1], x.shape[1]).requires_grad_()
    out = torch.nn.functional.linear(torch.tensor(x), weight)
    (found,) = torch.autograd.grad((out * torch.tensor(y)).sum(), [weight])
    return found.T


PRODUCTS: dict[str, Callable[[Any, Any], Any]] = {
    "matmul": product,
    "einsum": lambda x, y: lp.einsum("ki,kj->ij", lp.array(x), lp.array(y)),
    "tensordot": lambda x, y: lp.tensordot(lp.array(x), lp.array(y), axes=[[0], [0]]),
    "weight gradient": weight_gradient,
}


def units(found: Any, x: np.ndarray, y: np.ndarray) -> float:
    """How far a product of positive numbers is off, in units of the sum of magnitudes."""
    wide: Any = np.clongdouble if x.dtype.kind == "c" else np.longdouble
    exact = np.matmul(np.swapaxes(x, -1, -2).astype(wide), y.astype(wide))
    off = np.abs(np.asarray(found.read()).astype(wide) - exact) / np.abs(exact)
    return float(np.max(off) / (np.finfo(x.dtype).eps / 2))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", PRODUCTS)
def test_few_rows_and_columns(name: str, form: str) -> None:
    x, y = positive(ODD, 3), positive(ODD, 2)
    memory.clear()
    with lazyloom.options(**FORMS[form]):
        assert units(PRODUCTS[name](x, y), x, y) <= UNITS


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("rows", "columns"), [(1, 20), (20, 1), (2, 1), (3, 3), (1, 1)])
@pytest.mark.parametrize("count", [ODD, EVEN])
def test_vectors_and_matrices(rows: int, columns: int, count: int, form: str) -> None:
    x, y = positive(count, rows), positive(count, columns)
    memory.clear()
    with lazyloom.options(**FORMS[form]):
        assert units(product(x, y), x, y) <= UNITS


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("terms", [1100, 8191, 65537, 1 << 20])
@pytest.mark.parametrize(
    "name", ["dot", "vdot", "vector by matrix", "matrix by vector", "its columns", "matrices"])
def test_equal_numbers(
    name: str, terms: int, dtype: str, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their roundings all go one way, so that adding them one by one is off without bound."""
    # what ran whole would be loaded where it is to run op by op
    monkeypatch.setenv("LAZYLOOM_CACHE", "0")
    x = np.full(terms, 1 / 3, dtype)
    rows = np.stack([x, x, x])
    columns = np.ascontiguousarray(rows.T)
    products: dict[str, Callable[[], Any]] = {
        "dot": lambda: lp.dot(lp.array(x), lp.array(x)),
        "vdot": lambda: lp.vdot(lp.array(x), lp.array(x)),
        "vector by matrix": lambda: lp.array(x) @ lp.array(columns),
        "matrix by vector": lambda: lp.array(rows) @ lp.array(x),
        "its columns": lambda: lp.array(columns).T @ lp.array(x),
        "matrices": lambda: lp.array(columns).T @ lp.array(2 * columns) / 2}
    memory.clear()
    with lazyloom.options(**FORMS[form]):
        found = np.ravel(products[name]().read())[0]
    exact = np.longdouble(x[0].real) ** 2 * x.size
    bound = 128 * np.log2(terms) / 7

    def error(product: Any) -> Any:
        return abs(product - exact) / exact / (np.finfo(dtype).eps / 2)

    if form == "op_by_op" and name == "matrices":
        # a product is NumPy's there, whose BLAS is further off on some processors
        with using(Threads.ONE):
            # all of it, and a part for another thread
            for a in (columns.T, columns.T[:1]):
                bound = max(bound, 1.01 * error((a @ (2 * columns) / 2)[0, 0]))
    if form == "whole" and name in ("matrix by vector", "its columns"):
        # what docs/forms.md leaves as it is
        bound = max(bound, terms / (5 if dtype.startswith("complex") else 20))
    assert error(found) <= bound


@pytest.mark.parametrize("form", FORMS)
def test_so_many_multiplications_that_threads_share_them(form: str) -> None:
    x = np.full((1 << 20, 8), 1 / 3)
    memory.clear()
    with lazyloom.options(**FORMS[form]):
        assert units(product(x, 2 * x), x, 2 * x) <= 128 * 20 / 7


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", ["float64", "complex64", "complex128"])
def test_other_dtypes(dtype: str, form: str) -> None:
    x, y = positive(ODD, 2, dtype=dtype), positive(ODD, 2, dtype=dtype)
    memory.clear()
    with lazyloom.options(**FORMS[form]):
        assert units(product(x, y), x, y) <= UNITS


@pytest.mark.parametrize("form", FORMS)
def test_batches(form: str) -> None:
    x, y = positive(3, ODD, 2), positive(3, ODD, 2)
    memory.clear()
    with lazyloom.options(**FORMS[form]):
        assert units(lp.swapaxes(lp.array(x), 1, 2) @ lp.array(y), x, y) <= UNITS


@pytest.mark.parametrize("form", FORMS)
def test_several_contracted_axes(form: str) -> None:
    x, y = positive(3, 5501, 2), positive(3, 5501, 2)
    memory.clear()
    with lazyloom.options(**FORMS[form]):
        found = lp.tensordot(lp.array(x), lp.array(y), axes=[[0, 1], [0, 1]])
        assert units(found, x.reshape(-1, 2), y.reshape(-1, 2)) <= UNITS


@pytest.mark.parametrize("form", FORMS)
def test_infinite_and_not_a_number(form: str) -> None:
    """They reach the elements that they belong to, and no other."""
    x, y = positive(ODD, 3), positive(ODD, 2)
    x[ODD - 1, 0], x[5, 1] = np.inf, np.nan
    memory.clear()
    with lazyloom.options(**FORMS[form]):
        found = np.asarray(product(x, y).read())
    assert np.isposinf(found[0]).all()
    assert np.isnan(found[1]).all()
    assert np.isfinite(found[2]).all()


def test_what_is_not_long_or_has_many_elements_stays() -> None:
    line = ("    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [0] x [0] : "
            "(tensor<{k}x{m}x{t}>, tensor<{k}x{n}x{t}>) -> tensor<{m}x{n}x{t}>")

    def stays(**of: Any) -> bool:
        text = line.format(**of)
        return in_blocks(text) == text

    assert stays(k=1023, m=3, n=3, t="f32")
    assert stays(k=65536, m=4, n=3, t="f32")
    assert stays(k=65536, m=1, n=1, t="f32")
    assert stays(k=65536, m=3, n=3, t="i32")
    assert stays(k=65536, m=3, n=3, t="bf16")
    assert not stays(k=65536, m=3, n=3, t="f32")
    assert not stays(k=65536, m=1, n=9, t="complex<f64>")
