"""One tensor becomes another handle of another one's memory: ``p.data = x``, ``Parameter(x)``."""

from __future__ import annotations

import lazyloom

from ._tensor import Tensor, _new


def take(self: Tensor, other: Tensor) -> None:
    """Let a tensor share another one's memory, without its history.

    What either writes, both see. Contents that were computed with gradients are taken as they
    are now: they stay where they are on the tape, which would grow with each write.
    """
    strides, offset, steps, leaf = other._strides, other._offset, other._steps, self._leaf
    alone, kind = other._value, other._type
    root: Tensor | None = None
    if alone is not None:
        if alone.requires_grad:
            storage = lazyloom.Storage(alone.detach())
        else:
            # the tensor becomes the owner, and the other one its detached alias
            storage = other._storage
            other._origin, other._no_gradient = self, True
    else:
        storage, root = other._storage, other._root()
        tracked = storage.value.requires_grad
        if tracked and root._leaf is None:
            storage, steps, root = lazyloom.Storage(other.value.detach()), (), None
        elif root is self:
            storage.value = storage.value.detach()
            root = None
            if steps:
                # nothing else stands for all of the memory that it was the owner of
                root = _new(Tensor)
                root._set(storage, (), storage.value.type)
    self._set(storage, steps, kind)
    self._base = self._parent = self._own = None
    self._strides, self._offset = strides, offset
    self._origin, self._no_gradient = root, root is not None
    if leaf is None:
        return
    if root is None:
        storage.value = storage.value.as_leaf(leaf)
        storage.version += 1
    else:
        self._keep_own((storage.version, self.value.as_leaf(leaf)))
