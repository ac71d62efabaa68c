"""Programs that both libraries can run: recurrent layers, packed sequences, parametrizations."""
# ruff: noqa: B023 - an outer lambda, called at once, binds each loop variable

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Case = Callable[[Any], Any]


def made(t: Any, *shape: int, seed: int = 0, grad: bool = False) -> Any:
    values = np.random.default_rng(seed).normal(size=shape).astype(np.float32)
    return t.tensor(values, requires_grad=grad)


def filled(t: Any, m: Any) -> Any:
    """The module with known parameters."""
    with t.no_grad():
        for i, p in enumerate(m.parameters()):
            p.copy_(made(t, *p.shape, seed=i + 1) * 0.4)
    return m


def gradients(m: Any) -> Any:
    return [p.grad for p in m.parameters()]


def _packed(kind: str, ordered: bool) -> Case:
    def case(t: Any) -> Any:
        tools = t.nn.utils.rnn
        options = {"proj_size": 2} if kind == "LSTM" else {}
        m = filled(t, getattr(t.nn, kind)(3, 4, 2, bidirectional=True, **options))
        x = made(t, 5, 3, 3, grad=True)
        p = tools.pack_padded_sequence(x, [5, 3, 2] if ordered else [2, 5, 3],
                                       enforce_sorted=ordered)
        y, h = m(p)
        last = list(h) if isinstance(h, tuple) else [h]
        z, lengths = tools.pad_packed_sequence(y, padding_value=-1.0, total_length=6)
        ((z**2).sum() + sum((s**2).sum() for s in last)).backward()
        order = [] if ordered else [p.sorted_indices, p.unsorted_indices]
        return z, lengths, last, y.data, y.batch_sizes, list(p)[:2], order, x.grad, gradients(m)

    return case


def states_given(t: Any) -> Any:
    m = filled(t, t.nn.LSTM(3, 4, 2, batch_first=True))
    x = made(t, 2, 5, 3, grad=True)
    h, c = (made(t, 2, 2, 4, seed=s, grad=True) for s in (8, 9))
    y, (a, b) = m(x, (h, c))
    (y.sum() + (a * b).sum()).backward()
    return y, a, b, x.grad, h.grad, c.grad, gradients(m)


def other_forms(t: Any) -> Any:
    m = filled(t, t.nn.GRU(3, 4, 2, bidirectional=True))
    r = filled(t, t.nn.RNN(3, 4, 1, "relu", False))
    return ([*m(made(t, 5, 3)), *m(made(t, 5, 3), made(t, 4, 4, seed=7))],
            list(r(made(t, 5, 2, 3))), repr(m), repr(r), r.mode, r.nonlinearity,
            [*m(t.ones(3, 0, 3))])


def cells(t: Any) -> Any:
    found: list[Any] = []
    for kind in ("LSTMCell", "GRUCell", "RNNCell"):
        m = filled(t, getattr(t.nn, kind)(3, 4))
        h = None
        for i in range(3):
            h = m(made(t, 2, 3, seed=i), h)
        first = h[0] if isinstance(h, tuple) else h
        first.sum().backward()
        one = m(made(t, 3))
        found += [first, gradients(m), repr(m), one[1] if isinstance(one, tuple) else one]
    return found


def second_derivatives(t: Any) -> Any:
    m, x = filled(t, t.nn.LSTM(2, 2)), made(t, 3, 1, 2, grad=True)
    (g,) = t.autograd.grad((m(x)[0] ** 2).sum(), [x], create_graph=True)
    (g**2).sum().backward()
    return g, x.grad, gradients(m)


def functions(t: Any) -> Any:
    m, g = filled(t, t.nn.LSTM(3, 4, 2, bidirectional=True)), filled(t, t.nn.GRU(3, 4))
    zero, x = t.zeros(4, 2, 4), made(t, 5, 2, 3)
    weights = list(m.parameters())
    p = t.nn.utils.rnn.pack_padded_sequence(x, [5, 2])
    return (list(t.lstm(x, (zero, zero), weights, True, 2, 0.0, False, True, False)),
            list(t.lstm(p.data, p.batch_sizes, (zero, zero), weights, True, 2, 0.0, False, True)),
            list(t.gru(x, zero[:1], list(g.parameters()), True, 1, 0.0, False, False, False)),
            t.gru_cell(x[0], zero[0], *g.parameters()),
            list(t.lstm_cell(x[0], (zero[0], zero[0]), *weights[:4])))


