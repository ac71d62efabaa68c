"""Function transforms: vjp, jvp, vmap, jacobians and hessians, alone and nested."""

from __future__ import annotations

import gc
from collections import namedtuple
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import lazyloom as ll
from lazyloom.errors import ArgumentError, GradientError, ShapeError
from lazyloom.trace import graph
from tests import quick_options
from tests.contract.helpers import counted, script

pytestmark = pytest.mark.usefixtures("quick_compiler")

RNG = np.random.default_rng(7)
W = RNG.normal(size=(4, 3))
X = RNG.normal(size=(5, 4))
V = RNG.normal(size=(4, 3))
A = np.array([0.3, -0.7, 1.1])


def tensor(data: Any, dtype: Any = np.float64) -> Any:
    return ll.Tensor(ll.from_host(np.asarray(data, dtype)))


def app(op: str, *operands: Any, **attributes: Any) -> Any:
    return ll.apply(op, operands, attributes)


class Runtime:
    """The few functions that the tests use, over the runtime's tensors."""

    def dot(self, a: Any, b: Any) -> Any:
        return app("matmul", a, b)

    def mul(self, a: Any, b: Any) -> Any:
        return app("multiply", a, b)

    def add(self, a: Any, b: Any) -> Any:
        return app("add", a, b)

    def tanh(self, a: Any) -> Any:
        return app("tanh", a)

    def sin(self, a: Any) -> Any:
        return app("sin", a)

    def sum(self, a: Any) -> Any:
        return app("sum", a)

    def sort(self, a: Any) -> Any:
        return app("sort", a)

    def cumprod(self, a: Any) -> Any:
        return app("cumprod", a, axis=0)


class Jax(Runtime):
    """The same over JAX."""

    def dot(self, a: Any, b: Any) -> Any:
        return a @ b

    def mul(self, a: Any, b: Any) -> Any:
        return a * b

    def add(self, a: Any, b: Any) -> Any:
        return a + b

    def tanh(self, a: Any) -> Any:
        return jnp.tanh(a)

    def sin(self, a: Any) -> Any:
        return jnp.sin(a)

    def sum(self, a: Any) -> Any:
        return a.sum()

    def sort(self, a: Any) -> Any:
        return jnp.sort(a)

    def cumprod(self, a: Any) -> Any:
        return jnp.cumprod(a)


def layer(m: Any) -> Any:
    """Rows of tanh(x @ w), squared and summed: from (4, 3) and (4,) to ()."""
    def f(w: Any, x: Any) -> Any:
        h = m.tanh(m.dot(x, w))
        return m.sum(m.mul(h, m.sin(h)))
    return f


def vector(m: Any) -> Any:
    """From (4, 3) and (4,) to (3,)."""
    return lambda w, x: m.tanh(m.dot(x, w))


def ordered(m: Any) -> Any:
    """With ops that keep residuals: from (4,) to (4,)."""
    return lambda a: m.mul(m.cumprod(m.sort(a)), a)


