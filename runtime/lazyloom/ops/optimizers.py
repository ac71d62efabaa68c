"""A step of an optimizer for all parameters of one dtype, and what scaled gradients need.

Each op takes numbers (of any floating-point dtype, computed in double precision) and then
the tensors kind by kind: parameters, gradients, and each kind of state. Half-precision
parameters are computed in float32 and rounded once; the real and imaginary parts of complex
ones are separate parameters. With ``maximize`` the gradients' signs change; with ``decays``
``weight_decay`` times the parameter is added to its gradient, or with ``decoupled`` the
parameter is first multiplied by ``1 - lr * weight_decay``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..dtypes import DType
from ._helpers import kind, modulus, widened
from ._jax import jax, jnp, lax
from .cases import Cases, Given, case, rough
from .kinds import Array, Bool, Floating, Floats, T
from .rules import optimizers as rules
from .samples import Host
from .spec import op
from .traits import NOT_DIFFERENTIABLE, Derivative, Execution, Signature

Update = Callable[..., Sequence[Any]]


def _number(x: float) -> Callable[[np.random.Generator, DType], Host]:
    """An operand of a sample: a 0-d array of the operand's own dtype."""
    return lambda rng, dtype: np.asarray(x, dtype.numpy)


def _given(numbers: Sequence[float], kinds: int, *shapes: tuple[int, ...]) -> list[Given]:
    """The operands of a sample: numbers, and the tensors of parameters of these shapes."""
    return [*map(_number, numbers), *(shapes or ((2,),)) * kinds]


def _cases(numbers: Sequence[float], kinds: int, *attributes: dict[str, Any]) -> Cases:
    """Samples with each of these attributes, of positive values, at which roots are smooth.

    ``kinds`` belongs to the first; an attribute with state of its own adds to it. The last sample
    has two parameters.
    """

    def count(chosen: dict[str, Any]) -> int:
        extra = sum(bool(chosen.get(n)) for n in STATEFUL)
        return kinds + extra - sum(bool(attributes[0].get(n)) for n in STATEFUL)

    cases = [case(*_given(numbers, count(chosen)), **chosen) for chosen in attributes]
    last = attributes[-1]
    cases.append(rough(*_given(numbers, count(last), (2, 3), ()), **last))
    return Cases(*cases, low=0.4, high=0.9)


#: attributes with state of their own
STATEFUL = ("momentous", "amsgrad", "centered")


def _wide(*numbers: Any) -> list[Any]:
    return [lax.convert_element_type(x, jnp.float64) for x in numbers]


def _stepped(
    update: Update, numbers: Sequence[Any], tensors: Sequence[Any], kinds: int
) -> list[Any]:
    """``update(numbers, p, gradient, *state)`` for each parameter; the results kind by kind."""
    n = len(tensors) // kinds
    # one trace for all parameters of a shape; XLA inlines the calls
    shared = jax.jit(update)

    converted: dict[Any, list[Any]] = {}

    def apply(*x: Any) -> Any:
        dtype = x[0].dtype
        if dtype not in converted:
            converted[dtype] = [lax.convert_element_type(v, dtype) for v in numbers]
        return shared(converted[dtype], *x)

    stepped = []
    for i in range(n):
        xs = [tensors[k * n + i] for k in range(kinds)]
        dtype = xs[0].dtype
        if kind(xs[0]) == "c":
            parts = zip(apply(*map(lax.real, xs)), apply(*map(lax.imag, xs)), strict=True)
            stepped.append([lax.complex(a, b) for a, b in parts])
        else:
            stepped.append([lax.convert_element_type(v, dtype) for v in apply(*map(widened, xs))])
    return [results[k] for k in range(len(stepped[0])) for results in stepped]


def _counted(step: Any) -> tuple[Any, Any]:
    """The number of the step, counted from 1, in double precision and as the new state."""
    (before,) = _wide(step)
    count = before + 1.0
    return count, lax.convert_element_type(count, step.dtype)


