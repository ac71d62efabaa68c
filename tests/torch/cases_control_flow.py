"""Loops and branches: each case is a function of the library."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

XS = [[0.5, -1.0, 2.0], [1.5, 0.25, -0.5]]


def _ops(t: Any) -> Any:
    return importlib.import_module(f"{t.__name__}._higher_order_ops")


def conditions(t: Any) -> Any:
    x = t.tensor(XS)

    def yes(a: Any, b: Any) -> Any:
        return a.sin() + b, {"s": a.sum()}

    def no(a: Any, b: Any) -> Any:
        return a * b, {"s": a.prod()}

    return [t.cond(p, yes, no, (x, x + 1)) for p in (
        x.sum() > 0, x.sum() < 0, t.tensor([True]), True, False)]


def condition_gradients(t: Any) -> Any:
    found = []
    w = t.tensor(2.0, requires_grad=True)
    for sign in (1.0, -1.0):
        x = t.tensor([sign, 2.0], requires_grad=True)
        y = t.cond(x[0] > 0, lambda x: (x * w).sin(), lambda x: x * x, (x,))
        y.sum().backward()
        found += [y.detach(), x.grad]
    return [*found, w.grad]


def loops(t: Any) -> Any:
    i, x = t.tensor(0), t.tensor(XS)
    scale = t.tensor([1.0, 2.0, 0.5])
    return (
        t.while_loop(lambda i, x: i < 4, lambda i, x: (i + 1, x.cos() * scale), (i, x)),
        t.while_loop(lambda i, x: x.sum() < 50, lambda i, x: (i + 1, x + 1.5), (i, x)),
        t.while_loop(lambda i, x: i < 0, lambda i, x: (i + 1, x + 1), (i, x)),
        t.while_loop(lambda x: x.sum() < 9, lambda x: (x * 1.5 + 1,), (x,)))


def nested_loops(t: Any) -> Any:
    def body(i: Any, d: Any) -> Any:
        (row,) = t.while_loop(lambda r: r.sum() < 5, lambda r: (r + 1.25,), (d["x"][0],))
        return i + 1, {"x": d["x"] * 0.5 + row}

    return t.while_loop(lambda i, d: i < 3, body, (t.tensor(0), {"x": t.tensor(XS)}))


def scans(t: Any) -> Any:
    scan, x = _ops(t).scan, t.tensor(XS)

    def add(c: Any, x: Any) -> Any:
        return c + x, (c * x).sum()

    def tree(c: Any, x: Any) -> Any:
        return {"c": c["c"] * 0.5 + x[0]}, [x[0].sin(), x[1] + c["c"].sum()]

    return (
        scan(add, t.zeros(3), x), scan(add, t.zeros(2), x, dim=1),
        scan(add, t.zeros(3), x, reverse=True), scan(add, t.zeros(2), x, dim=-1, reverse=True),
        scan(tree, {"c": t.ones(2)}, (x, x + 1), dim=1))


def scan_gradients(t: Any) -> Any:
    scan = _ops(t).scan
    x, c = t.tensor(XS, requires_grad=True), t.ones(3, requires_grad=True)

    def step(c: Any, x: Any) -> Any:
        c = (c * x).tanh()
        return c, c * 2

    last, given = scan(step, c, x)
    ((last * given).sum() + given.pow(3).sum()).backward()
    return last.detach(), given.detach(), x.grad, c.grad


CASES: dict[str, Callable[[Any], Any]] = {f.__name__: f for f in (
    conditions, condition_gradients, loops, nested_loops, scans, scan_gradients)}
