"""``torch.multiprocessing``: Python's, and functions about how tensors are shared.

Tensors travel by value: each process has its own.
"""

from __future__ import annotations

from multiprocessing import *  # noqa: F403

from .. import _absent
from .spawn import (
    ProcessContext as ProcessContext,
)
from .spawn import (
    ProcessException as ProcessException,
)
from .spawn import (
    ProcessExitedException as ProcessExitedException,
)
from .spawn import (
    ProcessRaisedException as ProcessRaisedException,
)
from .spawn import (
    SpawnContext as SpawnContext,
)
from .spawn import (
    spawn as spawn,
)
from .spawn import (
    start_processes as start_processes,
)

_strategy = ["file_system"]


def get_all_sharing_strategies() -> set[str]:
    """The names that can be set."""
    return {"file_descriptor", "file_system"}


def set_sharing_strategy(new_strategy: str) -> None:
    """Kept only: tensors are copied. AssertionError for another word."""
    assert new_strategy in get_all_sharing_strategies(), new_strategy
    _strategy[0] = new_strategy


def get_sharing_strategy() -> str:
    """What was set."""
    return _strategy[0]


__getattr__ = _absent.missing(__name__)