def _decayed(
    p: Any, g: Any, decay: Any, decays: bool, maximize: bool, decoupled: bool = False
) -> tuple[Any, Any]:
    """The parameter and the gradient from which a step starts; see the module's docstring."""
    g = -g if maximize else g
    if not decays:
        return p, g
    return (decay * p, g) if decoupled else (p, g + decay * p)


def _sign(x: Any) -> Any:
    """1, -1 or 0; 0 for NaN, too, as in PyTorch."""
    zero, one = lax.full_like(x, 0.0), lax.full_like(x, 1.0)
    return lax.select(lax.gt(x, zero), one, lax.select(lax.lt(x, zero), -one, zero))


def _toward(x: Any, target: Any, weight: Any) -> Any:
    return x + weight * (target - x)


_SGD = (0.3, 0.1, 0.7, 0.9)


@op(
    rules.optimizer_step, T="inexact", source="torch.optim.SGD",
    samples=Cases(
        case(*_given(_SGD, 3), momentous=True, decays=True),
        case(*_given(_SGD, 3), momentous=True, nesterov=True, maximize=True),
        rough(*_given(_SGD, 3), momentous=True, detached=True),
        case(*_given(_SGD, 2)), rough(*_given(_SGD, 2, (2, 3), ())), low=0.4, high=0.9),
    signature=Signature(outputs=("parameters", "momenta"), lists=True,
                        optional_outputs={"momenta": "momentous"}),
    derivative=Derivative(linear="tensors"), execution=Execution(aliases=rules.aliased_by_step),
)  # fmt: skip
def step_sgd(
    lr: Floating, weight_decay: Floating, momentum: Floating, share: Floating, *tensors: T,
    momentous: bool = False, nesterov: bool = False, decays: bool = False, maximize: bool = False,
    detached: bool = False,
) -> Array:
    """Stochastic gradient descent; with ``momentous`` the momenta are part of the tensors.

    A momentum becomes ``momentum * it + share * gradient``; ``share`` is one minus the
    dampening, or 1 in the first step. With ``detached`` that is constant to derivatives. Raises
    ShapeError, ArgumentError.
    """

    def update(numbers: Any, p: Any, g: Any, b: Any = None) -> Any:
        rate, decay, keep, part = numbers
        p, g = _decayed(p, g, decay, decays, maximize)
        if b is None:
            return (p - rate * g,)
        b = keep * b + part * g
        b = lax.stop_gradient(b) if detached else b
        return p - rate * (g + keep * b if nesterov else b), b

    numbers = _wide(lr, weight_decay, momentum, share)
    return tuple(_stepped(update, numbers, tensors, 3 if momentous else 2))


@op(
    rules.optimizer_step, T="inexact",
    source="Kingma, Ba, Adam, 2015; Loshchilov, Hutter, Decoupled Weight Decay, 2019",
    samples=_cases(
        (2.0, 0.3, 0.8, 0.9, 0.1, 0.2), 4, {"decays": True},
        {"decays": True, "decoupled": True, "maximize": True}, {"amsgrad": True}),
    signature=Signature(outputs=("step", "parameters", "means", "squares", "largest"), lists=True,
                        optional_outputs={"largest": "amsgrad"}),
    execution=Execution(aliases=rules.aliased_by_step),
)  # fmt: skip
def step_adam(
    step: Floating, lr: Floating, beta1: Floating, beta2: Floating, eps: Floating,
    weight_decay: Floating, *tensors: T, amsgrad: bool = False, decays: bool = False,
    decoupled: bool = False, maximize: bool = False,
) -> Array:
    """Adam and AdamW; the state is the means of gradients and of their squares.

    With ``amsgrad`` the largest means of squares, too, which then take the squares' place.
    Raises ShapeError, ArgumentError.
    """
    count, new_step = _counted(step)
    rate, b1, b2, small, decay = _wide(lr, beta1, beta2, eps, weight_decay)
    numbers = (
        rate / (1.0 - b1**count), lax.sqrt(1.0 - b2**count), 1.0 - b1, b2, 1.0 - b2, small,
        1.0 - rate * decay if decoupled else decay)

    def update(numbers: Any, p: Any, g: Any, m: Any, v: Any, top: Any = None) -> Any:
        rate, root, new1, old2, new2, small, decay = numbers
        p, g = _decayed(p, g, decay, decays, maximize, decoupled)
        m = _toward(m, g, new1)
        v = old2 * v + new2 * (g * g)
        used = v if top is None else lax.max(top, v)
        p = p - rate * (m / (lax.sqrt(used) / root + small))
        return (p, m, v) if top is None else (p, m, v, used)

    return (new_step, *_stepped(update, numbers, tensors, 5 if amsgrad else 4))


