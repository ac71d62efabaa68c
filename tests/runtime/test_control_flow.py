"""Loops and branches beside those of jax.lax: values, derivatives, mapping, keys and errors."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as onp
import pytest
from jax import lax

import lazyloom as ll
import lazyloom_numpy as lnp
from lazyloom.errors import IndexRangeError
from tests import quick_options
from tests.contract.helpers import counted, script

pytestmark = pytest.mark.usefixtures("quick_compiler")

RNG = onp.random.default_rng(3)
XS = RNG.normal(size=(5, 3))
W = RNG.normal(size=(3, 3)) * 0.5
H = RNG.normal(size=3)


class Ours:
    """What a case uses, from Lazyloom."""

    np: Any = lnp
    scan = staticmethod(ll.scan)
    cond = staticmethod(ll.cond)
    while_loop = staticmethod(ll.while_loop)
    grad = staticmethod(ll.grad)
    vmap = staticmethod(ll.vmap)
    jvp = staticmethod(ll.jvp)
    bounded = staticmethod(ll.while_loop)

    @staticmethod
    def stop(x: Any) -> Any:
        return type(x).from_value(x.value.detach())


class Jax:
    """The same from JAX; a loop with a bound is written as JAX can differentiate it."""

    np: Any = jnp
    scan = staticmethod(lax.scan)
    cond = staticmethod(lax.cond)
    while_loop = staticmethod(lax.while_loop)
    grad = staticmethod(jax.grad)
    vmap = staticmethod(jax.vmap)
    jvp = staticmethod(jax.jvp)
    stop = staticmethod(lax.stop_gradient)

    @staticmethod
    def bounded(test: Any, body: Any, init: Any, max_steps: int) -> Any:
        def step(c: Any, _: Any) -> Any:
            return lax.cond(test(c), body, lambda c: c, c), None

        return lax.scan(step, init, None, length=max_steps)[0]


def rnn(k: Any, w: Any, h: Any, xs: Any) -> Any:
    return k.scan(lambda h, x: (k.np.tanh(w @ h + x), k.np.sum(h)), h, xs)


def reverse(k: Any, w: Any, h: Any, xs: Any) -> Any:
    def step(c: Any, x: Any) -> Any:
        c = c * 0.5 + x
        return c, {"sum": k.np.sum(c * h), "x": x}

    return k.scan(step, h, xs, reverse=True)


def unrolled(k: Any, w: Any, h: Any, xs: Any) -> Any:
    return k.scan(lambda c, x: (k.np.sin(c) * x, c), h, xs, unroll=2)


def nested(k: Any, w: Any, h: Any, xs: Any) -> Any:
    def outer(c: Any, x: Any) -> Any:
        def inner(d: Any, y: Any) -> Any:
            return d * k.np.cos(y) + x * w[0, 0], d

        last, seen = k.scan(inner, c, w)
        return last, k.np.sum(seen * h)

    return k.scan(outer, h, xs)


def counters(k: Any, w: Any, h: Any, xs: Any) -> Any:
    """Carries of integers and bools beside real ones, numbers that take their dtype."""
    def step(c: Any, x: Any) -> Any:
        i, flag, total = c
        return (i + 1, x[0] > 0, total + k.np.where(flag, x, -x) * i), (i, None)

    return k.scan(step, (0, k.np.asarray(True), h), xs)


def no_steps(k: Any, w: Any, h: Any, xs: Any) -> Any:
    return k.scan(lambda c, x: (c * x, k.np.sum(c)), h, xs[:0])


def without_rows(k: Any, w: Any, h: Any, xs: Any) -> Any:
    return k.scan(lambda c, _: (k.np.sin(c) + h, k.np.stack([c, c])), h, None, length=3)


def no_carry(k: Any, w: Any, h: Any, xs: Any) -> Any:
    return k.scan(lambda _, x: (None, (x * h, xs[0])), None, xs)[1]


def detached(k: Any, w: Any, h: Any, xs: Any) -> Any:
    """Gradients stop where they are stopped, at what is inside and outside."""
    def step(c: Any, x: Any) -> Any:
        c = k.stop(c) * x + k.np.sin(c) * k.stop(w[0]) + w[1]
        return c, k.stop(c) * x

    return k.scan(step, h, xs)


def detached_result(k: Any, w: Any, h: Any, xs: Any) -> Any:
    return k.scan(lambda c, x: (k.stop(c * x), c * x), h, xs)


def tree(k: Any, w: Any, h: Any, xs: Any) -> Any:
    def step(c: Any, row: Any) -> Any:
        x, (y,) = row["x"], row["y"]
        return {"a": c["a"] + x, "b": [c["b"][0] * y]}, [x * y]

    return k.scan(step, {"a": h, "b": [w]}, {"x": xs, "y": [xs[:, 0]]})


def gradient_inside(k: Any, w: Any, h: Any, xs: Any) -> Any:
    """Gradient descent as the body of a loop."""
    def step(c: Any, x: Any) -> Any:
        g = k.grad(lambda c: k.np.sum(k.np.tanh(w @ c - x) ** 2))(c)
        return c - 0.1 * g, k.np.sum(g)

    return k.scan(step, h, xs)


def mapped_inside(k: Any, w: Any, h: Any, xs: Any) -> Any:
    return k.scan(lambda c, x: (k.vmap(lambda a, b: a * b + x[0])(c, x), c), h, xs)


def bounded(k: Any, w: Any, h: Any, xs: Any) -> Any:
    def body(c: Any) -> Any:
        return {"i": c["i"] + 1, "h": k.np.tanh(w @ c["h"]) + h}

    return k.bounded(
        lambda c: (c["i"] < 3) & (k.np.sum(c["h"]) < 1e3), body, {"i": 0, "h": h}, max_steps=6)


def stopped_by_the_bound(k: Any, w: Any, h: Any, xs: Any) -> Any:
    return k.bounded(lambda c: k.np.sum(c) < 1e9, lambda c: c * c + w[0], h, max_steps=2)


def branches(k: Any, w: Any, h: Any, xs: Any) -> Any:
    return k.cond(h[0] > 0, lambda a, b: (a * h, b), lambda a, b: (k.np.sin(a), b * w[0, 0]),
                  xs, k.np.sum(w))  # fmt: skip


def branches_fit(k: Any, w: Any, h: Any, xs: Any) -> Any:
    return k.cond(k.np.sum(h) < 100, lambda: xs @ w, lambda: xs * 2.0)


def branch_in_loop(k: Any, w: Any, h: Any, xs: Any) -> Any:
    def step(c: Any, x: Any) -> Any:
        c = k.cond(x[0] > 0, lambda c: c * x, lambda c: k.np.cos(c) + w[0], c)
        return c, k.cond(x[1] > 0, lambda: 1.0, lambda: k.np.sum(c))

    return k.scan(step, h, xs)


def sorted_inside(k: Any, w: Any, h: Any, xs: Any) -> Any:
    """An op that gives residuals."""
    return k.scan(lambda c, x: (k.np.sort(c * x), k.np.linalg.norm(c)), h, xs)


def loop_in_loop(k: Any, w: Any, h: Any, xs: Any) -> Any:
    def step(c: Any, x: Any) -> Any:
        return k.bounded(
            lambda d: k.np.sum(d * d) > 0.5, lambda d: d * 0.7, c + x, max_steps=12), x

    return k.scan(step, h, xs)


CASES = [
    rnn, reverse, unrolled, nested, counters, no_steps, without_rows, no_carry, detached,
    detached_result, tree, gradient_inside, mapped_inside, bounded, stopped_by_the_bound, branches,
    branches_fit, branch_in_loop, sorted_inside, loop_in_loop,
]  # fmt: skip


def newton(k: Any, w: Any, h: Any, xs: Any) -> Any:
    """A loop without a bound, which has a forward mode only."""
    x = k.np.abs(h) + 1.0
    return k.while_loop(
        lambda y: k.np.max(k.np.abs(y * y - x)) > 1e-10, lambda y: (y + x / y) / 2, x)


def collatz(k: Any, w: Any, h: Any, xs: Any) -> Any:
    """Only integers move."""
    def body(c: Any) -> Any:
        n, steps = c
        return k.np.where(n % 2 == 0, n // 2, 3 * n + 1), steps + 1

    n, steps = k.while_loop(lambda c: c[0] != 1, body, (k.np.asarray(27), 0))
    return n, steps, h * 2.0


def leaves(tree: Any) -> list[Any]:
    return [onp.asarray(x) for x in jax.tree.leaves(jax.tree.map(
        lambda t: t.read() if isinstance(t, ll.Tensor) else t, tree,
        is_leaf=lambda t: isinstance(t, ll.Tensor)))]


def close(ours: Any, theirs: Any) -> None:
    a, b = leaves(ours), leaves(theirs)
    assert len(a) == len(b)
    for x, y in zip(a, b, strict=True):
        assert x.dtype == y.dtype and x.shape == y.shape
        onp.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-12)


def scalar(case: Any, k: Any) -> Callable[..., Any]:
    """The sum of all that is real in a case's results."""
    def f(*args: Any) -> Any:
        found: list[Any] = []
        for t in jax.tree.leaves(case(k, *args), is_leaf=lambda t: isinstance(t, ll.Tensor)):
            if t.dtype == onp.float64:
                found.append(k.np.sum(k.np.sin(t)))
        return sum(found[1:], found[0])

    return f