def over(t: Any, m: Any) -> list[Callable[..., Any]]:
    """Every transform alone and many of their nestings, of the same functions."""
    f, g, h = layer(m), vector(m), ordered(m)

    def total(k: Any) -> Any:
        return lambda *a: m.sum(k(*a))

    def along(k: Any, w: Any, v: Any) -> Any:
        return t.jvp(k, (w,), (v,))[1]

    def pulled(k: Any, w: Any, x: Any) -> Any:
        out, vjp_fun = t.vjp(k, w, x)
        return vjp_fun(out)

    rows = (None, 0)
    return [
        # 0: one transform
        lambda w, x, v, r, q: t.vmap(f, rows)(w, x),
        lambda w, x, v, r, q: t.jvp(g, (w, r), (v, q)),
        lambda w, x, v, r, q: pulled(g, w, r),
        lambda w, x, v, r, q: t.jacfwd(g)(w, r),
        lambda w, x, v, r, q: t.jacrev(g, (0, 1))(w, r),
        lambda w, x, v, r, q: t.hessian(f)(w, r),
        # 6: mapped derivatives, and derivatives of mapped functions
        lambda w, x, v, r, q: t.vmap(t.grad(f), rows)(w, x),
        lambda w, x, v, r, q: t.vmap(t.value_and_grad(f, (0, 1)), rows)(w, x),
        lambda w, x, v, r, q: t.grad(total(t.vmap(f, rows)))(w, x),
        lambda w, x, v, r, q: t.vmap(lambda w, x: along(lambda w: g(w, x), w, v), rows)(w, x),
        lambda w, x, v, r, q: along(lambda w: t.vmap(g, rows)(w, x), w, v),
        lambda w, x, v, r, q: t.vmap(lambda w, x: pulled(g, w, x), rows)(w, x),
        lambda w, x, v, r, q: t.vmap(t.jacrev(g), rows)(w, x),
        lambda w, x, v, r, q: t.jacfwd(t.vmap(g, rows))(w, x),
        lambda w, x, v, r, q: t.jacrev(t.vmap(g, rows))(w, x),
        lambda w, x, v, r, q: t.vmap(t.hessian(f, 1), rows)(w, x),
        lambda w, x, v, r, q: t.hessian(total(t.vmap(f, rows)))(w, x),
        lambda w, x, v, r, q: t.vmap(t.vmap(lambda a, b: m.mul(a, b), (0, None)), rows)(r, x),
        # 18: derivatives of derivatives
        lambda w, x, v, r, q: along(t.grad(lambda w: f(w, r)), w, v),
        lambda w, x, v, r, q: t.grad(lambda u: along(lambda w: f(w, r), u, v))(w),
        lambda w, x, v, r, q: along(lambda w: along(lambda w: g(w, r), w, v), w, v),
        lambda w, x, v, r, q: t.grad(lambda w: m.sum(t.grad(f)(w, r)))(w),
        lambda w, x, v, r, q: pulled(lambda w, x: t.grad(f)(w, x), w, r)[0],
        lambda w, x, v, r, q: t.jacfwd(t.jacfwd(g, 1), 1)(w, r),
        lambda w, x, v, r, q: t.jacrev(t.jacrev(g, 1), 1)(w, r),
        lambda w, x, v, r, q: t.jacrev(t.jacfwd(lambda x: h(x)))(r),
        # 26: three deep, and ops with residuals
        lambda w, x, v, r, q: t.grad(lambda w: m.sum(t.vmap(t.grad(f), rows)(w, x)))(w),
        lambda w, x, v, r, q: t.vmap(lambda x: along(t.grad(total(h)), x, x))(x),
        lambda w, x, v, r, q: t.hessian(lambda x: m.sum(t.vmap(h)(x)))(x),
        lambda w, x, v, r, q: t.vmap(t.hessian(total(h)))(x),
        lambda w, x, v, r, q: t.grad(lambda x: m.sum(t.vmap(t.grad(total(h)))(x)))(x),
        lambda w, x, v, r, q: t.vmap(t.vmap(t.grad(f), (None, 0)), (0, None))(
            t.vmap(lambda s: m.mul(w, s))(r), x),
        lambda w, x, v, r, q: t.grad(lambda r: m.sum(t.vmap(lambda s: t.grad(
            lambda y: m.sum(t.vmap(lambda u: m.mul(m.sin(u), s))(y)))(r))(r)))(r),
        lambda w, x, v, r, q: t.jvp(lambda w: t.vjp(f, w, r)[1](m.sum(q))[0], (w,), (v,))[1],
    ]  # fmt: skip


GIVEN = (W, X, V, X[0], X[1])


def leaves(tree: Any) -> list[Any]:
    found: list[Any] = jax.tree.leaves(tree, is_leaf=lambda t: isinstance(t, ll.Tensor))
    return found


@pytest.mark.slow
def test_every_nesting_is_jaxs() -> None:
    ours, theirs = over(ll, Runtime()), over(jax, Jax())
    with jax.enable_x64(True):
        expected = quick_options.jit(
            lambda *given: [jax.tree.leaves(f(*given)) for f in theirs])(*GIVEN)
    found = [leaves(f(*map(tensor, GIVEN))) for f in ours]
    for number, (a, b) in enumerate(zip(found, expected, strict=True)):
        assert len(a) == len(b), number
        for x, y in zip(a, b, strict=True):
            np.testing.assert_allclose(
                x.read(), np.asarray(y), rtol=1e-10, atol=1e-12, err_msg=str(number))
            assert not x.value.requires_grad, number


