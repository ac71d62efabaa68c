"""Ops at their usual types: what kernels are made of for an installation.

A case is an op with operands whose extents are letters, as in ``add`` of ``ab`` and ``b``, and
stands for all extents of 2 or more; 1 is an extent of its own. What is usual follows from an op's
family: ranks, broadcasts, axes and dtypes that programs have. Ops for whose family nothing is said
here have those of their samples.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations, product
from typing import Any, Final, NamedTuple, TypeAlias

from ....dtypes import CLASSES, DType, bool_, float32, float64, int32, int64, uint32
from ....ops.samples import samples
from ....ops.spec import OpDef, Operand, lookup, table

#: an extent: a number, or letters that stand for one each and are multiplied
Dim: TypeAlias = "int | str"
Dims: TypeAlias = "tuple[Dim, ...]"


class Extent(str):
    """An attribute that is one number, by its letters."""


class Case(NamedTuple):
    """An op at types: its operands' extents with dtypes (None: absent), and its attributes.

    Attributes that are tuples may have letters in them. ``derived``: its vjps are usual, too.
    """

    op: OpDef
    operands: tuple[tuple[Dims, DType] | None, ...]
    attributes: Mapping[str, Any]
    derived: bool = True


FLOATS: Final = (float32, float64)
#: the dtypes of most programs, and up to which rank
RANKS: Final = {float32: 5, float64: 3, int64: 3, bool_: 3, int32: 1}
DTYPES: Final = tuple(RANKS)


def _dims(text: str) -> Dims:
    """``"a1"`` as ``("a", 1)``."""
    return tuple(1 if c == "1" else c for c in text)


def _case(name: str, operands: Sequence[tuple[Any, DType] | None], **attributes: Any) -> Case:
    return Case(lookup(name), tuple(
        None if o is None else (_dims(o[0]) if isinstance(o[0], str) else o[0], o[1])
        for o in operands), attributes)


#: shapes of one operand
SHAPES: Final = ("", "a", "1", "ab", "1b", "a1", "11", "abc", "1bc", "a1c", "ab1", "11c", "abcd",
                 "1bcd")
SMALL: Final = ("", "a", "1", "ab", "1b", "a1")
#: two that broadcast, either way round
_ROWS: Final = (
    "ab b", "1b b", "a1 1", "ab 1b", "ab a1", "a1 1b", "a1 b", "a 1", "1b 1", "ab 1", "ab 11",
    "abc c", "1bc c", "11c c", "a1c c", "ab1 1", "abc bc", "1bc bc", "11c 1c", "abc 1bc",
    "abc a1c", "abc ab1", "abc 11c", "a1c 1bc", "ab1 a1c", "abc b1", "abc a11", "abc 1",
    "1bc 1c", "ab1 b1", "1bc 1b1", "abcd d", "abcd cd", "abcd 1b11", "abcd b11", "abcd a11d",
    "abcd 11cd", "abcd abc1", "abcd a111", "abcd a1cd", "1bcd cd", "1bcd b11", "1bcd 1b11",
    "1bcd 11cd",
)  # fmt: skip
PAIRS: Final = tuple(
    pair for row in (*((s, "") for s in SHAPES[1:]), *(r.split() for r in _ROWS))
    for pair in ((row[0], row[1]), (row[1], row[0])))
_SOME_PAIRS: Final = tuple(
    pair for row in (*((s, "") for s in SHAPES[1:]), *(r.split() for r in _ROWS[:16]))
    for pair in ((row[0], row[1]), (row[1], row[0])))
_SMALL_PAIRS: Final = tuple(
    pair for row in (("a", ""), ("ab", ""), ("1", ""), ("ab", "b"), ("ab", "a1"))
    for pair in ((row[0], row[1]), (row[1], row[0])))


def cases() -> Iterator[Case]:
    """All cases, those of an op's samples last."""
    for case in _by_family():
        operands = [o for o in case.operands if o is not None]
        most = max((RANKS.get(d, 5) for _, d in operands), default=5)
        rank = max((len(dims) for dims, _ in operands), default=0)
        if rank <= most:
            # most gradients are of single precision
            wide = any(d is float64 for _, d in operands)
            yield case._replace(derived=False) if wide else case
    for op in table().values():
        if op.family not in (*_ELEMENTWISE, *_REDUCTIONS, "cast") or _rare(op):
            yield from _sampled(op)


