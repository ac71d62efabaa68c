"""Shapes that depend on data: what is read, what the record says, and what compiles."""

from __future__ import annotations

import sys
from typing import Any

import numpy as onp
import pytest

import lazyloom
import lazyloom_numpy as np
from tests.numpy.helpers import same

pytestmark = pytest.mark.usefixtures("quick_compiler")

X = onp.array([0.0, 3, 0, 1, 2, 2])

#: the function that the record names, and a call
CALLS: list[tuple[str, Any]] = [
    ("nonzero", lambda m, x: m.nonzero(x)), ("nonzero", lambda m, x: x.nonzero()),
    ("argwhere", lambda m, x: m.argwhere(x)), ("flatnonzero", lambda m, x: m.flatnonzero(x)),
    ("an index by a boolean array", lambda m, x: x[x > 1] + 0),
    ("an index by a boolean array", lambda m, x: x.reshape(2, 3)[:, (x > 1)[:3]]),
    ("compress", lambda m, x: m.compress(x > 1, x)), ("extract", lambda m, x: m.extract(x > 1, x)),
    ("repeat", lambda m, x: m.repeat(x, x.astype(int))),
    ("bincount", lambda m, x: m.bincount(x.astype(int))),
    ("trim_zeros", lambda m, x: m.trim_zeros(x)), ("unique", lambda m, x: m.unique(x)),
    ("unique_all", lambda m, x: m.unique_all(x)), ("union1d", lambda m, x: m.union1d(x, x + 1)),
    ("intersect1d", lambda m, x: m.intersect1d(x, x + 1)),
    ("setdiff1d", lambda m, x: m.setdiff1d(x, x + 1)),
    ("setxor1d", lambda m, x: m.setxor1d(x, x + 1)),
]  # fmt: skip


@pytest.mark.parametrize(("name", "call"), CALLS)
def test_the_record_names_the_function_and_the_line(name: str, call: Any) -> None:
    x = np.array(X) * 1
    before = lazyloom.stats()
    count = lazyloom.evaluations()[-1].number if lazyloom.evaluations() else 0
    got = call(np, x)
    after = lazyloom.stats()
    reads = after["reads"] - before["reads"]
    assert reads == after["host_reads_of_data_dependent_shapes"] - before[
        "host_reads_of_data_dependent_shapes"] > 0
    # no more than a few numbers
    assert after["bytes_read"] - before["bytes_read"] <= 24 * reads
    records = [e for e in lazyloom.evaluations() if e.number > count]
    reason = f"shape of {name}"
    assert {e.reason for e in records} <= {reason, f"preparation of the {reason}"}
    assert records[-1].site.file == __file__
    same(got, call(onp, X))


def test_the_line_is_that_of_the_call() -> None:
    x = np.array(X) * 1
    line = sys._getframe().f_lineno + 1
    np.nonzero(x)
    record = lazyloom.last_evaluation()
    assert record is not None and record.site.line == line
    assert f"shape of nonzero at {__file__}:{line}" in record.text()


@pytest.mark.parametrize("call", [call for _, call in CALLS])
def test_forbidden_reads_are_errors(call: Any) -> None:
    with lazyloom.options(reads="error"), pytest.raises(lazyloom.errors.ReadForbiddenError):
        call(np, np.array(X) * 1)


@pytest.mark.compiled
def test_a_count_that_does_not_change_compiles_nothing() -> None:
    x = np.array(onp.arange(12.0).reshape(3, 4))

    def step(shift: int) -> float:
        mask = (x + shift) % 3 == 0
        chosen = x[mask] * 2
        rows = np.nonzero(mask)[0]
        x[mask] = chosen[::-1]
        values, counts = np.unique(rows, return_counts=True)
        return float(chosen.sum() + rows.sum() + (values * counts).sum())

    for shift in range(3):
        step(shift)
    before = lazyloom.stats()["programs_compiled"]
    for shift in range(6):
        step(shift)
    assert lazyloom.stats()["programs_compiled"] == before