# Against finite differences


def test_against_finite_differences() -> None:
    f = layer(Runtime())
    step = 1e-5

    def at(w: Any) -> float:
        return float(f(tensor(w), tensor(X[0])).read())

    expected = (at(W + step * V) - at(W - step * V)) / (2 * step)
    given = tensor(W), tensor(X[0])
    _, along = ll.jvp(lambda w: f(w, given[1]), given[:1], (tensor(V),))
    _, vjp_fun = ll.vjp(f, *given)
    np.testing.assert_allclose(along.read(), expected, rtol=1e-7)
    np.testing.assert_allclose((vjp_fun(1.0)[0].read() * V).sum(), expected, rtol=1e-7)
    hessian = ll.hessian(f)(*given).read().reshape(12, 12)
    rows = [ll.grad(f)(tensor(W + s * step * V), given[1]).read() for s in (1, -1)]
    np.testing.assert_allclose(
        hessian @ V.ravel(), ((rows[0] - rows[1]) / (2 * step)).ravel(), rtol=1e-6, atol=1e-9)


# Trees, axes, classes


Pair = namedtuple("Pair", ["left", "right"])


def test_trees_go_in_and_come_out() -> None:
    def f(p: Any, scale: Any, *, shift: Any) -> Any:
        return {"sum": app("add", p.left["a"], p.right[0]),
                "more": [app("multiply", p.left["a"], scale), shift], "none": None}

    given = Pair({"a": tensor(X)}, (tensor(X.T),))
    axes = (Pair({"a": 0}, (1,)), None)
    mapped = ll.vmap(f, axes, {"sum": 1, "more": [0, -1], "none": 0})
    found = mapped(given, tensor(X[0]), shift=tensor(X))
    np.testing.assert_allclose(found["sum"].read(), (2 * X).T)
    np.testing.assert_allclose(found["more"][0].read(), X * X[0])
    np.testing.assert_allclose(found["more"][1].read(), X.T)
    assert found["none"] is None and list(found) == ["sum", "more", "none"]

    out, vjp_fun = ll.vjp(lambda p: [app("multiply", p.left["a"], p.left["a"])], Pair(
        {"a": tensor(A)}, (tensor([1, 2], np.int64), "text")))
    (back,) = vjp_fun([tensor(A)])
    assert isinstance(back, Pair) and back.right == (None, None)
    np.testing.assert_allclose(back.left["a"].read(), 2 * A * A)
    np.testing.assert_allclose(out[0].read(), A * A)

    both = {"x": tensor(A), "n": tensor([3], np.int64)}
    out, along = ll.jvp(lambda d: (app("sin", d["x"]), app("cos", d["x"])), (both,),
                        ({"n": None, "x": tensor(A)},))
    np.testing.assert_allclose(along[1].read(), -np.sin(A) * A)
    # nothing moves where None stands for the whole argument
    _, still = ll.jvp(lambda a, b: app("multiply", a, b), [tensor(A), tensor(A)], [None, tensor(A)])
    np.testing.assert_allclose(still.read(), A * A)


class Mine(ll.Tensor):
    """A frontend's tensors with dimensions."""

    __slots__ = ()


class MineOfNone(Mine):
    """And without."""

    __slots__ = ()


class MineWithoutOperators(ll.Tensor):
    """Of a frontend that has not said what operators mean."""

    __slots__ = ()


@pytest.mark.parametrize("sign", ["+", "-", "*", "/", "@"])
def test_operators_that_a_frontend_does_not_define_are_type_errors(sign: str) -> None:
    x = MineWithoutOperators(ll.from_host(A))
    for statement in (f"x {sign}= 1", f"x {sign}= x", f"x = x {sign} 1", f"x = 1 {sign} x"):
        with pytest.raises(TypeError, match="unsupported operand"):
            exec(statement, {"x": x})

    class Other:
        def __radd__(self, left: Any) -> Any:
            return "taken"

    taken: Any = x
    taken += Other()
    assert taken == "taken"


