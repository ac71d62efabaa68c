"""Random numbers: generators, seeds and the functions that draw.

A generator's state is a key, an ordinary ``uint32[2]`` value. Every draw splits it by
recorded ops, so a traced step that draws is the same program each time, and equal seeds
give equal numbers (not PyTorch's numbers).
"""

from __future__ import annotations

import contextlib
import secrets
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np

import lazyloom
from lazyloom.dtypes import float32, int64

from . import _dtypes
from ._core import cast, check_shape, record, scalar, shape_of
from ._functions.creation import finish
from ._tensor import Tensor, operand

_DEFAULT_SEED = 67280421310721


#: (thread, mode, number of the element) of each function that vmap maps now, innermost last
_mappings: list[tuple[int, str, Any]] = []


@contextlib.contextmanager
def mapped_draws(mode: str, number: Any) -> Iterator[None]:
    """What draws do while vmap runs a function: ``error``, ``same`` or ``different``.

    ``number`` is a Value that tells the elements apart.
    """
    entry = (threading.get_ident(), mode, number)
    _mappings.append(entry)
    try:
        yield
    finally:
        _mappings.remove(entry)


def _of_element(key: Any) -> Any:
    """The key to draw with inside mapped functions of this thread."""
    here = threading.get_ident()
    for thread, mode, number in _mappings:
        if thread != here:
            continue
        if mode == "error":
            raise RuntimeError(
                "vmap: called random operation while in randomness error mode. Please either use "
                "the 'same' or 'different' randomness flags on vmap or perform the randomness "
                "operation out of vmap")
        if mode == "different":
            key = record("random_fold_in", [key, number])
    return key


class Generator:
    """A source of random numbers with a state of its own."""

    def __init__(self, device: Any = "cpu") -> None:
        _dtypes.check_device(device)
        self.device = _dtypes.CPU
        self._lock = threading.Lock()
        self._seed = _DEFAULT_SEED
        self._key: Any = None

    def manual_seed(self, seed: int) -> Generator:
        """Start again from a seed: any Python int, of which the low 64 bits count."""
        self._seed = int(seed)
        self._key = None
        return self

    def seed(self) -> int:
        """Start from a seed that the operating system gives; returns it."""
        self.manual_seed(secrets.randbits(53))
        return self._seed

    def initial_seed(self) -> int:
        """The seed last set."""
        return self._seed

    def _state(self) -> Any:
        if self._key is None:
            low = self._seed & 0xFFFFFFFFFFFFFFFF
            self._key = lazyloom.from_host(np.array([low >> 32, low & 0xFFFFFFFF], np.uint32))
        return self._key

    def draw(self, *, step: bool = False) -> Any:
        """A fresh key; the state moves on.

        ``step`` says that the draw belongs to the program around it (dropout). Otherwise
        it creates data, and the state is made a boundary, so that a later step does not
        contain the draws that came before it.
        """
        with self._lock:
            pair = record("random_split", [self._state()], {"num": 2})
            state = record("take", [pair, scalar(0, int64)], {"axis": 0})
            self._key = state if step else lazyloom.boundary(state)
            key = record("take", [pair, scalar(1, int64)], {"axis": 0})
        return _of_element(key) if _mappings else key

    def get_state(self) -> Tensor:
        """The state: 8 bytes of key and 8 of seed, uint8. Reads the key."""
        seed = np.array([self._seed & 0xFFFFFFFFFFFFFFFF], np.uint64)
        data = np.concatenate([self._state().read().view(np.uint8), seed.view(np.uint8)])
        return finish(lazyloom.from_host(data))

    def set_state(self, state: Tensor) -> Generator:
        """Go on from what :meth:`get_state` gave. Raises RuntimeError for anything else."""
        data = state.read()
        if data.dtype != np.uint8 or data.shape != (16,):
            raise RuntimeError(f"a generator's state is uint8[16], not {state.dtype!r}{data.shape}")
        self._key = lazyloom.from_host(data[:8].view(np.uint32))
        self._seed = int(data[8:].view(np.uint64)[0])
        return self

    def clone_state(self) -> Generator:
        return Generator().set_state(self.get_state())


default_generator = Generator()


def manual_seed(seed: int) -> Generator:
    """Seed the default generator."""
    return default_generator.manual_seed(seed)


def seed() -> int:
    return default_generator.seed()


def initial_seed() -> int:
    return default_generator.initial_seed()


def get_rng_state() -> Tensor:
    return default_generator.get_state()


def set_rng_state(state: Tensor) -> None:
    default_generator.set_state(state)


