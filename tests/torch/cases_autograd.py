"""Gradients as PyTorch programs ask for them: each case is a function of the library."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

X = [0.5, 1.0, 2.0]
M = [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]


def refused(f: Callable[[], Any]) -> str:
    """The built-in exception that a call raises."""
    try:
        found = f()
    except Exception as error:
        kinds = [k for k in (RuntimeError, ValueError, TypeError, IndexError, NotImplementedError)
                 if isinstance(error, k)]
        return kinds[0].__name__
    return f"no error: {found!r}"


def leaf(t: Any, data: Any = X, **kwargs: Any) -> Any:
    return t.tensor(data, requires_grad=True, **kwargs)


def part(t: Any, name: str) -> Any:
    return importlib.import_module(f"{t.__name__}.{name}")


# Functions of one's own


def scaled_exp(t: Any) -> Any:
    class ScaledExp(t.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, k: float, other: Any = None) -> Any:
            y = x.exp() * k
            ctx.save_for_backward(x, y, other)
            ctx.seen = ctx.needs_input_grad
            return y

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            x, y, other = ctx.saved_tensors
            assert other is None and ctx.seen == (True, False, False)
            return g * y + 0 * x, None, None

    x = leaf(t)
    y = ScaledExp.apply(x * 2, 3.0, None)
    (first,) = t.autograd.grad(y.sum(), x, create_graph=True)
    (second,) = t.autograd.grad(first.sum(), x, create_graph=True)
    second.sum().backward()
    return (y, first, second, x.grad, y.grad_fn.name(), y.requires_grad, y.is_leaf,
            [n and n.name() for n, _ in ScaledExp.apply(x, 1.0, None).grad_fn.next_functions],
            ScaledExp.apply(x.detach(), 1.0, None).requires_grad)


def several_outputs(t: Any) -> Any:
    seen = []

    class Two(t.autograd.Function):
        @staticmethod
        def forward(a: Any, b: float = 2.0) -> Any:
            return a * b, a.argmax(), a + 1, a.sign()

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(inputs[0])
            ctx.mark_non_differentiable(output[1], output[3])
            ctx.b = inputs[1]

        @staticmethod
        @part(t, "autograd.function").once_differentiable
        def backward(ctx: Any, g: Any, gi: Any, h: Any, gs: Any) -> Any:
            seen.append([gi, gs])
            return g * ctx.b + h, None

    a = leaf(t)
    p, i, q, s = Two.apply(a)
    (g,) = t.autograd.grad(p.sum(), a, create_graph=True)
    return (p, i, q, g, seen, i.requires_grad, s.requires_grad, q.requires_grad,
            refused(lambda: t.autograd.grad((g * a).sum(), a)))


def in_place_function(t: Any) -> Any:
    class Tripled(t.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            x.mul_(3)
            ctx.mark_dirty(x)
            return x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 3

    class Unreturned(Tripled):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            x.mul_(3)
            ctx.mark_dirty(x)
            return x.clone()

    b = leaf(t)
    c = b * 1
    d = c[0:1]
    same = Tripled.apply(c) is c
    (c.sum() + d.sum()).backward()
    return same, c, d, b.grad, refused(lambda: Tripled.apply(b)), refused(
        lambda: Unreturned.apply(b * 1))


def wrong_functions(t: Any) -> Any:
    class Bad(t.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, what: int) -> Any:
            ctx.what = what
            ctx.set_materialize_grads(False)
            ctx.save_for_backward(x)
            return x * 1, x * 2

        @staticmethod
        def backward(ctx: Any, g: Any, h: Any) -> Any:
            assert h is None
            (x,) = ctx.saved_tensors
            return ((g, None, g), (g, g), (g[:2], None), (None, None), (g.expand(2, 3), None),
                    (g.double(), None))[ctx.what]

    a = leaf(t)
    found = [refused(lambda k=k: Bad.apply(a, k)[0].sum().backward()) for k in (0, 1, 2)]
    for k in (3, 4, 5):
        Bad.apply(a, k)[0].sum().backward()
    out = Bad.apply(a * 1, 3)[0].sum()
    out.backward()
    found.append(refused(out.backward))
    z = a * 1
    out = Bad.apply(z, 3)[0]
    z.add_(1)
    found.append(refused(out.sum().backward))
    return found, a.grad, refused(lambda: Bad()(a)), refused(lambda: Bad.apply(a, what=1))


def complex_function(t: Any) -> Any:
    class Square(t.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return 2 * x.conj() * g

    z = leaf(t, [1 + 2j, -0.5j])
    Square.apply(z).abs().sum().backward()
    return z.grad


# Passes and hooks


def hooks(t: Any) -> Any:
    seen: list[Any] = []
    x = leaf(t)
    y = x * 2
    z = y.exp()
    y.register_hook(lambda g: seen.append(g) or g * 3)
    z.retain_grad()
    y.retain_grad()
    handle = z.register_hook(lambda g: g * 100)
    handle.remove()
    x.register_post_accumulate_grad_hook(lambda p: seen.append(p.grad.clone()))
    z.sum().backward()
    w = x * 1
    w.retain_grad()
    w.mul_(2)
    w.sum().backward(retain_graph=True)
    return (seen, x.grad, y.grad, z.grad, w.grad, w.retains_grad,
            refused(lambda: x.detach().register_hook(print)),
            refused(lambda: w.register_hook(lambda g: g[:1]) and (w * 1).sum().backward()))


def many_hooks(t: Any) -> Any:
    got: list[Any] = []
    x = leaf(t)
    parts = [x * 1, x * 2]
    handle = t.autograd.graph.register_multi_grad_hook(parts, lambda g: got.append(list(g)))
    sum(parts).sum().backward()
    handle.remove()
    (x * 1).sum().backward()
    return got, x.grad


def hooks_of_nodes(t: Any) -> Any:
    got: list[Any] = []
    x = leaf(t)
    collects = x.view_as(x).grad_fn.next_functions[0][0]
    collects.register_prehook(lambda g: got.append(g[0]))
    handle = collects.register_hook(lambda i, o: got.append([i, o[0], x.grad.clone()]))
    y = (x * 2).exp()
    y.grad_fn.register_prehook(lambda g: (g[0] * 10,))
    y.grad_fn.register_hook(lambda i, o: got.append([i[0], o[0]]))
    y.sum().backward()
    handle.remove()
    (x * 1).sum().backward()
    return got, x.grad, [type(n).__name__ for n in (collects, y.grad_fn, x.view_as(x).grad_fn)]


def passes(t: Any) -> Any:
    x, w = leaf(t), leaf(t, [1.0, 2.0, 3.0])
    y = (x * w).sin()
    seeds = t.eye(3)
    rows = t.autograd.grad(y, [x, w], seeds, is_grads_batched=True, retain_graph=True)
    mid = x * w
    loss = mid.sum() * 1
    t.autograd.backward([loss, mid.sum()], retain_graph=True, inputs=[x, mid])
    unused = leaf(t)
    found = t.autograd.grad(loss, [x, unused], allow_unused=True, retain_graph=True)
    zeros = t.autograd.grad(loss, [x, unused], materialize_grads=True, retain_graph=True)
    return (rows, x.grad, w.grad, mid.grad, found, zeros, [
        refused(lambda: t.autograd.grad(loss, [unused], retain_graph=True)),
        refused(lambda: t.autograd.grad(mid, [x])),
        refused(lambda: t.autograd.grad(loss, [x.detach()])),
        refused(lambda: loss.backward(inputs=[])),
        refused(lambda: mid.backward(t.ones(2))),
        refused(lambda: (x * 1j).sum().backward()),
        refused(lambda: t.autograd.grad(loss, [unused], allow_unused=False,
                                        materialize_grads=True))])


def the_rest_of_a_graph(t: Any) -> Any:
    x = leaf(t)
    features = (x * x).exp()
    loss, other = features.sum().sin(), features * 2
    (g,) = t.autograd.grad(loss, features)
    features.backward(g)  # what is below was not gone through yet
    y = x * 1
    return (x.grad, g, t.autograd.grad(y, y, t.ones(3)), t.autograd.grad(x, x, t.ones(3)),
            refused(lambda: loss.backward()), refused(lambda: t.autograd.grad(y.sum(), [])),
            t.autograd.grad(y.sum() * 3, x, create_graph=True)[0].requires_grad, other)


def a_leaf_that_was_written(t: Any) -> Any:
    w = leaf(t)
    before = (w * 3).sum()
    with t.no_grad():
        w.mul_(10)
    both = before + w.sum()
    w.data.fill_(1)
    return t.autograd.grad(both, w, retain_graph=True), t.autograd.grad(
        (t.tensor(2.0) * both), [w, w])


def second_derivatives_of_products(t: Any) -> Any:
    x = leaf(t)
    y = t.ones(2).scatter_reduce(0, t.tensor([0, 1, 0]), x, "prod")
    (g,) = t.autograd.grad(y.sum(), x, create_graph=True)
    return t.cat([g.detach(), t.autograd.grad((g * g).sum(), x)[0]])


def where_training_begins(t: Any) -> Any:
    x, y = leaf(t, [0.0, 0.0]), t.tensor([0.0, 1.0])
    f = t.nn.functional
    (f.binary_cross_entropy_with_logits(x, y) + 10 * f.l1_loss(x, y)
     + t.distributions.Binomial(5, logits=x).log_prob(y).sum()
     + (x ** t.tensor([0, 1])).sum() * 100).backward()
    return x.grad


def frozen_and_thawed(t: Any) -> Any:
    seen: list[int] = []
    w, v = leaf(t), t.ones(2)
    w.register_hook(lambda g: seen.append(1))
    y = (w * 5).sum()
    (w * 2).sum().backward()
    w.requires_grad_(False)
    y.backward(retain_graph=True)  # nobody collects it
    kept = w.grad.clone()
    w.requires_grad_(True)
    y.backward()
    v.grad = t.ones(2)
    (v.requires_grad_() * 2).sum().backward()
    return kept, w.grad, v.grad, seen


def complex_numbers(t: Any) -> Any:
    c, r = leaf(t, [1 + 2j, -0.5 + 1j]), leaf(t, [0.5, 2.0])

    def written() -> Any:
        q = c * 1
        q.real.mul_(2)
        return q.abs()

    found = []
    for f in (
        lambda: c.abs(), lambda: c.angle(), lambda: c.real * 2, lambda: (c.conj() * c).real,
        lambda: c.exp().imag, lambda: (c**2.5).real, lambda: c / (c + 1), lambda: c * r,
        lambda: t.view_as_real(c * c), lambda: (t.complex(r, r) * c).abs(), lambda: c.prod(),
        lambda: t.fft.fft(c), lambda: t.where(r > 1, c, c * 2), written,
    ):
        out = f()
        seeds = t.ones_like(out) * (2 - 1j if out.is_complex() else 2)
        found.append(t.autograd.grad(out, [c, r], seeds, allow_unused=True))
    (g,) = t.autograd.grad((c * c * c).abs().sum(), c, create_graph=True)
    return found, t.autograd.grad(g.abs().sum(), c)


def names(t: Any) -> Any:
    x = leaf(t)
    z = (x * 2).exp().sum()
    found = []
    node = z.grad_fn
    while node is not None:
        found.append(node.name())
        node = node.next_functions[0][0] if node.next_functions else None
    with t.no_grad():
        x.add_(1)
    return found, x.grad_fn, x._version, (x + 1)._version


def anomalies(t: Any) -> Any:
    x = leaf(t, [0.0, 1.0])
    with t.autograd.set_detect_anomaly(True):
        found = refused((x.sqrt() * 0).sum().backward), t.is_anomaly_enabled()
        (x * 2).sum().backward()
    return found, t.is_anomaly_enabled(), x.grad


def modes(t: Any) -> Any:
    w = leaf(t)

    @t.inference_mode()
    def inside() -> Any:
        return t.is_inference_mode_enabled(), t.is_grad_enabled(), (w * 2).requires_grad

    with t.inference_mode(), t.inference_mode(False):
        back = t.is_inference_mode_enabled(), t.is_grad_enabled()
    v = t.autograd.Variable(t.ones(2), requires_grad=True)
    return inside(), back, t.is_inference_mode_enabled(), isinstance(
        v, t.autograd.Variable), v.requires_grad


# What shares memory


def aliases(t: Any) -> Any:
    w, x = leaf(t, [1.0, 2.0, 3.0]), t.arange(3.0)
    d = x.detach()
    d[0] = w[0] * 2
    facts = [d.requires_grad, x.requires_grad]
    (d * d).sum().backward()
    with t.no_grad():
        d.mul_(2)
    q = x.detach()[1:]
    q.unsqueeze_(0)
    y, z = w * 2, w * 3
    y.zero_()
    z.view(-1).copy_(t.ones(3))
    (y.sum() + z.sum()).backward()
    r = w.detach()[0:2].requires_grad_()
    (r * r).sum().backward()
    return facts, d, d.requires_grad, x, q, y.requires_grad, z.requires_grad, w.grad, r.grad


def a_view_that_is_used_again(t: Any) -> Any:
    w = leaf(t, M)
    turned = w.t()
    for _ in range(2):
        (t.ones(1, 3) @ turned).sum().backward()
    return w.grad


# Computed again


def checkpoints(t: Any) -> Any:
    ck = part(t, "utils.checkpoint")
    calls = [0]
    w = leaf(t, [[1.0, 2.0], [3.0, 4.0]])

    def f(x: Any, y: Any = None) -> Any:
        calls[0] += 1
        return t.tanh(x @ w) * y, x.sum()

    x, y = leaf(t, [[0.1, 0.2]]), t.tensor([2.0, 3.0])
    a, b = ck.checkpoint(f, x * 2, y=y, use_reentrant=False)
    before = calls[0]
    (a.sum() * b).backward()
    after = calls[0]
    a, b = ck.checkpoint(f, x * 1, y=y, use_reentrant=False)
    (g,) = t.autograd.grad(a.sum(), x, create_graph=True)
    more = t.autograd.grad(g.sum(), [x, w])
    ones = t.ones(50, requires_grad=True)
    dropped = ck.checkpoint(lambda v: t.nn.functional.dropout(v), ones, use_reentrant=False)
    dropped.sum().backward()
    chain = ck.checkpoint_sequential([t.sin, t.cos, t.exp], 2, x, use_reentrant=False)
    chain.sum().backward()
    return before, after, a, b, g, more, (dropped != 0).eq(ones.grad != 0).all(), x.grad, w.grad


# Derivatives at a point


def functional(t: Any) -> Any:
    af = t.autograd.functional
    x, y = t.tensor(X), t.tensor([[0.5, 1.0]])

    def f(a: Any) -> Any:
        return a.sin() * a

    def g(a: Any, b: Any) -> Any:
        return a.exp() * b.sum(), b * 2

    def s(a: Any, b: Any) -> Any:
        return (a * b.sum()).pow(3).sum()

    xr = leaf(t)
    af.jacobian(f, xr, create_graph=True).sum().backward()
    h = af.hessian(lambda a: f(a).sum(), xr, create_graph=True)
    _, along = af.jvp(f, xr, x, create_graph=True)
    return (
        af.jacobian(f, x), af.jacobian(g, (x, y)), af.jacobian(lambda a, b: a * 2, (x, y)),
        af.jacobian(f, x, vectorize=True, strategy="forward-mode"),
        af.hessian(s, (x, y)), af.hessian(lambda a: a.sum(), x),
        af.vjp(g, (x, y), (x, y)), af.jvp(g, (x, y), (x, y)),
        af.vhp(s, (x, y), (x, y)), af.hvp(s, (x, y), (x, y)),
        xr.grad, t.autograd.grad(h.sum(), xr), t.autograd.grad(along.sum(), xr),
        [refused(lambda: af.jacobian(lambda a, b: a * 2, (x, y), strict=True)),
         refused(lambda: af.vjp(f, x)), refused(lambda: af.hessian(f, x)),
         refused(lambda: af.vjp(f, x, x[:2])), refused(lambda: af.jacobian(lambda a: 1.0, x)),
         refused(lambda: af.jvp(f, x)), refused(lambda: af.jacobian(f, 3))])


def forward_mode(t: Any) -> Any:
    fw = part(t, "autograd.forward_ad")
    x, v, w = t.tensor(X), t.tensor([0.1, 0.2, 0.3]), leaf(t, [2.0, 2.0, 2.0])
    with fw.dual_level():
        d = fw.make_dual(x, v)
        first = fw.unpack_dual((d.sin() * d).sum())
        second = fw.unpack_dual(d * w)
        second.tangent.sum().backward()
        e = d.clone()
        e[0] = e[1] * 2
        e.mul_(3)
        third = fw.unpack_dual(e)
        none = fw.unpack_dual(x).tangent
        nested = refused(fw.enter_dual_level)
    return (list(first), second.primal.requires_grad, w.grad, list(third), none, nested,
            refused(lambda: fw.make_dual(x, v)))


def checks(t: Any) -> Any:
    a = leaf(t, [0.3, 0.7], dtype=t.float64)
    z = leaf(t, [1 + 0.5j], dtype=t.complex128)

    class Bad(t.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 3

    check = t.autograd.gradcheck
    return (check(lambda a: (a.sin() * a, a.sum()), a, check_forward_ad=True),
            check(lambda z: z * z.conj() + z**2, z),
            t.autograd.gradgradcheck(lambda a: a.sin() * a, a),
            check(Bad.apply, (a,), raise_exception=False), refused(lambda: check(Bad.apply, (a,))),
            refused(lambda: check(lambda x: x, t.ones(1))))


CASES: dict[str, Callable[[Any], Any]] = {f.__name__: f for f in (
    scaled_exp, several_outputs, in_place_function, wrong_functions, complex_function, hooks,
    many_hooks, hooks_of_nodes, passes, the_rest_of_a_graph, complex_numbers,
    a_leaf_that_was_written, second_derivatives_of_products,
    where_training_begins, frozen_and_thawed,
    names, anomalies, modes, aliases, a_view_that_is_used_again, checkpoints,
    functional, forward_mode, checks)}
