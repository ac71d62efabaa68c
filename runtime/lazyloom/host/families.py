"""The kernels of an outline, each for all numbers of a form."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final, final

from ..program.extents import Form, Term, form_of

#: forms that an outline may have, beside those that it came with, and how many without a kernel
MOST: Final = 16
MOST_FAILED: Final = 3
#: numbers of other types that are remembered to see what varies
REMEMBERED: Final = 8


@final
class KernelFamily:
    """The forms of an outline, and numbers that were seen beside them.

    Attributes:
        large: how many kernels of their own there are for large arrays.
        given: how many of the forms came with the package.
    """

    __slots__ = ("forms", "seen", "large", "given")

    def __init__(self) -> None:
        self.forms: Final[list[Form]] = []
        self.seen: Final[list[tuple[int, ...]]] = []
        self.large: int = 0
        self.given: int = 0

    def proposals(self, numbers: tuple[int, ...]) -> Iterator[Form]:
        """Forms of these numbers and others that were seen, the most general first."""
        if len(self.forms) >= MOST + self.given or (
            sum(not form.text for form in self.forms) >= MOST_FAILED
        ):
            return
        for known in reversed(self.forms):
            if known.text:
                form = form_of([*known.examples, numbers])
                if form is not None:
                    yield form
                    break
        near = sorted(self.seen, key=lambda e: sum(a != b for a, b in zip(e, numbers, strict=True)))
        for each in near:
            form = form_of([each, numbers])
            if form is not None:
                yield form
                break

    def remember(self, numbers: tuple[int, ...]) -> None:
        """These numbers have a kernel of their own."""
        if numbers not in self.seen:
            self.seen.append(numbers)
            del self.seen[:-REMEMBERED]

    def packed(self) -> bytes:
        known = list(dict.fromkeys(f.text for f in self.forms))
        return json.dumps([self.given, known, [
            [f.examples, f.terms, f.bases, known.index(f.text)] for f in self.forms
        ]], separators=(",", ":")).encode()

    def unpack(self, data: bytes) -> None:
        """Take the forms of :meth:`packed`. Raises ValueError, TypeError, LookupError."""
        given, texts, forms = json.loads(data)
        self.forms[:] = [
            Form([tuple(map(int, e)) for e in examples],
                 [Term(int(a), tuple(map(int, s)), int(c)) for a, s, c in terms],
                 [int(b) for b in bases], str(texts[k]))
            for examples, terms, bases, k in forms]
        self.given = int(given)
