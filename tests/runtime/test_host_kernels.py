"""Every op's host kernel beside the op's definition, compiled by XLA.

On all samples of the table, and for differentiable ops the vjp on the first ones. Integers and
booleans are equal, other numbers within a few units in the last place of the largest ones that are
summed; types are exact, operands are not written to, and a result whose memory is an operand's says
so. Ops whose steps have no counterpart in NumPy have no kernel, and are counted.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from lazyloom.backends import parts
from lazyloom.backends.xla.host import blocks, steps, windows
from lazyloom.backends.xla.host.kernels import kernel_text, load
from lazyloom.backends.xla.host.special import erf, erfc
from lazyloom.backends.xla.host.writer import Unsupported, released
from lazyloom.backends.xla.jax_compat import trace
from lazyloom.backends.xla.lowering import function_of
from lazyloom.ops.samples import samples
from lazyloom.ops.spec import OpDef, lookup
from lazyloom.trace.specs import Spec, spec_of
from tests.ops.checks import type_of
from tests.runtime.kernel_cases import (
    ULPS,
    VJP_ULPS,
    VJPS,
    Case,
    by_definition,
    problems,
    vjp_of,
)

pytestmark = pytest.mark.xla

#: functions that compute large arrays in parts
IN_PARTS = ("convolution", "reduce_window", "select_and_scatter")


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
