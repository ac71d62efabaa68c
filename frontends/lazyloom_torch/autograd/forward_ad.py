"""Forward-mode derivatives: tensors that carry a tangent, ``torch.autograd.forward_ad``.

A dual tensor is a leaf of the tape; its tangent goes up the tape when the tangent of a result
is asked for. So gradients have to be recorded in between, which ``dual_level`` sees to.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import lazyloom
from lazyloom import Value

from .._tensor import Tensor, operand


class UnpackedDualTensor(NamedTuple):
    """A tensor and its tangent, None where it has none."""

    primal: Tensor
    tangent: Tensor | None


class _Level:
    """The dual tensors that were made in one level."""

    def __init__(self) -> None:
        self.leaves: list[Value] = []
        self.tangents: list[Value] = []
        self.grad_mode = lazyloom.set_grad_enabled(True)


_levels: list[_Level] = []


def enter_dual_level() -> int:
    """Begin a level; its number. Raises RuntimeError inside of one."""
    if _levels:
        raise RuntimeError("Nested forward mode AD is not supported at the moment")
    _levels.append(_Level())
    return len(_levels) - 1


def exit_dual_level(*, level: int | None = None) -> None:
    """End the level: its dual tensors have no tangents any more."""
    if not _levels or level is not None and level != len(_levels) - 1:
        raise RuntimeError(
            "Trying to exit a forward AD level that was not the last one that was created. This "
            "is not supported.")
    lazyloom.set_grad_enabled(_levels.pop().grad_mode)


class dual_level:  # noqa: N801
    """A level for a block of code, in which gradients are recorded."""

    def __enter__(self) -> int:
        return enter_dual_level()

    def __exit__(self, *exc: object) -> None:
        exit_dual_level()


def _current(function: str) -> _Level:
    if not _levels:
        raise RuntimeError(
            f"{function}: Trying to create or unpack a dual Tensor for forward AD but no level "
            "exists, make sure to enter_dual_level() first.")
    return _levels[-1]


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """A tensor with that tangent, of the same shape and dtype.

    Raises RuntimeError outside a level, or for a tangent that does not fit, ValueError for a
    tensor that is neither floating-point nor complex.
    """
    here = _current("make_dual")
    if not (tensor.is_floating_point() and tangent.is_floating_point()
            or tensor.is_complex() and tangent.is_complex()):
        raise ValueError(
            "Expected primal and tangent to be both floating-point or both complex, but got "
            f"{tensor.dtype!r} and {tangent.dtype!r}")
    if tensor.shape != tangent.shape:
        raise RuntimeError(
            f"Expected tangent to have the same shape as the primal, {list(tensor.shape)}, got "
            f"{list(tangent.shape)}")
    leaf = operand(tensor).as_leaf(object())
    here.leaves.append(leaf)
    here.tangents.append(operand(tangent.to(tensor.dtype)))
    return Tensor.from_value(leaf)


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """The tensor without its tangent, and the tangent, None where it has none."""
    if not _levels:
        return UnpackedDualTensor(tensor, None)
    here = _levels[-1]
    value = operand(tensor)
    if not value.requires_grad:
        return UnpackedDualTensor(tensor, None)
    (along,) = lazyloom.tangents([value], here.leaves, here.tangents, create_graph=True)
    # what also depends on other leaves stays on the tape
    own = {(v.node, v.index) for v in here.leaves}
    others = any((v.node, v.index) not in own for v in lazyloom.used_since([value], -1)) or any(
        v.requires_grad for v in here.tangents)
    if others:
        return UnpackedDualTensor(
            Tensor.from_value(value), None if along is None else Tensor.from_value(along))
    tangent = None if along is None else Tensor.from_value(along.detach())
    return UnpackedDualTensor(Tensor.from_value(value.detach()), tangent)


__all__: list[Any] = [
    "UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual",
    "unpack_dual",
]
