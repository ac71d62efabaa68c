"""Several processes that compute together, one device each.

Every process runs the same program on its own part of the data::

    import lazyloom.distributed as dist

    dist.init()                       # as torchrun's environment says
    loss = dist.all_reduce(loss, "mean")

Collectives are ops like any other: recorded, compiled into the program around them, and
differentiable. In a group of one process they record nothing and return the operand. The processes
have to record the same collectives in the same order; before a program runs for the first time,
that is compared.
"""

from ..errors import DistributedError
from .arrays import array_from_local, local_array, make_mesh
from .functions import (
    all_gather,
    all_reduce,
    all_to_all,
    barrier,
    broadcast,
    dispatch,
    dispatch_at_exit,
    permute,
    reduce_scatter,
)
from .groups import WORLD, Group, new_group
from .processes import init, is_initialized, rank, shutdown, world_size
from .store import Store

__all__ = [
    "WORLD", "DistributedError", "Group", "Store", "all_gather", "all_reduce", "all_to_all",
    "array_from_local", "barrier", "broadcast", "dispatch", "dispatch_at_exit", "init",
    "is_initialized", "local_array", "make_mesh", "new_group", "permute", "rank", "reduce_scatter",
    "shutdown", "world_size",
]  # fmt: skip
