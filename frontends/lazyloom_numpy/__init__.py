"""NumPy's interface over lazyloom: ``import lazyloom_numpy as np``.

Operations are recorded as they are called and compiled by XLA when data is read:
by printing, ``float(x)``, ``if x:``, ``x.tolist()`` or ``numpy.asarray(x)``. Semantics
(promotion, broadcasting, views and aliasing, indexing) are NumPy's; differences:

* a result that NumPy returns as a scalar is a 0-d array here, so that it stays pending;
* an index that was computed and is out of range raises its IndexError when something that depends
  on it is read; an array written at such an index has no contents any more, where NumPy's is as
  before. Indices known on the host raise at the call;
* ``order`` decides strides, flags and what aliases, as NumPy's does; data does not move;
* floating-point errors are told only where the program asks (``errstate``, ``seterr``), when a
  result is read: the mode of all is "ignore" until then; the ``LinAlgError`` of a singular matrix
  is raised by the read, too;
* subnormal numbers count as zero in arithmetic, as XLA has it on a CPU.
"""

from __future__ import annotations

import os as _os
import sys as _sys
from typing import Any as _Any

import lazyloom as _lazyloom

_lazyloom.skip_folder(_os.path.dirname(_os.path.abspath(__file__)))

# ruff: noqa: E402, F401, I001
import numpy as _onp
from numpy import (
    bool_, complex64, complex128, complexfloating, double, dtype, e, euler_gamma, finfo, float16,
    float32, float64, floating, generic, half, iinfo, index_exp, inexact, inf, int8, int16, int32,
    int64, int_, integer, intc, intp, isdtype, isscalar, issubdtype, long, longlong, nan, ndindex,
    newaxis, number, pi, printoptions, s_, set_printoptions, short, signedinteger, single, typename,
    ubyte, uint, uint8, uint16, uint32, uint64, uintc, uintp, ulong, ulonglong, unsignedinteger,
    ushort,
)  # fmt: skip
from numpy import bool as bool
from numpy import byte as byte
from numpy import cdouble as cdouble
from numpy import csingle as csingle
from numpy import get_printoptions as get_printoptions
from numpy import exceptions as exceptions
from numpy import iterable as iterable

