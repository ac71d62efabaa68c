"""Losses."""

# a loss of three tensors is one of PyTorch's losses, too
# mypy: disable-error-code="override"

from __future__ import annotations

import warnings
from typing import Any

from ..._tensor import Tensor
from .. import functional as F  # noqa: N812
from ._declared import Declared
from .distance import PairwiseDistance


def reduction_of(size_average: Any, reduce: Any, reduction: str) -> str:
    """The reduction that two older arguments mean, where they are given."""
    if size_average is None and reduce is None:
        return reduction
    found = "none" if reduce is False else "sum" if size_average is False else "mean"
    warnings.warn(
        f"size_average and reduce args will be deprecated, please use reduction='{found}' instead.",
        stacklevel=4)
    return found


#: older arguments, which together mean a reduction
_OLDER = ("size_average", "reduce")


class _Loss(Declared, declared=True):
    """A loss of an input and a target, which its function takes with all arguments by name."""

    size_average: Any = None
    reduce: Any = None
    reduction: str = "mean"

    def _take(self, arguments: dict[str, Any]) -> None:
        if "size_average" in arguments:
            size_average, reduce = [arguments.pop(name) for name in _OLDER]
            arguments["reduction"] = reduction_of(size_average, reduce, arguments["reduction"])
        for name in ("weight", "pos_weight"):
            if name in arguments:
                self.register_buffer(name, arguments.pop(name))
        super()._take(arguments)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return self._call(input, target)

    def _call(self, *inputs: Any) -> Any:
        own = {n: getattr(self, n) for n in self._arguments if n not in _OLDER}
        return getattr(F, self._function)(*inputs, **own)


class _WeightedLoss(_Loss, declared=True):
    """A loss with a weight for each class or element."""

    weight: Tensor | None = None
    size_average: Any = None
    reduce: Any = None
    reduction: str = "mean"


class L1Loss(_Loss, function="l1_loss"):
    """``|input - target|``."""


class NLLLoss(_WeightedLoss, function="nll_loss"):
    """The negative log probability at each class index; input (N, C, ...) holds logs."""

    weight: Tensor | None = None
    size_average: Any = None
    ignore_index: int = -100
    reduce: Any = None
    reduction: str = "mean"


class NLLLoss2d(NLLLoss):
    """:class:`NLLLoss`, as it was called for images."""


class PoissonNLLLoss(_Loss, function="poisson_nll_loss"):
    """The negative log likelihood of Poisson counts; input is the rate, or its logarithm."""

    log_input: bool = True
    full: bool = False
    size_average: Any = None
    eps: float = 1e-8
    reduce: Any = None
    reduction: str = "mean"

    def forward(self, log_input: Tensor, target: Tensor) -> Tensor:
        return self._call(log_input, target)


class GaussianNLLLoss(_Loss, function="gaussian_nll_loss"):
    """The negative log likelihood of normal values with mean input and variance var."""

    full: bool = False
    eps: float = 1e-6
    reduction: str = "mean"
    keyword_only = ("full", "eps", "reduction")

    def forward(self, input: Tensor, target: Tensor, var: Any) -> Tensor:
        return self._call(input, target, var)


class KLDivLoss(_Loss, function="kl_div"):
    """``target * (log(target) - input)``, input holding logs."""

    size_average: Any = None
    reduce: Any = None
    reduction: str = "mean"
    log_target: bool = False


class MSELoss(_Loss, function="mse_loss"):
    """``(input - target) ** 2``."""


class BCELoss(_WeightedLoss, function="binary_cross_entropy"):
    """Cross entropy of probabilities and targets in [0, 1]."""


class BCEWithLogitsLoss(_Loss, function="binary_cross_entropy_with_logits"):
    """Cross entropy of logits and targets in [0, 1]."""

    weight: Tensor | None = None
    size_average: Any = None
    reduce: Any = None
    reduction: str = "mean"
    pos_weight: Tensor | None = None


class HingeEmbeddingLoss(_Loss, function="hinge_embedding_loss"):
    """The input where target is 1, ``max(0, margin - input)`` where it is -1."""

    margin: float = 1.0
    size_average: Any = None
    reduce: Any = None
    reduction: str = "mean"


class MultiLabelMarginLoss(_Loss, function="multilabel_margin_loss"):
    """Hinge loss of several classes a sample; target lists them, ended by -1."""


class SmoothL1Loss(_Loss, function="smooth_l1_loss"):
    """Quadratic near the target, then linear; the Huber loss divided by beta."""

    size_average: Any = None
    reduce: Any = None
    reduction: str = "mean"
    beta: float = 1.0


