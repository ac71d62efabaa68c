"""Fourier transforms, with NumPy's."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ..jaxprs.walking import positive
from .writer import Expr, Unsupported, Writer, dtype_of, extents

Array = Any
#: by the number of XLA's kind of transform; NumPy imports numpy.fft when it is first asked for
_KINDS: Final = ("fftn", "ifftn", "rfftn", "irfftn")


def transform(x: Array, kind: int, counts: tuple[int, ...]) -> Array:
    """The transform along the last axes, which have so many points."""
    found: Array = getattr(np.fft, _KINDS[kind])(x, counts, range(-len(counts), 0))
    return found


def fft(w: Writer, p: Any, xs: list[Expr], out: Any) -> Expr:
    x, shape, dtype = w.full(xs[0]), extents(out.aval.shape), dtype_of(out.aval)
    if not positive(x.size):
        raise Unsupported("fft of arrays without elements")
    counts = extents(p["fft_lengths"])
    return w.let(f"transform({x.text}, {int(p['fft_type'])}, {counts})", shape, dtype)
