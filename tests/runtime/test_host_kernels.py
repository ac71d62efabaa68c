"""Every op's host kernel beside the op's definition, compiled by XLA.

On all samples of the table, and for differentiable ops the vjp on the first ones. Integers and
booleans are equal, other numbers within a few units in the last place of the largest ones that are
summed; types are exact, operands are not written to, and a result whose memory is an operand's says
so. Ops whose steps have no counterpart in NumPy have no kernel, and are counted.
"""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np
import pytest

from lazyloom.backends import parts
from lazyloom.backends.xla.host import blocks, steps, windows
from lazyloom.backends.xla.host.kernels import kernel_text, load
from lazyloom.backends.xla.host.special import erf, erfc
from lazyloom.backends.xla.host.writer import Unsupported, released
from lazyloom.backends.xla.jax_compat import trace
from lazyloom.backends.xla.lowering import function_of
from lazyloom.ops.samples import Sample, random_source, samples
from lazyloom.ops.spec import OpDef, lookup
from lazyloom.trace.specs import Spec, spec_of
from lazyloom.types import TensorType
from tests.ops.checks import FAST, type_of

pytestmark = pytest.mark.xla

#: samples of an op whose vjp is compared
VJPS = 4
#: units in the last place of the largest result (and 1), times the op's own tolerance
ULPS = 16
#: the vjp of a sum of products cancels more
VJP_ULPS = 64
#: the distance from 1 to the next number, of the dtypes that are computed in a wider one
NARROW_EPS = {"float16": 2.0**-10, "bfloat16": 2.0**-7}
#: functions that compute large arrays in parts
IN_PARTS = ("convolution", "reduce_window", "select_and_scatter")


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


def case_of(label: str, spec: Spec, operands: Sequence[Any], ulps: float) -> Case:
    """The kernel of an op at an input. Raises Unsupported."""
    types = tuple(type_of(o) for o in operands)
    fn = function_of(spec, types)
    traced = trace(fn, [(t.shape, t.dtype.numpy) for t in types if t is not None])
    text = kernel_text(traced)
    run, shared = load(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "LARGE", 1)
        patch.setattr(blocks, "BLOCK", 2)
        patch.setattr(steps, "LONG", 1)
        other = kernel_text(traced)
    in_blocks = None
    if other != text or any(f"{name}(" in text for name in IN_PARTS):
        in_blocks, also = load(other)
        assert also == shared, label
    given = [np.array(o) for o in operands if o is not None]
    for x in given:
        x.flags.writeable = False
    return Case(label, spec.infer(types), given, run, in_blocks, shared, fn, ulps)


def cases(op: OpDef, missing: Counter[str]) -> Iterator[Case]:
    """The op's samples, and the vjp of the first ones; ``missing`` counts those without kernel."""
    vjps = 0
    for sample in samples(op):
        spec = spec_of(op, sample.attributes, len(sample.operands))
        label = f"{op.name}: {sample!r}"
        try:
            yield case_of(label, spec, sample.operands, ULPS * op.tolerance)
        except Unsupported as error:
            missing[str(error)] += 1
            continue
        if vjps < VJPS and op.differentiable and sample.smooth:
            derived = vjp_of(op, spec, sample)
            if derived is not None:
                vjps += 1
                try:
                    yield case_of(f"{label} vjp", *derived, VJP_ULPS * op.tolerance)
                except Unsupported as error:
                    missing[str(error)] += 1


def vjp_of(op: OpDef, spec: Spec, sample: Sample) -> tuple[Spec, list[Any]] | None:
    """The op's vjp by all operands that have one, and its operands."""
    last = len(op.operands) - 1
    named = op.differentiable
    argnums = tuple(
        i for i, o in enumerate(sample.operands) if o is not None and o.dtype.kind in "fc"
        and (named is True or op.operands[min(i, last)].name in named))  # type: ignore[operator]
    results = spec.infer(tuple(type_of(o) for o in sample.operands))
    outnums = tuple(i for i, t in enumerate(results) if t.dtype.kind in "fc")
    if not argnums or not outnums:
        return None
    rng = random_source(op.name + " cotangent")
    given = list(sample.operands)
    for i in outnums:
        t = results[i]
        cotangent = rng.uniform(-1, 1, t.shape)
        if t.dtype.kind == "c":
            cotangent = cotangent + 1j * rng.uniform(-1, 1, t.shape)
        given.append(np.asarray(cotangent, t.dtype.numpy))
    vjp = op.derive("vjp")
    attributes = {**sample.attributes, "primals1": len(sample.operands), "argnums1": argnums,
                  "outnums1": outnums}
    return spec_of(vjp, attributes, len(given)), given


