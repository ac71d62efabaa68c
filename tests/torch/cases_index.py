"""Programs that both libraries can run: indexing, aliasing, gradients."""
# ruff: noqa: B023 - an outer lambda, called at once, binds each loop variable

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.torch.cases import C3, A, B, I, J, M, P, Z, a, b

Case = Callable[[Any], Any]


def _after(f: Callable[[Any, Any], Any]) -> Case:
    """The tensor after ``f(library, tensor)`` changed it."""

    def case(t: Any) -> Any:
        x = t.tensor(C3)
        kept = f(t, x)
        return x, kept

    return case


def _set(x: Any, index: Any, value: Any) -> None:
    x[index] = value


INDEXING: dict[str, Case] = {
    **{f"get {name}": (lambda f: lambda t: t.tensor(C3)[f(t)])(f) for name, f in {
        "int": lambda t: 1, "negative": lambda t: -1, "ints": lambda t: (1, 2, 3),
        "slice": lambda t: slice(0, 1), "step": lambda t: (slice(None), slice(None, None, 2)),
        "open": lambda t: (slice(None), slice(1, 100)), "none": lambda t: (None, 0, None),
        "ellipsis": lambda t: (..., 1), "middle": lambda t: (0, ..., 2),
        "all": lambda t: ..., "empty": lambda t: (), "nothing": lambda t: slice(2, 1),
        "tensor": lambda t: t.tensor([1, 0, 1]), "list": lambda t: [1, 0],
        "tensor 2d": lambda t: t.tensor([[1, 0], [0, 1]]),
        "tensor 0d": lambda t: t.tensor(1), "negative tensor": lambda t: t.tensor([-1]),
        "second": lambda t: (slice(None), t.tensor([2, 0])),
        "two": lambda t: (t.tensor([0, 1]), t.tensor([2, 0])),
        "two apart": lambda t: (t.tensor([0, 1]), slice(None), t.tensor([2, 0])),
        "broadcast": lambda t: (t.tensor([[0], [1]]), t.tensor([2, 0])),
        "with int": lambda t: (0, slice(None), t.tensor([2, 0])),
        "int between": lambda t: (t.tensor([0, 1]), 1, t.tensor([2, 0])),
        "with none": lambda t: (t.tensor([0, 1]), None, t.tensor([2, 0])),
        "mask": lambda t: t.tensor(C3 > 0), "row mask": lambda t: t.tensor([True, False]),
        "mask 2d": lambda t: t.tensor(C3[:, :, 0] > 0),
        "mask after": lambda t: (0, t.tensor(M[:, 0])), "true": lambda t: True,
        "false": lambda t: False, "uint8": lambda t: t.tensor([1, 0], dtype=t.int32),
        "slice and list": lambda t: (slice(None), [0, 2]),
        "out of range": lambda t: 5, "too many": lambda t: (0, 0, 0, 0),
        "float": lambda t: 1.5,
        "float tensor": lambda t: t.tensor([1.0]), "mask shape": lambda t: t.tensor([True]),
        "negative step": lambda t: slice(None, None, -1),
        "mismatch": lambda t: (t.tensor([0, 1]), t.tensor([0, 1, 2])),
    }.items()},
    "set scalar": _after(lambda t, x: _set(x, 0, 7.0)),
    "set int in float": _after(lambda t, x: _set(x, (0, 1), 7)),
    "set row": _after(lambda t, x: _set(x, (slice(None), 1), t.arange(4.0))),
    "set step": _after(lambda t, x: _set(x, (..., slice(None, None, 2)), t.ones(2))),
    "set broadcast": _after(lambda t, x: _set(x, (0,), t.ones(1, 1, 4))),
    "set wrong": _after(lambda t, x: _set(x, (0,), t.ones(5))),
    "set tensor index": _after(lambda t, x: _set(x, t.tensor([1, 0]), t.tensor(C3) * 2)),
    "set two": _after(lambda t, x: _set(x, (t.tensor([0, 1]), t.tensor([2, 0])), t.ones(4))),
    "set mask": _after(lambda t, x: _set(x, x > 0, 0.0)),
    "set mask 2d": _after(lambda t, x: _set(x, t.tensor(C3[:, :, 0] > 0), -1.0)),
    "set mask values": _after(lambda t, x: _set(x, x > 0, x[x > 0] * 2)),
    "set other dtype": _after(lambda t, x: _set(x, 0, t.arange(4))),
    "set list": _after(lambda t, x: _set(x, [0], t.zeros(3, 4))),
    "set through view": _after(lambda t, x: _set(x[1], (slice(None), 0), 9.0)),
    "iadd slice": _after(lambda t, x: x[0].add_(1)),
    "iadd masked": lambda t: (lambda x: (x.__setitem__(x > 0, x[x > 0] + 1), x)[1])(t.tensor(A)),
    "gather": lambda t: t.gather(a(t), 1, t.tensor([[0, 3], [1, 1], [2, 0]])),
    "gather few rows": lambda t: t.gather(a(t), 1, t.tensor([[0, 3]])),
    "scatter": lambda t: t.zeros(3, 4).scatter(1, t.tensor([[0], [2], [1]]), 1.0),
    "scatter src": lambda t: t.zeros(3, 4).scatter(0, t.tensor([[0, 1, 2, 0]]), a(t)),
    "scatter_": lambda t: t.zeros(3, 4).scatter_(1, t.tensor([[0], [2], [1]]), 1.0),
    "scatter_add": lambda t: t.zeros(3, 4).scatter_add(
        0, t.tensor([[0, 0, 0, 0], [0, 1, 2, 0]]), t.ones(2, 4)),
    "scatter_reduce": lambda t: t.ones(3).scatter_reduce(
        0, t.tensor([0, 0, 2]), t.tensor([2.0, 3.0, 4.0]), "prod"),
    "index_select": lambda t: t.index_select(a(t), 1, t.tensor([3, 0])),
    "index_select dtype": lambda t: t.index_select(a(t), 1, t.tensor([3.0])),
    "index_add": lambda t: t.zeros(3, 4).index_add(0, t.tensor([2, 2]), t.ones(2, 4), alpha=2),
    "index_copy": lambda t: t.zeros(3, 4).index_copy(0, t.tensor([2, 0]), a(t)[:2]),
    "index_fill": lambda t: a(t).index_fill(1, t.tensor([1]), 5),
    "index_put": lambda t: t.zeros(3).index_put((t.tensor([0, 0]),), t.ones(2), accumulate=True),
    "masked_fill": lambda t: a(t).masked_fill(t.tensor(M), -1),
    "masked_fill int mask": lambda t: a(t).masked_fill(t.tensor(I), -1),
    "masked_select": lambda t: a(t).masked_select(t.tensor(M)),
    "masked_scatter": lambda t: t.zeros(3, 4).masked_scatter(t.tensor(M), t.arange(12.0)),
    "take": lambda t: t.take(a(t), t.tensor([0, 5, -1])),
    "take_along_dim": lambda t: t.take_along_dim(a(t), a(t).argsort(1), 1),
}


