"""``torch.distributed``: several processes of one program, and collectives among them.

``python -m lazyloom run`` or torchrun start the processes, :func:`init_process_group` joins them.
"""

# ruff: noqa: F403
from __future__ import annotations

import importlib
from typing import Any

from .. import _absent
from .._absent_names import ALONE
from .._processes.reducer import BuiltinCommHookType as BuiltinCommHookType
from .._processes.reducer import GradBucket as GradBucket
from . import algorithms as algorithms
from . import distributed_c10d
from . import nn as nn
from .distributed_c10d import *

__all__ = distributed_c10d.__all__

_LAZY_MODULES = frozenset(("_functional_collectives", "_tensor", "device_mesh", "tensor"))
_missing = _absent.missing(__name__, reason=ALONE)


def __getattr__(name: str) -> Any:
    """Names of modules that few programs need, and of what is not here."""
    if name in ("DeviceMesh", "init_device_mesh"):
        return getattr(importlib.import_module(f"{__name__}.device_mesh"), name)
    return _missing(name)
