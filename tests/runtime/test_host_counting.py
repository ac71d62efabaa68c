"""Kernels of the host that count what is true, and find where it is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lazyloom_numpy as lnp
from lazyloom.host.counting import true_positions
from lazyloom.host.kernels import kernel_text
from lazyloom.host.loading import load
from lazyloom.jaxprs.op_definitions import function_of
from lazyloom.jaxprs.tracing import trace
from lazyloom.ops.spec import lookup
from lazyloom.trace.specs import spec_of
from tests.ops.checks import type_of

pytestmark = pytest.mark.xla


def test_positions_where_a_bound_is_outside_and_inside() -> None:
    mask = np.array([False, True, True, False, True])
    for bound, expected in ((9, [1, 2, 4, 7]), (4, [1, 2, 4, 7]), (3, [1, 2, 4, 3])):
        np.testing.assert_array_equal(true_positions(np.full(4, 7), mask, bound), expected)
    # more are true than there is room for
    np.testing.assert_array_equal(true_positions(np.full(2, 7), mask, 2), [1, 2])


def kernel(name: str, x: Any, **attributes: Any) -> tuple[str, Any]:
    """The text of an op's kernel for a NumPy array, and its result."""
    spec, types = spec_of(lookup(name), attributes, 1), (type_of(x),)
    text = kernel_text(trace(function_of(spec, types), [(x.shape, x.dtype)]))
    return text, load(text)[0](x)


def test_positions_and_counts_take_one_function_of_numpy() -> None:
    """Whatever the numbers of elements and of those selected: no running sum, no scatter."""
    rng = np.random.default_rng(0)
    for shape in ((41,), (30_011,), (150, 200)):
        x = rng.random(shape)
        for limit in (0.2, 0.7, 2.0):
            mask = x < limit
            size = np.count_nonzero(mask)
            text, found = kernel("flat_nonzero", mask, size=size)
            np.testing.assert_array_equal(found, np.flatnonzero(mask))
            assert "true_positions(" in text and not {"scatter", "accumulate"} & set(
                text.replace("_", " ").replace(".", " ").split())
            text, found = kernel("count_nonzero", mask, axes=tuple(range(mask.ndim)))
            assert found == size and found.dtype == np.int64
            assert "count_nonzero(" in text and "reduce" not in text


@pytest.mark.slow
@pytest.mark.once("what is counted is a matter of kernels, which are made outside the core")
def test_selections_of_any_size() -> None:
    rng = np.random.default_rng(0)
    for n in (41, 43, 47, 20_011, 30_011):
        x = rng.random((n, 3))
        for limit in (0.0, 0.2, 0.7, 2.0):
            given, mask = lnp.array(x), x[:, 0] < limit
            np.testing.assert_array_equal(np.asarray(given[given[:, 0] < limit]), x[mask])
            np.testing.assert_array_equal(
                np.asarray(lnp.flatnonzero(given[:, 0] < limit)), np.flatnonzero(mask))
            assert int((given < limit).sum()) == (x < limit).sum()
