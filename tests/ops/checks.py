"""Running the samples of an op through its definition, in one compilation."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import jax
import ml_dtypes
import numpy as np
import pytest

from lazyloom.dtypes import as_dtype, complex128, float64
from lazyloom.ops.samples import Sample, random_source, samples
from lazyloom.ops.spec import OpDef, lookup, table
from lazyloom.types import TensorType, tensor_type
from tests import quick_options

Reference = Callable[..., Any]
STEP = 1e-6
#: ops that read one triangle of a Hermitian operand, whose derivative is that of Hermitian matrices
HERMITIAN = ("cholesky", "eigh", "eigvalsh")


def ops_of(*modules: str) -> list[str]:
    """Names of the ops that these modules of ``lazyloom.ops`` define."""
    return [n for n, o in table().items() if o.fn.__module__.rpartition(".")[2] in modules]


def type_of(array: np.ndarray | None) -> TensorType | None:
    return None if array is None else tensor_type(array.shape, as_dtype(array.dtype))


def run(name: str, *operands: Any, **attributes: Any) -> np.ndarray:
    """What an op's definition gives for these numbers."""
    op = lookup(name)
    with jax.enable_x64(True):
        given = [None if o is None else jax.numpy.asarray(o) for o in operands]
        return np.asarray(op.fn(*given, **op.canonical_attributes(attributes)))


class Run:
    """One sample with what the rule infers and what the definition computes.

    Attributes:
        inferred: the rule's result types.
        computed: the definition's result types, as text like the rule's.
        results: the definition's results.
        slope: the derivative of a weighted sum of the results along a random
            direction, by ``jax.vjp``; None if it was not asked for.
        numerical: the same by central differences.
    """

    def __init__(self, op: OpDef, sample: Sample) -> None:
        self.op = op
        self.sample = sample
        self.attributes = op.canonical_attributes(sample.attributes)
        self.inferred = op.infer([type_of(o) for o in sample.operands], self.attributes)
        self.computed: list[str] = []
        self.results: list[np.ndarray] = []
        self.slope: float | None = None
        self.numerical: float | None = None

    @property
    def differentiated(self) -> list[int]:
        """Positions of the operands whose gradient is checked."""
        if not self.op.derivative.differentiable or not self.sample.smooth:
            return []
        if not all(t.dtype in (float64, complex128) for t in self.inferred):
            return []
        return [i for i, o in enumerate(self.sample.operands)
                if o is not None and o.dtype in (np.float64, np.complex128)
                and self.op.has_gradient(i)]


def run_all(name: str) -> list[Run]:
    """All samples of an op, run; one compilation for values, derivatives and all."""
    op = lookup(name)
    runs = [Run(op, s) for s in samples(op)]
    rng = random_source(name + " direction")
    directions = [[hermitian(op, r.attributes, _direction(rng, r.sample.operands[i]))
                   for i in r.differentiated] for r in runs]
    weights = [[_direction(rng, np.empty(t.shape, t.dtype.numpy)) for t in r.inferred]
               if r.differentiated else [] for r in runs]

    def everything(operands: Any, directions: Any, weights: Any) -> Any:
        return [_one(r, list(o), d, w)
                for r, o, d, w in zip(runs, operands, directions, weights, strict=True)]

    with jax.enable_x64(True), jax.numpy_dtype_promotion("strict"):
        given = jax.tree.map(jax.numpy.asarray, [r.sample.operands for r in runs])
        compiled = quick_options.jit(everything)
        found = jax.device_get(compiled(given, directions, weights))
    for r, (results, slopes) in zip(runs, found, strict=True):
        r.results = list(results)
        r.computed = [tensor_type(v.shape, as_dtype(v.dtype)).text for v in results]
        if slopes:
            r.slope, r.numerical = (float(v) for v in slopes)
    return runs


def _direction(rng: np.random.Generator, like: Any) -> np.ndarray:
    found = rng.uniform(-1, 1, like.shape)
    if like.dtype.kind == "c":
        found = found + 1j * rng.uniform(-1, 1, like.shape)
    return np.asarray(found, like.dtype)


