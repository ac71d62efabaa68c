"""Random numbers: generators, seeds and the functions that draw.

Generators stand in :mod:`lazyloom_torch._draws`.
"""

from __future__ import annotations

from typing import Any

from lazyloom.dtypes import float32, int64

from . import _dtypes
from ._core import (
    broadcast_shapes,
    cast,
    check_shape,
    record,
    scalar,
    sequence_by_name,
    shape_of,
)
from ._draws import Generator as Generator
from ._draws import default_generator, drawn, normal_value, uniform_value
from ._elementwise import alike
from ._errors import TorchDTypeError
from ._functions.bounds import require
from ._functions.convert import overwritten
from ._functions.creation import check_contents, finish
from ._placing import beside, put_beside
from ._registry import declare
from ._tensor import Tensor, operand


def manual_seed(seed: int) -> Generator:
    """Seed the default generator."""
    return default_generator.manual_seed(seed)


def seed() -> int:
    """Seed the generator from the system, and return the seed."""
    return default_generator.seed()


def initial_seed() -> int:
    """The seed that the generator was set to last."""
    return default_generator.initial_seed()


def get_rng_state() -> Tensor:
    """The state of the generator of random numbers, uint8."""
    return default_generator.get_state()


def set_rng_state(state: Tensor) -> None:
    """Set the state that ``get_rng_state`` gave."""
    default_generator.set_state(state)


def _floating(dtype: Any) -> _dtypes.dtype:
    kind = _dtypes.get_default_dtype() if dtype is None else _dtypes.as_dtype(dtype)
    if kind.category < 2:
        raise RuntimeError(f"random floating-point numbers of {kind!r} are not possible")
    return kind


@sequence_by_name
def rand(
    *size: Any, generator: Generator | None = None, dtype: Any = None, device: Any = None,
    requires_grad: bool = False, layout: Any = None, pin_memory: bool = False,
) -> Tensor:
    """Uniform numbers on [0, 1)."""
    _dtypes.check_device(device)
    value = uniform_value(shape_of(size), 0.0, 1.0, _floating(dtype).lazy, generator)
    return finish(value, requires_grad, device)


@sequence_by_name
def randn(
    *size: Any, generator: Generator | None = None, dtype: Any = None, device: Any = None,
    requires_grad: bool = False, layout: Any = None, pin_memory: bool = False,
) -> Tensor:
    """Numbers of the standard normal distribution."""
    _dtypes.check_device(device)
    value = drawn("random_normal", [], {
        "shape": check_shape(shape_of(size)), "dtype": _floating(dtype).lazy}, generator)
    return finish(value, requires_grad, device)


def randint(
    low: Any = 0, high: Any = None, size: Any = None, *, generator: Generator | None = None,
    dtype: Any = None, device: Any = None, requires_grad: bool = False, layout: Any = None,
    pin_memory: bool = False,
) -> Tensor:
    """Integers from low (0 if left out) to high - 1.

    Raises RuntimeError if there are none, or if they do not fit the dtype.
    """
    _dtypes.check_device(device)
    if size is None:
        low, high, size = 0, low, high
    elif high is None:
        low, high = 0, low
    kind = _dtypes.int64 if dtype is None else _dtypes.as_dtype(dtype)
    value = _integers(check_shape(shape_of((size,))), int(low), int(high), kind, generator)
    return finish(value, requires_grad, device)


