"""Gradients against finite differences: ``gradcheck`` and ``gradgradcheck``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import lazyloom

from .._tensor import Tensor
from ..func import linearize
from ._passes import grad


class GradcheckError(RuntimeError):
    """A gradient is not what finite differences say."""


def _parts(x: np.ndarray) -> np.ndarray:
    """Real numbers in one dimension: of complex ones, real and imaginary parts in turn."""
    flat = np.ascontiguousarray(x).reshape(-1)
    return flat.view(flat.real.dtype).astype(np.float64)


def _outputs(func: Callable[..., Any], args: Sequence[Any]) -> list[Tensor]:
    found = func(*args)
    outputs = list(found) if isinstance(found, (tuple, list)) else [found]
    return [o for o in outputs if isinstance(o, Tensor) and o.tensor_type.dtype.is_inexact]


def _differences(
    func: Callable[..., Any], args: Sequence[Any], at: int, eps: float
) -> list[np.ndarray]:
    """For each output, its differences by the parts of one argument: ``[input, output]``."""
    data = args[at].read()
    rows: list[list[np.ndarray]] = []
    with lazyloom.grad_mode(False):
        for part in range(_parts(data).size):
            sides = []
            for step in (eps, -eps):
                moved = np.ascontiguousarray(data).copy()
                moved.reshape(-1).view(moved.real.dtype)[part] += step
                full = list(args)
                full[at] = Tensor.from_value(lazyloom.from_host(moved))
                sides.append([_parts(o.read()) for o in _outputs(func, full)])
            rows.append([(a - b) / (2 * eps) for a, b in zip(*sides, strict=True)])
    return [np.array([r[k] for r in rows]) for k in range(len(rows[0]))] if rows else []


def _analytical(out: Tensor, inputs: Sequence[Tensor]) -> list[np.ndarray]:
    """For each input, the derivatives of the parts of one output: ``[input, output]``."""
    columns: list[list[np.ndarray]] = []
    kind = out.tensor_type.dtype.numpy
    for part in range(out.tensor_type.size * (2 if out.tensor_type.dtype.is_complex else 1)):
        seed = np.zeros(out.tensor_type.shape, kind)
        seed.reshape(-1).view(seed.real.dtype)[part] = 1
        cotangent = Tensor.from_value(lazyloom.from_host(seed))
        found = grad([out], inputs, [cotangent], retain_graph=True, allow_unused=True)
        columns.append([
            _parts(np.zeros(x.tensor_type.shape, x.tensor_type.dtype.numpy) if g is None
                   else g.detach().read())
            for g, x in zip(found, inputs, strict=True)])
    return [np.array([c[k] for c in columns]).T for k in range(len(inputs))]


def gradcheck(
    func: Callable[..., Any], inputs: Any, *, eps: float = 1e-6, atol: float = 1e-5,
    rtol: float = 1e-3, raise_exception: bool = True, nondet_tol: float = 0.0,
    check_undefined_grad: bool = True, check_grad_dtypes: bool = False,
    check_batched_grad: bool = False, check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False, check_backward_ad: bool = True, fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:  # fmt: skip
    """Whether the gradients of ``func`` agree with central differences of step ``eps``.

    Args:
        func: takes the inputs and returns a tensor or a tuple of them.
        inputs: a tensor or a tuple; those that require a gradient are varied, and should be
            float64 or complex128.
        raise_exception: raise GradcheckError (a RuntimeError) rather than return False.
        check_forward_ad: compare tangents too.
        nondet_tol: how much two backward passes may differ.

    The other arguments are accepted. Raises ValueError where no input requires a gradient.
    """
    args = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    places = [i for i, x in enumerate(args) if isinstance(x, Tensor) and x.requires_grad]
    if not places:
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of the "
            "them have requires_grad=True.")
    try:
        _check(func, args, places, eps, atol, rtol, nondet_tol, check_forward_ad)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def _check(
    func: Callable[..., Any], args: tuple[Any, ...], places: list[int], eps: float, atol: float,
    rtol: float, nondet_tol: float, forward: bool,
) -> None:  # fmt: skip
    varied = [args[i] for i in places]
    outputs = _outputs(func, args)
    numeric = [_differences(func, args, i, eps) for i in places]
    for number, out in enumerate(outputs):
        found: Any
        if not out.requires_grad:
            found = [np.zeros_like(n[number]) for n in numeric]
        else:
            found = _analytical(out, varied)
            for a, b in zip(found, _analytical(out, varied), strict=True):
                if not np.allclose(a, b, rtol=0, atol=nondet_tol):
                    raise GradcheckError(
                        "Backward is not reentrant, i.e., running backward with same input and "
                        "grad_output multiple times gives different values")
        for i, a, n in zip(places, found, numeric, strict=True):
            _agree(number, i, a, n[number], atol, rtol, "")
    if forward:
        for i in places:
            columns = _by_forward_mode(func, args, i)
            for number, (a, near) in enumerate(
                    zip(columns, numeric[places.index(i)], strict=True)):
                _agree(number, i, a, near, atol, rtol, " (forward mode)")


def _agree(
    number: int, i: int, found: np.ndarray, numeric: np.ndarray, atol: float, rtol: float, what: str
) -> None:
    if not np.allclose(found, numeric, rtol=rtol, atol=atol):
        raise GradcheckError(
            f"Jacobian mismatch for output {number} with respect to input {i}{what},\n"
            f"numerical:{numeric}\nanalytical:{found}\n")


def _by_forward_mode(func: Callable[..., Any], args: tuple[Any, ...], at: int) -> list[np.ndarray]:
    def of_one(x: Tensor) -> tuple[Tensor, ...]:
        full = list(args)
        full[at] = x
        return tuple(_outputs(func, full))

    x = args[at].detach()
    _, f_jvp = linearize(of_one, x)
    rows = []
    for part in range(_parts(x.read()).size):
        unit = np.zeros(x.tensor_type.shape, x.tensor_type.dtype.numpy)
        unit.reshape(-1).view(unit.real.dtype)[part] = 1
        rows.append([_parts(t.detach().read())
                     for t in f_jvp(Tensor.from_value(lazyloom.from_host(unit)))])
    return [np.array([r[k] for r in rows]) for k in range(len(rows[0]))] if rows else []


def gradgradcheck(
    func: Callable[..., Any], inputs: Any, grad_outputs: Any = None, *, eps: float = 1e-6,
    atol: float = 1e-5, rtol: float = 1e-3, raise_exception: bool = True, **options: Any,
) -> bool:  # fmt: skip
    """Whether the second derivatives of ``func`` agree with differences of the first.

    ``grad_outputs`` are the gradients of the outputs that the first derivative starts from, by
    default random ones. Other arguments as for :func:`gradcheck`.
    """
    args = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    outputs = _outputs(func, args)
    if grad_outputs is None:
        rng = np.random.default_rng(0)
        seeds = [Tensor.from_value(lazyloom.from_host(
            np.asarray(rng.standard_normal(o.tensor_type.shape)).astype(o.tensor_type.dtype.numpy)
        )).requires_grad_() for o in outputs]
    else:
        seeds = [grad_outputs] if isinstance(grad_outputs, Tensor) else list(grad_outputs)
    count = len(args)

    def first(*given: Any) -> tuple[Any, ...]:
        with lazyloom.grad_mode(True):
            # differences are taken of fresh tensors, which are made to require gradients too
            some = [
                (x if x.requires_grad else x.detach().requires_grad_())
                if isinstance(a, Tensor) and a.requires_grad else x
                for a, x in zip(args, given[:count], strict=True)]
            varied = [x for a, x in zip(args, some, strict=True)
                      if isinstance(a, Tensor) and a.requires_grad]
            outs = _outputs(func, some)
            pairs = [(o, s) for o, s in zip(outs, given[count:], strict=True) if o.requires_grad]
            found = grad([o for o, _ in pairs], varied, [s for _, s in pairs], create_graph=True,
                         allow_unused=True)
        return tuple(g for g in found if g is not None)

    return gradcheck(first, (*args, *seeds), eps=eps, atol=atol, rtol=rtol,
                     raise_exception=raise_exception, **options)
