"""Derivatives that are functions of the host, and what else a backward pass calls."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np
import pytest

import lazyloom as ll
from tests.contract.helpers import host


def rec(op: str, *operands: Any, **attributes: Any) -> Any:
    return ll.record(op, operands, attributes)


def plain(op: str, *operands: Any) -> Any:
    """An op recorded without gradient."""
    before = ll.set_grad_enabled(False)
    try:
        return rec(op, *operands)
    finally:
        ll.set_grad_enabled(before)


def close(found: Any, expected: Any) -> None:
    np.testing.assert_allclose(found, expected, rtol=2e-5, atol=1e-6)


X = np.array([0.5, 1.0, 2.0])


class Product:
    """``sin(x) * y``, whose vjp gives ten times the gradient of x."""

    def __init__(self, x: Any, y: Any) -> None:
        self.x, self.y, self.calls = x, y, 0
        (self.out,) = ll.custom(
            [plain("multiply", plain("sin", x), y)], [x, y], self.vjp, self.jvp, name="product")

    def vjp(self, result_of: Any, cotangents: Any) -> Any:
        self.calls += 1
        (c,) = cotangents
        ten = ll.Scalar(10, c.dtype)
        along_x = rec("multiply", rec("multiply", c, rec("multiply", rec("cos", self.x), self.y)),
                      ten)
        return [along_x, rec("multiply", c, rec("sin", self.x))]

    def jvp(self, result_of: Any, tangents: Any) -> Any:
        assert result_of(0).shape == (3,)
        return [tangents[0]]


@pytest.mark.parametrize("read", [False, True])
def test_a_rule_of_the_host_is_called_once_a_pass(read: bool) -> None:
    x, y = host(X).as_leaf("x"), host(X + 1).as_leaf("y")
    f = Product(rec("multiply", x, x), y)
    loss = rec("sum", rec("multiply", f.out, f.out))
    if read:
        loss.read()
    found = dict(ll.backward([loss]))
    s, c = np.sin(X * X), np.cos(X * X)
    outer = 2 * s * (X + 1)
    close(found["x"].read(), outer * c * (X + 1) * 10 * 2 * X)
    close(found["y"].read(), outer * s)
    assert f.calls == 1
    with pytest.raises(ll.errors.GradientError, match="freed"):
        ll.backward([loss])


def test_second_derivatives_go_through_what_the_rule_recorded() -> None:
    x = host(X).as_leaf("x")
    f = Product(x, host(np.ones(3)))
    (g,) = ll.gradients([rec("sum", f.out)], [x], create_graph=True)
    (h,) = ll.gradients([rec("sum", g)], [x])
    close(g.read(), 10 * np.cos(X))
    close(h.read(), -10 * np.sin(X))
    (along,) = ll.tangents([f.out], [x], [host(np.ones(3))])
    close(along.read(), np.ones(3))


def test_what_is_computed_again_keeps_its_rule() -> None:
    x = host(X).as_leaf("x")
    f = Product(x, host(np.ones(3)))
    loss = rec("sum", rec("exp", rec("negative", f.out)))
    f.out = None
    loss.read()  # the result of the rule's node is dropped
    (g,) = ll.gradients([loss], [x], create_graph=True)
    (h,) = ll.gradients([rec("sum", g)], [x])
    s, c = np.sin(X), np.cos(X)
    close(g.read(), -np.exp(-s) * 10 * c)
    close(h.read(), 100 * np.exp(-s) * c * c + np.exp(-s) * 10 * s)


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("read", [False, True])
def test_derivatives_get_what_a_rule_computes_once_more(read: bool, create_graph: bool) -> None:
    """Three times the first results here, to be told apart, and what cheap ops make of those."""
    x, w = host(X).as_leaf("x"), host(X + 1).as_leaf("w")
    asked: list[Any] = []

    def again(after: Any) -> list[Any]:
        asked.append(after)
        return [plain("multiply", w, ll.Scalar(3, w.dtype))]

    def loss_of(renewed: Any) -> Any:
        (whole,) = ll.custom([plain("multiply", w, ll.Scalar(1, w.dtype))], [w],
                             lambda result_of, cotangents: cotangents, again=lambda: renewed)
        y = rec("multiply", x, rec("negative", whole))
        return rec("sum", rec("multiply", y, y))

    for renewed, times in ((again, 3), (None, 1)):
        loss = loss_of(renewed)
        if read:
            loss.read()
        along_x, along_w = ll.gradients([loss], [x, w], create_graph=create_graph)
        y = -X * (X + 1)
        close(along_x.read(), 2 * y * -times * (X + 1))
        close(along_w.read(), 2 * y * -X)
    assert len(asked) == 1 and asked[0].type is x.type
    # a derivative that takes no data of it asks for none
    (whole,) = ll.custom([plain("negative", w)], [w], lambda result_of, cotangents: cotangents,
                         again=lambda: again)
    ll.gradients([rec("sum", rec("add", x, whole))], [x, w])
    assert len(asked) == 1


@pytest.mark.parametrize("through", [True, False])
def test_a_rule_goes_with_its_tape(through: bool) -> None:
    x = host(X).as_leaf("x")
    f = Product(x, host(np.ones(3)))
    gone = weakref.ref(f)
    loss = rec("sum", f.out)
    f.x = None if not through else f.x
    f.out = None
    if through:
        ll.backward([loss])
    else:
        loss = None
        rec("sum", x)  # released nodes are taken apart at the next call
    del f
    assert gone() is None


def test_wrong_rules_are_told() -> None:
    x = host(X).as_leaf("x")

    def made(pull: Any) -> Any:
        (out,) = ll.custom([plain("sin", x)], [x], pull, name="mine")
        return rec("sum", out)

    for pull, text in ((lambda r, c: [], "mine: cotangents: 0 were given, expected 1"),
                       (lambda r, c: [rec("sum", c[0])], "mine: cotangent 0 is a float32")):
        with pytest.raises(ll.errors.GradientError, match=text):
            ll.gradients([made(pull)], [x])
    with pytest.raises(ll.errors.GradientError, match="tangents are pushed"):
        ll.tangents([made(lambda r, c: c)], [x], [host(X)])
    with pytest.raises(ll.errors.ArgumentError, match="no results"):
        ll.custom([], [x], lambda r, c: c)


def test_observers_see_complete_cotangents_and_may_replace_them() -> None:
    x = host(X).as_leaf("x")
    h = rec("multiply", x, x)
    loss = rec("add", rec("sum", rec("sin", h)), rec("sum", rec("cos", h)))
    seen = []

    def observe(cotangent: Any) -> Any:
        seen.append(cotangent)
        return rec("multiply", cotangent, ll.Scalar(2, cotangent.dtype))

    ops = []
    ((_, g),) = ll.backward([loss], observers={h: observe},
                            inspect=lambda node, found: ops.append(node.spec.op.name))
    expected = np.cos(X * X) - np.sin(X * X)
    close(seen[0].read(), expected)
    close(g.read(), expected * 2 * 2 * X)
    assert len(seen) == 1 and ops == ["add", "sum", "cos", "sum", "sin", "multiply"]


def test_the_tape_can_be_walked() -> None:
    x = host(X).as_leaf("x")
    h = rec("multiply", x, host(X))
    left, right = ll.parents(h)
    assert left is not None and left.node is x.node and right is None
    assert ll.parents(x) == ()
    start = ll.last_sequence()
    out = rec("sin", rec("multiply", h, x))
    assert {v.node for v in ll.used_since([out], start)} == {h.node, x.node}
    ll.forget_since([out], start)
    with pytest.raises(ll.errors.GradientError, match="freed"):
        ll.gradients([rec("sum", out)], [x])
    (g,) = ll.gradients([rec("sum", h)], [x], retain_graph=False)
    close(g.read(), X)
    with pytest.raises(ll.errors.GradientError, match="freed"):
        ll.free_tape([h])
