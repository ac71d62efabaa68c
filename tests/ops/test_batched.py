"""Mapped ops that are said to be the same ops on one more axis give what these give."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import jax
import numpy as np
import pytest

import lazyloom as ll
from lazyloom import ops
from lazyloom.errors import LoomError
from lazyloom.ops.derived import VJP, VMAP
from lazyloom.ops.derived.batched import batched
from lazyloom.ops.samples import Sample, samples

AXIS = 3


def stacked(x: np.ndarray) -> np.ndarray:
    """Three arrays that differ, as one."""
    return np.stack([np.roll(x.reshape(-1), k).reshape(x.shape) for k in range(AXIS)])


def mapped_positions(sample: Sample) -> list[tuple[int, ...]]:
    there = [k for k, x in enumerate(sample.operands) if x is not None]
    found = [tuple(there), *[(k,) for k in there]]
    if len(there) > 2:
        found += list(itertools.combinations(there, 2))
    return list(dict.fromkeys(found))


def types_of(operands: Any) -> tuple[Any, ...]:
    return tuple(None if x is None else ll.tensor_type(x.shape, ll.dtypes.dtype_named(str(x.dtype)))
                 for x in operands)


def cases(op: ops.OpDef) -> Iterator[tuple[Any, dict[str, Any], tuple[int, ...]]]:
    for sample in itertools.islice(samples(op), 40):
        if not sample.operands or any(
            x is not None and str(x.dtype) in ("bfloat16", "float16") for x in sample.operands
        ):
            continue
        attrs = dict(ll.spec_of(op, sample.attributes, len(sample.operands)).attrs)
        for mapped in mapped_positions(sample):
            yield tuple(stacked(x) if k in mapped and x is not None else x
                        for k, x in enumerate(sample.operands)), attrs, mapped


def run(op: ops.OpDef, operands: Any, attrs: dict[str, Any]) -> list[np.ndarray]:
    with np.errstate(all="ignore"):
        found = op.fn(*[None if x is None else jax.numpy.asarray(x) for x in operands], **attrs)
    return [np.asarray(x) for x in (found if isinstance(found, (tuple, list)) else (found,))]


def close(a: np.ndarray, b: np.ndarray) -> bool:
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    if a.dtype.kind not in "fc":
        return bool(np.array_equal(a, b))
    return bool(np.allclose(a, b, rtol=2e-5, atol=1e-5, equal_nan=True))


FAMILIES: dict[str, list[str]] = {}
for name, entry in ops.table().items():
    FAMILIES.setdefault(entry.family, []).append(name)


def compared(op: ops.OpDef, most: int) -> int:
    """How many mapped calls of an op are batched ones; they give the same."""
    count = 0
    mapped_op = op.derive(VMAP)
    for operands, attrs, mapped in cases(op):
        of_all = {**attrs, mapped_op.own[0]: mapped}
        types = types_of(operands)
        found = batched(mapped_op, of_all, types)
        if found is None:
            continue
        plain, rest = found
        assert plain is op
        spec = ll.spec_of(plain, rest, len(operands))
        try:
            results = spec.infer(types)
        except LoomError:
            continue
        if tuple(results) != tuple(ll.spec_of(mapped_op, of_all, len(operands)).infer(types)):
            continue
        count += 1
        for a, b in zip(run(mapped_op, operands, of_all), run(plain, operands, rest),
                        strict=True):
            assert close(a, b), (op.name, attrs, mapped, [getattr(x, "shape", 0) for x in operands])
        if count == most:
            break
    return count


def known(name: str) -> bool:
    op = ops.table()[name]
    from lazyloom.ops.derived import batched as module

    return op.rule in module._RULES and not op.execution.places


@pytest.mark.parametrize("name", sorted(n for n in ops.table() if known(n)))
def test_a_mapped_op_is_the_same_on_one_more_axis(name: str, thorough: bool) -> None:
    # one computation more is one compilation more
    pointwise = ops.table()[name].family == "elementwise"
    with jax.enable_x64(True):
        assert compared(ops.table()[name], 100 if thorough else 2 if pointwise else 6) > 0


def test_what_is_another_op_is_not_said_to_be_the_same() -> None:
    table = ops.table()
    f32 = ll.dtypes.float32

    def asked(name: str, attrs: dict[str, Any], mapped: tuple[int, ...], *shapes: Any) -> Any:
        op = table[name].derive(VMAP)
        spec = ll.spec_of(table[name], attrs, len(shapes))
        types = [ll.tensor_type(s, f32) for s in shapes]
        return batched(op, {**spec.attrs, op.own[0]: mapped}, types)

    # a vector for each element broadcasts along the wrong axis of a matrix
    assert asked("add", {}, (0, 1), (3, 3), (3, 3, 3)) is None
    assert asked("add", {}, (0,), (3, 3), (3, 3)) is None
    assert asked("add", {}, (0,), (3, 3, 3), (3,)) is not None
    assert asked("matmul", {}, (0, 1), (3, 3), (3, 3)) is None
    assert asked("matmul", {}, (0,), (3, 3, 3), (3, 3)) is not None
    # the axis would not be the first of the result
    products = {"lhs_contract": (1,), "rhs_contract": (0,)}
    assert asked("dot_general", products, (1,), (2, 3), (4, 3, 2)) is None
    assert asked("dot_general", products, (0,), (4, 2, 3), (3, 2)) is not None
    assert asked("cumsum", {"axis": 0}, (0,), (3, 4)) is None
    assert asked("conv", {}, (0, 1), (2, 1, 2, 5), (2, 2, 2, 3)) is None


def test_gradients() -> None:
    """Of an op that is mapped, and of each element by itself."""
    op = ops.table()["matmul"]
    rng = np.random.default_rng(0)
    x, y = (rng.standard_normal(s).astype("f4") for s in ((3, 2, 4), (4, 5)))
    whole = np.stack([y, 2 * y, 3 * y])
    cotangent = rng.standard_normal((3, 2, 5)).astype("f4")
    gradient = {"primals1": 2, "argnums1": (0, 1), "outnums1": (0,)}
    of_mapped, of_each = op.derive(VMAP).derive(VJP), op.derive(VJP).derive(VMAP)

    def asked(op: ops.OpDef, attrs: dict[str, Any], *operands: Any) -> bool:
        found = batched(op, attrs, types_of(operands))
        if found is None:
            return False
        assert found[0] is ops.table()["matmul"].derive(VJP)
        for a, b in zip(run(op, operands, attrs), run(found[0], operands, found[1]), strict=True):
            assert close(a, b)
        return True

    assert asked(of_mapped, {**gradient, "mapped1": (0, 1)}, x, whole, cotangent)
    # what all elements share has one gradient here
    assert asked(of_mapped, {**gradient, "mapped1": (0,)}, x, y, cotangent)
    assert asked(of_each, {**gradient, "mapped1": (0, 1, 2)}, x, whole, cotangent)
    # and one for each element there
    assert not asked(of_each, {**gradient, "mapped1": (0, 2)}, x, y, cotangent)
    assert asked(of_each, {**gradient, "argnums1": (0,), "mapped1": (0, 2)}, x, y, cotangent)
    # mapped twice
    twice = op.derive(VMAP).derive(VMAP)
    assert batched(twice, {"mapped1": (0, 1), "mapped2": (0, 1)}, types_of(
        [np.zeros((2, 3, 4, 5), "f4"), np.zeros((2, 3, 5, 4), "f4")])) == (op, {})


def test_an_op_of_another_package_is_left_as_it_is() -> None:
    def turned(x: Any) -> Any:
        """The last element first."""
        return x[::-1]

    turned.__annotations__["x"] = "T"
    ll.register_op(ops.rules.elementwise, T="any", source="the tests", name="turned_around")(turned)
    try:
        op = ops.table()["turned_around"].derive(VMAP)
        assert batched(op, {"mapped1": (0,)}, [ll.tensor_type((3, 4), ll.dtypes.float32)]) is None
    finally:
        table: Any = ops.table()
        del table["turned_around"]
