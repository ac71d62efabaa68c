"""What ``DistributedDataParallel.register_comm_hook`` takes: averages, in fewer bytes or not.

They are recorded, and are a part of the program of the step.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...._dtypes import bfloat16, float16
from ...._processes import calls
from ...._processes.groups import ProcessGroup, default_group
from ...._processes.reducer import GradBucket
from ...._tensor import Tensor
from ....futures import Future

Hook = Callable[[Any, GradBucket], Future]


def _averaged(group: ProcessGroup | None, tensor: Tensor) -> Tensor:
    found = default_group() if group is None else group
    share = tensor / found.size()
    made: Tensor = Tensor.from_value(calls.all_reduce(share.value, "sum", found))
    return made


def _done(tensor: Tensor) -> Future:
    future = Future()
    future.set_result(tensor)
    return future


def allreduce_hook(process_group: ProcessGroup | None, bucket: GradBucket) -> Future:
    """The average of the bucket, as without a hook."""
    return _done(_averaged(process_group, bucket.buffer()))


def _compressed(dtype: Any) -> Callable[[ProcessGroup | None, GradBucket], Future]:
    def hook(process_group: ProcessGroup | None, bucket: GradBucket) -> Future:
        buffer = bucket.buffer()
        return _done(_averaged(process_group, buffer.to(dtype)).to(buffer.dtype))

    hook.__doc__ = f"The average of the bucket in {dtype}, of half as many bytes."
    return hook


fp16_compress_hook = _compressed(float16)
bf16_compress_hook = _compressed(bfloat16)


def _wrapped(dtype: Any) -> Callable[[Hook], Hook]:
    def wrapper(hook: Hook) -> Hook:
        def compressed(state: Any, bucket: GradBucket) -> Future:
            before = bucket.buffer().dtype
            bucket.set_buffer(bucket.buffer().to(dtype))
            return hook(state, bucket).then(lambda future: _first(future.value()).to(before))

        return compressed

    return wrapper


def _first(found: Any) -> Tensor:
    tensor: Tensor = found[0] if isinstance(found, (list, tuple)) else found
    return tensor


fp16_compress_wrapper = _wrapped(float16)
bf16_compress_wrapper = _wrapped(bfloat16)

__all__ = ["allreduce_hook", "bf16_compress_hook", "bf16_compress_wrapper", "fp16_compress_hook",
           "fp16_compress_wrapper"]