def test_tensors_are_of_their_frontends_classes() -> None:
    def general(*operands: Any) -> Any:
        return NotImplemented

    ll.frontend.set_operators(Mine, ll.frontend.Operators(
        Mine, MineOfNone, [general] * len(ll.frontend.NAMES), [general] * 5, False))
    x = Mine(ll.from_host(A))
    seen = []

    def f(a: Any) -> Any:
        seen.append(type(a))
        return app("multiply", a, a)

    assert type(ll.vmap(f)(x)) is Mine and seen == [MineOfNone]
    assert type(ll.jacobian(f)(x)) is Mine
    assert type(ll.hessian(lambda a: app("sum", f(a)))(x)) is Mine
    scalar = Mine.from_value(ll.from_host(np.float64(2.0)))
    assert [type(t) for t in ll.jvp(f, (scalar,), (1.0,))] == [MineOfNone] * 2
    # without operators, a class is its own
    plain = tensor(A)
    assert type(ll.vmap(f)(plain)) is ll.Tensor


def test_aux_is_passed_on() -> None:
    def f(a: Any) -> Any:
        return app("multiply", a, a), {"twice": app("add", a, a), "name": "f"}

    x = tensor(A)
    for aux in (ll.vjp(f, x, has_aux=True)[2], ll.jvp(f, (x,), (x,), has_aux=True)[2],
                ll.jacobian(f, has_aux=True)(x)[1], ll.hessian(f, has_aux=True)(x)[1]):
        assert aux["name"] == "f"
        np.testing.assert_allclose(aux["twice"].read(), 2 * A)
        assert not aux["twice"].value.requires_grad


def test_jacobians_of_trees() -> None:
    def f(d: Any, c: Any) -> Any:
        return [app("multiply", d["a"], c), app("sum", app("multiply", d["b"], d["b"]))]

    given = {"a": tensor(A), "b": tensor(W)}, tensor(2.0)
    for transform in (ll.jacobian, ll.jacfwd, ll.jacrev):
        first, second = transform(f, (0, 1))(*given)
        np.testing.assert_allclose(first[0]["a"].read(), 2 * np.eye(3))
        np.testing.assert_allclose(first[0]["b"].read(), np.zeros((3, 4, 3)))
        np.testing.assert_allclose(first[1].read(), A)
        np.testing.assert_allclose(second[0]["a"].read(), np.zeros(3))
        np.testing.assert_allclose(second[0]["b"].read(), 2 * W)
        np.testing.assert_allclose(second[1].read(), 0)


def test_the_jacobian_takes_the_shorter_way() -> None:
    wide, tall = tensor(np.ones((2, 7))), tensor(np.ones((7, 2)))

    def f(x: Any) -> Any:
        return app("matmul", x, app("sin", tensor(np.ones(x.type.shape[::-1]))))

    def ops(x: Any) -> set[str]:
        v = tensor(np.ones(x.type.shape[1]))
        m = ll.jacobian(lambda v: app("tanh", app("matmul", x, v)))(v)
        return set(ll.program_of(m).ops)

    assert "matmul.jvp.vmap" in ops(tall) and "matmul.vjp.vmap" not in ops(tall)
    assert "matmul.vjp.vmap" in ops(wide) and "matmul.jvp.vmap" not in ops(wide)


def test_complex_jacobians() -> None:
    z = tensor([1 + 2j, -0.5j], np.complex128)
    cube = np.diag(3 * z.read() ** 2)

    def f(a: Any) -> Any:
        return app("multiply", a, app("multiply", a, a))

    for transform in (ll.jacobian, ll.jacfwd, ll.jacrev):
        np.testing.assert_allclose(transform(f, holomorphic=True)(z).read(), cube)
        with pytest.raises(GradientError, match="holomorphic=True"):
            transform(f)(z)
    # from real to complex by tangents, from complex to real by cotangents
    turned = ll.jacobian(lambda x: app("exp", app("multiply", app("cast", x, dtype="complex128"),
                                                  tensor(1j, np.complex128))))(tensor(A))
    np.testing.assert_allclose(turned.read(), np.diag(1j * np.exp(1j * A)))
    square = ll.jacobian(lambda z: app("sum", app("real", app("multiply", z, app("conj", z)))))
    size = square(z)
    np.testing.assert_allclose(size.read(), 2 * np.conj(z.read()))
    with pytest.raises(GradientError, match="expected jacfwd"):
        ll.jacrev(lambda x: app("cast", x, dtype="complex128"))(tensor(A))
    with pytest.raises(GradientError, match="not all"):
        ll.jacobian(f, holomorphic=True)(tensor(A))