@pytest.fixture(autouse=True)
def _x64() -> Any:
    with jax.enable_x64(True):
        yield


def theirs() -> list[Any]:
    return [jnp.asarray(x) for x in (W, H, XS)]


def ours() -> list[Any]:
    return [lnp.asarray(x) for x in (W, H, XS)]


FORMS = pytest.mark.parametrize("form", [
    pytest.param(form, marks=getattr(pytest.mark, form)) for form in ("compiled", "op_by_op")],
    indirect=True)  # fmt: skip
DIRECTIONS = [onp.cos(x) for x in (W, H, XS)]


def derived(case: Any, k: Any, backward: bool) -> Callable[..., Any]:
    """The results of a case, with its gradients and its tangents."""
    def f(*args: Any) -> Any:
        directions = tuple(k.np.asarray(d) for d in DIRECTIONS)
        total = scalar(case, k)
        gradients = k.grad(total, (0, 1, 2))(*args) if backward else None
        return case(k, *args), gradients, k.jvp(total, args, directions)[1]

    return f


@FORMS
@pytest.mark.parametrize("case", CASES, ids=lambda c: c.__name__)
def test_values_and_derivatives_are_those_of_jax(case: Any) -> None:
    close(derived(case, Ours, True)(*ours()), derived_by_jax(case))


