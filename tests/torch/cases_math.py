"""Programs that both libraries can run: special functions, edges, ``out=``, ranges, refusals."""
# ruff: noqa: B023 - an outer lambda, called at once, binds each loop variable

from __future__ import annotations

from typing import Any

import numpy as np

from tests.torch.cases import A, B, Case, J, a

INF, NAN = float("inf"), float("nan")
V = np.array([0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.5, -2.5, 7.7, -7.7, 30.0, INF, -INF, NAN],
             np.float32)
#: where no function below has an edge on which the libraries differ
W = np.array([0.25, 0.5, 1.5, 2.5, 7.5, 12.0, 40.0], np.float32)
PAIRS = np.meshgrid(np.array([0.5, 1.0, 2.5, 4.0], np.float32),
                    np.array([0.25, 1.0, 3.0, 8.0], np.float32))
I = np.array([0, 1, 2, 7, -3])  # noqa: E741


def _named(t: Any, name: str) -> Any:
    found = t
    for part in name.split("."):
        found = getattr(found, part)
    return found


def _joined(t: Any, found: list[Any]) -> list[Any]:
    """Results of one shape as one tensor, which is one program, and their dtypes."""
    return [t.stack([x.to(t.float64) for x in found]), [str(x.dtype) for x in found]]


def _all(t: Any, names: str, *operands: Any) -> list[Any]:
    """Each function of those names, of the same operands."""
    made = [t.tensor(x) for x in operands]
    return _joined(t, [_named(t, name)(*made) for name in names.split()])


def _gradients(t: Any, names: str, *operands: Any) -> list[Any]:
    """The gradient of each function in its last operand."""
    made = [t.tensor(x) for x in operands]
    made[-1].requires_grad_()
    return _joined(t, [t.autograd.grad(_named(t, name)(*made).sum(), made[-1])[0]
                       for name in names.split()])


_ONE = ("sinc i0 special.i0e special.i1 special.i1e special.entr special.erfcx special.ndtr "
        "special.log_ndtr special.expit special.gammaln special.psi ")
_BESSEL = ("special.airy_ai special.bessel_j0 special.bessel_j1 special.bessel_y0 "
           "special.bessel_y1 special.modified_bessel_k0 special.modified_bessel_k1 "
           "special.scaled_modified_bessel_k0 special.scaled_modified_bessel_k1 "
           "special.spherical_bessel_j0")
_DEGREES = " ".join(f"special.{n}" for n in (
    *(f"{s}chebyshev_polynomial_{k}" for s in ("", "shifted_") for k in "tuvw"),
    "hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l",
    "legendre_polynomial_p"))

SPECIAL: dict[str, Case] = {
    "of one": lambda t: _all(t, _ONE, W),
    "of one, gradients": lambda t: _gradients(t, _ONE, W),
    "of integers": lambda t: _all(t, "sinc i0 special.ndtr special.entr special.erfcx", I),
    "bessel": lambda t: _all(t, _BESSEL, W),
    "bessel of negative numbers": lambda t: _all(
        t, "special.airy_ai special.bessel_j0 special.bessel_j1 special.modified_bessel_i1", -W),
    "normal quantiles": lambda t: t.special.ndtri(t.linspace(0.0, 1.0, 9)),
    "polynomials": lambda t: _all(
        t, _DEGREES, np.repeat(np.array([-1.0, -0.4, 0.5, 1.0, 1.7], np.float32), 5),
        np.tile(np.arange(5.0, dtype=np.float32), 5)),
    "of two": lambda t: _all(t, "igamma igammac special.zeta special.xlog1py xlogy", *PAIRS),
    "zeta, gradient": lambda t: _gradients(t, "special.zeta", PAIRS[0] + 1, PAIRS[1]),
    "incomplete gamma at its ends": lambda t: _all(
        t, "igamma igammac", np.array([0.0, INF, 0.0], np.float32),
        np.array([0.5, 2.0, 3.0], np.float32)),
    "polygamma": lambda t: [t.polygamma(n, t.tensor(x)) for n in range(4)
                            for x in (W, -np.array([0.3, 1.5, 8.478374], np.float32))],
    "digamma of negative numbers, gradient": lambda t: _gradients(
        t, "digamma lgamma", -np.array([0.3, 1.5, 8.478374], np.float32)),
    "mvlgamma": lambda t: t.mvlgamma(t.tensor(W) + 2, 3),
}