def hermitian(op: OpDef, attributes: Mapping[str, Any], direction: np.ndarray) -> np.ndarray:
    """The direction, as one among Hermitian matrices if that is what the op is given."""
    if not (op.name in HERMITIAN or attributes.get("hermitian")):
        return direction
    return (direction + np.conj(np.swapaxes(direction, -1, -2))) / 2


def _one(run: Run, operands: list[Any], direction: list[Any], weights: list[Any]) -> Any:
    fn, attributes = run.op.fn, run.attributes

    def call(*given: Any) -> tuple[Any, ...]:
        found = fn(*given, **attributes)
        return found if isinstance(found, tuple) else (found,)

    results = call(*operands)
    at = run.differentiated
    if not at:
        return results, ()

    def loss(some: list[Any]) -> Any:
        given = list(operands)
        for i, v in zip(at, some, strict=True):
            given[i] = v
        return sum(jax.numpy.sum(jax.numpy.real(w * r))
                   for w, r in zip(weights, call(*given), strict=True))

    some = [operands[i] for i in at]
    gradient = jax.grad(loss)(some)
    slope = sum(jax.numpy.sum(jax.numpy.real(g * d))
                for g, d in zip(gradient, direction, strict=True))
    ahead = loss([v + STEP * d for v, d in zip(some, direction, strict=True)])
    behind = loss([v - STEP * d for v, d in zip(some, direction, strict=True)])
    return results, (slope, (ahead - behind) / (2 * STEP))


def dotted(name: str) -> Reference:
    """The function of a dotted NumPy or SciPy name."""
    module, _, function = name.rpartition(".")
    found: Reference = getattr(importlib.import_module(module), function)
    return found


def is_half(dtype: np.dtype) -> bool:
    return dtype in (np.float16, ml_dtypes.bfloat16)


def eps(dtype: np.dtype) -> float:
    return 0.0 if dtype.kind in "biu" else float(ml_dtypes.finfo(dtype).eps)


def check_types(run: Run) -> None:
    assert run.computed == [t.text for t in run.inferred], run.sample


def check_values(run: Run, reference: Reference, *, at_own_dtype: bool = False,
                 signed_zeros: bool = False) -> None:
    """Compare with a NumPy function of (operands, attributes); halves are widened for it."""
    operands = [o.astype(np.float64) if o is not None and is_half(o.dtype) and not at_own_dtype
                else o for o in run.sample.operands]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        expected: Any = reference(*operands, **run.attributes)
        if not isinstance(expected, tuple):
            expected = (expected,)
        expected = [np.asarray(e).astype(t.dtype.numpy)
                    for e, t in zip(expected, run.inferred, strict=True)]
    for got, want in zip(run.results, expected, strict=True):
        assert got.shape == want.shape, run.sample
        if got.dtype.kind in "biu":
            np.testing.assert_array_equal(got, want, err_msg=str(run.sample))
            continue
        scale = eps(got.dtype) * run.op.tolerance
        wide = np.complex128 if got.dtype.kind == "c" else np.float64
        np.testing.assert_allclose(got.astype(wide), want.astype(wide), rtol=4 * scale,
                                   atol=2 * scale, equal_nan=True, err_msg=str(run.sample))
        if signed_zeros and got.dtype.kind not in "c":
            zeros = (got == 0) & (want == 0)
            np.testing.assert_array_equal(np.signbit(got)[zeros], np.signbit(want)[zeros],
                                          err_msg=str(run.sample))


def check_slope(run: Run) -> None:
    if run.slope is not None:
        assert run.numerical is not None
        np.testing.assert_allclose(run.slope, run.numerical, rtol=2e-5, atol=2e-6,
                                   err_msg=str(run.sample))


def infer(name: str, types: list[str | None], attributes: Mapping[str, Any] | None = None) -> Any:
    """The rule's result types, for operand types such as ``"float32 2 3"``."""
    op = lookup(name)
    given = []
    for text in types:
        if text is None:
            given.append(None)
            continue
        dtype, *sizes = text.split()
        given.append(tensor_type(tuple(map(int, sizes)), as_dtype(dtype)))
    return op.infer(given, op.canonical_attributes(attributes or {}))


def refuses(name: str, types: Any, attributes: Any, error: type[Exception], text: str) -> None:
    """Assert that the op's rule raises that error, in these words."""
    with pytest.raises(error) as caught:
        infer(name, types, attributes)
    assert str(caught.value) == text
