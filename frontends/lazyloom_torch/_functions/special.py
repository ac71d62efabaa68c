"""Special functions, those of ``torch`` and those of ``torch.special`` only.

Integers and bools become floating first. Functions that PyTorch cannot differentiate have no
gradient here either, unless the op table has one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .._core import record
from .._elementwise import elementwise
from .._registry import declare
from .._tensor import Tensor, operand
from . import pointwise
from .convert import store
from .pointwise import make_binary, make_unary, promoted
from .representation import logit

_wrap = Tensor.from_value

#: torch name -> op, of one operand
_ONE = {
    "sinc": "sinc", "i0": "bessel_i0", "i0e": "bessel_i0e", "i1": "bessel_i1",
    "i1e": "bessel_i1e", "entr": "entr", "erfcx": "erfcx", "ndtri": "ndtri",
    "log_ndtr": "log_ndtr", "airy_ai": "airy_ai", "bessel_j0": "bessel_j0",
    "bessel_j1": "bessel_j1", "bessel_y0": "bessel_y0", "bessel_y1": "bessel_y1",
    "spherical_bessel_j0": "spherical_bessel_j0",
    "modified_bessel_i0": "bessel_i0", "modified_bessel_i1": "bessel_i1",
    "scaled_modified_bessel_k0": "bessel_k0e", "scaled_modified_bessel_k1": "bessel_k1e",
}
#: torch name -> (op, kind), of two operands
_TWO = {
    "igamma": ("gammainc", "arith"), "igammac": ("gammaincc", "arith"),
    "xlog1py": ("xlog1py", "float"), "zeta": ("zeta", "float"),
}

_MADE: dict[str, Callable[..., Any]] = {
    **{n: elementwise(make_unary(n, op, "float")) for n, op in _ONE.items()},
    **{n: elementwise(make_binary(n, op, kind)) for n, (op, kind) in _TWO.items()},
}
exp, mul = pointwise.FUNCTIONS["exp"], pointwise.FUNCTIONS["mul"]
erfc, lgamma = pointwise.FUNCTIONS["erfc"], pointwise.FUNCTIONS["lgamma"]


def _polynomial(name: str, op: str, kind: str, shifted: bool = False) -> Callable[..., Tensor]:
    def function(input: Any, n: Any) -> Tensor:
        x = pointwise.sub(mul(input, 2), 1) if shifted and isinstance(input, Tensor) else (
            2 * input - 1 if shifted else input)
        values, _ = promoted((x, n), floating=True)
        made: Tensor = _wrap(record(op, values, {"kind": kind}))
        return made

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"The values at input of the {name.replace('_', ' ')} of degree n."
    return function


_POLYNOMIALS = {
    **{f"chebyshev_polynomial_{k}": ("chebyshev_polynomial", k) for k in "tuvw"},
    **{f"shifted_chebyshev_polynomial_{k}": ("chebyshev_polynomial", k) for k in "tuvw"},
    **{f"{k[:-2]}_polynomial_{k[-1]}": ("orthogonal_polynomial", k)
       for k in ("hermite_h", "laguerre_l", "legendre_p")},
    "hermite_polynomial_he": ("orthogonal_polynomial", "hermite_he"),
}


def ndtr(input: Tensor) -> Tensor:
    """The distribution function of the standard normal distribution."""
    return mul(erfc(mul(input, -math.sqrt(0.5))), 0.5)


def modified_bessel_k0(input: Tensor) -> Tensor:
    """The modified Bessel function of the second kind of order 0."""
    return mul(_MADE["scaled_modified_bessel_k0"](input), exp(mul(input, -1.0)))


def modified_bessel_k1(input: Tensor) -> Tensor:
    """The modified Bessel function of the second kind of order 1."""
    return mul(_MADE["scaled_modified_bessel_k1"](input), exp(mul(input, -1.0)))


def polygamma(n: int, input: Tensor) -> Tensor:
    """Derivative number n of :func:`digamma`. Raises RuntimeError for a negative n."""
    if n < 0:
        raise RuntimeError(f"polygamma(n, x) does not support negative n, but n is {n}")
    values, _ = promoted((input,), floating=True)
    made: Tensor = _wrap(record("polygamma", values, {"order": int(n)}))
    return made


def mvlgamma(input: Tensor, p: int) -> Tensor:
    """The logarithm of the multivariate gamma function of dimension p.

    Raises RuntimeError for a p below 1.
    """
    if p < 1:
        raise RuntimeError(f"p has to be greater than or equal to 1, but is {p}")
    total = lgamma(input)
    for j in range(1, p):
        total = pointwise.add(total, lgamma(pointwise.sub(input, 0.5 * j)))
    made = pointwise.add(total, p * (p - 1) * 0.25 * math.log(math.pi))
    made._lay(None, 0)
    return made


def _polygamma_of(self: Tensor, n: int) -> Tensor:
    """Derivative number n of digamma."""
    return polygamma(n, self)


def _polygamma_in_place(self: Tensor, n: int) -> Tensor:
    """Derivative number n of digamma, in place."""
    return store(self, operand(polygamma(n, self)))


polygamma = elementwise(polygamma)
declare({
    "function method inplace-function out": [_MADE["sinc"], _MADE["i0"]],
    "function method inplace out": [_MADE["igamma"], _MADE["igammac"], mvlgamma],
    "function out": [polygamma],
    "method": [("polygamma", _polygamma_of), ("polygamma_", _polygamma_in_place)],
})
#: functions of ``torch.special``
SPECIAL: dict[str, Callable[..., Any]] = {
    **_MADE,
    **{n: elementwise(_polynomial(n, op, kind, n.startswith("shifted")))
       for n, (op, kind) in _POLYNOMIALS.items()},
    **{f.__name__: f for f in (
        *map(elementwise, (ndtr, modified_bessel_k0, modified_bessel_k1)), polygamma)},
    "gammainc": _MADE["igamma"], "gammaincc": _MADE["igammac"], "multigammaln": mvlgamma,
    "gammaln": lgamma, "psi": pointwise.FUNCTIONS["digamma"],
    "expit": pointwise.FUNCTIONS["sigmoid"],
    **{n: pointwise.FUNCTIONS[n] for n in (
        "digamma", "erf", "erfc", "erfinv", "exp2", "expm1", "log1p", "round", "xlogy")},
    "logit": logit,
}
del SPECIAL["igamma"], SPECIAL["igammac"]
