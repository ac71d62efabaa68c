"""Patterns over recorded programs: groups of ops that a generator does as one.

A pattern is a tree, the last op at its root::

    x, w, b = any_value(), any_value(), any_value()
    Pattern("linear_relu", match("relu", match("add", match("dot_general", x, w), b)))

Only the group may use its inner results, unless the pattern shows them: then those that others use
are results of its region, too.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Final, NamedTuple, Protocol

import numpy as np

from ..errors import ArgumentError
from ..interrupts import reraise_from_handler
from ..program.program import Instruction
from ..program.stream import Operand, Result
from ..trace.scalars import Baked
from .answers import Answer, Call

#: the most ways to match at one root that are tried, of those that differ
WAYS: Final = 200
#: the most ops that are looked at for one root
MOST_LOOKS: Final = 2000
#: the most ops before a match's last that are looked at to find one that must run between its ops;
#: where there are more, it is as if there were one, which is not known
MOST_BETWEEN: Final = 1000
NOT_KNOWN: Final = -1


class Any_:
    """Matches any operand; the same object twice in a pattern matches the same operand."""

    __slots__ = ()


class PatternMatch:
    """Matches an op whose operands match.

    Attributes:
        ops: the names of the ops that match.
        operands: patterns for its first operands; further operands may be anything.
        commutes: True if the first two operands may be swapped.
        optional: True if a match of its first operand also matches in its place.
    """

    __slots__ = ("ops", "operands", "commutes", "optional")

    def __init__(
        self, ops: frozenset[str], operands: tuple[Node, ...], commutes: bool, optional: bool
    ) -> None:
        self.ops: Final = ops
        self.operands: Final = operands
        self.commutes: Final = commutes
        self.optional: Final = optional


class NumberMatch:
    """Matches an operand that is a certain number.

    Attributes:
        value: the number; an operand is compared with it as its dtype holds it.
    """

    __slots__ = ("value",)

    def __init__(self, value: int | float) -> None:
        self.value: Final = value

    def matches(self, operand: Operand) -> bool:
        """Return True if an operand is this number, a constant of the program."""
        if not isinstance(operand, Baked) or operand.dtype.kind not in "iuf":
            return False
        if operand.dtype.kind != "f":
            return bool(operand.number == self.value)
        with np.errstate(all="ignore"):
            held = float(np.array(self.value).astype(operand.dtype.numpy))
        return bool(held == operand.number)


class AbsentMatch:
    """Matches an operand that is absent."""

    __slots__ = ()


Node = Any_ | PatternMatch | NumberMatch | AbsentMatch


def any_value() -> Any_:
    """Return a pattern that matches any operand."""
    return Any_()


def number(value: int | float) -> NumberMatch:
    """Return a pattern that matches an operand that is a number: ``number(0.5)``.

    Numbers are compared as the operand's dtype holds them. Those of a program that may change from
    run to run become constants of it where they are equal to it in a pattern in their place.

    Raises ArgumentError for what is no finite real number.
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise ArgumentError(f"number: {value!r:.80} was given, expected a finite real number")
    return NumberMatch(value)


def absent() -> AbsentMatch:
    """Return a pattern that matches an operand that is absent, such as a bias."""
    return AbsentMatch()


def match(
    ops: str, *operands: Node, commutes: bool = False, optional: bool = False
) -> PatternMatch:
    """Return a pattern for an op with one of some names, "add sub" for two, and first operands.

    Raises ArgumentError for what is no name or no pattern.
    """
    if not isinstance(ops, str) or not ops.split():
        raise ArgumentError(f"match: {ops!r:.80} was given, expected names of ops, such as 'add'")
    for operand in operands:
        if not isinstance(operand, Node):
            raise ArgumentError(
                f"match: {operand!r:.80} was given for an operand of {ops}, expected any_value(), "
                "match(...), number(...) or absent()")
    return PatternMatch(frozenset(ops.split()), operands, commutes, optional)


class Pattern:
    """A named group of ops.

    Attributes:
        name: its name in reports and :attr:`~lazyloom.codegen.Region.composites`.
        root: the tree; its root is an op.
        check: takes the matched calls, root last, and returns :data:`~lazyloom.codegen.YES`, or why
            they do not match.
        shows: the generator can give inner results of the group as well: it may have some that
            other ops use, or that the program returns. They are outputs of its region.
        gathers: names of ops, "cast transpose" for two. Of these, each that the last op has as an
            operand and nothing else uses is in the group, too, whichever operand it is.
    """

    __slots__ = ("name", "root", "check", "shows", "gathers")

    def __init__(
        self, name: str, root: PatternMatch,
        check: Callable[[Sequence[Call]], Answer] | None = None, *, shows: bool = False,
        gathers: str = "",
    ) -> None:  # fmt: skip
        if not isinstance(root, PatternMatch):
            raise ArgumentError(
                f"Pattern: {root!r:.80} was given as the root of {name!r:.80}, expected match(...)")
        self.name: Final = name
        self.root: Final = root
        self.check: Final = check
        self.shows: Final = shows
        if not isinstance(gathers, str):
            raise ArgumentError(
                f"Pattern: {gathers!r:.80} was given as what {name!r:.80} gathers, expected names "
                "of ops, such as 'cast'")
        self.gathers: Final = frozenset(gathers.split())


