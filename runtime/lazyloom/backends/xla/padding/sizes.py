"""Sizes of one traced function: their texts, and what they come to at the bucket."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, Final

from .dims import (
    ANY,
    FUNCTIONS,
    Description,
    NotPadded,
    check_grows,
    compiled,
    generic,
    is_any,
    is_static,
    named,
    size_at,
)

#: what a size comes to at several extents: equal for equal sizes only, as good as
_At = tuple[int, ...]


#: the rest of a number by an extent
_REST: Final = re.compile(r"mod\((- )?(\d+), (e\d+)\)")


class SymbolicSizes:
    """Sizes in the symbols of a trace, which are JAX's.

    Attributes:
        bucket: the padded extents, by the symbols' names.
        conditions: what has to hold of the actual extents.
    """

    __slots__ = ("_symbols", "bucket", "conditions", "_texts", "_points", "_at", "_merged")

    def __init__(self, symbols: Sequence[Any], bucket: Iterable[int]) -> None:
        self._symbols: Final = symbols
        self.bucket: Final = named(list(bucket))
        self.conditions: Final[dict[str, None]] = {}
        self._texts: Final[dict[Any, str]] = {}
        self._points: Final = [*generic(list(self.bucket)), self.bucket]
        self._at: Final[dict[str, _At]] = {}
        #: how operands' dimensions of a size are described
        self._merged: Final[dict[str, set[Description]]] = {}

    def text(self, size: Any) -> str:
        """The text of an int or of an expression of JAX's."""
        found = self._texts.get(size)
        if found is None:
            found = str(size)
            if "mod(" in found:
                found = self._whole(found)
            self._texts[size] = found
        return found

    def _whole(self, text: str) -> str:
        """The text with what is left of a small number, by an extent, as for larger extents."""
        def replaced(match: re.Match[str]) -> str:
            sign, number, symbol = match.groups()
            if int(number) > 1:
                self.conditions[f"{symbol} >= {number if sign else int(number) + 1}"] = None
            return f"({symbol} - {number})" if sign else number

        made = _REST.sub(replaced, text)
        return text if made == text else str(self.expression(made))

    def expression(self, text: str) -> Any:
        """The int or JAX's expression of a text."""
        if is_static(text):
            return int(text)
        if "max(" in text or "min(" in text:
            from jax import export

            return export.symbolic_shape(
                text.replace("**", "^"), scope=self._symbols[0].scope)[0]
        # has parentheses, which JAX does not parse
        return eval(compiled(text), {
            **FUNCTIONS, **dict(zip(self.bucket, self._symbols, strict=True))})

    def at_bucket(self, size: Any) -> int:
        """What an int, an expression or a text comes to at the bucket."""
        return size_at(size if isinstance(size, str) else self.text(size), self.bucket)

    def _values(self, text: str) -> _At:
        found = self._at.get(text)
        if found is None:
            found = self._at[text] = tuple(size_at(text, p) for p in self._points)
        return found

    # descriptions

    def plain(self, size: Any) -> Description:
        """The description of a dimension whose first ``size`` elements are valid."""
        text = self.text(size)
        check_grows(text)
        return (text,)

    def free(self, size: Any) -> Description:
        """The description of a dimension along which the value does not vary."""
        text = self.text(size)
        check_grows(text)
        return (text,) if is_static(text) else (ANY, text)

    def given(self, description: Description) -> Description:
        """A description that was given, in the form that equal ones have."""
        texts = [f if f == ANY else self.text(self.expression(f)) for f in description]
        if texts[0] == ANY:
            return self.free(self.product(texts[1:]))
        for text in texts:
            check_grows(text)
        return self._normal(texts)

    def note(self, description: Description) -> None:
        """Remember a dimension of an operand, for :meth:`alike`."""
        if not is_any(description):
            self._merged.setdefault(self.total(description), set()).add(description)

    def alike(self, size: Any) -> Description:
        """The description of a dimension that is made, as operands of that size have it."""
        known = self._merged.get(self.text(size), ())
        return next(iter(known)) if len(known) == 1 else self.plain(size)

    def product(self, texts: Sequence[str]) -> str:
        """The text of the product of sizes."""
        found: Any = 1
        for text in texts:
            found = found * self.expression(text)
        return self.text(found)

    def total(self, description: Description) -> str:
        """The text of the size of a dimension."""
        if len(description) == 1:
            return description[0]
        return self.product([f for f in description if f != ANY])

    def _normal(self, factors: Sequence[str]) -> Description:
        """Static factors after others become one with those before: the first so many are valid."""
        found: list[str] = []
        for factor in factors:
            if is_static(factor) and found:
                found[-1] = self.product([found[-1], factor])
            elif factor != "1":
                found.append(factor)
        return tuple(found) or ("1",)

    def reshaped(
        self, dims: Sequence[Description], sizes: Sequence[Any]
    ) -> tuple[Description, ...]:
        """The descriptions after a reshape to these sizes. Raises NotPadded."""
        if any(self.at_bucket(s) == 0 for s in sizes):
            return tuple(self.plain(s) for s in sizes)
        rest = [(f, is_any(d)) for d in dims for f in d if f not in (ANY, "1")][::-1]
        found = []
        for size in sizes:
            text = self.text(size)
            taken = self._taken(rest, text)
            if taken is None:
                raise NotPadded(f"a reshape of {tuple(dims)} to {tuple(map(self.text, sizes))}")
            if taken and all(free for _, free in taken):
                found.append(self.free(size))
            else:
                found.append(self._normal([f for f, _ in taken]))
        return tuple(found)

    def _taken(self, rest: list[tuple[str, bool]], text: str) -> list[tuple[str, bool]] | None:
        """Factors from the end of ``rest`` whose product is that size; None if there are none."""
        taken: list[tuple[str, bool]] = []
        left = self._values(text)
        while any(n != 1 for n in left):
            if not rest:
                return None
            factor, free = rest.pop()
            have = self._values(factor)
            if is_static(factor) and rest and is_static(rest[-1][0]):
                # of numbers, only the product counts
                other, _ = rest.pop()
                rest.append((str(int(factor) * int(other)), False))
                continue
            if all(h and n % h == 0 for n, h in zip(left, have, strict=True)):
                taken.append((factor, free))
                left = tuple(n // h for n, h in zip(left, have, strict=True))
                continue
            if not all(n and h % n == 0 for n, h in zip(left, have, strict=True)):
                return None
            # the factor is split: its first part is taken
            by = {h // n for n, h in zip(left, have, strict=True)}
            piece = self._quotient(text, [f for f, _ in taken])
            if len(by) == 1 and (is_static(factor) or free or not is_static(piece)):
                rest.append((str(by.pop()), free))
            elif free:
                rest.append((self._quotient(factor, [piece]), True))
            else:
                return None
            taken.append((piece, free))
            break
        return taken

    def _quotient(self, text: str, factors: Sequence[str]) -> str:
        """The text of a size divided by factors that it has."""
        found = self.expression(text)
        for factor in factors:
            found = found // self.expression(factor)
        return self.text(found)
