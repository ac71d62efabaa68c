"""The recorded graph as PyTorch shows it: ``grad_fn`` and its ``next_functions``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import lazyloom
from lazyloom import Value

from .._tensor import Leaf, RemovableHandle, Tensor
from .saved import disable_saved_tensors_hooks, save_on_cpu, saved_tensors_hooks

#: what PyTorch calls the derivative of an op whose name does not say it
_NAMES = {
    "subtract": "Sub", "multiply": "Mul", "divide": "Div", "negative": "Neg", "matmul": "Mm",
    "dot_general": "Mm", "power": "Pow", "integer_power": "Pow", "square": "Pow", "clip": "Clamp",
    "dynamic_slice": "Slice", "broadcast_to": "Expand", "concatenate": "Cat", "reshape": "View",
    "transpose": "Permute", "expand_dims": "Unsqueeze", "cast": "ToCopy", "identity": "Clone",
    "straight_through": "Copy", "take": "IndexSelect", "take_along_axis": "Gather",
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
    rule = lazyloom.host_rule(node)
    if rule is not None:
        return str(rule.name)
    if node.spec is None:
        return "torch::autograd::AccumulateGrad" if node.leaf is not None else "Backward"
    op = str(node.spec.op.name)
    base = op.partition(".")[0]
    name = _NAMES.get(base) or "".join(part.capitalize() for part in base.split("_"))
    return name if name == "CopySlices" else f"{name}Backward0"


class Node:
    """What made a non-leaf tensor: its name, and what it was made from."""

    __slots__ = ("_value",)

    def __init__(self, value: Value) -> None:
        self._value = value

    def name(self) -> str:
        """PyTorch's name of the derivative, such as ``AddBackward0``."""
        return name_of(self._value.node)

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """The nodes that a backward pass goes on to, each with the number of its result.

        None for an operand that requires no gradient. Empty once the graph was freed.
        """
        node = self._value.node
        found: list[tuple[Node | None, int]] = []
        for v in lazyloom.parents(self._value):
            found.append((None, 0) if v is None else (node_of(v), v.index))
        return tuple(found) if node.tracked else ()

    @property
    def metadata(self) -> dict[str, Any]:
        """Where the forward op was recorded."""
        return {"recorded_at": str(self._value.node.site)}

    @property
    def variable(self) -> Tensor | None:
        """The leaf that ``AccumulateGrad`` adds to, while it is alive."""
        token = self._value.node.leaf
        if type(token) is not Leaf:
            raise AttributeError(f"{self.name()} has no variable; only AccumulateGrad has")
        return token.owner() if token.owner is not None else None

    def tensor(self, index: int) -> Tensor:
        """A tensor of this node's result, on the same graph."""
        return Tensor._wrap(lazyloom.result_of(self._value, index))

    def __getattr__(self, name: str) -> Any:
        # the node of a custom function shows its context
        rule = lazyloom.host_rule(self._value.node) if not name.startswith("__") else None
        if rule is None or rule.owner is None:
            raise AttributeError(f"{self.name()} has no attribute {name!r}")
        return getattr(rule.owner, name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Node) and other._value.node is self._value.node

    def __hash__(self) -> int:
        return hash(id(self._value.node))

    def __repr__(self) -> str:
        return f"<{self.name()}>"


def node_of(value: Value) -> Node:
    """The node of a value that requires a gradient."""
    return Node(value)


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
    return GradientEdge(Node(value), value.index)


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
        for handle in self.handles:
            handle.remove()


def register_multi_grad_hook(
    tensors: Sequence[Tensor], fn: Callable[..., Any], *, mode: str = "all"
) -> RemovableHandle:
    """Call ``fn`` with the gradients of several tensors.

    With mode ``"all"`` with a list, once those of all of them are known; a pass that does not reach
    all of them does not call it. With ``"any"`` once, with the first that is known.
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    found: dict[int, Tensor] = {}
    called = [False]

    def hook_of(number: int) -> Callable[[Tensor], None]:
        def hook(gradient: Tensor) -> None:
            if mode == "any":
                if not called[0]:
                    called[0] = True
                    fn(gradient)
                return
            found[number] = gradient
            if len(found) == len(tensors):
                given = [found.get(i) for i in range(len(tensors))]
                found.clear()
                fn(given)

        return hook

    return _Several([t.register_hook(hook_of(i)) for i, t in enumerate(tensors)])


__all__ = [
    "GradientEdge", "Node", "disable_saved_tensors_hooks", "get_gradient_edge",
    "increment_version", "register_multi_grad_hook", "save_on_cpu", "saved_tensors_hooks",
]
