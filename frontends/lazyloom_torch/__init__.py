"""A torch-like frontend of lazyloom: ``import lazyloom_torch as torch``.

Operations are recorded and run when a value is needed; names, promotion, aliasing,
gradients and errors are PyTorch's. Tensors live on the CPU.
"""

from __future__ import annotations

import os as _os
import sys as _sys
from math import e, inf, nan, pi  # noqa: F401
from typing import Any

import lazyloom as _lazyloom

from ._importing import without_collection as _without_collection

_lazyloom.skip_folder(_os.path.dirname(__file__))

with _without_collection():
    from . import (  # noqa: E402, F401
        _absent,
        _attaching,
        _dtypes,
        _internals,
        accelerator,
        autograd,
        backends,
        compiler,
        cuda,
        fft,
        linalg,
        random,
        return_types,
        signal,
        torch_version,
        version,
    )
    from ._as_torch import as_torch  # noqa: E402, F401
    from ._attaching import TAKES_OUT  # noqa: E402, F401
    from ._core import broadcast_shapes as _broadcast_shapes  # noqa: E402
    from ._dtypes import Size, device, dtype, finfo, get_default_dtype, iinfo  # noqa: E402, F401
    from ._dtypes import set_default_dtype as set_default_dtype  # noqa: E402, F401
    from ._filling import fill as _fill  # noqa: E402
    from ._foreign import naming  # noqa: E402, F401
    from ._functions import (  # noqa: E402, F401
        copies,
        counting,
        creation,
        indexing,
        linear,
        pointwise,
        recurrent,
        reductions,
        representation,
        scattering,
        segments,
        shaping,
        sorting,
        splitting,
        statistics,
        storages,
        strided,
        views,
    )
    from ._grad_mode import (  # noqa: E402, F401
        enable_grad,
        inference_mode,
        is_grad_enabled,
        is_inference_mode_enabled,
        no_grad,
        set_grad_enabled,
    )
    from ._out import taking_out  # noqa: E402, F401
    from ._promotion import can_cast, combine, promote_types  # noqa: E402, F401
    from ._publishing import public as _public  # noqa: E402
    from ._publishing import publish as _publish  # noqa: E402
    from ._repr import set_printoptions  # noqa: E402, F401
    from ._tensor import Tensor  # noqa: E402, F401
    from .random import Generator, default_generator, fork_rng, manual_seed  # noqa: E402, F401

    _attaching.attach()

__version__ = torch_version.TorchVersion(version.__version__)

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


def is_signed(input: Tensor) -> bool:
    """Whether the dtype has negative numbers."""
    return input.dtype.is_signed


def get_device(input: Tensor) -> int:
    """-1, as for every tensor on the CPU."""
    return -1


def detach(input: Tensor) -> Tensor:
    """The same data, without a history of gradients. Also a method."""
    return input.detach()


def numel(input: Tensor) -> int:
    """The number of elements."""
    return input.numel()


def is_nonzero(input: Tensor) -> bool:
    """Whether a tensor of one element is not zero; reads it."""
    return input.is_nonzero()


def result_type(tensor1: Any, tensor2: Any) -> dtype:
    """The dtype of an arithmetic result of two tensors or numbers."""
    return combine(pointwise.ranked(x) for x in (tensor1, tensor2))


def broadcast_shapes(*shapes: Any) -> Size:
    """The common shape. Raises RuntimeError if there is none."""
    return Size(_broadcast_shapes(*[(s,) if hasattr(s, "__index__") else s for s in shapes]))


#: loaded when they are first used, or imported by name
_LAZY_MODULES = frozenset((
    "_C", "__config__", "__future__", "_dynamo", "_jit_internal", "_utils", "distributed",
    "distributions", "export", "functional", "fx", "library", "mps", "mtia",
    "multiprocessing", "onnx", "overrides", "profiler", "sparse",
    "storage", "xpu"))
_absent.install()
torch = _sys.modules[__name__]  # as PyTorch's package has itself among its names
__getattr__ = _absent.missing(__name__)


with _without_collection():
    from . import (  # noqa: E402, F401
        _autocast,
        func,
        hub,
        jit,
        masked,
        nn,
        ops,
        optim,
        special,
        testing,
        types,
        utils,
    )
    from ._higher_order_ops import cond, while_loop  # noqa: E402, F401
    from .amp import GradScaler, autocast  # noqa: E402, F401
    from .amp.autocast_mode import (  # noqa: E402, F401
        autocast_decrement_nesting,
        autocast_increment_nesting,
        clear_autocast_cache,
        get_autocast_cpu_dtype,
        get_autocast_dtype,
        get_autocast_gpu_dtype,
        is_autocast_cache_enabled,
        is_autocast_cpu_enabled,
        is_autocast_enabled,
        set_autocast_cache_enabled,
        set_autocast_cpu_dtype,
        set_autocast_cpu_enabled,
        set_autocast_dtype,
        set_autocast_enabled,
        set_autocast_gpu_dtype,
    )
    from .autograd.anomaly_mode import (  # noqa: E402, F401
        is_check_nan_enabled as is_anomaly_check_nan_enabled,
    )
    from .autograd.anomaly_mode import is_enabled as is_anomaly_enabled  # noqa: E402, F401
    from .autograd.anomaly_mode import set_anomaly_enabled  # noqa: E402, F401
    from .cpu import amp as _cpu_amp  # noqa: E402, F401
    from .cuda import amp as _cuda_amp  # noqa: E402, F401
    from .func import vmap  # noqa: E402, F401
    from .serialization import load, save  # noqa: E402, F401

    _fill(__name__, _attaching.names())
    nn.modules.module.compiler.append(globals()["compile"])
    ops.namespaces += [globals(), vars(nn.functional)]

    for _name, _module in (
        ("", None), (".nn.functional", nn.functional), (".linalg", linalg), (".fft", fft),
        (".special", special), (".backends.cuda", backends.cuda),
    ):
        _publish(vars(_sys.modules[__name__] if _module is None else _module), f"{__name__}{_name}")
    _publish(vars(Tensor), __name__, "Tensor")

__all__ = _public(globals())  # noqa: PLE0605  # a list of strings


def __dir__() -> list[str]:
    later = (name for name in _LAZY_MODULES if not name.startswith("_"))
    return sorted({*_public(globals()), *later, "__version__"})
