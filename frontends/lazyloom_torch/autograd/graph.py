"""The recorded graph as PyTorch shows it: ``grad_fn`` and its ``next_functions``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import lazyloom
from lazyloom import Value
from lazyloom.errors import type_name

from .._hooks import RemovableHandle
from .._tensor import Tensor, Token
from ._hooks import NodeHook, conjugated, hooks_of
from ._several import register_multi_grad_hook
from .saved import disable_saved_tensors_hooks, save_on_cpu, saved_tensors_hooks

#: what PyTorch calls the derivative of an op whose name does not say it
_NAMES = {
    "subtract": "Sub", "multiply": "Mul", "divide": "Div", "negative": "Neg", "matmul": "Mm",
    "dot_general": "Mm", "power": "Pow", "integer_power": "Pow", "square": "Pow", "clip": "Clamp",
    "dynamic_slice": "Slice", "broadcast_to": "Expand", "concatenate": "Cat", "reshape": "View",
    "transpose": "Permute", "expand_dims": "Unsqueeze", "cast": "ToCopy", "identity": "Clone",
    "copy": "Clone", "straight_through": "Copy", "take": "IndexSelect", "take_along_axis": "Gather",
    "dynamic_update_slice": "CopySlices", "slice_update": "CopySlices", "index_update": "IndexPut",
    "diagonal_update": "CopySlices", "conv": "Convolution", "conv_transpose": "Convolution",
    "layer_norm": "NativeLayerNorm", "group_norm": "NativeGroupNorm",
    "batch_norm_train": "NativeBatchNorm", "batch_norm_infer": "NativeBatchNorm",
    "cross_entropy": "NllLoss", "max_pool": "MaxPool2DWithIndices", "avg_pool": "AvgPool2D",
    "sort_with_indices": "Sort", "norm": "LinalgVectorNorm", "inv": "LinalgInvEx",
    "det": "LinalgDet", "svd": "LinalgSvd", "eigh": "LinalgEigh", "cholesky": "LinalgCholeskyEx",
    "solve": "LinalgSolveEx", "fft": "FftC2C", "rfft": "FftR2C", "irfft": "FftC2R",
    "top_k": "Topk", "scatter_along_axis": "Scatter", "tile": "Repeat",
}  # fmt: skip


def name_of(node: Any) -> str:
    """PyTorch's name of the derivative of a recorded op, as near as its name tells."""
    rule = lazyloom.custom_rule(node)
    if rule is not None:
        return str(rule.name)
    if node.spec is None:
        return "Backward"
    base = str(node.spec.op.root.name)
    name = _NAMES.get(base) or "".join(part.capitalize() for part in base.split("_"))
    return name if name == "CopySlices" else f"{name}Backward0"