def drawn(
    op: str, operands: list[Any], attributes: dict[str, Any], generator: Generator | None = None,
    *, step: bool = False,
) -> Any:
    """A Value drawn by a random op whose first operand is a fresh key."""
    key = (generator or default_generator).draw(step=step)
    value = record(op, [key, *operands], attributes)
    return value if step else lazyloom.boundary(value)


def _floating(dtype: Any) -> _dtypes.dtype:
    kind = _dtypes.get_default_dtype() if dtype is None else _dtypes.as_dtype(dtype)
    if kind.category < 2:
        raise RuntimeError(f"random floating-point numbers of {kind!r} are not possible")
    return kind


def uniform_value(
    shape: tuple[int, ...], low: float, high: float, kind: Any, generator: Any = None
) -> Any:
    """A Value uniform on [low, high)."""
    return drawn("random_uniform", [scalar(float(low), kind), scalar(float(high), kind)],
                 {"shape": check_shape(shape)}, generator)


def normal_value(
    shape: tuple[int, ...], mean: float, std: float, kind: Any, generator: Any = None
) -> Any:
    """A normally distributed Value."""
    return drawn("random_normal", [scalar(float(mean), kind), scalar(float(std), kind)],
                 {"shape": check_shape(shape), "dtype": kind}, generator)


