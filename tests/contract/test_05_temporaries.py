"""Line 5: live temporaries cost at most one compile a position; prints and reads settle at once."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

import lazyloom as ll
from tests.contract.helpers import counted, host, number


def rec(op: str, *operands: Any, **attributes: Any) -> Any:
    return ll.record(op, operands, attributes)


def chain(x: np.ndarray, keep: set[int], length: int = 6) -> list[ll.Value]:
    """A chain of ops of which some results stay alive; the last is read."""
    v = host(x)
    alive = []
    for k in range(length):
        v = rec("add", rec("multiply", v, number(0.5)), number(2.0 + k))
        if k in keep:
            alive.append(v)
    v.read()
    return alive


def test_each_position_costs_at_most_one_compile(fresh_cache: Any) -> None:
    x = np.arange(5, dtype=np.float32)
    with counted() as delta:
        chain(x, set())
        for k in range(5):
            chain(x, {k})
    assert delta.programs_compiled <= 6
    with counted() as delta:
        # all positions are known now: no subset costs anything
        chooser = random.Random(0)
        for _ in range(20):
            chain(x, {k for k in range(5) if chooser.random() < 0.5})
    assert delta.programs_compiled == 0


def test_kept_temporaries_have_the_right_values(fresh_cache: Any) -> None:
    x = np.arange(5, dtype=np.float32)
    chooser = random.Random(1)
    for _ in range(10):
        keep = {k for k in range(6) if chooser.random() < 0.4}
        values = chain(x, keep)
        expected, at = x, 0
        for k in range(6):
            expected = expected * np.float32(0.5) + np.float32(2.0 + k)
            if k in keep:
                np.testing.assert_array_equal(values[at].read(), expected)
                at += 1


def test_inputs_that_are_alive_this_time_are_copied_not_compiled_for(fresh_cache: Any) -> None:
    x = np.ones(64, np.float32)

    def step(keep: bool) -> ll.Value | None:
        v = host(x)
        w = rec("add", v, number(2.0))
        if not keep:
            del v
        w.read()
        return v if keep else None

    with counted() as delta:
        step(False)
        kept = [step(True), step(False), step(True)]
    assert delta.programs_compiled == 1 and delta.donated_copies == 2
    for v in kept:
        if v is not None:
            np.testing.assert_array_equal(v.read(), x)


def test_a_read_at_the_same_place_of_a_loop_settles_at_once(fresh_cache: Any) -> None:
    v = host(np.ones(4))
    counts, runs = [], []
    for k in range(6):
        with counted() as delta:
            hidden = rec("tanh", rec("multiply", v, number(1.5)))
            hidden.read()
            v = rec("add", hidden, number(0.1 * (k + 2)))
            rec("sum", v, axes=None, keepdims=False).read()
        counts.append(delta.programs_compiled)
        runs.append(delta.executions)
    assert sum(counts) <= 4
    assert counts[2:] == [0] * 4
    assert runs == [2] * 6


def test_a_print_every_few_steps_settles(fresh_cache: Any) -> None:
    v = host(np.ones(4))
    counts = []
    for step in range(12):
        with counted() as delta:
            v = rec("add", rec("multiply", v, number(0.9)), number(0.3))
            loss = rec("sum", v, axes=None, keepdims=False)
            if step % 3 == 2:
                loss.read()
        counts.append(delta.programs_compiled)
    assert sum(counts) <= 3
    assert counts[6:] == [0] * 6


def test_a_first_iteration_from_created_tensors_is_like_the_others(fresh_cache: Any) -> None:
    v = ll.source("full", [number(0.0)], {"shape": (4,)})
    keys = []
    for k in range(4):
        v = rec("add", rec("multiply", v, number(0.9)), number(0.3 + k))
        keys.append(ll.program_of(v).key)
        v.read()
    assert len(set(keys)) == 1
