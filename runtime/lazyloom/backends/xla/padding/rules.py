"""Rules of JAX primitives on padded operands: elementwise, shapes, reductions, products."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from .dims import ANY, NotPadded, is_dynamic, is_static, unified
from .identities import IDENTITIES, lowest, ones
from .indexing import INDEXING
from .interpret import PaddedRun, PaddedValue, Rule
from .loops import LOOPS
from .moving import MOVING, moved
from .windows import WINDOWS

_ELEMENTWISE: Final = (
    "abs acos acosh add add_any and asin asinh atan atan2 atanh bessel_i0e bessel_i1e "
    "cbrt ceil clamp clz complex conj convert_element_type copy copy_p cos "
    "cosh digamma div eq eq_to erf erf_inv erfc exp exp2 expm1 floor ge gt igamma "
    "igamma_grad_a igammac imag integer_pow is_finite le le_to lgamma log log1p logistic lt lt_to "
    "max min mul ne neg nextafter not or polygamma population_count pow random_gamma_grad real "
    "reduce_precision regularized_incomplete_beta rem round rsqrt select_n shift_left "
    "shift_right_arithmetic shift_right_logical sign sin sinh sqrt square sub tan tanh xor "
    "zeta").split()


def _elementwise(run: PaddedRun, step: Any, xs: list[PaddedValue]) -> list[PaddedValue]:
    # scalars and dimensions of one element are broadcast
    full = [x.dims for x in xs if x.dims]
    dims = tuple(
        functools.reduce(unified, [d for d in each if d != ("1",)] or [("1",)])
        for each in zip(*full, strict=True))
    return run.bound(step, xs, dims)


def _bitcast(run: PaddedRun, step: Any, xs: list[PaddedValue]) -> list[PaddedValue]:
    x, shape = xs[0], step.outvars[0].aval.shape
    # an element of a larger type is one more dimension of elements of a smaller type
    gone = x.dims[len(shape) :]
    if any(map(is_dynamic, gone)):
        raise NotPadded("bitcast_convert_type of a dynamic number of elements to one")
    more = [(run.sizes.text(n),) for n in shape[len(x.dims) :]]
    return run.bound(step, xs, (*x.dims[: len(shape)], *more))


def _each(run: PaddedRun, step: Any, xs: list[PaddedValue]) -> list[PaddedValue]:
    """Run a step that gives a result for each of several operands."""
    return run.bound(step, xs, *[x.dims for x in xs])


# shapes


def _broadcast_in_dim(run: PaddedRun, step: Any, xs: list[PaddedValue]) -> list[PaddedValue]:
    from jax import lax

    x, shape = xs[0], step.params["shape"]
    dims = [run.sizes.free(n) for n in shape]
    for d, description in zip(step.params["broadcast_dimensions"], x.dims, strict=True):
        if description != ("1",):
            dims[d] = description
    data = lax.broadcast_in_dim(
        x.data, [run.sizes.at_bucket(n) for n in shape], step.params["broadcast_dimensions"])
    return [PaddedValue(data, tuple(dims))]


def _reshape(run: PaddedRun, step: Any, xs: list[PaddedValue]) -> list[PaddedValue]:
    from jax import lax

    if step.params.get("dimensions") is not None:
        raise NotPadded("a reshape in another order")
    x, shape = xs[0], step.outvars[0].aval.shape
    if x.counter:
        return [run.counted(tuple(map(run.sizes.alike, shape)), x.data.dtype)]
    dims = run.sizes.reshaped(x.dims, shape)
    return [PaddedValue(lax.reshape(x.data, [run.sizes.at_bucket(n) for n in shape]), dims)]


def _stack(run: PaddedRun, step: Any, xs: list[PaddedValue]) -> list[PaddedValue]:
    dims, axis = list(run.common(xs)), int(step.params["axis"])
    dims.insert(axis, (str(len(xs)),))
    return run.bound(step, xs, tuple(dims))


def _squeeze(run: PaddedRun, step: Any, xs: list[PaddedValue]) -> list[PaddedValue]:
    gone = {int(d) for d in step.params["dimensions"]}
    return run.bound(step, xs, tuple(d for k, d in enumerate(xs[0].dims) if k not in gone))


def _transpose(run: PaddedRun, step: Any, xs: list[PaddedValue]) -> list[PaddedValue]:
    return run.bound(step, xs, tuple(xs[0].dims[d] for d in step.params["permutation"]))


def _iota(run: PaddedRun, step: Any, xs: list[PaddedValue]) -> list[PaddedValue]:
    from jax import lax

    p = step.params
    axis, shape = int(p["dimension"]), p["shape"]
    along = run.counted((run.sizes.alike(shape[axis]),), p["dtype"])
    if len(shape) == 1:
        return [along]
    dims = tuple(along.dims[0] if d == axis else run.sizes.free(n) for d, n in enumerate(shape))
    return [PaddedValue(lax.broadcast_in_dim(
        along.data, [run.sizes.at_bucket(n) for n in shape], (axis,)), dims)]


def _dim_as_value(run: PaddedRun, step: Any, xs: list[PaddedValue]) -> list[PaddedValue]:
    from jax import lax

    size = run.actual(run.sizes.text(step.params["dim"]))
    return [PaddedValue(lax.convert_element_type(size, step.outvars[0].aval.dtype), ())]


# folds


def _reduce(identity: Callable[[Any], Any]) -> Rule:
    def rule(run: PaddedRun, step: Any, xs: list[PaddedValue]) -> list[PaddedValue]:
        x, axes = xs[0], step.params["axes"]
        filled = run.filled(x, axes, identity(x.data.dtype)) if _any(x, axes) else x.data
        return run.bound(step, [PaddedValue(filled, x.dims)], _without(x, axes))

    return rule


def _any(x: PaddedValue, axes: Sequence[int]) -> bool:
    return any(is_dynamic(x.dims[a]) for a in axes)


def _without(x: PaddedValue, axes: Sequence[int]) -> tuple[Any, ...]:
    return tuple(d for k, d in enumerate(x.dims) if k not in axes)


def _reduce_by(run: PaddedRun, step: Any, xs: list[PaddedValue]) -> list[PaddedValue]:
    """Run a reduction by a custom function; the initial values are that function's identity."""
    half, axes = len(xs) // 2, step.params["dimensions"]
    operands, initial = xs[:half], xs[half:]
    dims = run.common(operands)
    reduced_dims = tuple(d for k, d in enumerate(dims) if k not in axes)
    filled = [PaddedValue(run.filled(x, axes, first.data), x.dims)
              for x, first in zip(operands, initial, strict=True)]
    return run.bound(step, [*filled, *initial], *[reduced_dims] * half)


