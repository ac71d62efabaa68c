"""Samples of ops at other extents."""

from __future__ import annotations

from collections.abc import Iterator


def variants(numbers: tuple[int, ...]) -> Iterator[list[tuple[int, ...]]]:
    """Lists of other numbers: the first has one form with these, which the others follow too."""
    extents = sorted({n for n in numbers if n >= 2})
    for d in extents[:3]:
        yield [tuple(m if n == d else n for n in numbers)
               for m in (d + 1, d + 4, 2, *extents)]
    if len(extents) > 1:
        yield [tuple(n * 2 + more if n >= 2 else n for n in numbers) for more in (1, 4)]
        yield [tuple(n * more if n >= 2 else n for n in numbers) for more in (2, 3)]

