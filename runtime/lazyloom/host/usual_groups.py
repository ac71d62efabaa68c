"""The usual types of ops, group by group; see :mod:`.usual`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations, product
from typing import Any, Final

from ..dtypes import bool_, complex64, complex128, float32, float64, int32, int64, uint32
from .usual_case import (
    DTYPES,
    FLOATS,
    SHAPES,
    SMALL,
    Dim,
    Dims,
    Extent,
    KernelCase,
    case_of,
    dims_of,
)


def _casts() -> Iterator[KernelCase]:
    for source, target in product(DTYPES, DTYPES):
        if source is not target:
            for shape in SMALL if int32 in (source, target) else SHAPES:
                yield case_of("cast", [(shape, source)], dtype=target)


def _filled() -> Iterator[KernelCase]:
    for d in DTYPES:
        for shape in SHAPES:
            yield case_of("full", [("", d)], shape=dims_of(shape))
        for shape in ("a", "ab"):
            for axis in range(len(shape)):
                yield case_of("iota", [], shape=dims_of(shape), axis=axis, dtype=d)
        yield case_of("arange", [("", d)] * 2, length=Extent("a"))
        yield case_of("arange", [("", d)] * 2, length=1)
        yield case_of("one_hot", [("a", int64)], depth=Extent("b"), dtype=d)
        yield case_of("one_hot", [("ab", int64)], depth=Extent("c"), dtype=d)
        for n, m in (("a", "a"), ("a", "b")):
            yield case_of("eye", [], n=Extent(n), m=Extent(m), dtype=d)
        for small, large in (("", "a"), ("", "ab"), ("", "abc"), ("b", "ab"), ("1b", "ab"),
                             ("a1", "ab"), ("c", "abc"), ("bc", "abc"), ("1bc", "abc"),
                             ("a1c", "abc"), ("ab1", "abc"), ("a11d", "ab1d"), ("11c", "abc"),
                             ("1", "a"),
                             ("a11d", "abcd"), ("a1cd", "abcd"), ("11cd", "abcd"), ("ab", "1ab"),
                             ("a", "1a"), ("1b11", "abcd")):  # fmt: skip
            yield case_of("broadcast_to", [(small, d)], shape=dims_of(large))
    for d in FLOATS:
        for endpoint in (True, False):
            yield case_of("linspace", [("", d)] * 2, num=Extent("a"), endpoint=endpoint)


def _reshapes() -> Iterator[KernelCase]:
    for d in DTYPES:
        for x, y in _reshaped():
            if d in (int32, bool_) and max(len(x), len(y)) > 3:
                continue
            yield case_of("reshape", [(x, d)], shape=y)


def _reshaped() -> list[tuple[Dims, Dims]]:
    """Axes merged or split, and such of 1 put in or taken out."""
    found: dict[tuple[Dims, Dims], None] = {}

    def enter(x: Sequence[Dim], y: Sequence[Dim]) -> None:
        found[tuple(x), tuple(y)] = found[tuple(y), tuple(x)] = None

    def merged(dims: Sequence[Dim]) -> Dim:
        letters = "".join(str(x) for x in dims if x != 1)
        return letters or 1

    for text in (*SHAPES, "111", "11cd", "1b1d", "abcde", "1bcde"):
        dims = dims_of(text)
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


def _transposes() -> Iterator[KernelCase]:
    for d in DTYPES:
        for shape in ("ab", "1b", "a1", "abc", "1bc", "a1c", "abcd", "1bcd", "1b1d", "11cd",
                      "abcde"):  # fmt: skip
            orders = permutations(range(len(shape)))
            if len(shape) == 5:
                orders = iter([(2, 0, 3, 1, 4), (0, 1, 2, 4, 3), (1, 0, 2, 3, 4)])  # type: ignore[assignment]
            for axes in orders:
                if d not in FLOATS and len(shape) > 3:
                    continue
                yield case_of("transpose", [(shape, d)], axes=axes)


def _joined() -> Iterator[KernelCase]:
    letters = "bcdef"
    for d in DTYPES:
        # lists of numbers
        for count in range(6, 13):
            yield case_of("stack", [("", d)] * count, axis=0)
        for count in range(1, len(letters) + 1):
            for shape in ("", "a", "1", "ab", "1b", "abc")[: 3 if d in (bool_, int32) else 6]:
                for axis in sorted({0, len(shape)}):
                    yield case_of("stack", [(shape, d)] * count, axis=axis)
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
                            yield case_of("concatenate", [(at(x), d) for x in row], axis=axis)


def _cut() -> Iterator[KernelCase]:
    """Equal parts of an array that has a gradient, and all that there is along an axis."""
    for d in FLOATS:
        for before, after in (
            ("", ""), ("", "b"), ("a", ""), ("1", ""), ("ab", ""), ("1b", ""), ("a", "c"),
            ("", "bc"), ("abc", ""), ("", "bcd"), ("a", "cd"), ("ab", "d"), ("", "bcde"),
        ):  # fmt: skip
            for count in range(2, 6):
                shape: Dims = (*before, f"{count}*m", *after)
                shape = tuple([1 if x == "1" else x for x in shape])
                yield case_of("split", [(shape, d)], sizes=("m",) * count, axis=len(before))
                if count < 5 and (before or after) and before != "1":
                    shape = tuple([count if x == f"{count}*m" else x for x in shape])
                    yield case_of("split", [(shape, d)], sizes=(1,) * count, axis=len(before))


#: by rank, shapes that slices are of, beside those without ones
_WITH_ONES: Final = {1: ("1",), 2: ("1b", "a1"), 3: ("1bc", "11c", "ab1"), 4: ("1bcd",)}


def _sliced() -> Iterator[KernelCase]:
    for d in DTYPES:
        ranks = (1, 2, 3, 4, 5) if d in FLOATS else (1, 2, 3)
        for rank in ranks:
            for base in ("abcde"[:rank], *_WITH_ONES.get(rank, ())):
                # of each axis all, one, or some
                choices = [("1",) if x == "1" else (x, "1", "nmkpq"[k])
                           for k, x in enumerate(base)]
                for sizes in product(*choices):
                    some = sum(s in "nmkpq" for s in sizes)
                    whole = sum(s == x and s != "1" for s, x in zip(sizes, base, strict=True))
                    if (rank > 2 and some > 1) or (rank > 3 and some + whole < rank - 2):
                        continue
                    starts = [("", int64)] * rank
                    cut = tuple(dims_of("".join(sizes)))
                    yield case_of("dynamic_slice", [(base, d), *starts], sizes=cut)
                    if rank < 4 and some < 2:
                        yield case_of("dynamic_update_slice", [(base, d), (cut, d), *starts])
            if rank == 1:
                for starts_, stops, strides in (
                    (0, "b", 1), (0, "b", 2), (1, "b", 2), ("a", -1, -1), (0, "b", 3)):
                    x: Dims = ("b",)
                    first: Dims = ("b-1",) if starts_ == "a" else (starts_,)
                    yield case_of("slice", [(x, d)], starts=first, stops=(stops,),
                                  strides=(strides,))
    for d in DTYPES:
        for shape in ("a", "ab", "abc"):
            rank = len(shape)
            for low, high in ((0, 1), (1, 0), (1, 1)):
                yield case_of("pad", [(shape, d), ("", d)], low=(low,) * rank, high=(high,) * rank,
                            interior=(0,) * rank)


def _indexed() -> Iterator[KernelCase]:
    for d in DTYPES:
        for shape in ("a", "ab", "abc"):
            for indices in ("", "n", "1", "nm", "1m", "11"):
                for axis in range(len(shape)):
                    yield case_of("take", [(shape, d), (indices, int64)], axis=axis)
        for x, i in (("a", "n"), ("a", "1"), ("ab", "am"), ("ab", "a1"), ("ab", "nb"),
                     ("1b", "11"), ("1b", "1m"), ("abc", "ab1"), ("abc", "a1c")):  # fmt: skip
            for axis in range(len(x)):
                yield case_of("take_along_axis", [(x, d), (i, int64)], axis=axis)
        for shape in ("a", "ab", "abc"):
            rank = len(shape)
            for axes in [(k,) for k in range(rank)] + [tuple(range(n)) for n in range(2, rank + 1)]:
                for indices in ("", "n", "1"):
                    given = [(indices, int64)] * len(axes)
                    yield case_of("index", [(shape, d), *given], axes=axes)
    for d in FLOATS:
        for x, mask in (("a", "a"), ("ab", "ab"), ("abc", "abc"), ("abcd", "abcd"), ("ab", "b"),
                        ("abc", "bc"), ("abcd", "cd"), ("abcd", "11cd"), ("abcd", "a11d"),
                        ("1bcd", "cd"), ("1bcd", "11cd"), ("ab", "a1"),
                        ("abc", "ab1")):  # fmt: skip
            yield case_of("masked_fill", [(x, d), (mask, bool_), ("", d)])
    for indices in ("", "n", "1", "nm", "1m", "n1", "11"):
        for d in FLOATS:
            yield case_of("embedding", [("ab", d), (indices, int64)])
        for size in ("a", 1):
            for negative in (True, False):
                yield case_of("first_out_of_range", [(indices, int64)], negative=negative,
                            size=size if size == 1 else Extent(size))
        for size in ("a", 1):
            yield case_of("first_invalid_label", [(indices, int64)], ignore_index=-100,
                        size=size if size == 1 else Extent(size))
    for shape in SHAPES[:12]:
        for d in DTYPES:
            for flag in (bool_, int64):
                yield case_of("checked", [(shape, d), ("", flag)], kind="")
    for shape in ("a", "ab"):
        yield case_of("flat_nonzero", [(shape, bool_)], size=Extent("n"))
        yield case_of("flat_nonzero", [(shape, bool_)], size=1)
    yield case_of("bincount", [("a", int64)], length=Extent("n"))


def _products() -> Iterator[KernelCase]:
    for d in (float32, float64, int64):
        for x, y in (row.split() for row in (
            "a a", "ab b", "1b b", "a ab", "a a1", "ab bc", "1b bc", "ab b1", "a1 1c", "1b b1",
            "11 1c", "abc cd", "1bc cd", "11c cd", "a1c cd", "abc acd", "1bc 1cd", "abc 1cd",
            "a1c acd", "abc ac1", "abc c", "bc acd", "abcd abde", "1bcd 1bde", "1b1d 1bde",
            "ab1d abde", "a1cd a1de", "abcd abd1",
        )):  # fmt: skip
            yield case_of("matmul", [(x, d), (y, d)])
        for x in ("a", "ab", "1b", "abc", "1bc", "11c", "a1c", "abcd"):
            rank = len(x)
            for out in ("n", 1):
                yield case_of("dot_general", [(x, d), ((out, x[-1] if x[-1] != "1" else 1), d)],
                            lhs_contract=(rank - 1,), rhs_contract=(1,))
        yield case_of("outer", [("a", d), ("b", d)])
        for s in ("a", "ab"):
            yield case_of("vecdot", [(s, d), (s, d)])
        for equation, *shapes in (
            ("ij,jk->ik", "ab", "bc"), ("i,i->", "a", "a"), ("i,j->ij", "a", "b"),
            ("ij,j->i", "ab", "b"), ("bij,bjk->bik", "abc", "acd"), ("ii->i", "aa"),
            ("ij->ji", "ab"), ("ij->", "ab"), ("ij->i", "ab"), ("ij->j", "ab"), ("ii->", "aa"),
            ("ij,ij->", "ab", "ab"), ("ij,ij->i", "ab", "ab"), ("bij,jk->bik", "abc", "cd"),
        ):
            yield case_of("einsum", [(s, d) for s in shapes], equation=equation)


def _layers() -> Iterator[KernelCase]:
    for d in FLOATS:
        for shape in ("ab", "1b", "abc", "1bc", "11c", "abcd"):
            for eps in (1e-5, 1e-6, 1e-12):
                w = (shape[-1], d)
                for given in ([w, w], [None, None], [w, None]):
                    yield case_of("layer_norm", [(shape, d), *given], normalized_ndim=1, eps=eps)
                yield case_of("rms_norm", [(shape, d), w], normalized_ndim=1, eps=eps)
        for shape in ("ab", "abc", "abcd"):
            w = (shape[1], d)
            for given in ([w, w], [None, None]):
                yield case_of("batch_norm_train", [(shape, d), *given], eps=1e-5)
                yield case_of("batch_norm_infer", [(shape, d), w, w, *given], eps=1e-5)
        yield case_of("running_moments", [("a", d)] * 4 + [("", d)], num=Extent("n"))
        for rate in (0.1, 0.2, 0.25, 0.3, 0.4, 0.5):
            for shape in ("a", "ab", "1b", "abc", "1bc", "abcd"):
                yield case_of("dropout", [(shape, d), ((2,), uint32)], rate=rate)
        for batch in ("a", 1):
            for padding, stride in product((0, 1, 2), (1, 2)):
                same = {"strides": (stride,) * 2, "padding_low": (padding,) * 2,
                        "padding_high": (padding,) * 2, "dilation": (1, 1), "groups": 1}
                for kernel, channels in product((1, 3, 5), ("b", 1)):
                    if padding not in (0, kernel // 2):
                        continue
                    yield case_of("conv", [((batch, channels, "e", "f"), d),
                                         (("c", channels, kernel, kernel), d)], **same)
            for pool in ("max_pool", "avg_pool"):
                for window, stride, padding in ((2, 2, 0), (3, 2, 1), (3, 1, 1), (3, 3, 0)):
                    pooled = {"window": (window,) * 2, "strides": (stride,) * 2,
                              "padding_low": (padding,) * 2, "padding_high": (padding,) * 2}
                    if pool == "max_pool":
                        pooled["dilation"] = (1, 1)
                    yield case_of(pool, [((batch, "b", "e", "f"), d)], **pooled)
        for causal in (False, True):
            # the width of heads is a number, whose root it takes
            for width in (8, 16, 32, 64):
                for q in ("abc", "1bc", "1b1"):
                    x = ((*dims_of(q), width), d)
                    first, last = dims_of(q)[0], dims_of(q)[2]
                    for mask in (None, (last, last), (first, 1, 1, last), (first, "b", 1, last)):
                        if causal and mask is not None:
                            continue
                        more = [] if mask is None else [(mask, d)]
                        yield case_of("scaled_dot_product_attention", [x, x, x, *more],
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
                        yield case_of(op, [(steps, d), *states, *weights, bias, bias])
                        # so the torch-like frontend's layers and cells call it
                        yield case_of(
                            op, [(steps, d), *states, *weights, bias, bias, *lengths])._replace(
                            residuals=d is float32 and bias is not None)


def _losses() -> Iterator[KernelCase]:
    for d in FLOATS:
        for x, labels, axis in (("ab", "a", -1), ("1b", "1", -1), ("ab", "a", 1), ("abc", "ac", 1),
                                ("abc", "ab", -1), ("a", "", -1)):  # fmt: skip
            for reduction in ("mean", "sum", "none"):
                for op in ("cross_entropy", "nll_loss"):
                    yield case_of(op, [(x, d), (labels, int64)], axis=axis, reduction=reduction)
        for op in ("binary_cross_entropy_with_logits", "binary_cross_entropy", "mse_loss",
                   "l1_loss", "huber_loss", "kl_div"):  # fmt: skip
            for shape in ("", "a", "1", "ab", "a1", "1b", "abc", "abcd"):
                for reduction in ("mean", "sum", "none"):
                    yield case_of(op, [(shape, d), (shape, d)], reduction=reduction)


def _random() -> Iterator[KernelCase]:
    key: Any = ((2,), uint32)
    for shape in ("", "a", "1", "ab", "1b", "a1", "abc", "1bc", "abcd", "a1cd", "1bcd", "11cd"):
        dims = dims_of(shape)
        for d in FLOATS:
            for mean in ([], [("", d), ("", d)]):
                yield case_of("random_normal", [key, *mean], shape=dims, dtype=d)
            yield case_of("random_uniform", [key, ("", d), ("", d)], shape=dims)
            if len(shape) < 3:
                for op in ("random_exponential", "random_gumbel"):
                    yield case_of(op, [key], shape=dims, dtype=d)
                yield case_of("random_bernoulli", [key, ("", d)], shape=dims)
                yield case_of("random_bernoulli", [key, (shape, d)], shape=dims)
                yield case_of("random_normal", [key, (shape, d), (shape, d)], shape=dims, dtype=d)
        for endpoint in (True, False):
            yield case_of("random_integers", [key, ("", int64), ("", int64)], shape=dims,
                        endpoint=endpoint)
    for d in FLOATS:
        for logits, shape in (("b", ""), ("b", "n"), ("ab", "a"), ("1b", "1"), ("abc", "ab")):
            yield case_of("random_categorical", [key, (logits, d)], shape=dims_of(shape))
    yield case_of("random_fold_in", [key, ("", int64)])
    for num in (2, 3, 4):
        yield case_of("random_split", [key], num=num)


def _matrices() -> Iterator[KernelCase]:
    for d in FLOATS:
        for op in ("cholesky", "inv", "det", "slogdet", "is_singular", "eigh", "qr", "svd",
                   "cholesky_failure", "pinv"):  # fmt: skip
            yield case_of(op, [("aa", d)])
        for y in ("a1", "ab"):
            yield case_of("solve", [("aa", d), (y, d)])
        for op in ("cholesky", "inv", "det", "slogdet", "is_singular", "cholesky_failure"):
            yield case_of(op, [("caa", d)])
        for y in ("ca1", "cab", "caa"):
            yield case_of("solve", [("caa", d), (y, d)])
    # LAPACK's are of double precision
    for op in ("eigvalsh", "eig", "eigvals", "svdvals"):
        yield case_of(op, [("aa", float64)])
    for op in ("qr", "svd", "svd_full", "svdvals", "pinv"):
        yield case_of(op, [("ab", float64)])
    for op in ("exp", "log", "sqrt"):
        for shape in ("", "a", "ab"):
            yield case_of(op, [(shape, complex128)])
    for d in DTYPES:
        for shape in ("ab", "aa"):
            yield case_of("diagonal", [(shape, d)])
        yield case_of("diag_embed", [("a", d)], axis1=0, axis2=1)
        for op in ("triu", "tril"):
            for shape in ("ab", "aa", "abc"):
                for k in (0, 1, -1):
                    yield case_of(op, [(shape, d)], k=k)
        for shape in ("a", "ab"):
            for axis in range(len(shape)):
                yield case_of("repeat", [(shape, d)], repeats=Extent("n"), axis=axis)
                yield case_of("flip", [(shape, d)], axes=(axis,))
            yield case_of("tile", [(shape, d)], repeats=tuple("nm"[: len(shape)]))
        for shift in (1, -1):
            yield case_of("roll", [("a", d)], shifts=(shift,), axes=(0,))
            yield case_of("roll", [("a", d)], shifts=(shift,))
        for x in ("a", "ab"):
            for op in ("sort", "argsort"):
                yield case_of(op, [(x, d)], axis=len(x) - 1, stable=False)


def _transforms() -> Iterator[KernelCase]:
    for real, spectrum in ((float32, complex64), (float64, complex128)):
        for shape in ("a", "ab", "abc"):
            last = len(shape) - 1
            for axes in {(last,), tuple(range(max(0, last - 1), last + 1))}:
                yield case_of("rfft", [(shape, real)], axes=axes)
                yield case_of("irfft", [(shape, spectrum)], axes=axes, length=Extent("n"))
                for inverse in ({}, {"inverse": True}):
                    yield case_of("fft", [(shape, spectrum)], axes=axes, **inverse)


#: the shapes of parameters, of which each has a kernel of its own (see per_parameter)
_PARAMETERS: Final = ("", "a", "1", "ab", "1b", "a1", "11", "abc", "1bc", "abcd", "ab11", "a1cd")


def _steps() -> Iterator[KernelCase]:
    for op, numbers, kinds, ways in (
        ("step_sgd", 4, 2, ({}, {"decays": True})),
        ("step_sgd", 4, 3, ({"momentous": True}, {"momentous": True, "decays": True})),
        ("step_adam", 6, 4, ({}, {"decays": True}, {"decays": True, "decoupled": True})),
    ):
        for shape in _PARAMETERS:
            for d in FLOATS:
                # numbers in double precision; in single, too, as callers with dtypes have them
                for precision in (float64, float32) if d is float32 else (float64,):
                    first = [("", precision)] * numbers
                    if op == "step_adam":
                        first[0] = ("", float32)
                    for way in ways:
                        yield case_of(
                            op, [*first, *[(shape, d)] * kinds], **way)._replace(derived=False)


GROUPS: Final = (
    _casts, _filled, _reshapes, _transposes, _joined, _cut, _sliced, _indexed, _products,
    _layers, _losses, _random, _matrices, _transforms, _steps,
)  # fmt: skip
