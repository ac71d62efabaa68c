"""The default process group, further groups, and what processes know of each other."""

from __future__ import annotations

import importlib
import os
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, ClassVar, Final

from . import calls, rendezvous
from .errors import as_torch
from .pending import pending
from .stores import Store, seconds_of

default_pg_timeout: Final = timedelta(minutes=30)
default_pg_nccl_timeout: Final = timedelta(minutes=10)


class Backend(str):
    """The name of what carries collectives: ``"gloo"`` between CPUs, ``"nccl"`` between GPUs.

    Raises ValueError for a name of something else.
    """

    UNDEFINED = "undefined"
    GLOO = "gloo"
    NCCL = "nccl"
    UCC = "ucc"
    MPI = "mpi"
    XCCL = "xccl"
    backend_list: ClassVar[list[str]] = [UNDEFINED, GLOO, NCCL, XCCL, UCC, MPI]

    def __new__(cls, name: str) -> Backend:
        if not isinstance(name, str):
            raise ValueError("Backend constructor parameter must be string-ish")
        return super().__new__(cls, name.lower())


def is_available() -> bool:
    """True."""
    return True


def is_gloo_available() -> bool:
    """True: jaxlib has gloo."""
    return True


def is_nccl_available() -> bool:
    """Whether there is a GPU."""
    # found by its name: it needs modules that need this one
    cuda = importlib.import_module(f"{__name__.partition('.')[0]}.cuda")
    return bool(cuda.is_available())


def is_mpi_available() -> bool:
    """False."""
    return False


is_ucc_available = is_xccl_available = is_mpi_available


def is_backend_available(backend: str) -> bool:
    """Whether :func:`init_process_group` takes that name."""
    backend = backend.lower()
    return backend == Backend.GLOO or backend == Backend.NCCL and is_nccl_available()


def is_torchelastic_launched() -> bool:
    """Whether torchrun started this process."""
    return "TORCHELASTIC_RUN_ID" in os.environ


def _backend(name: str | None) -> str:
    """The backend meant by a name, or by names for devices (``"cpu:gloo,cuda:nccl"``)."""
    if name is None:
        return Backend.NCCL if is_nccl_available() else Backend.GLOO
    if not isinstance(name, str):
        raise ValueError(f"Backend constructor parameter must be string-ish, got {name!r}")
    by_device = dict(part.partition(":")[::2] for part in name.lower().split(","))
    if len(by_device) == 1 and not next(iter(by_device.values())):
        chosen = next(iter(by_device))
    else:
        chosen = by_device.get("cuda" if is_nccl_available() else "cpu", name.lower())
    if chosen == Backend.NCCL and not is_nccl_available():
        raise RuntimeError(
            "Distributed package doesn't have NCCL built in: it joins GPUs, and this process has "
            'none; call init_process_group("gloo"), which joins CPUs')
    if not is_backend_available(chosen):
        raise ValueError(
            f"Unknown backend {name!r}: expected \"gloo\" (CPUs)"
            + (', or "nccl" (GPUs)' if is_nccl_available() else ""))
    return chosen


class ProcessGroup:
    """Some of the processes, in the order of their ranks in the group.

    Attributes:
        ranks: the global rank of each.
        world: how many processes the program has.
    """

    def __init__(self, ranks: Sequence[int], name: str, backend: str, timeout: timedelta,
                 description: str) -> None:  # fmt: skip
        self.ranks = tuple(ranks)
        self.group_name = name
        self.group_desc = description
        self.backend = backend
        self.timeout = timeout
        self.bound_device_id = None
        self.world = world_size()
        #: how many times things were exchanged through the store, in each way
        self.counts: dict[str, int] = {}

    def rank(self) -> int:
        """The rank of this process in the group, -1 if it is no member."""
        own = world_rank()
        return self.ranks.index(own) if own in self.ranks else -1

    def size(self) -> int:
        return len(self.ranks)

    def name(self) -> str:
        return self.backend

    def number(self, of: str) -> int:
        """How many times the members have done something together."""
        self.counts[of] = count = self.counts.get(of, 0) + 1
        return count

    def key(self, of: str) -> str:
        """A key of the store for the next time that members do something together."""
        return f"{self.group_name}/{of}/{self.number(of)}"

    def __repr__(self) -> str:
        return f"<ProcessGroup {self.group_name} of ranks {', '.join(map(str, self.ranks))}>"


