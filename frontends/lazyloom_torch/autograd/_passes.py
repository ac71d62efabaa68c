"""Backward passes: ``backward`` and ``grad``, with the hooks that they run.

The runtime's cotangent of a complex value is the conjugate of PyTorch's gradient, so what goes
in and what comes out is conjugated here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import lazyloom
from lazyloom import Value

from .. import _ends
from .._core import cast, record
from .._errors import not_a_tensor
from .._foreign import of_dtensor
from .._functions.creation import zeros_like
from .._memory import elsewhere
from .._strides import memory_order
from .._tensor import Leaf, Tensor, Token, operand
from . import anomaly_mode
from ._hooks import (
    accumulated,
    conjugated,
    drop_watches,
    observers,
    run_hooks,
    stage_of,
    watches,
    watching,
)
from ._layouts import laid_out
from ._several import one_pass, registered, unnoted
from .graph import GradientEdge

_wrap = Tensor.from_value


def _listed(given: Any, what: str) -> list[Any]:
    found = [given] if isinstance(given, (Tensor, GradientEdge)) else list(given)
    for i, t in enumerate(found):
        if isinstance(t, GradientEdge):
            found[i] = t.node.tensor(t.output_nr)
        elif not isinstance(t, Tensor):
            raise not_a_tensor(t, f"{what}: element {i}: ")
    return found


def _are_divided(given: Any) -> bool:
    """Whether a tensor of torch.distributed.tensor is among these."""
    if isinstance(given, Tensor):
        return given._is_dtensor
    return isinstance(given, (list, tuple)) and any(map(_are_divided, given))


def _part(t: Any) -> Any:
    """This process's part of a tensor of torch.distributed.tensor; others as they are."""
    whole: Any = t
    return whole._local_tensor if isinstance(t, Tensor) and t._is_dtensor else t


def _parts_and_seeds(outputs: Any, given: Any) -> tuple[list[Any], Any]:
    """This process's parts of tensors, and of the gradients given for them."""
    outs = [t.for_gradient() if isinstance(t, Tensor) and t._is_dtensor else t  # type: ignore[attr-defined]
            for t in _listed(outputs, "tensors")]
    if given is None:
        given = [None] * len(outs)
    else:
        given = [given] if isinstance(given, Tensor) else list(given)
        if len(given) != len(outs):
            raise RuntimeError(f"got {len(outs)} tensors and {len(given)} gradients")
    seeds = [t.seed_of(g) if isinstance(t, Tensor) and t._is_dtensor else g  # type: ignore[attr-defined]
             for t, g in zip(outs, given, strict=True)]
    return [_part(t) for t in outs], seeds


def _seeds(outputs: Sequence[Tensor], given: Any) -> tuple[list[Value], list[Value | None]]:
    values = [operand(t) for t in outputs]
    if given is None:
        given = [None] * len(values)
    elif isinstance(given, Tensor):
        given = [given]
    if len(given) != len(values):
        raise RuntimeError(f"got {len(values)} tensors and {len(given)} gradients")
    seeds: list[Value | None] = []
    for i, (v, g) in enumerate(zip(values, given, strict=True)):
        if not v.requires_grad:
            raise RuntimeError(
                f"element {i} of tensors does not require grad and does not have a grad_fn")
        if g is None:
            if v.type.size != 1:
                raise RuntimeError("grad can be implicitly created only for scalar outputs")
            if v.dtype.is_complex:
                raise RuntimeError(
                    "grad can be implicitly created only for real scalar outputs but got "
                    f"{outputs[i].dtype!r}")
            seeds.append(None if v.shape == () else record(
                "full", [lazyloom.Scalar(1, v.dtype)], {"shape": v.shape}))
            continue
        seed = operand(g)
        if seed.shape != v.shape:
            raise RuntimeError(
                f"Mismatch in shape: grad_output[{i}] has a shape of {list(seed.shape)} and "
                f"output[{i}] has a shape of {list(v.shape)}.")
        if elsewhere(seed.type, v.type):
            raise RuntimeError(
                f"grad_output[{i}] is on {seed.type.placement.device}, expected "
                f"{v.type.placement.device}, where output[{i}] is")
        if seed.dtype.is_complex != v.dtype.is_complex:
            raise RuntimeError(
                f"grad_output[{i}] has dtype {g.dtype!r}, expected {outputs[i].dtype!r} as "
                f"output[{i}] has")
        seeds.append(conjugated(cast(seed, v.dtype)))
    return values, seeds


