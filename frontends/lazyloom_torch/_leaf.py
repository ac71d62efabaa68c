"""What the tape knows of a tensor that requires a gradient."""

from __future__ import annotations

import threading
import weakref
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._tensor import Tensor


class Leaf:
    """What the tape knows of a leaf: where its gradient goes. Holds no tensor but that."""

    __slots__ = ("grad", "hooks", "after", "owner", "inactive", "strides", "lock")

    def __init__(self, owner: Tensor) -> None:
        self.strides = owner.element_strides  # a gradient gets them too
        self.owner = weakref.ref(owner)
        self.grad: Tensor | None = None
        self.hooks: dict[int, Any] | None = None
        self.after: dict[int, Any] | None = None
        self.inactive = False  # the tensor requires no gradient now, and gets none
        self.lock = threading.RLock()  # held while a gradient is added
