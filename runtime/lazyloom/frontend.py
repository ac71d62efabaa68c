"""The interface for frontends: aliasing, writes, and the meaning of operators.

A frontend subclasses :class:`Tensor`. It records ops with :func:`lazyloom.record` and related
functions, and finds here what programs that only use tensors do not need: tensors of its class
that hold a value, views, which tensors share a storage, writes in place, and :class:`Operators`.
These are functions, not methods: a frontend's class has the names of its own library, and few
others. ``docs/frontend.md`` walks through one.

A tensor reads a :class:`Storage` through a chain of view steps. Until something requests its
storage, nothing shares it (``tensor.shared`` is None) and it is written fastest. The attributes of
a tensor that frontends read and set are those of :class:`Tensor`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, cast, final

from .evaluate.reading import is_ready as is_ready
from .evaluate.reading import look as look
from .extension import exports_buffers as exports_buffers
from .files import replacing as replacing
from .hooks import hooks
from .host.host_arrays import ALONE as ALONE
from .notebooks import as_html as as_html
from .settings import option_table as option_table
from .settings import thread_options as thread_options
from .tensor.calls import OpFunction as OpFunction
from .tensor.calls import reduced as reduced
from .tensor.contents import aliasing, created_of, current, set_view
from .tensor.contents import hold as hold
from .tensor.contents import write as write
from .tensor.contents import write_lock as write_lock
from .tensor.contents import write_locks as write_locks
from .tensor.element_writes import write_element as write_element
from .tensor.elements import element_starts, element_steps, element_type, element_value
from .tensor.host import from_memory as from_memory
from .tensor.host import to_host as to_host
from .tensor.inference import inference_enabled as inference_enabled
from .tensor.inference import is_marked
from .tensor.inference import set_inference_enabled as set_inference_enabled
from .tensor.one_step import one_step as one_step
from .tensor.operators import (
    ABSOLUTE,
    EQUAL,
    FLOATS,
    INTS,
    MATMUL,
    NAMES,
    NOT_EQUAL,
    SQUARE,
    Operators,
    operators_of,
    set_operators,
)
from .tensor.parts import read_parts
from .tensor.placing import make_on as make_on
from .tensor.storage import Alias, Storage, WriteLocks
from .tensor.tensor import Tensor
from .tensor.tensor import known_index as known_index
from .tensor.tensor import of_numbers as of_numbers
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
from .trace.constraints import fitted as fitted
from .trace.fed import fed_items as fed_items
from .trace.fed import number_of as number_of
from .trace.graph import Value, token_of, trace
from .trace.mapping import loop_steps, note_draw
from .trace.recording import record_spec
from .trace.specs import Spec
from .types import TensorType

#: looked up once: the attribute of a class costs as much as creating the tensor
_new: Final[Any] = Tensor.__new__
#: how many plans are kept: the positions of a long loop are not kept for ever
_MOST_PLANS: Final = 8192


def storage_of(tensor: Tensor) -> Storage:
    """The storage that the tensor and its views share; from now on it counts as shared."""
    return tensor._storage


def same_storage(a: Tensor, b: Tensor) -> bool:
    """Return True if a write to one tensor may be seen in the other."""
    return a is b or a.shared is not None and a.shared is b.shared


def made_in_inference(tensor: Tensor) -> bool:
    """Return True if the tensor's storage was made in inference mode."""
    return is_marked(created_of(tensor))


def same_view(a: Tensor, b: Tensor) -> bool:
    """Return True if both tensors read the same part of one storage in the same order."""
    return a._storage is b._storage and a.view_steps == b.view_steps


def view(tensor: Tensor, step: ViewStep) -> Any:
    """A view of a tensor by one step, of the tensor's class.

    Raises ShapeError, DTypeError or ArgumentError if the step does not fit the tensor.
    """
    return tensor._alias(step)


def view_of_type(
    cls: Any, tensor: Tensor, steps: tuple[ViewStep, ...], tensor_type: TensorType,
    strides: tuple[int, ...] | None = None, offset: int = 0,
) -> Any:
    """A view of a tensor by several steps that are known to lead to that type.

    Nothing is checked: it is for steps kept from an equal earlier call. ``cls`` is the view's
    class, ``strides`` and ``offset`` are its ``element_strides`` and ``element_offset``. Its
    ``alias_of`` is that of the tensor, or the tensor itself.
    """
    view: Tensor = _new(cls)
    shared = tensor.shared
    set_view(
        view, tensor._storage if shared is None else shared, tensor.view_steps + steps, tensor_type)
    view.detached = tensor.detached
    state = tensor._alias_state
    owner = None if state is None else state.owner
    view._alias_state = Alias(tensor if owner is None else owner, strides, offset)
    return view


