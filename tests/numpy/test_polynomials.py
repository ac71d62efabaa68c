"""What polynomials read, when, and what else the coverage's cases do not compare."""

from __future__ import annotations

import copy
import pickle
import warnings
from typing import Any

import numpy as onp
import pytest

import lazyloom
import lazyloom_numpy as np
from tests.numpy.helpers import same


def reads() -> int:
    return int(lazyloom.stats()["reads"])


def test_polyfit_warns_when_its_result_is_read() -> None:
    y = np.array([1.0, 2.0, 4.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        c = np.polyfit([1, 1, 1], y, 1)
        shifted = c + 1
    with pytest.warns(onp.exceptions.RankWarning, match="poorly conditioned"):
        values = onp.asarray(shifted)
    with pytest.warns(onp.exceptions.RankWarning):
        expected = onp.polyfit([1, 1, 1], [1.0, 2.0, 4.0], 1)
    onp.testing.assert_allclose(values, expected + 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.polyfit([0, 1, 2], y, 1).tolist()


def test_coefficients_on_the_host_are_not_read() -> None:
    before = reads()
    p = np.poly1d([0, 1, -3, 2])
    q = np.polymul([0, 1, 2], (0, 3))
    assert p.order == 2 and q.shape == (2,) and reads() == before
    np.poly1d(np.array([0.0, 1.0]) * 2)
    assert reads() == before + 1
    assert lazyloom.last_evaluation().reason == "shape of poly1d"


def test_a_polynomial_shares_its_array() -> None:
    for m in (np, onp):
        a = m.array([0, 1, 2, 3])
        p = m.poly1d(a)
        p[0] = 9
        p.coeffs[1] = 8
        p.c += 1
        assert a.tolist() == [0, 2, 9, 10] and p.coeffs is p.c is p.coef is p.coefficients


def test_polynomials_are_copied_pickled_and_met_by_numpy() -> None:
    p = np.poly1d([1.0, -2.0], variable="t")
    for q in (copy.deepcopy(p), pickle.loads(pickle.dumps(p))):
        assert bool(p == q) and q.variable == "t"
    same(np.polyadd(onp.poly1d([1, 2]), p).coeffs, onp.array([2.0, 0.0]))
    onp.testing.assert_array_equal(onp.asarray(p), [1.0, -2.0])
    assert isinstance(np.array(2.0) * p, np.poly1d) and isinstance(p * np.array(2.0), np.poly1d)
    same((np.float64(2) * np.array([1.0, 2.0])), onp.array([2.0, 4.0]))


@pytest.mark.parametrize("f", [
    lambda p, x: np.polyval(p, x).sum(),
    lambda p, x: np.poly(x)[1:].sum() + (p * 0).sum(),
    lambda p, x: np.polyfit(p, x, 1).sum(),
    lambda p, x: (abs(np.fft.rfft(x * p)) ** 2).sum() + np.fft.irfft(np.fft.rfft(p))[1],
    lambda p, x: (abs(np.fft.ifft2(np.outer(p, x), (5, 3), norm="ortho")) ** 3).sum(),
    lambda p, x: abs(np.linalg.eigvals(np.diag(p) * (2 + 1j) + 0.1 * np.outer(x, p))).sum(),
    lambda p, x: (np.kaiser(4, 5) * p * np.sinc(x)).sum() + np.i0(x - p).sum(),
], ids=["polyval", "poly", "polyfit", "rfft", "ifft2", "eigvals", "windows"])  # fmt: skip
def test_gradients(f: Any) -> None:
    p, x = onp.array([1.5, -2.0, 0.25, 3.0]), onp.array([0.5, 1.0, -1.25, 2.0])
    found = lazyloom.grad(f, (0, 1))(np.array(p), np.array(x))
    direction = onp.array([0.3, -0.7, 0.2, 0.9])
    for i, g in enumerate(found):
        sides = []
        for step in (1e-6, -1e-6):
            at = [p, x]
            at[i] = at[i] + step * direction
            sides.append(float(f(*map(np.array, at))))
        numerical = (sides[0] - sides[1]) / 2e-6
        onp.testing.assert_allclose(float((g * direction).sum()), numerical, rtol=1e-5, atol=1e-7)


@pytest.mark.compiled
def test_one_program_for_all_positions_of_a_loop() -> None:
    def spectrum(signal: Any) -> Any:
        return np.fft.fft(signal, 8, norm="ortho")

    spectrum(np.array([1.0, 2.0])).tolist()
    before = lazyloom.stats()["programs_compiled"]
    for k in range(3):
        spectrum(np.array([k * 1.0, 4.0])).tolist()
    assert lazyloom.stats()["programs_compiled"] == before
