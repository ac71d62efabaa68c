"""Arguments of a captured call: tensors, each with a type and a path, and other values."""

from __future__ import annotations

from typing import Any, Final, final

from ..tensor.tensor import Tensor
from ..tensor.views import ViewStep
from ..types import TensorType
from .guards import attributes_of, same
from .state import IMMUTABLE, check_capturable
from .tensor_checks import shown

TENSOR: Final = 0
VALUE: Final = 1
SEQUENCE: Final = 2
DICT: Final = 3
OBJECT: Final = 4


@final
class Argument:
    """One argument, or a part of one.

    Attributes:
        kind: TENSOR, VALUE (immutable), SEQUENCE, DICT or OBJECT (always the same one).
        path: its name in messages.
        value: the value or object; for a sequence or dict, its class.
        keys, parts: the keys of a dict, and the parts of a dict or sequence.
        type, detached, slow, strides, offset, requires_grad: those of a tensor.
        steps: the view steps of a tensor; None where they may change.
    """

    __slots__ = ("kind", "path", "value", "keys", "parts", "type", "detached", "slow", "strides",
                 "offset", "requires_grad", "steps", "views")

    def __init__(self, kind: int, path: str, value: Any) -> None:
        self.kind: Final[int] = kind
        self.path: Final[str] = path
        self.value: Any = value
        self.keys: list[Any] = []
        self.parts: list[Argument] = []
        self.type: TensorType | None = None
        self.detached: bool = False
        self.slow: bool = False
        self.strides: tuple[int, ...] | None = None
        self.offset: int = 0
        self.requires_grad: bool = False
        self.steps: tuple[ViewStep, ...] | None = None
        self.views: bool = False

    def fits(self, x: Any, tensors: list[Tensor]) -> bool:
        """Return True if a value fits; append its tensors to the list."""
        kind = self.kind
        if kind == TENSOR:
            return self._fits_tensor(x, tensors)
        if kind == VALUE:
            return x is self.value or same(x, self.value)
        if kind == OBJECT:
            return x is self.value
        if type(x) is not self.value or len(x) != len(self.parts):
            return False
        if kind == SEQUENCE:
            i = 0
            fit = True
            for item in x:
                fit = fit and self.parts[i].fits(item, tensors)
                i += 1  # noqa: SIM113 - enumerate makes an object, compiled
            return fit
        for i, (key, item) in enumerate(x.items()):
            if not same(key, self.keys[i]) or not self.parts[i].fits(item, tensors):
                return False
        return True

    def _fits_tensor(self, x: Any, tensors: list[Tensor]) -> bool:
        if type(x) is not self.value:
            return False
        t: Tensor = x
        if t.tensor_type is not self.type or t.slow_path != self.slow or (
            t.detached != self.detached or bool(t.view_steps) != self.views
        ):
            return False
        if (self.views or self.slow) and (
            t.element_strides != self.strides or t.element_offset != self.offset
        ):
            return False
        if self.steps is not None and t.view_steps != self.steps:
            return False
        if attributes_of(t) or t.value.requires_grad != self.requires_grad:
            return False
        tensors.append(t)
        return True

    def why(self, x: Any) -> str:
        """Return what does not fit; "" if the value fits."""
        if self.fits(x, []):
            return ""
        if self.kind == TENSOR:
            t: Any = x
            if isinstance(t, Tensor) and t.tensor_type is self.type:
                return f"{self.path} is another kind of tensor of type {t.tensor_type.text}"
            assert self.type is not None
            return f"{self.path} was a tensor of type {self.type.text} and is {shown(x)}"
        if self.kind == SEQUENCE and type(x) is self.value and len(x) == len(self.parts):
            for part, item in zip(self.parts, x):
                reason = part.why(item)
                if reason:
                    return reason
        if self.kind == DICT and type(x) is self.value and list(x) == self.keys:
            for part, item in zip(self.parts, x.values()):
                reason = part.why(item)
                if reason:
                    return reason
        was = shown(self.value) if self.kind in (VALUE, OBJECT) else (
            f"a {self.value.__name__} of {len(self.parts)}")
        return f"{self.path} was {was} and is {shown(x)}"


def argument_of(
    path: str, x: Any, tensors: list[Tensor], objects: list[tuple[str, Any]]
) -> Argument:
    """Describe an argument; append its tensors, and objects that must stay the same, to the lists.
    """
    if isinstance(x, Tensor):
        check_capturable(x)
        described = hasattr(x, "_info")  # the NumPy-like frontend's notes on its memory
        if attributes_of(x) or described and x.slow_path:
            objects.append((path, x))
            return Argument(OBJECT, path, x)
        argument = Argument(TENSOR, path, type(x))
        argument.type = x.tensor_type
        argument.detached = x.detached
        argument.slow = x.slow_path
        argument.strides = x.element_strides
        argument.offset = x.element_offset
        argument.requires_grad = x.value.requires_grad
        argument.views = bool(x.view_steps)
        if described and x.view_steps:
            argument.steps = x.view_steps
        tensors.append(x)
        return argument
    if type(x) in (list, tuple) or isinstance(x, tuple) and hasattr(x, "_fields"):
        argument = Argument(SEQUENCE, path, type(x))
        argument.parts = [argument_of(f"{path}[{i}]", item, tensors, objects)
                       for i, item in enumerate(x)]
        return argument
    if type(x) is dict:
        argument = Argument(DICT, path, dict)
        argument.keys = list(x)
        argument.parts = [argument_of(f"{path}[{k!r}]", item, tensors, objects)
                       for k, item in x.items()]
        return argument
    if isinstance(x, IMMUTABLE):
        return Argument(VALUE, path, x)
    objects.append((path, x))
    return Argument(OBJECT, path, x)