# Control flow on the host


def test_branches_on_data_inside_differentiated_functions() -> None:
    def f(x: Any) -> Any:
        y = app("sin", x)
        while app("sum", y).read() < 4:
            y = app("add", y, app("multiply", x, x))
        return y if y.read()[0] > 0 else app("negative", y)

    n, total = 0, np.sin(A).sum()
    while total < 4:
        n, total = n + 1, total + (A * A).sum()
    assert n > 1
    slope = np.cos(A) + n * 2 * A
    x, v = tensor(A), tensor(A + 1)
    np.testing.assert_allclose(ll.jvp(f, (x,), (v,))[1].read(), slope * (A + 1))
    np.testing.assert_allclose(ll.vjp(f, x)[1](v)[0].read(), slope * (A + 1))
    for transform in (ll.jacobian, ll.jacfwd, ll.jacrev):
        np.testing.assert_allclose(transform(f)(x).read(), np.diag(slope))
    bent = ll.hessian(lambda x: app("sum", f(x)))(x)
    np.testing.assert_allclose(bent.read(), np.diag(-np.sin(A) + 2 * n))




# Perturbations, closures, and tapes that are others'


def test_perturbations_are_not_confused() -> None:
    def d(f: Any, x: Any) -> Any:
        return ll.jvp(f, (x,), (1.0,))[1]

    one, c = tensor(1.0), tensor(A)
    # d/dx [x * d/dy (x + y)] at 1 is 1 (Siskind and Pearlmutter), in every pairing
    inner = [
        lambda x: app("multiply", x, d(lambda y: app("add", x, y), one)),
        lambda x: app("multiply", x, ll.grad(lambda y: app("add", x, y))(one)),
        lambda x: app("multiply", x, ll.vjp(lambda y: app("add", x, y), one)[1](1.0)[0]),
        lambda x: app("multiply", x, ll.jacobian(lambda y: app("add", x, y))(one)),
    ]  # fmt: skip
    for f in inner:
        assert d(f, one).read() == ll.grad(f)(one).read() == ll.jacfwd(f)(one).read() == 1.0

    def cube(x: Any) -> Any:
        return app("sum", app("multiply", x, app("multiply", x, x)))

    # one gradient's result in the function of the next, both by the same tensor
    def f(y: Any) -> Any:
        w = ll.grad(cube)(c)
        z = ll.grad(lambda z: app("sum", app("multiply", z, w)))(c)
        return app("sum", app("multiply", z, y))

    np.testing.assert_allclose(ll.grad(f)(tensor(np.ones(3))).read(), 3 * A * A)
    # what is pulled back does not depend on the tensor that is differentiated by later
    _, vjp_fun = ll.vjp(cube, c)
    again = ll.grad(lambda y: app("sum", app("multiply", y, vjp_fun(1.0)[0])))(c)
    np.testing.assert_allclose(again.read(), 3 * A * A)


def test_a_vjp_function_can_be_called_again_and_differentiated() -> None:
    x = tensor(A)
    out, vjp_fun = ll.vjp(lambda a: app("sin", a), x)
    np.testing.assert_allclose(vjp_fun(x)[0].read(), np.cos(A) * A)
    np.testing.assert_allclose(vjp_fun(out)[0].read(), np.cos(A) * np.sin(A))
    # linear in the cotangent, also mapped over many
    linear = ll.jacobian(lambda c: vjp_fun(c)[0])(x)
    np.testing.assert_allclose(linear.read(), np.diag(np.cos(A)))
    np.testing.assert_allclose(
        ll.vmap(lambda c: vjp_fun(c)[0])(tensor(np.eye(3))).read(), np.diag(np.cos(A)))
    np.testing.assert_allclose(
        ll.grad(lambda c: app("sum", app("multiply", vjp_fun(c)[0], vjp_fun(c)[0])))(x).read(),
        2 * np.cos(A) ** 2 * A)