EDGES: dict[str, Case] = {
    "of one": lambda t: _all(
        t, "sign sgn angle floor trunc abs isposinf isneginf isfinite signbit exp expm1 tanh "
        "sigmoid logit nan_to_num erf square relu rad2deg special.log_ndtr", V),
    "of two": lambda t: _all(
        t, "maximum minimum fmax fmin fmod remainder copysign atan2 hypot xlogy heaviside eq lt "
        "logaddexp div floor_divide", np.repeat(V, len(V)), np.tile(V, len(V))),
    "frexp": lambda t: tuple(t.frexp(t.tensor(V))),
    "ldexp": lambda t: t.ldexp(t.tensor(W), t.tensor([1, 2, -3, 0, 5, 1, -1])),
    "mantissa, gradient": lambda t: (lambda x: t.autograd.grad(t.frexp(x)[0].sum(), x)[0])(
        t.tensor(W, requires_grad=True)),
    "logarithms of complex sums": lambda t: [
        t.logaddexp(z, z.conj()) for z in (t.complex(t.tensor(W), t.tensor(W) / 9),)] + [
        f(t.complex(t.tensor(W), t.tensor(W) / 40), 0) for f in (t.logsumexp, t.logcumsumexp)],
    "complex lerp": lambda t: t.lerp(*(t.complex(t.tensor(W), t.tensor(W) - k) for k in range(3))),
    "zero remainder, gradient": lambda t: (lambda x, y: t.autograd.grad(
        t.remainder(x, y).sum(), (x, y)))(
        t.tensor([2.0, -2.0, 0.0], requires_grad=True), t.tensor([-2.0, 2.0, 1.0],
                                                                 requires_grad=True)),
    "running extrema past NaN": lambda t: [
        x for f in (t.cummax, t.cummin) for x in f(t.tensor([1.0, 3.0, NAN, 2.0, NAN, 5.0]), 0)],
    "running extrema of 0-d": lambda t: tuple(t.cummax(t.tensor(3), 0)),
    "truth of uint8": lambda t: [t.all(t.tensor([1, 2], dtype=t.uint8)),
                                 t.any(t.tensor([[0, 0]], dtype=t.uint8), 1)],
    "sums without NaN": lambda t: [
        t.nansum(t.tensor(V[2:10])), t.nansum(t.tensor(I)), t.nansum(t.tensor([[1.0, NAN]]), 0),
        t.nanmean(t.tensor([[1.0, NAN, 3.0]]), 1, True, dtype=t.float64)],
    "spreads": lambda t: [x for f in (t.var_mean, t.std_mean) for x in (
        *f(t.tensor(W), False), *f(t.tensor(W), 0, correction=2),
        *f(t.tensor(W).reshape(1, 7), 1))],
    "of two numbers": lambda t: [t.add(2, 3), t.div(1.0, 4), t.mul(2, 3.5)],
    "filled, gradient": lambda t: (lambda x: t.autograd.grad(
        (t.fill(x, 3.0) * x).sum() + (x * 2).zero_().sum(), x)[0])(
        t.tensor(W, requires_grad=True)),
}


def _into(t: Any, out: Any, call: Any) -> Any:
    given = call(out)
    assert given is out
    return out


