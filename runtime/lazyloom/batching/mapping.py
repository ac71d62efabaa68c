"""Mapped values: each stands for one element of the mapped axis.

A derivative that is a function of the host is mapped as what it belongs to is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..trace.custom_derivatives import Custom, ResultOf, VjpRule
from ..trace.graph import Node, Value
from ..trace.mapping import MappedCall, placeholder
from ..trace.recording import record
from ..trace.source import user_site
from ..types import tensor_type
from .replay import replay, spread


def map_values(
    body: Callable[[list[Value]], Sequence[Value]], inputs: Sequence[Value], size: int,
    mapping: MappedCall,
) -> list[tuple[Value, bool]]:  # fmt: skip
    """``body`` of every element of a leading axis.

    Args:
        body: takes and gives values of one element.
        inputs: values whose first axis is mapped.
        size: of that axis.

    Returns:
        each result, and whether it has the axis, in front; one that depends on no input is as
        ``body`` gave it.
    """
    with mapping:
        given: list[Value] = []
        sources: dict[Node, Value] = {}
        for x in inputs:
            t = x.type
            one = tensor_type(t.shape[1:], t.dtype, t.placement)
            p = placeholder(one, mapping, x.requires_grad)
            sources[p.node] = x
            given.append(p)
        results = body(given)
    return replay(results, sources, mapping.start, size, _on_axis)


def moved(value: Value, source: int, target: int) -> Value:
    """The value with one axis moved."""
    if source == target:
        return value
    axes = [a for a in range(len(value.shape)) if a != source]
    axes.insert(target, source)
    found: Value = record("transpose", [value], {"axes": tuple(axes)})
    return found


def _on_axis(
    rule: Custom, kept: list[tuple[Value, bool]], mapped: list[bool], size: int
) -> Custom:
    """The rule of a node that was recorded again for all elements of an axis.

    Args:
        rule: that of the node of one element.
        kept: for each of ``rule.values()``, what takes its place, and whether it has the axis.
        mapped: for each input, whether it has the axis.
        size: of the axis.
    """
    name = f"{rule.name} mapped over an axis"
    if rule.holding is None:
        return Custom(name, rule.results, None, None, rule.owner)
    own = _OnAxis(name, rule.holding, kept, mapped, rule.results, size)
    return Custom(name, rule.results, own.vjp, None, rule.owner, own.kept, own.holding)


class _OnAxis:
    """The vjp of a mapped function: that of one element, mapped."""

    def __init__(
        self, name: str, hold: Callable[[list[Value]], VjpRule], kept: list[tuple[Value, bool]],
        mapped: list[bool], results: int, size: int,
    ) -> None:  # fmt: skip
        self.name, self.hold, self.pairs = name, hold, kept
        self.mapped, self.results, self.size = mapped, results, size

    def kept(self) -> list[Value]:
        return [v for v, _ in self.pairs]

    def holding(self, values: list[Value]) -> VjpRule:
        pairs = [(v, has) for v, (_, has) in zip(values, self.pairs, strict=True)]
        return _OnAxis(
            self.name, self.hold, pairs, self.mapped, self.results, self.size).vjp

    def vjp(self, result_of: ResultOf, cotangents: list[Value | None]) -> list[Value | None]:
        there = [i for i, c in enumerate(cotangents) if c is not None]
        given = [c for c in cotangents if c is not None]
        given += [result_of(i) for i in range(self.results)]
        given += [v for v, has in self.pairs if has]
        found: list[int] = []

        def body(values: list[Value]) -> list[Value]:
            one = iter(values)
            own: list[Value | None] = [None] * self.results
            for i in there:
                own[i] = next(one)
            outputs = [next(one) for _ in range(self.results)]
            kept = [next(one) if has else v for v, has in self.pairs]
            made = self.hold(kept)(outputs.__getitem__, own)
            found.extend(i for i, v in enumerate(made) if v is not None)
            return [v for v in made if v is not None]

        whole = map_values(body, given, self.size, MappedCall(self.name, user_site()))
        result: list[Value | None] = [None] * len(self.mapped)
        for i, (value, has_axis) in zip(found, whole, strict=True):
            if not has_axis:
                value = spread(value, self.size)
            # what is the same for every element gets the sum of what each of them gives
            result[i] = value if self.mapped[i] else record("sum", [value], {"axes": (0,)})
        return result
