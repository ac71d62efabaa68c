"""Random numbers: ``default_rng`` and the legacy functions of ``numpy.random``.

A generator's state is a key, an ordinary ``uint32[2]`` array. A draw splits it by recorded
ops, so a traced step that draws is the same program each time. Equal seeds give equal
numbers, which are not the numbers that NumPy's bit generators give.
"""

from __future__ import annotations

import operator
import secrets
import threading
from typing import Any, Final

import numpy as onp

import lazyloom

from . import _dtypes as dt
from ._array import ScalarArray, ndarray, wrap
from ._convert import operand, param, value_of

record = lazyloom.record
_FLOAT32: Final = dt.internal(onp.float32)


def _array(a: Any) -> ndarray:
    return a if isinstance(a, ndarray) else ndarray._wrap(value_of(a))


def key_of(seed: Any = None) -> Any:
    """A key (a Value, uint32[2]) for a seed: None, an int, or a sequence of ints."""
    if seed is None:
        seed = secrets.randbits(64)
    if isinstance(seed, ndarray):
        seed = seed.read()
    if onp.ndim(seed) == 0 and 0 <= int(seed) < 2**64:
        words: Any = onp.array([int(seed) >> 32, int(seed) & 0xFFFFFFFF], onp.uint32)
    else:
        if onp.min(seed) < 0:
            raise ValueError("expected non-negative integer")
        words = onp.random.SeedSequence(seed).generate_state(2)
    return lazyloom.from_host(words)


