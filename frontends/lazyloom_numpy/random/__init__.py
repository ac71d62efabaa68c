"""Random numbers: ``numpy.random``.

The bits are Threefry's, from a key and a counter, whatever a bit generator is called: equal seeds
give equal numbers, in every process and on every device, but not the numbers that NumPy gives.
Distributions, parameters, shapes, dtypes and errors are NumPy's. Nothing is read to draw, except

* ``bytes``, which gives Python bytes;
* ``shuffle`` of a list or of a NumPy array, by an order that is read;
* seeds that are arrays of the device, and the covariance of ``multivariate_normal`` with
  ``check_valid="raise"``.

Parameters that are arrays of the device are therefore not checked: outside their domain they give
NaN, -1 in integers, or numbers without a meaning.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from numpy.random import SeedSequence

from ._bits import (
    MT19937,
    PCG64,
    PCG64DXSM,
    SFC64,
    BitGenerator,
    Philox,
    Threefry,
)  # fmt: skip
from ._generator import Generator, default_rng
from ._legacy import RandomState

_state = RandomState()

seed = _state.seed
get_state = _state.get_state
set_state = _state.set_state
rand = _state.rand
randn = _state.randn
randint = _state.randint
random_integers = _state.random_integers
random_sample = random = ranf = sample = _state.random_sample
choice = _state.choice
permutation = _state.permutation
shuffle = _state.shuffle
bytes = _state.bytes

beta = _state.beta
binomial = _state.binomial
chisquare = _state.chisquare
dirichlet = _state.dirichlet
exponential = _state.exponential
f = _state.f
gamma = _state.gamma
geometric = _state.geometric
gumbel = _state.gumbel
hypergeometric = _state.hypergeometric
laplace = _state.laplace
logistic = _state.logistic
lognormal = _state.lognormal
logseries = _state.logseries
multinomial = _state.multinomial
multivariate_normal = _state.multivariate_normal
negative_binomial = _state.negative_binomial
noncentral_chisquare = _state.noncentral_chisquare
noncentral_f = _state.noncentral_f
normal = _state.normal
pareto = _state.pareto
poisson = _state.poisson
power = _state.power
rayleigh = _state.rayleigh
standard_cauchy = _state.standard_cauchy
standard_exponential = _state.standard_exponential
standard_gamma = _state.standard_gamma
standard_normal = _state.standard_normal
standard_t = _state.standard_t
triangular = _state.triangular
uniform = _state.uniform
vonmises = _state.vonmises
wald = _state.wald
weibull = _state.weibull
zipf = _state.zipf


def get_bit_generator() -> BitGenerator:
    """The bit generator of this module's functions."""
    return _state.bit_generator


def set_bit_generator(bitgen: BitGenerator) -> None:
    """Let this module's functions draw from a bit generator. TypeError for one of NumPy's."""
    _state.draw_from(bitgen)



def __getattr__(name: str) -> Any:
    if name != "mtrand":  # which is made of this module
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(f"{__name__}.mtrand")


__all__ = [
    "BitGenerator", "Generator", "MT19937", "PCG64", "PCG64DXSM", "Philox", "RandomState",
    "SFC64", "SeedSequence", "Threefry", "beta", "binomial", "bytes", "chisquare", "choice",
    "default_rng", "dirichlet", "exponential", "f", "gamma", "geometric", "get_bit_generator",
    "get_state", "gumbel", "hypergeometric", "laplace", "logistic", "lognormal", "logseries",
    "multinomial", "multivariate_normal", "negative_binomial", "noncentral_chisquare",
    "noncentral_f", "normal", "pareto", "permutation", "poisson", "power", "rand", "randint",
    "randn", "random", "random_integers", "random_sample", "ranf", "rayleigh", "sample", "seed",
    "set_bit_generator", "set_state", "shuffle", "standard_cauchy", "standard_exponential",
    "standard_gamma", "standard_normal", "standard_t", "triangular", "uniform", "vonmises",
    "wald", "weibull", "zipf",
]  # fmt: skip