def _aliased(view: Callable[[Any], Any], change: Callable[[Any], Any]) -> Case:
    def case(t: Any) -> Any:
        x = t.tensor(C3)
        v = view(x)
        change(v)
        x[0, 0, 0] = 50
        return x, v

    return case


_VIEWS: dict[str, Callable[[Any], Any]] = {
    "row": lambda x: x[1], "slice": lambda x: x[:, 1:, ::2],
    "transpose": lambda x: x.transpose(0, 2),
    "permute": lambda x: x.permute(1, 2, 0), "view": lambda x: x.view(6, 4),
    "flatten": lambda x: x.flatten(), "unsqueeze": lambda x: x.unsqueeze(0),
    "squeeze": lambda x: x[:1].squeeze(0), "narrow": lambda x: x.narrow(2, 1, 2),
    "select": lambda x: x.select(1, 0), "diagonal": lambda x: x[0].diagonal(),
    "chunk": lambda x: x.chunk(2, 2)[1], "unbind": lambda x: x.unbind(0)[1],
    "detach": lambda x: x.detach(), "reshape copy": lambda x: x.transpose(0, 1).reshape(-1),
    "reshape view": lambda x: x.reshape(-1), "T of row": lambda x: x[0].T,
    "nested": lambda x: x[1:].transpose(1, 2)[:, 2:],
    "clone": lambda x: x.clone(), "contiguous": lambda x: x.contiguous(),
    "advanced": lambda x: x[[0, 1]], "to same": lambda x: x.to(x.dtype), "data": lambda x: x.data,
    "expand_as": lambda x: x.expand_as(x), "unflatten": lambda x: x.unflatten(2, (2, 2)),
    "movedim": lambda x: x.movedim(0, 1), "split": lambda x: x.split(1, 1)[2],
}
_CHANGES: dict[str, Callable[[Any], Any]] = {
    "add_": lambda v: v.add_(1), "mul_": lambda v: v.mul_(2), "zero_": lambda v: v.zero_(),
    "fill": lambda v: v.fill_(3), "setitem": lambda v: v.__setitem__(..., 4.0),
    "exp_": lambda v: v.exp_(),
}