@op(
    rules.optimizer_step, T="inexact", source="Kingma, Ba, Adam (AdaMax), 2015",
    samples=_cases((2.0, 0.3, 0.8, 0.9, 0.1, 0.2), 4, {"decays": True}, {"maximize": True}),
    signature=Signature(outputs=("step", "parameters", "means", "largest"), lists=True),
    execution=Execution(aliases=rules.aliased_by_step),
)  # fmt: skip
def step_adamax(
    step: Floating, lr: Floating, beta1: Floating, beta2: Floating, eps: Floating,
    weight_decay: Floating, *tensors: T, decays: bool = False, maximize: bool = False,
) -> Array:
    """AdaMax; the state is the means of gradients and the decaying largest moduli.

    Raises ShapeError, ArgumentError.
    """
    count, new_step = _counted(step)
    rate, b1, b2, small, decay = _wide(lr, beta1, beta2, eps, weight_decay)
    numbers = (rate / (1.0 - b1**count), 1.0 - b1, b2, small, decay)

    def update(numbers: Any, p: Any, g: Any, m: Any, u: Any) -> Any:
        rate, new1, old2, small, decay = numbers
        p, g = _decayed(p, g, decay, decays, maximize)
        m = _toward(m, g, new1)
        u = lax.max(old2 * u, modulus(g) + small)
        return p - rate * (m / u), m, u

    return (new_step, *_stepped(update, numbers, tensors, 4))


@op(
    rules.optimizer_step, T="inexact", source="Dozat, Incorporating Nesterov Momentum into Adam",
    samples=_cases(
        (2.0, 0.5, 0.3, 0.8, 0.9, 0.1, 0.2, 0.4), 4, {"decays": True},
        {"decays": True, "decoupled": True, "maximize": True}),
    signature=Signature(outputs=("step", "product", "parameters", "means", "squares"), lists=True),
    execution=Execution(aliases=rules.aliased_by_step),
)  # fmt: skip
def step_nadam(
    step: Floating, product: Floating, lr: Floating, beta1: Floating, beta2: Floating,
    eps: Floating, weight_decay: Floating, momentum_decay: Floating, *tensors: T,
    decays: bool = False, decoupled: bool = False, maximize: bool = False,
) -> Array:
    """NAdam; ``product`` is that of the momenta ``beta1 * (1 - 0.96**(t * momentum_decay) / 2)``.

    Raises ShapeError, ArgumentError.
    """
    count, new_step = _counted(step)
    before, rate, b1, b2, small, decay, slowing = _wide(
        product, lr, beta1, beta2, eps, weight_decay, momentum_decay)
    now = b1 * (1.0 - 0.5 * 0.96 ** (count * slowing))
    following = b1 * (1.0 - 0.5 * 0.96 ** ((count + 1.0) * slowing))
    new_product = lax.convert_element_type(before * now, product.dtype)
    (rounded,) = _wide(new_product)
    numbers = (
        rate * (1.0 - now) / (1.0 - rounded), rate * following / (1.0 - rounded * following),
        1.0 - b2**count, 1.0 - b1, b2, 1.0 - b2, small,
        1.0 - rate * decay if decoupled else decay)

    def update(numbers: Any, p: Any, g: Any, m: Any, v: Any) -> Any:
        rate, ahead, correction, new1, old2, new2, small, decay = numbers
        p, g = _decayed(p, g, decay, decays, maximize, decoupled)
        m = _toward(m, g, new1)
        v = old2 * v + new2 * (g * g)
        size = lax.sqrt(v / correction) + small
        return p - rate * (g / size) - ahead * (m / size), m, v

    return (new_step, new_product, *_stepped(update, numbers, tensors, 4))


