"""Counter-based random numbers (Threefry-2x32).

The state is an ordinary operand, a key of type uint32[2]: the same key gives the
same numbers, so recording a program again records the same program. Use a key
once, and derive others from it by ``random_split`` or ``random_fold_in``. Parameters
broadcast to attribute ``shape`` and get gradients where the numbers depend on them
smoothly.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from ..dtypes import CLASSES_SORTED, DType, float32, uint8, uint16, uint32, uint64
from . import rules
from ._helpers import broadcast_to, constant, convert, widened
from ._jax import extend_random, jax, jnp, lax
from .kinds import Array, Floating, Integer, Ints, T
from .samples import Generator, Sample
from .spec import OpDef, op
from .traits import HEAVY, NOT_DIFFERENTIABLE, Derivative

#: the generator on which every op here is based
_SOURCE = "Salmon et al. 2011, Threefry-2x32"

_KEY = np.array([17, 4], np.uint32)


#: how far Threefry-2x32 rotates its second word, in alternating groups of four rounds
_TURNS = ((13, 15, 26, 6), (17, 29, 16, 24))


def _threefry(key: Any, high: Any, low: Any) -> tuple[Any, Any]:
    """Two words of random bits for each counter, itself two words (all uint32).

    All 20 unrolled rounds are one loop over memory, and less to compile than a loop of rounds.
    """
    parity = lax.bitwise_xor(lax.bitwise_xor(key[0], key[1]), np.uint32(0x1BD11BDA))
    keys = (key[0], key[1], parity)
    x, y = high + keys[0], low + keys[1]
    for i in range(5):
        for turn in _TURNS[i % 2]:
            x = x + y
            turned = [lax.shift_left(y, lax.full_like(y, turn)),
                      lax.shift_right_logical(y, lax.full_like(y, 32 - turn))]
            y = lax.bitwise_xor(x, lax.bitwise_or(*turned))
        x, y = x + keys[(i + 1) % 3], y + (keys[(i + 2) % 3] + np.uint32(i + 1))
    return x, y


def _counted(key: Any, shape: Any) -> tuple[Any, Any]:
    """Two random words for each element, whose counter is its position."""
    size = math.prod(shape)
    if size <= 2**32:
        low = lax.reshape(lax.iota(np.dtype("uint32"), size), shape)
        return _threefry(key, lax.full_like(low, 0), low)
    position = lax.reshape(lax.iota(np.dtype("uint64"), size), shape)
    high = lax.shift_right_logical(position, lax.full_like(position, 32))
    return _threefry(key, convert(high, jnp.uint32), convert(position, jnp.uint32))


def _keys(key: Any, high: Any, low: Any) -> Any:
    """Both words of each counter in the last axis, which ``high`` and ``low`` already have.

    A select chooses each word: the code of a concatenation would contain the rounds twice.
    """
    first, second = _threefry(key, high, low)
    word = lax.broadcasted_iota(np.dtype("uint32"), low.shape, low.ndim - 1)
    return lax.select(lax.eq(word, constant(word, 0)), first, second)


def _split(key: Any, shape: Any) -> Any:
    if math.prod(shape) > 2**31:
        return jnp.stack(_counted(key, shape), -1)
    word = lax.reshape(lax.iota(np.dtype("uint32"), 2 * math.prod(shape)), (*shape, 2))
    low = lax.shift_right_logical(word, constant(word, 1))
    return _keys(key, lax.full_like(low, 0), low)


def _fold_in(key: Any, data: Any) -> Any:
    low = lax.broadcast(convert(data, jnp.uint32), (2,))
    return _keys(key, lax.full_like(low, 0), low)


def _random_bits(key: Any, width: int, shape: Any) -> Any:
    high, low = _counted(key, shape)
    if width == 64:
        wide = convert(high, jnp.uint64)
        return lax.bitwise_or(lax.shift_left(wide, lax.full_like(wide, 32)),
                              convert(low, jnp.uint64))
    return convert(lax.bitwise_xor(high, low), np.dtype(f"uint{width}"))


def _new_key(seed: Any) -> Any:
    return jnp.stack([lax.full_like(seed, 0, jnp.uint32), convert(seed, jnp.uint32)])


@functools.cache
def _implementation() -> Any:
    """JAX's distributions over our Threefry, which gives the same bits as JAX's own."""
    return extend_random.define_prng_impl(
        key_shape=(2,), seed=_new_key, random_bits=_random_bits,
        split=_split, fold_in=_fold_in,
        name="lazyloom_threefry2x32", tag="loom")


def _drawn(sampler: str, key: Any, *args: Any, **options: Any) -> Any:
    key = jax.random.wrap_key_data(key, impl=_implementation())
    return getattr(jax.random, sampler)(key, *args, **options)


def _draws(*params: float, dtypes: str | None = None,
           attributes: Mapping[str, Any] | None = None) -> Generator:  # fmt: skip
    """Samples of a distribution with these parameters, of each dtype and some shapes."""

    def generate(op: OpDef) -> Iterator[Sample]:
        typed = any(a.name == "dtype" for a in op.attributes)
        for d in CLASSES_SORTED[dtypes or op.T]:
            shape: tuple[int, ...]
            for shape in ((3, 2), ()) if d is float32 else ((3, 2),):
                chosen: dict[str, Any] = {"shape": shape, **(attributes or {})}
                if typed:
                    chosen["dtype"] = d
                values = [np.array(p, d.numpy) for p in params]
                yield Sample([_KEY, *values], chosen, f"{d.name} {shape}", smooth=False)
                if values and d is float32 and shape:
                    many = [np.full((1,) * len(shape), p, d.numpy) for p in params]
                    yield Sample([_KEY, *many], chosen, f"{d.name} {shape} broadcast", smooth=False)
        last = CLASSES_SORTED[dtypes or op.T][-1]
        chosen = {"shape": (0, 3), **({"dtype": last} if typed else {}), **(attributes or {})}
        yield Sample([_KEY, *[np.array(p, last.numpy) for p in params]], chosen, "empty",
                     smooth=False)

    return generate


def _one(attributes: Callable[[], list[dict[str, Any]]], *operands: Any) -> Generator:
    def generate(op: OpDef) -> Iterator[Sample]:
        for chosen in attributes():
            yield Sample([_KEY, *operands], chosen, str(chosen), smooth=False)

    return generate


# Keys


@op(rules.key_pairs, source=_SOURCE, derivative=NOT_DIFFERENTIABLE,
    samples=_one(lambda: [{}, {"num": 5}, {"num": 0}]))
def random_split(key: Integer, *, num: int = 2) -> Array:
    """``num`` keys (uint32[num, 2]) whose numbers are independent of each other's.

    ArgumentError for an operand that is no key.
    """
    return jax.random.key_data(_drawn("split", key, num))


@op(rules.folded_key, source=_SOURCE, derivative=NOT_DIFFERENTIABLE,
    samples=_one(lambda: [{}], np.array(7, np.int64)))
def random_fold_in(key: Integer, data: Integer) -> Array:
    """A key made of a key and a 0-d integer (its low 32 bits), such as a step's number.

    It is that row of what random_split of the same key gives: use one or the other.
    """
    return jax.random.key_data(_drawn("fold_in", key, convert(data, jnp.uint32)))


# Uniform


@op(rules.random_words, source=_SOURCE, derivative=NOT_DIFFERENTIABLE, samples=_one(
    lambda: [{"shape": (3, 2), "dtype": d} for d in (uint8, uint16, uint32, uint64)]
    + [{"shape": s} for s in ((), (0, 3))]))
def random_bits(key: Integer, *, shape: Ints, dtype: DType = uint32) -> Array:
    """Unsigned integers, every bit of which is random."""
    return _drawn("bits", key, shape, dtype.numpy)


@op(rules.draw, T="floating", source=_SOURCE + "; uniform on [low, high)",
    derivative=Derivative(differentiable=("low", "high"), linear="low high"),
    samples=_draws(-1.0, 2.0))
def random_uniform(key: Integer, low: T, high: T, *, shape: Ints) -> Array:
    """Numbers between low and high; high itself only by rounding."""
    unit = _drawn("uniform", key, shape, low.dtype)
    low, high = broadcast_to(low, shape), broadcast_to(high, shape)
    return lax.add(low, lax.mul(unit, lax.sub(high, low)))


@op(rules.draw, T="integer", source=_SOURCE + "; uniform on [low, high)",
    derivative=NOT_DIFFERENTIABLE, samples=_draws(1, 9))
def random_integers(
    key: Integer, low: T, high: T, *, shape: Ints, endpoint: bool = False
) -> Array:
    """Integers from low to high - 1, to high with ``endpoint``; low where there are none.

    They are the width times a random fraction of 64 bits, of 128 for a dtype of 64 bits, so
    that no two probabilities differ by more than 2**-31 (2**-64) of themselves.
    """
    low, high = [broadcast_to(v, shape) for v in (low, high)]
    # the width is right modulo 2**64; 0 stands for all 2**64 numbers
    start, stop = convert(low, jnp.uint64), convert(high, jnp.uint64)
    width = lax.sub(stop, start)
    nonempty = lax.lt(low, high)
    if endpoint:
        width, nonempty = lax.add(width, constant(width, 1)), lax.le(low, high)
    bits = _drawn("bits", key, (2, *shape), jnp.uint64)
    offset, rest = _times(bits[0], width)
    if low.dtype.itemsize == 8:
        below = lax.add(rest, _times(bits[1], width)[0])
        offset = lax.add(offset, convert(lax.lt(below, rest), jnp.uint64))
    offset = lax.select(lax.eq(width, constant(width, 0)), bits[0], offset)
    number = convert(lax.add(start, offset), low.dtype)
    return lax.select(nonempty, number, low)


def _times(a: Any, b: Any) -> tuple[Any, Any]:
    """The product of two uint64 arrays: its upper and its lower 64 bits."""
    half, mask = constant(a, 32), constant(a, 2**32 - 1)
    high = [lax.shift_right_logical(v, half) for v in (a, b)]
    low = [lax.bitwise_and(v, mask) for v in (a, b)]
    least = lax.mul(low[0], low[1])
    middle = lax.add(lax.mul(high[0], low[1]), lax.shift_right_logical(least, half))
    other = lax.add(lax.mul(low[0], high[1]), lax.bitwise_and(middle, mask))
    upper = lax.add(lax.mul(high[0], high[1]), lax.add(
        lax.shift_right_logical(middle, half), lax.shift_right_logical(other, half)))
    return upper, lax.mul(a, b)


@op(rules.truth_draw, T="floating", source=_SOURCE, derivative=NOT_DIFFERENTIABLE,
    samples=_draws(0.3))
def random_bernoulli(key: Integer, p: T, *, shape: Ints) -> Array:
    """True with probability p."""
    wide = widened(p)
    return lax.lt(_drawn("uniform", key, shape, wide.dtype), broadcast_to(wide, shape))


@op(rules.shuffled_range, source=_SOURCE + "; sorted by random bits", derivative=NOT_DIFFERENTIABLE,
    execution=HEAVY, samples=_one(lambda: [{"n": n} for n in (0, 1, 10)]))
def random_permutation(key: Integer, *, n: int) -> Array:
    """The integers from 0 to n - 1 (int64) in random order."""
    # no two draws of 64 bits are equal, so one sort is enough
    bits = _drawn("bits", key, (n,), jnp.uint64)
    _, order = lax.sort_key_val(bits, lax.iota(np.dtype("int32" if n < 2**31 else "int64"), n))
    return convert(order, jnp.int64)


# Normal and relatives


@op(rules.typed_draw, T="inexact", source=_SOURCE + "; erfinv of uniform numbers",
    derivative=Derivative(differentiable=("mean", "std"), linear="mean std"),
    samples=_draws(1.0, 2.0))
def random_normal(
    key: Integer, mean: T = None, std: T = None, *, shape: Ints, dtype: DType = float32
) -> Array:
    """Normal numbers; mean is 0 and std 1 if absent. Complex parts have variance 1/2 each."""
    drawn = _drawn("normal", key, shape, dtype.numpy)
    if std is not None:
        drawn = lax.mul(drawn, broadcast_to(std, shape))
    return drawn if mean is None else lax.add(drawn, broadcast_to(mean, shape))


@op(rules.draw, T="floating", source=_SOURCE + "; erfinv of uniform numbers",
    derivative=NOT_DIFFERENTIABLE, samples=_draws(-1.0, 2.0))
def random_truncated_normal(key: Integer, low: T, high: T, *, shape: Ints) -> Array:
    """Numbers of the standard normal distribution limited to [low, high]."""
    dtype = low.dtype
    wide = [broadcast_to(widened(v), shape) for v in (low, high)]
    return convert(_drawn("truncated_normal", key, *wide, shape, wide[0].dtype), dtype)


# Other distributions, of unit scale where they have one


@op(rules.typed_draw, T="floating", source=_SOURCE + "; inversion", derivative=NOT_DIFFERENTIABLE,
    samples=_draws())
def random_exponential(key: Integer, *, shape: Ints, dtype: DType = float32) -> Array:
    """Exponential numbers of mean 1."""
    return _drawn("exponential", key, shape, dtype.numpy)


@op(rules.typed_draw, T="floating", source=_SOURCE + "; inversion", derivative=NOT_DIFFERENTIABLE,
    samples=_draws())
def random_gumbel(key: Integer, *, shape: Ints, dtype: DType = float32) -> Array:
    """Gumbel numbers of location 0 and scale 1."""
    return _drawn("gumbel", key, shape, dtype.numpy)


@op(rules.typed_draw, T="floating", source=_SOURCE + "; inversion", derivative=NOT_DIFFERENTIABLE,
    samples=_draws())
def random_laplace(key: Integer, *, shape: Ints, dtype: DType = float32) -> Array:
    """Laplace numbers of location 0 and scale 1."""
    return _drawn("laplace", key, shape, dtype.numpy)


@op(rules.typed_draw, T="floating", source=_SOURCE + "; inversion", derivative=NOT_DIFFERENTIABLE,
    samples=_draws())
def random_logistic(key: Integer, *, shape: Ints, dtype: DType = float32) -> Array:
    """Logistic numbers of location 0 and scale 1."""
    return _drawn("logistic", key, shape, dtype.numpy)


@op(rules.typed_draw, T="floating", source=_SOURCE + "; inversion", derivative=NOT_DIFFERENTIABLE,
    samples=_draws())
def random_cauchy(key: Integer, *, shape: Ints, dtype: DType = float32) -> Array:
    """Cauchy numbers of location 0 and scale 1."""
    return _drawn("cauchy", key, shape, dtype.numpy)


def _integers(counts: Any, valid: Any) -> Any:
    """Integral float64 numbers as int64, clamped to its largest; -1 where not valid."""
    large = counts >= 2.0**63
    counts = convert(lax.select(valid & ~large, counts, lax.full_like(counts, -1.0)), jnp.int64)
    return lax.select(valid & large, lax.full_like(counts, 2**63 - 1), counts)


@op(rules.count_draw, T="floating", source=_SOURCE + "; inversion", derivative=NOT_DIFFERENTIABLE,
    samples=_draws(0.4))
def random_geometric(key: Integer, p: T, *, shape: Ints) -> Array:
    """The number (int64) of trials up to the first success of probability p, 1 or more.

    2**63 - 1 where it is larger; -1 where p is not above 0 and at most 1.
    """
    p = broadcast_to(convert(p, jnp.float64), shape)
    u = _drawn("uniform", key, shape, jnp.float64)
    trials = lax.add(lax.floor(lax.div(lax.log1p(lax.neg(u)), lax.log1p(lax.neg(p)))),
                     constant(p, 1))
    return _integers(trials, lax.bitwise_and(lax.gt(p, constant(p, 0)), lax.le(p, constant(p, 1))))


def _categorical_samples(op: OpDef) -> Iterator[Sample]:
    for d in CLASSES_SORTED["floating"]:
        yield Sample([_KEY, np.zeros((3, 4), d.numpy)], {"shape": (3,)}, d.name, smooth=False)
    yield Sample([_KEY, np.zeros((4,))], {"shape": (2, 3)}, "many", smooth=False)
    yield Sample([_KEY, np.zeros((0, 4))], {"shape": (2, 0)}, "empty", smooth=False)


@op(rules.chosen_class, source=_SOURCE + "; maximum of Gumbel numbers",
    derivative=NOT_DIFFERENTIABLE, samples=_categorical_samples)
def random_categorical(key: Integer, logits: Floating, *, shape: Ints) -> Array:
    """Indices (int64) into the last axis of ``logits``, of probability softmax(logits).

    Attribute ``shape`` ends in the shape of logits without its last axis.
    """
    return convert(_drawn("categorical", key, widened(logits), axis=-1, shape=shape), jnp.int64)