ALIASING: dict[str, Case] = {
    **{f"{v} {c}": _aliased(_VIEWS[v], _CHANGES[c]) for v in _VIEWS for c in _CHANGES
       if c in ("add_", "setitem") or v in ("slice", "transpose")},
    "real": lambda t: (lambda z: (z.real.mul_(2), z.imag.zero_(), z)[2])(t.tensor(Z)),
    "iadd keeps": lambda t: (lambda x: (x.__iadd__(1), x)[1])(a(t)),
    "write to expanded": lambda t: t.ones(3, 1).expand(3, 4).add_(1),
    "write grows": lambda t: t.ones(3).add_(t.ones(2, 3)),
    "write float in int": lambda t: t.tensor(I).add_(1.5),
    "write bool in float": lambda t: a(t).mul_(t.tensor(M)),
    "copy_": lambda t: t.zeros(3, 4).copy_(t.arange(4)),
    "copy_ wrong": lambda t: t.zeros(3, 4).copy_(t.arange(3)),
    "overlap": lambda t: (lambda x: (x[1:].copy_(x[:-1].clone()), x)[1])(t.arange(5)),
    "swap": lambda t: (lambda x: (x.__setitem__([0, 1], x[[1, 0]]), x)[1])(a(t)),
    "self add": lambda t: (lambda x: x.add_(x))(a(t)),
    "unsqueeze_": lambda t: a(t).unsqueeze_(0),
    "clamp_ sqrt_": lambda t: a(t).clamp_(min=0.1).sqrt_(),
    "list of rows": lambda t: (lambda x: ([r.mul_(i) for i, r in enumerate(x)], x)[1])(a(t)),
    "version": lambda t: (lambda x: (x.add_(1), x.mul_(2), x._version)[2])(a(t)),
    "parameter data": lambda t: (lambda p: (p.data.add_(1), p.detach())[1])(
        t.nn.Parameter(t.zeros(3))),
    "parameter shares": lambda t: (lambda x: (
        lambda p: (x.add_(1), p.detach(), x, x.requires_grad))(t.nn.Parameter(x)))(t.zeros(3)),
}


def _grad(f: Callable[[Any, Any], Any], *, start: Any = A) -> Case:
    """The gradient of the sum of ``f(library, leaf)``."""

    def case(t: Any) -> Any:
        x = t.tensor(start, requires_grad=True)
        y = f(t, x)
        (y if y.ndim == 0 else y.sum()).backward()
        return y, x.grad

    return case


def _in_place(t: Any, x: Any) -> Any:
    y = x * 2
    y.add_(1).mul_(x)
    y[0] = 0
    y[:, 1].mul_(3)
    return y


