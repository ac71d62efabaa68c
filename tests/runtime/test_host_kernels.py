"""Every op's host kernel beside the op's definition, compiled by XLA.

On samples of every dtype, with ``--thorough`` on all of the table, and for differentiable ops the
vjp on the first ones. Integers and
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

from lazyloom.counters import counters
from lazyloom.host import blocks, find, parts, per_parameter, windows
from lazyloom.host.kernels import kernel_text
from lazyloom.host.loading import load
from lazyloom.host.primitives import products
from lazyloom.host.routines import power
from lazyloom.host.special import erf, erfc
from lazyloom.host.subnormals import flushing
from lazyloom.host.writer import Unsupported, released
from lazyloom.jaxprs.op_definitions import function_of
from lazyloom.jaxprs.tracing import trace
from lazyloom.ops.samples import samples
from lazyloom.ops.spec import OpDef, lookup, table
from lazyloom.trace.specs import Spec, spec_of
from tests.ops.checks import type_of
from tests.runtime.kernel_cases import (
    SAMPLES_AT_ONE,
    ULPS,
    VJP_ULPS,
    VJPS,
    VJPS_AT_ONE,
    Case,
    by_definition,
    difference,
    of_every_dtype,
    problems,
    vjp_of,
)

pytestmark = [
    pytest.mark.xla, pytest.mark.once("kernels are texts that are made outside the core")]

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
        patch.setattr(blocks, "BLOCKS_FROM_ELEMENTS", 1)
        patch.setattr(blocks, "BLOCK", 2)
        patch.setattr(products, "LONG", 1)
        other = kernel_text(traced)
    in_blocks = None
    if other != text or any(f"{name}(" in text for name in IN_PARTS):
        in_blocks, also = load(other)
        assert also == shared, label
    given = [np.array(o) for o in operands if o is not None]
    for x in given:
        x.flags.writeable = False
    return Case(label, spec.infer(types), given, run, in_blocks, shared, fn, ulps)


def cases(op: OpDef, missing: Counter[str], thorough: bool) -> Iterator[Case]:
    """The op's samples, and the vjp of the first ones; ``missing`` counts those without kernel."""
    vjps = 0
    most_vjps = VJPS if thorough else VJPS_AT_ONE
    chosen = list(samples(op))
    for sample in chosen if thorough else of_every_dtype(chosen, SAMPLES_AT_ONE):
        spec = spec_of(op, sample.attributes, len(sample.operands))
        label = f"{op.name}: {sample!r}"
        try:
            yield case_of(label, spec, sample.operands, ULPS * op.tolerance)
        except Unsupported as error:
            missing[str(error)] += 1
            continue
        by_hand = find.written_by_hand(spec, tuple(type_of(o) for o in sample.operands))
        if by_hand is not None:
            made = case_of(label, spec, sample.operands, ULPS * op.tolerance)
            yield made._replace(label=f"{label} by hand", run=by_hand.run, in_blocks=None,
                                shared=by_hand.shared)
        if vjps < most_vjps and op.derivative.differentiable and sample.smooth:
            derived = vjp_of(op, spec, sample)
            if derived is not None:
                vjps += 1
                try:
                    yield case_of(f"{label} vjp", *derived, VJP_ULPS * op.tolerance)
                except Unsupported as error:
                    missing[str(error)] += 1


@pytest.mark.slow
def test_kernels_give_what_definitions_give(op_names: list[str], thorough: bool) -> None:
    wrong: list[str] = []
    missing: Counter[str] = Counter()
    compared = blocked = 0
    for name in op_names:
        found = list(cases(lookup(name), missing, thorough))
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


STEPS = [op.name for op in table().values() if op.family == "optimizer_step"]


