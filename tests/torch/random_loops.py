"""Random loop bodies: a function of a seed that runs them by ``scan`` or as a Python loop."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import lazyloom_torch as torch
from lazyloom_torch._higher_order_ops import scan

STEPS = (
    "add multiply sine detach product write view slice choose branch inner count without_grad sort "
    "softmax join gradient").split()  # fmt: skip


class Body:
    """A random body: vectors ``a`` (3), matrices ``b`` (3, 3) and a counter go from step to step.

    ``recorded`` has the branches and loops in it recorded as well.
    """

    def __init__(self, seed: int, w: Any, recorded: bool) -> None:
        rng = random.Random(seed)
        self.names = [rng.choice(STEPS) for _ in range(rng.randint(2, 7))]
        self.numbers = [rng.uniform(-1, 1) for _ in self.names]
        self.row = rng.randint(0, 2)
        self.w, self.recorded = w, recorded

    def __call__(self, carry: Any, x: Any) -> Any:
        a, b, n = carry
        for name, k in zip(self.names, self.numbers, strict=True):
            a, b, n = getattr(self, name)(a, b, n, x, k)
        return (a, b, n), (a * 2, n)

    def add(self, a: Any, b: Any, n: Any, x: Any, k: float) -> Any:
        return a + x * k, b, n

    def multiply(self, a: Any, b: Any, n: Any, x: Any, k: float) -> Any:
        return a * b.sum(0) * k, b, n

    def sine(self, a: Any, b: Any, n: Any, x: Any, k: float) -> Any:
        return a, (b * k).sin() + a, n

    def detach(self, a: Any, b: Any, n: Any, x: Any, k: float) -> Any:
        return a + b[0].detach() * k, b, n

    def product(self, a: Any, b: Any, n: Any, x: Any, k: float) -> Any:
        return a, (b @ self.w).tanh(), n

    def write(self, a: Any, b: Any, n: Any, x: Any, k: float) -> Any:
        a = a.clone()
        a[self.row] = b[self.row, 1] * k
        a.mul_(0.5)
        return a, b, n

    def view(self, a: Any, b: Any, n: Any, x: Any, k: float) -> Any:
        b = b.clone()
        b.view(9)[2:6].add_(a.sum() * k)
        return a, b, n

    def slice(self, a: Any, b: Any, n: Any, x: Any, k: float) -> Any:
        return torch.roll(a, 1) * b[:, self.row], b, n

    def choose(self, a: Any, b: Any, n: Any, x: Any, k: float) -> Any:
        return torch.where(a > k, a, b[1] * k), b, n

    def branch(self, a: Any, b: Any, n: Any, x: Any, k: float) -> Any:
        def yes(a: Any, b: Any) -> Any:
            return a * k, b + a

        def no(a: Any, b: Any) -> Any:
            return a.cos(), b.detach() * k

        which = a.sum() > k
        if self.recorded:
            return (*torch.cond(which, yes, no, (a, b)), n)
        return (*(yes if which else no)(a, b), n)

    def inner(self, a: Any, b: Any, n: Any, x: Any, k: float) -> Any:
        if self.recorded:
            return scan(lambda s, r: ((s * r * k).sin() + a, s), a, b)[0], b, n
        s = a
        for r in b:
            s = (s * r * k).sin() + a
        return s, b, n

    def count(self, a: Any, b: Any, n: Any, x: Any, k: float) -> Any:
        return a * (n + 1), b, n + 1

    def without_grad(self, a: Any, b: Any, n: Any, x: Any, k: float) -> Any:
        with torch.no_grad():
            mean = b.mean()
        return a + mean * k, b, n

    def sort(self, a: Any, b: Any, n: Any, x: Any, k: float) -> Any:
        return a.sort()[0] * k, b, n

    def softmax(self, a: Any, b: Any, n: Any, x: Any, k: float) -> Any:
        return a, torch.softmax(b * k, 1), n

    def join(self, a: Any, b: Any, n: Any, x: Any, k: float) -> Any:
        return a, torch.cat([b[1:], a[None]]), n

    def gradient(self, a: Any, b: Any, n: Any, x: Any, k: float) -> Any:
        slope = torch.func.grad(lambda q: ((q * k).sin() * b[0]).sum())(a)
        return a - 0.1 * slope, b, n


def results(seed: int, recorded: bool) -> list[Any]:
    """What a body's loop gives, and the gradients of a sum of it."""
    torch.manual_seed(seed)
    f64 = {"dtype": torch.float64}
    w = torch.randn(3, 3, **f64).requires_grad_()
    a = torch.linspace(-1, 1, 3, **f64).requires_grad_()
    b = (torch.arange(9, **f64).reshape(3, 3) / 9).requires_grad_()
    xs = torch.sin(torch.arange(12, **f64)).reshape(4, 3).requires_grad_()
    body: Callable[[Any, Any], Any] = Body(seed, w, recorded)
    carry: Any = (a, b, torch.tensor(0))
    if recorded:
        carry, (given, counts) = scan(body, carry, xs)
    else:
        rows = []
        for x in xs:
            carry, row = body(carry, x)
            rows.append(row)
        given, counts = (torch.stack(part) for part in zip(*rows, strict=True))
    loss = (carry[0].sin() * 1.3).sum() + (carry[1] * 0.7).sum() + given.pow(2).sum()
    if loss.requires_grad:
        loss.backward()
    found = [*carry, given, counts]
    found += [torch.zeros_like(t) if t.grad is None else t.grad for t in (a, b, xs, w)]
    return [t.detach() for t in found]