def _integers(shape: tuple[int, ...], low: int, high: int, kind: _dtypes.dtype,
              generator: Generator | None) -> Any:
    if not low < high:
        raise RuntimeError(
            f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    if kind.category < 2:
        least, most = (0, 1) if kind is _dtypes.bool_ else (
            _dtypes.iinfo(kind).min, _dtypes.iinfo(kind).max)
        for name, bound in (("from", low), ("to - 1", high - 1)):
            if not least <= bound <= most:
                raise RuntimeError(f"{name} is out of bounds for {kind!r}: it is {bound}, expected "
                                   f"{least} to {most}")
    # the largest bound is one more than an int64 holds
    value = drawn("random_integers", [scalar(low, int64), scalar(high - 1, int64)],
                  {"shape": shape, "endpoint": True}, generator)
    return cast(value, kind.lazy)


def randperm(
    n: int, *, generator: Generator | None = None, dtype: Any = None, device: Any = None,
    requires_grad: bool = False, layout: Any = None, pin_memory: bool = False,
) -> Tensor:
    """The integers from 0 to n - 1 in random order."""
    _dtypes.check_device(device)
    kind = _dtypes.int64 if dtype is None else _dtypes.as_dtype(dtype)
    value = drawn("random_permutation", [], {"n": n}, generator)
    return finish(cast(value, kind.lazy), requires_grad, device)


def _like(make: Any) -> Any:
    def function(input: Tensor, **options: Any) -> Tensor:
        if input.slow_path:
            check_contents(input, f"{make.__name__}_like")
        options.setdefault("dtype", input.dtype)
        beside(input, options)
        memory_format = options.pop("memory_format", None)
        return alike(make(*input.tensor_type.shape, **options), input, memory_format)

    function.__name__ = function.__qualname__ = f"{make.__name__}_like"
    function.__doc__ = f"``{make.__name__}`` of the input's shape and dtype."
    return function


rand_like, randn_like = _like(rand), _like(randn)


def randint_like(input: Tensor, low: int, high: int | None = None, **options: Any) -> Tensor:
    """``randint`` of the input's shape and dtype."""
    if input.slow_path:
        check_contents(input, "randint_like")
    options.setdefault("dtype", input.dtype)
    beside(input, options)
    low, top = (0, low) if high is None else (low, high)
    memory_format = options.pop("memory_format", None)
    return alike(randint(low, top, input.tensor_type.shape, **options), input, memory_format)


def bernoulli(input: Tensor, p: Any = None, *, generator: Generator | None = None) -> Tensor:
    """Ones with the probabilities that input holds (or p), zeros otherwise.

    A probability outside [0, 1] raises RuntimeError, at the latest when the result is read.
    """
    if p is None and not input.is_floating_point():
        raise TorchDTypeError(f"bernoulli draws floating-point numbers, not {input.dtype!r}")
    value = _truths(input.tensor_type.shape, input if p is None else p, generator)
    return finish(overwritten(operand(input), cast(value, input.tensor_type.dtype)))


def _truths(shape: tuple[int, ...], p: Any, generator: Generator | None) -> Any:
    if not isinstance(p, Tensor):
        if not 0 <= p <= 1:
            raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p}")
        odds = scalar(float(p), float32)
        return drawn("random_bernoulli", [odds], {"shape": shape}, generator)
    given = operand(p).detach()
    if not given.dtype.is_floating:
        raise RuntimeError(f"expected probabilities of a floating-point dtype, not {p.dtype!r}")
    return require(drawn("random_bernoulli", [given], {"shape": shape}, generator),
                   _outside(given, 0, 1), "torch.bernoulli")


def _outside(value: Any, low: float, high: float) -> Any:
    """A flag: whether an element is not from low to high, or is NaN."""
    inside = record("logical_and", [
        record("greater_equal", [value, scalar(low, value.dtype)]),
        record("less_equal", [value, scalar(high, value.dtype)])])
    return record("logical_not", [record("all", [inside])])


def normal(
    mean: Any = 0.0, std: Any = 1.0, size: Any = None, *, generator: Generator | None = None,
    dtype: Any = None, device: Any = None, requires_grad: bool = False, layout: Any = None,
    pin_memory: bool = False,
) -> Tensor:
    """Normal numbers with the given means and standard deviations (numbers or tensors).

    A negative standard deviation raises RuntimeError, at the latest when the result is read.
    """
    _dtypes.check_device(device)
    shaped = [x for x in (mean, std) if isinstance(x, Tensor)]
    if size is None and not shaped:
        raise TypeError("normal() needs tensors of means or standard deviations, or a size")
    if not isinstance(std, Tensor):
        _positive("normal", "std", std, zero=True)
    if size is not None:
        noise = randn(*shape_of((size,)), generator=generator, dtype=dtype, device=device)
    else:
        like = shaped[0] if len(shaped) == 1 else shaped[0] + shaped[1]
        noise = randn_like(like, generator=generator)
    made: Tensor = noise * std + mean
    made._lay(None, 0)
    if isinstance(std, Tensor) and std.is_floating_point():
        spread = operand(std).detach()
        flag = record("any", [record("less", [spread, scalar(0, spread.dtype)])])
        made = Tensor.from_value(require(operand(made), flag, "torch.normal"))
    return made.requires_grad_() if requires_grad else made


def _positive(name: str, what: str, number: Any, *, zero: bool = False) -> float:
    """A parameter as a float. Raises RuntimeError if it is not positive."""
    if not (number > 0 or zero and number == 0):
        raise RuntimeError(
            f"{name} expects {what} > 0.0, but found {what}={number}" if not zero else
            f"{name} expects {what} >= 0.0, but found {what}={number}")
    return float(number)


