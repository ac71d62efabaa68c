"""Gradients: ``backward``, ``grad``, hooks, and functions of derivatives.

A hook on a non-leaf tensor is served by splitting the backward pass at that tensor: its
gradient is found first, and what the hook changes is sent on as a correction (the
backward pass is linear in the gradient).
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

import lazyloom
from lazyloom import Value
from lazyloom.errors import GradientError

from .._core import record
from .._grad_mode import enable_grad, inference_mode, no_grad, set_grad_enabled
from .._tensor import Leaf, RemovableHandle, Tensor, operand

_wrap = Tensor._wrap


class Watch:
    """The hooks and the retained gradient of a non-leaf tensor."""

    __slots__ = ("value", "owner", "grad", "retain", "hooks")

    def __init__(self, value: Value, owner: Tensor) -> None:
        self.value = value
        self.owner = weakref.ref(owner)
        self.grad: Tensor | None = None
        self.retain = False
        self.hooks: dict[int, Callable[[Tensor], Any]] = {}

    def wanted(self) -> bool:
        """Whether a gradient can still come by: through the tensor, or what was made of it."""
        owner, node = self.owner(), self.value.node
        return (owner is not None and owner._watch is self) or (node.refs > 0 and not node.freed)


_watches: set[Watch] = set()  # a hook outlives its tensor, as long as the graph does


def _drop_watches() -> None:
    for w in [w for w in tuple(_watches) if not w.wanted()]:
        _watches.discard(w)


def _conjugated(v: Any) -> Any:
    """The runtime's cotangent of a complex value is the conjugate of PyTorch's gradient."""
    return record("conj", [v]) if v is not None and v.dtype.is_complex else v


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
            seeds.append(None if v.shape == () else record(
                "full", [lazyloom.Scalar(1, v.dtype)], {"shape": v.shape}))
            continue
        seed = operand(g)
        if seed.shape != v.shape:
            raise RuntimeError(
                f"Mismatch in shape: grad_output[{i}] has a shape of {list(seed.shape)} and "
                f"output[{i}] has a shape of {list(v.shape)}.")
        if seed.dtype is not v.dtype:
            raise RuntimeError(
                f"grad_output[{i}] has dtype {g.dtype!r}, expected {outputs[i].dtype!r}")
        seeds.append(_conjugated(seed))
    return values, seeds


def _serve_watches(
    values: list[Value], seeds: list[Value | None], create_graph: bool
) -> tuple[list[Value], list[Value | None]]:
    """Run hooks of non-leaves, later tensors first; returns the outputs and seeds to go on with."""
    _drop_watches()
    watches = sorted((w for w in tuple(_watches) if w.retain or w.hooks),
                     key=lambda w: w.value.node.seq, reverse=True)
    for w in watches:
        found = lazyloom.gradients(values, [w.value], seeds, create_graph=create_graph,
                                   allow_unused=True)[0]
        if found is None:
            continue
        before = lazyloom.set_grad_enabled(create_graph)
        try:
            shown = _conjugated(found)
            gradient = _run_hooks(w.hooks, shown)
            if w.retain:
                w.grad = _accumulated(w.grad, gradient, create_graph)
            if gradient is not shown:
                values = [*values, w.value]
                seeds = [*seeds, record("subtract", [_conjugated(gradient), found])]
        finally:
            lazyloom.set_grad_enabled(before)
    return values, seeds


def _run_hooks(hooks: dict[int, Any] | None, gradient: Value) -> Value:
    for hook in list(hooks.values()) if hooks else ():
        changed = hook(_wrap(gradient))
        if changed is not None:
            gradient = operand(changed)
    return gradient


def _accumulated(before: Tensor | None, gradient: Value, create_graph: bool) -> Tensor:
    if before is None:
        return _wrap(gradient)
    total = record("add", [operand(before), gradient])
    if create_graph:
        return _wrap(total)
    return before._assign(total)


def backward(
    tensors: Any, grad_tensors: Any = None, retain_graph: bool | None = None,
    create_graph: bool = False, inputs: Any = None,
) -> None:
    """Add the gradients of the tensors' sum to ``.grad`` of every leaf that they depend on.

    Raises RuntimeError for a tensor that requires no grad, has several elements and no
    gradient given, or whose history was freed by an earlier pass.
    """
    outputs = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    values, seeds = _seeds(outputs, grad_tensors)
    keep = create_graph if retain_graph is None else retain_graph
    if inputs is not None:
        wanted = [inputs] if isinstance(inputs, Tensor) else list(inputs)
        found = lazyloom.gradients(values, [operand(t) for t in wanted], seeds,
                                   create_graph=create_graph, retain_graph=keep, allow_unused=True)
        for t, g in zip(wanted, found, strict=True):
            if g is not None and t._leaf is not None:
                _deliver(t._leaf, g, create_graph)
        return
    if _watches:
        values, seeds = _serve_watches(values, seeds, create_graph)
    found = lazyloom.backward(values, seeds, retain_graph=keep, create_graph=create_graph)
    before = lazyloom.set_grad_enabled(create_graph)
    try:
        for token, gradient in found:
            if type(token) is Leaf:
                if token.grad is None and not token.hooks and not token.after and (
                    not gradient.type.dtype.is_complex
                ):
                    token.grad = _wrap(gradient)
                else:
                    _deliver(token, gradient, create_graph)
    finally:
        lazyloom.set_grad_enabled(before)
    if _watches:
        _drop_watches()


def _deliver(leaf: Leaf, gradient: Value, create_graph: bool) -> None:
    before = lazyloom.set_grad_enabled(create_graph)
    try:
        gradient = _conjugated(gradient)
        if leaf.hooks:
            gradient = _run_hooks(leaf.hooks, gradient)
        leaf.grad = _accumulated(leaf.grad, gradient, create_graph)
        if leaf.after:
            for hook, owner in list(leaf.after.values()):
                tensor = owner()
                if tensor is not None:
                    hook(tensor)
    finally:
        lazyloom.set_grad_enabled(before)


def tensor_backward(
    self: Tensor, gradient: Tensor | None = None, retain_graph: bool | None = None,
    create_graph: bool = False, inputs: Any = None,
) -> None:
    """See :func:`lazyloom_torch.autograd.backward`."""
    backward([self], None if gradient is None else [gradient], retain_graph, create_graph, inputs)


def grad(
    outputs: Any, inputs: Any, grad_outputs: Any = None, retain_graph: bool | None = None,
    create_graph: bool = False, allow_unused: bool | None = None,
    materialize_grads: bool = False,
) -> tuple[Tensor | None, ...]:
    """The gradients of the outputs' sum with respect to the inputs, not accumulated.

    Raises RuntimeError for an input that requires no grad, or that was not used unless
    ``allow_unused`` (then None) or ``materialize_grads`` (then zeros).
    """
    outs = [outputs] if isinstance(outputs, Tensor) else list(outputs)
    ins = [inputs] if isinstance(inputs, Tensor) else list(inputs)
    values, seeds = _seeds(outs, grad_outputs)
    wanted = [operand(t) for t in ins]
    for v in wanted:
        if not v.requires_grad:
            raise RuntimeError("One of the differentiated Tensors does not require grad")
    if _watches:
        values, seeds = _serve_watches(values, seeds, create_graph)
    keep = create_graph if retain_graph is None else retain_graph
    found = lazyloom.gradients(values, wanted, seeds, create_graph=create_graph,
                               retain_graph=keep, allow_unused=True)
    results: list[Tensor | None] = []
    for t, g in zip(ins, found, strict=True):
        if g is None and materialize_grads:
            from .._functions.creation import zeros_like

            results.append(zeros_like(t))
        elif g is None and not allow_unused:
            raise RuntimeError(
                "One of the differentiated Tensors appears to not have been used in the graph. "
                "Set allow_unused=True if this is the desired behavior.")
        elif g is None:
            results.append(None)
        else:
            hooked = t._leaf.hooks if t._leaf is not None else None
            results.append(_wrap(_run_hooks(hooked, _conjugated(g))))
    return tuple(results)


def _watch(self: Tensor) -> Watch:
    value = operand(self)
    if self._watch is None or self._watch.value.node is not value.node:
        self._watch = Watch(value, self)
        _drop_watches()
        _watches.add(self._watch)
    watch: Watch = self._watch
    return watch


def register_hook(self: Tensor, hook: Callable[[Tensor], Any]) -> RemovableHandle:
    """Call ``hook(gradient)`` when this tensor's gradient is computed; it may return another.

    On a leaf it runs for each gradient before accumulation.
    """
    if not self.requires_grad:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    if self._leaf is not None:
        if self._leaf.hooks is None:
            self._leaf.hooks = {}
        hooks = self._leaf.hooks
    else:
        hooks = _watch(self).hooks
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    return handle


def register_post_accumulate_grad_hook(
    self: Tensor, hook: Callable[[Tensor], None]
) -> RemovableHandle:
    """Call ``hook(tensor)`` after a gradient was added to this leaf's ``.grad``."""
    if self._leaf is None:
        raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
    if self._leaf.after is None:
        self._leaf.after = {}
    handle = RemovableHandle(self._leaf.after)
    self._leaf.after[handle.id] = (hook, weakref.ref(self))
    return handle


