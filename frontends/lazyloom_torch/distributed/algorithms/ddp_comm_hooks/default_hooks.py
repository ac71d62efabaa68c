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
from ...._processes.work import completed
from ...._tensor import Tensor
from ....futures import Future

Hook = Callable[[Any, GradBucket], Future]


def _averaged(group: ProcessGroup | None, tensor: Tensor) -> Tensor:
    found = default_group() if group is None else group
    share = tensor / found.size()
    made: Tensor = Tensor.from_value(calls.all_reduce(share.value, "sum", found))
    return made


def allreduce_hook(process_group: ProcessGroup | None, bucket: GradBucket) -> Future:
    """The average of the bucket, as without a hook."""
    return completed(_averaged(process_group, bucket.buffer()))


def _in(dtype: Any, process_group: ProcessGroup | None, bucket: GradBucket) -> Future:
    buffer = bucket.buffer()
    return completed(_averaged(process_group, buffer.to(dtype)).to(buffer.dtype))


def fp16_compress_hook(process_group: ProcessGroup | None, bucket: GradBucket) -> Future:
    """The average of the bucket in float16, of half as many bytes."""
    return _in(float16, process_group, bucket)


def bf16_compress_hook(process_group: ProcessGroup | None, bucket: GradBucket) -> Future:
    """The average of the bucket in bfloat16, of half as many bytes."""
    return _in(bfloat16, process_group, bucket)


def _wrapped(dtype: Any, hook: Hook) -> Hook:
    def compressed(state: Any, bucket: GradBucket) -> Future:
        before = bucket.buffer().dtype
        bucket.set_buffer(bucket.buffer().to(dtype))
        return hook(state, bucket).then(lambda future: _first(future.value()).to(before))

    return compressed


def _first(found: Any) -> Tensor:
    tensor: Tensor = found[0] if isinstance(found, (list, tuple)) else found
    return tensor


def fp16_compress_wrapper(hook: Hook) -> Hook:
    """A hook that gets the bucket in float16; its result is cast back."""
    return _wrapped(float16, hook)


def bf16_compress_wrapper(hook: Hook) -> Hook:
    """A hook that gets the bucket in bfloat16; its result is cast back."""
    return _wrapped(bfloat16, hook)


__all__ = ["allreduce_hook", "bf16_compress_hook", "bf16_compress_wrapper", "fp16_compress_hook",
           "fp16_compress_wrapper"]
