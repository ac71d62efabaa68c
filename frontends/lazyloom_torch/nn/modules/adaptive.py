"""Softmax over many classes, the rare ones in clusters (Grave et al., 2016)."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Sequence
from typing import Any

from ..._functions import pointwise, shaping
from ..._functions.creation import zeros_like
from ..._tensor import Tensor
from .. import functional as F  # noqa: N812
from .container import ModuleList, Sequential
from .linear import Linear
from .module import Module

_ASMoutput = namedtuple("_ASMoutput", ["output", "loss"])


class AdaptiveLogSoftmaxWithLoss(Module):
    """Log probabilities of targets, and their mean negative.

    The first classes, up to the first of ``cutoffs``, and each cluster of the others have a place
    in the head; each cluster has a smaller projection of its own. Every cluster is computed for
    every row, so that no shape depends on the targets.
    """

    def __init__(
        self, in_features: int, n_classes: int, cutoffs: Sequence[int], div_value: float = 4.0,
        head_bias: bool = False, device: Any = None, dtype: Any = None,
    ) -> None:
        super().__init__()
        cutoffs = list(cutoffs)
        if not cutoffs:
            raise ValueError("cutoffs should be a sequence of length larger than 0")
        if cutoffs != sorted(set(cutoffs)) or min(cutoffs) <= 0 or max(cutoffs) > n_classes - 1 or (
            any(int(c) != c for c in cutoffs)
        ):
            raise ValueError(
                "cutoffs should be a sequence of unique, positive integers sorted in an increasing "
                "order, where each value is between 1 and n_classes-1")
        made = {"device": device, "dtype": dtype}
        self.in_features, self.n_classes = in_features, n_classes
        self.cutoffs = [*cutoffs, n_classes]
        self.div_value, self.head_bias = div_value, head_bias
        self.shortlist_size = self.cutoffs[0]
        self.n_clusters = len(self.cutoffs) - 1
        self.head_size = self.shortlist_size + self.n_clusters
        self.head = Linear(in_features, self.head_size, bias=head_bias, **made)
        self.tail = ModuleList()
        for i in range(self.n_clusters):
            inner = int(in_features // div_value ** (i + 1))
            self.tail.append(Sequential(
                Linear(in_features, inner, bias=False, **made),
                Linear(inner, self.cutoffs[i + 1] - self.cutoffs[i], bias=False, **made)))

    def reset_parameters(self) -> None:
        """New random values."""
        self.head.reset_parameters()
        for pair in self.tail:
            for layer in pair.children():
                layer.reset_parameters()

    def forward(self, input_: Tensor, target_: Tensor) -> Any:
        single = target_.dim() == 0
        if target_.dim() > 1:
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
        if single:
            if input_.dim() != 1:
                raise RuntimeError("0D target tensor expects 1D input tensors, but found inputs "
                                   f"with size {list(input_.size())}")
        elif input_.dim() != 2:
            raise RuntimeError("1D target tensor expects 2D input tensors, but found inputs with "
                               f"size {list(input_.size())}")
        elif input_.size(0) != target_.size(0):
            raise RuntimeError("Input and target should have the same size in the batch dimension.")
        x = input_.unsqueeze(0) if single else input_
        target = target_.unsqueeze(0) if single else target_
        head = F.log_softmax(self.head(x), dim=1)
        place, local = target, zeros_like(head[:, 0])
        for i in range(self.n_clusters):
            low, high = self.cutoffs[i], self.cutoffs[i + 1]
            inside = (target >= low) & (target < high)
            tail = F.log_softmax(self.tail[i](x), dim=1)
            found = _taken(tail, (target - low).clamp(0, high - low - 1))
            local = pointwise.where(inside, found, local)
            place = pointwise.where(inside, self.shortlist_size + i, place)
        output = _taken(head, place) + local
        loss = (-output).mean()
        return _ASMoutput(output.squeeze(0) if single else output, loss)

    def log_prob(self, input: Tensor) -> Tensor:
        """The log probabilities (N, n_classes) of all classes."""
        head = F.log_softmax(self.head(input), dim=1)
        size = self.shortlist_size
        return shaping.cat([head[:, :size], *(
            F.log_softmax(self.tail[i](input), dim=1) + head[:, size + i].unsqueeze(1)
            for i in range(self.n_clusters))], 1)

    def predict(self, input: Tensor) -> Tensor:
        """The most likely class of each row."""
        made: Tensor = self.log_prob(input).argmax(1)
        return made


def _taken(rows: Tensor, places: Tensor) -> Tensor:
    made: Tensor = rows.gather(1, places.unsqueeze(1)).squeeze(1)
    return made


__all__ = ["AdaptiveLogSoftmaxWithLoss"]