@op(
    rules.optimizer_step, T="inexact",
    source="Liu et al., On the Variance of the Adaptive Learning Rate and Beyond, 2020",
    samples=_cases(
        (9.0, 0.3, 0.8, 0.9, 0.1, 0.2), 4, {"decays": True},
        {"decays": True, "decoupled": True, "maximize": True}),
    signature=Signature(outputs=("step", "parameters", "means", "squares"), lists=True),
    execution=Execution(aliases=rules.aliased_by_step),
)  # fmt: skip
def step_radam(
    step: Floating, lr: Floating, beta1: Floating, beta2: Floating, eps: Floating,
    weight_decay: Floating, *tensors: T, decays: bool = False, decoupled: bool = False,
    maximize: bool = False,
) -> Array:
    """RAdam: without the squares as long as their means are of too few steps.

    Raises ShapeError, ArgumentError.
    """
    count, new_step = _counted(step)
    rate, b1, b2, small, decay = _wide(lr, beta1, beta2, eps, weight_decay)
    correction = 1.0 - b2**count
    longest = 2.0 / (1.0 - b2) - 1.0
    length = longest - 2.0 * count * b2**count / correction
    enough = length > 5.0
    # the unselected side must not bring a NaN into the derivative
    long = lax.select(enough, length, lax.full_like(length, 6.0))
    most = lax.select(enough, longest, lax.full_like(longest, 6.0))
    rectified = lax.sqrt(
        (long - 4.0) * (long - 2.0) * most / ((most - 4.0) * (most - 2.0) * long))
    numbers = (
        rate / (1.0 - b1**count), rectified * lax.sqrt(correction), 1.0 - b1, b2, 1.0 - b2, small,
        1.0 - rate * decay if decoupled else decay, lax.convert_element_type(enough, jnp.float64))

    def update(numbers: Any, p: Any, g: Any, m: Any, v: Any) -> Any:
        rate, root, new1, old2, new2, small, decay, enough = numbers
        p, g = _decayed(p, g, decay, decays, maximize, decoupled)
        m = _toward(m, g, new1)
        v = old2 * v + new2 * (g * g)
        adapts = jnp.broadcast_to(enough > 0, v.shape)
        one = lax.full_like(v, 1.0)
        size = lax.sqrt(lax.select(adapts, v, one)) + small
        return p - rate * m * lax.select(adapts, root / size, one), m, v

    return (new_step, *_stepped(update, numbers, tensors, 4))


_RMSPROP = (2.0, 0.3, 0.8, 0.1, 0.2, 0.7)
#: a mean gradient that keeps the variance positive
_SMALL = np.array([0.1, -0.2])


@op(
    rules.optimizer_step, T="inexact", source="Hinton, Neural Networks for Machine Learning, 6e",
    samples=Cases(
        case(*_given(_RMSPROP, 3), decays=True),
        case(*_given(_RMSPROP, 4), momentous=True, maximize=True),
        case(*_given(_RMSPROP, 3), _SMALL, centered=True),
        case(*_given(_RMSPROP, 4), _SMALL, centered=True, momentous=True),
        low=0.4, high=0.9),
    signature=Signature(outputs=("step", "parameters", "squares", "momenta", "means"), lists=True,
                        optional_outputs={"momenta": "momentous", "means": "centered"}),
    execution=Execution(aliases=rules.aliased_by_step),
)  # fmt: skip
def step_rmsprop(
    step: Floating, lr: Floating, alpha: Floating, eps: Floating, weight_decay: Floating,
    momentum: Floating, *tensors: T, momentous: bool = False, centered: bool = False,
    decays: bool = False, maximize: bool = False,
) -> Array:
    """RMSprop; with ``momentous`` a momentum, with ``centered`` the mean gradient is state, too.

    Raises ShapeError, ArgumentError.
    """
    _, new_step = _counted(step)
    rate, old, small, decay, keep = _wide(lr, alpha, eps, weight_decay, momentum)
    numbers = (rate, old, 1.0 - old, small, decay, keep)

    def update(numbers: Any, p: Any, g: Any, v: Any, *more: Any) -> Any:
        rate, old, new, small, decay, keep = numbers
        p, g = _decayed(p, g, decay, decays, maximize)
        v = old * v + new * (g * g)
        state = [v]
        spread = v
        if centered:
            mean = _toward(more[-1], g, new)
            spread = v - mean * mean
        move = g / (lax.sqrt(spread) + small)
        if momentous:
            move = keep * more[0] + move
            state.append(move)
        if centered:
            state.append(mean)
        return p - rate * move, *state

    return (new_step, *_stepped(update, numbers, tensors, 3 + momentous + centered))