class _NoMember:
    """What :func:`new_group` gives a process that is not in the group."""

    def __repr__(self) -> str:
        return "GroupMember.NON_GROUP_MEMBER"


class _State:
    """What :func:`init_process_group` made."""

    world: ProcessGroup | None = None
    rank = 0
    size = 1
    store: Store | None = None
    groups: ClassVar[dict[str, ProcessGroup]] = {}
    made = 0


class _World(type):
    @property
    def WORLD(cls) -> ProcessGroup | None:  # noqa: N802
        """The group of all processes, None before there is one."""
        return _State.world


class group(metaclass=_World):  # noqa: N801
    """``group.WORLD`` is the default process group."""


class GroupMember(metaclass=_World):
    """``WORLD``, and what stands for a group of which this process is no member."""

    NON_GROUP_MEMBER = _NoMember()


def world_rank() -> int:
    return _State.rank


def world_size() -> int:
    return _State.size


def is_initialized() -> bool:
    """Whether there is a default process group."""
    return _State.world is not None


def default_group() -> ProcessGroup:
    """The group of all processes. Raises ValueError before there is one."""
    if _State.world is None:
        raise ValueError(
            "Default process group has not been initialized, please make sure to call "
            "init_process_group.")
    return _State.world


def resolved(found: Any) -> ProcessGroup | None:
    """The group that an argument means, None for one of which this process is no member."""
    if found is None or found is group:
        return default_group()
    if isinstance(found, _NoMember):
        return None
    if not isinstance(found, ProcessGroup):
        raise TypeError(
            f"group is a {type(found).__name__}, expected a ProcessGroup of new_group(), or None")
    default_group()
    if _State.groups.get(found.group_name) is not found:
        raise ValueError(f"Invalid process group specified: {found} was destroyed")
    return found if found.rank() >= 0 else None


def default_store() -> Store:
    """The store of the default process group."""
    default_group()
    assert _State.store is not None
    return _State.store


def init_process_group(
    backend: str | None = None, init_method: str | None = None, timeout: timedelta | None = None,
    world_size: int = -1, rank: int = -1, store: Store | None = None, group_name: str = "",
    pg_options: Any = None, device_id: Any = None, _ranks: Any = None,
) -> None:
    """Join the other processes of the program; call it before anything is computed.

    Args:
        backend: "gloo" on CPUs; None for what fits the device.
        init_method: where processes meet: "env://" (the default: by the environment variables that
            ``python -m lazyloom run`` and torchrun set), "tcp://host:port" or "file://path".
        timeout: how long to wait for the others, here and in collectives.
        world_size: the number of processes, where ``init_method`` or ``store`` do not say it.
        rank: the number of this one.
        store: where processes meet instead of ``init_method``.

    Raises:
        ValueError: it was called before, or what it has to know is not said.
        RuntimeError: for "nccl" where there is no GPU.
        DistBackendError: the other processes did not come in time, or say something else.
    """
    if is_initialized():
        raise ValueError("trying to initialize the default process group twice!")
    chosen = _backend(backend)
    limit = timeout
    if limit is None:
        limit = default_pg_nccl_timeout if chosen == Backend.NCCL else default_pg_timeout
    seconds = seconds_of(limit)
    if store is not None and init_method is not None:
        raise AssertionError("Cannot specify both init_method and store.")
    place = rendezvous.found(init_method, store, world_size, rank, seconds)
    with as_torch():
        calls.init(place, seconds)
    _State.rank, _State.size = place.rank, place.world_size
    _State.store = calls.store(place.world_size, limit)
    _State.groups, _State.made = {}, 0
    _State.world = _register(range(place.world_size), chosen, limit, "default_pg")
    if place.world_size > 1:
        pending.watch()


