"""What loops and branches refuse, where, and in which words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as onp
import pytest

import lazyloom as ll
import lazyloom_numpy as lnp
from lazyloom.errors import (
    AliasError,
    ArgumentError,
    GradientError,
    ReadForbiddenError,
    ShapeError,
)
from tests.runtime.test_control_flow import XS, H


def line(mark: str) -> str:
    with open(__file__) as file:
        number = next(i for i, t in enumerate(file, 1) if t.rstrip().endswith(f"# {mark}"))
    return f"{__file__}:{number}"


def caught(error: Any, f: Callable[[], Any]) -> str:
    with pytest.raises(error) as found:
        f()
    return str(found.value)


def test_reading_inside_is_an_error_where_it_stands() -> None:
    def step(c: Any, x: Any) -> Any:  # READ DEF
        if c[0] > 0:  # READ
            return c, x
        return x, c

    text = caught(ReadForbiddenError, lambda: ll.scan(step, lnp.asarray(H), lnp.asarray(XS)))
    called = text.partition("called at ")[2].partition(",")[0]
    assert text == (
        f"a value of type bool[] is needed at {line('READ')}, but inside the function step "
        f"({line('READ DEF')}), which lazyloom.scan, called at {called}, records once and runs "
        "again and again later, there is no data yet; choose between results with where or "
        "lazyloom.cond, loop with lazyloom.while_loop or lazyloom.scan, and keep shapes "
        "independent of data")
    assert called.startswith(__file__)


def test_values_that_leave_otherwise_cannot_be_read() -> None:
    kept: list[Any] = []
    ll.scan(lambda c, x: (kept.append(c * 2), (c, x))[1], lnp.asarray(H), lnp.asarray(XS))
    text = caught(ReadForbiddenError, kept[0].read)
    assert "but it was kept from inside the function <lambda>" in text
    assert text.endswith("recorded; return it from that function to get it")


def test_writing_to_what_is_outside_is_an_error() -> None:
    total = lnp.zeros(3)

    def step(c: Any, x: Any) -> Any:
        total[:] = total + x
        return c, x

    text = caught(AliasError, lambda: ll.scan(step, lnp.asarray(H), lnp.asarray(XS)))
    assert text.startswith("a tensor of type float64[3] from outside the function step (")
    assert "return the value instead (in a loop, as a part of the carry)" in text
    assert total.read().tolist() == [0, 0, 0]


@pytest.mark.parametrize("call, error, text", [
    (lambda h, xs: ll.scan(3, h, xs), ArgumentError,
     "lazyloom.scan: f is a int, expected a function"),
    (lambda h, xs: ll.scan(lambda c, x: c, h, xs), ArgumentError,
     "lazyloom.scan: the {f} returned a lazyloom_numpy.ndarray, expected a pair: the next carry, "
     "and what the step gives"),
    (lambda h, xs: ll.scan(lambda c, x: (c, x), h), ArgumentError,
     "lazyloom.scan: xs has no leaves and length is None, expected the number of steps as one of "
     "them"),
    (lambda h, xs: ll.scan(lambda c, x: (c, x), h, (xs, h)), ShapeError,
     "lazyloom.scan: leaf 1 of xs, a float64[3], has size 3 along its first axis, expected 5 as "
     "leaf 0 of xs has"),
    (lambda h, xs: ll.scan(lambda c, x: (c, x), h, xs, length=4), ShapeError,
     "lazyloom.scan: leaf 0 of xs, a float64[5,3], has size 5 along its first axis, expected 4 as "
     "length has"),
    (lambda h, xs: ll.scan(lambda c, x: (c, x), h, h[0]), ShapeError,
     "lazyloom.scan: leaf 0 of xs is a float64[], expected a first axis, with an element for each "
     "step"),
    (lambda h, xs: ll.scan(lambda c, x: ((c, c), x), h, xs), ArgumentError,
     "lazyloom.scan: the carry that the {f} gives is a tuple, expected a single value"),
    (lambda h, xs: ll.scan(lambda c, x: ({"b": c["a"]}, x), {"a": h}, xs), ArgumentError,
     "lazyloom.scan: the carry that the {f} gives has the keys ['b'], expected a dict of the keys "
     "['a']"),
    (lambda h, xs: ll.scan(lambda c, x: (c[:2], x), h, xs), ShapeError,
     "lazyloom.scan: leaf 0 of the carry that the {f} gives is a float64[2], expected float64[3] "
     "as in init; reshape it"),
    (lambda h, xs: ll.scan(lambda c, x: (c > 0, x), h, xs), ArgumentError,
     "lazyloom.scan: leaf 0 of the carry that the {f} gives is a bool[3], expected float64[3] as "
     "in init; cast it"),
    (lambda h, xs: ll.scan(lambda c, x: (c, "y"), h, xs), ArgumentError,
     "lazyloom.scan: leaf 0 of what the {f} gives is a str, expected a tensor or a number"),
    (lambda h, xs: ll.scan(lambda c, x: (c, x), h, xs, length=-1), ArgumentError,
     "lazyloom.scan: length is -1, expected 0 or more"),
    (lambda h, xs: ll.scan(lambda c, x: (c, x), h, xs, unroll=0), ArgumentError,
     "lazyloom.scan: unroll is 0, expected a positive int"),
    (lambda h, xs: ll.scan(lambda c, x: (c, x), 0, None, length=3), ArgumentError,
     "lazyloom.scan: no tensor is among the arguments, expected at least one, of whose frontend "
     "the results are to be"),
    (lambda h, xs: ll.while_loop(lambda c: c, lambda c: c, h), ArgumentError,
     "lazyloom.while_loop: the {f} returned a float64[3], expected a bool without dimensions"),
    (lambda h, xs: ll.while_loop(lambda c: c[0] > 0, lambda c: c[0], h), ShapeError,
     "lazyloom.while_loop: leaf 0 of the carry that the {f} gives is a float64[], expected "
     "float64[3] as in init_val; reshape it"),
    (lambda h, xs: ll.while_loop(lambda c: c[0] > 0, lambda c: c, h, max_steps=-1), ArgumentError,
     "lazyloom.while_loop: max_steps is -1, expected an int of 0 or more, or None"),
    (lambda h, xs: ll.cond(h, lambda: h, lambda: h), ArgumentError,
     "lazyloom.cond: pred is a float64[3], expected one element without dimensions; choose element "
     "by element with where"),
    (lambda h, xs: ll.cond("yes", lambda: h, lambda: h), ArgumentError,
     "lazyloom.cond: pred is a str, expected a tensor without dimensions or a bool"),
    (lambda h, xs: ll.cond(True, lambda: h, lambda: xs), ArgumentError,
     "lazyloom.cond: leaf 0 of what the {f} gives is a float64[5,3], expected float64[3] as the "
     "{f} gives; cast or reshape one of them"),
    (lambda h, xs: ll.cond(True, lambda: (h, h), lambda: h), ArgumentError,
     "lazyloom.cond: what the {f} gives, unlike the {f}, is a ndarray, expected a tuple of 2"),
])  # fmt: skip
def test_errors(call: Any, error: Any, text: str) -> None:
    found = caught(error, lambda: call(lnp.asarray(H), lnp.asarray(XS)))
    number = call.__code__.co_firstlineno
    assert found == text.replace("{f}", f"function <lambda> ({__file__}:{number})")


def test_reverse_mode_needs_a_bound() -> None:
    def f(h: Any) -> Any:
        return ll.while_loop(lambda c: lnp.sum(c) < 9, lambda c: c * c, h)  # LOOP

    text = caught(GradientError, lambda: ll.grad(lambda h: lnp.sum(f(h)))(lnp.asarray(H)))
    assert text == (
        f"while_loop: the gradient of one recorded at {line('LOOP')} is needed, but how many steps "
        "a while_loop takes is not known before it runs, so there is no bound on what reverse mode "
        "would have to keep; give max_steps, use lazyloom.scan, or differentiate in forward mode "
        "(lazyloom.jvp, lazyloom.jacfwd)")

    def inside(h: Any) -> Any:
        return lnp.sum(ll.scan(lambda c, x: (f(c) + x, c), h, lnp.asarray(XS))[1])

    assert "give max_steps" in caught(GradientError, lambda: ll.grad(inside)(lnp.asarray(H)))
    mapped = ll.vmap(ll.grad(lambda h: lnp.sum(f(h))))
    assert "give max_steps" in caught(GradientError, lambda: mapped(lnp.asarray(XS)))

    def found_inside(h: Any) -> Any:
        """Nothing that has a derivative goes through the loop."""
        def step(c: Any, x: Any) -> Any:
            i = ll.while_loop(lambda i: i < 3, lambda i: i + 1, lnp.argmax(x))
            return c * i, c

        return lnp.sum(ll.scan(step, h, lnp.asarray(XS))[1])

    assert ll.grad(found_inside)(lnp.asarray(H)).read().shape == (3,)


def test_derivatives_by_functions_of_the_host_are_refused() -> None:
    def clipped(x: Any) -> Any:
        values = ll.record("clip", [x.value.detach(), None, ll.Scalar(1.0, x.value.dtype)])
        (out,) = ll.custom([values], [x.value], lambda result_of, c: c, name="clipped")
        return lnp.ndarray.from_value(out)

    def f(h: Any) -> Any:
        return lnp.sum(ll.scan(lambda c, x: (clipped(c) + x, None), h, lnp.asarray(XS))[0])

    c = H
    for x in XS:
        c = onp.minimum(c, 1.0) + x
    onp.testing.assert_allclose(float(f(lnp.asarray(H))), c.sum())
    text = caught(GradientError, lambda: ll.grad(f)(lnp.asarray(H)))
    assert "uses clipped, whose derivative is a function of the host" in text


def test_what_is_no_body_is_an_error_at_the_call() -> None:
    text = caught(ArgumentError, lambda: ll.apply(
        "scan", [lnp.asarray(H)], {"body": "nonsense", "carry": 1, "xs": 0, "length": 2}))
    assert text.startswith("scan: a body is no text that lazyloom.scan records: ")
