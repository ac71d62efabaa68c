"""Tensors that a custom function keeps for its backward; hooks that would pack what is saved."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lazyloom import Value

from .._tensor import Tensor, operand

#: why no hooks may be used, innermost last
_forbidden: list[str] = []


class Saved:
    """One tensor that is kept.

    An output is kept as its data alone, since with its place on the tape it would keep itself
    alive; it is put back there when it is asked for in a backward pass.
    """

    __slots__ = ("tensor", "version", "data", "result")

    def __init__(self, tensor: Tensor | None, result: int | None) -> None:
        self.version = tensor._version if tensor is not None else 0
        self.tensor = tensor if result is None else None
        self.data = operand(tensor).detach() if tensor is not None and result is not None else None
        self.result = result

    @classmethod
    def of(cls, value: Value) -> Saved:
        """What is kept of a tensor that holds a value and nothing else."""
        return cls(Tensor.from_value(value), None)

    def value(self) -> Value | None:
        """The contents of the tensor; None where there is none."""
        if self.tensor is not None:
            return operand(self.tensor)
        return self.data

    def unpack(self, result_of: Callable[[int], Value] | None) -> Tensor | None:
        """The tensor. Raises RuntimeError if it was written in place since."""
        if self.data is not None:
            if result_of is not None and self.result is not None:
                value = result_of(self.result)
                if value.requires_grad:
                    return Tensor.from_value(value)
            return Tensor.from_value(self.data)
        t = self.tensor
        if t is not None and t._version != self.version:
            raise RuntimeError(
                "one of the variables needed for gradient computation has been modified by an "
                f"inplace operation: a {t.tensor_type.text} is at version {t._version}; expected "
                f"version {self.version} instead; clone() it before it is written")
        return t


def save(tensor: Tensor | None, result: int | None) -> Saved:
    """Keep a tensor, which is the ``result``-th of its function if that is a number."""
    return Saved(tensor, result)


class saved_tensors_hooks:  # noqa: N801
    """Hooks that pack what is saved for a backward pass and unpack it there: not here.

    Ops save no tensors when they are recorded. Which data derivatives take, and which of these
    are kept or computed again, is decided when programs run. So entering it raises
    NotImplementedError, but for :class:`save_on_cpu`.
    """

    def __init__(
        self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]
    ) -> None:
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook

    def __enter__(self) -> None:
        if _forbidden:
            raise RuntimeError(_forbidden[-1])
        self._begin()

    def _begin(self) -> None:
        raise NotImplementedError(
            "torch.autograd.graph.saved_tensors_hooks is not supported: ops save no tensors when "
            "they are recorded, so there is nothing to pack. What the gradient needs is kept or "
            "computed again as programs run. To save memory use torch.utils.checkpoint; to change "
            "what is saved write a torch.autograd.Function")

    def __exit__(self, *exc: object) -> None:
        pass


class save_on_cpu(saved_tensors_hooks):  # noqa: N801
    """Keeps what is saved in the memory of the CPU, where it is: changes nothing."""

    def __init__(self, pin_memory: bool = False, device_type: str = "cpu") -> None:
        super().__init__(lambda t: t, lambda t: t)

    def _begin(self) -> None:
        pass


class disable_saved_tensors_hooks:  # noqa: N801
    """Inside, :class:`saved_tensors_hooks` raises RuntimeError with that message."""

    def __init__(self, error_message: str) -> None:
        self._message = error_message

    def __enter__(self) -> None:
        _forbidden.append(self._message)

    def __exit__(self, *exc: object) -> None:
        _forbidden.pop()
