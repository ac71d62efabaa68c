"""Derivatives of functions at a point: ``torch.autograd.functional``.

Every function takes ``func``, which takes and returns a tensor or a tuple of tensors, and its
``inputs``. With ``create_graph`` the results can be differentiated again, also by the inputs; with
``strict`` an output that does not depend on an input is a RuntimeError, otherwise its derivative
is zero.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import lazyloom

from .._functions.creation import ones_like, zeros
from .._tensor import Tensor
from ..func import jacfwd
from ..func import jvp as func_jvp
from ._passes import grad

Func = Callable[..., Any]


def _tuple(given: Any, what: str, name: str) -> tuple[bool, tuple[Tensor, ...]]:
    """Whether it was a tuple, and the tensors."""
    many = isinstance(given, (tuple, list))
    found = tuple(given) if many else (given,)
    for i, t in enumerate(found):
        if not isinstance(t, Tensor):
            where = f"Value at index {i} of the {what}" if many else f"the {what}"
            raise TypeError(
                f"The {what} given to {name} must be either a Tensor or a tuple of Tensors but "
                f"{where} has type {type(t)}.")
    return isinstance(given, tuple), found


class _Call:
    """One call of the function, with gradients."""

    def __init__(
        self, name: str, func: Func, inputs: Any, create_graph: bool, strict: bool
    ) -> None:
        self.name = name
        self.create_graph = create_graph
        self.strict = strict
        self.many_inputs, given = _tuple(inputs, "inputs", name)
        with lazyloom.grad_mode(True):
            self.inputs = tuple(
                t.view_as(t) if create_graph and t.requires_grad
                else t.detach().clone().requires_grad_() for t in given)
            self.many_outputs, self.outputs = _tuple(
                func(*self.inputs), "outputs of the user-provided function", name)

    def result(self, outputs: Sequence[Tensor], many: bool) -> Any:
        found = tuple(t if self.create_graph else t.detach() for t in outputs)
        return found if many else found[0]

    def check_used(self, i: int, gradient: Tensor | None, what: str = "output") -> None:
        if gradient is None and self.strict:
            raise RuntimeError(
                f"The {what} of the user-provided function is independent of input {i}. This is "
                "not allowed in strict mode.")

    def cotangents(
        self, outputs: Sequence[Tensor], seeds: Any, *, create_graph: bool | None = None,
        batched: bool = False, what: str = "output",
    ) -> list[Tensor | None]:
        """Gradients of the inputs; None for one that the outputs do not depend on."""
        pairs = [(o, s) for o, s in zip(outputs, seeds, strict=True) if o.requires_grad]
        keep = self.create_graph if create_graph is None else create_graph
        found: Sequence[Tensor | None] = [None] * len(self.inputs)
        if pairs:
            with lazyloom.grad_mode(True):
                found = grad([o for o, _ in pairs], self.inputs, [s for _, s in pairs],
                             retain_graph=True, create_graph=keep, allow_unused=True,
                             is_grads_batched=batched)  # fmt: skip
        for i, g in enumerate(found):
            self.check_used(i, g, what)
        return list(found)

    def scalar(self) -> Tensor:
        """The only output, of one element, as the Hessian's functions need."""
        if self.many_outputs or self.outputs[0].tensor_type.size != 1:
            raise RuntimeError(
                "The function given to be differentiated twice must return a single Tensor with a "
                "single element")
        return self.outputs[0].reshape(())


def _zeros(shape: Sequence[int], like: Tensor) -> Tensor:
    found: Tensor = zeros(tuple(shape), dtype=like.dtype)
    return found


def _filled(found: Sequence[Tensor | None], like: Sequence[Tensor]) -> tuple[Tensor, ...]:
    return tuple(
        _zeros(t.shape, t) if g is None else g for g, t in zip(found, like, strict=True))


def _direction(v: Any, like: Sequence[Tensor], many: bool, what: str) -> tuple[Tensor, ...]:
    """The vector of a product, by default 1 for a single element."""
    if v is None:
        if len(like) != 1 or like[0].tensor_type.size != 1:
            raise RuntimeError(
                f"The vector v can only be None if {what} is a single Tensor with a single "
                "element.")
        return (ones_like(like[0]),)
    _, found = _tuple(v, "v", "the product")
    if len(found) != len(like):
        raise RuntimeError(
            f"v is a tuple of invalid length: should be {len(like)} but got {len(found)}.")
    for i, (a, b) in enumerate(zip(found, like, strict=True)):
        if a.shape != b.shape:
            raise RuntimeError(
                f"v{f' at position {i}' if many else ''} has invalid size: should be "
                f"{list(b.shape)} but got {list(a.shape)}.")
    return found


