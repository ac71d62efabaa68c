"""Forms: in which order the axes of an array lie in memory.

Axis ``k`` of the physical array is axis ``form[k]`` of the logical one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

Form = tuple[int, ...]


def identity(ndim: int) -> Form:
    """The form of an array whose axes lie in their logical order."""
    return tuple(range(ndim))


def channels_last(ndim: int) -> Form:
    """Samples, positions, channels of an array (samples, channels, positions...)."""
    return (0, *range(2, ndim), 1)


def same_memory(shape: Sequence[int], a: Form, b: Form) -> bool:
    """Whether the two forms of an array of that logical shape have their elements in one order."""
    return [d for d in a if shape[d] != 1] == [d for d in b if shape[d] != 1]


def settled(shape: Sequence[int], form: Form) -> Form:
    """The form, or the logical one where that has the same memory."""
    plain = identity(len(shape))
    return plain if same_memory(shape, form, plain) else form


class Laid(NamedTuple):
    """A traced array in a form; ``operand`` is the op's operand that it is, or -1."""

    data: Any
    form: Form
    operand: int = -1

    @property
    def shape(self) -> tuple[int, ...]:
        """The logical shape."""
        sizes = dict(zip(self.form, self.data.shape, strict=True))
        return tuple(sizes[d] for d in range(len(sizes)))


class Spread(NamedTuple):
    """A broadcast that is made in the form in which it is needed; axis i of base is dims[i]."""

    base: Laid
    dims: tuple[int, ...]
    shape: tuple[int, ...]


def turn(shape: Sequence[int], element: str, now: Form, then: Form) -> str:
    """The StableHLO of turning ``{0}`` from one form into another, without its result's name."""
    source = f"tensor<{''.join(f'{shape[d]}x' for d in now)}{element}>"
    target = f"tensor<{''.join(f'{shape[d]}x' for d in then)}{element}>"
    if same_memory(shape, now, then):
        return f"stablehlo.reshape {{0}} : ({source}) -> {target}"
    dims = ", ".join(str(now.index(d)) for d in then)
    return f"stablehlo.transpose {{0}}, dims = [{dims}] : ({source}) -> {target}"