@functools.lru_cache
def derived_by_jax(case: Any) -> Any:
    """The same for both forms."""
    return quick_options.jit(derived(case, Jax, True))(*theirs())


@pytest.mark.parametrize("case", [newton, collatz], ids=lambda c: c.__name__)
def test_loops_without_a_bound_are_those_of_jax(case: Any) -> None:
    close(derived(case, Ours, False)(*ours()),
          quick_options.jit(derived(case, Jax, False))(*theirs()))


@pytest.mark.parametrize("case", [nested, bounded, branch_in_loop], ids=lambda c: c.__name__)
def test_second_derivatives_are_those_of_jax(case: Any) -> None:
    def second(k: Any) -> Any:
        def total(w: Any, h: Any, xs: Any) -> Any:
            return k.np.sum(k.grad(scalar(case, k), 1)(w, h, xs) ** 2)

        return k.grad(total, (0, 1))

    close(second(Ours)(*ours()), quick_options.jit(second(Jax))(*theirs()))


MANY = onp.stack([H, -H, H * 0.1, H + 2])


@FORMS
@pytest.mark.parametrize("case", [*CASES, newton, collatz], ids=lambda c: c.__name__)
def test_mapping_is_that_of_jax(case: Any) -> None:
    def mapped(k: Any) -> Any:
        return k.vmap(lambda w, h, xs: case(k, w, h, xs), (None, 0, None))

    w, _, xs = ours()
    close(mapped(Ours)(w, lnp.asarray(MANY), xs), quick_options.jit(mapped(Jax))(W, MANY, XS))