# Runs, programs, memory


def test_nothing_runs_twice_and_all_is_one_program() -> None:
    x, w, v = tensor(X), tensor(W), tensor(V)
    f = layer(Runtime())
    makes = {
        "vmap": lambda: ll.vmap(f, (None, 0))(w, x),
        "per-sample gradients": lambda: ll.vmap(ll.grad(f), (None, 0))(w, x),
        "jvp": lambda: ll.jvp(lambda w: f(w, tensor(X[0])), (w,), (v,))[1],
        "hessian": lambda: ll.hessian(f)(w, tensor(X[0])),
    }
    for name, make in makes.items():
        make().read()
        with counted() as delta:
            result = make()
            assert result.value.is_pending, name
            ops = len(ll.program_of(result).ops)
            result.read()
        assert (delta.executions, delta.programs_compiled, delta.jax_traces) == (1, 0, 0), name
        assert delta.ops_executed == ops, name


def test_programs_of_derived_ops_are_written_and_read_back() -> None:
    x = tensor(X)
    found = ll.hessian(lambda x: app("sum", ll.vmap(ordered(Runtime()))(x)))(x)
    program = ll.program_of(found)
    again = ll.Program.parse(program.serialized)
    assert again == program and again.key == program.key
    assert any(name.count(".") >= 3 for name in program.ops)
    # which operands are mapped or move is part of the structure
    both = ll.program_of(ll.vmap(lambda a, b: app("add", a, b))(x, x))
    one = ll.program_of(ll.vmap(lambda a, b: app("add", a, b), (0, None))(x, x))
    assert both.ops == one.ops == ["add.vmap"] and both != one


def test_a_second_process_finds_them_on_disk(tmp_path: Any) -> None:
    code = """
        import numpy as np, lazyloom as ll
        x = ll.Tensor(ll.from_host(np.arange(6.0).reshape(2, 3)))
        f = lambda a: ll.apply("sum", [ll.apply("sort", [ll.apply("sin", [a])])])
        print(ll.vmap(ll.hessian(f))(x).read().sum())
        s = ll.stats()
        print(s["jax_traces"], s["programs_compiled"], s["programs_from_disk"])
    """
    first, second = (script(code, cache=tmp_path).stdout.split() for _ in range(2))
    assert first[0] == second[0] and int(first[1]) > 0
    assert second[1:3] == ["0", "0"] and int(second[3]) >= 1


def test_long_functions_are_cut_as_they_are_without_a_transform() -> None:
    one = tensor(1.0)

    def g(x: Any) -> Any:
        for _ in range(1500):
            x = app("multiply", app("sin", x), one)
        return x

    value, slope = 0.5, 1.0
    for _ in range(1500):
        slope *= np.cos(value)
        value = np.sin(value)
    before = ll.stats()["recomputed_ops"]
    found, along = ll.jvp(g, (tensor(0.5),), (1.0,))
    np.testing.assert_allclose([found.read(), along.read()], [value, slope], rtol=1e-9)
    # what was dropped is computed again once, not once for each op above it
    assert ll.stats()["recomputed_ops"] - before <= 3200
    mapped = ll.vmap(g)(tensor([0.5, 0.25]))
    np.testing.assert_allclose(mapped.read()[0], value, rtol=1e-12)
    assert ll.stats()["cuts"] > 0


def live_nodes() -> int:
    gc.collect()
    ll.sync()
    with graph.trace.lock:
        graph.drain()
        return sum(len(c.nodes) - c.dead for c in graph.trace.components)


@pytest.mark.slow
def test_results_keep_no_tape_alive() -> None:
    before = live_nodes()
    x = tensor(A)

    def f(a: Any) -> Any:
        for _ in range(5):
            a = app("sin", a)
        return a

    kept = [
        ll.vjp(f, x)[0], *ll.jvp(f, (x,), (x,)), ll.jacobian(f)(x), ll.vmap(ll.grad(f))(x),
        ll.hessian(lambda a: app("sum", f(a)))(x),
    ]  # fmt: skip
    for t in kept:
        t.read()
        # a computed result has no operands left, unless a gradient may yet go through it
        assert t.value.node.inputs == () and not t.value.requires_grad
    # other tests' nodes may go meanwhile; none may come
    assert live_nodes() <= before


