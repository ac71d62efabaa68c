"""What SciPy's functions make of our arrays, beside what they make of NumPy's.

``SCIPY_ARRAY_API=1`` is set for all tests, so that functions which follow the array API standard
compute with ours, and the others with NumPy's arrays of the same data.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as onp
import pytest

import lazyloom_numpy as np

pytestmark = pytest.mark.usefixtures("quick_compiler")

_rng = onp.random.default_rng(0)
X = _rng.uniform(0.1, 0.9, 12)
A = _rng.standard_normal((4, 4))
S = A @ A.T + 4 * onp.eye(4)


def _given(x: Any, of: Callable[[Any], Any]) -> Any:
    if isinstance(x, onp.ndarray):
        return of(x)
    return tuple([_given(part, of) for part in x]) if isinstance(x, tuple) else x


def _same(found: Any, expected: Any, what: str) -> None:
    if isinstance(expected, tuple):
        assert len(found) == len(expected), what
        for f, e in zip(found, expected, strict=True):
            _same(f, e, what)
        return
    if isinstance(expected, (onp.ndarray, onp.generic)):
        assert found.dtype == expected.dtype and found.shape == expected.shape, what
    close = {"rtol": 1e-4 if getattr(expected, "dtype", None) == "float32" else 1e-7}
    onp.testing.assert_allclose(
        onp.asarray(found), onp.asarray(expected), atol=close["rtol"] * 1e-3, err_msg=what, **close)


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64"])
def test_special(dtype: str) -> None:
    special = pytest.importorskip("scipy.special")
    x = (X if dtype != "int64" else _rng.integers(1, 5, 12)).astype(dtype)
    seen = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in special.__all__:
            function = getattr(special, name)
            if isinstance(function, type) or not callable(function) or name == "ellip_harm_2":
                continue
            for count in (1, 2, 3, 4):
                try:
                    expected = function(*[x.copy() for _ in range(count)])
                except (TypeError, ValueError, IndexError, NotImplementedError):
                    continue  # of so many operands, or of arrays at all
                if count > 1 and name.startswith("spherical"):
                    break  # SciPy itself mixes arrays of two libraries there, and refuses to
                if isinstance(expected, (onp.ndarray, onp.generic, tuple)):
                    found = function(*[np.asarray(x) for _ in range(count)])
                    _same(found, expected, name)
                    seen += 1
                break
    assert seen > 150


LINALG: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys("inv det pinv eigvals svdvals svd lu lu_factor qr rq schur hessenberg expm "
                    "polar null_space orth matrix_balance".split(), (A,)),
    **dict.fromkeys("cholesky cho_factor ldl eigvalsh logm sqrtm pinvh".split(), (S,)),
    **dict.fromkeys("toeplitz circulant companion hankel fiedler".split(), (A[0],)),
    "solve": (A, S[0]), "lstsq": (A, S[0]), "solve_triangular": (onp.triu(S), A[0]),
    "khatri_rao": (A, S), "block_diag": (A, S), "solve_sylvester": (A, S, A), "norm": (A,),
    "solve_continuous_lyapunov": (A, S), "expm_frechet": (A * 0.1, S * 0.1),
}


@pytest.mark.parametrize("name", LINALG)
def test_linalg(name: str) -> None:
    linalg = pytest.importorskip("scipy.linalg")
    function, given = getattr(linalg, name), LINALG[name]
    expected = function(*_given(given, onp.copy))
    _same(function(*_given(given, np.asarray)), expected, name)


def test_signal() -> None:
    signal = pytest.importorskip("scipy.signal")
    b, a = signal.butter(3, 0.3)
    long = _rng.uniform(size=60)
    for name, given in {
            "lfilter": (b, a, X), "filtfilt": (b, a, long), "convolve": (X, X[:5]),
            "fftconvolve": (A, A), "correlate": (X, X), "convolve2d": (A, A[:3, :3]),
            "medfilt": (X,), "savgol_filter": (X, 5, 2), "hilbert": (X,), "detrend": (X,),
            "resample": (X, 6), "resample_poly": (X, 3, 2), "decimate": (long, 2), "freqz": (b, a),
            "tf2zpk": (b, a), "tf2sos": (b, a), "periodogram": (X,), "find_peaks": (X,),
            "lfilter_zi": (b, a), "sawtooth": (X,), "argrelmax": (X,), "czt": (X,)}.items():
        function = getattr(signal, name)
        expected, found = function(*given), function(*_given(given, np.asarray))
        if name == "find_peaks":
            expected, found = expected[0], found[0]
        _same(found, expected, name)


def test_sparse_linalg() -> None:
    sparse = pytest.importorskip("scipy.sparse")
    linalg = pytest.importorskip("scipy.sparse.linalg")
    v = A[0]
    for matrix in (S, sparse.csr_array(S)):
        for name in ("cg", "bicg", "bicgstab", "gmres", "minres", "lgmres", "qmr", "tfqmr"):
            function = getattr(linalg, name)
            expected = function(matrix, v, rtol=1e-12)
            given = np.asarray(S) if matrix is S else matrix
            _same(function(given, np.asarray(v), rtol=1e-12), expected, name)
    _same(linalg.spsolve(sparse.csc_array(S), np.asarray(v)), onp.linalg.solve(S, v), "spsolve")
    _same(linalg.expm_multiply(np.asarray(A), np.asarray(v)), linalg.expm_multiply(A, v), "expm")
