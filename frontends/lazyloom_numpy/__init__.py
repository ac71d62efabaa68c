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

from ._array import ScalarArray, ndarray
from . import _methods
from . import _ufuncs
from . import emath, fft, lib, linalg, random
from ._creation import (
    arange, array, asanyarray, asarray, asarray_chkfinite, ascontiguousarray, asfortranarray,
    copy, diag, diag_indices, diag_indices_from, diagflat, empty, empty_like, eye, fill_diagonal,
    from_dlpack, frombuffer, fromfunction, fromiter, full, full_like, identity,
    indices, meshgrid, ones, ones_like, require, tri, tril,
    tril_indices, tril_indices_from, triu, triu_indices, triu_indices_from, vander, zeros,
    zeros_like,
)  # fmt: skip
from ._dtypes import (
    AxisError, UFuncTypeError, bfloat16, can_cast_public as can_cast, common_type, min_scalar_type,
    promote_types, result_type,
)  # fmt: skip
from ._elementwise import (
    allclose, angle, around, array_equal, array_equiv, clip, fix, imag, interp, isclose,
    iscomplex, iscomplexobj, isneginf, isposinf, isreal, isrealobj, nan_to_num, piecewise, real,
    real_if_close, round, select, unwrap, where,
)  # fmt: skip
from ._iterators import broadcast, nditer
from ._info import __array_namespace_info__
from ._applying import apply_along_axis, apply_over_axes
from ._bits import packbits, unpackbits
from ._files import (
    NpzFile, fromfile, fromstring, genfromtxt, load, loadtxt, save, savetxt, savez,
    savez_compressed,
)  # fmt: skip
from ._spaced import geomspace, linspace, logspace
from ._text import base_repr, binary_repr, format_float_positional, format_float_scientific
from ._tricks import c_, mask_indices, mgrid, ndenumerate, ogrid, r_
from ._histograms import (
    histogram, histogram2d, histogram_bin_edges, histogramdd,
)  # fmt: skip
from ._errstate import errstate, geterr, geterrcall, seterr, seterrcall
from ._indexing import flatiter, ix_, ravel_multi_index, unravel_index
from ._inserting import delete, insert
from ._interop import array2string, array_repr, array_str, asnumpy
from ._linalg import (
    cross, dot, einsum, einsum_path, inner, kron, outer, tensordot, trace, vdot,
)  # fmt: skip
from ._joining import (
    append, block, column_stack, concat, concatenate, dstack, hstack,
    row_stack, stack, vstack,
)  # fmt: skip
from ._manipulation import (
    array_split, astype, atleast_1d, atleast_2d, atleast_3d, broadcast_arrays, broadcast_shapes,
    broadcast_to, copyto, diagonal, dsplit, expand_dims, flip, fliplr, flipud, hsplit, isfortran,
    matrix_transpose, moveaxis, ndim, permute_dims, ravel, reshape, resize, roll, rollaxis, rot90,
    shape, size, split, squeeze, swapaxes, tile, transpose, unstack, vsplit,
)  # fmt: skip
from ._memory import may_share_memory, shares_memory
from ._nanfunctions import (
    nanargmax, nanargmin, nancumprod, nancumsum, nanmax, nanmean, nanmin, nanprod, nanstd, nansum,
    nanvar,
)  # fmt: skip
from ._polynomials import (
    poly, poly1d, polyadd, polyder, polydiv, polyfit, polyint, polymul, polysub, polyval, roots,
)  # fmt: skip
from ._padding import pad
from ._quantiles import (
    median, nanmedian, nanpercentile, nanquantile, percentile, quantile,
)  # fmt: skip
from ._reductions import (
    all, amax, amin, any, argmax, argmin, count_nonzero, cumprod, cumsum, cumulative_prod,
    cumulative_sum, max, mean, min, prod, ptp, std, sum, var,
)  # fmt: skip
from ._sequences import (
    average, convolve, corrcoef, correlate, cov, diff, ediff1d, gradient, trapezoid,
)  # fmt: skip
from ._selecting import (
    argwhere, bincount, compress, extract, flatnonzero, nonzero, place, repeat, trim_zeros,
)  # fmt: skip
from ._sets import (
    intersect1d, isin, setdiff1d, setxor1d, union1d, unique, unique_all, unique_counts,
    unique_inverse, unique_values,
)  # fmt: skip
from ._sorting import (
    argpartition, argsort, choose, digitize, lexsort, partition, put, put_along_axis, putmask,
    searchsorted, sort, sort_complex, take, take_along_axis,
)  # fmt: skip
from ._ufuncs import ufunc
from ._windows import bartlett, blackman, hamming, hanning, i0, kaiser, sinc
from ._vectorize import frompyfunc, vectorize
from . import _captured, _einops, _hosted, _pandas, _submodules

_hosted.install(globals(), _onp)
_hosted.install(linalg.__dict__, _onp.linalg)
_hosted.install(fft.__dict__, _onp.fft)
globals().update(_ufuncs.PUBLIC)

_einops.install()
_pandas.install()
_submodules.install()

bitwise_invert = _ufuncs.PUBLIC["invert"]
little_endian = _sys.byteorder == "little"
True_ = _onp.True_
False_ = _onp.False_

__version__ = _onp.__version__
__array_api_version__ = "2024.12"


def __dir__() -> list[str]:
    return sorted(n for n in globals() if not n.startswith("_") and n != "annotations")


def __getattr__(name: str) -> _Any:
    """Only called for names that are not here yet: rare ones, and those that are NumPy's own."""
    if name in ("testing", "typing"):
        from importlib import import_module

        return import_module(f"lazyloom_numpy.{name}")
    if name == "bmat":
        return _hosted.bmat
    from ._absent import numpys_own  # for start-up time

    return numpys_own(name)