class Found(NamedTuple):
    """A match of a pattern.

    Attributes:
        members: its instructions, in order.
        escaping: those before the last whose results others use, or that the program returns.
        between: an instruction, none of them, that uses a result of one and that another needs, so
            that they cannot run together; None if there is none, or nothing escapes.
    """

    members: tuple[int, ...]
    escaping: tuple[int, ...]
    between: int | None


#: a way to match: the instructions, and the operands that wildcards stand for
_Way = tuple[tuple[int, ...], dict[Any_, Operand]]


class _Replayed:
    """Ways that are found once, and as far as they are asked for; whoever asks gets them all."""

    __slots__ = ("known", "_more")

    def __init__(self, ways: Iterator[_Way]) -> None:
        self.known: Final[list[_Way]] = []
        self._more: Final = ways

    def __iter__(self) -> Iterator[_Way]:
        at = 0
        while True:
            if at == len(self.known):
                way = next(self._more, None)
                if way is None:
                    return
                self.known.append(way)
            yield self.known[at]
            at += 1


def _tied(root: Node) -> set[Node]:
    """Return the wildcards that stand in several places of a tree, and the nodes that have one."""
    parents: dict[Node, list[Node]] = {root: []}
    places: Counter[Node] = Counter()
    stack: list[Node] = [root]
    while stack:
        node = stack.pop()
        places[node] += 1
        # what is below a node in several places is in several, too, but not in ever more
        if places[node] <= 2 and isinstance(node, PatternMatch):
            for operand in node.operands:
                parents.setdefault(operand, []).append(node)
                stack.append(operand)
    tied: set[Node] = set()
    stack = [n for n, count in places.items() if isinstance(n, Any_) and count > 1]
    while stack:
        node = stack.pop()
        if node not in tied:
            tied.add(node)
            stack += parents[node]
    return tied


