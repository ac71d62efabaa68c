"""Sizes of one traced function: their texts, and their values at the bucket."""

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

#: the values of a size at several extents: practically, these are equal only for equal sizes
_At = tuple[int, ...]


#: the remainder of a number by an extent
_REST: Final = re.compile(r"mod\((- )?(\d+), (e\d+)\)")


class SymbolicSizes:
    """Sizes in the symbols of a trace, which are JAX's.

    Attributes:
        bucket: the padded extents, by the symbols' names.
        conditions: what must hold for the actual extents.
    """

    __slots__ = ("_symbols", "bucket", "conditions", "_texts", "_points", "_at", "_merged")

    def __init__(self, symbols: Sequence[Any], bucket: Iterable[int]) -> None:
        self._symbols: Final = symbols
        self.bucket: Final = named(list(bucket))
        self.conditions: Final[dict[str, None]] = {}
        self._texts: Final[dict[Any, str]] = {}
        self._points: Final = [*generic(list(self.bucket)), self.bucket]
        self._at: Final[dict[str, _At]] = {}
        #: the descriptions of operands' dimensions, by size
        self._merged: Final[dict[str, set[Description]]] = {}

    def text(self, size: Any) -> str:
        """Return the text of an int or of a JAX expression."""
        text = self._texts.get(size)
        if text is None:
            text = str(size)
            if "mod(" in text:
                text = self._whole(text)
            self._texts[size] = text
        return text

    def _whole(self, text: str) -> str:
        """Return the text with remainders of a small number by an extent as for larger extents."""
        def replaced(match: re.Match[str]) -> str:
            sign, number, symbol = match.groups()
            if int(number) > 1:
                self.conditions[f"{symbol} >= {number if sign else int(number) + 1}"] = None
            return f"({symbol} - {number})" if sign else number

        simplified = _REST.sub(replaced, text)
        return text if simplified == text else str(self.expression(simplified))

    def expression(self, text: str) -> Any:
        """Return the int or JAX expression of a text."""
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
        """Return the value of an int, an expression or a text at the bucket."""
        return size_at(size if isinstance(size, str) else self.text(size), self.bucket)

    def _values(self, text: str) -> _At:
        values = self._at.get(text)
        if values is None:
            values = self._at[text] = tuple(size_at(text, p) for p in self._points)
        return values

    # descriptions

    def plain(self, size: Any) -> Description:
        """Return the description of a dimension whose first ``size`` elements are valid."""
        text = self.text(size)
        check_grows(text)
        return (text,)

    def free(self, size: Any) -> Description:
        """Return the description of a dimension along which the value does not vary."""
        text = self.text(size)
        check_grows(text)
        return (text,) if is_static(text) else (ANY, text)

    def given(self, description: Description) -> Description:
        """Return a description in the canonical form, which equal ones share."""
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
        """Return the description of a new dimension, as operands have it for that size."""
        descriptions = self._merged.get(self.text(size), ())
        return next(iter(descriptions)) if len(descriptions) == 1 else self.plain(size)

    def product(self, texts: Sequence[str]) -> str:
        """Return the text of the product of sizes."""
        total: Any = 1
        for text in texts:
            total = total * self.expression(text)
        return self.text(total)

    def total(self, description: Description) -> str:
        """Return the text of the size of a dimension."""
        if len(description) == 1:
            return description[0]
        return self.product([f for f in description if f != ANY])

    def _normal(self, factors: Sequence[str]) -> Description:
        """Merge static factors with the factor before them: the first elements stay valid."""
        merged: list[str] = []
        for factor in factors:
            if is_static(factor) and merged:
                merged[-1] = self.product([merged[-1], factor])
            elif factor != "1":
                merged.append(factor)
        return tuple(merged) or ("1",)

    def reshaped(
        self, dims: Sequence[Description], sizes: Sequence[Any]
    ) -> tuple[Description, ...]:
        """Return the descriptions after a reshape to these sizes. Raises NotPadded."""
        if any(self.at_bucket(s) == 0 for s in sizes):
            return tuple(self.plain(s) for s in sizes)
        rest = [(f, is_any(d)) for d in dims for f in d if f not in (ANY, "1")][::-1]
        descriptions = []
        for size in sizes:
            text = self.text(size)
            taken = self._taken(rest, text)
            if taken is None:
                raise NotPadded(f"a reshape of {tuple(dims)} to {tuple(map(self.text, sizes))}")
            if taken and all(free for _, free in taken):
                descriptions.append(self.free(size))
            else:
                descriptions.append(self._normal([f for f, _ in taken]))
        return tuple(descriptions)

    def _taken(self, rest: list[tuple[str, bool]], text: str) -> list[tuple[str, bool]] | None:
        """Take factors from the end of ``rest`` whose product is a size; None if there are none."""
        taken: list[tuple[str, bool]] = []
        remaining = self._values(text)
        while any(n != 1 for n in remaining):
            if not rest:
                return None
            factor, free = rest.pop()
            have = self._values(factor)
            if is_static(factor) and rest and is_static(rest[-1][0]):
                # of static factors, only the product matters
                other, _ = rest.pop()
                rest.append((str(int(factor) * int(other)), False))
                continue
            if all(h and n % h == 0 for n, h in zip(remaining, have, strict=True)):
                taken.append((factor, free))
                remaining = tuple(n // h for n, h in zip(remaining, have, strict=True))
                continue
            if not all(n and h % n == 0 for n, h in zip(remaining, have, strict=True)):
                return None
            # the factor is split: its first part is taken
            by = {h // n for n, h in zip(remaining, have, strict=True)}
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
        """Return the text of a size divided by factors that it has."""
        quotient = self.expression(text)
        for factor in factors:
            quotient = quotient // self.expression(factor)
        return self.text(quotient)
