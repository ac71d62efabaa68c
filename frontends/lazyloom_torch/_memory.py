"""Tensors on the memory of others: ``p.data = x``, ``Parameter(x)``, writes to aliases."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import lazyloom
from lazyloom import Value
from lazyloom.frontend import storage_of, view_of_storage, write_lock

if TYPE_CHECKING:
    from ._tensor import Tensor


def recorded(op: str, operands: list[Any]) -> Value:
    """Record an op with gradients, whatever the mode is."""
    with lazyloom.grad_mode(True):
        found: Value = lazyloom.record(op, operands)
    return found


def still_requiring(old: Value, new: Value) -> Value:
    """What replaces a value that requires a gradient: it still does, and gives the old none."""
    return recorded("where", [lazyloom.Scalar(False, lazyloom.dtypes.bool_), old, new])


def requiring(self: Tensor) -> str:
    """What of a tensor requires a gradient: "leaf", "computed", or nothing."""
    if self._leaf is not None:
        return "leaf"
    return "computed" if self._operand().requires_grad else ""


def check_alone(self: Tensor, value: Value) -> None:
    """Raise RuntimeError for views with gradient to which no recorded value may be written.

    These are views that a function gave together with others, and views made under ``no_grad``.
    """
    if self._without_grad == "computed" or self._without_grad and value.requires_grad:
        raise RuntimeError(
            "A view was created in no_grad mode and is being modified inplace with grad mode "
            "enabled. Given that this use case is ambiguous and error-prone, it is forbidden. Move "
            "both the view and the inplace operation into the no_grad block if it is not to be "
            "recorded, or both out of it if it is.")
    if self._of_several is not None and self.requires_grad:
        raise RuntimeError(
            f"Output of {self._of_several} is a view and is being modified inplace. This view is "
            "the output of a function that returns multiple views. Such functions do not allow the "
            "output views to be modified inplace. You should replace the inplace operation by an "
            "out-of-place one.")


def take(self: Tensor, other: Tensor) -> None:
    """Let a tensor share another one's memory, without its history.

    What either writes, both see. Contents that were computed with gradients are taken as they
    are now: they stay where they are on the tape, which would grow with each write.
    """
    with write_lock(other):
        _take(self, other)


def _take(self: Tensor, other: Tensor) -> None:
    strides, offset = other.element_strides, other.element_offset
    steps, leaf = other.view_steps, self._leaf
    alone, kind = other.value if other.shared is None else None, other.tensor_type
    root: Tensor | None = None
    if alone is not None:
        if alone.requires_grad:
            storage = lazyloom.Storage(alone.detach())
        else:
            # the tensor becomes the owner, and the other one its detached alias
            storage = storage_of(other)
            other.alias_of, other.detached = self, True
    else:
        storage, root = storage_of(other), other._root()
        tracked = storage.value.requires_grad
        if tracked and root._leaf is None:
            storage, steps, root = lazyloom.Storage(other.value.detach()), (), None
            strides, offset = None, 0
        elif root is self:
            storage.value = storage.value.detach()
            root = None
            if steps:
                # nothing else stands for all of the memory that it was the owner of
                root = self._bare()
                view_of_storage(root, storage, (), storage.value.type)
                root._lay(self.element_strides, 0)
    view_of_storage(self, storage, steps, kind)
    self._parent = self._own = None
    self._lay(strides, offset)
    self.alias_of, self.detached = root, root is not None
    if leaf is None:
        return
    leaf.strides = strides
    if root is None:
        storage.value = storage.value.as_leaf(leaf.token)
        storage.version += 1
    else:
        self._keep_own((storage.version, self.value.as_leaf(leaf.token)))


def deep_copy(self: Tensor, memo: dict[int, Any]) -> Tensor:
    """A tensor of the same class with a copy of a leaf's memory, but for its gradient.

    Of tensors that share memory the copies do, too, but for parameters, as in PyTorch: ``memo``
    is that of ``copy.deepcopy``.
    """
    contents = self.value.detach()
    if self.shared is None or getattr(self, "_copied_apart", False):
        return type(self).from_value(contents)
    storage = storage_of(self)
    known = memo.get(id(storage))
    if known is None:
        root = self._bare()
        view_of_storage(root, lazyloom.Storage(storage.value.detach()), (), storage.value.type)
        owner = self._root()
        if not owner.view_steps and storage_of(owner) is storage:
            root._lay(owner.element_strides, owner.element_offset)
        known = memo[id(storage)] = root
    made: Tensor = type(self).from_value(contents)
    view_of_storage(made, storage_of(known), self.view_steps, self.tensor_type)
    made.alias_of, made.detached = known, True
    made._lay(self.element_strides, self.element_offset)
    return made


def replace_alias(
    self: Tensor, value: Value, old: Value, top: Tensor, steps: tuple[Any, ...], tracking: bool
) -> None:
    """Write to a detached alias, or a view of one: ``steps`` lead there from the alias.

    The data is everybody's, the gradient history the alias's own.
    """
    if top._leaf is not None:
        self._write_plain(value.detach(), old)
        return
    mine = top._operand() if top._own is not None else None
    tied = mine is not None and mine.requires_grad
    if not tracking or not (tied or value.requires_grad):
        self._write_plain(value.detach(), old)
        if mine is None or not tied:
            return
        mine = recorded("straight_through", [mine, top.value.detach()])
    else:
        bases = [top._operand()]
        for step in steps[:-1]:
            bases.append(step.forward(bases[-1]))
        made = value
        for step, base in zip(reversed(steps), reversed(bases)):
            made = step.put(base, made)
        if mine is not None and tied and not made.requires_grad:
            made = still_requiring(mine, made)
        mine = made
        self._write_plain(value.detach(), old)
    top._keep_own((self.version, mine))


def check_gradient(self: Tensor, value: Tensor) -> None:
    """Raise RuntimeError for a tensor that cannot be another's ``grad``."""
    if value.tensor_type.shape != self.tensor_type.shape:
        raise RuntimeError(
            f"assigned grad has data of a different size: {list(value.shape)}, expected "
            f"{list(self.shape)}")
    if value.tensor_type.dtype is not self.tensor_type.dtype:
        raise RuntimeError(
            f"attempting to assign a gradient with dtype {value.dtype!r} to a tensor of "
            f"dtype {self.dtype!r}: they must be the same")
    if elsewhere(self.tensor_type, value.tensor_type):
        raise RuntimeError(
            f"assigned grad has data located on a different device: {value.device}, expected "
            f"{self.device}, where the tensor is; move it with .to({str(self.device)!r})")


def elsewhere(x: lazyloom.TensorType, other: lazyloom.TensorType) -> bool:
    """Whether two values are on two devices, neither of them the default one, nor on a mesh."""
    a, b = x.placement, other.placement
    return a is not b and not (a.is_default or b.is_default) and a.mesh is None and b.mesh is None


def requiring_too(value: Value, of: Value) -> Value:
    """A value that requires a gradient as another does of which it has no element."""
    if not value.type.dtype.is_inexact:
        return value
    whole = recorded("sum", [of])
    if whole.type.dtype is not value.type.dtype:
        whole = lazyloom.record("cast", [whole], {"dtype": value.type.dtype})
    spread = lazyloom.record("broadcast_to", [whole], {"shape": value.type.shape})
    return recorded("straight_through", [spread, value])