@pytest.mark.parametrize("case", [counters, bounded, branch_in_loop], ids=lambda c: c.__name__)
def test_gradients_of_each_element(case: Any) -> None:
    def mapped(k: Any) -> Any:
        return k.vmap(k.grad(scalar(case, k), (0, 1)), (None, 0, None))

    w, _, xs = ours()
    close(mapped(Ours)(w, lnp.asarray(MANY), xs), quick_options.jit(mapped(Jax))(W, MANY, XS))


def test_a_gradient_after_a_read_is_the_same() -> None:
    def f(w: Any) -> Any:
        carry, given = rnn(Ours, w, lnp.asarray(H), lnp.asarray(XS))
        seen.append(float(lnp.sum(given)))
        return lnp.sum(carry)

    seen: list[float] = []
    expected = jax.grad(lambda w: jnp.sum(rnn(Jax, w, *theirs()[1:])[0]))
    close(ll.grad(f)(ours()[0]), quick_options.jit(expected)(theirs()[0]))
    assert len(seen) == 1


# Keys and compiles


def test_a_number_that_changes_costs_no_compile() -> None:
    def run(rate: float, steps: int) -> Any:
        def step(c: Any, x: Any) -> Any:
            return c * rate + x, c

        def body(c: Any) -> Any:
            return c[0] + 1, c[1] / rate

        carry, _ = ll.scan(step, lnp.asarray(H), lnp.asarray(XS))
        _, grown = ll.while_loop(lambda c: c[0] < steps, body, (0, carry))
        return ll.cond(steps > 4, lambda: grown, lambda: grown * rate).read()

    def expected(rate: float, steps: int) -> Any:
        c = H
        for x in XS:
            c = c * rate + x
        for _ in range(steps):
            c = c / rate
        return c if steps > 4 else c * rate

    onp.testing.assert_allclose(run(0.5, 3), expected(0.5, 3))
    with counted() as after:
        for rate, steps in ((0.25, 3), (0.75, 7), (3.0, 5), (2.5, 2)):
            onp.testing.assert_allclose(run(rate, steps), expected(rate, steps))
    assert after.programs_compiled == 0 and after.jax_traces == 0


def test_what_a_body_does_is_part_of_the_key() -> None:
    def run(f: Any) -> Any:
        return ll.scan(lambda c, x: (f(c, x), None), lnp.asarray(H), lnp.asarray(XS))[0]

    functions = [
        lambda c, x: c + x, lambda c, x: c - x, lambda c, x: x - c, lambda c, x: c * 0.0 + x,
        lambda c, x: c * 1.0 + x, lambda c, x: c * -1.0 + x, lambda c, x: c ** 2 + x,
        lambda c, x: c ** 3 + x,
    ]  # fmt: skip
    keys = set()
    for f in functions:
        found = run(f)
        keys.add(ll.program_of(found).key)
        c = H
        for x in XS:
            c = f(c, x)
        onp.testing.assert_allclose(found.read(), c)
    assert len(keys) == len(functions)


