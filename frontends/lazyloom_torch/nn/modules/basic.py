"""Linear maps, embeddings, dropout, reshaping, and other modules without state of their own."""

from __future__ import annotations

import math
from typing import Any

from ... import _dtypes
from ..._functions import activations, linear, losses, windows
from ..._functions.creation import empty, zeros
from ..._tensor import Tensor
from .. import init
from ..parameter import Parameter
from .module import Module


def make_parameter(shape: tuple[int, ...], dtype: Any) -> Parameter:
    """A parameter still to be initialised."""
    return Parameter(empty(shape, dtype=dtype))


class Identity(Module):
    """Returns its input; takes and ignores any arguments."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        return input


class Linear(Module):
    """``x @ weight.T + bias``, weight of shape (out_features, in_features).

    Initial values are uniform with bound ``1 / sqrt(in_features)``.
    """

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        _dtypes.check_device(device)
        self.in_features = in_features
        self.out_features = out_features
        self.weight = make_parameter((out_features, in_features), dtype)
        self.register_parameter("bias", make_parameter((out_features,), dtype) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None and self.in_features:
            bound = 1 / math.sqrt(self.in_features)
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor) -> Tensor:
        own = self._parameters
        if "weight" in own and "bias" in own:  # the usual case, without __getattr__
            return activations.linear(input, own["weight"], own["bias"])
        return activations.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        return (f"in_features={self.in_features}, out_features={self.out_features}, "
                f"bias={self.bias is not None}")


class Bilinear(Module):
    """``x1 @ weight[k] @ x2 + bias[k]`` for each output k."""

    def __init__(
        self, in1_features: int, in2_features: int, out_features: int, bias: bool = True,
        device: Any = None, dtype: Any = None,
    ) -> None:
        super().__init__()
        _dtypes.check_device(device)
        self.in1_features, self.in2_features = in1_features, in2_features
        self.out_features = out_features
        self.weight = make_parameter((out_features, in1_features, in2_features), dtype)
        self.register_parameter("bias", make_parameter((out_features,), dtype) if bias else None)
        bound = 1 / math.sqrt(in1_features)
        for p in self.parameters():
            init.uniform_(p, -bound, bound)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        return activations.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        return (f"in1_features={self.in1_features}, in2_features={self.in2_features}, "
                f"out_features={self.out_features}, bias={self.bias is not None}")


class Embedding(Module):
    """A table of vectors looked up by index; initial values are normal."""

    def __init__(
        self, num_embeddings: int, embedding_dim: int, padding_idx: int | None = None,
        max_norm: float | None = None, norm_type: float = 2.0, scale_grad_by_freq: bool = False,
        sparse: bool = False, _weight: Tensor | None = None, _freeze: bool = False,
        device: Any = None, dtype: Any = None,
    ) -> None:
        super().__init__()
        _dtypes.check_device(device)
        if max_norm is not None or scale_grad_by_freq or sparse:
            raise RuntimeError(
                "Embedding: max_norm, scale_grad_by_freq and sparse are not supported; leave them "
                "out")
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        if padding_idx is not None:
            if not -num_embeddings <= padding_idx < num_embeddings:
                raise AssertionError("Padding_idx must be within num_embeddings")
            padding_idx %= num_embeddings
        self.padding_idx = padding_idx
        if _weight is not None:
            self.weight = Parameter(_weight, requires_grad=not _freeze)
            return
        self.weight = make_parameter((num_embeddings, embedding_dim), dtype)
        self.reset_parameters()

    @classmethod
    def from_pretrained(cls, embeddings: Tensor, freeze: bool = True,
                        padding_idx: int | None = None) -> Embedding:
        """An embedding with the given table, fixed unless freeze is False."""
        rows, cols = embeddings.shape
        return cls(rows, cols, padding_idx, _weight=embeddings, _freeze=freeze)

    def reset_parameters(self) -> None:
        init.normal_(self.weight)
        if self.padding_idx is not None:
            from ..._grad_mode import no_grad

            with no_grad():
                self.weight[self.padding_idx] = 0.0

    def forward(self, input: Tensor) -> Tensor:
        return activations.embedding(input, self.weight, self.padding_idx)

    def extra_repr(self) -> str:
        pad = f", padding_idx={self.padding_idx}" if self.padding_idx is not None else ""
        return f"{self.num_embeddings}, {self.embedding_dim}{pad}"


class _DropoutBase(Module):
    function = staticmethod(activations.dropout)

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if not 0.0 <= p <= 1.0:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p, self.inplace = p, inplace

    def forward(self, input: Tensor) -> Tensor:
        return type(self).function(input, self.p, self.training, self.inplace)

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_DropoutBase):
    """Zeroes elements with probability p in training, and scales the others up."""


class Dropout1d(_DropoutBase):
    """Dropout of whole channels of (N, C, L)."""

    function = staticmethod(activations.dropout1d)


class Dropout2d(_DropoutBase):
    """Dropout of whole channels of (N, C, H, W)."""

    function = staticmethod(activations.dropout2d)


class Dropout3d(_DropoutBase):
    """Dropout of whole channels of (N, C, D, H, W)."""

    function = staticmethod(activations.dropout3d)


class AlphaDropout(_DropoutBase):
    """Dropout for SELU networks."""

    def forward(self, input: Tensor) -> Tensor:
        return activations.alpha_dropout(input, self.p, self.training)


class Flatten(Module):
    """Dimensions from start_dim to end_dim as one."""

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, input: Tensor) -> Tensor:
        made: Tensor = input.flatten(self.start_dim, self.end_dim)
        return made

    def extra_repr(self) -> str:
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """One dimension as several."""

    def __init__(self, dim: int, unflattened_size: Any) -> None:
        super().__init__()
        self.dim, self.unflattened_size = dim, unflattened_size

    def forward(self, input: Tensor) -> Tensor:
        made: Tensor = input.unflatten(self.dim, self.unflattened_size)
        return made

    def extra_repr(self) -> str:
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"


class Upsample(Module):
    """Resizes spatial dimensions; see ``functional.interpolate``."""

    def __init__(self, size: Any = None, scale_factor: Any = None, mode: str = "nearest",
                 align_corners: bool | None = None) -> None:
        super().__init__()
        self.size, self.scale_factor = size, scale_factor
        self.mode, self.align_corners = mode, align_corners

    def forward(self, input: Tensor) -> Tensor:
        return windows.interpolate(input, self.size, self.scale_factor, self.mode,
                                   self.align_corners)

    def extra_repr(self) -> str:
        what = f"scale_factor={self.scale_factor}" if self.scale_factor else f"size={self.size}"
        return f"{what}, mode='{self.mode}'"


class PReLU(Module):
    """Leaky ReLU with learned slopes, one or one per channel."""

    def __init__(self, num_parameters: int = 1, init: float = 0.25, device: Any = None,
                 dtype: Any = None) -> None:
        super().__init__()
        _dtypes.check_device(device)
        self.num_parameters = num_parameters
        self.weight = Parameter(zeros((num_parameters,), dtype=dtype) + float(init))

    def forward(self, input: Tensor) -> Tensor:
        return activations.prelu(input, self.weight)

    def extra_repr(self) -> str:
        return f"num_parameters={self.num_parameters}"


class CosineSimilarity(Module):
    """The cosine of the angle between vectors along a dimension."""

    def __init__(self, dim: int = 1, eps: float = 1e-8) -> None:
        super().__init__()
        self.dim, self.eps = dim, eps

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return linear.cosine_similarity(x1, x2, self.dim, self.eps)


class PairwiseDistance(Module):
    """The norm of differences along the last dimension."""

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        super().__init__()
        self.norm, self.eps, self.keepdim = p, eps, keepdim

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        made: Tensor = (x1 - x2 + self.eps).norm(self.norm, -1, self.keepdim)
        return made


class PixelShuffle(Module):
    """Channels as pixels; see ``functional.pixel_shuffle``."""

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        self.upscale_factor = upscale_factor

    def forward(self, input: Tensor) -> Tensor:
        return windows.pixel_shuffle(input, self.upscale_factor)


# Modules that only hold the arguments of a function: class name -> (function, arguments).

_ACTIVATIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "ReLU": ("relu", {"inplace": False}), "ReLU6": ("relu6", {"inplace": False}),
    "Sigmoid": ("sigmoid", {}), "Tanh": ("tanh", {}), "GELU": ("gelu", {"approximate": "none"}),
    "SiLU": ("silu", {"inplace": False}), "Mish": ("mish", {"inplace": False}),
    "ELU": ("elu", {"alpha": 1.0, "inplace": False}),
    "CELU": ("celu", {"alpha": 1.0, "inplace": False}), "SELU": ("selu", {"inplace": False}),
    "LeakyReLU": ("leaky_relu", {"negative_slope": 0.01, "inplace": False}),
    "Hardtanh": ("hardtanh", {"min_val": -1.0, "max_val": 1.0, "inplace": False}),
    "Hardsigmoid": ("hardsigmoid", {"inplace": False}),
    "Hardswish": ("hardswish", {"inplace": False}), "LogSigmoid": ("logsigmoid", {}),
    "Softplus": ("softplus", {"beta": 1.0, "threshold": 20.0}), "Softsign": ("softsign", {}),
    "Softshrink": ("softshrink", {"lambd": 0.5}), "Hardshrink": ("hardshrink", {"lambd": 0.5}),
    "Tanhshrink": ("tanhshrink", {}), "GLU": ("glu", {"dim": -1}),
    "Softmax": ("softmax", {"dim": None}), "LogSoftmax": ("log_softmax", {"dim": None}),
    "Softmin": ("softmin", {"dim": None}),
    "Threshold": ("threshold", {"threshold": ..., "value": ..., "inplace": False}),
}
_LOSSES: dict[str, tuple[str, dict[str, Any]]] = {
    "CrossEntropyLoss": ("cross_entropy", {
        "weight": None, "ignore_index": -100, "reduction": "mean", "label_smoothing": 0.0}),
    "NLLLoss": ("nll_loss", {"weight": None, "ignore_index": -100, "reduction": "mean"}),
    "MSELoss": ("mse_loss", {"reduction": "mean"}), "L1Loss": ("l1_loss", {"reduction": "mean"}),
    "SmoothL1Loss": ("smooth_l1_loss", {"reduction": "mean", "beta": 1.0}),
    "HuberLoss": ("huber_loss", {"reduction": "mean", "delta": 1.0}),
    "BCELoss": ("binary_cross_entropy", {"weight": None, "reduction": "mean"}),
    "BCEWithLogitsLoss": ("binary_cross_entropy_with_logits", {
        "weight": None, "reduction": "mean", "pos_weight": None}),
    "KLDivLoss": ("kl_div", {"reduction": "mean", "log_target": False}),
    "SoftMarginLoss": ("soft_margin_loss", {"reduction": "mean"}),
    "HingeEmbeddingLoss": ("hinge_embedding_loss", {"margin": 1.0, "reduction": "mean"}),
    "MarginRankingLoss": ("margin_ranking_loss", {"margin": 0.0, "reduction": "mean"}),
    "CosineEmbeddingLoss": ("cosine_embedding_loss", {"margin": 0.0, "reduction": "mean"}),
    "TripletMarginLoss": ("triplet_margin_loss", {
        "margin": 1.0, "p": 2.0, "eps": 1e-6, "reduction": "mean"}),
    "PoissonNLLLoss": ("poisson_nll_loss", {"log_input": True, "eps": 1e-8, "reduction": "mean"}),
    "GaussianNLLLoss": ("gaussian_nll_loss", {"eps": 1e-6, "reduction": "mean"}),
}
_POOLS: dict[str, tuple[str, dict[str, Any]]] = {}
for _n in (1, 2, 3):
    _POOLS[f"MaxPool{_n}d"] = (f"max_pool{_n}d", {
        "kernel_size": ..., "stride": None, "padding": 0, "dilation": 1, "return_indices": False,
        "ceil_mode": False})
    _POOLS[f"AvgPool{_n}d"] = (f"avg_pool{_n}d", {
        "kernel_size": ..., "stride": None, "padding": 0, "ceil_mode": False,
        "count_include_pad": True})
    for _kind in ("Avg", "Max"):
        _POOLS[f"Adaptive{_kind}Pool{_n}d"] = (
            f"adaptive_{_kind.lower()}_pool{_n}d", {"output_size": ...})
_POOLS["Unfold"] = ("unfold", {"kernel_size": ..., "dilation": 1, "padding": 0, "stride": 1})


def _holder(name: str, function: Any, arguments: dict[str, Any]) -> type[Module]:
    order = list(arguments)

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        Module.__init__(self)
        if len(args) > len(order):
            raise TypeError(f"{name} takes at most {len(order)} arguments ({', '.join(order)})")
        given = {**arguments, **dict(zip(order, args, strict=False))}
        for key, value in kwargs.items():
            if key not in arguments:
                raise TypeError(f"{name}.__init__() got an unexpected keyword argument {key!r}")
            given[key] = value
        for key, value in given.items():
            if value is ...:
                raise TypeError(f"{name}.__init__() missing argument: {key!r}")
            if isinstance(value, Tensor):
                self.register_buffer(key, value)
            elif key == "stride" and value is None:
                self.stride = given["kernel_size"]
            else:
                setattr(self, key, value)

    def forward(self: Any, *inputs: Tensor) -> Tensor:
        made: Tensor = function(*inputs, **{k: getattr(self, k) for k in order})
        return made

    def extra_repr(self: Any) -> str:
        if "stride" in order:
            hidden = {"return_indices", "count_include_pad"}
            if name.startswith("Avg"):
                hidden.add("ceil_mode")
            return ", ".join(f"{k}={getattr(self, k)!r}" for k in order if k not in hidden)
        return ", ".join(f"{k}={getattr(self, k)!r}" for k in order if k == "kernel_size" or (
            getattr(self, k) is not None and arguments[k] != getattr(self, k)))

    return type(name, (Module,), {
        "__init__": __init__, "forward": forward, "extra_repr": extra_repr,
        "__module__": __name__,
        "__doc__": f"``functional.{function.__name__}`` with the arguments {', '.join(order)}."})


HOLDERS: dict[str, type[Module]] = {
    name: _holder(name, module.FUNCTIONS[function], arguments)
    for table, module in ((_ACTIVATIONS, activations), (_LOSSES, losses), (_POOLS, windows))
    for name, (function, arguments) in table.items()
}
globals().update(HOLDERS)
