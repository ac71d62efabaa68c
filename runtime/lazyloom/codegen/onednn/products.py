"""Products of matrices and their gradients."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

from ...types import TensorType
from ..answers import YES, Answer, Call, No
from ..generator import Layout, Region
from ..worth import at_least, if_measured
from . import library
from .plan import DTYPES, OneDnnPlan, parts_of, strides_of

#: the number of multiplications below which a call of oneDNN is not worthwhile
SMALL: Final = 2_000_000
#: the number of multiplications from which on it is divided among threads
SPLIT: Final = 1_000_000
#: rows or columns of parts are multiples of this, where there are enough
BLOCK: Final = 64
#: dtypes in which oneDNN's products are taken to be faster than XLA's where nothing was measured.
#: In float32 they are not: beside XLA's threads, which continue meanwhile, a step of a transformer
#: of width 256 took 1.17 times as long
QUICKER: Final = {"bfloat16": library.BF16}
#: bounds of classes of the shortest side
_SIDES: Final = (16, 64, 256)
#: the most batch axes of a product
_MOST: Final = 6


class _Product(NamedTuple):
    """A sum of products over named axes.

    Attributes:
        left, right: positions of the op's operands.
        a, b, out: the names of the axes of left, right and the result.
        sizes: the size of each.
    """

    left: int
    right: int
    a: tuple[str, ...]
    b: tuple[str, ...]
    out: tuple[str, ...]
    sizes: dict[str, int]


class _Axes(NamedTuple):
    """Merged axes: one size, and the strides in the two arrays that have them."""

    size: int
    first: int
    second: int


class _Matrices(NamedTuple):
    """A product as oneDNN takes it: (shape, strides) of both operands and of the result."""

    left: int
    right: int
    a: tuple[list[int], list[int]]
    b: tuple[list[int], list[int]]
    out: tuple[list[int], list[int]]


def products(call: Call) -> list[_Product] | No:
    """Return the products that an op is: one, or one for each gradient; or why it is none."""
    x, y = call.operands[:2]
    assert x is not None and y is not None
    names = _names(call.op.removesuffix(".vjp"), call, x, y)
    if isinstance(names, No):
        return names
    a, b = names
    batch = [n for n in a if n in b and n[0] == "b"]
    kept = [n for n in a if n not in b] + [n for n in b if n not in a]
    out = tuple(batch + kept)
    sizes = {**dict(zip(a, x.shape, strict=True)), **dict(zip(b, y.shape, strict=True))}
    if not call.op.endswith(".vjp"):
        return [_Product(0, 1, a, b, out, sizes)]
    # the gradient of a sum of products is also one: of its cotangent and the other operand
    return [_Product(2, 1, out, b, a, sizes) if w == 0 else _Product(0, 2, a, out, b, sizes)
            for w in call.attributes["argnums1"]]


def _names(
    op: str, call: Call, x: TensorType, y: TensorType
) -> tuple[tuple[str, ...], tuple[str, ...]] | No:
    """Return names for the axes of both operands: b.. for a batch, k.. for a sum."""
    if op == "matmul":
        if x.ndim < 2 or y.ndim < 2:
            return No("a product with a vector")
        rows = tuple(f"m{d}" for d in range(x.ndim - 2)) + ("m",)
        if y.ndim == 2:
            return (*rows, "k"), ("k", "n")
        if x.shape[:-2] != y.shape[:-2]:
            return No("a batch that broadcasts")
        batch = tuple(f"b{d}" for d in range(x.ndim - 2))
        return (*batch, "m", "k"), (*batch, "k", "n")
    attrs = call.attributes
    a = [f"m{d}" for d in range(x.ndim)]
    b = [f"n{d}" for d in range(y.ndim)]
    for kind in ("contract", "batch"):
        pairs = zip(attrs[f"lhs_{kind}"], attrs[f"rhs_{kind}"], strict=True)
        for number, (p, q) in enumerate(pairs):
            a[p] = b[q] = f"{'k' if kind == 'contract' else 'b'}{number}"
    # batch axes come first in the result, in the order of the attribute
    wanted = [a[p] for p in attrs["lhs_batch"]]
    if wanted != [n for n in a if n in wanted]:
        return No("batch axes in another order")
    return tuple(a), tuple(b)


def supports(call: Call) -> Answer:
    """Return YES if a product, or its gradients, is supported, or why not."""
    x, y = call.operands[:2]
    assert x is not None and y is not None
    if y.dtype is not x.dtype:
        return No(f"dtypes {x.dtype.name} and {y.dtype.name}, expected one")
    if x.dtype.name not in QUICKER:
        if x.dtype.name not in DTYPES:
            return No(f"dtype {x.dtype.name}, expected {' or '.join(DTYPES)}")
        other = if_measured(f"dtype {x.dtype.name}, in which it is not quicker than XLA")
        if not other:
            return other
    if call.attributes.get("accumulate") not in (None, x.dtype):
        return No("sums in another dtype")
    if call.op.endswith(".vjp") and (
        call.attributes["outnums1"] != (0,) or call.attributes["primals1"] != 2
    ):
        return No("a derivative of another kind")
    sums = products(call)
    if isinstance(sums, No):
        return sums
    enough = at_least(work(call), SMALL, "multiplications")
    if not enough:
        return enough
    for each in sums:
        answer = _matrices(each)
        if isinstance(answer, No):
            return answer
    return YES


def size_class(call: Call) -> str | None:
    """Return the class of a product, or of its gradients: within one, oneDNN gains alike.

    It is told by dtype, by the multiplications to a factor of four, by the shortest side, and
    whether there is a batch.
    """
    sums = products(call)
    if isinstance(sums, No):
        return None
    first = _matrices(sums[0])
    if isinstance(first, No):
        return None
    x = call.operands[0]
    assert x is not None
    shortest = min(*first.a[0][-2:], first.b[0][-1])
    side = next((f"below {limit}" for limit in _SIDES if shortest < limit), f"from {_SIDES[-1]} on")
    octave = (work(call).bit_length() - 1) // 2 * 2
    several = ", in batches" if len(first.out[0]) > 2 else ""
    what = "gradients of products" if call.op.endswith(".vjp") else "products"
    return (f"{what} in {x.dtype.name} of 2^{octave} to 2^{octave + 2} multiplications, "
            f"shortest side {side}{several}")


def work(call: Call) -> int:
    """Return the number of multiplications of all products together."""
    sums = products(call)
    return 0 if isinstance(sums, No) else sum(math.prod(p.sizes.values()) for p in sums)


def _matrices(p: _Product) -> _Matrices | No:
    """Return the product of matrices in memory, perhaps a batch of them; or why it is none."""

    def strides(names: Sequence[str]) -> dict[str, int]:
        shape = [p.sizes[n] for n in names]
        return dict(zip(names, strides_of(shape, tuple(range(len(names)))), strict=True))

    a, b, out = strides(p.a), strides(p.b), strides(p.out)

    def merged(names: Sequence[str], first: dict[str, int], second: dict[str, int]) -> list[_Axes]:
        axes: list[_Axes] = []
        for n in names:
            size = p.sizes[n]
            if size == 1:
                continue
            new = _Axes(size, first[n], second[n])
            last = axes[-1] if axes else None
            if last and last.first == size * new.first and last.second == size * new.second:
                axes[-1] = _Axes(last.size * size, new.first, new.second)
            else:
                axes.append(new)
        return axes

    batch = [n for n in p.out if n in p.a and n in p.b and p.sizes[n] != 1]
    rows = merged([n for n in p.a if n in p.out and n not in p.b], a, out)
    columns = merged([n for n in p.b if n in p.out and n not in p.a], b, out)
    summed = merged([n for n in p.a if n in p.b and n not in p.out], a, b)
    if max(len(rows), len(columns), len(summed)) > 1 or len(batch) > _MOST:
        return No("axes that are no single one in memory")
    m = rows[0] if rows else _Axes(1, 1, 1)
    n_ = columns[0] if columns else _Axes(1, 1, 1)
    k = summed[0] if summed else _Axes(1, 1, 1)
    left, right = p.left, p.right
    if columns and n_.second != 1 or not columns:
        # the result is in the other order: its transpose is the product of the transposes
        m, n_, k = n_, m, _Axes(k.size, k.second, k.first)
        left, right, a, b = right, left, b, a
    if m.size == 1 or n_.size == 1:
        return No("a product with a vector")
    if n_.second != 1:
        return No("a result with gaps in memory")
    sizes = [p.sizes[n] for n in batch]
    return _Matrices(
        left, right,
        ([*sizes, m.size, k.size], [*[a[n] for n in batch], m.first, k.first]),
        ([*sizes, k.size, n_.size], [*[b[n] for n in batch], k.second, n_.first]),
        ([*sizes, m.size, n_.size], [*[out[n] for n in batch], m.second, n_.second]))


def layouts(region: Region) -> Sequence[Layout] | None:
    """Return None: any order of rows and columns is taken as it is."""
    return None


def add(plan: OneDnnPlan, region: Region) -> None:
    """Add a product, or the gradients of one, to a plan."""
    call = region.calls[0]
    lib = plan.lib
    sums = products(call)
    assert not isinstance(sums, No)
    operands = region.program.structure.instructions[0].operands
    first = call.operands[0]
    assert first is not None
    lanes = -(-plan.lib.threads // len(region.program.outputs)) if work(call) >= SPLIT else 1
    plan.stage()
    for number, (_, r) in enumerate(region.program.outputs):
        each = _matrices(sums[r])
        assert not isinstance(each, No)
        buffers = (operands[each.left].number, operands[each.right].number,  # type: ignore[union-attr]
                   len(region.operands) + number)
        for part in _parts(each, lanes):
            plan.lane()
            arrays = [
                plan.value(lib.strided(shape, DTYPES[first.dtype.name], strides), buffer,
                           begin * first.dtype.numpy.itemsize)
                for (shape, strides, begin), buffer in zip(part, buffers, strict=True)]
            a, b, out = arrays
            desc = plan.primitive_desc("matmul", a.desc, b.desc, None, out.desc)
            plan.run(desc, {library.SRC: a, library.WEIGHTS: b, library.DST: out})


#: a matrix, or a batch of them, in memory: shape, strides, and where it begins, in elements
_Array = tuple[list[int], list[int], int]


def _parts(m: _Matrices, lanes: int) -> list[tuple[_Array, ...]]:
    """Divide a product for lanes: by its batch, or else by the longer side of its result."""
    arrays = (m.a, m.b, m.out)
    rows, columns = m.out[0][-2:]
    if len(m.out[0]) > 2 and m.out[0][0] >= lanes:
        # for each array, the axis that is divided
        axes: tuple[int | None, ...] = (0, 0, 0)
        parts = parts_of(m.out[0][0], lanes)
    else:
        # every lane packs the other operand
        axes = (None, -1, -1) if columns >= rows else (-2, None, -2)
        size = max(rows, columns)
        block = BLOCK if size >= lanes * BLOCK else 1
        parts = [(first * block, min(count * block, size - first * block))
                 for first, count in parts_of(-(-size // block), lanes)]
    result = []
    for first, count in parts:
        part: list[_Array] = []
        for (shape, strides), axis in zip(arrays, axes, strict=True):
            shape = list(shape)
            if axis is not None:
                shape[axis] = count
            part.append((shape, strides, 0 if axis is None else first * strides[axis]))
        result.append(tuple(part))
    return result
