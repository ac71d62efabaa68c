"""Derivatives that are functions of the host: ``custom``.

A node ``custom`` passes values through. On the tape it leads to the values from which they were
computed, and a function of the caller gives the cotangents of those. That function records what
it computes like any other code, so its result can be differentiated again and mapped.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from ..errors import ArgumentError
from ..ops.spec import lookup
from . import graph
from .graph import Value
from .recording import record
from .tape import renewing

#: returns result ``i`` of the node as a value, on the tape if the pass is recorded
ResultOf = Callable[[int], Value]
#: from cotangents of the results, None where there is none, to cotangents of the inputs
VjpRule = Callable[[ResultOf, list["Value | None"]], Sequence["Value | None"]]
#: from tangents of the inputs, None for those that do not move, to tangents of the results
JvpRule = Callable[[ResultOf, list["Value | None"]], Sequence["Value | None"]]
#: returns None, or what computes the results once more, when a value is there
Again = Callable[[], "Callable[[Value | None], Sequence[Value]] | None"]


class Custom:
    """The rule of one node, kept in it until the tape is freed.

    Attributes:
        name: what messages call the function.
        results: how many operands come before the inputs: those of ``custom`` are its results.
        vjp, jvp: the functions; None for a missing one.
        kept: returns the values that the functions use besides their arguments.
        holding: returns a vjp that uses other values in place of these.
        mapped: returns the rule of the same function of every element of an axis, the first one;
            of a rule that keeps no values, in place of ``holding``.
        owner: any object that stands for the function in the program that defined it.
        again: whether, and how, derivatives get the results computed once more.
    """

    __slots__ = ("name", "results", "vjp", "jvp", "owner", "kept", "holding",
                 "mapped", "again")

    def __init__(
        self, name: str, results: int, vjp: VjpRule | None, jvp: JvpRule | None,
        owner: object = None, kept: Callable[[], list[Value]] | None = None,
        holding: Callable[[list[Value]], VjpRule] | None = None,
        mapped: Callable[[], Custom] | None = None, again: Again | None = None,
    ) -> None:  # fmt: skip
        self.again: Final = again
        self.kept: Final = kept
        self.holding: Final = holding
        self.mapped: Final = mapped
        self.name: Final = name
        self.results: Final = results
        self.vjp: Final = vjp
        self.jvp: Final = jvp
        self.owner: Final = owner

    def without_rules(self) -> Custom:
        """What remains when the tape is freed: the name."""
        return Custom(self.name, self.results, None, None)

    def saves(self) -> bool:
        """Return True if the functions use values of the forward pass, or do not say."""
        return self.kept is None or self.again is not None or bool(self.kept())

    def values(self) -> list[Value]:
        """The values that :attr:`kept` returns."""
        return [] if self.kept is None else self.kept()


def custom(
    results: Sequence[Value], inputs: Sequence[Value], vjp: VjpRule,
    jvp: JvpRule | None = None, *, name: str = "custom", owner: object = None,
    kept: Callable[[], list[Value]] | None = None,
    holding: Callable[[list[Value]], VjpRule] | None = None, again: Again | None = None,
) -> tuple[Value, ...]:  # fmt: skip
    """The results, with a derivative that a function of the host gives.

    Args:
        results: values computed from the inputs, with no gradient of their own.
        inputs: values that gradients should reach; others do no harm.
        vjp: called in a backward pass with ``(result_of, cotangents)``; returns a cotangent, or
            None, for each input, of the input's type. Gradients are recorded while it runs if
            the pass is recorded. ``result_of(i)`` is result ``i``; the function must not keep
            the returned values, which would keep themselves alive.
        jvp: the same for a forward pass, from tangents of the inputs to those of the results.
        name: what messages call it.
        owner: see :class:`Custom`.
        kept, holding: if the function is mapped over an axis, ``vjp`` is mapped too; for that,
            ``kept()`` returns the values of the forward computation that it uses, and
            ``holding(values)`` a ``vjp`` that uses other values in their place. Without them a
            gradient through the mapped function is a GradientError.
        again: called when a backward pass begins, or a read falls before it. If it returns a
            function, derivatives that take the results, or what cheap ops alone made of them, get
            what that function records in their place: so the results need not be kept in between.
            It is called once in a pass, with a value that is to be there before, or None.

    Returns:
        a value for each result; floating-point and complex ones require a gradient if an input
        does and gradients are being recorded.

    Raises ArgumentError where there are no results.

    Example:

        >>> def twice(result_of, cotangents):
        ...     return [lazyloom.record("add", [cotangents[0], cotangents[0]])]
        >>> x = lazyloom.from_host([1.0, 2.0]).as_leaf("x")
        >>> (y,) = lazyloom.custom([x.detach()], [x], twice)
        >>> (gradient,) = lazyloom.gradients([lazyloom.record("sum", [y])], [x])
        >>> gradient.read()
        array([2., 2.])
    """
    if not results:
        raise ArgumentError(f"{name}: no results were given, expected at least one")
    recorded = record(lookup("custom"), [*[v.detach() for v in results], *inputs],
                      {"results": len(results)})
    values: tuple[Value, ...] = recorded if isinstance(recorded, tuple) else (recorded,)
    node = values[0].node
    if node.tracked:
        with graph.trace.lock:
            node.rule = Custom(
                name, len(results), vjp, jvp, owner, kept, holding, None, again)
        if again is not None:
            renewing.used = True
    return values