@op(
    rules.optimizer_step, T="inexact", source="Duchi, Hazan, Singer, Adaptive Subgradient, 2011",
    samples=_cases((2.0, 0.3, 0.1, 0.2, 0.3), 3, {"decays": True}, {"maximize": True}),
    signature=Signature(outputs=("step", "parameters", "sums"), lists=True),
    execution=Execution(aliases=rules.aliased_by_step),
)  # fmt: skip
def step_adagrad(
    step: Floating, lr: Floating, eps: Floating, weight_decay: Floating, lr_decay: Floating,
    *tensors: T, decays: bool = False, maximize: bool = False,
) -> Array:
    """Adagrad; the state is the sums of squared gradients. Raises ShapeError, ArgumentError."""
    count, new_step = _counted(step)
    rate, small, decay, slowing = _wide(lr, eps, weight_decay, lr_decay)
    numbers = (rate / (1.0 + (count - 1.0) * slowing), small, decay)

    def update(numbers: Any, p: Any, g: Any, total: Any) -> Any:
        rate, small, decay = numbers
        p, g = _decayed(p, g, decay, decays, maximize)
        total = total + g * g
        return p - rate * (g / (lax.sqrt(total) + small)), total

    return (new_step, *_stepped(update, numbers, tensors, 3))


@op(
    rules.optimizer_step, T="inexact", source="Zeiler, ADADELTA, 2012",
    samples=_cases((2.0, 0.3, 0.8, 0.1, 0.2), 4, {"decays": True}, {"maximize": True}),
    signature=Signature(outputs=("step", "parameters", "squares", "moves"), lists=True),
    execution=Execution(aliases=rules.aliased_by_step),
)  # fmt: skip
def step_adadelta(
    step: Floating, lr: Floating, rho: Floating, eps: Floating, weight_decay: Floating,
    *tensors: T, decays: bool = False, maximize: bool = False,
) -> Array:
    """Adadelta; the state is the means of squared gradients and of squared moves.

    Raises ShapeError, ArgumentError.
    """
    _, new_step = _counted(step)
    rate, old, small, decay = _wide(lr, rho, eps, weight_decay)
    numbers = (rate, old, 1.0 - old, small, decay)

    def update(numbers: Any, p: Any, g: Any, v: Any, moves: Any) -> Any:
        rate, old, new, small, decay = numbers
        p, g = _decayed(p, g, decay, decays, maximize)
        v = old * v + new * (g * g)
        move = lax.sqrt(moves + small) / lax.sqrt(v + small) * g
        return p - rate * move, v, old * moves + new * (move * move)

    return (new_step, *_stepped(update, numbers, tensors, 4))


