"""The legacy interface: ``RandomState``, whose methods are functions of the module too."""

from __future__ import annotations

import operator
import warnings
from typing import Any, Final

import numpy as onp
from numpy.random import SeedSequence

from lazyloom.errors import type_name

from .._array.ndarray import ndarray
from . import _checks as checks
from ._bits import MT19937, BitGenerator
from ._checks import whole
from ._distributions import Distributions
from ._generator import Generator

#: so that RandomState(0) and default_rng(0) are different streams
_LEGACY: Final = 0x4C6567616379


def _seed_sequence(seed: Any) -> Any:
    if seed is None:
        return SeedSequence()
    if isinstance(seed, ndarray):
        seed = seed.read()
    words = onp.asarray(seed)
    if not words.size:
        raise ValueError("Seed must be non-empty")
    if words.dtype.kind not in "iub":
        raise TypeError(f"seed: {type_name(seed)} {seed!r} was given, expected integers")
    if words.ndim > 1:
        raise ValueError("Seed array must be 1-d")
    if words.min() < 0 or words.max() >= 2**32:
        raise ValueError("Seed must be between 0 and 2**32 - 1")
    return SeedSequence([_LEGACY, *words.reshape(-1).tolist()])


class RandomState(Distributions):
    """The legacy interface. As ``numpy.random.RandomState``; the numbers are not NumPy's.

    Args:
        seed: None, an int below 2**32, a sequence of such, or a bit generator.
    """

    def __init__(self, seed: Any = None) -> None:
        given = isinstance(seed, BitGenerator)
        super().__init__(seed if given else MT19937(_seed_sequence(seed)))
        self._generator = Generator(self._bit_generator)

    def __reduce__(self) -> Any:
        return type(self), (self._bit_generator,)

    @property
    def bit_generator(self) -> BitGenerator:
        return self._bit_generator

    def draw_from(self, bit_generator: BitGenerator) -> None:
        """Draw from another bit generator from now on."""
        self._generator = Generator(bit_generator)
        self._bit_generator = bit_generator

    # --------------------------------------------------------------- state

    def seed(self, seed: Any = None) -> None:
        """Start again from a seed. As ``numpy.random.RandomState.seed``."""
        self._bit_generator.seed(_seed_sequence(seed))

    def get_state(self, legacy: bool = True) -> Any:
        """The state, a dict or a tuple. As ``numpy.random.RandomState.get_state``.

        The tuple has NumPy's five places: name, key (``uint32[2]``), number of the next draw,
        and two that are always 0.
        """
        state = self._bit_generator.state
        if not legacy:
            return {**state, "has_gauss": 0, "gauss": 0.0}
        inner = state["state"]
        return state["bit_generator"], inner["key"], inner["counter"], 0, 0.0

    def set_state(self, state: Any) -> None:
        """Continue from what :meth:`get_state` gave. ValueError for another's state."""
        if not isinstance(state, dict):
            if not isinstance(state, (tuple, list)):
                raise TypeError("state must be a dict or a tuple.")
            if len(state) not in (3, 5):
                raise ValueError("set_state: the tuple is not one that get_state gives")
            state = {"bit_generator": state[0], "state": {"key": state[1], "counter": state[2]}}
        self._bit_generator.state = state

    # ------------------------------------------------------------- uniform

    def random_sample(self, size: Any = None) -> Any:
        """Uniform on [0, 1). As ``numpy.random.random_sample``."""
        return self._generator.random(size)

    random = random_sample

    def rand(self, *args: int) -> Any:
        """Uniform on [0, 1), of a shape. As ``numpy.random.rand``."""
        return self.random_sample(tuple(map(operator.index, args)) if args else None)

    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Any:
        """Uniform between two numbers. As ``numpy.random.uniform``."""
        return self._uniform(low, high, size, True)

    # -------------------------------------------------------------- normal

    def randn(self, *args: int) -> Any:
        """Normal of mean 0 and deviation 1, of a shape. As ``numpy.random.randn``."""
        return self.standard_normal(tuple(map(operator.index, args)) if args else None)

    def standard_normal(self, size: Any = None) -> Any:
        """Normal of mean 0 and deviation 1. As ``numpy.random.standard_normal``."""
        return self._generator.standard_normal(size)

    def standard_exponential(self, size: Any = None) -> Any:
        """Exponential of scale 1. As ``numpy.random.standard_exponential``."""
        return self._generator.standard_exponential(size)

    def standard_gamma(self, shape: Any, size: Any = None) -> Any:
        """Gamma numbers of scale 1. As ``numpy.random.standard_gamma``."""
        return self._generator.standard_gamma(shape, size)

    def multivariate_normal(
        self, mean: Any, cov: Any, size: Any = None, check_valid: str = "warn", tol: float = 1e-8
    ) -> Any:
        """Normal vectors. As ``numpy.random.multivariate_normal``."""
        return self._generator.multivariate_normal(mean, cov, size, check_valid, tol)

    # ------------------------------------------------------------ integers

    def randint(self, low: Any, high: Any = None, size: Any = None, dtype: Any = int) -> Any:
        """Integers from low to before high, 0 to low of one. As ``numpy.random.randint``."""
        return self._generator._integers(low, high, size, dtype, False, "randint")

    def random_integers(self, low: Any, high: Any = None, size: Any = None) -> Any:
        """Integers from low (1 of one) to high; deprecated, as ``numpy.random.random_integers``."""
        if high is None:
            low, high = 1, low
        warnings.warn(f"random_integers is deprecated; call randint({low}, {high} + 1)",
                      DeprecationWarning, stacklevel=2)  # fmt: skip
        if not checks.on_device(low) and not checks.on_device(high) and onp.any(
                onp.greater(low, high)):
            raise ValueError("low >= high")
        return self._generator._integers(low, high, size, int, True, "random_integers")

    def tomaxint(self, size: Any = None) -> Any:
        """Integers from 0 to the largest of int64. As ``numpy.random.RandomState.tomaxint``."""
        return self._generator._integers(0, 2**63 - 1, size, onp.int64, True, "tomaxint")

    def multinomial(self, n: Any, pvals: Any, size: Any = None) -> Any:
        """How often each class is met, int64. As ``numpy.random.multinomial``."""
        if not checks.on_device(n):
            n = operator.index(n)
        if len(getattr(pvals, "shape", None) or onp.shape(pvals)) > 1:
            raise ValueError("pvals must be one-dimensional")
        return self._multinomial(whole(n, "n"), pvals, size)

    def dirichlet(self, alpha: Any, size: Any = None) -> Any:
        """Dirichlet vectors. As ``numpy.random.dirichlet``."""
        return self._dirichlet(alpha, size, checks.positive)

    # ------------------------------------------------- choosing and mixing

    def choice(self, a: Any, size: Any = None, replace: bool = True, p: Any = None) -> Any:
        """Elements of a range or of a 1-d array. As ``numpy.random.choice``."""
        if type(a) is float:
            raise ValueError("a must be 1-dimensional or an integer")
        ndim = len(a.shape) if isinstance(a, (ndarray, onp.ndarray)) else onp.ndim(a)
        if ndim > 1:
            raise ValueError("a must be 1-dimensional")
        return self._generator.choice(a, size, replace, p)

    def permutation(self, x: Any) -> Any:
        """A shuffled copy, or a shuffled range of an int. As ``numpy.random.permutation``."""
        return self._generator.permutation(x)

    def shuffle(self, x: Any) -> None:
        """Shuffle in place along the first axis. As ``numpy.random.shuffle``."""
        self._generator.shuffle(x)
