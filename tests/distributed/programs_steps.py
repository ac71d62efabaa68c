"""Run by each of several processes: loops of steps, their records, and training."""

from __future__ import annotations

import json
import os
import sys
import time

import numpy as np

import lazyloom as ll
import lazyloom.distributed as dist


def tensor(array: np.ndarray) -> ll.Tensor:
    """A tensor of an array's data."""
    return ll.Tensor.from_value(ll.from_host(array))


def many(report: dict[str, object]) -> None:
    """Three hundred small steps, of which nothing is read before the end."""
    x = tensor(np.arange(8.0) + dist.rank())
    for _ in range(300):
        x = dist.all_reduce(x, "mean")
        x = ll.apply("add", [x, 1.0])
        dist.dispatch(x)
    report["many"] = x.value.read().tolist()
    report["stats"] = dict(ll.stats())


def record(report: dict[str, object]) -> None:
    """The record of a program with two collectives."""
    x = tensor(np.ones((2, 3), np.float32))
    y = dist.all_gather(dist.all_reduce(x, "max"), 1)
    report["program"] = ll.program_of(y.value).text()
    y.value.read()
    last = ll.last_evaluation()
    assert last is not None
    report["record"] = last.text()
    report["collectives"] = [(c.name, c.nbytes) for c in last.collectives]


def matched(report: dict[str, object]) -> None:
    """Steps that are recorded again and again, from which processes deviate at other times."""
    me, size = dist.rank(), dist.world_size()
    a, b = np.arange(4.0) + me, np.arange(6.0) * (me + 1)
    every = [(np.arange(4.0) + r, np.arange(6.0) * (r + 1)) for r in range(size)]
    kept = []
    for k in range(90):
        odd = k > 20 and (k + 3 * me) % 7
        x, y = tensor(a), tensor(b)
        c = dist.all_reduce(ll.apply("multiply", [x, float(k)]))
        if odd == 1:
            # what no step before had: it depends on one of the collectives
            kept.append(ll.apply("sqrt", [c]))
        d = dist.all_gather(ll.apply("add", [y, float(k)]))
        if odd == 2:
            # ends the program before the last collective
            d.value.read()
        if odd == 3:
            ll.apply("exp", [y]).value.read()
        e = dist.all_reduce(ll.apply("multiply", [d, 2.0]), "max")
        if odd == 4:
            # nobody sees the first collective's result: it runs nevertheless
            del c
            c = ll.apply("multiply", [tensor(sum(t for t, _ in every)), float(k)])
        dist.dispatch(*((e, c) if odd == 5 else (c, e)))
        np.testing.assert_allclose(c.value.read(), k * sum(t for t, _ in every))
        gathered = np.concatenate([t + k for _, t in every])
        np.testing.assert_allclose(e.value.read(), 2 * gathered)
    report["matched"] = ll.stats()["traces_matched"]


def orders(report: dict[str, object]) -> None:
    """Independent collectives that one process reads in another order, or not at all."""
    me = dist.rank()
    for k in range(5):
        a, b = tensor(np.full(3, 1.0 + me)), tensor(np.full(5, 10.0 + me))
        c = dist.all_reduce(a)
        d = dist.all_gather(b)
        e = dist.all_reduce(tensor(np.full(2, 5.0)), "prod")
        first, second = (c, d) if me else (d, c)
        if k % 2:
            # a program of its own in this process alone
            ll.apply("multiply", [first, float(k)]).value.read()
        first.value.read()
        right = sum(range(1, dist.world_size() + 1))
        np.testing.assert_array_equal(c.value.read(), np.full(3, right))
        assert second.value.read() is not None
        del c, d, first, second
        if me == 0:
            assert e.value.read()[0] == 5.0 ** dist.world_size()
        else:
            del e
            dist.dispatch()
    report["orders"] = True


def train(report: dict[str, object], world: int, me: int) -> None:
    """Twenty steps of a small network on a part of the data, in float32."""
    rng = np.random.default_rng(0)
    data = rng.normal(size=(64, 10)).astype(np.float32)
    right = np.tanh(data @ rng.normal(size=(10, 1))).astype(np.float32)
    rows = slice(me * 64 // world, (me + 1) * 64 // world)
    x, y = tensor(data[rows]), tensor(right[rows])
    weights = [tensor((rng.normal(size=s) / 4).astype(np.float32)) for s in [(10, 16), (16, 1)]]

    def loss_of(w: ll.Tensor, v: ll.Tensor) -> ll.Tensor:
        hidden = ll.apply("tanh", [ll.apply("matmul", [x, w])])
        error = ll.apply("subtract", [ll.apply("matmul", [hidden, v]), y])
        return ll.apply("mean", [ll.apply("multiply", [error, error])])

    def reduced(t: ll.Tensor) -> ll.Tensor:
        return dist.all_reduce(t, "mean") if world > 1 else t

    losses = []
    for _ in range(20):
        loss, gradients = ll.value_and_grad(loss_of, (0, 1))(*weights)
        weights = [
            ll.apply("subtract", [w, ll.apply("multiply", [reduced(g), 0.3])])
            for w, g in zip(weights, gradients, strict=True)]
        losses.append(float(reduced(loss).value.read()))
    report[f"losses of {world}"] = losses


def main() -> None:
    report: dict[str, object] = {}
    what = sys.argv[1:]
    begun = time.monotonic()
    dist.init(timeout=30)
    report["init"] = time.monotonic() - begun
    world, me = dist.world_size(), dist.rank()
    if "many" in what:
        many(report)
    if "record" in what:
        record(report)
    if "matched" in what:
        matched(report)
    if "orders" in what:
        orders(report)
    if "train" in what:
        train(report, world, me)
        train(report, 1, 0)
    if "store" in what:
        store = dist.Store("a")
        store.set(str(me), f"of {me}")
        report["store"] = [store.get(str(r)) for r in range(world)]
        store.add("n", me + 1)
        dist.barrier()
        report["sum"] = store.add("n", 0)
        try:
            store.get("nothing", timeout=0.2)
        except dist.DistributedError as error:
            report["missing"] = str(error)
    report["end"] = dict(ll.stats())
    dist.shutdown()
    print("report " + json.dumps(report), flush=True)
    assert os.getpid()


main()
