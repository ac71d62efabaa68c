"""The exceptions of ``torch.distributed``, under PyTorch's names."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from lazyloom.errors import DistributedError


class DistError(RuntimeError):
    """Something between processes failed."""


class DistBackendError(DistError):
    """A collective failed, or the processes could not form a group."""


class DistNetworkError(DistError):
    """Another process could not be reached."""


class DistStoreError(DistError):
    """A store did not answer, or a key was not set in time."""


class QueueEmptyError(DistStoreError):
    """Never raised: stores have no queues here."""


class _BackendError(DistributedError, DistBackendError):
    """The runtime's error, as what PyTorch programs catch as well."""


@contextmanager
def as_torch() -> Iterator[None]:
    """Raise the runtime's errors as :class:`DistBackendError` too."""
    try:
        yield
    except DistributedError as error:
        if isinstance(error, DistBackendError):
            raise
        raise _BackendError(str(error)) from error