def _arg(sign: int) -> Rule:
    def rule(run: PaddedRun, step: Any, xs: list[PaddedValue]) -> list[PaddedValue]:
        x, axes = xs[0], step.params["axes"]
        if not _any(x, axes):
            return run.bound(step, xs, _without(x, axes))
        # of equal elements the first is taken, and valid elements come before padding
        filled = run.filled(x, axes, lowest(x.data.dtype, sign))
        result = run.bound(step, [PaddedValue(filled, x.dims)], _without(x, axes))[0]
        (axis,) = axes
        return [PaddedValue(moved(run, result.data, x.dims[axis], to_padded=False), result.dims)]

    return rule


def _cumulative(identity: Callable[[Any], Any]) -> Rule:
    def rule(run: PaddedRun, step: Any, xs: list[PaddedValue]) -> list[PaddedValue]:
        x, axis = xs[0], step.params["axis"]
        first = len(x.dims[axis]) == 1 or x.dims[axis][0] == ANY
        if is_dynamic(x.dims[axis]) and (step.params["reverse"] or not first):
            x = PaddedValue(run.filled(x, [axis], identity(x.data.dtype)), x.dims)
        dims = tuple(run.varying(d) if k == axis else d for k, d in enumerate(x.dims))
        return run.bound(step, [x], dims)

    return rule


def _sort(run: PaddedRun, step: Any, xs: list[PaddedValue]) -> list[PaddedValue]:
    from jax import lax

    axis, dims = step.params["dimension"], run.common(xs)
    if not is_dynamic(dims[axis]):
        return run.bound(step, xs, *[dims] * len(xs))
    # the padding comes last, whatever it is
    padding = lax.broadcast_in_dim(
        lax.bitwise_not(run.valid(dims[axis])), xs[0].data.shape, (axis,))
    arrays = lax.sort((padding, *[x.data for x in xs]), dimension=axis,
                      is_stable=step.params["is_stable"], num_keys=step.params["num_keys"] + 1)
    total = (run.sizes.total(dims[axis]),)
    dims = (*dims[:axis], total, *dims[axis + 1 :])
    return [PaddedValue(x, dims) for x in arrays[1:]]


def _top_k(run: PaddedRun, step: Any, xs: list[PaddedValue]) -> list[PaddedValue]:
    x, k = xs[0], step.params["k"]
    axis = int(step.params.get("axis", len(x.dims) - 1))
    if is_dynamic(x.dims[axis]):
        run.first(x.dims[axis])
        x = PaddedValue(run.filled(x, [axis], _last(x.data.dtype)), x.dims)
    dims = (*x.dims[:axis], run.sizes.plain(k), *x.dims[axis + 1 :])
    return run.bound(step, [x], dims, dims, k=run.sizes.at_bucket(k))


