"""Sample inputs of every op, which drive the sample-based tests.

``samples(op)`` yields a few inputs for each dtype that the op takes, 0-d, empty and
broadcast shapes for one of them, each attribute, and NaN, infinities, signed zeros
and extreme integers where they make sense. They come from the op's family
(a function registered with :func:`family`) unless the entry has its own. The same
op always gets the same samples.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

import numpy as np

from ..dtypes import ALL, CLASSES_SORTED, DType, bool_, complex64, float32, float64, int32, int64
from .spec import OpDef

Host: TypeAlias = "np.ndarray[Any, Any]"
Shape = tuple[int, ...]
Generator = Callable[[OpDef], "Iterator[Sample]"]


class Sample:
    """One input of an op.

    Attributes:
        operands: one array each, ``None`` for an optional operand that is absent.
        attributes: only those that differ from the defaults.
        label: what the sample tests, such as ``"float32 broadcast"``.
        smooth: the op is differentiable around these values, if it is at all, and
            a numerical derivative can be compared.
    """

    __slots__ = ("operands", "attributes", "label", "smooth")

    def __init__(
        self, operands: Sequence[Host | None], attributes: Mapping[str, Any] | None = None,
        label: str = "", *, smooth: bool = True,
    ) -> None:  # fmt: skip
        self.operands: Final = tuple(operands)
        self.attributes: Final = dict(attributes or {})
        self.label: Final = label
        self.smooth: Final = smooth

    def __repr__(self) -> str:
        operands = ", ".join("None" if o is None else f"{o.dtype}{list(o.shape)}"
                             for o in self.operands)
        return f"Sample({operands}, {self.attributes}, {self.label!r})"


_families: dict[str, Generator] = {}


def family(*names: str) -> Callable[[Generator], Generator]:
    """Register a generator of samples for the families (rules) of these names."""

    def enter(generator: Generator) -> Generator:
        for name in names:
            _families[name] = generator
        return generator

    return enter


def samples(op: OpDef) -> Iterator[Sample]:
    """The samples of an op. Raises LookupError if neither it nor its family has any."""
    generator: Generator | None = op.samples or _families.get(op.family)
    if generator is None:
        raise LookupError(f"{op.name}: no samples for family {op.family!r}; give samples=")
    return generator(op)


# Data


def random_source(name: str) -> np.random.Generator:
    """A generator of random numbers that depends only on the name."""
    return np.random.default_rng(zlib.crc32(name.encode()))


def data(
    rng: np.random.Generator, dtype: DType, shape: Shape, low: float = -2.5, high: float = 2.5
) -> Host:
    """Random values of any dtype in [low, high), in both parts of complex ones.

    Integers range from ``2 * low`` to ``2 * high``, unsigned ones at least from 0.
    """
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(np.bool_)
    if dtype.kind == "i":
        return rng.integers(int(2 * low), int(2 * high) + 1, shape).astype(dtype.numpy)
    if dtype.kind == "u":
        return rng.integers(max(0, int(2 * low)), int(2 * high) + 1, shape).astype(dtype.numpy)
    if dtype.kind == "c":
        parts = rng.uniform(low, high, shape) + 1j * rng.uniform(low, high, shape)
        return np.asarray(parts).astype(dtype.numpy)
    return np.asarray(rng.uniform(low, high, shape)).astype(dtype.numpy)


def special_values(dtype: DType) -> Host:
    """A row of values on which definitions differ: NaN, infinities, zeros, extremes."""
    values: list[Any]
    if dtype.kind == "b":
        values = [False, True]
    elif dtype.kind == "c":
        values = [0, 1, -1, 2, 1j, -1j, 3 - 4j, -0.5 + 2j]
    elif dtype.kind == "f":
        values = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.5, -1.5, 3.0, 20.0]
    else:
        limits = np.iinfo(dtype.numpy)
        values = [limits.min, limits.max, 0, 1, 2, 3, 7]
        values += [-1, -2, -7] if dtype.kind == "i" else [limits.max - 1]
    return np.array(values, dtype.numpy)


def preferred(dtypes: Sequence[DType]) -> DType:
    """The dtype that samples of shapes and attributes use."""
    for d in (float32, int32, complex64):
        if d in dtypes:
            return d
    return dtypes[0]


# Elementwise

#: shapes of up to four operands
_BROADCAST: Final = (((2, 3), (3,), (2, 1), (1, 3)), ((2, 1, 3), (4, 1), (4, 3), ()))
_EMPTY: Final = ((0, 3), (3,), (0, 1), ())
_SCALAR: Final = ((), (), (), ())
_MIXED: Final = ((), (2, 2), (), (2,))


class Elementwise:
    """Samples of an elementwise op, broadcasting its operands.

    Attributes:
        variants: attribute values; the first serves every sample.
        low, high: the interval that random values come from.
        special: also give :func:`special_values` (all pairs of them for two operands).
    """

    def __init__(
        self, *variants: Mapping[str, Any], low: float = -2.5, high: float = 2.5,
        special: bool = True,
    ) -> None:  # fmt: skip
        self.variants: Final = variants or ({},)
        self.low: Final = low
        self.high: Final = high
        self.special: Final = special

    def _operands(
        self, op: OpDef, rng: np.random.Generator, dtype: DType, shapes: Sequence[Shape]
    ) -> list[Host | None]:
        operands: list[Host | None] = []
        for o, shape in zip(op.operands, shapes, strict=False):
            if o.classes in ("T", "any") or dtype in CLASSES_SORTED[o.classes]:
                operands.append(data(rng, dtype, shape, self.low, self.high))
            elif o.classes in ("integer", "index"):
                operands.append(data(rng, int32, shape, 0, 2))
            else:
                operands.append(data(rng, preferred(CLASSES_SORTED[o.classes]), shape))
        return operands

    def _special(self, op: OpDef, dtype: DType) -> list[Host | None]:
        n = len(op.operands)
        values = special_values(dtype)
        operands: list[Host | None] = []
        for i, o in enumerate(op.operands):
            column = values if o.classes in ("T", "any") else special_values(
                preferred(CLASSES_SORTED[o.classes]))
            if n > 1 and i < 2:
                operands.append(column.reshape((-1, 1)[: 2 - i]))
            else:
                operands.append(column[:1].copy() if n > 2 else column)
        return operands

    def __call__(self, op: OpDef) -> Iterator[Sample]:
        rng = random_source(op.name)
        first = self.variants[0]
        variable = [o.classes for o in op.operands]
        classes = op.T if "T" in variable else variable[0]
        dtypes = CLASSES_SORTED[classes]
        main = preferred(dtypes)
        for d in dtypes:
            yield Sample(self._operands(op, rng, d, _BROADCAST[0]), first, d.name)
            if self.special:
                yield Sample(self._special(op, d), first, f"{d.name} special", smooth=False)
        for label, shapes in (("0-d", _SCALAR), ("empty", _EMPTY), ("broadcast", _BROADCAST[1]),
                              ("0-d with 2-d", _MIXED)):
            yield Sample(self._operands(op, rng, main, shapes), first, label)
        for variant in self.variants[1:]:
            for d in (main, float64) if float64 in dtypes else (main,):
                yield Sample(self._operands(op, rng, d, _BROADCAST[0]), variant,
                             f"{d.name} {variant}")
        for i, o in enumerate(op.operands):
            if o.optional:
                without = self._operands(op, rng, main, _BROADCAST[0])
                without[i] = None
                yield Sample(without, first, f"without {o.name}")
        if classes == "any" and "T" not in variable and len(variable) > 1:
            mixed = [data(rng, d, (3,)) for d, _ in zip((bool_, float64, int64), variable,
                                                       strict=False)]
            yield Sample(mixed, first, "dtypes mixed", smooth=False)


family("elementwise", "comparison", "predicate", "real_part", "complex_pair")(Elementwise())


# Reductions


class Reduction:
    """Samples of a reduction over ``axes`` with ``keepdims``.

    Attributes:
        identity: the op has a result over no element.
        variants: further attributes, one sample each.
        low, high: the interval that random values come from.
    """

    def __init__(
        self, *variants: Mapping[str, Any], identity: bool = True, special: bool = True,
        low: float = -2.5, high: float = 2.5,
    ) -> None:  # fmt: skip
        self.variants: Final = variants
        self.identity: Final = identity
        self.special: Final = special
        self.low: Final = low
        self.high: Final = high

    def __call__(self, op: OpDef) -> Iterator[Sample]:
        rng = random_source(op.name)
        dtypes = CLASSES_SORTED[op.T]
        main = preferred(dtypes)
        x: Host

        def values(d: DType, shape: Shape) -> Host:
            return data(rng, d, shape, self.low, self.high)

        for d in dtypes:
            yield Sample([values(d, (2, 3, 4))], {"axes": (1,)}, d.name)
            yield Sample([values(d, (3, 5))], {"axes": None}, f"{d.name} all")
            if self.special:
                x = special_values(d)
                table = np.stack([x, np.roll(x, 1), np.full_like(x, x[1])])
                yield Sample([table], {"axes": (0,)}, f"{d.name} special", smooth=False)
        for axes, keepdims in (((0, 2), False), ((0, 2), True), ((-1,), True), ((), False),
                               (None, True), ((2, 0), False)):
            yield Sample([values(main, (2, 3, 4))], {"axes": axes, "keepdims": keepdims},
                         f"axes={axes} keepdims={keepdims}")
        yield Sample([values(main, ())], {"axes": None}, "0-d")
        yield Sample([values(main, (3, 0))], {"axes": (0,)}, "empty result")
        if self.identity:
            yield Sample([values(main, (0, 3))], {"axes": (0,)}, "empty")
        for variant in self.variants:
            yield Sample([values(main, (2, 3, 4))], {"axes": (1,), **variant}, str(variant))


family("reduction", "real_reduction", "truth_reduction", "count_reduction")(Reduction())
family("extremum")(Reduction(identity=False))


@family("accumulation")
def accumulation_samples(op: OpDef) -> Iterator[Sample]:
    """A reduction with every result dtype for a few operand dtypes."""
    yield from Reduction(identity=True, low=0.5, high=1.5)(op)
    rng = random_source(op.name + " dtype")
    for d in ALL:
        yield Sample([data(rng, bool_, (3, 4))], {"axes": (0,), "dtype": d}, f"bool as {d.name}")
        yield Sample([data(rng, float32, (3, 4), 0.5, 1.5)], {"axes": (0,), "dtype": d},
                     f"float32 as {d.name}", smooth=d.is_inexact)


@family("arg_reduction")
def arg_reduction_samples(op: OpDef) -> Iterator[Sample]:
    """One axis or all of them, with ties and NaN."""
    rng = random_source(op.name)
    for d in CLASSES_SORTED[op.T]:
        yield Sample([data(rng, d, (2, 3, 4))], {"axis": 1}, d.name)
        x = special_values(d)
        table = np.stack([np.roll(x, i) for i in range(4)])
        yield Sample([table], {"axis": 1}, f"{d.name} special", smooth=False)
    main = preferred(CLASSES_SORTED[op.T])
    for axis, keepdims in ((0, False), (-1, True), (None, False), (None, True)):
        yield Sample([data(rng, main, (2, 3, 4))], {"axis": axis, "keepdims": keepdims},
                     f"axis={axis} keepdims={keepdims}")
    yield Sample([data(rng, main, ())], {"axis": None}, "0-d")
    yield Sample([data(rng, main, (3, 0))], {"axis": 0}, "empty result")


@family("cumulative")
def cumulative_samples(op: OpDef) -> Iterator[Sample]:
    """Along each axis, forward and reverse."""
    rng = random_source(op.name)
    main = preferred(CLASSES_SORTED[op.T])
    for d in CLASSES_SORTED[op.T]:
        yield Sample([data(rng, d, (3, 4))], {"axis": 1}, d.name)
        if d.is_floating:
            yield Sample([special_values(d)], {"axis": 0}, f"{d.name} special", smooth=False)
    for axis, reverse in ((0, False), (-1, True), (0, True)):
        yield Sample([data(rng, main, (3, 4))], {"axis": axis, "reverse": reverse},
                     f"axis={axis} reverse={reverse}")
        yield Sample([data(rng, main, (0, 4))], {"axis": axis, "reverse": reverse},
                     f"empty axis={axis} reverse={reverse}")
    if float64 in CLASSES_SORTED[op.T]:
        yield Sample([data(rng, float64, (2, 5))], {"axis": 1, "reverse": True}, "float64 reverse")


# Casts and creation


@family("cast")
def cast_samples(op: OpDef) -> Iterator[Sample]:
    """Every pair of dtypes, with values that both can hold."""
    rng = random_source(op.name)
    for source in ALL:
        for target in ALL:
            signed = source.kind in "ifc" and target.kind in "ifc"
            x = data(rng, source, (5,), -2.5 if signed else 0.25, 2.5)
            yield Sample([x], {"dtype": target}, f"{source.name} to {target.name}",
                         smooth=source.is_inexact and target.is_inexact)
            if target.kind in "bfc" and source.kind in "f":
                yield Sample([special_values(source)], {"dtype": target},
                             f"{source.name} special to {target.name}", smooth=False)
            if target.kind in "iu" and source.kind in "iu":
                yield Sample([special_values(source)], {"dtype": target},
                             f"{source.name} extremes to {target.name}", smooth=False)
    yield Sample([data(rng, float32, ())], {"dtype": int32}, "0-d")
    yield Sample([data(rng, float32, (0, 3))], {"dtype": int32}, "empty")


@family("bitcast")
def bitcast_samples(op: OpDef) -> Iterator[Sample]:
    """Every pair of dtypes; a last axis where the sizes differ."""
    rng = random_source(op.name)
    for source in ALL:
        for target in ALL:
            ratio = target.itemsize // source.itemsize
            x = data(rng, source, (3, ratio) if ratio > 1 else (3,))
            yield Sample([x], {"dtype": target}, f"{source.name} to {target.name}", smooth=False)
    yield Sample([data(rng, float32, ())], {"dtype": int32}, "0-d", smooth=False)
    yield Sample([data(rng, float32, (0, 3))], {"dtype": int32}, "empty", smooth=False)
