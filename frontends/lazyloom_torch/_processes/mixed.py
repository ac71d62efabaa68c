"""Forward and backward passes in a lower precision, with parameters and updates in their own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .._tensor import Tensor
from ..func import functional_call
from ..futures import Future
from . import calls
from .groups import ProcessGroup
from .reducer import GradBucket
from .work import completed


@dataclass
class _MixedPrecision:
    """The dtypes that ``DistributedDataParallel`` computes in; None for that of the module.

    Attributes:
        param_dtype: of parameters and inputs in forward and backward passes.
        reduce_dtype: in which gradients are averaged.
        buffer_dtype: of buffers, from the beginning.
    """

    param_dtype: Any = None
    reduce_dtype: Any = None
    buffer_dtype: Any = None


def cast_all(found: Any, dtype: Any) -> Any:
    """Nested tuples, lists and dicts with their floating-point tensors in another dtype."""
    if isinstance(found, Tensor):
        return found.to(dtype) if found.is_floating_point() else found
    if isinstance(found, dict):
        return type(found)({k: cast_all(v, dtype) for k, v in found.items()})
    if isinstance(found, tuple) and hasattr(found, "_fields"):
        return type(found)(*[cast_all(v, dtype) for v in found])
    if isinstance(found, (list, tuple)):
        return type(found)([cast_all(v, dtype) for v in found])
    return found


def call(module: Any, names: set[str], dtype: Any, args: tuple[Any, ...], kwargs: Any) -> Any:
    """Call a module with inputs and the parameters of these names in a dtype.

    Gradients come to the parameters themselves, in their own dtype.
    """
    if dtype is None:
        return module(*args, **kwargs)
    low = {n: p.to(dtype) for n, p in module.named_parameters() if n in names}
    return functional_call(module, low, cast_all(args, dtype), cast_all(kwargs, dtype))


def reduce_in(state: tuple[ProcessGroup, Any], bucket: GradBucket) -> Future:
    """A communication hook: the average in the dtype that ``state`` has beside the group."""
    group, dtype = state
    buffer = bucket.buffer()
    if dtype is not None:
        buffer = buffer.to(dtype)
    total = Tensor.from_value(calls.all_reduce(buffer.value, "sum", group))
    return completed(total / group.size())
