"""Tensors that a custom function keeps for its backward, and the hooks that pack them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lazyloom import Value
from lazyloom.errors import type_name

from .._tensor import Tensor, operand

#: (pack, unpack) of the innermost ``saved_tensors_hooks``, last
_hooks: list[tuple[Callable[[Any], Any], Callable[[Any], Any]]] = []
#: why no hooks may be used, innermost last
_forbidden: list[str] = []


class Saved:
    """One tensor that is kept.

    An output is kept as its data alone, since with its place on the tape it would keep itself
    alive; it is put back there when it is asked for in a backward pass.
    """

    __slots__ = ("tensor", "version", "data", "result", "packed", "unpacking")

    def __init__(self, tensor: Tensor | None, result: int | None) -> None:
        self.version = tensor._version if tensor is not None else 0
        self.tensor = tensor if result is None else None
        self.data = operand(tensor).detach() if tensor is not None and result is not None else None
        self.result = result
        self.packed: Any = None
        self.unpacking: Callable[[Any], Any] | None = None
        if _hooks and tensor is not None:
            pack, self.unpacking = _hooks[-1]
            self.packed = pack(tensor.detach() if result is not None else tensor)
            self.tensor = self.data = None

    @classmethod
    def of(cls, value: Value) -> Saved:
        """What is kept of a tensor that holds a value and nothing else."""
        return cls(Tensor.from_value(value), None)

    def value(self) -> Value | None:
        """The contents of the tensor; None where there is none, or hooks packed it."""
        if self.tensor is not None:
            return operand(self.tensor)
        return self.data

    def unpack(self, result_of: Callable[[int], Value] | None) -> Tensor | None:
        """The tensor. Raises RuntimeError if it was written in place since."""
        if self.unpacking is not None:
            found = self.unpacking(self.packed)
            if not isinstance(found, Tensor):
                raise TypeError(
                    f"Output of saved tensor unpack_hook expected to be a Tensor but got result of "
                    f"type {type_name(found)}")
            return found
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
    """Inside, what custom functions save goes through ``pack``, and ``unpack`` when read.

    What PyTorch's own ops save the runtime decides when it runs, so there is nothing to pack.
    """

    def __init__(
        self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]
    ) -> None:
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook

    def __enter__(self) -> None:
        if _forbidden:
            raise RuntimeError(_forbidden[-1])
        _hooks.append((self.pack_hook, self.unpack_hook))

    def __exit__(self, *exc: object) -> None:
        _hooks.pop()


class save_on_cpu(saved_tensors_hooks):  # noqa: N801
    """Keeps what is saved in the memory of the CPU, where it is."""

    def __init__(self, pin_memory: bool = False, device_type: str = "cpu") -> None:
        super().__init__(lambda t: t, lambda t: t)


class disable_saved_tensors_hooks:  # noqa: N801
    """Inside, :class:`saved_tensors_hooks` raises RuntimeError with that message."""

    def __init__(self, error_message: str) -> None:
        self._message = error_message

    def __enter__(self) -> None:
        _forbidden.append(self._message)

    def __exit__(self, *exc: object) -> None:
        _forbidden.pop()