def test_what_needs_no_shape_reads_nothing() -> None:
    def program(m: Any) -> Any:
        x = m.arange(12.0).reshape(3, 4)
        mask, rows = x % 3 == 0, m.array([True, False, True])
        x[mask] = -1.0
        x[mask] += 1
        x[rows] *= 2
        x[x > 5] -= x[x > 5] * 0 if m is onp else 0
        x[rows] = m.arange(4.0)
        y = m.zeros_like(x)
        y[mask] = x[mask]
        m.putmask(x, mask, [7.0, 8.0])
        m.copyto(x, 5.0, where=x > 9)
        m.place(y, mask, [1.0, 2.0, 3.0])
        x[..., 0][rows] = 3
        return x, y, m.where(mask, x, y), m.isin(x, [1.0, 8.0]), m.digitize(x, m.array([1.0, 4.0]))

    with lazyloom.options(reads="error"):
        got = program(np)
    same(got, program(onp))


def test_a_selection_is_a_plain_array_to_whoever_looks() -> None:
    x = np.arange(6.0)
    mask = x > 2
    chosen = x[mask]
    assert isinstance(chosen, np.ndarray)
    assert chosen.shape == (3,) and type(chosen) is np.ndarray and len(x[mask]) == 3
    for use in (
        lambda s: s.sum(), lambda s: s + s, lambda s: s[0], lambda s: -s, lambda s: s.T,
        lambda s: np.concatenate([s, s]), lambda s: s == s, lambda s: s.copy(), lambda s: s[::-1],
        lambda s: np.sort(s), lambda s: s @ s, lambda s: s * 2, lambda s: 2 * s, lambda s: s ** 2,
        lambda s: np.where(s > 3, s, 0), lambda s: s.astype(int), lambda s: s.reshape(3, 1),
        lambda s: abs(s), lambda s: s // 2, lambda s: s <= 3, lambda s: np.array([s, s]),
    ):  # fmt: skip
        host = onp.arange(6.0)
        plain = np.array(host[host > 2]) if "np" in use.__code__.co_names else host[host > 2]
        same(use(x[mask]), onp.asarray(use(plain)))
    y = x[mask]
    x[0] = mask[5] = 0
    y += 1
    y[0] = 100
    same(y, onp.array([100.0, 5, 6]))
    same(x, onp.array([0.0, 1, 2, 3, 4, 5]))


def test_selections_meet_only_their_own_mask() -> None:
    def program(m: Any) -> Any:
        x = m.arange(6.0)
        small, large = x < 2, x > 3
        a = x[small]
        a += 10
        x[large] = a  # another mask with as many elements
        b = x[small]
        b *= x[large]
        c = x[large]
        c += m.array([1.0, 2.0])
        return x, a, b, c

    same(program(np), program(onp))


def test_in_place_on_a_selection_raises_as_on_an_array() -> None:
    x = np.arange(4)
    with pytest.raises(TypeError, match="Cannot cast"):
        x[x > 1] += 0.5
    with pytest.raises(ValueError):
        x[x > 1] += np.arange(3)
    x[x > 1] //= 2
    same(x, onp.array([0, 1, 1, 1]))


@pytest.mark.parametrize("dtype", ["bool", "int64", "float32", "complex64"])
@pytest.mark.parametrize("shape", [(0,), (1,), (7,), (2, 0, 3), (3, 4), (2, 3, 2)])
def test_masks_of_every_kind(shape: tuple[int, ...], dtype: str) -> None:
    rng = onp.random.default_rng(1)
    x = rng.integers(0, 3, shape).astype(dtype)
    y = np.array(x)
    mask = rng.integers(0, 2, shape).astype(bool)
    same(y[np.array(mask)], x[mask])
    same(y[mask], x[mask])
    same(np.nonzero(y), onp.nonzero(x))
    if len(shape) > 1 and x.size:
        first = mask.reshape(shape[0], -1)[:, 0]
        for key in ((first,), (first, 0), (slice(None), mask[0]), (..., mask[0]), (None, first)):
            ours = tuple(np.array(k) if isinstance(k, onp.ndarray) else k for k in key)
            same(y[ours], x[key])
            a, b = x.copy(), np.array(x)
            a[key], b[ours] = 1, 1
            same(b, a)