def _overwritten_without_grad(t: Any, x: Any) -> Any:
    y = x * 2
    with t.no_grad():
        y[0] = 5.0
    return y * y.detach() + x


def _through_detached(t: Any, x: Any) -> Any:
    y = x * 2
    y.detach().mul_(3)
    return y.exp().sum() * 1e-3 + x.sum()


def _view_then_write(t: Any, x: Any) -> Any:
    y = x.clone()
    v = y[1]
    y.mul_(2)
    return (v * v).sum() + y.sum()


def _write_view_of_result(t: Any, x: Any) -> Any:
    y = t.zeros(3, 4)
    y[1] = x[0] * 2
    y.view(-1)[:4] = x[2]
    return y * y


def _detached_leaf(t: Any, x: Any) -> Any:
    z = x.detach().requires_grad_()
    (z[0] * z.view(-1)[:4]).sum().backward()
    return (x * z.grad).sum()


def _no_grad_view(t: Any, x: Any) -> Any:
    with t.no_grad():
        v = x[0]
    return x.sum() * v.sum()


def _accumulate(t: Any) -> Any:
    x = a(t).requires_grad_()
    for _ in range(3):
        (x * x).sum().backward()
    kept = x.grad
    x.grad.zero_()
    (x * 2).sum().backward()
    return x.grad, kept


def _second(t: Any) -> Any:
    x = t.tensor(P, requires_grad=True)
    (g,) = t.autograd.grad((x ** 3).sum(), x, create_graph=True)
    (h,) = t.autograd.grad((g * g).sum(), x)
    return g, h


def _hook(t: Any) -> Any:
    x = a(t).requires_grad_()
    x.register_hook(lambda g: g * 2)
    y = x * 3
    y.register_hook(lambda g: g + 1)
    y.retain_grad()
    seen = []
    handle = x.register_hook(lambda g: seen.append(g + 0))
    y.sum().backward(retain_graph=True)
    handle.remove()
    y.sum().backward()
    return x.grad, y.grad, seen


def _raises(f: Callable[[Any, Any], Any]) -> Case:
    return lambda t: f(t, a(t).requires_grad_())


def _twice(t: Any, x: Any) -> Any:
    y = x.exp().sum()
    y.backward()
    y.backward()


def _leaf_kept(t: Any) -> Any:
    x = a(t).requires_grad_()
    with t.no_grad():
        x.sub_(1)
        x[0] = 2
        x.copy_(b(t))
    (x * x).sum().backward()
    return x.is_leaf, x.requires_grad, x.grad, x.detach()


def _modes(t: Any) -> Any:
    x = a(t).requires_grad_()
    with t.no_grad():
        first = (x * 2).requires_grad
        with t.enable_grad():
            second = (x * 2).requires_grad
        third = x.clone().requires_grad
    with t.set_grad_enabled(False):
        fourth = (x * 2).requires_grad

    @t.no_grad()
    def inside() -> bool:
        return bool((x * 2).requires_grad)

    return (first, second, third, fourth, inside(), t.is_grad_enabled(), x.detach().requires_grad,
            (x * 2).is_leaf, x.is_leaf, x.float().is_leaf, x.double().is_leaf)