@op(
    rules.optimizer_step, T="inexact", source="Polyak, Juditsky, Acceleration by Averaging, 1992",
    samples=_cases(
        (2.0, 0.5, 0.7, 0.3, 0.1, 0.75, 1.0, 0.2), 3, {"decays": True}, {"maximize": True}),
    signature=Signature(outputs=("step", "eta", "mu", "parameters", "averages"), lists=True),
    execution=Execution(aliases=rules.aliased_by_step),
)  # fmt: skip
def step_asgd(
    step: Floating, eta: Floating, mu: Floating, lr: Floating, lambd: Floating, alpha: Floating,
    t0: Floating, weight_decay: Floating, *tensors: T, decays: bool = False,
    maximize: bool = False,
) -> Array:
    """Averaged SGD: a step of rate ``eta``, whose results ``mu`` moves the averages to.

    Raises ShapeError, ArgumentError.
    """
    count, new_step = _counted(step)
    now, weight, rate, shrink, power, start, decay = _wide(
        eta, mu, lr, lambd, alpha, t0, weight_decay)
    numbers = (now, 1.0 - shrink * now, weight, decay)

    def update(numbers: Any, p: Any, g: Any, average: Any) -> Any:
        now, kept, weight, decay = numbers
        p, g = _decayed(p, g, decay, decays, maximize)
        p = kept * p - now * g
        # a weight of 1 gives the parameter itself, without rounding
        whole = jnp.broadcast_to(weight == 1, p.shape)
        return p, lax.select(whole, p, _toward(average, p, weight))

    new_eta = rate / (1.0 + shrink * rate * count) ** power
    new_mu = 1.0 / lax.max(count - start, lax.full_like(count, 1.0))
    return (
        new_step, lax.convert_element_type(new_eta, eta.dtype),
        lax.convert_element_type(new_mu, mu.dtype), *_stepped(update, numbers, tensors, 3))


@op(
    rules.optimizer_step, T="inexact", source="Riedmiller, Braun, RPROP, 1993",
    samples=Cases(
        rough(*_given((2.0, 0.5, 1.2, 0.1, 0.6), 4)),
        rough(*_given((2.0, 0.5, 1.2, 0.1, 0.6), 4, (2, 3), ()), maximize=True)),
    signature=Signature(outputs=("step", "parameters", "previous", "sizes"), lists=True),
    execution=Execution(aliases=rules.aliased_by_step),
)  # fmt: skip
def step_rprop(
    step: Floating, shrink: Floating, grow: Floating, least: Floating, most: Floating,
    *tensors: T, maximize: bool = False,
) -> Array:
    """Resilient propagation: step sizes that grow while a gradient keeps its sign.

    The state is the gradients that were used last, and the sizes, in ``[least, most]``.
    Raises ShapeError, ArgumentError.
    """
    _, new_step = _counted(step)

    def update(numbers: Any, p: Any, g: Any, before: Any, size: Any) -> Any:
        shrink, grow, least, most = numbers
        g = -g if maximize else g
        shrink, grow, least, most = (
            jnp.broadcast_to(x, g.shape) for x in (shrink, grow, least, most))
        sign = _sign(g * before)
        zero = lax.full_like(g, 0.0)
        turned = lax.lt(sign, zero)
        factor = lax.select(lax.gt(sign, zero), grow, sign)
        factor = lax.select(turned, shrink, factor)
        factor = lax.select(lax.eq(sign, zero), lax.full_like(g, 1.0), factor)
        size = lax.min(lax.max(size * factor, least), most)
        g = lax.select(turned, zero, g)
        return p - _sign(g) * size, g, size

    return (new_step, *_stepped(update, _wide(shrink, grow, least, most), tensors, 4))


