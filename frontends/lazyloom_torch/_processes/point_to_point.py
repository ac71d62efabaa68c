"""From one process to another: tensors through the store of the default process group.

A process that sends does not wait, so no order of sends and receives stops the program. It is for
small tensors: the bytes go through the process that holds the store.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any, Final

import numpy as np

import lazyloom
from lazyloom import frontend

from .._tensor import Tensor
from .arguments import check_tensor, member, put, rank_in, ready
from .errors import DistStoreError
from .groups import ProcessGroup, default_store
from .objects import leave, take
from .pending import pending
from .work import Done, Work

#: seconds between two looks for what any process may send, at first and at most
_SHORT: Final = 0.0005
_LONG: Final = 0.02


class _Receiving(Work):
    """A tensor that is on its way; it is written when somebody waits for it."""

    def __init__(self, tensor: Tensor, key: str, timeout: timedelta, source: int) -> None:
        super().__init__([tensor], source)
        self._key: str | None = key
        self._limit = timeout

    def _finish(self) -> None:
        with self._lock:
            if self._key is not None:
                data = take(default_store(), self._key, self._limit, forget=True)
                self._key = None
                _write(self._results[0], data)

    def wait(self, timeout: timedelta | None = None) -> bool:
        if timeout is not None:
            self._limit = timeout
        return super().wait()

    def is_completed(self) -> bool:
        if self._key is not None and default_store().check([f"{self._key}/0"]):
            self._finish()
        return self._key is None


class _ReceivingAny(_Receiving):
    """A tensor that any process of a group may send; the first that is found."""

    def __init__(self, tensor: Tensor, group: ProcessGroup, tag: int, timeout: timedelta) -> None:
        super().__init__(tensor, "", timeout, -1)
        self._group, self._tag = group, tag
        self._from = [r for r in range(group.size()) if r != group.rank()]

    def _way(self, source: int) -> str:
        return f"sent/{source}-{self._group.rank()}/{self._tag}"

    def _look(self) -> bool:
        """Whether one has been sent; its key is known then."""
        store, group = default_store(), self._group
        for source in self._from:
            way = self._way(source)
            if store.check([f"{group.group_name}/{way}/{group.counts.get(way, 0) + 1}/0"]):
                self._key = group.key(way)
                self._source = group.ranks[source]
                # who was looked at last is looked at first, so that none is left out
                self._from.remove(source)
                self._from.append(source)
                return True
        return False

    def _finish(self) -> None:
        pending.hand_over_all()
        end = time.monotonic() + self._limit.total_seconds()
        pause = _SHORT
        while self._key == "" and not self._look():
            if time.monotonic() > end:
                ranks = ", ".join(str(self._group.ranks[r]) for r in sorted(self._from))
                raise DistStoreError(
                    f"recv: none of the ranks {ranks} sent a tensor to rank "
                    f"{self._group.ranks[self._group.rank()]} in "
                    f"{self._limit.total_seconds():g} s")
            time.sleep(pause)
            pause = min(pause * 1.5, _LONG)
        super()._finish()

    def is_completed(self) -> bool:
        if self._key == "" and self._look():
            self._finish()
        return self._key is None


def _write(tensor: Tensor, data: bytes) -> None:
    kind = tensor.tensor_type
    if len(data) != kind.nbytes:
        raise RuntimeError(
            f"recv: {len(data)} bytes came for a tensor of {kind.nbytes} ({kind.text}); give one "
            "of the shape and dtype that was sent")
    array = np.frombuffer(data, kind.dtype.numpy).reshape(kind.shape)
    put(tensor, lazyloom.from_host(array))


def isend(tensor: Tensor, dst: int | None = None, group: ProcessGroup | None = None, tag: int = 0,
          group_dst: int | None = None) -> Work | None:  # fmt: skip
    """Send a tensor to the process of rank ``dst``; reads it."""
    check_tensor(tensor, "tensor")
    found = member(group, "isend")
    if found is None:
        return None
    to = rank_in(found, dst, group_dst, "dst")
    if to == found.rank():
        raise ValueError("Invalid destination rank: destination rank should not be the same as the "
                         "rank of the current process.")
    (value,) = ready(tensor)
    key = found.key(f"sent/{found.rank()}-{to}/{tag}")
    leave(default_store(), key, np.ascontiguousarray(frontend.look(value)).tobytes())
    return Done(found.ranks[found.rank()])


def irecv(tensor: Tensor, src: int | None = None, group: ProcessGroup | None = None, tag: int = 0,
          group_src: int | None = None) -> Work | None:  # fmt: skip
    """Receive a tensor from the process of rank ``src``, of the size and dtype of this one.

    From any process of the group if none is said; ``source_rank()`` of the work says from which.

    It is written when the work is waited for, or found to be completed.
    """
    check_tensor(tensor, "tensor")
    found = member(group, "irecv")
    if found is None:
        return None
    if src is None and group_src is None:
        ready()
        return _ReceivingAny(tensor, found, tag, found.timeout)
    source = rank_in(found, src, group_src, "src")
    if source == found.rank():
        raise ValueError("Invalid source rank: source rank should not be the same as the rank of "
                         "the current process.")
    ready()
    key = found.key(f"sent/{source}-{found.rank()}/{tag}")
    return _Receiving(tensor, key, found.timeout, found.ranks[source])


def send(tensor: Tensor, dst: int | None = None, group: ProcessGroup | None = None, tag: int = 0,
         group_dst: int | None = None) -> None:  # fmt: skip
    """:func:`isend`, with nothing returned."""
    isend(tensor, dst, group, tag, group_dst)


def recv(tensor: Tensor, src: int | None = None, group: ProcessGroup | None = None, tag: int = 0,
         group_src: int | None = None) -> int:  # fmt: skip
    """Wait for a tensor from the process of rank ``src``, or any if that is None.

    Returns the rank that sent it, -1 outside the group.
    """
    work = irecv(tensor, src, group, tag, group_src)
    if work is None:
        return -1
    work.wait()
    return work.source_rank()


class P2POp:
    """One send (``op`` is :func:`isend`) or receive (:func:`irecv`) of a batch."""

    def __init__(
        self, op: Callable[..., Any], tensor: Tensor, peer: int | None = None,
        group: ProcessGroup | None = None, tag: int = 0, group_peer: int | None = None,
    ) -> None:
        if op not in (isend, irecv):
            raise ValueError("Invalid ``op``. Expected ``op`` to be of type "
                             "``torch.distributed.isend`` or ``torch.distributed.irecv``.")
        check_tensor(tensor, "tensor")
        self.op, self.tensor, self.peer = op, tensor, peer
        self.group, self.tag, self.group_peer = group, tag, group_peer


def batch_isend_irecv(p2p_op_list: list[P2POp]) -> list[Any]:
    """Begin sends and receives; the work of each."""
    if not p2p_op_list or not all(isinstance(p, P2POp) for p in p2p_op_list):
        raise ValueError("Invalid ``p2p_op_list``. Each op is expected to be of type "
                         "``torch.distributed.P2POp``.")
    return [p.op(p.tensor, p.peer, p.group, p.tag, p.group_peer) for p in p2p_op_list]
