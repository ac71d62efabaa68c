"""Host kernels that serve any extent, beside the op's definition at the extents.

For samples of every op of the table, and their vjps: one extent, and then all, are made longer
wherever they occur in shapes and attributes, and the form of both is traced with symbols. What that
gives there, at extents further away and at extents that are equal by chance is compared with the
kernel for these types alone, and for an op's first ones with the definition.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

import lazyloom as ll
from lazyloom import settings
from lazyloom.counters import counters
from lazyloom.dtypes import float32
from lazyloom.host import find, shipped
from lazyloom.host.find import form_text
from lazyloom.host.kernels import kernel_text
from lazyloom.host.loading import load, load_family
from lazyloom.jaxprs.op_definitions import function_of
from lazyloom.jaxprs.tracing import trace
from lazyloom.ops.kinds import T
from lazyloom.ops.samples import samples
from lazyloom.ops.spec import OpDef, lookup
from lazyloom.program.extents import at_numbers, form_of, may_vary, outline
from lazyloom.trace.specs import Spec, spec_of
from lazyloom.types import TensorType, tensor_type
from tests.ops.checks import type_of
from tests.runtime.kernel_cases import (
    ULPS,
    VJP_ULPS,
    VJPS,
    VJPS_AT_ONE,
    Case,
    by_definition,
    by_kernel,
    problems,
    vjp_of,
)
from tests.runtime.other_extents import variants

pytestmark = pytest.mark.xla

#: samples of an op that are varied, spread over all, and how many of their vjps; all of them at
#: every variant of the extents, or fewer at one each
SAMPLES, SAMPLES_AT_ONE = 6, 3
#: kernels of an op that are compared with its definition, compiled by XLA
DEFINITIONS = 3


def cases_at(
    label: str, spec: Spec, operands: Sequence[Any], ulps: float, counts: Counter[str],
    only: int | None,
) -> Iterator[tuple[Case, str]]:
    """Cases of an op at all variants of its extents, or at the ``only`` one, counted around.

    With each the text of the kernel for its types alone, where that is known.
    """
    types = tuple(type_of(o) for o in operands)
    _, numbers = outline(spec, types)
    all_others = list(variants(numbers))
    if only is not None and all_others:
        all_others = [all_others[only % len(all_others)]]
    for others in all_others:
        found = at_numbers(spec, types, others[0])
        form = form_of([numbers, others[0]])
        if found is None or form is None:
            continue
        try:
            at_first = own_text(function_of(*found), [
                (t.shape, t.dtype.numpy) for t in found[1] if t is not None])
        except Exception:
            # the definition takes no such operands, or there is no kernel of any kind
            continue
        form.text = form_text(*found, form)
        counts["made" if form.text else "not made"] += 1
        if not form.text:
            counts[f"not made: {spec.op.name}"] += 1
            continue
        of, shared = load_family(form.text)
        for other in dict.fromkeys(others):
            values = form.values(other)
            found = at_numbers(spec, types, other)
            if values is None or found is None:
                continue
            run = of(*values)
            if run is None:
                counts["another kernel"] += 1
                assert other != others[0], label
                continue
            given = [np.resize(o, t.shape) for o, t in zip(operands, found[1], strict=True)
                     if t is not None]
            for x in given:
                x.flags.writeable = False
            case = Case(f"{label} at {other}", found[0].infer(found[1]), given, run, None, shared,
                        function_of(*found), ulps)
            yield case, at_first if other == others[0] else ""


def cases(op: OpDef, counts: Counter[str], thorough: bool) -> Iterator[tuple[Case, str]]:
    of_samples, most_vjps = (SAMPLES, VJPS) if thorough else (SAMPLES_AT_ONE, VJPS_AT_ONE)
    vjps = 0
    given = list(samples(op))
    single = [s for s in given if s.operands and s.operands[0] is not None
              and s.operands[0].dtype == np.float32]
    given = single or given
    for k, sample in enumerate(given[:: -(-len(given) // of_samples)]):
        spec = spec_of(op, sample.attributes, len(sample.operands))
        if not may_vary(spec):
            break
        label = f"{op.name}: {sample!r}"
        only = None if thorough else k
        yield from cases_at(label, spec, sample.operands, ULPS * op.tolerance, counts, only)
        if vjps < most_vjps and op.derivative.differentiable and sample.smooth:
            derived = vjp_of(op, spec, sample)
            if derived is not None:
                vjps += 1
                yield from cases_at(f"{label} vjp", *derived, VJP_ULPS * op.tolerance, counts, only)


def own_text(fn: Any, shaped: Sequence[Any]) -> str:
    """The text of the kernel for these shapes and dtypes alone."""
    return kernel_text(trace(fn, shaped))


def by_own_kernel(case: Case, text: str) -> list[Any]:
    """What the kernel for the operands' types gives."""
    run, _ = load(text or own_text(case.fn, [(x.shape, x.dtype) for x in case.operands]))
    return by_kernel(case, run)


@pytest.mark.slow
@pytest.mark.once("kernels are texts that are made outside the core")
def test_kernels_for_extents_give_what_definitions_give(
    op_names: list[str], thorough: bool
) -> None:
    wrong: list[str] = []
    counts: Counter[str] = Counter()
    for name in op_names:
        found = list(cases(lookup(name), counts, thorough))
        counts["compared"] += len(found)
        defined = by_definition([case for case, _ in found[:DEFINITIONS]]) if found else []
        for number, (case, text) in enumerate(found):
            try:
                expected = [by_own_kernel(case, text), *defined[number : number + 1]]
            except Exception:
                # operands that the op does not take, which its vjp does not check
                counts["no such operands"] += 1
                continue
            wrong += problems(case, case.run, *expected)
    print(counts.most_common(200))
    assert not wrong, "\n".join(wrong)