def _by_family() -> Iterator[Case]:
    for op in table().values():
        if op.family in _ELEMENTWISE and op.name != "custom" and not _rare(op):
            yield from _elementwise(op)
        elif op.family in _REDUCTIONS:
            yield from _reduction(op)
        elif op.family in ("along_axis", "cumulative", "sorted_axis", "sorted_positions"):
            yield from _along_axis(op)
    for group in (_casts, _filled, _reshapes, _transposes, _joined, _sliced, _indexed, _products,
                  _layers, _losses, _random, _matrices, _steps):  # fmt: skip
        yield from group()


def _of_class(o: Operand, op: OpDef, d: DType) -> DType:
    """The dtype of an operand beside others of dtype ``d``."""
    if o.classes == "T" or d in CLASSES[o.classes]:
        return d
    return next(x for x in (bool_, int64, float64, uint32) if x in CLASSES[o.classes])


def _dtypes(op: OpDef) -> tuple[DType, ...]:
    operands = [o.classes for o in op.operands]
    classes = op.T if "T" in operands else operands[0]
    return tuple(d for d in DTYPES if d in CLASSES[classes])


def _attributes(op: OpDef, *without: str) -> list[dict[str, Any]]:
    """The attributes that the op's samples have, the defaults first where there are such."""
    required = any(a.required for a in op.attributes if a.name not in without)
    found: list[dict[str, Any]] = [] if required else [{}]
    for sample in samples(op):
        given = {k: v for k, v in sample.attributes.items() if k not in without}
        if given not in found:
            found.append(given)
    return found[:6]


def _elementwise(op: OpDef) -> Iterator[Case]:
    count = len(op.operands)
    if count > 3:
        return
    usual = op.name in _ARITHMETIC or op.family == "comparison"
    for d in _dtypes(op):
        if op.name.startswith("logical_") and d is not bool_:
            continue
        if d is int32 and not usual:
            continue
        small = d is int32 or (d is bool_ and op.family == "elementwise" and count > 1)
        shapes = SMALL if small or (count > 1 and not usual and d is not bool_) else SHAPES
        given: list[tuple[str | None, ...]] = [(s,) * count for s in shapes]
        pairs = _SMALL_PAIRS if small or not usual else (
            PAIRS if op.name in _ARITHMETIC[:4] else _SOME_PAIRS)
        if count == 2:
            given += pairs
        elif count == 3:
            for s in shapes[1:]:
                given += [(s, "", ""), (s, s, "")]
                if usual:
                    given += [(s, "", s), ("", s, s), ("", s, ""), ("", "", s)]
            for x, y in pairs[2 * (len(shapes) - 1) :: 2] if usual and not small else ():
                given += [(x, y, ""), (y, x, ""), (y, "", x), (y, x, x)]
        given += [tuple(None if o.optional and k == out else s for k, (s, o) in enumerate(
            zip((shape, "", "")[:count], op.operands, strict=True)))
            for out in range(1, count) if op.operands[out].optional for shape in shapes]
        types = [_of_class(o, op, d) for o in op.operands]
        small_rows = {*_SMALL_PAIRS, *((s,) * count for s in SMALL)}
        for attributes in _attributes(op)[: 2 if small else 4]:
            for row in given:
                yield Case(op, tuple(None if s is None else (_dims(s), t) for s, t in zip(
                    row, types, strict=True)), attributes,
                    usual or count == 1 or row in small_rows)


#: what operators and conditions are recorded as, which programs have at all shapes
_ARITHMETIC: Final = ("add", "subtract", "multiply", "divide", "power", "maximum", "minimum",
                      "where")  # fmt: skip
#: modules of functions that few programs have
_RARE: Final = ("special", "series", "incomplete_gamma", "complex_edges")
_ELEMENTWISE: Final = ("elementwise", "comparison", "predicate", "real_part", "approximated",
                       "integral_power", "passed_on")  # fmt: skip
_REDUCTIONS: Final = ("reduction", "extremum", "accumulation", "real_reduction",
                      "truth_reduction", "count_reduction", "arg_reduction")  # fmt: skip


def _rare(op: OpDef) -> bool:
    return op.fn.__module__.rpartition(".")[2] in _RARE


