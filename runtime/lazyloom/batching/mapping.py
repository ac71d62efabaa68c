"""Mapped values: each stands for one element of the mapped axis.

A derivative that is a function of the host is mapped together with the op it belongs to.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..trace.custom_derivatives import Custom, ResultOf, VjpRule
from ..trace.graph import Node, Value
from ..trace.mapping import MappedCall, placeholder
from ..trace.recording import record
from ..trace.source import user_site
from .replay import replay, spread


def map_values(
    body: Callable[[list[Value]], Sequence[Value]], inputs: Sequence[Value], size: int,
    mapping: MappedCall,
) -> list[tuple[Value, bool]]:  # fmt: skip
    """The results of ``body`` for every element of a leading axis.

    Args:
        body: takes and returns values of one element.
        inputs: values whose first axis is mapped.
        size: the size of that axis.

    Returns:
        each result, and whether it has the axis, in front; a result that depends on no input is
        what ``body`` returned.
    """
    with mapping:
        placeholders: list[Value] = []
        sources: dict[Node, Value] = {}
        for x in inputs:
            t = x.type
            element_type = t.like(t.shape[1:], t.dtype)
            p = placeholder(element_type, mapping, x.requires_grad)
            sources[p.node] = x
            placeholders.append(p)
        results = body(placeholders)
    return replay(results, sources, mapping.start, size, _on_axis)


def moved(value: Value, source: int, target: int) -> Value:
    """The value with one axis moved."""
    if source == target:
        return value
    axes = [a for a in range(len(value.shape)) if a != source]
    axes.insert(target, source)
    transposed: Value = record("transpose", [value], {"axes": tuple(axes)})
    return transposed


def _on_axis(
    rule: Custom, kept: list[tuple[Value, bool]], mapped: list[bool], size: int
) -> Custom:
    """The rule of a node that was recorded again for all elements of an axis.

    Args:
        rule: the rule of the node of one element.
        kept: for each of ``rule.values()``, its replacement, and whether that has the axis.
        mapped: for each input, whether it has the axis.
        size: the size of the axis.
    """
    if rule.mapped is not None:
        return rule.mapped()
    name = f"{rule.name} mapped over an axis"
    if rule.holding is None:
        return Custom(name, rule.results, None, None, rule.owner)
    on_axis = _OnAxis(name, rule.holding, kept, mapped, rule.results, size)
    return Custom(name, rule.results, on_axis.vjp, None, rule.owner, on_axis.kept, on_axis.holding)


class _OnAxis:
    """The vjp of a mapped function: the vjp of one element, mapped."""

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
        present = [i for i, c in enumerate(cotangents) if c is not None]
        inputs = [c for c in cotangents if c is not None]
        inputs += [result_of(i) for i in range(self.results)]
        inputs += [v for v, has in self.pairs if has]
        positions: list[int] = []

        def body(values: list[Value]) -> list[Value]:
            rest = iter(values)
            element_cotangents: list[Value | None] = [None] * self.results
            for i in present:
                element_cotangents[i] = next(rest)
            outputs = [next(rest) for _ in range(self.results)]
            kept = [next(rest) if has else v for v, has in self.pairs]
            pulled = self.hold(kept)(outputs.__getitem__, element_cotangents)
            positions.extend(i for i, v in enumerate(pulled) if v is not None)
            return [v for v in pulled if v is not None]

        whole = map_values(body, inputs, self.size, MappedCall(self.name, user_site()))
        result: list[Value | None] = [None] * len(self.mapped)
        for i, (value, has_axis) in zip(positions, whole, strict=True):
            if not has_axis:
                value = spread(value, self.size)
            # an input that all elements share gets the sum of the cotangents from each element
            result[i] = value if self.mapped[i] else record("sum", [value], {"axes": (0,)})
        return result