def backward(
    tensors: Any, grad_tensors: Any = None, retain_graph: bool | None = None,
    create_graph: bool = False, grad_variables: Any = None, inputs: Any = None,
) -> None:
    """Add the gradients of the tensors' sum to ``.grad`` of every leaf that they depend on.

    With ``inputs``, to ``.grad`` of those tensors only. Raises RuntimeError for a tensor that
    requires no grad, has several elements and no gradient given, or whose history was freed
    by an earlier pass.
    """
    if of_dtensor and _are_divided([tensors, inputs]):
        # gradients are those of this process's parts
        tensors, grad_tensors = _parts_and_seeds(tensors, grad_tensors)
        inputs = None if inputs is None else [_part(t) for t in _listed(inputs, "inputs")]
    if _ends.after_pass:
        with _ends.one_pass():
            _backward(tensors, grad_tensors, retain_graph, create_graph, grad_variables, inputs)
        return
    _backward(tensors, grad_tensors, retain_graph, create_graph, grad_variables, inputs)


def _backward(
    tensors: Any, grad_tensors: Any, retain_graph: bool | None, create_graph: bool,
    grad_variables: Any, inputs: Any,
) -> None:
    if registered and unnoted():
        with one_pass():
            _backward(tensors, grad_tensors, retain_graph, create_graph, grad_variables, inputs)
        return
    if grad_variables is not None:
        if grad_tensors is not None:
            raise RuntimeError("give grad_tensors or grad_variables (its old name), not both")
        grad_tensors = grad_variables
    outputs = [tensors] if isinstance(tensors, Tensor) else _listed(tensors, "tensors")
    values, seeds = _seeds(outputs, grad_tensors)
    keep = create_graph if retain_graph is None else retain_graph
    if inputs is not None:
        _into(_listed(inputs, "inputs"), values, seeds, keep, create_graph)
        return
    inspect = anomaly_mode.inspector() if anomaly_mode.is_enabled() else None
    found = lazyloom.backward(
        values, seeds, retain_graph=keep, create_graph=create_graph,
        observers=observers(create_graph) if watches else None, inspect=inspect)
    if inspect is not None:
        inspect.judge()
    with lazyloom.grad_mode(create_graph):
        for token, gradient in found:
            if type(token) is Token:
                leaf = token.leaf()
                if leaf is None:
                    if token.hooks:  # their tensor is gone, and nobody can ask for its gradient
                        run_hooks(token.hooks, conjugated(gradient))
                    continue
                if leaf.grad is None and not leaf.hooks and not leaf.after and (
                    not leaf.inactive and leaf.strides is None
                    and not gradient.type.dtype.is_complex
                ):
                    with leaf.lock:
                        if leaf.grad is None:
                            leaf.grad = _wrap(gradient)
                            continue
                _deliver(leaf, gradient, create_graph)
    if _ends.after_pass:
        _ends.note(token.leaf() for token, _ in found if type(token) is Token)
    if watches:
        drop_watches()


def _into(
    wanted: list[Tensor], values: list[Value], seeds: list[Value | None], keep: bool,
    create_graph: bool,
) -> None:
    """:func:`backward` into some tensors only."""
    if not wanted:
        raise RuntimeError("'inputs' argument to backward cannot be empty")
    for t in wanted:
        if t._leaf is None:
            watching(t).retain = True  # from now on, as in PyTorch
    found = _cotangents(values, wanted, seeds, keep, create_graph)
    for t, g in zip(wanted, found, strict=True):
        if g is not None and t._leaf is not None:
            _deliver(t._leaf, g, create_graph)
            _ends.note([t._leaf])


def _cotangents(
    values: list[Value], inputs: list[Tensor], seeds: list[Value | None], keep: bool,
    create_graph: bool,
) -> list[Value | None]:
    """Cotangents of the inputs, None for one that was not used."""
    inspect = anomaly_mode.inspector() if anomaly_mode.is_enabled() else None
    found: list[Value | None] = lazyloom.gradients(
        values, [operand(t) for t in inputs], seeds, create_graph=create_graph,
        retain_graph=keep, allow_unused=True,
        observers=observers(create_graph) if watches else None, inspect=inspect,
        tokens=[None if t._leaf is None else t._leaf.token for t in inputs])
    if inspect is not None:
        inspect.judge()
    if watches:
        drop_watches()
    return found


def _deliver(leaf: Leaf, gradient: Value, create_graph: bool) -> None:
    with lazyloom.grad_mode(create_graph):
        gradient = conjugated(gradient)
        if leaf.hooks:
            gradient = run_hooks(leaf.hooks, gradient)
        if leaf.inactive:
            return
        with leaf.lock:
            before = leaf.grad
            leaf.grad = made = accumulated(before, gradient, create_graph)
            strides = leaf.strides
            if before is None and strides is not None and (
                memory_order(made.tensor_type.shape, strides)
            ):
                made._laid(strides)  # documented: a dense leaf's gradient has its strides
        if leaf.after:
            for hook, owner in sorted(leaf.after.values(), key=lambda each: stage_of(each[0])):
                tensor = owner()
                if tensor is not None:
                    hook(tensor)


