"""``torch.distributed``: several processes of one program, and collectives among them.

``python -m lazyloom run`` or torchrun start the processes, :func:`init_process_group` joins them.
"""

# ruff: noqa: F403
from __future__ import annotations

from .. import _absent
from .._absent_names import ALONE
from .._processes.reducer import BuiltinCommHookType as BuiltinCommHookType
from .._processes.reducer import GradBucket as GradBucket
from . import algorithms as algorithms
from . import distributed_c10d
from . import nn as nn
from .distributed_c10d import *

__all__ = distributed_c10d.__all__

__getattr__ = _absent.missing(__name__, reason=ALONE)
