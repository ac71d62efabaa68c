"""The types of results that have several parts with names, such as those of ``torch.max``."""

from __future__ import annotations

from collections import namedtuple
from typing import Any


def _text(self: Any) -> str:
    lines = ",\n".join(f"{name}={value!r}" for name, value in zip(self._fields, self, strict=True))
    return f"torch.return_types.{type(self).__name__}(\n{lines})"


def named(name: str, *fields: str) -> Any:
    """A type of tuples with these parts, kept here under its name; the same one each time."""
    known = globals().get(name)
    if known is not None:
        return known
    plain = namedtuple(name, fields)  # type: ignore[misc]
    made = type(name, (plain,), {
        "__slots__": (), "__repr__": _text, "__module__": __name__, "n_fields": len(fields),
        "n_sequence_fields": len(fields), "n_unnamed_fields": 0,
        "__doc__": f"What ``{name}`` gives: {', '.join(fields)}."})
    globals()[name] = made
    return made
