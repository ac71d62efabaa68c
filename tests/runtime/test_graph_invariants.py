"""What must hold of every node holds at each step of programs, and the checker finds what does not.

Programs are those of :mod:`tests.runtime.test_matching`, which branch, raise, read, keep and drop
results, use threads, and take gradients by inputs and by leaves.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lazyloom as ll
from lazyloom.compiled import COMPILED
from lazyloom.trace import graph
from lazyloom.trace.graph import Component, Node, Value
from tests.contract.helpers import host
from tests.graph_invariants import check
from tests.runtime.test_matching import Program

pytestmark = pytest.mark.usefixtures("quick_compiler")


def everything(since: int) -> list[Any]:
    """The nodes and values from a number on; none where they cannot be listed."""
    if COMPILED:
        return []
    return [x for x in gc.get_objects() if type(x) is Node and x.seq > since and x.state
            != graph.DEAD or type(x) is Value and x.node.seq > since]  # fmt: skip


@pytest.mark.parametrize("seed", range(200, 224))
def test_at_each_step(seed: int) -> None:
    gc.collect()
    ll.sync()
    since = graph.last_sequence()
    program = Program(seed, (0.0, 0.3, 0.6)[seed % 3])
    for _ in range(12):
        program.step()
        check(everything(since))


def test_of_placeholders_loops_and_several_results() -> None:
    since = graph.last_sequence()
    x = ll.Tensor(host(np.linspace(1, 2, 6, dtype="f4").reshape(2, 3)))
    mapped = ll.vmap(lambda row: ll.apply("tanh", [row]))(x)
    check(everything(since))
    values, positions = ll.record("top_k", [mapped.value], {"k": 2})
    del positions
    check(everything(since))
    drawn = ll.source("full", [ll.Scalar(2.0, ll.dtypes.float32)], {"shape": (2, 2)})
    out = ll.record("add", [values, drawn])
    check(everything(since))
    out.read()
    check(everything(since))




def _into_another(n: Node) -> None:
    n.component = Component()


@pytest.mark.parametrize("spoil", [
    lambda n: setattr(n, "refs", 0), lambda n: setattr(n, "seq", 1 << 40),
    lambda n: setattr(n, "carried", 2), lambda n: setattr(n, "grad_mask", 1),
    lambda n: setattr(n, "inputs", ()), lambda n: setattr(n, "state", graph.DONE), _into_another,
])  # fmt: skip
def test_what_does_not_hold_is_found(spoil: Callable[[Node], None]) -> None:
    value = ll.record("tanh", [host(np.ones(3, "f4"))])
    node = value.node
    user = ll.record("exp", [value])
    fields = ("refs", "seq", "carried", "grad_mask", "inputs", "state", "component")
    before = [getattr(node, name) for name in fields]
    check()
    with graph.trace.lock:
        spoil(node)
    try:
        with pytest.raises(AssertionError):
            check()
    finally:
        with graph.trace.lock:
            for name, was in zip(fields, before, strict=True):
                setattr(node, name, was)
    check()
    user.read()
