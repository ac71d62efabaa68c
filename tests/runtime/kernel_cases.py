"""Host kernels beside the definitions of their ops: cases, and what is wrong with a result."""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from lazyloom.host import build
from lazyloom.ops.samples import Sample, random_source
from lazyloom.ops.spec import OpDef
from lazyloom.trace.specs import Spec
from lazyloom.types import TensorType
from tests import quick_options
from tests.ops.checks import type_of

#: samples of an op whose vjp is compared
VJPS = 4
#: and in how many without ``--thorough``
VJPS_AT_ONE = 2
#: samples of an op whose kernel is compared without ``--thorough``; the conformance tests run all
#: of them op by op
SAMPLES_AT_ONE = 8
#: units in the last place of the largest result (and 1), times the op's own tolerance
ULPS = 16
#: the vjp of a sum of products cancels more
VJP_ULPS = 64
#: the distance from 1 to the next number, of the dtypes that are computed in a wider one
NARROW_EPS = {"float16": 2.0**-10, "bfloat16": 2.0**-7}


class Case(NamedTuple):
    """An op at operands.

    Attributes:
        run: the kernel, as a function of the operands that are there.
        in_blocks: the kernel that computes in the smallest blocks, and products on several
            threads, if it has any.
        shared: of each result, whether it may be an operand's memory.
        fn: the definition, as a function of the same operands.
    """

    label: str
    types: tuple[TensorType, ...]
    operands: list[np.ndarray]
    run: Callable[..., Any]
    in_blocks: Callable[..., Any] | None
    shared: tuple[bool, ...]
    fn: Callable[..., Any]
    ulps: float


def of_every_dtype(all_samples: list[Sample], most: int) -> list[Sample]:
    """So many of an op's samples: of each combination of dtypes the first, then the second, ..."""
    seen: Counter[Any] = Counter()
    ranks = []
    for sample in all_samples:
        dtypes = tuple(None if o is None else o.dtype for o in sample.operands)
        ranks.append(seen[dtypes])
        seen[dtypes] += 1
    order = sorted(range(len(ranks)), key=lambda k: (ranks[k], k))[:most]
    return [all_samples[k] for k in sorted(order)]


def vjp_of(op: OpDef, spec: Spec, sample: Sample) -> tuple[Spec, list[Any]] | None:
    """The op's vjp by all operands that have one, and its operands."""
    types = tuple(None if o is None else type_of(o) for o in sample.operands)
    argnums = build.differentiable_operands(op, types)
    derived = build.vjp_of(spec, types, argnums) if argnums else None
    if derived is None:
        return None
    vjp, all_types = derived
    rng = random_source(op.name + " cotangent")
    given = list(sample.operands)
    for t in all_types[len(types) :]:
        assert t is not None
        cotangent = rng.uniform(-1, 1, t.shape)
        if t.dtype.kind == "c":
            cotangent = cotangent + 1j * rng.uniform(-1, 1, t.shape)
        given.append(np.asarray(cotangent, t.dtype.numpy))
    return vjp, given


def by_definition(all_cases: list[Case]) -> list[list[np.ndarray]]:
    """What the definitions give, in one program."""

    def everything(given: Any) -> Any:
        found = [c.fn(*operands) for c, operands in zip(all_cases, given, strict=True)]
        return [list(f) if isinstance(f, (tuple, list)) else [f] for f in found]

    with jax.enable_x64(True), jax.numpy_dtype_promotion("strict"):
        compiled = quick_options.jit(everything)
        found = jax.device_get(compiled([c.operands for c in all_cases]))
    return [[np.asarray(x) for x in f] for f in found]


def by_kernel(case: Case, run: Callable[..., Any]) -> list[Any]:
    """What a kernel gives, called as a run calls it."""
    # NumPy's scalars for arrays without axes
    given = [x[()] if x.ndim == 0 else x for x in case.operands]
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("error")
        results = run(*given)
    return [results] if len(case.shared) == 1 else list(results)


def difference(got: Any, want: np.ndarray, ulps: float) -> str:
    """How a result differs from what it should be, or ""."""
    if got.dtype != want.dtype or got.shape != want.shape:
        return f"{got.dtype}{list(got.shape)}, expected {want.dtype}{list(want.shape)}"
    got = np.asarray(got)
    eps = NARROW_EPS.get(want.dtype.name, 0.0)
    if eps:
        got, want = got.astype(np.float64), want.astype(np.float64)
    if want.dtype.kind not in "fc":
        if np.array_equal(got, want):
            return ""
        return f"{got.ravel()[:8]}, expected {want.ravel()[:8]}"
    if want.dtype.kind == "c":
        return difference(got.real, want.real, ulps) or difference(got.imag, want.imag, ulps)
    eps = eps or float(np.finfo(want.dtype).eps)
    finite = np.abs(want[np.isfinite(want)])
    # what subtracts sums of numbers of that size
    size = min(1.0, float(finite.max(initial=0.0)))
    with np.errstate(all="ignore"):
        same = (got == want) | (np.isnan(got) & np.isnan(want))
        error = np.where(same, 0, np.abs(got - want) / (np.abs(want) + size) / eps)
    worst = float(np.max(error, initial=0.0))
    if worst <= ulps:
        return ""
    at = int(np.argmax(np.where(np.isnan(error), math.inf, error)))
    return (f"{got.ravel()[at]!r}, expected {want.ravel()[at]!r}: {worst:.3g} units in the last "
            "place")


def problems(case: Case, run: Callable[..., Any], *expected: Sequence[Any]) -> list[str]:
    """What is wrong with what a kernel gives, beside each list of results that are expected."""
    before = [x.copy() for x in case.operands]
    try:
        results = by_kernel(case, run)
    except Exception as error:
        return [f"{case.label}: {type(error).__name__}: {error}"]
    wrong = []
    for right in expected:
        for got, want, t in zip(results, right, case.types, strict=True):
            assert (want.shape, want.dtype) == (t.shape, t.dtype.numpy), case.label
            text = difference(got, np.asarray(want), case.ulps)
            if text:
                wrong.append(f"{case.label}: {text}")
    for got, shared in zip(results, case.shared, strict=True):
        if not shared and any(np.shares_memory(got, x) for x in case.operands):
            wrong.append(f"{case.label}: a result in an operand's memory")
    for x, y in zip(case.operands, before, strict=True):
        assert x.tobytes() == y.tobytes(), f"{case.label} wrote to an operand"
    return wrong