class HuberLoss(_Loss, function="huber_loss"):
    """Quadratic near the target, linear farther than delta."""

    reduction: str = "mean"
    delta: float = 1.0


class SoftMarginLoss(_Loss, function="soft_margin_loss"):
    """``log(1 + exp(-target * input))`` for targets 1 and -1."""


class CrossEntropyLoss(_WeightedLoss, function="cross_entropy"):
    """Cross entropy of logits (N, C, ...) and class indices or probabilities."""

    weight: Tensor | None = None
    size_average: Any = None
    ignore_index: int = -100
    reduce: Any = None
    reduction: str = "mean"
    label_smoothing: float = 0.0


class MultiLabelSoftMarginLoss(_WeightedLoss, function="multilabel_soft_margin_loss"):
    """The mean over classes of cross entropy of logits and targets in [0, 1]."""


class CosineEmbeddingLoss(_Loss, function="cosine_embedding_loss"):
    """``1 - cos`` where target is 1, ``max(0, cos - margin)`` where it is -1."""

    margin: float = 0.0
    size_average: Any = None
    reduce: Any = None
    reduction: str = "mean"

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        return self._call(input1, input2, target)


class MarginRankingLoss(_Loss, function="margin_ranking_loss"):
    """``max(0, -target * (input1 - input2) + margin)``."""

    margin: float = 0.0
    size_average: Any = None
    reduce: Any = None
    reduction: str = "mean"

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        return self._call(input1, input2, target)


class MultiMarginLoss(_WeightedLoss, function="multi_margin_loss"):
    """Hinge loss between the input at the class index and at each other class."""

    p: int = 1
    margin: float = 1.0
    weight: Tensor | None = None
    size_average: Any = None
    reduce: Any = None
    reduction: str = "mean"

    def _take(self, arguments: dict[str, Any]) -> None:
        if arguments["p"] not in (1, 2):
            raise ValueError("only p == 1 and p == 2 supported")
        if arguments["weight"] is not None and arguments["weight"].dim() != 1:
            raise ValueError(
                "MultiMarginLoss: expected weight to be None or 1D tensor, got "
                f"{arguments['weight'].dim()}D instead")
        super()._take(arguments)


class TripletMarginLoss(_Loss, function="triplet_margin_loss"):
    """``max(0, |anchor - positive| - |anchor - negative| + margin)``."""

    margin: float = 1.0
    p: float = 2.0
    eps: float = 1e-6
    swap: bool = False
    size_average: Any = None
    reduce: Any = None
    reduction: str = "mean"

    def _take(self, arguments: dict[str, Any]) -> None:
        if arguments["margin"] <= 0:
            raise ValueError(f"TripletMarginLoss: expected margin to be greater than 0, got "
                             f"{arguments['margin']} instead")
        super()._take(arguments)

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        return self._call(anchor, positive, negative)


class TripletMarginWithDistanceLoss(_Loss, function="triplet_margin_with_distance_loss"):
    """:class:`TripletMarginLoss` with any function as the distance."""

    distance_function: Any = None
    margin: float = 1.0
    swap: bool = False
    reduction: str = "mean"
    keyword_only = ("distance_function", "margin", "swap", "reduction")

    def _take(self, arguments: dict[str, Any]) -> None:
        if arguments["margin"] <= 0:
            raise ValueError(f"TripletMarginWithDistanceLoss: expected margin to be greater than "
                             f"0, got {arguments['margin']} instead")
        distance = arguments.pop("distance_function")
        super()._take(arguments)
        # set as an attribute, since a module is a child
        self.distance_function = PairwiseDistance() if distance is None else distance

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        return self._call(anchor, positive, negative)


class CTCLoss(_Loss, function="ctc_loss"):
    """The negative log probability of label sequences under all their alignments."""

    blank: int = 0
    reduction: str = "mean"
    zero_infinity: bool = False

    def forward(self, log_probs: Tensor, targets: Tensor, input_lengths: Any,
                target_lengths: Any) -> Tensor:
        return self._call(log_probs, targets, input_lengths, target_lengths)


__all__ = [
    "BCELoss", "BCEWithLogitsLoss", "CTCLoss", "CosineEmbeddingLoss", "CrossEntropyLoss",
    "GaussianNLLLoss", "HingeEmbeddingLoss", "HuberLoss", "KLDivLoss", "L1Loss", "MSELoss",
    "MarginRankingLoss", "MultiLabelMarginLoss", "MultiLabelSoftMarginLoss", "MultiMarginLoss",
    "NLLLoss", "NLLLoss2d", "PoissonNLLLoss", "SmoothL1Loss", "SoftMarginLoss",
    "TripletMarginLoss", "TripletMarginWithDistanceLoss",
]
