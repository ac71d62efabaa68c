"""``torch.func`` and ``vmap``: each case is a function of the library."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.torch.cases_autograd import M, X, leaf, refused


def _f(x: Any) -> Any:
    return (x.sin() * x).sum()


def gradients(t: Any) -> Any:
    grad, both = t.func.grad, t.func.grad_and_value
    x, z = t.tensor(X), t.tensor([1 + 2j, 3j])

    def written(x: Any) -> Any:
        y = x.clone()
        y[0] = y[1] * 2
        y.mul_(3)
        return y.sum()

    with t.no_grad():
        inside = grad(_f)(x)
    return (
        both(_f)(x), grad(lambda x, y: (_f(x) * y[0], {"a": x}), argnums=(0,), has_aux=True)(x, x),
        grad(lambda x: grad(_f)(x).sum())(x), grad(lambda d: (d["w"] * d["v"]).sum())(
            {"w": x, "v": x + 1}), grad(lambda z: z.abs().sum())(z), grad(written)(x), inside,
        grad(lambda x, k=1: (x * k).sum())(x, k=3))


def products(t: Any) -> Any:
    x, z = t.tensor(X), t.tensor([1 + 2j, 3j])
    out, pull = t.func.vjp(lambda x, y: (x * y, {"s": x.sum()}), x, x + 1)
    once = t.func.vjp(t.sin, x)
    line, push = t.func.linearize(lambda x: x.sin(), x)
    return (
        out, pull((x, {"s": t.tensor(2.0)})), once[1](x), once[1](x + 1),
        t.func.jvp(lambda x, y: x * y, (x, x), (x, t.ones(3))),
        t.func.jvp(lambda x: (x * 2, {"k": x}), (x,), (x,), has_aux=True),
        t.func.vjp(lambda z: z * z, z)[1](z), t.func.jvp(lambda z: z * z, (z,), (z,)),
        line, push(x), push(x * 2))


def matrices(t: Any) -> Any:
    x, a, b = t.tensor(X), t.tensor(M), t.ones(3)

    def g(a: Any, b: Any) -> Any:
        return a @ b, {"q": a.sum(0)}

    found = []
    for jac in (t.func.jacrev, t.func.jacfwd):
        found += [
            jac(g, argnums=(0, 1))(a, b), jac(lambda d: d["w"] * d["v"])({"w": x, "v": x}),
            jac(lambda x: (x**2, x.sum()), has_aux=True)(x),
            refused(lambda jac=jac: jac(lambda z: z * z)(t.tensor([1j])))]
    return (found, t.func.jacrev(lambda x: x * x, chunk_size=2)(x), t.func.hessian(_f)(x),
            t.func.hessian(lambda a, b: (a @ b).pow(3).sum(), argnums=(0, 1))(a, b))


def closures(t: Any) -> Any:
    x, a, w = t.tensor(X), t.tensor(M), leaf(t, [1.0, 1.0, 1.0])
    (t.func.grad(lambda x: (x**2 * w).sum())(x)).sum().backward()
    first = w.grad.clone()
    t.vmap(lambda x: (x * w).sum())(a).sum().backward()
    second = w.grad.clone()
    t.func.vjp(lambda x: x * w * x, x)[1](x)[0].sum().backward()
    third = w.grad.clone()
    t.func.jvp(lambda x: x * w * x, (x,), (x,))[1].sum().backward()
    return first, second, third, w.grad


def mapped(t: Any) -> Any:
    vmap = t.vmap
    a, b = t.tensor(M), t.ones(3)
    return (
        vmap(lambda x: x * 2)(a), vmap(t.dot)(a, a),
        vmap(lambda x, y: (x, x * y), in_dims=(0, None), out_dims=(1, 0))(a, b),
        vmap(t.func.grad(_f))(a), vmap(lambda x: x.sum(), in_dims=1)(a),
        vmap(vmap(lambda x: x + 1))(a),
        vmap(lambda d, k=None: d["a"] * d["b"], in_dims=({"a": 0, "b": None},))({"a": a, "b": b}),
        vmap(lambda x: x * 2, chunk_size=1)(a), vmap(t.func.jacrev(t.sin))(a),
        vmap(lambda x, k: x * k, in_dims=(0, None))(a, 3),
        vmap(lambda x: t.where(x > 1, x, -x).cumsum(0))(a), vmap(lambda x: b)(a),
        vmap(lambda x: (b, x, b), out_dims=(None, 0, None))(a),
        [vmap(lambda x: x + t.randn(1), randomness=r)(t.zeros(3)).unique().numel()
         for r in ("different", "same")])


def writes_and_modes(t: Any) -> Any:
    f = t.func
    whole, rows = t.zeros(2, 4), t.arange(6.0).reshape(2, 3)
    sums = f.vmap(lambda x, y: x.copy_(y).add_(1).sum())(whole[:, 1:], rows)
    f.vmap(lambda x: x[0].fill_(7.0), in_dims=1, chunk_size=2)(rows)
    w = t.ones(3, requires_grad=True)
    with t.no_grad():
        found = (f.grad(lambda p: (p * p).sum())(w), *f.jvp(lambda p: p * p, (w,), (w,)),
                 f.vjp(lambda p: p * p, w)[0])
    return whole, sums, rows, found, [x.requires_grad for x in found]


def refusals(t: Any) -> Any:
    vmap, grad = t.vmap, t.func.grad
    x, a = t.tensor(X), t.tensor(M)
    return [refused(f) for f in (
        lambda: vmap(lambda x: x + t.randn(1))(x), lambda: vmap(lambda x: 1)(x),
        lambda: vmap(lambda x, y: x)(x, t.zeros(4)), lambda: vmap(lambda x: x, in_dims=(0, 0))(x),
        lambda: vmap(lambda x: x, in_dims=2)(x), lambda: vmap(lambda x, y: x)(x, 3),
        lambda: vmap(lambda x: x.item())(x), lambda: vmap(lambda x: x, out_dims=(0, 0))(x),
        lambda: vmap(t.sin, out_dims=None)(x),
        lambda: vmap(lambda: 1)(), lambda: vmap(lambda x: a.add_(x))(x),
        lambda: vmap(t.sin, randomness="no")(x), lambda: vmap(t.sin, chunk_size=0)(x),
        lambda: grad(lambda x: x)(x), lambda: grad(lambda x: 1.0)(x),
        lambda: grad(_f, argnums=1)(x), lambda: grad(_f, argnums="a")(x),
        lambda: t.func.jvp(t.sin, x, (x,)), lambda: t.func.jvp(t.sin, (x,), (x[:2],)),
        lambda: t.func.vjp(t.sin, x)[1](x[:2]))]


def modules(t: Any) -> Any:
    x, m = t.tensor(X), t.nn.Linear(3, 2)
    ones = {k: t.ones_like(v) for k, v in m.named_parameters()}
    weight = m.weight
    models = [t.nn.Linear(3, 2) for _ in range(3)]
    params, buffers = t.func.stack_module_state(models)
    tied = t.nn.Sequential(t.nn.Linear(3, 3), t.nn.Linear(3, 3))
    tied[1].weight = tied[0].weight
    free = t.func.replace_all_batch_norm_modules_(t.nn.Sequential(t.nn.BatchNorm1d(3)))
    return (
        free[0].running_mean is None, t.vmap(free)(t.stack([t.tensor(M), t.tensor(M) * 2])),
        t.func.functional_call(m, ones, (x,)), m.weight is weight,
        t.func.grad(lambda p: t.func.functional_call(m, p, (x,)).sum())(ones),
        {k: v.shape for k, v in params.items()}, params["weight"].requires_grad, buffers,
        t.vmap(lambda p, x: t.func.functional_call(models[0], p, (x,)).sum(),
               in_dims=(0, None))(params, x).shape,
        t.func.functional_call(tied, {"0.weight": t.eye(3), "0.bias": x, "1.bias": x}, x),
        refused(lambda: t.func.functional_call(m, {"weight": ones["weight"]}, (x,), strict=True)),
        refused(lambda: t.func.functional_call(m, [ones, ones], (x,))))


def custom_functions(t: Any) -> Any:
    class Cube(t.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x: Any, k: float) -> Any:
            return x**3 * k, x * 2

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(inputs[0])
            ctx.save_for_forward(inputs[0])
            ctx.k = inputs[1]

        @staticmethod
        def backward(ctx: Any, g: Any, h: Any) -> Any:
            (x,) = ctx.saved_tensors
            return 3 * x * x * ctx.k * g + 2 * h, None

        @staticmethod
        def jvp(ctx: Any, v: Any, _: Any) -> Any:
            x = ctx.saved_tensors[0]
            return 3 * x * x * ctx.k * v, 2 * v

    def f(x: Any) -> Any:
        return sum(o.sum() for o in Cube.apply(x, 2.0))

    fn, x, a = t.func, t.tensor([1.0, 2.0]), t.tensor([[1.0, 2.0], [3.0, 4.0]])
    w = leaf(t, [1.0, 1.0])
    t.vmap(lambda q: f(q * w))(a).sum().backward()
    return (
        fn.grad(f)(x), fn.grad(lambda x: fn.grad(f)(x).sum())(x),
        fn.jacrev(lambda x: Cube.apply(x, 2.0)[0])(x), t.vmap(fn.grad(f))(a),
        fn.grad(lambda a: t.vmap(f)(a).sum())(a), w.grad,
        fn.grad(lambda a: t.vmap(lambda r, s: f(r * s), in_dims=(0, None))(a, x).sum())(a))


def forward_rules(t: Any) -> Any:
    class Sine(t.autograd.Function):
        @staticmethod
        def forward(x: Any) -> Any:
            return x.sin()

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_forward(inputs[0])

        @staticmethod
        def jvp(ctx: Any, v: Any) -> Any:
            return 2 * v * ctx.saved_tensors[0].cos()

    x = t.tensor(X)
    fw = t.autograd.forward_ad
    with fw.dual_level():
        dual = fw.unpack_dual(Sine.apply(fw.make_dual(x, x)))
    return (t.func.jvp(Sine.apply, (x,), (x,)), list(dual),
            refused(lambda: t.func.grad(lambda x: Sine.apply(x).sum())(x)))


CASES: dict[str, Callable[[Any], Any]] = {f.__name__: f for f in (
    gradients, products, matrices, closures, mapped, writes_and_modes, refusals, modules,
    custom_functions, forward_rules)}
