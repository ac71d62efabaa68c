"""``torch.nn``."""

from __future__ import annotations

from .. import _absent
from . import attention, common_types, functional, grad, init, modules, parallel, parameter, utils
from .modules import *  # noqa: F403
from .modules.module import Module
from .parallel import DataParallel
from .parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter

__all__ = [
    "Buffer", "DataParallel", "Module", "Parameter", "UninitializedBuffer",
    "UninitializedParameter", "attention", "common_types", "functional", "grad", "init",
    "modules", "parallel", "parameter", "utils",
]
__all__ += modules.__all__

__getattr__ = _absent.missing(__name__)