@pytest.mark.slow
def test_a_loop_is_loaded_from_disk_without_a_trace(tmp_path: Any) -> None:
    code = """
        import lazyloom as ll, lazyloom_numpy as np
        f = lambda w: np.sum(ll.scan(
            lambda c, x: (ll.cond(x > 0, lambda c: np.tanh(w * c), lambda c: c * 0.5, c) + x, c),
            np.asarray(0.3), np.asarray([1.0, -2.0, 3.0]))[1])
        print(float(ll.grad(f)(np.asarray(0.7))))
        s = ll.stats()
        print(s["programs_compiled"], s["jax_traces"])
    """
    first = script(code, cache=tmp_path).stdout.split()
    second = script(code, cache=tmp_path).stdout.split()
    assert second[0] == first[0] and second[1:] == ["0", "0"] and int(first[2]) > 0


@pytest.mark.slow
def test_a_version_of_an_op_inside_is_part_of_what_is_stored(tmp_path: Any) -> None:
    code = """
        from __future__ import annotations
        import sys
        from jax import lax
        import lazyloom as ll, lazyloom_numpy as np
        from lazyloom.ops.kinds import Array, T
        from lazyloom.ops.rules import elementwise
        version = sys.argv[1] or None
        @ll.register_op(elementwise, T="floating", source="this test", version=version)
        def changing(x: T) -> Array:
            "x times what the version is."
            return lax.mul(x, lax.full_like(x, float(sys.argv[2])))
        c, _ = ll.scan(lambda c, x: (ll.apply("changing", [c]) + x, None), np.asarray(1.0),
                       np.asarray([0.0, 0.0]))
        print(float(c), ll.stats()["programs_from_disk"])
    """
    def run(*arguments: str) -> list[str]:
        return script(code, *arguments, cache=tmp_path).stdout.split()

    assert run("1", "2") == ["4.0", "0"] and run("1", "2") == ["4.0", "1"]
    assert run("2", "3") == ["9.0", "0"]
    assert run("", "2") == ["4.0", "0"] and run("", "5") == ["25.0", "0"]


def test_the_text_of_a_program_shows_the_body() -> None:
    c, _ = ll.scan(lambda c, x: (c * x + 0.5, None), lnp.asarray(H), lnp.asarray(XS))
    assert ll.program_of(c).text() == (
        "program(%in0: float64[3] donated, %in1: float64[5,3]) {\n"
        "  %0 = scan(%in0, %in1, $float64.0) {carry=1, xs=1, length=5, reverse=False, unroll=1} : "
        "float64[3]\n"
        "    body ($0: float64[3], $1: float64[3], $2: float64[]) {\n"
        "      %0 = multiply($0, $1) : float64[3]\n"
        "      %1 = add(%0, $2) : float64[3]\n"
        "      return %1\n"
        "    }\n"
        "  return %0\n"
        "}")


# What is used from outside, written and drawn


def test_writes_and_views_inside_are_the_bodys_own() -> None:
    h, xs = lnp.asarray(H), lnp.asarray(XS)

    def step(c: Any, x: Any) -> Any:
        c += x
        part = c[1:]
        part *= 2.0
        out = lnp.zeros((2, 3))
        out[0] = c
        out[1, ::2] = x[:2]
        return c, out

    last, given = ll.scan(step, h, xs)
    c, expected = H.copy(), []
    for x in XS:
        c, out = step_of_numpy(c, x)
        expected.append(out)
    onp.testing.assert_allclose(last.read(), c)
    onp.testing.assert_allclose(given.read(), onp.stack(expected))
    onp.testing.assert_array_equal(h.read(), H)
    onp.testing.assert_array_equal(xs.read(), XS)


def step_of_numpy(c: Any, x: Any) -> Any:
    c = c + x
    c[1:] *= 2.0
    out = onp.zeros((2, 3))
    out[0] = c
    out[1, ::2] = x[:2]
    return c, out