def spec_and_types(name: str, *shapes: tuple[int, ...], **attributes: Any) -> tuple[
    Spec, tuple[TensorType | None, ...]
]:
    types = tuple(tensor_type(shape, float32) for shape in shapes)
    return spec_of(lookup(name), attributes, len(types)), types


def test_forms_say_how_numbers_go_together() -> None:
    form = form_of([(592, 64, 37, 16, 64), (480, 64, 30, 16, 64)])
    assert form is not None
    assert form.values((608, 64, 38, 16, 64)) == [38]
    assert form.values((608, 64, 39, 16, 64)) is None
    assert form.values((16, 64, 1, 16, 64)) is None, "1 is an extent of its own"
    assert form.values((608, 32, 38, 16, 32)) is None
    # by chance apart by one in both
    chance = form_of([(5, 6), (7, 8)])
    assert chance is not None and chance.values((9, 20)) is None
    both = form_of([(5, 6), (7, 8), (9, 20)])
    assert both is not None and both.values((11, 3)) == [11, 3]
    product = form_of([(3, 5, 15), (4, 7, 28)])
    assert product is not None and product.values((6, 8, 48)) == [6, 8]
    assert form_of([(3, 4), (3, 4)]) is None
    assert form_of([(3, 4), (1, 4)]) is None


def test_one_kernel_serves_all_extents_and_the_next_process(
    monkeypatch: pytest.MonkeyPatch
) -> None:
    # a function in C has its extents beside it
    monkeypatch.setattr(settings, "WITHOUT", settings.WITHOUT | {"c_kernels"})
    rng = np.random.default_rng(3)
    before = counters["host_kernels"]
    families = dict(find._families)
    try:
        for again in range(2):
            find._families.clear()
            runs = set()
            for n in range(2, 60):
                # an op that no other test has at this rank
                spec, types = spec_and_types(
                    "reshape", (5, n, 1, 1, 1, 6), shape=(5, 1, n, 1, 3, 1, 2))
                kernel = find.kernel_of(spec, types)
                assert kernel is not None and kernel.shared == (True,)
                x = rng.standard_normal((5, n, 1, 1, 1, 6)).astype(np.float32)
                assert np.array_equal(kernel.run(x), x.reshape(5, 1, n, 1, 3, 1, 2))
                spec, types = spec_and_types("exp", (5, n, 1, 1, 1, 6))
                kernel = find.kernel_of(spec, types)
                assert kernel is not None
                runs.add(kernel.run)
            # those that do not mention the extent are one object
            assert len(runs) <= 2
            if not again:
                made = counters["host_kernels"] - before
                assert made <= 4
        assert counters["host_kernels"] - before <= made, "the forms are on disk"
    finally:
        find._families.clear()
        find._families.update(families)


def test_what_depends_on_the_extent_has_kernels_of_its_own() -> None:
    x = np.arange(50, dtype=np.float32)
    for n in (10, 20, 30, 50, 49, 2, 1, 0, 45):
        spec, types = spec_and_types("slice", (50,), starts=(0,), stops=(n,))
        kernel = find.kernel_of(spec, types)
        assert kernel is not None
        assert np.array_equal(kernel.run(x), x[:n])
    for n in (3, 5, 50, 100, 2, 150, 0):
        spec, types = spec_and_types("roll", (50,), shifts=(n,))
        kernel = find.kernel_of(spec, types)
        assert kernel is not None
        assert np.array_equal(kernel.run(x), np.roll(x, n))


def test_ops_added_at_run_time_are_traced_for_each_type() -> None:
    def rule(op: Any, types: Any, attrs: Any) -> Any:
        return (types[0],)

    @ll.register_op(rule, T="floating", source="this test")
    def special_at_seven(x: T) -> Any:
        """x, twice where there are seven."""
        return x + x if x.shape[0] == 7 else x

    for n in (5, 6, 7, 8):
        spec, types = spec_and_types("special_at_seven", (n,))
        kernel = find.kernel_of(spec, types)
        assert kernel is not None
        assert kernel.run(np.ones(n, np.float32))[0] == (2 if n == 7 else 1)


@pytest.mark.parametrize(("name", "new"), [("matmul", 0), ("softmax", 1)])
def test_large_arrays_take_a_known_kernel_where_there_is_nothing_to_do_in_blocks(
    name: str, new: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    op = lookup(name)
    monkeypatch.setenv("LAZYLOOM_CACHE", "0")
    monkeypatch.setattr(shipped, "wanted", lambda: False)
    monkeypatch.setattr(find, "_families", {})

    def run(n: int) -> int:
        x = np.random.default_rng(n).normal(size=(n, n)).astype(np.float32)
        operands = [x, x] if name == "matmul" else [x]
        spec = spec_of(op, {}, len(operands))
        before = counters["host_kernels"]
        kernel = find.kernel_of(spec, tuple(type_of(o) for o in operands))
        assert kernel is not None
        expected = np.exp(x - x.max(-1, keepdims=True))
        expected = x @ x if name == "matmul" else expected / expected.sum(-1, keepdims=True)
        np.testing.assert_allclose(kernel.run(*operands), expected, rtol=1e-4, atol=1e-4)
        return counters["host_kernels"] - before

    assert run(3) == run(5) == 1
    assert run(7) == 0
    assert run(300) == new and run(7) == 0
