"""The runtime's calls for several processes, on Values."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from lazyloom import Value, distributed
from lazyloom.errors import DistributedError

from .._core import record
from .stores import HashStore, Store, as_bytes

if TYPE_CHECKING:
    from .groups import ProcessGroup
    from .rendezvous import Place


def init(place: Place, seconds: float) -> None:
    """Join the other processes. Raises DistributedError if they do not come in time."""
    distributed.init(
        f"{place.host}:{place.port}", place.world_size, place.rank, timeout=seconds)


def shutdown() -> None:
    """Leave them."""
    distributed.shutdown()


def barrier(group: ProcessGroup, seconds: float) -> None:
    """Wait for all processes of a group. Raises DistributedError if they do not come in time."""
    distributed.barrier(distributed.new_group(group.ranks), seconds)


def dispatch(*values: Value) -> None:
    """Hand over what computes the values, without waiting."""
    distributed.dispatch(*values)


def dispatch_at_exit() -> None:
    """Hand over what is pending when the program ends."""
    distributed.dispatch_at_exit()


def store(size: int, timeout: timedelta) -> Store:
    """The store that all processes of the program see."""
    made: Store = HashStore() if size == 1 else RuntimeStore(distributed.Store("torch"))
    made.set_timeout(timeout)
    return made


class RuntimeStore(Store):
    """The runtime's key-value store."""

    def __init__(self, held: Any) -> None:
        super().__init__()
        self._held = held

    def _ask(self, key: str, seconds: float) -> bytes | None:
        try:
            return as_bytes(self._held.get(key, timeout=seconds))
        except DistributedError as error:
            if "was not set" not in str(error):
                raise  # another process has failed
        # the runtime keeps numbers apart
        number = self._held.add(key, 0)
        return str(number).encode() if number else None

    def set(self, key: str, value: str | bytes) -> None:
        self._held.set(key, as_bytes(value))

    def add(self, key: str, amount: int) -> int:
        return int(self._held.add(key, amount))

    def delete_key(self, key: str) -> bool:
        there = self._ask(key, 0.0) is not None
        self._held.delete(key)
        return there


# -- collectives ----------------------------------------------------------------------------------


def _attributes(group: ProcessGroup, **others: Any) -> dict[str, Any]:
    return {"group": group.ranks, "world": group.world, **others}


def all_reduce(value: Value, reduction: str, group: ProcessGroup) -> Value:
    """The reduction ("sum", "mean", "prod", ...) of the members' values, in each."""
    return record("all_reduce", [value], _attributes(group, reduction=reduction))


def all_gather(value: Value, group: ProcessGroup) -> Value:
    """The members' values along a new first axis."""
    return record("all_gather", [_unsqueezed(value)], _attributes(group, axis=0))


def reduce_scatter(value: Value, reduction: str, group: ProcessGroup) -> Value:
    """This member's part, along the first axis, of the reduction of the members' values."""
    found = record("reduce_scatter", [value], _attributes(group, reduction=reduction, axis=0))
    return reshaped(found, value.shape[1:])


def all_to_all(value: Value, group: ProcessGroup) -> Value:
    """Along the first axis, what each member has for this one."""
    return record("all_to_all", [value], _attributes(group, split_axis=0, concat_axis=0))


def broadcast(value: Value, source: int, group: ProcessGroup) -> Value:
    """The value of the member of rank ``source`` in the group."""
    return record("collective_broadcast", [value], _attributes(group, source=source))


def reshaped(value: Value, shape: tuple[int, ...]) -> Value:
    """The value in another shape of as many elements, itself if it has that shape."""
    return value if value.shape == shape else record("reshape", [value], {"shape": shape})


def _unsqueezed(value: Value) -> Value:
    return reshaped(value, (1, *value.shape))
