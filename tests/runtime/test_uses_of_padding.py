"""Chains of ops on padded operands, as in models whose batches and sequences have other lengths."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import numpy as np
import pytest
from jax import lax

from lazyloom.backends.xla import jax_compat
from lazyloom.backends.xla.padding.dims import (
    ANY,
    FUNCTIONS,
    Description,
    NotPadded,
    elements,
    named,
    size_at,
)
from lazyloom.backends.xla.padding.lower import (
    Padded,
    PaddedFunction,
    lower_padded,
    padded_function,
)
from lazyloom.backends.xla.padding.program import padded_ops
from lazyloom.backends.xla.padding.rules import RULES
from lazyloom.backends.xla.padding.sizes import SymbolicSizes
from lazyloom.dtypes import float32
from lazyloom.jaxprs import tracing
from lazyloom.jaxprs.op_definitions import function_of
from lazyloom.jaxprs.tracing import trace
from lazyloom.ops.derived import BACKWARD, FORWARD, types_attributes
from lazyloom.ops.samples import random_source
from lazyloom.ops.spec import lookup
from lazyloom.program.extents import at_numbers
from lazyloom.program.padding import Padding
from lazyloom.program.program import Instruction, Structure
from lazyloom.program.stream import Leaf
from lazyloom.trace.specs import Spec, spec_of
from lazyloom.types import TensorType, tensor_type
from tests import quick_options
from tests.ops.checks import type_of
from tests.runtime.garbage import padded_with_garbage, with_padding, without_padding
from tests.runtime.kernel_cases import difference

pytestmark = pytest.mark.xla

ULPS = 64
RNG = random_source("padding")


class Known(NamedTuple):
    """A value without padding, and how its dimensions are padded."""

    data: np.ndarray
    dims: tuple[Description, ...]


def known(data: Any, *dims: str | tuple[str, ...]) -> Known:
    return Known(np.asarray(data), tuple((d,) if isinstance(d, str) else d for d in dims))


def floats(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


class Extents:
    """Applies ops at extents below a bucket, each beside its definition without padding."""

    def __init__(self, extents: Sequence[int], bucket: Sequence[int]) -> None:
        self.extents = tuple(extents)
        self.bucket = tuple(bucket)
        self.conditions: tuple[str, ...] = ()

    def __call__(
        self, name: str, *operands: Known | None, numbers: Sequence[str] = (), **attributes: Any
    ) -> Any:
        """The results, one or a tuple. ``attributes`` are those without padding."""
        return self.applied(spec_of(lookup(name), attributes, len(operands)), operands, numbers)

    def vjp(
        self, name: str, argnums: Sequence[int], *operands: Known | None,
        numbers: Sequence[str] = (), **attributes: Any,
    ) -> Any:
        """The derivatives by these operands; the last operand is the cotangent."""
        op = lookup(name).derive("vjp")
        return self.applied(spec_of(op, {
            **attributes, "primals1": len(operands) - 1, "argnums1": tuple(argnums),
            "outnums1": (0,)}, len(operands)), operands, numbers)

    def by_residuals(
        self, name: str, argnums: Sequence[int], *operands: Known | None,
        numbers: Sequence[str] = (), **attributes: Any,
    ) -> None:
        """The results of an op that emits residuals, and the derivatives from these."""
        op, base = lookup(name), spec_of(lookup(name), attributes, len(operands))
        types = tuple(None if x is None else type_of(x.data) for x in operands)
        found = self.applied(spec_of(op.derive(FORWARD), {
            **attributes, "forward_argnums": tuple(argnums)}, len(operands)), operands, numbers)
        primary = len(base.infer(types))
        # a cotangent may be anything of that shape
        taken = [n for n, t in enumerate(base.infer(types)) if t.dtype.is_inexact]
        given = [*found[primary:], *[found[n] for n in taken]]
        extents = tuple(d[-1] if len(d) == 1 else "*".join(d)
                        for x in operands if x is not None for d in x.dims)
        self.applied(spec_of(op.derive(BACKWARD), {
            **attributes, **types_attributes(types), "backward_argnums": tuple(argnums),
            "backward_outnums": tuple(taken)}, len(given)), given, (*numbers, *extents))

    def at_bucket(
        self, spec: Spec, operands: Sequence[Known | None], numbers: Sequence[str]
    ) -> tuple[Spec, tuple[TensorType | None, ...]]:
        values = named(self.bucket)
        found = at_numbers(spec, tuple(None if x is None else type_of(x.data) for x in operands), (
            *[elements(d, values) for x in operands if x is not None for d in x.dims],
            *[size_at(n, values) if not n.startswith("-") else int(n) for n in numbers]))
        assert found is not None
        return found

    def applied(
        self, spec: Spec, operands: Sequence[Known | None], numbers: Sequence[str]
    ) -> Any:
        present = [x for x in operands if x is not None]
        types = tuple(None if x is None else type_of(x.data) for x in operands)
        dims = tuple(None if x is None else x.dims for x in operands)
        function = padded_function(
            *self.at_bucket(spec, operands, numbers), tuple(numbers), dims, self.bucket)
        padded = [padded_with_garbage(x.data, x.dims, self.bucket, self.extents, RNG)
                  for x in present]
        definition = function_of(spec, types)

        def both(extents: Any, padded: Any, plain: Any) -> Any:
            found = definition(*plain)
            return list(function.call(extents, *padded)), (
                list(found) if isinstance(found, (tuple, list)) else [found])

        with jax.enable_x64(True):
            results, expected = jax.device_get(quick_options.jit(both)(
                np.asarray(self.extents, np.int64), padded, [x.data for x in present]))
        self.conditions = function.conditions
        assert all(eval(c, {**FUNCTIONS, **named(self.extents)}) for c in self.conditions), (
            self.conditions)
        made = []
        for got, want, each in zip(results, expected, function.dims, strict=True):
            valid = without_padding(np.asarray(got), each, self.bucket, self.extents)
            text = difference(valid, np.asarray(want), ULPS)
            assert not text, f"{spec.op.name}: {text}"
            made.append(Known(np.asarray(want), each))
        return made[0] if len(made) == 1 else tuple(made)


@pytest.fixture(params=[(5,), (2,)], ids=str)
def run(request: pytest.FixtureRequest) -> Extents:
    return Extents(request.param, (8,))


def test_valid_elements_of_a_merged_dimension_are_found_again() -> None:
    x = np.arange(6)
    padded = with_padding(x, [("2", "e0")], (5,), (3,), -1)
    assert padded.tolist() == [0, 1, 2, -1, -1, 3, 4, 5, -1, -1]
    assert without_padding(padded, [("2", "e0")], (5,), (3,)).tolist() == x.tolist()


def test_reshapes_merge_and_split(run: Extents) -> None:
    (n,) = run.extents
    x = known(floats(3, n, 4), "3", "e0", "4")
    merged = run("reshape", x, shape=(3 * n, 4), numbers=("3*e0", "4"))
    assert merged.dims == (("3", "e0"), ("4",))
    flat = run("reshape", merged, shape=(12 * n,), numbers=("12*e0",))
    assert flat.dims == (("3", "4*e0"),)
    back = run("reshape", flat, shape=(3, n, 2, 2), numbers=("3", "e0", "2", "2"))
    assert back.dims == (("3",), ("e0",), ("2",), ("2",))
    with pytest.raises(NotPadded, match="a reshape of"):
        run("reshape", merged, shape=(n, 3, 4), numbers=("e0", "3", "4"))
    leading = known(floats(n, 3), "e0", "3")
    assert run("reshape", leading, shape=(3 * n,), numbers=("3*e0",)).dims == (("3*e0",),)


def test_folds_over_a_merged_dimension(run: Extents) -> None:
    (n,) = run.extents
    x = known(floats(4, 3 * n), "4", ("3", "e0"))
    run("softmax", x, axis=1)
    run("softmax", known(floats(3 * n, 4), ("3", "e0"), "4"), axis=0)
    for name in ("sum", "mean", "var", "max", "min", "prod", "logsumexp", "count_nonzero"):
        run(name, x, axes=(1,))
    run("argmax", x, axis=1)
    run("argmin", x, axis=1)
    for reverse in (False, True):
        run("cumsum", x, axis=1, reverse=reverse)
        run("logcumsumexp", x, axis=1, reverse=reverse)
    run("sort", x, axis=1)
    run("sort", x, axis=1, descending=True)
    run("flip", x, axes=(1,))
    cotangent = known(floats(4), "4")
    run.vjp("mean", (0,), x, cotangent, axes=(1,))
    run.vjp("max", (0,), x, cotangent, axes=(1,))


def test_the_sign_of_zero_stays() -> None:
    run = Extents((5,), (8,))
    x = known(np.full((2, 5), -0.0, np.float32), "2", "e0")
    for name in ("sum", "max", "min", "prod"):
        run(name, x, axes=(1,))
    for reverse in (False, True):
        found = run("cumsum", x, axis=1, reverse=reverse)
        function = padded_function(
            *run.at_bucket(spec_of(lookup("cumsum"), {"axis": 1, "reverse": reverse}, 1), [x], ()),
            (), (x.dims,), run.bucket)
        with jax.enable_x64(True):
            (got,) = jax.jit(function.call)(
                np.array([5]), padded_with_garbage(x.data, x.dims, (8,), (5,), RNG))
        assert np.array_equal(np.signbit(np.asarray(got)[:, :5]), np.signbit(found.data))


@pytest.mark.slow
def test_numbers_that_are_none_and_orders_of_them() -> None:
    run = Extents((5,), (8,))
    values = np.array([[np.nan, -np.nan, -np.inf, 1, -np.inf], [-np.inf] * 5], np.float32)
    x = known(values, "2", "e0")
    for name in ("argmax", "argmin", "sort"):
        run(name, x, axis=1)
    for name in ("max", "min", "sum"):
        run(name, x, axes=(1,))
    for k in (1, 3, 5):
        run("top_k", x, k=k, numbers=(str(k),))
    for dtype in (np.int8, np.uint8, np.int64):
        low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
        ints = known(np.array([[low] * 5, [high] * 5, [low, high, 0, 1, low]], dtype), "3", "e0")
        for name in ("argmax", "argmin", "sort"):
            run(name, ints, axis=1)
        for name in ("max", "min", "sum", "prod"):
            run(name, ints, axes=(1,))


def test_attention(run: Extents) -> None:
    (n,) = run.extents
    q, k, v, out = (known(floats(2, 3, n, 4), "2", "3", "e0", "4") for _ in range(4))
    run("scaled_dot_product_attention", q, k, v, None)
    run("scaled_dot_product_attention", q, k, v, None, causal=True)
    mask = known(RNG.random((2, 1, 1, n)) < 0.7, "2", "1", "1", "e0")
    run("scaled_dot_product_attention", q, k, v, mask)
    bias = known(floats(n, n), "e0", "e0")
    run("scaled_dot_product_attention", q, k, v, bias)
    run.vjp("scaled_dot_product_attention", (0, 1, 2), q, k, v, None, out, causal=True)
    run.vjp("scaled_dot_product_attention", (0, 1, 2, 3), q, k, v, bias, out)


def test_attention_to_a_longer_sequence() -> None:
    run = Extents((5, 3), (8, 4))
    q = known(floats(2, 3, 4), "2", "e1", "4")
    k, v = (known(floats(2, 5, 4), "2", "e0", "4") for _ in range(2))
    run("scaled_dot_product_attention", q, k, v, None)
    weights = known(floats(2, 3, 5), "2", "e1", "e0")
    run("matmul", weights, v)
    cotangent = known(floats(2, 3, 4), "2", "e1", "4")
    run.vjp("matmul", (0, 1), weights, v, cotangent)


def test_normalization(run: Extents) -> None:
    (n,) = run.extents
    x, out = (known(floats(3 * n, 4), ("3", "e0"), "4") for _ in range(2))
    weight, bias = known(floats(4), "4"), known(floats(4), "4")
    run("layer_norm", x, weight, bias)
    run.vjp("layer_norm", (0, 1, 2), x, weight, bias, out)
    run.vjp("rms_norm", (0, 1), x, weight, out)
    run("layer_norm", known(floats(3, n), "3", "e0"), known(floats(n), "e0"), None)


def test_losses(run: Extents) -> None:
    (n,) = run.extents
    logits = known(floats(3 * n, 4), ("3", "e0"), "4")
    labels = RNG.integers(0, 4, 3 * n)
    labels[1::3] = -100
    targets = known(labels, ("3", "e0"))
    for reduction in ("mean", "sum", "none"):
        run("cross_entropy", logits, targets, None, reduction=reduction)
    run("cross_entropy", logits, targets, known(floats(4), "4"), label_smoothing=0.1)
    for reduction in ("mean", "sum"):
        run.vjp("cross_entropy", (0,), logits, targets, None, known(np.float32(2)),
                reduction=reduction)
    run.vjp("nll_loss", (0,), logits, targets, None, known(np.float32(2)))
    run("mse_loss", logits, logits)


def test_embedding(run: Extents) -> None:
    (n,) = run.extents
    weight = known(floats(7, 4), "7", "4")
    for dims, shape in (((("3", "e0"),), (3 * n,)), (("3", "e0"), (3, n))):
        at = known(RNG.integers(0, 7, shape).astype(np.int32), *dims)
        run("embedding", weight, at)
        out = known(floats(*shape, 4), *dims, "4")
        run.vjp("embedding", (0,), weight, at, out)
        run.vjp("embedding", (0,), weight, at, out, padding_index=2)
        run("one_hot", at, depth=7, numbers=("7",), dtype="float32")


def test_elements_at_positions(run: Extents) -> None:
    (n,) = run.extents
    at = known(np.array([0, n - 1, -1, n + 3, -9]), "5")
    for x in (known(floats(n, 4), "e0", "4"), known(floats(3 * n, 4), ("3", "e0"), "4")):
        run("take", x, at, axis=0)
        run.vjp("take", (0,), x, at, known(floats(5, 4), "5", "4"), axis=0)
        run("index", x, at, axes=(0,))
    x = known(floats(3, n), "3", "e0")
    along = known(RNG.integers(-n, n, (3, n)), "3", "e0")
    run("take_along_axis", x, along, axis=1)
    run.vjp("take_along_axis", (0,), x, along, known(floats(3, n), "3", "e0"), axis=1)
    for mode in ("set", "add", "multiply", "min", "max"):
        run("index_update", known(floats(n, 4), "e0", "4"), known(floats(2, 4), "2", "4"),
            known(np.array([0, n - 1]), "2"), axes=(0,), mode=mode)
        run("index_update", known(floats(9, 4), "9", "4"), known(floats(n, 4), "e0", "4"),
            known(RNG.permutation(9)[:n], "e0"), axes=(0,), mode=mode)


def test_masks(run: Extents) -> None:
    (n,) = run.extents
    x = known(floats(2, n, n), "2", "e0", "e0")
    run("tril", x, k=0, numbers=("0",))
    run("triu", x, k=1, numbers=("1",))
    run("masked_fill", x, known(RNG.random((n, n)) < 0.5, "e0", "e0"), known(np.float32(-9)))


def test_slices(run: Extents) -> None:
    (n,) = run.extents
    x = known(floats(3, n, 4), "3", "e0", "4")

    def part(start: int, stop: int, start_text: str, stop_text: str) -> None:
        run("slice", x, starts=(0, start, 0), stops=(3, stop, 4), strides=(1, 1, 1),
            numbers=("0", start_text, "0", "3", stop_text, "4"))
        out = known(floats(3, stop - start, 4), "3",
                    "1" if start_text == "e0 - 1" else "e0 - 1", "4")
        run.vjp("slice", (0,), x, out, starts=(0, start, 0), stops=(3, stop, 4),
                strides=(1, 1, 1), numbers=("0", start_text, "0", "3", stop_text, "4"))

    part(1, n, "1", "e0")
    part(0, n - 1, "0", "e0 - 1")
    part(n - 1, n, "e0 - 1", "e0")


def test_positions_that_are_looked_up(run: Extents) -> None:
    (n,) = run.extents
    table = known(floats(6, 4), "6", "4")
    if n <= 6:
        # the table has fewer rows than the bucket
        run("slice", known(floats(8, 4), "8", "4"), starts=(0, 0), stops=(n, 4), strides=(1, 1),
            numbers=("0", "0", "e0", "4"))
    rows = run("iota", shape=(n,), axis=0, dtype="int32", numbers=("e0",))
    assert rows.dims == (("e0",),)
    run("take", table, rows, axis=0)


def test_parts_are_joined(run: Extents) -> None:
    (n,) = run.extents
    a, b = known(floats(2, n), "2", "e0"), known(floats(2, 3), "2", "3")
    assert run("concatenate", a, b, axis=1).dims == (("2",), ("e0 + 3",))
    run("concatenate", b, a, axis=1)
    run("concatenate", a, b, a, axis=1)
    run("concatenate", a, a, axis=0)
    run("pad", a, known(np.float32(7)), low=(0, 1), high=(0, 2), interior=(0, 0),
        numbers=("0", "1", "0", "2"))
    run("pad", a, known(np.float32(7)), low=(0, n), high=(0, 0), interior=(0, 1),
        numbers=("0", "e0", "0", "0"))
    run("pad", a, known(np.float32(7)), low=(0, -1), high=(0, 0), interior=(0, 0),
        numbers=("0", "-1", "0", "0"))
    run("roll", a, shifts=(1,), axes=(1,), numbers=("1",))


def test_a_cache_that_grows() -> None:
    run = Extents((3,), (8,))
    cache, new = known(floats(12, 4), "12", "4"), known(floats(3, 4), "e0", "4")
    zero = known(np.int64(0))
    for start in (0, 5, 9, 11):
        run("dynamic_update_slice", cache, new, known(np.int64(start)), zero)
    for start in (0, 2, 7):
        run("dynamic_update_slice", new, known(floats(1, 4), "1", "4"), known(np.int64(start)),
            zero)
    for start in (0, 2, 7):
        run("dynamic_slice", new, known(np.int64(start)), zero, sizes=(1, 4),
            numbers=("1", "4"))
    for start in (-9, -5, -1, 3):
        # along an axis that is not padded, which a start may lie before
        run("dynamic_slice", new, zero, known(np.int64(start)), sizes=(3, 2),
            numbers=("e0", "2"))


def test_draws_are_those_without_padding(run: Extents) -> None:
    (n,) = run.extents
    key = known(np.array([17, 4], np.uint32), "2")
    for x in (known(floats(3 * n, 4), ("3", "e0"), "4"), known(floats(3, n, 4), "3", "e0", "4")):
        run("dropout", x, key, rate=0.5)
        run.vjp("dropout", (0,), x, key, x, rate=0.5)
    run("random_normal", key, known(np.float32(0)), known(np.float32(1)), shape=(3, n),
        numbers=("3", "e0"))


def test_derivatives_from_residuals(run: Extents) -> None:
    (n,) = run.extents
    x = known(floats(3, n, 4), "3", "e0", "4")
    for axis in (0, 1):
        run.by_residuals("sort", (0,), x, axis=axis)
        run.by_residuals("sort_with_indices", (0,), x, axis=axis)
    run.by_residuals("logcumsumexp", (0,), x, axis=0)
    run.by_residuals("top_k", (0,), x, k=2, numbers=("2",))


@pytest.mark.slow
def test_recurrent_layers_over_any_number_of_steps() -> None:
    run = Extents((5, 3), (8, 4))
    x = known(floats(5, 3, 4), "e0", "e1", "4")
    first = known(floats(3, 6), "e1", "6")
    for name, gates in (("rnn", 1), ("gru", 3), ("lstm", 4)):
        wide = 6 * gates
        weights = [known(floats(wide, k), str(wide), str(k)) for k in (4, 6)]
        biases = [known(floats(wide), str(wide)) for _ in range(2)]
        states = [first, first] if name == "lstm" else [first]
        operands = [x, *states, *weights, *biases]
        run(name, *operands)
        run.by_residuals(name, tuple(range(len(operands))), *operands)


def test_convolutions_of_any_number_of_samples(run: Extents) -> None:
    (n,) = run.extents
    x, w = known(floats(n, 3, 6), "e0", "3", "6"), known(floats(4, 3, 3), "4", "3", "3")
    attributes = {"strides": (1,), "padding_low": (1,), "padding_high": (1,), "dilation": (1,),
                  "input_dilation": (1,)}
    out = run("conv", x, w, **attributes)
    run.vjp("conv", (0, 1), x, w, known(floats(n, 4, 6), *out.dims), **attributes)


def test_windows_of_any_number_of_samples(run: Extents) -> None:
    (n,) = run.extents
    x = known(RNG.permutation(n * 3 * 8).reshape(n, 3, 8).astype(np.float32), "e0", "3", "8")
    for name in ("max_pool", "avg_pool"):
        attributes = {"window": (2,), "strides": (2,), "padding_low": (0,), "padding_high": (0,)}
        out = run(name, x, **attributes)
        assert out.dims == (("e0",), ("3",), ("4",))
        run.vjp(name, (0,), x, known(floats(n, 3, 4), *out.dims), **attributes)


@pytest.mark.slow
def test_windows_over_any_length() -> None:
    run = Extents((11, 3), (16, 4))
    x = known(RNG.permutation(3 * 2 * 11).reshape(3, 2, 11).astype(np.float32), "e1", "2", "e0")
    w = known(floats(4, 2, 3), "4", "2", "3")
    for stride, low, high, dilation in ((1, 1, 1, 1), (2, 0, 1, 1), (3, 2, 0, 2), (1, 0, 0, 1)):
        attributes = {"strides": (stride,), "padding_low": (low,), "padding_high": (high,),
                      "dilation": (dilation,)}
        out = run("conv", x, w, **attributes, input_dilation=(1,))
        assert out.data.shape[2] < 12
        if stride == 1:
            # JAX takes no other with extents that are symbols
            run.vjp("conv", (0, 1), x, w, out, **attributes, input_dilation=(1,))
        run("conv", x, w, **{**attributes, "strides": (1,)}, input_dilation=(2,))
    for name in ("max_pool", "avg_pool"):
        for stride, low, high in ((1, 1, 1), (2, 0, 0), (2, 1, 0), (3, 0, 1)):
            attributes = {"window": (3,), "strides": (stride,), "padding_low": (low,),
                          "padding_high": (high,)}
            out = run(name, x, **attributes)
            run.vjp(name, (0,), x, out, **attributes)


def test_an_infinite_element_stays_where_it_is() -> None:
    run = Extents((7, 6), (10, 8))
    attributes = {"strides": (1, 1), "padding_low": (1, 0), "padding_high": (0, 0),
                  "dilation": (1, 1), "input_dilation": (1, 2)}
    w = known(floats(4, 2, 3, 2), "4", "2", "3", "2")
    for place in ((0, 0), (6, 5), (3, 2)):
        data = floats(3, 2, 7, 6)
        data[(1, 1, *place)] = np.inf
        x = known(data, "3", "2", "e0", "e1")
        out = run("conv", x, w, **attributes)
        # of the kernel's derivative some elements are infinite, and the others are finite
        run.vjp("conv", (1,), x, w, known(floats(*out.data.shape), *out.dims), **attributes)
    run = Extents((5,), (6,))
    kernel = known(floats(4, 2, 5), "4", "2", "e0")
    attributes = {"strides": (1,), "dilation": (1,), "input_dilation": (1,), "padding_high": (0,)}
    data = floats(3, 2, 15)
    data[0, 0, 6] = np.inf
    with pytest.raises(NotPadded, match="with a dynamic kernel to a dynamic size"):
        run("conv", known(data, "3", "2", "3*e0"), kernel, **attributes, padding_low=(0,))


def test_windows_of_a_dynamic_size() -> None:
    x = floats(3, 5)

    def padded(window: int, stride: int) -> np.ndarray:
        """The sums over windows of e0 + ``window`` at every ``stride``-th element."""
        def attempt(symbols: Sequence[Any], _: Sequence[str]) -> PaddedFunction:
            (n,) = symbols
            closed = trace(lambda x: (lax.reduce_window(
                x, np.float32(0), lax.add, (1, n + window), (1, stride), [(0, 0), (0, 0)]),),
                [((3, n), np.float32)])
            return PaddedFunction(closed, SymbolicSizes(symbols, (8,)), [(("3",), ("e0",))],
                [x.dtype], ())

        with jax.enable_x64(True):
            function = tracing.with_symbols(attempt, {"e0": 8})
            (found,) = jax.jit(function.call)(
                np.array([5]), padded_with_garbage(x, [("3",), ("e0",)], (8,), (5,), RNG))
        assert function.dims == ((("3",), ("1",)),)
        return np.asarray(found)

    for stride in (1, 2):
        np.testing.assert_allclose(padded(0, stride), x.sum(1, keepdims=True), rtol=1e-5)
    # one as well, but not over all elements
    with pytest.raises(NotPadded, match="windows that are dynamic"):
        padded(-1, 3)


def test_a_value_that_does_not_vary_takes_any_description(run: Extents) -> None:
    (n,) = run.extents
    ones = run("full", known(np.float32(1)), shape=(3 * n, 4), numbers=("3*e0", "4"))
    assert ones.dims == ((ANY, "3*e0"), ("4",))
    x = known(floats(3 * n, 4), ("3", "e0"), "4")
    assert run("add", ones, x).dims == x.dims
    assert run("sum", ones, axes=(0,)).dims == (("4",),)
    with pytest.raises(NotPadded, match="padded as"):
        run("add", known(floats(3 * n, 4), "3*e0", "4"), x)


def lowered(run: Extents, name: str, *operands: Known, **attributes: Any) -> Padded:
    spec = spec_of(lookup(name), attributes, len(operands))
    bucket, types = run.at_bucket(spec, operands, ())
    return lower_padded(bucket, types, (), tuple(x.dims for x in operands), run.bucket)


def test_text_runs_and_says_whether_it_takes_extents() -> None:
    run = Extents((5,), (8,))
    x = known(floats(3 * 5, 4), ("3", "e0"), "4")
    plain = lowered(run, "exp", x)
    assert not plain.takes_extents and plain.dims == (x.dims,)
    assert lowered(run, "exp", x) is plain
    assert not lowered(run, "softmax", x, axis=1).takes_extents
    assert not lowered(run, "exp", known(floats(3), "3")).takes_extents
    summed = lowered(run, "sum", x, axes=(0,))
    assert summed.takes_extents and summed.dims == ((("4",),),)
    name, text, results = summed.lowered
    assert results == ("tensor<4xf32>",)
    module = "module {\n" + text.replace(f"private @{name}(", "public @main(") + "}\n"
    executable = jax_compat.compile_text(module)
    padded = padded_with_garbage(x.data, x.dims, run.bucket, run.extents, RNG)
    (got,) = executable.execute_sharded(
        [jax_compat.upload(np.array([5])), jax_compat.upload(padded)]
    ).disassemble_into_single_device_arrays()[0]
    np.testing.assert_allclose(np.asarray(got), x.data.sum(0), rtol=1e-5)


def test_a_rule_that_fails_pads_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any) -> Any:
        raise KeyError("size")

    def stops(*_: Any) -> Any:
        raise KeyboardInterrupt

    run = Extents((5,), (8,))
    monkeypatch.setitem(RULES, "sinh", fails)
    with pytest.raises(NotPadded, match="KeyError: 'size'"):
        lowered(run, "sinh", known(floats(5, 19), "e0", "19"))
    monkeypatch.setitem(RULES, "sinh", stops)
    with pytest.raises(KeyboardInterrupt):
        lowered(run, "sinh", known(floats(5, 23), "e0", "23"))


def program(
    name: str, sizes: Sequence[str], lowest: Sequence[int], bucket: Sequence[int],
    **attributes: Any,
) -> Structure:
    """A padded program of one op of one operand."""
    spec = spec_of(lookup(name), attributes, 1)
    x = tensor_type(tuple(size_at(s, named(bucket)) for s in sizes), float32)
    made = Structure((), (x,), Padding(tuple(bucket), tuple(lowest), (tuple(sizes),), ()))
    made._instructions = [Instruction(spec, (Leaf(0),), (x,), spec.infer((x,)))]
    return made


def test_conditions_hold_for_all_extents_of_a_program() -> None:
    # a window has to fit in
    pool = {"window": (3,), "strides": (2,), "padding_low": (0,), "padding_high": (0,)}
    # far more extents than are looked at, of which the condition names one
    sizes, bucket = ("e1", "e2", "e0"), (64, 512, 512)
    (op,) = padded_ops(program("max_pool", sizes, (5, 2, 2), bucket, **pool), [(0, 0)])
    assert any("floordiv" in c for c in op.conditions)
    with pytest.raises(NotPadded, match=r"for extents \{'e0': 2\}, .* does not hold"):
        padded_ops(program("max_pool", sizes, (2, 2, 2), bucket, **pool), [(0, 0)])


def test_what_cannot_be_padded_says_why() -> None:
    run = Extents((5,), (8,))
    for name, text, dims in (
        ("cholesky", "cholesky of matrices of a dynamic size", ("e0", "e0")),
        ("exp", "may be more for smaller extents", ("8 - e0",)),
    ):
        shape = tuple(elements((d,), named(run.bucket)) for d in dims)
        with pytest.raises(NotPadded, match=text):
            lowered(run, name, Known(np.zeros(shape, np.float32), tuple((d,) for d in dims)))