def _reduction(op: OpDef) -> Iterator[Case]:
    one = op.family == "arg_reduction"
    name = "axis" if one else "axes"
    others = _attributes(op, name, "keepdims", "dtype")[: 1 if op.name == "norm" else 2]
    truth = op.family in ("truth_reduction", "count_reduction")
    for d in _dtypes(op):
        if d is int32 or truth and d is not bool_:
            continue
        for shape in ("", "a", "1", "ab", "1b", "a1", "abc", "1bc", "abcd"):
            rank = len(shape)
            axes: list[Any] = [None, *range(rank)] if one else [
                None, *((k,) for k in range(rank))]
            if not one and rank > 2:
                axes += [(rank - 2, rank - 1), tuple(range(1, rank)), (0, 1), (0, *range(2, rank))]
            for axis in dict.fromkeys(axes):
                for keepdims in (False, True):
                    for more in others:
                        yield Case(op, ((_dims(shape), d),), {
                            name: axis, "keepdims": keepdims, **more})


def _along_axis(op: OpDef) -> Iterator[Case]:
    for d in _dtypes(op):
        for shape in ("a", "1", "ab", "1b", "abc", "1bc", "abcd", "1bcd"):
            axes = {-1, *range(len(shape))} if len(shape) < 3 or "1" not in shape else {-1}
            if op.family != "along_axis":
                axes = set(range(len(shape))) if len(shape) < 3 else {len(shape) - 1}
            for axis in sorted(axes):
                for more in _attributes(op, "axis")[:4]:
                    yield Case(op, ((_dims(shape), d),), {"axis": axis, **more})


def _casts() -> Iterator[Case]:
    for source, target in product(DTYPES, DTYPES):
        if source is not target:
            for shape in SMALL if int32 in (source, target) else SHAPES:
                yield _case("cast", [(shape, source)], dtype=target)


def _filled() -> Iterator[Case]:
    for d in DTYPES:
        for shape in SHAPES:
            yield _case("full", [("", d)], shape=_dims(shape))
        for shape in ("a", "ab"):
            for axis in range(len(shape)):
                yield _case("iota", [], shape=_dims(shape), axis=axis, dtype=d)
        yield _case("arange", [("", d)] * 2, length=Extent("a"))
        yield _case("arange", [("", d)] * 2, length=1)
        yield _case("one_hot", [("a", int64)], depth=Extent("b"), dtype=d)
        yield _case("one_hot", [("ab", int64)], depth=Extent("c"), dtype=d)
        for n, m in (("a", "a"), ("a", "b")):
            yield _case("eye", [], n=Extent(n), m=Extent(m), dtype=d)
        for small, large in (("", "a"), ("", "ab"), ("", "abc"), ("b", "ab"), ("1b", "ab"),
                             ("a1", "ab"), ("c", "abc"), ("bc", "abc"), ("1bc", "abc"),
                             ("a1c", "abc"), ("ab1", "abc"), ("a11d", "ab1d"), ("11c", "abc"),
                             ("1", "a"),
                             ("a11d", "abcd"), ("a1cd", "abcd"), ("11cd", "abcd"), ("ab", "1ab"),
                             ("a", "1a"), ("1b11", "abcd")):  # fmt: skip
            yield _case("broadcast_to", [(small, d)], shape=_dims(large))
    for d in FLOATS:
        for endpoint in (True, False):
            yield _case("linspace", [("", d)] * 2, num=Extent("a"), endpoint=endpoint)


def _reshapes() -> Iterator[Case]:
    for d in DTYPES:
        for x, y in _reshaped():
            if d in (int32, bool_) and max(len(x), len(y)) > 3:
                continue
            yield _case("reshape", [(x, d)], shape=y)


def _reshaped() -> list[tuple[Dims, Dims]]:
    """Axes merged or split, and such of 1 put in or taken out."""
    found: dict[tuple[Dims, Dims], None] = {}

    def enter(x: Sequence[Dim], y: Sequence[Dim]) -> None:
        found[tuple(x), tuple(y)] = found[tuple(y), tuple(x)] = None

    def merged(dims: Sequence[Dim]) -> Dim:
        letters = "".join(str(x) for x in dims if x != 1)
        return letters or 1

    for text in (*SHAPES, "111", "abcde", "1bcde"):
        dims = _dims(text)
        n = len(dims)
        enter(dims, dims)
        for start in range(n):
            for end in range(start + 2, n + 1):
                enter(dims, (*dims[:start], merged(dims[start:end]), *dims[end:]))
        if n < 5:
            for k in range(n + 1):
                enter(dims, (*dims[:k], 1, *dims[k:]))
                enter(dims, (*dims[:k], 1, 1, *dims[k:]))
        enter(dims, [x for x in dims if x != 1])
        # one axis split, another merged: heads of an attention
        if n == 4:
            a, b, c, d = dims
            enter((a, b, merged((c, d))), (a, merged((b, c)), d))
            enter((a, merged((b, c)), d), (merged((a, b)), merged((c, d))))
            enter((merged((a, b)), c, d), (a, b, merged((c, d))))
            enter((merged((a, b)), merged((c, d))), (a, b, c, d))
    return list(found)


