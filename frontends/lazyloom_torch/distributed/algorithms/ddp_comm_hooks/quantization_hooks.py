"""Communication hooks that send gradients as bytes.

Each process maps the range of its gradients, 0 included, to 0 to 255: by one scale for a bucket, or
by one for each row of it. Scales and bytes of all processes are gathered, and averaged as what they
stand for. It is recorded, a part of the program of the step.
"""

from __future__ import annotations

from typing import Any

from ...._dtypes import float32, uint8
from ...._functions.creation import full_value
from ...._processes import calls
from ...._processes.groups import ProcessGroup, default_group
from ...._processes.reducer import GradBucket
from ...._processes.work import completed
from ...._tensor import Tensor, operand
from ....futures import Future
from ....nn.functional import pad

_LEVELS = 255
#: the least scale: float32's distance of 1 and the next number
_EPSILON = 2.0**-23


def _gathered(x: Tensor, group: ProcessGroup) -> Tensor:
    """What all processes have, along a new first dimension."""
    if group.size() == 1:
        return x.unsqueeze(0)
    found: Tensor = Tensor.from_value(calls.all_gather(operand(x), group))
    return found


def _averaged(rows: Tensor, group: ProcessGroup) -> Tensor:
    """The average of rows that each process sends as bytes, with a scale for each row."""
    rows = rows.to(float32)
    low = rows.amin(1, keepdim=True).clamp(max=0.0)
    high = rows.amax(1, keepdim=True).clamp(min=0.0)
    # a number that the program does not know: XLA would multiply by the reciprocal of another one
    levels = Tensor.from_value(full_value((1, 1), float(_LEVELS), float32))
    scales = ((high - low) / levels).clamp(min=_EPSILON)
    zeros = (-(low / scales).round()).clamp(0, _LEVELS)
    codes = ((rows / scales).round() + zeros).clamp(0, _LEVELS).to(uint8)
    scales, zeros, codes = (_gathered(x, group) for x in (scales, zeros, codes))
    found: Tensor = (scales * (codes.to(float32) - zeros)).sum(0) / group.size()
    return found


def quantization_pertensor_hook(process_group: ProcessGroup | None, bucket: GradBucket) -> Future:
    """The average of the bucket, in float32, sent as one byte for each element.

    Each process has one scale for all of its bucket: what is less than a 510th of the range of its
    gradients is lost.
    """
    group = default_group() if process_group is None else process_group
    return completed(_averaged(bucket.buffer().reshape(1, -1), group).reshape(-1))


def quantization_perchannel_hook(
    process_group: ProcessGroup | None, bucket: GradBucket, bucket_size: int = 512
) -> Future:
    """:func:`quantization_pertensor_hook` with a scale for each ``bucket_size`` elements."""
    group = default_group() if process_group is None else process_group
    buffer: Any = bucket.buffer()
    count = buffer.numel()
    rows = pad(buffer, (0, -count % bucket_size)).reshape(-1, bucket_size)
    return completed(_averaged(rows, group).reshape(-1)[:count])


__all__ = ["quantization_perchannel_hook", "quantization_pertensor_hook"]
