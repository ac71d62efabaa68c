"""``torch._C``: the few names of PyTorch's compiled part that programs and libraries touch."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

from .. import _absent
from .._draws import Generator as Generator
from .._dtypes import Size as Size
from .._dtypes import device as device
from .._dtypes import dtype as dtype
from .._tensor import Tensor as TensorBase
from . import _nn as _nn

_TensorBase = TensorBase
_TensorMeta = type(TensorBase)
_has_mps = _has_cuda = _has_xpu = has_mkl = has_openmp = False


class DisableTorchFunction(nullcontext[None]):
    """Nothing: there is no ``__torch_function__`` to switch off."""


class DisableTorchFunctionSubclass(nullcontext[None]):
    """Nothing: there is no ``__torch_function__`` to switch off."""


class DispatchKeySet:
    """A set of dispatch keys, which can be joined; nothing is dispatched by them."""

    def __init__(self, *keys: Any) -> None:
        self._keys = frozenset(keys)

    def __or__(self, other: DispatchKeySet) -> DispatchKeySet:
        return DispatchKeySet(*self._keys, *other._keys)

    def has(self, key: Any) -> bool:
        return key in self._keys


class _ExcludeDispatchKeyGuard(nullcontext[None]):
    """Nothing: nothing is dispatched by keys."""

    def __init__(self, keys: DispatchKeySet) -> None:
        super().__init__()


def _log_api_usage_once(event: str) -> None:
    """Nothing: nothing is counted."""


def _get_tracing_state() -> None:
    """None: nothing is traced."""


def _get_privateuse1_backend_name() -> str:
    return "privateuseone"


def _set_graph_executor_optimize(*args: Any) -> None:
    """Nothing, like the other switches of TorchScript's compiler."""


def _are_functorch_transforms_active() -> bool:
    return False


def _cuda_isInBadFork() -> bool:  # noqa: N802  (PyTorch's name)
    """False: there is no such device that a forked process could not use."""
    return False


def _cuda_clearCublasWorkspaces() -> None:  # noqa: N802  (PyTorch's name)
    """Nothing: there are no such workspaces."""


def _get_accelerator(check: Any = None) -> device:
    """The CPU, as PyTorch's where there is no accelerator."""
    return device("cpu")


_jit_set_profiling_executor = _jit_set_profiling_mode = _set_graph_executor_optimize
_jit_override_can_fuse_on_cpu = _jit_override_can_fuse_on_gpu = _set_graph_executor_optimize
_jit_set_texpr_fuser_enabled = _jit_set_nvfuser_enabled = _set_graph_executor_optimize

__getattr__ = _absent.missing(__name__)
