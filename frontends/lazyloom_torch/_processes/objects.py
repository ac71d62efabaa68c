"""Objects between processes, pickled, through the store of the default process group.

What comes from another process is unpickled: it has to be trusted as the program itself is.
"""

from __future__ import annotations

import pickle
from datetime import timedelta
from typing import Any, Final

from .arguments import member, rank_in
from .groups import ProcessGroup, default_store
from .pending import pending
from .stores import Store

#: bytes of one value of the store
_PART: Final = 1 << 20


def leave(store: Store, key: str, data: bytes) -> None:
    """Set a key of the store to any number of bytes."""
    parts = [data[i : i + _PART] for i in range(0, len(data), _PART)] or [b""]
    for i, part in enumerate(parts[1:], 1):
        store.set(f"{key}/{i}", part)
    # the first comes last: when it is there, all are
    store.set(f"{key}/0", str(len(parts)).encode() + b" " + parts[0])


def take(store: Store, key: str, timeout: timedelta, forget: bool = False) -> bytes:
    """What :func:`leave` has set a key to, once it is there.

    Raises DistStoreError if it is not in time.
    """
    # who is to set it may wait for a collective of this process
    pending.hand_over_all()
    store.set_timeout(timeout)
    count, _, first = store.get(f"{key}/0").partition(b" ")
    parts = [first, *(store.get(f"{key}/{i}") for i in range(1, int(count)))]
    if forget:
        erase(store, key, int(count))
    return b"".join(parts)


def erase(store: Store, key: str, count: int) -> None:
    for i in range(count):
        store.delete_key(f"{key}/{i}")


def exchanged(obj: Any, group: ProcessGroup) -> list[Any]:
    """The objects of all members of a group, by rank in it."""
    if group.size() == 1:
        return [pickle.loads(pickle.dumps(obj))]
    store, own = default_store(), group.rank()
    number = group.number("objects")
    data = pickle.dumps(obj)
    leave(store, f"{group.group_name}/objects/{number}/{own}", data)
    found = [
        pickle.loads(take(store, f"{group.group_name}/objects/{number}/{r}", group.timeout))
        for r in range(group.size())]
    # all have come to this exchange, so all have read what this process left for the last one
    previous = group.counts.get("left", 0)
    if previous:
        erase(store, f"{group.group_name}/objects/{number - 1}/{own}", previous)
    group.counts["left"] = max(1, -(-len(data) // _PART))
    return found


def all_gather_object(object_list: list[Any], obj: Any, group: ProcessGroup | None = None) -> None:
    """Fill a list with the objects of all processes, by rank."""
    found = member(group, "all_gather_object")
    if found is None:
        return
    if len(object_list) != found.size():
        raise ValueError(f"object_list has {len(object_list)} entries, expected one for each of "
                         f"the group's {found.size()} processes")
    object_list[:] = exchanged(obj, found)


def gather_object(
    obj: Any, object_gather_list: list[Any] | None = None, dst: int | None = None,
    group: ProcessGroup | None = None, group_dst: int | None = None,
) -> None:
    """Fill a list, in the process of rank ``dst`` alone, with the objects of all processes."""
    found = member(group, "gather_object")
    if found is None:
        return
    to = rank_in(found, dst, group_dst, "dst", 0)
    mine = found.rank() == to
    if mine and object_gather_list is None:
        raise ValueError("Argument ``gather_list`` must be specified on destination rank.")
    if not mine and object_gather_list:
        raise ValueError("Argument ``gather_list`` must NOT be specified on non-destination ranks.")
    objects = exchanged(obj, found)
    if mine and object_gather_list is not None:
        object_gather_list[:] = objects


def broadcast_object_list(
    object_list: list[Any], src: int | None = None, group: ProcessGroup | None = None,
    device: Any = None, group_src: int | None = None,
) -> None:
    """Replace the objects of a list by those that the process of rank ``src`` has."""
    if not isinstance(object_list, list) or not object_list:
        raise ValueError("object_list must be a list with at least one entry")
    found = member(group, "broadcast_object_list")
    if found is None:
        return
    source = rank_in(found, src, group_src, "src", 0)
    objects = exchanged(object_list if found.rank() == source else None, found)[source]
    if len(objects) != len(object_list):
        raise ValueError(
            f"object_list has {len(object_list)} entries here and {len(objects)} in the process "
            "that sends them")
    if found.rank() != source:
        object_list[:] = objects


def scatter_object_list(
    scatter_object_output_list: list[Any], scatter_object_input_list: list[Any] | None = None,
    src: int | None = None, group: ProcessGroup | None = None, group_src: int | None = None,
) -> None:
    """Set the first entry of a list to one of the objects that the process of rank ``src`` has."""
    if not isinstance(scatter_object_output_list, list) or len(scatter_object_output_list) < 1:
        raise ValueError(
            "Expected argument scatter_object_output_list to be a list of size at least 1.")
    found = member(group, "scatter_object_list")
    if found is None:
        return
    source = rank_in(found, src, group_src, "src", 0)
    given = scatter_object_input_list
    if found.rank() == source and (given is None or len(given) != found.size()):
        raise ValueError(
            f"source rank must provide non-empty scatter_object_input_list: one object for each of "
            f"the group's {found.size()} processes")
    objects = exchanged(given if found.rank() == source else None, found)[source]
    scatter_object_output_list[0] = objects[found.rank()]


def send_object_list(
    object_list: list[Any], dst: int | None = None, group: ProcessGroup | None = None,
    device: Any = None, group_dst: int | None = None, use_batch: bool = False,
) -> None:
    """Send the objects of a list to the process of rank ``dst``."""
    found = member(group, "send_object_list")
    if found is not None:
        to = rank_in(found, dst, group_dst, "dst")
        key = found.key(f"sent/{found.rank()}-{to}/objects")
        leave(default_store(), key, pickle.dumps(list(object_list)))


def recv_object_list(
    object_list: list[Any], src: int | None = None, group: ProcessGroup | None = None,
    device: Any = None, group_src: int | None = None, use_batch: bool = False,
) -> int:
    """Replace the objects of a list by those that the process of rank ``src`` sends; its rank."""
    found = member(group, "recv_object_list")
    if found is None:
        return -1
    source = rank_in(found, src, group_src, "src")
    key = found.key(f"sent/{source}-{found.rank()}/objects")
    object_list[:] = pickle.loads(take(default_store(), key, found.timeout, forget=True))
    return found.ranks[source]