def sequences(t: Any) -> Any:
    tools = t.nn.utils.rnn
    given = [made(t, n, 2, seed=n, grad=True) for n in (4, 2, 3)]
    a = tools.pad_sequence(given, padding_value=7.0)
    b = tools.pad_sequence(given, True, padding_side="left")
    (a.sum() + b.sum()).backward()
    p = tools.pack_sequence(given, enforce_sorted=False)
    own = tools.PackedSequence(made(t, 6, 2), t.tensor([3, 2, 1]))
    return (a, b, tools.unpad_sequence(a.detach().clone(), t.tensor([4, 2, 3])), p.data, len(p),
            tools.unpack_sequence(p), p.double().data, given[0].grad, p.is_cuda,
            list(tools.pad_packed_sequence(own, batch_first=True)),
            tools.invert_permutation(t.tensor([2, 0, 1])))


def padding_is_never_seen(t: Any) -> Any:
    tools, m = t.nn.utils.rnn, filled(t, t.nn.LSTM(2, 2))
    x = made(t, 4, 2, 2)
    x[3, 1] = float("nan")
    y, _ = m(tools.pack_padded_sequence(x, [4, 3]))
    z, _ = tools.pad_packed_sequence(y)
    z.sum().backward()
    return z, gradients(m)


def _half(name: str) -> Case:
    def case(t: Any) -> Any:
        kind = getattr(t, name)
        m = filled(t, t.nn.LSTM(3, 4)).to(kind)
        y, (h, c) = m(made(t, 3, 2, 3).to(kind))
        y.float().sum().backward()
        return y, h, c, m.weight_hh_l0.grad

    return case


_REFUSED: dict[str, Case] = {
    "a length of 0": lambda t: t.nn.utils.rnn.pack_padded_sequence(t.ones(3, 2, 1), [3, 0]),
    "growing lengths": lambda t: t.nn.utils.rnn.pack_padded_sequence(t.ones(3, 2, 1), [2, 3]),
    "too few lengths": lambda t: t.nn.utils.rnn.pack_padded_sequence(t.ones(3, 2, 1), [3]),
    "a short total": lambda t: t.nn.utils.rnn.pad_packed_sequence(
        t.nn.utils.rnn.pack_padded_sequence(t.ones(3, 2, 1), [3, 1]), total_length=2),
    "features": lambda t: t.nn.LSTM(2, 2)(t.ones(3, 1, 3)),
    "states' rank": lambda t: t.nn.LSTM(2, 2)(t.ones(3, 1, 2), (t.ones(1, 2), t.ones(1, 2))),
    "a state's size": lambda t: t.nn.GRU(2, 2)(t.ones(3, 1, 2), t.ones(1, 2, 2)),
    "rank": lambda t: t.nn.GRU(2, 2)(t.ones(3, 1, 2, 2)),
    "no steps": lambda t: t.nn.GRU(2, 2)(t.ones(0, 1, 2)),
    "dtype": lambda t: t.nn.GRU(2, 2)(t.ones(3, 1, 2, dtype=t.float64)),
    "nonlinearity": lambda t: t.nn.RNN(2, 2, nonlinearity="x"),
    "projection of GRU": lambda t: t.nn.GRU(2, 2, proj_size=1),
    "large projection": lambda t: t.nn.LSTM(2, 2, proj_size=2),
    "no units": lambda t: t.nn.LSTM(2, 0), "no layers": lambda t: t.nn.LSTM(2, 2, 0),
    "dropout": lambda t: t.nn.LSTM(2, 2, dropout=2.0),
    "a cell's features": lambda t: t.nn.LSTMCell(2, 2)(t.ones(1, 3)),
    "a cell's rank": lambda t: t.nn.GRUCell(2, 2)(t.ones(1, 2, 2)),
}

