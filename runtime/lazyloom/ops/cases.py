"""Samples written beside an entry: operands by shape, attributes by name.

``Cases(case((2, 3), axis=1), case((), ...))`` gives the first case for each dtype of
the op and the others for one of them. See :mod:`lazyloom.ops.samples`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, TypeAlias

import numpy as np

from ..dtypes import CLASSES_SORTED, DType, float64, int64
from .samples import Host, Sample, data, preferred, random_source
from .spec import OpDef

#: A shape (random values of the op's dtype), nested lists of integers (int64 positions,
#: or bools for a mask), an array, a function of (random numbers, dtype), or None.
Given: TypeAlias = (
    "tuple[int, ...] | list[Any] | Host | Callable[[np.random.Generator, DType], Host] | None")


class Case:
    """Operands and attributes of one sample; see :func:`case`."""

    __slots__ = ("operands", "attributes", "smooth")

    def __init__(
        self, operands: Sequence[Given], attributes: dict[str, Any], smooth: bool
    ) -> None:
        self.operands: Final = tuple(operands)
        self.attributes: Final = attributes
        self.smooth: Final = smooth


def case(*operands: Given, **attributes: Any) -> Case:
    """One sample: an operand each, then attributes."""
    return Case(operands, attributes, True)


def rough(*operands: Given, **attributes: Any) -> Case:
    """One sample at which a numerical derivative differs from the op's."""
    return Case(operands, attributes, False)


def integers(values: Any, dtype: type[np.generic] = np.int64) -> Host:
    """An array of positions, int64 unless said otherwise."""
    return np.array(values, dtype=dtype)


def distinct(*shape: int) -> Callable[[np.random.Generator, DType], Host]:
    """Values no two of which are closer than 0.1 (as far as the dtype has so many)."""

    def make(rng: np.random.Generator, dtype: DType) -> Host:
        count = int(np.prod(shape))
        values = rng.permutation(count) - (count // 2 if dtype.kind != "u" else 0)
        scaled = values * 0.25 if dtype.kind in "fc" else values
        return np.asarray(scaled).astype(dtype.numpy).reshape(shape)

    return make


class Cases:
    """Samples from cases, the first of them for each dtype that the op takes.

    Attributes:
        cases: the results of :func:`case`.
        low, high: the interval from which random values come.
        smooth: a numerical derivative can be compared around the values.
        each: how many cases, from the first, are given for each dtype.
        only: the dtype class of the samples, the op's own if None.
    """

    def __init__(
        self, *cases: Case, low: float = -2.5, high: float = 2.5, smooth: bool = True,
        each: int = 1, only: str | None = None,
    ) -> None:  # fmt: skip
        self.cases: Final = cases
        self.low: Final = low
        self.high: Final = high
        self.smooth: Final = smooth
        self.each: Final = each
        self.only: Final = only

    def _host(self, op: OpDef, operand: Given, at: int, dtype: DType, rng: Any) -> Host | None:
        if operand is None:
            return None
        if isinstance(operand, np.ndarray):
            # real numbers take the sample's dtype, everything else stays as it is
            return operand.astype(dtype.numpy) if operand.dtype.kind == "f" else operand
        if isinstance(operand, list):
            return np.array(operand) if operand else np.array(operand, dtype=np.int64)
        classes = op.operands[min(at, len(op.operands) - 1)].classes
        kinds = CLASSES_SORTED[op.T if classes == "T" else classes]
        chosen = dtype if dtype in kinds else int64 if int64 in kinds else preferred(kinds)
        if isinstance(operand, tuple):
            return data(rng, chosen, operand, self.low, self.high)
        return operand(rng, chosen)

    def __call__(self, op: OpDef) -> Iterator[Sample]:
        rng = random_source(op.name)
        classes = [o.classes for o in op.operands]
        varied = op.T if "T" in classes else classes[0]
        dtypes = CLASSES_SORTED[self.only or varied]
        # double precision, so that derivatives can be compared with numerical ones
        main = float64 if float64 in dtypes else preferred(dtypes)
        for i, c in enumerate(self.cases):
            for d in dtypes if i < self.each else (main,):
                operands = [self._host(op, g, j, d, rng) for j, g in enumerate(c.operands)]
                shapes = " ".join("-" if o is None else str(list(o.shape)) for o in operands)
                named = " ".join(f"{k}={v}" for k, v in c.attributes.items())
                yield Sample(operands, c.attributes, f"{d.name} {shapes} {named}".strip(),
                             smooth=self.smooth and c.smooth and d.is_inexact)