def _transposes() -> Iterator[Case]:
    for d in DTYPES:
        for shape in ("ab", "1b", "a1", "abc", "1bc", "a1c", "abcd", "1bcd", "1b1d", "11cd",
                      "abcde"):  # fmt: skip
            orders = permutations(range(len(shape)))
            if len(shape) == 5:
                orders = iter([(2, 0, 3, 1, 4), (0, 1, 2, 4, 3), (1, 0, 2, 3, 4)])  # type: ignore[assignment]
            for axes in orders:
                if d not in FLOATS and len(shape) > 3:
                    continue
                yield _case("transpose", [(shape, d)], axes=axes)


def _joined() -> Iterator[Case]:
    letters = "bcdef"
    for d in DTYPES:
        most = 5
        for count in range(1, most + 1):
            for shape in ("", "a", "1", "ab", "1b", "abc")[: 6 if d in FLOATS else 3]:
                for axis in sorted({0, len(shape)}):
                    yield _case("stack", [(shape, d)] * count, axis=axis)
            for rank in (1, 2, 3):
                for axis in range(rank):
                    for rest in (("x", "y"), (1, "y")):
                        others = rest[: rank - 1]

                        def at(dim: Dim, axis: int = axis, others: Dims = others) -> Dims:
                            return (*others[:axis], dim, *others[axis:])

                        rows: list[list[Dim]] = [list(letters[:count]), [1] * count]
                        if count == 2:
                            rows += [["b", 1], [1, "b"]]
                        for row in rows:
                            yield _case("concatenate", [(at(x), d) for x in row], axis=axis)


def _sliced() -> Iterator[Case]:
    for d in DTYPES:
        ranks = (1, 2, 3, 4, 5) if d in FLOATS else (1, 2, 3)
        for rank in ranks:
            for base in ("abcde"[:rank], "1bcde"[:rank]):
                if rank == 5 and base[0] == "1":
                    continue
                # of each axis all, one, or some
                choices = [("1",) if x == "1" else (x, "1", "nmkpq"[k])
                           for k, x in enumerate(base)]
                for sizes in product(*choices):
                    some = sum(s in "nmkpq" for s in sizes)
                    whole = sum(s == x and s != "1" for s, x in zip(sizes, base, strict=True))
                    if (rank > 2 and some > 1) or (rank > 3 and some + whole < rank - 2):
                        continue
                    starts = [("", int64)] * rank
                    cut = tuple(_dims("".join(sizes)))
                    yield _case("dynamic_slice", [(base, d), *starts], sizes=cut)
                    if rank < 4 and some < 2:
                        yield _case("dynamic_update_slice", [(base, d), (cut, d), *starts])
            if rank == 1:
                for starts_, stops, strides in (
                    (0, "b", 1), (0, "b", 2), (1, "b", 2), ("a", -1, -1), (0, "b", 3)):
                    x: Dims = ("b",)
                    first: Dims = ("b-1",) if starts_ == "a" else (starts_,)
                    yield _case("slice", [(x, d)], starts=first, stops=(stops,), strides=(strides,))
    for d in DTYPES:
        for shape in ("a", "ab", "abc"):
            rank = len(shape)
            for low, high in ((0, 1), (1, 0), (1, 1)):
                yield _case("pad", [(shape, d), ("", d)], low=(low,) * rank, high=(high,) * rank,
                            interior=(0,) * rank)