def _register(
    ranks: Sequence[int], backend: str, timeout: timedelta, description: str
) -> ProcessGroup:
    made = ProcessGroup(ranks, str(_State.made), backend, timeout, description)
    _State.made += 1
    _State.groups[made.group_name] = made
    return made


def destroy_process_group(group: ProcessGroup | None = None) -> None:
    """Leave a group; without one, or for the default one, all of them.

    What was recorded with collectives in it is handed over first, and all processes wait for each
    other. Raises ValueError if there is no such group.
    """
    if isinstance(group, _NoMember):
        return
    found = default_group() if group is None else group
    if _State.groups.get(getattr(found, "group_name", None) or "") is not found:
        raise ValueError("Invalid process group specified")
    pending.hand_over_all()
    if found is not _State.world:
        del _State.groups[found.group_name]
        return
    _State.world = _State.store = None
    _State.groups = {}
    _State.rank, _State.size = 0, 1
    with as_torch():
        calls.shutdown()


def get_rank(group: ProcessGroup | None = None) -> int:
    """The rank of this process in a group, -1 if it is not in it.

    Raises ValueError before there is a default process group.
    """
    found = resolved(group)
    return -1 if found is None else found.rank()


def get_world_size(group: ProcessGroup | None = None) -> int:
    """How many processes a group has, -1 if this one is not in it.

    Raises ValueError before there is a default process group.
    """
    found = resolved(group)
    return -1 if found is None else found.size()


def get_backend(group: ProcessGroup | None = None) -> Backend:
    """The name of a group's backend, "gloo" or "nccl".

    Raises ValueError if this process is not in it.
    """
    found = resolved(group)
    if found is None:
        raise ValueError("Invalid process group specified")
    return Backend(found.backend)


def get_backend_config(group: ProcessGroup | None = None) -> str:
    """The backend of each kind of device, such as ``"cpu:gloo"``."""
    name = get_backend(group)
    return f"{'cuda' if name == Backend.NCCL else 'cpu'}:{name}"


def get_default_backend_for_device(device: Any) -> str:
    """The backend that joins devices of a kind."""
    kind = str(getattr(device, "type", device)).partition(":")[0]
    found = {"cpu": Backend.GLOO, "cuda": Backend.NCCL}.get(kind)
    if found is None:
        raise ValueError(f"Default backend not registered for device : {device}")
    return found


def get_process_group_ranks(group: ProcessGroup | None) -> list[int]:
    """The global ranks of a group's members, in order."""
    return list((default_group() if group is None else group).ranks)


def get_group_rank(group: ProcessGroup, global_rank: int) -> int:
    """The rank in a group of a process with a global rank. Raises ValueError if it is not in it."""
    ranks = get_process_group_ranks(group)
    if global_rank not in ranks:
        raise ValueError(f"Global rank {global_rank} is not part of group {group}")
    return ranks.index(global_rank)


def get_global_rank(group: ProcessGroup, group_rank: int) -> int:
    """The global rank of a member of a group. Raises ValueError if there is none of that rank."""
    ranks = get_process_group_ranks(group)
    if not 0 <= group_rank < len(ranks):
        raise ValueError(f"Group rank {group_rank} is not part of group {group}")
    return ranks[group_rank]


def get_pg_count() -> int:
    """How many groups there are."""
    return len(_State.groups)


def get_node_local_rank(fallback_rank: int | None = None) -> int:
    """The number of this process on its machine, as launchers say it in ``LOCAL_RANK``."""
    if "LOCAL_RANK" in os.environ:
        return int(os.environ["LOCAL_RANK"])
    if fallback_rank is not None:
        return int(fallback_rank)
    raise RuntimeError(
        "LOCAL_RANK is not in the environment. Consider passing fallback_rank to allow "
        "`get_node_local_rank` to work, assuming you are not running in a multi-device context "
        "and want the code to run locally instead.")


