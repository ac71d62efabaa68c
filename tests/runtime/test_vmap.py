"""Functions mapped over an axis: what they may read and write, and whose gradients flow."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lazyloom as ll
from lazyloom.errors import (
    AliasError,
    ArgumentError,
    GradientError,
    IndexRangeError,
    ReadForbiddenError,
)
from tests.contract.helpers import in_threads
from tests.runtime.test_transforms import A, X, app, tensor


def test_axes_from_the_end_and_none_at_all() -> None:
    f = ll.vmap(lambda a, b: app("subtract", a, b), (-1, None), -1)
    np.testing.assert_allclose(f(tensor(X), tensor(X[:, 0])).read(), X - X[:, :1])
    same = ll.vmap(lambda: app("sin", tensor(A)), axis_size=2)()
    np.testing.assert_allclose(same.read(), np.stack([np.sin(A)] * 2))
    empty = ll.vmap(lambda a: app("sin", a))(tensor(X[:0]))
    assert empty.read().shape == (0, 4)
    outside = tensor(A)
    kept, told = ll.vmap(lambda a: (outside, "ten"), out_axes=None)(tensor(X))
    assert kept is outside and told == "ten"


def test_a_mapped_function_may_read_what_is_the_same_for_all() -> None:
    outside = app("multiply", tensor(A), tensor(A))
    seen = []

    def f(x: Any) -> Any:
        # recorded from the mapped value before the read: it must not run with it
        y = app("multiply", x, outside)
        inside = app("sum", app("add", tensor(A), tensor(1.0)))
        seen.append((outside.read()[0], float(inside.read())))
        return y if seen[-1][1] > 0 else x

    found = ll.vmap(f)(tensor(np.stack([A, A + 1])))
    np.testing.assert_allclose(found.read(), np.stack([A, A + 1]) * A * A)
    assert seen == [(A[0] ** 2, pytest.approx(A.sum() + 3))]


def test_a_read_of_what_is_mapped_is_an_error_where_it_stands() -> None:
    def f(x: Any) -> Any:
        y = app("sum", x)
        return x if y.read() > 0 else app("negative", x)  # HERE

    with pytest.raises(ReadForbiddenError) as caught:
        ll.vmap(f)(tensor(X))
    text = str(caught.value)
    with open(__file__) as file:
        line = next(i for i, t in enumerate(file, 1) if t.endswith("# HERE\n"))
    assert text.startswith(f"a value of type float64[] is needed at {__file__}:{line}, but it ")
    assert "depends on the axis that lazyloom.vmap, called at" in text
    assert "choose between results with where" in text
    assert caught.value.site == f"{__file__}:{line}"
    # a gradient inside changes nothing, and the state it leaves is clean
    with pytest.raises(ReadForbiddenError):
        ll.vmap(ll.grad(lambda x: app("sum", f(x))))(tensor(X))
    assert ll.vmap(lambda x: app("sin", x))(tensor(X)).read().shape == X.shape
    x = tensor(X)
    x._write(app("negative", x).value)  # no mapping is active any more
    with pytest.raises(ReadForbiddenError):
        ll.vmap(lambda x: ll.to_dlpack(x.value))(x)


def test_values_that_leave_a_mapped_function_otherwise_are_named() -> None:
    kept = []
    ll.vmap(lambda x: kept.append(app("sin", x)) or x)(tensor(X))
    assert "mapped" in repr(kept[0].value)
    later = app("add", kept[0], kept[0])
    for t in (kept[0], later, ll.vmap(lambda x: app("multiply", x, later))(tensor(X))):
        with pytest.raises(ReadForbiddenError, match="kept from inside the function"):
            t.read()
    ll.sync()


def test_writes_inside_a_mapped_function() -> None:
    def f(x: Any) -> Any:
        out = tensor(np.zeros(4))
        part = out._alias(ll.frontend.Slice((1,), (2,), (1,)))
        part._write(app("multiply", part, part).value)
        part._write(app("slice", x, starts=(0,), stops=(2,)).value)
        x._write(app("negative", x).value)
        return out, x

    given = tensor(X)
    out, back = ll.vmap(f)(given)
    expected = np.zeros_like(X)
    expected[:, 1:3] = X[:, :2]
    np.testing.assert_allclose(out.read(), expected)
    np.testing.assert_allclose(back.read(), -X)
    np.testing.assert_allclose(given.read(), X)


@pytest.mark.parametrize("viewed", [False, True])
@pytest.mark.parametrize("mapped", [False, True])
def test_writing_outside_a_mapped_function_is_an_error(viewed: bool, mapped: bool) -> None:
    outside = tensor(np.zeros(4))
    view = outside._alias(ll.frontend.Permute((0,))) if viewed else outside

    def f(x: Any) -> Any:
        view._write(app("add", view, x if mapped else view).value)
        return x

    with pytest.raises(AliasError, match="from outside the function that lazyloom.vmap"):
        ll.vmap(f)(tensor(X))
    assert outside.read().tolist() == [0, 0, 0, 0]
    # likewise what the outer of two mapped functions made
    def outer(x: Any) -> Any:
        mine = app("sin", x)
        mine._write(x.value)
        ll.vmap(lambda y: mine._write(app("add", mine, y).value))(tensor(X))
        return mine

    with pytest.raises(AliasError):
        ll.vmap(outer)(tensor(X))


def test_an_op_with_effects_is_not_mapped() -> None:
    ll.register_op(
        lambda op, types, attrs: (types[0],), source="a test", name="test_told",
        execution=ll.ops.Execution(effect=True))(_told)  # fmt: skip
    with pytest.raises(ArgumentError, match="has effects, which cannot be mapped"):
        ll.vmap(lambda x: app("test_told", x))(tensor(X))


def _told(x: Any) -> Any:
    """x itself."""
    return x


_told.__annotations__["x"] = "AnyType"


def test_an_index_out_of_range_is_found_in_the_batch() -> None:
    def take(x: Any, i: Any) -> Any:
        flag = app("first_out_of_range", i, size=4)
        checked, _ = app("checked", i, flag, kind="index", of="take", info=(0, 4))
        return app("take", x, checked, axis=0)

    good, bad = tensor([0, 3, 1, 2, 0], np.int64), tensor([0, 3, 9, 2, 0], np.int64)
    np.testing.assert_allclose(
        ll.vmap(take)(tensor(X), good).read(), X[np.arange(5), good.read()])
    with pytest.raises(IndexRangeError, match="index 9"):
        ll.vmap(take)(tensor(X), bad).read()
    # the flag alone is mapped, or the value alone
    with pytest.raises(IndexRangeError, match="index 9"):
        ll.vmap(lambda i: app("checked", tensor(A), app("first_out_of_range", i, size=4),
                              kind="index", of="take", info=(0, 4))[0])(bad).read()


def test_gradients_flow_to_what_is_closed_over() -> None:
    w = ll.Tensor(ll.from_host(A).as_leaf("w"))
    x = tensor(np.stack([A, A + 1]))
    loss = app("sum", ll.vmap(lambda x: app("multiply", app("sin", w), x))(x))
    ((token, g),) = ll.backward([loss.value])
    assert token == "w"
    np.testing.assert_allclose(g.read(), np.cos(A) * (2 * A + 1))
    # and not through what was detached inside, or recorded without gradients
    held = ll.Tensor(ll.from_host(A).as_leaf("h"))

    def f(x: Any) -> Any:
        stopped = ll.Tensor(held.value.detach())
        before = ll.set_grad_enabled(False)
        quiet = app("sin", held)
        ll.set_grad_enabled(before)
        return app("add", app("multiply", stopped, x), app("multiply", quiet, held))

    loss = app("sum", ll.vmap(f)(x))
    ((_, g),) = ll.backward([loss.value])
    np.testing.assert_allclose(g.read(), 2 * np.sin(A))


def test_threads_map_at_once() -> None:
    def work() -> Any:
        x = tensor(X)
        for _ in range(5):
            found = ll.vmap(ll.grad(lambda a: app("sum", app("sin", a))))(x).read()
            mine = tensor(A)
            mine._write(app("negative", mine).value)
        return found

    for found in in_threads([work] * 4):
        np.testing.assert_allclose(found, np.cos(X))


def test_a_tape_that_was_freed_inside_is_freed_on_the_axis() -> None:
    w = ll.Tensor(ll.from_host(A).as_leaf("w"))

    def f(x: Any) -> Any:
        y = app("multiply", app("sin", w), x)
        (g,) = ll.gradients([app("sum", y).value], [w.value], retain_graph=False)
        assert g is not None
        return app("add", y, ll.Tensor(g))

    mapped = ll.vmap(f)(tensor(np.stack([A, A + 1])))
    np.testing.assert_allclose(mapped.read()[0], np.sin(A) * A + np.cos(A) * A)
    with pytest.raises(GradientError, match="was freed by an earlier backward pass"):
        ll.backward([app("sum", mapped).value])


def test_mapped_keys_give_each_element_its_own_numbers() -> None:
    keys = np.arange(6, dtype=np.uint32).reshape(3, 2)

    def draw(key: Any) -> Any:
        return app("random_normal", key, shape=(4,))

    mapped = ll.vmap(draw)(tensor(keys, np.uint32)).read()
    for row, key in zip(mapped, keys, strict=True):
        np.testing.assert_array_equal(row, draw(tensor(key, np.uint32)).read())