def _indexed() -> Iterator[Case]:
    for d in DTYPES:
        for shape in ("a", "ab", "abc"):
            for indices in ("", "n", "1", "nm", "1m", "11"):
                for axis in range(len(shape)):
                    yield _case("take", [(shape, d), (indices, int64)], axis=axis)
        for x, i in (("a", "n"), ("a", "1"), ("ab", "am"), ("ab", "a1"), ("ab", "nb"),
                     ("1b", "11"), ("1b", "1m"), ("abc", "ab1"), ("abc", "a1c")):  # fmt: skip
            for axis in range(len(x)):
                yield _case("take_along_axis", [(x, d), (i, int64)], axis=axis)
        for shape in ("a", "ab", "abc"):
            rank = len(shape)
            for axes in [(k,) for k in range(rank)] + [tuple(range(n)) for n in range(2, rank + 1)]:
                for indices in ("", "n", "1"):
                    given = [(indices, int64)] * len(axes)
                    yield _case("index", [(shape, d), *given], axes=axes)
    for d in FLOATS:
        for x, mask in (("a", "a"), ("ab", "ab"), ("abc", "abc"), ("abcd", "abcd"), ("ab", "b"),
                        ("abc", "bc"), ("abcd", "cd"), ("abcd", "11cd"), ("abcd", "a11d"),
                        ("1bcd", "cd"), ("1bcd", "11cd"), ("ab", "a1"),
                        ("abc", "ab1")):  # fmt: skip
            yield _case("masked_fill", [(x, d), (mask, bool_), ("", d)])
    for indices in ("", "n", "1", "nm", "1m", "n1", "11"):
        for d in FLOATS:
            yield _case("embedding", [("ab", d), (indices, int64)])
        for size in ("a", 1):
            for negative in (True, False):
                yield _case("first_out_of_range", [(indices, int64)], negative=negative,
                            size=size if size == 1 else Extent(size))
    for shape in SHAPES[:12]:
        for d in DTYPES:
            for flag in (bool_, int64):
                yield _case("checked", [(shape, d), ("", flag)], kind="")
    for shape in ("a", "ab"):
        yield _case("flat_nonzero", [(shape, bool_)], size=Extent("n"))
        yield _case("flat_nonzero", [(shape, bool_)], size=1)
    yield _case("bincount", [("a", int64)], length=Extent("n"))


def _products() -> Iterator[Case]:
    for d in (float32, float64, int64):
        for x, y in (row.split() for row in (
            "a a", "ab b", "1b b", "a ab", "a a1", "ab bc", "1b bc", "ab b1", "a1 1c", "1b b1",
            "abc cd", "1bc cd", "11c cd", "a1c cd", "abc acd", "1bc 1cd", "abc 1cd", "a1c acd",
            "abc ac1", "abc c", "bc acd", "abcd abde", "1bcd 1bde", "1b1d 1bde", "ab1d abde",
            "a1cd a1de", "abcd abd1",
        )):  # fmt: skip
            yield _case("matmul", [(x, d), (y, d)])
        for x in ("a", "ab", "1b", "abc", "1bc", "11c", "a1c", "abcd"):
            rank = len(x)
            for out in ("n", 1):
                yield _case("dot_general", [(x, d), ((out, x[-1] if x[-1] != "1" else 1), d)],
                            lhs_contract=(rank - 1,), rhs_contract=(1,))
        yield _case("outer", [("a", d), ("b", d)])
        for s in ("a", "ab"):
            yield _case("vecdot", [(s, d), (s, d)])
        for equation, *shapes in (
            ("ij,jk->ik", "ab", "bc"), ("i,i->", "a", "a"), ("i,j->ij", "a", "b"),
            ("ij,j->i", "ab", "b"), ("bij,bjk->bik", "abc", "acd"), ("ii->i", "aa"),
            ("ij->ji", "ab"), ("ij->", "ab"), ("ij->i", "ab"), ("ij->j", "ab"), ("ii->", "aa"),
            ("ij,ij->", "ab", "ab"), ("ij,ij->i", "ab", "ab"), ("bij,jk->bik", "abc", "cd"),
        ):
            yield _case("einsum", [(s, d) for s in shapes], equation=equation)