OUT: dict[str, Case] = {
    "same shape": lambda t: _into(t, t.zeros(7), lambda o: t.exp(t.tensor(W), out=o)),
    "an empty one": lambda t: _into(t, t.empty(0), lambda o: t.add(t.tensor(W), 1, out=o)),
    "a wider dtype": lambda t: _into(
        t, t.zeros(7, dtype=t.float64), lambda o: t.mul(t.tensor(W), 2, out=o)),
    "an operand": lambda t: (lambda x: _into(t, x, lambda o: t.sub(x, x * 2, out=o)))(t.tensor(W)),
    "a view": lambda t: (lambda x: [t.sum(t.ones(3, 2), 1, out=x[:, 0]), x])(t.ones(3, 4)),
    "several": lambda t: (lambda v, i: [t.max(t.tensor(W), 0, out=(v, i))[1], v, i])(
        t.zeros(()), t.zeros((), dtype=t.int64)),
    "the dtype of the result": lambda t: [
        _into(t, t.zeros(3, dtype=t.int64), lambda o: t.arange(3, out=o)),
        _into(t, t.zeros((), dtype=t.float64), lambda o: t.sum(t.tensor(I), 0, out=o))],
    "an integer for a float": lambda t: t.exp(t.tensor(W), out=t.zeros(7, dtype=t.int64)),
    "a gradient lost": lambda t: t.exp(t.ones(2, requires_grad=True), out=t.zeros(2)),
    "no tensor": lambda t: t.exp(t.tensor(W), out=3),
    "too few": lambda t: t.max(t.tensor(W), 0, out=(t.zeros(()),)),
}

RANGES: dict[str, Case] = {
    "ends as tensors": lambda t: [
        t.linspace(t.tensor(1), t.tensor(4.0), 4), t.linspace(0, t.tensor(3), 5, dtype=t.int64),
        t.logspace(t.tensor(0.0), 2, 3)],
    "whole": lambda t: [t.linspace(4.3, -3, 50, dtype=t.int64), t.arange(0.5, 3.7, dtype=t.int64),
                        t.logspace(0, 3.9, 4, dtype=t.int32), t.range(1, 4, 0.5)],
    "strided": lambda t: [
        t.empty_strided((2, 3), (1, 2)).stride(), t.empty_permuted((2, 3, 4), (2, 0, 1)).stride(),
        list(t.ones(1).new_empty_strided((2,), (1,)).shape), t.scalar_tensor(3)],
    "steps no int": lambda t: t.linspace(0, 1, 2.0),
    "ends with dimensions": lambda t: t.linspace(t.ones(2), 1, 2),
    "infinite": lambda t: t.arange(0, INF),
    "no permutation": lambda t: t.empty_permuted((2, 3), (0, 0)),
}

REFUSED: dict[str, Case] = {
    **{f"{n} of a number": (lambda n: lambda t: getattr(t, n)(t.ones(2), 2.0))(n) for n in (
        "maximum", "atan2", "hypot", "logaddexp", "logical_and", "heaviside", "nextafter")},
    **{f"{n} of integers": (lambda n: lambda t: getattr(t, n)(t.tensor(I)))(n) for n in (
        "frac", "frexp", "mean", "nanmean", "bernoulli")},
    **{f"{n} of bools": (lambda n: lambda t: getattr(t, n)(t.tensor([True])))(n) for n in (
        "floor", "round", "argmax", "neg")},
    "number first": lambda t: t.lt(2.0, t.ones(2)),
    "alpha of a higher kind": lambda t: t.add(t.tensor(I), t.tensor(I), alpha=1.5),
    "isclose with a negative tolerance": lambda t: t.isclose(t.ones(1), t.ones(1), rtol=-1.0),
    "polygamma of a negative order": lambda t: t.polygamma(-1, t.ones(1)),
    "sign of complex numbers": lambda t: t.sign(t.complex(t.ones(1), t.ones(1))),
    "nothing to compare": lambda t: t.aminmax(t.ones(0)),
    "randint of nothing": lambda t: t.randint(3, 3, (2,)),
    "randint that does not fit": lambda t: t.randint(0, 300, (2,), dtype=t.uint8),
    "uniform of integers": lambda t: t.tensor(I).uniform_(),
    "uniform backwards": lambda t: t.ones(2).uniform_(2, 1),
    "exponential of rate 0": lambda t: t.ones(2).exponential_(0),
    "geometric of 1": lambda t: t.ones(2).geometric_(1.0),
    "bernoulli of a number": lambda t: t.ones(2).bernoulli_(1.5),
    "bernoulli of data": lambda t: t.bernoulli(t.tensor([0.5, 1.5])).tolist(),
    "negative deviation": lambda t: t.normal(0.0, t.tensor([1.0, -1.0])).tolist(),
    "multinomial of negative weights": lambda t: t.multinomial(t.tensor([0.5, -1.5]), 1).tolist(),
    "multinomial of no weights": lambda t: t.multinomial(t.zeros(3), 1).tolist(),
    "more samples than classes": lambda t: t.multinomial(t.ones(3), 4),
}