@pytest.mark.parametrize("name", STEPS)
def test_a_step_for_many_parameters_is_one_for_each(name: str) -> None:
    op = lookup(name)
    composed = 0
    for sample in samples(op):
        numbers = len(op.operands) - 1
        given = [np.asarray(o) for o in sample.operands]
        if given[numbers].dtype not in (np.float32, np.float64):
            continue
        first, tensors = given[:numbers], given[numbers:]
        results = spec_of(op, sample.attributes, len(given)).infer(
            tuple(type_of(o) for o in given))
        if len(tensors) == len(results) - op.signature.outputs.index("parameters") + 1:
            # of one parameter
            given = [*first, *(y for x in tensors for y in (x, x + x[:1], x[None]))]
        spec = spec_of(op, sample.attributes, len(given))
        types = tuple(type_of(o) for o in given)
        one, _ = load(find.text_of(spec, types))
        kernel = find.kernel_of(spec, types)
        assert kernel is not None
        composed += kernel.run.__module__ == per_parameter.__name__
        for got, want, t, shared in zip(
                *(r if isinstance(r, tuple) else (r,) for r in (
                    kernel.run(*given), one(*given))), spec.infer(types), kernel.shared,
                strict=True):
            assert (got.shape, got.dtype) == (t.shape, t.dtype.numpy)
            assert not difference(got, np.asarray(want), ULPS * op.tolerance)
            assert shared or not any(np.shares_memory(got, x) for x in given)
    assert composed


@pytest.mark.parametrize("n", [2, 3, 7, 20, 70])
@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
@pytest.mark.parametrize(("name", "square"), [
    ("eigh", True), ("eig", True), ("svd", False), ("svd_full", False), ("qr", False)])
def test_vectors_have_the_signs_of_compiled_ones(
    name: str, square: bool, dtype: Any, n: int
) -> None:
    rng = np.random.default_rng(n)
    for x in (rng.normal(size=(2, n, n if square else n + 2)),
              np.round(2 * rng.normal(size=(2, n, n if square else n + 2)))):
        if np.dtype(dtype).kind == "c":
            x = x + 1j * rng.normal(size=x.shape)
        case = case_of(name, spec_of(lookup(name), {}, 1), [x.astype(dtype)], 1.0)
        for found, wanted in zip(
            case.run(*case.operands), by_definition([case])[0], strict=True
        ):
            np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9 * n)


