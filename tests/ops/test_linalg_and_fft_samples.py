"""Every op of linear algebra and every Fourier transform on its samples.

The rule's types are the definition's, its values those of NumPy, and its derivatives the
numerical ones.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.linalg

from lazyloom.errors import ArgumentError, DTypeError, ShapeError
from lazyloom.ops import lookup
from tests.ops import checks

MINE = checks.ops_of("linalg", "factors", "fft")
Array = np.ndarray


def _adjoint(x: Array) -> Array:
    return np.conj(np.swapaxes(x, -1, -2))


def _cholesky(x: Array, *, upper: bool) -> Array:
    return np.linalg.cholesky(x, upper=upper)


def _triangular_solve(a: Array, b: Array, *, left_side: bool, lower: bool, transpose: bool,
                      conjugate: bool, unit_diagonal: bool) -> Array:  # fmt: skip
    a = np.tril(a) if lower else np.triu(a)
    if unit_diagonal:
        a = np.where(np.eye(a.shape[-1], dtype=bool), 1, a)
    a = np.conj(a) if conjugate else a
    a = np.swapaxes(a, -1, -2) if transpose else a
    if left_side:
        return np.linalg.solve(a, b)
    turned = np.linalg.solve(np.swapaxes(a, -1, -2), np.swapaxes(b, -1, -2))
    return np.swapaxes(turned, -1, -2)


def _permutation(pivots: Array, *, size: int) -> Array:
    found = np.broadcast_to(np.arange(size, dtype=np.int32), (*pivots.shape[:-1], size)).copy()
    for at in np.ndindex(pivots.shape[:-1]):
        for i, k in enumerate(pivots[at]):
            found[at][[i, int(k)]] = found[at][[int(k), i]]
    return found


def _lu_factor(x: Array) -> tuple[Array, Array]:
    """Elimination by Gauss with the largest pivot of each column."""
    lu = x.copy()
    steps = min(x.shape[-2:])
    pivots = np.zeros((*x.shape[:-2], steps), np.int32)
    for at in np.ndindex(x.shape[:-2]):
        a = lu[at]
        for i in range(steps):
            p = pivots[at][i] = i + np.argmax(abs(a[i:, i].real) + abs(a[i:, i].imag))
            a[[i, p]] = a[[p, i]]
            a[i + 1:, i] /= a[i, i]
            a[i + 1:, i + 1:] -= np.outer(a[i + 1:, i], a[i, i + 1:])
    return lu, pivots


def _householder_product(a: Array, taus: Array) -> Array:
    m, n = a.shape[-2:]
    found = np.zeros_like(a)
    for at in np.ndindex(a.shape[:-2]):
        q = np.eye(m, dtype=a.dtype)
        for i in range(taus.shape[-1]):
            v = np.where(np.arange(m) > i, a[at][:, i], np.arange(m) == i)
            q = q - taus[at][i] * np.outer(q @ v, v.conj())
        found[at] = q[:, :n]
    return found


def _cholesky_failure(x: Array, *, upper: bool) -> Array:
    full = np.tril(x) + np.swapaxes(np.tril(x, -1).conj(), -1, -2)
    if upper:
        full = np.triu(x) + np.swapaxes(np.triu(x, 1).conj(), -1, -2)
    found = np.zeros(x.shape[:-2], np.int32)
    for at in np.ndindex(x.shape[:-2]):
        minors = [np.linalg.det(full[at][:k, :k]).real > 0 for k in range(1, x.shape[-1] + 1)]
        found[at] = 0 if all(minors) else minors.index(False) + 1
    return found


REFERENCES: dict[str, Any] = {
    "fft": lambda x, *, axes, inverse, norm: (np.fft.ifftn if inverse else np.fft.fftn)(
        x, axes=axes, norm=norm),
    "rfft": lambda x, *, axes, norm: np.fft.rfftn(x, axes=axes, norm=norm),
    "irfft": lambda x, *, axes, length, norm: np.fft.irfftn(
        x, [*(x.shape[a] for a in axes[:-1]), length], axes, norm),
    "qr_raw": lambda x: np.linalg.qr(x, "raw"),
    "lu_factor": _lu_factor, "pivots_to_permutation": _permutation,
    "householder_product": _householder_product, "cholesky_failure": _cholesky_failure,
    "pinv_within": lambda x, atol, rtol, *, hermitian: np.linalg.pinv(
        np.tril(x) + _adjoint(np.tril(x, -1)) if hermitian else x, rcond=1e-6),
    "is_singular": lambda x: np.linalg.det(x) == 0,
    "cholesky": _cholesky, "triangular_solve": _triangular_solve,
    "solve": np.linalg.solve, "slogdet": lambda x: tuple(np.linalg.slogdet(x)),
    "eigvalsh": lambda x, *, upper: np.linalg.eigvalsh(x, "U" if upper else "L"),
    "svdvals": lambda x: np.linalg.svd(x, compute_uv=False),
    "pinv": lambda x, *, rtol: np.linalg.pinv(x),
    "matrix_power": lambda x, *, exponent: np.linalg.matrix_power(x, exponent),
    "matrix_exp": lambda x: scipy.linalg.expm(x),
}  # fmt: skip

#: compared by what they are made of, since their factors are not unique
FACTORS: dict[str, Any] = {
    "qr": lambda q, r: (q @ r, q),
    "svd": lambda u, s, vh: ((u * s[..., None, :]) @ vh, u, _adjoint(vh)),
    "svd_full": lambda u, s, vh: (
        (u[..., :, :s.shape[-1]] * s[..., None, :]) @ vh[..., :s.shape[-1], :], u, vh),
    "eigh": lambda w, v: ((v * w[..., None, :]) @ _adjoint(v), v),
    "eig": lambda w, v: ((v * w[..., None, :]) @ np.linalg.inv(v),),
}

#: complex vectors have any phase; the derivative keeps it still, LAPACK does not
PHASES = ("eigh", "svd", "svd_full")


@pytest.mark.parametrize("name", MINE)
def test_samples(name: str) -> None:
    op = lookup(name)
    reference = REFERENCES.get(name)
    if reference is None and op.reference:
        reference = checks.dotted(op.reference)
    for run in checks.run_all(name):
        checks.check_types(run)
        if not (name in PHASES and run.sample.operands[0].dtype.kind == "c"):
            checks.check_slope(run)
        if name in FACTORS:
            check_factors(name, run)
        else:
            assert reference is not None
            checks.check_values(run, reference)


def check_factors(name: str, run: Any) -> None:
    x = run.sample.operands[0]
    product, *bases = FACTORS[name](*run.results)
    tolerance = 100 * checks.eps(x.dtype)
    np.testing.assert_allclose(product, x, rtol=tolerance, atol=tolerance)
    for basis in bases:
        identity = np.broadcast_to(np.eye(basis.shape[-1]), (*basis.shape[:-2],
                                                             *(basis.shape[-1],) * 2))
        np.testing.assert_allclose(_adjoint(basis) @ basis, identity, atol=tolerance)


@pytest.mark.parametrize("name", PHASES)
def test_derivatives_of_complex_vectors_hold_for_what_no_phase_changes(name: str) -> None:
    import jax

    rng = np.random.default_rng(0)
    x, d = (rng.normal(size=(2, 3, 3)) + 1j * rng.normal(size=(2, 3, 3)))
    with jax.enable_x64(True):
        attributes = lookup(name).canonical_attributes({})

        def loss(t: Any) -> Any:
            v = x + t * d
            v = v + v.conj().T if name == "eigh" else v
            results = lookup(name).fn(v, **attributes)
            return sum(abs(r) ** 2 @ np.arange(1.0, 4.0) @ np.arange(3.0) for r in results
                       if r.ndim == 2)

        slope = jax.jit(jax.grad(loss))(0.0)
        ahead, behind = jax.jit(loss)(1e-6), jax.jit(loss)(-1e-6)
    np.testing.assert_allclose(slope, (ahead - behind) / 2e-6, rtol=1e-6)


ERRORS = [
    ("cholesky", ["float32 2 3"], {}, ShapeError,
     "cholesky: operand 'x' has shape (2, 3), expected square matrices in the last two axes"),
    ("solve", ["float32 3 3", "float32 2 1"], {}, ShapeError,
     "solve: operand 'b' of shape (2, 1) has 2 rows, expected 3 as the matrices of operand 'a' "
     "of shape (3, 3)"),
    ("fft", ["complex64 3 0"], {"axes": (1,)}, ShapeError,
     "fft: operand 'x' has shape (3, 0), of which axis 1 is transformed, expected one point or "
     "more along it"),
    ("fft", ["complex64 3"], {"axes": (0, -1)}, ArgumentError,
     "fft: attribute 'axes' is (0, -1), which names an axis twice; expected distinct axes"),
    ("rfft", ["float32 3"], {"axes": ()}, ArgumentError,
     "rfft: attribute 'axes' is (), expected one axis or more"),
    ("irfft", ["complex64 3"], {"axes": (0,), "length": 6}, ShapeError,
     "irfft: operand 'x' has shape (3,), expected 4 points along axis 0 for attribute 'length' of "
     "6, which is 1 or more"),
    ("eigh", ["float16 3 3"], {}, DTypeError,
     "eigh: operand 'x' has dtype float16, expected float32 or float64 or complex64 or "
     "complex128; cast it first"),
]  # fmt: skip


@pytest.mark.parametrize("name,types,attributes,error,text", ERRORS,
                         ids=[f"{e[0]}-{i}" for i, e in enumerate(ERRORS)])
def test_error(name: str, types: Any, attributes: Any, error: type[Exception], text: str) -> None:
    checks.refuses(name, types, attributes, error, text)