# Wrong calls


def test_wrong_calls_are_told_at_once() -> None:
    x, n = tensor(A), tensor([1, 2], np.int64)

    def square(a: Any) -> Any:
        return app("multiply", a, a)

    calls: list[tuple[Callable[[], Any], type[Exception], str]] = [
        (lambda: ll.vmap(3), ArgumentError, "a int was given to map, expected a function"),
        (lambda: ll.vmap(square, "0"), ArgumentError, "in_axes has '0', expected an axis"),
        (lambda: ll.vmap(square, out_axes=1.5), ArgumentError, "out_axes has 1.5"),
        (lambda: ll.vmap(square, (0, 0))(x), ArgumentError,
         "in_axes has 2 entries, expected one for each of the 1 positional arguments"),
        (lambda: ll.vmap(square, [[0]])(x), ArgumentError, "is a list, expected a single value"),
        (lambda: ll.vmap(square, None)(x), ArgumentError, "no argument is mapped over"),
        (lambda: ll.vmap(square, 1)(x), ArgumentError, r"float64\[3\], has no axis 1"),
        (lambda: ll.vmap(square)(2.0), ArgumentError, "is a float, which has no axis 0"),
        (lambda: ll.vmap(square, axis_size=2)(x), ShapeError,
         "has size 3 along axis 0, expected 2 as axis_size has"),
        (lambda: ll.vmap(lambda a, b: a)(x, n), ShapeError, "has size 2 .* expected 3 as tensor 0"),
        (lambda: ll.vmap(lambda a: 1.0)(x), ArgumentError, "result 0 of the mapped function is a"),
        (lambda: ll.vmap(square, out_axes=None)(x), ArgumentError, "depends on the mapped axis"),
        (lambda: ll.vmap(square, out_axes=1)(x), ArgumentError, "between -1 and 0"),
        (lambda: ll.vmap(lambda a: app("matmul", a, n))(x), ll.LoomError, "matmul"),
        (lambda: ll.jvp(square, x, x), ArgumentError, "the primals are a Tensor, expected a tuple"),
        (lambda: ll.jvp(square, (x,), (x, x)), ArgumentError,
         "has 2 elements, expected a list of 1"),
        (lambda: ll.jvp(square, (x,), (tensor(W),)), ShapeError,
         r"tangent 0 is a float64\[4,3\], expected float64\[3\]"),
        (lambda: ll.jvp(square, (x,), (tensor(A, np.float32),)), GradientError,
         r"tangent 0 is a float32\[3\], expected float64\[3\]"),
        (lambda: ll.jvp(square, (x,), ("up",)), ArgumentError, "tangent 0 is a str"),
        (lambda: ll.jvp(square, (n,), (n,)), GradientError, "given for a int64.2., which has no"),
        (lambda: ll.jvp(square, (n,), (None,)), GradientError,
         "result 0 of the function is a int64"),
        (lambda: ll.jvp(lambda a: 1.0, (x,), (x,)), GradientError, "result 0 .* is a float"),
        (lambda: ll.vjp(3, x), ArgumentError, "a int was given, expected a function"),
        (lambda: ll.vjp(square, x)[1]((x, x)), ArgumentError, "is a tuple, expected a single"),
        (lambda: ll.vjp(square, x)[1](1.0), ArgumentError, r"is a float, expected a tensor of"),
        (lambda: ll.vjp(square, x, has_aux=True), GradientError, "expected a pair"),
        (lambda: ll.jacobian(square)(n), GradientError, "result 0 of the function is a int64"),
        (lambda: ll.jacobian(square, 1)(x), ArgumentError, "names argument 1, but 1 were given"),
        (lambda: ll.jacfwd(lambda a, b: square(a), (0, 1))(x, n), GradientError,
         "leaf 1 of the arguments .* is a int64.2., expected a floating-point"),
        (lambda: ll.hessian("f"), ArgumentError, "a str was given to differentiate"),
    ]  # fmt: skip
    for call, error, text in calls:
        with pytest.raises(error, match=text):
            call()
