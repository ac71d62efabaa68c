"""Named arrays compared with NumPy, and what they refuse."""

from __future__ import annotations

from typing import Any

import named_arrays as na
import numpy as np
import pytest

import lazyloom

A = np.arange(6.0).reshape(2, 3)
B = np.array([10.0, 20.0, 30.0])


def test_operators_align_by_name() -> None:
    x, y = na.array(A, "row", "column"), na.array(B, "column")
    for found in (x + y, (y + x).transpose("row", "column")):
        assert found.dims == ("row", "column")
        np.testing.assert_array_equal(found.read(), A + B)
    outer = na.array(A[:, 0], "row") * y
    assert outer.sizes == {"row": 2, "column": 3}
    np.testing.assert_array_equal(outer.read(), np.outer(A[:, 0], B))
    np.testing.assert_array_equal((x.transpose("column", "row") - x).read(), np.zeros((3, 2)))


def test_numbers_and_comparisons() -> None:
    x = na.array(A, "row", "column")
    np.testing.assert_array_equal((1 - x / 2).read(), 1 - A / 2)
    np.testing.assert_array_equal((x > 2.5).read(), A > 2.5)
    np.testing.assert_array_equal((-x).read(), -A)


def test_reductions_take_names() -> None:
    x = na.array(A, "row", "column")
    assert x.sum("row").dims == ("column",)
    np.testing.assert_array_equal(x.sum("row").read(), A.sum(0))
    np.testing.assert_array_equal(x.max("column").read(), A.max(1))
    assert float(x.mean()) == A.mean()
    np.testing.assert_array_equal((x @ na.array(B, "column")).read(), A @ B)


@pytest.mark.parametrize("part, index", [
    ({"row": 1}, (1,)), ({"column": slice(None, None, -2)}, (slice(None), slice(None, None, -2))),
    ({"row": -1, "column": slice(1, 3)}, (-1, slice(1, 3))), ({"row": slice(2, 2)}, slice(2, 2)),
])  # fmt: skip
def test_parts_share_memory(part: dict[str, Any], index: Any) -> None:
    x, a = na.array(A, "row", "column"), A.copy()
    view = x.at(**part)
    np.testing.assert_array_equal(view.read(), a[index])
    view += 100.0
    a[index] += 100.0
    np.testing.assert_array_equal(x.read(), a)
    x.assign(0)
    assert not view.read().any()


def test_a_write_through_other_names() -> None:
    x = na.array(A, "row", "column")
    x.rename(row="time").transpose("column", "time").at(time=0).assign(na.array(B, "column"))
    np.testing.assert_array_equal(x.read(), [B, A[1]])


def test_concat_orders_dimensions_by_name() -> None:
    x = na.array(A, "row", "column")
    both = na.concat([x, x.transpose("column", "row")], "row")
    np.testing.assert_array_equal(both.read(), np.concatenate([A, A]))


def test_gradients_and_second_ones() -> None:
    x, w = na.array(A, "row", "column"), na.array(B / 10, "column")

    def loss(w: na.NamedArray) -> na.NamedArray:
        return na.tanh(x @ w).sum() + (w * w).sum()

    def by_hand(w: Any) -> Any:
        return A.T @ (1 - np.tanh(A @ w) ** 2) + 2 * w

    np.testing.assert_allclose(na.grad(loss)(w).read(), by_hand(B / 10))
    second = na.grad(lambda w: na.grad(loss)(w).sum())(w)
    step = 1e-5 * np.eye(3)
    measured = [(by_hand(B / 10 + e) - by_hand(B / 10 - e)).sum() / 2e-5 for e in step]
    np.testing.assert_allclose(second.read(), measured, rtol=1e-5, atol=1e-8)


def test_what_does_not_fit_is_refused_at_the_call() -> None:
    x = na.array(A, "row", "column")
    with pytest.raises(ValueError, match="'column' has size 2"):
        x + na.array([1.0, 2.0], "column")
    with pytest.raises(KeyError, match="'time' is not among"):
        x.sum("time")
    with pytest.raises(IndexError, match="position 2 is outside of dimension 'row', of 2"):
        x.at(row=2)
    with pytest.raises(ValueError, match="expected a name for each dimension"):
        na.array(A, "row")
    with pytest.raises(TypeError, match="float64 and int64"):
        x + na.array([1, 2, 3], "column")
    with pytest.raises(TypeError):
        x + "text"
    with pytest.raises(ValueError, match="'time'"):
        x.assign(na.array(B, "time"))


def test_programs_are_lazy_and_used_again() -> None:
    x = na.array(A, "row", "column")
    (na.exp(x) + 2).sum("row").read()
    before = lazyloom.stats()
    pending = (na.exp(x) + 3).sum("row")
    assert lazyloom.stats()["executions"] == before["executions"]
    np.testing.assert_allclose(pending.read(), (np.exp(A) + 3).sum(0))
    after = lazyloom.stats()
    for made in ("programs_compiled", "programs_from_disk"):
        assert after[made] == before[made]
    assert after["program_hits"] == before["program_hits"] + 1