def _last(dtype: Any) -> Any:
    """Return the value that no element is below in the total order, in which some NaN are below
    -inf."""
    if dtype.kind == "b" or np.issubdtype(dtype, np.integer):
        return lowest(dtype, 1)
    bits = ones(np.dtype(f"u{dtype.itemsize}"))
    return np.asarray(bits).view(dtype)


# products


def _dot_general(run: PaddedRun, step: Any, xs: list[PaddedValue]) -> list[PaddedValue]:
    contract, batch = step.params["dimension_numbers"]
    shared = [unified(xs[0].dims[a], xs[1].dims[b]) for a, b in zip(*batch, strict=True)]
    along = [unified(xs[0].dims[a], xs[1].dims[b]) for a, b in zip(*contract, strict=True)]
    filled, dims = [], list(shared)
    for x, axes, others in zip(xs, contract, batch, strict=True):
        described = list(x.dims)
        for axis, description in zip(axes, along, strict=True):
            described[axis] = description
        # both operands, since 0 times NaN is NaN, too
        filled.append(PaddedValue(run.filled(
            PaddedValue(x.data, tuple(described)), axes, np.zeros((), x.data.dtype)), ()))
        dims += [d for k, d in enumerate(x.dims) if k not in axes and k not in others]
    return run.bound(step, filled, tuple(dims))


#: the dimensions of operands that are not matrices
_ROWS: Final = {"lu_pivots_to_permutation": 1}


def _batched(run: PaddedRun, step: Any, xs: list[PaddedValue]) -> list[PaddedValue]:
    """Linear algebra on matrices of a static size: the leading dimensions are a batch of any size.

    The padding is zeros, as some algorithms end late or never on NaN.
    """
    inner = _ROWS.get(step.primitive.name, 2)
    lead = [x.dims[:-inner] for x in xs]
    results = []
    if any(is_dynamic(d) for x in xs for d in x.dims[-inner:]):
        raise NotPadded(f"{step.primitive.name} of matrices of a dynamic size")
    dims = tuple(functools.reduce(unified, each) for each in zip(*lead, strict=True))
    for v in step.outvars:
        rest = v.aval.shape[len(dims) :]
        if not all(is_static(run.sizes.text(n)) for n in rest):
            raise NotPadded(f"{step.primitive.name} of matrices of a dynamic size")
        results.append((*dims, *[(str(n),) for n in rest]))
    filled = [PaddedValue(run.filled(PaddedValue(x.data, (*dims, *x.dims[-inner:])),
        range(len(dims)),
                               np.zeros((), x.data.dtype)), x.dims) for x in xs]
    return run.bound(step, filled, *results)


def _fft(run: PaddedRun, step: Any, xs: list[PaddedValue]) -> list[PaddedValue]:
    x, n = xs[0], len(step.params["fft_lengths"])
    if any(map(is_dynamic, x.dims[len(x.dims) - n :])):
        raise NotPadded("fft over a dynamic dimension")
    shape = step.outvars[0].aval.shape
    dims = (*x.dims[: len(x.dims) - n], *[(str(m),) for m in shape[len(shape) - n :]])
    return run.bound(step, xs, dims)


_LINEAR_ALGEBRA: Final = (
    "cholesky eigh geqrf lu lu_pivots_to_permutation qr svd triangular_solve").split()

RULES: Final[dict[str, Rule]] = {
    **dict.fromkeys(_ELEMENTWISE, _elementwise),
    **{f"reduce_{name}": _reduce(identity) for name, identity in IDENTITIES.items()},
    **{f"cum{name}": _cumulative(identity) for name, identity in IDENTITIES.items()},
    **dict.fromkeys(_LINEAR_ALGEBRA, _batched),
    "reduce": _reduce_by, "argmax": _arg(1), "argmin": _arg(-1), "sort": _sort, "top_k": _top_k,
    "bitcast_convert_type": _bitcast, "optimization_barrier": _each, "stop_gradient": _elementwise,
    "broadcast_in_dim": _broadcast_in_dim, "reshape": _reshape, "squeeze": _squeeze,
    "stack": _stack,
    "expand_dims": _reshape, "transpose": _transpose, "iota": _iota,
    "dim_as_value": _dim_as_value, "dot_general": _dot_general,
    "fft": _fft, **MOVING, **LOOPS, **INDEXING, **WINDOWS,
}  # fmt: skip