@op(
    rules.step_adafactor, T="floating", source="Shazeer, Stern, Adafactor, 2018",
    derivative=NOT_DIFFERENTIABLE,
    samples=Cases(
        case(*map(_number, (2.0, 0.3, -0.8, 0.01, 0.05, 1.0, 0.1)), (2, 3), (2, 3), (2, 1), (1, 3),
             decays=True),
        case(*map(_number, (2.0, 0.3, -0.8, 0.01, 0.05, 1.0, 0.1)), *[(3,), ()] * 3,
             factored=False, maximize=True),
        low=0.4, high=0.9),
    signature=Signature(
        outputs=("step", "parameters", "variances"), lists=True,
        output_notes={"variances": "with factored first n of the rows, then n of the columns"}),
    execution=Execution(aliases=rules.aliased_by_step),
)  # fmt: skip
def step_adafactor(
    step: Floating, lr: Floating, beta2_decay: Floating, eps1: Floating, eps2: Floating,
    d: Floating, weight_decay: Floating, *tensors: T, factored: bool = True, decays: bool = False,
    maximize: bool = False,
) -> Array:
    """Adafactor; with ``factored`` the variances are those of rows and those of columns.

    The rows' and columns' are of the last two axes, which stay with size 1. Raises ShapeError,
    ArgumentError.
    """
    count, new_step = _counted(step)
    rate, power, least, scale, threshold, decay = _wide(
        lr, beta2_decay, eps1, eps2, d, weight_decay)
    numbers = (
        count**power, lax.min(rate, 1.0 / lax.sqrt(count)), least, scale, threshold,
        1.0 - rate * decay)

    def update(numbers: Any, p: Any, g: Any, *state: Any) -> Any:
        new, rate, least, scale, threshold, kept = numbers
        g = -g if maximize else g
        rate = lax.max(scale, lax.sqrt(jnp.mean(p * p))) * rate
        p = kept * p if decays else p
        squares = g * g
        if factored:
            rows = _toward(state[0], jnp.mean(squares, axis=-1, keepdims=True), new)
            columns = _toward(state[1], jnp.mean(squares, axis=-2, keepdims=True), new)
            state = (rows, columns)
            total = jnp.mean(rows, axis=-2, keepdims=True)
            estimate = rows * columns / jnp.maximum(total, least)
        else:
            estimate = _toward(state[0], squares, new)
            state = (estimate,)
        move = lax.rsqrt(jnp.maximum(estimate, least * least)) * g
        size = lax.max(lax.full_like(rate, 1.0), lax.sqrt(jnp.mean(move * move)) / threshold)
        return p - rate / size * move, *state

    return (new_step, *_stepped(update, numbers, tensors, 4 if factored else 3))


@op(
    rules.step_muon, T="floating", source="Jordan et al., Muon, 2024; torch.optim.Muon",
    derivative=NOT_DIFFERENTIABLE, execution=Execution(heavy=True, aliases=rules.aliased_by_step),
    samples=Cases(
        case(*map(_number, (0.3, 0.1, 0.9, 1e-7)), *[(2, 3), (3, 2)] * 3,
             coefficients=(3.4445, -4.775, 2.0315), steps=2),
        case(*map(_number, (0.3, 0.1, 0.9, 1e-7)), *[(2, 2)] * 3, nesterov=False,
             coefficients=(3.4445, -4.775, 2.0315), steps=1, adjust="match_rms_adamw"),
        low=0.4, high=0.9), signature=Signature(outputs=("parameters", "momenta"), lists=True),
)  # fmt: skip
def step_muon(
    lr: Floating, weight_decay: Floating, momentum: Floating, eps: Floating, *tensors: T,
    coefficients: Floats, steps: int, nesterov: bool = True, adjust: str = "original",
) -> Array:
    """Momentum whose matrix is brought near an orthogonal one by a few Newton-Schulz steps.

    ``adjust`` says how the matrix's shape enters the rate: ``"original"`` or
    ``"match_rms_adamw"``. The iteration rounds to bfloat16. Raises ShapeError, ArgumentError.
    """
    rate, decay, keep, small = _wide(lr, weight_decay, momentum, eps)

    def update(numbers: Any, p: Any, g: Any, m: Any) -> Any:
        rate, kept, keep, small = numbers
        m = _toward(m, g, lax.full_like(keep, 1.0) - keep)
        target = _toward(g, m, keep) if nesterov else m
        rows, columns = p.shape
        move = lax.convert_element_type(
            _orthogonal(target, small, coefficients, steps), p.dtype)
        ratio = (max(1.0, rows / columns) ** 0.5 if adjust == "original"
                 else 0.2 * max(rows, columns) ** 0.5)
        return kept * p - rate * ratio * move, m

    return tuple(_stepped(update, (rate, 1.0 - rate * decay, keep, small), tensors, 3))


