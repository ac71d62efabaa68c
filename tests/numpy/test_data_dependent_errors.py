"""What NumPy warns of or refuses by looking at the data is said when a result is read."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as onp
import pytest

import lazyloom
import lazyloom_numpy as np

HOLED = onp.array([[onp.nan, 1.0, 2.0], [onp.nan, 4.0, onp.nan]])


@pytest.mark.parametrize("name, text", [
    ("nanmax", "All-NaN slice encountered"), ("nanmin", "All-NaN slice encountered"),
    ("nanmean", "Mean of empty slice"), ("nanvar", "Degrees of freedom <= 0 for slice."),
    ("nanstd", "Degrees of freedom <= 0 for slice."),
    ("nanmedian", "All-NaN slice encountered"),
])  # fmt: skip
def test_a_warning_comes_with_the_read(name: str, text: str) -> None:
    with pytest.warns(RuntimeWarning) as theirs:
        expected = getattr(onp, name)(HOLED, axis=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = getattr(np, name)(np.array(HOLED), axis=0)
        doubled = result * 2
        assert not caught
        doubled.read()
        assert [str(w.message) for w in caught] == [text] == [str(theirs[0].message)]
        assert caught[0].filename == __file__  # the line of the call
        onp.testing.assert_allclose(result.read(), expected)
        assert len(caught) == 1


def test_no_warning_where_nothing_is_missing() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        onp.testing.assert_array_equal(np.nanmax(np.array(HOLED), axis=1).read(), [2.0, 4.0])


@pytest.mark.parametrize("call, error, text", [
    (lambda m, x: m.nanargmax(m.array(HOLED), axis=0), ValueError, "All-NaN slice"),
    (lambda m, x: m.quantile(x, x[:1]), ValueError, r"Quantiles must be in the range \[0, 1\]"),
    (lambda m, x: m.percentile(x, x[:1] * 99), ValueError, "Percentiles must be in the range"),
    (lambda m, x: m.quantile(x, 0.5, weights=-x, method="inverted_cdf"), ValueError,
     "non-negative"),
    (lambda m, x: m.histogram(x / 0)[0], ValueError, "is not finite"),
    (lambda m, x: m.histogram(x, x[::-1])[0], ValueError, "must increase monotonically"),
    (lambda m, x: m.average(x, weights=x * 0), ZeroDivisionError, "Weights sum to zero"),
    (lambda m, x: m.choose(x.astype(int), [1, 2]), ValueError, "invalid entry in choice array"),
    (lambda m, x: m.take(x, x.astype(int) + 7), IndexError, "out of bounds"),
    (lambda m, x: m.geomspace(x * 0, 1, 3), ValueError, "cannot include zero"),
])  # fmt: skip
def test_an_error_comes_with_every_read(
    call: Callable[..., Any], error: type[Exception], text: str
) -> None:
    data = onp.array([2.0, 3.0, 5.0])
    with onp.errstate(all="ignore"), pytest.raises(error, match=text):
        call(onp, data)
    x = np.array(data)
    result = call(np, x)
    further = result + 1
    for value in (result, further, result):
        with pytest.raises(error, match=text):
            value.read()
    assert (x + 1).read().tolist() == [3.0, 4.0, 6.0]  # what does not depend on it is well


def test_nothing_is_read_to_find_out() -> None:
    x = np.array(HOLED)
    before = lazyloom.stats()["reads"]
    np.nanmean(x, 0), np.nanargmax(x, 1), np.quantile(x, np.array([0.5])), np.histogram(x[:, 1:])
    assert lazyloom.stats()["reads"] == before
