"""Every op of the table mapped, against a loop over its elements, and its jvp, against its vjp.

Many ops are checked in one program: compiling is all the time these tests take.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

import lazyloom as ll
from lazyloom.dtypes import complex128
from lazyloom.ops.samples import Host, Sample, random_source, samples
from lazyloom.ops.spec import OpDef, lookup, table

SIZE = 2

pytestmark = [
    pytest.mark.usefixtures("quick_compiler"),
    pytest.mark.once("one case an op: that the core transforms, its own tests show")]

def preference(sample: Sample) -> tuple[int, ...]:
    """Which of an op's samples to take: real numbers first, of some dimensions."""
    arrays = [o for o in sample.operands if o is not None]
    first = arrays[0]
    return (
        any(0 in o.shape for o in arrays),
        -sum(o.dtype == np.float64 for o in arrays),
        -sum(o.dtype == np.float32 for o in arrays),
        not sample.smooth,
        not first.shape,
        -len(arrays),
    )


def chosen(name: str) -> Sample | None:
    """The sample to check an op with; None for one without operands."""
    usable = [s for s in samples(lookup(name)) if any(o is not None for o in s.operands)]
    return min(usable, key=preference) if usable else None


def other(x: Host, k: int) -> Host:
    """Operand number ``k`` of a batch: other data that the op takes as well."""
    if x.dtype.kind in "fcV":
        return np.asarray(x * np.asarray(1 - 0.03 * k, x.dtype)).astype(x.dtype)
    return np.roll(x.reshape(-1), k).reshape(x.shape)


def together(results: Sequence[Any]) -> list[Host]:
    """The data of values, read from one program."""
    flat = [
        ll.record("reshape", [ll.record("cast", [v], {"dtype": complex128})], {"shape": (-1,)})
        for v in results]
    data = ll.record("concatenate", flat, {"axis": 0}).read()
    found, at = [], 0
    for v in results:
        found.append(data[at : at + v.type.size].reshape(v.shape))
        at += v.type.size
    return found


def call(op: OpDef, operands: Sequence[Any], attributes: dict[str, Any]) -> tuple[Any, ...]:
    found = ll.apply(op, operands, attributes)
    return found if isinstance(found, tuple) else (found,)


def tensors(operands: Sequence[Host | None]) -> list[Any]:
    return [None if o is None else ll.Tensor(ll.from_host(o)) for o in operands]


def mappings(arrays: Sequence[int]) -> Iterator[tuple[tuple[int, ...], int]]:
    """The operands to map, and which element of the batch to look at.

    All operands; of several also the last alone.
    """
    yield tuple(arrays), 1
    if len(arrays) > 1:
        yield (arrays[-1],), 0


def is_slow_sampler(op: OpDef) -> bool:
    """Loops that draw until something fits: XLA needs seconds for one, so they are not run."""
    return op.execution.heavy and op.name.startswith("random_") and op.name != "random_permutation"


def mapped(op: OpDef, sample: Sample, at: Sequence[int]) -> tuple[Any, list[list[Any]]]:
    """An op mapped over these operands of a sample, and the operands of each element."""
    batch = [[other(o, k) if i in at and o is not None else o
              for i, o in enumerate(sample.operands)] for k in range(SIZE)]
    given = tensors([
        np.stack([b[i] for b in batch]) if i in at else o  # type: ignore[misc]
        for i, o in enumerate(sample.operands)])
    axes = tuple(0 if i in at else None for i in range(len(given)))
    return ll.vmap(lambda *o: call(op, o, sample.attributes), axes)(*given), batch


