"""What a node keeps for each of several results: handles and tokens; and of a result's memory,
whether it was counted as uploaded."""

from __future__ import annotations

from typing import Final, final

from ..compiled import mypyc_attr

#: values of ``Buffer.given``
FRESH: Final = 1
COUNTED: Final = 2


@mypyc_attr(acyclic=True)
@final
class Handles:
    """The number of handles of each result of a node: a list that the collector skips."""

    __slots__ = ("first", "second", "third", "rest")

    def __init__(self, count: int, each: int) -> None:
        self.first: int = each
        self.second: int = each
        self.third: int = each
        #: for the results from the fourth on
        self.rest: list[int] | None = None
        if count > 3:
            self.rest = [each] * (count - 3)

    def of(self, index: int) -> int:
        if index == 0:
            return self.first
        if index == 1:
            return self.second
        if index == 2:
            return self.third
        rest = self.rest
        assert rest is not None
        return rest[index - 3]

    def add(self, index: int, number: int) -> None:
        if index == 0:
            self.first += number
        elif index == 1:
            self.second += number
        elif index == 2:
            self.third += number
        else:
            rest = self.rest
            assert rest is not None
            rest[index - 3] += number


@mypyc_attr(acyclic=True)
@final
class Tokens:
    """The tokens of those results of a node that are leaves of the tape."""

    __slots__ = ("of",)

    def __init__(self, count: int) -> None:
        self.of: list[object] = [None] * count