@pytest.mark.slow
def test_each_step_draws_anew() -> None:
    rng = lnp.random.default_rng(5)

    def step(c: Any, x: Any) -> Any:
        return c + rng.normal(), rng.uniform(size=2)

    last, given = ll.scan(step, lnp.asarray(0.0), None, length=50)
    drawn = given.read()
    assert len(onp.unique(drawn)) == 100 and abs(float(last)) < 40

    def again(c: Any) -> Any:
        inner = ll.scan(lambda d, _: (d, rng.uniform()), c[1], None, length=3)[1]
        return c[0] + 1, c[1], c[2] + (lnp.arange(4)[:, None] == c[0]) * inner

    found = ll.while_loop(lambda c: c[0] < 4, again, (0, lnp.asarray(0.0), lnp.zeros((4, 3))))[2]
    assert len(onp.unique(found.read())) == 12


def test_indices_inside_are_checked() -> None:
    table = lnp.asarray([10.0, 20.0, 30.0])

    def total(indices: list[int]) -> Any:
        return ll.scan(lambda c, i: (c + table[i], table[i]), lnp.asarray(0.0),
                       lnp.asarray(indices))[0]  # fmt: skip

    assert float(total([0, 2, -1])) == 70
    with pytest.raises(IndexRangeError, match=r"index 3 is out of bounds for .*size 3"):
        float(total([0, 3, 1]))

    def until_small(limit: float, most: Any = None) -> Any:
        return ll.while_loop(lambda i: table[i] < limit, lambda i: i + 1, lnp.asarray(0),
                             max_steps=most)  # fmt: skip

    assert int(until_small(25.0)) == 2 and int(until_small(99.0, 3)) == 3
    with pytest.raises(IndexRangeError, match=r"index 3 is out of bounds for .*size 3"):
        int(until_small(99.0))

    def chosen(i: int, which: bool) -> Any:
        return ll.cond(
            lnp.asarray(which), lambda i: table[i], lambda i: i * 1.0, lnp.asarray(i) + 0)

    assert float(chosen(7, False)) == 7 and float(chosen(1, True)) == 20
    with pytest.raises(IndexRangeError, match=r"index 7 is out of bounds for .*size 3"):
        float(chosen(7, True))


def test_a_branch_that_is_not_taken_does_not_run() -> None:
    table = lnp.asarray([10.0, 20.0, 30.0])
    far = lnp.asarray(5) + 0
    assert float(ll.cond(lnp.asarray(False), lambda: table[far], lambda: table[0])) == 10


def test_numpy_arrays_and_numbers_are_taken() -> None:
    last, given = ll.scan(lambda c, x: (c + x, (x, 2)), 0, lnp.asarray([1, 2]))
    assert int(last) == 3 and given[1].read().tolist() == [2, 2]
    last, _ = ll.scan(lambda c, x: (c + x, None), 0.0, lnp.asarray([0.5, 2], "float32"))
    assert float(last) == 2.5 and last.dtype == onp.float32
    assert int(ll.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1]),
                             (onp.int64(1), lnp.asarray(2.0)))[0]) == 3  # fmt: skip


def test_results_in_bodies_of_scans_of_nothing() -> None:
    assert ll.scan(lambda c, x: (None, None), None, lnp.asarray(XS)) == (None, None)
    assert ll.cond(lnp.asarray(True), lambda: None, lambda: None) is None
    last, given = ll.scan(lambda c, x: (c, x), (), lnp.asarray(XS))
    assert last == ()
    onp.testing.assert_array_equal(given.read(), XS)


def test_a_mapped_loop_inside_an_op_goes_on_for_each_element_on_the_host() -> None:
    """What an op does by itself runs on the host; a program's own loop does not."""
    from lazyloom.host.kernels import kernel_text
    from lazyloom.host.loading import load

    def halved(x: Any, n: Any) -> Any:
        return lax.while_loop(lambda c: jnp.abs(c[0]).sum() > 1,
                              lambda c: (c[0] / 2, c[1] + 1), (x, n))  # fmt: skip

    given = (XS, onp.arange(5))
    run, _ = load(kernel_text(jax.make_jaxpr(jax.vmap(halved))(*given)))
    close(run(*given), jax.vmap(halved)(*given))
