"""How a trace repeats: its period, and blocks of whole periods to run it in."""

from __future__ import annotations

from typing import Any, Final

from ..trace.cut_history import CUT_AT
from ..trace.graph import Node
from ..trace.scalars import Scalar

#: blocks are the largest multiple of the period up to this many ops: compiling 600 takes twice as
#: long, and a program of 300 runs for long enough that handing it over does not count
BLOCK: Final = 300
#: the longest period that is looked for
LONGEST: Final = 5000
#: a repetition must cover at least this many ops to count
SEEN: Final = 200
#: how many of the newest ops may be left out of the look: the caller still holds what the
#: newest replace, and an op joins a component only when something connects it, so the newest
#: part may not be whole yet
MARGINS: Final = (2, 32, 128, 512)

#: a component that is asked for runs whole unless it is that deep
LOOP_DEPTH: Final = 256
#: and a loop: this part of it repeats, so many times. (The layers of a network that is trained
#: repeat too, but twice: one way going forwards and another going back.)
LOOP_PART: Final = 0.9
LOOP_TIMES: Final = 3


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


def period_of(stream: list[int], times: int = 2, least: int = SEEN) -> int:
    """The period with which the end of the stream repeats, or 0.

    Args:
        times: how many whole periods there must be.
        least: how many ops these must cover.
    """
    border = _borders(stream)
    for length in range(len(stream), least - 1, -1):
        period = length - border[length - 1]
        if times * period <= length and period <= LONGEST:
            return period
    return 0


def block_of(period: int) -> int:
    """The ops of a block: as many whole bodies as fit, at least one."""
    return max(period, BLOCK // period * period)


def blocks_of(period: int) -> tuple[int, ...]:
    """Block sizes that come round with the period: several bodies in one, or one in several."""
    if period <= CUT_AT:
        return (block_of(period),)
    whole, rest = divmod(period, CUT_AT)
    return (CUT_AT,) * whole + ((rest,) if rest else ())


def loop_sizes(nodes: list[Node], depth: int) -> list[int]:
    """The sizes of the programs in which a component runs that is asked for.

    One, the component's, unless that is a loop: a chain of many equal bodies, of which XLA
    compiles a few much faster than all. What precedes the first whole block and what follows
    the last are programs of their own.
    """
    count = len(nodes)
    if count < CUT_AT or depth < LOOP_DEPTH:
        return [count]
    stream = ids_of(nodes)
    least = int(LOOP_PART * count)
    for margin in (0, *MARGINS):
        if count - margin < least:
            break
        period = period_of(stream[: count - margin], LOOP_TIMES, least)
        if period:
            block = block_of(period)
            before, blocks = (count - margin) % block, (count - margin) // block
            return [size for size in (before, *(block,) * blocks, margin) if size]
    return [count]