RECURRENT: dict[str, Case] = {
    **{f"{kind} packed {ordered}": _packed(kind, ordered)
       for kind, ordered in (("LSTM", False), ("GRU", True), ("RNN", False))},
    **{f.__name__: f for f in (states_given, other_forms, cells, second_derivatives, functions,
                               sequences, padding_is_never_seen)},
    **{name: _half(name) for name in ("float64", "bfloat16")},
    **{f"refused: {name}": case for name, case in _REFUSED.items()},
}


# Parametrizations: buffers and originals that are random at first are set to known values


def _trained(make: Callable[[Any], Any], *shape: int) -> Case:
    def case(t: Any) -> Any:
        m = make(t)
        state = {k: made(t, *v.shape, seed=len(k)) + 0.1 for k, v in m.state_dict().items()}
        for k in [k for k in state if k.endswith(("_u", "_v", "base"))]:
            state[k] = state[k] / state[k].norm()
        m.load_state_dict(state)
        found = []
        for _ in range(2):
            x = made(t, *shape, grad=True)
            y = m(x)
            y.square().sum().backward()
            found += [y, x.grad]
        return found, gradients(m), list(m.state_dict()), m.state_dict(), repr(m)

    return case


def symmetric(t: Any) -> Any:
    class Symmetric(t.nn.Module):
        def forward(self, x: Any) -> Any:
            return x.triu() + x.triu(1).transpose(-1, -2)

    class Scaled(t.nn.Module):
        def forward(self, x: Any) -> Any:
            return x * 2

        def right_inverse(self, x: Any) -> Any:
            return x / 2

    tools = t.nn.utils.parametrize
    m = filled(t, t.nn.Linear(3, 3))
    tools.register_parametrization(m, "weight", Symmetric())
    tools.register_parametrization(m, "weight", Scaled())
    seen: list[Any] = [tools.is_parametrized(m, "weight"), tools.is_parametrized(m, "bias"),
                       type(m).__name__, tools.type_before_parametrizations(m).__name__]
    with tools.cached():
        seen.append(m.weight is m.weight)
    y = m(made(t, 2, 3))
    y.sum().backward()
    grads = gradients(m)
    weight = m.weight
    tools.register_parametrization(m, "bias", Scaled())
    m.bias = t.ones(3)
    seen += [m.bias, m.parametrizations.bias.original]
    tools.remove_parametrizations(m, "bias", leave_parametrized=False)
    tools.remove_parametrizations(m, "weight")
    return seen, y, grads, weight, m.weight, m.bias, repr(m), len(list(m.parameters()))


def refused_parametrizations(t: Any) -> Any:
    class Bad(t.nn.Module):
        def forward(self, x: Any) -> Any:
            return x.sum()

    m = t.nn.Linear(2, 2)
    t.nn.utils.parametrize.register_parametrization(m, "weight", Bad())


_P = "parametrizations"
PARAMETRIZATIONS: dict[str, Case] = {
    "symmetric": symmetric, "refused": refused_parametrizations,
    "unknown name": lambda t: t.nn.utils.parametrize.register_parametrization(
        t.nn.Linear(1, 1), "w", t.nn.Identity()),
    "weight_norm": _trained(lambda t: t.nn.utils.parametrizations.weight_norm(
        t.nn.Conv2d(3, 2, 2), dim=1), 1, 3, 3, 3),
    "weight_norm of all": _trained(lambda t: t.nn.utils.parametrizations.weight_norm(
        t.nn.Linear(3, 2), dim=None), 4, 3),
    "spectral_norm": _trained(lambda t: t.nn.utils.parametrizations.spectral_norm(
        t.nn.ConvTranspose2d(3, 2, 2)), 1, 3, 3, 3),
    "spectral_norm, the older kind": _trained(lambda t: t.nn.utils.spectral_norm(
        t.nn.Linear(3, 2)), 4, 3),
    **{f"orthogonal by {by}": _trained((lambda by: lambda t: (
        t.nn.utils.parametrizations.orthogonal(t.nn.Linear(3, 2), orthogonal_map=by)))(by), 4, 3)
       for by in ("matrix_exp", "cayley")},
}
