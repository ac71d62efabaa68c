"""Repetition of a trace: its period, and blocks of whole periods."""

from __future__ import annotations

from typing import Any

from ..settings import tuning
from ..trace.graph import Node
from ..trace.scalars import Scalar


def tokens_of(nodes: list[Node]) -> list[Any]:
    """One comparable item an op: its spec, and how far back each operand lies."""
    position = {n: i for i, n in enumerate(nodes)}
    result: list[Any] = []
    for i, n in enumerate(nodes):
        token: list[Any] = [n.spec]
        for m in n.inputs:
            if isinstance(m, Node):
                at = position.get(m)
                token.append(i - at if at is not None else None)
            elif isinstance(m, Scalar):
                token.append(m.baked or m.type)
        result.append(tuple(token))
    return result


def ids_of(nodes: list[Node]) -> list[int]:
    """The numbers of the nodes' specs: the stream that repeats."""
    return [n.spec.id for n in nodes if n.spec is not None]


def _borders(stream: list[int]) -> list[int]:
    """The longest border (what both begins and ends it) of each suffix, shortest suffix first."""
    backwards = stream[::-1]
    border = [0] * len(backwards)
    k = 0
    for i in range(1, len(backwards)):
        while k and backwards[i] != backwards[k]:
            k = border[k - 1]
        if backwards[i] == backwards[k]:
            k += 1
        border[i] = k
    return border


def period_of(stream: list[int], times: int = 2, minimum: int = 0) -> int:
    """The period with which the end of the stream repeats, or 0.

    Args:
        times: how many whole periods there must be.
        minimum: how many ops these must cover; 0 for the option ``repeated_ops``.
    """
    minimum = minimum or tuning.repeated_ops
    border = _borders(stream)
    for length in range(len(stream), minimum - 1, -1):
        period = length - border[length - 1]
        if times * period <= length and period <= tuning.longest_period:
            return period
    return 0


def block_of(period: int) -> int:
    """The ops of a block: as many whole bodies as fit, at least one."""
    return max(period, tuning.block_ops // period * period)


def blocks_of(period: int) -> tuple[int, ...]:
    """Block sizes that come round with the period: several bodies in one, or one in several."""
    if period <= tuning.cut_ops:
        return (block_of(period),)
    whole, rest = divmod(period, tuning.cut_ops)
    return (tuning.cut_ops,) * whole + ((rest,) if rest else ())
