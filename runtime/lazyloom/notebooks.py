"""Objects as HTML, for notebooks."""

from __future__ import annotations

from collections.abc import Mapping


def as_html(text: str, facts: Mapping[str, str] | None = None) -> str:
    """Return a text as it is printed, below a small table of facts by their names, as HTML."""
    # slow to import, and rarely needed
    from html import escape

    rows = "".join(
        f"<tr><th style=\"text-align: left\">{escape(name)}</th>"
        f"<td style=\"text-align: left\">{escape(fact)}</td></tr>"
        for name, fact in (facts or {}).items())
    table = f"<table>{rows}</table>" if rows else ""
    return f"<div>{table}<pre>{escape(text)}</pre></div>"
