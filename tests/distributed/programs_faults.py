"""Run by each of several processes, of which one does what it must not; the others say what they
are told. The first argument is what happens."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time

import numpy as np

import lazyloom as ll
import lazyloom.distributed as dist

SILENCE = 3.0


def tensor(array: np.ndarray) -> ll.Tensor:
    """A tensor of an array's data."""
    return ll.Tensor.from_value(ll.from_host(array))


def step(x: ll.Tensor) -> ll.Tensor:
    """A step of a loop, with two collectives."""
    x = dist.all_reduce(ll.apply("multiply", [x, 0.5]), "mean")
    return dist.all_reduce(x, "max")


def steps(count: int) -> None:
    """So many steps, the last of which is read."""
    x = tensor(np.ones(16, np.float32))
    for _ in range(count):
        x = step(x)
        dist.dispatch(x)
    x.value.read()


def long_compile() -> ll.Tensor:
    """A result whose program takes seconds to compile, with a collective in it."""
    total = tensor(np.zeros((), np.float32))
    for n in range(70):
        row = tensor(np.arange(40.0 + n, dtype=np.float32))
        ordered = ll.apply("sort", [ll.apply("sin", [row])])
        total = ll.apply("add", [total, ll.apply("sum", [ordered])])
    return dist.all_reduce(total)


def main(what: str) -> None:
    me, culprit = int(os.environ["RANK"]), int(os.environ.get("CULPRIT", "1"))
    guilty = me == culprit
    begun = time.monotonic()
    try:
        dist.init(timeout=float(os.environ.get("TIMEOUT", "20")), silence=SILENCE)
        begun = time.monotonic()
        if what == "before":
            if guilty:
                os.kill(os.getpid(), signal.SIGKILL)
            steps(1)
        elif what == "middle":
            steps(3)
            if guilty:
                os.kill(os.getpid(), signal.SIGKILL)
            steps(10**6)
        elif what == "large":
            x = tensor(np.ones(4_000_000, np.float32))
            for k in range(10**6):
                x = dist.all_reduce(x, "mean")
                dist.dispatch(x)
                if guilty and k == 3:
                    os.kill(os.getpid(), signal.SIGKILL)
        elif what == "stopped":
            steps(3)
            if guilty:
                os.kill(os.getpid(), signal.SIGSTOP)
            steps(10**6)
        elif what == "exits":
            steps(3)
            if guilty:
                sys.exit(0)
            steps(10**6)
        elif what == "raises":
            steps(3)
            if guilty:
                raise ValueError("a fault of the program")
            steps(10**6)
        elif what == "differs":
            x = tensor(np.ones(16, np.float32))
            x = dist.all_reduce(x, "max" if guilty else "sum")
            x.value.read()
        elif what == "differs later":
            x, y = tensor(np.ones(16, np.float32)), tensor(np.ones(16, np.float32))
            for _ in range(3):
                x, y = dist.all_reduce(x, "mean"), dist.all_reduce(y, "max")
                x.value.read(), y.value.read()
                dist.all_reduce(x, "mean").value.read()
                dist.all_reduce(y, "max").value.read()
            for _ in range(10**5):
                dist.all_reduce(x, "max" if guilty else "mean").value.read()
        elif what == "never comes":
            if guilty:
                time.sleep(6)
                sys.exit(0)
            steps(1)
        elif what == "lags":
            steps(3)
            if guilty:
                time.sleep(6)
                sys.exit(0)
            steps(10**6)
        elif what == "barrier":
            if guilty:
                time.sleep(2)
                sys.exit(0)
            dist.barrier(timeout=1.0)
        elif what == "compiling":
            # the others compile as well when it is killed
            if guilty:
                threading.Timer(0.8, os.kill, (os.getpid(), signal.SIGKILL)).start()
            begun = time.monotonic()
            long_compile().value.read()
        elif what == "others compile":
            if guilty:
                time.sleep(0.8)
                os.kill(os.getpid(), signal.SIGKILL)
            begun = time.monotonic()
            long_compile().value.read()
        elif what == "well":
            steps(3)
            dist.shutdown()
    except dist.DistributedError as error:
        print(f"told after {time.monotonic() - begun:.2f} s: {error}", flush=True)
        if os.environ.get("UNCAUGHT"):
            raise
    print("end", flush=True)


main(sys.argv[1])
