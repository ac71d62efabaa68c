"""What a tensor that requires a gradient collects, and what the tape knows it by.

Nodes hold the tape's :class:`Token`, and the collector does not see what nodes hold. So a token
keeps neither the gradient nor hooks while the tensor lives: either may lead back to the node (a
gradient is computed from the leaf's contents, a hook often names the leaf), and such a cycle would
stay for ever.
"""

from __future__ import annotations

import threading
import weakref
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._tensor import Tensor


class Token:
    """What the tape reports a leaf by.

    Attributes:
        hooks: those of a leaf whose tensor is gone, which run as long as its graph is there.
    """

    __slots__ = ("leaf", "hooks")

    def __init__(self, leaf: Leaf) -> None:
        #: gives what collects the gradient, None once its tensor is gone
        self.leaf: weakref.ref[Leaf] = weakref.ref(leaf)
        self.hooks: dict[int, Any] | None = None

    def owner(self) -> Tensor | None:
        """The tensor, while it is alive."""
        leaf = self.leaf()
        return None if leaf is None else leaf.owner()


class _Owner(weakref.ref):  # type: ignore[type-arg]
    """A reference to a leaf's tensor that leaves its hooks to the graph as the tensor goes."""

    __slots__ = ("hooks", "token")
    token: Token
    hooks: dict[int, Any] | None

    def parted(self) -> None:
        self.token.hooks = self.hooks


class Leaf:
    """What a tensor that requires a gradient has collected, and the hooks on it."""

    __slots__ = ("grad", "hooks", "after", "owner", "inactive", "strides", "lock", "token",
                 "__weakref__")

    def __init__(self, owner: Tensor) -> None:
        self.strides = owner.element_strides  # a gradient gets them too
        self.grad: Tensor | None = None
        self.hooks: dict[int, Any] | None = None
        self.after: dict[int, Any] | None = None
        self.inactive = False  # the tensor requires no gradient now, and gets none
        self.lock = threading.RLock()  # held while a gradient is added
        self.token = Token(self)
        self.owner: weakref.ref[Tensor] = weakref.ref(owner)

    def hook_table(self) -> dict[int, Any]:
        """The hooks, made when first asked for."""
        if self.hooks is None:
            self.hooks = {}
            tensor = self.owner()
            if tensor is not None:
                # the reference belongs to the tensor: no node may lead to it
                reference = _Owner(tensor, _Owner.parted)
                reference.token, reference.hooks = self.token, self.hooks
                self.owner = reference
        return self.hooks