def test_mapped_ops_do_what_a_loop_does(op_names: list[str]) -> None:
    names: list[str] = []
    whole: list[Any] = []
    parts: list[Any] = []
    for name in op_names:
        sample = chosen(name)
        op = lookup(name)
        # what has effects is not mapped
        if sample is None or is_slow_sampler(op) or op.execution.effect:
            continue
        arrays = [i for i, o in enumerate(sample.operands) if o is not None]
        for at, element in mappings(arrays):
            results, batch = mapped(op, sample, at)
            single = call(op, tensors(batch[element]), sample.attributes)
            for r, result in enumerate(results):
                assert result.value.shape[0] == SIZE
                names.append(f"{name} mapped over {at}, result {r}")
                rest = single[r].type.shape
                whole.append(ll.record("slice", [result.value], {
                    "starts": (element, *[0] * len(rest)), "stops": (element + 1, *rest)}))
                parts.append(single[r].value)
    found = together(whole + parts)
    for i, name in enumerate(names):
        fine = 1e-4 if whole[i].dtype.itemsize < 8 else 1e-9
        np.testing.assert_allclose(
            found[i][0], found[len(names) + i], rtol=fine, atol=fine, err_msg=name)
    assert len(names) > min(20, len(op_names) - 1)


def test_mapped_samplers_are_of_the_type_that_their_rule_says() -> None:
    from lazyloom.backends.xla import lowering

    slow = [op for op in table().values() if is_slow_sampler(op)]
    for op in slow:
        sample = chosen(op.name)
        assert sample is not None
        (result, *_), _ = mapped(op, sample, [0])
        (instruction,) = ll.program_of(result).structure.instructions
        # raises where the definition has another type
        lowered = lowering.lower(instruction.spec, instruction.operand_types)
        assert lowered.results[0].startswith(f"tensor<{SIZE}x"), op.name
    assert len(slow) > 3


def differentiated(op: OpDef, sample: Sample) -> list[int]:
    return [i for i, o in enumerate(sample.operands)
            if o is not None and o.dtype in (np.float32, np.float64) and op.has_gradient(i)]


def test_the_jvp_is_the_transpose_of_the_vjp(op_names: list[str]) -> None:
    names: list[str] = []
    sides: list[Any] = []
    for name in op_names:
        op = lookup(name)
        sample = chosen(name) if op.derivative.differentiable else None
        at = differentiated(op, sample) if sample is not None else []
        if sample is None or not at:
            continue
        rng = random_source(f"{name} transforms")
        given = tensors(sample.operands)

        def f(*moving: Any, op: OpDef = op, sample: Sample = sample, at: Any = at,
              given: Any = given) -> Any:  # fmt: skip
            full = list(given)
            for i, x in zip(at, moving, strict=True):
                full[i] = x
            return [r for r in call(op, full, sample.attributes) if r.value.dtype.is_inexact]

        primals = [given[i] for i in at]
        tangents = [random_like(rng, t) for t in primals]
        results, moved = ll.jvp(f, primals, tangents)
        if not results:
            continue
        _, vjp_fun = ll.vjp(f, *primals)
        cotangents = [random_like(rng, t) for t in results]
        pulled = vjp_fun(cotangents)
        names.append(name)
        sides.append(paired(cotangents, moved))
        sides.append(paired(list(pulled), tangents))
    found = together(sides)
    for i, name in enumerate(names):
        forward, reverse = found[2 * i].real, found[2 * i + 1].real
        np.testing.assert_allclose(forward, reverse, rtol=2e-4, atol=1e-5, err_msg=name)
    assert len(names) > min(10, len(op_names) - 2)


def random_like(rng: Any, t: Any) -> Any:
    data = np.asarray(rng.uniform(-1, 1, t.type.shape))
    if t.type.dtype.is_complex:
        data = data + 1j * rng.uniform(-1, 1, t.type.shape)
    return ll.Tensor(ll.from_host(np.asarray(data).astype(t.type.dtype.numpy)))


def paired(a: Sequence[Any], b: Sequence[Any]) -> Any:
    """The sum of the products of all elements, complex128."""
    total = None
    for x, y in zip(a, b, strict=True):
        x, y = (ll.record("cast", [v.value], {"dtype": complex128}) for v in (x, y))
        product = ll.record("sum", [ll.record("multiply", [x, y])])
        total = product if total is None else ll.record("add", [total, product])
    return total