def new_group(
    ranks: Sequence[int] | None = None, timeout: timedelta | None = None,
    backend: str | None = None, pg_options: Any = None, use_local_synchronization: bool = False,
    group_desc: str | None = None, device_id: Any = None, sort_ranks: bool = True,
) -> Any:
    """A group of some of the processes; all processes call it, in the same order.

    Args:
        ranks: global ranks; None for all.
        sort_ranks: whether ranks in the group are in the order of global ranks, or as given.

    Returns:
        The group, or ``GroupMember.NON_GROUP_MEMBER`` in a process that is not in it.

    Raises:
        ValueError: ranks that do not exist, or one of them twice.
    """
    world = default_group()
    wanted = list(range(world.size())) if ranks is None else [int(r) for r in ranks]
    if sort_ranks:
        wanted.sort()
    if len(wanted) > world.size():
        raise ValueError("the new group's world size should be less or equal to the world size set "
                         "by init_process_group")
    for r in wanted:
        if not 0 <= r < world.size():
            raise ValueError("The new group's rank should be within the world_size set by "
                             f"init_process_group: {r} is not in 0 to {world.size() - 1}")
    if not wanted or len(set(wanted)) < len(wanted):
        raise ValueError(f"new_group: ranks is {wanted}, expected at least one, and none twice")
    chosen = world.backend if backend is None else _backend(backend)
    limit = world.timeout if timeout is None else timeout
    seconds_of(limit)
    made = _register(wanted, chosen, limit, group_desc or "undefined")
    if made.rank() < 0:
        del _State.groups[made.group_name]
        return GroupMember.NON_GROUP_MEMBER
    return made


def new_subgroups(
    group_size: int | None = None, group: ProcessGroup | None = None,
    timeout: timedelta | None = None, backend: str | None = None, pg_options: Any = None,
    group_desc: str | None = None,
) -> tuple[Any, list[Any]]:
    """Groups of ``group_size`` neighbouring ranks: that of this process, and all of them.

    Without a size, one for each machine. Raises ValueError for a size that does not divide the
    number of processes.
    """
    world = resolved(group)
    if world is None:
        raise ValueError("new_subgroups: this process is not in the given group")
    if group_size is None:
        group_size = int(os.environ.get("LOCAL_WORLD_SIZE", world.size()))
    if not 0 < group_size <= world.size():
        raise ValueError(f"The arg 'group_size' ({group_size}) must not exceed the world size "
                         f"({world.size()})")
    if world.size() % group_size:
        raise ValueError(
            f"The world size ({world.size()}) must be divisible by group_size ({group_size})")
    return new_subgroups_by_enumeration(
        [world.ranks[i : i + group_size] for i in range(0, world.size(), group_size)], timeout,
        backend, pg_options, group_desc)


def new_subgroups_by_enumeration(
    ranks_per_subgroup_list: Sequence[Sequence[int]], timeout: timedelta | None = None,
    backend: str | None = None, pg_options: Any = None, group_desc: str | None = None,
) -> tuple[Any, list[Any]]:
    """Groups of given ranks, none of which is in two: that of this process, and all of them.

    Raises ValueError for a rank that is in two groups, or no groups.
    """
    if not ranks_per_subgroup_list:
        raise ValueError("The arg 'ranks_per_subgroup_list' cannot be empty")
    seen: set[int] = set()
    own: Any = None
    groups = []
    for ranks in ranks_per_subgroup_list:
        for r in ranks:
            if r in seen:
                raise ValueError(f"Rank {r} has appeared in more than one subgroup")
            seen.add(r)
        made = new_group(ranks, timeout, backend, pg_options, group_desc=group_desc)
        groups.append(made)
        if world_rank() in ranks:
            own = made
    return own, groups
