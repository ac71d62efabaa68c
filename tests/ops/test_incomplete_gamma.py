"""The incomplete gamma functions where many terms are needed, at their limits, and derivatives of
second order, against figures of 30 digits from mpmath."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lazyloom as ll

A = np.array([0.5, 2.5, 1.5, 30.0])
X = np.array([0.3, 1.5, 4.0, 33.0])
LOWER = [0.56142197391900014, 0.30001416412137249, 0.95398829431076863, 0.72269862906859283]
#: by a twice, by a and x, by x twice
SECOND = [
    [0.62614765583991265, 0.13655403345500949, -0.072384049144994972, -0.0057745625317885133],
    [0.57959569809958949, -0.091796357332712645, 0.055792774999877478, 0.0064288707093968978],
    [-2.034908210048496, 0.0, -0.036167224369661094, -0.0069533419074310153],
]


def _tensor(x: Any) -> Any:
    return ll.Tensor.from_value(ll.from_host(np.asarray(x)))


def _values(name: str, a: Any, x: Any) -> Any:
    return np.asarray(ll.apply(name, [_tensor(a), _tensor(x)], {}).read())


def test_values() -> None:
    np.testing.assert_allclose(_values("gammainc", A, X), LOWER, rtol=1e-13)
    np.testing.assert_allclose(_values("gammaincc", A, X), 1 - np.array(LOWER), rtol=1e-12)


@pytest.mark.parametrize("name", ["gammainc", "gammaincc"])
@pytest.mark.parametrize("size", [1e-3, 0.9, 7.0, 150.0, 4e3, 1e5])
def test_either_side_of_where_the_series_ends(name: str, size: float) -> None:
    special = pytest.importorskip("scipy.special")
    near = 1 + np.linspace(-4, 4, 41) / np.sqrt(max(size, 1.0))
    x = np.concatenate([max(size, 1.0) * near[near > 0], size * np.logspace(-6, 6, 25)])
    a = np.full_like(x, size)
    # the exponent is what is left of terms of size a log(a), each rounded
    np.testing.assert_allclose(_values(name, a, x), getattr(special, name)(a, x),
                               rtol=1e-12 + 1e-15 * size * abs(np.log(size)), atol=1e-14)


def test_limits() -> None:
    inf, nan = np.inf, np.nan
    a = [0.0, 0.0, 1.0, inf, -1.0, 1.0, nan, 1.0, 2.0, 0.0]
    x = [0.0, 1.0, 0.0, 1.0, 1.0, -1.0, 1.0, nan, inf, inf]
    lower = np.array([nan, 1.0, 0.0, 0.0, nan, nan, nan, nan, 1.0, 1.0])
    np.testing.assert_array_equal(_values("gammainc", a, x), lower)
    np.testing.assert_array_equal(_values("gammaincc", a, x), 1 - lower)


@pytest.mark.parametrize(("name", "sign"), [("gammainc", 1), ("gammaincc", -1)])
def test_second_derivatives(name: str, sign: int) -> None:
    ones = _tensor(np.ones(4))

    def gradients(a: Any, x: Any) -> list[Any]:
        return list(ll.vjp(lambda a, x: ll.apply(name, [a, x], {}), a, x)[1](ones))

    operands = _tensor(A), _tensor(X)
    found = []
    for i in range(2):
        pull = ll.vjp(lambda a, x, i=i: gradients(a, x)[i], *operands)[1]
        found += [np.asarray(g.read()) * sign for g in pull(ones)]
    for got, expected in zip(found, [SECOND[0], SECOND[1], SECOND[1], SECOND[2]], strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-10, atol=1e-12)