def _layers() -> Iterator[Case]:
    for d in FLOATS:
        for shape in ("ab", "1b", "abc", "1bc", "11c", "abcd"):
            for eps in (1e-5, 1e-6, 1e-12):
                w = (shape[-1], d)
                for given in ([w, w], [None, None], [w, None]):
                    yield _case("layer_norm", [(shape, d), *given], normalized_ndim=1, eps=eps)
                yield _case("rms_norm", [(shape, d), w], normalized_ndim=1, eps=eps)
        for shape in ("ab", "abc", "abcd"):
            w = (shape[1], d)
            for given in ([w, w], [None, None]):
                yield _case("batch_norm_train", [(shape, d), *given], eps=1e-5)
                yield _case("batch_norm_infer", [(shape, d), w, w, *given], eps=1e-5)
        yield _case("running_moments", [("a", d)] * 4 + [("", d)], num=Extent("n"))
        for rate in (0.1, 0.2, 0.25, 0.3, 0.4, 0.5):
            for shape in ("a", "ab", "1b", "abc", "1bc", "abcd"):
                yield _case("dropout", [(shape, d), ((2,), uint32)], rate=rate)
        for batch in ("a", 1):
            for padding, stride in product((0, 1, 2), (1, 2)):
                same = {"strides": (stride,) * 2, "padding_low": (padding,) * 2,
                        "padding_high": (padding,) * 2, "dilation": (1, 1), "groups": 1}
                for kernel, channels in product((1, 3, 5), ("b", 1)):
                    yield _case("conv", [((batch, channels, "e", "f"), d),
                                         (("c", channels, kernel, kernel), d)], **same)
            for pool in ("max_pool", "avg_pool"):
                for window, stride, padding in ((2, 2, 0), (3, 2, 1), (3, 1, 1), (3, 3, 0)):
                    pooled = {"window": (window,) * 2, "strides": (stride,) * 2,
                              "padding_low": (padding,) * 2, "padding_high": (padding,) * 2}
                    if pool == "max_pool":
                        pooled["dilation"] = (1, 1)
                    yield _case(pool, [((batch, "b", "e", "f"), d)], **pooled)
        for causal in (False, True):
            # the width of heads is a number, whose root it takes
            for width in (8, 16, 32, 64):
                for q in ("abc", "1bc", "1b1"):
                    x = ((*_dims(q), width), d)
                    first, last = _dims(q)[0], _dims(q)[2]
                    for mask in (None, (last, last), (first, 1, 1, last), (first, "b", 1, last)):
                        if causal and mask is not None:
                            continue
                        more = [] if mask is None else [(mask, d)]
                        yield _case("scaled_dot_product_attention", [x, x, x, *more],
                                    causal=causal)
        for batch in ("b", 1):
            for length in ("a", 1):
                steps: Dims = (length, batch, "c")
                for op, gates in (("lstm", 4), ("gru", 3), ("rnn", 1)):
                    h: Any = ((batch, "d"), d)
                    rows = "d" if gates == 1 else f"{gates}*d"
                    states = [h, h] if op == "lstm" else [h]
                    weights = [((rows, "c"), d), ((rows, "d"), d)]
                    for bias in (((rows,), d), None):
                        lengths = [None, None] if op == "lstm" else [None]
                        yield _case(op, [(steps, d), *states, *weights, bias, bias])
                        yield _case(op, [(steps, d), *states, *weights, bias, bias, *lengths])


def _losses() -> Iterator[Case]:
    for d in FLOATS:
        for x, labels, axis in (("ab", "a", -1), ("1b", "1", -1), ("ab", "a", 1), ("abc", "ac", 1),
                                ("abc", "ab", -1), ("a", "", -1)):  # fmt: skip
            for reduction in ("mean", "sum", "none"):
                for op in ("cross_entropy", "nll_loss"):
                    yield _case(op, [(x, d), (labels, int64)], axis=axis, reduction=reduction)
        for op in ("binary_cross_entropy_with_logits", "binary_cross_entropy", "mse_loss",
                   "l1_loss", "huber_loss", "kl_div"):  # fmt: skip
            for shape in ("", "a", "1", "ab", "a1", "1b", "abc", "abcd"):
                for reduction in ("mean", "sum", "none"):
                    yield _case(op, [(shape, d), (shape, d)], reduction=reduction)


def _random() -> Iterator[Case]:
    key: Any = ((2,), uint32)
    for shape in ("", "a", "1", "ab", "1b", "a1", "abc", "1bc", "abcd", "a1cd", "1bcd", "11cd"):
        dims = _dims(shape)
        for d in FLOATS:
            for mean in ([], [("", d), ("", d)]):
                yield _case("random_normal", [key, *mean], shape=dims, dtype=d)
            yield _case("random_uniform", [key, ("", d), ("", d)], shape=dims)
            if len(shape) < 3:
                for op in ("random_exponential", "random_gumbel"):
                    yield _case(op, [key], shape=dims, dtype=d)
                yield _case("random_bernoulli", [key, ("", d)], shape=dims)
                yield _case("random_bernoulli", [key, (shape, d)], shape=dims)
                yield _case("random_normal", [key, (shape, d), (shape, d)], shape=dims, dtype=d)
        for endpoint in (True, False):
            yield _case("random_integers", [key, ("", int64), ("", int64)], shape=dims,
                        endpoint=endpoint)
    yield _case("random_fold_in", [key, ("", int64)])
    for num in (2, 3, 4):
        yield _case("random_split", [key], num=num)