def element_view(cls: Any, tensor: Tensor, index: Any) -> Any:
    """The view of the one element that an index of ints names, as :func:`view_of_type` makes it.

    None for any other index, for a tensor with ``element_strides``, and for one through which a
    gradient flows.
    """
    t = tensor.tensor_type
    starts = element_starts(index, t.shape)
    if starts is None:
        return None
    state = tensor._alias_state
    offset = 0
    if state is not None:
        if state.strides is not None:
            return None
        offset = state.offset
    if tensor._storage.value.requires_grad:
        return None
    for axis, start in enumerate(starts):
        stride = 1
        for size in t.shape[axis + 1 :]:
            stride *= size
        offset += start * stride
    return view_of_type(cls, tensor, element_steps(starts), element_type(t), (), offset)


def steps_between(tensor: Tensor, view: Tensor) -> tuple[ViewStep, ...] | None:
    """The steps that lead from a tensor to a view of it; None if it is not a view of it.

    :func:`view_of_type` takes them, to make the same view of another tensor of that type.
    """
    if view is tensor or view.shared is None or view.shared is not tensor.shared:
        return None
    first = tensor.view_steps
    count = len(first)
    return view.view_steps[count:] if view.view_steps[:count] == first else None


@final
class ViewPlans:
    """Plans of views: the meaning of an index or a new shape, kept by its arguments.

    The steps, strides and type of a view depend only on the type and strides of its base and on the
    arguments, so a loop that takes the same views computes them once. A key holds all of these, and
    ``plans.get(key)`` is the plan kept under it.

    Args:
        make: returns what to keep of a view, from the tensor, the view and the steps between them;
            None keeps nothing.
    """

    __slots__ = ("make", "plans")

    def __init__(self, make: Callable[[Any, Any, tuple[ViewStep, ...]], Any]) -> None:
        self.make: Final[Callable[[Any, Any, tuple[ViewStep, ...]], Any]] = make
        self.plans: Final[dict[Any, Any]] = {}

    def keep(self, key: Any, tensor: Tensor, views: Any) -> Any:
        """Keep how ``views``, a view of the tensor or a tuple of views, is made.

        Returns the plan, or the tuple of plans, that is kept; None if it is not a view.
        """
        plan: Any
        if type(views) is tuple:
            plan = tuple([self._plan(tensor, m) for m in views])
            if None in plan:
                return None
        else:
            plan = self._plan(tensor, views)
            if plan is None:
                return None
        if len(self.plans) >= _MOST_PLANS:
            self.plans.clear()
        self.plans[key] = plan
        return plan

    def _plan(self, tensor: Tensor, view: Any) -> Any:
        steps = steps_between(tensor, view) if isinstance(view, Tensor) else None
        return None if steps is None else self.make(tensor, view, steps)


def view_of_storage(
    tensor: Tensor, storage: Storage, steps: tuple[ViewStep, ...], tensor_type: TensorType
) -> None:
    """Let a tensor be a view of a storage by steps that lead to that type; nothing is checked.

    All of its other attributes are those of a new tensor.
    """
    set_view(tensor, storage, steps, tensor_type)


def share_view(tensor: Tensor, other: Tensor) -> None:
    """Let a tensor be a view of the same part of the same storage as another one.

    It is detached if the other is; its other attributes are those of a new tensor.
    """
    set_view(tensor, other._storage, other.view_steps, other.tensor_type)
    tensor.detached = other.detached


def detached_view(tensor: Tensor) -> Any:
    """A tensor of the same class and the same part of the same storage, without gradient."""
    return tensor._detached()


