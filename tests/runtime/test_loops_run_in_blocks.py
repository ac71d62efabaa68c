"""A loop that is read after many steps runs in blocks of steps; nothing else is divided."""

from __future__ import annotations

from typing import Any

import numpy as np

import lazyloom as ll
from lazyloom.evaluate import collect
from lazyloom.program.repetition import loop_sizes
from lazyloom.settings import tuning
from lazyloom.trace import graph
from tests.contract.helpers import counted, host, number


def rec(op: str, *operands: Any, **attributes: Any) -> Any:
    return ll.record(op, operands, attributes)


def _step(x: Any, y: Any) -> Any:
    for k in range(4):
        x = rec("add", rec("multiply", x, number(0.5)), y)
        x = rec("subtract" if k % 2 else "maximum", x, number(0.25))
    return x


def _expected(x: Any, y: Any) -> Any:
    for k in range(4):
        x = x * np.float32(0.5) + y
        x = x - np.float32(0.25) if k % 2 else np.maximum(x, np.float32(0.25))
    return x


def test_a_loop_that_is_read_after_many_steps_runs_in_blocks_of_steps() -> None:
    data, other = np.arange(5, dtype=np.float32), np.float32([1, -1, 0, 2, 0.5])
    x, y, expected = host(data), host(other), data
    steps = tuning.cut_ops // 12 + 10
    compiled = []
    for _ in range(4):
        start = ll.last_evaluation().number if ll.evaluations(1) else 0
        with counted() as did:
            for _ in range(steps):
                x, expected = _step(x, y), _expected(expected, other)
            loss = rec("sum", x, axes=(0,))
            assert np.isclose(loss.read(), expected.sum())
        records = [e for e in ll.evaluations(50) if e.number > start]
        assert sum(e.ops for e in records) == 12 * steps + 1 == did.ops_executed
        assert max(e.ops for e in records) <= tuning.block_ops
        assert records[-1].reason == "read"
        assert records[-1].spawned == [e.number for e in records[:-1]]
        compiled.append(did.programs_compiled + did.programs_from_disk)
    assert compiled[0] <= 3
    # the first step of the first segment reads what came from the host
    assert compiled[2:] == [0, 0]
    np.testing.assert_allclose(x.read(), expected, rtol=1e-6)


def _programs(value: Any) -> list[int]:
    """The ops of the programs that a read of the value would run; nothing is run."""
    component = graph.find(value.node)
    assert component is not None
    nodes = collect.pending_of(component)
    assert len(nodes) >= tuning.cut_ops
    return loop_sizes(nodes, component.depth)


def test_the_layers_of_a_network_that_is_trained_are_one_program() -> None:
    layers = tuning.cut_ops // 12
    weights = [host(np.full(3, 0.9 + k / 1000)).as_leaf("w") for k in range(layers)]
    x = host(np.ones(3))
    for w in weights:
        x = rec("tanh", rec("add", rec("multiply", x, w), number(0.1)))
        x = rec("maximum", rec("sin", x), rec("multiply", x, number(0.9)))
    gradients = ll.gradients([rec("sum", x, axes=(0,))], weights)
    assert gradients[0] is not None
    found = _programs(gradients[0])
    assert len(found) == 1
    component = graph.find(gradients[0].node)
    assert component is not None and component.depth > tuning.loop_depth


def test_many_equal_ops_side_by_side_are_one_program() -> None:
    x = host(np.arange(4.0))
    parts = [rec("add", x, number(float(k))) for k in range(tuning.cut_ops)]
    assert len(_programs(rec("concatenate", *parts, axis=0))) == 1


def test_where_a_loop_is_divided() -> None:
    def sizes(*parts: tuple[str, int]) -> list[int]:
        x = host(np.ones(2))
        values = []
        for names, times in parts:
            for name in names.split() * times:
                x = rec(name, x)
                values.append(x)
        nodes = [v.node for v in values]
        found = loop_sizes(nodes, nodes[-1].depth)
        assert sum(found) == len(nodes)
        return found

    body = "sin cos negative"  # 3 ops: blocks of 300
    assert sizes((body, 341)) == [1023]
    assert sizes((body, 400)) == [300] * 4
    assert sizes(("exp", 10), (body, 400)) == [10, *[300] * 4]
    assert sizes((body, 400), ("exp tanh", 1)) == [*[300] * 4, 2]
    # neither a loop of which much does not repeat, nor one of two bodies
    assert sizes((body, 400), ("exp tanh", 100)) == [1400]
    assert sizes((" ".join(["sin"] * 399 + ["cos"] * 201), 2)) == [1200]
    assert sizes((" ".join(["sin"] * 399 + ["cos"] * 201), 3)) == [600] * 3
    assert loop_sizes([], 0) == [0]
    x = host(np.ones(2))
    wide = [rec("sin", x).node for _ in range(tuning.cut_ops)]
    assert loop_sizes(wide, tuning.loop_depth - 1) == [tuning.cut_ops]
