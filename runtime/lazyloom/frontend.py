"""What a frontend's tensor class is made from: aliasing, writes, and what operators mean.

A frontend subclasses :class:`Tensor`. It records ops with :func:`lazyloom.record` and its kin,
and here finds what programs that only use tensors have no need of: tensors of its class that hold
a value, views, what is shared with whom, writes in place, and :class:`Operators`. Functions, not
methods: a frontend's class has the names of its own library, and few besides.
``docs/frontend.md`` walks through one.

A tensor reads a :class:`Storage` through a chain of view steps. Until something asks for its
storage nothing shares it (``tensor.shared`` is None) and it is written fastest. The attributes of
a tensor that frontends read and set are those of :class:`Tensor`.
"""

from __future__ import annotations

from typing import Any, Final, cast

from .tensor.operators import (
    FLOATS,
    INTS,
    MATMUL,
    NAMES,
    Operators,
    operators_of,
    set_operators,
)
from .tensor.parts import read_parts
from .tensor.tensor import Alias, Storage, Tensor, aliasing, set_view
from .tensor.tensor import hold as hold
from .tensor.tensor import write as write
from .tensor.views import (
    AsComplex,
    AsReal,
    Bitcast,
    Broadcast,
    Conj,
    Diagonal,
    Imag,
    Permute,
    Real,
    Reshape,
    Select,
    Slice,
    Strided,
    ViewStep,
    index_key,
)
from .trace.graph import Value
from .trace.mapping import loop_steps
from .types import TensorType

#: found once: the attribute of a class costs as much as making the tensor
_new: Final[Any] = Tensor.__new__


def storage_of(tensor: Tensor) -> Storage:
    """The storage that the tensor and its views share; from now on it counts as shared."""
    return tensor._storage


def same_storage(a: Tensor, b: Tensor) -> bool:
    """Whether a write to one tensor may be seen in the other."""
    return a is b or a.shared is not None and a.shared is b.shared


def same_view(a: Tensor, b: Tensor) -> bool:
    """Whether both tensors read the same part of one storage in the same order."""
    return a._storage is b._storage and a.view_steps == b.view_steps


def view(tensor: Tensor, step: ViewStep) -> Any:
    """A view of a tensor by one step, of the tensor's class.

    Raises ShapeError, DTypeError or ArgumentError where the step does not fit it.
    """
    return tensor._alias(step)


def view_of_type(
    cls: Any, tensor: Tensor, steps: tuple[ViewStep, ...], tensor_type: TensorType,
    strides: tuple[int, ...] | None = None, offset: int = 0,
) -> Any:
    """A view of a tensor by several steps that are known to lead to that type.

    Nothing is checked: for steps kept from an equal call before. ``cls`` is the view's class,
    ``strides`` and ``offset`` are its ``element_strides`` and ``element_offset``. Its ``alias_of``
    is that of the tensor, or the tensor itself.
    """
    made: Tensor = _new(cls)
    shared = tensor.shared
    set_view(
        made, tensor._storage if shared is None else shared, tensor.view_steps + steps, tensor_type)
    made.detached = tensor.detached
    state = tensor._alias_state
    owner = None if state is None else state.owner
    made._alias_state = Alias(tensor if owner is None else owner, strides, offset)
    return made


def steps_between(tensor: Tensor, view: Tensor) -> tuple[ViewStep, ...] | None:
    """The steps that lead from a tensor to a view of it; None where it is not one.

    What :func:`view_of_type` takes, to make the same view of another tensor of that type.
    """
    if view is tensor or view.shared is None or view.shared is not tensor.shared:
        return None
    first = tensor.view_steps
    count = len(first)
    return view.view_steps[count:] if view.view_steps[:count] == first else None


def view_of_storage(
    tensor: Tensor, storage: Storage, steps: tuple[ViewStep, ...], tensor_type: TensorType
) -> None:
    """Let a tensor be a view of a storage by steps that lead to that type; nothing is checked.

    All of its attributes are as those of a new tensor.
    """
    set_view(tensor, storage, steps, tensor_type)


def share_view(tensor: Tensor, other: Tensor) -> None:
    """Let a tensor be a view of the same part of the same storage as another one.

    It is detached if that is; its other attributes are as those of a new tensor.
    """
    set_view(tensor, other._storage, other.view_steps, other.tensor_type)
    tensor.detached = other.detached


def detached_view(tensor: Tensor) -> Any:
    """A tensor of the same class and the same part of the same storage, without gradient."""
    return tensor._detached()


def strides_for_broadcasts(tensor: Tensor) -> None:
    """Let a view that repeats elements be written: its broadcasts become strides of zero.

    It reads the same elements; of several written to one place, the last that differs stays.
    """
    kind = tensor._storage.value.type
    steps: list[ViewStep] = []
    for step in tensor.view_steps:
        if isinstance(step, Broadcast):
            step = step.strided(kind.shape)
        kind = step.out_type(kind)
        steps.append(step)
    tensor.view_steps = tuple(steps)


def reread(tensor: Tensor) -> None:
    """Forget what was kept of reading a view: its storage was given a value without a write.

    A storage's ``value`` may be set to one of the same data with another history of gradients.
    """
    aliasing(tensor).version = -1


def read_through(view: Tensor, parent: Tensor, steps: tuple[ViewStep, ...]) -> None:
    """Read a view of a view by way of that one until the storage is written.

    So a gradient of what is computed from ``view`` passes by ``parent``. ``steps`` lead from
    ``parent`` to ``view``.
    """
    view._read_through(parent, steps)


def read_apart(tensor: Tensor) -> None:
    """Let a view of all of its storage be a node of its own on the tape, not the storage's."""
    tensor._read_apart()


def following(tensor: Tensor, value: Value) -> Any:
    """A tensor of the same class with a storage of its own, to take the place of ``tensor``.

    Where a run that was to compute ``value`` fails, it holds what ``tensor`` does, as a tensor
    written in place would.
    """
    return cast(Any, tensor._followed_by(value))


__all__ = [
    "FLOATS", "INTS", "MATMUL", "NAMES", "AsComplex", "AsReal", "Bitcast", "Broadcast", "Conj",
    "Diagonal", "Imag", "Operators", "Permute", "Select", "Real", "Reshape", "Slice", "Storage",
    "Strided", "Tensor", "ViewStep", "detached_view", "following", "hold", "index_key",
    "loop_steps", "operators_of", "read_apart", "read_parts", "read_through", "reread",
    "same_storage", "same_view", "set_operators", "share_view", "steps_between", "storage_of",
    "strides_for_broadcasts",
    "view", "view_of_storage", "view_of_type", "write",
]  # fmt: skip
