"""A torch-like frontend of lazyloom: ``import lazyloom_torch as torch``.

Operations are recorded and run when a value is needed; names, promotion, aliasing,
gradients and errors are PyTorch's. Tensors live on the CPU.
"""

from __future__ import annotations

import os as _os
from math import e, inf, nan, pi
from typing import Any

import lazyloom as _lazyloom

_lazyloom.skip_folder(_os.path.dirname(__file__))

from . import (  # noqa: E402
    _dtypes,
    _methods,
    accelerator,
    autograd,
    cuda,
    fft,
    linalg,
    random,
    return_types,
    signal,
)
from ._dtypes import Size, device, dtype, finfo, get_default_dtype, iinfo  # noqa: E402
from ._dtypes import set_default_dtype as set_default_dtype  # noqa: E402
from ._formats import FUNCTIONS as _formats  # noqa: E402
from ._functions import (  # noqa: E402
    copies,
    creation,
    indexing,
    linear,
    matrices,
    pointwise,
    reductions,
    scattering,
    shaping,
    sorting,
    spectral,
    splitting,
    statistics,
    strided,
    views,
)
from ._grad_mode import (  # noqa: E402
    enable_grad,
    inference_mode,
    is_grad_enabled,
    no_grad,
    set_grad_enabled,
)
from ._out import NAMES as TAKES_OUT  # noqa: E402
from ._out import taking_out  # noqa: E402
from ._promotion import can_cast, combine, promote_types  # noqa: E402
from ._repr import set_printoptions  # noqa: E402
from ._settings import FUNCTIONS as _settings  # noqa: E402
from ._settings import backends  # noqa: E402
from ._tensor import Tensor  # noqa: E402
from .random import Generator, default_generator, fork_rng, manual_seed  # noqa: E402

_methods.attach()

for _module in (pointwise, reductions, views, splitting, strided, copies, shaping,
                linear, indexing, scattering, sorting, creation, random, matrices,
                statistics, spectral):
    for _name, _function in _module.FUNCTIONS.items():
        if _name not in getattr(_module, "METHODS_ONLY", ()):
            globals()[_name] = taking_out(_function) if _name in TAKES_OUT else _function
for _name, _dtype in _dtypes.NAMES.items():
    globals()[_name] = _dtype

globals().update(_settings)
globals().update(_formats)

#: the version of PyTorch whose names and behaviour are followed
__version__ = "2.13.0"

newaxis = None


def is_tensor(obj: Any) -> bool:
    """Whether obj is a Tensor."""
    return isinstance(obj, Tensor)


def is_floating_point(input: Tensor) -> bool:
    """Whether the dtype is floating point."""
    return input.is_floating_point()


def is_complex(input: Tensor) -> bool:
    """Whether the dtype is complex."""
    return input.is_complex()


def numel(input: Tensor) -> int:
    """The number of elements."""
    return input.numel()


def is_nonzero(input: Tensor) -> bool:
    """Whether a tensor of one element is not zero; reads it."""
    return bool(input)


def result_type(tensor1: Any, tensor2: Any) -> dtype:
    """The dtype of an arithmetic result of two tensors or numbers."""
    return combine(pointwise.ranked(x) for x in (tensor1, tensor2))


def broadcast_shapes(*shapes: Any) -> Size:
    """The common shape. Raises RuntimeError if there is none."""
    from ._core import broadcast_shapes as find

    return Size(find(*shapes))


from . import func, nn, optim, testing, utils  # noqa: E402
from ._functions.activations import FUNCTIONS as _activations  # noqa: E402
from .func import vmap  # noqa: E402
from .serialization import load, save  # noqa: E402

for _name in ("softmax", "log_softmax", "dropout", "layer_norm", "embedding", "celu_", "selu_"):
    if _name in _activations:
        globals()[_name] = _activations[_name]

__all__ = [
    "Generator", "Size", "Tensor", "__version__", "accelerator", "autograd", "backends",
    "broadcast_shapes", "can_cast",
    "cuda", "default_generator", "device", "dtype", "e", "enable_grad",
    "finfo", "fork_rng", "func",
    "get_default_dtype", "iinfo", "inf", "inference_mode", "is_complex", "is_floating_point",
    "is_grad_enabled", "is_nonzero", "is_tensor", "linalg", "load", "manual_seed", "nan", "newaxis",
    "nn",
    "no_grad", "numel", "optim", "pi", "promote_types", "random", "result_type",
    "return_types",
    "save", "set_default_dtype", "set_grad_enabled", "set_printoptions", "testing",
    "utils", "vmap",
]  # fmt: skip
