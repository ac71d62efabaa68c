"""The lowering of an op."""

from __future__ import annotations

from typing import Any, NamedTuple

from .layouts import Layout


class Lowered(NamedTuple):
    """The functions that one op lowers to; ``name`` is the one to call."""

    name: str
    text: str
    results: tuple[str, ...]

    @classmethod
    def of_json(cls, fields: Any) -> Lowered:
        """Build one from its JSON form. Raises ValueError or TypeError for anything else."""
        name, text, results = fields
        if not (isinstance(text, str) and isinstance(results, list)):
            raise TypeError(f"{fields!r:.60} is no lowering")
        return cls(str(name), text, tuple(map(str, results)))


class Placed(NamedTuple):
    """An op lowered at operands in given layouts (see :mod:`.layouts`).

    Attributes:
        lowered: its functions; the types of its results are physical.
        layouts: the layout of each result.
        moved: elements that it moves from one layout to another.
        wanted: operands that it prefers in another layout, as (number, layout).
    """

    lowered: Lowered
    layouts: tuple[Layout, ...]
    moved: int
    wanted: tuple[tuple[int, Layout], ...]