def by_definition(all_cases: list[Case]) -> list[list[np.ndarray]]:
    """What the definitions give, in one program."""

    def everything(given: Any) -> Any:
        found = [c.fn(*operands) for c, operands in zip(all_cases, given, strict=True)]
        return [list(f) if isinstance(f, (tuple, list)) else [f] for f in found]

    with jax.enable_x64(True), jax.numpy_dtype_promotion("strict"):
        compiled = jax.jit(everything, compiler_options=FAST)
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


def problems(case: Case, run: Callable[..., Any], expected: list[np.ndarray]) -> list[str]:
    """What is wrong with what a kernel gives."""
    before = [x.copy() for x in case.operands]
    try:
        results = by_kernel(case, run)
    except Exception as error:
        return [f"{case.label}: {type(error).__name__}: {error}"]
    wrong = []
    for got, want, t, shared in zip(results, expected, case.types, case.shared, strict=True):
        assert (want.shape, want.dtype) == (t.shape, t.dtype.numpy), case.label
        text = difference(got, want, case.ulps)
        if text:
            wrong.append(f"{case.label}: {text}")
        if not shared and any(np.shares_memory(got, x) for x in case.operands):
            wrong.append(f"{case.label}: a result in an operand's memory")
    for x, y in zip(case.operands, before, strict=True):
        assert x.tobytes() == y.tobytes(), f"{case.label} wrote to an operand"
    return wrong


@pytest.mark.slow
def test_kernels_give_what_definitions_give(op_names: list[str]) -> None:
    wrong: list[str] = []
    missing: Counter[str] = Counter()
    compared = blocked = 0
    for name in op_names:
        found = list(cases(lookup(name), missing))
        compared += len(found)
        blocked += sum(case.in_blocks is not None for case in found)
        for case, expected in zip(found, by_definition(found) if found else [], strict=True):
            wrong += problems(case, case.run, expected)
            if case.in_blocks is not None:
                with pytest.MonkeyPatch.context() as patch:
                    patch.setattr(windows, "PART", 8)
                    patch.setattr(parts.allowed, "threads", 3)
                    found_wrong = problems(case, case.in_blocks, expected)
                wrong += [f"in blocks: {p}" for p in found_wrong]
    print(compared, "compared;", blocked, "in blocks, too;", missing.total(), "without a kernel:",
          missing.most_common(20))
    assert not wrong, "\n".join(wrong)


def test_error_functions_of_single_precision() -> None:
    """Polynomials for arrays, within a few units in the last place; exact at their ends."""
    x = np.concatenate([
        np.linspace(-6, 8, 4001), np.logspace(-37, 0, 200), [0.0, -0.0, np.inf, -np.inf, np.nan],
    ]).astype(np.float32)  # fmt: skip
    for name, exact in ((erf, math.erf), (erfc, math.erfc)):
        found, expected = name(x), np.array([exact(float(v)) for v in x])
        assert found.dtype == np.float32
        # exp(-x**2) is as far off as the rounding of x**2
        np.testing.assert_allclose(
            found, expected, rtol=4e-6, atol=1e-37, err_msg=name.__name__)
        np.testing.assert_array_equal(
            [bool(b) for b in np.signbit(found)], np.signbit(expected))


def test_what_a_function_of_a_kernel_uses_lasts_as_long_as_the_function() -> None:
    lines = ["    v1 = a0 + 1", "    v2 = a0 + 2", "    v3 = a0 + 3",
             "    def f4(n, b5):", "        return b5 + v1", "    def f6(n, b7):",
             "        return f4(n, b7) + v2", "    v8 = v3 + 1", "    v9 = in_blocks(f6, v8)",
             "    v10 = v9 + 1"]  # fmt: skip
    found = released(lines, {"v1", "v2", "v3", "v8"}, {"v10"})
    at = {name: k for k, line in enumerate(found) if line.startswith("    del")
          for name in line.removeprefix("    del ").split(", ")}
    assert found[at["v3"] - 1] == "    v8 = v3 + 1"
    for name in ("v1", "v2", "v8"):
        assert found[at[name] - 1] == "    v9 = in_blocks(f6, v8)"
