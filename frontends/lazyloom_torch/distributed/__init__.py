"""``torch.distributed``: a program is one process, and programs that ask are told so."""

from __future__ import annotations

from typing import Any

from .. import _absent
from .._absent_names import MODULES


def is_available() -> bool:
    """False: there is no communication between processes."""
    return False


def is_initialized() -> bool:
    """False."""
    return False


is_torchelastic_launched = is_initialized
is_nccl_available = is_gloo_available = is_mpi_available = is_ucc_available = is_available
is_xccl_available = is_available


def is_backend_available(backend: str) -> bool:
    """False."""
    return False


def get_rank(group: Any = None) -> int:
    """ValueError, as PyTorch's where no process group was made."""
    raise ValueError("Default process group has not been initialized: a program is one process "
                     "here; ask torch.distributed.is_available() first")


def get_world_size(group: Any = None) -> int:
    """ValueError, as PyTorch's where no process group was made."""
    return get_rank(group)


class DistError(RuntimeError):
    """Never raised."""


class DistBackendError(DistError):
    """Never raised."""


class DistNetworkError(DistError):
    """Never raised."""


class DistStoreError(DistError):
    """Never raised."""


class QueueEmptyError(DistStoreError):
    """Never raised."""


__getattr__ = _absent.missing(__name__, reason=MODULES["distributed"])