GRADIENTS: dict[str, Case] = {
    **{n: _grad((lambda n: lambda t, x: getattr(t, n)(x))(n)) for n in (
        "exp", "tanh", "sigmoid", "relu", "sin", "abs", "square", "logsumexp0", "cumsum0")
       if not n.endswith("0")},
    **{n: _grad((lambda n: lambda t, x: getattr(x, n)())(n)) for n in (
        "sum", "mean", "var", "std", "norm", "prod", "max", "min", "amax", "median")},
    "max dim": _grad(lambda t, x: x.max(1)[0]),
    "max ties": _grad(lambda t, x: (x * 0).max(1)[0]),
    "amax ties": _grad(lambda t, x: (x * 0).amax(1)),
    "sort": _grad(lambda t, x: x.sort(1)[0] * t.arange(4.0)),
    "topk": _grad(lambda t, x: x.topk(2)[0]),
    "cumsum": _grad(lambda t, x: x.cumsum(1) * t.tensor(B)),
    "logsumexp": _grad(lambda t, x: x.logsumexp(1)),
    "softmax": _grad(lambda t, x: x.softmax(1) * t.tensor(B)),
    "matmul": _grad(lambda t, x: x @ x.T),
    "einsum": _grad(lambda t, x: t.einsum("ij,kj->ik", x, t.tensor(B))),
    "index": _grad(lambda t, x: x[t.tensor([0, 0, 2])] * 3 + x[1]),
    "mask": _grad(lambda t, x: x[x > 0] ** 2),
    "gather": _grad(lambda t, x: x.gather(1, t.tensor([[0, 0], [1, 2], [3, 3]]))),
    "where": _grad(lambda t, x: t.where(x > 0, x * 2, x.exp())),
    "cat": _grad(lambda t, x: t.cat([x, x * 2]).pow(2)),
    "views": _grad(lambda t, x: x.view(-1)[2:8].reshape(2, 3).t() * t.arange(6.0).reshape(3, 2)),
    "expand": _grad(lambda t, x: x.unsqueeze(0).expand(5, 3, 4) * 2),
    "clamp": _grad(lambda t, x: x.clamp(-0.5, 0.5) * 3),
    "division": _grad(lambda t, x: 1 / (x * x + 1)),
    "power": _grad(lambda t, x: x ** 3 + x.abs() ** 1.5),
    "masked_fill": _grad(lambda t, x: x.masked_fill(t.tensor(M), 0.0) * x),
    "scatter_add": _grad(lambda t, x: t.zeros(3, 4).scatter_add(
        0, t.tensor(J % 3), x) ** 2),
    "to double": _grad(lambda t, x: x.double() ** 2),
    "in place": _grad(_in_place),
    "overwritten without grad": _grad(_overwritten_without_grad),
    "through detached": _grad(_through_detached),
    "view then write": _grad(_view_then_write),
    "write views": _grad(_write_view_of_result),
    "detached leaf": _grad(_detached_leaf),
    "view without grad": _grad(_no_grad_view),
    "accumulate": _accumulate,
    "second": _second,
    "hooks": _hook,
    "leaf kept": _leaf_kept,
    "modes": _modes,
    "unused": _raises(lambda t, x: t.autograd.grad(x.sum(), a(t).requires_grad_())),
    "allow unused": _raises(lambda t, x: t.autograd.grad(
        x.sum(), a(t).requires_grad_(), allow_unused=True)[0]),
    "vector": _raises(lambda t, x: (x * 2).backward()),
    "vector with gradient": lambda t: (lambda x: ((x * 2).backward(t.tensor(B)), x.grad)[1])(
        a(t).requires_grad_()),
    "wrong gradient": _raises(lambda t, x: (x * 2).backward(t.ones(2))),
    "no grad needed": lambda t: a(t).sum().backward(),
    "twice": _raises(_twice),
    "leaf in place": _raises(lambda t, x: x.add_(1)),
    "view of leaf in place": _raises(lambda t, x: x[0].add_(1)),
    "non-leaf off": _raises(lambda t, x: (x * 2).requires_grad_(False)),
    "grad of non-leaf": _raises(lambda t, x: t.autograd.grad((x * 2).sum(), x)[0]),
    "grad wrong shape": _raises(lambda t, x: setattr(x, "grad", t.ones(2))),
    "intermediate": lambda t: (lambda x: (lambda y: t.autograd.grad((y * y).sum(), [x, y]))(x * 3))(
        a(t).requires_grad_()),
    "jacobian": lambda t: t.autograd.functional.jacobian(
        lambda x: x.exp() * x.sum(), t.arange(3.0)),
    "hessian": lambda t: t.autograd.functional.hessian(lambda x: (x ** 3).sum(), t.arange(3.0)),
    "complex": lambda t: (lambda z: ((z * z.conj()).real.sum().backward(), z.grad)[1])(
        t.tensor(Z, requires_grad=True)),
}