def rand(
    *size: Any, generator: Generator | None = None, dtype: Any = None, device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Uniform numbers on [0, 1)."""
    _dtypes.check_device(device)
    value = uniform_value(shape_of(size), 0.0, 1.0, _floating(dtype).lazy, generator)
    return finish(value, requires_grad)


def randn(
    *size: Any, generator: Generator | None = None, dtype: Any = None, device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Numbers of the standard normal distribution."""
    _dtypes.check_device(device)
    value = drawn("random_normal", [], {
        "shape": check_shape(shape_of(size)), "dtype": _floating(dtype).lazy}, generator)
    return finish(value, requires_grad)


def randint(
    low: int, high: Any = None, size: Any = None, *, generator: Generator | None = None,
    dtype: Any = None, device: Any = None, requires_grad: bool = False,
) -> Tensor:
    """Integers from low (0 if left out) to high - 1."""
    _dtypes.check_device(device)
    if size is None:
        low, high, size = 0, low, high
    if not low < high:
        raise RuntimeError(
            f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    kind = _dtypes.int64 if dtype is None else _dtypes.as_dtype(dtype)
    value = drawn("random_integers", [scalar(low, int64), scalar(high, int64)],
                  {"shape": check_shape(shape_of((size,)))}, generator)
    return finish(cast(value, kind.lazy), requires_grad)


def randperm(
    n: int, *, generator: Generator | None = None, dtype: Any = None, device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """The integers from 0 to n - 1 in random order."""
    _dtypes.check_device(device)
    kind = _dtypes.int64 if dtype is None else _dtypes.as_dtype(dtype)
    value = drawn("random_permutation", [], {"n": n}, generator)
    return finish(cast(value, kind.lazy), requires_grad)


def _like(make: Any) -> Any:
    def function(input: Tensor, **options: Any) -> Tensor:
        options.setdefault("dtype", input.dtype)
        options.pop("memory_format", None)
        made: Tensor = make(*input._type.shape, **options)
        return made

    function.__name__ = function.__qualname__ = f"{make.__name__}_like"
    function.__doc__ = f"``{make.__name__}`` of the input's shape and dtype."
    return function


rand_like, randn_like = _like(rand), _like(randn)


def randint_like(input: Tensor, low: int, high: int | None = None, **options: Any) -> Tensor:
    """``randint`` of the input's shape and dtype."""
    options.setdefault("dtype", input.dtype)
    low, top = (0, low) if high is None else (low, high)
    return randint(low, top, input._type.shape, **options)


def bernoulli(input: Tensor, p: Any = None, *, generator: Generator | None = None) -> Tensor:
    """Ones with the probabilities that input holds (or p), zeros otherwise."""
    kind = input._type.dtype
    odds = operand(input) if p is None else scalar(float(p), float32)
    drawn_bits = drawn("random_bernoulli", [odds], {"shape": input._type.shape}, generator)
    return finish(cast(drawn_bits, kind))


def normal(
    mean: Any = 0.0, std: Any = 1.0, size: Any = None, *, generator: Generator | None = None,
    dtype: Any = None, device: Any = None,
) -> Tensor:
    """Normal numbers with the given means and standard deviations (numbers or tensors)."""
    shaped = [x for x in (mean, std) if isinstance(x, Tensor)]
    if size is None and not shaped:
        raise TypeError("normal() needs tensors of means or standard deviations, or a size")
    if size is not None:
        noise = randn(*shape_of((size,)), generator=generator, dtype=dtype)
    else:
        like = shaped[0] if len(shaped) == 1 else shaped[0] + shaped[1]
        noise = randn_like(like, generator=generator)
    made: Tensor = noise * std + mean
    return made


def multinomial(
    input: Tensor, num_samples: int, replacement: bool = False, *,
    generator: Generator | None = None,
) -> Tensor:
    """Indices drawn with the rows' weights; without replacement by the Gumbel top-k trick."""
    if input.ndim not in (1, 2):
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    n = input._type.shape[-1]
    if not replacement and num_samples > n:
        raise RuntimeError("cannot sample n_sample > prob_dist.size(-1) samples without "
                           "replacement")
    logits = record("log", [operand(input).detach()])
    if replacement:
        shape = (num_samples, *input._type.shape[:-1])
        value = drawn("random_categorical", [logits], {"shape": shape}, generator)
        if len(shape) == 2:
            value = record("transpose", [value], {"axes": (1, 0)})
        return finish(cast(value, int64))
    noise = drawn("random_gumbel", [], {"shape": logits.shape, "dtype": logits.dtype}, generator)
    _, found = record("top_k", [record("add", [logits, noise])], {
        "k": num_samples, "axis": len(logits.shape) - 1, "largest": True})
    return finish(found)


def poisson(input: Tensor, generator: Generator | None = None) -> Tensor:
    """Poisson counts with the rates that input holds."""
    value = drawn("random_poisson", [operand(input)], {"shape": input._type.shape}, generator)
    return finish(cast(value, input._type.dtype))


# In-place fillers, attached to Tensor.


def _fill(self: Tensor, value: Any) -> Tensor:
    return self._assign(cast(value, self._type.dtype))


def _wide(self: Tensor) -> Any:
    return self._type.dtype if self._type.dtype.is_inexact else float32


def uniform_(self: Tensor, a: float = 0.0, b: float = 1.0, *, generator: Any = None) -> Tensor:
    """Fill with uniform numbers on [a, b)."""
    return _fill(self, uniform_value(self._type.shape, a, b, _wide(self), generator))


def normal_(self: Tensor, mean: float = 0.0, std: float = 1.0, *, generator: Any = None) -> Tensor:
    """Fill with normal numbers."""
    return _fill(self, normal_value(self._type.shape, mean, std, _wide(self), generator))


def random_(self: Tensor, low: int = 0, high: int | None = None, *, generator: Any = None
            ) -> Tensor:
    """Fill with integers from low to high - 1."""
    if high is None:
        kind = self._type.dtype
        top = (1 << 24) if kind.is_floating else (2 if kind.kind == "b" else (
            1 << (8 * kind.itemsize - (kind.kind == "i"))) - 1)
        low, high = (0, low) if low else (0, top)
    return _fill(self, drawn("random_integers", [scalar(low, int64), scalar(high, int64)],
                             {"shape": self._type.shape}, generator))


def bernoulli_(self: Tensor, p: Any = 0.5, *, generator: Any = None) -> Tensor:
    """Fill with ones with probability p (a number or a tensor), zeros otherwise."""
    odds = operand(p) if isinstance(p, Tensor) else scalar(float(p), float32)
    return _fill(self, drawn("random_bernoulli", [odds], {"shape": self._type.shape}, generator))


def exponential_(self: Tensor, lambd: float = 1.0, *, generator: Any = None) -> Tensor:
    """Fill with exponentially distributed numbers of rate lambd."""
    value = drawn("random_exponential", [], {"shape": self._type.shape, "dtype": _wide(self)},
                  generator)
    return _fill(self, record("divide", [value, scalar(float(lambd), value.dtype)]))


class fork_rng:  # noqa: N801
    """A context manager that restores the default generator's state at its end."""

    def __init__(self, devices: Any = None, enabled: bool = True) -> None:
        self._enabled = enabled

    def __enter__(self) -> None:
        self._before = (default_generator._seed, default_generator._key)

    def __exit__(self, *exc: object) -> None:
        if self._enabled:
            default_generator._seed, default_generator._key = self._before


FUNCTIONS = {f.__name__: f for f in (
    manual_seed, seed, initial_seed, get_rng_state, set_rng_state, rand, randn, randint, randperm,
    rand_like, randn_like, randint_like, bernoulli, normal, multinomial, poisson)}
METHODS = {f.__name__: f for f in (
    uniform_, normal_, random_, bernoulli_, exponential_, bernoulli, multinomial)}