def vjp(
    func: Func, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The outputs, and the product of ``v`` (shaped as they are) with the Jacobian."""
    call = _Call("vjp", func, inputs, create_graph, strict)
    seeds = _direction(v, call.outputs, call.many_outputs,
                       "the output of the user-provided function")
    found = _filled(call.cotangents(call.outputs, seeds), call.inputs)
    return (call.result(call.outputs, call.many_outputs), call.result(found, call.many_inputs))


def jvp(
    func: Func, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The outputs, and the product of the Jacobian with ``v`` (shaped as the inputs are)."""
    many, given = _tuple(inputs, "inputs", "jvp")
    directions = _direction(v, given, many, "the input to the user-provided function")
    if not create_graph:
        given = tuple(t.detach() for t in given)
        directions = tuple(t.detach() for t in directions)
    seen: list[bool] = []

    def tupled(*args: Tensor) -> Any:
        several, found = _tuple(func(*args), "outputs of the user-provided function", "jvp")
        seen.append(several)
        return found

    with lazyloom.grad_mode(True):
        outputs, along = func_jvp(tupled, given, directions, strict=strict)
    if not create_graph:
        outputs = tuple(t.detach() for t in outputs)
        along = tuple(t.detach() for t in along)
    return (outputs, along) if seen[0] else (outputs[0], along[0])


def _units(t: Tensor) -> Tensor:
    """The unit vectors of a tensor's shape along a new first dimension."""
    n = t.tensor_type.size
    eye = lazyloom.record("eye", [], {"n": n, "m": n, "k": 0, "dtype": t.tensor_type.dtype})
    shape = (n, *t.tensor_type.shape)
    return Tensor.from_value(lazyloom.record("reshape", [eye], {"shape": shape}))


def _rows(call: _Call, out: Tensor, create_graph: bool, what: str) -> list[Tensor]:
    """The derivatives of one output by each input, all rows at once."""
    size = out.tensor_type.size
    found = call.cotangents([out], [_units(out)], create_graph=create_graph, batched=True,
                        what=what) if size else [None] * len(call.inputs)  # fmt: skip
    return [
        _zeros((*out.shape, *t.shape), t) if g is None else g.reshape(*out.shape, *t.shape)
        for g, t in zip(found, call.inputs, strict=True)]


def jacobian(
    func: Func, inputs: Any, create_graph: bool = False, strict: bool = False,
    vectorize: bool = False, strategy: str = "reverse-mode",
) -> Any:
    """All partial derivatives: of shape ``output.shape + input.shape`` for each output and input.

    A tensor where both are single, a tuple where one is a tuple, else a tuple (by output) of
    tuples. All rows are computed at once, whatever ``vectorize`` says.
    """
    if strategy not in ("reverse-mode", "forward-mode"):
        raise AssertionError(
            f'Expected strategy to be either "forward-mode" or "reverse-mode", not {strategy!r}')
    if strategy == "forward-mode" and not create_graph:
        return _forward_jacobian(func, inputs)
    call = _Call("jacobian", func, inputs, create_graph, strict)
    whole = []
    for o in call.outputs:
        rows = [g if create_graph else g.detach() for g in _rows(call, o, create_graph, "output")]
        whole.append(tuple(rows) if call.many_inputs else rows[0])
    return tuple(whole) if call.many_outputs else whole[0]


def _forward_jacobian(func: Func, inputs: Any) -> Any:
    many, given = _tuple(inputs, "inputs", "jacobian")
    return jacfwd(func, argnums=tuple(range(len(given))) if many else 0)(
        *[t.detach() for t in given])


def hessian(
    func: Func, inputs: Any, create_graph: bool = False, strict: bool = False,
    vectorize: bool = False, outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """The second derivatives of a function that returns one element: a tensor of shape
    ``input.shape + input.shape``, for a tuple of inputs a tuple of tuples of such."""
    call = _Call("hessian", func, inputs, create_graph, strict)
    out = call.scalar()
    first = call.cotangents([out], [None], create_graph=True)
    whole = []
    for g, t in zip(first, call.inputs, strict=True):
        if g is None:
            g = _zeros(t.shape, t)
        rows = _rows(call, g, create_graph, "jacobian")
        rows = [r if create_graph else r.detach() for r in rows]
        whole.append(tuple(rows) if call.many_inputs else rows[0])
    return tuple(whole) if call.many_inputs else whole[0]


def vhp(
    func: Func, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The output, of one element, and the product of ``v`` with the Hessian."""
    call = _Call("vhp", func, inputs, create_graph, strict)
    out = call.scalar()
    directions = _direction(v, call.inputs, call.many_inputs,
                            "the input to the user-provided function")
    first = call.cotangents([out], [None], create_graph=True)
    pairs = [(g, d) for g, d in zip(first, directions, strict=True) if g is not None]
    found = _filled(
        call.cotangents([g for g, _ in pairs], [d for _, d in pairs], what="jacobian"), call.inputs)
    return call.result(call.outputs, False), call.result(found, call.many_inputs)


def hvp(
    func: Func, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The output, of one element, and the product of the Hessian, which is symmetric, with v."""
    return vhp(func, inputs, v, create_graph, strict)


__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]