class Node:
    """What made a non-leaf tensor: its name, and what it was made from."""

    __slots__ = ("_result", "_tensor")

    def __init__(self, value: Value, tensor: Tensor | None = None) -> None:
        self._result = value
        self._tensor = tensor  # the one it was asked of

    def name(self) -> str:
        """PyTorch's name of the derivative, such as ``AddBackward0``."""
        if type(self._result.token) is Token:
            return "torch::autograd::AccumulateGrad"
        return name_of(self._result.node)

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """The nodes that a backward pass goes on to, each with the number of its result.

        None for an operand that requires no gradient. Empty once the graph was freed.
        """
        node = self._result.node
        found: list[tuple[Node | None, int]] = []
        for v in self._parents():
            found.append((None, 0) if v is None else (node_of(v), _number(v)))
        return tuple(found) if node.tracked else ()

    def _parents(self) -> tuple[Value | None, ...]:
        """The operands, None for those without a gradient."""
        node, found = self._result.node, lazyloom.parents(self._result)
        # a custom function's op has the results before them
        return found if lazyloom.custom_rule(node) is None else found[len(node.types):]

    @property
    def metadata(self) -> dict[str, Any]:
        """Where the forward op was recorded."""
        return {"recorded_at": str(self._result.node.site)}

    @property
    def variable(self) -> Tensor | None:
        """The leaf that ``AccumulateGrad`` adds to, while it is alive."""
        token = self._result.token
        if type(token) is not Token:
            raise AttributeError(f"{self.name()} has no variable; only AccumulateGrad has")
        return token.owner() if token.owner is not None else None

    def tensor(self, index: int) -> Tensor:
        """A tensor of this node's result, on the same graph."""
        if type(self._result.token) is Token:
            index += self._result.index
        return Tensor.from_value(lazyloom.result_of(self._result, index))

    def register_prehook(self, fn: Callable[[tuple[Tensor, ...]], Any]) -> RemovableHandle:
        """Call ``fn`` with the gradient of the result, in a tuple; it may return another.

        It runs after the hooks of the tensor, and before those of :meth:`register_hook`.
        """

        def hook(gradient: Tensor) -> Tensor | None:
            changed = fn((gradient,))
            if changed is None:
                return None
            if not isinstance(changed, tuple):
                raise TypeError(f"expected tuple, but hook returned '{type_name(changed)}'")
            if len(changed) != 1:
                raise RuntimeError(
                    f"hook has returned an incorrect number of values (got {len(changed)}, but "
                    "expected 1)")
            found: Tensor | None = changed[0]
            return found

        return self._register(hook)

    def register_hook(self, fn: Callable[..., Any]) -> RemovableHandle:
        """Call ``fn(gradients of the operands, gradients of the result)`` in a backward pass.

        That of ``AccumulateGrad`` is called when the gradient was added. What ``fn`` returns has
        to be None: to change a gradient, use a hook of the tensor.
        """
        variable = self._variable()
        if variable is not None:
            seen: list[Tensor] = []
            before = self._register(seen.append, after=True)
            after = variable.register_post_accumulate_grad_hook(NodeHook(
                lambda tensor: self._call(fn, (), seen.pop()), after=True))
            return _Several([before, after])
        value = self._result

        def hook(gradient: Tensor) -> None:
            parents = self._parents()
            wanted = [v for v in parents if v is not None]
            found = iter(lazyloom.gradients(
                [value], wanted, [conjugated(gradient._operand())], allow_unused=True, stop=True,
                create_graph=lazyloom.grad_enabled()))
            given = [None if v is None else conjugated(next(found)) for v in parents]
            wrapped = tuple(None if g is None else Tensor.from_value(g) for g in given)
            self._call(fn, wrapped, gradient)

        return self._register(hook, after=True)

    def _call(self, fn: Callable[..., Any], inputs: tuple[Any, ...], output: Tensor) -> None:
        if fn(inputs, (output,)) is not None:
            raise RuntimeError(
                f"a hook of {self.name()} returned gradients; they cannot be replaced here, use "
                "Tensor.register_hook")

    def _register(
        self, hook: Callable[[Tensor], Any], *, after: bool = False
    ) -> RemovableHandle:
        hooks = hooks_of(self._hooked())
        handle = RemovableHandle(hooks)
        hooks[handle.id] = NodeHook(hook, after)
        return handle

    def _variable(self) -> Tensor | None:
        token = self._result.token
        return token.owner() if type(token) is Token else None

    def _hooked(self) -> Tensor:
        """The tensor whose hooks are those of this node."""
        found = self._variable()
        if found is None:
            found = self._tensor
        return Tensor.from_value(self._result) if found is None else found

    def __getattr__(self, name: str) -> Any:
        # the node of a custom function shows its context
        rule = lazyloom.custom_rule(self._result.node) if not name.startswith("__") else None
        if rule is None or rule.owner is None:
            raise AttributeError(f"{self.name()} has no attribute {name!r}")
        return getattr(rule.owner, name)

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self) or other._result.node is not self._result.node:
            return False
        mine = self._result
        return type(mine.token) is not Token or mine.index == other._result.index

    def __hash__(self) -> int:
        return hash(id(self._result.node))

    def __repr__(self) -> str:
        return f"<{self.name()}>"


def _number(value: Value) -> int:
    """The number of a result among those of its derivative; a leaf's is the only one."""
    return 0 if type(value.token) is Token else value.index


_classes: dict[str, type[Node]] = {}


def node_of(value: Value, tensor: Tensor | None = None) -> Node:
    """The node of a value that requires a gradient, of a class with the derivative's name."""
    leaf = type(value.token) is Token
    name = "AccumulateGrad" if leaf else name_of(value.node).rpartition(":")[2]
    found = _classes.get(name)
    if found is None:
        found = _classes[name] = type(name, (Node,), {"__slots__": ()})
    return found(value, tensor)


def grad_fn(self: Tensor) -> Node | None:
    """The node of the graph that made a non-leaf that requires grad, None otherwise."""
    return None if self.is_leaf else node_of(self._operand(), self)


class GradientEdge(NamedTuple):
    """A tensor's place in the graph; ``grad`` takes it for the tensor."""

    node: Node
    output_nr: int


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """The place in the graph where the gradient of a tensor is found.

    Raises RuntimeError for a tensor that requires none.
    """
    if not tensor.requires_grad:
        raise RuntimeError(
            "It is not possible to get the gradient edge for a Tensor that does not require "
            "gradients")
    value = tensor._operand()
    return GradientEdge(node_of(value), _number(value))


def increment_version(tensor: Any) -> None:
    """Count one more write of a tensor, or of each of several, without one."""
    for t in (tensor,) if isinstance(tensor, Tensor) else tensor:
        t._assign(t._operand())


class _Several(RemovableHandle):
    """Removes a hook from all its tensors."""

    def __init__(self, handles: list[RemovableHandle]) -> None:
        super().__init__({})
        self.handles = handles

    def remove(self) -> None:
        while self.handles:
            self.handles.pop().remove()


__all__ = [
    "GradientEdge", "Node", "disable_saved_tensors_hooks", "get_gradient_edge",
    "increment_version", "register_multi_grad_hook", "save_on_cpu", "saved_tensors_hooks",
]
