"""Places that processes pass together."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Any

from . import calls
from .arguments import member, ready
from .errors import DistBackendError, as_torch
from .groups import ProcessGroup, default_store
from .stores import seconds_of
from .work import Done, Work


def barrier(group: ProcessGroup | None = None, async_op: bool = False, device_ids: Any = None,
            timeout: timedelta | None = None) -> Work | None:  # fmt: skip
    """Wait until all processes of a group have come here.

    Raises DistBackendError if they do not come in ``timeout``, or else in that of the group.
    """
    found = member(group, "barrier")
    if found is None:
        return None
    ready()
    limit = found.timeout if timeout is None else timeout
    seconds = seconds_of(limit, "barrier")
    if found.size() > 1:
        with as_torch():
            calls.barrier(found, seconds)
    return Done() if async_op else None


def monitored_barrier(
    group: ProcessGroup | None = None, timeout: timedelta | None = None,
    wait_all_ranks: bool = False,
) -> None:
    """:func:`barrier` at which rank 0 says who did not come.

    Raises RuntimeError in rank 0 that names the first such rank, or with ``wait_all_ranks`` each,
    and in the others that rank 0 did not let them pass.
    """
    found = member(group, "monitored_barrier")
    if found is None:
        return
    ready()
    limit = found.timeout if timeout is None else timeout
    seconds = seconds_of(limit, "monitored_barrier")
    store, key = default_store(), found.key("monitored")
    milliseconds = f"{seconds * 1000:.0f} ms"
    if found.rank():
        store.set(f"{key}/{found.rank()}", b"1")
        if store._ask(f"{key}/passed", seconds) != b"1":
            raise DistBackendError(
                f"Rank {found.rank()} successfully reached monitoredBarrier, but received errors "
                f"while waiting for send/recv from rank 0. Please check rank 0 logs for faulty "
                f"rank. ({milliseconds})")
        return
    end = time.monotonic() + seconds
    missing = []
    for r in range(1, found.size()):
        if store._ask(f"{key}/{r}", max(0.0, end - time.monotonic())) is None:
            missing.append(r)
            if not wait_all_ranks:
                break
    store.set(f"{key}/passed", b"0" if missing else b"1")
    if missing:
        names = ", ".join(map(str, missing))
        raise DistBackendError(
            f"Rank {names} failed to pass monitoredBarrier in {milliseconds}" if not wait_all_ranks
            else f"[Rank 0]: Ranks {names} failed to pass monitoredBarrier in {milliseconds}")
