"""``numpy.random.Generator``."""

from __future__ import annotations

import operator
from collections.abc import MutableSequence
from typing import Any

import numpy as onp

import lazyloom
from lazyloom.dtypes import DType
from lazyloom.errors import type_name
from lazyloom.frontend import write_lock

from .. import linalg
from .._arguments import dtypes as dt
from .._arguments.convert import host_array, param, value_of
from .._array.ndarray import ScalarArray, ndarray, wrap
from . import _checks as checks
from ._bits import BitGenerator, Threefry
from ._checks import on_device, real, shape_of, shape_out, whole
from ._distributions import Distributions, call, finish

record = lazyloom.record
_MATRIX_FACTORS = ("svd", "eigh", "cholesky")


class Generator(Distributions):
    """A source of random numbers. Make one with :func:`default_rng`.

    Args:
        bit_generator: where the bits come from; TypeError for one of NumPy's.

    Equal seeds give equal numbers, in every process, which are not NumPy's numbers. Several
    threads may draw from one generator. Methods: those of ``numpy.random.Generator``.
    """

    def __init__(self, bit_generator: BitGenerator) -> None:
        if not isinstance(bit_generator, BitGenerator):
            raise TypeError(
                f"Generator: a {type(bit_generator).__name__} was given, expected a bit generator "
                "of lazyloom_numpy.random; default_rng makes a generator from a seed")
        super().__init__(bit_generator)

    def __reduce__(self) -> Any:
        return type(self), (self._bit_generator,)

    @property
    def bit_generator(self) -> BitGenerator:
        return self._bit_generator

    def spawn(self, n_children: int) -> list[Generator]:
        """Generators whose streams are independent. As ``numpy.random.Generator.spawn``."""
        return [type(self)(child) for child in self._bit_generator.spawn(n_children)]

    # --------------------------------------------- with a dtype and an out

    def random(self, size: Any = None, dtype: Any = onp.float64, out: Any = None) -> Any:
        """Uniform on [0, 1), float32 or float64. As ``numpy.random.Generator.random``."""
        given, d = shape_out(size, dtype, out, "random")
        drawn = self._draw("random_uniform", shape_of(given), 0.0, 1.0, of=d)
        return finish(drawn, given, None, out)

    def standard_normal(self, size: Any = None, dtype: Any = onp.float64, out: Any = None) -> Any:
        """Normal of mean 0 and deviation 1. As NumPy's ``Generator.standard_normal``."""
        given, d = shape_out(size, dtype, out, "standard_normal")
        return finish(self._standard("normal", shape_of(given), d), given, None, out)

    def standard_exponential(
        self, size: Any = None, dtype: Any = onp.float64, method: str = "zig", out: Any = None
    ) -> Any:
        """Exponential of scale 1. As ``numpy.random.Generator.standard_exponential``.

        ``method`` is accepted and not used.
        """
        given, d = shape_out(size, dtype, out, "standard_exponential")
        return finish(self._standard("exponential", shape_of(given), d), given, None, out)

    def standard_gamma(
        self, shape: Any, size: Any = None, dtype: Any = onp.float64, out: Any = None
    ) -> Any:
        """Gamma numbers of scale 1. As ``numpy.random.Generator.standard_gamma``."""
        given, d = shape_out(size, dtype, out, "standard_gamma")
        shape = real(shape, "shape", checks.non_negative)
        dims = shape_of(given, getattr(shape, "shape", ()))
        return finish(self._gamma(shape, dims, d), given, None, out)

    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Any:
        """Uniform on [low, high). As ``numpy.random.Generator.uniform``."""
        return self._uniform(low, high, size, False)

    # ------------------------------------------------------------ integers

    def integers(
        self, low: Any, high: Any = None, size: Any = None, dtype: Any = onp.int64,
        endpoint: bool = False,
    ) -> Any:  # fmt: skip
        """Integers from low to before high, 0 to low of one. As NumPy's ``integers``.

        Bounds on the device are not checked; ``low`` is the result where there is nothing
        between them.
        """
        return self._integers(low, high, size, dtype, bool(endpoint), "integers")

    def _integers(self, low: Any, high: Any, size: Any, dtype: Any, closed: bool, name: str) -> Any:
        d = dt.internal(dtype)
        if d.kind not in "iub":
            raise TypeError(f"Unsupported dtype {d.numpy!r} for {name}")
        if high is None:
            low, high = 0, low
        drawn = dt.internal(onp.uint8) if d is dt.BOOL else d
        if on_device(low) or on_device(high):
            wide = d if d.itemsize == 8 else dt.INT64
            ends = [value_of(low, wide), value_of(high, wide)]
            shape = shape_of(size, *(e.type.shape for e in ends))
            bits = self._draw("random_integers", shape, *ends, of=wide, endpoint=closed)
            return finish(bits, size, d)
        first, last = _bound(low), _bound(high)
        shape = shape_of(size, *(getattr(e, "shape", ()) for e in (first, last)))
        if 0 not in shape:
            _check_bounds(first, last, d, closed)
        last = last if closed else last - 1
        ends = [_as_operand(e, drawn) for e in (first, last)]
        bits = self._draw("random_integers", shape, *ends, of=drawn, endpoint=True)
        return finish(bits, size, d)

    # ------------------------------------------------- choosing and mixing

    def choice(
        self, a: Any, size: Any = None, replace: bool = True, p: Any = None, axis: int = 0,
        shuffle: bool = True,
    ) -> Any:  # fmt: skip
        """Elements drawn from an array or a range. As ``numpy.random.Generator.choice``.

        Strings and objects are drawn from on the host, by positions that are read.

        ``shuffle`` is accepted and not used: the order is always random. Probabilities on the
        device are not checked, only divided by their sum.
        """
        pool: Any = None
        if _is_int(a) or getattr(a, "shape", None) == ():
            n = int(a)
            if n <= 0 and (size is None or onp.prod(size)):
                raise ValueError("a must be a positive integer unless no samples are taken")
        else:
            if isinstance(a, (str, bytes)) or not hasattr(a, "__len__"):
                raise ValueError(f"a must be a sequence or an integer, not {type(a)}")
            pool = _pool(a)
            n = pool.shape[dt.normalize_axis(axis, pool.ndim)]
            if not n and (size is None or onp.prod(size)):
                raise ValueError("a cannot be empty unless no samples are taken")
        indices = self._indices(n, shape_of(size), replace, p)
        if pool is None:
            return finish(wrap(indices), size)
        if size is None:
            indices = record("reshape", (indices,), {"shape": ()})
        if isinstance(pool, onp.ndarray):
            return onp.take(pool, wrap(indices).read(), axis)
        return finish(wrap(record("take", (pool.value, indices), {
            "axis": dt.normalize_axis(axis, pool.ndim)})), size)

    def _indices(self, n: int, shape: tuple[int, ...], replace: bool, p: Any) -> Any:
        count = int(onp.prod(shape, dtype=onp.int64))
        weights = None if p is None else _weights(p, n, None if replace else count)
        if not replace and count > n:
            raise ValueError("Cannot take a larger sample than population when replace is False")
        if replace and weights is None:
            zero, top = dt.scalar(0, dt.INT64), dt.scalar(max(n, 1), dt.INT64)
            return self._draw("random_integers", shape, zero, top, of=dt.INT64).value
        if weights is None:
            order = self.permutation_of(n)
        elif replace:
            sums = weights.cumsum()
            u = self._draw("random_uniform", shape, 0.0, 1.0)
            return (sums / sums[-1]).searchsorted(u, "right").value
        else:
            # an exponential number over its weight is a race: the first are the sample
            race = self._standard("exponential", (n,)) / weights
            order = race.argsort().value
        first = record("slice", (order,), {"starts": (0,), "stops": (count,), "strides": (1,)})
        return record("reshape", (first,), {"shape": shape})

    def permutation(self, x: Any, axis: int = 0) -> Any:
        """A shuffled copy, or a shuffled range of an int. As NumPy's ``permutation``."""
        if _is_int(x):
            return finish(wrap(self.permutation_of(max(operator.index(x), 0))), ())
        a = _pool(x)
        position = dt.normalize_axis(axis, a.ndim)
        order = self.permutation_of(a.shape[position])
        if isinstance(a, onp.ndarray):
            return onp.take(a, order.read(), position)
        return finish(wrap(record("take", (a.value, order), {"axis": position})), ())

    def shuffle(self, x: Any, axis: int = 0) -> None:
        """Shuffle in place along an axis. As ``numpy.random.Generator.shuffle``.

        A list or NumPy array is shuffled on the host, by an order that is read.
        """
        if not isinstance(x, (ndarray, onp.ndarray)):
            if axis:
                raise NotImplementedError("Axis argument is only supported on ndarray objects")
            if not isinstance(x, MutableSequence):
                len(x)
                raise TypeError(f"{type_name(x)!r} object does not support item assignment")
            x[:] = [x[i] for i in self.permutation_of(len(x)).read().tolist()]
            return
        if not x.shape:
            raise TypeError("len() of unsized object")
        position = dt.normalize_axis(axis, x.ndim)
        if isinstance(x, ndarray):
            with write_lock(x):
                x[...] = self.permutation(x, position)
        else:
            x[...] = onp.take(x, self.permutation_of(x.shape[position]).read(), position)

    def permuted(self, x: Any, *, axis: Any = None, out: Any = None) -> Any:
        """Every slice along an axis shuffled on its own. As NumPy's ``permuted``."""
        a = _pool(x)
        if not a.shape:
            raise TypeError("len() of unsized object")
        if isinstance(a, onp.ndarray):
            numbers = onp.arange(a.size).reshape(a.shape)
            mixed = onp.take(a, self.permuted(numbers, axis=axis).read())
            if out is None:
                return mixed
            onp.copyto(out, mixed)
            return out
        position = None if axis is None else dt.normalize_axis(axis, a.ndim)
        if out is not None and (not isinstance(out, ndarray) or out.shape != a.shape):
            raise ValueError("out must have the same shape as x")
        value = a.value if axis is not None else record("reshape", (a.value,), {"shape": (a.size,)})
        bits = record("random_bits", (self._bit_generator.next_key(),), {
            "shape": value.type.shape, "dtype": dt.internal(onp.uint64)})  # fmt: skip
        along = position or 0
        order = record("argsort", (bits,), {"axis": along, "descending": False, "stable": True})
        value = record("take_along_axis", (value, order), {"axis": along})
        return finish(wrap(record("reshape", (value,), {"shape": a.shape})), (), None, out)

    # ------------------------------------------------------ several at once

    def multinomial(self, n: Any, pvals: Any, size: Any = None) -> Any:
        """How often each class is met, int64. As ``numpy.random.Generator.multinomial``.

        The last axis of pvals, and of the result, is that of the classes.
        """
        return self._multinomial(whole(n, "n"), pvals, size)

    def multivariate_hypergeometric(
        self, colors: Any, nsample: Any, size: Any = None, method: str = "marginals"
    ) -> Any:
        """How many of each color are in a sample, int64. As NumPy's method of that name.

        Both methods give the same numbers.
        """
        if method not in ("count", "marginals"):
            raise ValueError('method must be "count" or "marginals".')
        if on_device(colors):
            counts = wrap(value_of(colors, dt.INT64))
        else:
            host = onp.asarray(colors)
            host = host.astype(onp.int64) if not host.size else host
            if host.ndim != 1 or host.dtype.kind not in "iu" or onp.any(host < 0) or (
                    onp.any(host > 2**63 - 1)):
                raise ValueError("colors must be a one-dimensional sequence of nonnegative "
                                 f"integers not exceeding {2**63 - 1}.")
            if host.sum(dtype=object) >= 10**9 and method == "marginals":
                raise ValueError(
                    'When method is "marginals", sum(colors) must be less than 1000000000.')
            counts = wrap(value_of(host, dt.INT64))
        if counts.ndim != 1:
            raise ValueError("colors must be one-dimensional")
        if not on_device(nsample):
            if onp.ndim(nsample):
                raise ValueError("nsample must be an integer")
            nsample = operator.index(nsample)
            if nsample < 0:
                raise ValueError("nsample must be nonnegative.")
            if not on_device(colors) and nsample > int(onp.sum(onp.asarray(colors))):
                raise ValueError("nsample > sum(colors)")
        if not counts.size:
            return finish(wrap(lazyloom.source("full", (dt.scalar(0, dt.INT64),), {
                "shape": (*shape_of(size), 0)})))  # fmt: skip
        return self._classes("random_multivariate_hypergeometric", nsample, counts, size)

    def dirichlet(self, alpha: Any, size: Any = None) -> Any:
        """Dirichlet vectors, along a new last axis. As ``numpy.random.Generator.dirichlet``."""
        return self._dirichlet(alpha, size, checks.non_negative)

    def multivariate_normal(
        self, mean: Any, cov: Any, size: Any = None, check_valid: str = "warn", tol: float = 1e-8,
        *, method: str = "svd",
    ) -> Any:  # fmt: skip
        """Normal vectors of a mean and a covariance. As NumPy's ``multivariate_normal``.

        A covariance on the device is read for ``check_valid="raise"`` only, and is not checked
        for ``"warn"``.
        """
        if method not in _MATRIX_FACTORS:
            raise ValueError("method must be one of {'eigh', 'svd', 'cholesky'}")
        if check_valid not in ("warn", "raise", "ignore"):
            raise ValueError("check_valid must equal 'warn', 'raise', or 'ignore'")
        centre, spread = _matrix(mean), _matrix(cov)
        if centre.ndim != 1:
            raise ValueError("mean must be 1 dimensional")
        if spread.ndim != 2 or spread.shape[0] != spread.shape[1]:
            raise ValueError("cov must be 2 dimensional and square")
        if centre.shape[0] != spread.shape[0]:
            raise ValueError("mean and cov must have same length")
        if check_valid == "raise" or (check_valid == "warn" and not on_device(cov)):
            checks.covariance(cov, check_valid == "raise", tol)
        base = self._standard("normal", (*shape_of(size), *centre.shape))
        if method == "svd":
            _, scales, rows = linalg.svd(spread)
            factor = rows * call("sqrt", scales)[:, None]
        elif method == "eigh":
            scales, columns = linalg.eigh(spread)
            factor = (columns * call("sqrt", abs(scales))).T
        else:
            factor = linalg.cholesky(spread).T
        return finish(base @ factor + centre)


