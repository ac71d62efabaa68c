"""polygamma from tiny to infinite arguments, of low and high order, against SciPy."""

from __future__ import annotations

import numpy as np
import pytest

import lazyloom as ll


@pytest.mark.parametrize("order", [1, 2, 3, 7, 40, 100])
def test_values(order: int) -> None:
    special = pytest.importorskip("scipy.special")
    x = np.array([1e-3, 0.3, 1.0, 2.5, 9.0, 10.5, 40.0, 3e3])
    found = ll.apply("polygamma", [ll.Tensor.from_value(ll.from_host(x))], {"order": order})
    np.testing.assert_allclose(np.asarray(found.read()), special.polygamma(order, x), rtol=2e-13)


def test_at_infinity() -> None:
    x = ll.Tensor.from_value(ll.from_host(np.array([np.inf, np.nan])))
    for order in (1, 2):
        found = np.asarray(ll.apply("polygamma", [x], {"order": order}).read())
        np.testing.assert_array_equal(found, [0.0, np.nan])