def _orthogonal(x: Any, small: Any, coefficients: Floats, steps: int) -> Any:
    """The quintic Newton-Schulz iteration, rounded to bfloat16 at each product."""
    a, b, c = coefficients

    def rounded(v: Any) -> Any:
        return lax.convert_element_type(v, jnp.bfloat16)

    def product(u: Any, v: Any) -> Any:
        u, v = (lax.convert_element_type(w, jnp.float32) for w in (u, v))
        return lax.dot(u, v)

    def plain(v: Any) -> Any:
        return lax.convert_element_type(v, jnp.float32)

    x = rounded(x)
    tall = x.shape[0] > x.shape[1]
    x = x.T if tall else x
    norm = plain(rounded(lax.sqrt(jnp.sum(plain(x) * plain(x)))))
    x = rounded(plain(x) / lax.max(norm, plain(small)))
    for _ in range(steps):
        gram = rounded(product(x, x.T))
        inner = rounded(b * plain(gram) + c * product(gram, gram))
        x = rounded(a * plain(x) + product(inner, x))
    return x.T if tall else x


@op(
    rules.unscale, T="inexact", source="torch.amp.GradScaler.unscale_",
    samples=Cases(case((), (2, 3), (2,), ())),
    signature=Signature(outputs=("found", "gradients"), lists=True,
                        output_notes={"gradients": "a gradient for each tensor"}),
    derivative=NOT_DIFFERENTIABLE,
)  # fmt: skip
def unscale(factor: Floating, *tensors: T) -> Array:
    """The tensors times ``factor``, and before them 1 if any has an infinity or NaN, else 0.

    Raises ShapeError, ArgumentError.
    """
    fine = None
    for x in tensors:
        parts = [lax.real(x), lax.imag(x)] if kind(x) == "c" else [x]
        for part in parts:
            here = jnp.all(lax.is_finite(part))
            fine = here if fine is None else lax.bitwise_and(fine, here)
    overflow = lax.convert_element_type(lax.bitwise_not(fine), factor.dtype)

    def update(numbers: Any, x: Any) -> Any:
        return (numbers[0] * x,)

    return (overflow, *_stepped(update, _wide(factor), tensors, 1))


@op(
    rules.select_all, source="one condition for many tensors",
    samples=Cases(
        case(_number(1), *[(2, 3), (2,)] * 2), case(_number(0), *[(2, 3), ()] * 2)),
    signature=Signature(outputs=("selected",), lists=True,
                        output_notes={"selected": "half as many as tensors"}),
    derivative=Derivative(linear="tensors"),
)  # fmt: skip
def select_all(condition: Bool, *tensors: T) -> Array:
    """The first half of the tensors if the condition holds, otherwise the second half.

    Raises ShapeError, ArgumentError.
    """
    n = len(tensors) // 2
    return tuple(lax.select(condition, a, b) for a, b in zip(tensors[:n], tensors[n:], strict=True))


@op(
    rules.lbfgs_direction, T="floating", source="Nocedal, Wright, Numerical Optimization, 7.4",
    derivative=NOT_DIFFERENTIABLE,
    samples=Cases(case((), (3,), *[(3,)] * 4, (), ()), case((), (3,)), low=0.4, high=0.9),
)  # fmt: skip
def lbfgs_direction(scale: T, gradient: T, *history: T) -> Array:
    """Minus the product of the gradient and the inverse Hessian that L-BFGS estimates.

    ``scale`` times the identity is the first estimate. The history is, oldest first, the changes
    of the gradient, the moves, and the reciprocals of their dot products; entries whose
    reciprocal is 0 have no effect. Raises ShapeError, ArgumentError.
    """
    n = len(history) // 3
    start = lax.neg(gradient)
    if not n:
        return scale * start
    changes, moves, inverses = (jnp.stack(history[k * n:(k + 1) * n]) for k in range(3))

    def newest_first(q: Any, entry: Any) -> Any:
        change, move, inverse = entry
        along = inverse * jnp.sum(move * q)
        return q - along * change, along

    def oldest_first(r: Any, entry: Any) -> Any:
        change, move, inverse, along = entry
        return r + (along - inverse * jnp.sum(change * r)) * move, None

    q, along = lax.scan(newest_first, start, (changes, moves, inverses), reverse=True)
    direction, _ = lax.scan(oldest_first, scale * q, (changes, moves, inverses, along))
    return direction