def default_rng(seed: Any = None) -> Generator:
    """A generator from a seed, from fresh entropy for None. As ``numpy.random.default_rng``.

    A Generator or RandomState of this module gives a generator of its bits.
    """
    if isinstance(seed, Generator):
        return seed
    if isinstance(seed, Distributions):
        return Generator(seed._bit_generator)
    return Generator(seed if isinstance(seed, BitGenerator) else Threefry(seed))


def _array(a: Any) -> ndarray:
    return a if isinstance(a, ndarray) else ndarray.from_value(value_of(a))


def _pool(a: Any) -> Any:
    """The array of what is chosen from; NumPy's where no device has its dtype."""
    try:
        return _array(a)
    except dt.HostOnly:
        return onp.asarray(a)


def _is_int(a: Any) -> bool:
    if isinstance(a, ndarray):
        return isinstance(a, ScalarArray) and a.type.dtype.kind in "iu"
    return not isinstance(a, onp.ndarray) and hasattr(a, "__index__")


def _matrix(given: Any) -> ndarray:
    x = _array(given)
    if x.type.dtype.kind == "c":
        raise TypeError("mean and cov must not be complex")
    found: ndarray = wrap(value_of(x, dt.FLOAT64))
    return found


def _weights(p: Any, n: int, count: int | None) -> ndarray:
    """Probabilities of n elements; checked if the host has them."""
    if on_device(p):
        weights: ndarray = wrap(value_of(p, dt.FLOAT64))
    else:
        host = onp.asarray(p, onp.float64)
        if host.ndim == 1 and host.size == n:
            checks.weights(host, count)
        weights = wrap(value_of(host))
    if weights.ndim != 1:
        raise ValueError("p must be 1-dimensional")
    if weights.size != n:
        raise ValueError("a and p must have same size")
    return weights


def _bound(given: Any) -> Any:
    """A bound as an int, or a host array of int64 or of Python ints."""
    if onp.ndim(given) == 0:
        return int(given)
    host = onp.asarray(given)
    if host.dtype.kind == "u" and host.dtype.itemsize == 8:
        return host.astype(object)
    return host if host.dtype == object else host.astype(onp.int64)


def _check_bounds(low: Any, high: Any, d: DType, closed: bool) -> None:
    least, most = 0, 1
    if d is not dt.BOOL:
        least, most = int(onp.iinfo(d.numpy).min), int(onp.iinfo(d.numpy).max)
    if onp.any(low < least):
        raise ValueError(f"low is out of bounds for {d.name}")
    if onp.any(high > (most if closed else most + 1)):
        raise ValueError(f"high is out of bounds for {d.name}")
    if onp.any(low > high if closed else low >= high):
        if onp.all(low == 0):
            raise ValueError("high < 0" if closed else "high <= 0")
        raise ValueError("low > high" if closed else "low >= high")


def _as_operand(bound: Any, d: DType) -> Any:
    if isinstance(bound, int):
        return dt.scalar(bound, d)
    return param(host_array(bound.astype(d.numpy)), d)
