"""Values and gradients at zeros, infinities, NaN, ties and branch points, in both forms."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import lazyloom
import lazyloom_torch

pytestmark = pytest.mark.usefixtures("quick_compiler")

INF, NAN = math.inf, math.nan
V = [0.0, -0.0, 1.0, -1.0, 2.0, INF, -INF, NAN]
PAIRS = ([x for x in V for _ in V], [y for _ in V for y in V])

#: function, operands, and the gradients, None where any will do
CASES: dict[str, tuple[Callable[..., Any], tuple[list[Any], ...], list[list[Any]]]] = {
    "quotient rounded to zero": (
        lambda t, x, y: t.div(x, y, rounding_mode="trunc"), ([1.0, 0.0, INF], [0.0, 0.0, 2.0]),
        [[0, 0, 0], [0, 0, 0]]),
    "angle": (lambda t, z: t.angle(z), ([0j, 1 + 0j, 1j],), [[0, 1j, -1]]),
    "hypot": (lambda t, x, y: t.hypot(x, y), ([0.0, 3.0, 0.0, 1.0], [INF, 4.0, 0.0, -INF]),
              [[0, 0.6, 0, 0], [None, 0.8, 0, None]]),
    "max": (lambda t, x: x.max(), ([1.0, NAN, 3.0],), [[0, 1, 0]]),
    "min of several NaN": (lambda t, x: x.min(), ([NAN, 1.0, NAN],), [[0.5, 0, 0.5]]),
    "amax of ties": (lambda t, x: x.amax(0), ([2.0, 1.0, 2.0],), [[0.5, 0, 0.5]]),
    "fmax": (lambda t, x, y: t.fmax(x, y), ([1.0, 2.0, NAN, 3.0, NAN], [1.0, 3.0, 1.0, NAN, NAN]),
             [[1, 0, 0, 1, 1], [0, 1, 1, 0, 0]]),
    "fmin": (lambda t, x, y: t.fmin(x, y), ([1.0, 2.0, NAN, 3.0], [1.0, 3.0, 1.0, NAN]),
             [[1, 1, 0, 1], [0, 0, 1, 0]]),
    "maximum": (lambda t, x, y: t.maximum(x, y), ([1.0, 2.0, NAN, 3.0], [1.0, 3.0, 1.0, NAN]),
                [[0.5, 0, 1, 1], [0.5, 1, 1, 1]]),
    "minimum": (lambda t, x, y: t.minimum(x, y), ([1.0, 2.0, NAN], [1.0, 3.0, 1.0]),
                [[0.5, 1, 1], [0.5, 0, 1]]),
    "logit": (lambda t, x: t.logit(x), ([0.0, 0.5, 1.0, 2.0, -1.0],), [[INF, 4, INF, NAN, NAN]]),
    "ndtri": (lambda t, x: t.special.ndtri(x), ([0.0, 0.5, 1.0],),
              [[INF, math.sqrt(2 * math.pi), INF]]),
    "logaddexp": (lambda t, x, y: t.logaddexp(x, y), ([NAN, 1.0, -INF], [1.0, 1.0, -INF]),
                  [[NAN, 0.5, None], [NAN, 0.5, None]]),
    "logcumsumexp": (lambda t, x: t.logcumsumexp(x, 0), ([1.0, INF, 2.0],), [[1, None, 0]]),
    "lp_pool": (lambda t, x: t.nn.functional.lp_pool1d(x[None, None], INF, 2), ([1.0, -3.0, 2.0],),
                [[0, -1, 0]]),
    "lp_pool of the least": (
        lambda t, x: t.nn.functional.lp_pool1d(x[None, None], -INF, 2), ([-1.0, 3.0, 2.0],),
        [[-1, 0, 0]]),
    "norm of NaN": (lambda t, x: t.linalg.vector_norm(x, INF), ([1.0, NAN, 3.0],), [[0, None, 0]]),
    "std of large numbers": (lambda t, x: x.std(), ([1e30, 3e30, -2e30],),
                             [[0.0662266, 0.4635863, -0.5298129]]),
    **{f"{name} at NaN and at kinks": (
        lambda t, x, f=f: f(t, x), ([NAN, *kinks],), [[at_nan, *slopes]])
       for name, f, at_nan, kinks, slopes in (
        ("abs", lambda t, x: t.abs(x), 0, [0.0, -0.0, -2.0, -INF], [0, 0, -1, -1]),
        ("clamp", lambda t, x: x.clamp(-1, 1), 0, [-1.0, 1.0, 2.0, -INF], [1, 1, 0, 0]),
        ("clamp_min", lambda t, x: x.clamp(min=1), 0, [1.0, 2.0, 0.0], [1, 1, 0]),
        ("clamp to a tensor", lambda t, x: x.clamp(t.zeros(()), t.ones(())), 0, [0.0, 1.0], [1, 1]),
        ("hardtanh", lambda t, x: t.nn.functional.hardtanh(x), 0, [-1.0, 0.5, 1.0], [0, 1, 0]),
        ("relu6", lambda t, x: t.nn.functional.relu6(x), 0, [0.0, 3.0, 6.0], [0, 1, 0]),
        ("hardsigmoid", lambda t, x: t.nn.functional.hardsigmoid(x), 0, [-3.0, 0.0, 3.0],
         [0, 1 / 6, 0]),
        ("hardswish", lambda t, x: t.nn.functional.hardswish(x), 1, [-3.0, 0.0, 3.0, INF],
         [0, 0.5, 1, 1]),
        ("hardshrink", lambda t, x: t.nn.functional.hardshrink(x), 0, [-0.5, 0.5, 1.0], [0, 0, 1]),
        ("softshrink", lambda t, x: t.nn.functional.softshrink(x), 0, [-0.5, 0.5, 1.0], [0, 0, 1]),
        ("elu", lambda t, x: t.nn.functional.elu(x), 1, [0.0, 2.0], [1, 1]),
        ("l1_loss", lambda t, x: t.nn.functional.l1_loss(x, t.zeros(2), reduction="sum"), 0,
         [0.0], [0]),
        ("i1", lambda t, x: t.special.i1(x), 0.5, [0.0], [0.5]),
        ("i1e", lambda t, x: t.special.i1e(x), 0.5, [0.0], [0.5]),
        ("norm of order 1", lambda t, x: t.linalg.vector_norm(x, 1), 0, [0.0, -2.0], [0, -1]),
        ("norm of order inf", lambda t, x: t.linalg.vector_norm(x, INF), 0, [1.0], [0]),
        ("norm of order 0.5", lambda t, x: t.linalg.vector_norm(x[1:], 0.5), 0, [0.0, 1.0], [0, 1]),
        ("norm of order 3", lambda t, x: t.linalg.vector_norm(x[:, None], 3, dim=1), NAN, [0.0],
         [0]),
        ("renorm", lambda t, x: t.renorm(t.stack([x, x * 0], 1), 2, 0, 1.0)[:, 0], 1, [0.5, 2.0],
         [1, 0]),
    )},
    "cdist of the largest, ties": (
        lambda t, x: t.cdist(x.reshape(2, 2), t.tensor([[0.0, 0.0]]), INF),
        ([1.0, -1.0, 2.0, 1.0],), [[1, -1, 1, 0]]),
    "pdist of the largest, ties": (
        lambda t, x: t.nn.functional.pdist(x.reshape(2, 2), INF), ([1.0, -1.0, 0.0, 0.0],),
        [[1, -1, -1, 1]]),
    "cdist of the largest, equal": (
        lambda t, x: t.cdist(x.reshape(1, 2), t.ones(1, 2), INF), ([1.0, 1.0],), [[0, 0]]),
}  # fmt: skip


def with_gradients(t: Any, f: Callable[..., Any], operands: tuple[list[Any], ...]) -> list[Any]:
    complex_ = any(isinstance(v, complex) for x in operands for v in x)
    kind = t.complex64 if complex_ else t.float32
    leaves = [t.tensor(x, dtype=kind).requires_grad_() for x in operands]
    y = f(t, *leaves)
    found = t.autograd.grad(y.sum(), leaves)
    return [np.asarray(v.detach().tolist()) for v in (y, *found)]


@pytest.mark.parametrize("reproducible", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_gradients_at_edges(name: str, reproducible: bool) -> None:
    f, operands, expected = CASES[name]
    with lazyloom.options(reproducible=reproducible):
        _, *found = with_gradients(lazyloom_torch, f, operands)
    for g, wanted in zip(found, expected, strict=True):
        at = [k for k, w in enumerate(wanted) if w is not None]
        np.testing.assert_allclose(g[at], [wanted[k] for k in at], rtol=1e-5, atol=1e-6)


#: where PyTorch has NaN, or another order of equal elements
NOT_PYTORCH = ("amax of ties",)


@pytest.mark.parametrize("name", [n for n in CASES if n not in NOT_PYTORCH])
def test_pytorch_has_the_same_values(name: str) -> None:
    theirs = pytest.importorskip("torch")
    f, operands, _ = CASES[name]
    mine, expected = (with_gradients(t, f, operands)[0] for t in (lazyloom_torch, theirs))
    np.testing.assert_allclose(mine, expected, rtol=1e-5, atol=1e-6)


def _orders() -> Iterator[tuple[str, Callable[..., Any]]]:
    for p in (0, 0.5, 1, 1.5, 2, 3, INF):
        yield f"cdist {p}", lambda t, x, p=p: t.cdist(x, x[:2] + 1, p=p)
        yield f"pdist {p}", lambda t, x, p=p: t.nn.functional.pdist(x, p=p)
        yield f"normalize {p}", lambda t, x, p=p: t.nn.functional.normalize(x, p=p)
    for p in (-INF, -2, -1, -0.5, 0, 0.5, 1, 1.5, 2, 3, INF):
        yield f"norm {p}", lambda t, x, p=p: x.norm(p, dim=1)
        yield f"vector_norm {p}", lambda t, x, p=p: t.linalg.vector_norm(x, p, dim=0)
        yield f"pairwise {p}", lambda t, x, p=p: t.nn.functional.pairwise_distance(x, x.flip(0), p)
        yield f"dist {p}", lambda t, x, p=p: t.dist(x, x.flip(1), p)
        if p:
            pool = t_pools()
            for n in (1, 2, 3):
                yield f"lp_pool{n}d {p}", pool(n, p)
    for p in (0.5, 1, 1.5, 2, 3, INF):
        yield f"renorm {p}", lambda t, x, p=p: t.renorm(x, p, 0, 1.5)
    for p in (-INF, -1, 1, INF, "fro", 2, -2, "nuc"):
        yield f"matrix_norm {p}", lambda t, x, p=p: t.linalg.matrix_norm(x, p)
    for p in (-INF, 0, 0.5, 1, 2, INF):
        yield f"clip_grad_norm_ {p}", lambda t, x, p=p: _clipped(t, x, p)


def t_pools() -> Callable[[int, float], Callable[..., Any]]:
    def made(n: int, p: float) -> Callable[..., Any]:
        def pool(t: Any, x: Any) -> Any:
            given = x.abs().reshape(1, 1, *((1,) * (n - 1)), -1)
            function = getattr(t.nn.functional, f"lp_pool{n}d")
            return function(given, p, 3 if n == 1 else (*((1,) * (n - 1)), 3), ceil_mode=True)

        return pool

    return made


def _clipped(t: Any, x: Any, p: float) -> list[Any]:
    leaf = t.ones_like(x).requires_grad_()
    leaf.grad = x.clone()
    return [t.nn.utils.clip_grad_norm_([leaf], 1.0, norm_type=p), leaf.grad]


@pytest.mark.parametrize("name", dict(_orders()))
def test_norms_of_every_order(name: str) -> None:
    theirs = pytest.importorskip("torch")
    f = dict(_orders())[name]
    data = [[1.0, -2.0, 0.0, 4.0], [0.5, 3.0, -1.0, 2.0], [0.0, 0.25, -7.0, 1.0]]

    def run(t: Any) -> list[Any]:
        found = f(t, t.tensor(data))
        found = found if isinstance(found, list) else [found]
        return [np.asarray(v.tolist()) for v in found]

    for mine, expected in zip(run(lazyloom_torch), run(theirs), strict=True):
        np.testing.assert_allclose(mine, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("reproducible", [False, True])
def test_std_of_numbers_whose_squares_leave_the_range(reproducible: bool) -> None:
    t = lazyloom_torch
    with lazyloom.options(reproducible=reproducible):
        for scale in (1e30, 1e-30):
            x = t.tensor([1.0, 3.0, -2.0]) * scale
            expected = float(np.std([1.0, 3.0, -2.0], ddof=1)) * scale
            for found in (x.std(), t.std_mean(x)[0], x.reshape(1, 3).std(1)[0]):
                assert found.dtype is t.float32 and found.item() == pytest.approx(expected)


def test_the_most_frequent_value_may_be_nan() -> None:
    t = lazyloom_torch
    assert math.isnan(t.mode(t.tensor([NAN, NAN, 1.0])).values.item())
    found = t.mode(t.tensor([[1.0, 1.0, NAN], [2.0, NAN, NAN]]))
    np.testing.assert_equal(found.values.tolist(), [1.0, NAN])
    assert t.tensor([1.0, 1.0, NAN])[found.indices[0]].item() == 1.0


@pytest.mark.parametrize("reproducible", [False, True])
def test_the_gradient_of_a_fraction_is_its_own(reproducible: bool) -> None:
    """Though nothing comes back through the whole part: -0.0 plus that would be 0.0."""
    t = lazyloom_torch
    with lazyloom.options(reproducible=reproducible):
        x = t.tensor([-1.5, 2.25] * 32).requires_grad_()
        t.frac(x).backward(t.tensor([-0.0, 0.0] * 32))
        assert np.signbit(x.grad.numpy()).tolist() == [True, False] * 32
        x.grad = None
        t.frac(x * 2).sum().backward()
        assert x.grad.tolist() == [2.0] * 64