from ._array.ndarray import ScalarArray, ndarray
from ._methods import attached as _methods
from ._ufuncs import ufunc as _ufuncs
from . import emath, fft, lib, linalg, random
from ._arguments.dtypes import (
    AxisError, UFuncTypeError, bfloat16, can_cast_public as can_cast, common_type, min_scalar_type,
    promote_types, result_type,
)  # fmt: skip
from ._array.array_api import __array_namespace_info__
from ._array.hosted import asnumpy
from ._functions.applying import apply_along_axis, apply_over_axes
from ._functions.bits import packbits, unpackbits
from ._functions.creation import (
    arange, array, asanyarray, asarray, asarray_chkfinite, ascontiguousarray, asfortranarray,
    copy, diag, diag_indices, diag_indices_from, diagflat, empty, empty_like, eye, fill_diagonal,
    from_dlpack, frombuffer, fromfunction, fromiter, full, full_like, identity,
    indices, meshgrid, ones, ones_like, require, tri, tril,
    tril_indices, tril_indices_from, triu, triu_indices, triu_indices_from, vander, zeros,
    zeros_like,
)  # fmt: skip
from ._functions.elementwise import (
    allclose, angle, around, array_equal, array_equiv, clip, fix, imag, interp, isclose,
    iscomplex, iscomplexobj, isneginf, isposinf, isreal, isrealobj, nan_to_num, piecewise, real,
    real_if_close, round, select, unwrap, where,
)  # fmt: skip
from ._functions.files import (
    NpzFile, fromfile, fromstring, genfromtxt, load, loadtxt, save, savetxt, savez,
    savez_compressed,
)  # fmt: skip
from ._functions.histograms import (
    histogram, histogram2d, histogram_bin_edges, histogramdd,
)  # fmt: skip
from ._functions.index_functions import ix_, ravel_multi_index, unravel_index
from ._functions.inserting import delete, insert
from ._functions.iterators import broadcast, nditer
from ._functions.joining import (
    append, block, column_stack, concat, concatenate, dstack, hstack,
    row_stack, stack, vstack,
)  # fmt: skip
from ._functions.manipulation import (
    array_split, astype, atleast_1d, atleast_2d, atleast_3d, broadcast_arrays, broadcast_shapes,
    broadcast_to, copyto, diagonal, dsplit, expand_dims, flip, fliplr, flipud, hsplit, isfortran,
    matrix_transpose, moveaxis, ndim, permute_dims, ravel, reshape, resize, roll, rollaxis, rot90,
    shape, size, split, squeeze, swapaxes, tile, transpose, unstack, vsplit,
)  # fmt: skip
from ._functions.memory import may_share_memory, shares_memory
from ._functions.nanfunctions import (
    nanargmax, nanargmin, nancumprod, nancumsum, nanmax, nanmean, nanmin, nanprod, nanstd, nansum,
    nanvar,
)  # fmt: skip
from ._functions.padding import pad
from ._functions.products import (
    cross, dot, einsum, einsum_path, inner, kron, outer, tensordot, trace, vdot,
)  # fmt: skip
from ._functions.quantiles import (
    median, nanmedian, nanpercentile, nanquantile, percentile, quantile,
)  # fmt: skip
from ._functions.reductions import (
    all, amax, amin, any, argmax, argmin, count_nonzero, cumprod, cumsum, cumulative_prod,
    cumulative_sum, max, mean, min, prod, ptp, std, sum, var,
)  # fmt: skip
from ._functions.selecting import (
    argwhere, bincount, compress, extract, flatnonzero, nonzero, place, repeat, trim_zeros,
)  # fmt: skip
from ._functions.sequences import (
    average, convolve, corrcoef, correlate, cov, diff, ediff1d, gradient, trapezoid,
)  # fmt: skip
from ._functions.sets import (
    intersect1d, isin, setdiff1d, setxor1d, union1d, unique, unique_all, unique_counts,
    unique_inverse, unique_values,
)  # fmt: skip
from ._functions.sorting import (
    argpartition, argsort, choose, digitize, lexsort, partition, put, put_along_axis, putmask,
    searchsorted, sort, sort_complex, take, take_along_axis,
)  # fmt: skip
from ._functions.spaced import geomspace, linspace, logspace
from ._functions.text import (
    base_repr, binary_repr, format_float_positional, format_float_scientific,
)  # fmt: skip
from ._functions.tricks import c_, mask_indices, mgrid, ndenumerate, ogrid, r_
from ._functions.vectorize import frompyfunc, vectorize
from ._functions.windows import bartlett, blackman, hamming, hanning, i0, kaiser, sinc
from ._indexing.flat import flatiter
from ._interop.protocols import array2string, array_repr, array_str
from ._ufuncs.errstate import errstate, geterr, geterrcall, seterr, seterrcall
from ._ufuncs.ufunc import ufunc
from .lib._polynomials import (
    poly, poly1d, polyadd, polyder, polydiv, polyfit, polyint, polymul, polysub, polyval, roots,
)  # fmt: skip
from . import _docstrings
from ._array import hosted as _hosted
from ._interop import (
    captured as _captured, einops as _einops, pandas as _pandas, submodules as _submodules,
)  # fmt: skip

_hosted.install(globals(), _onp)
_hosted.install(linalg.__dict__, _onp.linalg)
_hosted.install(fft.__dict__, _onp.fft)
globals().update(_ufuncs.PUBLIC)

_einops.install()
_pandas.install()
_submodules.install()

bitwise_invert = _ufuncs.PUBLIC["invert"]
_docstrings.attach(globals())
little_endian = _sys.byteorder == "little"
True_ = _onp.True_
False_ = _onp.False_

__version__ = _onp.__version__
__array_api_version__ = "2024.12"


def __dir__() -> list[str]:
    return sorted(n for n in globals() if n != "annotations" and (
        not n.startswith("_") or n in ("__array_api_version__", "__array_namespace_info__",
                                       "__version__")))


def __getattr__(name: str) -> _Any:
    """Only called for names that are not here yet: rare ones, and those that are NumPy's own."""
    if name in ("testing", "typing"):
        from importlib import import_module

        return import_module(f"lazyloom_numpy.{name}")
    if name == "bmat":
        return _hosted.bmat
    from ._absent import numpys_own  # for start-up time

    return numpys_own(name)
