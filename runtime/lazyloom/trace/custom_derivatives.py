"""Derivatives that are functions of the host: ``custom``.

A node ``custom`` passes values on. On the tape it leads to the values that they were computed
from, and a function of the caller says how cotangents get there. That function records what it
computes like any other code, so its result can be differentiated again and mapped.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from ..errors import ArgumentError, GradientError
from ..ops.spec import lookup
from . import graph
from .graph import Value
from .recording import record

#: gives result ``i`` of the node as a value, on the tape if the pass is recorded
ResultOf = Callable[[int], Value]
#: from cotangents of the results, None for those that have none, to those of the inputs
VjpRule = Callable[[ResultOf, list["Value | None"]], Sequence["Value | None"]]
#: from tangents of the inputs, None for those that do not move, to those of the results
JvpRule = Callable[[ResultOf, list["Value | None"]], Sequence["Value | None"]]


class Custom:
    """The rule of one node ``custom``, kept in its ``leaf`` until the tape is freed.

    Attributes:
        name: what messages call the function.
        results: how many results the node has; its other operands are the inputs.
        vjp, jvp: the functions; None for one that there is not.
        kept: gives the values that the functions use beside those that they get.
        holding: gives the vjp that uses others in place of these.
        owner: anything that stands for the function in the program that gave it.
    """

    __slots__ = ("name", "results", "vjp", "jvp", "owner", "kept", "holding")

    def __init__(
        self, name: str, results: int, vjp: VjpRule | None, jvp: JvpRule | None,
        owner: object = None, kept: Callable[[], list[Value]] | None = None,
        holding: Callable[[list[Value]], VjpRule] | None = None,
    ) -> None:  # fmt: skip
        self.kept: Final = kept
        self.holding: Final = holding
        self.name: Final = name
        self.results: Final = results
        self.vjp: Final = vjp
        self.jvp: Final = jvp
        self.owner: Final = owner

    def apply_vjp(
        self, types: Sequence[Any], result_of: ResultOf, cotangents: list[Value | None]
    ) -> Sequence[Value | None]:
        """Cotangents of the inputs, of the given types. Raises GradientError for others."""
        if self.vjp is None:
            raise GradientError(
                f"{self.name} says nothing of how cotangents are pulled back through it")
        return _fitting(self.vjp(result_of, cotangents), types, f"{self.name}: cotangent")

    def apply_jvp(
        self, types: Sequence[Any], result_of: ResultOf, tangents: list[Value | None]
    ) -> Sequence[Value | None]:
        """Tangents of the results, of the given types. Raises GradientError for others."""
        if self.jvp is None:
            raise GradientError(
                f"{self.name} says nothing of how tangents are pushed forward through it")
        return _fitting(self.jvp(result_of, tangents), types, f"{self.name}: tangent")

    def without_rules(self) -> Custom:
        """What is left of it when the tape is freed: its name."""
        return Custom(self.name, self.results, None, None)

    def saves(self) -> bool:
        """Whether the functions use values of the forward computation, as far as they tell."""
        return self.kept is None or bool(self.kept())

    def values(self) -> list[Value]:
        """What :attr:`kept` gives."""
        return [] if self.kept is None else self.kept()


def _fitting(
    found: Sequence[Value | None], types: Sequence[Any], what: str
) -> Sequence[Value | None]:
    if len(found) != len(types):
        raise GradientError(f"{what}s: {len(found)} were given, expected {len(types)}")
    for i, (v, t) in enumerate(zip(found, types, strict=True)):
        if v is not None and v.type is not t:
            raise GradientError(f"{what} {i} is a {v.type.text}, expected {t.text}")
    return found


def custom(
    results: Sequence[Value], inputs: Sequence[Value], vjp: VjpRule,
    jvp: JvpRule | None = None, *, name: str = "custom", owner: object = None,
    kept: Callable[[], list[Value]] | None = None,
    holding: Callable[[list[Value]], VjpRule] | None = None,
) -> tuple[Value, ...]:  # fmt: skip
    """The results, with a derivative that a function of the host gives.

    Args:
        results: values computed from the inputs, with no gradient of their own.
        inputs: values that gradients are to reach; others do no harm.
        vjp: called in a backward pass with ``(result_of, cotangents)``; gives a cotangent, or
            None, for each input, of the input's type. Gradients are recorded while it runs if
            the pass is. ``result_of(i)`` is result ``i``; the function must not keep the
            returned values, which would keep themselves alive.
        jvp: the same for a forward pass, from tangents of the inputs to those of the results.
        name: what messages call it.
        owner: see :class:`Custom`.
        kept, holding: where the function is mapped over an axis, ``vjp`` is mapped too; for that
            ``kept()`` gives the values that it uses of those that were there in the forward
            computation, and ``holding(values)`` a ``vjp`` that uses others in their place.
            Without them a gradient through the mapped function is a GradientError.

    Returns:
        a value for each result; floating-point and complex ones require a gradient if an input
        does and gradients are being recorded.

    Raises ArgumentError where there are no results.
    """
    if not results:
        raise ArgumentError(f"{name}: no results were given, expected at least one")
    found = record(lookup("custom"), [*[v.detach() for v in results], *inputs],
                   {"results": len(results)})
    made: tuple[Value, ...] = found if isinstance(found, tuple) else (found,)
    node = made[0].node
    if node.tracked:
        with graph.trace.lock:
            node.rule = Custom(
                name, len(results), vjp, jvp, owner, kept, holding)
    return made