def _matrices() -> Iterator[Case]:
    for d in FLOATS:
        for op in ("cholesky", "inv", "det", "slogdet", "is_singular", "eigh", "qr", "svd",
                   "cholesky_failure", "pinv"):  # fmt: skip
            yield _case(op, [("aa", d)])
        for y in ("a1", "ab"):
            yield _case("solve", [("aa", d), (y, d)])
        yield _case("trace" if "trace" in table() else "diagonal", [("ab", d)])
    for d in DTYPES:
        for shape in ("ab", "aa"):
            yield _case("diagonal", [(shape, d)])
        yield _case("diag_embed", [("a", d)], axis1=0, axis2=1)
        for op in ("triu", "tril"):
            for shape in ("ab", "aa", "abc"):
                for k in (0, 1, -1):
                    yield _case(op, [(shape, d)], k=k)
        for shape in ("a", "ab"):
            for axis in range(len(shape)):
                yield _case("repeat", [(shape, d)], repeats=Extent("n"), axis=axis)
                yield _case("flip", [(shape, d)], axes=(axis,))
            yield _case("tile", [(shape, d)], repeats=tuple("nm"[: len(shape)]))
        for shift in (1, -1):
            yield _case("roll", [("a", d)], shifts=(shift,), axes=(0,))
            yield _case("roll", [("a", d)], shifts=(shift,))
        for x in ("a", "ab"):
            for op in ("sort", "argsort"):
                yield _case(op, [(x, d)], axis=len(x) - 1, stable=False)


#: the ranks of parameters: layers of weights, with biases or without
_LAYERS: Final = (("ab",), ("a",), ("",), ("ab", "a"), ("1b", "1"), ("ab", "cd"),
                  ("ab", "a", "cd", "c"), ("ab", "a", "1d", "1"), ("ab", "cd", "ef"),
                  ("ab", "a", "cd", "c", "ef", "e"), ("ab", "a", "cd", "c", "1f", "1"),
                  ("ab", "a", "cd", "c", "ef", "e", "gh", "g"))  # fmt: skip


def _steps() -> Iterator[Case]:
    for op, numbers, kinds, ways in (
        ("step_sgd", 4, 2, ({}, {"decays": True})),
        ("step_sgd", 4, 3, ({"momentous": True}, {"momentous": True, "decays": True})),
        ("step_adam", 6, 4, ({}, {"decays": True}, {"decays": True, "decoupled": True})),
    ):
        for layers in _LAYERS:
            for d in FLOATS if len(layers) < 3 else (float32,):
                tensors = [(shape, d) for shape in layers] * kinds
                first = [("", float64)] * numbers
                if op == "step_adam":
                    first[0] = ("", float32)
                for way in ways:
                    yield _case(op, [*first, *tensors], **way)._replace(derived=False)


def _sampled(op: OpDef) -> Iterator[Case]:
    """The types of the op's samples; each of its extents of 2 or more is a letter of its own."""
    seen: set[Any] = set()
    rare = _rare(op)
    try:
        given = list(samples(op))
    except LookupError:
        return
    for sample in given:
        dtypes = [None if o is None else str(o.dtype) for o in sample.operands]
        if any(n not in _SAMPLED for n in dtypes):
            continue
        shapes = [None if o is None else o.shape for o in sample.operands]
        key = (tuple(dtypes), tuple(shapes), repr(sample.attributes))
        if key in seen or len(seen) >= (1 if rare else 4):
            continue
        seen.add(key)
        for wide in (False, True):
            if wide and "float32" not in dtypes:
                continue
            yield Case(op, tuple(
                None if o is None else (tuple(o.shape), _SAMPLED[str(o.dtype)] if not (
                    wide and str(o.dtype) == "float32") else float64)
                for o in sample.operands), sample.attributes, not rare and not wide)


_SAMPLED: Final[dict[str | None, Any]] = {
    None: None, "uint32": uint32, **{d.name: d for d in DTYPES}}