def multinomial(
    input: Tensor, num_samples: int, replacement: bool = False, *,
    generator: Generator | None = None,
) -> Tensor:
    """Indices drawn with the rows' weights; without replacement by the Gumbel top-k trick.

    Weights that are negative, not finite or 0 all in a row raise RuntimeError when the result
    is read.
    """
    if input.ndim not in (1, 2):
        raise RuntimeError(f"prob_dist must be 1 or 2 dim, but it has {input.ndim}")
    if not input.is_floating_point():
        raise RuntimeError(
            f"multinomial only supports floating-point dtypes for input, got: {input.dtype!r}")
    if num_samples <= 0:
        raise RuntimeError(f"cannot sample n_sample <= 0 samples, but it is {num_samples}")
    n = input.tensor_type.shape[-1]
    if not replacement and num_samples > n:
        raise RuntimeError("cannot sample n_sample > prob_dist.size(-1) samples without "
                           "replacement")
    weights = operand(input).detach()
    zero = scalar(0, weights.dtype)
    logits = record("log", [weights])
    if replacement:
        shape = (num_samples, *input.tensor_type.shape[:-1])
        value = drawn("random_categorical", [logits], {"shape": shape}, generator)
        if len(shape) == 2:
            value = record("transpose", [value], {"axes": (1, 0)})
        found = cast(value, int64)
    else:
        noise = drawn("random_gumbel", [], {"shape": logits.shape, "dtype": logits.dtype},
                      generator)
        _, found = record("top_k", [record("add", [logits, noise])], {
            "k": num_samples, "axis": len(logits.shape) - 1, "largest": True})
    valid = record("logical_and", [record("isfinite", [weights]),
                                   record("greater_equal", [weights, zero])])
    some = record("any", [record("greater", [weights, zero])], {"axes": (input.ndim - 1,)})
    sound = record("logical_and", [record("all", [valid]), record("all", [some])])
    return finish(require(found, record("logical_not", [sound]), "torch.multinomial"))


def binomial(count: Tensor, prob: Tensor, generator: Generator | None = None) -> Tensor:
    """Numbers of successes with probabilities ``prob`` in ``count`` trials, of count's dtype."""
    if count.dtype is not prob.dtype or not count.is_floating_point():
        raise RuntimeError(
            "binomial expects two tensors of one floating-point dtype, but count has "
            f"{count.dtype!r} and prob has {prob.dtype!r}")
    shape = broadcast_shapes(count.tensor_type.shape, prob.tensor_type.shape)
    value = drawn("random_binomial", [operand(count).detach(), operand(prob).detach()],
                  {"shape": shape}, generator)
    return finish(cast(value, count.tensor_type.dtype))


def poisson(input: Tensor, generator: Generator | None = None) -> Tensor:
    """Poisson counts with the rates that input holds."""
    value = drawn("random_poisson", [operand(input)], {"shape": input.tensor_type.shape}, generator)
    return finish(overwritten(operand(input), cast(value, input.tensor_type.dtype)))


# In-place fillers, attached to Tensor.


def _fill(self: Tensor, value: Any) -> Tensor:
    return self._assign(put_beside(cast(value, self.tensor_type.dtype), self))


def _continuous(self: Tensor, name: str) -> Any:
    """The dtype to draw. Raises NotImplementedError for integers and bools."""
    kind = self.tensor_type.dtype
    if not kind.is_inexact:
        raise TorchDTypeError(f"{name} draws floating-point numbers, not {self.dtype!r}")
    return kind


def _bounds(name: str, given: dict[str, Any], first: Any, second: Any) -> tuple[Any, Any]:
    """PyTorch's arguments ``from`` and ``to``, the first of which is a word of Python's."""
    first, second = given.pop("from", first), given.pop("to", second)
    if given:
        raise TypeError(f"{name}() got an unexpected keyword argument {next(iter(given))!r}")
    return first, second


def uniform_(self: Tensor, a: float = 0.0, b: float = 1.0, *, generator: Any = None, **bounds: Any
             ) -> Tensor:
    """Fill with uniform numbers on [from, to), by default [0, 1); both parts of complex ones.

    Raises RuntimeError if from is larger than to.
    """
    kind = _continuous(self, "uniform_")
    low, high = _bounds("uniform_", bounds, a, b)
    if low > high:
        raise RuntimeError(
            f"uniform_ expects to return a [from, to) range, but found from={low} > to={high}")
    return _fill(self, uniform_value(self.tensor_type.shape, low, high, kind, generator))


