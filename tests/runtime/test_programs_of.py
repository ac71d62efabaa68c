"""``programs_of`` gives the programs that a read runs, and changes nothing."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import lazyloom as ll
from lazyloom.ops import Execution
from lazyloom.ops.rules import elementwise
from lazyloom.trace import graph
from lazyloom.trace.matching.match import matching
from tests.contract.helpers import host, number


def rec(op: str, *operands: Any, **attributes: Any) -> Any:
    return ll.record(op, operands, attributes)


def enter(name: str, fn: Any, **more: Any) -> str:
    fn.__annotations__ = {"x": "T"}
    fn.__doc__ = name
    ll.register_op(elementwise, T="floating", source="the tests", name=name, **more)(fn)
    return name


@pytest.fixture(scope="module")
def may_fail() -> str:
    return enter("previewed_may_fail", lambda x: x * 2, execution=Execution(fallible=True))


def ran(read: Any) -> list[str]:
    """The keys of the programs that a call runs."""
    before = ll.evaluations(1)
    last = before[0].number if before else 0
    read()
    return [e.key for e in ll.evaluations(200) if e.number > last and e.program is not None]


def keys(*values: Any) -> list[str]:
    return [p.key for p in ll.programs_of(*values)]


def state() -> Any:
    """What a preview must leave as it is: the components and what each node says of itself."""
    with graph.trace.lock:
        graph.drain()  # what nobody holds any more
        while matching.matches:
            matching.matches[0].settle()
    return {
        c: [(n, n.state, n.refs, n.handles, n.inputs, n.buffers, n.component) for n in c.nodes]
        for c in graph.trace.components
    }


def test_one_program() -> None:
    y = rec("tanh", rec("add", host(np.ones(5)), number(2.5)))
    found = keys(y)
    assert len(found) == 1 and ll.program_of(y).key == found[0]
    assert ran(y.read) == found


def test_a_loop_is_previewed_whole() -> None:
    x = host(np.zeros(3))
    for _ in range(700):
        x = rec("tanh", rec("add", x, number(2.5)))
    found = keys(x)
    assert found == [ll.program_of(x).key]
    assert ran(x.read) == found


def test_an_op_that_may_fail_has_a_program_of_its_own(may_fail: str) -> None:
    a = rec("add", host(np.ones(4)), number(2.5))
    b = rec(may_fail, a)
    c = rec("multiply", rec(may_fail, rec("tanh", a)), b)
    found = keys(c)
    assert len(found) == 4
    assert ran(c.read) == found


def test_what_comes_from_across_a_boundary_is_previewed_first() -> None:
    made = ll.source("iota", [], {"shape": (7,), "axis": 0, "dtype": ll.dtypes.float32})
    y = rec("add", made, host(np.ones(7)))
    found = keys(y)
    assert len(found) == 2
    assert ran(y.read) == found


def test_values_of_two_programs() -> None:
    a = rec("add", host(np.ones(4)), number(2.5))
    b = rec("add", host(np.ones(5)), number(2.5))
    assert len(keys(a, b)) == 2
    with pytest.raises(ll.LoomError, match="2 programs compute the given values"):
        ll.program_of(a, b)
    a.read()
    b.read()


def test_a_value_that_can_only_fail() -> None:
    bad = rec(enter("previewed_fails", lambda x: x.no_such_attribute), host(np.ones(3)))
    pending = ll.source("full", [number(2.5)], {"shape": (3,)})
    with pytest.raises(ll.LoomError):
        bad.read()
    with pytest.raises(ll.LoomError, match="previewed_fails"):
        ll.programs_of(rec("add", bad, pending))


@pytest.mark.parametrize("seed", range(60))
def test_random_graphs(seed: int, may_fail: str) -> None:
    rng = random.Random(seed)
    pool = [host(np.full(3, float(i))) for i in range(3)]
    for _ in range(rng.randrange(4, 30)):
        kind = rng.random()
        if kind < 0.1:
            pool.append(ll.source("full", [number(rng.random())], {"shape": (3,)}))
        elif kind < 0.3:
            pool.append(rec(may_fail, rng.choice(pool)))
        elif kind < 0.6:
            pool.append(rec("tanh", rng.choice(pool)))
        else:
            pool.append(rec("add", rng.choice(pool), rng.choice(pool)))
        if rng.random() < 0.3:
            del pool[rng.randrange(len(pool))]
        if len(pool) < 2:
            pool.append(host(np.ones(3)))
    asked = pool[-1]
    if rng.random() < 0.4:
        pool[:] = [asked]
    before = state()
    try:
        found = keys(asked)
    except ll.LoomError:
        assert asked.node.state == graph.DONE
        return
    assert state() == before
    assert keys(asked) == found
    assert ran(asked.read) == found