def tensor_backward(
    self: Tensor, gradient: Tensor | None = None, retain_graph: bool | None = None,
    create_graph: bool = False, inputs: Any = None,
) -> None:
    """See :func:`lazyloom_torch.autograd.backward`."""
    backward([self], None if gradient is None else [gradient], retain_graph, create_graph,
             inputs=inputs)


def grad(
    outputs: Any, inputs: Any, grad_outputs: Any = None, retain_graph: bool | None = None,
    create_graph: bool = False, only_inputs: bool = True, allow_unused: bool | None = None,
    is_grads_batched: bool = False, materialize_grads: bool = False,
) -> tuple[Any, ...]:
    """The gradients of the outputs' sum with respect to the inputs, not accumulated.

    With ``is_grads_batched`` the ``grad_outputs`` have one more dimension in front, and so have
    the results. Raises RuntimeError for an input that requires no grad, or that was not used
    unless ``allow_unused`` (then None) or ``materialize_grads`` (then zeros).
    """
    if of_dtensor and _are_divided([outputs, inputs]):
        ins = _listed(inputs, "inputs")
        outputs, grad_outputs = _parts_and_seeds(outputs, grad_outputs)
        parts = grad(outputs, [_part(t) for t in ins], grad_outputs, retain_graph, create_graph,
                     only_inputs, allow_unused, is_grads_batched, materialize_grads)
        return tuple([t._gradient(g) if t._is_dtensor else g
                      for t, g in zip(ins, parts, strict=True)])
    if registered and unnoted():
        with one_pass():
            return grad(outputs, inputs, grad_outputs, retain_graph, create_graph, only_inputs,
                        allow_unused, is_grads_batched, materialize_grads)
    if allow_unused is False and materialize_grads:
        raise ValueError(
            "allow_unused is False, but materialize_grads, which gives zeros for what is unused, "
            "is True; leave out one of them")
    outs, ins = _listed(outputs, "outputs"), _listed(inputs, "inputs")
    if not ins:
        raise RuntimeError("grad requires non-empty inputs.")
    if is_grads_batched:
        return _batched(outs, ins, grad_outputs, retain_graph, create_graph, allow_unused,
                        materialize_grads)
    values, seeds = _seeds(outs, grad_outputs)
    for t in ins:
        if not operand(t).requires_grad:
            raise RuntimeError("One of the differentiated Tensors does not require grad")
    keep = create_graph if retain_graph is None else retain_graph
    found = _cotangents(values, ins, seeds, keep, create_graph)
    results: list[Tensor | None] = []
    with lazyloom.grad_mode(create_graph):
        for t, g in zip(ins, found, strict=True):
            if g is not None:
                hooked = t._leaf.hooks if t._leaf is not None else None
                g = run_hooks(hooked, conjugated(g))
                results.append(_wrap(g)._laid(laid_out(g)))
            elif materialize_grads:
                results.append(zeros_like(t))
            elif allow_unused:
                results.append(None)
            else:
                raise RuntimeError(
                    "One of the differentiated Tensors appears to not have been used in the "
                    "graph. Set allow_unused=True if this is the desired behavior.")
    return tuple(results)


def _batched(
    outs: list[Tensor], ins: list[Tensor], grad_outputs: Any, retain_graph: bool | None,
    create_graph: bool, allow_unused: bool | None, materialize_grads: bool,
) -> tuple[Any, ...]:
    """:func:`grad` for each element of the first dimension of the gradients given."""
    given = [grad_outputs] if isinstance(grad_outputs, Tensor) else list(grad_outputs or ())
    if not given:
        raise RuntimeError("is_grads_batched needs grad_outputs with a dimension in front")
    none: list[bool] = []

    def one(*seeds: Tensor) -> tuple[Tensor, ...]:
        found = grad(outs, ins, seeds, True, create_graph, True, allow_unused, False,
                     materialize_grads)
        none[:] = [g is None for g in found]
        return tuple(g for g in found if g is not None)

    mapped = iter(lazyloom.vmap(one)(*given))
    keep = create_graph if retain_graph is None else retain_graph
    if not keep:
        # the same pass once more, of nothing but the tape's end
        lazyloom.free_tape([operand(t) for t in outs])
    return tuple(None if n else next(mapped) for n in none)


