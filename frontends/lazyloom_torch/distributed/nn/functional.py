"""``torch.distributed.nn.functional``."""

from __future__ import annotations

from ..._processes.functional import all_gather as all_gather
from ..._processes.functional import all_gather_base as _all_gather_base
from ..._processes.functional import all_reduce as all_reduce
from ..._processes.functional import all_to_all as all_to_all
from ..._processes.functional import all_to_all_single as all_to_all_single
from ..._processes.functional import broadcast as broadcast
from ..._processes.functional import gather as gather
from ..._processes.functional import reduce as reduce
from ..._processes.functional import reduce_scatter as reduce_scatter
from ..._processes.functional import scatter as scatter
from ..._processes.groups import group as group
from ..._processes.reduce_op import ReduceOp as ReduceOp

__all__ = ["ReduceOp", "_all_gather_base", "all_gather", "all_reduce", "all_to_all",
           "all_to_all_single", "broadcast", "gather", "group", "reduce", "reduce_scatter",
           "scatter"]