_SCALES, _ZEROS = np.array([0.1, 0.03, 0.7], np.float32), np.array([0, -3, 5], np.int32)


def _gradient(function: Any) -> Case:
    """The result, and the gradient where the integers were not limited."""

    def case(t: Any) -> Any:
        x = t.tensor(A, requires_grad=True)
        found = function(t, x)
        (found * t.tensor(B)).sum().backward()
        return found, x.grad

    return case


QUANTIZING: dict[str, Case] = {
    "numbers": _gradient(
        lambda t, x: t.fake_quantize_per_tensor_affine(x, 0.1, 3, -8, 7)),
    "tensors": _gradient(lambda t, x: t.fake_quantize_per_tensor_affine(
        x, t.tensor(0.03), t.tensor(128, dtype=t.int32), 0, 255)),
    "tensors of one element": _gradient(lambda t, x: t.fake_quantize_per_tensor_affine(
        x, t.tensor([0.03]), t.tensor([128]), 0, 255)),
    "channels": _gradient(lambda t, x: t.fake_quantize_per_channel_affine(
        x, t.tensor(_SCALES), t.tensor(_ZEROS), 0, -8, 7)),
    "the last axis": _gradient(lambda t, x: t.fake_quantize_per_channel_affine(
        x.T, t.tensor(_SCALES), t.tensor(_ZEROS), 1, -128, 127).T),
    "half": lambda t: [t.fake_quantize_per_tensor_affine(t.tensor(A).to(d), 0.25, 0, -8, 7)
                       for d in (t.float16, t.bfloat16)],
    "nothing": lambda t: t.fake_quantize_per_tensor_affine(t.zeros(0, 2), 0.1, 0, 0, 255),
    "one number": lambda t: t.fake_quantize_per_tensor_affine(t.tensor(0.26), 0.1, 0, 0, 255),
    "infinities": lambda t: t.fake_quantize_per_tensor_affine(
        t.tensor([float("inf"), -1e30]), 0.1, 0, 0, 255),
    "integers": lambda t: t.fake_quantize_per_tensor_affine(t.tensor(J), 0.1, 0, 0, 255),
    "limits in the wrong order": lambda t: t.fake_quantize_per_tensor_affine(a(t), 0.1, 5, 10, 5),
    "zero point outside": lambda t: t.fake_quantize_per_tensor_affine(a(t), 0.1, 300, 0, 255),
    "scales of another shape": lambda t: t.fake_quantize_per_channel_affine(
        a(t), t.tensor(_SCALES), t.tensor(_ZEROS), 1, 0, 255),
    "zero points of int64": lambda t: t.fake_quantize_per_channel_affine(
        a(t), t.tensor(_SCALES), t.tensor(_ZEROS).long(), 0, 0, 255),
    "no such axis": lambda t: t.fake_quantize_per_channel_affine(
        a(t), t.tensor(_SCALES), t.tensor(_ZEROS), 2, 0, 255),
    "a scale with a gradient": lambda t: t.fake_quantize_per_tensor_affine(
        t.tensor(A, requires_grad=True), t.tensor(0.1, requires_grad=True), t.tensor(0), 0, 255),
}