def strides_for_broadcasts(tensor: Tensor) -> None:
    """Let a view that repeats elements be written: its broadcasts become strides of zero.

    It reads the same elements; of several written to one place, the last that differs remains.
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
    """Forget what a view read: the value of its storage was set without a write.

    A storage's ``value`` may be set to one with the same data and another history of gradients.
    """
    aliasing(tensor).version = -1


def read_through(view: Tensor, parent: Tensor, steps: tuple[ViewStep, ...]) -> None:
    """Read a view of a view through ``parent`` until the storage is written.

    So gradients of values computed from ``view`` pass through ``parent``. ``steps`` lead from
    ``parent`` to ``view``.
    """
    view._read_through(parent, steps)


def following(tensor: Tensor, value: Value) -> Any:
    """A tensor of the same class with a storage of its own, to take the place of ``tensor``.

    If the run that should compute ``value`` fails, it holds what ``tensor`` holds, like a tensor
    that was written in place.
    """
    return cast(Any, tensor._followed_by(value))


def write_all(tensors: list[Tensor], values: list[Value], tokens: list[object]) -> bool:
    """:func:`write` for several tensors, in order.

    Args:
        tokens: for each tensor, the token for which its new contents are a leaf of the tape
            (:meth:`Value.as_leaf`), None for contents as they are.

    Returns:
        False, with nothing written, if a value does not have exactly its tensor's type.
    """
    for k, t in enumerate(tensors):
        if values[k].type is not t.tensor_type:
            return False
    with write_locks(tensors):
        for k, t in enumerate(tensors):
            value = values[k]
            token = tokens[k]
            if token is not None:
                value = value.detach().as_leaf(token)
            write(t, value)
    return True


@final
class Update:
    """An op that writes its results over tensors, as an optimizer's step does at every call.

    Made once, it records the op again and checks only what may have changed.

    Args:
        spec: the op (:func:`lazyloom.spec`).
        operands: for each operand, the tensor whose contents it is, None for one that is passed
            to :meth:`record`.
        types: the type of each operand.
        results: for each result, the tensor that it is written over, None for one that is
            returned.
        tokens: for each result, the token for which its tensor's contents are a leaf of the tape
            (:meth:`Value.as_leaf`), None for contents without gradient.
        entries: conditions of all this: ``mapping[key] is value`` for each.
    """

    __slots__ = ("spec", "operands", "types", "results", "tokens", "shared", "entries",
                 "locks")

    def __init__(
        self, spec: Spec, operands: Sequence[Tensor | None], types: Sequence[TensorType],
        results: Sequence[Tensor | None], tokens: Sequence[object],
        entries: Sequence[tuple[dict[str, Any], str, object]] = (),
    ) -> None:  # fmt: skip
        self.spec: Final[Spec] = spec
        self.operands: Final[list[Tensor | None]] = list(operands)
        self.types: Final[list[TensorType]] = list(types)
        self.results: Final[list[Tensor | None]] = list(results)
        self.tokens: Final[list[object]] = list(tokens)
        self.shared: Final[list[Storage | None]] = [
            None if t is None else t.shared for t in results]
        self.locks: Final[WriteLocks] = write_locks([t for t in results if t is not None])
        self.entries: Final[list[tuple[dict[str, Any], str, object]]] = list(entries)

    def matches(self) -> bool:
        """Return True if tensors and entries are unchanged, and the tensors can be written over:
        whole tensors of the same storages, leaves for the same tokens or without gradient."""
        if trace.mapping:
            return False
        for mapping, key, value in self.entries:
            if mapping.get(key) is not value:
                return False
        for i, t in enumerate(self.results):
            if t is None:
                continue
            token = self.tokens[i]
            shared = t.shared
            if shared is not self.shared[i] or t.detached or t.view_steps:
                return False
            contents = t._value
            if shared is not None:
                if not shared.writable:
                    return False
                contents = shared.value
            elif token is not None:
                return False
            assert contents is not None
            if contents.requires_grad and (
                token is None or token_of(contents.node, contents.index) is None
            ):
                return False
        return True

    def record(self, given: Sequence[Any]) -> list[Value] | None:
        """Record the op and write its results.

        Args:
            given: the other operands: values, scalars, or tensors for their contents; None if
                one is missing.

        Returns:
            the results that are not written over a tensor; None, with nothing recorded, if a
            type has changed, an operand is missing or :meth:`matches` does not hold.
        """
        with self.locks:
            return self._record(given)

    def _record(self, given: Sequence[Any]) -> list[Value] | None:
        if not self.matches():
            return None
        operands: list[Any] = []
        number = 0
        for i, t in enumerate(self.operands):
            operand: Any = t
            if t is None:
                operand = given[number]
                number += 1
                if operand is None:
                    return None
            if isinstance(operand, Tensor):
                operand = current(operand)
            if operand.type is not self.types[i]:
                return None
            operands.append(operand)
        results: Any = record_spec(self.spec, operands)
        if not isinstance(results, tuple):
            results = (results,)
        returned: list[Value] = []
        for i, t in enumerate(self.results):
            result: Value = results[i]
            if t is None:
                returned.append(result)
                continue
            token = self.tokens[i]
            shared = self.shared[i]
            if token is None or shared is None:
                write(t, result)
            else:
                shared.replace(result.as_leaf(token))
        return returned


def end_profile() -> None:
    """Write the report of a profile of the whole process, if one is being made, and end what
    answers to ``python -m lazyloom top``.

    For hosts that end without ending the interpreter.
    """
    if hooks.end_profile is not None:
        hooks.end_profile()


def same_objects(a: Iterable[object], b: Sequence[object]) -> bool:
    """Return True if the members of both are the same objects, in order."""
    number = 0
    count = len(b)
    for x in a:
        if number == count or x is not b[number]:
            return False
        number += 1
    return number == count


__all__ = [
    "ABSOLUTE", "AsComplex", "AsReal", "Bitcast", "Broadcast", "Conj", "Diagonal", "EQUAL",
    "FLOATS", "INTS", "Imag", "MATMUL", "NAMES", "NOT_EQUAL", "OpFunction", "Operators", "Permute",
    "Real", "Reshape", "SQUARE", "Select", "Slice", "Storage", "Strided", "Tensor", "Update",
    "ViewPlans", "ViewStep", "detached_view", "element_starts", "element_steps", "element_value",
    "element_view", "end_profile", "fed_items", "following", "hold", "index_key",
    "inference_enabled", "known_index", "loop_steps", "made_in_inference", "make_on", "note_draw",
    "number_of", "of_numbers", "one_step", "operators_of", "read_parts", "read_through", "reduced",
    "replacing", "reread", "same_objects", "same_storage", "same_view", "set_inference_enabled",
    "set_operators", "share_view", "steps_between", "storage_of", "strides_for_broadcasts", "view",
    "view_of_storage", "view_of_type", "write", "write_all", "write_element", "write_lock",
    "write_locks",
]  # fmt: skip