@pytest.mark.parametrize("name", ["eig", "eigvals", "slogdet"])
@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1e155, 1e300])
def test_matrices_far_from_one_have_what_they_should(name: str, scale: float) -> None:
    x = np.array([[1.0, 2.0], [3.0, 5.0]]) * scale
    wanted: list[Any] = [np.linalg.eigvals(x)] if name != "slogdet" else list(np.linalg.slogdet(x))
    case = case_of(name, spec_of(lookup(name), {}, 1), [x], 1.0)
    found = case.run(*case.operands)
    for results in (found if isinstance(found, tuple) else (found,), by_definition([case])[0]):
        # eigenvalues in any order, of eig without the vectors
        for r, w in zip(results, wanted, strict=False):
            np.testing.assert_allclose(np.sort(np.ravel(r)), np.sort(np.ravel(w)), rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("name", ["exp", "log", "sqrt"])
def test_complex_functions_are_of_one_class_with_definitions(name: str, dtype: Any) -> None:
    tiny = np.finfo(dtype).tiny
    parts = np.array([0.0, -0.0, 1, -1, 0.5, 1e-3, -80, 80, np.inf, -np.inf, np.nan, tiny,
                      1 / tiny])
    x = (parts[:, None] + 0j).repeat(len(parts), 1)
    x.imag = parts
    case = case_of(name, spec_of(lookup(name), {}, 1), [x.astype(dtype)], 1.0)
    with flushing(), np.errstate(all="ignore"):
        found = np.asarray(case.run(*case.operands))
    wanted = by_definition([case])[0][0]
    for part in ("real", "imag"):
        a, b = getattr(found, part), getattr(wanted, part)
        for same in (np.isnan, np.isinf, lambda v: v == 0, lambda v: np.signbit(v) & ~np.isnan(v)):
            differ = same(a) != same(b)
            assert not differ.any(), (case.operands[0][differ], a[differ], b[differ])


def test_one_matrix_that_has_no_decomposition_is_nan_alone() -> None:
    x = np.random.default_rng(0).normal(size=(3, 4, 4))
    x[1, 2, 2] = np.nan
    for name in ("svd", "svdvals", "eigh", "eigvals", "cholesky"):
        y = np.matmul(x, x.swapaxes(-1, -2)) if name == "cholesky" else x
        case = case_of(name, spec_of(lookup(name), {}, 1), [y], 1.0)
        found = case.run(*case.operands)
        for r in found if isinstance(found, tuple) else (found,):
            finite = np.isfinite(r).reshape((3, -1))
            assert finite[[0, 2]].all() and not finite[1].all(), name


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.complex128])
@pytest.mark.parametrize("name", ["stack", "concatenate"])
def test_any_number_of_arrays_is_joined_without_a_trace(name: str, dtype: Any) -> None:
    op = lookup(name)
    rng = np.random.default_rng(3)
    before = counters["host_kernels"]
    compared = []
    for shape, axis in (((), 0), ((2,), -1), ((2, 3), 0), ((2, 3), 1), ((0, 3), -2)):
        if not shape and name == "concatenate":
            continue
        for count in (2, 13, 40):
            xs = [np.asarray(rng.integers(0, 9, shape), dtype) for _ in range(count)]
            if name == "concatenate" and count > 2:
                xs[1] = np.repeat(xs[1], 2, axis)
            spec = spec_of(op, {"axis": axis}, count)
            types = tuple(type_of(x) for x in xs)
            if count > 12:
                compared.append((spec, types, xs))
            if dtype is np.int64:
                continue
            (out,) = spec.infer(types)
            g = np.asarray(rng.integers(0, 9, out.shape), dtype)
            vjp = op.derive("vjp")
            for argnums in (tuple(range(count)), (1,), tuple(range(0, count, 3))):
                own = dict(zip(vjp.own, (count, argnums, (0,)), strict=True))
                compared.append((spec_of(vjp, {"axis": axis, **own}, count + 1), (*types, out),
                                 [*xs, g]))
    found = [find.kernel_of(spec, types) for spec, types, _ in compared]
    assert counters["host_kernels"] == before
    for kernel, (spec, types, operands) in zip(found, compared, strict=True):
        assert kernel is not None
        run, _ = load(find.text_of(spec, types))
        case = Case(str(spec), spec.infer(types), operands, kernel.run, None, kernel.shared,
                    function_of(spec, types), 0.0)
        given = run(*operands)
        expected = [np.asarray(x) for x in (given if isinstance(given, tuple) else (given,))]
        assert not problems(case, kernel.run, expected)


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


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("exponents", [0.5, [0.5], [[0.5], [0.5]], [0.5, 0.25, 0.5, -0.5]])
def test_powers_with_the_exponent_a_half_are_no_square_roots(dtype: Any, exponents: Any) -> None:
    """NumPy takes the root where the exponent is one number; zeros and infinities differ."""
    import jax

    x = np.array([[-0.0, -np.inf, np.inf, 0.0], [4.0, -1.0, np.nan, 0.25]], dtype)
    given = np.asarray(exponents, dtype)
    y = np.broadcast_to(given, x.shape)
    run, _ = load(kernel_text(trace(
        lambda a, b: jax.lax.pow(a, jax.numpy.broadcast_to(b, a.shape)),
        [(x.shape, dtype), (given.shape, dtype)])))
    with np.errstate(all="ignore"):
        found = np.asarray(run(x, given[()]))
        expected = [[math.nan if math.isnan(a) or a < 0 and not math.isinf(a) else
                     math.pow(a, b) if a or b > 0 else math.inf
                     for a, b in zip(r, s)] for r, s in zip(x.tolist(), y.tolist())]
    assert found.dtype == x.dtype
    np.testing.assert_array_equal(found, np.array(expected, dtype))
    np.testing.assert_array_equal(np.signbit(found[0]), [False] * 4)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_powers_that_are_flushed_keep_their_sign(dtype: Any) -> None:
    """C's own, which NumPy calls for float64, gives 0.0 for what would be subnormal."""
    # in float64 subnormal, which is flushed; and too small in both
    x = np.repeat(np.array([-143, -144, -201, 143, -np.inf, -3], dtype), 11)
    with flushing(), np.errstate(all="ignore"):
        found = power(x, x)
    small = np.abs(x) > 3
    np.testing.assert_array_equal(np.signbit(found)[small], ((x < 0) & (x % 2 == 1))[small])
    assert (found[small] == 0).sum() == 44 and not (found[~small] == 0).any()


