"""Parts of a tensor along an axis, read as results of one op.

A part that is read by itself is a slice at a position that is data. Its gradient is as large as the
tensor: zeros with the part's gradient somewhere in them, and one addition for each part but the
first. The gradient of all parts together is the concatenation of their gradients.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ..trace.graph import Value
from ..trace.recording import record
from ..trace.switches import grad_enabled
from .contents import aliasing, current
from .storage import keep_read
from .tensor import Tensor
from .views import Slice, ViewStep

#: of more parts than this, the program may use few, or use them one after the other
MOST: Final = 8
#: the same for parts of one element along the axis, such as the steps of a sequence
MOST_OF_ONE: Final = 4


def read_parts(whole: Tensor, parts: Sequence[Tensor]) -> None:
    """Read views that are all of a tensor's parts along an axis by one op, if they have gradients.

    This lasts as long as nothing is written; then each view reads the storage anew. Other views,
    and those of a tensor without gradients, are left as they are.
    """
    if not 2 <= len(parts) <= MOST or not grad_enabled() or whole.detached:
        return
    if not whole._storage.value.requires_grad:
        return
    rests = [_rest(whole, part) for part in parts]
    cut = _axis(whole.tensor_type.shape, [rest[0] for rest in rests if rest])
    if cut is None or not all(rests):
        return
    axis, sizes = cut
    version = whole._storage.version
    values: Sequence[Value] = record(
        "split", [current(whole)], {"sizes": sizes, "axis": axis})
    for part, rest, value in zip(parts, rests, values, strict=True):
        for step in rest[1:]:
            value = step.forward(value)
        keep_read(aliasing(part), value, version)


def _rest(whole: Tensor, part: Tensor) -> tuple[ViewStep, ...]:
    """The steps that lead from a tensor to a view of it; () if it is not a view of it."""
    steps = whole.view_steps
    count = len(steps)
    same = part.shared is not None and part.shared is whole._storage
    return part.view_steps[count:] if same and part.view_steps[:count] == steps else ()


def _axis(shape: tuple[int, ...], steps: list[ViewStep]) -> tuple[int, tuple[int, ...]] | None:
    """The axis along which steps cut a shape into consecutive parts, and the parts' sizes."""
    slices = [step for step in steps if isinstance(step, Slice)]
    if len(slices) != len(steps) or len(slices) < 2:
        return None
    places = [d for d, start in enumerate(slices[1].starts) if start]
    if len(places) != 1:
        return None
    axis = places[0]
    at, sizes = 0, []
    for step in slices:
        size = step.sizes[axis]
        starts = tuple([at if d == axis else 0 for d in range(len(shape))])
        if not size or step.starts != starts or step.steps != (1,) * len(shape) or (
            step.sizes != (*shape[:axis], size, *shape[axis + 1:])
        ):
            return None
        sizes.append(size)
        at += size
    if at != shape[axis] or (len(sizes) > MOST_OF_ONE and 1 in sizes):
        return None
    return axis, tuple(sizes)