def normal_(self: Tensor, mean: float = 0.0, std: float = 1.0, *, generator: Any = None) -> Tensor:
    """Fill with normal numbers. Raises RuntimeError for a negative std."""
    kind = _continuous(self, "normal_")
    _positive("normal_", "std", std, zero=True)
    if not kind.is_complex:
        return _fill(self, normal_value(self.tensor_type.shape, mean, std, kind, generator))
    noise = drawn("random_normal", [], {"shape": self.tensor_type.shape, "dtype": kind}, generator)
    return _fill(self, record("add", [record("multiply", [noise, scalar(std, kind)]),
                                      scalar(mean, kind)]))


#: one more than the whole numbers that a floating-point dtype counts without a gap
_WHOLE = {"float16": 1 << 11, "bfloat16": 1 << 8, "float32": 1 << 24, "float64": 1 << 53}


def random_(self: Tensor, a: Any = None, b: Any = None, *, generator: Any = None, **bounds: Any
            ) -> Tensor:
    """Fill with integers: ``random_()`` of those that the dtype holds, ``random_(to)`` from 0,
    ``random_(from, to)``; ``to`` itself excluded.
    """
    kind = self.dtype
    low, high = _bounds("random_", bounds, a, b)
    if high is None:
        if low is not None and "from" not in bounds and a is not None:
            low, high = 0, low
        else:
            low = 0 if low is None else low
            high = _WHOLE[kind.name] + 1 if kind.is_floating_point else (
                2 if kind is _dtypes.bool_ else _dtypes.iinfo(kind).max + 1)
            high = min(high, (1 << 63))
    low = 0 if low is None else low
    return _fill(self, _integers(self.tensor_type.shape, int(low), int(high), kind, generator))


def bernoulli_(self: Tensor, p: Any = 0.5, *, generator: Any = None) -> Tensor:
    """Fill with ones with probability p (a number or a tensor), zeros otherwise.

    A probability outside [0, 1] raises RuntimeError, at the latest when the result is read.
    """
    return _fill(self, _truths(self.tensor_type.shape, p, generator))


def exponential_(self: Tensor, lambd: float = 1.0, *, generator: Any = None) -> Tensor:
    """Fill with exponentially distributed numbers of rate lambd.

    Raises RuntimeError for a rate that is not positive.
    """
    kind = _continuous(self, "exponential_")
    rate = _positive("exponential_", "lambda", lambd)
    attributes = {"shape": self.tensor_type.shape, "dtype": kind}
    value = drawn("random_exponential", [], attributes, generator)
    return _fill(self, record("divide", [value, scalar(rate, kind)]))


def cauchy_(self: Tensor, median: float = 0.0, sigma: float = 1.0, *, generator: Any = None
            ) -> Tensor:
    """Fill with numbers of the Cauchy distribution. Raises RuntimeError unless sigma > 0."""
    kind = _continuous(self, "cauchy_")
    width = _positive("cauchy_", "sigma", sigma)
    value = drawn("random_cauchy", [], {"shape": self.tensor_type.shape, "dtype": kind}, generator)
    return _fill(self, record("add", [record("multiply", [value, scalar(width, kind)]),
                                      scalar(float(median), kind)]))


def log_normal_(self: Tensor, mean: float = 1.0, std: float = 2.0, *, generator: Any = None
                ) -> Tensor:
    """Fill with numbers whose logarithms are normal. Raises RuntimeError unless std > 0."""
    kind = _continuous(self, "log_normal_")
    spread = _positive("log_normal_", "std", std)
    return _fill(self, record("exp", [
        normal_value(self.tensor_type.shape, mean, spread, kind, generator)]))


def geometric_(self: Tensor, p: float, *, generator: Any = None) -> Tensor:
    """Fill with the numbers of trials, 1 or more, up to the first success of probability p.

    Raises RuntimeError unless 0 < p < 1.
    """
    if not 0 < p < 1:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p}")
    attributes = {"shape": self.tensor_type.shape}
    value = drawn("random_geometric", [scalar(float(p), float32)], attributes, generator)
    return _fill(self, value)


class fork_rng:  # noqa: N801
    """A context manager that restores the default generator's state at its end."""

    def __init__(self, devices: Any = None, enabled: bool = True) -> None:
        self._enabled = enabled

    def __enter__(self) -> None:
        self._before = default_generator._state()

    def __exit__(self, *exc: object) -> None:
        if self._enabled:
            default_generator._place(*self._before)


FUNCTIONS = declare({
    "function method out": [bernoulli, multinomial],
    "function out": [rand, randn, randint, randperm, normal],
    "function": [
        manual_seed, seed, initial_seed, get_rng_state, set_rng_state, rand_like, randn_like,
        randint_like, poisson, binomial],
    "method": [
        uniform_, normal_, random_, bernoulli_, exponential_, cauchy_, log_normal_, geometric_],
})