class Finder:
    """Finds matches in a program.

    ``users`` holds, for each instruction, how many operands and outputs its results are, and
    ``free`` says whether an instruction may be in a match.
    """

    def __init__(
        self, instructions: Sequence[Instruction], users: Sequence[int],
        free: Callable[[int], bool],
    ) -> None:
        self.instructions: Final = instructions
        self.users: Final = users
        self.free: Final = free
        #: of each pattern, the nodes with a wildcard that stands in several places
        self._tied: Final[dict[Pattern, set[Node]]] = {}
        #: where a node that is not tied never matches: what is free only becomes less
        self._never: Final[set[tuple[PatternMatch, int]]] = set()
        # of the root that is looked at: the tied nodes, where the others match, the looks left
        self._now: set[Node] = set()
        self._ways: dict[tuple[PatternMatch, int], _Replayed] = {}
        self._left = 0

    def at(self, pattern: Pattern, number: int) -> Iterator[Found]:
        """Yield the matches at a root, those of which nothing escapes first.

        At most ``WAYS`` are tried.
        """
        seen: set[tuple[int, ...]] = set()
        later: list[Found] = []
        if pattern not in self._tied:
            self._tied[pattern] = _tied(pattern.root)
        self._now, self._left = self._tied[pattern], MOST_LOOKS
        self._ways.clear()
        for members, _ in islice(self._op(pattern.root, number, {}), WAYS):
            match_members = tuple(sorted({*members, *self._gathered(pattern, number)}))
            if match_members in seen:
                continue
            seen.add(match_members)
            escaping = self._escaping(match_members, number)
            if escaping:
                later.append(Found(match_members, escaping, None))
            else:
                yield Found(match_members, (), None)
        for found in later:
            yield found._replace(
                between=self._between(found) if pattern.shows else None)

    def _gathered(self, pattern: Pattern, number: int) -> list[int]:
        """Return the ops that join a match as operands of its last op, which alone uses them."""
        if not pattern.gathers:
            return []
        used = Counter(item.instruction for item in self.instructions[number].operands
                       if isinstance(item, Result))
        return [n for n, count in used.items()
                if self.instructions[n].spec.op.name in pattern.gathers
                and self.users[n] == count and self.free(n)]

    def _escaping(self, members: tuple[int, ...], root: int) -> tuple[int, ...]:
        """Return the members whose inner results anything else uses."""
        used = Counter(
            item.instruction for n in members for item in self.instructions[n].operands
            if isinstance(item, Result))
        return tuple(n for n in members if n != root and self.users[n] != used[n])

    def _between(self, found: Found) -> int | None:
        """Return an instruction that uses a result of a match and that the match needs."""
        inside, first = set(found.members), found.escaping[0]
        stack = list(found.members)
        seen = set(found.members)
        while stack:
            n = stack.pop()
            for item in self.instructions[n].operands:
                if not isinstance(item, Result):
                    continue
                k = item.instruction
                if k in inside and n not in inside:
                    return n
                # what was recorded before the first of them uses none
                if k > first and k not in seen:
                    seen.add(k)
                    stack.append(k)
            if len(seen) > MOST_BETWEEN:
                return NOT_KNOWN
        return None

    def _op(self, node: PatternMatch, number: int, bound: dict[Any_, Operand]) -> Iterable[_Way]:
        """Return the ways in which an instruction matches that differ.

        What is bound before is in those of a tied node alone.
        """
        if not node.optional and self.instructions[number].spec.op.name not in node.ops:
            return ()
        if not self.free(number) or (node, number) in self._never:
            return ()
        if node in self._now:
            return self._distinct(node, number, bound)
        ways = self._ways.get((node, number))
        if ways is None:
            ways = self._ways[node, number] = _Replayed(self._distinct(node, number, {}))
        return ways

    def _distinct(
        self, node: PatternMatch, number: int, bound: dict[Any_, Operand]
    ) -> Iterator[_Way]:
        self._left -= 1
        if self._left < 0:
            return
        seen: set[tuple[object, ...]] = set()
        for operands in self._orders(node, number):
            nodes: Sequence[Node] = node.operands
            members: tuple[int, ...] = (number,)
            if operands is None:
                nodes, operands, members = nodes[:1], (Result(number, 0),), ()
            for found, extended in self._operands(nodes, operands, members, bound):
                way = frozenset(found), frozenset(extended.items())
                if way not in seen:
                    seen.add(way)
                    yield found, extended
        if not seen and self._left > 0 and node not in self._now:
            self._never.add((node, number))

    def _orders(self, node: PatternMatch, number: int) -> list[tuple[Operand, ...] | None]:
        """Return the orders of operands that may match; None is a match of the first operand
        instead."""
        i = self.instructions[number]
        op = i.spec.op
        missing = 0 if op.max_operands < 0 else op.max_operands - len(i.operands)
        orders: list[tuple[Operand, ...] | None] = []
        if op.name in node.ops and len(i.operands) + missing >= len(node.operands):
            given = (*i.operands, *(None,) * missing)
            orders.append(given)
            if node.commutes and len(given) >= 2 and given[0] != given[1]:
                orders.append((given[1], given[0], *given[2:]))
        if node.optional and node.operands:
            orders.append(None)
        return orders

    def _operands(
        self, nodes: Sequence[Node], operands: Sequence[Operand], members: tuple[int, ...],
        bound: dict[Any_, Operand],
    ) -> Iterator[_Way]:
        if not nodes:
            yield members, bound
            return
        for inner, extended in self._value(nodes[0], operands[0], bound):
            now = extended or bound
            if len(nodes) == 1:
                yield members + inner, now
            else:
                yield from self._operands(nodes[1:], operands[1:], members + inner, now)

    def _value(
        self, node: Node, operand: Operand, bound: dict[Any_, Operand]
    ) -> Iterable[_Way]:
        if isinstance(node, Any_):
            if node not in self._now:
                return (((), bound),)
            return (((), {**bound, node: operand}),) if (
                bound.get(node, operand) == operand) else ()
        if isinstance(node, NumberMatch):
            return (((), bound),) if node.matches(operand) else ()
        if isinstance(node, AbsentMatch):
            return (((), bound),) if operand is None else ()
        if isinstance(operand, Result) and operand.number == 0:
            return self._op(node, operand.instruction, bound)
        return ()


class _HasPatterns(Protocol):
    def patterns(self) -> Sequence[Pattern]: ...


def numbers_named(generator: _HasPatterns) -> dict[tuple[str, int], set[int | float]]:
    """Return the numbers that a generator's patterns name, by op and operand.

    Empty where the patterns cannot be had, which whoever asks for them next reports.
    """
    try:
        roots = [p.root for p in generator.patterns()]
    except Exception as error:
        reraise_from_handler(error)
        return {}
    named: dict[tuple[str, int], set[int | float]] = {}
    seen: set[PatternMatch] = set()
    while roots:
        node = roots.pop()
        if node in seen:
            continue
        seen.add(node)
        for k, operand in enumerate(node.operands):
            if isinstance(operand, PatternMatch):
                roots.append(operand)
            elif isinstance(operand, NumberMatch):
                for place in (0, 1) if node.commutes and k < 2 else (k,):
                    for op in node.ops:
                        named.setdefault((op, place), set()).add(operand.value)
    return named