class Generator:
    """A source of random numbers. Make one with :func:`default_rng`.

    Attributes:
        key: the state, ``uint32[2]``; assigning one continues from it.
    """

    def __init__(self, seed: Any = None) -> None:
        self._lock = threading.Lock()
        self._key: Any = seed.value if isinstance(seed, ndarray) and seed.shape == (2,) and (
            seed.dtype == onp.uint32) else key_of(seed)

    def __repr__(self) -> str:
        return "Generator(threefry)"

    def __getstate__(self) -> Any:
        return self._key.read()

    def __setstate__(self, state: Any) -> None:
        self._lock = threading.Lock()
        self._key = lazyloom.from_host(state)

    @property
    def key(self) -> ndarray:
        return ndarray._wrap(self._key)

    @key.setter
    def key(self, key: ndarray) -> None:
        if key.shape != (2,) or key.dtype != onp.uint32:
            raise ValueError(f"key: {key.dtype}{key.shape} given, expected uint32 of shape (2,)")
        self._key = key.value

    def _draw_key(self) -> Any:
        with self._lock:
            pair = record("random_split", (self._key,), {"num": 2})
            self._key = lazyloom.boundary(_row(pair, 0))
            return _row(pair, 1)

    def spawn(self, n_children: int) -> list[Generator]:
        """Independent generators. See ``numpy.random.Generator.spawn``."""
        return [Generator(ndarray._wrap(self._draw_key())) for _ in range(n_children)]

    # ------------------------------------------------------------------ draws

    def _shape(self, size: Any, *parameters: Any) -> tuple[int, ...]:
        if size is not None:
            return dt.shape_tuple(size)
        return onp.broadcast_shapes(
            *(p.type.shape for p in map(operand, parameters) if isinstance(p, lazyloom.Value)))

    def _finish(self, value: Any, size: Any = None, out: Any = None, dtype: Any = None) -> Any:
        if dtype is not None and value.type.dtype is not dtype:
            value = record("cast", (value,), {"dtype": dtype})
        lazyloom.boundary(value)
        if out is not None:
            out[...] = ndarray._wrap(value)
            return out
        return ScalarArray._wrap(value) if size is None and not value.type.shape else (
            ndarray._wrap(value))

    def _float(self, op: str, parameters: tuple[Any, ...], size: Any, dtype: Any = None) -> Any:
        d = dt.FLOAT64 if dtype is None else dt.internal(dtype)
        if d not in (dt.FLOAT64, _FLOAT32):
            raise TypeError(f"Unsupported dtype {d.numpy!r} for {op}")
        shape = self._shape(size, *parameters)
        operands = [self._draw_key(), *(param(p, d) for p in parameters)]
        return record(op, operands, {"shape": shape})

    def random(self, size: Any = None, dtype: Any = None, out: Any = None) -> Any:
        """Uniform on [0, 1). See ``numpy.random.Generator.random``."""
        if out is not None:
            size, dtype = out.shape, out.dtype
        return self._finish(self._float("random_uniform", (0.0, 1.0), size, dtype), size, out)

    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Any:
        """Uniform on [low, high). See ``numpy.random.Generator.uniform``."""
        return self._finish(self._float("random_uniform", (low, high), size), size)

    def standard_normal(self, size: Any = None, dtype: Any = None, out: Any = None) -> Any:
        """Normal of mean 0 and deviation 1. See NumPy's ``Generator.standard_normal``."""
        if out is not None:
            size, dtype = out.shape, out.dtype
        d = dt.FLOAT64 if dtype is None else dt.internal(dtype)
        attributes = {"shape": self._shape(size), "dtype": d}
        return self._finish(record("random_normal", (self._draw_key(),), attributes), size, out)

    def normal(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        """Normal of mean loc and deviation scale. See ``numpy.random.Generator.normal``."""
        if isinstance(scale, (int, float)) and scale < 0:
            raise ValueError("scale < 0")
        attributes = {"shape": self._shape(size, loc, scale), "dtype": dt.FLOAT64}
        operands = (self._draw_key(), param(loc, dt.FLOAT64), param(scale, dt.FLOAT64))
        return self._finish(record("random_normal", operands, attributes), size)

    def lognormal(self, mean: Any = 0.0, sigma: Any = 1.0, size: Any = None) -> Any:
        """The exponential of normal numbers. See ``numpy.random.Generator.lognormal``."""
        value = record("exp", (self.normal(mean, sigma, size).value,))
        return self._finish(value, size)

    def _standard(self, op: str, size: Any, *parameters: Any) -> ndarray:
        attributes = {"shape": self._shape(size, *parameters), "dtype": dt.FLOAT64}
        return ndarray._wrap(record(op, (self._draw_key(),), attributes))

    def standard_exponential(self, size: Any = None, dtype: Any = None) -> Any:
        """Exponential of scale 1. See NumPy's ``Generator.standard_exponential``."""
        d = dt.FLOAT64 if dtype is None else dt.internal(dtype)
        return self._finish(self._standard("random_exponential", size).value, size, None, d)

    def exponential(self, scale: Any = 1.0, size: Any = None) -> Any:
        """Exponential numbers. See ``numpy.random.Generator.exponential``."""
        return self._finish((self._standard("random_exponential", size, scale) * scale).value, size)

    def gumbel(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        """Gumbel numbers. See ``numpy.random.Generator.gumbel``."""
        base = self._standard("random_gumbel", size, loc, scale)
        return self._finish((base * scale + loc).value, size)

    def laplace(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        """Laplace numbers. See ``numpy.random.Generator.laplace``."""
        base = self._standard("random_laplace", size, loc, scale)
        return self._finish((base * scale + loc).value, size)

    def logistic(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        """Logistic numbers. See ``numpy.random.Generator.logistic``."""
        base = self._standard("random_logistic", size, loc, scale)
        return self._finish((base * scale + loc).value, size)

    def standard_cauchy(self, size: Any = None) -> Any:
        """Cauchy numbers. See ``numpy.random.Generator.standard_cauchy``."""
        return self._finish(self._standard("random_cauchy", size).value, size)

    def gamma(self, shape: Any, scale: Any = 1.0, size: Any = None) -> Any:
        """Gamma numbers. See ``numpy.random.Generator.gamma``."""
        dims = self._shape(size, shape, scale)
        base = ndarray._wrap(self._float("random_gamma", (shape,), dims))
        return self._finish((base * scale).value, size)

    def standard_gamma(self, shape: Any, size: Any = None) -> Any:
        """Gamma numbers of scale 1. See ``numpy.random.Generator.standard_gamma``."""
        return self.gamma(shape, 1.0, size)

    def chisquare(self, df: Any, size: Any = None) -> Any:
        """Chi-square numbers. See ``numpy.random.Generator.chisquare``."""
        return self.gamma(wrap(value_of(df, dt.FLOAT64)) / 2.0, 2.0, size)

    def beta(self, a: Any, b: Any, size: Any = None) -> Any:
        """Beta numbers. See ``numpy.random.Generator.beta``."""
        return self._finish(self._float("random_beta", (a, b), size), size)

    def poisson(self, lam: Any = 1.0, size: Any = None) -> Any:
        """Poisson numbers, int64. See ``numpy.random.Generator.poisson``."""
        return self._finish(self._float("random_poisson", (lam,), size), size)

    def geometric(self, p: Any, size: Any = None) -> Any:
        """Numbers of trials, int64. See ``numpy.random.Generator.geometric``."""
        return self._finish(self._float("random_geometric", (p,), size), size)

    def binomial(self, n: int, p: Any, size: Any = None) -> Any:
        """Numbers of successes in n trials (n an int), int64. See NumPy's ``binomial``."""
        shape = self._shape(size, p)
        draws = record("random_uniform", (self._draw_key(), dt.scalar(0.0, dt.FLOAT64),
                                          dt.scalar(1.0, dt.FLOAT64)), {"shape": (n, *shape)})
        hits = record("less", (draws, param(p, dt.FLOAT64)))
        value = record("count_nonzero", (hits,), {"axes": (0,), "keepdims": False})
        return self._finish(value, size)

    def integers(self, low: Any, high: Any = None, size: Any = None, dtype: Any = onp.int64,
                 endpoint: bool = False) -> Any:  # fmt: skip
        """Integers from low to before high (0 to low of one). See NumPy's ``integers``."""
        if high is None:
            low, high = 0, low
        d = dt.internal(dtype)
        if d.kind not in "iub":
            raise TypeError(f"Unsupported dtype {d.numpy!r} for integers")
        if isinstance(low, int) and isinstance(high, int) and low >= high + endpoint:
            raise ValueError("low > high" if endpoint else "low >= high")
        shape = self._shape(size, low, high)
        wide = dt.INT64 if d.itemsize < 8 else d
        top: Any = param(high, wide)
        if endpoint:
            top = param(high + 1, wide)
        value = record("random_integers", (self._draw_key(), param(low, wide), top),
                       {"shape": shape})  # fmt: skip
        return self._finish(value, size, None, d)

    def permutation(self, x: Any, axis: int = 0) -> Any:
        """A shuffled copy, or a shuffled range of an int. See NumPy's ``permutation``."""
        if not isinstance(x, (ndarray, onp.ndarray, list, tuple)):
            n = operator.index(x)
            return self._finish(record("random_permutation", (self._draw_key(),), {"n": n}))
        a = _array(x)
        position = dt.normalize_axis(axis, a.ndim)
        order = record("random_permutation", (self._draw_key(),), {"n": a.shape[position]})
        return self._finish(record("take", (a.value, order), {"axis": position}))

    def shuffle(self, x: ndarray, axis: int = 0) -> None:
        """Shuffle in place along an axis. See ``numpy.random.Generator.shuffle``."""
        x[...] = self.permutation(x, axis)

    def permuted(self, x: Any, *, axis: Any = None, out: Any = None) -> Any:
        """Every slice along an axis shuffled on its own. See NumPy's ``permuted``."""
        a = _array(x)
        flat = axis is None
        value = record("reshape", (a.value,), {"shape": (a.size,)}) if flat else a.value
        position = 0 if flat else dt.normalize_axis(axis, a.ndim)
        bits = record("random_bits", (self._draw_key(),), {
            "shape": value.type.shape, "dtype": dt.internal(onp.uint64)})  # fmt: skip
        order = record("argsort", (bits,), {"axis": position, "descending": False, "stable": True})
        value = record("take_along_axis", (value, order), {"axis": position})
        if flat:
            value = record("reshape", (value,), {"shape": a.shape})
        return self._finish(value, (), out)

    def choice(self, a: Any, size: Any = None, replace: bool = True, p: Any = None, axis: int = 0,
               shuffle: bool = True) -> Any:  # fmt: skip
        """Elements drawn from an array or a range. See ``numpy.random.Generator.choice``."""
        pool = None if hasattr(a, "__index__") and not getattr(a, "shape", ()) else _array(a)
        n = operator.index(a) if pool is None else pool.shape[axis]
        shape = () if size is None else dt.shape_tuple(size)
        count = int(onp.prod(shape, dtype=onp.int64))
        if n == 0 and count:
            raise ValueError("a cannot be empty unless no samples are taken")
        if not replace and count > n:
            raise ValueError("Cannot take a larger sample than population when replace is False")
        key = self._draw_key()
        if replace and p is None:
            bounds = (dt.scalar(0, dt.INT64), dt.scalar(n, dt.INT64))
            indices = record("random_integers", (key, *bounds), {"shape": shape})
        else:
            indices = self._weighted(key, n, shape, count, replace, p)
        if pool is None:
            return self._finish(indices, size)
        return self._finish(record("take", (pool.value, indices), {"axis": axis}), size)

    def _weighted(self, key: Any, n: int, shape: tuple[int, ...], count: int, replace: bool,
                  p: Any) -> Any:  # fmt: skip
        if p is None:
            order = record("random_permutation", (key,), {"n": n})
        else:
            logits = record("log", (value_of(p, dt.FLOAT64),))
            if logits.type.shape != (n,):
                raise ValueError("a and p must have same size")
            if replace:
                return record("random_categorical", (key, logits), {"shape": shape})
            # the largest of logits plus Gumbel noise are a draw without replacement
            noise = record("random_gumbel", (key,), {"shape": (n,), "dtype": dt.FLOAT64})
            scores = record("negative", (record("add", (logits, noise)),))
            order = record("argsort", (scores,), {"axis": 0, "descending": False, "stable": True})
        first = record("slice", (order,), {"starts": (0,), "stops": (count,), "strides": (1,)})
        return record("reshape", (first,), {"shape": shape})

    def multivariate_normal(self, mean: Any, cov: Any, size: Any = None, **kwargs: Any) -> Any:
        """Normal vectors of a mean and a covariance. See NumPy's ``multivariate_normal``."""
        from . import linalg

        centre, spread = wrap(value_of(mean, dt.FLOAT64)), wrap(value_of(cov, dt.FLOAT64))
        shape = () if size is None else dt.shape_tuple(size)
        base = self.standard_normal((*shape, centre.shape[0]))
        factor = linalg.cholesky(spread)
        return self._finish((base @ factor.T + centre).value)

    def bytes(self, length: int) -> Any:
        """Random bytes; reads. See ``numpy.random.Generator.bytes``."""
        attributes = {"shape": (length,), "dtype": dt.internal(onp.uint8)}
        return record("random_bits", (self._draw_key(),), attributes).read().tobytes()


def _row(pair: Any, i: int) -> Any:
    return record("take", (pair, dt.scalar(i, dt.INT64)), {"axis": 0})


def default_rng(seed: Any = None) -> Generator:
    """A generator from a seed, from fresh entropy for None. See NumPy's ``default_rng``."""
    return seed if isinstance(seed, Generator) else Generator(seed)


class RandomState(Generator):
    """The legacy interface. See ``numpy.random.RandomState``."""

    def seed(self, seed: Any = None) -> None:
        """Start again from a seed."""
        self._key = key_of(seed)

    def rand(self, *shape: int) -> Any:
        """Uniform on [0, 1) of a shape."""
        return self.random(shape if shape else None)

    def randn(self, *shape: int) -> Any:
        """Normal of mean 0 and deviation 1 of a shape."""
        return self.standard_normal(shape if shape else None)

    def randint(self, low: Any, high: Any = None, size: Any = None, dtype: Any = int) -> Any:
        """Integers from low to before high."""
        return self.integers(low, high, size, dtype)

    def random_sample(self, size: Any = None) -> Any:
        """Uniform on [0, 1)."""
        return self.random(size)


_legacy = RandomState()
seed = _legacy.seed
rand = _legacy.rand
randn = _legacy.randn
randint = _legacy.randint
random = _legacy.random
random_sample = _legacy.random_sample
ranf = sample = random_sample
uniform = _legacy.uniform
normal = _legacy.normal
lognormal = _legacy.lognormal
standard_normal = _legacy.standard_normal
exponential = _legacy.exponential
standard_exponential = _legacy.standard_exponential
gamma = _legacy.gamma
standard_gamma = _legacy.standard_gamma
chisquare = _legacy.chisquare
beta = _legacy.beta
gumbel = _legacy.gumbel
laplace = _legacy.laplace
logistic = _legacy.logistic
standard_cauchy = _legacy.standard_cauchy
poisson = _legacy.poisson
geometric = _legacy.geometric
binomial = _legacy.binomial
permutation = _legacy.permutation
shuffle = _legacy.shuffle
choice = _legacy.choice
multivariate_normal = _legacy.multivariate_normal
bytes = _legacy.bytes
