"""How often a trace that grows is looked at for a repetition."""

from __future__ import annotations

import numpy as np
import pytest

import lazyloom_numpy as lnp
from lazyloom.evaluate import collect
from lazyloom.trace.graph import Component, Node


def test_what_joins_a_long_trace_does_not_make_it_looked_at_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A look takes as long as the trace is: one for each small one that joins is quadratic."""
    looks: list[int] = []
    looked = collect.pending_of

    def counted(component: Component) -> list[Node]:
        nodes = looked(component)
        looks.append(len(nodes))
        return nodes

    monkeypatch.setattr(collect, "pending_of", counted)
    total, given = lnp.zeros(3), lnp.array([1.0, 2.0, 3.0])
    count = 4_000
    for _ in range(count):
        # a component of its own, until it is added
        total = total + (given * 0.5 + 1.0)
    assert sum(n > 1_000 for n in looks) < 40
    np.testing.assert_allclose(np.asarray(total), count * (np.array([1.0, 2.0, 3.0]) / 2 + 1))
