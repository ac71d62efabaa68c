"""Equality of bits, and closeness to a reference."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from lazyloom.ops.samples import Sample
from lazyloom.ops.spec import OpDef
from tests.ops import (
    checks,
    test_elementwise_samples,
    test_folds,
    test_linalg_and_fft_samples,
    test_recurrent,
    test_shape_and_network_samples,
    test_windows_and_resampling,
)


def difference(a: np.ndarray, b: np.ndarray) -> str | None:
    """What tells two arrays apart by dtype, shape or bits; every NaN equals every other."""
    if a.dtype != b.dtype or a.shape != b.shape:
        return f"{a.dtype}{list(a.shape)} against {b.dtype}{list(b.shape)}"
    if a.dtype.kind == "c":
        a, b = (np.stack([x.real, x.imag], -1) for x in (a, b))
    unequal = _bits(a) != _bits(b)
    if a.dtype.kind not in "biu":
        unequal &= ~(np.isnan(a) & np.isnan(b))
    if not unequal.any():
        return None
    place = tuple(int(i) for i in np.argwhere(unequal)[0])
    return f"{int(unequal.sum())} elements differ, first {place}: {a[place]!r} and {b[place]!r}"


def _bits(x: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(x).view(f"u{x.dtype.itemsize}").reshape(x.shape)


type_of = checks.type_of



def _first_out_of_range(indices: np.ndarray, *, size: int, negative: bool) -> np.ndarray:
    least = -size if negative else 0
    bad = [i for i in indices.reshape(-1).tolist() if not least <= i < size]
    return np.array(bad[0] if bad else 0)


def _first_invalid_label(
    labels: np.ndarray, *, size: int, ignore_index: int | None
) -> np.ndarray:
    bad = [i for i in labels.reshape(-1).tolist() if not 0 <= i < size and i != ignore_index]
    return np.array(bad[0] if bad else 0)


OWN: dict[str, Any] = {
    "identity": lambda x: x, "straight_through": lambda x, y: y,
    "custom": lambda *x, results: x[0] if results == 1 else x[:results],
    "await_all": lambda *x, results: x[0] if results == 1 else x[:results],
    "barrier": lambda *x: x[0] if len(x) == 1 else x,
    "checked": lambda x, flag, **_: (x, flag), "first_out_of_range": _first_out_of_range,
    "first_invalid_label": _first_invalid_label,
}  # fmt: skip

#: compared by what they are made of, since their factors are not unique
FACTORED = frozenset(test_linalg_and_fft_samples.FACTORS)


def reference_of(op: OpDef) -> Any:
    """The NumPy or SciPy function of an op's operands and attributes, or None."""
    modules = (test_elementwise_samples, test_shape_and_network_samples, test_folds,
               test_linalg_and_fft_samples, test_recurrent, test_windows_and_resampling)
    for table in (OWN, *(m.REFERENCES for m in modules)):
        if op.name in table:
            return table[op.name]
    return checks.dotted(op.reference) if op.reference else None


def check_reference(op: OpDef, sample: Sample, results: list[np.ndarray]) -> None:
    """Compare results with the reference, within the tolerance of ``tests/ops/checks.py``.

    That is 4 units in the last place times the entry's ``tolerance``; integers are exact. The
    reference of half-precision operands is computed in float64.
    """
    attributes = op.canonical_attributes(sample.attributes)
    run: Any = SimpleNamespace(
        op=op, sample=sample, results=results, attributes=attributes,
        inferred=op.infer([checks.type_of(o) for o in sample.operands], attributes))
    checks.check_types(SimpleNamespace(
        computed=[checks.type_of(r).text for r in results], inferred=run.inferred, sample=sample))
    if op.name in test_linalg_and_fft_samples.FACTORS:
        test_linalg_and_fft_samples.check_factors(op.name, run)
        return
    reference = reference_of(op)
    if reference is not None:
        checks.check_values(
            run, reference, at_own_dtype=op.name in test_elementwise_samples.OWN_DTYPE,
            signed_zeros=op.name in test_elementwise_samples.SIGNED_ZEROS)