def retain_grad(self: Tensor) -> None:
    """Let ``.grad`` of this non-leaf be filled by backward, too."""
    if not self.requires_grad:
        raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
    if self._leaf is None:
        _watch(self).retain = True


def retains_grad(self: Tensor) -> bool:
    return self._leaf is None and self._watch is not None and bool(self._watch.retain)


class _Functional:
    """``torch.autograd.functional``: jacobian, hessian, vjp, jvp-free helpers."""

    @staticmethod
    def vjp(func: Callable[..., Tensor], inputs: Any, v: Any = None, create_graph: bool = False
            ) -> tuple[Tensor, Any]:
        """``func(*inputs)`` and the gradient of its product with v."""
        single = isinstance(inputs, Tensor)
        ins = [t.detach().clone().requires_grad_() if not create_graph else t
               for t in ([inputs] if single else inputs)]
        with enable_grad():
            out = func(*ins)
        found = grad([out], ins, None if v is None else [v], create_graph=create_graph,
                     materialize_grads=True)
        return out if create_graph else out.detach(), found[0] if single else found

    @staticmethod
    def jacobian(func: Callable[..., Tensor], inputs: Any, create_graph: bool = False) -> Any:
        """All partial derivatives: shape ``output.shape + input.shape`` for each input."""
        from .._functions.shaping import stack

        single = isinstance(inputs, Tensor)
        ins = [t if create_graph else t.detach().clone().requires_grad_()
               for t in ([inputs] if single else inputs)]
        with enable_grad():
            out = func(*ins)
            flat = out.reshape(-1)
            rows = [grad([flat[i]], ins, retain_graph=True, create_graph=create_graph,
                         materialize_grads=True) for i in range(flat.numel())]
        found = tuple(
            stack([r[k] for r in rows]).reshape(*out.shape, *t.shape) for k, t in enumerate(ins))
        return found[0] if single else found

    @staticmethod
    def hessian(func: Callable[..., Tensor], inputs: Tensor) -> Tensor:
        """The second derivatives of a scalar function of one tensor."""
        x = inputs.detach().clone().requires_grad_()
        with enable_grad():
            (first,) = grad([func(x)], [x], create_graph=True)
            assert first is not None
            flat = first.reshape(-1)
            rows = [grad([flat[i]], [x], retain_graph=True, materialize_grads=True)[0]
                    for i in range(flat.numel())]
        from .._functions.shaping import stack

        return stack(rows).reshape(*x.shape, *x.shape)


functional = _Functional()

__all__ = ["GradientError", "backward", "enable_grad", "functional", "grad", "inference_mode",
           "no_grad", "set_grad_enabled"]
