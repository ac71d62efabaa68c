"""Parameters and buffers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import lazyloom
from lazyloom.frontend import hold, storage_of

from .._dtypes import Size
from .._inference import check_requiring
from .._memory import take
from .._tensor import Tensor, _new, operand


class Parameter(Tensor):
    """A tensor that a Module registers when it is assigned, and that collects a gradient.

    Its data is shared with the tensor given, as in PyTorch. Pending data, such as random
    initial values, becomes the boundary of its own program.
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        data = args[0] if args else kwargs.get("data")
        if isinstance(data, Tensor) and data._is_dtensor and cls is Parameter:
            return data._as_parameter(  # type: ignore[attr-defined]
                *args[1:], **{k: v for k, v in kwargs.items() if k != "data"})
        return _new(cls)

    def __init__(self, data: Any = None, requires_grad: bool = True) -> None:
        if data is None:
            super().__init__()
            data = self
        else:
            operand(data)  # TypeError for what is no tensor
            take(self, data)
            lazyloom.boundary(storage_of(self).value)
        if requires_grad:
            check_requiring(self)
            if not self.tensor_type.dtype.is_inexact:
                raise RuntimeError(
                    "Only Tensors of floating point and complex dtype can require gradients")
            self._make_leaf()

    _copied_apart = True  # a deep copy has memory of its own

    def __deepcopy__(self, memo: dict[int, Any]) -> Parameter:
        if id(self) in memo:
            found: Parameter = memo[id(self)]
            return found
        made: Any = super().__deepcopy__(memo)
        if made._leaf is not None:
            made._leaf.grad = None
        return made

    def __repr__(self) -> str:
        return "Parameter containing:\n" + super().__repr__()


class Buffer(Tensor):
    """A tensor that a Module registers as a buffer when it is assigned."""

    def __init__(self, data: Tensor | None = None, *, persistent: bool = True) -> None:
        if data is None:
            super().__init__()
        else:
            take(self, data)
        self.persistent = persistent


class UninitializedTensorMixin:
    """A parameter or buffer of a lazy module, whose shape is not known yet.

    ``materialize(shape)`` makes it what it is to be; until then only ``dtype``, ``device`` and
    the like can be asked for.
    """

    _becomes: type[Tensor]

    def materialize(self, shape: Any, device: Any = None, dtype: Any = None) -> None:
        """Give it a shape, and memory without particular contents."""
        from .._functions.creation import empty

        kind = self.dtype if dtype is None else dtype  # type: ignore[attr-defined]
        device = self.device if device is None else device  # type: ignore[attr-defined]
        self.__class__ = self._becomes  # type: ignore[assignment]
        self.data: Any = empty(tuple(shape), dtype=kind, device=device)

    @property
    def shape(self) -> Size:
        """The size of each dimension; known before anything runs."""
        raise RuntimeError(
            "Can't access the shape of an uninitialized parameter or buffer. This error usually "
            "happens in `load_state_dict` when trying to load an uninitialized parameter into an "
            "initialized one. Call `forward` to initialize the parameters before accessing their "
            "attributes.")

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            memo[id(self)] = self._again()
        return memo[id(self)]

    def _again(self) -> Any:
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"


class UninitializedParameter(UninitializedTensorMixin, Parameter):
    """A parameter of a lazy module, whose shape is not known yet."""

    _becomes = Parameter

    def __init__(self, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> None:
        from .._functions.creation import empty

        Parameter.__init__(self, empty(0, dtype=dtype, device=device), requires_grad)

    def _again(self) -> UninitializedParameter:
        return type(self)(self.requires_grad, device=self.device, dtype=self.dtype)


class UninitializedBuffer(UninitializedTensorMixin, Tensor):
    """A buffer of a lazy module, whose shape is not known yet."""

    _becomes = Tensor

    def __init__(self, requires_grad: bool = False, device: Any = None, dtype: Any = None,
                 persistent: bool = True) -> None:  # fmt: skip
        from .._functions.creation import empty

        value = operand(empty(0, dtype=dtype, device=device))
        hold(self, value)
        self.persistent = persistent

    def _again(self) -> UninitializedBuffer:
        return type(self)(device=self.device, dtype=self.dtype, persistent=self.persistent)


def is_lazy(param: Any) -> bool:
    """Whether a parameter or buffer has no shape yet."""
    return isinstance(param, UninitializedTensorMixin)


def forget_gradients(parameters: Iterable[Tensor], set_to_none: bool) -> None:
    """Make all gradients None, or zeros of their own."""
    for p in parameters:
        leaf = p._leaf
        grad = p.grad if leaf is None else leaf.grad
        if grad is None:
            continue
        zeros = None if set_to_none else grad.detach().zero_()
        if leaf is None:
            p.grad = zeros
        else:
            leaf.grad = zeros