def test_float16_is_infinite_where_a_step_leaves_it() -> None:
    """Though kernels compute in float32, in which the differences and squares are numbers."""
    import jax

    def steps(x: Any, y: Any) -> Any:
        lax = jax.lax
        return (x + (y - x) * x.dtype.type(0.25), lax.sqrt(x * x), lax.exp(x) / lax.exp(x),
                lax.cumsum(x) - x, lax.dot(x, x) * x.dtype.type(1e-5), jax.numpy.sinh(x) * 0)

    x, y = np.array([4e4, 3, 4e4, -2], np.float16), np.array([-4e4, 1, 2, 3], np.float16)
    run, _ = load(kernel_text(trace(steps, [((4,), np.float16)] * 2)))
    with jax.enable_x64(True):
        expected = [f(x, y) for f in [
            jax.jit(lambda x, y, k=k: steps(x, y)[k]) for k in (0, 3, 4, 5)]]
    with np.errstate(all="ignore"):
        found = run(x, y)
    for k, wanted in zip((0, 3, 4, 5), expected, strict=True):
        np.testing.assert_array_equal(np.isfinite(found[k]), np.isfinite(np.asarray(wanted)))
        np.testing.assert_array_equal(np.isnan(found[k]), np.isnan(np.asarray(wanted)))
    assert np.isneginf(found[0][0]) and np.isposinf(found[1]).tolist() == [True, False] * 2
    np.testing.assert_array_equal(np.isnan(found[2]), [True, False, True, False])


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


@pytest.mark.parametrize(("x", "y", "equation"), [
    ((64, 5), (5, 7), "ij,jk->ki"), ((3, 4, 5), (3, 5, 6), "bij,bjk->bki"),
    ((2, 3, 4), (4, 5, 6), "abi,ijk->jkab"), ((2, 3, 4), (4, 5, 6), "abi,ijk->kabj"),
    ((2, 3, 4), (2, 4, 5), "bij,bjk->kbi"), ((1, 5), (5, 1), "ij,jk->ki"),
])  # fmt: skip
def test_transposed_products_are_in_row_major_order(
    x: tuple[int, ...], y: tuple[int, ...], equation: str
) -> None:
    """Where it is the product's free axes that change places; nothing is copied for it."""
    import jax.numpy as jnp

    traced = trace(lambda a, b: jnp.einsum(equation, a, b), [(x, np.float64), (y, np.float64)])
    run, shared = load(kernel_text(traced))
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal(x), rng.standard_normal(y)
    found = run(a, b)
    np.testing.assert_allclose(found, np.einsum(equation, a, b), rtol=1e-12)
    if equation not in ("abi,ijk->kabj", "bij,bjk->kbi"):
        assert found.flags.c_contiguous
    if len(equation) < 10 or x == (3, 4, 5):
        assert not shared[0]


def test_a_product_that_is_used_twice_is_computed_once() -> None:
    def both(a: Any, b: Any) -> Any:
        product = a @ b
        return product, product.T

    text = kernel_text(trace(both, [((3, 4), np.float32), ((4, 5), np.float32)]))
    assert text.count("dot(") == 1
